/* kubeflow.c - Kubeflow's PyTorchJob and TFJob lowered into the model. */
#include "dialect/kubeflow/kubeflow.h"

#include <string.h>

#include "dialect/test/lowered.h"

/* head: "v1 PyTorchJob". Keys of spec begin in line 5. */
static void lower(struct lowered *l, const char *head, const char *spec)
{
    const char *kind = strchr(head, ' ') + 1;
    const struct dialect *d = *kind == 'T' ? &kubeflow_tf : &kubeflow_pytorch;

    auto_strbuf struct strbuf text = STRBUF_INIT;

    strbuf_addf(&text,
                "apiVersion: kubeflow.org/%.*s\nkind: %s\n"
                "metadata: {name: j, namespace: ns}\nspec:\n%s",
                (int)(kind - head - 1), head, kind, spec);
    lower_by(l, d, "x.yaml", text.buf, &(struct read_options){0});
    ok(d->detect(l->doc.roots[0]), "it is a %s", head);
}

#define POD(name) "template: {spec: {containers: [{name: " name ", image: i}]}}"
#define TORCH "  pytorchReplicaSpecs:\n"
#define MASTER "    Master: {" POD("pytorch") "}\n"
#define WORKERS(n) "    Worker: {replicas: " n ", " POD("pytorch") "}\n"
#define GPUS(n)                                                                                    \
    "    Master: {template: {spec: {containers: [{name: pytorch, image: i, resources: {limits: "   \
    "{nvidia.com/gpu: " n "}}}]}}}\n"
#define TF "  tfReplicaSpecs:\n"
#define TASKS(type, n) "    " type ": {replicas: " n ", " POD("tensorflow") "}\n"

/* Roles as "master=1", with slots as " xauto" where they are not 1; or all errors and warnings. */
static const struct {
    const char *head, *spec, *want, *name;
} rows[] = {
    {"v1 PyTorchJob", TORCH MASTER WORKERS("3"), "master=1xauto worker=3xauto", "the usual form"},
    {"v1 PyTorchJob", TORCH WORKERS("3") MASTER, "worker=3xauto master=1xauto",
     "roles in the file's order"},
    {"v1 PyTorchJob", TORCH "    MASTER: {" POD("pytorch") "}\n", "master=1xauto",
     "replica types in any case"},
    {"v1 PyTorchJob", TORCH "    master: {" POD("pytorch") "}\n" MASTER, "E0210@7:5",
     "but not twice"},
    {"v1 PyTorchJob", "  nprocPerNode: \"4\"\n" TORCH MASTER, "master=1x4", "nprocPerNode"},
    {"v1 PyTorchJob", "  nprocPerNode: cpu\n" TORCH MASTER, "master=1xauto", "nprocPerNode: cpu"},
    {"v1 PyTorchJob", "  nprocPerNode: gpu\n" TORCH MASTER, "W0345@5:17 master=1xauto",
     "a process for each of no GPUs"},
    {"v1 PyTorchJob", "  nprocPerNode: gpu\n" TORCH GPUS("2"), "master=1xauto",
     "a process for each GPU"},
    {"v1 PyTorchJob", "  nprocPerNode: \"4\"\n" TORCH GPUS("2"), "W0345@5:17 master=1x4",
     "more processes than GPUs"},
    {"v1 PyTorchJob", "  nprocPerNode: all\n" TORCH MASTER, "E0209@5:17", "no such word"},
    {"v1 PyTorchJob", "  nprocPerNode: \"0\"\n" TORCH MASTER, "E0209@5:17", "no process"},
    {"v1 PyTorchJob", "  nprocPerNode: 4\n" TORCH MASTER, "E0107@5:17", "it is a string"},
    {"v1 PyTorchJob", "  cleanPodPolicy: None\n" TORCH MASTER WORKERS("1"), "master=1 worker=1",
     "v1 with policies beside the replicas"},
    {"v1beta2 PyTorchJob", TORCH MASTER "  what: 1\n", "W0101@7:3 master=1",
     "an old version: unknown keys stay"},
    {"v1beta2 PyTorchJob", TORCH "    PS: {" POD("pytorch") "}\n" MASTER, "E0101@6:5",
     "but not unknown replicas"},
    {"v1 PyTorchJob", TORCH MASTER "  what: 1\n", "E0101@7:3", "an unknown key"},
    {"v2 PyTorchJob", TORCH MASTER, "E0209@1:13", "a version that does not exist"},
    {"v1 PyTorchJob", "  runPolicy: {}\n", "E0103@4:1", "no replicas"},
    {"v1 PyTorchJob", "  pytorchReplicaSpecs: {}\n", "E0104@5:3", "none in the mapping"},
    {"v1 PyTorchJob", TORCH "    Master:\n", "E0104@5:3", "or none with a value"},
    {"v1 PyTorchJob", TORCH "    Master: {replicas: 2, " POD("pytorch") "}\n", "E0203@6:24",
     "one master"},
    {"v1 PyTorchJob", TORCH MASTER WORKERS("0"), "E0203@7:24", "workers, if there are any"},
    {"v1 PyTorchJob", TORCH "    Master: {" POD("main") "}\n", "E0212@6:32",
     "the container's name"},
    {"v1 PyTorchJob", TORCH "    Master: {replicas: 1}\n", "E0103@6:5", "no template"},
    {"v1 PyTorchJob", TORCH "    Master: {template: {}}\n", "E0103@6:14", "no pod"},
    {"v1 PyTorchJob", TORCH "    Master: {template: {spec: {containers: [{name: pytorch}]}}}\n",
     "E0103@6:45", "no image"},
    {"v1 PyTorchJob", "  elasticPolicy: {}\n" TORCH MASTER, "E0342@5:3", "elastic without workers"},
    {"v1 PyTorchJob", "  elasticPolicy: {minReplicas: 3, maxReplicas: 2}\n" TORCH WORKERS("2"),
     "E0341@5:32", "more at least than at most"},
    {"v1 PyTorchJob", "  elasticPolicy: {minReplicas: 3, maxReplicas: 4}\n" TORCH WORKERS("2"),
     "W0343@5:32 worker=2xauto", "fewer workers than torchrun waits for"},
    {"v1 PyTorchJob", "  elasticPolicy: {minReplicas: 1, maxReplicas: 2}\n" TORCH WORKERS("3"),
     "W0343@5:48 worker=3xauto", "more workers than torchrun takes"},
    {"v1 PyTorchJob", "  elasticPolicy: {maxReplicas: 4}\n" TORCH WORKERS("3"),
     "W0343@5:3 worker=3xauto", "the one number is the other, too"},
    {"v1 PyTorchJob", "  elasticPolicy: {rdzvBackend: zoo}\n" TORCH WORKERS("2"),
     "W0342@5:32 worker=2xauto", "an unknown rendezvous"},
    {"v1 PyTorchJob", "  elasticPolicy: {nProcPerNode: 4}\n" TORCH WORKERS("2"),
     "W0203@5:19 worker=2x4", "the old place of nprocPerNode"},
    {"v1 PyTorchJob",
     "  nprocPerNode: \"2\"\n  elasticPolicy: {nProcPerNode: 4}\n" TORCH WORKERS("2"), "E0106@6:33",
     "not both places"},
    {"v1 PyTorchJob", "  elasticPolicy: {rdzvConf: [{key: a}]}\n" TORCH WORKERS("2"), "E0103@5:30",
     "half an option"},
    {"v1 PyTorchJob", "  runPolicy: {activeDeadlineSeconds: 0}\n" TORCH MASTER,
     "W0341@5:38 master=1xauto", "a deadline of nothing"},
    {"v1 PyTorchJob", "  runPolicy: {backoffLimit: 2}\n  backoffLimit: 3\n" TORCH MASTER,
     "W0340@6:3 master=1xauto", "a policy in two places"},
    {"v1 PyTorchJob", "  runPolicy: {backoffLimit: 3}\n  backoffLimit: 3\n" TORCH MASTER,
     "master=1xauto", "which is fine if they agree"},
    {"v1 PyTorchJob", "  runPolicy: {managedBy: me}\n" TORCH MASTER, "E0209@5:26",
     "managed by nobody known"},
    {"v1 PyTorchJob", "  runPolicy: {cleanPodPolicy: Some}\n" TORCH MASTER, "E0209@5:31",
     "no such cleanPodPolicy"},

    {"v1 TFJob", TF TASKS("PS", "2") TASKS("Worker", "4"), "ps=2 worker=4", "a TFJob"},
    {"v1alpha2 TFJob", TF TASKS("Ps", "1") TASKS("worker", "1") TASKS("MASTER", "1"),
     "ps=1 worker=1 master=1", "its first version"},
    {"v1 TFJob", TF TASKS("Chief", "1") TASKS("Evaluator", "1"), "chief=1 evaluator=1",
     "chief and evaluator"},
    {"v1 TFJob", TF TASKS("Chief", "1") TASKS("Master", "1"), "E0343@7:5", "both names of a chief"},
    {"v1 TFJob", TF TASKS("PS", "1"), "W0346@5:3 ps=1", "nobody decides"},
    {"v1 TFJob", TF TASKS("Launcher", "1"), "E0101@6:5", "no such type"},
    {"v1 TFJob", "  successPolicy: AllWorkers\n" TF TASKS("Chief", "1") TASKS("Worker", "1"),
     "W0344@5:18 chief=1 worker=1", "a success policy beside a chief"},
    {"v1 TFJob", "  successPolicy: Some\n" TF TASKS("Worker", "1"), "E0209@5:18",
     "no such success policy"},
    {"v1 TFJob", "  successPolicy: \"\"\n" TF TASKS("Worker", "1"), "worker=1", "the default"},
    {"v1 TFJob", TF "    Worker: {restartPolicy: Sometimes, " POD("tensorflow") "}\n", "E0209@6:29",
     "no such restart policy"},
};

static const char *outcome(struct lowered *l)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < l->ds.n; i++)
        if (l->ds.v[i].severity != SEV_NOTE)
            strbuf_addf(&sb, "%s%s@%u:%u", sb.len ? " " : "", l->ds.v[i].code, l->ds.v[i].pos.line,
                        l->ds.v[i].pos.column);
    for (size_t i = 0; l->spec && i < l->spec->n_roles; i++) {
        const struct role *r = &l->spec->roles[i];

        strbuf_addf(&sb, "%s%s=%d", sb.len ? " " : "", r->name, r->replicas);
        if (r->slots_kind == SLOTS_AUTO)
            strbuf_addstr(&sb, "xauto");
        else if (r->slots != 1)
            strbuf_addf(&sb, "x%d", r->slots);
    }
    return arena_strndup(l->a, sb.buf, sb.len);
}

static void test_rows(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct lowered l;

        lower(&l, rows[i].head, rows[i].spec);
        is_str(outcome(&l), rows[i].want, "%s", rows[i].name);
        done(&l);
    }
}

static void test_names(void)
{
    static const struct {
        const char *text, *code;
    } names[] = {{"1st", "E0201"}, {"a_b", "E0201"}, {"first", NULL}};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct lowered l = {.a = arena_new()};
        const char *text = arena_printf(l.a,
                                        "apiVersion: kubeflow.org/v1\nkind: TFJob\n"
                                        "metadata: {name: %s}\nspec:\n" TF TASKS("Worker", "1"),
                                        names[i].text);

        diags_init(&l.ds, l.a);
        yaml_read(l.a, "x.yaml", text, strlen(text), &l.ds, &l.doc);
        kubeflow_tf.lower(l.a, &(struct read_options){0}, &l.doc, l.doc.roots[0], &l.ds, &l.spec);
        is_str(l.ds.n ? l.ds.v[0].code : NULL, names[i].code, "the name %s", names[i].text);
        done(&l);
    }
}

static void test_policies(void)
{
    struct lowered l;

    lower(&l, "v1 PyTorchJob",
          "  runPolicy:\n    cleanPodPolicy: Running\n    ttlSecondsAfterFinished: 7\n"
          "    activeDeadlineSeconds: 60\n    backoffLimit: 0\n    suspend: true\n"
          "    schedulingPolicy: {queue: q, minAvailable: 3}\n"
          "    managedBy: kueue.x-k8s.io/multikueue\n" TORCH MASTER);
    ok(l.spec, "accepted");
    if (l.spec) {
        ok(l.spec->clean_up == CLEAN_UP_RUNNING, "cleanPodPolicy");
        ok(l.spec->has_ttl && l.spec->ttl_s == 7, "ttlSecondsAfterFinished");
        is_int((int)l.spec->deadline_s, 60, "activeDeadlineSeconds");
        ok(l.spec->has_restart_budget && l.spec->restart_budget == 0, "a backoffLimit of 0");
        ok(l.spec->pause && l.spec->pause_at->pos.line == 10, "suspend");
        is_str(l.spec->queue, "q", "the queue");
        ok(!l.spec->roles[0].ends_alone, "running replicas are deleted when the job is over");
        ok(l.spec->roles[0].restart == RESTART_ON_FAILURE && l.spec->roles[0].restart_limit == -1,
           "PyTorch's replicas are restarted");
    }
    done(&l);

    lower(&l, "v1beta1 TFJob",
          "  cleanPodPolicy: All\n  ttlSecondsAfterFinished: 7\n  activeDeadlineSeconds: 60\n"
          "  backoffLimit: 2\n" TF
          "    Worker: {restartPolicy: ExitCode, " POD("tensorflow") "}\n");
    ok(l.spec, "accepted");
    if (l.spec) {
        ok(l.spec->clean_up == CLEAN_UP_ALL && l.spec->has_ttl && l.spec->ttl_s == 7 &&
               l.spec->deadline_s == 60 && l.spec->has_restart_budget &&
               l.spec->restart_budget == 2,
           "the same beside the replicas");
        ok(l.spec->roles[0].restart == RESTART_EXIT_CODE, "restartPolicy");
    }
    done(&l);

    lower(&l, "v1beta1 TFJob", TF TASKS("Worker", "1"));
    ok(l.spec && l.spec->clean_up == CLEAN_UP_RUNNING && !l.spec->has_ttl &&
           !l.spec->has_restart_budget && l.spec->deadline_s == 0 && !l.spec->pause,
       "the old operator deleted what was running");
    ok(l.spec && l.spec->roles[0].restart == RESTART_NEVER, "TensorFlow's are not restarted");
    done(&l);
}

/* Which role's success is the job's: "master:1 worker:0", with ! for its first replica alone. */
static const struct {
    const char *head, *spec, *want, *name;
} ends[] = {
    {"v1 PyTorchJob", TORCH MASTER WORKERS("3"), "master:1+ worker:0+", "the master"},
    {"v1 PyTorchJob", TORCH WORKERS("3"), "worker:3+", "without one all workers"},
    {"v1 PyTorchJob", "  elasticPolicy: {}\n" TORCH WORKERS("3"), "worker:1+",
     "elastic: any worker"},
    {"v1 TFJob", TF TASKS("PS", "2") TASKS("Worker", "3"), "ps:0 worker:!+", "worker 0"},
    {"v1 TFJob", TF TASKS("Chief", "1") TASKS("Worker", "3"), "chief:1+ worker:0+", "the chief"},
    {"v1 TFJob", TF TASKS("Worker", "3") TASKS("Master", "1"), "worker:0+ master:1+",
     "the master of a TFJob"},
    {"v1 TFJob", "  successPolicy: AllWorkers\n" TF TASKS("Worker", "3"), "worker:3+",
     "all workers"},
    {"v1 TFJob", "  enableDynamicWorker: true\n" TF TASKS("Worker", "3"), "worker:!+ fails at 3",
     "dynamic workers: it fails with the last of them"},
};

static void test_ends(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        struct lowered l;
        auto_strbuf struct strbuf sb = STRBUF_INIT;

        lower(&l, ends[i].head, ends[i].spec);
        for (size_t k = 0; l.spec && k < l.spec->n_roles; k++) {
            const struct role *r = &l.spec->roles[k];

            strbuf_addf(&sb, "%s%s:", k ? " " : "", r->name);
            if (r->first_decides)
                strbuf_addch(&sb, '!');
            else
                strbuf_addf(&sb, "%d", r->min_succeeded);
            strbuf_addstr(&sb, r->ends_alone ? "+" : "");
            if (r->min_failed)
                strbuf_addf(&sb, " fails at %d", r->min_failed);
        }
        is_str(sb.buf, ends[i].want, "whose success counts: %s", ends[i].name);
        done(&l);
    }
}

static size_t count_code(const struct lowered *l, const char *code)
{
    size_t n = 0;

    for (size_t i = 0; i < l->ds.n; i++)
        n += strcmp(l->ds.v[i].code, code) == 0;
    return n;
}

static void test_budget(void)
{
    static const struct {
        const char *head, *spec;
        size_t notes;
    } budgets[] = {
        {"v1 TFJob", "  runPolicy: {backoffLimit: 3}\n" TF TASKS("Worker", "1"), 1},
        {"v1beta1 TFJob", "  backoffLimit: 3\n" TF TASKS("Worker", "1"), 1},
        {"v1 TFJob", "  runPolicy: {backoffLimit: 0}\n" TF TASKS("Worker", "1"), 0},
        {"v1 PyTorchJob", "  runPolicy: {backoffLimit: 3}\n" TORCH MASTER, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(budgets); i++) {
        struct lowered l;

        lower(&l, budgets[i].head, budgets[i].spec);
        is_int((int)count_code(&l, "N0340"), (int)budgets[i].notes, "restarts that are never made");
        done(&l);
    }
}

static void test_ports(void)
{
    struct lowered l;

    lower(&l, "v1 PyTorchJob",
          "  elasticPolicy: {rdzvPort: 99, rdzvConf: [{key: a, value: b}, {key: c, value: "
          "d}]}\n" TORCH MASTER WORKERS("2"));
    ok(l.spec, "accepted");
    if (l.spec) {
        const struct role *master = &l.spec->roles[0], *worker = &l.spec->roles[1];

        ok(master->n_ports == 1 && master->ports[0].usual == 23456, "the master's port");
        ok(worker->n_ports == 1 && worker->ports[0].usual == 99 && worker->ports[0].first_only,
           "that of the rendezvous");
        is_str(l.spec->elastic->conf[1], "c=d", "its options");
        ok(l.spec->elastic->min_replicas == 2 && l.spec->elastic->max_replicas == 2,
           "as many as there are");
        is_str(l.spec->elastic->backend, "c10d", "the default backend");
    }
    done(&l);

    lower(&l, "v1 PyTorchJob", "  elasticPolicy: {rdzvHost: etcd}\n" TORCH WORKERS("2"));
    ok(l.spec && l.spec->roles[0].n_ports == 0, "a rendezvous elsewhere needs none here");
    done(&l);

    lower(&l, "v1 TFJob",
          TF
          "    Worker: {template: {spec: {containers: [{name: tensorflow, image: i,\n"
          "      ports: [{name: x, containerPort: 1}, {name: tfjob-port, containerPort: 4000}],\n"
          "      command: [python], args: [a]}, {name: side, image: i}]}}}\n");
    ok(l.spec && l.spec->roles[0].ports[0].usual == 4000, "a port that the file names");
    ok(l.spec && !strcmp(l.spec->roles[0].argv[1], "a"), "command and args");
    is_str(l.spec ? l.spec->container : NULL, "tensorflow", "the container");
    done(&l);
}

int main(void)
{
    test_rows();
    test_names();
    test_policies();
    test_ends();
    test_budget();
    test_ports();
    return tap_done();
}
