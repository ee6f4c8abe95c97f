/* env_azureml.c - what scripts written for Azure ML look for beside their framework's variables.
 *
 * The names come from the platform's runtime and its ancestors (Batch, Batch AI): scripts find the
 * other nodes by AZ_BATCH_*, and libraries recognise the platform by AZUREML_EXPERIMENT_ID. Nodes
 * are what the file counts as such: a launcher is not one, it stands beside the first.
 *
 * Not here: what would lead to the service itself (tokens, endpoints, subscription, workspace).
 */
#include <string.h>

#include "base/strbuf.h"
#include "plan/env.h"
#include "plan/tasks.h"
#include "plan/values.h"

/* Scripts read the address only; the number is what Azure Batch writes behind it. */
#define BATCH_PORT 6000

static bool is_node(const struct replica *rp)
{
    return rp->role->kind != ROLE_LAUNCHER;
}

/* A launcher comes first in the plan, so that nodes stand together behind it. */
static const struct replica *first_node(const struct plan *plan, uint32_t *ret_n)
{
    uint32_t i = 0;

    while (i + 1 < plan->n_replicas && !is_node(&plan->replicas[i]))
        i++;
    *ret_n = plan->n_replicas - i;
    return &plan->replicas[i];
}

static const char *addresses(struct arena *a, const struct replica *nodes, uint32_t n, char between)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (uint32_t i = 0; i < n; i++) {
        if (i)
            strbuf_addch(&sb, between);
        strbuf_addstr(&sb, nodes[i].address);
    }
    return arena_strndup(a, sb.buf, sb.len);
}

/* The same of the tasks that share a role's replicas; NULL if it has none of the type. */
static const char *shared_addresses(struct arena *a, const struct plan *plan,
                                    const struct role *role, const char *type)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < role->n_tasks; i++) {
        for (int32_t k = 0; !strcmp(role->tasks[i].type, type) && k < role->tasks[i].count; k++)
            strbuf_addf(&sb, "%s%s", sb.len ? "," : "",
                        task_address(a, plan, role, &role->tasks[i], k, false));
    }
    return sb.len ? arena_strndup(a, sb.buf, sb.len) : NULL;
}

/* "10.0.0.4:2222,…" of TensorFlow's tasks of a type, or of the role of that name */
static const char *task_addresses(struct arena *a, const struct plan *plan, const char *type,
                                  const char *name)
{
    const struct role *role = spec_role(plan->spec, name);
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    if (!role)
        return shared_addresses(a, plan, &plan->spec->roles[0], type);

    const struct replica *first = plan_replica(plan, role, 0);

    for (int32_t i = 0; i < role->replicas; i++) {
        const struct plan_port *port = plan_port(&first[i], "TF_CONFIG");

        strbuf_addf(&sb, "%s%s:%d", i ? "," : "", first[i].address, port ? port->numbers[0] : 0);
    }
    return arena_strndup(a, sb.buf, sb.len);
}

static void add(struct env_set *set, const char *name, const char *value)
{
    if (value)
        env_put(set, name, value, ORIGIN_DIALECT, NULL);
}

/* In the run's directory, which pods have, too. */
static void add_path(struct env_set *set, const struct site *site, const char *name,
                     const char *path)
{
    set->local = !site->elsewhere || !site->shim;
    add(set, name, path);
    set->local = false;
}

/* Azure calls an experiment after the directory from which the job was sent, the previews did not.
 */
static const char *experiment_of(const struct job_spec *spec)
{
    const char *slash = spec->dir ? strrchr(spec->dir, '/') : NULL;
    bool today = spec->platform.environment == PLATFORM_AZUREML;

    if (spec->experiment)
        return spec->experiment;
    return today && slash && slash[1] ? slash + 1 : "Default";
}

static void add_values(struct env_set *set, const struct plan *plan)
{
    static const char *const prefixes[] = {[VALUE_LITERAL] = "AZUREML_PARAMETER_",
                                           [VALUE_INPUT] = "AZURE_ML_INPUT_",
                                           [VALUE_OUTPUT] = "AZURE_ML_OUTPUT_"};

    for (size_t i = 0; i < plan->spec->n_values; i++) {
        const struct job_value *v = &plan->spec->values[i];

        set->local = !plan->facts->site.code &&
                     (v->kind == VALUE_OUTPUT || (v->kind == VALUE_INPUT && !v->remote));
        add(set, arena_printf(set->arena, "%s%s", prefixes[v->kind], v->name),
            value_here(set->arena, plan->spec, plan->facts, v));
        set->local = false;
    }
}

static void add_job(struct env_set *set, const struct plan *plan, const struct replica *rp)
{
    const struct facts *facts = plan->facts;
    const char *experiment = experiment_of(plan->spec);
    const char *workdir = plan->workdirs[rp->role_index];

    add(set, "AZUREML_RUN_ID", facts->site.run_id);
    /* there it is an identifier of its own; what libraries ask is whether it is set */
    add(set, "AZUREML_EXPERIMENT_ID", experiment);
    add(set, "AZUREML_ARM_PROJECT_NAME", experiment);
    set->local = !facts->site.code;
    add(set, "AZUREML_CR_EXECUTION_WORKING_DIR_PATH", workdir);
    add(set, "AZ_BATCHAI_JOB_WORK_DIR", workdir);
    add_path(set, &facts->site, "AZ_BATCHAI_JOB_TEMP", facts->site.scratch_dir);
    add_path(set, &facts->site, "AZ_BATCHAI_STDOUTERR_DIR",
             arena_printf(set->arena, "%s/logs", facts->site.run_dir));
    add_values(set, plan);
}

static void add_nodes(struct env_set *set, const struct plan *plan, const struct replica *rp)
{
    struct arena *a = set->arena;
    uint32_t n;
    const struct replica *nodes = first_node(plan, &n);
    const struct plan_port *port = plan_port(nodes, "MASTER_PORT");
    uint32_t rank = is_node(rp) ? rp->id - nodes->id : 0;
    int64_t gpus = nodes->role->res.gpu > 0 ? nodes->role->res.gpu : 0;

    env_putf(set, ORIGIN_DIALECT, "AZUREML_NODE_COUNT", "%u", n);
    env_putf(set, ORIGIN_DIALECT, "AZUREML_CR_NODE_RANK", "%u", rank);
    add(set, "AZ_BATCHAI_MPI_MASTER_NODE", nodes->address);
    add(set, "AZ_BATCHAI_JOB_MASTER_NODE_IP", nodes->address);
    add(set, "MASTER_IP", nodes->address);
    add(set, "AZ_BATCH_IS_CURRENT_NODE_MASTER", rank == 0 ? "true" : "false");
    if (n > 1) { /* not set on one node: that is how scripts tell */
        add(set, "AZ_BATCH_HOST_LIST", addresses(a, nodes, n, ','));
        add(set, "AZ_BATCH_NODE_LIST", addresses(a, nodes, n, ';'));
        env_putf(set, ORIGIN_DIALECT, "AZ_BATCH_MASTER_NODE", "%s:%d", nodes->address,
                 port ? port->numbers[0] : BATCH_PORT);
    }
    if (port &&
        plan->spec->framework == FRAMEWORK_MPI) { /* for those who go on from mpirun to torch */
        add(set, "MASTER_ADDR", plan_reachable(nodes));
        env_putf(set, ORIGIN_DIALECT, "MASTER_PORT", "%d", port->numbers[0]);
        env_putf(set, ORIGIN_DIALECT, "NODE_RANK", "%u", rank);
    }
    env_putf(set, ORIGIN_DIALECT, "AZ_BATCHAI_GPU_COUNT", "%lld", (long long)gpus);
    env_putf(set, ORIGIN_DIALECT, "AZ_BATCHAI_NUM_GPUS", "%lld", (long long)gpus);
    env_putf(set, ORIGIN_DIALECT, "GPU_PER_NODE_COUNT", "%lld", (long long)gpus);
}

void env_azureml(struct env_set *set, const struct plan *plan, const struct process *process)
{
    const struct replica *rp = &plan->replicas[process->replica];
    const struct env_value *rank = env_get(set, "RANK");

    add_job(set, plan, rp);
    add_nodes(set, plan, rp);
    env_putf(set, ORIGIN_DIALECT, "AZUREML_PROCESS_NAME", "rank_%s",
             rank ? rank->value : env_get(set, "AZUREML_CR_NODE_RANK")->value);
    if (rp->role->kind == ROLE_LAUNCHER && plan->hostfile) {
        const char *path = arena_printf(set->arena, "%s/" PLAN_HOSTFILE, plan->facts->site.run_dir);

        add_path(set, &plan->facts->site, "AZUREML_MPI_HOSTFILE", path);
        add_path(set, &plan->facts->site, "AZ_BATCHAI_MPI_HOST_FILE", path);
    }
    if (plan->spec->framework == FRAMEWORK_TENSORFLOW) {
        add(set, "AZ_BATCHAI_PS_HOSTS", task_addresses(set->arena, plan, "ps", "parameter_server"));
        add(set, "AZ_BATCHAI_WORKER_HOSTS", task_addresses(set->arena, plan, "worker", "worker"));
        env_putf(set, ORIGIN_DIALECT, "AZ_BATCHAI_TASK_INDEX", "%d",
                 process->task ? process->task_index : rp->index);
    }
}
