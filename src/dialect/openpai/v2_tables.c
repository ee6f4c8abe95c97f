/* v2_tables.c - the keys of OpenPAI's job protocol v2. Tables only; see v2.h. */
#include "dialect/openpai/v2.h"

#include <stddef.h>

#define AT(type, member) .offset = offsetof(struct type, member)

static const struct bind_field completion_fields[] = {
    {.key = "minFailedInstances",
     .kind = BIND_NODE,
     AT(pai2_completion, min_failed),
     .takes = TAKES_INT,
     .doc = "The number of failed instances that fails the job; -1: never."},
    {.key = "minSucceededInstances",
     .kind = BIND_NODE,
     AT(pai2_completion, min_succeeded),
     .takes = TAKES_INT,
     .doc = "The number of succeeded instances that ends the job with success; -1: never."},
};
static const struct bind_table completion_table =
    BIND_TABLE("completion", struct pai2_completion, completion_fields);

static const struct bind_field resource_fields[] = {
    {.key = "cpu",
     .kind = BIND_NODE,
     .required = true,
     AT(pai2_resources, cpu),
     .takes = TAKES_NUMBER,
     .doc = "Cores of an instance."},
    {.key = "memoryMB",
     .kind = BIND_NODE,
     .required = true,
     AT(pai2_resources, memory),
     .takes = TAKES_NUMBER,
     .doc = "Memory of an instance in MiB."},
    {.key = "gpu",
     .kind = BIND_NODE,
     .required = true,
     AT(pai2_resources, gpu),
     .takes = TAKES_NUMBER,
     .doc = "GPUs of an instance."},
    {.key = "ports",
     .kind = BIND_NODE,
     AT(pai2_resources, ports),
     .by_name = true,
     .takes = TAKES_NUMBER,
     .doc = "The number of ports by label."},
};
static const struct bind_table resource_table =
    BIND_TABLE("resourcePerInstance", struct pai2_resources, resource_fields);

static const struct bind_field option_fields[] = {
    {.key = "shmMB",
     .kind = BIND_NODE,
     AT(pai2_options, shm),
     .takes = TAKES_NUMBER,
     .doc = "The size of /dev/shm in MiB."},
    {.key = "infiniband",
     .kind = BIND_BOOL,
     AT(pai2_options, infiniband),
     .doc = "Gives a warning if InfiniBand is not available."},
};
static const struct bind_table option_table =
    BIND_TABLE_LENIENT("extraContainerOptions", struct pai2_options, option_fields);

static const struct bind_field role_fields[] = {
    {.key = "instances",
     .kind = BIND_NODE,
     AT(pai2_role, instances),
     .takes = TAKES_NUMBER,
     .doc = "The number of instances."},
    {.key = "completion",
     .kind = BIND_STRUCT,
     .table = &completion_table,
     AT(pai2_role, completion),
     .doc = "When instances of this role end the job."},
    {.key = "taskRetryCount",
     .kind = BIND_NODE,
     AT(pai2_role, task_retries),
     .takes = TAKES_NUMBER,
     .doc = "Maximum number of restarts per task; only without gang scheduling."},
    {.key = "prerequisites",
     .kind = BIND_STRINGS,
     AT(pai2_role, prerequisites),
     .doc = "Names of prerequisites of any type."},
    {.key = "dockerImage",
     .kind = BIND_STRING,
     .required = true,
     AT(pai2_role, image),
     .doc = "The name of a dockerimage prerequisite."},
    {.key = "data",
     .kind = BIND_STRING,
     AT(pai2_role, data),
     .doc = "The name of a data prerequisite."},
    {.key = "output",
     .kind = BIND_STRING,
     AT(pai2_role, output),
     .doc = "The name of an output prerequisite."},
    {.key = "script",
     .kind = BIND_STRING,
     AT(pai2_role, script),
     .doc = "The name of a script prerequisite."},
    {.key = "extraContainerOptions",
     .kind = BIND_STRUCT,
     .table = &option_table,
     AT(pai2_role, options),
     .doc = "Shared memory and InfiniBand."},
    {.key = "resourcePerInstance",
     .kind = BIND_STRUCT,
     .required = true,
     .table = &resource_table,
     AT(pai2_role, resources),
     .doc = "Resources of an instance."},
    {.key = "commands",
     .kind = BIND_STRINGS,
     .required = true,
     .non_empty = true,
     AT(pai2_role, commands),
     .doc = "Lines that bash runs in each instance."},
    {.key = "protocolVersion", .kind = BIND_KNOWN},
};
const struct bind_table pai2_role_table = BIND_TABLE("a task role", struct pai2_role, role_fields);

#define PREREQUISITE_FIELDS                                                                        \
    {.key = "name", .kind = BIND_STRING, .required = true, AT(pai2_prerequisite, name)},           \
        {.key = "type", .kind = BIND_STRING, .required = true, AT(pai2_prerequisite, type)},       \
        {.key = "protocolVersion", .kind = BIND_KNOWN}, {.key = "version", .kind = BIND_KNOWN},    \
        {.key = "contributor", .kind = BIND_KNOWN},                                                \
    {                                                                                              \
        .key = "description", .kind = BIND_KNOWN                                                   \
    }

static const struct bind_field image_fields[] = {
    PREREQUISITE_FIELDS,
    {.key = "uri",
     .kind = BIND_NODE,
     .required = true,
     AT(pai2_prerequisite, uri),
     .takes = TAKES_STRING,
     .doc = "The image."},
    {.key = "auth",
     .kind = BIND_NODE,
     AT(pai2_prerequisite, auth),
     .doc = "Not needed: no image is pulled."},
};
const struct bind_table pai2_image_table =
    BIND_TABLE("a dockerimage prerequisite", struct pai2_prerequisite, image_fields);

/* Prerequisites with a plugin carry its parameters among their keys. */
static const struct bind_field prerequisite_fields[] = {
    PREREQUISITE_FIELDS,
    {.key = "uri",
     .kind = BIND_NODE,
     AT(pai2_prerequisite, uri),
     .takes = TAKES_STRING | TAKES_STRINGS,
     .doc = "Where it is."},
    {.key = "plugin",
     .kind = BIND_STRING,
     AT(pai2_prerequisite, plugin),
     .doc = "How OpenPAI creates it."},
    {.key = "failurePolicy",
     .kind = BIND_STRING,
     AT(pai2_prerequisite, failure_policy),
     .doc = "What happens if that fails."},
    {.key = "require", .kind = BIND_KNOWN},
    {.key = "callbacks", .kind = BIND_KNOWN},
};
const struct bind_table pai2_prerequisite_table =
    BIND_TABLE_LENIENT("a prerequisite", struct pai2_prerequisite, prerequisite_fields);

static const struct bind_field deployment_role_fields[] = {
    {.key = "preCommands",
     .kind = BIND_STRINGS,
     .non_empty = true,
     AT(pai2_deployment_role, pre),
     .doc = "Run before the commands of the role."},
    {.key = "postCommands",
     .kind = BIND_STRINGS,
     .non_empty = true,
     AT(pai2_deployment_role, post),
     .doc = "Run after them."},
};
const struct bind_table pai2_deployment_role_table =
    BIND_TABLE("a role of a deployment", struct pai2_deployment_role, deployment_role_fields);

static const struct bind_field deployment_fields[] = {
    {.key = "name",
     .kind = BIND_STRING,
     .required = true,
     AT(pai2_deployment, name),
     .doc = "Its name."},
    {.key = "taskRoles",
     .kind = BIND_NODE,
     .required = true,
     AT(pai2_deployment, roles),
     .by_name = true,
     .takes = TAKES_MAP,
     .table = &pai2_deployment_role_table,
     .doc = "What it adds to a role, by name."},
    {.key = "protocolVersion", .kind = BIND_KNOWN},
    {.key = "description", .kind = BIND_KNOWN},
};
static const struct bind_table deployment_table =
    BIND_TABLE_LENIENT("a deployment", struct pai2_deployment, deployment_fields);

static const struct bind_field defaults_fields[] = {
    {.key = "virtualCluster",
     .kind = BIND_STRING,
     AT(pai2_defaults, virtual_cluster),
     .doc = "The queue of `muster submit`; no effect in a local run."},
    {.key = "deployment",
     .kind = BIND_STRING,
     AT(pai2_defaults, deployment),
     .doc = "The selected deployment."},
};
static const struct bind_table defaults_table =
    BIND_TABLE_LENIENT("defaults", struct pai2_defaults, defaults_fields);

static const struct bind_field job_fields[] = {
    {.key = "protocolVersion",
     .kind = BIND_NODE,
     .required = true,
     AT(pai2_job, protocol),
     .takes = TAKES_QUANTITY,
     .doc = "2"},
    {.key = "name",
     .kind = BIND_STRING,
     .required = true,
     AT(pai2_job, name),
     .doc = "The name of the job."},
    {.key = "type", .kind = BIND_STRING, .required = true, AT(pai2_job, type), .doc = "job"},
    {.key = "version",
     .kind = BIND_NODE,
     AT(pai2_job, version),
     .takes = TAKES_QUANTITY,
     .doc = "Version of the file."},
    {.key = "contributor", .kind = BIND_STRING, AT(pai2_job, unused), .doc = "For people."},
    {.key = "description", .kind = BIND_STRING, AT(pai2_job, unused), .doc = "For people."},
    {.key = "prerequisites",
     .kind = BIND_NODE,
     AT(pai2_job, prerequisites),
     .takes = TAKES_LIST,
     .doc = "Images, data, scripts and outputs."},
    {.key = "parameters",
     .kind = BIND_NODE,
     AT(pai2_job, parameters),
     .takes = TAKES_MAP,
     .doc = "Values for template tags: $parameters.NAME."},
    {.key = "secrets",
     .kind = BIND_NODE,
     AT(pai2_job, secrets),
     .takes = TAKES_MAP,
     .doc = "Secret values for template tags: $secrets.NAME."},
    {.key = "jobRetryCount",
     .kind = BIND_NODE,
     AT(pai2_job, retries),
     .takes = TAKES_NUMBER,
     .doc = "Maximum number of retries of the job."},
    {.key = "taskRoles",
     .kind = BIND_NODE,
     .required = true,
     AT(pai2_job, roles),
     .by_name = true,
     .takes = TAKES_MAP,
     .table = &pai2_role_table,
     .doc = "The task roles by name."},
    {.key = "deployments",
     .kind = BIND_STRUCTS,
     .non_empty = true,
     .table = &deployment_table,
     AT(pai2_job, deployments),
     .doc = "Sets of commands around those of the roles."},
    {.key = "defaults",
     .kind = BIND_STRUCT,
     .table = &defaults_table,
     AT(pai2_job, defaults),
     .doc = "Which deployment and virtual cluster."},
    {.key = "extras",
     .kind = BIND_NODE,
     AT(pai2_job, extras),
     .takes = TAKES_MAP,
     .doc =
         "Plugins and scheduling hints; gangAllocation and the plugins that matter here are read."},
};
const struct bind_table pai2_job_table = BIND_TABLE("the job", struct pai2_job, job_fields);

const char *const pai2_may_be_null[] = {"minFailedInstances", "minSucceededInstances", NULL};
