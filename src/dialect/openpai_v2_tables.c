/* openpai_v2_tables.c - the keys of OpenPAI's job protocol v2. Tables only; see openpai_v2.h. */
#include "dialect/openpai_v2.h"

#include <stddef.h>

#define AT(type, member) .offset = offsetof(struct type, member)

static const struct bind_field completion_fields[] = {
    {.key = "minFailedInstances", .kind = BIND_NODE, AT(pai2_completion, min_failed)},
    {.key = "minSucceededInstances", .kind = BIND_NODE, AT(pai2_completion, min_succeeded)},
};
static const struct bind_table completion_table =
    BIND_TABLE("completion", struct pai2_completion, completion_fields);

static const struct bind_field resource_fields[] = {
    {.key = "cpu", .kind = BIND_NODE, .required = true, AT(pai2_resources, cpu)},
    {.key = "memoryMB", .kind = BIND_NODE, .required = true, AT(pai2_resources, memory)},
    {.key = "gpu", .kind = BIND_NODE, .required = true, AT(pai2_resources, gpu)},
    {.key = "ports", .kind = BIND_NODE, AT(pai2_resources, ports)},
};
static const struct bind_table resource_table =
    BIND_TABLE("resourcePerInstance", struct pai2_resources, resource_fields);

static const struct bind_field option_fields[] = {
    {.key = "shmMB", .kind = BIND_NODE, AT(pai2_options, shm)},
    {.key = "infiniband", .kind = BIND_BOOL, AT(pai2_options, infiniband)},
};
static const struct bind_table option_table =
    BIND_TABLE_LENIENT("extraContainerOptions", struct pai2_options, option_fields);

static const struct bind_field role_fields[] = {
    {.key = "instances", .kind = BIND_NODE, AT(pai2_role, instances)},
    {.key = "completion",
     .kind = BIND_STRUCT,
     .table = &completion_table,
     AT(pai2_role, completion)},
    {.key = "taskRetryCount", .kind = BIND_NODE, AT(pai2_role, task_retries)},
    {.key = "prerequisites", .kind = BIND_STRINGS, AT(pai2_role, prerequisites)},
    {.key = "dockerImage", .kind = BIND_STRING, .required = true, AT(pai2_role, image)},
    {.key = "data", .kind = BIND_STRING, AT(pai2_role, data)},
    {.key = "output", .kind = BIND_STRING, AT(pai2_role, output)},
    {.key = "script", .kind = BIND_STRING, AT(pai2_role, script)},
    {.key = "extraContainerOptions",
     .kind = BIND_STRUCT,
     .table = &option_table,
     AT(pai2_role, options)},
    {.key = "resourcePerInstance",
     .kind = BIND_STRUCT,
     .required = true,
     .table = &resource_table,
     AT(pai2_role, resources)},
    {.key = "commands",
     .kind = BIND_STRINGS,
     .required = true,
     .non_empty = true,
     AT(pai2_role, commands)},
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
    {.key = "uri", .kind = BIND_NODE, .required = true, AT(pai2_prerequisite, uri)},
    {.key = "auth", .kind = BIND_NODE, AT(pai2_prerequisite, auth)},
};
const struct bind_table pai2_image_table =
    BIND_TABLE("a dockerimage prerequisite", struct pai2_prerequisite, image_fields);

/* Prerequisites with a plugin carry its parameters among their keys. */
static const struct bind_field prerequisite_fields[] = {
    PREREQUISITE_FIELDS,
    {.key = "uri", .kind = BIND_NODE, AT(pai2_prerequisite, uri)},
    {.key = "plugin", .kind = BIND_STRING, AT(pai2_prerequisite, plugin)},
    {.key = "failurePolicy", .kind = BIND_STRING, AT(pai2_prerequisite, failure_policy)},
    {.key = "require", .kind = BIND_KNOWN},
    {.key = "callbacks", .kind = BIND_KNOWN},
};
const struct bind_table pai2_prerequisite_table =
    BIND_TABLE_LENIENT("a prerequisite", struct pai2_prerequisite, prerequisite_fields);

static const struct bind_field deployment_role_fields[] = {
    {.key = "preCommands", .kind = BIND_STRINGS, .non_empty = true, AT(pai2_deployment_role, pre)},
    {.key = "postCommands",
     .kind = BIND_STRINGS,
     .non_empty = true,
     AT(pai2_deployment_role, post)},
};
const struct bind_table pai2_deployment_role_table =
    BIND_TABLE("a role of a deployment", struct pai2_deployment_role, deployment_role_fields);

static const struct bind_field deployment_fields[] = {
    {.key = "name", .kind = BIND_STRING, .required = true, AT(pai2_deployment, name)},
    {.key = "taskRoles", .kind = BIND_NODE, .required = true, AT(pai2_deployment, roles)},
    {.key = "protocolVersion", .kind = BIND_KNOWN},
    {.key = "description", .kind = BIND_KNOWN},
};
static const struct bind_table deployment_table =
    BIND_TABLE_LENIENT("a deployment", struct pai2_deployment, deployment_fields);

static const struct bind_field defaults_fields[] = {
    {.key = "virtualCluster", .kind = BIND_STRING, AT(pai2_defaults, virtual_cluster)},
    {.key = "deployment", .kind = BIND_STRING, AT(pai2_defaults, deployment)},
};
static const struct bind_table defaults_table =
    BIND_TABLE_LENIENT("defaults", struct pai2_defaults, defaults_fields);

static const struct bind_field job_fields[] = {
    {.key = "protocolVersion", .kind = BIND_NODE, .required = true, AT(pai2_job, protocol)},
    {.key = "name", .kind = BIND_STRING, .required = true, AT(pai2_job, name)},
    {.key = "type", .kind = BIND_STRING, .required = true, AT(pai2_job, type)},
    {.key = "version", .kind = BIND_NODE, AT(pai2_job, version)},
    {.key = "contributor", .kind = BIND_STRING, AT(pai2_job, unused)},
    {.key = "description", .kind = BIND_STRING, AT(pai2_job, unused)},
    {.key = "prerequisites", .kind = BIND_NODE, AT(pai2_job, prerequisites)},
    {.key = "parameters", .kind = BIND_NODE, AT(pai2_job, parameters)},
    {.key = "secrets", .kind = BIND_NODE, AT(pai2_job, secrets)},
    {.key = "jobRetryCount", .kind = BIND_NODE, AT(pai2_job, retries)},
    {.key = "taskRoles", .kind = BIND_NODE, .required = true, AT(pai2_job, roles)},
    {.key = "deployments",
     .kind = BIND_STRUCTS,
     .non_empty = true,
     .table = &deployment_table,
     AT(pai2_job, deployments)},
    {.key = "defaults", .kind = BIND_STRUCT, .table = &defaults_table, AT(pai2_job, defaults)},
    {.key = "extras", .kind = BIND_NODE, AT(pai2_job, extras)},
};
const struct bind_table pai2_job_table = BIND_TABLE("the job", struct pai2_job, job_fields);

const char *const pai2_may_be_null[] = {"minFailedInstances", "minSucceededInstances", NULL};
