#!/usr/bin/env python3
"""json_texts.py - random JSON, good and spoilt, and what Python's reader makes of it.

    json_texts.py SEED COUNT TEXTS WANT

writes the texts for json_dump to TEXTS and to WANT one line per text: "reject WHY", or "accept" and the
tree as json_dump writes it. Our reader is stricter than Python's: no NaN or Infinity, no half of a surrogate pair, no number beyond a double, no key with two values.
"""
import json
import random
import struct
import sys

NUMBERS = ['0', '-0', '1', '-1', '10', '9223372036854775807', '9223372036854775808', '-9223372036854775808',
           '-9223372036854775809', '1e5', '1E+5', '1e-5', '0.1', '-0.0', '1.7976931348623157e308', '5e-324', '2e-324',
           '123456789012345678901234567890', '0.30000000000000004', '1e400', '1' + '0' * 320]
BAD_NUMBERS = ['01', '-', '+1', '.5', '1.', '1e', '1e+', '0x1', '1_0', 'NaN', 'Infinity', '-Infinity', '--1', '1.e5', '00', '-01', '٣']
ESCAPES = ['\\"', '\\\\', '\\/', '\\b', '\\f', '\\n', '\\r', '\\t', '\\u0000', '\\u00e9', '\\uD83D\\uDE00', '\\ud83d', '\\ude00x',
           '\\ud83d\\u0041', '\\uFFFF', '\\u202e', '\\ud83d\\ud83d\\ude00']
BAD_ESCAPES = ['\\x41', '\\', '\\u12', '\\U0001', '\\u 123', "\\'", '\\0', '\\u00g0', '\\u+123', '\\u1_23']
CHARACTERS = list('abz 0/*:,{}[]#\'') + ['é', '日', '😀', '\x7f', '\x85', '\u2028', '\ufeff', '\xa0', '\uffff']
BLANKS = ['', '', '', ' ', '\n', '\r\n', '\t', '  ', '\r']
WORDS = ['true', 'false', 'null']
JUNK = list('{}[],:"\'\\ -+.eE01tfn/*#\n\t\r\x00\x01\x1b') + ['\x0b', '\x0c', '\xa0', '\u2003', '...', '//x\n', '/**/', 'true',
                                                             'nul', 'é', '"', '""', ',,', '\ufeff', '“', '”']


def blank(rng):
    return rng.choice(BLANKS)


def string(rng):
    parts = []
    for _ in range(rng.choice([0, 1, 1, 2, 3, 8])):
        parts.append(rng.choice(ESCAPES if rng.random() < 0.3 else CHARACTERS))
    if rng.random() < 0.01:
        parts.append(rng.choice(BAD_ESCAPES + ['\n', '\t', '\x1f', '\r']))
    return '"' + ''.join(parts) + '"'


def number(rng):
    what = rng.random()
    if what < 0.02:
        return rng.choice(BAD_NUMBERS)
    if what < 0.4:
        return rng.choice(NUMBERS)
    if what < 0.7:
        return str(rng.randrange(-2**rng.randrange(1, 70), 2**rng.randrange(1, 70)))
    return repr(struct.unpack('<d', struct.pack('<Q', rng.getrandbits(64)))[0])


def value(rng, depth):
    what = rng.random()
    if depth > 5 or what < 0.5:
        return rng.choice([string, number, lambda r: r.choice(WORDS)])(rng)
    n = rng.choice([0, 1, 2, 3, 5])
    if what < 0.75:
        items = [blank(rng) + value(rng, depth + 1) + blank(rng) for _ in range(n)]
        return '[' + (','.join(items) or blank(rng)) + ']'
    keys = [rng.choice(['"a"', '"b"', '"\\u0061"', '"a\\u0000"']) if rng.random() < 0.3 else string(rng) for _ in range(n)]
    pairs = [blank(rng) + k + blank(rng) + ':' + blank(rng) + value(rng, depth + 1) + blank(rng) for k in keys]
    return '{' + (','.join(pairs) or blank(rng)) + '}'


def spoil(rng, text):
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        i = rng.randrange(len(text) + 1)
        k = rng.choice([0, 1, 1, 2, 5])
        text = text[:i] + rng.choice(['', '', *JUNK]) + text[i + k:]
    return text


class Number(float):
    """A double that remembers how it was written: two spellings of one number are two values to us."""
    def __new__(cls, text):
        self = super().__new__(cls, text)
        self.text = text
        return self


class Refused(Exception):
    """What Python reads and we do not."""


def to_int(text):
    n = int(text)
    return n if -2**63 <= n < 2**63 else to_float(text)


def to_float(text):
    f = Number(text)
    if f in (float('inf'), float('-inf')):
        raise Refused('beyond a double')
    return f


def constant(text):
    raise Refused(text)


def check_string(s):
    if any(0xd800 <= ord(c) < 0xe000 for c in s):
        raise Refused('half of a surrogate pair')
    return s


def to_map(pairs):
    found = {}
    for key, v in pairs:
        check_string(key)
        if key in found and form(found[key]) != form(v):
            raise Refused('two values for one key')
        found[key] = v
    return found


def form(v):
    """What our reader compares: type and text, keys in any order."""
    if isinstance(v, Number):
        return ('float', v.text)
    if isinstance(v, list):
        return ('list', tuple(map(form, v)))
    if isinstance(v, dict):
        return ('map', tuple(sorted((k, repr(form(x))) for k, x in v.items())))
    return (type(v).__name__, v)


def dump(v, out):
    if v is None or isinstance(v, bool):
        out.append({None: 'null', True: 'true', False: 'false'}[v])
    elif isinstance(v, int):
        out.append(f'i{v}')
    elif isinstance(v, float):
        out.append('f' + struct.pack('>d', v).hex())
    elif isinstance(v, str):
        out.append('s' + check_string(v).encode().hex())
    elif isinstance(v, list):
        out.append('[')
        for x in v:
            dump(x, out)
        out.append(']')
    else:
        out.append('{')
        for k, x in v.items():
            out.append('k' + k.encode().hex())
            dump(x, out)
        out.append('}')


def expect(data):
    try:
        text = data.decode('utf-8')
    except UnicodeDecodeError:
        return 'reject not UTF-8'
    if text.startswith('\ufeff'):
        text = text[1:]  # ours to skip, as in YAML
    out = ['accept']
    try:
        dump(json.loads(text, parse_int=to_int, parse_float=to_float, parse_constant=constant,
                        object_pairs_hook=to_map), out)
    except (Refused, ValueError) as e:
        return 'reject ' + str(e).split('\n', maxsplit=1)[0]
    return ' '.join(out)


def main():
    seed, count, texts, want = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    rng = random.Random(seed)
    with open(texts, 'wb') as t, open(want, 'w', encoding='utf-8') as w:
        for n in range(count):
            text = blank(rng) + value(rng, 0) + blank(rng)
            if n % 2:
                text = spoil(rng, text)
            data = text.encode('utf-8', 'surrogatepass')
            if rng.random() < 0.02:
                i = rng.randrange(len(data) + 1)
                data = data[:i] + bytes([rng.randrange(128, 256)]) + data[i:]
            t.write(b'%d\n' % len(data) + data)
            w.write(expect(data) + '\n')


main()
