/* kinds.h - the kinds of job that the operator serves.
 *
 * One row for each CRD, not for each version: without a conversion strategy the API server shows
 * an object in any version that is asked for and changes nothing but its apiVersion. Which one it
 * was written in is told by its managed fields (written.c).
 */
#ifndef OPERATOR_KINDS_H
#define OPERATOR_KINDS_H

#include <stdbool.h>

enum kind_family {
    FAMILY_MPI,      /* a launcher, workers, ssh between them */
    FAMILY_TRAINING, /* a pod and a service for every replica */
    FAMILY_OWN,      /* the shim in every pod: own.h */
};

struct served_kind {
    const char *group, *plural, *kind; /* "kubeflow.org", "mpijobs", "MPIJob" */
    enum kind_family family;
    const char *operator_name; /* in labels: "mpi-operator", "pytorchjob-controller" */
    const char *source;        /* of events: "mpi-job-controller" */
};

#define KIND_MPI "mpi-operator"         /* the operator_name of Kubeflow's MPIJob */
#define KIND_MPI_V1 "mpijob-controller" /* in labels of its v1, which had an operator of its own */
#define KIND_T9K "mpijob.tensorstack.dev" /* its operator_name, which is in no label */

extern const struct served_kind served_kinds[];
extern const unsigned n_served_kinds;

#endif
