/* kinds.c - see kinds.h. */
#include "operator/kinds.h"

#include "base/cleanup.h"
#include "kube/own.h"

const struct served_kind served_kinds[] = {
    {"kubeflow.org", "mpijobs", "MPIJob", FAMILY_MPI, KIND_MPI, "mpi-job-controller"},
    {"kubeflow.org", "pytorchjobs", "PyTorchJob", FAMILY_TRAINING, "pytorchjob-controller",
     "pytorchjob-controller"},
    {"kubeflow.org", "tfjobs", "TFJob", FAMILY_TRAINING, "tfjob-controller", "tfjob-controller"},
    {"batch.tensorstack.dev", "mpijobs", "MPIJob", FAMILY_MPI, KIND_T9K, "mpi-job-controller"},
    {OWN_DOMAIN, OWN_PLURAL, OWN_KIND, FAMILY_OWN, "musterjob-controller", "muster-operator"},
};
const unsigned n_served_kinds = ARRAY_SIZE(served_kinds);
