"""pods_alive - watches the pods of a namespace until SIGTERM: is a replica of a job ever there twice?

    pods_alive.py NAMESPACE

A replica is (job, role, index), by the labels of Kubeflow's operators. Its pod is alive from the moment it has a node until
it has ended or is gone. A line for each replica that had two pods alive at the same time, with their names and uids; at
the end "N pods seen". Uses kubectl of PATH and its KUBECONFIG; a watch that breaks off is begun again, which also tells
what has gone meanwhile.
"""
import json
import signal
import subprocess
import sys
import time

LABEL = 'training.kubeflow.org/'
alive, seen, told = {}, set(), set()  # (job, role, index) -> {uid: name}
watch = None


def stop(_signal, _frame):
    if watch:
        watch.kill()
    print(f'{len(seen)} pods seen', flush=True)
    sys.exit(0)


def key_of(pod):
    labels = pod['metadata'].get('labels', {})
    if LABEL + 'job-name' not in labels:
        return None
    role = labels.get(LABEL + 'replica-type') or labels.get(LABEL + 'job-role')
    return labels[LABEL + 'job-name'], role, labels.get(LABEL + 'replica-index', '0')


def is_alive(pod):
    return 'nodeName' in pod['spec'] and pod['status'].get('phase') in ('Pending', 'Running', 'Unknown')


def take(kind, pod):
    key, uid = key_of(pod), pod['metadata']['uid']
    if key is None:
        return
    seen.add(uid)
    pods = alive.setdefault(key, {})
    if kind != 'DELETED' and is_alive(pod):
        pods[uid] = pod['metadata']['name']
    else:
        pods.pop(uid, None)
    if len(pods) > 1 and frozenset(pods) not in told:
        told.add(frozenset(pods))
        print(*key, 'twice:', *(f'{name} ({uid})' for uid, name in pods.items()), flush=True)


signal.signal(signal.SIGTERM, stop)
while True:
    listed = subprocess.run(['kubectl', '-n', sys.argv[1], 'get', 'pods', '-o', 'json'], capture_output=True, text=True)
    if listed.returncode == 0:
        there = json.loads(listed.stdout)['items']
        uids = {pod['metadata']['uid'] for pod in there}
        for pods in alive.values():
            for uid in set(pods) - uids:
                del pods[uid]
        for pod in there:
            take('ADDED', pod)
        watch = subprocess.Popen(['kubectl', '-n', sys.argv[1], 'get', 'pods', '-w', '--output-watch-events', '-o', 'json'],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in watch.stdout:
            event = json.loads(line)
            take(event['type'], event['object'])
        watch.wait()
    time.sleep(0.2)
