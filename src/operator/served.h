/* served.h - a job object of a cluster as the rest of Muster knows jobs: a spec and its plan.
 *
 * Pure: the object goes in, the plan comes out. What a person would be told by `muster validate`
 * is in the diagnostics.
 */
#ifndef OPERATOR_SERVED_H
#define OPERATOR_SERVED_H

#include "base/arena.h"
#include "dialect/dialect.h"
#include "doc/tree.h"
#include "kube/own.h"
#include "operator/kinds.h"
#include "plan/plan.h"

/* What holds for all jobs of this operator. */
struct operator_options {
    const char *cluster_domain; /* "": names end with "svc" */
    const char *gang_scheduler; /* "": none */
    /* Of a PyTorchJob's workers, which wait for their master; NULL and 0: upstream's defaults. */
    const char *init_image;
    int init_tries;
    int gpus_per_node; /* of MPIJob v1alpha1, for a total of GPUs; 0: 8 */
};

struct served {
    const struct served_kind *kind;
    const struct operator_options *options;
    const char *namespace_, *name, *uid;
    const char *api_version; /* as it is read from the API server: for owner references */
    const char *written_in;  /* "v2beta1": the version of its author */
    const struct node *object;
    bool records;            /* its ranks are recorded (shim/records.h) */
    bool foreign;            /* its managedBy names somebody else: it is not touched */
    const struct plan *plan; /* NULL: it is not valid, or not ours */
    const char *invalid;     /* every error of an invalid job, one line each; or NULL */
    const char *warned;      /* its warnings, likewise; or NULL */
};

/* "true": the job is suspended. For the versions whose spec has no field for it. */
#define SERVED_SUSPEND OWN_DOMAIN "/suspend"

/* "true", or names of roles with commas between them: the job is debugged. Its pods, or those of
 * these roles, wait instead of running their commands, until the annotation is removed; workers of
 * an MPI job keep theirs, by which they are reached. For kinds whose spec has no field for it. */
#define SERVED_DEBUG "muster.internal/debug"

/* "false": its pods hold nothing of ours, and how ranks end is not known. */
#define SERVED_RECORDS "muster.internal/rank-records"

/* served_records.c: may they be, and does the object not forbid it? */
bool served_can_record(const struct served *s, const struct job_spec *spec);

/* The version that the object was written in: of the manager in metadata.managedFields that has set
 * the spec, else of kubectl's last-applied annotation, else the object's own. "v2beta1" */
const char *written_in(struct arena *a, const struct node *object);

/* Reads and plans it. The object, as json_read() made it, must outlive the result; all else is in
 * the arena. recorded_version: what written_in() said when the object was first seen; NULL: it is
 * asked now. An object that is not a valid job gives 0 and `invalid`. */
int served_read(struct arena *a, const struct served_kind *kind,
                const struct operator_options *options, const struct node *object,
                const char *recorded_version, struct served *ret, struct err *e);

#endif
