"""jobs.py - what a queue of small jobs costs: jobs of one process through the daemon, against a bare posix_spawn() loop and
next to task-spooler and GNU parallel; and what the daemon costs while nothing happens. Used by bench/run.

A job is /bin/true, and counts from its submission until its end is in the database. The peers have the same number of
slots, one for each core, and take 1,000 jobs: each costs them a program of their own.
"""
import calendar
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

TRUE = '/bin/true'
PEERS_TAKE, AT_ONCE = 1000, 10000  # muster submit --count takes no more
RATE, FLAT, RSS_KB, SHOW_MS, SHOWN = 0.6, 0.8, 8 * 1024, 10, 200
IDLE_S = 10
TSP = 'export TS_SOCKET={dir}/tsp TMPDIR={dir} TS_SLOTS={slots} TS_MAXFINISHED={n}; for i in $(seq {n}); do tsp -n {cmd} || exit 1; done >{dir}/ids; tsp -w; tsp -K'
PARALLEL = 'seq {n} | parallel -j {slots} -N0 --joblog {dir}/joblog {cmd}'


def status(pid):
    with open(f'/proc/{pid}/status', encoding='ascii', errors='replace') as f:
        return {line.split(':')[0]: line.split()[1] for line in f if len(line.split()) > 1}


def wakes(pid):
    """Of all its threads, how often they went to sleep so far."""
    return sum(int(status(f'{pid}/task/{t}')['voluntary_ctxt_switches']) for t in os.listdir(f'/proc/{pid}/task'))


class Queue:
    """A daemon of its own, empty at first."""

    def __init__(self, muster, home, env):
        self.run = tempfile.mkdtemp(prefix='mb.', dir='/dev/shm')  # in memory, as in a login session
        self.muster, self.env = muster, {**env, 'HOME': home, 'XDG_STATE_HOME': home, 'XDG_RUNTIME_DIR': self.run}
        self.env.pop('MUSTER_HOME', None)
        os.mkdir(home, 0o700)
        self.daemon = subprocess.Popen([muster, 'serve'], env=self.env, stderr=subprocess.DEVNULL)
        for _ in range(600):
            if os.path.exists(os.path.join(self.run, 'muster/daemon/control.sock')):
                return
            time.sleep(0.1)
        raise TimeoutError('bench: jobs: the daemon has not started')

    def ask(self, *words):
        return subprocess.run([self.muster, *words], env=self.env, text=True, check=True, stdout=subprocess.PIPE).stdout

    def jobs(self):
        return json.loads(self.ask('list', '-o', 'json'))['jobs']

    def finish(self, n):
        """Seconds from the submission of n jobs to the end of the last, and to the reply to their submission."""
        begin = time.time()
        ids = []
        while len(ids) < n:
            ids += self.ask('submit', '--no-autostart', '--count', str(min(n - len(ids), AT_ONCE)), '-n', '1', '--', TRUE).split()
        submitted, known = time.time() - begin, set(ids)
        self.ask('wait', ids[-1])
        while True:
            mine = [j for j in self.jobs() if j['id'] in known]
            if all(j['ended'] for j in mine):
                break
            time.sleep(0.1)
        if len(mine) != n or any(j['exit_code'] != 0 for j in mine):
            raise RuntimeError(f'bench: jobs: {n} jobs submitted, {sum(j["exit_code"] == 0 for j in mine)} succeeded')
        last = max(j['ended'] for j in mine)
        return calendar.timegm(time.strptime(last[:19], '%Y-%m-%dT%H:%M:%S')) + float(last[19:-1]) - begin, submitted

    def idle(self):
        """Resident kB, and how often it wakes up per second while nothing happens."""
        time.sleep(5)  # what is still to be done after the last job
        begin = wakes(self.daemon.pid)
        time.sleep(IDLE_S)
        return int(status(self.daemon.pid)['VmRSS']), (wakes(self.daemon.pid) - begin) / IDLE_S

    def show(self):
        """Milliseconds of `show` of random jobs, in order."""
        ids = [j['id'] for j in self.jobs()]
        times = []
        for i in random.choices(ids, k=SHOWN):
            begin = time.monotonic()
            self.ask('show', i)
            times.append(1000 * (time.monotonic() - begin))
        return len(ids), sorted(times)

    def end(self):
        self.daemon.send_signal(signal.SIGTERM)
        self.daemon.wait()
        shutil.rmtree(self.run, ignore_errors=True)


def loop_s(bench, n):
    ms = bench.once([bench.tool('spawn_loop'), str(n), TRUE], 600)
    if not ms:
        raise RuntimeError('bench: jobs: the posix_spawn() loop failed')
    return ms / 1000


def rate_row(what, n, took, loop, aim):
    """Times in seconds, of the same number of runs; the ratio is that of the rates."""
    ratios = [b / a for a, b in zip(took, loop)]
    median = statistics.median(ratios)
    return (what, f'{n / statistics.median(took):.0f} jobs/s', f'{n / statistics.median(loop):.0f} jobs/s', f'{median:.3f}',
            f'{min(ratios):.3f} to {max(ratios):.3f}, {len(ratios)} pairs' if len(ratios) > 1 else '1 pair', aim and f'>= {aim}',
            '' if not aim else 'met' if median >= aim else 'missed')


def peer(bench, name, line, pairs):
    what = f'{PEERS_TAKE:,} jobs: {name}'
    if not shutil.which(name):
        return (what, f'SKIP: no {name}', '', '', '', None, '')
    took, loop = [], []
    for _ in range(pairs):
        directory = bench.fresh('peer')
        os.mkdir(directory)
        command = line.format(n=PEERS_TAKE, slots=os.cpu_count(), dir=directory, cmd=TRUE)
        ms = bench.once(['/bin/sh', '-c', command], 600)
        if not ms:
            return (what, 'FAILED', '', '', '', None, '')
        took.append(ms / 1000)
        loop.append(loop_s(bench, PEERS_TAKE))
    return rate_row(what, PEERS_TAKE, took, loop, None)


def idle_rows(q, stored):
    rss, per_second = q.idle()
    what = f'the daemon with {stored:,} ended jobs'
    return [(f'{what}: resident', f'{rss} kB', '', '', '', f'{RSS_KB} kB', 'met' if rss <= RSS_KB else 'missed'),
            (f'{what}: wakes up while idle', f'{per_second:g} /s', '', '', f'{IDLE_S} s', '0', 'met' if per_second == 0 else 'missed')]


def show_row(q):
    stored, times = q.show()
    p99 = times[len(times) * 99 // 100 - 1]
    return (f'{stored:,} jobs stored: p99 of muster show', f'{p99:.1f} ms', f'median {statistics.median(times):.1f} ms', '',
            f'{len(times)} runs', f'{SHOW_MS} ms', 'met' if p99 <= SHOW_MS else 'missed')


def measure(bench, most):
    """The rows; with up to `most` jobs at a time."""
    q = Queue(bench.muster, os.path.join(bench.work, 'queue'), bench.env)
    rows, rates, stored = idle_rows(q, 0), {}, 0
    try:
        for n in (n for n in (1000, 10000, 100000) if n <= most):
            took, submitted, loop = [], [], []
            for _ in range(min(bench.pairs, 5 if n == 1000 else 1)):
                loop.append(loop_s(bench, n))
                for to, s in zip((took, submitted), q.finish(n)):
                    to.append(s)
                stored += n
            rows.append(rate_row(f'{n:,} jobs, from submit to done: muster', n, took, loop, RATE))
            rates[n] = n / statistics.median(took)
            if n > 1000:
                flat = rates[n] / rates[1000]
                rows.append((f'{n:,} jobs: rate against that of 1,000', f'{rates[n]:.0f} jobs/s', f'{rates[1000]:.0f} jobs/s',
                             f'{flat:.2f}', '', f'>= {FLAT}', 'met' if flat >= FLAT else 'missed'))
            rows.append((f'{n:,} jobs: submit', f'{1000 * statistics.median(submitted):.0f} ms', '', '', '', None, ''))
            rows.append(show_row(q))
        rows += idle_rows(q, stored)
    finally:
        q.end()
    return rows + [peer(bench, 'tsp', TSP, min(bench.pairs, 3)), peer(bench, 'parallel', PARALLEL, min(bench.pairs, 3))]
