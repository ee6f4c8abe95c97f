#!/usr/bin/env python3
"""Takes the place of every command of a job, whatever its dialect: meets all the others, says so, ends.

    meet_all.py COUNT      so many of it run; 0: as many as mpirun says

First each finds the others by what its dialect tells it and talks to them:

    OpenPAI          PAI_HOST_IP_* and PAI_PORT_LIST_*: everyone calls everyone
    TensorFlow       TF_CONFIG: everyone calls all it is told of
    PyTorch          MASTER_ADDR or PET_RDZV_ENDPOINT: everyone calls the one that listens there

Then everyone calls everyone by the name of its host, at a port that it has left word of in the run's directory.
Nobody ends before all have met. Ends with 0 only if all were there; prints `met COUNT as NAME on HOST`.
"""
import json
import os
import socket
import sys
import threading
import time

env = os.environ
PATIENCE = float(env.get('PATIENCE', 40))  # seconds; a crowded machine starts slowly
RANK = next((env[k] for k in ('OMPI_COMM_WORLD_RANK', 'PMI_RANK') if k in env), None)
SIZE = next((env[k] for k in ('OMPI_COMM_WORLD_SIZE', 'PMI_SIZE') if k in env), None)
HOST = env['MUSTER_HOST']
NAME = f'rank-{RANK}' if RANK else '{MUSTER_ROLE}-{MUSTER_INDEX}'.format(**env) + f'-{env.get("LOCAL_RANK", 0)}'
COUNT = int(sys.argv[1]) or int(SIZE or 1)
PLACES = f'{env["MUSTER_RUN_DIR"]}/meet-{env["MUSTER_ATTEMPT"]}'


def serve(host, port, me):
    """Tells whoever calls who this is; gives the port."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(256)

    def answer():
        while True:
            with listener.accept()[0] as peer:
                peer.sendall((me + '\n').encode())
    threading.Thread(target=answer, daemon=True).start()
    return listener.getsockname()[1]


def call(host, port, wanted):
    """Whoever listens there has to be the wanted one."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with socket.create_connection((host, port), timeout=PATIENCE) as peer:
                answer = peer.makefile().readline().strip()
            break
        except ConnectionError:
            if time.monotonic() > deadline:
                sys.exit(f'{NAME}: nobody listens at {host}:{port}, where {wanted} should')
            time.sleep(0.05)
    if answer != wanted:
        sys.exit(f'{NAME}: at {host}:{port} is {answer}, not {wanted}')


def place_of(address):
    host, port = address.rsplit(':', 1)
    return host, int(port)


# --- by the dialect's own words -----------------------------------------------------------------------


def openpai():
    tasks = {}
    for role in env['PAI_TASK_ROLE_LIST'].split(','):
        for i in range(int(env[f'PAI_TASK_ROLE_TASK_COUNT_{role}'])):
            ports = env[f'PAI_PORT_LIST_{role}_{i}_http'].split(',')
            tasks[f'{role}-{i}'] = env[f'PAI_HOST_IP_{role}_{i}'], int(ports[0])
    if len(tasks) != COUNT:
        sys.exit(f'{NAME} is told of {len(tasks)} tasks, not {COUNT}')
    me = '{PAI_CURRENT_TASK_ROLE_NAME}-{PAI_TASK_INDEX}'.format(**env)
    serve(*tasks[me], me)
    for name, place in tasks.items():
        call(*place, name)


def tensorflow(config):
    tasks = {f'{role}-{i}': place_of(place) for role, places in config['cluster'].items()
             for i, place in (places.items() if isinstance(places, dict) else enumerate(places))}
    me = '{type}-{index}'.format(**config['task'])
    if me in tasks:  # an evaluator need not be
        serve('', tasks[me][1], me)
    for name, place in tasks.items():
        call(*place, name)


def pytorch(host, port):
    """The one that is at the place listens there: rank 0, or without ranks whose name it is."""
    first = env['RANK'] == '0' if 'RANK' in env else host.split('.')[0] in (HOST, 'localhost')
    if first and env.get('LOCAL_RANK', '0') == '0':
        serve('', port, 'the first')
    call(host, port, 'the first')


def by_dialect():
    if RANK is not None:
        if int(SIZE) != COUNT:
            sys.exit(f'mpirun has started {SIZE} ranks, not {COUNT}')
    elif 'PAI_TASK_ROLE_LIST' in env:
        openpai()
    elif 'TF_CONFIG' in env:
        tensorflow(json.loads(env['TF_CONFIG']))
    elif 'MASTER_ADDR' in env and 'RANK' in env:
        pytorch(env['MASTER_ADDR'], int(env['MASTER_PORT']))
    elif 'PET_RDZV_ENDPOINT' in env and 'MASTER_ADDR' not in env:
        host, port = place_of(env['PET_RDZV_ENDPOINT'])
        with open(env['MUSTER_PEERS'], encoding='utf-8') as f:
            if host.split('.')[0] in [peer['host'] for peer in json.load(f)]:
                pytorch(host, port)


# --- by name ------------------------------------------------------------------------------------------


def leave_word(kind, text):
    with open(f'{PLACES}/{NAME}.new', 'w', encoding='utf-8') as f:
        f.write(text)
    os.rename(f.name, f'{PLACES}/{NAME}.{kind}')


def words(kind):
    """What everyone has left, by name."""
    deadline = time.monotonic() + PATIENCE
    while True:
        names = [name for name in os.listdir(PLACES) if name.endswith('.' + kind)]
        if len(names) >= COUNT:
            break
        if time.monotonic() > deadline:
            sys.exit(f'{NAME}: only {len(names)} of {COUNT} are here: {sorted(names)}')
        time.sleep(0.02)
    found = {}
    for name in names:
        with open(f'{PLACES}/{name}', encoding='utf-8') as f:
            found[name.rsplit('.', 1)[0]] = f.read()
    return found


def main():
    os.makedirs(PLACES, exist_ok=True)
    by_dialect()
    leave_word('place', f'{HOST}:{serve(socket.gethostbyname(HOST), 0, NAME)}')
    everyone = words('place')
    if len(everyone) != COUNT:
        sys.exit(f'{len(everyone)} are here, not {COUNT}: {sorted(everyone)}')
    for name, place in everyone.items():
        call(*place_of(place), name)
    sys.stdout.write(f'met {COUNT} as {NAME} on {HOST}\n')
    sys.stdout.flush()
    leave_word('done', '')
    words('done')


main()
