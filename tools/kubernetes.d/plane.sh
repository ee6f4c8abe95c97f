# shellcheck shell=bash disable=SC2153 # NAME is tools/kubernetes'
# plane.sh - what is there once: keys, etcd, API server, controllers, CoreDNS, registry. Part of tools/kubernetes.
#
# Each is a process of this machine with its log in $RUN/log and its pid in $RUN/NAME.pid; it is ended by that
# pid, and only if that is still a process with $RUN in its command line.

lock()
{
    mkdir -p "$RUN" || exit 1
    exec 9>"$CACHE/run/$INSTANCE.lock"
    flock 9
}

is_ours() # PID
{
    case $(awk '{ print $3 }' "/proc/$1/stat" 2>/dev/null) in
    '' | Z | X) return 1 ;; # whoever is its parent now may not have looked yet
    esac
    tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null | grep -qF "$RUN"
}

runs() # NAME
{
    [ -f "$RUN/$1.pid" ] && is_ours "$(cat "$RUN/$1.pid")"
}

any_runs()
{
    local f
    for f in "$RUN"/*.pid "$RUN"/nodes/*/init.pid; do
        [ -f "$f" ] && is_ours "$(cat "$f")" && return
    done
    return 1
}

daemon() # NAME COMMAND…
{
    local name=$1
    shift
    runs "$name" && return
    mkdir -p "$RUN/log"
    setsid "$@" >>"$RUN/log/$name" 2>&1 </dev/null 9>&- &
    echo $! >"$RUN/$name.pid"
}

kill_pid() # FILE
{
    local pid tries=100
    [ -f "$1" ] || return 0
    pid=$(cat "$1")
    rm -f "$1"
    is_ours "$pid" || return 0
    kill -9 "$pid"
    # until nothing of it is left: a thread that has not ended yet keeps its ports
    while [ -d "/proc/$pid" ] && [ $((tries -= 1)) -gt 0 ]; do sleep 0.05; done
}

until_ok() # WHAT COMMAND…: two minutes
{
    local what=$1 tries=1200
    shift
    until "$@" >/dev/null 2>&1; do
        [ $((tries -= 1)) -gt 0 ] || fail "$what does not come; see $RUN/log and $RUN/nodes/*/log"
        sleep 0.1
    done
}

# forget: nothing runs any more, and nothing is left of it
forget()
{
    local f n c
    for f in "$RUN"/nodes/*/init.pid "$RUN"/*.pid; do kill_pid "$f"; done
    if [ "$INSTANCE" = cluster ] && [ "$(id -u)" -eq 0 ]; then
        for n in $NODES; do
            for c in /sys/fs/cgroup/*/"$NAME-node$n"; do
                remove_cgroup "$c"
            done
            ip link del "${NAME}v$n" 2>/dev/null
        done
        ip link del "$NAME" 2>/dev/null
        ip route del unreachable "$PODS.0.0/16" 2>/dev/null
        ip route del unreachable "$SERVICES.0.0/16" 2>/dev/null
    fi
    rm -rf --one-file-system "$RUN"
    mkdir -p "$RUN"
}

remove_cgroup() # DIR: once the last of its processes is gone
{
    local tries=100
    while [ -d "$1" ] && [ $((tries -= 1)) -gt 0 ]; do
        find "$1" -depth -type d -exec rmdir {} + 2>/dev/null && return
        sleep 0.05
    done
}

bridge()
{
    # Pods of a node that is down, and services, which only nodes know: nothing of that may leave the machine.
    if ! { ip route replace unreachable "$PODS.0.0/16" && ip route replace unreachable "$SERVICES.0.0/16"; }; then
        fail "no routes can be made"
    fi
    ip link show "$NAME" >/dev/null 2>&1 && return
    if ! { ip link add "$NAME" type bridge && ip addr add "$HOST/24" dev "$NAME" && ip link set "$NAME" up; }; then
        fail "no bridge $NAME can be made"
    fi
}

# --- keys ----------------------------------------------------------------------------------------

private() # FILE
{
    openssl ecparam -name prime256v1 -genkey -noout -out "$1"
}

certificate() # NAME SUBJECT [ALTERNATIVE,…]
{
    private "$KEYS/$1.key"
    openssl req -new -key "$KEYS/$1.key" -subj "$2" | openssl x509 -req -CA "$KEYS/ca.crt" -CAkey "$KEYS/ca.key" \
        -CAcreateserial -days 3650 -out "$KEYS/$1.crt" \
        -extfile <(printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\n' "${3:-DNS:$1}") 2>/dev/null ||
        fail "no certificate for $1"
}

# kubeconfig_for USER NAMESPACE: USER is the lines that say who one is
kubeconfig_for()
{
    cat <<YAML
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://$HOST:$API_PORT", certificate-authority-data: $(base64 -w0 "$KEYS/ca.crt")}}]
users: [{name: user, user: {$1}}]
contexts: [{name: test, context: {cluster: test, user: user, namespace: $2}}]
current-context: test
YAML
}

client() # NAME SUBJECT: its certificate and $RUN/NAME.conf
{
    certificate "$1" "$2"
    kubeconfig_for "client-certificate-data: $(base64 -w0 "$KEYS/$1.crt"), client-key-data: $(base64 -w0 "$KEYS/$1.key")" \
        default >"$RUN/$1.conf"
}

keys()
{
    [ -e "$KEYS/made" ] || (umask 077 && make_keys) || exit 1
}

make_keys()
{
    local n
    mkdir -p "$KEYS"
    private "$KEYS/ca.key"
    openssl req -x509 -new -key "$KEYS/ca.key" -out "$KEYS/ca.crt" -days 3650 -subj /CN=kubernetes-ca \
        -addext basicConstraints=critical,CA:TRUE
    private "$KEYS/accounts.key"
    openssl ec -in "$KEYS/accounts.key" -pubout -out "$KEYS/accounts.pub" 2>/dev/null
    certificate apiserver /CN=kube-apiserver "IP:127.0.0.1,IP:$SERVICES.0.1,IP:$HOST,DNS:localhost,DNS:kubernetes,\
DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local"
    client admin /O=system:masters/CN=admin
    if [ "$INSTANCE" = cluster ]; then
        certificate apiserver-kubelet /O=system:masters/CN=kube-apiserver-kubelet-client
        client controllers /CN=system:kube-controller-manager
        client scheduler /CN=system:kube-scheduler
        client proxy /CN=system:kube-proxy
        client coredns /CN=system:coredns
        for n in $NODES; do
            client "node$n" "/O=system:nodes/CN=system:node:node$n"
            certificate "node$n-server" "/CN=node$n" "DNS:node$n,IP:$NET.1$n"
        done
    fi
    touch "$KEYS/made"
}

# --- the processes -------------------------------------------------------------------------------

store()
{
    local client=http://127.0.0.1:$ETCD_PORT peer=http://127.0.0.1:$((ETCD_PORT + 1))
    daemon etcd etcd --data-dir "$RUN/etcd" --unsafe-no-fsync --listen-client-urls "$client" --advertise-client-urls "$client" \
        --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer"
}

# Everything that a user asks is in the audit log when the answer comes; what the cluster asks itself is not.
audit_policy()
{
    cat <<'YAML'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- {level: None, userGroups: [system:nodes, "system:serviceaccounts:kube-system"]}
- level: None
  users: [system:apiserver, system:kube-controller-manager, system:kube-scheduler, system:kube-proxy, system:coredns]
- {level: Metadata}
YAML
}

api_server()
{
    local more=(--endpoint-reconciler-type=none --disable-admission-plugins=ServiceAccount)
    if [ "$INSTANCE" = cluster ]; then
        # A pod leaves a lost node after 20 seconds, not after five minutes. Webhooks are called at their pods' addresses, because
        # no kube-proxy is beside the API server.
        more=(--enable-aggregator-routing=true --advertise-address="$HOST" --enable-admission-plugins=NodeRestriction
            --kubelet-client-certificate="$KEYS/apiserver-kubelet.crt" --kubelet-client-key="$KEYS/apiserver-kubelet.key"
            --kubelet-certificate-authority="$KEYS/ca.crt" --kubelet-preferred-address-types=InternalIP
            --default-not-ready-toleration-seconds=20 --default-unreachable-toleration-seconds=20)
    fi
    audit_policy >"$RUN/audit.yaml"
    # The front proxy's flags are for nobody: without them the controller manager looks for them, for 10 seconds.
    daemon apiserver kube-apiserver --etcd-servers="http://127.0.0.1:$ETCD_PORT" --bind-address="$HOST" --secure-port="$API_PORT" \
        --tls-cert-file="$KEYS/apiserver.crt" --tls-private-key-file="$KEYS/apiserver.key" --client-ca-file="$KEYS/ca.crt" \
        --service-account-key-file="$KEYS/accounts.pub" --service-account-signing-key-file="$KEYS/accounts.key" \
        --service-account-issuer=https://kubernetes.default.svc --service-cluster-ip-range="$SERVICES.0.0/16" \
        --authorization-mode=Node,RBAC --allow-privileged=true --cert-dir="$RUN" \
        --requestheader-client-ca-file="$KEYS/ca.crt" --requestheader-allowed-names=front-proxy \
        --requestheader-extra-headers-prefix=X-Remote-Extra- --requestheader-group-headers=X-Remote-Group \
        --requestheader-username-headers=X-Remote-User \
        --audit-policy-file="$RUN/audit.yaml" --audit-log-path="$RUN/audit.log" --audit-log-mode=blocking \
        --audit-log-maxsize=1000 "${more[@]}"
    until_ok "the API server" kubectl get --raw /readyz
}

plane()
{
    local who
    store
    api_server
    as() # NAME: the flags by which it is a client
    {
        printf -- '--%s=%s\n' kubeconfig "$RUN/$1.conf" authentication-kubeconfig "$RUN/$1.conf" \
            authorization-kubeconfig "$RUN/$1.conf" cert-dir "$RUN" bind-address 127.0.0.1 leader-elect false \
            kube-api-qps 200 kube-api-burst 400
    }
    mapfile -t who < <(as controllers)
    # A node is lost after 8 seconds, not 50.
    daemon controllers kube-controller-manager "${who[@]}" --service-account-private-key-file="$KEYS/accounts.key" \
        --root-ca-file="$KEYS/ca.crt" --use-service-account-credentials=true --allocate-node-cidrs=false \
        --node-monitor-period=1s --node-monitor-grace-period=8s
    mapfile -t who < <(as scheduler)
    daemon scheduler kube-scheduler "${who[@]}"
}

apiserver() # stop|start|restart
{
    [ -e "$KEYS/made" ] || fail "no cluster is up"
    lock
    case $1 in
    stop | restart) kill_pid "$RUN/apiserver.pid" ;;
    start) ;;
    *) usage ;;
    esac
    [ "$1" = stop ] || api_server
}

# CoreDNS is behind the service kube-dns, which every pod's resolver asks; names outside do not exist.
dns()
{
    cat >"$RUN/Corefile" <<CONF
.:$DNS_PORT {
    bind $HOST
    errors
    kubernetes cluster.local in-addr.arpa {
        kubeconfig $RUN/coredns.conf test
        pods insecure
        ttl 5
    }
    template ANY ANY {
        rcode NXDOMAIN
    }
}
CONF
    kubectl apply -f - >/dev/null <<YAML || fail "no service kube-dns can be made"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: system:coredns}
rules:
- {apiGroups: [""], resources: [services, pods, namespaces], verbs: [list, watch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: system:coredns}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:coredns}
subjects: [{kind: User, name: system:coredns, apiGroup: rbac.authorization.k8s.io}]
---
apiVersion: v1
kind: Service
metadata: {name: kube-dns, namespace: kube-system}
spec: {clusterIP: $SERVICES.0.10, ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: kube-dns-host, namespace: kube-system, labels: {kubernetes.io/service-name: kube-dns}}
addressType: IPv4
endpoints: [{addresses: ["$HOST"], conditions: {ready: true}}]
ports: [{name: dns, port: $DNS_PORT, protocol: UDP}, {name: dns-tcp, port: $DNS_PORT, protocol: TCP}]
YAML
    daemon coredns coredns -conf "$RUN/Corefile"
}

dns_answers()
{
    python3 - "$HOST" "$DNS_PORT" <<'PYTHON'
import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(2)
name = b''.join(bytes([len(w)]) + w for w in b'kubernetes default svc cluster local'.split())
s.sendto(struct.pack('>6H', 7, 0x100, 1, 0, 0, 0) + name + b'\0' + struct.pack('>2H', 1, 1), (sys.argv[1], int(sys.argv[2])))
flags, _, answers = struct.unpack('>3H', s.recv(512)[2:8])
sys.exit(flags & 15 or answers == 0)
PYTHON
}

serve_images()
{
    mkdir -p "$RUN/images"
    daemon registry "$PARTS/image.py" serve "$HOST" "$REGISTRY_PORT" "$RUN/images" "$(where images)/store"
}
