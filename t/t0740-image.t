#!/bin/sh
# tools/image: an OCI image of the operator with nothing missing, nothing else, and the same bytes every time.
. "${0%/*}/lib.sh"

[ -z "${MUSTER_SAN:-}" ] || skip_all "an image of a sanitizer's program is not made"
cd "$WORK" || exit 1
ok "it is made, without root or Docker" "$TOP/tools/image" --build "${MUSTER%/*}" --name r.example/x:1 --output one.tar --root root
"$TOP/tools/image" --build "${MUSTER%/*}" --name r.example/x:1 --output two.tar >told
ok "twice, with the same bytes" cmp one.tar two.tar
like "$(cat told)" '^r.example/x:1: two.tar, [0-9.]+ MB to pull, [0-9.]+ MB unpacked, [0-9]+ files$' "it tells its size"

python3 - one.tar >facts <<'PYTHON'
import gzip, hashlib, io, json, sys, tarfile
tar = tarfile.open(sys.argv[1])
def read(name): return tar.extractfile(name).read()
def blob(d):
    data = read("blobs/sha256/" + d["digest"].split(":")[1])
    assert hashlib.sha256(data).hexdigest() == d["digest"].split(":")[1] and len(data) == d["size"], d
    return data
index = json.loads(read("index.json"))
print("name", index["manifests"][0]["annotations"]["io.containerd.image.name"])
manifest = json.loads(blob(index["manifests"][0]))
config = json.loads(blob(manifest["config"]))
plain = gzip.decompress(blob(manifest["layers"][0]))
assert "sha256:" + hashlib.sha256(plain).hexdigest() == config["rootfs"]["diff_ids"][0]
print("user", config["config"]["User"])
print("entry", *config["config"]["Entrypoint"])
files = tarfile.open(fileobj=io.BytesIO(plain)).getmembers()
print("owners", {(m.uid, m.gid) for m in files})
print("outside", [m.name for m in files if m.isfile() and not m.name.startswith(("lib", "usr/lib", "etc/"))])
PYTHON
is $? 0 "all blobs are what their digests say"
like "$(cat facts)" '^name r.example/x:1$' "it has the name"
like "$(cat facts)" '^user 65532:65532$' "a user without rights"
like "$(cat facts)" '^entry /usr/libexec/muster/muster-operator$' "the operator"
like "$(cat facts)" '^owners \{\(0, 0\)\}$' "its files are root's"
like "$(cat facts)" '^outside \[\]$' "programs, libraries and /etc; no shell"

# Nothing is missing: it starts where there is nothing else.
inside() # COMMAND…: in place of the shell
{
    if [ "$(id -u)" -eq 0 ]; then exec chroot root "$@"; else exec unshare -r chroot root "$@"; fi
}
if [ "$(id -u)" -eq 0 ] || unshare -r true 2>/dev/null; then
    is "$(inside /usr/libexec/muster/muster-operator --version)" "$("$MUSTER" operator --version)" "the operator starts in it"
    like "$(inside /usr/libexec/muster/muster-shim-pod 2>&1)" "is run by muster" "so does the shim beside it"
    like "$(inside /usr/libexec/muster/muster-records 2>&1)" "is run by muster" "and what records ranks"
    # It works there: requests, keys, TLS.
    python3 "$TOP/t/operator/api.py" api-port &
    api=$!
    wait_until 20 test -s api-port
    cat >root/config <<YAML
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:$(cat api-port)"}}]
contexts: [{name: c, context: {cluster: c, user: u, namespace: here}}]
users: [{name: u, user: {token: t}}]
current-context: c
YAML
    inside /usr/libexec/muster/muster-operator --kubeconfig /config --metrics 127.0.0.1:0 --webhook 127.0.0.1:0 2>log &
    operator=$!
    ok "it serves the kinds of a cluster" wait_until 30 grep -q 'serving mpijobs.kubeflow.org' log
    ok "and has a webhook" wait_until 30 grep -q 'the webhook listens on port' log
    kill "$operator" "$api"
    wait "$operator" "$api" 2>/dev/null
    rm root/lib/*/libuv.so.* 2>/dev/null || rm root/usr/lib/*/libuv.so.*
    is "$(inside /usr/libexec/muster/muster-operator --version 2>/dev/null)" "" "(and would not without one of its libraries)"
else
    skip "neither root nor user namespaces" 5
fi
done_testing
