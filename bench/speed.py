# SPDX-License-Identifier: BSD-2-Clause
"""Compares the target's speed while krait profiles it with its speed under `perf record` without
call graphs at the same rate. Both profilers run all the time, and their events are switched on
in turn, so that windows are short and neighbouring windows see the same machine. Prints the
median of the ratios of both speeds with its 95 % interval and, for comparison, BPF time x Hz."""

import contextlib
import itertools
import time

import lib

WINDOW = 0.1  # seconds of one window
ROUND = 40  # how many windows are measured before the profilers are started again
# each setting: depth of the stack, number of idle threads
SETTINGS = ((20, 0), (100, 0), (20, 400))


def most_percent(hz, depth):
    if depth <= 20:
        return 3 if hz > 999 else 1
    return 12 if hz > 999 else 1.5


def windows(target, depth, hz, perf_options=(), krait_options=()):
    """Returns how fast the target ran in each of ROUND windows: [(beside perf, beside krait,
    without a profiler)]."""
    got, order = [], itertools.cycle(([0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1]))
    target.depth(depth)
    with (
        lib.perf_events(target.pid, hz, *perf_options) as p,
        lib.krait_events(target.pid, hz, *krait_options) as k,
    ):
        for events in (p, k):
            events.switch(False)
        for _ in range(ROUND):
            row = [0, 0, 0]
            for who in next(order):
                with p.on() if who == 0 else k.on() if who == 1 else contextlib.nullcontext():
                    row[who] = target.pace(WINDOW)
            got.append(row)
    target.depth(0)
    return got


def compare(targets, hz, seconds):
    """Returns for each setting what windows() returned, for as many rounds as the time allows."""
    got, end = [[] for _ in SETTINGS], time.monotonic() + seconds
    while time.monotonic() < end or not got[0]:
        for all_of_it, target, (depth, _) in zip(got, targets, SETTINGS):
            all_of_it += windows(target, depth, hz)
    return got


def slower(name, speeds, most):
    middle, low, high = lib.median_interval([100 * (1 - k / p) for p, k, _ in speeds])
    note = "95 %%: %.2f..%.2f, %d windows" % (low, high, len(speeds))
    return lib.Row(name, middle, "points", most, note=note)


def rows(got, hz):
    for (depth, threads), speeds in zip(SETTINGS, got):
        name = "%d Hz, depth %d%s: " % (hz, depth, ", %d idle threads" % threads if threads else "")
        yield slower(name + "slower than under perf", speeds, most_percent(hz, depth))
        bare, low, high = lib.median_interval([100 * k / n for _, k, n in speeds])
        yield lib.Row(name + "speed", bare, "% of alone", note="95 %%: %.1f..%.1f" % (low, high))


def sample_ns(target, hz, depth):
    """Returns the BPF time of one sample of the target. krait's program also runs for other
    processes; about 300 ns are subtracted for each of these runs."""
    with lib.recorder(target.pid, hz) as k:
        program = k.program()
        target.depth(depth)
        time.sleep(0.3)
        samples, (runs, ns) = k.counter("SAMPLES"), program.now()
        time.sleep(0.5 + 30 / hz)
        samples, (runs_2, ns_2) = k.counter("SAMPLES") - samples, program.now()
        target.depth(0)
    return (ns_2 - ns - 300 * max(0, runs_2 - runs - samples)) / max(1, samples)


def run(options):
    lib.need_perf()
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
