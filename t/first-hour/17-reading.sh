# shellcheck shell=sh disable=SC2154,SC2016 # $out and $err are those of lib.sh; what is in single quotes is a job's
# What a file means on a cluster it means here, and what was another cluster's is told.

cat >torch.yaml <<'END'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: own}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          containers:
            - name: pytorch
              image: i
              command: [sh, -c, 'echo $RANK of $WORLD_SIZE at $MASTER_ADDR, $PATH_TOO']
              env: &env
                - {name: RANK, value: '7'}
                - {name: WORLD_SIZE, value: '9'}
                - {name: MASTER_ADDR, value: 10.1.2.3}
                - {name: PATH_TOO, value: '$PATH:/opt'}
    Worker:
      template:
        spec:
          containers:
            - name: pytorch
              image: i
              command:
                - bash
                - -c
                - |
                  echo one
                  echo two
              env: *env
END
run_muster run torch.yaml
like "$(cat "$out")" '0 of 2 at own-master-0, \$PATH:/opt$' "PyTorchJob: the operator's variables win"
run_muster explain torch.yaml
like "$(cat "$out")" 'note: master, worker: RANK of the file is overridden' "PyTorchJob: which is told"
like "$(cat "$out")" 'warning: master, worker: \$PATH in the value of PATH_TOO is not expanded' "a shell's syntax in a value"
like "$(cat "$out")" 'warning: master hard-codes address 10.1.2.3.*use \$MASTER_ADDR' "an address of another cluster"
is "$(grep -c '^    echo ' "$out")" 2 "explain shows a script as lines"

cat >mpi.yaml <<'END'
apiVersion: kubeflow.org/v1
kind: MPIJob
metadata: {name: np}
spec:
  slotsPerWorker: 8
  mpiReplicaSpecs:
    Launcher: {template: {spec: {containers: [{name: l, image: i, command: [mpirun, -np, "16", -N, "8", hostname]}]}}}
    Worker: {replicas: 16, template: {spec: {containers: [{name: w, image: i}]}}}
END
run_muster explain mpi.yaml
like "$(cat "$out")" '^  16 ranks expected' "-np counts, not the slots"
run_muster run --entrypoint launcher='getent hosts np-worker-1.np-worker && getent hosts np-worker-1.np-worker.default.svc && getent hosts np-worker' mpi.yaml
is "$rc" 0 "the workers' service of older operators resolves"

sed 's/- name: pytorch/- name: pytorch\n              volumeMounts: [{name: My_Data, mountPath: \/d}]/; s/          containers:/          volumes: [{name: My_Data, emptyDir: {}}]\n          containers:/' torch.yaml >volume.yaml
run_muster validate volume.yaml
like "$rc $(cat "$err")" '^2 .*E0148.*My_Data. is not a DNS label' "a volume's name is a DNS label"

cat >azure.yaml <<'END'
command: torchrun --nproc_per_node 2 train.py
environment: azureml:e:1
resources: {instance_count: 1}
distribution: {type: pytorch, process_count_per_instance: 2}
END
run_muster explain azure.yaml
like "$(cat "$out")" 'warning: process_count_per_instance starts 2 times torchrun' "a launcher that is started for every process"
