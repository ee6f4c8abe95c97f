/* wants.h - the objects that a served job consists of, as the operator that its users know makes
 * them: names, labels, owner, environment, files.
 *
 * Pure: what should exist is a list of names, made without the objects; an object is made when it
 * has to be created. With 1,000 workers that matters.
 *
 *     MPI       Service NAME, ConfigMap NAME-config, Secret NAME-ssh, pods NAME-worker-I, and a
 *               batch Job NAME-launcher whose pods the Job controller makes; T9k: a pod
 *     MPI v1    and before: the same without keys for ssh; ConfigMap and Secret NAME-agent, and
 *               ServiceAccount, Role and RoleBinding NAME-launcher; v1: the launcher is a pod
 *     MPI, T9k  with records of ranks: ConfigMap and Secret NAME-agent
 *     training  a pod and a headless Service NAME-ROLE-I for every replica
 *               an elastic PyTorchJob with metrics: a HorizontalPodAutoscaler NAME
 *     all       with a gang scheduler, a PodGroup NAME; not T9k
 */
#ifndef OPERATOR_WANTS_H
#define OPERATOR_WANTS_H

#include "operator/served.h"

enum want_kind {
    WANT_SERVICE,
    WANT_CONFIG_MAP,
    WANT_SECRET,
    WANT_SERVICE_ACCOUNT,
    WANT_ROLE,
    WANT_ROLE_BINDING,
    WANT_VOLCANO_GROUP, /* scheduling.volcano.sh */
    WANT_PLUGINS_GROUP, /* scheduling.x-k8s.io */
    WANT_SCALER,        /* HorizontalPodAutoscaler */
    WANT_POD,
    WANT_JOB,
    WANT_KINDS
};

struct want {
    enum want_kind kind;
    const char *name;
    int32_t replica; /* of the plan; -1: of the job as a whole */
};

/* What an object depends on besides the job. */
struct want_state {
    struct start start;  /* of a pod; the operator knows it again by an annotation */
    const bool *running; /* by replica: its pod runs; for discover_hosts.sh. NULL: none does */
    bool suspended;      /* of a launcher's Job */
    const char *private_key, *public_key; /* of the Secret (ssh_key.h) */
    const char *agent, *agent_key;        /* of NAME-agent (agent.h) */
    bool recorded; /* of a launcher: every worker that exists has what its ranks are wrapped with */
};

/* "/api/v1/namespaces/NS/pods", "/apis/batch/v1/namespaces/NS/jobs" */
const char *want_collection(struct arena *a, enum want_kind kind, const char *namespace_);

/* Everything, in the order in which it is created: what others refer to comes first. */
size_t wants_list(struct arena *a, const struct served *s, const struct want **ret);

/* As it is posted. */
const struct node *want_object(struct arena *a, const struct served *s, const struct want *w,
                               const struct want_state *st);

/* "ATTEMPT.INSTANCE" of a pod that want_object() has made. */
#define WANT_START_ANNOTATION OWN_DOMAIN "/start"

/* "true": the pod of a worker has what ranks are wrapped with (shim/records.h). Pods of another
 * operator, or of an earlier version of this one, have not. */
#define WANT_RECORDS_ANNOTATION "muster.internal/records"

/* "true": of a launcher's Job whose pod waits, because the job is debugged. */
#define WANT_DEBUG_ANNOTATION "muster.internal/debug"

/* Selects the pods of this job: "training.kubeflow.org/job-name=pi,…" */
const char *wants_selector(struct arena *a, const struct served *s);

#endif
