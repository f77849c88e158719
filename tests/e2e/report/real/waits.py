# SPDX-License-Identifier: BSD-2-Clause
"""Typical waits of real programs. Each part of this file is the text of a helpers.py, whose step()
waits for some 0.3 s and computes nothing. The test provides the port, the pipe and the locked
file on which step() waits."""
# === sleeps
import time


def step():
    time.sleep(0.3)


# === lock
import threading
import time

LOCK = threading.Lock()


def step():
    with LOCK:
        time.sleep(0.3)


# === socket
import os
import socket


def step():
    with socket.create_connection(("127.0.0.1", int(os.environ["SLOW_PORT"]))) as upstream:
        upstream.sendall(b"GET / HTTP/1.0\r\n\r\n")
        while upstream.recv(4096):
            pass


# === queue
import queue

ORDERS = queue.Queue()


def step():
    try:
        return ORDERS.get(timeout=0.3)
    except queue.Empty:
        return None


# === pipe
import os


def step():
    with open(os.environ["SLOW_PIPE"], "rb", buffering=0) as pipe:
        return pipe.read(1)


# === file_lock
import fcntl
import os
import time


def step():
    with open(os.environ["LOCKED_FILE"]) as f:
        for _ in range(3):
            try:
                return fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.1)


# === child
import subprocess


def step():
    subprocess.run(["sleep", "0.3"], check=True)


# === event
import threading

READY = threading.Event()


def step():
    return READY.wait(0.3)


# === poll
import os
import select


def step():
    reading, writing = os.pipe()
    try:
        return select.select([reading], [], [], 0.3)
    finally:
        os.close(reading)
        os.close(writing)
