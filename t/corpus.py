#!/usr/bin/env python3
"""corpus.py - compares what muster says about a corpus of job files with the corpus' own tables.

    corpus.py MUSTER CORPUS

A corpus has expect.tsv (file, dialect, verdict, roles, slots, reason) and crafted/expect.tsv (file, dialect,
verdict, at, reason), each with a head line. Prints one line per row, tab separated: RESULT, dialect, file, why.
RESULT: fine | wrong | loose (does not gate: the table calls it a fragment or debatable; why is what differs, if anything).
"""
import csv
import json
import os
import re
import subprocess
import sys

MUSTER, CORPUS = sys.argv[1:3]
PLACE = r'\d+:\d+'


class Wrong(Exception):
    """What a row's file should have given and did not."""


def ask(*args):
    """(exit code, the JSON told); anything but a clean answer is wrong."""
    p = subprocess.run([MUSTER, *args], capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
    if p.returncode not in (0, 1, 2):
        tail = p.stderr.decode(errors='replace').strip().split('\n')[-1]
        raise Wrong(f'{args[0]} ended with {p.returncode}: {tail}')
    return p.returncode, json.loads(p.stdout) if p.stdout else None


def places(told, severity):
    return {f'{d["line"]}:{d["column"]}' for d in told['diagnostics'] if d['severity'] == severity}


def first_of(told, severity):
    for d in told['diagnostics']:
        if d['severity'] == severity:
            return '{line}:{column} {code} {message}'.format(**d)
    return 'none'


def check_roles(path, roles, slots):
    """Roles as name=replicas, documents separated by ';'; slots are those of the roles that are no launcher."""
    code, told = ask('explain', '-o', 'json', path)
    if code != 0:
        raise Wrong('it is accepted and cannot be explained')
    got = ';'.join(','.join(f'{r["name"]}={r["replicas"]}' for r in j['roles']) for j in told['jobs'])
    if got != roles:
        raise Wrong(f'roles {got}, not {roles}')
    if '=' in slots:  # tasks of a node's job by type, which a role of explain does not have
        return check_tasks(told['jobs'][0], slots)
    for job, want in zip(told['jobs'], slots.split(';') * len(told['jobs'])):
        counted = [r for r in job['roles'] if r['name'] != 'launcher'] or job['roles']
        found = ','.join(sorted({str(r['slots']) for r in counted}))
        if found != want:
            raise Wrong(f'slots {found}, not {want}')


def check_tasks(job, tasks):
    """What TF_CONFIG tells of: worker=2,ps=1."""
    cluster = json.loads(job['processes'][0]['env']['TF_CONFIG'])['cluster']
    found = ','.join(f'{name}={len(cluster.get(name, []))}' for name in re.findall(r'(\w+)=', tasks))
    if found != tasks:
        raise Wrong(f'tasks {found}, not {tasks}')


def check(path, dialect, verdict, row):
    told = ask('validate', '-o', 'json', path)[1]['files'][0]
    if told['verdict'] != verdict:
        raise Wrong(f'{told["verdict"]}, not {verdict}: {first_of(told, "error")}')
    if dialect != '-' and told.get('dialect') != dialect and (verdict == 'accept' or told.get('dialect')):
        raise Wrong(f'dialect {told.get("dialect")}, not {dialect}')
    if row.get('at', '*') != '*' and not places(told, 'error') & set(row['at'].split('|')):
        raise Wrong(f'no error at {row["at"]}: {first_of(told, "error")}')
    for at in row.get('warn', []):
        if at not in places(told, 'warning'):
            raise Wrong(f'no warning at {at}')
    if verdict == 'accept' and row.get('roles'):
        check_roles(path, row['roles'], row['slots_or_procs_per_replica'])


def rows():
    """(file, dialect, verdict, row): row['at'] is where errors point, row['warn'] where warnings do."""
    for table in ('expect.tsv', 'crafted/expect.tsv'):
        with open(os.path.join(CORPUS, table), encoding='utf-8', newline='') as f:
            for row in csv.DictReader(f, delimiter='\t', quoting=csv.QUOTE_NONE):
                reason = row['reason'] or ''
                if 'at' not in row and row['verdict'] == 'reject':
                    m = re.match(rf'(?:\[debatable\] )?({PLACE})\b', reason)
                    row['at'] = m[1] if m else '*'
                m = re.search(rf'\bwarn ({PLACE}(?: and {PLACE})*)', reason)
                row['warn'] = re.findall(PLACE, m[1]) if m else []
                yield os.path.join(os.path.dirname(table), row['file']), row['dialect'], row['verdict'], row


def main():
    for file, dialect, verdict, row in rows():
        path = os.path.join(CORPUS, file)
        loose = verdict == 'fragment' or (row['reason'] or '').startswith('[debatable]')
        result, why = 'loose' if loose else 'fine', ''
        try:
            if verdict == 'fragment':
                ask('validate', '-o', 'json', path)  # no crash is asked of all
            else:
                check(path, dialect, verdict, row)
        except Wrong as e:
            clean = ' ended with ' not in str(e)
            result, why = 'loose' if loose and clean else 'wrong', str(e)
        print(result, dialect, file, why, sep='\t')


main()
