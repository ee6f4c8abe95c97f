#!/bin/sh
# tls-server-name of a kubeconfig: the name that the API server's certificate has to have, whatever its address is. The
# server is one of the test's own that refuses everything.
. "${0%/*}/lib.sh"
[ -x "${MUSTER%/*}/muster-kubernetes" ] || skip_all "muster-kubernetes is not built"
command -v openssl >/dev/null || skip_all "openssl not found"

cd "$WORK" || exit 1
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=k \
    -addext subjectAltName=DNS:api.example >/dev/null 2>&1 || skip_all "openssl cannot make a certificate"
cat >server.py <<'PY'
import http.server, json, ssl, sys
class Refuses(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        with open("requests", "a") as log:
            print(self.headers["Host"], self.command, self.path, file=log)
        body = json.dumps({"kind": "Status", "status": "Failure", "reason": "Forbidden", "message": "refused here", "code": 403}).encode()
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refuses)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("cert.pem", "key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
with open("port.new", "w") as port:
    port.write(str(server.server_port))
import os
os.rename("port.new", "port")
server.serve_forever()
PY
python3 server.py 2>server.log &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$WORK" "$USER_DIR"' EXIT
wait_until 30 test -s port || skip_all "the server did not start"
port=$(cat port)

config() # TLS-SERVER-NAME
{
    cat <<YAML
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://127.0.0.1:$port", certificate-authority: $WORK/cert.pem, tls-server-name: $1}}]
users: [{name: u, user: {token: t}}]
YAML
}
printf '%s\n' 'apiVersion: muster/v1' 'name: hello' 'roles: {worker: {image: none, command: "true"}}' >job.yaml
config api.example >kubeconfig
KUBECONFIG=$WORK/kubeconfig && export KUBECONFIG
run_job --on kubernetes job.yaml
like "$rc $(cat "$err")" '^125 .*refused here' "the certificate has that name: the server is asked"
is "$(head -n 1 requests)" "127.0.0.1:$port POST /apis/batch/v1/namespaces/default/jobs" "at its own address"
rm requests
config other.example >kubeconfig
timeout -k 5 4 "$MUSTER" run --on kubernetes job.yaml >"$out" 2>"$err" </dev/null
ok "it has not: nothing is asked" test ! -e requests
done_testing
