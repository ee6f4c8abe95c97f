#!/bin/sh
# muster operator without a cluster: the verb, its options and those of the operators that it replaces.
. "${0%/*}/lib.sh"

OPERATOR=${MUSTER%/*}/muster-operator
[ -x "$OPERATOR" ] || skip_all "muster-operator is not built"
cd "$WORK" || exit 1

# --- the verb ---
run_muster operator --help
is "$rc" 0 "--help"
like "$(cat "$out")" '^      --namespace NS ' "it lists the options"
cp "$out" help
run_muster help operator
ok "help operator is the same" cmp "$out" help
run_muster operator --version
like "$(cat "$out")" '^muster operator [0-9]' "--version"
run_muster operator --namspace x
is "$rc" 2 "an unknown option: exit 2"
like "$(cat "$err")" 'did you mean --namespace' "and the nearest"
mkdir alone
cp "$MUSTER" alone/muster
MUSTER=$WORK/alone/muster run_muster operator
is "$rc" 1 "without its program"
like "$(cat "$err")" 'cannot start muster-operator: No such file' "it says so"

# --- it is installed, and muster finds it there ---
make -s -C "$TOP" install PREFIX=/p DESTDIR="$WORK/root" B="${MUSTER%/*}" SAN="${MUSTER_SAN:-}" >/dev/null 2>&1
is "$("$WORK/root/p/bin/muster" operator --version)" "$("$MUSTER" operator --version)" "an installed muster finds the installed operator"

# --- a cluster that does not answer: options that have no effect are told ---
cat >config <<'YAML'
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:9"}}]
contexts: [{name: c, context: {cluster: c, user: u, namespace: here}}]
users: [{name: u, user: {token: t}}]
current-context: c
YAML
run_muster operator --kubeconfig missing
is "$rc" 1 "no configuration: exit 1"
"$MUSTER" operator -kubeConfig=config -alsologtostderr --gpus-per-node 8 --kubectl-delivery-image x 2>log &
operator=$!
told() { [ "$(wc -l <log)" -ge "$1" ]; }
ok "flags of mpi-operator are accepted" wait_until 20 told 3
kill "$operator"
wait "$operator"
is $? 0 "SIGTERM ends it"
ok "the log is JSON, a line each" python3 -c '
import json, sys
for line in open("log"):
    d = json.loads(line)
    assert {"time", "level", "text"} <= set(d), line'
like "$(cat log)" '"text":"--gpus-per-node is ignored: ' "and names what has no effect"
done_testing
