#!/bin/sh
# mpi4py trains under Open MPI and under MPICH; under the wrong one every rank is alone.
. "${0%/*}/lib.sh"
need debian

stage mpi train_mpi4py.py
train 4 4 mpi4py.yaml
train 4 4 mpi4py.yaml --isolate network

if [ ! -f "$CACHE/mpi4py/stamp" ]; then
    skip "no mpi4py of PyPI's here" 9
    done_testing
    exit
fi
IMAGE=$CACHE/mpi4py
train 4 4 mpi4py.yaml
export LD_LIBRARY_PATH="$CACHE/mpi4py/mpich"
train 4 4 mpi4py-mpich.yaml
unset LD_LIBRARY_PATH

run_job --set spec.mpiReplicaSpecs.Launcher.template.spec.containers.launcher.env.MPI4PY_MPIABI.value=openmpi \
    --image "*=$IMAGE" mpi4py-mpich.yaml
ok "Open MPI's mpi4py under MPICH's mpiexec does not end well" test "$rc" -ne 0
like "$(cat "$err")" '1 in this world instead of 4' "each rank was alone, and says so"

# Nobody looks at the size of the world: the ranks end well, and Muster repeats mpi4py's own warning.
printf '%s\n' 'from mpi4py import MPI' 'print("size", MPI.COMM_WORLD.size)' >alone.py
sed 's/\[python3, -m, mpi4py, train_mpi4py.py\]/[python3, alone.py]/' mpi4py.yaml >alone.yaml
LD_LIBRARY_PATH="$CACHE/mpi4py/mpich" MPI4PY_MPIABI=mpich run_job --inherit-env LD_LIBRARY_PATH --inherit-env MPI4PY_MPIABI \
    --image "*=$IMAGE" alone.yaml
like "$rc $(report verdict)" '^0 succeeded.*; but mpi4py was built for a different MPI than mpirun' "a success of ranks that were alone is called so"

done_testing
