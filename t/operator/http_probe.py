"""Asks a running operator by HTTP, well and badly: http_probe.py PORT. A line "ok NAME" or "not ok NAME" for each.

http_probe.py PORT PATH prints the answer for one path, its status on the first line.
"""
import socket
import struct
import sys
import time
import urllib.error
import urllib.request

PORT = int(sys.argv[1])


def check(good, name, got=""):
    print(("ok" if good else f"not ok (got {got!r:.200})"), name)


def raw(data, until_closed=True, sock=None):
    s, out = sock or socket.create_connection(("127.0.0.1", PORT), timeout=30), b""
    try:
        s.sendall(data)
        while chunk := s.recv(65536):
            out += chunk
            if not until_closed:
                break
    except ConnectionError:
        pass
    return out


def status(path, method="GET"):
    try:
        with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", method=method), timeout=30) as r:
            return r.status, r.read()
    except urllib.error.HTTPError as e:
        return e.code, e.read()


if len(sys.argv) > 2:
    code, body = status(sys.argv[2])
    sys.exit(print(code, body.decode(), sep="\n", end=""))

check(status("/nothing")[0] == 404, "another path: 404")
check(status("/metrics", "POST")[0] == 405, "another method: 405")
got = raw(b"HEAD /healthz HTTP/1.1\r\nConnection: close\r\n\r\n")
check(got.startswith(b"HTTP/1.1 200 OK\r\n") and got.endswith(b"Content-Length: 3\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"),
      "HEAD has no body", got)
got = raw(b"GET /healthz HTTP/1.1\r\n\r\nGET /readyz HTTP/1.1\r\n\r\nGET /x HTTP/1.1\r\nConnection: close\r\n\r\n")
check(got.count(b"HTTP/1.1 ") == 3 and b"404 Not Found" in got, "three requests at once, in their order", got)
s = socket.create_connection(("127.0.0.1", PORT), timeout=30)
for part in b"GET /healthz HT", b"TP/1.1\r\nHo", b"st: x\r\nConnection: close\r":
    s.sendall(part)
check(raw(b"\n\r\n", sock=s).endswith(b"\r\n\r\nok\n"), "a request in pieces")
check(b" 400 Bad Request" in raw(b"\x16\x03\x01\x00nonsense\n\n"), "nonsense: 400")
check(b" 431 " in raw(b"GET /healthz HTTP/1.1\r\nA: " + b"x" * 9000), "a head that is too large: 431")
check(b" 413 " in raw(b"POST /healthz HTTP/1.1\r\nContent-Length: 1\r\n\r\n"), "a body: 413")
check(b" 501 " in raw(b"POST /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), "chunks: 501")

# Clients that do not wait for their answer.
for i in range(50):
    s = socket.create_connection(("127.0.0.1", PORT), timeout=30)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", i % 2, 0))  # by reset, or not
    s.sendall(b"GET /metrics HTTP/1.1\r\n\r\n" * (i + 1))
    s.close()
check(status("/healthz")[0] == 200, "clients that leave early are no trouble")

# More connections than it has: those that wait for a request make room, the others stay.
begin = time.monotonic()
slow = [socket.create_connection(("127.0.0.1", PORT), timeout=30) for _ in range(3)]
for s in slow:
    s.sendall(b"GET /healthz HTTP/1.1\r\n")
status("/healthz")  # which it answers after it has read these
idle = [socket.create_connection(("127.0.0.1", PORT), timeout=30) for _ in range(90)]
check(status("/healthz")[0] == 200, "with 93 connections open it answers")
got = raw(b"Connection: close\r\n\r\n", sock=slow[0])
late = time.monotonic() - begin > 8  # it may take ten seconds; this machine is too slow to tell
check(b" 200 OK" in got or late, "and goes on with one that was in the middle", got)
closed = 0
for s in idle:
    s.setblocking(False)
    try:
        closed += s.recv(1) == b""
    except BlockingIOError:
        pass
check(closed >= 20, "idle connections were closed", closed)
check(raw(b"", sock=slow[1]) == b"", "a request that does not come to its end is given up")
