# shellcheck shell=sh disable=SC2154 # $out and $err are those of lib.sh
# An example that is written for PyTorch runs with and without it, and is not preceded by more lines than it prints.

before_output() # how many lines are there before the job's own?
{
    run_muster run "$@"
    grep -c '^muster: \(warning\|note\): ' "$err"
}

# Python without the site's packages has no PyTorch.
mkdir "$WORK/plain"
printf '#!/bin/sh\nexec python3 -S "$@"\n' >"$WORK/plain/python"
chmod +x "$WORK/plain/python"
(PATH="$WORK/plain:$PATH" && export PATH && before_output "$TOP/examples/azureml/pytorch.yaml" >"$WORK/lines")
is "$(grep -c 'rank=[0-9]* size=16 ' "$out")" 16 "examples: without PyTorch its launcher has a stand-in" ||
    diag "$(tail -n 5 "$out" "$err")"
ok "examples: little is said before the first line of output" test "$(cat "$WORK/lines")" -le 4

# One that is installed is used, launcher and all: this one only says so.
mkdir -p "$WORK/site/torch/distributed"
: >"$WORK/site/torch/__init__.py"
cat >"$WORK/site/torch/distributed/launch.py" <<'END'
import os, subprocess, sys
node = int(sys.argv[sys.argv.index("--node_rank") + 1])
listener = None
if node == 0:
    import socket
    listener = socket.create_server(("", int(sys.argv[sys.argv.index("--master_port") + 1])))
sys.exit(max(subprocess.call([sys.executable, sys.argv[-1]], env=dict(os.environ, WORLD_SIZE="16", RANK=str(4 * node + i)))
             for i in range(4)))
END
cat >"$WORK/site/torch/distributed/__init__.py" <<'END'
import os
def is_available(): return True
def init_process_group(backend, rank, world_size): print("installed", backend, rank, world_size, flush=True)
def all_gather_object(hosts, mine): hosts[:] = [f"worker-{i // 4}" for i in range(len(hosts))]
def barrier(): pass
def destroy_process_group(): pass
END
(PYTHONPATH="$WORK/site" && export PYTHONPATH && run_muster run "$TOP/examples/azureml/pytorch.yaml")
is "$(grep -c 'installed gloo [0-9]* 16' "$out") $(grep -c 'rank=[0-9]* size=16 ' "$out")" "16 16" \
    "examples: PyTorch is used where it is installed" || diag "$(tail -n 5 "$out" "$err")"
