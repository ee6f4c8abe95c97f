"""What installs the operator, in all its forms: deploy.py FORM [ARG…] prints its objects as JSON, sorted by kind and name.

    base                              the resources of deploy/base/kustomization.yaml
    chart NAMESPACE [VALUE=JSON…]     deploy/chart: by helm if it is on PATH, else by the few expressions it may have
    text                              YAML documents on standard input
    role FILE…                        one Role "tester" with all rules of the roles in these files, as YAML
"""
import json
import os
import re
import shutil
import subprocess
import sys

import yaml

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHART = f"{TOP}/deploy/chart"


def documents(text):
    return [d for d in yaml.safe_load_all(text) if d]


def read(path):
    with open(path) as f:
        return f.read()


def base():
    kustomization = documents(read(f"{TOP}/deploy/base/kustomization.yaml"))[0]
    assert set(kustomization) == {"apiVersion", "kind", "resources"}, "kustomization.yaml has more than resources"
    return [d for r in kustomization["resources"] for d in documents(read(f"{TOP}/deploy/base/{r}"))]


def render(text, namespace, values):
    def value(m):
        e = m[1].strip()
        if e.startswith("- /*"):
            return ""
        if e == ".Release.Namespace":
            return namespace
        if e == ".Values.image | quote":
            return json.dumps(values["image"])
        if e == ".Values.replicas":
            return str(values["replicas"])
        words = re.fullmatch(r"concat \(list ((?:\"[^\"]*\" ?)*)\) \.Values\.args \| toJson", e)
        assert words, f"the chart has an expression that is not known here: {e}"
        return json.dumps(re.findall(r'"([^"]*)"', words[1]) + values["args"])

    return re.sub(r"\{\{(.*?)\}\}", value, text)


def chart(namespace, changes):
    crds = [d for f in sorted(os.listdir(f"{CHART}/crds"), reverse=True) for d in documents(read(f"{CHART}/crds/{f}"))]
    values = documents(read(f"{CHART}/values.yaml"))[0]
    if shutil.which("helm"):
        sets = [w for c in changes for w in ("--set-json", c)]
        text = subprocess.run(["helm", "template", "-n", namespace, *sets, "muster", CHART], check=True, text=True, stdout=subprocess.PIPE).stdout
        return crds + documents(text)
    values.update({k: json.loads(v) for k, v in (c.split("=", 1) for c in changes)})
    return crds + [d for f in sorted(os.listdir(f"{CHART}/templates")) for d in documents(render(read(f"{CHART}/templates/{f}"), namespace, values))]


def role(files):
    rules = [rule for f in files for d in documents(read(f)) if d["kind"] in ("Role", "ClusterRole") for rule in d["rules"]]
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "tester"}, "rules": rules}


form = sys.argv[1]
if form == "role":
    print(yaml.safe_dump(role(sys.argv[2:])))
    sys.exit()
found = {"base": base, "chart": lambda: chart(sys.argv[2], sys.argv[3:]), "text": lambda: documents(sys.stdin.read())}[form]()
found.sort(key=lambda d: (d["kind"], d["metadata"]["name"]))
for d in found:
    print(json.dumps(d, sort_keys=True))
