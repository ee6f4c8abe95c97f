#!/usr/bin/env python3
"""image.py - container images without any tool for them: a store of blobs, and names for manifests in it.

    image.py make STORE NAME FROM [DIR] [--from STORE] [--entrypoint WORD]
    image.py archive STORE >FILE             all of them, as `ctr images import` reads it
    image.py serve ADDRESS PORT STORE…       a registry for pulls; any registry's names are looked for

FROM is a name, or "scratch". DIR may be the upper directory of an overlay: what was deleted there is
deleted in the image. A store is blobs/sha256/DIGEST and names/NAME, where "/" is written "%".
"""
import argparse
import hashlib
import http.server
import io
import json
import os
import re
import stat
import sys
import tarfile
import urllib.parse

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
EPOCH = "1970-01-01T00:00:00Z"


def tagged(name):
    return name if ":" in name.rsplit("/", 1)[-1] else name + ":latest"


def blob(stores, digest):
    for store in stores:
        path = f"{store}/blobs/sha256/{digest.removeprefix('sha256:')}"
        if os.path.exists(path):
            return path
    return None


def named(stores, name):
    for store in stores:
        try:
            with open(f"{store}/names/{tagged(name).replace('/', '%')}") as f:
                return f.read()
        except FileNotFoundError:
            pass
    return None


def content(stores, digest):
    with open(blob(stores, digest), "rb") as f:
        return f.read()


class Writer:
    """a new blob: its name is known when all of it is written"""

    def __init__(self, store):
        self.dir, self.sum, self.size = f"{store}/blobs/sha256", hashlib.sha256(), 0
        os.makedirs(self.dir, exist_ok=True)
        self.path = f"{self.dir}/.new-{os.getpid()}"
        self.file = open(self.path, "wb")

    def write(self, data):
        self.sum.update(data)
        self.size += len(data)
        return self.file.write(data)

    def done(self):
        self.file.close()
        os.rename(self.path, f"{self.dir}/{self.sum.hexdigest()}")
        return {"digest": "sha256:" + self.sum.hexdigest(), "size": self.size}


def write_json(store, what):
    w = Writer(store)
    w.write(json.dumps(what, sort_keys=True).encode())
    return w.done()


def layer(store, top):
    w = Writer(store)
    with tarfile.open(fileobj=w, mode="w|", format=tarfile.PAX_FORMAT) as tar:

        def add(path, name):
            st = os.lstat(path)
            if stat.S_ISCHR(st.st_mode) and st.st_rdev == 0:
                head, _, tail = name.rpartition("/")
                tar.addfile(tarfile.TarInfo((head + "/" if head else "") + ".wh." + tail))
                return
            if stat.S_ISSOCK(st.st_mode):
                return
            info = tar.gettarinfo(path, name)
            info.uname = info.gname = ""
            if info.isreg():
                with open(path, "rb") as f:
                    tar.addfile(info, f)
            else:
                tar.addfile(info)
            if info.isdir():
                if "trusted.overlay.opaque" in os.listxattr(path):
                    tar.addfile(tarfile.TarInfo(name + "/.wh..wh..opq"))
                walk(path, name + "/")

        def walk(path, prefix):
            for entry in sorted(os.listdir(path)):
                add(f"{path}/{entry}", prefix + entry)

        walk(top, "")
    return {"mediaType": LAYER, **w.done()}


def make(store, name, origin, top, others, entrypoint):
    stores = [store] + others
    config = {
        "architecture": "amd64",
        "os": "linux",
        "created": EPOCH,
        "config": {"Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]},
        "rootfs": {"type": "layers", "diff_ids": []},
    }
    layers = []
    if origin != "scratch":
        digest = named(stores, origin)
        if not digest:
            sys.exit(f'image.py: no image "{origin}"')
        manifest = json.loads(content(stores, digest))
        config = json.loads(content(stores, manifest["config"]["digest"]))
        layers = manifest["layers"]
    if top:
        layers.append(layer(store, top))
        config["rootfs"]["diff_ids"].append(layers[-1]["digest"])
    if entrypoint:
        config["config"]["Entrypoint"] = [entrypoint]
    about = {"mediaType": CONFIG, **write_json(store, config)}
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": about, "layers": layers}
    os.makedirs(f"{store}/names", exist_ok=True)
    path = f"{store}/names/{tagged(name).replace('/', '%')}"
    with open(path + ".new", "w") as f:
        f.write(write_json(store, manifest)["digest"])
    os.rename(path + ".new", path)


def archive(store):
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as tar:

        def add(name, data):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))

        index = []
        for name in sorted(os.listdir(f"{store}/names")):
            digest = named([store], name.replace("%", "/"))
            index.append(
                {
                    "mediaType": MANIFEST,
                    "digest": digest,
                    "size": os.path.getsize(blob([store], digest)),
                    "annotations": {"io.containerd.image.name": name.replace("%", "/")},
                }
            )
        add("oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
        add("index.json", json.dumps({"schemaVersion": 2, "manifests": index}).encode())
        for digest in sorted(os.listdir(f"{store}/blobs/sha256")):
            tar.add(f"{store}/blobs/sha256/{digest}", f"blobs/sha256/{digest}")


def serve(address, port, stores):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self):
            self.do_GET()

        def do_GET(self):
            url = urllib.parse.urlsplit(self.path)
            # the registry whose place this one takes
            host = urllib.parse.parse_qs(url.query).get("ns", [""])[0]
            if url.path == "/v2/":
                return self.send(io.BytesIO(b"{}"), 2, "application/json", None)
            m = re.fullmatch(r"/v2/(.+)/(manifests|blobs)/([^/]+)", url.path)
            digest = m and m[3]
            if m and not digest.startswith("sha256:"):
                # a name without a registry means a default one, and without a slash a default part of it
                for known in (f"{host}/{m[1]}", m[1], m[1].removeprefix("library/")):
                    digest = named(stores, f"{known}:{m[3]}")
                    if digest:
                        break
            path = digest and blob(stores, digest)
            if not path:
                body = b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}'
                return self.send(io.BytesIO(body), len(body), "application/json", None, 404)
            kind = MANIFEST if m[2] == "manifests" else "application/octet-stream"
            with open(path, "rb") as f:
                self.send(f, os.path.getsize(path), kind, digest)

        def send(self, f, size, kind, digest, code=200):
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(size))
            if digest:
                self.send_header("Docker-Content-Digest", digest)
            self.end_headers()
            while self.command == "GET" and (data := f.read(1 << 20)):
                self.wfile.write(data)

    http.server.ThreadingHTTPServer((address, port), Handler).serve_forever()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    m = verbs.add_parser("make")
    for word in "store", "name", "origin":
        m.add_argument(word)
    m.add_argument("dir", nargs="?")
    m.add_argument("--from", dest="others", action="append", default=[])
    m.add_argument("--entrypoint")
    a = verbs.add_parser("archive")
    a.add_argument("store")
    s = verbs.add_parser("serve")
    s.add_argument("address")
    s.add_argument("port", type=int)
    s.add_argument("stores", nargs="+")
    args = parser.parse_args()
    if args.verb == "make":
        make(args.store, args.name, args.origin, args.dir, args.others, args.entrypoint)
    elif args.verb == "archive":
        archive(args.store)
    else:
        serve(args.address, args.port, args.stores)


main()
