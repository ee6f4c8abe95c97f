/* main.c - `muster operator`: options, signals, the loop. */
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "doc/json.h"
#include "operator/lease.h"
#include "operator/operator.h"

#ifndef MUSTER_VERSION
#define MUSTER_VERSION "0"
#endif

void tell(const struct tended *t, const char *level, const char *fmt, ...)
{
    auto_strbuf struct strbuf line = STRBUF_INIT, text = STRBUF_INIT;
    struct json j = JSON_COMPACT(&line);
    char now[CLOCK_TEXT];
    va_list ap;

    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    json_object(&j);
    json_kv_str(&j, "time", clock_rfc3339(clock_real(), now));
    json_kv_str(&j, "level", level);
    if (t)
        json_kv_str(&j, "job", t->key);
    json_kv_str(&j, "text", text.buf);
    json_end(&j);
    strbuf_addch(&line, '\n');
    fputs(line.buf, stderr);
}

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

static int open_client(struct controller *op, const char *context, struct err *e)
{
    int r = access_load(op->arena,
                        &(struct access_request){
                            .context = context,
                            .kubeconfig = getenv("KUBECONFIG"),
                            .home = getenv("HOME"),
                            .service_host = getenv("KUBERNETES_SERVICE_HOST"),
                            .service_port = getenv("KUBERNETES_SERVICE_PORT"),
                        },
                        &op->access, e);

    return r < 0 ? r : kube_client_new(op->loop, &op->access, &op->api, e);
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
    tell(NULL, "info", "this operator has the lease");
    serve_begin(ctx);
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
    return lease_new(op->api, op->loop, op->lock_namespace, "muster-operator", identity,
                     &(struct lease_client){on_held, on_lost, op});
}

static int run(struct controller *op, const char *context)
{
    uv_signal_t term, interrupt;
    uv_prepare_t prepare;
    struct lease *lease = NULL;
    struct err e;

    op->queue_end = &op->queue;
    if (open_client(op, context, &e) < 0) {
        fprintf(stderr, "muster: operator: %s\n", e.text);
        return 1;
    }
    (void)uv_prepare_init(op->loop, &prepare);
    prepare.data = op;
    (void)uv_prepare_start(&prepare, on_prepare);
    (void)uv_signal_init(op->loop, &term);
    (void)uv_signal_start(&term, on_signal, SIGTERM);
    (void)uv_signal_init(op->loop, &interrupt);
    (void)uv_signal_start(&interrupt, on_signal, SIGINT);
    if (op->lock_namespace)
        lease = take_lease(op);
    else
        serve_begin(op);
    (void)uv_run(op->loop, UV_RUN_DEFAULT);
    lease_free(lease);
    pods_end(op);
    serve_end(op);
    kube_client_free(op->api);
    (void)uv_run(op->loop, UV_RUN_NOWAIT);
    uv_walk(op->loop, close_any, NULL);
    (void)uv_run(op->loop, UV_RUN_DEFAULT);
    return op->lost;
}

static void usage(FILE *to)
{
    fputs("usage: muster operator [--namespace NS] [--context NAME] [--cluster-domain DOMAIN]\n"
          "\n"
          "Serves MPIJob, PyTorchJob and TFJob of kubeflow.org and T9k's MPIJob in a cluster.\n"
          "\n"
          "  --namespace NS           only objects of this namespace\n"
          "  --context NAME           of the kubeconfig; in a pod its service account is used\n"
          "  --lock-namespace NS      of a Lease: of several operators one works, others wait\n"
          "  --cluster-domain DOMAIN  names of pods end with it: cluster.local\n"
          "  --pytorch-init-container-image IMAGE\n"
          "                           in which workers of a PyTorchJob wait for their master\n",
          to);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"namespace", required_argument, NULL, 'n'},
        {"context", required_argument, NULL, 'c'},
        {"lock-namespace", required_argument, NULL, 'l'},
        {"cluster-domain", required_argument, NULL, 'd'},
        {"pytorch-init-container-image", required_argument, NULL, 'i'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {0}};
    auto_arena struct arena *a = arena_new();
    struct controller op = {.loop = uv_default_loop(), .arena = a};
    const char *context = NULL;
    int c;

    op.options.cluster_domain = op.options.gang_scheduler = "";
    if (argc > 1 && strcmp(argv[1], "operator") == 0) { /* muster became us */
        argv++;
        argc--;
    }
    while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (c) {
        case 'n':
            op.namespace_ = optarg;
            break;
        case 'c':
            context = optarg;
            break;
        case 'l':
            op.lock_namespace = optarg;
            break;
        case 'd':
            op.options.cluster_domain = optarg;
            break;
        case 'i':
            op.options.init_image = optarg;
            break;
        case 'h':
            usage(stdout);
            return 0;
        case 'v':
            puts("muster operator " MUSTER_VERSION);
            return 0;
        default:
            usage(stderr);
            return 2;
        }
    }
    if (optind < argc) {
        usage(stderr);
        return 2;
    }
    return run(&op, context);
}
