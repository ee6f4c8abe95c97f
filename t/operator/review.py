"""Asks the webhook as the API server does: review.py API-PORT PORT NAMESPACE <JOB.yaml. Prints the answer's response.

Trusts nothing but the caBundle of the configuration, and connects to the name of the Service.
"""
import base64
import http.client
import json
import socket
import ssl
import sys
import urllib.request

import yaml

api, port, namespace = sys.argv[1:4]


def get(path):
    with urllib.request.urlopen(f"http://127.0.0.1:{api}{path}", timeout=30) as r:
        return json.load(r)


config = get("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/muster-operator")
client = config["webhooks"][0]["clientConfig"]
context = ssl.create_default_context(cadata=base64.b64decode(client["caBundle"]).decode())
job = yaml.safe_load(sys.stdin)
group, version = job["apiVersion"].split("/")
review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
    "uid": "u", "namespace": namespace, "operation": "CREATE", "object": job,
    "resource": {"group": group, "version": version, "resource": job["kind"].lower() + "s"},
    "requestKind": {"group": group, "version": version, "kind": job["kind"]}}}


class Connection(http.client.HTTPSConnection):
    def connect(self):
        plain = socket.create_connection(("127.0.0.1", int(port)), timeout=30)
        self.sock = context.wrap_socket(plain, server_hostname=f"{client['service']['name']}.{client['service']['namespace']}.svc")


c = Connection("webhook")
for _ in range(2):  # the API server keeps its connection
    c.request("POST", client["service"]["path"] + "?timeout=5s", json.dumps(review), {"Content-Type": "application/json"})
    answer = json.load(c.getresponse())
print(json.dumps(answer["response"], sort_keys=True))
