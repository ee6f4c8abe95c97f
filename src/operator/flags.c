/* flags.c - see flags.h. */
#include "operator/flags.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/num.h"
#include "base/strbuf.h"

enum flag_kind { FLAG_BOOL, FLAG_TEXT, FLAG_INT, FLAG_TEXTS };

struct flag {
    const char *name;
    enum flag_kind kind;
    size_t offset;
    const char *arg, *help; /* NULL: it is another operator's, and not shown */
    const char *ignored;    /* why it has no effect; NULL: it has one */
};

#define AT(member) offsetof(struct operator_flags, member)
#define OF_LOG "the log is written to stderr as JSON lines"
#define OF_RATE "only the API server limits the rate of requests"
#define OF_THREADS "one thread serves all jobs"
#define OF_SLOTS "the number is taken from the job"
#define OF_KUBECTL "no pod needs kubectl"

static const struct flag flags[] = {
    {"namespace", FLAG_TEXT, AT(namespace_), "NS", "serve only the jobs of this namespace", NULL},
    {"gang-scheduling", FLAG_TEXT, AT(gang_scheduler), "NAME",
     "schedule the pods of a job together with this scheduler", NULL},
    {"cluster-domain", FLAG_TEXT, AT(cluster_domain), "DOMAIN",
     "append this domain to host names, such as cluster.local", NULL},
    {"metrics", FLAG_TEXT, AT(metrics), "ADDR",
     "serve health and metrics here, such as :8080; 0 for none", NULL},
    {"webhook", FLAG_TEXT, AT(webhook), "ADDR", "check jobs at apply time here, such as :9443",
     NULL},
    {"lock-namespace", FLAG_TEXT, AT(lock_namespace), "NS",
     "elect a leader by a Lease in this namespace", NULL},
    {"context", FLAG_TEXT, AT(context), "NAME", "use this context of the kubeconfig", NULL},
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE", "use this file instead of $KUBECONFIG", NULL},
    {"enable-scheme", FLAG_TEXTS, AT(kinds), "KIND",
     "serve only this kind, such as tfjob; can be repeated", NULL},
    {"pytorch-init-container-image", FLAG_TEXT, AT(init_image), "IMAGE",
     "set the image in which workers wait for the master", NULL},
    {"pytorch-init-container-max-tries", FLAG_INT, AT(init_tries), "N",
     "set how often they look for it", NULL},
    {"version", FLAG_BOOL, AT(version), NULL, "show the version", NULL},
    {"help", FLAG_BOOL, AT(help), NULL, "show this help", NULL},
    {"h", FLAG_BOOL, AT(help), NULL, NULL, NULL},

    /* other names for the same */
    {"kubeConfig", FLAG_TEXT, AT(kubeconfig), NULL, NULL, NULL},
    {"master", FLAG_TEXT, AT(master), NULL, NULL, NULL},
    {"metrics-bind-address", FLAG_TEXT, AT(metrics), NULL, NULL, NULL},
    {"monitoring-port", FLAG_TEXT, AT(metrics), NULL, NULL, NULL},
    {"health-probe-bind-address", FLAG_TEXT, AT(health), NULL, NULL, NULL},
    {"webhook-server-port", FLAG_TEXT, AT(webhook), NULL, NULL, NULL},
    {"webhook-service-name", FLAG_TEXT, AT(webhook_service), NULL, NULL, NULL},
    {"webhook-secret-name", FLAG_TEXT, AT(webhook_secret), NULL, NULL, NULL},
    {"gang-scheduler-name", FLAG_TEXT, AT(gang_scheduler), NULL, NULL, NULL},
    {"gpus-per-node", FLAG_INT, AT(gpus_per_node), NULL, NULL, NULL},
    {"leader-elect", FLAG_BOOL, AT(leader_elect), NULL, NULL, NULL},
    {"leader-election-id", FLAG_TEXT, AT(lease), NULL, NULL, NULL},

    {"threadiness", FLAG_INT, 0, NULL, NULL, OF_THREADS},
    {"controller-threads", FLAG_INT, 0, NULL, NULL, OF_THREADS},
    {"kube-api-qps", FLAG_INT, 0, NULL, NULL, OF_RATE},
    {"kube-api-burst", FLAG_INT, 0, NULL, NULL, OF_RATE},
    {"controller-queue-rate-limit", FLAG_INT, 0, NULL, NULL, OF_RATE},
    {"controller-queue-burst", FLAG_INT, 0, NULL, NULL, OF_RATE},
    {"processing-units-per-node", FLAG_INT, 0, NULL, NULL, OF_SLOTS},
    {"processing-resource-type", FLAG_TEXT, 0, NULL, NULL, "the resource is taken from the job"},
    {"enable-gang-scheduling", FLAG_BOOL, 0, NULL, NULL, "use --gang-scheduling NAME"},
    {"kubectl-delivery-image", FLAG_TEXT, 0, NULL, NULL, OF_KUBECTL},
    {"mpi-kubectl-delivery-image", FLAG_TEXT, 0, NULL, NULL, OF_KUBECTL},
    {"pytorch-init-container-template-file", FLAG_TEXT, 0, NULL, NULL,
     "not supported; use --pytorch-init-container-image"},
    /* of klog and zap */
    {"alsologtostderr", FLAG_BOOL, 0, NULL, NULL, OF_LOG},
    {"logtostderr", FLAG_BOOL, 0, NULL, NULL, OF_LOG},
    {"add_dir_header", FLAG_BOOL, 0, NULL, NULL, OF_LOG},
    {"one_output", FLAG_BOOL, 0, NULL, NULL, OF_LOG},
    {"skip_headers", FLAG_BOOL, 0, NULL, NULL, OF_LOG},
    {"skip_log_headers", FLAG_BOOL, 0, NULL, NULL, OF_LOG},
    {"legacy_stderr_threshold_behavior", FLAG_BOOL, 0, NULL, NULL, OF_LOG},
    {"log_backtrace_at", FLAG_TEXT, 0, NULL, NULL, OF_LOG},
    {"log_dir", FLAG_TEXT, 0, NULL, NULL, OF_LOG},
    {"log_file", FLAG_TEXT, 0, NULL, NULL, OF_LOG},
    {"log_file_max_size", FLAG_INT, 0, NULL, NULL, OF_LOG},
    {"stderrthreshold", FLAG_TEXT, 0, NULL, NULL, OF_LOG},
    {"v", FLAG_INT, 0, NULL, NULL, OF_LOG},
    {"vmodule", FLAG_TEXT, 0, NULL, NULL, OF_LOG},
    {"json-log-format", FLAG_BOOL, 0, NULL, NULL, OF_LOG},
    {"zap-devel", FLAG_BOOL, 0, NULL, NULL, OF_LOG},
    {"zap-encoder", FLAG_TEXT, 0, NULL, NULL, OF_LOG},
    {"zap-log-level", FLAG_TEXT, 0, NULL, NULL, OF_LOG},
    {"zap-stacktrace-level", FLAG_TEXT, 0, NULL, NULL, OF_LOG},
    {"zap-time-encoding", FLAG_TEXT, 0, NULL, NULL, OF_LOG},
};

/* --- help ------------------------------------------------------------------------------------- */

void flags_help(FILE *out)
{
    enum { COLUMN = 28 };

    fputs("usage: muster operator [OPTION…]\n"
          "\n"
          "serve the job kinds of Kubeflow and T9k in a Kubernetes cluster.\n"
          "\n"
          "Runs until SIGTERM, with the pod's service account, or with KUBECONFIG outside of a\n"
          "cluster. The flags of mpi-operator and training-operator are accepted;\n"
          "muster-operator(1) lists those that are ignored.\n"
          "\n"
          "options:\n",
          out);
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
        const struct flag *f = &flags[i];
        auto_strbuf struct strbuf sb = STRBUF_INIT;

        if (!f->help)
            continue;
        strbuf_addf(&sb, "      --%s%s%s", f->name, f->arg ? " " : "", f->arg ? f->arg : "");
        if (sb.len + 2 > COLUMN)
            fprintf(out, "%s\n%*s%s\n", sb.buf, COLUMN, "", f->help);
        else
            fprintf(out, "%-*s%s\n", COLUMN, sb.buf, f->help);
    }
}

/* --- parsing ---------------------------------------------------------------------------------- */

static const struct flag *find(const char *name, size_t n)
{
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        if (strlen(flags[i].name) == n && memcmp(flags[i].name, name, n) == 0)
            return &flags[i];
    return NULL;
}

static int unknown(const char *name, size_t n, struct err *e)
{
    const char *names[ARRAY_SIZE(flags)];
    size_t count = 0;
    auto_free char *word = xstrndup(name, n);
    const char *near;

    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        if (flags[i].help)
            names[count++] = flags[i].name;
    near = nearest_word(word, names, count);
    return near ? err_set(e, -EINVAL, "unknown option --%s, did you mean --%s?", word, near)
                : err_set(e, -EINVAL, "unknown option --%s", word);
}

static int read_bool(const struct flag *f, const char *text, bool *ret, struct err *e)
{
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
    static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False"};

    for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
        if (!text || strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
            *ret = !text || strcmp(text, yes[i]) == 0;
            return 0;
        }
    return err_set(e, -EINVAL, "--%s must be true or false, not \"%s\"", f->name, text);
}

static int store(const struct flag *f, const char *text, struct operator_flags *to, struct err *e)
{
    char *at = (char *)to + f->offset;
    int64_t number = 0;
    bool on = false;

    if (f->kind == FLAG_BOOL && read_bool(f, text, &on, e) < 0)
        return -EINVAL;
    if (f->kind == FLAG_INT && (num_i64(text, &number) < 0 || number < 0))
        return err_set(e, -EINVAL, "--%s must be a number ≥ 0, not \"%s\"", f->name, text);
    if (f->ignored) {
        auto_free char *note = xasprintf("--%s is ignored: %s", f->name, f->ignored);

        strvec_push(&to->ignored, note);
        return 0;
    }
    switch (f->kind) {
    case FLAG_BOOL:
        memcpy(at, &on, sizeof(on));
        break;
    case FLAG_INT:
        memcpy(at, &number, sizeof(number));
        break;
    case FLAG_TEXT:
        *(const char **)(void *)at = text;
        break;
    case FLAG_TEXTS:
        strvec_push((struct strvec *)(void *)at, text);
        break;
    }
    return 0;
}

int flags_parse(int argc, const char *const *argv, struct operator_flags *ret, struct err *e)
{
    *ret = (struct operator_flags){.kinds = STRVEC_INIT, .ignored = STRVEC_INIT};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *value;
        const struct flag *f;
        size_t n;

        if (word[0] != '-' || !word[1])
            return err_set(e, -EINVAL, "unexpected argument \"%s\"", word);
        word += word[1] == '-' ? 2 : 1;
        n = strcspn(word, "=");
        value = word[n] ? word + n + 1 : NULL;
        f = find(word, n);
        if (!f)
            return unknown(word, n, e);
        if (!value && f->kind != FLAG_BOOL) {
            if (i + 1 == argc)
                return err_set(e, -EINVAL, "--%s requires a value", f->name);
            value = argv[++i];
        }
        if (store(f, value, ret, e) < 0)
            return -EINVAL;
    }
    return 0;
}

void flags_release(struct operator_flags *f)
{
    strvec_release(&f->kinds);
    strvec_release(&f->ignored);
}

bool flags_serve_kind(const struct operator_flags *f, const char *kind)
{
    for (size_t i = 0; i < f->kinds.n; i++)
        if (strcasecmp(f->kinds.v[i], kind) == 0)
            return true;
    return f->kinds.n == 0;
}
