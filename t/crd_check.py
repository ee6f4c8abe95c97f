#!/usr/bin/env python3
"""crd_check.py - checks converted job files against the schemas of their kinds' own CRDs.

    crd_check.py MUSTER CRDS DIR...

CRDS holds CustomResourceDefinitions as YAML. Every accepted file below the DIRs is converted to the kinds that
have one there, unless it is of that dialect already. Prints one line per document, tab separated: fine or
wrong, what, why; and at the end `counts`.
"""
import glob
import json
import os
import subprocess
import sys

import jsonschema
import yaml

MUSTER, CRDS, *DIRS = sys.argv[1:]
TARGETS = {'mpijob': 'kubeflow-mpi-v2beta1', 'pytorchjob': 'kubeflow-pytorch', 'tfjob': 'kubeflow-tf'}


def closed(schema):
    """A CRD's schema in the words of JSON Schema. What the API server would prune is an error here."""
    if isinstance(schema, list):
        return [closed(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    out = {}
    for key, value in schema.items():
        if key == 'properties':
            out[key] = {name: closed(s) for name, s in value.items()}
        elif key in ('items', 'additionalProperties', 'allOf', 'anyOf', 'oneOf', 'not'):
            out[key] = closed(value)
        elif not key.startswith('x-') and key not in ('format', 'nullable', 'description', 'default'):
            out[key] = value
    if schema.get('x-kubernetes-int-or-string'):
        out = {'type': ['integer', 'string']}
    elif 'properties' in out and not schema.get('x-kubernetes-preserve-unknown-fields'):
        out.setdefault('additionalProperties', False)
    return out


def read_schemas():
    found = {}
    for path in glob.glob(os.path.join(CRDS, '*.yaml')):
        with open(path, encoding='utf-8') as f:
            crd = yaml.safe_load(f)
        for version in crd['spec']['versions']:
            schema = closed(version['schema']['openAPIV3Schema'])
            schema['properties']['metadata'] = {'type': 'object', 'required': ['name']}
            api = crd['spec']['group'] + '/' + version['name']
            found[api, crd['spec']['names']['kind']] = jsonschema.Draft7Validator(schema)
    return found


def accepted():
    files = sorted(os.path.join(base, name) for d in DIRS for base, _, names in os.walk(d) for name in names
                   if name.endswith(('.yaml', '.yml', '.json')))
    told = subprocess.run([MUSTER, 'validate', '-o', 'json', *files], capture_output=True, text=True, check=False)
    return [(f['file'], f['dialect']) for f in json.loads(told.stdout)['files'] if f['verdict'] == 'accept']


def faults(schemas, document):
    schema = schemas.get((document.get('apiVersion'), document.get('kind')))
    if not schema:
        return ['there is no schema for it']
    if 'generateName' in document['metadata']:
        document['metadata'].setdefault('name', 'generated')
    return ['/'.join(str(p) for p in e.absolute_path) + ': ' + e.message[:200] for e in schema.iter_errors(document)]


def main():
    schemas = read_schemas()
    n = refused = 0
    for path, dialect in accepted():
        for target, own in TARGETS.items():
            if dialect == own:
                continue
            p = subprocess.run([MUSTER, 'convert', '--to', target, path], capture_output=True, text=True, check=False)
            if p.returncode:
                refused += 1
                continue
            for document in yaml.safe_load_all(p.stdout):
                if 'kubeflow.org' not in document.get('apiVersion', ''):
                    continue
                wrong = faults(schemas, document)
                n += 1
                name = '/'.join(path.split('/')[-2:])
                print('wrong' if wrong else 'fine', f'{name} as {target}', ' | '.join(wrong), sep='\t')
    print('counts', f'{n} documents checked, {refused} conversions have no meaning', '', sep='\t')


main()
