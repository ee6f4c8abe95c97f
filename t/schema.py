#!/usr/bin/env python3
"""schema.py - holds job files against the schemas that `muster schema` prints.

    schema.py MUSTER DOCUMENTS FILE...

DOCUMENTS is the program t/libprog/documents. Every document of a file that `muster validate` accepts has to
conform to its dialect's schema, and must not any more with a misspelt key, at its top and in each mapping below
that takes no unknown keys. Prints one line per dialect: id, documents, misspelt ones; and a line for each
document that is answered wrongly.
"""
import copy
import json
import re
import subprocess
import sys

from jsonschema import Draft7Validator

MUSTER, DOCUMENTS, *FILES = sys.argv[1:]
# What is read as meant, with a warning, is not what the schema says.
READ_AS_MEANT = {'W0102', 'W0203', 'W0305', 'W0306', 'W0405'}


def ask(*args):
    return subprocess.run(args, capture_output=True, stdin=subprocess.DEVNULL, check=False).stdout


def accepted():
    told = json.loads(ask(MUSTER, 'validate', '-o', 'json', *FILES))
    for f in told['files']:
        codes = {d['code'] for d in f['diagnostics']}
        if f['verdict'] == 'accept' and not codes & READ_AS_MEANT:
            yield f['file']


def strict_places(schema, root, node, path=()):
    """Paths of mappings in node whose own part of the schema takes no unknown keys."""
    while '$ref' in schema:
        schema = root['definitions'][schema['$ref'].rsplit('/', 1)[1]]
    if isinstance(node, dict) and schema.get('additionalProperties') is False:
        yield path
    for part in schema.get('anyOf', []):
        if '$ref' in part:
            yield from strict_places(part, root, node, path)
    if isinstance(node, dict):
        for key, value in node.items():
            other = schema.get('additionalProperties')
            inner = schema.get('properties', {}).get(key, other if isinstance(other, dict) else {})
            for pattern, named in schema.get('patternProperties', {}).items():
                inner = named if re.search(pattern, key) else inner
            yield from strict_places(inner, root, value, path + (key,))
    if isinstance(node, list):
        for i, value in enumerate(node):
            yield from strict_places(schema.get('items', {}), root, value, path + (i,))


def misspelt(document, path):
    document = copy.deepcopy(document)
    place = document
    for key in path:
        place = place[key]
    place['misspeltKey'] = 1
    return document


def main():
    validators, counts = {}, {}
    for d in ask(MUSTER, 'schema', '--list').decode().splitlines():
        dialect = d.split()[0]
        schema = json.loads(ask(MUSTER, 'schema', dialect))
        Draft7Validator.check_schema(schema)
        validators[dialect] = Draft7Validator(schema)
        counts[dialect] = [0, 0]
    for line in ask(DOCUMENTS, *accepted()).decode().splitlines():
        path, dialect, text = line.split('\t', 2)
        document = json.loads(text)
        if dialect not in validators:
            continue
        validator = validators[dialect]
        counts[dialect][0] += 1
        for e in list(validator.iter_errors(document))[:1]:
            print(f'{path}: {"/".join(map(str, e.path))}: {e.message[:200]}')
        for place in strict_places(validator.schema, validator.schema, document):
            counts[dialect][1] += 1
            if validator.is_valid(misspelt(document, place)):
                print(f'{path}: a misspelt key in /{"/".join(map(str, place))} is accepted')
    for dialect, (n, m) in counts.items():
        print(f'{dialect} {n} {m}')


main()
