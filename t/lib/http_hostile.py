#!/usr/bin/env python3
"""Clients that mean no good: http_hostile.py SOCKET JOB [SEED]. A line "ok NAME" or "not ok NAME" for each thing that was tried.

SOCKET is the daemon's http.sock, JOB the id of a job that writes long lines without end.
"""
import json
import random
import socket
import sys
import threading
import time

PATH, JOB = sys.argv[1:3]
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
print(f'# seed {SEED}')
rng = random.Random(SEED)


def check(good, name, got=''):
    print('ok' if good else f'not ok (got {got!r:.200})', name, flush=True)


def connect():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(PATH)
    return s


def read_all(s):
    out = b''
    try:
        while chunk := s.recv(65536):
            out += chunk
    except ConnectionError:
        pass
    return out


def raw(data):
    s = connect()
    try:
        s.sendall(data)
    except (BrokenPipeError, ConnectionError):
        pass
    return read_all(s)


def get(path, more=''):
    return raw(f'GET {path} HTTP/1.1\r\nHost: x\r\n{more}Connection: close\r\n\r\n'.encode())


def post(path, body, length=None):
    return raw(f'POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body) if length is None else length}\r\nConnection: close\r\n\r\n'
               .encode() + body)


def status(answer):
    return answer.split(b' ', 2)[1].decode() if answer.startswith(b'HTTP/1.1 ') else answer[:80]


def alive():
    return status(get('/healthz')) == '200'


# --- requests
for data, want, name in [
        (b'\x16\x03\x01\x00nonsense\r\n\r\n', '400', 'a handshake of TLS'),
        (b'GET /healthz HTTP/1.1\r\nA: ' + b'x' * 9000, '431', 'a header that is too long'),
        (b'GET /healthz HTTP/1.1\r\n' + b'A: b\r\n' * 2000, '431', 'too many headers'),
        (b'GET /' + b'x' * 700 + b' HTTP/1.1\r\n\r\n', '414', 'a path that is too long'),
        (b'GET /healthz?' + b'x' * 4000 + b' HTTP/1.1\r\n\r\n', '414', 'a query that is too long'),
        (b'GET /healthz HTTP/1.1\r\nAuthorization: Bearer ' + b'x' * 1000 + b'\r\n\r\n', '431', 'a token that is too long'),
        (b'POST /api/v1/validate HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', '501', 'chunks'),
        (b'POST /api/v1/validate HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc', '400', 'chunks and a length'),
        (b'POST /api/v1/validate HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd', '400', 'two lengths'),
        (b'POST /api/v1/validate HTTP/1.1\r\nContent-Length: -1\r\n\r\n', '400', 'a negative length'),
        (b'POST /api/v1/validate HTTP/1.1\r\nContent-Length: 3000000\r\n\r\n', '413', 'a body that is too long, before it is sent'),
        (b'POST /api/v1/validate HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n', '413', 'one of no length at all'),
        (b'POST /healthz HTTP/1.1\r\nContent-Length: 10\r\n\r\n0123456789', '413', 'a body where there is none'),
        (b'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', '400', 'two hosts'),
        (b'GET http://x/healthz HTTP/1.1\r\n\r\n', '400', 'a request to a proxy'),
        (b'GET /healthz HTTP/3.0\r\n\r\n', '505', 'another version'),
        (b'CONNECT x:80 HTTP/1.1\r\n\r\n', '400', 'CONNECT'),
        (b'G\x00T /healthz HTTP/1.1\r\n\r\n', '400', 'a NUL')]:
    got = status(raw(data))
    check(got == want, name, got)
got = raw(b'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /nope HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n')
check(got.count(b'HTTP/1.1 ') == 3 and b' 404 ' in got, 'three requests at once, in their order', got)
s = connect()
for byte in b'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n':
    s.sendall(bytes([byte]))
check(read_all(s).endswith(b'ok\n'), 'a request byte by byte')
s = connect()
s.sendall(b'POST /api/v1/validate HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n')
check(s.recv(100).startswith(b'HTTP/1.1 100 '), 'a client that waits to be told to go on')
s.sendall(b'{}')
check(status(read_all(s)) == '400', 'goes on')

# --- names
for path in ['..', '%2e%2e', '..%2f..%2fetc%2fpasswd', '%2fetc%2fpasswd', '.', 'a%00b', '%ff%fe', 'a%0d%0aX:y', '~', '*', "'; drop table job", 'x' * 300]:
    path = path.replace(' ', '%20')
    for end in '', '/logs', '/plan', '/file', '/usage', '/hang', '/events':
        got = get(f'/api/v1/jobs/{path}{end}')
        if status(got) not in ('404', '400') or b'root:' in got:
            check(False, f'a job called {path}{end}', got)
    got = get(f'/assets/{path}')
    if status(got) != '404' or b'root:' in got:
        check(False, f'a file called {path}', got)
check(alive(), 'names that lead elsewhere')
for query in ['before=1.1.../../etc/passwd', 'after=0.0.%00', 'after=9999999999999999999999.1.x', 'replica=../x', 'tail=-1', 'rank=99999999999']:
    got = get(f'/api/v1/jobs/{JOB}/logs?{query}')
    if status(got) not in ('200', '400') or b'root:' in got:
        check(False, f'logs of {query}', got)
check(alive(), 'logs of places that are not there')

# --- bodies
for body, name in [(b'[' * 100000, 'depth'), (b'{"a":' * 50000 + b'1' + b'}' * 50000, 'objects in objects'), (b'{"text":"\xff\xfe"}', 'no UTF-8'),
                   (b'{"text":"\\ud800"}', 'half a surrogate'), (b'{"text":1e999}', 'numbers'), (b'"x"', 'no object'), (b'\x00' * 1000, 'zeros'),
                   (b'{"text":"a","text":"b"}', 'a key twice')]:
    for path in '/api/v1/validate', '/api/v1/explain', '/api/v1/jobs', '/api/v1/session':
        got = status(post(path, body))
        if got not in ('400', '413', '422'):
            check(False, f'{path}: {name}', got)
check(alive(), 'bodies that are no requests')
bomb = 'a: &a [x,x,x,x,x,x,x,x,x]\n' + ''.join(f'{chr(98 + i)}: &{chr(98 + i)} [{",".join(["*" + chr(97 + i)] * 9)}]\n' for i in range(12))
for text, name in [(bomb, 'aliases of aliases'), ('a' * 1000000, 'one long word'), ('- ' * 300000, 'lists in lists'), ('{' * 5000, 'brackets'), ('\0', 'a NUL'),
                   ('apiVersion: muster/v1\nname: x\nroles: {w: {replicas: 8192, processes: 4096, command: [a]}}\n', 'too many processes')]:
    for path in '/api/v1/validate', '/api/v1/explain':
        got = status(post(path, json.dumps({'text': text}).encode()))
        if got not in ('200', '422', '413', '400'):
            check(False, f'{path}: {name}', got)
check(alive(), 'job files that mean no good')
for key in 'text', 'name', 'cwd', 'options', 'argv', 'dialect', 'queue', 'priority', 'count', 'replace':
    for value in 7, 'x' * 5000, [], {}, True, [[]], '../../etc/passwd', '\n', '-x':
        request = {'text': 'x', key: value}
        got = status(post('/api/v1/jobs', json.dumps(request).encode()))
        if got not in ('400', '422', '413'):
            check(False, f'submission: {key} of {value!r:.20}', got)
check(alive(), 'submissions of other types')

# --- garbage
good = [b'GET /api/v1/jobs?limit=3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', f'GET /api/v1/jobs/{JOB}/logs?tail=3 HTTP/1.1\r\nConnection: close\r\n\r\n'.encode(),
        b'POST /api/v1/session HTTP/1.1\r\nContent-Length: 12\r\nConnection: close\r\n\r\n{"once":"ab"}', b'DELETE /api/v1/jobs/x HTTP/1.1\r\nConnection: close\r\n\r\n']
for _ in range(400):
    data = bytearray(rng.choice(good))
    for _ in range(rng.randrange(1, 6)):
        i = rng.randrange(len(data))
        data[i:i + rng.randrange(3)] = rng.randbytes(rng.randrange(4))
    s = connect()
    s.sendall(data)
    s.shutdown(socket.SHUT_WR) if rng.random() < .9 else None
    s.settimeout(.02)
    try:
        s.recv(100)
    except (TimeoutError, ConnectionError):
        pass
    s.close()
check(alive(), 'requests with random bytes')

# --- clients that leave
for _ in range(30):
    s = connect()
    body = json.dumps({'text': 'a: 1'}).encode()
    s.sendall(b'POST /api/v1/validate HTTP/1.1\r\nContent-Length: %d\r\n\r\n' % len(body) + body)
    s.close()
    s = connect()
    s.sendall(b'GET /api/v1/stream HTTP/1.1\r\n\r\n')
    s.close()
check(alive(), 'clients that leave before they are answered')

# --- many
done = []


def validate():
    done.append(status(post('/api/v1/validate', json.dumps({'text': 'a: 1'}).encode())))


threads = [threading.Thread(target=validate) for _ in range(40)]
for t in threads:
    t.start()
check(alive(), 'it answers while job files are read')
for t in threads:
    t.join()
check(set(done) <= {'200', '429'} and '200' in done, 'forty job files at once: read, or refused', done)
crowd = []
for _ in range(1000):
    crowd.append(connect())
check(alive(), 'a thousand connections that say nothing')
for s in crowd[500:]:
    try:
        s.sendall(b'GET /healthz HTTP/1.1\r\n')
    except OSError:
        pass
check(alive(), 'a thousand connections, half of them with a part of a request')
for s in crowd:
    s.close()
streams = [connect() for _ in range(70)]
for s in streams:
    s.sendall(b'GET /api/v1/stream HTTP/1.1\r\n\r\n')
words = [s.recv(13) for s in streams]
check(words.count(b'HTTP/1.1 200 ') >= 60 and b'HTTP/1.1 429 ' in words, 'seventy streams: no more than the limit', words)
for s in streams:
    s.close()
check(alive(), 'streams that are closed')

# --- slow ones
slow = connect()
slow.sendall(b'POST /api/v1/validate HTTP/1.1\r\nContent-Length: 100\r\n\r\n{')
trickle = connect()
unread = connect()
unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
unread.sendall(f'GET /api/v1/stream?job={JOB}&logs=1 HTTP/1.1\r\n\r\n'.encode())
try:
    for _ in range(60):
        trickle.sendall(b'A')
        time.sleep(.5)
except (BrokenPipeError, ConnectionError):
    pass
check(read_all(trickle) == b'', 'a client that sends a byte at a time is cut off')
check(read_all(slow) == b'', 'one that never sends its body, too')
check(0 < len(read_all(unread)) < 4 << 20, 'one that never reads its stream, too')
check(alive(), 'it is alive')
