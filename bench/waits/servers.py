# SPDX-License-Identifier: BSD-2-Clause
"""What `krait record --wall` costs servers: a threaded one at three numbers of task switches a
second, and one of asyncio. Measured are the answers per second of the server's CPU time, and the
latency of answers at a fixed load. A recording with --wall and one of CPU time alone run all the
time, and are switched on and off. Windows of all arms (kinds of window) follow each other
closely, and two arms of each round are without a recording (A/A). The run time of the kernel
programs is measured apart, because the kernel's statistics take time too."""

import contextlib
import time

import lib
from waits import server as servers
from waits import tools

WINDOW = 0.5
RATES = (30000, 60000, 120000)  # how many task switches the server makes in a second
# the load of the asyncio server, as a share of the answers that it can give at most
ASYNCIO_RATE = 0.5
# limits of three ratios: answers per CPU second, median latency, p99 latency
THREADS, ASYNCIO = (0.97, 1.05, 1.05), (0.99, 1.01, 1.02)
ARMS = ("wall", "off", "again", "cpu")


def work(window):
    return window["answers"] / window["cpu"]


def median(window):
    return window["median"]


def p99(window):
    return window["p99"]


def one_round(server, recordings, i):
    got = {}
    for name in tools.order(i, ARMS):
        with recordings[name].on() if name in recordings else contextlib.nullcontext():
            got[name] = server.window(WINDOW)
    return got


def bpf_time(server, recording, n=3):
    """Returns how much more time the kernel programs take than empty programs: ns per second, ns
    per answer, ns per switch of the server, and the share of the server's CPU time. Programs at
    switches of other tasks count too."""
    got = []
    with tools.Empty() as empty, recording.on():
        for _ in range(n):
            spent = tools.Spent(recording.k, empty)
            window = server.window(WINDOW)
            ns = spent.end().all_ns() / spent.seconds
            got.append([ns] + [ns / servers.a_second(window, w)
                               for w in ("answers", "switches")]
                       + [ns / 1e9 / servers.a_second(window, "cpu")])
    return [tools.median(column) for column in zip(*got)]


def measure(server, name, store, seconds):
    """Measures a server. Returns (rounds, the mean of what bpf_time() returned before and after the
    rounds)."""
    target = ["-p", str(server.pid)]
    with tools.Recording("--wall", *target) as wall, tools.Recording(*target) as cpu:
        for recording in (wall, cpu):
            recording.switch(0)
        spent = bpf_time(server, wall)
        recordings = {"wall": wall, "cpu": cpu}
        rounds = tools.more(store, name, seconds, 4,
                            lambda i: one_round(server, recordings, i))
        again = bpf_time(server, wall)
    return rounds, [(a + b) / 2 for a, b in zip(spent, again)]


def rows(name, rounds, spent, limits):
    """Yields the table's rows for one server."""
    _, per_answer, per_switch, share = spent
    arms = "wall", "off", "again"
    middle = [tools.median(r["off"][w] for r in rounds) for w in ("median", "p99")]
    tall = [tools.median(servers.a_second(r["off"], w) for r in rounds)
            for w in ("answers", "switches", "cpu")]
    yield lib.Row(name + ": switches", tall[1], "a second",
                  note="%.0f answers a second, %.2f CPUs, median %.0f us, p99 %.0f us" %
                  (tall[0], tall[2], middle[0] / 1e3, middle[1] / 1e3))
    yield lib.Row(name + ": BPF time", per_switch, "ns a switch",
                  note="%.2f %% of the server's CPU time" % (100 * share))
    for what, value, limit, instead in (
        ("work per CPU-second", work, limits[0], 1 - share),
        ("median latency", median, limits[1], 1 + per_answer / middle[0]),
        ("p99 latency", p99, limits[2], 1 + per_answer / middle[1]),
    ):
        yield tools.judged(name + ": " + what, rounds, value, arms, limit, instead)
        middle_2, low, high = tools.ratio(rounds, value, "wall", "cpu")
        yield lib.Row(name + ": " + what + ", to a recording of CPU time", middle_2, "x",
                      note="%.3f..%.3f" % (low, high))


def threads(python, wanted, store, seconds):
    found = servers.find_load(python, wanted, store)
    name = "threads, %dk switches" % (wanted / 1000)
    with servers.Server(python, "threads", found["hops"]) as server:
        server.drive(found["rate"])
        time.sleep(0.3)
        rounds, spent = measure(server, name, store, seconds)
    yield from rows(name, rounds, spent, THREADS)


def coroutines(python, store, seconds):
    with servers.Server(python, "asyncio") as server:
        server.drive(0)
        kept = store.rounds("load asyncio")
        rate = kept[0] if kept else store.add(
            "load asyncio", ASYNCIO_RATE * servers.a_second(server.window(1), "answers"))
        server.drive(rate)
        time.sleep(0.3)
        rounds, spent = measure(server, "asyncio", store, seconds)
    yield from rows("asyncio", rounds, spent, ASYNCIO)


def run(options):
    python, store = lib.newest_interpreter(), tools.Store(options.store)
    each = options.seconds / (len(RATES) + 1)
    for wanted in RATES:
        yield from threads(python, wanted, store, each)
    yield from coroutines(python, store, each)
