#!/usr/bin/env python3
"""parity.py - the objects that muster-operator and an operator of others make of the same job files, compared.

    parity.py OURS THEIRS ALLOWED FILE…

OURS and THEIRS are namespaces, each served by its operator. The files are applied to both, pods are said to run (nobody else does),
and what there is in the end is compared: objects by kind and name, then their values by path. Elements of lists are known by
their name where they have one. ALLOWED is a list of differences with their reasons; one that no job has is reported, too.
The result is TAP, a test for each job file.
"""
import json
import re
import subprocess
import sys
import time

KINDS = "pods services configmaps secrets jobs.batch roles rolebindings serviceaccounts horizontalpodautoscalers".split()
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
OF_CLUSTER = {"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink", "finalizers"}


def kubectl(*words, body=None, check=True):
    done = subprocess.run(["kubectl", *words], input=body, capture_output=True, text=True, check=False)
    if check and done.returncode:
        sys.exit("kubectl %s: %s" % (" ".join(words), done.stderr))
    return done.stdout


def load(path):
    """A job without what a cluster has added to it."""
    obj = json.loads(kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", path))
    obj.pop("status", None)
    for key in list(obj["metadata"]):
        if key in OF_CLUSTER or key == "namespace":
            del obj["metadata"][key]
    return obj


def objects(namespace):
    items = []
    for kind in KINDS:
        items += json.loads(kubectl("-n", namespace, "get", kind, "-o", "json"))["items"]
    return items


def owner(item, jobs):
    for ref in item["metadata"].get("ownerReferences", []):
        if ref["name"] in jobs and ref["kind"] in ("MPIJob", "PyTorchJob", "TFJob"):
            return ref["name"]
    return None


def start_pods(namespace):
    """As kubelets would; and Jobs get no pods, because no controller makes them."""
    running = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    for pod in json.loads(kubectl("-n", namespace, "get", "pods", "-o", "json"))["items"]:
        if pod.get("status", {}).get("phase") == "Running":
            continue
        running["status"]["containerStatuses"] = [{
            "name": c["name"], "image": "i", "imageID": "", "ready": True, "started": True, "restartCount": 0,
            "state": {"running": {"startedAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}}} for c in pod["spec"]["containers"]]
        kubectl("-n", namespace, "patch", "pod", pod["metadata"]["name"], "--subresource=status", "--type=merge", "-p", json.dumps(running), check=False)


def settle(namespaces):
    """Until nothing has changed for a while."""
    last, since, begun = None, time.time(), time.time()
    while time.time() - since < 8 and time.time() - begun < 240:
        for namespace in namespaces:
            start_pods(namespace)
        now = [(i["kind"], i["metadata"]["uid"], i["metadata"].get("generation")) for n in namespaces for i in objects(n)]
        if now != last:
            last, since = now, time.time()
        time.sleep(1)


def flat(value, path, out):
    if isinstance(value, dict):
        for key in sorted(value):
            flat(value[key], "%s.%s" % (path, key), out)
    elif isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
        for i, v in enumerate(value):
            flat(v, "%s[%s]" % (path, v.get("name", v.get("key", i))), out)
    elif value != []:  # an empty list is none
        out[path] = value


def values(item, namespace):
    """path: value, without what differs by nature: identities, random keys, the namespace."""
    meta = {k: v for k, v in item["metadata"].items() if k not in OF_CLUSTER}
    body = {k: v for k, v in item.items() if k not in ("metadata", "status")}
    if item["kind"] == "Secret":
        body["data"] = sorted(body.get("data") or {})
    if item["kind"] == "Service":
        for key in ("clusterIP", "clusterIPs"):
            body["spec"].pop(key, None) if body["spec"].get(key) not in ("None", ["None"]) else None
    for part in (body.get("spec", {}), body.get("spec", {}).get("template", {}).get("spec", {})):
        drop_token(part)
    out = {}
    flat(dict(body, metadata=meta), "", out)
    return {k: json.loads(UUID.sub("UID", json.dumps(v).replace(namespace, "NAMESPACE"))) for k, v in out.items()}


def drop_token(pod):
    """The volume of the service account's token, which an admission plugin adds under a random name."""
    pod["volumes"] = [v for v in pod.get("volumes", []) if not v["name"].startswith("kube-api-access-")]
    for c in pod.get("containers", []) + pod.get("initContainers", []):
        c["volumeMounts"] = [m for m in c.get("volumeMounts", []) if not m["name"].startswith("kube-api-access-")]


class Allowed:
    """Lines "KIND PATH-ERE | reason"; "object" as the path is the object itself. First match counts."""

    def __init__(self, path):
        self.rules, self.used = [], set()
        for line in open(path):
            if line.strip() and not line.startswith("#"):
                what, _, reason = line.partition(" | ")
                kind, _, ere = what.strip().partition(" ")
                self.rules.append((kind, re.compile(ere + r"\Z"), reason.strip()))

    def permits(self, kind, path):
        for i, (k, ere, _) in enumerate(self.rules):
            if k in (kind, "*") and ere.match(path):
                self.used.add(i)
                return True
        return False

    def unused(self):
        return [r for i, r in enumerate(self.rules) if i not in self.used]


def compare(job, ours, theirs, allowed):
    """Every difference that is not allowed."""
    found = []
    for key in sorted(set(ours) | set(theirs)):
        kind, name = key
        if key not in ours or key not in theirs:
            if not allowed.permits(kind, "object " + name.replace(job, "NAME", 1)):
                found.append("%s %s: only %s" % (kind, name, "ours" if key in ours else "theirs"))
            continue
        a, b = ours[key], theirs[key]
        for path in sorted(set(a) | set(b)):
            if a.get(path) != b.get(path) and not allowed.permits(kind, path):
                found.append("%s %s %s: ours %s, theirs %s" % (kind, name, path, json.dumps(a.get(path)), json.dumps(b.get(path))))
    return found


def main():
    ours, theirs, rules, *files = sys.argv[1:]
    allowed = Allowed(rules)
    jobs = {}
    for path in files:
        obj = load(path)
        jobs[obj["metadata"]["name"]] = path
        for namespace in (ours, theirs):
            kubectl("-n", namespace, "create", "--validate=false", "-f", "-", body=json.dumps(obj))
    settle([ours, theirs])
    made = {}
    for namespace in (ours, theirs):
        for item in objects(namespace):
            job = owner(item, jobs)
            if job:
                made.setdefault((namespace, job), {})[item["kind"], item["metadata"]["name"]] = values(item, namespace)
    count = 0
    for job, path in jobs.items():
        count += 1
        found = compare(job, made.get((ours, job), {}), made.get((theirs, job), {}), allowed)
        if not made.get((theirs, job)):
            found.append("no object of theirs")
        print("%s %d - %s: %d objects" % ("not ok" if found else "ok", count, path.rpartition("t/")[2], len(made.get((ours, job), {}))))
        for line in found:
            print("#   " + line)
    for kind, ere, reason in allowed.unused():
        print("# not needed: %s %s (%s)" % (kind, ere.pattern, reason))
    print("1..%d" % count)
    return 0


sys.exit(main())
