/* pod_tables.c - the keys of a Kubernetes pod template. Tables only; see pod.h. */
#include "kube/pod.h"

#include <stddef.h>

#define AT(type, member) .offset = offsetof(struct type, member)
#define KNOWN(name)                                                                                \
    {                                                                                              \
        .key = (name), .kind = BIND_KNOWN                                                          \
    }
#define NOTED(name)                                                                                \
    {                                                                                              \
        .key = (name), .kind = BIND_NOTED                                                          \
    }

static const struct bind_field key_ref_fields[] = {
    {.key = "name", .kind = BIND_STRING, .required = true, AT(pod_key_ref, name)},
    {.key = "key", .kind = BIND_STRING, .required = true, AT(pod_key_ref, key)},
    {.key = "optional", .kind = BIND_BOOL, AT(pod_key_ref, optional)},
};
static const struct bind_table secret_key_table =
    BIND_TABLE_LENIENT("secretKeyRef", struct pod_key_ref, key_ref_fields);
static const struct bind_table config_map_key_table =
    BIND_TABLE_LENIENT("configMapKeyRef", struct pod_key_ref, key_ref_fields);

static const struct bind_field field_ref_fields[] = {
    {.key = "fieldPath", .kind = BIND_STRING, .required = true, AT(pod_field_ref, path)},
    KNOWN("apiVersion"),
};
static const struct bind_table field_ref_table =
    BIND_TABLE_LENIENT("fieldRef", struct pod_field_ref, field_ref_fields);

static const struct bind_field resource_ref_fields[] = {
    {.key = "resource", .kind = BIND_STRING, .required = true, AT(pod_resource_ref, resource)},
    {.key = "divisor", .kind = BIND_NODE, AT(pod_resource_ref, divisor)},
    KNOWN("containerName"),
};
static const struct bind_table resource_ref_table =
    BIND_TABLE_LENIENT("resourceFieldRef", struct pod_resource_ref, resource_ref_fields);

static const struct bind_field value_from_fields[] = {
    {.key = "secretKeyRef",
     .kind = BIND_STRUCT,
     .table = &secret_key_table,
     AT(pod_value_from, secret)},
    {.key = "configMapKeyRef",
     .kind = BIND_STRUCT,
     .table = &config_map_key_table,
     AT(pod_value_from, config_map)},
    {.key = "fieldRef", .kind = BIND_STRUCT, .table = &field_ref_table, AT(pod_value_from, field)},
    {.key = "resourceFieldRef",
     .kind = BIND_STRUCT,
     .table = &resource_ref_table,
     AT(pod_value_from, resource)},
    NOTED("fileKeyRef"),
};
static const struct bind_table value_from_table =
    BIND_TABLE_LENIENT("valueFrom", struct pod_value_from, value_from_fields);

static const struct bind_field env_fields[] = {
    {.key = "name", .kind = BIND_STRING, .required = true, .non_empty = true, AT(pod_env, name)},
    {.key = "value", .kind = BIND_STRING, AT(pod_env, value)},
    {.key = "valueFrom", .kind = BIND_STRUCT, .table = &value_from_table, AT(pod_env, from)},
};
static const struct bind_table env_table =
    BIND_TABLE_LENIENT("an env entry", struct pod_env, env_fields);

static const struct bind_field object_ref_fields[] = {
    {.key = "name", .kind = BIND_STRING, .required = true, AT(pod_object_ref, name)},
    {.key = "optional", .kind = BIND_BOOL, AT(pod_object_ref, optional)},
};
static const struct bind_table secret_ref_table =
    BIND_TABLE_LENIENT("secretRef", struct pod_object_ref, object_ref_fields);
static const struct bind_table config_map_ref_table =
    BIND_TABLE_LENIENT("configMapRef", struct pod_object_ref, object_ref_fields);

static const struct bind_field env_from_fields[] = {
    {.key = "prefix", .kind = BIND_STRING, AT(pod_env_from, prefix)},
    {.key = "secretRef", .kind = BIND_STRUCT, .table = &secret_ref_table, AT(pod_env_from, secret)},
    {.key = "configMapRef",
     .kind = BIND_STRUCT,
     .table = &config_map_ref_table,
     AT(pod_env_from, config_map)},
};
static const struct bind_table env_from_table =
    BIND_TABLE_LENIENT("an envFrom entry", struct pod_env_from, env_from_fields);

static const struct bind_field mount_fields[] = {
    {.key = "name", .kind = BIND_STRING, .required = true, AT(pod_mount, name)},
    {.key = "mountPath", .kind = BIND_STRING, .required = true, AT(pod_mount, path)},
    {.key = "readOnly", .kind = BIND_BOOL, AT(pod_mount, read_only)},
    NOTED("recursiveReadOnly"),
    {.key = "subPath", .kind = BIND_STRING, AT(pod_mount, sub_path)},
    {.key = "subPathExpr", .kind = BIND_STRING, AT(pod_mount, sub_path_expr)},
    NOTED("mountPropagation"),
};
static const struct bind_foreign mount_foreign[] = {{"path", "did you mean `mountPath`?"},
                                                    {NULL, NULL}};
static const struct bind_table mount_table =
    BIND_TABLE_FOREIGN("a volumeMounts entry", struct pod_mount, mount_fields, mount_foreign);

static const struct bind_field resources_fields[] = {
    {.key = "limits", .kind = BIND_NODE, AT(pod_resources, limits)},
    {.key = "requests", .kind = BIND_NODE, AT(pod_resources, requests)},
    NOTED("claims"),
};
static const struct bind_table resources_table =
    BIND_TABLE_LENIENT("resources", struct pod_resources, resources_fields);

static const struct bind_field container_fields[] = {
    {.key = "name",
     .kind = BIND_STRING,
     .required = true,
     .non_empty = true,
     AT(pod_container, name)},
    {.key = "image", .kind = BIND_STRING, AT(pod_container, image)},
    {.key = "command", .kind = BIND_STRINGS, AT(pod_container, command)},
    {.key = "args", .kind = BIND_STRINGS, AT(pod_container, args)},
    {.key = "workingDir", .kind = BIND_STRING, AT(pod_container, workdir)},
    {.key = "env", .kind = BIND_STRUCTS, .table = &env_table, AT(pod_container, env)},
    {.key = "envFrom", .kind = BIND_STRUCTS, .table = &env_from_table, AT(pod_container, env_from)},
    {.key = "resources",
     .kind = BIND_STRUCT,
     .table = &resources_table,
     AT(pod_container, resources)},
    {.key = "volumeMounts", .kind = BIND_STRUCTS, .table = &mount_table, AT(pod_container, mounts)},
    NOTED("imagePullPolicy"),
    NOTED("lifecycle"),
    NOTED("livenessProbe"),
    {.key = "ports",
     .kind = BIND_NOTED,
     .why = "has no effect locally: every port of a replica can be reached"},
    NOTED("readinessProbe"),
    NOTED("resizePolicy"),
    NOTED("restartPolicy"),
    NOTED("restartPolicyRules"),
    NOTED("securityContext"),
    NOTED("startupProbe"),
    NOTED("stdin"),
    NOTED("stdinOnce"),
    NOTED("terminationMessagePath"),
    NOTED("terminationMessagePolicy"),
    NOTED("tty"),
    NOTED("volumeDevices"),
};
static const struct bind_table container_table =
    BIND_TABLE_LENIENT("a container", struct pod_container, container_fields);

static const struct bind_field empty_dir_fields[] = {
    {.key = "medium", .kind = BIND_STRING, AT(pod_empty_dir, medium)},
    {.key = "sizeLimit", .kind = BIND_NODE, AT(pod_empty_dir, size_limit)},
};
static const struct bind_table empty_dir_table =
    BIND_TABLE_LENIENT("emptyDir", struct pod_empty_dir, empty_dir_fields);

static const struct bind_field host_path_fields[] = {
    {.key = "path", .kind = BIND_STRING, .required = true, AT(pod_host_path, path)},
    {.key = "type", .kind = BIND_STRING, AT(pod_host_path, type)},
};
static const struct bind_table host_path_table =
    BIND_TABLE_LENIENT("hostPath", struct pod_host_path, host_path_fields);

static const struct bind_field item_fields[] = {
    {.key = "key", .kind = BIND_STRING, .required = true, AT(pod_item, key)},
    {.key = "path", .kind = BIND_STRING, .required = true, AT(pod_item, path)},
    NOTED("mode"),
};
static const struct bind_table item_table =
    BIND_TABLE_LENIENT("an item", struct pod_item, item_fields);

#define FILES_FIELDS(name_key)                                                                     \
    {.key = (name_key), .kind = BIND_STRING, .required = true, AT(pod_files, name)},               \
        {.key = "items", .kind = BIND_STRUCTS, .table = &item_table, AT(pod_files, items)},        \
        {.key = "optional", .kind = BIND_BOOL, AT(pod_files, optional)},                           \
    {                                                                                              \
        .key = "defaultMode", .kind = BIND_NODE, AT(pod_files, mode)                               \
    }

static const struct bind_field config_map_fields[] = {FILES_FIELDS("name")};
static const struct bind_foreign config_map_foreign[] = {{"configMapName", "did you mean `name`?"},
                                                         {NULL, NULL}};
static const struct bind_table config_map_table =
    BIND_TABLE_FOREIGN("configMap", struct pod_files, config_map_fields, config_map_foreign);
static const struct bind_field secret_fields[] = {FILES_FIELDS("secretName")};
static const struct bind_foreign secret_foreign[] = {{"name", "did you mean `secretName`?"},
                                                     {NULL, NULL}};
static const struct bind_table secret_table =
    BIND_TABLE_FOREIGN("secret", struct pod_files, secret_fields, secret_foreign);

static const struct bind_field claim_fields[] = {
    {.key = "claimName", .kind = BIND_STRING, .required = true, AT(pod_claim, name)},
    {.key = "readOnly", .kind = BIND_BOOL, AT(pod_claim, read_only)},
};
static const struct bind_foreign claim_foreign[] = {{"name", "did you mean `claimName`?"},
                                                    {NULL, NULL}};
static const struct bind_table claim_table =
    BIND_TABLE_FOREIGN("persistentVolumeClaim", struct pod_claim, claim_fields, claim_foreign);

/* The kinds that a machine has too are looked into; the others are named in a note. */
static const struct bind_field volume_fields[] = {
    {.key = "name", .kind = BIND_STRING, .required = true, AT(pod_volume, name)},
    {.key = "emptyDir", .kind = BIND_STRUCT, .table = &empty_dir_table, AT(pod_volume, empty_dir)},
    {.key = "hostPath", .kind = BIND_STRUCT, .table = &host_path_table, AT(pod_volume, host_path)},
    {.key = "configMap",
     .kind = BIND_STRUCT,
     .table = &config_map_table,
     AT(pod_volume, config_map)},
    {.key = "secret", .kind = BIND_STRUCT, .table = &secret_table, AT(pod_volume, secret)},
    {.key = "persistentVolumeClaim",
     .kind = BIND_STRUCT,
     .table = &claim_table,
     AT(pod_volume, claim)},
    KNOWN("nfs"),
    KNOWN("projected"),
    KNOWN("downwardAPI"),
    KNOWN("csi"),
    KNOWN("ephemeral"),
    KNOWN("image"),
    KNOWN("awsElasticBlockStore"),
    KNOWN("azureDisk"),
    KNOWN("azureFile"),
    KNOWN("cephfs"),
    KNOWN("cinder"),
    KNOWN("fc"),
    KNOWN("flexVolume"),
    KNOWN("flocker"),
    KNOWN("gcePersistentDisk"),
    KNOWN("gitRepo"),
    KNOWN("glusterfs"),
    KNOWN("iscsi"),
    KNOWN("photonPersistentDisk"),
    KNOWN("portworxVolume"),
    KNOWN("quobyte"),
    KNOWN("rbd"),
    KNOWN("scaleIO"),
    KNOWN("storageos"),
    KNOWN("vsphereVolume"),
};
static const struct bind_table volume_table =
    BIND_TABLE_LENIENT("a volume", struct pod_volume, volume_fields);

static const struct bind_field spec_fields[] = {
    {.key = "containers",
     .kind = BIND_STRUCTS,
     .required = true,
     .non_empty = true,
     .table = &container_table,
     AT(pod_spec, containers)},
    {.key = "volumes", .kind = BIND_STRUCTS, .table = &volume_table, AT(pod_spec, volumes)},
    {.key = "terminationGracePeriodSeconds",
     .kind = BIND_INT,
     .min = 0,
     .max = INT32_MAX,
     .def = -1,
     AT(pod_spec, grace_s)},
    {.key = "initContainers", .kind = BIND_STRUCTS, .table = &container_table, AT(pod_spec, init)},
    NOTED("activeDeadlineSeconds"),
    NOTED("affinity"),
    NOTED("automountServiceAccountToken"),
    NOTED("dnsConfig"),
    NOTED("dnsPolicy"),
    NOTED("enableServiceLinks"),
    NOTED("ephemeralContainers"),
    NOTED("hostAliases"),
    NOTED("hostIPC"),
    NOTED("hostNetwork"),
    NOTED("hostPID"),
    NOTED("hostUsers"),
    NOTED("hostname"),
    NOTED("hostnameOverride"),
    NOTED("imagePullSecrets"),
    NOTED("nodeName"),
    NOTED("nodeSelector"),
    NOTED("os"),
    NOTED("overhead"),
    NOTED("preemptionPolicy"),
    NOTED("priority"),
    NOTED("priorityClassName"),
    NOTED("readinessGates"),
    NOTED("resourceClaims"),
    NOTED("resources"),
    {.key = "restartPolicy",
     .kind = BIND_NOTED,
     .why = "of a pod template has no effect: the job's own policy is used"},
    NOTED("runtimeClassName"),
    NOTED("schedulerName"),
    NOTED("schedulingGates"),
    NOTED("securityContext"),
    NOTED("serviceAccount"),
    NOTED("serviceAccountName"),
    NOTED("setHostnameAsFQDN"),
    NOTED("shareProcessNamespace"),
    NOTED("subdomain"),
    NOTED("tolerations"),
    NOTED("topologySpreadConstraints"),
};
static const struct bind_table spec_table =
    BIND_TABLE_LENIENT("template.spec", struct pod_spec, spec_fields);

static const struct bind_field template_fields[] = {
    {.key = "spec", .kind = BIND_STRUCT, .table = &spec_table, AT(pod_template, spec)},
    KNOWN("metadata"),
};
const struct bind_table pod_template_table =
    BIND_TABLE_LENIENT("template", struct pod_template, template_fields);
