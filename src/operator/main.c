/* main.c - `muster operator`: options, signals, the loop. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "operator/lease.h"
#include "operator/monitor.h"
#include "operator/operator.h"
#include "operator/webhook.h"

#ifndef MUSTER_VERSION
#define MUSTER_VERSION "0"
#endif

/* All that was heard of a job in one round of the loop has one turn. */
static void on_prepare(uv_prepare_t *prepare)
{
    struct controller *op = prepare->data;

    while (op->pods_known && op->queue) {
        struct tended *t = op->queue;

        op->queue = t->next;
        if (!op->queue)
            op->queue_end = &op->queue;
        t->queued = false;
        tend_turn(t);
    }
}

static void on_signal(uv_signal_t *sig, int number)
{
    (void)number;
    uv_stop(sig->loop);
}

static int open_client(struct controller *op, struct err *e)
{
    const struct operator_flags *f = op->flags;
    int r;

    if (f->kubeconfig && access(f->kubeconfig, R_OK) < 0)
        return err_sys(e, -errno, "cannot read %s", f->kubeconfig);
    r = access_load(op->arena,
                    &(struct access_request){
                        .context = f->context,
                        .kubeconfig = f->kubeconfig ? f->kubeconfig : getenv("KUBECONFIG"),
                        .home = getenv("HOME"),
                        .service_host = getenv("KUBERNETES_SERVICE_HOST"),
                        .service_port = getenv("KUBERNETES_SERVICE_PORT"),
                    },
                    &op->access, e);

    if (r < 0)
        return r;
    if (f->master && *f->master)
        op->access.server = f->master;
    if (f->leader_elect && !op->lock_namespace)
        op->lock_namespace = op->access.namespace_;
    return kube_client_new(op->loop, &op->access, &op->api, e);
}

static void close_any(uv_handle_t *handle, void *ctx)
{
    (void)ctx;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* --- one operator at a time ------------------------------------------------------------------- */

static void on_held(void *ctx)
{
    struct controller *op = ctx;

    tell(NULL, "info", "this operator has the lease");
    op->leads = true;
    serve_begin(op);
}

static void on_alone(struct controller *op)
{
    op->leads = true;
    serve_begin(op);
}

/* Nothing that it has in mind may be written any more: it begins anew. */
static void on_lost(void *ctx)
{
    struct controller *op = ctx;

    tell(NULL, "error", "the lease was lost");
    op->lost = true;
    uv_stop(op->loop);
}

static struct lease *take_lease(struct controller *op)
{
    char host[LIMIT_NAME + 1] = "";
    const char *identity;

    (void)gethostname(host, sizeof(host) - 1);
    identity = arena_printf(op->arena, "%s_%08x", host, (unsigned)arc4random());
    return lease_new(op->api, op->loop, op->lock_namespace,
                     op->flags->lease ? op->flags->lease : "muster-operator", identity,
                     &(struct lease_client){on_held, on_lost, op});
}

/* First of all: who is told to end while it begins ends as later. */
static void take_signals(struct controller *op, uv_signal_t *term, uv_signal_t *interrupt)
{
    (void)signal(SIGPIPE, SIG_IGN); /* a client may leave before its answer */
    (void)uv_signal_init(op->loop, term);
    (void)uv_signal_start(term, on_signal, SIGTERM);
    (void)uv_signal_init(op->loop, interrupt);
    (void)uv_signal_start(interrupt, on_signal, SIGINT);
}

static void end(struct controller *op, struct lease *lease)
{
    lease_free(lease);
    webhook_end(op);
    monitor_end(op);
    pods_end(op);
    serve_end(op);
    metrics_release(&op->metrics);
    kube_client_free(op->api);
    (void)uv_run(op->loop, UV_RUN_NOWAIT);
    uv_walk(op->loop, close_any, NULL);
    (void)uv_run(op->loop, UV_RUN_DEFAULT);
}

static int run(struct controller *op)
{
    uv_signal_t term, interrupt;
    uv_prepare_t prepare;
    struct lease *lease = NULL;
    struct err e;

    op->queue_end = &op->queue;
    take_signals(op, &term, &interrupt);
    for (size_t i = 0; i < op->flags->ignored.n; i++)
        tell(NULL, "info", "%s", op->flags->ignored.v[i]);
    if (open_client(op, &e) < 0 || monitor_begin(op, &e) < 0 || webhook_begin(op, &e) < 0) {
        tell(NULL, "error", "%s", e.text);
        end(op, NULL);
        return 1;
    }
    (void)uv_prepare_init(op->loop, &prepare);
    prepare.data = op;
    (void)uv_prepare_start(&prepare, on_prepare);
    if (op->lock_namespace)
        lease = take_lease(op);
    else
        on_alone(op);
    (void)uv_run(op->loop, UV_RUN_DEFAULT);
    end(op, lease);
    return op->lost;
}

/* --- the command line ------------------------------------------------------------------------- */

static int usage_error(const char *text)
{
    fprintf(stderr, "muster operator: %s\ntry: muster operator --help\n", text);
    return 2;
}

/* KUBEFLOW_NAMESPACE is the default of both of Kubeflow's operators. */
static void set_options(struct controller *op, const struct operator_flags *f)
{
    const char *kubeflow = getenv("KUBEFLOW_NAMESPACE");

    op->flags = f;
    op->namespace_ = f->namespace_ ? f->namespace_ : kubeflow;
    if (op->namespace_ && !*op->namespace_)
        op->namespace_ = NULL;
    op->lock_namespace = f->lock_namespace && *f->lock_namespace ? f->lock_namespace : NULL;
    op->options.cluster_domain = f->cluster_domain ? f->cluster_domain : "";
    op->options.gang_scheduler = f->gang_scheduler ? f->gang_scheduler : "";
    op->options.init_image = f->init_image;
    op->options.init_tries = (int)(f->init_tries < INT_MAX ? f->init_tries : INT_MAX);
    op->options.gpus_per_node =
        (int)(f->gpus_per_node < LIMIT_SLOTS ? f->gpus_per_node : LIMIT_SLOTS);
}

int main(int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    struct controller op = {.loop = uv_default_loop(), .arena = a, .began = clock_real()};
    struct operator_flags flags;
    struct err e;
    int r;

    if (argc > 1 && strcmp(argv[1], "operator") == 0) { /* muster became us */
        argv++;
        argc--;
    }
    if (flags_parse(argc, (const char *const *)argv, &flags, &e) < 0) {
        r = usage_error(e.text);
    } else if (flags.help) {
        flags_help(stdout);
        r = fflush(stdout) ? 1 : 0;
    } else if (flags.version) {
        r = puts("muster operator " MUSTER_VERSION) < 0 || fflush(stdout) ? 1 : 0;
    } else {
        set_options(&op, &flags);
        r = run(&op);
    }
    flags_release(&flags);
    return r;
}
