/* v2.c - OpenPAI's job protocol v2 lowered into the model. */
#include "dialect/test/lowered.h"

static void lower_with(struct lowered *l, const char *text, const struct read_options *opts)
{
    lower_by(l, &openpai_v2, "x", text, opts);
}

static void lower(struct lowered *l, const char *text)
{
    lower_with(l, text, &(struct read_options){0});
}

/* --- a distributed job ---------------------------------------------------------------------- */

static const char ddp[] = "protocolVersion: 2\n"
                          "name: Two-Nodes_ddp\n"
                          "type: job\n"
                          "jobRetryCount: 0\n"
                          "prerequisites:\n"
                          "  - {type: dockerimage, uri: 'some/torch:1', name: image}\n"
                          "taskRoles:\n"
                          "  worker:\n"
                          "    instances: 2\n"
                          "    completion: {minFailedInstances: 1}\n"
                          "    taskRetryCount: 0\n"
                          "    dockerImage: image\n"
                          "    resourcePerInstance:\n"
                          "      gpu: 2\n"
                          "      cpu: 8\n"
                          "      memoryMB: 16384\n"
                          "      ports: {SynPort: 1}\n"
                          "    commands:\n"
                          "      - export GLOO_SOCKET_IFNAME=eth0\n"
                          "      - >-\n"
                          "        python train.py -n 2 -g 2\n"
                          "        --dist-backend gloo\n"
                          "defaults: {virtualCluster: vc1}\n"
                          "extras:\n"
                          "  com.microsoft.pai.runtimeplugin:\n"
                          "    - {plugin: ssh, parameters: {jobssh: true, userssh: {}}}\n"
                          "  hivedScheduler: {taskRoles: {worker: {skuNum: 2, skuType: null}}}\n"
                          "  mine: [whatever]\n";

static void test_ddp(void)
{
    struct lowered l;
    const struct job_spec *s;
    const struct role *r;

    lower(&l, ddp);
    s = l.spec;
    is_str(findings(&l), "N0321@26:16 N0301@27:3", "a DDP job has two notes");
    ok(s && s->n_roles == 1, "it is lowered");
    if (!s)
        return;
    r = &s->roles[0];
    is_str(s->name, "Two-Nodes_ddp", "a name that is no DNS label");
    is_str(s->queue, "vc1", "virtualCluster is the queue");
    ok(s->gang && s->pai && s->pai->version == 2, "3.12: a gang, of the second form");
    ok(!s->secret_texts, "no secrets");
    ok(r->kind == ROLE_PLAIN && r->slots == 1 && r->slots_kind == SLOTS_NUMBER,
       "1.9: one process per task, whatever the GPUs");
    is_int(r->replicas, 2, "1.2: a replica per instance");
    is_str(r->name, "worker", "its role");
    is_str(r->image, "some/torch:1", "its image");
    is_int(r->shell_kind, SHELL_BASH_STRICT, "bash with its options");
    is_str(r->shell,
           "export GLOO_SOCKET_IFNAME=eth0\n"
           "python train.py -n 2 -g 2 --dist-backend gloo",
           "commands are lines of one text");
    ok(!r->shell_secret, "without secrets");
    is_str(ports(&l, r), "SynPort:1 ssh:1 http:1", "1.11: the label as it is spelt, ssh and http");
    is_int(r->res.cpu_limit_milli, 8000, "cpu");
    is_int(r->res.memory_limit, INT64_C(16) << 30, "memory");
    is_int(r->res.gpu, 2, "gpu");
    is_int(r->res.shm, 512 << 20, "512 MB of shared memory");
    ok(!r->res.shm_at, "which nobody asked for");
    is_int(r->min_failed, 1, "1.6: the first failure counts");
    is_int(r->min_succeeded, 2, "1.6: success when all instances of the role have succeeded");
    done(&l);
}

/* --- parts ---------------------------------------------------------------------------------- */

#define HEAD "protocolVersion: '2'\nname: j\ntype: job\n"
#define IMAGE "prerequisites: [{type: dockerimage, name: i, uri: u}]\n"
#define BODY "dockerImage: i, resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}"
#define JOB(role) HEAD IMAGE "taskRoles:\n  r: {" BODY ", commands: [c],\n" role "}\n"

static const struct {
    const char *completion;
    int32_t failed, succeeded;
    const char *findings;
} completions[] = {
    {"instances: 3", 1, 3, ""},
    {"instances: 3, completion: {}", 1, 3, ""},
    {"instances: 3, completion: {minFailedInstances: null, minSucceededInstances: null}", 1, 3, ""},
    {"instances: 3, completion: {minFailedInstances: 0, minSucceededInstances: 0}", 1, 3, ""},
    {"instances: 3, completion: {minFailedInstances: -1, minSucceededInstances: -1}", -1, -1,
     "W0114@7:48"},
    {"instances: 3, completion: {minFailedInstances: 3, minSucceededInstances: 1}", 3, 1, ""},
    {"instances: 3, completion: {minFailedInstances: -7, minSucceededInstances: 4}", -1, 4,
     "W0114@7:48 W0307@7:75"},
    {"completion: {minFailedInstances: 2}", 2, 1, "W0307@7:34"},
};

static void test_completion(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(completions); i++) {
        auto_strbuf struct strbuf sb = STRBUF_INIT;
        struct lowered l;

        strbuf_addf(&sb, JOB("%s"), completions[i].completion);
        lower(&l, sb.buf);
        is_str(findings(&l), completions[i].findings, "1.6: %s", completions[i].completion);
        is_int(l.spec->roles[0].min_failed, completions[i].failed, "1.6: failed");
        is_int(l.spec->roles[0].min_succeeded, completions[i].succeeded, "1.6: succeeded");
        done(&l);
    }
}

static void test_roles(void)
{
    struct lowered l;
    const struct role *r;

    lower(&l, HEAD IMAGE
          "taskRoles:\n"
          "  Ps_Server:\n"
          "    dockerImage: i\n"
          "    resourcePerInstance: {cpu: 0, memoryMB: 256, gpu: 0, ports: {a: 2, http: 3, z: 0}}\n"
          "    commands: [' sleep 100', ' run ']\n"
          "    extraContainerOptions: {shmMB: 300, infiniband: true}\n"
          "    taskRetryCount: 1\n"
          "jobRetryCount: 2\n"
          "extras: {gangAllocation: false, storages: [], jobStatusChangeNotification: {}}\n");
    is_str(findings(&l), "W0403@9:15 W0308@10:36 W0304@10:53 N0301@13:33 N0301@13:47",
           "what is told");
    if (!l.spec)
        return;
    ok(l.spec->retry.by_class && l.spec->retry.max == 2, "1.5: jobRetryCount");
    r = &l.spec->roles[0];
    ok(r->restart == RESTART_BY_CLASS && r->restart_limit == 1,
       "1.5: taskRetryCount, where tasks are no gang");
    is_str(r->name, "Ps_Server", "3.13: a role as it is spelt");
    ok(!l.spec->gang, "3.12: no gang");
    is_str(ports(&l, r), "a:2 http:3 ssh:1", "1.10: ports");
    is_int(r->res.shm, 256 << 20, "3.6: shared memory is not more than memory");
    is_int(r->res.cpu_limit_milli, QUANTITY_UNSET, "0 cpus: no limit");
    is_str(r->shell, "sleep 100\nrun", "each command is trimmed");
    is_str(l.spec->queue, "default", "the default queue");
    done(&l);
    lower_with(&l, JOB("") "defaults: {virtualCluster: ''}\n",
               &(struct read_options){.skip_start_sleep = true});
    is_str(findings(&l), "", "nothing to tell");
    done(&l);
}

/* --- commands ------------------------------------------------------------------------------- */

static void test_templates(void)
{
    struct lowered l;

    lower(&l,
          HEAD "parameters: {epochs: 10, lr: 0.01}\n"
               "prerequisites:\n"
               "  - {type: dockerimage, name: same, uri: u}\n"
               "  - {type: script, name: same, uri: git, version: 1.0-r1.4}\n"
               "  - {type: data, name: d, uri: [zero, one]}\n"
               "  - {type: output, name: o, uri: out}\n"
               "taskRoles:\n"
               "  r:\n"
               "    dockerImage: same\n"
               "    script: same\n"
               "    data: d\n"
               "    output: o\n"
               "    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}\n"
               "    commands:\n"
               "      - run <% $script.name %> <% $script.version %> <% $data.uri[1] %>\n"
               "      - 'echo <% $output.uri %> <%\n"
               "        $parameters.epochs %>'\n"
               "      - echo <% $parameters.epoch %> <% $scrip.uri %> <%! x %>\n"
               "  s:\n"
               "    dockerImage: same\n"
               "    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}\n"
               "    commands: [echo <% $data.name %>]\n"
               "deployments:\n"
               "  - {name: a, taskRoles: {r: {preCommands: [none]}}}\n"
               "  - name: b\n"
               "    taskRoles:\n"
               "      r: {preCommands: ['get <% $data.uri[0] %>'], postCommands: [put, ' away ']}\n"
               "defaults: {deployment: b}\n");
    is_str(findings(&l), "W0302@21:9 W0302@21:9 N0326@21:9 W0302@25:16", "what is told");
    if (!l.spec)
        return;
    has(l.ds.v[0].hint, "$parameters.epochs", "with the nearest name");
    has(l.ds.v[1].hint, "$script.uri", "of the scope too");
    has(l.ds.v[3].hint, "`data` not found for role s", "or what is not there");
    is_str(l.spec->roles[0].shell,
           "get zero\n"
           "run same 1.0-r1.4 one\n"
           "echo out 10\n"
           "echo <% $parameters.epoch %> <% $scrip.uri %>\n"
           "put\n"
           "away",
           "commands between those of the deployment");
    is_str(l.spec->roles[1].shell, "echo <% $data.name %>", "a role the deployment leaves out");
    done(&l);
}

static void test_secrets(void)
{
    static const char *const want[] = {"hunter2", "&\"'", "42", "pw0", NULL};
    struct lowered l;
    size_t n = 0;

    lower(&l, HEAD "secrets: {a: hunter2, b: {c: [\"&\\\"'\", 42, null, '']}}\n"
                   "prerequisites:\n"
                   "  - {type: dockerimage, name: i, uri: u, auth: {username: x, password: pw0}}\n"
                   "  - {type: dockerimage, name: k, uri: u, auth: {password: <% $secrets.a %>}}\n"
                   "taskRoles:\n"
                   "  r: {" BODY
                   ", commands: ['login <% $secrets.a %>', 'echo <% $secrets.b.c[0] %>']}\n"
                   "  s: {" BODY ", commands: [sleep 99, login <% $secrets.a %>]}\n"
                   "  t: {" BODY ", commands: [run]}\n");
    is_str(findings(&l), "N0301@6:42 N0301@7:42 W0403@10:88", "what is told");
    if (!l.spec)
        return;
    is_str(l.spec->roles[0].shell, "login ***\necho ***", "secrets are not shown");
    is_str(l.spec->roles[0].shell_secret, "login hunter2\necho &\"'", "but run, unescaped");
    is_str(l.spec->roles[1].shell_secret, "sleep 99\nlogin hunter2", "behind a sleep");
    ok(!l.spec->roles[2].shell_secret, "none where there is none");
    while (l.spec->secret_texts[n] && want[n]) {
        is_str(l.spec->secret_texts[n], want[n], "3.4: a text to be masked");
        n++;
    }
    ok(!want[n] && !l.spec->secret_texts[n], "all of them");
    done(&l);

    lower_with(&l,
               HEAD IMAGE "secrets: {a: hunter2}\n"
                          "taskRoles:\n"
                          "  s: {" BODY ", commands: [sleep 99, login <% $secrets.a %>]}\n",
               &(struct read_options){.skip_start_sleep = true});
    is_str(l.spec->roles[0].shell, "login ***", "3.8: dropped");
    is_str(l.spec->roles[0].shell_secret, "login hunter2", "3.8: in both texts");
    done(&l);
}

static void test_plugins(void)
{
    struct lowered l;

    lower(&l, HEAD
          "parameters: {p: 1}\n"
          "prerequisites:\n"
          "  - {type: dockerimage, name: i, uri: u}\n"
          "  - type: script\n"
          "    name: first\n"
          "    plugin: com.microsoft.pai.runtimeplugin.cmd\n"
          "    failurePolicy: ignore\n"
          "    callbacks:\n"
          "      - {event: taskStarts, commands: [start first]}\n"
          "      - {event: taskSucceeds, commands: [end first]}\n"
          "      - {event: later, commands: [never]}\n"
          "  - {type: data, name: second, plugin: com.microsoft.pai.runtimeplugin.git}\n"
          "taskRoles:\n"
          "  r: {" BODY ", commands: [run], prerequisites: [first, second]}\n"
          "  s: {" BODY ", commands: [run, exit 0]}\n"
          "extras:\n"
          "  com.microsoft.pai.runtimeplugin:\n"
          "    - plugin: cmd\n"
          "      taskroles: [r, q]\n"
          "      parameters: {preCommands: [pre <% $parameters.p %>, more], postCommands: [post]}\n"
          "    - {plugin: cmd, parameters: {preCommands: [all]}}\n"
          "    - {plugin: tensorboard}\n"
          "    - {plugin: magic}\n"
          "    - {}\n");
    is_str(findings(&l), "W0310@14:9 N0321@15:40 W0309@22:22 N0321@25:16 W0310@26:16 W0310@27:7",
           "what is told of plugins");
    if (!l.spec)
        return;
    is_str(l.spec->roles[0].shell,
           "(\nset +o nounset +o pipefail\nset +o errexit\nstart first\nset -o errexit\n)\n"
           "(\nset +o nounset +o pipefail\npre 1\nmore\n)\n"
           "(\nset +o nounset +o pipefail\nall\n)\n"
           "(\nrun\n)\n"
           "(\nset +o nounset +o pipefail\npost\n)\n"
           "(\nset +o nounset +o pipefail\nset +o errexit\nend first\nset -o errexit\n)",
           "before in order, after in reverse");
    is_str(l.spec->roles[1].shell,
           "(\nset +o nounset +o pipefail\nall\n)\n"
           "run\nexit 0",
           "nothing to come after it: no subshell");
    done(&l);
}

/* --- faults --------------------------------------------------------------------------------- */

#define ROLES(map) HEAD IMAGE "taskRoles:\n" map "\n"
#define WITH(keys) JOB("") keys "\n"

static const struct {
    const char *text, *findings, *name;
} faults[] = {
    {"protocolVersion: 2\n", "E0103@1:1 E0103@1:1 E0103@1:1", "name, type and roles are missing"},
    {"protocolVersion: 3\nname: j\ntype: job\ntaskRoles: {}\n", "E0209@1:18 E0104@4:12",
     "another protocol, no roles"},
    {"protocolVersion: 2\nname: j.k\ntype: jab\ntaskRoles: []\n", "E0301@2:7 E0209@3:7 E0107@4:12",
     "a bad name, type and list of roles"},
    {JOB("instances: 0"), "E0203@7:12", "no instance"},
    {JOB("instances: '1'"), "E0107@7:12", "a number in quotes"},
    {JOB("instances: 2.0"), "", "a whole number with a point"},
    {JOB("completion: {minFailedInstances: '1'}"), "E0107@7:34", "a count in quotes"},
    {JOB("completion: {minSucceededTaskCount: 1}"), "E0101@7:14", "the name of the first form"},
    {JOB("data: null"), "E0103@7:1", "null is no value"},
    {JOB("data: d"), "E0304@7:7", "a prerequisite that is not there"},
    {JOB("script: i"), "E0304@7:9", "or of another type"},
    {JOB("prerequisites: [i, k]"), "E0304@7:20", "or in a list"},
    {JOB("extraContainerOptions: {other: 1}"), "W0101@7:25", "an option of others"},
    {ROLES("  a-b: {" BODY ", commands: [c]}"), "E0301@6:3", "a role's name with a hyphen"},
    {ROLES("  1a: {" BODY ", commands: [c]}"), "E0301@6:3", "with a digit in front"},
    {ROLES("  a_b: {" BODY ", commands: [c]}\n  ab: {" BODY ", commands: [c]}"), "E0302@7:3",
     "roles that cannot be told apart"},
    {ROLES("  r: {" BODY ", commands: []}"), "E0104@6:88", "no commands"},
    {ROLES("  r: {" BODY ", commands: c}"), "E0107@6:88", "a string for a list"},
    {ROLES("  r: {" BODY ", comands: [c]}"), "E0101@6:78", "a misspelt key"},
    {ROLES("  r: x"), "E0107@6:6", "a role that is none"},
    {ROLES("  r: {dockerImage: i, resourcePerInstance: {cpu: 1, gpu: 1}, commands: [c]}"),
     "E0103@6:23", "no memory"},
    {ROLES("  r: {dockerImage: i, commands: [c], resourcePerInstance:\n"
           "   {cpu: 1, gpu: 1, memoryMB: 9, ports: {}}}"),
     "E0104@7:41", "no ports in ports"},
    {ROLES("  r: {dockerImage: i, commands: [c], resourcePerInstance:\n"
           "   {cpu: 1, gpu: 1, memoryMB: 9, ports: {a: one, b-c: 1, d: }}}"),
     "E0107@7:45 E0301@7:50 E0103@7:58", "ports that are none"},
    {ROLES("  r: {" BODY ", commands: [<%# $parameters.x %>]}"), "E0309@6:89",
     "a tag that is no variable"},
    {WITH("default: {}"), "E0101@8:1", "an unknown key"},
    {WITH("defaults: {deployment: d}"), "E0306@8:24", "a deployment that is not there"},
    {WITH("defaults: {other: d}"), "W0101@8:12", "another default"},
    {WITH("jobRetryCount: -2"), "E0203@8:16", "retries below 0"},
    {WITH("parameters:"), "E0103@8:1", "parameters without a value"},
    {WITH("parameters: x"), "E0107@8:13", "parameters that are none"},
    {WITH("version: [1]"), "E0107@8:10", "a version that is none"},
    {WITH("description: 5"), "E0107@8:14", "a description that is none"},
    {WITH("secrets: hunter2"), "E0107@8:1", "secrets that are none"},
    {WITH("extras: x"), "E0107@8:9", "extras that are none"},
    {WITH("extras: {com.microsoft.pai.runtimeplugin: x}"), "E0107@8:43", "plugins that are none"},
    {WITH("extras: {com.microsoft.pai.runtimeplugin: [{plugin: cmd, parameters: "
          "{preCommands: c}}]}"),
     "E0107@8:84", "a plugin's commands that are none"},
    {WITH("extras: {com.microsoft.pai.runtimeplugin: [{plugin: cmd, parameters: "
          "{preCommands: [c], callbacks: []}}]}"),
     "E0106@8:71", "both ways to say it"},
    {WITH("extras: {hivedScheduler: {jobPriorityClass: high, taskRoles: {x: {}}}}"),
     "N0301@8:10 E0209@8:45 W0309@8:63", "a priority that is none"},
    {WITH("deployments: [{name: d, taskRoles: {r: {preCommands: [a]}}}]"), "N0325@8:1",
     "no deployment is chosen"},
    {WITH("deployments: [{name: d, taskRoles: {x: {preCommands: []}}}, {name: d, taskRoles: {}}]\n"
          "defaults: {deployment: d}"),
     "W0309@8:37 E0104@8:54 E0305@8:68 E0104@8:82", "deployments with faults"},
    {HEAD "taskRoles:\n  r: {" BODY ", commands: [c]}\n", "E0304@5:20", "no prerequisites"},
    {HEAD "prerequisites: []\ntaskRoles:\n  r: {" BODY ", commands: [c]}\n", "E0104@4:16",
     "an empty list of them"},
    {HEAD "prerequisites: [{type: dockerimage, name: i}]\ntaskRoles:\n  r: {" BODY
          ", commands: [c]}\n",
     "E0103@4:17", "an image without uri"},
    {HEAD
     "prerequisites:\n- {type: dockerimage, name: i, uri: [u]}\n- {type: data, name: d, uri: u}\n"
     "- {type: dockerimage, name: i, uri: u}\n- {type: vm, name: x}\n"
     "- {type: dockerimage, name: k, uri: u, auth: {password: 123456}}\n"
     "- {type: dockerimage, name: l, uri: u, auth: 123456}\n"
     "taskRoles:\n  r: {" BODY ", commands: [c]}\n",
     "E0107@5:37 E0107@6:30 E0305@7:29 E0209@8:10 N0301@9:40 E0107@9:47 E0107@10:40",
     "prerequisites with faults"},
};

static void test_faults(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        struct lowered l;

        lower(&l, faults[i].text);
        is_str(findings(&l), faults[i].findings, "%s", faults[i].name);
        ok((l.spec != NULL) == (l.ds.n_errors == 0), "%s: a spec unless it is an error",
           faults[i].name);
        for (size_t k = 0; k < l.ds.n; k++)
            ok(!strstr(l.ds.v[k].message, "hunter2") && !strstr(l.ds.v[k].message, "123456"),
               "no secret is told");
        done(&l);
    }
}

/* Few bytes that would become very many: r has so many tags of 100,000 bytes, s ten, t one. */
static void test_limits(void)
{
    static const struct {
        int tags;
        const char *findings;
    } want[] = {
        {70, ""},
        {80, "E0005@8:89 E0005@9:89"},
        {1000, "E0005@7:89 E0005@8:89 E0005@9:89"},
    };

    for (size_t k = 0; k < ARRAY_SIZE(want); k++) {
        auto_strbuf struct strbuf sb = STRBUF_INIT;
        struct lowered l;

        strbuf_addstr(&sb, HEAD IMAGE "parameters: {a: '");
        for (int i = 0; i < 100000; i++)
            strbuf_addch(&sb, 'x');
        strbuf_addstr(&sb, "'}\ntaskRoles:\n");
        for (int role = 0; role < 3; role++) {
            strbuf_addf(&sb, "  %c: {" BODY ", commands: [\"", 'r' + role);
            for (int i = 0; i < (role == 0 ? want[k].tags : role == 1 ? 10 : 1); i++)
                strbuf_addstr(&sb, "<% $parameters.a %>");
            strbuf_addstr(&sb, "\"]}\n");
        }
        lower(&l, sb.buf);
        is_str(findings(&l), want[k].findings, "what is rendered has a limit: %d", want[k].tags);
        done(&l);
    }
}

int main(void)
{
    test_ddp();
    test_completion();
    test_roles();
    test_templates();
    test_secrets();
    test_plugins();
    test_faults();
    test_limits();
    return tap_done();
}
