"""killed_show.py - does what muster tells of a run whose muster was killed agree with its journal?

    killed_show.py MUSTER RUN_DIR

Reads the journal itself, without Muster's own reader, and compares: `show -o json`, `events`, `list -o json`
and `wait`. Prints what kind of moment it was ("empty", "running", "ended"); raises if something disagrees.
"""
import json
import os
import subprocess
import sys
from datetime import datetime, timezone


def muster(*args):
    return subprocess.run([sys.argv[1], *args], capture_output=True, text=True, timeout=60)


def whole_lines(run_dir):
    try:
        text = open(os.path.join(run_dir, 'journal.jsonl'), encoding='utf-8').read()
    except FileNotFoundError:
        return ''
    return text[:text.rfind('\n') + 1]


def when(text):
    return text and datetime.strptime(text, '%Y-%m-%dT%H:%M:%S.%fZ').replace(tzinfo=timezone.utc).timestamp()


class Process:
    def __init__(self):
        self.restarts, self.started, self.ended, self.code, self.signal = 0, None, None, None, None
        self.running = False


def fold(events):
    """Attempts, each a dictionary of processes by name; how it ended, or None."""
    attempts, end, begun = [{}], None, False
    for e in events:
        what, who = e['event'], e.get('who')
        begun |= what in ('open', 'start')
        p = attempts[-1].setdefault(who, Process()) if what in (
            'start', 'started', 'restart', 'exited', 'start-failed') else None
        if what == 'started':
            p.started, p.running = e['at'], True
        elif what == 'restart':
            p.restarts += 1
            p.ended = p.code = p.signal = None
        elif what in ('exited', 'start-failed'):
            p.ended, p.code, p.signal, p.running = e['at'], e.get('exit_code'), e.get('signal'), False
        elif what == 'attempt':
            attempts.append({})
            begun = False
        elif what == 'ended':
            end = e
    if not begun and len(attempts) > 1:
        attempts.pop()  # one of which nothing has begun is none yet
    return attempts, end


def same(got, want, what):
    if got != want:
        raise AssertionError(f'{what}: shown {got!r}, the journal has {want!r}')


def same_time(got, want, what):
    got = when(got)
    if (got is None) != (want is None) or (got is not None and abs(got - want / 1e9) > 0.0015):
        raise AssertionError(f'{what}: shown {got!r}, the journal has {want!r}')


def check_replica(row, processes, over, what):
    """One with one process. Nothing is told of it that the journal does not have."""
    p = processes.get(row['name']) or next(
        (p for name, p in processes.items() if name.split('/')[0] == row['name']), Process())
    same(row['restarts'], p.restarts, f'{what} restarts')
    same_time(row['started'], p.started, f'{what} started')
    same_time(row['ended'], p.ended, f'{what} ended')
    if p.ended is None:
        same((row['exit_code'], row['signal']), (None, None), f'{what}, which has not ended')
        if not over and row['outcome'] is not None:
            raise AssertionError(f'{what} has an outcome: {row["outcome"]}')
    else:
        same((row['exit_code'], row['signal']), (p.code, p.signal), f'{what} ended with')
        if row['outcome'] not in ('succeeded', 'failed', 'stopped', None):
            raise AssertionError(f'{what} has ended, shown as {row["outcome"]}')


def check_report(report, events):
    attempts, end = fold(events)
    same(report['outcome'], end and end['outcome'], 'outcome')
    same(report['exit_code'], end and end['status'], 'exit code')
    if end is None:
        running = sum(p.running for p in attempts[-1].values()) if events[-1]['event'] != 'attempt' else 0
        same(report['cause'], None, 'cause of what has not ended')
        wanted = f'was killed while {running} of '
        if wanted not in report['verdict'] or not report['verdict'].startswith('lost: '):
            raise AssertionError(f'{report["verdict"]!r} does not say {wanted!r}')
    shown = report['attempts']
    # the decision to try again ends an attempt, although nothing of the next one is there yet
    retries = sum(e['event'] == 'attempt' for e in events)
    same(len(shown), len(attempts), 'attempts')
    for i, (a, processes) in enumerate(zip(shown, attempts)):
        over = i < retries or end is not None
        same(a['number'], i + 1, 'number of an attempt')
        same(a['outcome'] is not None, over, f'attempt {i + 1} is over')
        for row in a['replicas']:
            check_replica(row, processes, over, f'attempt {i + 1}, {row["name"]}')
    return end


def check_others(run_dir, end):
    code = muster('wait', run_dir).returncode
    same(code, end['status'] if end else 125, 'wait')
    runs = json.loads(muster('list', '-o', 'json').stdout)['runs']
    mine = [r for r in runs if r['run_dir'] == run_dir]
    same([r['state'] for r in mine], [end['outcome'] if end else 'lost'], 'list')


def main():
    run_dir = sys.argv[2]
    text = whole_lines(run_dir)
    has_report = os.path.exists(os.path.join(run_dir, 'report.json'))
    shown = muster('show', '-o', 'json', run_dir)
    if not text:
        if shown.returncode == 0:
            raise AssertionError(f'no event, and yet shown: {shown.stdout}')
        print('empty')
        return
    events = [json.loads(line) for line in text.splitlines()]
    same(muster('events', '-o', 'json', run_dir).stdout, text, 'events -o json')
    same(len(muster('events', run_dir).stdout.splitlines()), len(events), 'lines of events')
    if shown.returncode != 0:
        raise AssertionError(shown.stderr)
    end = check_report(json.loads(shown.stdout), events)
    words = muster('show', run_dir).stdout
    if end is None and 'lost: the muster process was killed' not in words:
        raise AssertionError(f'show does not say that it was killed: {words}')
    check_others(run_dir, end)
    print('reported' if has_report else 'ended' if end else 'running')


main()
