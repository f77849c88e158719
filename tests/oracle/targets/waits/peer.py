# SPDX-License-Identifier: BSD-2-Clause
# part of: kinds.py
"""The other side of waits: a process that does, after a delay, what a waiting thread waits for.

It listens on a port of its own, which it prints. Each connection is a series of lines
"WHAT SECONDS ARGUMENT". The process ends when its input does.
"""
import ctypes
import fcntl
import os
import socket
import sys
import threading
import time

DONTNEED = 4  # POSIX_FADV_DONTNEED
libc = ctypes.CDLL(None)


def reply(connection, seconds, _):
    time.sleep(seconds)
    connection.sendall(b"x")


def connect(_, seconds, port):
    time.sleep(seconds)
    socket.create_connection(("127.0.0.1", int(port))).close()


def write(_, seconds, path):
    time.sleep(seconds)
    pipe = os.open(path, os.O_WRONLY)
    os.write(pipe, b"x")
    os.close(pipe)


def hold(connection, seconds, path):
    """Replies when it has the lock, and holds it."""
    with open(path, "r+b") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        connection.sendall(b"x")
        time.sleep(seconds)


def forget(connection, _, path):
    """Replies when the file isn't in memory any more."""
    with open(path, "rb") as f:
        libc.posix_fadvise(f.fileno(), ctypes.c_long(0), ctypes.c_long(0), DONTNEED)
    connection.sendall(b"x")


DOES = {"reply": reply, "connect": connect, "write": write, "hold": hold,
        "forget": forget}


def serve(connection):
    for line in connection.makefile("r"):
        what, seconds, argument = line.rstrip("\n").split(" ", 2)
        DOES[what](connection, float(seconds), argument)


def listen(listener):
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        start(serve, connection)


def start(function, argument):
    thread = threading.Thread(target=function, args=(argument,))
    thread.daemon = True
    thread.start()


def main():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    sys.stdout.write("%d\n" % listener.getsockname()[1])
    sys.stdout.flush()
    start(listen, listener)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
