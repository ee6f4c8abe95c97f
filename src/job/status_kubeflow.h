/* status_kubeflow.h - what the two halves of Kubeflow's status share: the story and the counts. */
#ifndef JOB_STATUS_KUBEFLOW_H
#define JOB_STATUS_KUBEFLOW_H

#include "base/arena.h"
#include "job/conditions.h"
#include "job/job.h"

/* One kind in one version, by how its operator talks. In a message: %n the job's name, %p
 * namespace/name, %r the role, %c how many of it. */
struct kubeflow_kind {
    enum platform_kind platform;
    const char *name;
    const char *decides; /* the role whose replicas the job's state follows */
    const char *created, *running, *restarting, *succeeded, *failed; /* restarting: or NULL */
};

struct kubeflow_story {
    const struct job *job;
    const struct kubeflow_kind *kind;
    struct arena *a;
    struct conditions cs;
};

/* Everything that has happened to the job, as conditions. */
void kubeflow_tell(struct arena *a, const struct job *job, struct kubeflow_story *ret);

/* As the operator sees it: a launcher that ends with 0 has succeeded. */
bool kubeflow_succeeded(const struct kubeflow_story *t);

/* When the operator would have known of the end: before those that are then stopped have ended. */
ns_t kubeflow_completed(const struct kubeflow_story *t);

/* Worker, PS: as the operators' own types are spelled. */
const char *kubeflow_role(struct arena *a, const char *role);

#endif
