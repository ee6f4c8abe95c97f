r"""The commands of README.md and of the manual's EXAMPLES: examples.py DIRECTORY FILE…

Every command is run by /bin/sh in DIRECTORY, where t0170-examples.t has put what they need, and must exit
with 0. In README.md a line of a block that begins with "$ " is a command, and what follows it in the
block was its output: each of these lines must come again, whatever its numbers, times and paths. In a manual
page it is a line ".Dl $ …" below EXAMPLES. A remark before a block or line changes that:

    <!-- exits 7 -->            .\" exits 7
    <!-- needs mpirun -->       .\" needs mpirun
    <!-- not run: reason -->    .\" not run: reason
    <!-- as administrator -->   .\" as administrator: with $ADMIN_KUBECONFIG as its KUBECONFIG

A command that ends in " &" is left running. Prints for each "ok", "not ok" or "skip", where it is, the command, and what was wrong, with tabs between them.
"""
import os
import re
import shutil
import subprocess
import sys

REMARK = re.compile(r'(?:exits (?P<code>\d+)|needs (?P<program>\S+)|not run: (?P<reason>.*?)|as (?P<who>administrator))(?: -->)?$')
MASKS = ((re.compile(r'\d{8}-\d{6}-\w{4}'), 'ID'), (re.compile(r'\d+(\.\d+)? (ms|s|min)\b'), 'T'),
          (re.compile(r'(?<!\S)/\S+'), 'P'), (re.compile(r'\d+'), 'N'))


class Example:
    def __init__(self, where, command, remark, shown=None):
        self.where, self.command, self.shown = where, command, shown or []
        self.code, self.reason = int(remark.get('code') or 0), remark.get('reason')
        self.env = dict(os.environ)
        if remark.get('who'):
            self.env['KUBECONFIG'] = os.environ['ADMIN_KUBECONFIG']
        if remark.get('program') and not shutil.which(remark['program']):
            self.reason = f'there is no {remark["program"]} here'


def of_readme(path):
    found, remark, block, name = [], {}, None, os.path.basename(path)
    for number, line in enumerate(open(path), 1):
        line = line.rstrip('\n')
        if line.startswith('```'):
            block, remark = ([] if block is None else None), (remark if block is None else {})
        elif block is not None and re.match(r'\$ |make |\./', line):
            block.append(Example(f'{name}:{number}', re.sub(r'^\$ | +# .*', '', line), remark))
            found.append(block[-1])
        elif block is not None:
            if block and line != '…':
                block[-1].shown.append(line)
        elif line.startswith('<!--'):
            remark = REMARK.search(line).groupdict()
        elif line and block is None:
            # Commands within a sentence, but for those with a word for something else in them.
            for words in re.findall(r'`(muster [^`]*)`', line):
                if not re.search(r'\b[A-Z]{2,}\b|…', words) and len(words.split()) > 2:
                    found.append(Example(f'{name}:{number}', words, {}))
            remark = {}
    return found


def of_page(path):
    found, remark, on = [], {}, False
    for number, line in enumerate(open(path), 1):
        if line.startswith('.Sh '):
            on = line.strip() == '.Sh EXAMPLES'
        elif on and line.startswith('.\\" '):
            remark = REMARK.search(line.strip()).groupdict()
        elif on and line.startswith('.Dl $ '):
            command = line[len('.Dl $ '):].strip().replace('\\e', '\\')
            found.append(Example(f'{os.path.basename(path)}:{number}', command, remark))
            remark = {}
    return found


def masked(line):
    for pattern, word in MASKS:
        line = pattern.sub(word, line)
    return line.strip()


def fault(example, directory):
    run = subprocess.run(['/bin/sh', '-c', example.command], cwd=directory, env=example.env, stdin=subprocess.DEVNULL,
                         timeout=int(os.environ.get('LIMIT', 60)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')
    if run.returncode != example.code:
        return f'exits {run.returncode}, not {example.code}: {run.stdout[-600:]}'
    told = {masked(line) for line in run.stdout.splitlines()}
    missing = [line for line in example.shown if masked(line) not in told]
    return f'does not say {missing[0]!r} but {run.stdout[-600:]}' if missing else None


def main():
    directory, *files = sys.argv[1:]
    for path in files:
        for example in (of_readme if path.endswith('.md') else of_page)(path):
            why = example.reason or fault(example, directory)
            word = 'skip' if example.reason else 'not ok' if why else 'ok'
            print(word, example.where, example.command, (why or '').replace('\n', ' | '), sep='\t', flush=True)


main()
