/* monitor.c - see monitor.h. */
#include "operator/monitor.h"

#include <string.h>
#include <sys/resource.h>

#include "http/http.h"

/* Where probes and scrapers of mpi-operator and training-operator look. */
#define METRICS_IN_POD ":8080"
#define HEALTH_IN_POD ":8081"

/* --- answers ---------------------------------------------------------------------------------- */

const char *monitor_not_ready(const struct controller *op)
{
    if (kube_client_counts(op->api).answered == 0)
        return "no answer from the API server yet";
    if (op->lock_namespace && !op->leads)
        return NULL; /* another one serves, and this one would at once */
    if (op->asking > 0)
        return "looking for the kinds of the cluster";
    for (size_t i = 0; i < op->n_kinds; i++)
        if (op->kinds[i].watch && !op->kinds[i].synced)
            return "listing jobs";
    return NULL;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void add_metrics(struct controller *op, struct strbuf *out)
{
    auto_arena struct arena *a = arena_new();
    struct metrics_launcher *launchers = ARENA_ARRAY(a, struct metrics_launcher, op->n_jobs + 1);
    struct metrics_now now = {.leader = op->leads,
                              .n_jobs = op->n_jobs,
                              .launchers = launchers,
                              .requests = kube_client_counts(op->api),
                              .started_s = (double)op->began / NS_PER_S};
    struct rusage usage = {0};
    size_t memory = 0;

    for (size_t i = 0; i < op->n_jobs; i++) {
        const struct tended *t = op->jobs[i];

        now.n_queued += t->queued;
        if (!t->job || t->kind->family != FAMILY_MPI || strcmp(t->kind->group, "kubeflow.org") != 0)
            continue;
        launchers[now.n_launchers++] = (struct metrics_launcher){
            arena_printf(a, "%s-launcher", t->served.name), t->served.namespace_};
    }
    (void)uv_resident_set_memory(&memory);
    (void)getrusage(RUSAGE_SELF, &usage);
    now.memory_bytes = memory;
    now.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    metrics_write(&op->metrics, &now, out);
}

static void handle(void *ctx, struct http_exchange *x, const struct http_request *rq,
                   struct http_answer *answer)
{
    struct controller *op = ctx;
    const char *why = NULL;

    (void)x;
    if (strcmp(rq->method, "GET") != 0 && strcmp(rq->method, "HEAD") != 0) {
        answer->status = 405;
    } else if (strcmp(rq->path, "/metrics") == 0) {
        answer->type = "text/plain; version=0.0.4; charset=utf-8";
        add_metrics(op, &answer->body);
        return;
    } else if (strcmp(rq->path, "/readyz") == 0) {
        why = monitor_not_ready(op);
        answer->status = why ? 503 : 200;
    } else if (strcmp(rq->path, "/healthz") != 0 && strcmp(rq->path, "/livez") != 0) {
        answer->status = 404;
    }
    strbuf_addf(&answer->body, "%s\n",
                why                     ? why
                : answer->status == 200 ? "ok"
                                        : http_reason(answer->status));
}

/* --- where it listens ------------------------------------------------------------------------- */

/* said: by an option, so that it is an error if it cannot be had. */
static int listen_on(struct controller *op, const char *address, bool said, struct err *e)
{
    int r = http_server_new(op->loop, address, &(struct http_service){.handle = handle, .ctx = op},
                            &op->servers[op->n_servers], e);

    if (r < 0 && !said) {
        tell(NULL, "warning", "%s", e->text);
        return 0;
    }
    if (r == 0)
        tell(NULL, "info", "health and metrics on port %d",
             http_server_port(op->servers[op->n_servers++]));
    return r;
}

/* "0" turns it off, as upstream's flags have it. */
static int listen_as(struct controller *op, const char *address, const char *otherwise,
                     struct err *e)
{
    bool in_pod = !*op->access.context;

    if (address)
        return strcmp(address, "0") == 0 ? 0 : listen_on(op, address, true, e);
    return in_pod ? listen_on(op, otherwise, false, e) : 0;
}

int monitor_begin(struct controller *op, struct err *e)
{
    const struct operator_flags *f = op->flags;
    int r = listen_as(op, f->metrics, METRICS_IN_POD, e);

    if (r < 0)
        return err_wrap(e, r, "--metrics");
    r = listen_as(op, f->health, HEALTH_IN_POD, e);
    return r < 0 ? err_wrap(e, r, "--health-probe-bind-address") : 0;
}

void monitor_end(struct controller *op)
{
    while (op->n_servers > 0)
        http_server_free(op->servers[--op->n_servers]);
}
