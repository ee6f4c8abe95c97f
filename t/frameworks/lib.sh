# shellcheck shell=sh disable=SC2034 # its variables are for the scripts
# lib.sh - what the scripts share that train with real frameworks; first of all, t/lib.sh.
#
#   need PART               ends the script with a SKIP unless tools/frameworks has installed it
#   stage NAME SCRIPT       goes into a directory NAME of its own with the examples' files in it; SCRIPT
#                           is also src/train.py there, as the files of the documents call theirs
#   train RANKS SAVED FILE [OPTION…]   runs the job and lets the checker judge: so many processes
#                           came, so many left weights behind ("-": it does not matter how many came)
#   $CACHE                  where the parts are
#   $ROUNDS                 how often each job trains (1)
#   $AS                     as_user: jobs run as an ordinary user, in $USER_DIR (t/lib.sh)
#   $IMAGE                  the environment that stands for every image; at first the machine's own
#
# about: src/engine/local src/shim src/plan/command src/plan/env.c src/plan/env_image
# about: src/plan/env_training src/plan/relocate src/plan/plan src/plan/values t/lib.sh
# about: t/frameworks/check t/frameworks/lib.sh tools/frameworks examples/frameworks/problem.py
top=$(cd "${0%/*}/../.." && pwd)
CACHE=$("$top/tools/frameworks" --where)
MUSTER=${MUSTER:-$top/build/muster}
. "$top/t/lib.sh"
TOP=$top LIMIT=300 ROUNDS=${ROUNDS:-1} IMAGE=host AS=
mkdir "$WORK/bin"
ln -s /usr/bin/python3 "$WORK/bin/python"
export PATH="$WORK/bin:/usr/bin:$PATH" PYTHONDONTWRITEBYTECODE=1

need()
{
    case $1 in
    debian) /usr/bin/python3 -c 'import torch, mpi4py, numpy' 2>/dev/null ;;
    *) MUSTER_CACHE=$CACHE "$TOP/tools/frameworks" --cached "$1" >/dev/null ;;
    esac || skip_all "no $1 here: tools/frameworks $1"
}

# One with numpy: the checker has no other needs.
checker()
{
    for python in /usr/bin/python3 "$CACHE"/*/bin/python; do
        if "$python" -c 'import numpy' 2>/dev/null; then
            "$python" "$@"
            return
        fi
    done
}

stage()
{
    mkdir -p "$WORK/$1/src" && cd "$WORK/$1" || exit 1
    cp "$TOP"/examples/frameworks/*.* .
    cp "$TOP"/examples/azureml/*.yaml "$TOP"/examples/openpai/*.json .
    cp problem.py src
    cp "$2" src/train.py
}

judge() # RANKS SAVED NAME: what is in weights/ or src/weights
{
    left=weights
    [ -d $left ] || left=src/weights
    ok "$3: the ranks have learnt the same, and it is right" checker "$TOP/t/frameworks/check.py" $left "$1" "$2"
}

as_explained() # NAME: what explain.json says, which was made before the run
{
    ok "$1: every process had the environment that explain had said" checker \
        "$TOP/t/frameworks/check_env.py" explain.json "$(report run_dir)/plan.json" "$left"
}

train()
{
    ranks=$1 saved=$2 file=$3 round=1
    shift 3
    set -- --image "*=$IMAGE" "$@" "$file"
    while [ $round -le "$ROUNDS" ]; do
        rm -rf weights src/weights checkpoint.pt
        rm -f "$REPORT"
        $AS "$MUSTER" explain -o json "$@" >explain.json 2>"$err"
        $AS timeout -k 5 $LIMIT "$MUSTER" run --report "$REPORT" "$@" >"$out" 2>"$err" </dev/null
        rc=$?
        is "$rc" 0 "$file: ends with 0" || diag "$(tail -n 20 "$out"; tail -n 20 "$err")"
        judge "$ranks" "$saved" "$file"
        as_explained "$file"
        round=$((round + 1))
    done
}
