/* objects.h - what a run consists of in a cluster, as a pure function of its plan.
 *
 *   anchor       a batch Job without pods that owns everything else: deleting it deletes the run,
 *                and a deadline that is not moved on does so by itself
 *   config map   muster-shim, which every pod mounts
 *   service      headless: names of replicas resolve
 *   config maps  and secrets that come with the job (given.h)
 *   pods         one for each replica and attempt; a lost one is replaced by the next generation
 *
 * A pod is the role's own template with what the model says differently, and with muster-shim as
 * the first process of its container.
 */
#ifndef ENGINE_KUBERNETES_OBJECTS_H
#define ENGINE_KUBERNETES_OBJECTS_H

#include "kube/own.h"
#include "plan/plan.h"

#define KUBE_LABELS OWN_DOMAIN "/" /* run, job, role, index, attempt */
#define POD_SHIM_DIR "/muster/bin"
#define POD_RUN_DIR "/muster/run"
#define POD_CODE "code" /* below the run directory; inputs of Azure ML beside it */
#define POD_INPUTS "inputs"
#define POD_CODE_DIR POD_RUN_DIR "/" POD_CODE
#define POD_SCRATCH_DIR POD_RUN_DIR "/scratch"
#define POD_SHIM POD_SHIM_DIR "/muster-shim"
#define KUBE_LAUNCHES "launches" /* in the run directory: launches.h */
#define KUBE_ANCHOR_S 60         /* the run ends this long after its client was last heard of */

struct kube_owner {
    const char *api_version, *kind, *name, *uid;
};

struct kube_run {
    const struct plan *plan;
    const char *name;               /* of anchor, service and config map */
    const char *uid;                /* of the anchor; NULL: not created yet, nothing has an owner */
    const struct kube_owner *owner; /* an object that is there of its own instead; or NULL */
};

/* "muster-RUN_ID" */
const char *kube_run_name(struct arena *a, const char *run_id);
/* What all objects of a MusterJob begin with: "NAME-UID", shortened. A name alone may come again
 * while pods of the job that had it are still there. */
const char *kube_owned_run(struct arena *a, const char *name, const char *uid);
/* "muster-RUN_ID-worker-0", "…-a2" of the second attempt, "…-g2" of the second generation */
const char *kube_pod_name(struct arena *a, const struct kube_run *run, const struct replica *rp,
                          uint32_t attempt, uint32_t generation);
/* Which generation a pod is by its name, if `first` is the name of the first one; 0: it is another
 * replica's or attempt's. */
uint32_t kube_pod_generation(const char *name, const char *first);
/* The container that runs the role's command. */
const char *kube_container_name(const struct node *pod);
/* "muster.internal/run=ID", for queries. */
const char *kube_selector(struct arena *a, const struct kube_run *run);

/* An object of the run: metadata with labels, and the anchor as its owner. */
struct node *kube_run_object(struct arena *a, const struct kube_run *run, const char *api,
                             const char *kind, const char *name);

/* Texts of the plan are not copied: it must outlive the objects. */
const struct node *kube_anchor(struct arena *a, const struct kube_run *run);
const struct node *kube_shim_map(struct arena *a, const struct kube_run *run, const void *shim,
                                 size_t n);
const struct node *kube_service(struct arena *a, const struct kube_run *run);
/* NULL: its pods are scheduled one by one. */
const struct node *kube_pod_group(struct arena *a, const struct kube_run *run);
const struct node *kube_pod(struct arena *a, const struct kube_run *run, const struct replica *rp,
                            uint32_t attempt, uint32_t generation);

/* Variables of a process that its pod does not have: the pod has those of the replica's first one
 * that are not too long. "NAME=VALUE", NULL-terminated. */
const char *const *kube_process_env(struct arena *a, const struct plan *plan, uint32_t process,
                                    struct start start);

#endif
