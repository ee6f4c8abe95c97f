# shellcheck shell=sh disable=SC2034 # its variables are for the scripts
# lib.sh - what the scripts share that need a real Kubernetes; first of all, t/lib.sh.
#
#   need_cluster            ends the script with a SKIP unless tools/kubernetes has been built; else starts the
#                           cluster if it is not up, and sets $KUBECONFIG and PATH for it
#   need_api                the same for etcd and API server alone
#   $KUBE                   tools/kubernetes with what of it was asked for: $KUBE check
#   $NS                     a namespace of this script's own (default: t-PID), deleted at its end
#   kube ARG…               kubectl in that namespace, at most a minute
#   phase POD WANT          is that its phase? For wait_until
#   ended POD               has it ended, well or not? For wait_until
#   field POD JSONPATH      of the pod
#   tester ROLE-FILE        prints a KUBECONFIG with the rights of that Role in $NS; its name is $TESTER
#   refused                 what the API server refused to $TESTER with 403, from its audit log
#
# about: t/kubernetes t/lib.sh tools/kubernetes src/engine/kubernetes src/shim src/kube
top=$(cd "${0%/*}/../.." && pwd)
# before t/lib.sh gives the script another home
MUSTER_KUBERNETES=${MUSTER_KUBERNETES:-${XDG_CACHE_HOME:-$HOME/.cache}/muster/kubernetes}
export MUSTER_KUBERNETES
MUSTER=${MUSTER:-$top/build/muster}
MUSTER_FAULTY=${MUSTER_FAULTY:-$top/build/test/muster}
MUSTER_TEST_PROGRAMS=${MUSTER_TEST_PROGRAMS:-$top/build/test}
. "$top/t/lib.sh"
TOP=$top NS=t-$$ TESTER=system:serviceaccount:$NS:tester LIMIT=180
cd "$WORK" || exit 1

need_cluster()
{
    begin_with tools/kubernetes
}

need_api()
{
    begin_with tools/kubernetes --api-only kubernetes etcd
}

begin_with() # PROGRAM [--api-only PART…]
{
    KUBE=$TOP/$1
    option=${2:-}
    shift $(($# > 1 ? 2 : 1))
    missing=$("$KUBE" --cached "$@") || skip_all "$(printf '%s\n' "$missing" | sed -n 's/^SKIP //p' | head -n 1)"
    # shellcheck disable=SC2086 # an option, or none
    "$KUBE" up $option >"$WORK/up" 2>&1 </dev/null || {
        echo "Bail out! no cluster: $(tail -n 1 "$WORK/up")"
        exit 1
    }
    # shellcheck disable=SC2086
    eval "$("$KUBE" env $option)"
    kubectl create namespace "$NS" >/dev/null || exit 1
    ADMIN=$KUBECONFIG # a script may go on with fewer rights
    trap 'kubectl --kubeconfig "$ADMIN" delete namespace "$NS" --wait=false >/dev/null 2>&1; rm -rf "$WORK" "$USER_DIR"' EXIT
    # pods are refused before it is there
    [ -n "$option" ] || wait_until 60 kube get serviceaccount default
}

kube()
{
    timeout -k 5 60 kubectl -n "$NS" "$@"
}

field()
{
    kube get pod "$1" -o "jsonpath=$2"
}

phase()
{
    [ "$(field "$1" '{.status.phase}')" = "$2" ]
}

ended()
{
    field "$1" '{.status.phase}' | grep -qE '^(Succeeded|Failed)$'
}

tester()
{
    # shellcheck disable=SC2086
    "$KUBE" kubeconfig $option "$NS" "$1"
}

refused()
{
    # shellcheck disable=SC2086
    "$KUBE" audit $option "$TESTER" | grep '^403'
}
