#!/usr/bin/env python3
"""The shim as the first process of a container, spoken to through `muster-shim connect`: what
processes get from the container, logs that are sent, connections that are lost, and its end."""
import errno
import os
import pathlib
import signal
import stat
import sys
import threading
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "t" / "lib"))
from shim import ALL, ATTACH, PROCESS, SPAWN_EXPAND, TRY, TRY_END, VERSION, Gone, Pod, exec_data, exec_result, exit_code, text, u32  # noqa: E402

SHIM = str(pathlib.Path(os.environ.get("MUSTER", TOP / "build" / "muster")).parent / "muster-shim-pod")
count = 0


def same(got, expected, name):
    global count
    count += 1
    print("%s %d - %s" % ("ok" if got == expected else "not ok", count, name), flush=True)
    if got != expected:
        print("# got      %r\n# expected %r" % (got, expected), file=sys.stderr, flush=True)


def run(pod, process, script, **how):
    """Starts a shell; its exit code."""
    pod.spawn(process, 0, ["sh", "-c", script], **how)
    return exit_code(pod.until("exited", process=process)["status"])


def wait_for_end(pod):
    """Until a process has ended, without reading what is said of it."""
    while "worker-0" not in pathlib.Path(pod.run_dir, "exits").read_text():
        time.sleep(0.01)


def test_size():
    """The program travels in a config map, beside a hostfile and a script."""
    if not os.environ.get("MUSTER_SAN"):
        same(os.stat(SHIM).st_size < 1000000, True, "a config map has room for it")


def test_environment():
    env = {"PATH": "/usr/bin:/bin", "FROM_IMAGE": "image", "BOTH": "image"}
    with Pod(SHIM, env=env, cwd="/usr") as pod:
        pod.begin()
        pod.file("hello.txt", b"hello\n", 0o600)
        pod.file("scratch/bin/hi", b"/bin/echo", stat.S_IFLNK | 0o777)
        pod.file("scratch/bin/mpirun.none", SHIM.encode(), stat.S_IFLNK | 0o777)
        script = 'pwd; echo "$FROM_IMAGE $BOTH $FROM_JOB"; cat "$MUSTER_RUN_DIR/hello.txt"; hi there; ls "$MUSTER_RUN_DIR/scratch/bin"'
        same(run(pod, 0, script, cwd="", env={"BOTH": "job", "FROM_JOB": "job", "PATH": "/usr/bin:/bin"}), 0, "a process ends")
        same(pod.output("worker-0.log"), "/usr\nimage job job\nhello\nthere\nhi\n",
             "it has the container's directory and variables, the job's above them, files and programs, and no stand-in for what it lacks")
        with open(pod.dir + "/shown") as shown:
            same(shown.read(), pod.output("worker-0.log"), "the container's log shows what it wrote")
        pod.spawn(1, 0, ["echo", "$(BOTH) $(FROM_IMAGE)-$(NONE) $$(BOTH) $x $", "$(BOTH"], env={"BOTH": "job"}, flags=SPAWN_EXPAND, log="expand.log")
        pod.until("exited", process=1)
        same(pod.output("expand.log"), "job image-$(NONE) $(BOTH) $x $ $(BOTH\n", "words are expanded as a kubelet does it")
        same(exit_code(pod.end() << 8), 0, "it ends when asked")


def look(path):
    """Its kind, permissions and content."""
    st = os.lstat(path)
    if stat.S_ISLNK(st.st_mode):
        return "link", os.readlink(path)
    if stat.S_ISDIR(st.st_mode):
        return "dir", stat.S_IMODE(st.st_mode), sorted(os.listdir(path))
    with open(path, "rb") as f:
        return "file", stat.S_IMODE(st.st_mode), f.read()


def test_files():
    """A directory tree, as code comes into a pod."""
    old = os.umask(0o077)
    with Pod(SHIM) as pod:
        os.umask(old)
        pod.begin()
        code, big = pod.run_dir + "/code", os.urandom(300000)
        pod.file("code", b"", stat.S_IFDIR | 0o755)
        pod.file("code/run..sh", b"#!/bin/sh\n", 0o755)
        pod.file("code/empty", b"", stat.S_IFDIR | 0o555)
        pod.file("code/a/b/big", big[:100000], 0o444)
        pod.more(big[100000:200000])
        pod.more(big[200000:])
        pod.file("code/none", b"", 0o4600)
        pod.file("code/link", b"../..", stat.S_IFLNK | 0o777)
        pod.file("code/to-none", b"none", stat.S_IFLNK | 0o777)
        same(pod.files_end(), (0, ""), "a tree is written")
        same([look(code + "/" + name) for name in ("run..sh", "empty", "a", "none", "link")],
             [("file", 0o755, b"#!/bin/sh\n"), ("dir", 0o755, []), ("dir", 0o755, ["b"]), ("file", 0o600, b""), ("link", "../..")],
             "programs, directories, links and permissions, whatever the container's umask is; no set-user-id")
        same(look(code + "/a/b/big") == ("file", 0o444, big), True, "a file in several pieces that cannot be written to afterwards")
        pod.file("code/link/out", b"x")
        pod.file("code/none/x", b"x")
        pod.more(b"y")
        pod.file("code/a", b"x")
        same(pod.files_end(), (20, "code/link/out"), "a link is not followed: the first that failed is named")
        same((os.path.exists(pod.dir + "/out"), look(code + "/none")), (False, ("file", 0o600, b"")), "and nothing is written elsewhere")
        pod.file("code/to-none", b"own", 0o644)
        pod.file("code/none", b"again", 0o600)
        same(pod.files_end(), (0, ""), "what is there is replaced")
        same((look(code + "/to-none"), look(code + "/none")), (("file", 0o644, b"own"), ("file", 0o600, b"again")), "a link itself, not what it leads to")
        same(run(pod, 0, "pwd; ./run..sh", cwd=code), 0, "a process runs there")
        same(pod.output("worker-0.log"), code + "\n", "in that directory")
    if os.path.exists("/dev/full"):
        with Pod(SHIM) as pod:
            pod.begin()
            os.symlink("/dev", pod.run_dir + "/dev")
            pod.file("dev/full", b"x")
            same(pod.files_end(), (20, "dev/full"), "nor one on the way")


def test_lost_connection():
    with Pod(SHIM) as pod:
        pod.begin()
        os.mkfifo(pod.dir + "/go")
        pod.spawn(0, 0, ["sh", "-c", "echo one; read x <go; echo two; exit 3"], cwd=pod.dir)
        pod.until("output", log="worker-0.log")
        pod.disconnect()
        with open(pod.dir + "/go", "w") as go:
            go.write("\n")
        wait_for_end(pod)
        pod.attach([("worker-0.log", 4)])
        same(exit_code(pod.until("exited", process=0)["status"]), 3, "what ended without a connection is told to the next")
        same(pod.output("worker-0.log"), "two\n", "after the rest of its log, from where the last one was cut")
        pod.until("told")
        same([f["kind"] for f in pod.seen if f["kind"] not in ("output", "note")], ["ready", "started", "exited", "told"], "and it is said that this is all")
        pod.disconnect()
        with open(pod.run_dir + "/logs/worker-0.log", "a") as log:
            log.write("three\n")
        pod.attach(pause=0.2)
        while len(pod.output("worker-0.log")) < 14:
            pod.next()
        same(pod.output("worker-0.log"), "one\ntwo\nthree\n",
             "all of it for one that has nothing, although it says so late")
        same(pod.end(), 0, "it ends when asked")


def test_flood():
    with Pod(SHIM) as pod:
        pod.begin()
        pod.spawn(1, 0, ["sh", "-c", "while :; do head -c 100000 /dev/zero; sleep 0.01; done"], log="more.log")
        pod.until("started", process=1)
        script = "i=0; while [ $i -lt 300 ]; do printf '%0999d\\n' $i; i=$((i+1)); done; head -c 40000000 /dev/zero | tr '\\0' x"
        pod.spawn(0, 0, ["sh", "-c", script])
        wait_for_end(pod)  # nobody reads until then
        same(exit_code(pod.until("exited", process=0)["status"]), 0, "the end of a process with a long log, beside one that goes on writing")
        log = pod.output("worker-0.log")
        same((len(log), log[:300000]), (40300000, "".join("%0999d\n" % i for i in range(300))), "comes after all of the log, in order")
        pod.disconnect()
        pod.attach()
        pod.until("exited", process=0)
        same(pod.output("worker-0.log") == log, True, "so it does on the next connection")


def test_not_set_up():
    with Pod(SHIM) as pod:
        pod.connect()
        pod.send(ATTACH, u32(VERSION))
        same(pod.until("ready")["attempt"], 0, "one that nobody has set up says so")
        pod.set_up(time.time_ns(), True, "")
        same(pod.until("ready")["attempt"], 1, "and is set up then")
        pod.follow([])
        pod.until("told")
        same(run(pod, 0, "exit 6"), 6, "as ever")


def test_deleted():
    with Pod(SHIM) as pod:
        pod.begin()
        pod.spawn(0, 0, ["sh", "-c", "trap 'echo bye; exit 4' TERM; echo up; while :; do sleep 0.05; done"])
        pod.until("output", log="worker-0.log")
        os.kill(pod.pid(), signal.SIGTERM)
        same(exit_code(pod.until("exited", process=0)["status"]), 4, "a deleted pod: its process gets SIGTERM")
        same(pod.process.wait(30), 143, "and the pod does not look as if it had succeeded")
    with Pod(SHIM) as pod:
        os.kill(pod.pid(), signal.SIGTERM)
        same(pod.process.wait(30), 143, "deleted before anything was set up")


def test_wrong_frames():
    for name, frame in (("out", b"../x"), ("root", b"/x"), ("none", b""), ("in between", b"a/../../x"), ("up", b"a/.."), ("here", b"a/./x"), ("twice", b"a//x"), ("dir", b"a/")):
        with Pod(SHIM) as pod:
            pod.begin()
            pod.file(frame.decode(), b"x")
            try:
                pod.until("bye", 10)
                gone = False
            except Gone:
                gone = True
            same((gone, os.path.exists(pod.dir + "/x")), (True, False), "a file outside the run directory: " + name)
            pod.attach()
            same(run(pod, 0, "exit 5"), 5, "the pod serves the next connection")
    with Pod(SHIM) as pod:
        pod.connect()
        pod.send(99, b"")
        try:
            pod.until("bye", 10)
            gone = False
        except Gone:
            gone = True
        same(gone, True, "an unknown frame ends the connection")
        pod.disconnect()
        pod.begin()
        pod.stop(ALL)
        pod.until("heard")
        same(run(pod, 0, "exit 6"), 6, "killing all does not kill the connection")


def with_key(pod, key, peers):
    pod.begin()
    for name in ("ssh", "rsh"):
        pod.file("scratch/bin/" + name, SHIM.encode(), stat.S_IFLNK | 0o777)
    pod.file("scratch/peers", peers, 0o600)
    pod.file("scratch/key", key, 0o600)


def test_peers():
    """Both pods have one network here: the second cannot listen, and need not."""
    key = os.urandom(32)
    with Pod(SHIM, name="worker-0", env={"PATH": "/usr/bin:/bin", "WHERE": "worker"}) as worker, Pod(SHIM, name="launcher-0") as launcher:
        with_key(worker, key, b"")
        worker.spawn(0, 0, [])
        worker.until("started")
        with_key(launcher, key, b"other 10.9.9.9\nworker-0 127.0.0.1\n")
        script = "echo in | ssh -x worker-0 'read a; echo got $a at $WHERE; echo bad >&2; exit 5'; echo $?"
        same(run(launcher, 0, script), 0, "a command in another pod")
        same(sorted(launcher.output("launcher-0.log").split("\n")), ["", "5", "bad", "got in at worker"],
             "its streams, its place and its exit status")
        same(run(launcher, 1, "head -c 3000000 /dev/zero | ssh worker-0 'wc -c; head -c 2000000 /dev/zero | tr \\\\0 x' | wc -c", log="bulk.log"), 0, "much in both directions")
        same(launcher.output("bulk.log"), "2000008\n", "all of it comes")
        launcher.spawn(2, 0, ["ssh", "worker-0", "echo up; trap '' HUP; sleep 1000"], log="cut.log")
        while "up" not in launcher.output("cut.log"):
            launcher.next()
        launcher.stop(PROCESS, 2)
        launcher.until("exited", process=2)
        same(run(launcher, 3, "i=0; while [ $i -lt 100 ] && ssh worker-0 'ps -e -o args | grep -q \"^sleep 100[0]\"'; do sleep 0.1; i=$((i+1)); done; test $i -lt 100", log="gone.log"),
             0, "a command whose agent is killed ends")
        launcher.file("scratch/key", os.urandom(32), 0o600)
        same(run(launcher, 4, "ssh worker-0 'echo never'", log="key.log"), 255, "another key is refused")
        same("does not know this run's key" in launcher.output("key.log"), True, "and it is said")


def test_exec():
    """A command for somebody outside the job, by pipes."""
    with Pod(SHIM, env={"PATH": "/usr/bin:/bin"}) as pod:
        pod.begin()
        pod.spawn(0, 0, ["sleep", "1000"], env={"FROM_JOB": "job"}, cwd="/usr")
        pod.until("started")
        x = pod.exec("worker-0", "read a; echo got $a in $PWD for $FROM_JOB; echo bad >&2; kill -9 $$")
        x.stdin.write(exec_data(b"in\n") + exec_data(b""))
        x.stdin.flush()
        same(exec_result(x), (b"got in in /usr for job\n", b"bad\n", 9), "streams, place and the signal that ends it")
        x = pod.exec("worker-0", "head -c 3000000 /dev/zero | tr '\\0' x; cat | wc -c; exit 3")
        writer = threading.Thread(target=lambda: (x.stdin.write(exec_data(b"y" * 100000) * 10 + exec_data(b"")), x.stdin.flush()))
        writer.start()
        out, _, status = exec_result(x)
        writer.join()
        same((len(out), out[-8:], status >> 8), (3000008, b"1000000\n", 3), "much in both directions")
        x = pod.exec("elsewhere", "true")
        same(exec_result(x)[2], None, "another host is not looked for")
        x = pod.exec("worker-0", "trap '' HUP; echo up; sleep 1001")
        same(b"up" in x.stdout.read(8 + 8 + 3), True, "a command that stays")
        x.stdin.close()
        x.wait(30)
        x = pod.exec("worker-0", "i=0; while [ $i -lt 100 ] && ps -e -o args | grep -q '^sleep 100[1]'; do sleep 0.1; i=$((i+1)); done; test $i -lt 100")
        same(exec_result(x)[2], 0, "ends when nobody is there any more")
        same(pod.end(), 0, "it ends when asked")


def test_launches():
    """A shell named mpirun starts ranks in another pod: both pods name its launch alike."""
    key = os.urandom(32)
    rank = "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 PMIX_NAMESPACE=%s muster-rank sh -c 'exit %d'"
    with Pod(SHIM, name="worker-0") as worker, Pod(SHIM, name="launcher-0") as launcher:
        with_key(worker, key, b"")
        worker.file("scratch/bin/muster-rank", SHIM.encode(), stat.S_IFLNK | 0o777)
        worker.spawn(0, 0, [])
        worker.until("started")
        with_key(launcher, key, b"worker-0 127.0.0.1\n")
        launcher.file("mpirun", b"/bin/sh", stat.S_IFLNK | 0o777)
        script = '"$MUSTER_RUN_DIR"/mpirun -c "ssh worker-0 \\"%s\\"; echo $?"; ' * 2 % (rank % ("same", 3), rank % ("same", 4))
        same(run(launcher, 0, script), 0, "two mpiruns with ranks in another pod")
        starts = [worker.find("rank-started")] + [worker.until("rank-started")]
        overs = [launcher.find("launch-over", launch=0)]
        while len(overs) < 2:
            overs = launcher.frames("launch-over")
            if len(overs) < 2:
                launcher.next()
        same([s["origin"] for s in starts], [o["origin"] for o in overs], "the pods agree on where their ranks are from")
        same((len({s["origin"] for s in starts}), [s["launch"] for s in starts]), (2, [1, 2]),
             "two of the same name are two launches")
        same([worker.find("rank-exited", launch=i)["status"] >> 8 for i in (1, 2)], [3, 4], "with the ends of their ranks")


def test_trials():
    token = os.urandom(16)
    with Pod(SHIM) as pod:
        pod.address = "127.0.0.%d"
        pod.begin()
        heard = pod.trial(0, token)
        same((heard["error"], heard["port"] > 0), (0, True), "a pod listens")
        called = pod.trial(1, token, "127.0.0.1", heard["port"])
        same((called["error"], called["bytes"] > 0, called["took"] > 0, called["latency"] > 0), (0, True, True, True), "and is reached")
        same(pod.trial(2, os.urandom(16), "127.0.0.1", heard["port"])["error"] < 0, True, "not with another token")
        same(pod.trial(3, token, "127.0.0.1", heard["port"])["error"], 0, "which disturbs nobody else")
        same(pod.trial(4, token, "127.0.0.1", 1)["error"], -errno.ECONNREFUSED, "a port where nobody listens")
        same(pod.trial(5, token, "nowhere", 1)["error"] < 0, True, "no address at all")
        pod.send(TRY_END)
        end = time.monotonic() + 20
        while pod.trial(6, token, "127.0.0.1", heard["port"])["error"] == 0 and time.monotonic() < end:
            time.sleep(0.05)
        same(pod.trial(7, token, "127.0.0.1", heard["port"])["error"], -errno.ECONNREFUSED, "it listens no more")
        pod.send(TRY, u32(8) + u32(0) + text("") + u32(0) + u32(3) + b"abc")
        try:
            pod.until("tried", id=8)
            same("an answer", "the end of the connection", "a short token is refused")
        except Gone:
            same(1, 1, "a short token is refused")


for test in (test_size, test_trials, test_exec, test_launches, test_peers, test_files, test_environment, test_lost_connection, test_flood, test_not_set_up, test_deleted, test_wrong_frames):
    test()
print("1..%d" % count)
