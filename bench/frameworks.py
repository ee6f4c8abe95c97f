"""frameworks.py - real training under Muster and without it; a part of bench/run.

The same script with the same number of processes, threads and steps: once started by Muster, once
by bare processes that are told all they need or by the framework's own launcher. Each run
gives two figures: how long it took, and when its first step was seen. The steps are so many
that the reference takes about SECONDS. The scripts are those of examples/frameworks, the frameworks
what tools/frameworks has installed; a part that is not there is a SKIP.
"""
import glob
import json
import os
import random
import select
import shutil
import socket
import statistics
import subprocess
import sys
import time

SECONDS = 10
LIMIT = 180  # for one run
HOROVOD = 'horovodrun -np 2 -H localhost:2 python3 train_horovod.py'
HOROVOD_JOB = f"""apiVersion: muster/v1
name: horovod
roles:
  worker:
    replicas: 1
    image: horovod
    command: {HOROVOD}
"""


def framework(part, program=''):
    """Where tools/frameworks has put a part, or a program of it."""
    where = subprocess.run(['tools/frameworks', '--where'], text=True, stdout=subprocess.PIPE, check=True).stdout.strip()
    return os.path.join(where, part, 'bin', program) if program else os.path.join(where, part)


def free_ports(n):
    sockets = [socket.create_server(('127.0.0.1', 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def bare_ddp():
    port = free_ports(1)[0]
    return [(['python3', 'train_ddp.py'], {'MASTER_ADDR': '127.0.0.1', 'MASTER_PORT': str(port), 'WORLD_SIZE': '2',
                                           'RANK': str(i), 'LOCAL_RANK': str(i)}) for i in range(2)]


def bare_mirrored():
    workers = [f'127.0.0.1:{port}' for port in free_ports(2)]
    return [(['python3', 'train_mirrored.py'],
             {'TF_CONFIG': json.dumps({'cluster': {'worker': workers}, 'task': {'type': 'worker', 'index': i}})})
            for i in range(2)]


def alone(*argv):
    return lambda: [(list(argv), {})]


def watch(reader, deadline):
    """When the first step was seen, and all that was written until the end."""
    first, text = None, b''
    while select.select([reader], [], [], max(0, deadline - time.monotonic()))[0]:
        got = os.read(reader, 65536)
        if not got:
            break
        text += got
        if first is None and b'step 0: loss' in text:
            first = time.monotonic()
    return first, text


def code_of(p):
    """Its exit code. What has not ended by itself is asked to first: launchers take their ranks with them."""
    for patience, end in (3, p.terminate), (20, p.kill):
        try:
            return p.wait(patience)
        except subprocess.TimeoutExpired:
            end()
    return p.wait()


class Frameworks:
    def __init__(self, bench):
        self.bench = bench
        self.dir = os.path.join(bench.work, 'frameworks')
        os.makedirs(os.path.join(self.dir, 'src'))
        for path in glob.glob('examples/frameworks/*.py') + ['examples/frameworks/ddp.yaml', 'examples/azureml/tf-multiworker.yaml']:
            shutil.copy(path, self.dir)
        shutil.copy('examples/frameworks/problem.py', os.path.join(self.dir, 'src'))
        shutil.copy('examples/frameworks/train_mirrored.py', os.path.join(self.dir, 'src', 'train.py'))
        with open(os.path.join(self.dir, 'horovod.yaml'), 'w', encoding='ascii') as f:
            f.write(HOROVOD_JOB)

    def under_muster(self, part, file, *options):
        return alone(self.bench.muster, 'run', '--image', f'*={framework(part)}', '--inherit-env', 'STEPS', *options, file)

    def once(self, part, start, steps):
        """Seconds it took and seconds to the first step, or None if it failed (which is said)."""
        env = {**self.bench.env, 'PATH': f'{framework(part)}/bin:{os.environ["PATH"]}', 'STEPS': str(steps),
               'OMP_NUM_THREADS': '1', 'PYTHONUNBUFFERED': '1', 'GLOO_SOCKET_IFNAME': 'lo'}
        todo = start()
        reader, writer = os.pipe()
        begin = time.monotonic()
        # Sessions of their own, as Muster and torchrun give them: the scheduler may share cores out by session.
        running = [subprocess.Popen(argv, env={**env, **own}, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=writer,
                                    stderr=writer, start_new_session=True) for argv, own in todo]
        os.close(writer)
        try:
            first, text = watch(reader, begin + LIMIT)
        finally:
            codes = [code_of(p) for p in running]
            os.close(reader)
        took = time.monotonic() - begin
        if any(codes) or first is None:
            print(f'bench: {" ".join(todo[0][0])}: exit codes {codes}\n{text.decode(errors="replace")[-2000:]}', file=sys.stderr)
            return None
        return took, first - begin

    def enough_steps(self, part, reference):
        """The first trial fills the caches, the two after it tell what a step takes. None if one failed."""
        few, more = 20, 520
        trials = [self.once(part, reference, steps) for steps in (1, few, more)]
        if None in trials:
            return None
        step = max((trials[2][0] - trials[1][0]) / (more - few), 1e-5)
        return max(few, int((SECONDS - trials[1][0]) / step))

    def group(self, what, part, reference, subjects):
        """subjects: (name, start, is it Muster); rows of the whole run and of its first step."""
        rows, aim = self.bench.rows, 1.02
        if not os.path.exists(framework(part, '../stamp')):
            rows.append((what, f'SKIP: no {part}, see tools/frameworks', '', '', '', aim, ''))
            return
        steps = self.enough_steps(part, reference)
        pairs = max(2, self.bench.pairs // 4)  # they take seconds each
        print(f'bench: {what}, {steps} steps', file=sys.stderr)
        starts = {'': reference, **{name: start for name, start, _ in subjects}}
        times = {name: [] for name in starts}
        for _ in range(pairs if steps else 0):
            for name in random.sample(list(starts), len(starts)):
                times[name].append(self.once(part, starts[name], steps))
        for k, part_of_it in enumerate((f'{steps} steps', 'to the first step')):
            for name, _, ours in subjects:
                both = [(a[k], b[k]) for a, b in zip(times[name], times['']) if a and b]
                self.row(f'{what}, {part_of_it}: {name}', both, aim if ours and k == 0 else None)

    def row(self, name, both, aim):
        if len(both) < 2:
            self.bench.rows.append((name, 'FAILED', '', '', '', aim, 'missed'))
            return
        q1, median, q3 = statistics.quantiles([a / b for a, b in both], n=4)
        self.bench.rows.append((name, f'{statistics.median(a for a, _ in both):.2f} s', f'{statistics.median(b for _, b in both):.2f} s',
                                f'{median:.3f}', f'{q1:.3f} to {q3:.3f}, {len(both)} pairs', aim,
                                '' if aim is None else 'met' if median <= aim else 'missed'))

    def measure(self):
        self.group('PyTorch DDP, 2 ranks', 'torch', bare_ddp, [
            ('muster', self.under_muster('torch', 'ddp.yaml', '--scale', 'worker=1'), True),
            ('torchrun', alone('torchrun', '--standalone', '--nproc_per_node', '2', 'train_ddp.py'), False)])
        self.group('Horovod, 2 ranks', 'horovod', alone(*HOROVOD.split()), [
            ('muster with horovodrun against horovodrun', self.under_muster('horovod', 'horovod.yaml'), True)])
        self.group('TensorFlow, 2 workers', 'tensorflow', bare_mirrored, [
            ('muster', self.under_muster('tensorflow', 'tf-multiworker.yaml', '--scale', 'worker=2'), True)])
