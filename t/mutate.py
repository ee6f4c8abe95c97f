#!/usr/bin/env python3
"""mutate.py - spoils good job files in ways people and broken tools do.

    mutate.py SEED COUNT DIRECTORY FILE...

writes DIRECTORY/0000-WHAT.yaml (or .json, as the FILE was) and so on, each a FILE with one to three
mutations. The same arguments give the same files.
"""
import os
import random
import re
import sys

VALUES = ['5', '"5"', '-1', '1e9', '99999999999999999999', 'true', 'yes', 'null', '~', '[]', '{}', '[1, a]',
          '{a: b}', "''", '"\\0"', '"\\e[31m"', '|', '>-', '*x', '&x', '&x *x', '!!binary aGk=', '@', '%x', '`',
          '${NAME}', '{{ .Name }}', '日本語', '...', '---', '^openib', '1.5Gi', '0x10', '.nan']


def pick(rng, lines):
    return rng.randrange(len(lines))


def delete_line(rng, lines):
    del lines[pick(rng, lines)]


def delete_block(rng, lines):
    i = pick(rng, lines)
    del lines[i:i + rng.randint(2, 8)]


def duplicate_line(rng, lines):
    lines.insert(pick(rng, lines), lines[pick(rng, lines)])


def swap_lines(rng, lines):
    i, j = pick(rng, lines), pick(rng, lines)
    lines[i], lines[j] = lines[j], lines[i]


def change_value(rng, lines):
    i = pick(rng, lines)
    lines[i] = re.sub(r'(:|-)( .*)?$', lambda m: f'{m[1]} {rng.choice(VALUES)}', lines[i], count=1)


def rename_key(rng, lines):
    i = pick(rng, lines)
    m = re.search(r'\w+(?=:)', lines[i])
    if m:
        key = list(m[0])
        k = rng.randrange(len(key))
        key[k] = rng.choice(['', key[k] * 2, key[k].swapcase(), 'x', 'é'])
        lines[i] = lines[i][:m.start()] + ''.join(key) + lines[i][m.end():]


def indent(rng, lines):
    i = pick(rng, lines)
    lines[i] = rng.choice([' ', '  ', '\t', '\u00a0', '- ']) + lines[i]


def outdent(rng, lines):
    i = pick(rng, lines)
    lines[i] = lines[i][rng.randint(1, 4):]


def truncate(rng, lines):
    i = pick(rng, lines)
    lines[i] = lines[i][:rng.randrange(len(lines[i]) + 1)]
    del lines[i + 1:]


def random_bytes(rng, lines):
    i = pick(rng, lines)
    at = rng.randrange(len(lines[i]) + 1)
    junk = bytes(rng.randrange(256) for _ in range(rng.randint(1, 4))).decode('utf-8', 'surrogateescape')
    lines[i] = lines[i][:at] + junk + lines[i][at:]


def nest(rng, lines):
    n = rng.choice([3, 60, 127, 128, 129, 2000])
    lines.insert(pick(rng, lines), f'x{n}: ' + '[' * n + ']' * n)


def punctuate(rng, lines):
    i = pick(rng, lines)
    at = rng.randrange(len(lines[i]) + 1)
    lines[i] = lines[i][:at] + rng.choice(list('"\'[]{},:#&*!|>%@`-?\\')) + lines[i][at:]


MUTATIONS = [delete_line, delete_block, duplicate_line, swap_lines, change_value, change_value, rename_key, indent,
             outdent, truncate, random_bytes, nest, punctuate]


def main():
    seed, count, directory, files = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    rng = random.Random(seed)
    for n in range(count):
        source = rng.choice(files)
        with open(source, encoding='utf-8') as f:
            lines = f.read().split('\n')
        mutations = rng.choices(MUTATIONS, k=rng.choice([1, 1, 1, 2, 3]))
        for mutation in mutations:
            if lines:
                mutation(rng, lines)
        name = f'{n:04}-{"-".join(m.__name__ for m in mutations)}{os.path.splitext(source)[1]}'
        with open(os.path.join(directory, name), 'wb') as f:
            f.write('\n'.join(lines).encode('utf-8', 'surrogateescape'))


main()
