/* tables.c - the keys of Azure ML's command job. Tables only; see azureml.h. */
#include "dialect/azureml/azureml.h"

#include <stddef.h>

#define AT(type, member) .offset = offsetof(struct type, member)
#define STRING(name, type, member, text)                                                           \
    {                                                                                              \
        .key = (name), .kind = BIND_STRING, AT(type, member), .doc = (text)                        \
    }
#define COUNT(name, type, member, least, text)                                                     \
    {                                                                                              \
        .key = (name), .kind = BIND_NODE, AT(type, member), .takes = TAKES_INT, .min = (least),    \
        .max = INT32_MAX, .doc = (text)                                                            \
    }
#define KNOWN(name, text)                                                                          \
    {                                                                                              \
        .key = (name), .kind = BIND_KNOWN, .doc = (text)                                           \
    }
#define NOTED(name, text)                                                                          \
    {                                                                                              \
        .key = (name), .kind = BIND_NOTED, .why = (text)                                           \
    }
#define SERVICE "Written by the service."

/* --- environment ---------------------------------------------------------------------------- */

static const struct bind_field build_fields[] = {
    STRING("path", az_build, path, "The directory an image would be built from."),
    STRING("dockerfile_path", az_build, dockerfile, "Its Dockerfile."),
};
static const struct bind_table build_table =
    BIND_TABLE("environment.build", struct az_build, build_fields);

static const struct bind_field environment_fields[] = {
    STRING("image", az_environment, image,
           "The image; locally the job uses what is installed (--image)."),
    {.key = "conda_file",
     .kind = BIND_NODE,
     AT(az_environment, conda_file),
     .takes = TAKES_STRING | TAKES_MAP,
     .doc = "A conda environment; nothing is installed locally."},
    {.key = "build",
     .kind = BIND_STRUCT,
     .table = &build_table,
     AT(az_environment, build),
     .doc = "How to build the image; ignored locally."},
    STRING("os_type", az_environment, os_type, "linux."),
    KNOWN("$schema", NULL),
    KNOWN("name", "An environment that is written in place has no name."),
    KNOWN("version", "Nor a version."),
    KNOWN("description", "A description."),
    KNOWN("tags", "Descriptions."),
    KNOWN("properties", "Properties."),
    KNOWN("datastore", "Where the platform stores it."),
    KNOWN("inference_config", "Not for jobs."),
    KNOWN("id", SERVICE),
    KNOWN("creation_context", SERVICE),
};
const struct bind_table az_environment_table =
    BIND_TABLE("environment", struct az_environment, environment_fields);

/* --- distribution --------------------------------------------------------------------------- */

#define TYPE STRING("type", az_distribution, type, "mpi, pytorch, tensorflow or ray.")
#define PER_INSTANCE                                                                               \
    COUNT("process_count_per_instance", az_distribution, per_instance, 1,                          \
          "mpi, pytorch: processes per node (default 1).")
#define WORKERS                                                                                    \
    COUNT("worker_count", az_distribution, workers, 1,                                             \
          "tensorflow: total number of workers (default: one per node).")
#define SERVERS                                                                                    \
    COUNT("parameter_server_count", az_distribution, servers, 0,                                   \
          "tensorflow: total number of parameter servers.")

static const struct bind_field mpi_fields[] = {TYPE, PER_INSTANCE};
const struct bind_table az_mpi_table =
    BIND_TABLE("distribution", struct az_distribution, mpi_fields);

static const struct bind_field tensorflow_fields[] = {TYPE, WORKERS, SERVERS};
const struct bind_table az_tensorflow_table =
    BIND_TABLE("a TensorFlow distribution", struct az_distribution, tensorflow_fields);

#define RAY                                                                                        \
    KNOWN("port", "ray."), KNOWN("address", "ray."), KNOWN("include_dashboard", "ray."),           \
        KNOWN("dashboard_port", "ray."), KNOWN("head_node_additional_args", "ray."),               \
        KNOWN("worker_node_additional_args", "ray.")

static const struct bind_field ray_fields[] = {TYPE, RAY};
const struct bind_table az_ray_table =
    BIND_TABLE("a Ray distribution", struct az_distribution, ray_fields);

/* All of them, for the schema: which keys there are depends on the type. */
static const struct bind_field any_fields[] = {TYPE, PER_INSTANCE, WORKERS, SERVERS, RAY};
static const struct bind_table any_table =
    BIND_TABLE("a distribution", struct az_distribution, any_fields);

/* --- inputs, outputs, services -------------------------------------------------------------- */

static const struct bind_field input_fields[] = {
    STRING("type", az_data, type,
           "uri_file, uri_folder, mltable, mlflow_model, custom_model or triton_model."),
    {.key = "path",
     .kind = BIND_STRING,
     .non_empty = true,
     AT(az_data, path),
     .doc = "A path relative to the file, or an address, which --map maps to a path."},
    STRING("mode", az_data, mode,
           "How the input is provided; direct: the command gets the address."),
    {.key = "value",
     .kind = BIND_NODE,
     AT(az_data, value),
     .takes = TAKES_SCALAR,
     .doc = "A literal, instead of a path."},
    KNOWN("datastore", "Where the platform stores it."),
    NOTED("path_on_compute", NULL),
};
const struct bind_table az_input_table = BIND_TABLE("an input", struct az_data, input_fields);

static const struct bind_field output_fields[] = {
    STRING("type", az_data, type, "uri_file: a file; else a directory."),
    STRING("path", az_data, path,
           "Where the platform stores it; locally outputs/NAME in the run directory."),
    STRING("mode", az_data, mode, "How the platform stores it."),
    NOTED("name", "has no effect in a local run: nothing is registered"),
    KNOWN("version", "As the name."),
    NOTED("path_on_compute", NULL),
};
const struct bind_table az_output_table = BIND_TABLE("an output", struct az_data, output_fields);

struct az_service {
    const struct node *at;
};

static const struct bind_field service_fields[] = {
    KNOWN("type", "ssh, tensor_board, vs_code or jupyter_lab."),
    KNOWN("port", "Its port."),
    KNOWN("nodes", "all, or only the first."),
    KNOWN("properties", "More about it."),
    KNOWN("log_dir", "tensor_board."),
    KNOWN("ssh_public_keys", "ssh."),
    KNOWN("endpoint", SERVICE),
    KNOWN("status", SERVICE),
    KNOWN("error_message", SERVICE),
};
const struct bind_table az_service_table =
    BIND_TABLE("a service", struct az_service, service_fields);

/* --- the job -------------------------------------------------------------------------------- */

#define HARDWARE "names hardware of the platform; the job runs on this machine"

static const struct bind_field resources_fields[] = {
    COUNT("instance_count", az_resources, instance_count, 1, "The number of nodes (default 1)."),
    STRING("shm_size", az_resources, shm_size,
           "The size of each node's /dev/shm: a number and b, k, m or g."),
    NOTED("instance_type", HARDWARE),
    NOTED("locations", HARDWARE),
    NOTED("max_instance_count", "has no effect in a local run: the number of nodes is fixed"),
    NOTED("docker_args", "has no effect in a local run: there is no container"),
    NOTED("properties", NULL),
};
static const struct bind_table resources_table =
    BIND_TABLE("resources", struct az_resources, resources_fields);

static const struct bind_field limits_fields[] = {
    COUNT("timeout", az_limits, timeout, 0, "The job's deadline in seconds."),
};
static const struct bind_table limits_table = BIND_TABLE("limits", struct az_limits, limits_fields);

static const struct bind_field queue_fields[] = {
    STRING("job_tier", az_queue, job_tier, "spot, basic, standard or premium."),
    STRING("priority", az_queue, priority, "low, medium or high."),
};
static const struct bind_table queue_table =
    BIND_TABLE("queue_settings", struct az_queue, queue_fields);

static const struct bind_field identity_fields[] = {
    {.key = "type",
     .kind = BIND_STRING,
     .required = true,
     AT(az_identity, type),
     .doc = "aml_token, managed or user_identity."},
    KNOWN("client_id", "managed."),
    KNOWN("object_id", "managed."),
    KNOWN("msi_resource_id", "managed."),
};
static const struct bind_table identity_table =
    BIND_TABLE("identity", struct az_identity, identity_fields);

#define BY_NAME(name, member, what, of, text)                                                      \
    {                                                                                              \
        .key = (name), .kind = BIND_NODE, .by_name = true, AT(az_job, member), .takes = (what),    \
        .table = (of), .doc = (text)                                                               \
    }
#define PART(name, member, of, text)                                                               \
    {                                                                                              \
        .key = (name), .kind = BIND_STRUCT, .table = (of), AT(az_job, member), .doc = (text)       \
    }

static const struct bind_field job_fields[] = {
    {.key = "command",
     .kind = BIND_STRING,
     .required = true,
     .non_empty = true,
     AT(az_job, command),
     .doc = "The command of every process, run by bash."},
    {.key = "environment",
     .kind = BIND_NODE,
     .required = true,
     AT(az_job, environment),
     .takes = TAKES_STRING | TAKES_MAP,
     .table = &az_environment_table,
     .doc = "azureml:NAME:VERSION, azureml:NAME@LABEL, or an environment in place."},
    {.key = "code",
     .kind = BIND_STRING,
     .non_empty = true,
     AT(az_job, code),
     .doc = "The working directory, relative to the file; it is not copied."},
    {.key = "compute",
     .kind = BIND_NODE,
     AT(az_job, compute),
     .takes = TAKES_STRING,
     .doc = "The cluster; shown in the job's status."},
    BY_NAME("inputs", inputs, TAKES_SCALAR | TAKES_MAP, &az_input_table,
            "Values for ${{inputs.NAME}} in the command: a literal or a path."),
    BY_NAME("outputs", outputs, TAKES_MAP, &az_output_table,
            "Values for ${{outputs.NAME}} in the command: a directory of the run."),
    BY_NAME("environment_variables", variables, TAKES_SCALAR, NULL, "Variables of every process."),
    {.key = "distribution",
     .kind = BIND_NODE,
     AT(az_job, distribution),
     .takes = TAKES_MAP,
     .table = &any_table,
     .doc = "How processes are started and find each other."},
    PART("resources", resources, &resources_table, "The number of nodes and their resources."),
    PART("limits", limits, &limits_table, "Limits of the job."),
    PART("queue_settings", queue, &queue_table,
         "Queue and priority of `muster submit`; no effect in a local run."),
    PART("identity", identity, &identity_table, "Ignored; the job runs as the current user."),
    BY_NAME("services", services, TAKES_MAP, &az_service_table,
            "Not started; the job's ports can be reached directly."),
    {.key = "name",
     .kind = BIND_STRING,
     .non_empty = true,
     AT(az_job, name),
     .doc = "The name of the job (default: the name of the file)."},
    STRING("experiment_name", az_job, experiment, "The experiment of the job."),
    STRING("type", az_job, type, "command."),
    BY_NAME("tags", tags, TAKES_STRING, NULL, "Descriptions."),
    BY_NAME("properties", properties, TAKES_STRING, NULL, "Properties."),
    KNOWN("$schema", "The schema: commandJob."),
    STRING("display_name", az_job, display_name, "A display name."),
    STRING("description", az_job, description, "A description."),
    STRING("parent_job_name", az_job, parent, "The parent job."),
    KNOWN("id", SERVICE),
    KNOWN("status", SERVICE),
    KNOWN("creation_context", SERVICE),
    KNOWN("log_files", SERVICE),
    KNOWN("parameters", SERVICE),
};
const struct bind_table az_job_table = BIND_TABLE("the job", struct az_job, job_fields);
