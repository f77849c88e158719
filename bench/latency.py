# SPDX-License-Identifier: BSD-2-Clause
"""Measures the p99 latency of a web server's answers at a fixed load: with krait at 999 Hz, without
krait, and with bare perf record at the same rate, which shows the cost of the kernel's timer.
There is only one server, and the events of krait and perf are switched on in turn. Latency
counts from the moment a request was due. A window's beginning doesn't count, because krait still
works on the samples of the window before. In windows without krait, krait's process isn't
stopped, so it still wakes up now and then."""

import contextlib
import itertools
import os
import random
import socket
import subprocess
import threading
import time

import http_client
import lib

HZ = 999
PER_SECOND = 50  # requests a second on each connection
WINDOW = 0.6  # seconds of one window
SETTLE = 0.12  # seconds at the beginning of each window whose answers don't count


@contextlib.contextmanager
def connections(port):
    """Opens connections that stay open, as those of a proxy do, so that the server's threads are
    the same all the time."""
    with contextlib.ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            for _ in range(http_client.CONNECTIONS)
        ]
        for s in sockets:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield [(s, stack.enter_context(s.makefile("rb"))) for s in sockets]


def drive(s, f, offset, latencies, seconds):
    begin = time.perf_counter() + offset
    for i in range(int(seconds * PER_SECOND)):
        due = begin + i / PER_SECOND
        time.sleep(max(0.0, due - time.perf_counter()))
        s.sendall(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % i)
        http_client.read_answer(f)
        if due >= begin - offset + SETTLE:
            latencies.append(time.perf_counter() - due)


def window(clients):
    """Returns how many seconds each answer in the window took."""
    latencies = []
    threads = [
        threading.Thread(target=drive, args=(*c, i / PER_SECOND / http_client.CONNECTIONS, latencies, WINDOW))
        for i, c in enumerate(clients)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return latencies


def p99(windows):
    return lib.quantile([latency for w in windows for latency in w], 0.99)


def ratio_interval(rounds, a, b, repeats=1000):
    """Returns the p99 under variant @a divided by the p99 under variant @b, and the ends of the
    ratio's 95 % interval, by resampling the rounds. The windows of a round are measured right
    after each other."""
    rng = random.Random(1)

    def ratio(drawn):
        return p99([r[a] for r in drawn]) / p99([r[b] for r in drawn])

    drawn = sorted(ratio(rng.choices(rounds, k=len(rounds))) for _ in range(repeats))
    return ratio(rounds), drawn[int(repeats * 0.025)], drawn[int(repeats * 0.975)]


# perf's events are opened on CPUs (-a), as krait's events are. With -p they would belong to
# threads: even switched off, such events make each switch between threads dearer, also in windows
# of other variants.
ALONE, PERF, KRAIT, KRAIT_PYTHON = range(4)


def measure(port, pid, seconds):
    """Measures in rounds, until @seconds are over. Returns for each round a list with the latencies
    under each variant."""
    rounds, end = [], time.monotonic() + seconds
    with (
        lib.perf_events(None, HZ) as p,
        lib.krait_events(pid, HZ) as k,
        lib.krait_events(pid, HZ, "--native", "none") as python,
        connections(port) as clients,
    ):
        arms = (None, p, k, python)
        for events in arms[1:]:
            events.switch(False)
        for order in itertools.cycle(itertools.permutations(range(len(arms)))):
            got = [None] * len(arms)
            for who in order:
                with arms[who].on() if arms[who] else contextlib.nullcontext():
                    got[who] = window(clients)
            rounds.append(got)
            if time.monotonic() > end and len(rounds) >= 4:
                return rounds


def rows(python, kind, seconds):
    server = subprocess.Popen(
        [python, os.path.join(lib.ROOT, "bench/programs/http_server.py"), kind],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        rounds = measure(int(server.stdout.readline()), server.pid, seconds)
    finally:
        server.kill()
        server.wait()
    name = "%s server, %d Hz: p99 latency" % (kind, HZ)
    for what, a, b, unit, most in (
        (name, KRAIT, ALONE, "x without", 1.03),
        (name + ", --native none", KRAIT_PYTHON, ALONE, "x without", 1.03),
        (name + ", bare perf -a", PERF, ALONE, "x without", None),
        (name + ", krait", KRAIT, PERF, "x perf -a's", None),
    ):
        middle, low, high = ratio_interval(rounds, a, b)
        note = "95 %%: %.2f..%.2f, %d rounds of 4 x %g s" % (low, high, len(rounds), WINDOW)
        yield lib.Row(what, middle, unit, most, note=note)


def run(options):
    lib.need_perf()
    python = lib.newest_interpreter()
    for kind in ("asyncio", "threads"):
        yield from rows(python, kind, options.seconds / 2)
