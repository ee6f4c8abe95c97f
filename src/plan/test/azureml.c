/* azureml.c - Azure ML's command jobs planned: tasks that share nodes, values of commands, the
 * launcher that no file names. */
#include "plan/test/seed.h"

/* --- tasks --------------------------------------------------------------------------------------
 */

static const struct port_request tf_ports = {.label = "TF_CONFIG", .count = 3, .usual = 2222};

static void seed_tasks(struct seed *s, const struct task *tasks, size_t n, int32_t nodes)
{
    seed_other(s, PLATFORM_AZUREML, FRAMEWORK_TENSORFLOW, "python train.py");
    s->roles[0].name = "node";
    s->roles[0].replicas = nodes;
    s->roles[0].slots = 3;
    s->roles[0].tasks = tasks;
    s->roles[0].n_tasks = n;
    s->roles[0].ports = &tf_ports;
    s->roles[0].n_ports = 1;
}

/* "node-0: worker 0, worker 2; node-1: …" */
static const char *places(struct seed *s)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    const struct plan *plan = seed_plan(s);

    for (uint32_t i = 0; i < plan->n_processes; i++) {
        const struct process *p = &plan->processes[i];

        strbuf_addf(&sb, "%s%s %s", i ? ", " : "", plan->replicas[p->replica].name,
                    p->task ? p->task->type : "-");
        if (p->task)
            strbuf_addf(&sb, " %d", p->task_index);
    }
    return arena_strndup(s->arena, sb.buf, sb.len);
}

static void test_tasks(void)
{
    static const struct task both[] = {{"worker", 3, false}, {"ps", 2, true}};
    struct seed s;

    seed_tasks(&s, both, 2, 2);
    is_str(places(&s),
           "node-0 worker 0, node-0 worker 2, node-0 ps 1, node-1 worker 1, node-1 ps 0",
           "tasks are dealt out to the nodes");
    is_str(seed_env(&s, 2, "TF_CONFIG"),
           "{\"cluster\":{\"ps\":[\"node-1:20004\",\"node-0:20002\"],\"worker\":[\"node-0:20000\","
           "\"node-1:20003\",\"node-0:20001\"]},\"task\":{\"type\":\"ps\",\"index\":1},"
           "\"environment\":\"cloud\"} (framework)",
           "TF_CONFIG: each task a port of its own");
    is_str(seed_env(&s, 2, "AZ_BATCHAI_PS_HOSTS"), "127.1.0.2:20004,127.1.0.1:20002 (dialect)",
           "servers in Batch AI's words");
    is_str(seed_env(&s, 3, "AZ_BATCHAI_TASK_INDEX"), "1 (dialect)", "the task's index");
    is_str(seed_env(&s, 3, "AZUREML_CR_NODE_RANK"), "1 (dialect)", "the node's rank");
    is_str(seed_plan(&s)->processes[4].log, "node-1.task-ps-0.log", "a log for each");
    arena_free(s.arena);
}

static void test_idle(void)
{
    static const struct task one[] = {{"worker", 1, false}};
    struct seed s;

    seed_tasks(&s, one, 1, 2);
    is_str(places(&s), "node-0 worker 0, node-1 -", "a node without a task is there all the same");
    ok(!seed_plan(&s)->processes[1].shell, "and runs nothing");
    arena_free(s.arena);
}

/* --- values -------------------------------------------------------------------------------------
 */

static void test_values(void)
{
    static const struct job_value values[] = {
        {.name = "n", .text = "1.0", .kind = VALUE_LITERAL},
        {.name = "near", .text = "./d", .kind = VALUE_INPUT},
        {.name = "abs", .text = "/d", .kind = VALUE_INPUT},
        {.name = "far", .text = "azureml:x:1", .kind = VALUE_INPUT, .remote = true},
        {.name = "mapped",
         .text = "azureml:y:1",
         .kind = VALUE_INPUT,
         .remote = true,
         .here = "/here"},
        {.name = "near", .kind = VALUE_OUTPUT},
        {.name = "trick", .text = "${{inputs.n}}", .kind = VALUE_LITERAL},
    };
    struct seed s;

    seed_other(&s, PLATFORM_AZUREML, FRAMEWORK_NONE,
               "a ${{inputs.n}} ${{inputs.near}} ${{inputs.abs}} ${{inputs.far}} "
               "${{inputs.mapped}} ${{outputs.near}} ${{inputs.trick}} ${{other}} ${X}");
    s.spec.values = values;
    s.spec.n_values = ARRAY_SIZE(values);
    is_str(seed_plan(&s)->processes[0].shell,
           "a 1.0 /jobs/d /d azureml:x:1 /here /run/ID/outputs/near ${{inputs.n}} ${{other}} ${X}",
           "values in a command, each once");
    is_str(seed_env(&s, 0, "AZUREML_PARAMETER_n"), "1.0 (dialect)", "a literal as a variable");
    is_str(seed_env(&s, 0, "AZURE_ML_INPUT_near"), "/jobs/d (dialect)", "an input");
    is_str(seed_env(&s, 0, "AZURE_ML_OUTPUT_near"), "/run/ID/outputs/near (dialect)", "an output");
    is_str(seed_env(&s, 0, "AZUREML_EXPERIMENT_ID"), "jobs (dialect)",
           "an experiment is called after the directory");
    arena_free(s.arena);
}

/* --- mpi and pytorch ----------------------------------------------------------------------------
 */

static const struct port_request master_port = {
    .label = "MASTER_PORT", .count = 1, .usual = 6105, .first_only = true};

static void test_mpi(void)
{
    static const char *const args[] = {"-bind-to", "none", NULL};
    static const char *const program[] = {"bash", "-c", "t ${{inputs.n}}", NULL};
    static const struct job_value n = {.name = "n", .text = "5", .kind = VALUE_LITERAL};
    static const int ports[] = {20000};
    struct seed s;

    seed_init(&s);
    s.spec.platform = platform_of(PLATFORM_AZUREML);
    s.roles[0].implied = true;
    s.roles[1].name = "node";
    s.roles[1].replicas = 2;
    s.roles[1].ports = &master_port;
    s.roles[1].n_ports = 1;
    s.facts.site.ports = ports;
    s.mpi = (struct mpi_spec){.extra_args = args, .program = program};
    s.spec.values = &n;
    s.spec.n_values = 1;
    is_str(seed_line(&s),
           "/usr/local/bin/mpirun --hostfile /run/ID/hostfile -bind-to none bash -c t 5",
           "mpirun as Azure would call it");
    is_str(seed_plan(&s)->hostfile, "node-0 slots=3\nnode-1 slots=3\n", "on all nodes");
    is_str(seed_env(&s, 2, "NODE_RANK"), "1 (dialect)", "what torch needs beside MPI: NODE_RANK");
    is_str(seed_env(&s, 2, "MASTER_PORT"), "20000 (dialect)", "MASTER_PORT");
    is_str(seed_env(&s, 2, "AZUREML_NODE_COUNT"), "2 (dialect)", "the launcher is no node");
    arena_free(s.arena);
}

static void test_torch(void)
{
    struct seed s;

    seed_other(&s, PLATFORM_AZUREML, FRAMEWORK_PYTORCH, "python train.py");
    s.roles[0].name = "node";
    s.roles[0].slots = 2;
    s.roles[0].ports = &master_port;
    s.roles[0].n_ports = 1;
    s.spec.ranks = true;
    is_int(seed_plan(&s)->processes[3].rank, 3, "its processes are ranks");
    is_str(seed_plan(&s)->processes[3].log, "node-1.rank-3.log", "and logged as such");
    is_str(seed_env(&s, 3, "RANK"), "3 (framework)", "RANK");
    is_str(seed_env(&s, 3, "LOCAL_RANK"), "1 (framework)", "LOCAL_RANK");
    is_str(seed_env(&s, 3, "NODE_RANK"), "1 (framework)", "NODE_RANK");
    is_str(seed_env(&s, 3, "AZUREML_PROCESS_NAME"), "rank_3 (dialect)", "AZUREML_PROCESS_NAME");
    arena_free(s.arena);
}

int main(void)
{
    test_tasks();
    test_idle();
    test_values();
    test_mpi();
    test_torch();
    return tap_done();
}
