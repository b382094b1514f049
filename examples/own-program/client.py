"""Asks for chunks, one after the other, until its time is over. Says how many came."""

import json
import socket
import sys
import time

address, port, end = sys.argv[1], int(sys.argv[2]), time.monotonic() + float(sys.argv[3]) - 0.5
connection = socket.create_connection((address, port))
connection.settimeout(0.2)
chunks = received = 0
while time.monotonic() < end:
    connection.sendall(b"?")
    before = received
    try:
        while got := len(connection.recv(1 << 16)):
            received += got
    except TimeoutError:
        chunks += received > before
print(json.dumps({"chunks": chunks, "bytes": received}))
