#!/bin/sh
# Every command that README.md and the manual show is run, and says what they show (t/examples.py).
. "${0%/*}/lib.sh"

here=$WORK/here
mkdir "$here" "$here/build" "$HOME/data"
ln -s "$TOP/examples" "$here/examples"
ln -s "$MUSTER" "$here/build/muster"
ln -s "${MUSTER%/*}/muster-shim" "$here/build/muster-shim"
PATH=$here/build:$PATH
export PATH

# What the examples call job.yaml is a job with three workers; in the README, one with two mistakes.
cat >"$here/job.yaml" <<'YAML'
apiVersion: muster/v1
name: job
roles:
  worker:
    replicas: 3
    command: echo loss 0
YAML
echo 'print("trained")' >"$here/train.py"
readme=$WORK/readme
cp -a "$here" "$readme"
sed 's/replicas: 5/replica: 5/; 29s/cpu: .*/cpu: 10m/' "$TOP/examples/mpi-example.yaml" >"$readme/job.yaml"

count() # FILE DIRECTORY: runs its examples, a test for each
{
    python3 "$TOP/t/examples.py" "$2" "$1" >"$WORK/examples" 2>"$WORK/python" || echo "not ok${tab}$1$tab$tab$(tail -n 1 "$WORK/python")" >>"$WORK/examples"
    while IFS=$tab read -r word where command why; do
        case $word in
        ok) result 0 "$where: $command" "" ;;
        skip)
            skip "$where: $command: $why"
            case $why in
            *"needs a cluster") ;; # scripts of t/kubernetes do what they do
            *) skipped=$((skipped + 1)) ;;
            esac
            ;;
        *) result 1 "$where: $command" "$why" ;;
        esac
    done <"$WORK/examples"
}
tab=$(printf '\t') skipped=0

count "$TOP/README.md" "$readme"

# Examples that look at a run or act on it call it hello. It ends once one has begun to wait for that.
cat >"$here/hello.yaml" <<'YAML'
apiVersion: muster/v1
name: hello
roles:
  worker:
    replicas: 2
    command: |
      echo loss 1; until [ -e finish ]; do sleep 0.05; done
YAML
running()
{
    [ "$("$MUSTER" show hello 2>/dev/null | grep -c ' running$')" -eq 2 ]
}
awaited()
{
    cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' | grep -qE 'muster (wait|logs -f) [a-z ]*hello'
}
for page in "$TOP"/doc/man/*.1; do
    if grep -q '^\.Dl \$ muster .*hello' "$page"; then
        rm -f "$here/finish"
        (cd "$here" && exec "$MUSTER" run hello.yaml >"$WORK/shown" 2>&1) &
        runner=$!
        wait_until 20 running || diag "hello does not run: $(cat "$WORK/shown")"
        if grep -qE '^\.Dl \$ muster (wait|logs -f)' "$page"; then
            (wait_until 60 awaited; sleep 1; : >"$here/finish") &
        fi
        count "$page" "$here"
        : >"$here/finish"
        wait $runner
    else
        count "$page" "$here"
    fi
done
# The examples of submit have started a daemon.
for p in /proc/[0-9]*; do
    case $(readlink "$p/exe") in
    */muster-serve) grep -qz "^XDG_STATE_HOME=$WORK/state\$" "$p/environ" && kill "${p#/proc/}" ;;
    esac
done 2>/dev/null
diag "$tests commands, of which $skipped were not run"
[ $skipped -le 7 ]
result $? "few are not run" "$skipped"
done_testing
