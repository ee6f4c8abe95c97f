/* metrics.c - counters under upstream's names. */
#include "operator/metrics.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/tap.h"

static const struct served_kind *kind(const char *group, const char *name)
{
    for (unsigned i = 0; i < n_served_kinds; i++)
        if (!strcmp(served_kinds[i].group, group) && !strcmp(served_kinds[i].kind, name))
            return &served_kinds[i];
    return NULL;
}

static void upstream(void)
{
    const struct served_kind *mpi = kind("kubeflow.org", "MPIJob");
    const struct served_kind *torch = kind("kubeflow.org", "PyTorchJob");
    const struct served_kind *t9k = kind("batch.tensorstack.dev", "MPIJob");
    struct metrics m = {0};
    auto_strbuf struct strbuf out = STRBUF_INIT;
    struct metrics_launcher launcher = {"pi-launcher", "a"};

    metrics_condition(&m, mpi, "a", "v2beta1", "Created", false);
    metrics_condition(&m, mpi, "a", "v1", "Created", false);
    metrics_condition(&m, mpi, "b", "v2beta1", "Succeeded", false);
    metrics_condition(&m, mpi, "b", "v2beta1", "Running", false);
    metrics_condition(&m, torch, "a", "v1", "Created", false);
    metrics_condition(&m, torch, "a", "v1", "Restarting", false);
    metrics_condition(&m, torch, "a", "v1", "Failed", true);
    metrics_count(&m, torch, "a", "v1", TALLY_DELETED);
    metrics_condition(&m, t9k, "c", "v1beta1", "Initialized", false);
    metrics_condition(&m, t9k, "c", "v1beta1", "Completed", true);
    metrics_condition(&m, t9k, "c", "v1beta1", "Failed", true);
    metrics_write(&m,
                  &(struct metrics_now){.leader = true,
                                        .launchers = &launcher,
                                        .n_launchers = 1,
                                        .requests = {.answered = 10, .refused = 2, .failed = 1},
                                        .memory_bytes = 5},
                  &out);
    has(out.buf,
        "# TYPE mpi_operator_jobs_created_total counter\n"
        "mpi_operator_jobs_created_total 2\n",
        "mpi-operator: jobs of all namespaces and versions");
    has(out.buf, "\nmpi_operator_jobs_successful_total 1\n", "succeeded");
    has(out.buf, "\nmpi_operator_jobs_failed_total 0\n", "none has failed");
    has(out.buf, "\nmpi_operator_job_info{launcher=\"pi-launcher\",namespace=\"a\"} 1\n", "info");
    has(out.buf, "\nmpi_operator_is_leader 1\n", "leader");
    has(out.buf,
        "\ntraining_operator_jobs_created_total{framework=\"mpi\",job_namespace=\"a\"} 1\n"
        "training_operator_jobs_created_total{framework=\"pytorch\",job_namespace=\"a\"} 1\n#",
        "training-operator: by framework and namespace, MPIJobs of v1 among them");
    has(out.buf,
        "\ntraining_operator_jobs_failed_total{framework=\"pytorch\",job_namespace=\"a\"} 1\n",
        "failed");
    has(out.buf,
        "\ntraining_operator_jobs_restarted_total{framework=\"pytorch\",job_namespace=\"a\"} 1\n",
        "restarted");
    has(out.buf,
        "\ntraining_operator_jobs_deleted_total{framework=\"pytorch\",job_namespace=\"a\"} 1\n",
        "deleted");
    has(out.buf,
        "\nmuster_operator_jobs_failed_total{kind=\"mpijobs.batch.tensorstack.dev\",job_namespace="
        "\"c\"} 1\n",
        "T9k's are ours only");
    ok(!strstr(out.buf, "successful_total{kind=\"mpijobs.batch"), "Completed, but Failed");
    has(out.buf, "\nmuster_operator_requests_total{result=\"ok\"} 7\n", "requests");
    has(out.buf, "\nprocess_resident_memory_bytes 5\n", "memory");
    metrics_release(&m);
}

static void limits(void)
{
    struct metrics m = {0};
    auto_strbuf struct strbuf out = STRBUF_INIT;
    char name[32];

    for (int i = 0; i < LIMIT_METRIC_SERIES + 100; i++) {
        (void)snprintf(name, sizeof(name), "ns-%d", i);
        metrics_count(&m, &served_kinds[1], name, "v1", TALLY_CREATED);
    }
    ok(m.n <= LIMIT_METRIC_SERIES + n_served_kinds, "namespaces are limited");
    metrics_write(&m, &(struct metrics_now){0}, &out);
    has(out.buf, "job_namespace=\"\"} 100\n", "the rest is counted together");
    metrics_release(&m);
    metrics_count(&m, &served_kinds[1], "a\"\\\n", "v1", TALLY_CREATED);
    strbuf_truncate(&out, 0);
    metrics_write(&m, &(struct metrics_now){0}, &out);
    has(out.buf, "job_namespace=\"a\\\"\\\\\\n\"} 1\n", "labels are escaped");
    metrics_release(&m);
}

int main(void)
{
    upstream();
    limits();
    return tap_done();
}
