#!/usr/bin/env python3
"""A server on loopback that misbehaves: bad_server.py HOW [CERTIFICATE KEY]. Prints its port, and serves until it is killed.

HOW: close (reads a request and closes the connection), silent (accepts, and says nothing), slow (sends an answer
that never ends, a byte per second), words (what it sends is no HTTP), page (an answer that is no object), tls (a handshake
with that certificate, then as close).
"""
import socket
import ssl
import sys
import threading
import time

how = sys.argv[1]
context = None
if how == 'tls':
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
ANSWERS = {
    'words': b'good morning\r\n\r\n',
    'page': b'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>',
}


def serve(connection):
    try:
        if context:
            connection = context.wrap_socket(connection, server_side=True)
        if how == 'silent':
            time.sleep(600)
        connection.recv(65536)
        if how == 'slow':
            for byte in b'HTTP/1.1 201 Created\r\nX: ' + b'x' * 600:
                connection.sendall(bytes([byte]))
                time.sleep(1)
        connection.sendall(ANSWERS.get(how, b''))
    except OSError:
        pass
    connection.close()


server = socket.create_server(('127.0.0.1', 0))
print(server.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
