#!/bin/sh
# mpirun 4.1 hangs now and then when its processes end at once; with Muster's defaults it must not.
. "${0%/*}/lib.sh"
have_mpi openmpi || skip_all "no Open MPI here"

cat >"$WORK/true.yaml" <<'YAML'
apiVersion: batch.tensorstack.dev/v1beta1
kind: MPIJob
metadata:
  name: no-hang
spec:
  worker:
    replicas: 1
    extraMPIArgs: ["-np", "64", "--oversubscribe", "--allow-run-as-root", "-bind-to", "none"]
    cmd: ["/bin/true"]
    template:
      spec:
        containers:
          - name: mpi-worker
            image: none
YAML

RUNS=${RUNS:-10}
[ -z "$SOAK" ] || RUNS=100
i=0
while [ $i -lt "$RUNS" ]; do
    i=$((i + 1))
    run_job "$WORK/true.yaml"
    is "$rc" 0 "64 x true, run $i" || diag "$(tail -n 20 "$err")"
done
is "$(report 'attempts.0.ranks.#')" 64 "every rank is in the report"

done_testing
