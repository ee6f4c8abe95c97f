/* distribution.c - how the processes of Azure ML's command job come to be.
 *
 *   pytorch      so many in each node, each a rank
 *   tensorflow   tasks, dealt out to the nodes; the job is over when the workers are
 *   mpi          Azure starts mpirun, each rank runs the command: a launcher that the file does not
 *                name, and nodes that wait for it
 *   ray          not run */
#include "dialect/azureml/azureml.h"

#include <string.h>
#include <strings.h>

#include "base/limits.h"
#include "base/num.h"

int32_t az_count(struct az *l, const char *key, const struct node *node, int32_t min,
                 int32_t absent)
{
    int64_t n = 0;

    if (!node)
        return absent;
    if (node->type == NODE_INT)
        n = node->i;
    else if (node->type != NODE_STRING || num_i64(node->text, &n) < 0) {
        bind_type_error(&l->b, key, "an integer", NULL, node);
        return absent;
    }
    if (n < min || n > INT32_MAX) {
        diag_at(l->b.ds, node, "E0203", NULL, "`%s` must be at least %d, not %.40s", key, min,
                node->text);
        return absent;
    }
    return (int32_t)n;
}

static void add_port(struct az *l, struct role *role, const char *label, int32_t count,
                     int32_t usual, bool first_only)
{
    struct port_request *port = ARENA_NEW(l->b.a, struct port_request);

    *port = (struct port_request){
        .label = label, .count = count, .usual = usual, .first_only = first_only};
    role->ports = port;
    role->n_ports = 1;
}

#define MASTER_PORT 6105 /* Azure's own number */

static void lower_pytorch(struct az *l, const struct az_distribution *in, struct role *node)
{
    l->out->framework = FRAMEWORK_PYTORCH;
    l->out->ranks = true;
    node->slots = az_count(l, "process_count_per_instance", in->per_instance, 1, 1);
    add_port(l, node, "MASTER_PORT", 1, MASTER_PORT, true);
}

static void lower_tensorflow(struct az *l, const struct az_distribution *in, struct role *node)
{
    struct task *tasks = ARENA_ARRAY(l->b.a, struct task, 2);
    int64_t total;

    tasks[0] =
        (struct task){"worker", az_count(l, "worker_count", in->workers, 1, node->replicas), false};
    tasks[1] = (struct task){"ps", az_count(l, "parameter_server_count", in->servers, 0, 0), true};
    node->tasks = tasks;
    node->n_tasks = tasks[1].count > 0 ? 2 : 1;
    total = (int64_t)tasks[0].count + tasks[1].count;
    if (total > LIMIT_PROCESSES) {
        diag_at(l->b.ds, in->at, "E0203", NULL, "the job has %lld tasks; the limit is %d",
                (long long)total, LIMIT_PROCESSES);
        return;
    }
    if (total < node->replicas)
        diag_at(l->b.ds, node_label(in->at), "W0423", "request fewer instances",
                "%lld task%s on %d nodes: some nodes have no task", (long long)total,
                total == 1 ? "" : "s", node->replicas);
    l->out->framework = FRAMEWORK_TENSORFLOW;
    node->slots = (int32_t)((total + node->replicas - 1) / node->replicas);
    add_port(l, node, "TF_CONFIG", node->slots, 2222, false);
}

static void lower_mpi(struct az *l, const struct az_distribution *in, struct role *roles)
{
    /* Containers run as root there. Every node takes the whole machine for its own, and would bind
     * its ranks to the same cores. */
    static const char *const options[] = {"--allow-run-as-root", "-bind-to", "none", NULL};
    struct role *node = &roles[AZ_NODE], *launcher = &roles[AZ_LAUNCHER];
    struct mpi_spec *mpi = ARENA_NEW(l->b.a, struct mpi_spec);
    const char **program = ARENA_ARRAY(l->b.a, const char *, 4);

    node->slots = az_count(l, "process_count_per_instance", in->per_instance, 1, 1);
    add_port(l, node, "MASTER_PORT", 1, MASTER_PORT, true);
    *launcher = *node;
    launcher->name = "launcher";
    launcher->kind = ROLE_LAUNCHER;
    launcher->implied = true;
    launcher->replicas = launcher->slots = 1;
    launcher->ports = NULL;
    launcher->n_ports = 0;
    launcher->res = RESOURCES_UNSET;
    program[0] = "bash";
    program[1] = "-c";
    program[2] = node->shell;
    *mpi = (struct mpi_spec){.extra_args = options, .program = program};
    launcher->shell = node->shell = NULL;
    node->kind = ROLE_HOST;
    l->out->framework = FRAMEWORK_MPI;
    l->out->mpi = program[2] ? mpi : NULL;
    l->out->n_roles = AZ_N_ROLES;
}

/* The kind of distribution decides which keys there are. */
bool az_lower_distribution(struct az *l, struct role *roles)
{
    static const char *const types[] = {"mpi", "pytorch", "tensorflow", "ray"};
    static const struct bind_table *const tables[] = {&az_mpi_table, &az_mpi_table,
                                                      &az_tensorflow_table, &az_ray_table};
    const struct node *map = l->job->distribution;
    const struct node *at = map ? node_get(map, "type") : NULL;
    const char *type = NULL;
    size_t k = 0;

    if (!map)
        return true;
    if (map->type != NODE_MAP) {
        bind_type_error(&l->b, "distribution", "a mapping with a `type`", NULL, map);
        return true;
    }
    if (node_absent(map, "type"))
        bind_missing(&l->b, map, "distribution", "type", "mpi, pytorch or tensorflow");
    if (node_absent(map, "type") || !bind_string(&l->b, "type", at, &type))
        return true;
    while (k < ARRAY_SIZE(types) && strcasecmp(types[k], type) != 0)
        k++;
    if (k == ARRAY_SIZE(types)) {
        bind_word(&l->b, at, "type", az_lower_case(l->b.a, type), types, ARRAY_SIZE(types));
        return true;
    }

    const struct az_distribution *in = bind_map(&l->b, tables[k], map);

    if (k == 0)
        lower_mpi(l, in, roles);
    else if (k == 1)
        lower_pytorch(l, in, &roles[AZ_NODE]);
    else if (k == 2)
        lower_tensorflow(l, in, &roles[AZ_NODE]);
    else
        diag_at(l->b.ds, at, "E0111", "start Ray in the command, with distribution pytorch",
                "distribution type ray is not supported");
    return k < 3;
}
