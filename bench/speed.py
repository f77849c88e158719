# SPDX-License-Identifier: BSD-2-Clause
"""The target's speed while krait profiles it, against `perf record` without call graphs at the
same rate: interleaved windows, the median of the ratios of neighbours with its 95 % interval. And
what BPF time x Hz says of it. Last, the slowest hundredth of a server's answers."""

import shutil
import signal
import subprocess
import time

import http_load
import lib

WINDOW = 0.2  # seconds at each depth
REPEATS = 4  # windows under one start of a profiler
SETTINGS = ((20, 0), (100, 0), (20, 400))  # depth, idle threads


def most_percent(hz, depth):
    if depth <= 20:
        return 3 if hz > 999 else 1
    return 12 if hz > 999 else 1.5


class Perf:
    """perf record without call graphs."""

    def __init__(self, pids, hz):
        self.command = lib.perf_command(pids, hz)

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(0.2)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()


class Nothing:
    def __enter__(self):
        time.sleep(0.05)
        return self

    def __exit__(self, *_):
        pass


def krait(pids, hz):
    arguments = ["-F", str(hz)]
    for p in pids:
        arguments += ["-p", str(p)]
    return lib.Krait(arguments)


def once(profiler, targets):
    """[[speed by setting] by window] under one start of a profiler."""
    with profiler as p:
        if isinstance(p, lib.Krait):
            p.program()
            time.sleep(0.1)
        return [
            [t.run(depth, WINDOW) for t, (depth, _) in zip(targets, SETTINGS)]
            for _ in range(REPEATS)
        ]


def compare(targets, hz, seconds):
    """[[(perf, krait, nothing)] by setting] of as many rounds as the time allows."""
    pids = [t.pid for t in targets]
    got, end, rounds = [[] for _ in SETTINGS], time.monotonic() + seconds, 0
    while time.monotonic() < end or not rounds:
        makers = [lambda: Perf(pids, hz), lambda: krait(pids, hz), Nothing]
        speeds = [None] * 3
        for i in [0, 1, 2] if rounds % 2 else [1, 0, 2]:
            speeds[i] = once(makers[i](), targets)
        for window in zip(*speeds):
            for n, row in enumerate(zip(*window)):
                got[n].append(row)
        rounds += 1
    return got


def rows(got, hz):
    for (depth, threads), windows in zip(SETTINGS, got):
        name = "%d Hz, depth %d%s: " % (hz, depth, ", %d idle threads" % threads if threads else "")
        middle, low, high = lib.median_interval([100 * (1 - k / p) for p, k, _ in windows])
        yield lib.Row(
            name + "slower than under perf",
            middle,
            "points",
            most_percent(hz, depth),
            note="95 %%: %.2f..%.2f, %d windows" % (low, high, len(windows)),
        )
        bare, low, high = lib.median_interval([100 * k / n for _, k, n in windows])
        yield lib.Row(name + "speed", bare, "% of alone", note="95 %%: %.1f..%.1f" % (low, high))


def sample_ns(target, hz, depth):
    """BPF time of one sample of the target, without krait's runs for other processes (about 300
    ns)."""
    with krait([target.pid], hz) as k:
        program = k.program()
        target.depth(depth)
        time.sleep(0.3)
        samples, (runs, ns) = k.counter("SAMPLES"), program.now()
        time.sleep(0.5 + 30 / hz)
        samples, (runs_2, ns_2) = k.counter("SAMPLES") - samples, program.now()
        target.depth(0)
    return (ns_2 - ns - 300 * max(0, runs_2 - runs - samples)) / max(1, samples)


def run(options):
    if not shutil.which("perf"):
        raise lib.Skip("no perf (linux-perf)")
    python = lib.newest_interpreter()
    targets = [lib.Target(python, threads) for _, threads in SETTINGS]
    rates = (99, 999, 9999)
    try:
        with lib.BpfStats():
            for hz in rates:
                for depth in (20, 100):
                    ns = sample_ns(targets[0], hz, depth)
                    yield lib.Row(
                        "%d Hz, depth %d: BPF time" % (hz, depth),
                        ns * hz / 1e7,
                        "% of a core",
                        most_percent(hz, depth),
                        note="%.0f ns a sample" % ns,
                    )
        for hz in rates:
            yield from rows(compare(targets, hz, options.seconds / len(rates) * 0.8), hz)
    finally:
        for t in targets:
            t.close()
    for kind in ("asyncio", "threads"):
        yield http_load.row(python, kind, options.seconds * 0.1)
