/* init_log.c - an init container that failed: how it ended, and what it wrote.
 *
 * The shim is not in it, so its pod's status says how it ended, and the API server has its log. The
 * end is reported when the log is here, because the verdict shows its last lines.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "engine/kubernetes/parts.h"

enum { LOG_BYTES = 1024 * 1024, PATIENCE_S = 10 };

static void on_line(void *ctx, const char *line, size_t n)
{
    struct pod *p = ctx;

    if (p->init_log < 0)
        return;
    (void)io_write_all(p->init_log, line, n);
    (void)io_write_all(p->init_log, "\n", 1);
}

static void on_done(void *ctx, const struct kube_answer *answer)
{
    struct pod *p = ctx;
    struct kubernetes *kb = p->kb;

    p->init_call = NULL;
    if (!kube_ok(answer))
        kb->client->note(kb->client->ctx, answer->message);
    if (p->init_log >= 0)
        (void)close(TAKE_FD(p->init_log));
    pod_container_ended(p);
    cluster_turn(kb);
}

void pod_fetch_init_log(struct pod *p)
{
    auto_arena struct arena *a = arena_new();
    struct kubernetes *kb = p->kb;
    const struct replica *rp = pod_replica(p);
    const char *name = p->end.init;
    struct start start = {.attempt = p->attempt,
                          .instance = kb->starts[rp->first_process].instance};
    char file[PLAN_LOG_NAME];

    if (start.instance == 0)
        start.instance = 1;
    p->init_log = openat(kb->logs_fd, plan_init_log(rp, name, start, file),
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    p->init_call = kube_send(
        kb->api, &(struct kube_request){
                     .method = "GET",
                     .path = kube_path(a, kb,
                                       arena_printf(a, "pods/%s/log?container=%s&limitBytes=%d",
                                                    p->name, kube_query(a, name), LOG_BYTES)),
                     .patience_s = PATIENCE_S,
                     .line = on_line,
                     .done = on_done,
                     .ctx = p});
}

void pod_init_forget(struct pod *p)
{
    if (p->init_call)
        kube_cancel(p->init_call);
    p->init_call = NULL;
    if (p->init_log >= 0)
        (void)close(TAKE_FD(p->init_log));
}
