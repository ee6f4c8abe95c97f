/* registry.c - the dialects, and how a document's dialect is found.
 *
 * The order is that of the contract: Kubernetes kinds first, then the platforms' own forms by the
 * keys only they have. A dialect that is known but not run yet is named all the same: "not
 * supported yet" is an answer, "unknown key" would be a riddle. */
#include "dialect/registry.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/nearest.h"
#include "dialect/azureml/azureml.h"

const struct dialect *const dialects[] = {
    &t9k_mpi,
    &kubeflow_mpi_v1alpha1,
    &kubeflow_mpi_v1alpha2,
    &kubeflow_mpi_v1,
    &kubeflow_mpi_v2beta1,
    &kubeflow_pytorch,
    &kubeflow_tf,
    &muster_v1,
    &openpai_v2,
    &openpai_v1,
    &azureml_preview,
    &azureml,
    NULL,
};

const struct dialect *dialect_by_id(const char *id)
{
    for (size_t i = 0; dialects[i]; i++) {
        if (strcmp(dialects[i]->id, id) == 0)
            return dialects[i];
    }
    return NULL;
}

const char *verdict_name(enum verdict v)
{
    static const char *const names[] = {
        [VERDICT_ACCEPT] = "accept",
        [VERDICT_REJECT] = "reject",
        [VERDICT_UNSUPPORTED] = "unsupported",
        [VERDICT_NOTJOB] = "notjob",
    };

    return names[v];
}

/* --- Kubernetes kinds ----------------------------------------------------------------------- */

/* A version that ends in '/' stands for all of its group, a NULL kind for all kinds; the first
 * match counts. Rows without an id are jobs of others: recognised, never run. */
#define USE_MUSTER "write its roles as a muster/v1 job: see muster-v1(5)"
#define USE_PYTORCHJOB "write it as a PyTorchJob (kubeflow.org/v1) or a muster/v1 job"
static const struct kube_row {
    const char *version, *kind, *id, *hint;
} kube_rows[] = {
    {"batch.tensorstack.dev/", NULL, NULL, "MPIJob is the only supported T9k kind"},
    {"tensorstack.dev/", "AutoTuneExperiment", NULL, "write one trial as an MPIJob"},
    {"kubeflow.org/v1alpha1", "MPIJob", "kubeflow-mpi-v1alpha1", NULL},
    {"kubeflow.org/v1alpha2", "MPIJob", "kubeflow-mpi-v1alpha2", NULL},
    {"kubeflow.org/v1", "MPIJob", "kubeflow-mpi-v1", NULL},
    {"kubeflow.org/v2beta1", "MPIJob", "kubeflow-mpi-v2beta1", NULL},
    {"kubeflow.org/v1alpha1", "PyTorchJob", NULL, "use apiVersion kubeflow.org/v1"},
    {"kubeflow.org/", "PyTorchJob", "kubeflow-pytorch", NULL},
    {"kubeflow.org/v1alpha1", "TFJob", NULL, "use apiVersion kubeflow.org/v1"},
    {"kubeflow.org/", "TFJob", "kubeflow-tf", NULL},
    {"kubeflow.org/", "XGBoostJob", NULL, USE_PYTORCHJOB},
    {"kubeflow.org/", "MXJob", NULL, USE_MUSTER},
    {"kubeflow.org/", "PaddleJob", NULL, USE_MUSTER},
    {"kubeflow.org/", "JAXJob", NULL, USE_MUSTER},
    {"kubeflow.org/", "MPIJob", NULL,
     "use apiVersion kubeflow.org/v2beta1, v1, v1alpha2 or v1alpha1"},
    {"trainer.kubeflow.org/", "TrainJob", NULL, USE_PYTORCHJOB},
    {"tensorflow.org/", "TFJob", NULL, "use apiVersion kubeflow.org/v1"},
    {"frameworkcontroller.microsoft.com/", "Framework", NULL,
     "use the OpenPAI job (protocolVersion: 2) that it was generated from"},
    {"batch/", "Job", NULL, USE_MUSTER},
    {"batch/", "CronJob", NULL, USE_MUSTER},
    {"batch.volcano.sh/", "Job", NULL, USE_MUSTER},
    {"jobset.x-k8s.io/", "JobSet", NULL, USE_MUSTER},
    {"ray.io/", "RayJob", NULL, USE_MUSTER},
    {"training.kubedl.io/", "PyTorchJob", NULL, "use apiVersion kubeflow.org/v1"},
    {"training.kubedl.io/", "TFJob", NULL, "use apiVersion kubeflow.org/v1"},
    {"training.kubedl.io/", "MPIJob", NULL, "use apiVersion kubeflow.org/v1"},
    {"training.kubedl.io/", NULL, NULL, USE_MUSTER},
    {"batch.paddlepaddle.org/", NULL, NULL, USE_MUSTER},
    {"sparkoperator.k8s.io/", "SparkApplication", NULL, NULL},
    {"argoproj.io/", "Workflow", NULL, NULL},
    {"muster/", NULL, NULL, "did you mean apiVersion `muster/v1`?"},
};

static bool kube_match(const struct kube_row *row, const char *version, const char *kind)
{
    size_t n = strlen(row->version);
    bool group = row->version[n - 1] == '/';

    if (group ? strncmp(version, row->version, n) != 0 : strcmp(version, row->version) != 0)
        return false;
    return !row->kind || strcmp(kind, row->kind) == 0;
}

/* The first of a document's mappings that is a Kubernetes job by itself, or NULL: an experiment's
 * trial, a workflow's step. */
static const struct node *job_inside(const struct node *node)
{
    const struct node *found = NULL;

    for (size_t i = 0; !found && i < node->n && node->type == NODE_SEQ; i++)
        found = job_inside(node->items[i]);
    for (size_t i = 0; !found && i < node->n && node->type == NODE_MAP; i++)
        found = job_inside(node->pairs[i].value);
    if (found || !node_text(node_get(node, "apiVersion"), NULL) ||
        !node_text(node_get(node, "kind"), NULL))
        return found;
    for (size_t i = 0; dialects[i]; i++) {
        if (dialects[i]->detect(node))
            return node;
    }
    return NULL;
}

/* A version or a kind that is near one of ours, or a job inside. A version is no help for a kind
 * that no version has. */
static const char *kube_hint(struct arena *a, const struct node *root, const char *version,
                             const char *kind)
{
    static const char *const versions[] = {"batch.tensorstack.dev/v1beta1", "kubeflow.org/v1",
                                           "kubeflow.org/v2beta1", "muster/v1"};
    static const char *const kinds[] = {"MPIJob", "PyTorchJob", "TFJob"};
    const char *near = nearest_word(version, versions, ARRAY_SIZE(versions));
    const char *near_kind = kind ? nearest_word(kind, kinds, ARRAY_SIZE(kinds)) : NULL;
    const struct node *inside = job_inside(root);

    if (inside)
        return arena_printf(a, "it contains a %.80s at %u:%u; move it into a separate file",
                            node_text(node_get(inside, "kind"), NULL), inside->pos.line,
                            inside->pos.column);
    if (near && strcmp(near, version) != 0 && (!kind || near_kind))
        return arena_printf(a, "did you mean apiVersion `%s`?", near);
    return near && near_kind ? arena_printf(a, "did you mean kind `%s`?", near_kind) : NULL;
}

static struct sighting sight_kube(struct arena *a, const struct node *root, const char *version)
{
    const char *kind = node_text(node_get(root, "kind"), NULL);
    struct sighting s = {
        .verdict = VERDICT_NOTJOB,
        .at = node_get(root, kind ? "kind" : "apiVersion"),
        .words =
            arena_printf(a, "a%s %.80s %.80s", *version && strchr("aeiou", *version) ? "n" : "",
                         version, kind ? kind : "object without a kind"),
    };

    for (size_t i = 0; i < ARRAY_SIZE(kube_rows); i++) {
        if (kube_match(&kube_rows[i], version, kind ? kind : "")) {
            s.verdict = VERDICT_UNSUPPORTED;
            s.id = kube_rows[i].id;
            s.hint = kube_rows[i].hint;
            return s;
        }
    }
    s.hint = kube_hint(a, root, version, kind);
    return s;
}

/* --- the platforms' own forms --------------------------------------------------------------- */

static bool is_one_of(const char *word, const char *const *words)
{
    for (; word && *words; words++) {
        if (strcmp(word, *words) == 0)
            return true;
    }
    return false;
}

/* Azure ML's jobs that are not run: other types, and the forms of its previews. */
static struct sighting sight_azureml(struct arena *a, const struct node *root)
{
    static const char *const others[] = {"pipeline", "sweep",    "sweep_job", "automl",
                                         "spark",    "parallel", NULL};
    const char *schema = node_text(node_get(root, "$schema"), NULL),
               *type = node_text(node_get(root, "type"), NULL);
    struct sighting s = {.verdict = VERDICT_UNSUPPORTED, .at = node_get(root, "type")};
    bool azure = schema && strstr(schema, "azureml");
    bool command = azure || (type && strcmp(type, "command") == 0);

    if (schema && strstr(schema, "Component")) {
        s.words = "an Azure ML component";
        s.hint = "write its `command`, `environment` and `code` into a command job";
    } else if (command && azureml_of_component(root)) {
        s.at = node_get(root, "component");
        s.words = "an Azure ML job whose command is a component's";
        s.hint = "write `command`, `environment` and `code` of the component into the job";
    } else if (type && is_one_of(type, others)) {
        bool sweep = strncmp(type, "sweep", 5) == 0;

        s.words = arena_printf(a, "an Azure ML %s job", sweep ? "sweep" : type);
        s.hint = strcmp(type, "spark") == 0 || strcmp(type, "automl") == 0 ? NULL
                 : sweep ? "write one trial as a command job: `command`, `environment`, `code`"
                         : "write each step as a command job: `command`, `environment`, `code`";
    } else if (azure && strstr(schema, "Job") && !node_get(root, "command")) {
        s.words = "an Azure ML job of another type";
    } else if (node_get(root, "command") && azureml_is_old(root)) {
        s.words = "an Azure ML job in a form of 2021";
        s.hint = "today: `code: ./src`, `compute: azureml:NAME`, and the number of nodes in "
                 "`resources.instance_count`";
    }
    return s;
}

static struct sighting sight_platform(struct arena *a, const struct node *root)
{
    const char *type = node_text(node_get(root, "type"), NULL);
    struct sighting s = {.verdict = VERDICT_UNSUPPORTED};

    if (node_get(root, "protocol_version") && type && strcmp(type, "job") == 0) {
        s.words = "an OpenPAI marketplace job";
    } else {
        s = sight_azureml(a, root);
    }
    return s;
}

/* --- all together --------------------------------------------------------------------------- */

/* A type or schema of Azure ML's that is near one of those that are run. */
static const char *azureml_hint(struct arena *a, const struct node *root)
{
    static const char *const types[] = {"command", "MpiJob", "PytorchJob", "TensorflowJob"};
    const char *type = node_text(node_get(root, "type"), NULL),
               *schema = node_text(node_get(root, "$schema"), NULL), *near;

    if (schema && strcasestr(schema, "commandJob"))
        return "did you mean commandJob.schema.json?";
    if (!type || (!node_get(root, "command") && !node_get(root, "launcher")))
        return NULL;
    near = nearest_word(type, types, ARRAY_SIZE(types));
    for (size_t i = 0; !near && strlen(type) >= 3 && i < ARRAY_SIZE(types); i++)
        near = strcasestr(types[i], type) ? types[i] : NULL;
    return near ? arena_printf(a, "did you mean type `%s`?", near) : NULL;
}

static const char *notjob_hint(struct arena *a, const struct node *root)
{
    static const char *const keys[] = {"apiVersion", "protocolVersion", "jobName", "taskRoles"};
    static const char *const trainings[] = {"PyTorchJob", "TFJob", NULL};
    const char *kind = node_text(node_get(root, "kind"), NULL);

    for (size_t i = 0; root->type == NODE_MAP && i < root->n; i++) {
        const char *key = root->pairs[i].key->text;
        const char *near = nearest_word(key, keys, ARRAY_SIZE(keys));

        if (near && strcmp(near, key) != 0)
            return arena_printf(a, "did you mean `%s` instead of `%.40s`?", near, key);
    }
    if (azureml_hint(a, root))
        return azureml_hint(a, root);
    if (is_one_of(kind, trainings))
        return "`apiVersion` is missing: kubeflow.org/v1";
    if (kind && strcmp(kind, "MPIJob") == 0)
        return "`apiVersion` is missing: kubeflow.org/v2beta1 or batch.tensorstack.dev/v1beta1";
    if (kind)
        return NULL;
    if (node_get(root, "spec"))
        return "`apiVersion` and `kind` are missing: is this a part of a job file?";
    return NULL;
}

struct sighting dialect_sight(struct arena *a, const struct node *root)
{
    struct sighting s = {.verdict = VERDICT_NOTJOB, .at = root};
    const char *version = node_text(node_get(root, "apiVersion"), NULL);

    for (size_t i = 0; dialects[i]; i++) {
        if (dialects[i]->detect(root))
            return (struct sighting){.verdict = VERDICT_ACCEPT,
                                     .dialect = dialects[i],
                                     .id = dialects[i]->id,
                                     .at = root,
                                     .words = dialects[i]->id};
    }
    if (version)
        return sight_kube(a, root, version);
    if (root->type == NODE_MAP)
        s = sight_platform(a, root);
    if (!s.words)
        s = (struct sighting){.verdict = VERDICT_NOTJOB, .hint = notjob_hint(a, root)};
    if (!s.at)
        s.at = root;
    return s;
}
