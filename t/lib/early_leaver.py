#!/usr/bin/env python3
"""A world of sockets in which one rank leaves with 0: early_leaver.py HOW RANK WORDS.

HOW: sys (sys.exit), os (os._exit), end (its code is at its end), pipe (survivors are killed by SIGPIPE),
closing (it has closed its connections, and ends when the others are stopped).
WORDS: "closed" names the lost peer as sockets do, anything else is what a survivor raises.
"""
import os
import signal
import socket
import sys
import time

how, leaver, words = sys.argv[1], int(sys.argv[2]), sys.argv[3]
rank, size = int(os.environ['RANK']), int(os.environ['WORLD_SIZE'])
master = (os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT']))


def connect():
    if rank == 0:
        server = socket.socket()
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(master)
        server.listen(size)
        return [server.accept()[0] for _ in range(size - 1)]
    while True:
        try:
            return [socket.create_connection(master)]
        except (ConnectionRefusedError, socket.gaierror):  # the name of a pod is known when it has an address
            time.sleep(0.02)


def fail():
    if rank != 0 and leaver != 0:
        time.sleep(60)  # the one that noticed is the first
    time.sleep(0.5)
    if how == 'pipe':
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        while True:
            os.write(gone.fileno(), b'x')
    if words == 'closed':
        raise ConnectionResetError(104, 'Connection reset by peer')
    raise ValueError(words)


peers = connect()
for step in range(100):
    if rank == leaver and step == 3:
        if how == 'os':
            os._exit(0)
        if how == 'sys':
            sys.exit(0)
        if how == 'closing':
            signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
            peers[0].close()
            time.sleep(60)
        break
    for peer in peers:
        try:
            if rank == 0:
                peer.sendall(b'x')
            got = peer.recv(1)
            if rank != 0:
                peer.sendall(got)
        except OSError:
            got = b''
        if not got:
            gone = peer
            fail()
