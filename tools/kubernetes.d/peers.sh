# shellcheck shell=bash
# peers.sh - operators of others whose objects are compared with ours (t/kubernetes/parity.t). Part of tools/kubernetes.
#
# In a file of its own: what build.sh makes is made anew whenever that changes.

TRAINING_OPERATOR=v1.9.4

make_training_operator()
{
    local crds
    main_module github.com/kubeflow/training-operator "$TRAINING_OPERATOR"
    go get "github.com/kubeflow/training-operator/cmd/training-operator.v1@$TRAINING_OPERATOR"
    compile "$1/training-operator" github.com/kubeflow/training-operator/cmd/training-operator.v1
    crds=$(go list -m -f '{{.Dir}}' github.com/kubeflow/training-operator)/manifests/base/crds
    cp "$crds"/kubeflow.org_*.yaml "$1"
}
