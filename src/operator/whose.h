/* whose.h - which job a pod is of, and which replica: by the labels that its users know. Pure.
 *
 * So pods of another operator are known, too, and taken over while they run:
 *
 *     training.kubeflow.org/…     mpi-operator from 0.4, training-operator, ours
 *     mpi-job-name, mpi_job_name  mpi-operator 0.3 and before
 *     mpijob                      T9k
 */
#ifndef OPERATOR_WHOSE_H
#define OPERATOR_WHOSE_H

#include "plan/plan.h"

/* Ours have the labels of several: each pod is selected by one. */
enum whose_family { WHOSE_KUBEFLOW, WHOSE_MPI_OLD, WHOSE_MPI_OLDEST, WHOSE_T9K, WHOSE_FAMILIES };

const char *whose_selector(enum whose_family family); /* a label selector for all such pods */
/* The operator_name of its kind (kinds.h), and its job's name. */
const char *whose_kind(enum whose_family family, const struct node *pod);
const char *whose_job(enum whose_family family, const struct node *pod);
/* The replica of that job, or -1. */
int32_t whose_replica(enum whose_family family, const struct plan *plan, const struct node *pod);

#endif
