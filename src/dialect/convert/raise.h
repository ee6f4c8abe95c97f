/* raise.h - from the job model back to a document of some dialect: what `muster convert` writes.
 *
 * A dialect that can be written has a raise_fn (the table is in convert.c). It makes a whole
 * document from the model, and, where the source was a Kubernetes object, from the residual pod
 * templates, labels and annotations. It does not look for what gets lost: convert.c lowers the
 * result and compares. It only says which role became which, and what a comparison cannot see.
 */
#ifndef DIALECT_CONVERT_RAISE_H
#define DIALECT_CONVERT_RAISE_H

#include "doc/make.h"
#include "kube/write.h"
#include "spec/diff.h"
#include "spec/spec.h"

struct loss {
    const char *path; /* of the model (roles.worker.env.X) or of the source (.spec.mainContainer) */
    const char *text; /* what happens to it, and why if it is not plain */
};

struct losses { /* in the arena */
    struct arena *a;
    struct loss *v;
    size_t n, cap;
    struct role_pair *roles; /* what became of the source's roles; none: all have their names */
    size_t n_roles;
    const char *code, *refusal, *hint; /* set if the job cannot be said in the dialect at all */
};

/* Adds a line; of several with one path the first stays. */
void loss_add(struct losses *ls, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Says that the job has no meaning in the dialect. Returns NULL, for `return loss_refuse(…)`. */
const struct node *loss_refuse(struct losses *ls, const char *code, const char *hint,
                               const char *fmt, ...) __attribute__((format(printf, 4, 5)));

void loss_pair(struct losses *ls, const char *from, const char *to);

/* The whole document that says the job, or NULL after loss_refuse(). */
typedef const struct node *raise_fn(struct arena *a, const struct job_spec *spec,
                                    struct losses *losses);
raise_fn raise_t9k, raise_muster, raise_mpijob, raise_pytorchjob, raise_tfjob;

/* raise_torchrun.c: the job with torchrun in front of its commands, if replicas have several
 * processes; else the job. For a target that starts one process in each. */
const struct job_spec *raise_with_torchrun(struct arena *a, const struct job_spec *spec);

struct raising {
    struct arena *a;
    const struct job_spec *spec;
    struct losses *losses;
};

/* --- Kubernetes objects (raise.c, raise_kubeflow.c) ----------------------------------------- */

/* Objects and pod templates of the job; what they cannot hold is added to its losses. */
struct kube_writing raise_kube(struct raising *r);
struct node *raise_object(struct raising *r, const char *api_version, const char *kind);
struct node *raise_template(struct raising *r, const struct role *role, const struct pod_wish *w);

/* Kubeflow's runPolicy, NULL if there is nothing to say. */
struct node *raise_run_policy(struct raising *r);

/* Where an MPIJob's keys are mounted, of the source; a copy, or NULL. Both kinds of MPIJob have it.
 */
const struct node *raise_ssh_mount(struct raising *r);

/* Kubeflow's restartPolicy, or NULL for the kind's default. */
const struct node *raise_restart(struct raising *r, const struct role *role,
                                 enum restart_policy preset);

/* Kubeflow's {replicas, restartPolicy, template}. */
struct node *raise_replica(struct raising *r, const struct role *role, int32_t replicas,
                           enum restart_policy preset, const struct pod_wish *w);

#endif
