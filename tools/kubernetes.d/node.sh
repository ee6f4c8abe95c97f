# shellcheck shell=bash
# node.sh - the three nodes. Part of tools/kubernetes.
#
# A node is the namespaces (mount, uts, net, ipc, pid) of one process, $RUN/nodes/N/init, with a containerd, a
# kubelet and a kube-proxy; its files are in the same directory. When that process is killed, so is all there. The
# kubelet and containerd have fixed places in /var and /run, so these are mounted over. A node reaches this
# machine's bridge address and the other nodes, nothing else.

node() # crash|start|cut|heal N
{
    local dir=$RUN/nodes/$2
    [ -d "$dir" ] || fail "no node $2 is up"
    case $1 in
    start) lock && node_start "$2" ;;
    crash) kill_pid "$dir/init.pid" ;;
    cut) ip link set "${NAME}v$2" down ;;
    heal) ip link set "${NAME}v$2" up && node_route "$2" ;;
    *) usage ;;
    esac
}

node_is() # Ready N
{
    [ "$(kubectl get node "node$2" -o jsonpath="{.status.conditions[?(@.type==\"$1\")].status}")" = True ]
}

node_runs() # N PROGRAM
{
    local init pid children
    init=$(cat "$RUN/nodes/$1/init.pid") && children=$(cat "/proc/$init/task/$init/children") || return
    for pid in $children; do
        [ "$(cat "/proc/$pid/comm")" != "$2" ] || return 0
    done
    return 1
}

node_route() # N: when the link was down, its routes are gone
{
    ip route replace "$PODS.$1.0/24" via "$NET.1$1" dev "$NAME"
}

# Controllers of version 1; the kubelet wants its root in each before it starts.
controllers()
{
    local c
    for c in /sys/fs/cgroup/*/; do
        [ -e "$c/cgroup.controllers" ] || echo "${c%/}"
    done
}

all_pids()
{
    local f c
    for f in "$RUN"/*.pid; do [ ! -f "$f" ] || cat "$f"; done
    [ "$INSTANCE" = cluster ] || return 0
    for c in /sys/fs/cgroup/pids/"$NAME"-node*; do
        [ ! -d "$c" ] || find "$c" -name cgroup.procs -exec cat {} +
    done
}

node_files() # N DIR
{
    local ip=$NET.1$1 dir=$2 template
    mkdir -p "$dir"/{kubelet,containerd,pods,containers,cni,cnilib,log,etc/certs.d/_default}
    cat >"$dir/cni/10-bridge.conflist" <<JSON
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
 {"type": "bridge", "bridge": "cni0", "isGateway": true, "isDefaultGateway": true, "hairpinMode": true, "ipMasq": false,
  "ipam": {"type": "host-local", "ranges": [[{"subnet": "$PODS.$1.0/24"}]]}},
 {"type": "portmap", "capabilities": {"portMappings": true}}]}
JSON
    # The registry here stands for all: what it has not got does not exist.
    cat >"$dir/etc/certs.d/_default/hosts.toml" <<TOML
server = "http://$HOST:$REGISTRY_PORT"
[host."http://$HOST:$REGISTRY_PORT"]
  capabilities = ["pull", "resolve"]
TOML
    # restrict_oom_score_adj: where root may not lower it, no container would start
    cat >"$dir/etc/containerd.toml" <<TOML
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "local.test/pause:1"
  netns_mounts_under_state_dir = true
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "$dir/etc/certs.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
      BinaryName = "$(command -v runc)"
TOML
    echo "nameserver $SERVICES.0.10" >"$dir/etc/resolv.conf"
    cat >"$dir/etc/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $ip
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $KEYS/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $KEYS/node$1-server.crt
tlsPrivateKeyFile: $KEYS/node$1-server.key
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /$NAME-node$1
failCgroupV1: false
clusterDNS: [$SERVICES.0.10]
clusterDomain: cluster.local
resolvConf: $dir/etc/resolv.conf
evictionHard: {memory.available: "50Mi", nodefs.available: "1%", imagefs.available: "1%"}
imageGCHighThresholdPercent: 100
serializeImagePulls: false
nodeStatusUpdateFrequency: 2s
nodeStatusReportFrequency: 30s
nodeLeaseDurationSeconds: 4
YAML
    # What containerd had unpacked: its records are copied, its blobs linked, its snapshots mounted (below).
    template=$(where images)/containerd
    if [ ! -e "$dir/containerd/copied" ]; then
        tar -C "$template" --exclude='./*/snapshots/*' --exclude='./*/blobs/*' -cf - . | tar -C "$dir/containerd" -xf -
        cp -al "$template"/io.containerd.content.v1.content/blobs/. "$dir/containerd/io.containerd.content.v1.content/blobs/"
        touch "$dir/containerd/copied"
    fi
    cat >"$dir/init" <<SH
# node $1's first process
set -e
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
bind() { mkdir -p "\$2" && mount --bind "\$1" "\$2"; }
bind $dir/kubelet /var/lib/kubelet
bind $dir/containerd /var/lib/containerd
bind $dir/pods /var/log/pods
bind $dir/containers /var/log/containers
bind $dir/cnilib /var/lib/cni
bind $dir/cni /etc/cni/net.d
cd $template/io.containerd.snapshotter.v1.overlayfs/snapshots
for s in *; do bind "\$s" "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/\$s"; done
cd /
mount --make-rshared /
hostname node$1
ip link set lo up
while ! ip link show eth0 >/dev/null 2>&1; do sleep 0.05; done
ip addr add $ip/24 dev eth0
ip link set eth0 up
ip route add $SERVICES.0.0/16 via $HOST
ip route add unreachable default
for n in $NODES; do [ \$n = $1 ] || ip route add $PODS.\$n.0/24 via $NET.1\$n; done
echo 1 >/proc/sys/net/ipv4/ip_forward
for c in $(controllers | tr '\n' ' '); do echo 0 >\$c/$NAME-node$1/sys/cgroup.procs; done
containerd -c $dir/etc/containerd.toml >>$dir/log/containerd 2>&1 &
while ! ctr version >/dev/null 2>&1; do sleep 0.1; done
# it would ask a cloud's metadata service for credentials
export AWS_EC2_METADATA_DISABLED=true
kubelet --config=$dir/etc/kubelet.yaml --kubeconfig=$RUN/node$1.conf --hostname-override=node$1 --node-ip=$ip \
    >>$dir/log/kubelet 2>&1 &
kube-proxy --kubeconfig=$RUN/proxy.conf --hostname-override=node$1 --proxy-mode=iptables --cluster-cidr=$PODS.0.0/16 \
    --conntrack-max-per-core=0 --conntrack-tcp-timeout-established=0 --conntrack-tcp-timeout-close-wait=0 \
    --healthz-bind-address=127.0.0.1 >>$dir/log/kube-proxy 2>&1 &
wait
SH
}

node_start() # N
{
    local dir=$RUN/nodes/$1 c f d outer init='' tries=200 link=${NAME}v$1
    if [ -f "$dir/init.pid" ] && is_ours "$(cat "$dir/init.pid")"; then return; fi
    node_files "$1" "$dir"
    for c in $(controllers); do mkdir -p "$c/$NAME-node$1/sys" || fail "no cgroup can be made in $c"; done
    for d in "$NAME-node$1" "$NAME-node$1/sys"; do
        for f in cpuset.cpus cpuset.mems; do cat "/sys/fs/cgroup/cpuset/$f" >"/sys/fs/cgroup/cpuset/$d/$f"; done
    done
    setsid unshare --mount --uts --net --ipc --pid --fork --kill-child bash "$dir/init" >>"$dir/log/init" 2>&1 </dev/null 9>&- &
    outer=$!
    # a link can be put there once the process has a network namespace of its own
    until [ -n "$init" ] && [ "$(readlink "/proc/$init/ns/net")" != "$(readlink /proc/$$/ns/net)" ]; do
        [ $((tries -= 1)) -gt 0 ] || fail "node$1 does not start; see $dir/log/init"
        init=$(tr -d ' ' <"/proc/$outer/task/$outer/children" 2>/dev/null)
        sleep 0.05
    done
    echo "$init" >"$dir/init.pid"
    ip link del "$link" 2>/dev/null
    if ! { ip link add "$link" type veth peer name eth0 netns "$init" && ip link set "$link" master "$NAME" up && node_route "$1"; }; then
        fail "node$1 gets no link"
    fi
}
