#!/bin/sh
# `explain --on kubernetes -o yaml`: what a run creates in a cluster. No cluster is needed.
. "${0%/*}/lib.sh"
cd "$WORK" || exit 1
unset KUBECONFIG

objects() # FILE [OPTION…]
{
    file=$1
    shift
    run_muster explain --on kubernetes -o yaml "$@" "$file"
}
lines() # ERE: those of the first pod that match, without what is before them
{
    awk '/^kind: Pod/ { n++ } n == 1' "$out" | grep -E "$1" | sed 's/^[- ]*//'
}

# --- config maps and secrets ---------------------------------------------------------------------

cat >given.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: conf}
data: {rate: "0.1"}
binaryData: {bin: /w==}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {token: sesame-open}
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: t}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 1
      template:
        spec:
          imagePullSecrets: [{name: pull}, {name: pull-of-cluster}]
          volumes:
          - {name: a, configMap: {name: conf}}
          - {name: b, secret: {secretName: keys}}
          - {name: c, projected: {sources: [{secret: {name: vault}}, {configMap: {name: conf}}, {secret: {name: of-cluster}}]}}
          initContainers:
          - {name: i, image: x, command: [env], envFrom: [{secretRef: {name: keys}}]}
          containers:
          - name: pytorch
            image: x
            command: [env]
            env:
            - {name: T, valueFrom: {secretKeyRef: {name: keys, key: token}}}
            - {name: U, valueFrom: {secretKeyRef: {name: of-cluster, key: token}}}
            - {name: V, valueFrom: {configMapKeyRef: {name: keys, key: not-a-secret}}}
            envFrom: [{configMapRef: {name: conf}}]
            volumeMounts: [{name: a, mountPath: /a}, {name: b, mountPath: /b}, {name: c, mountPath: /c}]
          - {name: side, image: y, env: [{name: S, valueFrom: {configMapKeyRef: {name: conf, key: rate}}}]}
YAML
mkdir -m 700 s s/vault s/pull
printf 'mellon-word' >s/vault/k
printf '{}' >s/pull/.dockerconfigjson
chmod 600 s/vault/k s/pull/.dockerconfigjson
objects given.yaml --secrets s
is "$rc" 0 "a job with config maps and secrets"
is "$(grep -E '^kind: (ConfigMap|Secret)|^  name: muster-run-id-|^type:' "$out" | sed '/worker/d')" "kind: ConfigMap
  name: muster-run-id-conf
kind: Secret
  name: muster-run-id-keys
kind: Secret
  name: muster-run-id-vault
kind: Secret
  name: muster-run-id-pull
type: kubernetes.io/dockerconfigjson" "those of the file, and those of the directory that are referred to, become the run's own"
is "$(grep -cE 'sesame|mellon|c2VzYW1l|bWVsbG9u' "$out")" 0 "values of secrets are not shown"
is "$(grep -c '"\*\*\*"' "$out")" 3 "in their place is ***"
is "$(sed -n '/name: muster-run-id-conf/,/^immutable/s/^  [rb][ai].*: //p' "$out" | tr '\n' ' ')" '"0.1" /w== ' "those of a config map are; what is not text is base64"
is "$(lines 'name: (muster-run-id-(conf|keys|vault|pull)|pull|of-c)|secretName|name: keys')" "name: muster-run-id-pull
name: pull-of-cluster
name: muster-run-id-conf
secretName: muster-run-id-keys
name: muster-run-id-vault
name: muster-run-id-conf
name: of-cluster
name: muster-run-id-keys
name: muster-run-id-conf
name: muster-run-id-keys
name: of-cluster
name: keys
name: muster-run-id-conf" "every reference leads there, in all containers and volumes; others stay"
chmod 644 s/vault/k
objects given.yaml --secrets s
like "$(cat "$err")" 's/vault/k is accessible by other users .*chmod 600' "a secret that others may read"
sed 's/key: token/key: tokn/' given.yaml >key.yaml
objects key.yaml
like "$(cat "$err")" 'key.yaml:[0-9]+: T: the secret keys has no key tokn' "a key that the secret of the file does not have"
unlike "$(cat "$err")" 'of-cluster' "what is not given is in the cluster"

# --- code ----------------------------------------------------------------------------------------

cat >code.yaml <<'YAML'
apiVersion: muster/v1
name: t
roles:
  a: {image: x, command: pwd}
  b: {image: x, command: pwd, workdir: /src}
YAML
objects code.yaml --code-volume data:some/dir
is "$rc $(lines 'claimName|subPath|muster-code|mountPath: /muster/run/c')" "0 name: muster-code
mountPath: /muster/run/code
subPath: some/dir
name: muster-code
claimName: data" "--code-volume: the claim is the code directory"
is "$(grep workingDir "$out" | tr -d ' ')" workingDir:/src "a directory of the container stays"
objects code.yaml --code-volume data
is "$(lines subPath)" "" "all of a claim"
cat >azure.yaml <<YAML
command: pwd
code: $WORK
environment: {image: x}
environment_variables: {A: b}
YAML
objects azure.yaml
is "$rc $(grep -c workingDir "$out") $(grep -A 1 AZUREML_CR_EXECUTION_WORKING "$out" | tail -n 1 | tr -d ' ')" "0 0 value:/muster/run/code" \
    "Azure ML's code is a directory of this machine"
for wrong in :x a/b ''; do
    objects code.yaml --code-volume "$wrong"
    like "$rc $(cat "$err")" '^2 .*--code-volume must be CLAIM or CLAIM:SUBPATH' "no claim: \"$wrong\""
done
cat >values.yaml <<YAML
command: cat \${{inputs.data}} && touch \${{outputs.model}} \${{outputs.log}}
environment: {image: x}
inputs: {data: {type: uri_file, path: "azureml:words:1"}, other: {path: "azureml:words:2"}}
outputs: {model: {type: uri_folder}, log: {type: uri_file}}
YAML
objects values.yaml --claim data=store:sets/words.txt --claim model=store --claim log=logs
is "$rc $(lines 'claimName|subPath|readOnly|(name: |mountPath: .*)(muster-value|puts/)' | tail -n +2 | tr '\n' ' ')" "0 \
name: muster-value-0 mountPath: /muster/run/inputs/data subPath: sets/words.txt readOnly: true \
name: muster-value-0 mountPath: /muster/run/outputs/model name: muster-value-3 mountPath: /muster/run/outputs/log \
name: muster-value-0 claimName: store name: muster-value-3 claimName: logs " \
    "--claim: inputs and outputs are mounted from claims, each of which is one volume"
run_muster explain --on kubernetes --claim data=s --claim log=s values.yaml
like "$(cat "$out")" 'cat /muster/run/inputs/data && touch /muster/run/outputs/model /muster/run/outputs/log/log' "and commands have their paths"
is "$(grep -c 'input .other. is not available locally' "$out") $(grep -c 'input .data.' "$out")" "1 0" "an input on a claim is available"
cat >volumes.yaml <<YAML
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: t}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          volumes: [{hostPath: {path: /data}, name: data}, {name: keep, emptyDir: {}}]
          initContainers: [{name: i, image: x, command: ["true"], volumeMounts: [{name: data, mountPath: /d}]}]
          containers:
          - {name: pytorch, image: x, command: ["true"], volumeMounts: [{name: data, mountPath: /data, subPath: a}, {name: keep, mountPath: /k}]}
YAML
objects volumes.yaml --claim data=store:sets
is "$rc $(lines 'hostPath|emptyDir|claimName|subPath' | tr '\n' ' ')" "0 claimName: store emptyDir: {} emptyDir: {} subPath: sets subPath: sets/a " \
    "--claim: in place of a volume of the job, for init containers as well"
for wrong in data data= =x data=A data=x: data=x:/y; do
    objects values.yaml --claim "$wrong"
    like "$rc $(cat "$err")" '^2 .*--claim must be NAME=CLAIM or NAME=CLAIM:SUBPATH' "no claim: \"$wrong\""
done
objects values.yaml --claim dta=x
like "$rc $(cat "$err")" '^1 .*--claim dta=x: the job has no volume, input or output of this name' "a slip of the hand"
run_muster run --claim data=x values.yaml
like "$rc $(cat "$err")" '^125 .*--claim requires --on kubernetes; here, --volume NAME=PATH and --map' "a claim on this machine"
objects code.yaml --code . --code-volume x
like "$rc $(cat "$err")" '^2 .*--code and --code-volume cannot be used together' "one of the two"
objects code.yaml --code nowhere
like "$rc $(cat "$err")" '^2 .*--code nowhere: No such file' "no such directory"
run_muster run --code . code.yaml
like "$rc $(cat "$err")" '^125 .*--code requires --on kubernetes; here, --workdir DIR' "on this machine there is another option"
done_testing
