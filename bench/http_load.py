# SPDX-License-Identifier: BSD-2-Clause
"""The slowest hundredth of a web server's answers at a fixed load, with krait at 999 Hz against
without: one server, krait's events switched on in every other window. Latency counts from the
moment a request was due. A window's beginning doesn't count: krait still works on the samples of
the one before (it empties its rings every 100 ms)."""

import contextlib
import os
import random
import socket
import subprocess
import threading
import time

import lib

CONNECTIONS = 4
PER_SECOND = 50  # on each connection
WINDOW = 0.6  # seconds
SETTLE = 0.12  # seconds of each that don't count


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
            if due >= begin - offset + SETTLE:
                latencies.append(time.perf_counter() - due)


def window(port):
    """Seconds that each answer took."""
    latencies = []
    threads = [
        threading.Thread(target=drive, args=(port, i / PER_SECOND / CONNECTIONS, latencies, WINDOW))
        for i in range(CONNECTIONS)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return latencies


def p99(windows):
    return lib.quantile([latency for w in windows for latency in w], 0.99)


def ratio_interval(pairs, repeats=1000):
    """p99 of all answers with krait by that of all without, and its 95 % interval: pairs of
    neighbouring windows, drawn again and again."""
    rng = random.Random(1)

    def ratio(drawn):
        return p99([on for _, on in drawn]) / p99([off for off, _ in drawn])

    drawn = sorted(ratio(rng.choices(pairs, k=len(pairs))) for _ in range(repeats))
    return ratio(pairs), drawn[int(repeats * 0.025)], drawn[int(repeats * 0.975)]


def measure(port, pid, seconds):
    """[(latencies without, latencies with krait)]"""
    pairs, end = [], time.monotonic() + seconds
    with lib.Krait(["-p", str(pid), "-F", "999"]) as k:
        k.program()
        time.sleep(0.3)
        with lib.PerfEvents(k.pid) as events:
            events.switch(False)
            while time.monotonic() < end or len(pairs) < 4:
                both = [None, None]
                for on in (0, 1) if len(pairs) % 2 else (1, 0):
                    with events.on() if on else contextlib.nullcontext():
                        both[on] = window(port)
                pairs.append(both)
    return pairs


def row(python, kind, seconds):
    server = subprocess.Popen(
        [python, os.path.join(lib.ROOT, "bench/http_server.py"), kind],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        pairs = measure(int(server.stdout.readline()), server.pid, seconds)
    finally:
        server.kill()
        server.wait()
    middle, low, high = ratio_interval(pairs)
    return lib.Row(
        "%s server, 999 Hz: p99 latency" % kind,
        middle,
        "x without",
        1.03,
        note="95 %%: %.2f..%.2f, %d pairs of %g s" % (low, high, len(pairs), WINDOW),
    )
