/* registry.c - which dialect a document is, by its top level. */
#include "dialect/registry.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/tap.h"
#include "doc/yaml.h"

static const struct {
    const char *text;
    enum verdict verdict;
    const char *id, *words;
} rows[] = {
    {"{apiVersion: batch.tensorstack.dev/v1beta1, kind: MPIJob}", VERDICT_ACCEPT, "t9k-mpi", NULL},
    {"{apiVersion: batch.tensorstack.dev/v2, kind: MPIJob}", VERDICT_ACCEPT, "t9k-mpi", NULL},
    {"{apiVersion: batch.tensorstack.dev/v1beta1}", VERDICT_ACCEPT, "t9k-mpi", NULL},
    {"{apiVersion: batch.tensorstack.dev/v1beta1, kind: MpiJob}", VERDICT_ACCEPT, "t9k-mpi", NULL},
    {"{apiVersion: batch.tensorstack.dev/v1beta1, kind: GenericJob}", VERDICT_UNSUPPORTED, NULL,
     "GenericJob"},
    {"{apiVersion: kubeflow.org/v1alpha1, kind: MPIJob}", VERDICT_ACCEPT, "kubeflow-mpi-v1alpha1",
     NULL},
    {"{apiVersion: kubeflow.org/v1alpha2, kind: MPIJob}", VERDICT_ACCEPT, "kubeflow-mpi-v1alpha2",
     NULL},
    {"{apiVersion: kubeflow.org/v1, kind: MPIJob}", VERDICT_ACCEPT, "kubeflow-mpi-v1", NULL},
    {"{apiVersion: kubeflow.org/v2beta1, kind: MPIJob}", VERDICT_ACCEPT, "kubeflow-mpi-v2beta1",
     NULL},
    {"{apiVersion: kubeflow.org/v3, kind: MPIJob}", VERDICT_UNSUPPORTED, NULL, "v3 MPIJob"},
    {"{apiVersion: kubeflow.org/v1, kind: PyTorchJob}", VERDICT_ACCEPT, "kubeflow-pytorch", NULL},
    {"{apiVersion: kubeflow.org/v1beta2, kind: TFJob}", VERDICT_ACCEPT, "kubeflow-tf", NULL},
    {"{apiVersion: kubeflow.org/v1alpha1, kind: TFJob}", VERDICT_UNSUPPORTED, NULL, "TFJob"},
    {"{apiVersion: kubeflow.org/v1, kind: XGBoostJob}", VERDICT_UNSUPPORTED, NULL, "XGBoostJob"},
    {"{apiVersion: kubeflow.org/v1, kind: Notebook}", VERDICT_NOTJOB, NULL, "Notebook"},
    {"{apiVersion: muster/v1}", VERDICT_ACCEPT, "muster-v1", NULL},
    {"{apiVersion: muster/v9}", VERDICT_UNSUPPORTED, NULL, "muster/v9"},
    {"{apiVersion: batch/v1, kind: Job}", VERDICT_UNSUPPORTED, NULL, "batch/v1 Job"},
    {"{apiVersion: v1, kind: Service}", VERDICT_NOTJOB, NULL, "v1 Service"},
    {"{apiVersion: v1}", VERDICT_NOTJOB, NULL, "without a kind"},
    {"{protocolVersion: 2, name: x}", VERDICT_ACCEPT, "openpai-v2", NULL},
    {"{jobName: x, taskRoles: []}", VERDICT_ACCEPT, "openpai-v1", NULL},
    {"{jobName: x, taskRoles: {}}", VERDICT_NOTJOB, NULL, NULL},
    {"{protocol_version: v2, type: job}", VERDICT_UNSUPPORTED, NULL, "marketplace"},
    {"{protocol_version: v2, type: dockerimage}", VERDICT_NOTJOB, NULL, NULL},
    {"{type: MpiJob}", VERDICT_ACCEPT, "azureml-preview", NULL},
    {"{type: pytorchjob}", VERDICT_ACCEPT, "azureml-preview", NULL},
    {"{type: TensorFlowJob, command: x, compute: y}", VERDICT_ACCEPT, "azureml-preview", NULL},
    {"{apiVersion: v1, type: MpiJob}", VERDICT_NOTJOB, NULL, NULL},
    {"{type: command}", VERDICT_ACCEPT, "azureml", NULL},
    {"{$schema: https://x/commandJob.schema.json}", VERDICT_ACCEPT, "azureml", NULL},
    {"{command: x, compute: y}", VERDICT_ACCEPT, "azureml", NULL},
    {"{command: x}", VERDICT_NOTJOB, NULL, NULL},
    {"{$schema: https://x/commandComponent.schema.json, type: command}", VERDICT_UNSUPPORTED, NULL,
     "component"},
    {"{$schema: https://azureml/commandJob.schema.json, component: ./x.yml}", VERDICT_UNSUPPORTED,
     NULL, "a component's"},
    {"{type: command, component: ./x.yml}", VERDICT_UNSUPPORTED, NULL, "a component's"},
    {"{$schema: https://azureml/commandJob.schema.json, component: ./x.yml, command: y}",
     VERDICT_ACCEPT, "azureml", NULL},
    {"{type: pipeline}", VERDICT_UNSUPPORTED, NULL, "an Azure ML pipeline job"},
    {"{apiVersion: argoproj.io/v1alpha1, kind: Workflow}", VERDICT_UNSUPPORTED, NULL,
     "an argoproj.io/v1alpha1 Workflow"},
    {"{$schema: https://azuremlschemas/sweepJob.schema.json}", VERDICT_UNSUPPORTED, NULL,
     "another type"},
    {"{command: x, code: {local_path: y}}", VERDICT_UNSUPPORTED, NULL, "2021"},
    {"{command: x, compute: {target: y}}", VERDICT_UNSUPPORTED, NULL, "2021"},
    {"{kind: MPIJob}", VERDICT_NOTJOB, NULL, NULL},
    {"{apiVersion: 5, kind: [x]}", VERDICT_NOTJOB, NULL, NULL},
    {"[a]", VERDICT_NOTJOB, NULL, NULL},
    {"text", VERDICT_NOTJOB, NULL, NULL},
};

/* What may have been meant. */
static const struct {
    const char *text, *hint;
} hints[] = {
    {"{apiVersion: kubeflow.org/v1, kind: PytorchJob}", "kind `PyTorchJob`"},
    {"{apiVersion: kubeflow.com/v1, kind: TFJob}", "apiVersion `kubeflow.org/v1`"},
    {"{apiVersion: kubeflow.org/v2, kind: MPIJob}", "v2beta1, v1, v1alpha2 or v1alpha1"},
    {"{apiVersion: muster/v2}", "apiVersion `muster/v1`"},
    {"{apiversion: kubeflow.org/v1, kind: TFJob}", "`apiVersion` instead of `apiversion`"},
    {"{protocolversion: 2, name: j}", "`protocolVersion` instead of `protocolversion`"},
    {"{kind: TFJob}", "`apiVersion` is missing"},
    {"{type: comand, command: x}", "type `command`"},
    {"{type: mpi, launcher: {}}", "type `MpiJob`"},
    {"{$schema: https://azuremlschemas/commandjob.schema.json}", "commandJob.schema.json"},
    {"{type: comand}", NULL},
    {"{apiVersion: v1, kind: Service}", NULL},
    {"{a: b}", NULL},
    {"{kind: component}", NULL},
    {"{command: x, code: {local_path: y}}", "today: `code: ./src`"},
    {"{apiVersion: kubeflow.org/v1beta1, kind: Experiment}", NULL},
    {"{apiVersion: kubeflow.org/v1beta1, kind: Experiment, spec: {trial: [1,\n"
     "  {apiVersion: kubeflow.org/v1, kind: TFJob}]}}",
     "it contains a TFJob at 2:3"},
    {"{apiVersion: x/v1, kind: Y, spec: {apiVersion: v1, kind: Pod}}", NULL},
};

static void test_hints(struct arena *a)
{
    for (size_t i = 0; i < ARRAY_SIZE(hints); i++) {
        struct sighting s;
        struct diags ds;
        struct doc doc;

        diags_init(&ds, a);
        yaml_read(a, "x", hints[i].text, strlen(hints[i].text), &ds, &doc);
        s = dialect_sight(a, doc.roots[0]);
        if (hints[i].hint)
            has(s.hint, hints[i].hint, "%s", hints[i].text);
        else
            is_str(s.hint, NULL, "%s: nothing is near", hints[i].text);
        diags_release(&ds);
    }
}

int main(void)
{
    auto_arena struct arena *a = arena_new();

    test_hints(a);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct diags ds;
        struct doc doc;
        struct sighting s;

        diags_init(&ds, a);
        yaml_read(a, "x", rows[i].text, strlen(rows[i].text), &ds, &doc);
        s = dialect_sight(a, doc.roots[0]);
        is_str(verdict_name(s.verdict), verdict_name(rows[i].verdict), "%s", rows[i].text);
        is_str(s.id, rows[i].id, "its id");
        ok(s.at && s.at->pos.line == 1, "and its place");
        if (rows[i].words)
            has(s.words, rows[i].words, "called by its name");
        diags_release(&ds);
    }
    ok(dialect_by_id("t9k-mpi") == &t9k_mpi && !dialect_by_id("t9k"), "dialects by id");
    return tap_done();
}
