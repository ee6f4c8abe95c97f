"""Job files for the tests that go over all of them: which Muster accepts, and as what."""
import json
import os
import subprocess


def muster(program, *args):
    return subprocess.run([program, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60,
                          check=False)


def accepted(program, directories):
    """(path, dialect) of every accepted file below the directories."""
    files = sorted(os.path.join(base, name) for d in directories for base, _, names in os.walk(d) for name in names
                   if name.endswith(('.yaml', '.yml', '.json')))
    told = json.loads(muster(program, 'validate', '-o', 'json', *files).stdout)
    return [(f['file'], f['dialect']) for f in told['files'] if f['verdict'] == 'accept']


def table_rows(path):
    """The rows of a table of ours: lines of words between tabs, after a header; # begins a comment."""
    with open(path, encoding='utf-8') as f:
        lines = [line.rstrip('\n') for line in f if line.strip() and not line.startswith('#')]
    return [line.split('\t') for line in lines[1:]]
