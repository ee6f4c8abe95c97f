/* muster_v1.c - Muster's own job file lowered into the model: the short forms, and everything the
 * model has. */

#include "doc/schema.h"
#include "dialect/test/lowered.h"

static void lower(struct lowered *l, const char *text)
{
    lower_by(l, &muster_v1, "x.yaml", text, &(struct read_options){0});
}

/* A list of strings as one: "a|b". */
static const char *joined(struct lowered *l, const char *const *v)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; v && v[i]; i++)
        strbuf_addf(&sb, "%s%s", i ? "|" : "", v[i]);
    return arena_strndup(l->a, sb.buf, sb.len);
}

#define HEAD "apiVersion: muster/v1\nname: j\n"

/* --- short ---------------------------------------------------------------------------------- */

static void test_short(void)
{
    struct lowered l;
    const struct role *r;

    lower(&l, HEAD "roles:\n  worker: {replicas: 2, slots: 3, command: echo $RANK}\n");
    is_str(finding_lines(&l), "", "five lines are a job");
    r = &l.spec->roles[0];
    is_str(l.spec->dialect, "muster-v1", "its dialect");
    is_str(r->name, "worker", "a role is called by its key");
    ok(r->kind == ROLE_PLAIN && r->replicas == 2 && r->slots == 3, "its numbers");
    is_str(r->shell, "echo $RANK", "a text is for a shell");
    ok(r->shell_kind == SHELL_SH && !r->argv, "which is sh");
    ok(l.spec->ranks && l.spec->gang, "its processes are ranks, and start together");
    is_str(r->ports[0].label, "MASTER_PORT", "ranks have a meeting place");
    ok(r->ports[0].first_only && r->ports[0].usual == 29500, "at the first replica");
    ok(r->grace_s == -1 && r->res.cpu_limit_milli == QUANTITY_UNSET && l.spec->priority == -1 &&
           !l.spec->has_ttl && !l.spec->has_restart_budget,
       "nothing is said that was not said");
    done(&l);

    lower(&l, HEAD "framework: tensorflow\nroles:\n  ps: {command: [a]}\n"
                   "  worker: {command: [b], succeedsAfter: first, ports: {http: any}}\n");
    is_str(finding_lines(&l), "", "a TensorFlow job");
    ok(!l.spec->ranks, "its tasks are no ranks");
    is_str(l.spec->roles[0].ports[0].label, "TF_CONFIG", "each role has TensorFlow's port");
    is_str(l.spec->roles[1].ports[1].label, "TF_CONFIG", "behind its own");
    ok(l.spec->roles[1].first_decides && l.spec->roles[1].min_succeeded == 0, "worker 0 decides");
    is_str(joined(&l, l.spec->roles[0].argv), "a", "a list is executed as it is");
    done(&l);

    lower(&l, HEAD "roles:\n  a: {command: x}\n  b: {command: x, ports: {MASTER_PORT: 29500}}\n");
    is_int((long long)l.spec->roles[0].n_ports, 0, "a meeting place of one's own is the only one");
    done(&l);
}

static void test_mpi(void)
{
    struct lowered l;

    lower(&l, HEAD
          "framework: mpi\nroles:\n"
          "  worker: {replicas: 2, slots: 3, command: [./walk, \"1\"], image: i, env: {A: 1}}\n");
    is_str(finding_lines(&l), "", "an MPI job without a launcher");
    is_int((long long)l.spec->n_roles, 2, "has one made for it");
    ok(l.spec->roles[0].kind == ROLE_LAUNCHER && l.spec->roles[1].kind == ROLE_HOST, "first");
    is_str(l.spec->roles[0].image, "i", "from what the hosts have");
    is_int((long long)l.spec->roles[0].n_env, 1, "their variables, too");
    is_str(joined(&l, l.spec->mpi->program), "./walk|1", "the ranks run the command");
    ok(!l.spec->roles[1].argv && l.spec->roles[1].slots == 3, "the hosts wait");
    ok(!l.spec->ranks && !l.spec->gang, "mpirun counts and starts");
    done(&l);

    lower(&l, HEAD "framework: mpi\nmpi: {program: walk 1, args: [-N, \"2\", --enable-recovery],\n"
                   "  mca: {btl: ^openib, n: 3}, home: /opt, sshd: /sbin/sshd}\nroles:\n"
                   "  launcher: {image: a}\n  worker: {image: b}\n");
    is_str(finding_lines(&l), "", "a launcher without a command has a line composed");
    is_str(joined(&l, l.spec->mpi->program), "/bin/sh|-c|walk 1", "a text needs a shell");
    ok(l.spec->mpi->recovery && l.spec->mpi->n_mca == 2, "mpirun's options");
    is_str(l.spec->mpi->mca[1].value, "3", "a parameter may be a number");
    is_int(l.spec->roles[1].slots, 2, "-N says the slots where nothing else does");
    is_str(l.spec->mpi->home, "/opt", "home");
    done(&l);

    lower(&l, HEAD
          "framework: mpi\nroles:\n  launcher: {command: [mpirun, x]}\n"
          "  worker: {slots: auto}\n  node: {kind: host}\n  board: {kind: plain, command: x}\n");
    is_str(finding_lines(&l), "", "a launcher that calls mpirun itself");
    ok(!l.spec->mpi && l.spec->roles[1].slots_kind == SLOTS_AUTO &&
           l.spec->roles[2].slots_kind == SLOTS_UNSET && l.spec->roles[3].kind == ROLE_PLAIN,
       "and hosts of all kinds");
    done(&l);
}

/* --- platforms ------------------------------------------------------------------------------ */

/* Each platform by its name is what its own dialect sets. */
static void test_platforms(void)
{
    for (int kind = 0; kind < PLATFORM_KINDS; kind++) {
        struct lowered l;
        const char *text = NULL;
        struct arena *a = arena_new();

        text = arena_printf(a, HEAD "platform: %s\nroles: {worker: {command: [x]}}\n",
                            platform_words[kind]);
        lower(&l, text);
        is_int(l.spec ? platform_kind_of(&l.spec->platform) : -2, kind, "platform: %s",
               platform_words[kind]);
        ok(l.spec && !l.spec->pai == (kind != PLATFORM_OPENPAI), "OpenPAI's has its part");
        done(&l);
        arena_free(a);
    }
}

static void test_platform_parts(void)
{
    struct lowered l;

    lower(&l, HEAD "framework: pytorch\nplatform: pytorchjob\nelastic: {backend: c10d}\n"
                   "roles: {master: {command: [x]}, worker: {command: [x], ownSlots: true}}\n");
    is_str(finding_lines(&l), "", "a PyTorchJob in this form");
    is_str(l.spec->nproc, "1", "torchrun is told how many");
    ok(l.spec->roles[0].n_ports == 1 && l.spec->roles[0].ports[0].usual == 23456 &&
           !strcmp(l.spec->roles[1].ports[0].label, "RDZV_PORT"),
       "with the ports of the operator");
    done(&l);

    lower(&l, HEAD "framework: mpi\nplatform: mpijob-v1\nroles: {launcher: {command: [mpirun, x]}, "
                   "worker: {slots: 2}}\n");
    ok(l.spec->roles[0].n_mounts == 1 && l.spec->roles[0].mounts[0].source == VOLUME_OPERATOR,
       "an MPIJob's launcher has the operator's files");
    done(&l);

    lower(&l, HEAD "platform: openpai\nroles: {a: {command: x, resources: {memory: 100Mi}}, b: "
                   "{command: x, resources: {shm: 1Mi}}}\n");
    ok(l.spec->roles[0].res.shm == 100 << 20 && l.spec->roles[1].res.shm == 1 << 20,
       "OpenPAI's shared memory");
    done(&l);

    lower(&l, HEAD "platform: {like: none}\nroles: {a: {command: x}}\n");
    ok(strstr(finding_lines(&l), "E0209") != NULL, "a platform that there is not");
    done(&l);
}

/* --- everything ----------------------------------------------------------------------------- */

static const char whole[] = HEAD
    "namespace: n\n"
    "framework: pytorch\n"
    "platform: {like: azureml, hosts: by-task, services: of-workers, status: tfjob}\n"
    "ranks: false\n"
    "gang: false\n"
    "retries: {max: forever, byClass: true}\n"
    "restartBudget: 6\n"
    "deadline: 1h30m\n"
    "ttl: 90s\n"
    "cleanUp: running\n"
    "cleanUpWorkers: true\n"
    "debug: {enabled: false, roles: {b: {skipInit: true, command: [c], args: [d]}}}\n"
    "pause: true\n"
    "queue: q\n"
    "priority: 7\n"
    "experiment: e\n"
    "target: t\n"
    "targetType: y\n"
    "elastic: {minReplicas: 1, maxRestarts: 3, backend: c10d, conf: [a=b], port: 29400}\n"
    "openpai: {version: 1, dataDir: d, outputDir: o, codeDir: c}\n"
    "roles:\n"
    "  a:\n"
    "    replicas: 4\n"
    "    args: [x]\n"
    "    image: i\n"
    "    workdir: w\n"
    "    env: {L: text, N: 1, T: true, Z: null, S: {secret: s, key: k, optional: true}, C: "
    "{configMap: c,\n"
    "      key: k}, F: {field: metadata.name}, R: {resource: limits.cpu, divisor: 1m}, V: {value: "
    "5}}\n"
    "    envFrom: [{secret: s, prefix: P_}, {configMap: c, optional: true}]\n"
    "    resources: {cpu: {request: 500m, limit: 2}, memory: 4Gi, gpu: 2, shm: 1Gi}\n"
    "    ports: {fix: 8000, free: any, many: {count: 3, from: 9000, usual: 1, firstOnly: true}}\n"
    "    mounts:\n"
    "    - {path: /e, emptyDir: memory, name: e}\n"
    "    - {path: /h, hostPath: /mnt, subPath: s, readOnly: true}\n"
    "    - {path: /c, configMap: c, items: {k: p}, optional: true}\n"
    "    - {path: /s, secret: s}\n"
    "    - {path: /v, claim: v}\n"
    "    - {path: /o, other: true}\n"
    "    init: [{command: echo x, image: j, env: {A: b}, mounts: [{path: /e, emptyDir: disk, name: "
    "e}]}]\n"
    "    restart: {policy: exit-code, limit: 5}\n"
    "    failsAfter: 2\n"
    "    succeedsAfter: all\n"
    "    grace: 30s\n"
    "    template: {spec: {nodeSelector: {a: b}}}\n"
    "  b: {command: [$(A)], expand: true, restart: on-failure, failsAfter: never, succeedsAfter: "
    "never}\n"
    "  c: {command: x, shell: bash-strict, restart: {policy: by-class, limit: always}}\n";

static void test_whole_job(struct lowered *l)
{
    const struct job_spec *s = l->spec;

    is_str(s->namespace_, "n", "namespace");
    ok(s->framework == FRAMEWORK_PYTORCH && !s->ranks && !s->gang, "framework, ranks, gang");
    ok(s->retry.max == -1 && s->retry.by_class, "retries");
    ok(s->has_restart_budget && s->restart_budget == 6, "restart budget");
    ok(s->deadline_s == 5400 && s->has_ttl && s->ttl_s == 90, "deadline and time to live");
    ok(s->clean_up == CLEAN_UP_RUNNING && s->clean_up_workers, "clean-up");
    ok(!s->debug && s->n_debug_roles == 1 && s->debug_roles[0].skip_init, "debug");
    is_str(joined(l, s->debug_roles[0].command), "c", "its command");
    ok(s->pause && s->pause_at, "pause");
    is_str(s->queue, "q", "queue");
    is_int(s->priority, 7, "priority");
    is_str(s->experiment, "e", "experiment");
    ok(!strcmp(s->target, "t") && !strcmp(s->target_type, "y"), "target");
    ok(s->elastic->min_replicas == 1 && s->elastic->max_replicas == -1 &&
           s->elastic->max_restarts == 3 && s->elastic->port == 29400 && s->elastic->n_proc == -1,
       "elastic: what is not said is -1");
    is_str(joined(l, s->elastic->conf), "a=b", "elastic.conf");
    ok(s->platform.environment == PLATFORM_AZUREML && s->platform.hosts == HOSTS_BY_TASK &&
           s->platform.services == SERVICES_OF_WORKERS && s->platform.status == PLATFORM_TFJOB,
       "what it keeps of another platform");
    ok(s->pai->version == 1 && !strcmp(s->pai->code_dir, "c"), "OpenPAI's part");
}

static void test_whole_env(struct lowered *l, const struct role *r)
{
    is_int((long long)r->n_env, 9, "variables, in order");
    is_str(r->env[1].value, "1", "a number is its text");
    is_str(r->env[2].value, "true", "and so is true");
    is_str(r->env[3].value, "", "nothing is an empty text");
    ok(r->env[4].source == ENV_SECRET && r->env[4].optional, "a secret");
    ok(r->env[5].source == ENV_CONFIG_MAP && !strcmp(r->env[5].ref_key, "k"), "a config map");
    ok(r->env[6].source == ENV_FIELD && !strcmp(r->env[6].ref_key, "metadata.name"), "a field");
    ok(r->env[7].source == ENV_RESOURCE && !strcmp(r->env[7].ref_name, "1m"), "a resource");
    is_str(r->env[8].value, "5", "a value in its long form");
    ok(r->n_env_from == 2 && r->env_from[0].source == ENV_SECRET, "whole secrets");
    is_str(r->env_from[0].name, "P_", "with a prefix");
    ok(r->n_init == 1 && r->init[0].n_env == 1, "init commands have theirs");
    is_str(joined(l, r->init[0].argv), "/bin/sh|-c|echo x", "and a shell");
}

static void test_whole_role(const struct role *r)
{
    ok(r->res.cpu_request_milli == 500 && r->res.cpu_limit_milli == 2000, "cpu");
    ok(r->res.memory_limit == 4LL << 30 && r->res.memory_request == QUANTITY_UNSET, "memory");
    ok(r->res.gpu == 2 && r->res.shm == 1 << 30, "GPUs and shared memory");
    ok(r->ports[0].begin_at == 8000 && r->ports[1].begin_at == 0, "ports: fixed and free");
    ok(r->ports[2].count == 3 && r->ports[2].usual == 1 && r->ports[2].first_only, "and in full");
    is_str(r->ports[3].label, "MASTER_PORT", "PyTorch's port is added");
    is_int((long long)r->n_mounts, 6, "mounts");
    for (int i = 0; i < 6; i++)
        is_int(r->mounts[i].source, i, "of each kind: %s", r->mounts[i].path);
    ok(r->mounts[0].memory && r->mounts[1].read_only && r->mounts[2].n_items == 1,
       "with all parts");
    is_str(r->init[0].mounts[0].volume, r->mounts[0].volume, "a name is shared");
    ok(strcmp(r->mounts[1].volume, r->mounts[2].volume) != 0, "without one nothing is");
    ok(r->restart == RESTART_EXIT_CODE && r->restart_limit == 5, "restart");
    ok(r->min_failed == 2 && r->min_succeeded == 4, "counts");
    is_int(r->grace_s, 30, "grace");
    ok(node_find(r->template_at, "spec", "nodeSelector", NULL) != NULL, "the rest of a pod");
    ok(!r->argv && !r->shell && !strcmp(r->args[0], "x"), "args for an entry point");
}

static void test_whole(void)
{
    struct lowered l;

    lower(&l, whole);
    is_str(finding_lines(&l), "N0301@16 N0301@17 N0301@19 N0301@20 W0603@21 N0305@40 N0301@46",
           "all of the model can be said");
    if (!l.spec)
        return;
    test_whole_job(&l);
    test_whole_env(&l, &l.spec->roles[0]);
    test_whole_role(&l.spec->roles[0]);
    ok(l.spec->roles[1].expand_argv && l.spec->roles[1].restart_limit == 3,
       "b: expansion, a limit");
    ok(l.spec->roles[1].min_failed == -1 && l.spec->roles[1].min_succeeded == -1, "b: never");
    ok(l.spec->roles[2].shell_kind == SHELL_BASH_STRICT && l.spec->roles[2].restart_limit == -2,
       "c: bash, OpenPAI's numbers");
    done(&l);
}

/* --- faults --------------------------------------------------------------------------------- */

#define ROLE "roles:\n  a:\n    command: x\n"

static const struct fault {
    const char *text, *want;
} faults[] = {
    {"apiVersion: muster/v1\n" ROLE, "E0103@1"},
    {HEAD, "E0103@1"},
    {HEAD "roles: {}\n", "E0104@3"},
    {HEAD "roles: [a]\n", "E0107@3"},
    {HEAD "roles: {a: }\n", "E0107@3"},
    {HEAD ROLE "role: x\n", "E0101@6"},
    {HEAD ROLE "    replica: 2\n", "E0101@6"},
    {HEAD ROLE "    replicas: 0\n", "E0203@3"},
    {HEAD ROLE "framework: torch\n", "E0209@6"},
    {"apiVersion: muster/v1\nname: a b\n" ROLE, "E0601@2"},
    {HEAD "roles: {a/b: {command: x}}\n", "E0601@3"},
    {HEAD "roles: {a.b: {command: x}, A-b: {command: x}}\n", "E0602@3"},
    {HEAD ROLE "    failsAfter: 2\n", "E0603@6"},
    {HEAD ROLE "    succeedsAfter: 2\n", "E0603@6"},
    {HEAD ROLE "    succeedsAfter: some\n", "E0107@6"},
    {HEAD ROLE "    slots: 0\n", "E0107@6"},
    {HEAD ROLE "    grace: 30\n", "E0605@6"},
    {HEAD ROLE "deadline: soon\n", "E0605@6"},
    {HEAD ROLE "    restart: sometimes\n", "E0209@6"},
    {HEAD ROLE "    restart: [x]\n", "E0107@6"},
    {HEAD ROLE "    args: [x]\n", "E0106@6"},
    {HEAD "roles: {a: {command: [x], shell: bash}}\n", "W0602@3"},
    {HEAD "roles: {a: {command: []}}\n", "E0104@3"},
    {HEAD "roles: {a: {command: 5}}\n", "E0107@3"},
    {HEAD ROLE "    env: {A: [x]}\n", "E0107@6"},
    {HEAD ROLE "    env: {A: {secret: s}}\n", "E0103@6"},
    {HEAD ROLE "    env: {A: {field: f, value: v}}\n", "E0106@6"},
    {HEAD ROLE "    env: {A: {field: f, key: k}}\n", "E0106@6"},
    {HEAD ROLE "    env: {A=: x}\n", "E0211@6"},
    {HEAD ROLE "    env: [x]\n", "E0107@6"},
    {HEAD ROLE "    envFrom: [{prefix: x}]\n", "E0106@6"},
    {HEAD ROLE "    mounts: [{path: /a}]\n", "E0106@6"},
    {HEAD ROLE "    mounts: [{path: /a, claim: c, items: {a: b}}]\n", "E0106@6"},
    {HEAD ROLE "    ports: {a: 70000}\n", "E0203@6"},
    {HEAD ROLE "    ports: {a: {count: 9, from: 65530}}\n", "E0308@6"},
    {HEAD ROLE "    resources: {cpu: many}\n", "E0107@6"},
    {HEAD ROLE "    resources: {memory: {request: 2Gi, limit: 1Gi}}\n", "E0205@6"},
    {HEAD ROLE "    template: x\n", "N0301@6 E0107@6"},
    {HEAD ROLE "debug: {roles: {b: {}}}\n", "E0209@6"},
    {HEAD ROLE "mpi: {}\n", "E0604@6"},
    {HEAD ROLE "    kind: host\n", "E0604@6"},
    {HEAD ROLE "ranks: true\nframework: mpi\n", "E0604@6"},
    {HEAD ROLE "framework: mpi\nmpi: {program: y}\n", "E0106@7"},
    {HEAD ROLE "framework: mpi\nmpi: {args: [-N]}\n", "E0203@7"},
    {HEAD ROLE "framework: mpi\nmpi: {sshd: x}\n", "E0207@7"},
    {HEAD "framework: mpi\nroles:\n  a: {}\n", "E0103@4"},
    {HEAD "framework: mpi\nroles:\n  a: {command: x}\n  b: {command: y}\n", "E0604@6"},
    {HEAD "framework: mpi\nroles:\n  launcher: {command: x}\n  b: {command: y}\n", "E0604@6"},
    {HEAD "framework: mpi\nroles:\n  launcher: {kind: host, command: x}\n", "E0604@5"},
    {HEAD "framework: mpi\nroles:\n  launcher: {slots: 2, command: x}\n  b: {}\n", "E0604@5"},
    {HEAD "framework: mpi\nroles:\n  launcher: {replicas: 2, command: x}\n  b: {}\n", "E0203@5"},
    {HEAD "framework: mpi\nroles:\n  launcher: {command: x}\n  l: {kind: launcher}\n", "E0604@6"},
    {HEAD "framework: tensorflow\nroles: {ps: {command: x}, worker: {command: x}}\n", "W0601@4"},
    {HEAD ROLE "elastic: {}\n", "W0603@6"},
    {HEAD ROLE "framework: pytorch\nelastic: {}\n", "W0603@7"},
    {HEAD ROLE "    ownSlots: true\nelastic: {}\n", "W0603@7"},
    {HEAD ROLE "    ownSlots: true\nframework: pytorch\nelastic: {}\n", ""},
    {HEAD ROLE
     "    ownSlots: true\nframework: pytorch\nelastic: {minReplicas: 2, maxReplicas: 1}\n",
     "E0341@8"},
    {HEAD ROLE "sparseCluster: true\n", "W0603@6"},
};

/* Keys that people bring along from elsewhere. */
static void test_foreign(void)
{
    struct lowered l;

    lower(&l, HEAD ROLE "    gpus: 2\nkind: Job\n");
    has(l.ds.v[0].hint, "resources: {gpu:", "GPUs are resources");
    has(l.ds.v[1].hint, "remove it", "there are no kinds");
    done(&l);
}

static void test_faults(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        struct lowered l;

        lower(&l, faults[i].text);
        is_str(finding_lines(&l), faults[i].want, "fault %zu", i);
        ok((l.spec != NULL) == !strchr(faults[i].want, 'E'), "a spec if and only if it is fine");
        done(&l);
    }
}

/* --- the tables ----------------------------------------------------------------------------- */

static void test_documented(void)
{
    static struct schema_part parts[SCHEMA_PARTS_MAX];
    auto_arena struct arena *a = arena_new();
    size_t n = schema_parts(a, muster_v1.root_table, parts), lacking = 0;

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < parts[i].table->n; k++) {
            if (parts[i].table->fields[k].doc)
                continue;
            tap_diag("%s.%s has no text", parts[i].path, parts[i].table->fields[k].key);
            lacking++;
        }
    }
    is_int((long long)lacking, 0, "every key says what it is");
}

int main(void)
{
    test_documented();
    test_short();
    test_mpi();
    test_platforms();
    test_platform_parts();
    test_whole();
    test_foreign();
    test_faults();
    return tap_done();
}
