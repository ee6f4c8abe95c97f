#!/bin/sh
# Code, config maps and secrets reach the pods of a real cluster, with no other rights than those of
# doc/kubernetes-role.yaml, and nothing is left behind.
#
# about: src/engine/kubernetes src/shim/pod src/plan
. "${0%/*}/lib.sh"
need_cluster
admin=$KUBECONFIG
KUBECONFIG=$(tester "$TOP/doc/kubernetes-role.yaml") && export KUBECONFIG

on_cluster() # FILE [OPTION…]
{
    file=$1
    shift
    run_job --on kubernetes --namespace "$NS" "$@" "$file"
}
nothing_left()
{
    [ -z "$(KUBECONFIG=$admin kube get job,configmap,service,secret -l muster.internal/run -o name)" ]
}

# --- code ----------------------------------------------------------------------------------------

mkdir -p code/pkg code/empty code/.git code/data
echo 'WORD = "imported"' >code/pkg/m.py
: >code/pkg/__init__.py
cat >code/train.py <<'PY'
import hashlib, os
from pkg import m
with open("big.bin", "rb") as f:
    print(m.WORD, os.getcwd(), os.listdir("empty"), os.readlink("link"), hashlib.sha256(f.read()).hexdigest())
PY
printf '#!/bin/sh\nexec python3 train.py\n' >code/run.sh
chmod 755 code/run.sh
ln -s pkg/m.py code/link
head -c 5242880 /dev/urandom >code/big.bin
sum=$(sha256sum <code/big.bin | cut -d ' ' -f 1)
echo no >code/data/x
echo no >code/.git/config
echo data/ >code/.gitignore
job() # IMAGE COMMAND [KEY: VALUE]
{
    cat <<YAML
apiVersion: muster/v1
name: code
roles:
  worker: {replicas: 2, slots: 2, image: "$1", command: '$2'${3:+, $3}}
YAML
}
job local.test/torch:1 './run.sh' >run.yaml
on_cluster run.yaml --code code
is "$rc $(sed 's/^[^ ]* //' "$out" | sort | uniq -c | tr -s ' ')" "0  4 imported /muster/run/code [] pkg/m.py $sum" \
    "four processes in two pods run in the code: modules, a program, an empty directory, a link and a large file"
like "$(cat "$err")" 'code: 1 entry is left out, as .gitignore says' "what is left out is said"
job local.test/busybox:1 'pwd; ls -a .. | tr "\n" " "; stat -c %a ../run.sh' 'workdir: pkg' >below.yaml
on_cluster below.yaml --code code
is "$rc $(sed 's/^[^ ]* //' "$out" | sort | uniq -c | tr -s ' ' | tr '\n' ' ')" \
    "0  4 . .. .gitignore big.bin empty link pkg run.sh train.py 755  4 /muster/run/code/pkg " "a working directory of the file is below it; no .git"
truncate -s 100M code/huge.bin # of nothing: it is sent all the same
job local.test/busybox:1 'true' >large.yaml
python3 "$TOP/t/lib/terminal.py" --columns 200 timeout -k 5 "$LIMIT" "$MUSTER" run --on kubernetes --namespace "$NS" large.yaml --code code >"$out" 2>"$err" </dev/null
like "$(tr -d '\r\n' <"$out")" 'pods running; code: [0-9]+ of 2[0-9]+ MiB sent to 2 pods' "on a terminal the line at the bottom says how far the code is"
truncate -s 300M code/huge.bin
on_cluster run.yaml --code code
like "$rc $(cat "$err")" "^125 .*code has 306 MiB in [0-9]+ files; at most 256 MiB .*largest: huge.bin \(300 MiB\).*--code-volume" "too much code is refused, by name"
rm code/huge.bin

cat >azure.yaml <<'YAML'
$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
command: cat ${{inputs.data}} && ls ${{inputs.dir}} && ./run.sh
code: ./code
environment: {image: local.test/torch:1}
inputs:
  data: {type: uri_file, path: ./words.txt}
  dir: {type: uri_folder, path: ./code/pkg}
YAML
echo words >words.txt
on_cluster azure.yaml
is "$rc $(sed 's/^\[[^ ]* //' "$out" | tr '\n' ' ')" "0 words __init__.py m.py imported /muster/run/code [] pkg/m.py $sum " "Azure ML: its code and its inputs come along by themselves"

on_cluster azure.yaml --volume data=/tmp
like "$rc $(cat "$err")" '^125 .*--volume data=/tmp: pods cannot mount a directory of this machine' "a directory of this machine as a volume is refused"

cat >volume.yaml <<YAML
apiVersion: v1
kind: PersistentVolume
metadata: {name: $NS}
spec:
  capacity: {storage: 1Mi}
  accessModes: [ReadWriteMany]
  storageClassName: ""
  hostPath: {path: $WORK/claim, type: DirectoryOrCreate}
  claimRef: {namespace: $NS, name: code}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: code, namespace: $NS}
spec: {accessModes: [ReadWriteMany], storageClassName: "", resources: {requests: {storage: 1Mi}}, volumeName: $NS}
YAML
KUBECONFIG=$admin kube apply -f volume.yaml >/dev/null
job local.test/busybox:1 'pwd; touch written && grep -c " /muster/run/code " /proc/mounts' >claim.yaml
on_cluster claim.yaml --code-volume code:some/dir
is "$rc $(sed 's/^[^ ]* //' "$out" | sort | uniq -c | tr -s ' ' | tr '\n' ' ')" "0  4 /muster/run/code  4 1 " "a claim is the code directory, and can be written to"
cat >values.yaml <<'YAML'
command: echo words >${{outputs.model}}/w && cat ${{inputs.data}}/w && ! touch ${{inputs.data}}/w
environment: {image: local.test/debian:12}
inputs: {data: {type: uri_folder, path: "azureml:words:1"}}
outputs: {model: {type: uri_folder}}
YAML
on_cluster values.yaml --claim data=code:some/dir --claim model=code:some/dir
is "$rc $(sed 's/^[^ ]* //' "$out")" "0 words" "an output is written to a claim and an input read from it, but not written to"
KUBECONFIG=$admin kube delete -f volume.yaml --wait=false >/dev/null 2>&1

# --- config maps and secrets ---------------------------------------------------------------------

cat >given.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: conf}
data: {rate: "0.1"}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {token: sesame-open}
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: given}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          volumes:
          - {name: a, configMap: {name: conf}}
          - {name: b, projected: {sources: [{secret: {name: keys}}, {secret: {name: vault}}, {configMap: {name: theirs}}]}}
          containers:
          - name: pytorch
            image: local.test/busybox:1
            command: [sh, -c]
            args: ['echo "$(TOKEN) $RATE $(cat /a/rate /b/token /b/word /b/own)" | sha256sum']
            env:
            - {name: TOKEN, valueFrom: {secretKeyRef: {name: keys, key: token}}}
            - {name: RATE, valueFrom: {configMapKeyRef: {name: conf, key: rate}}}
            volumeMounts: [{name: a, mountPath: /a}, {name: b, mountPath: /b}]
YAML
mkdir -m 700 s s/vault
printf 'mellon-word' >s/vault/word
chmod 600 s/vault/word
KUBECONFIG=$admin kube create configmap theirs --from-literal=own=theirs >/dev/null
KUBECONFIG=$admin kube create configmap conf --from-literal=rate=not-this >/dev/null
on_cluster given.yaml --secrets s
want=$(echo "sesame-open 0.1 0.1sesame-openmellon-wordtheirs" | sha256sum)
is "$rc $(sed 's/^[^ ]* //' "$out" | sort -u)" "0 $want" "of the file, of a directory, and of the cluster, as variables and as files"
is "$(KUBECONFIG=$admin kube get configmap conf -o 'jsonpath={.data.rate}')" not-this "what the namespace has is not touched"
is "$(grep -rlE 'sesame-open|mellon-word' "$(report run_dir)" "$err" | grep -vE '/job\.(yaml|json)$')" "" "no record has their values"
ok "nothing is left of them" wait_until 60 nothing_left
is "$(refused)" "" "with the least Role nothing was refused"
done_testing
