/* azureml_tables.c - the keys of Azure ML's command job. Tables only; see azureml.h. */
#include "dialect/azureml.h"

#include <stddef.h>

#define AT(type, member) .offset = offsetof(struct type, member)
#define STRING(name, type, member)                                                                 \
    {                                                                                              \
        .key = (name), .kind = BIND_STRING, AT(type, member)                                       \
    }
#define NODE(name, type, member)                                                                   \
    {                                                                                              \
        .key = (name), .kind = BIND_NODE, AT(type, member)                                         \
    }
#define KNOWN(name)                                                                                \
    {                                                                                              \
        .key = (name), .kind = BIND_KNOWN                                                          \
    }
#define NOTED(name, text)                                                                          \
    {                                                                                              \
        .key = (name), .kind = BIND_NOTED, .why = (text)                                           \
    }

/* --- environment ---------------------------------------------------------------------------- */

static const struct bind_field build_fields[] = {
    STRING("path", az_build, path),
    STRING("dockerfile_path", az_build, dockerfile),
};
static const struct bind_table build_table =
    BIND_TABLE("environment.build", struct az_build, build_fields);

static const struct bind_field environment_fields[] = {
    STRING("image", az_environment, image),
    NODE("conda_file", az_environment, conda_file),
    {.key = "build", .kind = BIND_STRUCT, .table = &build_table, AT(az_environment, build)},
    STRING("os_type", az_environment, os_type),
    KNOWN("$schema"),
    KNOWN("name"),
    KNOWN("version"),
    KNOWN("description"),
    KNOWN("tags"),
    KNOWN("properties"),
    KNOWN("datastore"),
    KNOWN("inference_config"),
    KNOWN("id"),
    KNOWN("creation_context"),
};
const struct bind_table az_environment_table =
    BIND_TABLE("environment", struct az_environment, environment_fields);

/* --- distribution --------------------------------------------------------------------------- */

static const struct bind_field mpi_fields[] = {
    STRING("type", az_distribution, type),
    NODE("process_count_per_instance", az_distribution, per_instance),
};
const struct bind_table az_mpi_table =
    BIND_TABLE("distribution", struct az_distribution, mpi_fields);

static const struct bind_field tensorflow_fields[] = {
    STRING("type", az_distribution, type),
    NODE("worker_count", az_distribution, workers),
    NODE("parameter_server_count", az_distribution, servers),
};
const struct bind_table az_tensorflow_table =
    BIND_TABLE("a TensorFlow distribution", struct az_distribution, tensorflow_fields);

static const struct bind_field ray_fields[] = {
    STRING("type", az_distribution, type),
    KNOWN("port"),
    KNOWN("address"),
    KNOWN("include_dashboard"),
    KNOWN("dashboard_port"),
    KNOWN("head_node_additional_args"),
    KNOWN("worker_node_additional_args"),
};
const struct bind_table az_ray_table =
    BIND_TABLE("a Ray distribution", struct az_distribution, ray_fields);

/* --- inputs, outputs, services -------------------------------------------------------------- */

static const struct bind_field input_fields[] = {
    STRING("type", az_data, type),
    {.key = "path", .kind = BIND_STRING, .non_empty = true, AT(az_data, path)},
    STRING("mode", az_data, mode),
    NODE("value", az_data, value),
    KNOWN("datastore"),
    NOTED("path_on_compute", NULL),
};
const struct bind_table az_input_table = BIND_TABLE("an input", struct az_data, input_fields);

static const struct bind_field output_fields[] = {
    STRING("type", az_data, type),
    STRING("path", az_data, path),
    STRING("mode", az_data, mode),
    NOTED("name", "has no effect in a local run: nothing is registered"),
    KNOWN("version"),
    NOTED("path_on_compute", NULL),
};
const struct bind_table az_output_table = BIND_TABLE("an output", struct az_data, output_fields);

static const struct bind_field service_fields[] = {
    KNOWN("type"),       KNOWN("port"),    KNOWN("nodes"),
    KNOWN("properties"), KNOWN("log_dir"), KNOWN("ssh_public_keys"),
    KNOWN("endpoint"),   KNOWN("status"),  KNOWN("error_message"),
};
struct az_service {
    const struct node *at;
};
const struct bind_table az_service_table =
    BIND_TABLE("a service", struct az_service, service_fields);

/* --- the job -------------------------------------------------------------------------------- */

#define HARDWARE "names hardware of the platform's: the job runs on what is here"

static const struct bind_field resources_fields[] = {
    NODE("instance_count", az_resources, instance_count),
    STRING("shm_size", az_resources, shm_size),
    NOTED("instance_type", HARDWARE),
    NOTED("locations", HARDWARE),
    NOTED("max_instance_count", "has no effect in a local run: the number of nodes stays"),
    NOTED("docker_args", "has no effect in a local run: there is no container"),
    NOTED("properties", NULL),
};
static const struct bind_table resources_table =
    BIND_TABLE("resources", struct az_resources, resources_fields);

static const struct bind_field limits_fields[] = {
    NODE("timeout", az_limits, timeout),
};
static const struct bind_table limits_table = BIND_TABLE("limits", struct az_limits, limits_fields);

static const struct bind_field queue_fields[] = {
    STRING("job_tier", az_queue, job_tier),
    STRING("priority", az_queue, priority),
};
static const struct bind_table queue_table =
    BIND_TABLE("queue_settings", struct az_queue, queue_fields);

static const struct bind_field identity_fields[] = {
    {.key = "type", .kind = BIND_STRING, .required = true, AT(az_identity, type)},
    KNOWN("client_id"),
    KNOWN("object_id"),
    KNOWN("msi_resource_id"),
};
static const struct bind_table identity_table =
    BIND_TABLE("identity", struct az_identity, identity_fields);

static const struct bind_field job_fields[] = {
    {.key = "command",
     .kind = BIND_STRING,
     .required = true,
     .non_empty = true,
     AT(az_job, command)},
    {.key = "environment", .kind = BIND_NODE, .required = true, AT(az_job, environment)},
    {.key = "code", .kind = BIND_STRING, .non_empty = true, AT(az_job, code)},
    NODE("compute", az_job, compute),
    NODE("inputs", az_job, inputs),
    NODE("outputs", az_job, outputs),
    NODE("environment_variables", az_job, variables),
    NODE("distribution", az_job, distribution),
    {.key = "resources", .kind = BIND_STRUCT, .table = &resources_table, AT(az_job, resources)},
    {.key = "limits", .kind = BIND_STRUCT, .table = &limits_table, AT(az_job, limits)},
    {.key = "queue_settings", .kind = BIND_STRUCT, .table = &queue_table, AT(az_job, queue)},
    {.key = "identity", .kind = BIND_STRUCT, .table = &identity_table, AT(az_job, identity)},
    NODE("services", az_job, services),
    {.key = "name", .kind = BIND_STRING, .non_empty = true, AT(az_job, name)},
    STRING("experiment_name", az_job, experiment),
    STRING("type", az_job, type),
    NODE("tags", az_job, tags),
    NODE("properties", az_job, properties),
    KNOWN("$schema"),
    STRING("display_name", az_job, display_name),
    STRING("description", az_job, description),
    STRING("parent_job_name", az_job, parent),
    KNOWN("id"),
    KNOWN("status"),
    KNOWN("creation_context"),
    KNOWN("log_files"),
    KNOWN("parameters"),
};
const struct bind_table az_job_table = BIND_TABLE("the job", struct az_job, job_fields);
