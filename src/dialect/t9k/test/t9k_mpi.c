/* t9k_mpi.c - TensorStack's MPIJob lowered into the model: every field where it belongs. */

#include "dialect/test/lowered.h"

static void lower(struct lowered *l, const char *text)
{
    lower_by(l, &t9k_mpi, "x.yaml", text, &(struct read_options){0});
}

#define HEAD "apiVersion: batch.tensorstack.dev/v1beta1\nkind: MPIJob\nmetadata: {name: j}\nspec:\n"
#define M1_TAIL "    template: {spec: {containers: [{name: mpi-worker}]}}\n"
#define M1 HEAD "  worker:\n    cmd: [x]\n" M1_TAIL

static const char m1[] =
    "apiVersion: batch.tensorstack.dev/v1beta1\n"
    "kind: MPIJob\n"
    "metadata:\n"
    "  name: mpi-example\n"
    "  namespace: demo\n"
    "  labels: {a: b}\n"
    "spec:\n"
    "  worker:\n"
    "    replicas: 5\n"
    "    extraMPIArgs: [-N, \"3\", --enable-recovery, --max-restarts, \"100\"]\n"
    "    cmd: [./random_walk, \"20\"]\n"
    "    template:\n"
    "      spec:\n"
    "        terminationGracePeriodSeconds: 5\n"
    "        containers:\n"
    "        - name: mpi-worker\n"
    "          image: img\n"
    "          workingDir: /code\n"
    "          resources:\n"
    "            limits: {cpu: 100m, memory: 2Gi, nvidia.com/gpu: 3}\n"
    "            requests: {cpu: 0.05, memory: 1Gi}\n"
    "          env:\n"
    "          - {name: A, value: \"1\"}\n"
    "          - {name: S, valueFrom: {secretKeyRef: {name: n, key: k, optional: true}}}\n"
    "          - {name: C, valueFrom: {configMapKeyRef: {name: n, key: k}}}\n"
    "          - {name: F, valueFrom: {fieldRef: {fieldPath: status.podIP}}}\n"
    "          - {name: R, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}\n"
    "          - {name: E}\n"
    "          envFrom: [{prefix: P_, configMapRef: {name: all}}]\n"
    "          volumeMounts: [{name: dshm, mountPath: /dev/shm}]\n"
    "        volumes: [{name: dshm, emptyDir: {medium: Memory, sizeLimit: 1Gi}}]\n"
    "  mca: {btl: ^openib, pml: ob1}\n"
    "  runPolicy: {cleanUpWorkers: true}\n"
    "  ssh: {sshdPath: /usr/sbin/sshd}\n"
    "  mpiHome: /usr/local\n"
    "  runMode:\n"
    "    debug: {enable: true, replicaSpecs: [{type: worker, command: [sleep, inf]}]}\n"
    "    pause: {enabled: false, resumeSpecs: [{type: launcher, skipInitContainer: true}]}\n";

static void test_env(const struct role *role)
{
    static const struct {
        const char *name, *value, *ref_name, *ref_key;
        enum env_source source;
    } want[] = {
        {"A", "1", NULL, NULL, ENV_LITERAL},         {"S", "", "n", "k", ENV_SECRET},
        {"C", "", "n", "k", ENV_CONFIG_MAP},         {"F", "", NULL, "status.podIP", ENV_FIELD},
        {"R", "", "1m", "limits.cpu", ENV_RESOURCE}, {"E", "", NULL, NULL, ENV_LITERAL},
    };

    is_int(role->n_env, ARRAY_SIZE(want), "%s: environment", role->name);
    for (size_t i = 0; i < ARRAY_SIZE(want) && i < role->n_env; i++) {
        const struct env_entry *e = &role->env[i];

        is_str(e->name, want[i].name, "name");
        is_int(e->source, want[i].source, "source");
        is_str(e->value, want[i].value, "value");
        is_str(e->ref_name, want[i].ref_name, "reference");
        is_str(e->ref_key, want[i].ref_key, "key");
        ok(e->at != NULL, "place");
    }
    ok(role->n_env > 1 && role->env[1].optional, "an optional one");
    ok(role->n_env_from == 1 && !strcmp(role->env_from[0].name, "P_") &&
           !strcmp(role->env_from[0].ref_name, "all"),
       "a whole config map");
}

static void test_m1(void)
{
    struct lowered l;
    const struct role *launcher, *worker;
    const struct job_spec *s;

    lower(&l, m1);
    s = l.spec;
    is_str(finding_lines(&l), "", "a full M1 file has nothing to tell");
    ok(s != NULL, "it is lowered");
    if (!s)
        return;
    is_str(s->name, "mpi-example", "name");
    is_str(s->namespace_, "demo", "namespace");
    is_str(s->form, "M1", "form");
    is_str(s->container, "mpi-worker", "container");
    is_int(s->framework, FRAMEWORK_MPI, "framework");
    ok(s->clean_up_workers && s->debug && !s->pause, "policies and modes");
    is_str(s->debug_at->text, "enable", "the key that asks for debug");
    ok(s->n_debug_roles == 1 && !strcmp(s->debug_roles[0].command[0], "sleep"), "debug command");
    ok(s->n_resume_roles == 1 && s->resume_roles[0].skip_init, "resume");
    is_int(s->priority, -1, "no priority");

    is_str(s->mpi->home, "/usr/local", "mpiHome");
    is_str(s->mpi->sshd_path, "/usr/sbin/sshd", "sshd");
    ok(s->mpi->n_mca == 2 && !strcmp(s->mpi->mca[0].value, "^openib"), "mca");
    is_str(s->mpi->extra_args[2], "--enable-recovery", "arguments");
    ok(s->mpi->recovery, "recovery");
    is_str(s->mpi->program[0], "./random_walk", "program");

    launcher = &s->roles[0];
    worker = &s->roles[1];
    ok(s->n_roles == 2 && launcher->kind == ROLE_LAUNCHER && worker->kind == ROLE_HOST, "roles");
    is_int(launcher->replicas, 1, "one launcher");
    is_int(worker->replicas, 5, "five workers");
    ok(worker->slots_kind == SLOTS_NUMBER && worker->slots == 3, "of three");
    is_int(worker->res.cpu_limit_milli, 100, "cpu limit");
    is_int(worker->res.cpu_request_milli, 50, "cpu request");
    is_int(worker->res.memory_limit, INT64_C(2) << 30, "memory limit");
    is_int(worker->res.gpu, 3, "gpu");
    is_int(worker->res.shm, 1 << 30, "shared memory");
    is_int(worker->grace_s, 5, "grace period");
    is_str(launcher->image, "img", "the launcher takes the worker's image");
    is_str(launcher->workdir, "/code", "and directory");
    is_int(launcher->res.cpu_limit_milli, QUANTITY_UNSET, "but not its resources");
    test_env(worker);
    test_env(launcher);
    done(&l);
}

static void test_m2(void)
{
    static const char text[] =
        HEAD "  mca: {btl: self}\n"
             "  mpiConfig: {home: /opt, extraArgs: [--map-by, 'ppr:2:node'], script: [a, b]}\n"
             "  scheduler: {t9kScheduler: {queue: q, priority: 50}}\n"
             "  replicaSpecs:\n"
             "  - type: worker\n"
             "    replicas: 4\n"
             "    restartPolicy: {policy: OnFailure, limit: 3}\n"
             "    template: {spec: {containers: [{name: worker, image: w, workingDir: /w, command: "
             "[c],\n"
             "      env: [{name: A, value: a}, {name: B, value: b}]}]}}\n"
             "  - type: launcher\n"
             "    template: {spec: {containers: [{name: launcher, image: l, args: [c],\n"
             "      resources: {limits: {cpu: 1}}, env: [{name: B, value: B}, {name: C, value: "
             "c}]}]}}\n";
    struct lowered l;
    const struct job_spec *s;
    const struct role *launcher, *worker;

    lower(&l, text);
    s = l.spec;
    is_str(finding_lines(&l), "N0301@7 N0301@11 N0302@12 N0302@15", "M2, with mca where M1 has it");
    ok(s != NULL, "it is lowered");
    if (!s)
        return;
    is_str(s->form, "M2", "form");
    is_str(s->container, "worker", "container");
    is_str(s->mpi->home, "/opt", "home");
    is_str(s->mpi->mca[0].value, "self", "mca");
    is_str(s->queue, "q", "queue");
    is_int(s->priority, 50, "priority");
    launcher = &s->roles[0];
    worker = &s->roles[1];
    ok(worker->replicas == 4 && worker->slots == 2, "counts");
    ok(worker->restart == RESTART_ON_FAILURE && worker->restart_limit == 3, "restarts");
    is_str(launcher->image, "l", "the launcher's own image");
    is_str(launcher->workdir, "/w", "the worker's directory where it has none");
    is_int(launcher->res.cpu_limit_milli, 1000, "its own resources");
    ok(launcher->n_env == 3 && !strcmp(launcher->env[1].value, "B"), "its own environment wins");
    ok(worker->n_env == 2 && !strcmp(worker->env[1].value, "b"), "and is not the worker's");
    done(&l);
}

static void test_findings(void)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {M1, ""},
        {HEAD "  worker:\n    cmd: [x]\n    template: {spec: {containers: [{name: a}]}}\n",
         "E0212@7"},
        {HEAD "  worker:\n    cmd: [x]\n    template: {spec: {containers: [{image: a}]}}\n",
         "E0103@7"},
        {HEAD "  worker:\n    cmd: [x]\n    template: {spec: {containers: []}}\n", "E0104@7"},
        {HEAD "  worker:\n    cmd: [x]\n    template: {}\n", "E0103@7"},
        {HEAD "  worker:\n    cmd: [x]\n    template:\n", "E0103@7"},
        {HEAD "  worker:\n    cmd: [x]\n", "E0103@5"},
        {HEAD "  worker:\n" M1_TAIL, "E0103@5"},
        {HEAD "  worker:\n    cmd: []\n" M1_TAIL, "E0104@6"},
        {HEAD "  worker:\n    cmd: [\"\"]\n" M1_TAIL, "E0104@6"},
        {HEAD "  worker:\n    cmd: [a b]\n" M1_TAIL, "W0202@6"},
        {HEAD "  worker:\n    cmd: [a, 5]\n" M1_TAIL, "E0107@6"},
        {HEAD "  worker:\n", "E0103@5"},
        {HEAD "  mpiHome: /x\n", "E0103@4"},
        {"apiVersion: batch.tensorstack.dev/v1beta1\nkind: MPIJob\nmetadata: {name: j}\n",
         "E0103@1"},
        {"apiVersion: batch.tensorstack.dev/v1beta1\nkind: MPIJob\nmetadata:\n  name:\nspec:\n"
         "  worker:\n    cmd: [x]\n" M1_TAIL,
         "E0103@4"},
        {M1 "  replicaSpecs: [{type: worker, template: {spec: {containers: [{name: worker}]}}}]\n",
         "E0106@8"},
        {M1 "  mpiConfig: {script: [y]}\n", "E0106@8"},
        {HEAD "  worker:\n    cmd: [x]\n    extraMPIArgs: [-N]\n" M1_TAIL
              "  mpiConfig: {extraArgs: x}\n",
         "E0106@9 E0107@9"},
        {M1 "  mca: {a: 1}\n", "E0107@8"},
        {M1 "  mca: [a]\n", "E0107@8"},
        {M1 "  ssh: {sshdPath: sshd}\n", "E0207@8"},
        {M1 "  ssh: {sshAuthMountPath: /root/.ssh}\n", "N0301@8"},
        {M1 "  runPolicy: {cleanUpWorkers: all}\n", "W0203@8"},
        {M1 "  runPolicy: {cleanUpWorkers: maybe}\n", "E0107@8"},
        {M1 "  runMode: {debug: {enabled: true, replicaSpecs: [{type: x}]}}\n", "E0209@8"},
        {M1 "  runMode: {pause: {resumeSpecs: [{type: worker}, {type: worker}]}}\n", "E0210@8"},
        {M1 "  runMode: {pause: {resumeSpecs: [{type: worker, args: [a]}]}}\n", "W0552@8"},
        {M1 "  scheduler: {t9kScheduler: {priority: 101}}\n", "N0301@8 E0203@8"},
        {M1 "status: {phase: Failed}\n", "N0301@8"},
        {HEAD "  worker:\n    processesPerWorker: 2\n    cmd: [x]\n" M1_TAIL, "E0112@6"},
        {HEAD "  mpiConfig: {script: [x]}\n  replicaSpecs: [{type: launcher}]\n", "E0103@6"},
        {HEAD "  mpiConfig: {script: [x]}\n  replicaSpecs: [{type: worker}]\n", "E0103@6"},
        {HEAD "  mpiConfig: {script: [x]}\n  replicaSpecs: [{type: worker, template: }]\n",
         "E0103@6"},
        {HEAD "  mpiConfig: {script: [x]}\n  replicaSpecs: [{type: wrker}]\n", "E0209@6"},
        {HEAD "  mpiConfig: {script: [x]}\n  replicaSpecs: [5]\n", "E0107@6"},
        {HEAD "  mpiConfig: {script: [x]}\n  replicaSpecs: []\n", "E0104@6"},
        {HEAD "  mpiConfig: {script: [x]}\n  replicaSpecs:\n", "E0103@4"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct lowered l;

        lower(&l, rows[i].text);
        is_str(finding_lines(&l), rows[i].want, "findings %zu", i);
        ok((l.spec != NULL) == (l.ds.n_errors == 0), "a spec if and only if there is no error");
        done(&l);
    }
}

static void test_m0(void)
{
    struct lowered l;

    lower(&l, HEAD "  worker:\n    processesPerWorker: 2\n"
                   "    processRecovery: {enable: true, limit: 7}\n    cmd: [x]\n" M1_TAIL);
    is_int(l.verdict, VERDICT_UNSUPPORTED, "the first form is recognised");
    has(l.ds.v[0].hint,
        "extraMPIArgs: [\"-N\", \"2\", \"--enable-recovery\", \"--max-restarts\", \"7\"",
        "and its translation told");
    done(&l);
}

int main(void)
{
    test_m1();
    test_m2();
    test_findings();
    test_m0();
    return tap_done();
}
