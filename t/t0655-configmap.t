#!/bin/sh
# A ConfigMap or Secret in the job's own file is there when the job runs, as it is after kubectl apply -f; and
# the items of a List are documents, as kubectl get -o yaml writes them.
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
      restartPolicy: Never
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
is "$(grep -c 'N0306.*its values are used' "$err")" 2 "and both config maps are named"

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
like "$(cat "$out")" '^\[master-0\] hello, world, 7$' "a job that was converted still has them"

run_job --isolate none job.yaml
like "$(cat "$err")" "volume code needs a directory at isolation level .none.: use --configmaps DIR" "without mounts a directory is needed"

sed 's/number}}/nobody}}/' job.yaml >bad.yaml
run_job bad.yaml
is "$rc" 125 "a key that it does not have is missed"
like "$(cat "$err")" "the config map words, key nobody is not given" "by name"

# --- Secrets, in a List ---------------------------------------------------------------------------

cat >list.yaml <<'EOF2'
apiVersion: v1
kind: List
metadata: {resourceVersion: ""}
items:
- apiVersion: v1
  kind: Secret
  metadata: {name: keys}
  data: {token: c2VzYW1lLW9wZW4=, both: b2xk}
  stringData: {both: hunter-two}
- apiVersion: kubeflow.org/v1
  kind: PyTorchJob
  metadata: {name: told, uid: 1-2-3}
  spec:
    runPolicy: {managedBy: kueue.x-k8s.io/multikueue, backoffLimit: 0}
    pytorchReplicaSpecs:
      Master:
        template:
          spec:
            containers:
              - name: pytorch
                image: i
                command: [sh, -c, 'test "$TOKEN $P_both $(cat /etc/k/token)" = "sesame-open hunter-two sesame-open" && echo "$TOKEN"; exit 3']
                env:
                  - {name: TOKEN, valueFrom: {secretKeyRef: {name: keys, key: token}}}
                envFrom: [{prefix: P_, secretRef: {name: keys}}]
                volumeMounts: [{name: k, mountPath: /etc/k}]
            volumes: [{name: k, secret: {secretName: keys}}]
EOF2
run_muster validate list.yaml
is "$rc" 0 "a List of a Secret and a job is accepted"
like "$(cat "$err")" 'list.yaml:6:9: note.N0306.: the Secret keys is not a job; its values are used' "the Secret is named"
like "$(cat "$err")" 'list.yaml:14:17: note.N0301.: .managedBy. hands the job to Kueue' "positions are those of the file"
unlike "$(cat "$err")" 'c2VzYW1\|stringData\|hunter' "and its lines are not shown"
run_muster validate --set spec.runPolicy.backoffLimit=-1 list.yaml
like "$(cat "$err")" 'list.yaml:14:69: error' "--set takes the job's own path"

run_job --isolate names list.yaml
is "$(grep -c sesame "$out") $rc" "1 3" "the job has the values"
unlike "$(cat "$err" "$REPORT")" 'sesame\|hunter' "and nobody else: not the verdict, nor the report"
run_muster explain -o json list.yaml
unlike "$(cat "$out" "$err")" 'sesame\|hunter\|c2VzYW1' "nor explain"
run_muster convert --to muster list.yaml
unlike "$(cat "$out" "$err")" 'sesame\|hunter\|c2VzYW1' "nor convert"
like "$(cat "$err")" '^lost: documents.Secret: ' "which says that"
unlike "$(cat "$err")" 'items' "and paths of the job, not of the List"
sed 's/^    runPolicy/   runPolicy/; s/stringData: {both: hunter-two}/stringData: {both: hunter-two/' list.yaml >broken.yaml
run_muster validate broken.yaml
is "$rc" 2 "a broken List is refused"
unlike "$(cat "$out" "$err")" 'hunter\|c2VzYW1' "without a secret"

mkdir -p secrets/keys && printf 'x' >secrets/keys/token && chmod -R go= secrets
run_job --secrets secrets --isolate names list.yaml
is "$(grep -c sesame "$out")" 0 "a directory that has the secret comes first"
printf 'apiVersion: v1\nkind: List\nitems: []\n' >empty.yaml
run_muster validate empty.yaml
like "$(cat "$err")" 'empty.yaml:2:7: error.E0110.: a v1 List is not a job' "a List without items is no job"
{
    printf 'apiVersion: v1\nkind: List\nitems:\n'
    for _ in $(seq 65); do echo '- {apiVersion: v1, kind: Service}'; done
} >long.yaml
run_muster validate long.yaml
like "$(cat "$err")" 'error.E0005.: more than 64 documents' "one with too many is refused"
done_testing
