# shellcheck shell=bash
# build.sh - the programs of the cluster, compiled from their published Go modules. Part of tools/kubernetes.
#
# A module's "replace" and "godebug" lines are honoured in the main module only, and Kubernetes does not build
# without them: so each program is built from a main module made here, which takes them over. Versions are exact:
# 1.34.11 and .12 are not in the checksum database.

KUBERNETES=v1.34.10
ETCD=v3.6.16
COREDNS=v1.15.0
KWOK=v0.8.0
MPI_OPERATOR=v0.8.2

# main_module MODULE VERSION: goes into a directory of its own that has such a go.mod
main_module()
{
    local mod
    command -v go >/dev/null || { echo "no go here: Go 1.24 or later has to be on PATH" && return 1; }
    export GOPATH=$CACHE/gopath GOCACHE=$CACHE/gocache GOFLAGS="-mod=mod -buildvcs=false -modcacherw" GOTOOLCHAIN=local \
        CGO_ENABLED=0 GO111MODULE=on GOWORK=off
    rm -rf "$CACHE/work/${1##*/}"
    mkdir -p "$CACHE/work/${1##*/}"
    cd "$CACHE/work/${1##*/}" || return
    mod=$(go mod download -json "$1@$2" | sed -n 's/.*"GoMod": "\(.*\)",*/\1/p')
    {
        printf 'module muster.test/build\n\n'
        grep -E '^go [0-9]' "$mod"
        echo "require $1 $2"
        sed -n '/^godebug (/,/^)/p; /^godebug [a-z]/p' "$mod"
    } >go.mod
    if [ "$1" = k8s.io/kubernetes ]; then
        # what is a directory of its source tree is a module of the same number when published
        awk '$1 ~ /^k8s\.io\// && ($2 == "v0.0.0" || $3 ~ /^\.\/staging/) { print $1 }' "$mod" | sort -u |
            sed "s#.*#-replace=&=&@v0.${2#v1.}#" | xargs -r go mod edit
    else
        go mod edit -json "$mod" | python3 -c '
import json, sys
for r in json.load(sys.stdin).get("Replace") or []:
    old, new = ("@".join(filter(None, (r[k]["Path"], r[k].get("Version")))) for k in ("Old", "New"))
    if "@" in new:
        print(f"-replace={old}={new}")' | xargs -r go mod edit
    fi
}

compile() # OUTPUT PACKAGE…
{
    local to=$1
    shift
    nice -n 5 go build -trimpath -ldflags "-s -w ${LINK:-}" -o "$to" "$@"
}

make_kubernetes()
{
    local p packages=() LINK=
    main_module k8s.io/kubernetes "$KUBERNETES"
    for p in kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl; do
        packages+=("k8s.io/kubernetes/cmd/$p")
    done
    for p in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
        LINK="$LINK -X $p.gitVersion=$KUBERNETES -X $p.gitMajor=1 -X $p.gitMinor=34 -X $p.gitTreeState=clean"
        LINK="$LINK -X $p.gitCommit=goproxy -X $p.buildDate=1970-01-01T00:00:00Z"
    done
    go get "${packages[@]/%/@$KUBERNETES}" # without a version it would move to the newest
    compile "$1/" "${packages[@]}"
}

make_etcd()
{
    main_module go.etcd.io/etcd/server/v3 "$ETCD"
    go get "go.etcd.io/etcd/server/v3@$ETCD"
    compile "$1/etcd" go.etcd.io/etcd/server/v3
}

make_coredns()
{
    main_module github.com/coredns/coredns "$COREDNS"
    cp "$PARTS/coredns.go" main.go
    go get "github.com/coredns/coredns/coremain@$COREDNS"
    compile "$1/coredns" .
}

make_kwok()
{
    main_module sigs.k8s.io/kwok "$KWOK"
    go get "sigs.k8s.io/kwok/cmd/kwok@$KWOK"
    compile "$1/kwok" sigs.k8s.io/kwok/cmd/kwok
}

make_mpi_operator()
{
    main_module github.com/kubeflow/mpi-operator "$MPI_OPERATOR"
    go get "github.com/kubeflow/mpi-operator/cmd/mpi-operator@$MPI_OPERATOR"
    compile "$1/mpi-operator" github.com/kubeflow/mpi-operator/cmd/mpi-operator
    cp "$(go list -m -f '{{.Dir}}' github.com/kubeflow/mpi-operator)"/manifests/base/kubeflow.org_mpijobs.yaml "$1"
}
