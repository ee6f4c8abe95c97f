#!/bin/sh
# What installs the operator: muster generate, the kustomize base and the Helm chart say the same.
. "${0%/*}/lib.sh"

python3 -c 'import yaml' 2>/dev/null || skip_all "no python3 with yaml"
cd "$WORK" || exit 1
objects() # FORM [ARG…]
{
    python3 "$TOP/t/lib/deploy.py" "$@"
}
kinds() # FILE: kind and name of each, in one line
{
    python3 -c 'import json, sys
for line in open(sys.argv[1]):
    d = json.loads(line)
    print(d["kind"] + "/" + d["metadata"]["name"], end=" ")' "$1"
}

# --- one source ---
run_muster generate operator
is "$rc" 0 "generate operator"
objects text <"$out" >ours
objects base >in-base
ok "prints what deploy/base has" cmp ours in-base
objects chart muster-system >in-chart
grep -v '"kind": "Namespace"' in-base >base-in-chart
ok "the chart has the same objects, but for the namespace" cmp in-chart base-in-chart
command -v helm >/dev/null || diag "helm is not installed: the chart is rendered by t/lib/deploy.py"
"$TOP/tools/deploy" chart "$WORK/made"
ok "tools/deploy makes the same templates" diff -r "$TOP/deploy/chart/templates" made/templates
ok "and the same CRDs" diff -r "$TOP/deploy/chart/crds" made/crds
MUSTER=$MUSTER "$TOP/tools/deploy" crd "$WORK/crds-muster.yaml"
ok "the CRD of MusterJob has the schema that muster has: tools/deploy crd" cmp "$TOP/deploy/base/crds-muster.yaml" crds-muster.yaml
# shellcheck disable=SC2016 # that is not a variable
ok "whose schema is structural" python3 -c 'import sys, yaml
def look(s, path):
    assert "$ref" not in s and not isinstance(s.get("type"), list), path
    open_ = s.get("x-kubernetes-preserve-unknown-fields") or s.get("x-kubernetes-int-or-string")
    assert "type" in s or open_, path + ": no type"
    assert not ("properties" in s and "additionalProperties" in s), path
    for key, value in s.get("properties", {}).items():
        look(value, path + "." + key)
    for key in ("items", "additionalProperties"):
        if key in s:
            look(s[key], path + "." + key)
    assert s.get("type") != "array" or "items" in s, path + ": no items"
version = yaml.safe_load(open(sys.argv[1]))["spec"]["versions"][0]
look(version["schema"]["openAPIV3Schema"], "")
roles = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["roles"]
assert roles["additionalProperties"]["properties"]["replicas"]["type"] == "integer", roles' crds-muster.yaml
if command -v kubectl >/dev/null; then
    kubectl kustomize "$TOP/deploy/base" | objects text >kustomized
    ok "kubectl kustomize has the same objects" cmp kustomized in-base
else
    skip "kubectl is not installed"
fi
is "$(kinds in-base)" "ClusterRole/muster-operator ClusterRoleBinding/muster-operator CustomResourceDefinition/mpijobs.batch.tensorstack.dev \
CustomResourceDefinition/mpijobs.kubeflow.org CustomResourceDefinition/musterjobs.muster.internal CustomResourceDefinition/pytorchjobs.kubeflow.org CustomResourceDefinition/tfjobs.kubeflow.org \
Deployment/muster-operator Namespace/muster-system Role/muster-operator RoleBinding/muster-operator Service/muster-operator \
ServiceAccount/muster-operator ValidatingWebhookConfiguration/muster-operator " "these are all"

# --- values ---
run_muster generate operator --image r.example/a/muster-operator:2 --namespace ops -- --gang-scheduling volcano
objects text <"$out" >ours
objects chart ops 'image="r.example/a/muster-operator:2"' 'args=["--gang-scheduling", "volcano"]' >in-chart
grep -v '"kind": "Namespace"' ours >ours-in-chart
ok "image, namespace and options mean the same in both" cmp in-chart ours-in-chart
unlike "$(cat ours)" muster-system "the default namespace is nowhere left"
like "$(cat ours)" '"kind": "Namespace".*"name": "ops"' "the namespace is made"
like "$(cat ours)" '"args": \["--leader-elect", "--webhook=:9443", "--gang-scheduling", "volcano"\]' "options are added"
run_muster generate operator --no-crds
unlike "$(cat "$out")" CustomResourceDefinition "--no-crds"
run_muster generate operator -o json
is "$(json kind "$out") $(json items.0.kind "$out")" "List Namespace" "-o json is a List, the namespace first"
run_muster generate operator --image ''
is "$rc" 2 "an empty image is refused"
run_muster generate operator x
is "$rc" 2 "so is an operand"
run_muster generate crds
objects text <"$out" >crds
grep '"kind": "CustomResourceDefinition"' in-base >base-crds
ok "generate crds prints the CRDs" cmp crds base-crds
run_muster generate crd
like "$(cat "$err")" 'did you mean crds' "a typing error"

# --- versions ---
version=$("$MUSTER" --version | cut -d ' ' -f 2)
like "$(cat in-base)" "\"image\": \"muster-operator:$version\"" "the image has Muster's version"
is "$(sed -n 's/^\(version\|appVersion\): //p' "$TOP/deploy/chart/Chart.yaml" | tr '\n' ' ')" "$version $version " "so has the chart"
# shellcheck disable=SC2046 # options are words
ok "the operator takes the options that its Deployment has" \
    "$MUSTER" operator $(sed -n 's/.*"args": \[\([^]]*\)\].*/\1/p' in-base | tr -d '",') --version

# --- the prototype of seed 002 with an image of ours ---
run_muster generate mpi-operator mpi-operator -o json
python3 -c 'import json, sys; [print(json.dumps(d)) for d in json.load(open(sys.argv[1]))["items"]]' "$out" >theirs
run_muster generate mpi-operator mpi-operator --image r.example/muster-operator:1 -o json
python3 -c 'import json, sys; [print(json.dumps(d)) for d in json.load(open(sys.argv[1]))["items"]]' "$out" >ours
is "$(kinds ours)" "$(kinds theirs)" "mpi-operator: the same objects with our image"
like "$(cat ours)" 'apiextensions.k8s.io/v1".*"name": "mpijobs.kubeflow.org".*"v1alpha1"' "a CRD that is served today, with v1alpha1"
unlike "$(cat ours)" 'pytorchjobs|tfjobs|webhook|musterjobs|pods/exec' "and MPIJobs only"
like "$(cat ours)" '"args": \["-alsologtostderr", "--gpus-per-node", "8", "--kubectl-delivery-image", "[^"]*", "--enable-scheme=mpijob", "--leader-elect"\]' \
    "with the seed's options"
# shellcheck disable=SC2046
ok "which our operator takes" "$MUSTER" operator $(sed -n 's/.*"args": \[\([^]]*\)\].*/\1/p' ours | tr -d '",') --version
done_testing
