#!/usr/bin/env python3
"""muster-operator against an API server of the test's own (lib/fake_api.py): the life of jobs whose pods do what the test
says. What real kubelets and schedulers make of the objects is in t/kubernetes/operator.t."""
import atexit
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "t" / "lib"))
from fake_api import Api, now  # noqa: E402

OPERATOR = str(pathlib.Path(os.environ.get("MUSTER", TOP / "build" / "muster")).parent / "muster-operator")
if os.environ.get("MUSTER_SAN"):
    # A sanitized shim is too large for a ConfigMap. No pod runs here, so anything can take its place.
    BESIDE = tempfile.mkdtemp(prefix="mt.")
    atexit.register(shutil.rmtree, BESIDE, True)
    OPERATOR = shutil.copy(OPERATOR, BESIDE)
    for program in ["muster-shim-pod", "muster-records"]:
        pathlib.Path(BESIDE, program).write_bytes(b"\x7fELF")
count = 0


def ok(got, name):
    global count
    count += 1
    print("%s %d - %s" % ("ok" if got else "not ok", count, name), flush=True)
    return got


def same(got, expected, name):
    if not ok(got == expected, name):
        print("# got      %r\n# expected %r" % (got, expected), file=sys.stderr, flush=True)


class Cluster:
    """The API server, an operator, and the parts of a cluster that make pods run."""

    def __init__(self, *options):
        self.api = Api()
        self.dir = tempfile.mkdtemp(prefix="mt.")
        self.api.kubeconfig(self.dir + "/config")
        self.options = options
        self.held = set()  # names of pods that do not start
        self.begin()

    def begin(self):
        self.log = open(self.dir + "/log", "ab")
        self.operator = subprocess.Popen([OPERATOR, "--namespace", "n", *self.options], stderr=self.log,
                                         env=dict(os.environ, KUBECONFIG=self.dir + "/config"))

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.operator.send_signal(signal.SIGTERM)
        same(self.operator.wait(20), 0, "the operator ends when it is told to")
        self.api.server.shutdown()
        if args[0]:
            print(open(self.dir + "/log").read(), file=sys.stderr)
        subprocess.call(["rm", "-rf", self.dir])

    def pod(self, name, phase, state, **more):
        ready = [{"type": "Ready", "status": "True" if phase == "Running" else "False"}]
        pod = self.api.get("pods", name)
        container = pod["spec"]["containers"][0]["name"]
        self.api.patch("pods", name, {"spec": {"nodeName": "node"}, "status": {
            "phase": phase, "conditions": ready, "containerStatuses": [dict({"name": container, "state": state, "restartCount": 0}, **more)]}})

    def end(self, name, code):
        self.pod(name, "Failed" if code else "Succeeded", {"terminated": {"exitCode": code, "finishedAt": now()}})

    def move(self):
        """Jobs get their pods, and pods start."""
        for name in self.api.names("jobs"):
            job = self.api.get("jobs", name)
            mine = [p for p in self.api.names("pods") if p.startswith(name + "-")]
            if job["spec"].get("suspend"):
                for p in mine:
                    self.api.delete("pods", p)
            elif not mine and not job.get("status", {}).get("conditions"):
                template = job["spec"]["template"]
                self.api.create({"apiVersion": "v1", "kind": "Pod", "spec": template["spec"], "metadata": {
                    "generateName": name + "-", "labels": template["metadata"]["labels"],
                    "ownerReferences": [{"kind": "Job", "name": name, "uid": job["metadata"]["uid"], "controller": True}]}})
        for name in self.api.names("pods"):
            pod = self.api.get("pods", name)
            if pod and not pod.get("status") and name not in self.held:
                self.pod(name, "Running", {"running": {"startedAt": now()}})

    def until(self, what, name, patience=20):
        give_up = time.time() + patience
        while time.time() < give_up:
            self.move()
            if what():
                return ok(True, name)
            time.sleep(0.05)
        print(open(self.dir + "/log").read()[-3000:], file=sys.stderr)
        for plural in ["mpijobs", "pytorchjobs", "tfjobs"]:
            for n in self.api.names(plural):
                print("# %s %s" % (n, self.api.get(plural, n).get("status")), file=sys.stderr)
        print("# pods %s jobs %s" % (self.api.names("pods"), self.api.names("jobs")), file=sys.stderr)
        for n in self.api.names("configmaps"):
            print("# %s %s" % (n, self.api.get("configmaps", n).get("data")), file=sys.stderr)
        for request in self.api.requests[-30:]:
            print("# %s %s" % request, file=sys.stderr)
        return ok(False, name)

    def condition(self, plural, name, kind):
        obj = self.api.get(plural, name) or {}
        for c in obj.get("status", {}).get("conditions", []):
            if c["type"] == kind:
                return c
        return {}

    def holds(self, plural, name, kind):
        return lambda: self.condition(plural, name, kind).get("status") == "True"

    def launcher(self, name):
        return next((p for p in self.api.names("pods") if p.startswith(name + "-launcher")), None)

    def reasons(self):
        return [(self.api.get("events", n) or {}).get("reason") for n in self.api.names("events")]


def template(name, **more):
    return {"template": {"spec": {"containers": [dict({"name": name, "image": "i", "command": ["x"]}, **more)]}}}


def mpijob(name, version="v2beta1", workers=2, policy=None, **more):
    return {"apiVersion": "kubeflow.org/" + version, "kind": "MPIJob", "metadata": {"name": name},
            "spec": dict({"runPolicy": policy or {}, "mpiReplicaSpecs": {
                "Launcher": template("l"), "Worker": dict(template("w"), replicas=workers)}}, **more)}


def command(pod):
    return pod["spec"]["containers"][0]["command"]


def event(c, reason):
    return next(e for e in (c.api.get("events", n) for n in c.api.names("events")) if e["reason"] == reason)


def test_versions():
    with Cluster() as c:
        for version in ["v2beta1", "v1", "v1alpha2"]:
            c.api.create(mpijob(version, version, policy={"cleanPodPolicy": "Running"}))
        c.api.create({"apiVersion": "kubeflow.org/v1alpha1", "kind": "MPIJob", "metadata": {"name": "v1alpha1"},
                      "spec": dict(template("l"), replicas=2)})
        for version in ["v2beta1", "v1", "v1alpha2"]:
            c.until(c.holds("mpijobs", version, "Running"), "%s runs" % version)
            ok(c.api.get("pods", version + "-worker-1"), "it has its workers")
            c.end(c.launcher(version), 0)
            c.until(c.holds("mpijobs", version, "Succeeded"), "and ends")
            c.until(lambda: not c.api.get("pods", version + "-worker-1"), "its workers are removed")
            ok(c.launcher(version), "its launcher is not")
        c.until(lambda: c.api.get("mpijobs", "v1alpha1").get("status", {}).get("launcherStatus") == "Active", "v1alpha1 runs")
        same(c.api.get("mpijobs", "v1alpha1")["status"]["workerReplicas"], 2, "it has its workers")
        c.end(c.launcher("v1alpha1"), 0)
        c.until(lambda: c.api.get("mpijobs", "v1alpha1")["status"]["launcherStatus"] == "Succeeded", "and ends")
        same("conditions" in c.api.get("mpijobs", "v1alpha1")["status"], False, "its status has no conditions")
        c.until(lambda: not c.api.get("pods", "v1alpha1-worker-1"), "its workers are removed")
        same(c.api.names("rolebindings"), ["v1-launcher", "v1alpha1-launcher", "v1alpha2-launcher"], "launchers have rights")


def test_commands_of_images():
    def without(job, key):
        for spec in job["spec"][key].values():
            del spec["template"]["spec"]["containers"][0]["command"]
        return job

    with Cluster() as c:
        c.api.create(without(mpijob("m"), "mpiReplicaSpecs"))
        c.api.create(without({"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": "t"}, "spec": {"tfReplicaSpecs": {
            "Worker": dict(template("tensorflow"), replicas=2)}}}, "tfReplicaSpecs"))
        c.until(c.holds("mpijobs", "m", "Running"), "an MPIJob whose launcher runs what its image says")
        c.until(c.holds("tfjobs", "t", "Running"), "a TFJob likewise")
        c.end(c.launcher("m"), 0)
        c.until(c.holds("mpijobs", "m", "Succeeded"), "ends with it")
        time.sleep(1)
        same(c.holds("tfjobs", "t", "Succeeded")(), False, "goes on as long as its pods")
        c.end("t-worker-1", 0)
        c.end("t-worker-0", 0)
        c.until(c.holds("tfjobs", "t", "Succeeded"), "and ends with them")


def test_launcher_as_worker():
    with Cluster() as c:
        c.api.create(mpijob("both", runLauncherAsWorker=True))
        c.until(c.holds("mpijobs", "both", "Running"), "a job whose launcher is a worker runs")
        before = [c.api.get("pods", "both-worker-%d" % i)["metadata"]["uid"] for i in range(2)]
        c.end("both-worker-1", 137)
        c.until(lambda: (c.api.get("pods", "both-worker-1") or {"metadata": {"uid": before[1]}})["metadata"]["uid"] != before[1],
                "a worker that was killed comes again")
        same(c.api.get("pods", "both-worker-0")["metadata"]["uid"], before[0], "workers are told apart")
        c.api.create({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "x"}]}, "metadata": {
            "name": "stranger", "labels": {"training.kubeflow.org/job-name": "both", "training.kubeflow.org/operator-name": "mpi-operator",
                                           "training.kubeflow.org/job-role": "worker", "training.kubeflow.org/replica-index": "4000000000"}}})
        time.sleep(1)
        same(c.operator.poll(), None, "a pod with a strange number does no harm")


def test_gang():
    if "--gang-scheduling" not in subprocess.run([OPERATOR, "--help"], stdout=subprocess.PIPE, check=False).stdout.decode():
        print("# SKIP gang: the operator has no --gang-scheduling")
        return
    with Cluster("--gang-scheduling", "volcano") as c:
        c.held.update(["gang-worker-0", "gang-worker-1"])
        c.api.create(mpijob("gang", policy={"cleanPodPolicy": "Running", "schedulingPolicy": {"queue": "a"}}))
        c.until(lambda: c.launcher("gang"), "the launcher is created with its workers")
        same(c.api.get("podgroups", "gang")["spec"], {"minMember": 3, "queue": "a", "minResources": {}}, "they are a group")
        c.api.patch("mpijobs", "gang", {"spec": {"runPolicy": {"schedulingPolicy": {"queue": "b", "minAvailable": 2}}}})
        c.until(lambda: c.api.get("podgroups", "gang")["spec"]["queue"] == "b", "the group follows the job's policy")
        same(c.api.get("podgroups", "gang")["spec"]["minMember"], 2, "all of it")
        c.held.clear()
        c.until(c.holds("mpijobs", "gang", "Running"), "it runs")
        c.end(c.launcher("gang"), 0)
        c.until(c.holds("mpijobs", "gang", "Succeeded"), "and ends")
        c.until(lambda: not c.api.names("podgroups"), "without a group")

        c.held.add("wait-worker-0")
        c.api.create(mpijob("wait", workers=1, launcherCreationPolicy="WaitForWorkersReady"))
        c.until(lambda: c.api.get("pods", "wait-worker-0"), "another one has a worker")
        same(c.api.get("podgroups", "wait")["spec"]["minMember"], 1, "a launcher that waits is not counted")
        time.sleep(1)
        same(c.launcher("wait"), None, "and is not there yet")
        c.held.clear()
        c.until(c.holds("mpijobs", "wait", "Running"), "it runs")
        c.api.patch("mpijobs", "wait", {"spec": {"runPolicy": {"suspend": True}}})
        c.until(c.holds("mpijobs", "wait", "Suspended"), "it is suspended")
        c.until(lambda: not c.api.names("podgroups"), "a suspended job has no group")
        c.api.patch("mpijobs", "wait", {"spec": {"runPolicy": {"suspend": False}}})
        c.until(c.holds("mpijobs", "wait", "Running"), "a resumed one runs")
        same(c.api.names("podgroups"), ["wait"], "and has one")


def test_worker_fails():
    with Cluster() as c:
        for version in ["v2beta1", "v1"]:
            c.api.create(mpijob(version, version))
            c.until(c.holds("mpijobs", version, "Running"), "%s runs" % version)
            c.api.logs[version + "-worker-1"] = "it begins\n\tcannot\x1b go on\n"
            c.end(version + "-worker-1", 1)
            c.until(c.holds("mpijobs", version, "Failed"), "a worker that fails ends it")
            same(c.condition("mpijobs", version, "Failed")["reason"], "MPIJobFailed", "with upstream's reason")
            ok(c.condition("mpijobs", version, "Failed")["message"].endswith(
                "First failure: worker-1 exited with status 1. Last lines of %s-worker-1:\nit begins\n cannot  go on" % version),
               "which is named, with its last lines")
            c.until(lambda: not c.launcher(version), "its launcher does not go on")


def test_expires():
    with Cluster() as c:
        c.api.create(mpijob("short", policy={"ttlSecondsAfterFinished": 2}))
        c.api.create(mpijob("long", policy={"ttlSecondsAfterFinished": 1000}))
        for name in ["short", "long"]:
            c.until(c.holds("mpijobs", name, "Running"), "%s runs" % name)
            c.end(c.launcher(name), 0)
            c.until(c.holds("mpijobs", name, "Succeeded"), "and ends")
        c.until(lambda: not c.api.get("mpijobs", "short"), "an object is deleted when its time is over")
        same(c.api.names("configmaps"), ["long-agent", "long-config"], "with all that it owns")
        ok(c.api.get("mpijobs", "long"), "not before")
        c.operator.kill()
        c.operator.wait()
        c.api.patch("mpijobs", "long", {"spec": {"runPolicy": {"ttlSecondsAfterFinished": 0}}})
        c.begin()
        c.until(lambda: not c.api.get("mpijobs", "long"), "an operator that comes later deletes what has ended before")


def test_deadline():
    with Cluster() as c:
        c.held.add("stuck-worker-0")
        c.api.create({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "stuck"}, "spec": {
            "runPolicy": {"activeDeadlineSeconds": 3}, "pytorchReplicaSpecs": {"Worker": dict(template("pytorch"), replicas=1)}}})
        c.until(c.holds("pytorchjobs", "stuck", "Failed"), "a deadline ends a job whose pod never starts")
        ok("active longer than specified deadline" in c.condition("pytorchjobs", "stuck", "Failed")["message"], "and it is told")


def test_launcher_job():
    with Cluster() as c:
        once = mpijob("once", policy={"backoffLimit": 0})
        once["spec"]["mpiReplicaSpecs"]["Launcher"]["restartPolicy"] = "Never"
        c.api.create(once)
        c.until(c.holds("mpijobs", "once", "Running"), "a launcher that is not restarted")
        c.end(c.launcher("once"), 3)
        c.until(c.holds("mpijobs", "once", "Failed"), "fails")
        same(c.condition("mpijobs", "once", "Failed")["reason"], "BackoffLimitExceeded/Error", "which is told with its pod's reason")
        same(c.condition("mpijobs", "once", "Failed")["message"],
             "Job has reached the specified backoff limit. First failure: launcher-0 exited with status 3.", "and message")

        c.api.create(mpijob("gone"))
        c.until(c.holds("mpijobs", "gone", "Running"), "a job runs")
        # the Job gives up, as it does after an eviction, and its pod is gone
        c.api.patch("jobs", "gone-launcher", {"status": {"conditions": [
            {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}]}})
        c.api.delete("pods", c.launcher("gone"))
        c.until(c.holds("mpijobs", "gone", "Failed"), "a Job that has failed without a pod ends the job", 60)
        same(c.condition("mpijobs", "gone", "Failed")["reason"], "BackoffLimitExceeded", "with its reason")

        c.api.create(mpijob("again"))
        c.until(c.holds("mpijobs", "again", "Running"), "another one runs")
        before = c.api.get("jobs", "again-launcher")["metadata"]["uid"]
        c.api.delete("jobs", "again-launcher")
        c.until(lambda: (c.api.get("jobs", "again-launcher") or {"metadata": {"uid": before}})["metadata"]["uid"] != before,
                "a Job that somebody has deleted is made again", 60)


def test_resize():
    with Cluster() as c:
        script = lambda: c.api.get("configmaps", "grow-config")["data"]["discover_hosts.sh"].count("echo")  # noqa: E731
        files = lambda: c.api.get("configmaps", "grow-config")["data"]["hostfile"].count("\n")  # noqa: E731
        c.api.create(mpijob("grow"))
        c.until(c.holds("mpijobs", "grow", "Running"), "a job runs")
        c.until(lambda: script() == 2, "discover_hosts.sh has its workers")
        launcher = c.launcher("grow")
        uids = [c.api.get("pods", p)["metadata"]["uid"] for p in (launcher, "grow-worker-0")]
        c.held.add("grow-worker-3")
        c.api.patch("mpijobs", "grow", {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 4}}}})
        c.until(lambda: c.api.get("pods", "grow-worker-3"), "with more workers there are more pods")
        c.until(lambda: script() == 3 and files() == 4, "those that run are in discover_hosts.sh, all in the hostfile")
        c.held.clear()
        c.until(lambda: script() == 4, "later the last one, too")
        c.api.patch("mpijobs", "grow", {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 1}}}})
        c.until(lambda: c.api.names("pods") == sorted([launcher, "grow-worker-0"]), "with fewer workers pods are removed")
        c.until(lambda: script() == 1 and files() == 1, "and the files say so")
        same([c.api.get("pods", p)["metadata"]["uid"] for p in (launcher, "grow-worker-0")], uids, "others go on")
        c.until(lambda: c.api.get("mpijobs", "grow")["status"]["replicaStatuses"]["Worker"].get("active") == 1, "the status counts them")
        c.end(launcher, 0)
        c.until(c.holds("mpijobs", "grow", "Succeeded"), "its end is seen")

        c.api.create({"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": "dyn"}, "spec": {"enableDynamicWorker": True,
                      "tfReplicaSpecs": {"Worker": dict(template("tensorflow"), replicas=2), "PS": dict(template("tensorflow"), replicas=1)}}})
        c.until(c.holds("tfjobs", "dyn", "Running"), "a TFJob runs")
        c.api.patch("tfjobs", "dyn", {"spec": {"tfReplicaSpecs": {"Worker": {"replicas": 1}}}})
        c.until(lambda: [p for p in c.api.names("pods") if p.startswith("dyn")] == ["dyn-ps-0", "dyn-worker-0"], "its workers can be fewer")
        c.until(lambda: [p for p in c.api.names("services") if p.startswith("dyn")] == ["dyn-ps-0", "dyn-worker-0"], "their services, too")
        c.end("dyn-worker-0", 0)
        c.until(c.holds("tfjobs", "dyn", "Succeeded"), "its end is seen")


def test_elastic():
    with Cluster() as c:
        scaler = lambda: c.api.get("horizontalpodautoscalers", "e")  # noqa: E731
        metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]
        c.api.create({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "e"}, "spec": {
            "elasticPolicy": {"minReplicas": 1, "maxReplicas": 3, "metrics": metrics},
            "pytorchReplicaSpecs": {"Worker": dict(template("pytorch"), replicas=1)}}})
        c.until(c.holds("pytorchjobs", "e", "Running"), "an elastic PyTorchJob runs")
        same(scaler()["spec"], {"scaleTargetRef": {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "e"},
                                "minReplicas": 1, "maxReplicas": 3, "metrics": metrics}, "it has an autoscaler")
        c.api.patch("pytorchjobs", "e", {"spec": {"elasticPolicy": {"maxReplicas": 4}, "pytorchReplicaSpecs": {"Worker": {"replicas": 2}}}})
        c.until(lambda: c.api.names("pods") == ["e-worker-0", "e-worker-1"], "which may add workers")
        c.until(lambda: c.api.get("pytorchjobs", "e")["status"]["replicaStatuses"]["Worker"].get("active") == 2, "they count")
        c.until(lambda: scaler()["spec"]["maxReplicas"] == 4, "it follows the job's policy")
        c.api.patch("pytorchjobs", "e", {"spec": {"runPolicy": {"suspend": True}}})
        c.until(lambda: not scaler() and not c.api.names("pods"), "a suspended job has none")
        c.api.patch("pytorchjobs", "e", {"spec": {"runPolicy": {"suspend": False}}})
        c.until(c.holds("pytorchjobs", "e", "Running"), "a resumed one runs")
        ok(scaler(), "and has one")


def test_others():
    with Cluster() as c:
        theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine-config"}, "data": {"a": "b"}}
        c.api.create(theirs)
        c.api.create(mpijob("mine"))
        c.until(lambda: "ErrResourceExists" in c.reasons(), "an object of another's is told")
        same(c.api.get("configmaps", "mine-config")["data"], {"a": "b"}, "and stays as it is")
        same(c.api.names("pods"), [], "nothing runs with it")
        c.api.delete("configmaps", "mine-config")
        c.until(c.holds("mpijobs", "mine", "Running"), "without it the job runs", 40)

        earlier = [{"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "name": "anew", "uid": "u0", "controller": True}]
        for kind in ["Secret", "Service"]:
            c.api.create({"apiVersion": "v1", "kind": kind, "metadata": {
                "name": "anew-ssh" if kind == "Secret" else "anew", "ownerReferences": earlier}})
        uid = c.api.create(mpijob("anew"))["metadata"]["uid"]
        c.until(lambda: c.api.get("configmaps", "anew-config"), "a job that was deleted and made again")
        time.sleep(1)
        same([p for p in c.api.names("pods") if p.startswith("anew")], [], "waits for what the earlier one leaves")
        c.api.delete("secrets", "anew-ssh")
        c.api.delete("services", "anew")
        c.until(c.holds("mpijobs", "anew", "Running"), "and then runs", 40)
        same([c.api.get(*o)["metadata"]["ownerReferences"][0]["uid"] for o in (("secrets", "anew-ssh"), ("services", "anew"))], [uid, uid],
             "with objects of its own")
        same(c.reasons().count("ErrResourceExists"), 1, "nobody is told of others")
        same(c.api.asked("GET", "/secrets"), 0, "and no secret is read")
        c.operator.kill()
        c.operator.wait()
        before = c.api.get("secrets", "anew-ssh")["metadata"]["uid"]
        c.api.delete("pods", "anew-worker-0")
        c.begin()
        c.until(lambda: c.api.get("pods", "anew-worker-0"), "an operator that comes later finds the objects of the job", 10)
        same(c.api.get("secrets", "anew-ssh")["metadata"]["uid"], before, "and uses them")


def test_suspended():
    with Cluster() as c:
        c.api.create(mpijob("queue", policy={"suspend": True}))
        c.until(c.holds("mpijobs", "queue", "Suspended"), "a job is suspended from the beginning")
        c.until(lambda: c.api.get("jobs", "queue-launcher"), "it has the Job of its launcher")
        same(c.api.get("jobs", "queue-launcher")["spec"].get("suspend"), True, "which is suspended")
        same((c.api.names("configmaps"), c.api.names("secrets"), c.api.names("services"), c.api.names("pods")),
             (["queue-agent", "queue-config"], ["queue-agent", "queue-ssh"], ["queue"], []), "and all others, but no pods")
        c.api.patch("mpijobs", "queue", {"spec": {"runPolicy": {"suspend": False}, "mpiReplicaSpecs": {
            "Launcher": {"template": {"spec": {"nodeSelector": {"pool": "a"}}}}, "Worker": {"template": {"spec": {"nodeSelector": {"pool": "b"}}}}}}})
        c.until(c.holds("mpijobs", "queue", "Running"), "it is resumed")
        same(c.api.get("pods", c.launcher("queue"))["spec"].get("nodeSelector"), {"pool": "a"}, "its launcher as the queue has placed it")
        same(c.api.get("pods", "queue-worker-0")["spec"].get("nodeSelector"), {"pool": "b"}, "its workers, too")
        for _ in range(2):
            c.api.patch("mpijobs", "queue", {"spec": {"runPolicy": {"suspend": True}}})
            c.until(c.holds("mpijobs", "queue", "Suspended"), "it is suspended")
            c.until(lambda: not c.api.names("pods"), "without pods")
            c.api.patch("mpijobs", "queue", {"spec": {"runPolicy": {"suspend": False}}})
            c.until(c.holds("mpijobs", "queue", "Running"), "and resumed again")
        c.end(c.launcher("queue"), 0)
        c.until(c.holds("mpijobs", "queue", "Succeeded"), "and ends")


def test_suspended_by_annotation():
    with Cluster() as c:
        note = lambda value: c.api.patch("mpijobs", "old", {"metadata": {"annotations": {"muster.internal/suspend": value}}})  # noqa: E731
        c.api.create(mpijob("old", "v1alpha2"))
        c.until(c.holds("mpijobs", "old", "Running"), "a job whose version has no field to suspend it")
        note("true")
        c.until(c.holds("mpijobs", "old", "Suspended"), "is suspended by an annotation")
        c.until(lambda: not c.api.names("pods"), "without pods")
        note("false")
        c.until(c.holds("mpijobs", "old", "Running"), "and resumed")
        c.end(c.launcher("old"), 0)
        c.until(c.holds("mpijobs", "old", "Succeeded"), "and ends")


def test_lost_before_start():
    """A node is lost while a container is being created: the pod is said to have failed, and then it is gone."""
    with Cluster() as c:
        c.held.add("lost-worker-1")
        c.api.create(mpijob("lost"))
        c.until(lambda: c.api.get("pods", "lost-worker-1"), "a worker is not started yet")
        c.api.patch("pods", "lost-worker-1", {"metadata": {"deletionTimestamp": now()}, "spec": {"nodeName": "node"}, "status": {
            "phase": "Failed", "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager",
                                               "message": "Taint manager: deleting due to NoExecute taint"}]}})
        time.sleep(1)
        c.api.delete("pods", "lost-worker-1")
        c.until(lambda: c.api.get("pods", "lost-worker-1"), "when its pod is gone, another one is made")
        c.held.clear()
        c.until(c.holds("mpijobs", "lost", "Running"), "with that the job runs")
        same(c.api.get("pods", "lost-worker-1")["metadata"]["annotations"]["muster.internal/start"], "1.2", "it is the second start, not the third")


def test_waiting():
    with Cluster() as c:
        created = lambda: c.condition("mpijobs", "wait", "Created").get("message", "")  # noqa: E731
        c.held |= {"wait-worker-0", "wait-worker-1"}
        c.api.create(mpijob("wait"))
        c.until(lambda: len(c.api.names("pods")) >= 2, "a job whose workers cannot start")
        for name in ["wait-worker-0", "wait-worker-1"]:
            c.pod(name, "Pending", {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "i"'}})
        c.until(lambda: "Waiting" in c.reasons(), "what it waits for is an event")
        c.until(lambda: "is created. Waiting: 2 of 2 workers pending: " in created(), "with numbers, in its status too")
        ok("image i" in created() or '"i"' in created(), "and the image is named")
        same(len([r for r in c.reasons() if r == "Waiting"]), 1, "once for both")
        for name in ["wait-worker-0", "wait-worker-1"]:
            c.pod(name, "Running", {"running": {"startedAt": now()}})
        c.until(c.holds("mpijobs", "wait", "Running"), "when they start, it runs")
        c.until(lambda: created().endswith("is created."), "and waits for nothing")


def noted(job, **notes):
    job["metadata"]["annotations"] = {"muster.internal/" + k: v for k, v in notes.items()}
    return job


def test_debug():
    with Cluster() as c:
        waits = ["sleep", "365d"]
        undo = {"metadata": {"annotations": {"muster.internal/debug": None}}}
        for version in ["v2beta1", "v1"]:  # a launcher that is a Job; one that is a pod
            c.api.create(noted(mpijob(version, version), debug="true"))
            c.until(lambda: c.launcher(version) and c.api.get("pods", version + "-worker-0"), "%s: a job that is debugged has its pods" % version)
            first = c.api.get("pods", c.launcher(version))
            same(command(first), waits, "its launcher waits")
            same(command(c.api.get("pods", version + "-worker-0"))[-1:], ["x"], "its workers run what they are reached by")
            uid = c.api.get("pods", version + "-worker-0")["metadata"]["uid"]
            if version == "v1":  # what is debugged outlives the operator
                c.until(lambda: "debugging" in c.api.get("mpijobs", version)["metadata"]["annotations"].get("muster.internal/state", ""), "it is kept")
                c.operator.kill()
                c.operator.wait()
                c.api.patch("mpijobs", version, undo)
                c.begin()
            else:
                c.api.patch("mpijobs", version, undo)
            c.until(lambda: c.launcher(version) and "sleep" not in command(c.api.get("pods", c.launcher(version))), "then it runs its command")
            c.until(lambda: (c.api.get("pods", version + "-worker-0") or first)["metadata"]["uid"] != uid, "in pods that are new")
            c.until(c.holds("mpijobs", version, "Running"), "and runs")
            c.end(c.launcher(version), 0)
            c.until(c.holds("mpijobs", version, "Succeeded"), "to its end")

        c.api.create(noted({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "p"}, "spec": {"pytorchReplicaSpecs": {
            "Master": dict(template("pytorch"), replicas=1), "Worker": dict(template("pytorch"), replicas=1)}}}, debug="worker"))
        c.until(lambda: c.api.get("pods", "p-worker-0"), "one of whose roles is debugged")
        same([command(c.api.get("pods", n)) for n in ["p-master-0", "p-worker-0"]], [["x"], waits], "and the other one runs")
        c.api.create(noted(mpijob("none"), debug="nobody"))
        c.until(lambda: "ValidationError" in c.reasons(), "a role that there is not")
        ok("role nobody not found" in event(c, "ValidationError")["message"], "is named")


def test_adopted():
    """Pods of mpi-operator 0.3.0, which has labels of its own, while it is replaced."""
    with Cluster() as c:
        c.operator.kill()
        c.operator.wait()
        job = c.api.create(mpijob("old", "v1", policy={"cleanPodPolicy": "Running"}))
        owner = [{"apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "name": "old", "uid": job["metadata"]["uid"], "controller": True}]
        for name, role in [("old-launcher", "launcher"), ("old-worker-0", "worker"), ("old-worker-1", "worker")]:
            c.api.create({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "x", "command": ["x"]}]}, "metadata": {
                "name": name, "ownerReferences": owner, "labels": {"group-name": "kubeflow.org", "mpi-job-name": "old", "mpi-job-role": role}}})
        c.api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "old-config", "ownerReferences": owner},
                      "data": {"kubexec.sh": "theirs", "hostfile": ""}})
        before = {n: c.api.get("pods", n)["metadata"]["uid"] for n in c.api.names("pods")}
        c.move()
        c.begin()
        c.until(c.holds("mpijobs", "old", "Running"), "a job of mpi-operator 0.3.0 runs on")
        c.until(lambda: c.api.get("configmaps", "old-config")["data"]["hostfile"], "its files follow its workers")
        same(c.api.get("configmaps", "old-config")["data"]["kubexec.sh"], "theirs", "but for the way to them")
        same({n: c.api.get("pods", n)["metadata"]["uid"] for n in c.api.names("pods")}, before, "in the same pods")
        c.end("old-launcher", 0)
        c.until(c.holds("mpijobs", "old", "Succeeded"), "and ends")
        c.until(lambda: c.api.names("pods") == ["old-launcher"], "its workers are removed")
        same(c.api.asked("POST", "/pods"), 0, "no pod was created")


def test_later_operator():
    with Cluster() as c:
        c.api.create(mpijob("kept", policy={"suspend": True}))
        c.until(c.holds("mpijobs", "kept", "Suspended"), "a job whose state is kept")
        c.api.patch("mpijobs", "kept", {"spec": {"runPolicy": {"suspend": False}}})
        c.until(c.holds("mpijobs", "kept", "Running"), "runs")
        c.api.delete("pods", "kept-worker-0")
        c.until(lambda: c.api.get("pods", "kept-worker-0"), "a lost worker comes again")
        c.until(lambda: "process" in c.api.get("mpijobs", "kept")["metadata"]["annotations"].get("muster.internal/state", ""), "which is kept")
        c.operator.kill()
        c.operator.wait()
        c.begin()
        time.sleep(1)
        c.end(c.launcher("kept"), 0)
        c.until(c.holds("mpijobs", "kept", "Succeeded"), "an operator that comes later sees its end")


def ranks(code, size=4, host="hidden-worker-1"):
    """What muster-records writes of a rank that failed."""
    return 'mine\nmuster-ranks: {"launches":[{"size":%d,"program":7,"began":900,"over":20,"ok":3,"failed":1,"stopped":0,' \
        '"lost":0,"first":[{"rank":3,"host":"%s","ago":31,"code":%d}]}]}' % (size, host, code)


def test_records():
    said = "First failure: rank 3 on worker-1 exited with status 7."
    with Cluster() as c:
        c.api.create(mpijob("told", policy={"backoffLimit": 0}))
        c.until(c.holds("mpijobs", "told", "Running"), "a job whose ranks are recorded runs")
        same(command(c.api.get("pods", c.launcher("told")))[:4], ["/opt/muster/muster-shim", "launch", "/opt/muster", "--"],
             "its launcher below the recorder")
        ok(c.api.get("configmaps", "told-agent")["binaryData"]["muster-shim"], "which a ConfigMap brings")
        c.api.logs[c.launcher("told")] = "rank 3: no such dataset\n"
        c.pod(c.launcher("told"), "Failed", {"terminated": {"exitCode": 1, "finishedAt": now(), "message": ranks(7, host="told-worker-1")}})
        c.until(c.holds("mpijobs", "told", "Failed"), "it fails")
        message = c.condition("mpijobs", "told", "Failed")["message"]
        ok(said in message, "with the rank in its condition")
        ok("no such dataset" in message, "and the last lines of its launcher, where a rank's output is")
        same(c.condition("mpijobs", "told", "Failed")["reason"], "BackoffLimitExceeded", "the reason is upstream's")

        c.api.create(mpijob("hidden"))
        c.until(c.holds("mpijobs", "hidden", "Running"), "another one")
        c.pod(c.launcher("hidden"), "Succeeded", {"terminated": {"exitCode": 0, "finishedAt": now(), "message": ranks(7)}})
        c.until(c.holds("mpijobs", "hidden", "Succeeded"), "ends as its launcher did")
        ok("However, rank 3 on worker-1 exited with status 7." in c.condition("mpijobs", "hidden", "Succeeded")["message"],
           "and says that a rank has failed")
        same(event(c, "MPIJobSucceeded")["type"], "Warning", "so does its event, as a warning")
        same(c.api.get("mpijobs", "hidden")["metadata"]["annotations"].get("muster.internal/exit-code"), "7", "and its exit code is the rank's")

        c.api.create(mpijob("again", policy={"backoffLimit": 3}))
        c.until(c.holds("mpijobs", "again", "Running"), "one that is tried again")
        first = c.launcher("again")
        c.pod(first, "Running", {"running": {"startedAt": now()}}, restartCount=1,
              lastState={"terminated": {"exitCode": 1, "finishedAt": now(), "message": ranks(7, host="again-worker-1")}})
        time.sleep(1)
        c.pod(first, "Succeeded", {"terminated": {"exitCode": 0, "finishedAt": now()}}, restartCount=1)
        c.until(c.holds("mpijobs", "again", "Succeeded"), "and succeeds")
        ok("However" not in c.condition("mpijobs", "again", "Succeeded")["message"], "is not blamed for the first time")

        job = mpijob("plain")
        job["metadata"]["annotations"] = {"muster.internal/rank-records": "false"}
        c.api.create(job)
        c.until(c.holds("mpijobs", "plain", "Running"), "one that has said no")
        same(command(c.api.get("pods", c.launcher("plain"))), ["x"], "runs its command")
        same(c.api.get("configmaps", "plain-agent"), None, "and nothing of ours is in it")


def test_records_t9k():
    with Cluster() as c:
        c.api.create({"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "MPIJob", "metadata": {"name": "t"}, "spec": {
            "worker": {"replicas": 2, "cmd": ["x"], "template": {"spec": {"containers": [{"name": "mpi-worker", "image": "i"}]}}}}})
        c.until(lambda: c.api.get("mpijobs", "t").get("status", {}).get("phase") == "Running", "a job of T9k's runs")
        same(command(c.api.get("pods", "t-launcher"))[:5], ["/opt/muster/muster-shim", "launch", "/opt/muster", "--", "mpirun"], "recorded")
        c.pod("t-launcher", "Succeeded", {"terminated": {"exitCode": 0, "finishedAt": now(), "message": ranks(7, host="t-worker-1")}})
        c.until(lambda: c.api.get("mpijobs", "t")["status"]["phase"] == "Succeeded", "and ends")
        same(c.condition("mpijobs", "t", "ReplicaFailure")["status"], "True", "its rank is told as T9k's kind does")


if not os.access(OPERATOR, os.X_OK):
    print("1..0 # SKIP no muster-operator was built")
    sys.exit(0)
for test in [v for k, v in list(globals().items()) if k.startswith("test_") and (len(sys.argv) < 2 or sys.argv[1] in k)]:
    print("# " + test.__name__, flush=True)
    test()
print("1..%d" % count)
