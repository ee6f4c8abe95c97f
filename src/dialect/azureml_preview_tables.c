/* azureml_preview_tables.c - the keys of Azure ML's preview jobs. Tables only; see
 * azureml_preview.h. */
#include "dialect/azureml_preview.h"

#include <stddef.h>

#define AT(type, member) .offset = offsetof(struct type, member)
#define COUNT(name, type, member)                                                                  \
    {                                                                                              \
        .key = (name), .kind = BIND_INT, .min = 1, .max = INT32_MAX, AT(type, member)              \
    }

static const struct bind_field code_fields[] = {
    {.key = "path", .kind = BIND_STRING, .required = true, .non_empty = true, AT(azp_code, path)},
};
static const struct bind_table code_table = BIND_TABLE("code", struct azp_code, code_fields);

static const struct bind_field spec_fields[] = {
    {.key = "command", .kind = BIND_STRING, .non_empty = true, AT(azp_spec, command)},
    {.key = "code", .kind = BIND_STRUCT, .table = &code_table, AT(azp_spec, code)},
    {.key = "environment", .kind = BIND_STRING, AT(azp_spec, environment)},
    {.key = "resource_limits", .kind = BIND_NODE, AT(azp_spec, limits)},
};
static const struct bind_table spec_table =
    BIND_TABLE("a role's spec", struct azp_spec, spec_fields);

static const struct bind_field launcher_fields[] = {
    {.key = "spec", .kind = BIND_STRUCT, .table = &spec_table, AT(azp_role, spec)},
    {.key = "resource_limits", .kind = BIND_NODE, AT(azp_role, limits)},
    {.key = "num_replicas", .kind = BIND_INT, .min = 1, .max = 1, AT(azp_role, num_replicas)},
};
static const struct bind_table launcher_table =
    BIND_TABLE("launcher", struct azp_role, launcher_fields);

/* The preview left open how processes per node are said; its successors had all of these. */
const char *const azp_per_node_keys[4] = {"processes_per_node", "slots_per", "slotsPerWorker",
                                          "process_count_per_instance"};

static const struct bind_field worker_fields[] = {
    {.key = "spec", .kind = BIND_STRUCT, .table = &spec_table, AT(azp_role, spec)},
    {.key = "resource_limits", .kind = BIND_NODE, AT(azp_role, limits)},
    COUNT("num_replicas", azp_role, num_replicas),
    COUNT("processes_per_node", azp_role, per_node[0]),
    COUNT("slots_per", azp_role, per_node[1]),
    COUNT("slotsPerWorker", azp_role, per_node[2]),
    COUNT("process_count_per_instance", azp_role, per_node[3]),
};
static const struct bind_table worker_table = BIND_TABLE("worker", struct azp_role, worker_fields);

static const struct bind_field ps_fields[] = {
    {.key = "spec", .kind = BIND_STRUCT, .table = &spec_table, AT(azp_role, spec)},
    {.key = "resource_limits", .kind = BIND_NODE, AT(azp_role, limits)},
    COUNT("num_replicas", azp_role, num_replicas),
};
static const struct bind_table ps_table =
    BIND_TABLE("parameter_server", struct azp_role, ps_fields);

static const struct bind_field compute_fields[] = {
    {.key = "type", .kind = BIND_STRING, AT(azp_compute, type)},
    {.key = "target", .kind = BIND_STRING, AT(azp_compute, target)},
    COUNT("instance_count", azp_compute, instance_count),
};
static const struct bind_table compute_table =
    BIND_TABLE("compute", struct azp_compute, compute_fields);

static const struct bind_field job_fields[] = {
    {.key = "name", .kind = BIND_STRING, .required = true, .non_empty = true, AT(azp_job, name)},
    {.key = "type", .kind = BIND_STRING, .required = true, AT(azp_job, type)},
    {.key = "experiment_name", .kind = BIND_STRING, AT(azp_job, experiment)},
    {.key = "launcher", .kind = BIND_STRUCT, .table = &launcher_table, AT(azp_job, launcher)},
    {.key = "worker", .kind = BIND_STRUCT, .table = &worker_table, AT(azp_job, worker)},
    {.key = "parameter_server",
     .kind = BIND_STRUCT,
     .table = &ps_table,
     AT(azp_job, parameter_server)},
    {.key = "compute", .kind = BIND_STRUCT, .table = &compute_table, AT(azp_job, compute)},
};
const struct bind_table azp_job_table = BIND_TABLE("the job", struct azp_job, job_fields);
