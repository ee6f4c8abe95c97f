#!/bin/sh
# muster doctor: what it finds here, and what it says where something is missing.
. "${0%/*}/lib.sh"

cd "$WORK" || exit 1
export MUSTER_HOME="$WORK/h"
status() # NAME - of that check
{
    python3 -c 'import json, sys; print([c["status"] for c in json.load(open(sys.argv[1]))["checks"] if c["name"] == sys.argv[2]][0])' \
        doctor.json "$1"
}
run_muster doctor -o json
is "$rc" 0 "doctor"
cp "$out" doctor.json
has_shape doctor doctor.json "-o json is as promised"
is "$(status machine)" ok "the machine"
is "$(status interfaces)" ok "its interfaces"
run_muster doctor
like "$(cat "$out")" '^ok +machine +[0-9]+ CPUs?, ' "in words"
like "$(cat "$out")" 'daemon +not running; muster submit starts it' "there is no daemon"
mkdir bin
bare() # doctor with nothing but bin in PATH
{
    env PATH="$WORK/bin" "$MUSTER" doctor >bare.out 2>&1
    rc=$?
}
bare
like "$(cat bare.out)" '^missing +mpi +mpirun not found in PATH' "without mpirun"
like "$(cat bare.out)" 'try: apt-get install openmpi-bin' "with the command that mends it"
printf '#!/bin/sh\nexit 3\n' >bin/mpirun
chmod 755 bin/mpirun
bare
is "$rc" 1 "an mpirun that fails is an error"
like "$(cat bare.out)" '^error +mpi +.*/bin/mpirun --version fails' "and says so"
printf '#!/bin/sh\nprintf "mpirun (X) 1.2\\033[2J\\nmore\\n"\n' >bin/mpirun
bare
like "$(cat bare.out)" 'bin/mpirun: mpirun \(X\) 1\.2\\' "what a program prints cannot act on the terminal"
(
    ulimit -n 100
    "$MUSTER" doctor >limited
)
like "$(cat limited)" '^missing +open-files +open files: 100; large jobs need at least 4096' "a low limit"
run_muster doctor extra
is "$rc" 2 "an argument is bad usage"
done_testing
