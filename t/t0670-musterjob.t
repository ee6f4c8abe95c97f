#!/usr/bin/env python3
"""MusterJobs from `muster submit` to their end: muster-operator, real shims in pods that are processes of this machine, and an
API server of the test's own (lib/fake_pods.py). A real cluster is in t/kubernetes/musterjob.t."""
import atexit
import json
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
from fake_pods import Cluster, works  # noqa: E402

MUSTER = os.environ.get("MUSTER", str(TOP / "build" / "muster"))
BUILD = pathlib.Path(MUSTER).parent
count = 0


def ok(got, name):
    global count
    count += 1
    print("%s %d - %s" % ("ok" if got else "not ok", count, name), flush=True)
    return got


def same(got, expected, name):
    if not ok(got == expected, name):
        print("# got      %r\n# expected %r" % (got, expected), file=sys.stderr, flush=True)


def like(got, part, name):
    if not ok(part in (got or ""), name):
        print("# got      %r\n# lacks    %r" % (got, part), file=sys.stderr, flush=True)


if not works():
    print("1..0 # SKIP mount namespaces are not allowed here")
    sys.exit(0)
SHIM, OPERATOR, RUNNER = BUILD / "muster-shim-pod", BUILD / "muster-operator", MUSTER
if os.environ.get("MUSTER_SAN"):
    # A sanitized shim is too large for a ConfigMap: operator and muster have the other build's, if there is one.
    SHIM = TOP / "build" / "muster-shim-pod"
    if not SHIM.exists():
        print("1..0 # SKIP build/muster-shim-pod is not built")
        sys.exit(0)
    BESIDE = tempfile.mkdtemp(prefix="mt.")
    atexit.register(shutil.rmtree, BESIDE, True)
    OPERATOR = shutil.copy(OPERATOR, BESIDE)
    shutil.copy(BUILD / "muster-kubernetes", BESIDE)
    RUNNER = shutil.copy(MUSTER, BESIDE)
    shutil.copy(SHIM, BESIDE)


class World:
    """A cluster with an operator, and a directory to submit from."""

    def __init__(self, *options):
        self.dir = tempfile.mkdtemp(prefix="mt.")
        self.options = options
        self.api = Cluster(str(SHIM), self.dir)
        self.api.kubeconfig(self.dir + "/config")
        self.env = dict(os.environ, KUBECONFIG=self.dir + "/config", HOME=self.dir)
        self.begin()

    def begin(self):
        self.log = open(self.dir + "/log", "ab")
        self.operator = subprocess.Popen([str(OPERATOR), "--namespace", "n", *self.options], stderr=self.log, env=self.env)

    def kill(self):
        self.operator.send_signal(signal.SIGKILL)
        self.operator.wait()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.operator.send_signal(signal.SIGTERM)
        same(self.operator.wait(20), 0, "the operator ends when it is told to")
        self.api.end()
        if args[0]:
            print(open(self.dir + "/log").read()[-4000:], file=sys.stderr)
        subprocess.call(["rm", "-rf", self.dir])

    def file(self, name, text):
        path = pathlib.Path(self.dir, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def submit(self, *words):
        try:
            p = subprocess.run([MUSTER, "submit", "--on", "kubernetes", "--namespace", "n", *words], env=self.env, capture_output=True,
                               text=True, timeout=120)
        except subprocess.TimeoutExpired:
            self.show()
            raise
        self.said = p.stderr
        self.code = p.returncode
        if p.returncode:
            print("\n".join("# " + line for line in p.stderr.splitlines()), file=sys.stderr)
        return p.stdout.strip()

    def status(self, name):
        return (self.api.get("musterjobs", name) or {}).get("status", {})

    def condition(self, name, kind):
        return next((c for c in self.status(name).get("conditions", []) if c["type"] == kind), {})

    def pods(self, name):
        return [p for p in self.api.names("pods") if p.startswith(name + "-")]

    def output(self, name):
        return "".join(sorted((self.api.root(p) / "log").read_text() for p in self.pods(name)))

    def until(self, what, name, patience=90):
        give_up = time.time() + patience
        while time.time() < give_up:
            if what():
                return ok(True, name)
            time.sleep(0.05)
        self.show()
        return ok(False, name)

    def show(self):
        """What there is, for who has to find out why a test failed."""
        print(open(self.dir + "/log").read()[-3000:], file=sys.stderr)
        for n in self.api.names("musterjobs"):
            print("# %s" % json.dumps(self.api.get("musterjobs", n)), file=sys.stderr)
        for n in self.api.names("pods"):
            print("# %s %s" % (n, json.dumps(self.api.get("pods", n).get("status"))), file=sys.stderr)
        for request in self.api.requests[-20:]:
            print("# %s %s" % request, file=sys.stderr)

    def ends(self, name, phase):
        self.until(lambda: self.status(name).get("phase") in ("Succeeded", "Failed", "Invalid"), "%s ends" % name)
        same(self.status(name).get("phase"), phase, "as %s" % phase)

    def events(self):
        return [(e["reason"], e["message"]) for e in (self.api.get("events", n) for n in self.api.names("events"))]


def worker(command, **more):
    spec = {"roles": {"worker": dict({"replicas": 2, "image": "i", "command": command}, **more.pop("role", {}))}}
    return dict(spec, **more)


def musterjob(name, spec, **meta):
    return {"apiVersion": "muster.internal/v1", "kind": "MusterJob", "metadata": dict({"name": name}, **meta), "spec": spec}


def test_submit():
    """Files of four dialects: an id on stdout and nothing else; the job runs and its object says how it ended."""
    with World() as w:
        hello = str(TOP / "examples/muster/hello.yaml")
        name = w.submit("--image", "*=busybox", hello)
        same((w.code, name.startswith("hello-"), len(name.splitlines())), (0, True, 1), "submit prints the id")
        w.ends(name, "Succeeded")
        same(w.status(name)["verdict"], "succeeded: 4 ranks on 2 workers exited with status 0", "the verdict is in the status")
        same((w.status(name)["exitCode"], w.status(name)["roles"]), (0, {"worker": {"replicas": 2, "succeeded": 2}}), "and the rest")
        same(sorted(line.split(" on ")[0] for line in w.output(name).splitlines()), ["rank %d of 4" % i for i in range(4)],
             "logs of containers have what ranks wrote")
        again = w.submit("--image", "*=busybox", hello)
        ok(again != name, "the same file can be submitted again")
        w.ends(again, "Succeeded")
        w.until(lambda: all(w.api.get("pods", p)["status"]["phase"] == "Succeeded" for p in w.pods(name)), "its pods have ended and are kept")

        # OpenPAI: its variables, its rule of completion, and code that comes along
        w.file("pai/go.sh", "echo $PAI_CURRENT_TASK_ROLE_NAME-$PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX of $PAI_JOB_NAME; exit $1\n")
        pai = w.file("pai/job.yaml", """protocolVersion: 2
name: pai_job
type: job
prerequisites: [{name: img, type: dockerimage, uri: some/image}]
taskRoles:
  zeta: {instances: 1, completion: {minFailedInstances: 1, minSucceededInstances: 1}, dockerImage: img,
         resourcePerInstance: {cpu: 1, memoryMB: 64, gpu: 0}, commands: ["sleep 0.3; bash go.sh 0"]}
  alpha: {instances: 1, completion: {minFailedInstances: -1}, dockerImage: img,
          resourcePerInstance: {cpu: 1, memoryMB: 64, gpu: 0}, commands: [bash go.sh 3]}
""")
        name = w.submit("--code", w.dir + "/pai", pai)
        w.ends(name, "Succeeded")
        same(sorted(w.output(name).splitlines()), ["alpha-0 of ~pai_job", "zeta-0 of ~pai_job"], "an OpenPAI job has its variables and its code")
        same(w.status(name)["platform"]["jobStatus"]["state"], "SUCCEEDED", "its own words are in the status")
        like(w.status(name)["verdict"], "alpha", "and the verdict names the failure that its rule tolerates")
        same([o["uid"] for o in w.api.get("configmaps", name + "-code")["metadata"]["ownerReferences"]],
             [w.api.get("musterjobs", name)["metadata"]["uid"]], "the ConfigMap with the code goes with the job")

        # Azure ML: the directory beside the file is its code
        w.file("aml/src/train.sh", "echo $AZUREML_RUN_ID | wc -w; ls; echo node $NODE_RANK of $WORLD_SIZE > out; cat out\n")
        aml = w.file("aml/job.yaml", """$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
command: bash train.sh
code: ./src
environment: azureml:some@latest
compute: azureml:cluster
distribution: {type: pytorch, process_count_per_instance: 1}
resources: {instance_count: 2}
""")
        name = w.submit("--image", "*=pytorch", aml)
        w.ends(name, "Succeeded")
        like(w.output(name), "node 1 of 2", "an Azure ML job runs in a directory that it can write to")
        same(w.submit("--image", "*=pytorch", "--set", "code=/usr/share", aml), "", "code that is too large is refused")
        like(w.said, "--code-volume", "with what to do")


def test_refusals():
    with World() as w:
        hello = str(TOP / "examples/muster/hello.yaml")
        same((w.submit(hello), w.code), ("", 1), "a job without an image is refused")
        like(w.said, "--image", "with the option that helps")
        same((w.submit(w.file("bad.yaml", "apiVersion: muster/v1\nname: x\nroles: {w: {replcas: 1}}\n")), w.code), ("", 2), "a bad file, too")
        like(w.said, "did you mean `replicas`?", "with the messages of validate")
        pai = w.file("secret.yaml", """protocolVersion: 2
name: s
type: job
prerequisites: [{name: img, type: dockerimage, uri: i}]
secrets: {key: abc}
taskRoles: {w: {instances: 1, dockerImage: img, resourcePerInstance: {cpu: 1, memoryMB: 64, gpu: 0}, commands: ["echo <% $secrets.key %>"]}}
""")
        same((w.submit(pai), w.code), ("", 1), "a command with a secret of the file is not sent")
        like(w.said, "contains a secret", "and that is told")
        same(w.api.names("musterjobs"), [], "nothing of these was created")
        same((w.submit("--count", "2", hello), w.code), ("", 2), "an option of the daemon's queue is refused")
        like(w.said, "--count is not supported with --on kubernetes", "and that is told")


def test_beside():
    """What stands beside the job in its file is applied first, and roles keep the order of the file."""
    with World() as w:
        name = w.submit("--wait", w.file("two.yaml", """apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: "1"}
---
apiVersion: muster/v1
name: ordered
roles:
  worker: {replicas: 2, image: i, env: {B: one, A: $(B)x}, command: "echo worker $RANK $A"}
  ps: {image: i, command: "echo ps $RANK"}
"""))
        same(w.code, 0, "submit --wait ends with the job")
        like(w.said, "Succeeded: succeeded: 3 ranks", "and shows its conditions on stderr")
        ok(w.api.get("configmaps", "settings"), "the ConfigMap is there")
        same(sorted(w.output(name).splitlines()), ["ps 2", "worker 0 onex", "worker 1 onex"], "roles and variables are in the order of the file")


def test_failure():
    with World() as w:
        text = "apiVersion: muster/v1\nname: bad\nroles: {worker: {replicas: 2, image: i, command: 'echo hi; [ $RANK = 0 ] || exit 7; sleep 60'}}\n"
        name = w.submit("--wait", w.file("bad.yaml", text))
        same(w.code, 1, "submit --wait of a job that fails ends with 1")
        status = w.status(name)
        same((status["phase"], status["exitCode"]), ("Failed", 7), "phase and exit code")
        cause = status["cause"]
        same((cause["replica"], cause["rank"], cause["kind"], cause["exitCode"]), ("worker-1", 1, "exit", 7), "the first failure")
        like(w.condition(name, "Failed")["message"], "rank 1 on worker-1 exited with status 7", "the condition has the verdict")
        like(w.condition(name, "Failed")["message"], "worker-1:\nhi", "and the last lines of that pod")
        w.until(lambda: any(r == "Failed" and "status 7" in m for r, m in w.events()), "an event, too")
        w.until(lambda: len(w.pods(name)) == 2 and all(w.api.get("pods", p)["status"]["phase"] == "Failed" for p in w.pods(name)), "pods are kept")
        codes = [w.api.get("pods", p)["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] for p in w.pods(name)]
        same(codes, [143, 7], "with the exit status of their replicas")


def test_late_answers():
    """The watch and a status overtake the answer to a patch: its version is old by then."""
    with World() as w:
        w.api.late_s = 0.3
        w.api.create(musterjob("late", worker("[ $RANK = 0 ] || exit 7; sleep 60")))
        w.ends("late", "Failed")


def test_retries():
    with World() as w:
        mark = w.dir + "/mark"
        w.api.create(musterjob("again", worker("[ -e %s ] && echo second || { touch %s; exit 5; }" % (mark, mark), role={"replicas": 1}, retries=1)))
        w.ends("again", "Succeeded")
        same(w.status("again")["attempt"], 2, "a job is retried")
        like(w.status("again")["verdict"], "attempt 1 failed", "and that is told")
        same(w.pods("again")[0].endswith("-worker-0-a2"), True, "by pods of another name")


def test_killed():
    """kill -9 of the operator in each phase: the next one goes on, nothing is started twice."""
    with World() as w:
        w.api.held.add("worker-1")
        w.api.create(musterjob("k", worker("echo begin $RANK; while [ ! -e %s/go ]; do sleep 0.1; done; echo end $RANK" % w.dir)))
        w.until(lambda: len(w.pods("k")) == 2, "pods are created")
        w.kill()
        w.begin()
        w.until(lambda: "node is assigned" in w.status("k").get("waiting", ""), "the next operator tells what it waits for")
        w.api.held.clear()
        w.until(lambda: w.status("k").get("phase") == "Running" and w.output("k").count("begin") == 2, "both ranks run")
        w.kill()
        pathlib.Path(w.dir, "go").touch()
        time.sleep(1)
        w.begin()
        w.ends("k", "Succeeded")
        same(sorted(w.output("k").splitlines()), ["begin 0", "begin 1", "end 0", "end 1"], "every rank ran once")
        same(w.api.asked("POST", "/pods"), 2, "no pod was asked for twice")
        w.until(lambda: all(w.api.get("pods", p)["status"]["phase"] == "Succeeded" for p in w.pods("k")), "their pods end")
        w.kill()
        w.begin()
        time.sleep(1)
        same(len(w.pods("k")), 2, "a job that has ended is left alone")


def test_lost():
    """A connection that is cut, a worker that is deleted, a job that is deleted."""
    with World() as w:
        w.api.create(musterjob("c", worker("echo begin; while [ ! -e %s/go ]; do sleep 0.1; done; echo end" % w.dir)))
        w.until(lambda: w.status("c").get("phase") == "Running" and w.output("c").count("begin") == 2, "a job runs")
        w.api.cut()
        pathlib.Path(w.dir, "go").touch()
        w.ends("c", "Succeeded")
        w.api.create(musterjob("d", worker("sleep 60")))
        w.until(lambda: w.status("d").get("phase") == "Running", "another one runs")
        w.api.delete("pods", w.pods("d")[1])
        w.ends("d", "Failed")
        same(w.status("d")["cause"]["kind"], "gone", "a pod that somebody deleted is told as that")
        w.api.create(musterjob("e", worker("sleep 60")))
        w.until(lambda: w.status("e").get("phase") == "Running", "a third one runs")
        w.api.delete("musterjobs", "e")
        w.until(lambda: w.pods("e") == [] and not any(p.startswith("e-") for p in w.api.running), "its pods go with its object")


def test_invalid():
    with World() as w:
        w.api.create(musterjob("bad", {"roles": {"worker": {"replcas": 2, "image": "i", "command": "true"}}}))
        w.until(lambda: w.condition("bad", "Accepted").get("status") == "False", "an invalid job is told by a condition")
        like(w.condition("bad", "Accepted")["message"], "did you mean `replicas`?", "with the words of validate")
        same(w.status("bad")["phase"], "Invalid", "and by its phase")
        w.api.patch("musterjobs", "bad", {"spec": {"roles": {"worker": {"replcas": None}}}})
        w.until(lambda: w.status("bad").get("phase") == "Succeeded", "once its spec is valid, it runs")
        w.api.create(musterjob("dir", worker("true", platform="azureml", role={"workdir": "/etc"})))
        w.until(lambda: w.status("dir").get("phase") == "Invalid", "a directory of the operator's own machine is never sent")


def test_pause():
    with World() as w:
        w.api.create(musterjob("p", worker("echo begin; sleep 0.5", pause=True)))
        w.until(lambda: w.status("p").get("phase") == "Paused", "a job can begin paused")
        same(w.pods("p"), [], "without pods")
        w.api.patch("musterjobs", "p", {"spec": {"pause": False}})
        w.ends("p", "Succeeded")


def test_gang():
    with World("--gang-scheduling", "volcano") as w:
        w.api.create(musterjob("g", worker("true", role={"resources": {"cpu": 1}})))
        w.ends("g", "Succeeded")
        groups = [w.api.get("podgroups", n) for n in w.api.names("podgroups")]
        same([g["spec"] for g in groups], [{"minMember": 2, "minResources": {"cpu": "2"}}], "a job has a PodGroup of all its pods")
        same([o["kind"] for g in groups for o in g["metadata"]["ownerReferences"]], ["MusterJob"], "that goes with it")
        same({(w.api.get("pods", p)["spec"]["schedulerName"], w.api.get("pods", p)["metadata"]["annotations"]["scheduling.k8s.io/group-name"])
              for p in w.pods("g")}, {("volcano", groups[0]["metadata"]["name"])}, "which they belong to")
        p = subprocess.run([RUNNER, "run", "--on", "kubernetes", "--namespace", "n", "--gang-scheduling", "plugins", "--image", "*=i",
                            str(TOP / "examples/muster/hello.yaml")], env=w.env, capture_output=True, text=True, timeout=120)
        same((p.returncode, p.stderr[-200:] if p.returncode else ""), (0, ""), "a run has one, too")
        same((w.submit("--gang-scheduling", "v", str(TOP / "examples/muster/hello.yaml")), w.code), ("", 2), "for submit it is the operator's")
        like(w.said, "muster operator`, which creates the pods", "which is told")
        p = subprocess.run([MUSTER, "run", "--gang-scheduling", "v", "-n", "1", "true"], env=w.env, capture_output=True, text=True)
        like(p.stderr, "--gang-scheduling requires --on kubernetes", "on this machine it is refused")
        same(w.api.asked("POST", "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/n/podgroups"), 1, "of the API group of its scheduler")


def test_exec_forbidden():
    with World() as w:
        w.api.refuses_exec = True
        w.api.create(musterjob("f", worker("true")))
        w.until(lambda: "pods/exec" in w.status("f").get("waiting", ""), "a right that the operator lacks is told")
        w.api.refuses_exec = False
        w.ends("f", "Succeeded")


def test_verbs():
    """list, show, wait, logs, pause, resume, cancel and delete of jobs in a cluster."""
    with World() as w:
        def verb(name, *words, timeout=60):
            p = subprocess.run([MUSTER, name, "--on", "kubernetes", "--namespace", "n", *words], env=w.env, capture_output=True, text=True,
                               timeout=timeout)
            w.said = p.stderr
            return p.returncode, p.stdout

        same(verb("list"), (0, ""), "no job is listed")
        like(w.said, "there are no runs", "and that is told")
        w.api.create(musterjob("v", worker("echo begin $RANK; while [ ! -e %s/go ]; do sleep 0.1; done; echo end $RANK; exit $RANK" % w.dir)))
        w.until(lambda: w.status("v").get("phase") == "Running" and w.output("v").count("begin") == 2, "a job runs")
        code, text = verb("list")
        same((code, text.splitlines()[1].split()[:4]), (0, ["v", "v", "-", "running"]), "list has it")
        same([j["phase"] for j in json.loads(verb("list", "-o", "json")[1])["jobs"]], ["running"], "also for programs")
        same(verb("list", "-q", "-s", "failed"), (0, ""), "filters count")
        code, text = verb("show", "v")
        like(text, "v: running\n", "show says how it stands")
        like(text, "worker: 2 replicas, 2 running", "and its roles")
        same(json.loads(verb("show", "-o", "json", "v")[1])["status"]["phase"], "Running", "show -o json is the object")
        same(sorted(verb("logs", "v")[1].splitlines()), ["[worker-0] begin 0", "[worker-1] begin 1"], "logs has what was written so far")
        same(verb("logs", "v", "worker-1")[1], "begin 1\n", "of one replica without prefix")
        same(verb("delete", "v"), (1, ""), "delete refuses a job that runs")
        like(w.said, "muster cancel", "and says what stops it")
        follower = subprocess.Popen([MUSTER, "logs", "-f", "--on", "kubernetes", "--namespace", "n", "v"], env=w.env, stdout=subprocess.PIPE, text=True)
        waiter = subprocess.Popen([MUSTER, "wait", "--on", "kubernetes", "--namespace", "n", "v"], env=w.env)
        time.sleep(0.5)
        same((follower.poll(), waiter.poll()), (None, None), "logs -f and wait do not end before the job")
        pathlib.Path(w.dir, "go").touch()
        same(waiter.wait(60), 1, "wait ends with the exit code of the job")
        ok("[worker-1] end 1" in follower.communicate(timeout=60)[0].splitlines(), "logs -f ends with the job and has all of it")
        like(verb("show", "v")[1], "rank 1 on worker-1 exited with status 1", "show has the verdict")
        same(verb("wait", "v"), (1, ""), "wait of a job that has ended")
        same(verb("pause", "v"), (1, ""), "pause refuses it")
        like(w.said, "v has ended", "and says so")
        same(verb("delete", "v"), (0, "v: deleted\n"), "delete removes it")
        same(verb("show", "v"), (1, ""), "then it is not there")
        like(w.said, "there is no MusterJob v in namespace n", "and that is told")
        same(verb("wait", "v")[0], 125, "wait has no code of it")

        w.api.create(musterjob("p", worker("echo begin; sleep 60")))
        w.until(lambda: w.status("p").get("phase") == "Running", "another one runs")
        same(verb("pause", "p")[0], 0, "pause asks for a pause")
        w.until(lambda: w.status("p").get("phase") == "Paused", "and it is paused")
        same(verb("resume", "p")[0], 0, "resume ends it")
        w.until(lambda: w.status("p").get("phase") == "Running", "and it runs again")
        same(verb("cancel", "p")[0], 0, "cancel stops it")
        w.until(lambda: w.api.names("musterjobs") == [] and w.pods("p") == [], "and its pods are gone")
        same(verb("cancel")[0], 2, "a job must be named")
        same(verb("logs", "--rank", "1", "p")[0], 2, "what needs log files is refused")
        p = subprocess.run([MUSTER, "list", "--namespace", "n"], env=w.env, capture_output=True, text=True)
        like(p.stderr, "--namespace needs --on kubernetes", "a namespace without a cluster is refused")
    p = subprocess.run([MUSTER, "list", "--on", "kubernetes"], env=w.env, capture_output=True, text=True, timeout=120)
    same(p.returncode, 1, "without a kubeconfig")
    like(p.stderr, "kubeconfig", "it is told")


for test in [test_verbs, test_submit, test_refusals, test_beside, test_failure, test_late_answers, test_retries, test_killed, test_lost, test_invalid, test_pause,
             test_gang, test_exec_forbidden]:
    if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]:
        test()
print("1..%d" % count)
