/* preflight.c - who calls whom, and what is said of it. */
#include "engine/preflight.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/tap.h"

enum { MOST = 200 };

static struct replica replicas[MOST];
static char names[MOST][24];
static struct plan plan = {.replicas = replicas};
static struct preflight *pf;
static bool done;
static struct net_try asked[2 * MOST]; /* and not answered */
static size_t n_asked;
static unsigned times[MOST][MOST];
static bool crowded; /* a replica had two calls in one round */

static void ask(void *ctx, const struct net_try *t)
{
    (void)ctx;
    asked[n_asked++] = *t;
}

static void finish(void *ctx)
{
    (void)ctx;
    done = true;
}

/* Answers all that was asked: the connection from `from` to `to` is refused; -1: none is. */
static void answer(int from, int to)
{
    struct net_try round[2 * MOST];
    bool busy[MOST] = {false};
    size_t n = n_asked;

    memcpy(round, asked, n * sizeof(*round));
    n_asked = 0;
    for (size_t i = 0; i < n; i++) {
        const struct net_try *t = &round[i];
        struct net_tried r = {.id = t->id, .address = "10.0.0.1", .latency = 50000 + (int)i};

        if (t->replica == t->to) {
            r.port = 4000 + t->to;
        } else {
            crowded = crowded || busy[t->replica] || busy[t->to] || t->port != 4000 + t->to;
            busy[t->replica] = busy[t->to] = true;
            times[t->replica][t->to]++;
            r.bytes = LIMIT_TRY_BYTES;
            r.took = 4000000;
            if ((int)t->replica == from && (int)t->to == to)
                r.error = -ECONNREFUSED;
        }
        preflight_tried(pf, &r);
        preflight_tried(pf, &r); /* once more: ignored */
    }
}

static void go(uint32_t n, int from, int to)
{
    static const unsigned char token[WIRE_TOKEN] = {7, 1, 2, 3};
    const struct preflight_host host = {.ask = ask, .done = finish};

    for (uint32_t i = 0; i < n; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "worker-%u", i);
        replicas[i] = (struct replica){.name = names[i]};
    }
    plan.n_replicas = n;
    memset(times, 0, sizeof(times));
    crowded = done = false;
    n_asked = 0;
    preflight_free(pf);
    pf = preflight_new(&plan, token, &host);
    preflight_begin(pf);
    for (int rounds = 0; !done && rounds < 10 * MOST; rounds++)
        answer(from, to);
}

static size_t count(uint32_t n, unsigned want)
{
    size_t found = 0;

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            found += i != k && times[i][k] == want;
    return found;
}

static void test_rounds(void)
{
    static const uint32_t sizes[] = {2, 3, 4, 5, 8, 9, 63, 64};

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        uint32_t n = sizes[i];

        go(n, -1, -1);
        ok(done && !crowded, "%u replicas: one call at a time", n);
        is_int(count(n, 1), n * (n - 1), "each calls each other once");
    }
    go(1, -1, -1);
    ok(done && n_asked == 0, "one replica has nobody to call");
}

static void test_ring(void)
{
    static const uint32_t sizes[] = {65, 66, 128};

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        uint32_t n = sizes[i];
        bool ring = true;

        go(n, -1, -1);
        for (uint32_t k = 0; k < n; k++)
            ring = ring && times[k][(k + 1) % n] && times[(k + 1) % n][k];
        ok(done && !crowded && ring, "%u replicas: the whole ring in both directions", n);
        ok(count(n, 0) > n * (n - 1) / 2, "and not every pair");
    }
}

static void test_words(void)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    uint32_t to = 99;

    go(3, 2, 0);
    is_int(preflight_failed(pf, &to), 2, "who cannot");
    is_int(to, 0, "reach whom");
    preflight_why(pf, &text);
    is_str(text.buf, "cannot reach worker-0 (10.0.0.1:4000): connection refused", "the reason");
    strbuf_truncate(&text, 0);
    preflight_table(pf, &text);
    has(text.buf, "preflight: 3 replicas, 5 of 6 connections work\n", "how many work");
    has(text.buf, "\n  worker-2 to worker-0  Connection refused", "a row");
    has(text.buf, "0.050 ms  1.0 GB/s", "what was measured");
    go(20, 3, 4);
    strbuf_truncate(&text, 0);
    preflight_table(pf, &text);
    has(text.buf, "\n  bandwidth 1.0 GB/s to 1.0 GB/s, median 1.0 GB/s\n", "a summary of many");
    has(text.buf, "and the slowest:\n  worker-3  to worker-4", "with the worst first");
    go(2, -1, -1);
    is_int(preflight_failed(pf, &to), -1, "all is well");
}

int main(void)
{
    test_rounds();
    test_ring();
    test_words();
    preflight_free(pf);
    return tap_done();
}
