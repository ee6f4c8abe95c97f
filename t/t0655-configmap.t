#!/bin/sh
# A ConfigMap in the job's own file is there when the job runs, as it is after kubectl apply -f.
. "${0%/*}/lib.sh"

cd "$WORK" || exit 1
cat >job.yaml <<'EOF'
apiVersion: v1
kind: ConfigMap
metadata: {name: code}
data:
  say.sh: |
    echo "$GREETING, $(cat /etc/told/name), $NUMBER"
  unused: x
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: told}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          containers:
            - name: pytorch
              image: i
              command: [sh, /code/say.sh]
              env:
                - {name: NUMBER, valueFrom: {configMapKeyRef: {name: words, key: number}}}
              envFrom: [{configMapRef: {name: words}}]
              volumeMounts:
                - {name: code, mountPath: /code}
                - {name: name, mountPath: /etc/told}
          volumes:
            - {name: code, configMap: {name: code}}
            - {name: name, configMap: {name: words, items: [{key: who, path: name}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: words}
data: {GREETING: hello, who: world, number: "7"}
EOF
run_muster validate job.yaml
is "$rc" 0 "the file is accepted"
is "$(grep -c 'N0306.*its values are here' "$err")" 2 "and both config maps are named"

run_job --isolate names job.yaml
is "$rc" 0 "it runs without an option"
like "$(cat "$out")" '^\[master-0\] hello, world, 7$' "variables and files are those of the file"
run_muster explain -o json job.yaml
is "$(json jobs.0.processes.0.env.GREETING "$out")" hello "explain knows them"

mkdir -p maps/words
printf 'good day' >maps/words/GREETING
printf '8' >maps/words/number
printf 'moon' >maps/words/who
run_job --configmaps maps --isolate names job.yaml
like "$(cat "$out")" '^\[master-0\] good day, moon, 8$' "a directory that has the config map comes first"

run_muster convert --to muster -O muster.yaml job.yaml
run_job --isolate names muster.yaml
like "$(cat "$out")" '^\[master-0/0\] hello, world, 7$' "a job that was converted still has them"

run_job --isolate none job.yaml
like "$(cat "$err")" "the volume code needs a directory: --configmaps DIR" "without mounts a directory is needed"

sed 's/number}}/nobody}}/' job.yaml >bad.yaml
run_job bad.yaml
is "$rc" 125 "a key that it does not have is missed"
like "$(cat "$err")" "the config map words, key nobody is not given" "by name"
done_testing
