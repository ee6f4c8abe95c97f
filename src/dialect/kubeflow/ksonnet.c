/* ksonnet.c - see ksonnet.h. The string "null" is how ksonnet's parameters say "absent". */
#include "dialect/kubeflow/ksonnet.h"

#include <string.h>

#include "base/arena.h"
#include "base/num.h"
#include "dialect/kubeflow/mpi.h"

#define JOB_IMAGE "mpioperator/tensorflow-benchmarks:latest"
#define COMMAND_HELP "command of the launcher, comma separated"
#define ARGS_HELP "arguments of the launcher, comma separated"

static bool said(const char *value)
{
    return strcmp(value, "null") != 0;
}

static int64_t number(const char *text)
{
    int64_t n = 0;

    return num_i64(text, &n) < 0 ? 0 : n;
}

static void add_strings(struct json *j, const char *key, const char *const *list, size_t n)
{
    json_key(j, key);
    json_array(j);
    for (size_t i = 0; i < n; i++)
        json_str(j, list[i]);
    json_end(j);
}

#define STRINGS(j, key, ...)                                                                       \
    add_strings((j), (key), (const char *const[]){__VA_ARGS__},                                    \
                ARRAY_SIZE(((const char *const[]){__VA_ARGS__})))

/* --- jobs ----------------------------------------------------------------------------------- */

static void add_split(struct json *j, const char *key, const char *text)
{
    if (!said(text))
        return;
    json_key(j, key);
    json_array(j);
    for (const char *end; text; text = *end ? end + 1 : NULL) {
        end = strchrnul(text, ',');
        json_strn(j, text, (size_t)(end - text));
    }
    json_end(j);
}

static void begin_object(struct json *j, const char *version, const char *kind, const char *name,
                         const char *namespace_)
{
    json_object(j);
    json_kv_str(j, "apiVersion", version);
    json_kv_str(j, "kind", kind);
    json_key(j, "metadata");
    json_object(j);
    json_kv_str(j, "name", name);
    if (namespace_)
        json_kv_str(j, "namespace", namespace_);
}

/* Up to the open container, with what both kinds of job say of it. */
static void begin_job(struct json *j, const char *name, const char *namespace_,
                      const char *count_key, const char *count, const char *image,
                      const char *command, const char *args)
{
    begin_object(j, KUBEFLOW_V1ALPHA1, "MPIJob", name, namespace_);
    json_end(j);
    json_key(j, "spec");
    json_object(j);
    json_kv_int(j, count_key, number(count));
    json_key(j, "template");
    json_object(j);
    json_key(j, "spec");
    json_object(j);
    json_key(j, "containers");
    json_array(j);
    json_object(j);
    json_kv_str(j, "name", name);
    json_kv_str(j, "image", image);
    add_split(j, "command", command);
    add_split(j, "args", args);
}

static void close_levels(struct json *j, int n)
{
    while (n-- > 0)
        json_end(j);
}

static void write_simple(struct json *j, const struct ksonnet_values *values)
{
    const char *const *v = values->v;

    begin_job(j, v[0], values->namespace_, "gpus", v[1], v[2], v[3], v[4]);
    close_levels(j, 6);
}

static void add_volume(struct json *j, const char *claim)
{
    json_key(j, "volumes");
    json_array(j);
    json_object(j);
    json_kv_str(j, "name", "persistent-storage");
    json_key(j, "persistentVolumeClaim");
    json_object(j);
    json_kv_str(j, "claimName", claim);
    close_levels(j, 3);
}

static void write_custom(struct json *j, const struct ksonnet_values *values)
{
    const char *const *v = values->v;
    bool volume = said(v[6]) && said(v[7]);

    begin_job(j, v[0], values->namespace_, "replicas", v[1], v[3], v[4], v[5]);
    json_key(j, "resources");
    json_object(j);
    json_key(j, "limits");
    json_object(j);
    json_kv_int(j, "nvidia.com/gpu", number(v[2]));
    close_levels(j, 2);
    if (volume) {
        json_key(j, "volumeMounts");
        json_array(j);
        json_object(j);
        json_kv_str(j, "name", "persistent-storage");
        json_kv_str(j, "mountPath", v[7]);
        close_levels(j, 2);
    }
    close_levels(j, 2);
    if (volume)
        add_volume(j, v[6]);
    close_levels(j, 4);
}

/* --- the operator --------------------------------------------------------------------------- */

/* gpus: 1, 2, 4 or a multiple of 8; or replicas: 1 and up. Exactly one of the two. */
static void add_crd_counts(struct json *j)
{
    json_key(j, "oneOf");
    json_array(j);
    json_object(j);
    json_key(j, "properties");
    json_object(j);
    json_key(j, "gpus");
    json_object(j);
    json_key(j, "oneOf");
    json_array(j);
    json_object(j);
    json_kv_str(j, "type", "integer");
    json_key(j, "enum");
    json_array(j);
    json_int(j, 1);
    json_int(j, 2);
    json_int(j, 4);
    close_levels(j, 2);
    json_object(j);
    json_kv_str(j, "type", "integer");
    json_kv_int(j, "multipleOf", 8);
    json_kv_int(j, "minimum", 8);
    close_levels(j, 4);
    STRINGS(j, "required", "gpus");
    json_end(j);
    json_object(j);
    json_key(j, "properties");
    json_object(j);
    json_key(j, "replicas");
    json_object(j);
    json_kv_str(j, "type", "integer");
    json_kv_int(j, "minimum", 1);
    close_levels(j, 2);
    STRINGS(j, "required", "replicas");
    close_levels(j, 2);
}

static void add_crd(struct json *j)
{
    begin_object(j, "apiextensions.k8s.io/v1beta1", "CustomResourceDefinition",
                 "mpijobs.kubeflow.org", NULL);
    json_end(j);
    json_key(j, "spec");
    json_object(j);
    json_kv_str(j, "group", "kubeflow.org");
    json_kv_str(j, "version", "v1alpha1");
    json_kv_str(j, "scope", "Namespaced");
    json_key(j, "names");
    json_object(j);
    json_kv_str(j, "plural", "mpijobs");
    json_kv_str(j, "singular", "mpijob");
    json_kv_str(j, "kind", "MPIJob");
    STRINGS(j, "shortNames", "mj", "mpij");
    json_end(j);
    json_key(j, "validation");
    json_object(j);
    json_key(j, "openAPIV3Schema");
    json_object(j);
    json_key(j, "properties");
    json_object(j);
    json_key(j, "spec");
    json_object(j);
    json_kv_str(j, "title", "Kubeflow MPIJob v1alpha1");
    json_kv_str(j, "description", "exactly one of `gpus` (total) and `replicas` is required");
    add_crd_counts(j);
    close_levels(j, 6);
}

/* What the operator may do; words are separated by blanks, the group "-" is the core one. */
static const struct {
    const char *group, *resources, *verbs;
} operator_rules[] = {
    {"-", "configmaps serviceaccounts", "create list watch"},
    {"-", "pods", "get"},
    {"-", "pods/exec", "create"},
    {"-", "events", "create patch"},
    {"rbac.authorization.k8s.io", "roles rolebindings", "create list watch"},
    {"apps", "statefulsets", "create list update watch"},
    {"batch", "jobs", "create list update watch"},
    {"policy", "poddisruptionbudgets", "create list update watch"},
    {"apiextensions.k8s.io", "customresourcedefinitions", "create get"},
    {"kubeflow.org", "mpijobs", "*"},
};

static void add_words(struct json *j, const char *key, const char *words)
{
    json_key(j, key);
    json_array(j);
    for (size_t n; *words; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        json_strn(j, words, n);
    }
    json_end(j);
}

#define RBAC "rbac.authorization.k8s.io"

static void add_cluster_role(struct json *j, const char *name)
{
    begin_object(j, RBAC "/v1", "ClusterRole", name, NULL);
    json_end(j);
    json_key(j, "rules");
    json_array(j);
    for (size_t i = 0; i < ARRAY_SIZE(operator_rules); i++) {
        const char *group = operator_rules[i].group;

        json_object(j);
        STRINGS(j, "apiGroups", strcmp(group, "-") == 0 ? "" : group);
        add_words(j, "resources", operator_rules[i].resources);
        add_words(j, "verbs", operator_rules[i].verbs);
        json_end(j);
    }
    close_levels(j, 2);
}

static void add_binding(struct json *j, const char *name, const char *namespace_)
{
    begin_object(j, RBAC "/v1", "ClusterRoleBinding", name, namespace_);
    json_end(j);
    json_key(j, "roleRef");
    json_object(j);
    json_kv_str(j, "apiGroup", RBAC);
    json_kv_str(j, "kind", "ClusterRole");
    json_kv_str(j, "name", name);
    json_end(j);
    json_key(j, "subjects");
    json_array(j);
    json_object(j);
    json_kv_str(j, "kind", "ServiceAccount");
    json_kv_str(j, "name", name);
    json_kv_str(j, "namespace", namespace_);
    close_levels(j, 3);
}

static void add_app_labels(struct json *j, const char *key, const char *name)
{
    json_key(j, key);
    json_object(j);
    json_kv_str(j, "app", name);
    json_end(j);
}

static void add_deployment(struct json *j, const char *const *v, const char *namespace_)
{
    begin_object(j, "apps/v1", "Deployment", v[0], namespace_);
    add_app_labels(j, "labels", v[0]);
    json_end(j);
    json_key(j, "spec");
    json_object(j);
    json_kv_int(j, "replicas", 1);
    json_key(j, "selector");
    json_object(j);
    add_app_labels(j, "matchLabels", v[0]);
    json_end(j);
    json_key(j, "template");
    json_object(j);
    json_key(j, "metadata");
    json_object(j);
    add_app_labels(j, "labels", v[0]);
    json_end(j);
    json_key(j, "spec");
    json_object(j);
    json_kv_str(j, "serviceAccountName", v[0]);
    json_key(j, "containers");
    json_array(j);
    json_object(j);
    json_kv_str(j, "name", "mpi-operator");
    json_kv_str(j, "image", v[1]);
    STRINGS(j, "args", "-alsologtostderr", "--gpus-per-node", v[3], "--kubectl-delivery-image",
            v[2]);
    json_kv_str(j, "imagePullPolicy", "Always");
    close_levels(j, 6);
}

static void write_operator(struct json *j, const struct ksonnet_values *values)
{
    const char *name = values->v[0];

    json_object(j);
    json_kv_str(j, "apiVersion", "v1");
    json_kv_str(j, "kind", "List");
    json_key(j, "items");
    json_array(j);
    add_crd(j);
    begin_object(j, "v1", "ServiceAccount", name, values->namespace_);
    close_levels(j, 2);
    add_cluster_role(j, name);
    add_binding(j, name, values->namespace_);
    add_deployment(j, values->v, values->namespace_);
    close_levels(j, 2);
}

/* --- the prototypes ------------------------------------------------------------------------- */

static const struct ksonnet_prototype mpi_operator = {
    .name = "mpi-operator",
    .summary = "the operator that runs MPIJobs v1alpha1: five objects in a List",
    .params = {{"name", NULL, false, "name of each object"},
               {"image", "mpioperator/mpi-operator:latest", false, "image of the operator"},
               {"kubectlDeliveryImage", "mpioperator/kubectl-delivery:latest", false,
                "image that provides kubectl to the launcher"},
               {"gpusPerNode", "8", true, "maximum number of GPUs per node"}},
    .is_operator = true,
    .write = write_operator,
};

static const struct ksonnet_prototype mpi_job_simple = {
    .name = "mpi-job-simple",
    .summary = "an MPIJob v1alpha1, by total number of GPUs",
    .params = {{"name", NULL, false, "name of the job and of its container"},
               {"gpus", "1", true, "total number of GPUs: 1, 2, 4 or a multiple of 8"},
               {"image", JOB_IMAGE, false, "image of the job"},
               {"command", "null", false, COMMAND_HELP},
               {"args", "null", false, ARGS_HELP}},
    .write = write_simple,
};

static const struct ksonnet_prototype mpi_job_custom = {
    .name = "mpi-job-custom",
    .summary = "an MPIJob v1alpha1, by replicas and GPUs per replica",
    .params = {{"name", NULL, false, "name of the job and of its container"},
               {"replicas", "1", true, "number of workers"},
               {"gpusPerReplica", "1", true, "GPUs per worker"},
               {"image", JOB_IMAGE, false, "image of the job"},
               {"command", "null", false, COMMAND_HELP},
               {"args", "null", false, ARGS_HELP},
               {"pvcName", "null", false, "claim to mount, with volumeMountPath"},
               {"volumeMountPath", "null", false, "where to mount it"}},
    .write = write_custom,
};

const struct ksonnet_prototype *const ksonnet_prototypes[] = {&mpi_operator, &mpi_job_simple,
                                                              &mpi_job_custom, NULL};

const struct ksonnet_prototype *ksonnet_find(const char *name)
{
    size_t n = strlen(KSONNET_PREFIX);

    if (strncmp(name, KSONNET_PREFIX, n) == 0)
        name += n;
    for (size_t i = 0; ksonnet_prototypes[i]; i++)
        if (strcmp(ksonnet_prototypes[i]->name, name) == 0)
            return ksonnet_prototypes[i];
    return NULL;
}

int ksonnet_check(const struct ksonnet_prototype *p, const struct ksonnet_values *values,
                  struct err *e)
{
    for (size_t i = 0; i < KSONNET_PARAMS_MAX && p->params[i].name; i++) {
        const struct ksonnet_param *param = &p->params[i];
        int64_t n;

        if (!*values->v[i])
            return err_set(e, -EINVAL, "--%s must not be empty", param->name);
        if (!param->number)
            continue;
        if (num_i64(values->v[i], &n) < 0 || n < 1 || n > INT32_MAX)
            return err_set(e, -EINVAL, "--%s must be a number ≥ 1, not \"%s\"", param->name,
                           values->v[i]);
        if (p == &mpi_job_simple && !mpi_v1alpha1_total_ok(n))
            return err_set(
                e, -EINVAL,
                "--gpus must be 1, 2, 4 or a multiple of 8 for an MPIJob v1alpha1, not %lld",
                (long long)n);
    }
    return 0;
}
