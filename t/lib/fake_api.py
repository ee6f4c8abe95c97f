"""An API server of Kubernetes in one process, with what controllers and kubelets would do done by the test.

It knows what muster-operator asks for: discovery, lists, watches, creation, merge and JSON patches, deletion with
preconditions, owners. Objects of all versions of a kind are the same, and keep what they are given: nothing is validated.
"""
import http.server
import json
import threading
import time
import urllib.parse
import uuid

CORE = "pods services configmaps secrets serviceaccounts events"
GROUPS = {
    "": {"v1": CORE},
    "batch": {"v1": "jobs"},
    "autoscaling": {"v2": "horizontalpodautoscalers"},
    "rbac.authorization.k8s.io": {"v1": "roles rolebindings"},
    "scheduling.volcano.sh": {"v1beta1": "podgroups"},
    "scheduling.x-k8s.io": {"v1alpha1": "podgroups"},
    "muster.internal": {"v1": "musterjobs"},
    "kubeflow.org": {"v1": "mpijobs pytorchjobs tfjobs", "v2beta1": "mpijobs", "v1alpha2": "mpijobs", "v1alpha1": "mpijobs"},
    "batch.tensorstack.dev": {"v1beta1": "mpijobs"},
}
KINDS = {"musterjobs": "MusterJob", "mpijobs": "MPIJob", "configmaps": "ConfigMap", "secrets": "Secret", "pods": "Pod"}


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def merge(old, patch):
    """RFC 7386"""
    if not isinstance(patch, dict):
        return patch
    old = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            old.pop(key, None)
        else:
            old[key] = merge(old.get(key), value)
    return old


class Refused(Exception):
    def __init__(self, code, reason):
        super().__init__(reason)
        self.code, self.reason = code, reason


class Api:
    def __init__(self):
        self.lock = threading.Condition()
        self.objects = {}  # (group, plural, namespace, name)
        self.events = []  # (version, key, type, object)
        self.version = 100
        self.requests = []  # (method, path)
        self.logs = {}  # by pod
        self.late_s = 0  # answers to patches come that much later than their effect
        handler = type("Handler", (self.handler(),), {"api": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]

    def handler(self):
        return Handler

    def kubeconfig(self, path):
        with open(path, "w") as f:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                       "clusters": [{"name": "c", "cluster": {"server": self.url}}],
                       "users": [{"name": "u", "user": {}}]}, f)

    # --- objects; the lock is held ---
    def note(self, key, kind, obj):
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        self.events.append((self.version, key, kind, json.loads(json.dumps(obj))))
        self.lock.notify_all()

    def put(self, key, obj):
        meta = obj.setdefault("metadata", {})
        name = meta.get("name") or meta["generateName"] + uuid.uuid4().hex[:5]
        key = key[:3] + (name,)
        if key in self.objects:
            raise Refused(409, "AlreadyExists")
        meta.update(name=name, namespace=key[2], uid=str(uuid.uuid4()), creationTimestamp=now(), generation=1)
        self.objects[key] = obj
        self.note(key, "ADDED", obj)
        return obj

    def change(self, key, new):
        old = self.objects[key]
        new["metadata"]["uid"] = old["metadata"]["uid"]
        if json.dumps(new, sort_keys=True) == json.dumps(old, sort_keys=True):
            return old
        if new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] = old["metadata"]["generation"] + 1
        self.objects[key] = new
        self.note(key, "MODIFIED", new)
        return new

    def drop(self, key):
        obj = self.objects.pop(key)
        self.note(key, "DELETED", obj)
        uid = obj["metadata"]["uid"]
        for other in list(self.objects):
            owners = self.objects.get(other, {}).get("metadata", {}).get("ownerReferences", [])
            if any(o["uid"] == uid for o in owners):
                self.drop(other)

    # --- for tests ---
    def create(self, obj, namespace="n"):
        group, _, _ = obj["apiVersion"].rpartition("/")
        plural = obj["kind"].lower() + "s"
        obj["metadata"].setdefault("managedFields", [{"manager": "t", "operation": "Update", "apiVersion": obj["apiVersion"],
                                                      "time": now(), "fieldsV1": {"f:spec": {"f:mpiReplicaSpecs": {}, "f:template": {}}}}])
        with self.lock:
            return self.put((group, plural, namespace, ""), obj)

    def get(self, plural, name, namespace="n"):
        with self.lock:
            for key, obj in self.objects.items():
                if key[1:] == (plural, namespace, name):
                    return json.loads(json.dumps(obj))
        return None

    def names(self, plural, namespace="n"):
        with self.lock:
            return sorted(k[3] for k in self.objects if k[1] == plural and k[2] == namespace)

    def patch(self, plural, name, patch, namespace="n"):
        with self.lock:
            for key in list(self.objects):
                if key[1:] == (plural, namespace, name):
                    return self.change(key, merge(json.loads(json.dumps(self.objects[key])), patch))
        return None

    def delete(self, plural, name, namespace="n"):
        with self.lock:
            for key in list(self.objects):
                if key[1:] == (plural, namespace, name):
                    self.drop(key)
                    return

    def asked(self, method, part):
        with self.lock:
            return sum(m == method and part in p for m, p in self.requests)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api = None

    def log_message(self, *args):
        pass

    def handle(self):
        try:
            super().handle()
        except (OSError, ValueError):
            pass  # an operator that was killed in the middle of a request

    def answer(self, code, body):
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def body(self):
        n = int(self.headers.get("Content-Length") or 0)
        return json.loads(self.rfile.read(n)) if n else {}

    def place(self):
        """group, version, namespace, plural, name, subresource, query"""
        url = urllib.parse.urlsplit(self.path)
        words = [w for w in url.path.split("/") if w]
        query = dict(urllib.parse.parse_qsl(url.query))
        group, version, rest = ("", words[1:2], words[2:]) if words[0] == "api" else (words[1], words[2:3], words[3:])
        namespace = None
        if rest[:1] == ["namespaces"] and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        rest = (rest + [None, None, None])[:3]
        return group, (version or [None])[0], namespace, rest[0], rest[1], rest[2], query

    def shown(self, obj, group, version):
        return dict(obj, apiVersion="%s/%s" % (group, version) if group else version)

    def do(self, method):
        body = self.body()
        group, version, namespace, plural, name, sub, query = self.place()
        with self.api.lock:
            self.api.requests.append((method, self.path))
        if group not in GROUPS:
            return self.answer(404, {"kind": "Status", "reason": "NotFound", "message": "no such group"})
        if not plural:
            return self.discover(group, version)
        if method == "GET" and not name:
            if query.get("watch"):
                return self.watch(group, version, namespace, plural, query)
            return self.list(group, version, namespace, plural, query)
        if sub == "log":
            return self.log(name)
        try:
            with self.api.lock:
                obj = self.one(method, (group, plural, namespace, name or ""), sub, body)
                text = json.loads(json.dumps(self.shown(obj, group, version)))
            if method == "PATCH" and not sub:
                time.sleep(self.api.late_s)
            self.answer(201 if method == "POST" else 200, text)
        except Refused as e:
            self.answer(e.code, {"kind": "Status", "reason": e.reason, "message": "%s %s: %s" % (method, self.path, e.reason)})

    def log(self, name):
        text = self.api.logs.get(name, "").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def one(self, method, key, sub, body):
        api = self.api
        if method == "POST":
            return api.put(key, body)
        if key not in api.objects and "apply-patch" in self.headers.get("Content-Type", ""):
            return api.put(key, body)
        if key not in api.objects:
            raise Refused(404, "NotFound")
        old = api.objects[key]
        if method == "GET":
            return old
        if method == "DELETE":
            uid = body.get("preconditions", {}).get("uid")
            if uid and uid != old["metadata"]["uid"]:
                raise Refused(409, "Conflict")
            api.drop(key)
            return old
        new = json.loads(json.dumps(old))
        if isinstance(body, list):
            for step in body:
                if step["op"] == "test":
                    if old["metadata"]["uid"] != step["value"]:
                        raise Refused(422, "Invalid")
                else:
                    new[step["path"].strip("/")] = step["value"]
        else:
            given = body.get("metadata", {}).get("resourceVersion")
            if given and given != old["metadata"]["resourceVersion"]:
                raise Refused(409, "Conflict")
            new = merge(new, body)
        if sub == "status":
            new = dict(json.loads(json.dumps(old)), status=new.get("status"))
        return api.change(key, new)

    def discover(self, group, version):
        if version:
            return self.answer(200, {"resources": [{"name": n, "kind": KINDS.get(n, n)} for n in GROUPS[group].get(version, "").split()]})
        return self.answer(200, {"versions": [{"version": v} for v in GROUPS[group]]})

    def picks(self, key, group, namespace, plural, obj, query):
        labels = obj["metadata"].get("labels") or {}
        for part in filter(None, query.get("labelSelector", "").split(",")):
            word, _, value = part.partition("=")
            if word.startswith("!"):
                if word[1:] in labels:
                    return False
                continue
            if word not in labels or (value and labels[word] != value):
                return False
        word, _, value = query.get("fieldSelector", "").partition("=")
        if word == "metadata.name" and value != obj["metadata"]["name"]:
            return False
        return key[0] == group and key[1] == plural and (namespace is None or key[2] == namespace)

    def list(self, group, version, namespace, plural, query):
        with self.api.lock:
            items = [json.loads(json.dumps(self.shown(o, group, version))) for k, o in self.api.objects.items()
                     if self.picks(k, group, namespace, plural, o, query)]
            at = str(self.api.version)
        self.answer(200, {"kind": "List", "metadata": {"resourceVersion": at}, "items": items})

    def watch(self, group, version, namespace, plural, query):
        after = int(query.get("resourceVersion") or 0)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while True:
            with self.api.lock:
                news = [e for e in self.api.events if e[0] > after]
                if not news:
                    self.api.lock.wait(0.5)
            for at, key, kind, obj in news:
                after = at
                if not self.picks(key, group, namespace, plural, obj, query):
                    continue
                line = json.dumps({"type": kind, "object": self.shown(obj, group, version)}).encode() + b"\n"
                try:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                    self.wfile.flush()
                except OSError:
                    return

    def do_GET(self):
        self.do("GET")

    def do_POST(self):
        self.do("POST")

    def do_PATCH(self):
        self.do("PATCH")

    def do_DELETE(self):
        self.do("DELETE")
