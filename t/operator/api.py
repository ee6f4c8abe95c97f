"""As much of an API server as the operator and `muster apply` need where there is no cluster: api.py FILE.

Writes its port to FILE. Objects are stored by their path, as they come: no schema, no defaults, no admission. It knows
the resources of Kubeflow and T9k (discovery), GET, list, watch, POST, the patches of JSON and of server-side apply (which
replaces what is there), and DELETE. `/requests` lists what was asked, a line "METHOD PATH" each.
"""
import http.server
import json
import os
import re
import sys
import threading
import urllib.parse

KINDS = {
    "/apis/kubeflow.org/v2beta1": {"mpijobs": "MPIJob"},
    "/apis/kubeflow.org/v1": {"pytorchjobs": "PyTorchJob", "tfjobs": "TFJob"},
    "/apis/batch.tensorstack.dev/v1beta1": {"mpijobs": "MPIJob"},
    "/api/v1": {"configmaps": "ConfigMap", "secrets": "Secret"},
}
lock = threading.Condition()
objects, changes, requests = {}, [], []  # changes: (path, type, object)


def store(path, new, kind):
    new.setdefault("metadata", {})["resourceVersion"] = str(len(changes) + 1)
    new["metadata"].setdefault("uid", f"uid-{len(changes)}")
    objects[path] = new
    changes.append((path, kind, json.loads(json.dumps(new))))
    lock.notify_all()
    return new


def within(path, collection):
    """also of all namespaces"""
    whole = path.rsplit("/", 1)[0]
    return collection in (whole, re.sub("/namespaces/[^/]*", "", whole))


def merged(old, patch):
    if not isinstance(old, dict) or not isinstance(patch, dict):
        return patch
    out = dict(old)
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merged(old.get(key), value)
    return out


def json_patched(old, patch):
    new = json.loads(json.dumps(old))
    for step in patch:
        at, *keys = new, *step["path"].strip("/").split("/")
        for key in keys[:-1]:
            at = at[int(key)] if isinstance(at, list) else at.setdefault(key, {})
        if step["op"] == "add":
            at[keys[-1]] = step["value"]
        else:
            assert step["op"] == "test" and at.get(keys[-1]) == step["value"], step
    return new


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def send(self, code, what):
        data = json.dumps(what).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, code, reason):
        self.send(code, {"kind": "Status", "status": "Failure", "reason": reason, "message": f"{self.path}: {reason}", "code": code})

    def discovery(self, path):
        if path in KINDS:
            return {"resources": [{"name": n, "kind": k, "namespaced": True} for n, k in KINDS[path].items()]}
        versions = [p.rsplit("/", 1)[1] for p in KINDS if p.startswith(path + "/")]
        return {"versions": [{"version": v} for v in versions]} if path.count("/") == 2 and versions else None

    def items(self, path, query):
        name = query.get("fieldSelector", [""])[0].removeprefix("metadata.name=")
        return [o for p, o in objects.items() if within(p, path) and name in ("", p.rsplit("/", 1)[1])], name

    def watch(self, path, name, begin):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while True:
            with lock:
                lock.wait_for(lambda: len(changes) > begin, timeout=60)
                news, begin = changes[begin:], len(changes)
            for p, kind, o in news:
                if within(p, path) and name in ("", p.rsplit("/", 1)[1]):
                    line = json.dumps({"type": kind, "object": o}).encode() + b"\n"
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))

    def do_GET(self):
        path, query = self.asked()
        if path == "/requests":
            return self.send(200, requests)
        with lock:
            found = self.discovery(path) or objects.get(path)
            items, name = self.items(path, query)
        if found:
            return self.send(200, found)
        if path.rsplit("/", 1)[1] in {n for names in KINDS.values() for n in names} | {"pods"}:
            if "watch" in query:
                return self.watch(path, name, int(query.get("resourceVersion", ["0"])[0]))
            return self.send(200, {"metadata": {"resourceVersion": str(len(changes))}, "items": items})
        return self.refuse(404, "NotFound")

    def asked(self):
        url = urllib.parse.urlsplit(self.path)
        requests.append(f"{self.command} {url.path}")
        return url.path, urllib.parse.parse_qs(url.query)

    def body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def do_POST(self):
        path, _ = self.asked()
        new = self.body()
        path += "/" + new["metadata"].setdefault("name", f"{new['metadata'].get('generateName')}{len(changes)}")
        with lock:
            if path in objects:
                return self.refuse(409, "AlreadyExists")
            self.send(201, store(path, new, "ADDED"))

    def do_PATCH(self):
        path, _ = self.asked()
        patch, kind, status = self.body(), self.headers["Content-Type"], path.endswith("/status")
        path = path.removesuffix("/status")
        with lock:
            old = objects.get(path)
            if "apply-patch" in kind:
                new = merged(old or {}, patch)
            elif not old:
                return self.refuse(404, "NotFound")
            else:
                new = json_patched(old, patch) if "json-patch" in kind else merged(old, patch)
            if status and "status" not in new:
                return self.refuse(400, "BadRequest")
            self.send(200 if old else 201, store(path, new, "MODIFIED" if old else "ADDED"))

    def do_DELETE(self):
        path, _ = self.asked()
        with lock:
            if path not in objects:
                return self.refuse(404, "NotFound")
            store(path, objects[path], "DELETED")
            self.send(200, objects.pop(path))

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
with open(sys.argv[1] + ".new", "w") as f:
    f.write(str(server.server_port))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
