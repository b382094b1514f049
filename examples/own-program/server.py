"""Sends a chunk whenever the client asks for one."""

import socket
import sys
import time

address, port, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
connection, _ = socket.create_server((address, port)).accept()
begin, chunk = time.monotonic(), bytes(size)
while connection.recv(1):
    connection.sendall(chunk)
    print(f"waited {time.monotonic() - begin:.6f} s", flush=True)
