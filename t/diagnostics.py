"""What t0160-errors.t asks of t/diagnostics: diagnostics.py MUSTER DIRECTORY

Each file CODE.yaml or CODE.json provokes its code, once, at the place that its first line states:

    # E0107 at 7:15, with N0301 N0302; --set a=b

`with` names the other codes it gives, if any; what follows the semicolon are options of `validate`, or
`convert` and its options.
Prints a line for each file that does not keep its word, then how many did.
"""
import json
import os
import re
import shlex
import subprocess
import sys

HEADER = re.compile(rb'(?:#|//) ([EWN]\d{4}) at (\d+):(\d+)(?:, with ([EWN0-9 ]+))?(?:; (.*))?\n')
TOLD = re.compile(r'^.*:(\d+):(\d+): (error|warning|note)\[([EWN]\d{4})\]', re.M)
SEVERITIES = {'E': 'error', 'W': 'warning', 'N': 'note'}


def ask(muster, words, path):
    """What is told of the file: severity, code, line and column of each, and the exit code."""
    convert = words[:1] == ['convert']
    run = subprocess.run([muster, *(words if convert else ['validate', '-o', 'json', *words]), path],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30, text=True, errors='replace')
    if convert:
        return [(m[3], m[4], int(m[1]), int(m[2])) for m in TOLD.finditer(run.stderr)], run.returncode
    found = json.loads(run.stdout)['files'][0]['diagnostics'] if not run.stderr else []
    return [(d['severity'], d['code'], d['line'], d['column']) for d in found], run.returncode


def fault(muster, path):
    with open(path, 'rb') as f:
        header = HEADER.match(f.readline())
    if not header:
        return 'the first line is not "# CODE at LINE:COLUMN"'
    code, line, column, others, options = (g.decode() if g else '' for g in header.groups())
    if code != os.path.basename(path).split('.')[0]:
        return f'it says that it is about {code}'
    found, exit_code = ask(muster, shlex.split(options), path)
    if exit_code > 2:
        return f'exit code {exit_code}'
    places = [f'{d[2]}:{d[3]}' for d in found if d[1] == code]
    if not places:
        return f'told: {[d[1] for d in found]}'
    if places[0] != f'{line}:{column}':
        return f'told at {places[0]}, not {line}:{column}'
    if {d[1] for d in found} - {code} != set(others.split()):
        return f'also told: {sorted({d[1] for d in found} - {code})}'
    if any(d[0] != SEVERITIES[d[1][0]] for d in found):
        return 'a severity that is not that of the letter'
    return None


def main():
    muster, directory = sys.argv[1:]
    kept = 0
    for name in sorted(os.listdir(directory)):
        if name.endswith('.tsv'):
            continue
        why = fault(muster, os.path.join(directory, name))
        if why:
            print(f'{name}: {why}')
        else:
            kept += 1
    print(f'{kept} kept')


main()
