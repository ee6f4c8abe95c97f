#!/usr/bin/env python3
"""convert.py - converts every accepted job file to every target and compares what is lost with a table.

    convert.py MUSTER SAME TABLE DIR...

SAME is the program that compares documents. TABLE says what it holds. Prints one line per finding, tab separated: RESULT, what. RESULT:
  fine | wrong   one conversion, or one comparison of documents
  unused         a row of the table that nothing needed
  counts         how much was done
"""
import fnmatch
import json
import re
import subprocess
import sys
import tempfile

import job_files

MUSTER, SAME, TABLE, *DIRS = sys.argv[1:]
FOLLOWS = r'\.(command|args|extraArgs|extraMPIArgs|elasticPolicy\.(min|max)Replicas)\b'
TARGETS = {'mpijob': 'kubeflow-mpi-v2beta1', 'pytorchjob': 'kubeflow-pytorch', 'tfjob': 'kubeflow-tf',
           't9k': 't9k-mpi', 'muster': 'muster-v1'}


def muster(*args):
    return job_files.muster(MUSTER, *args)


def read_table():
    return [(row[0], to, row[2]) for row in job_files.table_rows(TABLE) for to in row[1].split(',')]


def paths_of(stderr):
    """What a conversion lost, as (path, line)."""
    for line in stderr.splitlines():
        lost = re.match(r'lost: (\S+): ', line)
        refused = re.search(r'error\[(E\d+)\]', line)
        if lost:
            yield lost.group(1), line
        elif refused:
            yield 'refused.' + refused.group(1), line


def matches(pattern, path):
    """A `*` is any text; brackets stand for themselves."""
    return fnmatch.fnmatchcase(path, pattern.replace('[', '[[]'))


def convert(path, dialect, target, table, used):
    p = muster('convert', '--to', target, path)
    wrong = []
    if p.returncode not in (0, 1) or (p.returncode == 0) != bool(p.stdout):
        wrong.append(f'exit code {p.returncode}: {p.stderr.strip()}')
    for lost, line in paths_of(p.stderr):
        rows = [r for r in table if r[0] == dialect and r[1] == target and matches(r[2], lost)]
        if not rows:
            wrong.append(line)
        used.update(rows)
    return p.stdout, wrong


def compare(path, text, expected):
    """The paths in which a written text differs from the file it came from must be those."""
    with tempfile.NamedTemporaryFile('w', suffix='.yaml', encoding='utf-8') as f:
        f.write(text)
        f.flush()
        got = subprocess.run([SAME, path, f.name], capture_output=True, text=True, check=False)
    if got.returncode > 1:
        return f'cannot be compared: {got.stderr}'
    got = sorted(got.stdout.split())
    return None if got == sorted(expected) else f'differs in {got}, not in {expected}'


def scaled(path):
    """An option that gives the workers one replica more, or None."""
    jobs = json.loads(muster('explain', '-o', 'json', path).stdout)['jobs']
    roles = [r for r in jobs[0]['roles'] if r['name'] == 'worker']
    if len(jobs) != 1 or not roles:
        return None
    return f'worker={roles[0]["replicas"] + 1}'


def main():
    table, used = read_table(), set()
    files = job_files.accepted(MUSTER, DIRS)
    n = same = changed = 0
    for path, dialect in files:
        name = '/'.join(path.split('/')[-2:])
        for target, own in TARGETS.items():
            text, wrong = convert(path, dialect, target, table, used)
            n += 1
            if dialect == own:
                differs = compare(path, text, [])
                same += 1
                if differs:
                    wrong.append(f'untouched, it {differs}')
                more = scaled(path)
                if more:
                    again = muster('convert', '--to', target, '--scale', more, path)
                    differs = one_change(path, again, more)
                    changed += 1
                    if differs:
                        wrong.append(differs)
            print('wrong' if wrong else 'fine', f'{name} to {target}', ' | '.join(wrong), sep='\t')
    for row in table:
        if row not in used:
            print('unused', ' '.join(row), '', sep='\t')
    print('counts', f'{len(files)} files, {n} conversions, {same} compared untouched, {changed} with one change', '',
          sep='\t')


def one_change(path, result, more):
    """With one replica more, a document differs in that number, and in numbers that have to follow it."""
    if result.returncode:
        return f'with --scale {more}: {result.stderr}'
    with tempfile.NamedTemporaryFile('w', suffix='.yaml', encoding='utf-8') as f:
        f.write(result.stdout)
        f.flush()
        got = subprocess.run([SAME, path, f.name], capture_output=True, text=True, check=False).stdout.split()
        told = json.loads(muster('explain', '-o', 'json', f.name).stdout)['jobs'][0]['roles']
    role, number = more.split('=')
    if not any(r['name'] == role and r['replicas'] == int(number) for r in told):
        return f'with --scale {more} it has another number'
    replicas = [p for p in got if re.search(r'\.[Rr]eplicas$', p)]
    others = [p for p in got if p not in replicas and not re.search(FOLLOWS, p)]
    if len(replicas) != 1 or others:
        return f'with --scale {more} it differs in {got}'
    return None


main()
