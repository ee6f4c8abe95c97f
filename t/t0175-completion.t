#!/bin/sh
# Completion for bash and zsh: verbs, options and their values, runs, replicas, roles, dialects.
. "${0%/*}/lib.sh"

cd "$WORK" || exit 1
cat >job.yaml <<'YAML'
apiVersion: muster/v1
name: greeting
roles:
  worker: {replicas: 2, command: 'until [ -e finish ]; do sleep 0.05; done'}
  board: {command: 'until [ -e finish ]; do sleep 0.05; done'}
YAML
"$MUSTER" run -n 1 -- true >/dev/null 2>&1
"$MUSTER" run job.yaml >"$WORK/shown" 2>&1 &
runner=$!
running()
{
    [ "$("$MUSTER" show greeting 2>/dev/null | grep -c ' running$')" -eq 3 ]
}
ok "a job runs" wait_until 20 running
id=$("$MUSTER" list -qr)

# shellcheck disable=SC2016 # for the other shells
bash='. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _muster; printf "%s\n" "${COMPREPLY[@]}"'
# Completion functions of zsh can only be called by its editor; these stand for what they call.
# shellcheck disable=SC2016
zsh='compadd() {
    local after=
    [[ $1 != -S ]] || { after=$2; shift 2 }
    shift
    for w in "$@"; do [[ $w != ${word##*=}* ]] || print -r -- $w$after; done
}
compset() { : }
_files() { print -l -- ${word}*(N) }
_normal() { _files }
words=("$@") CURRENT=$#
source $0'

completed() # WORD… - what the last one may become, in one line
{
    case $shell in
    bash) bash -c "$bash" "$TOP/doc/muster.bash" "$MUSTER" "$@" ;;
    zsh) zsh -f -c "$zsh" "$TOP/doc/_muster" "$MUSTER" "$@" ;;
    esac 2>&1 | sort | tr '\n' ' ' | sed 's/ $//'
}

check()
{
    is "$(completed v)" validate "$shell: a verb"
    is "$(completed run --gr)" --grace "an option"
    is "$(completed run --isolate n)" "names network none" "the words that it takes"
    is "$(completed show -o '')" "human json yaml" "also after its letter"
    is "$(completed sim --queue jo)" job.yaml "a file of a simulated queue"
    is "$(completed sim -o '')" "human json" "its output formats"
    is "$(completed schema t9)" t9k-mpi "a dialect"
    is "$(completed validate --dialect openpai-)" "openpai-v1 openpai-v2" "as an option's value"
    is "$(completed generate mpi-job-s)" mpi-job-simple "a prototype"
    is "$(completed generate mpi-job-simple --gp)" --gpus "its parameters"
    is "$(completed generate op) $(completed generate operator --im)" "operator --image" "what is no prototype"
    is "$(completed operator --clus)" --cluster-domain "an option of the operator"
    is "$(completed help canc)" cancel "a verb to be helped with"
    is "$(completed cancel g)" greeting "a run by its name"
    is "$(completed wait "${id%?}")" "$id" "and by its id"
    is "$(completed pause '')" "$id greeting" "only those that run"
    is "$(completed show t)" true "also those that have ended"
    is "$(completed rerun t) $(completed delete greeting t)" "true true" "for delete as many as one likes"
    is "$(completed exec greeting w)" "worker-0 worker-1" "replicas of a run"
    is "$(completed exec bo)" board-0 "of the only one"
    is "$(completed logs greeting '')" "board-0 worker-0 worker-1" "all of them"
    is "$(completed logs --role '')" "board worker" "roles of a run"
    is "$(completed logs --since 5m greeting b)" board-0 "an option's value is no operand"
    is "$(completed run job.yaml --scale '')" "board= worker=" "roles of a file"
    is "$(completed explain job.yaml --entrypoint w)" worker= "where they are optional"
    is "$(completed run --debug job.yaml --nproc w)" worker= "after one whose value is optional"
    is "$(completed convert --to t)" "t9k tfjob" "what to convert to"
    is "$(completed run --inventory jo)" job.yaml "a file as an option's value"
    is "$(completed run jo)" job.yaml "and as an operand"
    is "$(completed run -n 1 -- jo)" job.yaml "somebody else's command line"
    is "$(completed resume zzz)" "" "nothing"
}

for shell in bash zsh; do
    if command -v $shell >/dev/null; then
        check
    else
        skip "no $shell here" 29
    fi
done
if command -v bash >/dev/null; then
    shell=bash # which makes three words of it; zsh one
    is "$(completed run --isolate = no)" none "bash: --option=value"
    is "$(completed run --isolate =)" "auto names network none" "and nothing after the ="
    is "$(completed run job.yaml --debug = b)" board "a role after one"
    is "$(completed run --preflight = o)" only "the only value of --preflight"
else
    skip "no bash here" 4
fi
if command -v zsh >/dev/null; then
    shell=zsh
    is "$(completed run --isolate=no)" none "zsh: --option=value"
    is "$(completed run job.yaml --debug=b)" board "a role after one"
else
    skip "no zsh here" 2
fi

: >finish
wait $runner
is $? 0 "the job ended by itself"
done_testing
