/* azureml.c - Azure ML's command jobs lowered into the model: every field where it belongs, every
 * fault at its place. */
#include <stdlib.h>

#include "base/limits.h"
#include "dialect/test/lowered.h"

static void lower(struct lowered *l, const char *text)
{
    lower_by(l, &azureml, "dir/my job.yaml", text, &(struct read_options){0});
}

/* --- where everything goes ------------------------------------------------------------------ */

static const char full[] = "name: Run_1.x\n"
                           "experiment_name: exp\n"
                           "command: >\n"
                           "  python train.py\n"
                           "code: ./src\n"
                           "environment: azureml:torch:18.04:2022\n"
                           "environment_variables: {a-b: 1.0, C: true, D: '$x', E: }\n"
                           "compute: azureml:cluster\n"
                           "resources: {instance_count: '2', shm_size: 4g}\n"
                           "distribution: {type: PyTorch, process_count_per_instance: 8}\n"
                           "limits: {timeout: 900}\n"
                           "queue_settings: {job_tier: Premium, priority: high}\n"
                           "tags: {a: b, c: }\n";

static void test_fields(void)
{
    struct lowered l;
    const struct role *node;

    lower(&l, full);
    is_str(findings(&l), "", "nothing to complain about");
    if (!l.spec)
        exit(tap_done());
    node = &l.spec->roles[0];
    is_str(l.spec->name, "Run_1.x", "name");
    is_str(l.spec->experiment, "exp", "experiment_name");
    is_str(l.spec->target, "cluster", "compute without its prefix");
    is_str(l.spec->queue, "premium", "job_tier");
    is_int(l.spec->priority, 3, "priority");
    is_int(l.spec->deadline_s, 900, "limits.timeout");
    is_int(l.spec->framework, FRAMEWORK_PYTORCH, "framework");
    ok(l.spec->ranks && l.spec->gang, "ranks that start together");
    is_str(node->name, "node", "the role");
    is_int(node->replicas, 2, "instance_count, in quotes");
    is_int(node->slots, 8, "process_count_per_instance");
    is_str(node->shell, "python train.py", "the command, without its last newline");
    is_int(node->shell_kind, SHELL_BASH, "run by bash");
    is_str(node->workdir, "./src", "code is the working directory");
    is_str(node->image, "azureml:torch:18.04:2022", "environment");
    is_int(node->res.shm, INT64_C(4) << 30, "shm_size");
    is_int((long long)node->n_env, 4, "environment_variables");
    is_str(node->env[0].value, "1.0", "a number as it is written");
    is_str(node->env[1].value, "true", "a bool as it is written");
    is_str(node->env[2].value, "$$x", "nothing in it is to be expanded");
    is_str(node->ports[0].label, "MASTER_PORT", "a port for the rendezvous");
    done(&l);

    lower(&l, "{command: x, environment: {image: i}}");
    is_str(l.spec->name, "my-job", "a job without a name is called after its file");
    is_int(l.spec->roles[0].replicas, 1, "one node");
    is_int(l.spec->framework, FRAMEWORK_NONE, "of no framework");
    is_str(l.spec->roles[0].image, "i", "its image");
    done(&l);
}

static void test_mpi(void)
{
    struct lowered l;

    lower(&l, "{command: 'python t.py $X', environment: azureml:e@latest, resources: "
              "{instance_count: 3}, environment_variables: {A: b}, distribution: {type: mpi, "
              "process_count_per_instance: 2}}");
    is_int((long long)l.spec->n_roles, 2, "mpi: nodes and a launcher");
    is_int(l.spec->roles[0].kind, ROLE_HOST, "nodes wait");
    is_int(l.spec->roles[0].slots, 2, "for two ranks each");
    is_int(l.spec->roles[1].kind, ROLE_LAUNCHER, "the launcher");
    ok(l.spec->roles[1].implied && !l.spec->roles[0].implied, "is not the file's");
    is_str(l.spec->mpi->program[0], "bash", "each rank is a shell");
    is_str(l.spec->mpi->program[2], "python t.py $X", "with the command");
    is_int((long long)l.spec->roles[1].n_env, 1, "the launcher has the variables too");
    ok(!l.spec->roles[0].shell && !l.spec->roles[1].shell && !l.spec->gang, "no other command");
    done(&l);
}

static void test_tensorflow(void)
{
    struct lowered l;
    const struct role *node;

    lower(&l, "{command: x, environment: {image: i}, resources: {instance_count: 2}, "
              "distribution: {type: TensorFlow, worker_count: 3, parameter_server_count: 2}}");
    node = &l.spec->roles[0];
    is_int((long long)node->n_tasks, 2, "tensorflow: workers and servers");
    is_str(node->tasks[0].type, "worker", "workers first");
    is_int(node->tasks[1].count, 2, "servers");
    ok(node->tasks[1].serves && !node->tasks[0].serves, "which serve");
    is_int(node->slots, 3, "at most three on a node");
    is_int(node->ports[0].count, 3, "a port for each");
    done(&l);

    lower(&l, "{command: x, environment: {image: i}, resources: {instance_count: 4}, "
              "distribution: {type: tensorflow}}");
    is_int((long long)l.spec->roles[0].n_tasks, 1, "no servers unless asked for");
    is_int(l.spec->roles[0].tasks[0].count, 4, "a worker for each node");
    done(&l);

    lower(&l, "{command: x, environment: {image: i}, distribution: {type: Ray, port: 1}}");
    is_int(l.verdict, VERDICT_UNSUPPORTED, "ray is known and not run");
    done(&l);
}

/* --- commands ------------------------------------------------------------------------------- */

static const char values[] = "\n"
                             "environment: {image: i}\n"
                             "inputs:\n"
                             "  n: 0.10\n"
                             "  v: {value: true}\n"
                             "  d: {path: ./data}\n"
                             "  f: {type: URI_FILE, path: 'file:data/x', mode: ro_mount}\n"
                             "  far: {path: 'wasbs://c@h/p', mode: direct}\n"
                             "outputs:\n"
                             "  m:\n"
                             "  o: {type: uri_file, mode: upload}\n";

static void test_commands(void)
{
    static const struct {
        const char *command, *made;
    } rows[] = {
        {"t ${{inputs.n}} ${{ outputs.m }}", "t ${{inputs.n}} ${{outputs.m}}"},
        {"t $[[--d ${{inputs.d}}]] e", "t --d ${{inputs.d}} e"},
        {"t $[[--d ${{inputs.none}} --n ${{inputs.n}}]] e", "t  e"},
        {"t $[[--d]]$[[ ${{inputs.none}} ]]$[[x]]", "t --dx"},
        {"t ${X} $(pwd) {x} $[1]", "t ${X} $(pwd) {x} $[1]"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        auto_strbuf struct strbuf text = STRBUF_INIT;
        struct lowered l;

        strbuf_addf(&text, "command: '%s'%s", rows[i].command, values);
        lower(&l, text.buf);
        is_str(findings(&l), "", "%s: no findings", rows[i].command);
        is_str(l.spec ? l.spec->roles[0].shell : NULL, rows[i].made, "what becomes of it");
        done(&l);
    }
}

static void test_values(void)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct lowered l;
    const struct job_value *v;

    strbuf_addf(&text, "command: x%s", values);
    lower(&l, text.buf);
    v = l.spec->values;
    is_int((long long)l.spec->n_values, 7, "inputs and outputs");
    is_str(v[0].text, "0.10", "a number as it is written");
    is_str(v[1].text, "true", "a value of its own");
    ok(v[2].kind == VALUE_INPUT && !v[2].remote, "a path");
    is_str(v[3].text, "data/x", "a path with a scheme");
    ok(v[4].remote && v[4].direct, "an address that the program wants as it is");
    ok(v[5].kind == VALUE_OUTPUT && !v[5].file && v[6].file, "outputs: a directory and a file");
    done(&l);
}

/* --- faults --------------------------------------------------------------------------------- */

static void test_faults(void)
{
#define JOB "command: x\nenvironment: {image: i}\n"
    static const struct {
        const char *text, *found;
    } rows[] = {
        {"environment: {image: i}\ncode: y", "E0103@1:1"},
        {"command: x\ncode: y", "E0103@1:1"},
        {"command: ' '\nenvironment: {image: i}", "E0104@1:10"},
        {"command: x\nenvironment: pytorch", "E0423@2:14"},
        {"command: x\nenvironment: azureml:pytorch", "W0422@2:14"},
        {"command: x\nenvironment: azureml://registries/r/environments/e/labels/latest", ""},
        {"command: x\nenvironment: {image: i, build: {path: .}}", "E0106@2:25"},
        {"command: x\nenvironment: {dependencies: []}", "E0101@2:15"},
        {JOB "name: a b", "E0402@3:7"},
        {JOB "type: sweep", "E0209@3:7"},
        {JOB "code: git+https://x/y.git", "W0421@3:7"},
        {JOB "compute: {target: x}", "E0107@3:10"},
        {JOB "tags: {a: 1}", "E0107@3:11"},
        {JOB "tags: a", "E0107@3:7"},
        {JOB "services: {s: {type: ssh, job_service_type: x}}", "N0301@3:1 E0101@3:27"},
        {JOB "services: {s: {prot: 1}}", "N0301@3:1 E0101@3:16"},
        {JOB "identity: {type: AMLToken}", "N0301@3:1"},
        {JOB "identity: {type: UserIdentity}", "N0301@3:1"},
        {JOB "identity: {type: root}", "N0301@3:1 E0209@3:18"},
        {JOB "environment_variables: {a=b: c}", "E0211@3:25"},
        {JOB "environment_variables: {a: [b]}", "E0107@3:28"},
        {JOB "environment_variables: a", "E0107@3:24"},
        {JOB "resources: {instance_count: 0}", "E0203@3:29"},
        {JOB "resources: {instance_count: many}", "E0107@3:29"},
        {JOB "resources: {instance_count: 3}", "W0424@3:29"},
        {JOB "resources: {shm_size: 2x}", "E0204@3:23"},
        {JOB "resources: {instance_type: big}", "N0301@3:13"},
        {JOB "limits: {timeout: soon}", "E0107@3:19"},
        {JOB "queue_settings: {job_tier: gold, priority: urgent}", "E0209@3:28 E0209@3:44"},
        {JOB "distribution: mpi", "E0107@3:15"},
        {JOB "distribution: {process_count_per_instance: 1}", "E0103@3:1"},
        {JOB "distribution: {type: 5}", "E0107@3:22"},
        {JOB "distribution: {type: mpii}", "E0209@3:22"},
        {JOB "distribution: {type: mpi, worker_count: 1}", "E0101@3:27"},
        {JOB "distribution: {type: tensorflow, process_count_per_instance: 1}", "E0101@3:34"},
        {JOB "distribution: {type: tensorflow, worker_count: 65536, parameter_server_count: 1}",
         "E0203@3:15"},
        {JOB "resources: {instance_count: 3}\ndistribution: {type: tensorflow, worker_count: 2}",
         "W0423@4:1"},
        {JOB "inputs: [a]", "E0107@3:9"},
        {JOB "inputs: {a: [b]}", "E0107@3:13"},
        {JOB "inputs: {a: }", "E0103@3:10"},
        {JOB "inputs: {../a: b}", "E0420@3:10"},
        {JOB "inputs: {a: {type: uri_folder}}", "E0103@3:10"},
        {JOB "inputs: {a: {type: folder, path: b}}", "E0209@3:20"},
        {JOB "inputs: {a: {mode: rw_mount, path: b}}", "E0209@3:20"},
        {JOB "inputs: {a: {paths: b}}", "E0101@3:14"},
        {JOB "inputs: {a: {path: 'azureml:x:1'}}", "N0421@3:20"},
        {JOB "outputs: {a: b}", "E0107@3:14"},
        {JOB "outputs: {..: }", "E0420@3:11"},
        {JOB "outputs: {a: {path: 'azureml://x', name: n}}", "N0420@3:15 N0301@3:36"},
        {"environment: {image: i}\ncommand: t ${{inputs.x}}", "E0421@2:12"},
        {"environment: {image: i}\ncommand: t ${{search_space.x}}", "E0422@2:12"},
        {"environment: {image: i}\ncommand: t ${{inputs.x", "E0422@2:12"},
        {"environment: {image: i}\ncommand: t $[[x", "E0422@2:12"},
        {"environment: {image: i}\ninputs: {x: 1}\ncommand: t {inputs.x} {inputs.y}", "W0420@3:12"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct lowered l;
        bool good = !strchr(rows[i].found, 'E');

        lower(&l, rows[i].text);
        is_str(findings(&l), rows[i].found, "%s", strrchr(rows[i].text, '\n') + 1);
        ok(good == (l.spec != NULL), "accepted or not");
        done(&l);
    }
}

/* A small file must not become a large command. */
static void test_limit(void)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct lowered l;

    strbuf_addstr(&text, "environment: {image: i}\ninputs: {x: 1}\ncommand: t");
    for (size_t i = 0; i < 20000; i++)
        strbuf_addstr(&text, " ${{inputs.x}}");
    lower(&l, text.buf);
    is_str(findings(&l), "E0005@3:10", "too many references are an error");
    done(&l);
}

int main(void)
{
    test_fields();
    test_mpi();
    test_tensorflow();
    test_commands();
    test_values();
    test_faults();
    test_limit();
    return tap_done();
}
