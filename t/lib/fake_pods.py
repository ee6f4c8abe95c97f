"""fake_api.py with a kubelet: pods run as processes of this machine, each in a root directory of its own with the shim in it,
and commands are run in them by WebSocket, as an API server does it. All pods have the machine's network.

What a kubelet would do for images, volumes and probes is not done: a container is its command and its variables.
"""
import base64
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import threading
import time
import urllib.parse

from fake_api import Api, Handler, now

# A root directory with the machine's programs, and /muster of the pod.
ENTER = """set -e
mount --make-rprivate /
for d in usr etc dev tmp; do mount --rbind /$d $ROOT/$d; done
mount -t proc proc $ROOT/proc 2>/dev/null || mount --rbind /proc $ROOT/proc
exec chroot $ROOT /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
"""
GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def entering(root, words, env, pids):
    user = ["-U", "--map-root-user"] if os.geteuid() else []
    kill = ["--pid", "--fork", "--kill-child=KILL"] if pids else []
    return ["unshare", "--mount", *user, *kill, "sh", "-c", "ROOT=%s\n%s" % (root, ENTER), "sh",
            *["%s=%s" % pair for pair in env.items()], *words]


def works():
    """Can this user make such a root directory?"""
    user = ["-U", "--map-root-user"] if os.geteuid() else []
    return subprocess.call(["unshare", "--mount", *user, "mount", "-t", "tmpfs", "none", "/mnt"], stderr=subprocess.DEVNULL) == 0


class PodHandler(Handler):
    def do(self, method):
        group, version, namespace, plural, name, sub, query = self.place()
        if plural == "pods" and sub == "exec":
            return self.exec(name)
        if plural == "pods" and sub == "log":
            with self.api.lock:
                self.api.requests.append((method, self.path))
            file = self.api.root(name) / "log"
            self.api.logs[name] = file.read_text(errors="replace") if file.exists() else ""
            n = int(query.get("tailLines", 1000000))
            self.api.logs[name] = "".join(self.api.logs[name].splitlines(True)[-n:])
            return self.log(name)
        return super().do(method)

    def frame(self, channel, data):
        body = bytes([channel]) + data
        n = len(body)
        size = bytes([n]) if n < 126 else b"\x7e" + struct.pack(">H", n) if n < 65536 else b"\x7f" + struct.pack(">Q", n)
        self.connection.sendall(b"\x82" + size + body)

    def exec(self, name):
        words = [v for k, v in urllib.parse.parse_qsl(self.path.partition("?")[2]) if k == "command"]
        with self.api.lock:
            self.api.requests.append(("EXEC", self.path))
        if self.api.refuses_exec:
            return self.answer(403, {"kind": "Status", "reason": "Forbidden", "message": "pods/exec is forbidden"})
        key = base64.b64encode(hashlib.sha1((self.headers["Sec-WebSocket-Key"] + GUID).encode()).digest()).decode()
        self.send_response(101)
        for pair in [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", key),
                     ("Sec-WebSocket-Protocol", "v5.channel.k8s.io")]:
            self.send_header(*pair)
        self.end_headers()
        self.close_connection = True
        child = subprocess.Popen(entering(self.api.root(name) / "root", words, {}, False), stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        with self.api.lock:
            self.api.execs.append((name, child, self.connection))
        threading.Thread(target=self.pass_in, args=(child,), daemon=True).start()
        try:
            for data in iter(lambda: child.stdout.read(65536), b""):
                self.frame(1, data)
            code = child.wait()
            status = {"status": "Success"} if code == 0 else {"status": "Failure", "reason": "NonZeroExitCode", "message": str(code),
                                                               "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]}}
            self.frame(3, json.dumps(status).encode())
            self.connection.sendall(b"\x88\x02\x03\xe8")
        except OSError:
            child.kill()

    def pass_in(self, child):
        def read(n):
            data = self.rfile.read(n)
            if len(data) < n:
                raise EOFError
            return data

        try:
            while True:
                first, second = read(2)
                n = second & 127
                n = struct.unpack(">H", read(2))[0] if n == 126 else struct.unpack(">Q", read(8))[0] if n == 127 else n
                mask = read(4) if second & 128 else b"\0\0\0\0"
                data = bytes(b ^ mask[i % 4] for i, b in enumerate(read(n)))
                if first & 15 == 8:
                    break
                if first & 15 == 2 and data[:1] == b"\0":
                    child.stdin.write(data[1:])
        except (OSError, EOFError, ValueError):
            pass
        try:
            child.stdin.close()
        except OSError:
            pass


class Cluster(Api):
    """An API server and a kubelet that starts what is created. held: names of pods that do not start; a word does for many."""

    def __init__(self, shim, where):
        self.shim, self.where = shim, pathlib.Path(where)
        self.running, self.held, self.execs, self.refuses_exec, self.over = {}, set(), [], False, False
        super().__init__()
        self.kubelet = threading.Thread(target=self.serve_pods, daemon=True)
        self.kubelet.start()

    def handler(self):
        return PodHandler

    def root(self, name):
        return self.where / "pods" / name

    def serve_pods(self):
        while not self.over:
            for name in self.names("pods"):
                pod = self.get("pods", name)
                if pod and not pod.get("status") and not any(word in name for word in self.held):
                    self.start(name, pod)
            for name, (child, uid) in list(self.running.items()):
                pod = self.get("pods", name)
                if not pod or pod["metadata"]["uid"] != uid:
                    child.kill()
                    child.wait()
                    del self.running[name]
                elif child.poll() is not None:
                    del self.running[name]
                    code = child.returncode if child.returncode >= 0 else 128 - child.returncode
                    self.set_status(name, "Failed" if code else "Succeeded", {"terminated": {"exitCode": code, "finishedAt": now()}})
            time.sleep(0.03)

    def set_status(self, name, phase, state):
        pod = self.get("pods", name)
        container = pod["spec"]["containers"][0]["name"]
        ready = "True" if phase == "Running" else "False"
        self.patch("pods", name, {"spec": {"nodeName": "node"}, "status": {
            "phase": phase, "podIP": "127.0.0.1", "conditions": [{"type": "Ready", "status": ready}, {"type": "PodScheduled", "status": "True"}],
            "containerStatuses": [{"name": container, "state": state, "restartCount": 0}]}})

    def start(self, name, pod):
        root = self.root(name) / "root"
        shutil.rmtree(self.root(name), True)
        for d in ["usr", "etc", "dev", "tmp", "proc", "muster/bin", "muster/run"]:
            (root / d).mkdir(parents=True)
        for d in ["bin", "sbin", "lib", "lib64"]:
            if os.path.islink("/" + d):
                (root / d).symlink_to("usr/" + d)
        shutil.copy(self.shim, root / "muster" / "bin" / "muster-shim")
        container = pod["spec"]["containers"][0]
        env = {}
        for e in container.get("env", []):
            env[e["name"]] = re.sub(r"\$\$|\$\(([A-Za-z_0-9]+)\)", lambda m: "$" if m.group(0) == "$$" else env.get(m.group(1), m.group(0)), e.get("value", ""))
        log = open(self.root(name) / "log", "wb")
        child = subprocess.Popen(entering(root, container["command"], env, True), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.running[name] = (child, pod["metadata"]["uid"])
        self.set_status(name, "Running", {"running": {"startedAt": now()}})

    def cut(self):
        """Ends all connections into pods."""
        with self.lock:
            for _, child, _ in self.execs:
                if child.poll() is None:
                    child.send_signal(signal.SIGKILL)
            self.execs.clear()

    def end(self):
        self.over = True
        self.kubelet.join(5)
        for child, _ in self.running.values():
            child.kill()
            child.wait()
        self.server.shutdown()
