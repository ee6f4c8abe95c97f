#!/usr/bin/env python3
"""corpus_run.py - plans and runs job files with each command replaced by lib/meet_all.py.

    corpus_run.py MUSTER DOCUMENTS DIRECTORY LEVEL FILE...

DOCUMENTS is the program t/libprog/documents, DIRECTORY an empty one for stand-ins of volumes, secrets and config
maps, LEVEL that of isolation. A file that `muster validate` does not accept is left out. Each other one is planned,
made to fit, and run: every replica of the plan has to have met every other, at the host that the plan says, after
all its init containers, whose commands are replaced too. Prints a line per file, tab separated: fine or wrong, the
file, how many met or why not.
"""
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter

try:
    from jsonschema import Draft7Validator
except ImportError:
    Draft7Validator = None

MUSTER, DOCUMENTS, DIRECTORY, LEVEL, *FILES = sys.argv[1:]
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MEET = os.path.join(TOP, 't/lib/meet_all.py')
SPOKEN = re.compile(r'\[([^/\]]+)(?:/(?:(\d+)|[a-z]+-\d+))?\] met (\d+) as (\S+) on (\S+)$', re.M)
LIMIT = 100
# A file's own PATH is its container's.
PYTHON, MPIRUN = sys.executable, shutil.which('mpirun')


class Wrong(Exception):
    """What is wrong with how a file was planned or run."""


def ask(*args, limit=30):
    p = subprocess.run(args, capture_output=True, stdin=subprocess.DEVNULL, timeout=limit, check=False)
    return p.returncode, p.stdout.decode(errors='replace'), p.stderr.decode(errors='replace')


def explain(options, path, shape):
    code, out, err = ask(MUSTER, 'explain', '-o', 'json', *options, path)
    if code != 0:
        raise Wrong(f'it cannot be explained: {err.strip()[-300:]}')
    told = json.loads(out)
    if shape:
        for e in shape.iter_errors(told):
            raise Wrong(f'its explanation has another shape: {e.message[:200]}')
    return told['jobs'][0]


# --- stand-ins ----------------------------------------------------------------------------------------


def mappings(node):
    """Every mapping of a document."""
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else []:
        yield from mappings(child)


def put(kind, name, keys):
    """A secret or config map with those keys, each readable by its owner alone."""
    place = os.path.join(DIRECTORY, kind, name)
    os.makedirs(place, mode=0o700, exist_ok=True)
    for key in keys or ['key']:
        with open(os.open(os.path.join(place, key), os.O_CREAT | os.O_WRONLY, 0o600), 'w', encoding='utf-8') as f:
            f.write('stand-in')


def stand_ins(document):
    """Options that give a job what a cluster would."""
    options = ['--secrets', os.path.join(DIRECTORY, 'secrets'), '--configmaps', os.path.join(DIRECTORY, 'configmaps')]
    keys = {'secretKeyRef': 'secrets', 'configMapKeyRef': 'configmaps', 'secretRef': 'secrets',
            'configMapRef': 'configmaps', 'secret': 'secrets', 'configMap': 'configmaps'}
    volumes = {}
    for m in mappings(document):
        for key, kind in keys.items():
            ref = m.get(key)
            name = isinstance(ref, dict) and (ref.get('name') or ref.get('secretName'))
            if name:
                items = [i.get('key') for i in ref.get('items') or []]
                put(kind, name, items or ([ref['key']] if 'key' in ref else None))
        for v in m.get('volumes') or [] if isinstance(m.get('volumes'), list) else []:
            if isinstance(v, dict) and not {'emptyDir', 'secret', 'configMap'} & set(v) and len(v) > 1:
                volumes[v['name']] = os.path.join(DIRECTORY, 'volumes', v['name'])
    for name, place in volumes.items():
        os.makedirs(place, exist_ok=True)
        options += ['--volume', f'{name}={place}']
    return options


# --- commands -----------------------------------------------------------------------------------------


def set_program(dialect, document):
    """The path of the program in a file whose mpirun line Muster composes, or None."""
    if dialect == 't9k-mpi':
        spec = document['spec']
        if 'cmd' in spec.get('worker', {}):
            return 'spec.worker.cmd'
        return next(f'spec.{key}.script' for key, v in spec.items() if isinstance(v, dict) and 'script' in v)
    if dialect == 'muster-v1' and document.get('framework') == 'mpi':
        return next((f'roles.{name}.command' for name in document['roles'] if name != 'launcher'), None)
    return None


def replaced(job, dialect, document):
    """Options that put meet_all.py in the place of each command, and how many of it there will be; 0: unknown."""
    program = set_program(dialect, document)
    if program:
        return ['--set', f'{program}={json.dumps([PYTHON, MEET, "0"])}'], 0
    if dialect == 'azureml' and job['framework'] == 'mpi':
        return ['--entrypoint', f'node={PYTHON} {MEET} 0'], 0
    if has_launcher(job):
        return ['--entrypoint', f'launcher={MPIRUN} {PYTHON} {MEET} 0'], 0
    count = len(job['processes'])
    options = []
    for role in job['roles']:
        options += ['--entrypoint', f'{role["name"]}={PYTHON} {MEET} {count}']
    return options, count


def places(node, key, path=''):
    """The path of every such key in a document, as --set wants it, and what is there."""
    for k, child in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else []:
        here = f'{path}[{json.dumps(k)}]'
        if k == key:
            yield here, child
        yield from places(child, key, here)


def replaced_inits(document):
    """Options that put other words in the place of each init container's command."""
    command = json.dumps(['/bin/sh', '-c', 'echo "prepared $MUSTER_HOST"'])
    options = []
    for key in ('initContainers', 'init'):
        for path, inits in places(document, key):
            for i, init in enumerate(inits if isinstance(inits, list) else []):
                options += ['--set', f'{path}[{i}].command={command}']
                if 'args' in init:
                    options += ['--set', f'{path}[{i}].args=null']
    return options


def has_launcher(job):
    return job['framework'] == 'mpi' and any(p['role'] == 'launcher' for p in job['processes'])


def is_host(job, process):
    """An MPI worker: mpirun starts the processes in it."""
    return has_launcher(job) and process['role'] != 'launcher'


# --- running ------------------------------------------------------------------------------------------


def check_output(job, count, out):
    """All of the plan's replicas have to have spoken, each from the host that the plan says."""
    lines = SPOKEN.findall(out)
    hosts = {p['replica']: p['host'] for p in job['processes']}
    waiting = {p['replica'] for p in job['processes'] if is_host(job, p)}
    if not lines or {int(n) for _, _, n, _, _ in lines} != {len(lines)} or (count and len(lines) != count):
        raise Wrong(f'{len(lines)} have spoken of {count or "all"}: {lines}')
    if len({name for *_, name, _ in lines}) != len(lines):
        raise Wrong(f'some are the same: {lines}')
    for replica, rank, _, name, host in lines:
        if hosts.get(replica) != host:
            raise Wrong(f'{name} is on {host}, the plan has {replica} on {hosts.get(replica)}')
        if name.startswith('rank-') and name != f'rank-{rank}':
            raise Wrong(f'{name} was taken for rank {rank}')
    spoken = Counter(replica for replica, *_ in lines)
    missing = (waiting or set(hosts)) - set(spoken)
    if missing:
        raise Wrong(f'{sorted(missing)} have not spoken')
    slots = {r['name']: r['slots'] for r in job['roles']}
    for p in job['processes']:
        if is_host(job, p) and isinstance(slots[p['role']], int) and spoken[p['replica']] != slots[p['role']]:
            raise Wrong(f'{p["replica"]} ran {spoken[p["replica"]]} of {slots[p["role"]]}')
    return len(lines), len(spoken)


def check_inits(job, run):
    """Each init container of the plan has run in each replica of its role, on the replica's host."""
    hosts = {p['replica']: p for p in job['processes']}
    for role in job['roles']:
        for init in role.get('init', []):
            for replica, p in hosts.items():
                if p['role'] != role['name']:
                    continue
                with open(f'{run}/logs/{replica}.init-{init["name"]}.log', encoding='utf-8') as f:
                    if f.read() != f'prepared {p["host"]}\n':
                        raise Wrong(f'{replica} was not prepared by {init["name"]}')
    return sum(len(role.get('init', [])) for role in job['roles'])


def ending(document):
    """A job that is to be retried for ever, even when it has succeeded, would not end."""
    if document.get('retryCount') == -2:
        return ['--set', 'retryCount=0']
    if document.get('jobRetryCount') == -2:
        return ['--set', 'jobRetryCount=0']
    return []


def try_file(path, dialect, document, shape):
    explain([], path, shape)
    options = ['--isolate', LEVEL, '--fit', '--workdir', DIRECTORY, *stand_ins(document), *ending(document),
               *replaced_inits(document)]
    commands, count = replaced(explain(options, path, None), dialect, document)
    options += commands
    job = explain(options, path, shape)
    run = os.path.join(DIRECTORY, 'run')
    command = [MUSTER, 'run', '--grace', '2s', '--run-dir', run]
    shutil.rmtree(run, ignore_errors=True)
    code, out, err = ask(*command, *options, path, limit=LIMIT)
    refused = code == 125 and re.search(r'there is no (\S+) here for the volume', err)
    if refused:  # where no mount point may be made; the message says that --map does it
        options += ['--map', f'{refused[1]}={DIRECTORY}/volumes']
        shutil.rmtree(run, ignore_errors=True)
        code, out, err = ask(*command, *options, path, limit=LIMIT)
    if code != 0:
        raise Wrong(f'ends with {code}: {err.strip()[-700:]}')
    met = '%d on %d' % check_output(job, count, out)
    inits = check_inits(job, run)
    return f'{met}, {inits} init containers' if inits else met


def main():
    shape = None
    if Draft7Validator:
        with open(os.path.join(TOP, 'doc/schema/explain.json'), encoding='utf-8') as f:
            shape = Draft7Validator(json.load(f))
    for kind in ('secrets', 'configmaps', 'volumes'):
        os.makedirs(os.path.join(DIRECTORY, kind), mode=0o700, exist_ok=True)
    told = json.loads(ask(MUSTER, 'validate', '-o', 'json', *FILES, limit=120)[1])
    accepted = [f['file'] for f in told['files'] if f['verdict'] == 'accept']
    for line in ask(DOCUMENTS, *accepted)[1].splitlines():
        path, dialect, text = line.split('\t', 2)
        try:
            print('fine', path, try_file(path, dialect, json.loads(text), shape), sep='\t', flush=True)
        except (Wrong, OSError, subprocess.TimeoutExpired) as e:
            print('wrong', path, ' '.join(str(e).split()), sep='\t', flush=True)


main()
