#!/usr/bin/env python3
"""The shim alone, spoken to over its wire: starting, endings, what is left behind, agents, limits.

Ranks of real MPI programs are in the scripts that run whole jobs; here a rank is any command with
an MPI library's variables in its environment.
"""
import errno
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "t" / "lib"))
import shim  # noqa: E402
from shim import ALL, PROCESS, REPLICA, Shim, exit_code, replica  # noqa: E402

MUSTER = pathlib.Path(os.environ.get("MUSTER", TOP / "build" / "muster"))
SHIM = str(MUSTER.parent / "muster-shim")
FAULTY = str(pathlib.Path(os.environ.get("MUSTER_FAULTY", TOP / "build" / "test" / "muster")).parent
             / "muster-shim")

count = 0


level = "names"  # that the tests run at


def ok(passed, name, why=""):
    global count
    count += 1
    if level != "names":
        name = "%s: %s" % (level, name)
    print("%s %d - %s" % ("ok" if passed else "not ok", count, name), flush=True)
    if not passed and why != "":
        print("# " + str(why).replace("\n", "\n# "), flush=True)


def same(got, want, name):
    ok(got == want, name, "got  %r\nwant %r" % (got, want))


def start(*replicas, path=SHIM, **kw):
    s = Shim(path, list(replicas) or [replica("worker-0")], level=level, **kw)
    f = s.next()
    if f["kind"] == "refused":
        print("1..0 # SKIP %s" % f["what"])
        sys.exit()
    return s


def run(s, process, argv, where=0, **kw):
    """Runs a process to its end: exit code (negative: signal)."""
    kw.setdefault("log", "p%d.log" % process)
    s.spawn(process, where, argv, **kw)
    return exit_code(s.until("exited", process=process)["status"])


def alive(marker):
    """Command lines with that word, ours excepted."""
    found = []
    for p in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = p.read_bytes().split(b"\0")
        except OSError:
            continue
        if marker.encode() in words:
            found.append(p.parent.name)
    return found


def gone(marker, seconds=30):
    end = time.monotonic() + seconds
    while alive(marker) and time.monotonic() < end:
        time.sleep(0.02)
    return not alive(marker)


def silent_processes():
    """A log is there for everyone; a child that speaks late speaks into its own."""
    with start(replica("worker-0"), replica("worker-1")) as s:
        s.spawn(9, 0, ["sleep", "60"], log="p9.log")
        for i in range(3):
            run(s, i, ["true"])
        run(s, 3, ["sh", "-c", "(sleep 0.3; echo late) & exit 0"])
        same([os.path.getsize("%s/logs/p%d.log" % (s.run_dir, i)) for i in range(4)], [0] * 4,
             "silent processes have empty logs")
        for _ in range(100):
            if s.log("p3.log"):
                break
            time.sleep(0.05)
        same([s.log("p%d.log" % i) for i in range(4)], ["", "", "", "late\n"],
             "a child that is left behind has its process's log to itself")


def order_of_ends():
    """A supervisor that looks late still tells who ended first."""
    with start() as s:
        fifos = [os.path.join(s.dir, "go%d" % i) for i in range(3)]
        for i, fifo in enumerate(fifos):
            os.mkfifo(fifo)
            s.spawn(i, 0, ["sh", "-c", "read x <" + fifo], log="p%d.log" % i)
            s.until("started", process=i)
        os.kill(s.pid(), signal.SIGSTOP)
        for i in (1, 2, 0):
            with open(fifos[i], "w", encoding="utf-8") as f:
                f.write("go\n")
            time.sleep(0.1)
        os.kill(s.pid(), signal.SIGCONT)
        s.until("exited", process=0)
        same([f["process"] for f in s.frames("exited")], [1, 2, 0], "ends are told in their order")


def endings():
    with start(replica("worker-0", "host-a", shm=1 << 20)) as s:
        same(run(s, 0, ["sh", "-c", "echo out; echo err >&2; exit 7"]), 7, "an exit code")
        same(s.log("p0.log"), "out\nerr\n", "stdout and stderr in one log, in order")
        same(run(s, 1, ["sh", "-c", "kill -SEGV $$"]), -signal.SIGSEGV, "a signal")
        run(s, 2, ["sh", "-c", "hostname; df -k /dev/shm | tail -1 | awk '{print $2}'; echo $$; "
                               "getent hosts host-a; ls /proc/self/fd | wc -l; "
                               "grep SigIgn /proc/self/status"])
        lines = s.log("p2.log").split("\n")
        same(lines[:2], ["host-a", "1024"], "its own host name and /dev/shm")
        ok(int(lines[2]) < 100, "its own pid namespace", lines[2])
        ok(lines[3].startswith("127.1.0.1"), "its own /etc/hosts", lines[3])
        same(lines[4], "4", "only 0, 1, 2 (and ls's own) are open")
        same(lines[5].split()[1], "0" * 16, "no signal is ignored")
        n = 300000
        run(s, 3, ["sh", "-c", "head -c %d /dev/zero | tr '\\0' x" % n])
        same(len(s.log("p3.log")), n, "much output is all in the log when the end is told")
        same(s.end(), 0, "the end")
        exits = pathlib.Path(s.run_dir, "exits").read_text().splitlines()
        same([e.split("\t")[1:] for e in exits[:2]],
             [["worker-0", "0", "exit", "7"], ["worker-0", "1", "signal", "11"]], "exit records")
        ok(not os.path.exists(s.scratch + "/agent.sock"), "no socket is left")


def scripts():
    """Text that holds a secret: run as a file, seen by nobody else."""
    word = "sesame-%d" % os.getpid()
    for shell in (["sh"], ["bash"], ["bash", "-o", "errexit", "-o", "nounset", "-o", "pipefail"]):
        with start() as s:
            s.spawn(0, 0, shell + [shim.SCRIPT_PATH], log="p0.log", script=shim.SCRIPT_BEGIN
                    + "key=%s; cat; ls /proc/self/fd\nsleep 60 & wait $!\n(exit 7)\nexit 9" % word)
            f = s.until("started", process=0)
            same(f["process"], 0, "%s: a script starts" % " ".join(shell))
            while "9\n" not in (log := s.log("p0.log")) and "3\n" not in log:
                time.sleep(0.01)
            seen = [p for p in pathlib.Path("/proc").glob("[0-9]*/cmdline")
                    if int(p.parent.name) != os.getpid() and word.encode() in read_some(p)]
            same(seen, [], "its text is in no list of processes")
            same(log.split(), ["0", "1", "2", "3"], "its programs do not inherit it")
            s.signal(ALL, 0, signal.SIGTERM)
            same(exit_code(s.until("exited", process=0)["status"]), -15, "a signal ends it")
            run(s, 1, shell + [shim.SCRIPT_PATH],
                script=shim.SCRIPT_BEGIN + "echo ${LINENO:-1}\n(exit 7)\nexit 9")
            want = (7 if "errexit" in shell else 9, "1\n")
            same((exit_code(s.frames("exited")[-1]["status"]), s.log("p1.log")), want,
                 "lines and codes are its own")


def read_some(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def refusals():
    with start() as s:
        def failure(process, argv, **kw):
            s.spawn(process, 0, argv, **kw)
            f = s.until("spawn-failed", process=process)
            return -f["error"], f["what"]
        same(failure(0, ["no-such-program"]), (errno.ENOENT, "exec"), "not found")
        same(failure(1, ["/etc/passwd"]), (errno.EACCES, "exec"), "not executable")
        same(failure(2, ["true"], cwd="/no/such"), (errno.ENOENT, "chdir /no/such"),
             "no such directory")
        same(failure(3, ["true"], log="../x")[0], errno.EINVAL, "a log outside")
        script = s.dir + "/plain-script"
        pathlib.Path(script).write_text("echo as a script: $1\n")
        os.chmod(script, 0o755)
        run(s, 4, ["plain-script", "arg"], env={"PATH": "/no:/usr/bin:" + s.dir})
        same(s.log("p4.log"), "as a script: arg\n", "the job's PATH; a script without #!")
    r = subprocess.run([SHIM, "supervise"], stderr=subprocess.PIPE, check=False)
    same(r.returncode, 2, "supervise refuses to be anything but pid 1")
    with Shim(SHIM, [replica("worker-0")]) as s:
        s.until("ready")
        s.send(shim.SPAWN, b"nonsense")
        try:
            s.next()
            ok(False, "nonsense ends it")
        except shim.Gone:
            same(s.process.wait(10), 1, "nonsense ends it")


def leftovers():
    mark = "shim-test-%d" % os.getpid()
    sleeper = "while :; do sleep 1; done"
    escape = "setsid sh -c '%s' %s >/dev/null 2>&1 & exit 3" % (sleeper, mark)
    with start(replica("worker-0"), replica("worker-1")) as s:
        s.spawn(9, 1, ["sh", "-c", sleeper, mark + "-other"])
        same(run(s, 0, ["sh", "-c", escape]), 3, "a process that leaves a child behind")
        ok(gone(mark), "which is killed with the replica, though in a session of its own")
        ok(alive(mark + "-other"), "another replica's process lives on")
        s.spawn(1, 0, ["sh", "-c", sleeper, mark])
        s.until("started", process=1)
        run(s, 2, ["sh", "-c", escape])
        time.sleep(0.1)
        same(len(alive(mark)), 2, "while the replica goes on, so does what is in it")
        s.stop(REPLICA, 0)
        same(exit_code(s.until("exited", process=1)["status"]), -9, "STOP of a replica")
        ok(gone(mark), "ends everything inside")
        s.stop(PROCESS, 9)
        same(exit_code(s.until("exited", process=9)["status"]), -9, "STOP of a process")
    with start() as s:
        both = "trap '' TERM; setsid sh -c '%s' %s & %s" % (sleeper, mark, sleeper)
        s.spawn(0, 0, ["sh", "-c", both, mark])
        s.until("started")
        s.sock.close()
        same(s.process.wait(10), 1, "muster is gone: the shim ends")
        ok(gone(mark), "and everything with it")
        ok("muster is gone" in pathlib.Path(s.run_dir, "exits").read_text(), "which is recorded")
    with start() as s:
        s.spawn(0, 0, ["sh", "-c", sleeper, mark])
        s.until("started")
        os.kill(s.pid(), signal.SIGKILL)
        ok(gone(mark), "SIGKILL for the shim ends everything too")


def leftovers_of_nobody():
    """Without namespaces: who has no parent and says nothing is found all the same, at the end."""
    mark = "shim-nobody-%d" % os.getpid()
    sleeper = "while :; do sleep 1; done"
    with start(replica("worker-0"), replica("worker-1")) as s:
        s.spawn(9, 1, ["sh", "-c", sleeper, mark + "-other"])
        flag = s.dir + "/flag"
        # It must be itself before its parent ends: until then it has its parent's environment.
        escape = ("env -i setsid sh -c '>%s; %s' %s >/dev/null 2>&1 & "
                  "while [ ! -e %s ]; do sleep 0.02; done; rm %s; exit 3"
                  % (flag, sleeper, mark, flag, flag))
        run(s, 0, ["sh", "-c", escape])
        ok(alive(mark), "a process without a mark outlives its replica")
        s.stop(ALL)
        ok(gone(mark) and gone(mark + "-other"), "STOP of all ends it")
        run(s, 1, ["sh", "-c", escape])
        same(s.end(), 0, "the end")
        ok(gone(mark), "so does the end")
    outside = subprocess.Popen(["sh", "-c", sleeper, mark], env={"PATH": "/usr/bin:/bin",
                               "MUSTER_RUN_ID": "another"})
    with start() as s:
        s.spawn(0, 0, ["sh", "-c", sleeper, mark + "-other"])
        s.until("started")
        s.stop(ALL)
        same(exit_code(s.until("exited")["status"]), -9, "all of the job")
        s.end()
        ok(outside.poll() is None, "and nothing else")
    outside.kill()
    outside.wait()


def own_networks():
    """Every replica has all ports; eth0 leads to the others."""
    server = ("import socket; s = socket.socket(); s.bind(('', 29500)); s.listen(); "
              "print('up', flush=True); s.accept()[0].sendall(b'hello from %s')")
    with start(replica("worker-0"), replica("worker-1", "host-b"), replica("worker-2")) as s:
        for i in (0, 1):
            s.spawn(i, i, [sys.executable, "-c", server % i], log="p%d.log" % i)
            s.until("started", process=i)
        while any("up" not in s.log("p%d.log" % i) for i in (0, 1)):
            time.sleep(0.01)
        client = ("import socket; print([socket.create_connection((h, 29500)).recv(99).decode() "
                  "for h in ('worker-0', '10.77.0.2')])")
        same(run(s, 2, [sys.executable, "-c", client], where=2), 0, "both servers have port 29500")
        same(s.log("p2.log"), "['hello from 0', 'hello from 1']\n", "and are who they should be")
        run(s, 3, ["sh", "-c", "ls /sys/class/net /sys/class/net/eth0/address; cat /proc/net/route"],
            where=2)
        ok("eth0\nlo\n" in s.log("p3.log"), "lo and eth0 are there", s.log("p3.log"))
        ok("/sys/class/net/eth0/address" in s.log("p3.log"), "and can be looked into")
        same([line.split()[1] for line in s.log("p3.log").splitlines() if line.startswith("eth0\t")],
             ["00004D0A"], "no route leads out")
        probe = ("import socket; s = socket.socket(); s.settimeout(5); "
                 "print(s.connect_ex(('192.0.2.1', 80)))")
        run(s, 4, [sys.executable, "-c", probe], where=2)
        same(s.log("p4.log"), "%d\n" % errno.ENETUNREACH, "which is told at once")


def signals():
    with start(replica("worker-0"), replica("worker-1")) as s:
        catch = "trap 'echo usr1; exit 4' USR1; echo ready; while :; do sleep 0.05; done"
        for i in (0, 1):
            s.spawn(i, i, ["sh", "-c", catch])
        for i in (0, 1):
            s.until("started", process=i)
            while "ready" not in s.log("worker-%d.log" % i):
                time.sleep(0.01)
        s.signal(REPLICA, 1, signal.SIGUSR1)
        same(exit_code(s.until("exited")["status"]), 4, "a signal for a replica")
        s.signal(ALL, 0, signal.SIGTERM)
        f = s.until("exited")
        same((f["process"], exit_code(f["status"])), (0, -15), "a signal for all")
        s.spawn(2, 0, [])
        s.until("started", process=2)
        s.stop(ALL)
        same(s.until("exited", process=2)["status"], 0, "a waiting replica ends with 0")


def agents():
    with start(replica("launcher-0"), replica("worker-0", "job-worker-0")) as s:
        s.spawn(1, 1, [], env={"WHERE": "worker", "PATH": "/usr/bin:/bin"}, cwd="/usr")
        s.until("started", process=1)
        n = 10

        def ssh(text):
            nonlocal n
            n += 1
            rc = run(s, n, ["sh", "-c", text])
            return rc, s.log("p%d.log" % n)
        host = "job-worker-0" if level != "none" else socket.gethostname()
        same(ssh("ssh -x -p 22 user@job-worker-0 'hostname; echo $WHERE; pwd; exit 5'"),
             (5, host + "\nworker\n/usr\n"), "a command on another host")
        same(ssh("rsh worker-0 hostname"), (0, host + "\n"), "by the replica's name, by rsh")
        same(ssh("echo hello | ssh job-worker-0.some.domain cat"), (0, "hello\n"),
             "with a domain; stdin")
        same(ssh("echo hello | ssh -n worker-0 cat"), (0, ""), "-n: no stdin")
        same(ssh("ssh worker-0 'kill -TERM $$'"), (143, ""), "128 + the signal")
        same(ssh("ssh %s 'echo $WHERE'" % (s.address % 2)), (0, "worker\n"), "by its address")
        rc, text = ssh("PATH=%s/bin; ssh elsewhere true" % s.run_dir)
        same(rc, 255, "another host, and no ssh")
        ok("elsewhere is not a host of this job" in text, "says so", text)
        mark = "shim-agent-%d" % os.getpid()
        s.spawn(3, 0, ["ssh", "worker-0", "sh -c 'while :; do sleep 1; done' " + mark])
        s.until("started", process=3)
        while not alive(mark):
            time.sleep(0.01)
        s.stop(PROCESS, 3)
        ok(gone(mark), "when the agent is killed, so is its command")


def ranks():
    def env(rank, launch="7001"):
        return {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "4",
                "PMIX_NAMESPACE": launch}
    with start(replica("worker-0"), replica("worker-1")) as s:
        same(run(s, 0, ["muster-rank", "sh", "-c", "echo hi; echo ho >&2; exit 6"], env=env(2)), 6,
             "a rank's exit code is passed on")
        a, z = s.frames("rank-started")[0], s.frames("rank-exited")[0]
        same((a["replica"], a["launch"], a["rank"], a["size"], a["forwarded"], a["log"]),
             (0, 1, 2, 4, 1, "worker-0.rank-2.log"), "its start is told")
        same((z["rank"], z["known"], exit_code(z["status"])), (2, 1, 6), "its end is told")
        same(s.log("worker-0.rank-2.log"), "hi\nho\n", "it has a log")
        same(s.log("p0.log"), "hi\nho\n", "and forwards, when it was not mpirun that started it")
        same(run(s, 1, ["sh", "-c", "muster-rank sh -c 'echo hi'"], env=env(1)), 0, "a quiet one")
        same(s.log("p1.log") + s.log("worker-0.rank-1.log"), "hi\n",
             "no forwarding when its parent's stdout is the log already")
        run(s, 2, ["muster-rank", "sh", "-c", "kill -SEGV $$"], where=1, env=env(3, "7002"))
        z = s.frames("rank-exited")[-1]
        same((z["replica"], z["launch"], z["rank"], exit_code(z["status"])), (1, 2, 3, -11),
             "another launch, another replica, a signal")
        ok("worker-1.rank-3.launch-2.log" in s.logs(), "its log says which launch", s.logs())
        run(s, 3, ["muster-rank", "/no/such"], env=env(0))
        same(exit_code(s.frames("rank-exited")[-1]["status"]), 127, "a rank that is not there")
        ok("cannot execute /no/such: No such file" in s.log("worker-0.rank-0.log"), "says why")
        suicide = ["muster-rank", "sh", "-c", "kill -9 $PPID; sleep 100"]
        same(run(s, 4, suicide, env=env(0, "7003")), -9, "its wrapper killed")
        z = s.find("rank-exited", launch=3)
        same((z["known"], exit_code(z["status"])), (1, -9), "the rank died with it")
        same(run(s, 5, ["muster-rank", "sh", "-c", "exit 9"]), 9, "no rank: just the command")
        same(len(s.frames("rank-started")), 5, "and nothing is told")
        catch = "trap 'exit 8' USR1; echo go; while :; do sleep 0.05; done"
        s.spawn(6, 0, ["muster-rank", "sh", "-c", catch], env=env(1, "7004"), log="p6.log")
        s.until("rank-started", launch=4)
        while "go" not in s.log("p6.log"):
            time.sleep(0.01)
        s.signal(ALL, 0, signal.SIGUSR1)
        same(exit_code(s.until("exited", process=6)["status"]), 8, "a signal reaches the rank")


def streams():
    with start(replica("worker-0")) as s:
        run(s, 0, ["sh", "-c", "echo out; sleep 0.2; echo err >&2; sleep 0.2; echo out"])
        with open(s.run_dir + "/marks", encoding="ascii") as f:
            marks = [line.split() for line in f]
        same([m[1:] for m in marks],
             [["0", "o", "p0.log"], ["4", "e", "p0.log"], ["8", "o", "p0.log"]], "marks of two streams")
        same(int(marks[0][0]) < int(marks[1][0]) < int(marks[2][0]), True, "with their times")
        shutil.rmtree(s.run_dir + "/logs")
        same(run(s, 1, ["sh", "-c", "echo lost; echo too >&2; exit 5"]), 5, "a log that cannot be made")
        frames = s.frames("unlogged")
        same([(f["log"], f["error"], f["err"], f["missing"], f["data"]) for f in frames],
             [("p1.log", -errno.ENOENT, 0, 5, "lost\n"), ("p1.log", -errno.ENOENT, 1, 4, "too\n")],
             "what was written goes to muster")
        rank = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_NAMESPACE": "2"}
        same(run(s, 2, ["sh", "-c", "muster-rank sh -c 'echo lost; exit 6'; exit $?"], env=rank), 6,
             "a rank whose log cannot be made")
        f = s.frames("unlogged")[-1]
        same((f["log"], f["error"], f["err"], f["data"]),
             ("worker-0.rank-1.log", -errno.ENOENT, 0, "lost\n"), "its output goes there too")


def limits():
    if os.geteuid() != 0:
        return
    run_id = "shim-test-%d" % os.getpid()
    s = Shim(SHIM, [replica("worker-0", memory=64 << 20, cpu=500)], run_id=run_id, level=level)
    with s:
        ready = s.until("ready")
        if s.frames("note"):
            global count
            count += 1
            print("ok %d # SKIP limits: %s" % (count, s.frames("note")[0]["text"]))
            return
        run(s, 0, [sys.executable, "-c", "x = bytearray(300 << 20)"])
        f = s.frames("exited")[-1]
        same((exit_code(f["status"]), f["oom"], f["limit"]), (-9, 1, 64 << 20), "out of memory")
        ok(f["peak"] > 60 << 20, "with its peak", f["peak"])
        run(s, 1, ["sh", "-c", "kill -9 $$"])
        same(s.frames("exited")[-1]["oom"], 0, "another SIGKILL is not taken for it")
        same(s.end(), 0, "the end")
        same([d for d in ready["groups"] if os.path.exists(d)], [], "no group is left")


def gates():
    """A replica of a gang is there before its command is."""
    with start(replica("worker-0"), replica("worker-1")) as s:
        s.spawn(1, 1, [], flags=shim.SPAWN_OPEN, env={"WHO": "one"})
        same(s.until("opened")["replica"], 1, "3.12: a replica is opened without a command")
        s.spawn(0, 0, ["sh", "-c", "ssh worker-1 'echo $WHO at $(hostname)'"], log="gate.log")
        same(exit_code(s.until("exited", process=0)["status"]), 0,
             "3.12: an agent's command runs in it before its main process has started")
        host = "worker-1" if level != "none" else socket.gethostname()
        same(s.log("gate.log"), "one at %s\n" % host, "3.12: with its environment and name")
        same(run(s, 1, ["true"], 1), 0, "3.12: then its main process runs")
        same(run(s, 2, ["ssh", "worker-1", "true"], log="late.log"), 255,
             "3.12: and when that has ended, it is not running any more")
        ok("worker-1 is not running" in s.log("late.log"), "3.12: which is said", s.log("late.log"))
        s.spawn(3, 1, [], flags=shim.SPAWN_OPEN)
        s.until("opened")
        s.spawn(4, 1, ["./no-such-program"], log="p4.log")
        s.until("spawn-failed", process=4)
        same(run(s, 5, ["ssh", "worker-1", "true"]), 255,
             "3.12: nor is one whose main process could not be started")


def masters():
    """Another master than the first one: nothing is said to it before it has said who it is."""
    with Shim(SHIM, [replica("worker-0")], level=level, waits=True) as s:
        s.until("ready")
        s.spawn(0, 0, ["sh", "-c", "until [ -e %s/go ]; do sleep 0.02; done; exit 6" % s.dir])
        s.until("started")
        s.sock.close()
        s.sock, s.buffer = socket.socket(socket.AF_UNIX), b""
        s.sock.connect(s.scratch + "/master.sock")
        time.sleep(0.2)
        pathlib.Path(s.dir, "go").touch()
        end = time.monotonic() + 20
        while "exit" not in pathlib.Path(s.run_dir, "exits").read_text() and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(0.2)
        s.send(shim.ATTACH, shim.u32(shim.VERSION))
        same(s.next()["kind"], "ready", "a process that ends before ATTACH is not told before READY")
        same(exit_code(s.until("exited", process=0)["status"]), 6, "but afterwards")


def faults():
    if not os.path.exists(FAULTY):
        return
    with start(replica("worker-0"), replica("worker-1"), path=FAULTY,
               env=dict(os.environ, MUSTER_FAULT="gate:worker-0")) as s:
        s.spawn(0, 0, [])
        s.spawn(1, 1, [])
        same(s.next()["process"], 1, "a fault point: worker-0 never answers")
        s.spawn(0, 0, [], flags=shim.SPAWN_OPEN)
        s.spawn(1, 1, [], flags=shim.SPAWN_OPEN)
        same(s.next().get("replica"), 1, "a fault point: nor when it is only opened")


for test in (endings, silent_processes, order_of_ends, refusals, scripts, leftovers, signals, agents,
             gates, ranks, streams, limits, masters, faults):
    test()
level = "none"
for test in (silent_processes, order_of_ends, scripts, leftovers, leftovers_of_nobody, signals, agents,
             gates, ranks, streams, limits):
    test()
level = "network"
for test in (own_networks, leftovers, signals, agents, gates, ranks):
    test()
print("1..%d" % count)
