#!/usr/bin/env python3
"""http_schema.py - holds answers of the daemon against doc/openapi.json.

    http_schema.py DOCUMENT LIST

LIST has a line per answer: METHOD PATH STATUS FILE. Prints a line for each that is not as the document promises, then the
paths that had no answer; the last line is the number of answers that were looked at.
"""
import json
import re
import sys

from jsonschema import Draft202012Validator

doc = json.load(open(sys.argv[1], encoding='utf-8'))
forms = {re.compile('^' + re.sub(r'\\{[^}]*\\}', '[^/]+', re.escape(p)) + '$'): (p, ops) for p, ops in doc['paths'].items()}
seen, n = set(), 0

for line in open(sys.argv[2], encoding='utf-8'):
    method, path, status, name = line.split()
    path = path.split('?')[0]
    found = [x for form, x in forms.items() if form.match(path)]
    found.sort(key=lambda x: x[0].count('{'))
    if not found or method.lower() not in found[0][1]:
        continue  # what is not there, or not so
    form, ops = found[0]
    responses = ops[method.lower()]['responses']
    if status in ('401', '403', '405'):
        continue
    n += 1
    if status not in responses:
        print(f'{method} {form}: status {status} is not in the document')
        continue
    seen.add((method, form)) if status < '300' else None
    content = responses[status].get('content', {})
    schema = content.get('application/json', {}).get('schema')
    body = open(name, encoding='utf-8').read()
    if not content and body:
        print(f'{method} {form}: {status} has a body')
    if not schema:
        continue
    schema = dict(schema, components=doc['components'])
    try:
        for e in Draft202012Validator(schema).iter_errors(json.loads(body)):
            print(f'{method} {form}: {status}: {"/".join(map(str, e.path))}: {e.message:.200}')
    except ValueError as e:
        print(f'{method} {form}: {status}: no JSON: {e}: {body:.100}')
Draft202012Validator.check_schema(doc['components']['schemas'])
for form, ops in doc['paths'].items():
    for method in ops:
        if (method.upper(), form) not in seen:
            print(f'{method.upper()} {form}: no answer that went well')
print(n)
