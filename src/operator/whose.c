/* whose.c - see whose.h. */
#include "operator/whose.h"

#include <string.h>

#include "base/num.h"
#include "operator/kinds.h"

#define KUBEFLOW "training.kubeflow.org/"
#define T9K "tensorstack.dev/"
#define NOT_NEW ",!" KUBEFLOW "job-name"

static const char *label(const struct node *pod, const char *name)
{
    return node_text(node_get(node_find(pod, "metadata", "labels", NULL), name), "");
}

/* With runLauncherAsWorker the launcher is number 0, and workers are counted from 1: the name
 * decides. Pods of a launcher's Job have names of their own. */
static int32_t kubeflow_replica(const struct plan *plan, const struct node *pod)
{
    const char *role = label(pod, KUBEFLOW "replica-type"), *number, *name;
    const struct role *r = spec_role(plan->spec, *role ? role : label(pod, KUBEFLOW "job-role"));
    uint32_t index = 0;

    number = label(pod, KUBEFLOW "replica-index");
    name = node_text(node_find(pod, "metadata", "name", NULL), "");
    if (!r || (*number && num_u32(number, &index) < 0))
        return -1;
    if (r->kind == ROLE_LAUNCHER)
        return (int32_t)plan_replica(plan, r, 0)->id;
    for (int less = 0; less < 2 && index >= (uint32_t)less; less++) {
        const struct replica *rp = index - (uint32_t)less < (uint32_t)r->replicas
                                       ? plan_replica(plan, r, (int32_t)index - less)
                                       : NULL;

        if (rp && strcmp(rp->host, name) == 0)
            return (int32_t)rp->id;
    }
    return -1;
}

static int32_t t9k_replica(const struct plan *plan, const struct node *pod)
{
    const char *host = label(pod, "mpijob-replica");

    for (uint32_t i = 0; i < plan->n_replicas; i++)
        if (strcmp(plan->replicas[i].host, host) == 0)
            return (int32_t)i;
    return -1;
}

/* Before 0.4 only the names of workers have a number. Those of v1alpha2 and before are a
 * StatefulSet's, and those of its launcher a Job's. */
static int32_t old_replica(const struct plan *plan, const struct node *pod, const char *role)
{
    const char *name = node_text(node_find(pod, "metadata", "name", NULL), "");

    if (strcmp(role, "launcher") == 0)
        return plan->launcher < 0 ? -1 : (int32_t)plan->processes[plan->launcher].replica;
    for (uint32_t i = 0; i < plan->n_replicas; i++)
        if (plan->replicas[i].role->kind != ROLE_LAUNCHER &&
            strcmp(plan->replicas[i].host, name) == 0)
            return (int32_t)i;
    return -1;
}

static const struct family {
    const char *selector;
    const char *kind_label, *kind; /* which of the kinds; no label: only one has such pods */
    const char *job;
    const char *role; /* of old ones; or NULL */
} families[WHOSE_FAMILIES] = {
    [WHOSE_KUBEFLOW] = {KUBEFLOW "job-name", KUBEFLOW "operator-name", NULL, KUBEFLOW "job-name",
                        NULL},
    [WHOSE_MPI_OLD] = {"mpi-job-name" NOT_NEW, NULL, KIND_MPI, "mpi-job-name", "mpi-job-role"},
    [WHOSE_MPI_OLDEST] = {"mpi_job_name" NOT_NEW, NULL, KIND_MPI, "mpi_job_name", "mpi_role_type"},
    [WHOSE_T9K] = {"mpijob," T9K "component=mpijob", NULL, KIND_T9K, "mpijob", NULL},
};

const char *whose_selector(enum whose_family family)
{
    return families[family].selector;
}

/* All versions of a kind have one watch, whatever their operator was called. */
const char *whose_kind(enum whose_family family, const struct node *pod)
{
    const struct family *f = &families[family];
    const char *name = f->kind_label ? label(pod, f->kind_label) : f->kind;

    return strcmp(name, KIND_MPI_V1) == 0 ? KIND_MPI : name;
}

const char *whose_job(enum whose_family family, const struct node *pod)
{
    return label(pod, families[family].job);
}

int32_t whose_replica(enum whose_family family, const struct plan *plan, const struct node *pod)
{
    if (family == WHOSE_KUBEFLOW)
        return kubeflow_replica(plan, pod);
    if (family == WHOSE_T9K)
        return t9k_replica(plan, pod);
    return old_replica(plan, pod, label(pod, families[family].role));
}
