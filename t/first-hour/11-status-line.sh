# shellcheck shell=sh disable=SC2154,SC2016 # variables of lib.sh; programs of jobs
# The line at the bottom of a terminal, prefixes and their colours, --no-prefix, -q.

terminal="$TOP/t/lib/terminal.py"
on_terminal() # OPTION… COMMAND…
{
    timeout 60 env TERM=xterm-256color python3 "$terminal" "$@" >"$out" </dev/null
    rc=$?
}
escape=$(printf '\033')

wait_wide='while [ ! -e "$0" ]; do sleep 0.05; done'
on_terminal --columns 30 --resize "ranks run=45" --until "0 ended=$WORK/wide" "$MUSTER" run -n 1 -- sh -c "$wait_wide" "$WORK/wide"
is "$rc" 0 "status line: a run on a terminal"
like "$(tr '\r' '\n' <"$out")" "sh: running, 1 of 1 ranks run\$" "status line: cut to the terminal's width"
like "$(tr '\r' '\n' <"$out")" "sh: running, 1 of 1 ranks running, 0 ended, ?\$" "status line: and to its new width"

# Without a status line nothing but the signal draws again.
rm -f "$WORK/wide"
on_terminal --columns 30 --resize "bar=45" --until "tail=$WORK/wide" "$MUSTER" run -q --no-prefix -n 1 -- \
    sh -c 'printf "\rbar ....................... tail"; while [ ! -e "$0" ]; do sleep 0.05; done' "$WORK/wide"
is "$rc" 0 "status line: a bar is cut too, and drawn again when the width changes"

long='sleep 0.6; echo done'
on_terminal sh -c '"$0" run -n 1 -- sh -c "$1" 2>"$2"' "$MUSTER" "$long" "$err"
unlike "$(cat "$out" "$err")" "ranks running" "status line: none if stderr is not the terminal"
on_terminal sh -c '"$0" run -n 1 -- sh -c "$1" | cat' "$MUSTER" "$long"
unlike "$(cat "$out")" "ranks running" "status line: none if stdout is a pipe, which may lead to the terminal"
on_terminal sh -c '"$0" run -n 1 -- sh -c "$1" >"$2"' "$MUSTER" "$long" "$WORK/file"
like "$(cat "$out")" "ranks running" "status line: on stderr if stdout is a file"
is "$(cat "$WORK/file")" "[worker-0/0] done" "status line: which has only the output"
on_terminal env TERM=dumb "$MUSTER" run -n 1 -- sh -c "$long"
unlike "$(cat "$out")" "ranks running|$escape" "status line: none if TERM=dumb, and no colours"
on_terminal "$MUSTER" run -q -n 1 -- sh -c "$long"
unlike "$(cat "$out")" "ranks running|muster:" "status line: none with -q, and no verdict if all is well"
on_terminal --background "$MUSTER" run -n 1 -- sh -c "$long"
is "$rc" 0 "status line: a run in the background is not stopped"
unlike "$(cat "$out")" "ranks running" "status line: none in the background"

on_terminal "$MUSTER" run -n 12 --hosts 2 -- sh -c 'echo "$RANK."'
like "$(cat "$out")" "$escape\[[0-9;]*m\[worker-0/1\]$escape\[0m  1\." "prefixes: aligned on a terminal"
like "$(cat "$out")" "$escape\[[0-9;]*m\[worker-1/10\]$escape\[0m 10\." "prefixes: the longest has one blank"
is "$(grep -o "$escape\[[0-9;]*m\[worker-[01]" "$out" | sort -u | wc -l)" 2 "prefixes: a colour for each replica"
on_terminal env NO_COLOR=1 "$MUSTER" run -n 1 -- echo plain
like "$(cat "$out")" "^\[worker-0/0\] plain" "prefixes: no colour with NO_COLOR"
run_job -n 12 --hosts 2 -- sh -c 'echo "$RANK."'
is "$(sort -u "$out" | grep -cE '^\[worker-[01]/[0-9]+\] [0-9]+\.$')" 12 "prefixes: as they are if stdout is no terminal"
run_job --no-prefix -n 1 -- sh -c 'echo out; echo err >&2'
is "$(cat "$out") $(head -n 1 "$err")" "out err" "prefixes: --no-prefix"

cat >"$WORK/warned.yaml" <<'YAML'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: warned}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: i, imagePullPolicy: Always, command: [echo, hi]}]}}}
YAML
run_job -q "$WORK/warned.yaml"
is "$rc $(cat "$out") $(cat "$err")" "0 [master-0] hi " "-q: only the job's output"
run_job -q -n 1 -- sh -c 'echo hi; exit 3'
like "$rc $(cat "$err")" "failed" "-q: and the verdict of a job that fails"
