/* client.c - the queue of requests, against a small server on the same loop. */
#include "engine/kubernetes/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/tap.h"

enum { MANY = 200, CONNECTIONS = 32, UNDER_WAY = 64 }; /* as in client.c */

static uv_loop_t loop;
static uv_tcp_t server;
static uv_timer_t tick;
static struct kube_client *client;
static struct peer { /* a connection, and the number in the path of what it asks */
    uv_tcp_t tcp;
    char in[4096];
    size_t n;
    int asks; /* -1: nothing */
} * peers[256];
static int n_peers, held, most_held, n_seen, seen[2 * MANY], refusals;
static int done[MANY + 1], n_done;

static void on_alloc(uv_handle_t *h, size_t n, uv_buf_t *ret)
{
    struct peer *p = (struct peer *)h;

    (void)n;
    *ret = uv_buf_init(p->in + p->n, (unsigned)(sizeof(p->in) - 1 - p->n));
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
    struct peer *p = (struct peer *)s;

    (void)buf;
    if (n < 0) {
        (void)uv_read_stop(s);
        held -= p->asks >= 0;
        p->asks = -1;
        return;
    }
    p->n += (size_t)n;
    p->in[p->n] = '\0';
    if (!strstr(p->in, "\r\n\r\n"))
        return;
    p->asks = (int)strtol(p->in + strlen("GET /"), NULL, 10);
    p->n = 0;
    seen[n_seen++] = p->asks;
    held++;
    most_held = held > most_held ? held : most_held;
}

static void on_peer(uv_stream_t *s, int status)
{
    struct peer *p = xcalloc(1, sizeof(*p));

    (void)status;
    p->asks = -1;
    peers[n_peers++] = p;
    (void)uv_tcp_init(&loop, &p->tcp);
    (void)uv_accept(s, (uv_stream_t *)&p->tcp);
    (void)uv_read_start((uv_stream_t *)&p->tcp, on_alloc, on_read);
}

/* Answers one of those that wait, so that the next may come. */
static void on_tick(uv_timer_t *timer)
{
    (void)timer;
    for (int i = 0; i < n_peers; i++) {
        const char *text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

        if (peers[i]->asks < 0)
            continue;
        if (refusals > 0 && refusals--)
            text = "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n";
        uv_buf_t buf = uv_buf_init((char *)(uintptr_t)text, (unsigned)strlen(text));
        (void)uv_try_write((uv_stream_t *)&peers[i]->tcp, &buf, 1);
        peers[i]->asks = -1;
        held--;
        return;
    }
}

static void on_done(void *ctx, const struct kube_answer *answer)
{
    if (answer->status == 200)
        done[(int *)ctx - done]++;
    n_done++;
}

static struct kube_call *get(int number)
{
    char path[32];

    (void)snprintf(path, sizeof(path), "/%d", number);
    return kube_send(client,
                     &(struct kube_request){
                         .method = "GET", .path = path, .done = on_done, .ctx = &done[number]});
}

static void run_until(int n)
{
    while (n_done < n)
        (void)uv_run(&loop, UV_RUN_ONCE);
}

static void begin(void)
{
    memset(done, 0, sizeof(done));
    n_done = n_seen = most_held = 0;
}

static int count_once(int n)
{
    int once = 0;

    for (int i = 0; i < n; i++)
        once += done[i] == 1;
    return once;
}

static void test_many(void)
{
    int early = 0;

    begin();
    for (int i = 0; i < MANY; i++)
        (void)get(i);
    run_until(MANY);
    is_int(count_once(MANY), MANY, "each of many requests is answered once");
    is_int(most_held, CONNECTIONS, "over so many connections");
    for (int i = 0; i < MANY; i++)
        early += seen[i] > i + UNDER_WAY;
    is_int(early, 0, "none before its turn");
}

static void test_cancelled(void)
{
    static const int gone[] = {3, UNDER_WAY, UNDER_WAY + 9, 99}; /* the last three wait */
    struct kube_call *calls[100];

    begin();
    for (int i = 0; i < 100; i++)
        calls[i] = get(i);
    for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
        kube_cancel(calls[gone[i]]);
    (void)get(100); /* the end of the list is where it should be */
    run_until(97);
    is_int(count_once(101), 97, "those that are not cancelled are answered");
    for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
        is_int(done[gone[i]], 0, "request %d is cancelled", gone[i]);
}

static void test_refused(void)
{
    begin();
    refusals = 3;
    for (int i = 0; i < MANY; i++)
        (void)get(i);
    run_until(MANY);
    is_int(count_once(MANY), MANY, "those that were told to come again are answered once, too");
    is_int(n_seen, MANY + 3, "and were asked twice");
}

int main(void)
{
    struct sockaddr_in at;
    int size = sizeof(at);
    char url[64];
    struct kube_access acc = {.namespace_ = "n", .context = "", .source = "test", .server = url};
    struct err e;

    (void)uv_loop_init(&loop);
    (void)uv_tcp_init(&loop, &server);
    (void)uv_ip4_addr("127.0.0.1", 0, &at);
    (void)uv_tcp_bind(&server, (struct sockaddr *)&at, 0);
    (void)uv_listen((uv_stream_t *)&server, 128, on_peer);
    (void)uv_tcp_getsockname(&server, (struct sockaddr *)&at, &size);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(at.sin_port));
    (void)uv_timer_init(&loop, &tick);
    (void)uv_timer_start(&tick, on_tick, 1, 1);
    is_int(kube_client_new(&loop, &acc, &client, &e), 0, "a client");
    test_many();
    test_cancelled();
    test_refused();
    begin();
    for (int i = 0; i < MANY; i++)
        (void)get(i);
    kube_client_free(client);
    uv_close((uv_handle_t *)&tick, NULL);
    uv_close((uv_handle_t *)&server, NULL);
    for (int i = 0; i < n_peers; i++)
        uv_close((uv_handle_t *)&peers[i]->tcp, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    is_int(n_done, 0, "a client that is freed answers nobody");
    is_int(uv_loop_close(&loop), 0, "and leaves nothing in the loop");
    for (int i = 0; i < n_peers; i++)
        free(peers[i]);
    return tap_done();
}
