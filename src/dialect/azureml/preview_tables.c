/* preview_tables.c - the keys of Azure ML's preview jobs. Tables only; see
 * preview.h. */
#include "dialect/azureml/preview.h"

#include <stddef.h>

#define AT(type, member) .offset = offsetof(struct type, member)
#define COUNT(name, type, member, text)                                                            \
    {                                                                                              \
        .key = (name), .kind = BIND_INT, .min = 1, .max = INT32_MAX, AT(type, member),             \
        .doc = (text)                                                                              \
    }

static const struct bind_field code_fields[] = {
    {.key = "path",
     .kind = BIND_STRING,
     .required = true,
     .non_empty = true,
     AT(azp_code, path),
     .doc = "The working directory, relative to the file."},
};
static const struct bind_table code_table = BIND_TABLE("code", struct azp_code, code_fields);

static const struct bind_field spec_fields[] = {
    {.key = "command",
     .kind = BIND_STRING,
     .non_empty = true,
     AT(azp_spec, command),
     .doc = "The command, run by a shell."},
    {.key = "code",
     .kind = BIND_STRUCT,
     .table = &code_table,
     AT(azp_spec, code),
     .doc = "The code directory, for all roles."},
    {.key = "environment",
     .kind = BIND_STRING,
     AT(azp_spec, environment),
     .doc = "The image; locally the job uses what is installed (--image)."},
    {.key = "resource_limits",
     .kind = BIND_NODE,
     AT(azp_spec, limits),
     .takes = TAKES_MAP,
     .doc = "Limits of cpu, memory and gpu per replica."},
};
static const struct bind_table spec_table =
    BIND_TABLE("a role's spec", struct azp_spec, spec_fields);

static const struct bind_field launcher_fields[] = {
    {.key = "spec",
     .kind = BIND_STRUCT,
     .table = &spec_table,
     AT(azp_role, spec),
     .doc = "The command of the launcher, which calls mpirun."},
    {.key = "resource_limits",
     .kind = BIND_NODE,
     AT(azp_role, limits),
     .takes = TAKES_MAP,
     .doc = "cpu, memory and gpu."},
    {.key = "num_replicas",
     .kind = BIND_INT,
     .min = 1,
     .max = 1,
     AT(azp_role, num_replicas),
     .doc = "1"},
};
static const struct bind_table launcher_table =
    BIND_TABLE("launcher", struct azp_role, launcher_fields);

/* The preview left open how processes per node are said; its successors had all of these. */
const char *const azp_per_node_keys[4] = {"processes_per_node", "slots_per", "slotsPerWorker",
                                          "process_count_per_instance"};

static const struct bind_field worker_fields[] = {
    {.key = "spec",
     .kind = BIND_STRUCT,
     .table = &spec_table,
     AT(azp_role, spec),
     .doc = "The command of each worker; not run in an MpiJob."},
    {.key = "resource_limits",
     .kind = BIND_NODE,
     AT(azp_role, limits),
     .takes = TAKES_MAP,
     .doc = "cpu, memory and gpu of a worker."},
    COUNT("num_replicas", azp_role, num_replicas, "The number of replicas."),
    COUNT("processes_per_node", azp_role, per_node[0], "Processes per replica."),
    COUNT("slots_per", azp_role, per_node[1], "Processes per replica."),
    COUNT("slotsPerWorker", azp_role, per_node[2], "Processes per replica."),
    COUNT("process_count_per_instance", azp_role, per_node[3], "Processes per replica."),
};
static const struct bind_table worker_table = BIND_TABLE("worker", struct azp_role, worker_fields);

static const struct bind_field ps_fields[] = {
    {.key = "spec",
     .kind = BIND_STRUCT,
     .table = &spec_table,
     AT(azp_role, spec),
     .doc = "The command of each parameter server."},
    {.key = "resource_limits",
     .kind = BIND_NODE,
     AT(azp_role, limits),
     .takes = TAKES_MAP,
     .doc = "cpu, memory and gpu of a server."},
    COUNT("num_replicas", azp_role, num_replicas, "The number of replicas."),
};
static const struct bind_table ps_table =
    BIND_TABLE("parameter_server", struct azp_role, ps_fields);

static const struct bind_field compute_fields[] = {
    {.key = "type",
     .kind = BIND_STRING,
     AT(azp_compute, type),
     .doc = "AmlCompute or AksCompute; kept."},
    {.key = "target",
     .kind = BIND_STRING,
     AT(azp_compute, target),
     .doc = "Kept; the job runs locally."},
    COUNT("instance_count", azp_compute, instance_count,
          "The number of replicas if num_replicas is not set."),
};
static const struct bind_table compute_table =
    BIND_TABLE("compute", struct azp_compute, compute_fields);

static const struct bind_field job_fields[] = {
    {.key = "name",
     .kind = BIND_STRING,
     .required = true,
     .non_empty = true,
     AT(azp_job, name),
     .doc = "The name of the job."},
    {.key = "type",
     .kind = BIND_STRING,
     .required = true,
     AT(azp_job, type),
     .doc = "MpiJob, PytorchJob or TensorflowJob."},
    {.key = "experiment_name",
     .kind = BIND_STRING,
     AT(azp_job, experiment),
     .doc = "Value of AZUREML_ARM_PROJECT_NAME."},
    {.key = "launcher",
     .kind = BIND_STRUCT,
     .table = &launcher_table,
     AT(azp_job, launcher),
     .doc = "Of an MpiJob."},
    {.key = "worker",
     .kind = BIND_STRUCT,
     .table = &worker_table,
     AT(azp_job, worker),
     .doc = "Of every job; an MpiJob may leave it out."},
    {.key = "parameter_server",
     .kind = BIND_STRUCT,
     .table = &ps_table,
     AT(azp_job, parameter_server),
     .doc = "Of a TensorflowJob."},
    {.key = "compute",
     .kind = BIND_STRUCT,
     .table = &compute_table,
     AT(azp_job, compute),
     .doc = "The compute target."},
};
const struct bind_table azp_job_table = BIND_TABLE("the job", struct azp_job, job_fields);
