# SPDX-License-Identifier: BSD-2-Clause
"""The slowest hundredth of a web server's answers at a fixed load, with krait at 999 Hz against
without: windows in turn, the median of the ratios. Latency counts from the moment a request was
due."""

import os
import socket
import subprocess
import threading
import time

import lib

CONNECTIONS = 4
PER_SECOND = 50  # on each connection
WINDOW = 2.0


def read_answer(f):
    length = 0
    while True:
        line = f.readline()
        if line in (b"\r\n", b""):
            break
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    f.read(length)


def drive(port, offset, latencies, seconds):
    with socket.create_connection(("127.0.0.1", port)) as s, s.makefile("rb") as f:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        begin = time.perf_counter() + offset
        for i in range(int(seconds * PER_SECOND)):
            due = begin + i / PER_SECOND
            time.sleep(max(0.0, due - time.perf_counter()))
            s.sendall(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % i)
            read_answer(f)
            latencies.append(time.perf_counter() - due)


def window(port):
    latencies = []
    threads = [
        threading.Thread(target=drive, args=(port, i / PER_SECOND / CONNECTIONS, latencies, WINDOW))
        for i in range(CONNECTIONS)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return lib.quantile(latencies, 0.99)


def row(python, kind, seconds):
    server = subprocess.Popen(
        [python, os.path.join(lib.ROOT, "bench/http_server.py"), kind],
        stdout=subprocess.PIPE,
        text=True,
    )
    port, ratios, end = int(server.stdout.readline()), [], time.monotonic() + seconds
    try:
        while time.monotonic() < end or len(ratios) < 3:
            without = window(port)
            with lib.Krait(["-p", str(server.pid), "-F", "999"]) as k:
                k.program()
                time.sleep(0.2)
                ratios.append(window(port) / without)
    finally:
        server.kill()
        server.wait()
    middle, low, high = lib.median_interval(ratios)
    return lib.Row(
        "%s server, 999 Hz: p99 latency" % kind,
        middle,
        "x without",
        1.03,
        note="95 %%: %.2f..%.2f, %d pairs" % (low, high, len(ratios)),
    )
