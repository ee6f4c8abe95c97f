#!/usr/bin/env python3
"""same_platform.py - converts every accepted job file to muster/v1 and compares what its processes find.

    same_platform.py MUSTER TABLE DIR...

Hosts, addresses, ports and every variable of every process must be as they were, but for the rows of TABLE: dialect, variable
(or `hosts`, `ports`, `processes`), why; a `*` is any text. Prints one line per finding, tab separated: RESULT, what. RESULT:
  fine | wrong   one file
  unused         a row of the table that nothing needed
  counts         how much was done
"""
import fnmatch
import json
import os
import re
import shutil
import sys
import tempfile

import job_files

MUSTER, TABLE, *DIRS = sys.argv[1:]


def muster(*args):
    return job_files.muster(MUSTER, *args)


def read_table():
    return [tuple(row[:2]) for row in job_files.table_rows(TABLE)]


def processes_of(path):
    p = muster('explain', '-o', 'json', path)
    if not p.stdout:
        return None, p.stderr.strip()
    return [{f"{q['replica']}.{i}": q for i, q in enumerate(job['processes'])}
            for job in json.loads(p.stdout)['jobs']], ''


def without_numbers(job):
    """Ports are any free ones: each number is replaced by whose it is."""
    names = {}
    for q in job.values():
        for label, numbers in q['ports'].items():
            for i, n in enumerate(numbers if isinstance(numbers, list) else [numbers]):
                names[str(n)] = f"<{q['replica']} {label} {i}>"
            q['ports'][label] = len(numbers) if isinstance(numbers, list) else 1
    for q in job.values():
        q['env'] = {k: re.sub(r'\d+', lambda m: names.get(m.group(), m.group()), v) for k, v in q['env'].items()}
    return job


def differences(was, now):
    """(what, sentence) of one process."""
    for key in ('host', 'address'):
        if was[key] != now[key]:
            yield 'hosts', f'{key} {was[key]} became {now[key]}'
    if was['ports'] != now['ports']:
        yield 'ports', f"ports {was['ports']} became {now['ports']}"
    for name in sorted(was['env'].keys() | now['env'].keys()):
        x, y = was['env'].get(name), now['env'].get(name)
        if x != y:
            yield name, f'{name}={x} became {y}'


def compare(path, dialect, table, used, place):
    before = os.path.join(place, 'job' + os.path.splitext(path)[1])
    after = os.path.join(place, 'converted.yaml')
    shutil.copyfile(path, before)
    p = muster('convert', '--to', 'muster', '-O', after, before)
    if p.returncode != 0:
        return ['convert: ' + p.stderr.strip()]
    was, why = processes_of(before)
    if was is None:
        return None  # a job without a plan of its own has nothing to compare
    now, why = processes_of(after)
    if now is None:
        return ['explain: ' + why]
    wrong = []
    for x, y in zip(map(without_numbers, was), map(without_numbers, now)):
        found = [(what, f'{replica}: {sentence}') for replica in x.keys() & y.keys()
                 for what, sentence in differences(x[replica], y[replica])]
        if x.keys() != y.keys():
            found = [('processes', f'processes {sorted(x)} became {sorted(y)}')]
        for what, sentence in found:
            rows = [r for r in table if r[0] == dialect and fnmatch.fnmatchcase(what, r[1])]
            if not rows:
                wrong.append(sentence)
            used.update(rows)
    return wrong


def main():
    table, used, n = read_table(), set(), 0
    for path, dialect in job_files.accepted(MUSTER, DIRS):
        with tempfile.TemporaryDirectory() as place:
            wrong = compare(path, dialect, table, used, place)
        if wrong is None:
            continue
        n += 1
        name = os.path.relpath(path, os.path.commonpath([os.path.abspath(d) for d in DIRS]))
        print('wrong' if wrong else 'fine', name, '; '.join(wrong[:3]).replace('\n', ' '), sep='\t')
    for row in table:
        if row not in used:
            print('unused', ' '.join(row), sep='\t')
    print('counts', f'{n} files', sep='\t')


main()
