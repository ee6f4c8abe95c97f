"""Speaks the wire protocol of src/shim/wire.h to a real muster-shim, for tests.

The shim is started as muster starts it, as pid 1 of fresh pid and mount (and network) namespaces
with its end of a socketpair as fd 3; as an ordinary user inside a user namespace too. At level
"none" without any.
"""
import os
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import time

SETUP, SPAWN, SIGNAL, STOP, END, HOLD, ATTACH, FILE, FOLLOW, MORE, FILES_END, TRY, TRY_END, CLOCK = range(1, 15)
READY, REFUSED, NOTE, STARTED, SPAWN_FAILED, EXITED, RANK_STARTED, RANK_EXITED, BYE, OPENED, HEARD, UNLOGGED = range(64, 76)
LAUNCH_BLAMED, LAUNCH_OVER, OUTPUT, FILES, TOLD, TRIED = 76, 77, 78, 79, 80, 81
AGENT_RUN, AGENT_NO_HOST, AGENT_EXITED, PEER_DATA = 128, 130, 131, 144
SPAWN_STDIN, SPAWN_OPEN, SPAWN_SCRIPT, SPAWN_EXPAND = 1, 2, 4, 64
SCRIPT_PATH, SCRIPT_BEGIN = "/dev/fd/9", "exec 9<&-; "
ALL, REPLICA, PROCESS = range(3)
VERSION = 11

# u: u32, i: i32, q: i64, s: string, v: list of strings, b: bytes
BODIES = {
    READY: ("ready", "version:u attempt:u groups:v"),
    REFUSED: ("refused", "error:i what:s"),
    NOTE: ("note", "text:s"),
    STARTED: ("started", "process:u instance:u pid:u at:q"),
    SPAWN_FAILED: ("spawn-failed", "process:u instance:u error:i what:s at:q"),
    EXITED: ("exited",
             "process:u instance:u status:u at:q rss:q oom:u limit:q peak:q where:s shm:q shm_free:q left:s unseen:u by_itself:u"),
    RANK_STARTED: ("rank-started", "replica:u launch:u origin:s id:s rank:u size:u pid:u forwarded:u at:q log:s began:q program:q"),
    RANK_EXITED: ("rank-exited",
                  "replica:u launch:u origin:s id:s rank:u known:u status:u at:q rss:q oom:u limit:q peak:q where:s shm:q shm_free:q told:q error:i what:s"),
    BYE: ("bye", ""),
    HEARD: ("heard", ""),
    OPENED: ("opened", "replica:u at:q"),
    LAUNCH_BLAMED: ("launch-blamed", "launch:u origin:s id:s why:u replica:u known:u status:u at:q"),
    OUTPUT: ("output", "log:s offset:q data:b"),
    FILES: ("files", "error:i what:s"),
    TOLD: ("told", ""),
    TRIED: ("tried", "id:u error:i port:u latency:q bytes:q took:q"),
    LAUNCH_OVER: ("launch-over", "launch:u origin:s id:s at:q known:u status:u began:q program:q unseen:u"),
    UNLOGGED: ("unlogged", "log:s error:i err:u missing:q data:b"),
}


def u32(v):
    return struct.pack("=I", v)


def i64(v):
    return struct.pack("=q", v)


def text(s):
    return os.fsencode(s) + b"\0"


def texts(v):
    return u32(len(v)) + b"".join(text(s) for s in v)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, fmt):
        (v,) = struct.unpack_from(fmt, self.data, self.at)
        self.at += struct.calcsize(fmt)
        return v

    def field(self, kind):
        if kind == "v":
            return [self.field("s") for _ in range(self.take("=I"))]
        if kind == "s":
            end = self.data.index(b"\0", self.at)
            s, self.at = self.data[self.at:end], end + 1
            return s.decode(errors="replace")
        if kind == "b":
            n = self.take("=I")
            self.at += n
            return self.data[self.at - n:self.at].decode(errors="replace")
        return self.take({"u": "=I", "i": "=i", "q": "=q"}[kind])


class Gone(Exception):
    """The shim has closed its end."""


class Shim:
    """replicas: a list of (name, host, cpu_milli, memory, shm)."""

    def __init__(self, path, replicas, run_id="test", env=None, level="names", hosts=None, waits=False):
        self.dir = tempfile.mkdtemp(prefix="shim.")
        self.run_dir, self.scratch = self.dir + "/run", self.dir + "/s"
        os.makedirs(self.run_dir + "/bin", 0o700)
        os.mkdir(self.scratch, 0o700)
        os.symlink(self.scratch, self.run_dir + "/scratch")
        for name in ("ssh", "rsh", "muster-rank"):
            os.symlink(os.path.abspath(path), self.run_dir + "/bin/" + name)
        self.replicas, self.level, self.run_id = replicas, level, run_id
        self.address = "10.77.0.%d" if level == "network" else "127.1.0.%d"
        self.buffer, self.seen = b"", []
        self.sock, theirs = socket.socketpair()
        self.process = self._start(path, theirs, env)
        theirs.close()
        if hosts is None:
            hosts = "127.0.0.1 localhost\n" + "".join(
                (self.address + " %s %s\n") % (i + 1, r[1], r[0]) for i, r in enumerate(replicas))
        clock_base = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        self.set_up(clock_base, waits, hosts)

    def set_up(self, clock, waits, hosts):
        replicas = self.replicas
        body = u32(VERSION) + u32(1 if waits else 0) + u32(1) + i64(clock) + text(self.run_id) + text(self.run_dir) + text(self.scratch) + text(hosts)
        body += u32(len(replicas))
        for i, (name, host, cpu, memory, shm) in enumerate(replicas):
            body += text(name) + text(host) + text(self.address % (i + 1)) + i64(cpu) + i64(memory) + i64(shm)
            body += u32(0) + u32(0)
        # no layer, no mounts, no files
        self.send(SETUP, body + u32(0) + text("") + texts([]) + texts([]) + u32(0) + u32(0))

    def _start(self, path, theirs, env):
        argv = [os.path.abspath(path), "supervise", self.level]
        if self.level != "none":
            flags = ["-pfmn" if self.level == "network" else "-pfm",
                     "--kill-child", "--propagation", "unchanged"]
            if os.geteuid() != 0:
                flags += ["-U", "--map-current-user", "--keep-caps"]
            argv = ["unshare", *flags, *argv]
        fd = theirs.fileno()
        return subprocess.Popen(["sh", "-c", 'exec "$@" 3<&%d' % fd, "sh", *argv],
                                pass_fds=(fd,), env=env)

    def send(self, kind, body=b""):
        self.sock.sendall(struct.pack("=IHH", len(body), kind, 0) + body)

    def spawn(self, process, replica, argv, env=None, cwd="/", log=None, flags=0, script=None, instance=1):
        env = dict(env or {})
        env.setdefault("PATH", self.run_dir + "/bin:/usr/local/bin:/usr/bin:/bin")
        env.setdefault("MUSTER_RUN_DIR", self.run_dir)
        env.setdefault("MUSTER_RUN_ID", self.run_id)
        env.setdefault("MUSTER_ROLE", self.replicas[replica][0].rsplit("-", 1)[0])
        env.setdefault("MUSTER_INDEX", self.replicas[replica][0].rsplit("-", 1)[1])
        if log is None:
            log = "%s.log" % self.replicas[replica][0] if argv else ""
        if script is not None:
            flags |= SPAWN_SCRIPT
        self.send(SPAWN, u32(process) + u32(instance) + u32(replica) + u32(flags) + text(cwd) + text(log)
                  + texts(argv) + texts(["%s=%s" % kv for kv in env.items()])
                  + (text(script) if script is not None else b""))

    def signal(self, scope, ident, sig):
        self.send(SIGNAL, u32(scope) + u32(ident) + u32(sig))

    def stop(self, scope, ident=0):
        self.send(STOP, u32(scope) + u32(ident))

    def next(self, timeout=30):
        """The next frame as a dict with its "kind"; all are kept in self.seen."""
        end = time.monotonic() + timeout
        while True:
            if len(self.buffer) >= 8:
                n, kind, _ = struct.unpack_from("=IHH", self.buffer)
                if len(self.buffer) >= 8 + n:
                    frame = self._decode(kind, self.buffer[8:8 + n])
                    self.buffer = self.buffer[8 + n:]
                    self.seen.append(frame)
                    return frame
            if not select.select([self.sock], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("nothing for %g s after %r" % (timeout, self.seen[-3:]))
            try:
                data = self.sock.recv(65536)
            except ConnectionResetError:  # it has not read all that was sent
                data = b""
            if not data:
                raise Gone()
            self.buffer += data

    @staticmethod
    def _decode(kind, body):
        name, fields = BODIES[kind]
        reader, frame = Reader(body), {"kind": name}
        for f in fields.split():
            key, t = f.split(":")
            frame[key] = reader.field(t)
        if reader.at != len(body):
            raise ValueError("%s has %d bytes too many" % (name, len(body) - reader.at))
        return frame

    def until(self, kind, timeout=30, **fields):
        """Reads frames up to one of that kind with those values."""
        end = time.monotonic() + timeout
        while True:
            f = self.next(max(0, end - time.monotonic()))
            if f["kind"] == kind and all(f[k] == v for k, v in fields.items()):
                return f

    def find(self, kind, **fields):
        """The same, if it has not been seen already."""
        for f in self.frames(kind):
            if all(f[k] == v for k, v in fields.items()):
                return f
        return self.until(kind, **fields)

    def pid(self):
        """Of the shim itself: the only child of what made its namespaces."""
        pid = self.process.pid
        if self.level == "none":
            return pid
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            return int(f.read())

    def frames(self, kind):
        return [f for f in self.seen if f["kind"] == kind]

    def log(self, name):
        """Its text; a process that has not written yet has none."""
        try:
            with open("%s/logs/%s" % (self.run_dir, name), errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def logs(self):
        return sorted(os.listdir(self.run_dir + "/logs"))

    def end(self, timeout=30):
        """Asks for the end; the shim's exit code."""
        self.send(END)
        self.until("bye", timeout)
        return self.process.wait(timeout)

    def remove(self):
        self.sock.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


class Pod(Shim):
    """The shim as the first process of a container that muster reaches by `muster-shim connect`."""

    def __init__(self, path, name="worker-0", env=None, cwd="/", run_id="test"):
        self.dir = tempfile.mkdtemp(prefix="pod.")
        self.run_dir = self.dir + "/run"
        self.scratch = self.run_dir + "/scratch"
        self.replicas, self.level, self.run_id, self.address = [replica(name)], "pod", run_id, "10.0.0.%d"
        self.path, self.link = os.path.abspath(path), None
        os.mkdir(self.run_dir)
        self.shown = open(self.dir + "/shown", "w+")
        user = [] if os.geteuid() == 0 else ["-U", "--map-current-user", "--keep-caps"]
        self.process = subprocess.Popen(
            ["unshare", "-pfm", "--mount-proc", "--kill-child", *user, self.path, "pod", self.run_dir], stdin=subprocess.DEVNULL,
            stdout=self.shown, stderr=self.shown, env=env, cwd=cwd)
        end = time.monotonic() + 30
        while not os.path.exists(self.scratch + "/master.sock") and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.1)  # the socket has its name a moment before it takes connections

    def connect(self):
        self.buffer, self.seen = b"", []
        self.sock, theirs = socket.socketpair()
        self.link = subprocess.Popen([self.path, "connect", self.run_dir], stdin=theirs, stdout=theirs)
        theirs.close()

    def begin(self, offsets=()):
        self.connect()
        self.set_up(time.time_ns(), True, "")
        self.until("ready")
        self.follow(offsets)

    def attach(self, offsets=(), pause=0):
        self.connect()
        self.send(ATTACH, u32(VERSION))
        self.until("ready")
        time.sleep(pause)
        self.follow(offsets)

    def follow(self, offsets):
        self.send(FOLLOW, u32(len(offsets)) + b"".join(text(n) + i64(o) for n, o in offsets))

    def file(self, path, data, mode=0o644):
        self.send(FILE, u32(mode) + text(path) + u32(len(data)) + data)

    def more(self, data):
        self.send(MORE, u32(len(data)) + data)

    def trial(self, number, token, address="", port=0):
        """Listens, or calls; what came of it."""
        self.send(TRY, u32(number) + u32(0) + text(address) + u32(port) + u32(len(token)) + token)
        return self.until("tried", id=number)

    def files_end(self):
        """The errno of the first file that could not be written, and its path."""
        self.send(FILES_END)
        f = self.until("files")
        return -f["error"], f["what"]

    def exec(self, host, command):
        """`muster-shim exec` with that request: a process with pipes, to which exec_data() belongs."""
        process = subprocess.Popen([self.path, "exec", self.run_dir], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        body = text(host) + text(command) + u32(1) + text("")
        process.stdin.write(struct.pack("=IHH", len(body), AGENT_RUN, 0) + body)
        process.stdin.flush()
        return process

    def disconnect(self):
        self.sock.close()
        self.link.wait(10)

    def output(self, name):
        """What of a log was sent over this connection, whose offsets must fit."""
        data, at = "", None
        for f in self.frames("output"):
            if f["log"] == name:
                assert at in (None, f["offset"]), "a gap: %r after %r" % (f["offset"], at)
                at = f["offset"] + len(f["data"].encode())
                data += f["data"]
        return data

    def remove(self):
        self.process.kill()
        self.process.wait()
        if self.link:
            self.disconnect()
        self.shown.close()
        shutil.rmtree(self.dir, ignore_errors=True)


def exec_data(data):
    """A piece of the command's stdin; an empty one is its end."""
    body = u32(0) + u32(len(data)) + data
    return struct.pack("=IHH", len(body), PEER_DATA, 0) + body


def exec_result(process):
    """Waits for its end: stdout, stderr and wait status of the command, None if it was not told."""
    data, streams, status = process.stdout.read(), {1: b"", 2: b""}, None
    while data:
        n, kind, _ = struct.unpack_from("=IHH", data)
        body, data = data[8:8 + n], data[8 + n:]
        if kind == PEER_DATA:
            streams[struct.unpack_from("=I", body)[0]] += body[8:]
        elif kind == AGENT_EXITED:
            status = struct.unpack("=I", body)[0]
    process.wait(30)
    return streams[1], streams[2], status


def exit_code(status):
    return os.waitstatus_to_exitcode(status)


def replica(name, host=None, cpu=-1, memory=-1, shm=-1):
    return (name, host or name, cpu, memory, shm)
