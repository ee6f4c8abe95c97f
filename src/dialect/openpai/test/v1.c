/* v1.c - OpenPAI's first job file lowered into the model. */
#include "dialect/test/lowered.h"

static void lower_with(struct lowered *l, const char *text, const struct read_options *opts)
{
    lower_by(l, &openpai_v1, "x", text, opts);
}

static void lower(struct lowered *l, const char *text)
{
    lower_with(l, text, &(struct read_options){0});
}

/* --- the seed ------------------------------------------------------------------------------- */

static const char seed[] = "{\n"
                           "  \"jobName\": \"horovod-job\",\n"
                           "  \"image\": \"your/images/url\",\n"
                           "  \"virtualCluster\": \"default\",\n"
                           "  \"taskRoles\": [\n"
                           "    {\n"
                           "      \"name\": \"master\",\n"
                           "      \"taskNumber\": 1,\n"
                           "      \"cpuNumber\": 2,\n"
                           "      \"memoryMB\": 10240,\n"
                           "      \"shmMB\": 256,\n"
                           "      \"gpuNumber\": 1,\n"
                           "      \"minFailedTaskCount\": 1,\n"
                           "      \"minSucceededTaskCount\": 1,\n"
                           "      \"command\": \"sleep 1000 &&  Your codeÔºÅ\"\n"
                           "    },\n"
                           "    {\n"
                           "      \"name\": \"worker\",\n"
                           "      \"taskNumber\": 1,\n"
                           "      \"cpuNumber\": 2,\n"
                           "      \"memoryMB\": 10240,\n"
                           "      \"shmMB\": 256,\n"
                           "      \"gpuNumber\": 1,\n"
                           "      \"minFailedTaskCount\": 1,\n"
                           "      \"minSucceededTaskCount\": 1,\n"
                           "      \"command\": \"sleep infinity\"\n"
                           "    }\n"
                           "  ],\n"
                           "  \"jobEnvs\": {\n"
                           "    \"paiAzRDMA\": true\n"
                           "  }\n"
                           "}\n";

static void test_seed_role(struct lowered *l, const struct role *r, const char *name)
{
    is_str(r->name, name, "3.13: role %s, hosts %s-<i>", name, name);
    ok(r->kind == ROLE_PLAIN && r->replicas == 1 && r->slots == 1 && r->slots_kind == SLOTS_NUMBER,
       "3.5: one task of one process");
    is_int(r->shell_kind, SHELL_BASH, "run by bash without options");
    is_int(r->res.cpu_limit_milli, 2000, "3.5: cpuNumber");
    is_int(r->res.memory_limit, INT64_C(10) << 30, "3.5: memoryMB");
    is_int(r->res.gpu, 1, "3.5: gpuNumber");
    is_int(r->res.shm, 256 << 20, "3.6: shmMB");
    ok(r->res.shm_at != NULL, "3.6: and that it was said");
    is_int(r->min_failed, 1, "3.7: minFailedTaskCount");
    is_int(r->min_succeeded, 1, "3.7: minSucceededTaskCount");
    is_str(r->image, "your/images/url", "3.4: one image for all");
    ok(r->n_env == 1 && !strcmp(r->env[0].name, "paiAzRDMA") && !strcmp(r->env[0].value, "true"),
       "3.10: jobEnvs as they are given");
    is_str(ports(l, r), "ssh:1 http:1", "the ports every task has");
}

static void test_seed(void)
{
    struct lowered l;
    const struct job_spec *s;

    lower(&l, seed);
    s = l.spec;
    is_str(findings(&l), "W0403@15:18 W0304@30:18", "3.1: seed 003 has two warnings");
    has(l.ds.v[0].message, "every replica is ready", "3.8: the sleep's names the start gate");
    has(l.ds.v[1].message, "TCP", "3.11: paiAzRDMA's says what happens");
    ok(s && s->n_roles == 2, "it is lowered");
    if (!s)
        return;
    is_str(s->name, "horovod-job", "3.4: jobName");
    is_str(s->queue, "default", "3.4: virtualCluster is the queue");
    ok(s->gang, "3.12: nothing starts before every replica exists");
    is_int(s->framework, FRAMEWORK_NONE, "no framework");
    ok(s->pai && s->pai->version == 1 && !s->pai->data_dir, "of the first form");
    test_seed_role(&l, &s->roles[0], "master");
    test_seed_role(&l, &s->roles[1], "worker");
    is_str(s->roles[0].shell, "sleep 1000 &&  Your codeÔºÅ", "3.8: verbatim");
    is_str(s->roles[1].shell, "sleep infinity", "3.9: an ordinary command");
    done(&l);
}

/* --- defaults and everything there is ------------------------------------------------------- */

static void test_defaults(void)
{
    struct lowered l;
    const struct role *r;

    lower(&l, "{jobName: a.b_C-1, image: i, taskRoles: [{name: main, command: 'true'}]}");
    is_str(findings(&l), "N0323@1:42", "1.1: one role, one task; the memory is told");
    ok(l.spec && l.spec->n_roles == 1, "1.1: it is lowered");
    if (!l.spec)
        return;
    r = &l.spec->roles[0];
    is_int(r->replicas, 1, "one task");
    is_int(r->res.cpu_limit_milli, 1000, "one cpu");
    is_int(r->res.memory_limit, 100 << 20, "100 MB");
    is_int(r->res.gpu, 0, "no gpu");
    is_int(r->res.shm, 64 << 20, "64 MB of shared memory");
    ok(!r->res.shm_at, "which nobody asked for");
    is_int(r->min_failed, 1, "1.6: the first failure counts");
    is_int(r->min_succeeded, -1, "1.6: success only by all");
    is_str(l.spec->queue, "default", "the default queue");
    done(&l);
}

static void test_full(void)
{
    struct lowered l;
    const struct job_spec *s;

    lower(&l,
          "{\n"
          "jobName: full, image: i, authFile: hdfs://a, gpuType: K80,\n"
          "dataDir: d, outputDir: '', codeDir: c, virtualCluster: vc, retryCount: -2,\n"
          "killAllOnCompletedTaskNumber: 1,\n"
          "jobEnvs: {A: x, N: 1.50, Z: null, isDebug: true, O: {k: [1, v]}},\n"
          "extras: {anything: [1]},\n"
          "taskRoles: [\n"
          "{name: ps_server, taskNumber: 2, memoryMB: 50, cpuNumber: 0, command: a,\n"
          " minFailedTaskCount: null, minSucceededTaskCount: 2,\n"
          " portList: [{label: web, beginAt: 8000, portNumber: 3}, {label: ssh}, {label: none,\n"
          " portNumber: 0}]},\n"
          "{name: w, taskNumber: \"8\", memoryMB: 0, command: b, minSucceededTaskCount: null}]}");
    s = l.spec;
    is_str(findings(&l),
           "N0301@2:26 N0301@2:46 N0324@3:1 N0324@3:28 W0301@4:1 N0301@5:35 "
           "W0306@5:53 W0305@12:23",
           "what is told of a full file");
    ok(s != NULL, "it is lowered");
    if (!s)
        return;
    is_str(s->queue, "vc", "virtualCluster");
    ok(s->retry.by_class && s->retry.max == -2, "1.5: retryCount, by OpenPAI's classes");
    ok(!strcmp(s->pai->data_dir, "d") && !s->pai->output_dir && !strcmp(s->pai->code_dir, "c"),
       "directories");
    is_str(ports(&l, &s->roles[0]), "web:3@8000 ssh:1 http:1", "1.10: ports, ssh once");
    is_int(s->roles[0].min_failed, -1, "1.6: null: failures never end the job");
    is_int(s->roles[0].min_succeeded, 2, "1.6: as many as given");
    is_int(s->roles[1].min_succeeded, -1, "1.6: null: no such rule");
    is_int(s->roles[0].res.cpu_limit_milli, QUANTITY_UNSET, "0 cpus: no limit");
    is_int(s->roles[0].res.shm, 50 << 20, "shared memory by default fits into the memory");
    is_int(s->roles[1].res.memory_limit, QUANTITY_UNSET, "0 MB: no limit");
    is_int(s->roles[1].replicas, 8, "1.2: eight tasks, in quotes");
    is_str(s->roles[0].env[1].value, "1.50", "3.10: a number as it is written");
    is_str(s->roles[0].env[2].value, "", "3.10: null is empty");
    is_str(s->roles[0].env[4].value, "{\"k\":[1,\"v\"]}", "3.10: an object is JSON");
    done(&l);
}

/* --- the first sleep ------------------------------------------------------------------------ */

static const struct {
    const char *command, *rest; /* NULL: nothing is found */
} sleeps[] = {
    {"sleep 1000 && run", "run"},
    {"sleep 60 ; run", "run"},
    {" sleep\t2m&&run", "run"},
    {"sleep 1h\n run", "run"},
    {"sleep 1h;run; sleep 99", "run; sleep 99"},
    {"sleep 59 && run", NULL},
    {"sleep infinity && run", NULL},
    {"sleep 1000", NULL},
    {"sleep 1000;  ", NULL},
    {"sleep 1000 & run", NULL},
    {"sleep 1000 || run", NULL},
    {"sleep 1000 | run", NULL},
    {"sleep $N && run", NULL},
    {"sleep 1000x && run", NULL},
    {"sleep 60 60 && run", NULL},
    {"sleeper 1000 && run", NULL},
    {"run && sleep 1000 && run", NULL},
};

static void test_sleeps(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(sleeps); i++) {
        struct lowered l;
        auto_strbuf struct strbuf sb = STRBUF_INIT, quoted = STRBUF_INIT;

        for (const char *p = sleeps[i].command; *p; p++)
            strbuf_addf(&quoted, "%s%c", *p == '\n' ? "\\" : "", *p == '\n' ? 'n' : *p);
        strbuf_addf(
            &sb, "{jobName: j, image: i, taskRoles: [{name: a, memoryMB: 200, command: \"%s\"}]}",
            quoted.buf);
        lower(&l, sb.buf);
        is_int(l.ds.n, sleeps[i].rest != NULL, "3.8: %s", quoted.buf);
        is_str(l.spec->roles[0].shell, sleeps[i].command, "3.8: is kept");
        done(&l);
        lower_with(&l, sb.buf, &(struct read_options){.skip_start_sleep = true});
        is_str(l.spec->roles[0].shell, sleeps[i].rest ? sleeps[i].rest : sleeps[i].command,
               "3.8: or dropped");
        if (sleeps[i].rest)
            has(findings(&l), "W0403", "3.8: which is told");
        done(&l);
    }
}

/* --- faults --------------------------------------------------------------------------------- */

/* The keys in question begin a line. */
#define ROLE(keys)                                                                                 \
    "{jobName: j, image: i, taskRoles: [{name: r, memoryMB: 999, command: c,\n" keys "}]}"
#define JOB(keys)                                                                                  \
    "{jobName: j, image: i, taskRoles: [{name: r, memoryMB: 9, command: c}],\n" keys "}"

static const struct {
    const char *text, *findings, *name;
} faults[] = {
    {ROLE("taskNumber: two"), "E0107@2:13", "a word for a number"},
    {ROLE("taskNumber: 1.5"), "E0107@2:13", "half a task"},
    {ROLE("taskNumber: 2.0"), "", "a whole number with a point"},
    {ROLE("taskNumber: 0"), "E0203@2:13", "no task"},
    {ROLE("taskNumber: 9000"), "E0203@2:13", "too many replicas"},
    {ROLE("taskNumber: 99999999999"), "E0203@2:13", "far too many"},
    {ROLE("taskNumber: null"), "E0103@2:1", "null is no value"},
    {ROLE("gpuNumber: -1"), "E0203@2:12", "less than nothing"},
    {ROLE("taskNumber: 4, minFailedTaskCount: 5"), "E0303@2:36", "more failures than tasks"},
    {ROLE("minSucceededTaskCount: 2"), "E0303@2:24", "more successes than tasks"},
    {ROLE("minSucceededTaskCount: 0"), "E0203@2:24", "0 successes"},
    {ROLE("shmMB: 1000"), "E0206@2:8", "3.6: more shared memory than memory"},
    {ROLE("env: {}"), "E0101@2:1", "an unknown key"},
    {ROLE("portList: [{label: a b}]"), "E0301@2:20", "a label with a blank"},
    {ROLE("portList: [{label: a}, {label: a}]"), "E0305@2:32", "two ports of one label"},
    {ROLE("portList: [{label: a, beginAt: 65535}]"), "", "the last port"},
    {ROLE("portList: [{label: a, beginAt: 65535, portNumber: 2}]"), "E0308@2:32", "beyond"},
    {ROLE("portList: [{label: a, portNumber: 99999}]"), "E0203@2:35", "too many ports"},
    {ROLE("portList: [{portNumbrt: 1}]"), "E0103@2:12 E0101@2:13", "a misspelt key of a port"},
    {JOB("retryCount: -3"), "E0203@2:13", "a retry count below -2"},
    {JOB("retryCount: 0"), "", "no retries"},
    {JOB("jobEnvs: []"), "E0107@2:10", "jobEnvs is a mapping"},
    {JOB("jobEnvs: {'a=b': 1}"), "E0211@2:11", "a name that is none"},
    {JOB("jobEnvs: {paiAzRDMA: false}"), "", "3.11: RDMA not wanted"},
    {JOB("extras: x"), "E0107@2:9", "extras is a mapping"},
    {JOB("virtualCluster: null"), "E0103@2:1", "null is no value at top level"},
    {"{jobName: a b, image: i, taskRoles: [{name: r, memoryMB: 9, command: c}]}", "E0301@1:11",
     "a job's name with a blank"},
    {"{jobName: j, image: i, taskRoles: [{name: a-b, memoryMB: 9, command: c}]}", "E0301@1:43",
     "a role's name with a hyphen"},
    {"{jobName: j, image: i, taskRoles: [{name: a.b~c, memoryMB: 9, command: c}]}", "",
     "a role's name with other signs"},
    {"{jobName: j, image: i, taskRoles: [{name: a_b, memoryMB: 9, command: c}, {name: AB, "
     "memoryMB: 9, command: c}]}",
     "E0302@1:81", "roles that cannot be told apart"},
    {"{jobName: j, image: i, taskRoles: [{name: "
     "a23456789012345678901234567890123456789012345678901234567890123, memoryMB: 9, command: c}]}",
     "E0202@1:43", "a name too long for hosts"},
    {"{jobName: j, image: i, taskRoles: []}", "E0104@1:35", "no roles"},
    {"{jobName: j, image: i, taskRoles: [x]}", "E0107@1:36", "a role that is none"},
    {"{jobName: j, taskRoles: [{name: r, memoryMB: 9, command: ''}]}", "E0103@1:1 E0104@1:58",
     "no image, no command"},
    {"{jobName: j, image: i, taskRoles: [{memoryMB: 9}]}", "E0103@1:36 E0103@1:36",
     "no name, no command"},
    {"text", "E0107@1:1", "no mapping"},
};

static void test_faults(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        struct lowered l;

        lower(&l, faults[i].text);
        is_str(findings(&l), faults[i].findings, "%s", faults[i].name);
        ok((l.spec != NULL) == (l.ds.n_errors == 0), "%s: a spec unless it is an error",
           faults[i].name);
        done(&l);
    }
}

int main(void)
{
    test_seed();
    test_defaults();
    test_full();
    test_sleeps();
    test_faults();
    return tap_done();
}
