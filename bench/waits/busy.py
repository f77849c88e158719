# SPDX-License-Identifier: BSD-2-Clause
"""Measures the speed of a program that computes, alone and beside 400 threads that wait for ever:
while waits are recorded, and while only CPU time is recorded. Both recordings run all the time,
and are switched on in turn."""

import time

import lib
from waits import tools

WINDOW = 0.15
THREADS = (0, 400)
ARMS = ("wall", "cpu", "again", "off")


def one_round(target, recordings, i):
    got = {}
    for name in tools.order(i, ARMS):
        recording = recordings.get(name)
        if recording:
            recording.switch(1)
        time.sleep(0.02)
        got[name] = target.pace(WINDOW)
        if recording:
            recording.switch(0)
    return got


def speed(value):
    return value


def measure(python, threads, store, seconds):
    name = "busy, %d idle threads" % threads
    with lib.Target(python, threads) as target:
        target.depth(20)
        pid = ["-p", str(target.pid)]
        with tools.Recording("--wall", *pid) as wall, tools.Recording(*pid) as cpu:
            for recording in (wall, cpu):
                recording.switch(0)
            recordings = {"wall": wall, "cpu": cpu, "again": cpu}
            rounds = tools.more(store, name, seconds, 10,
                                lambda i: one_round(target, recordings, i))
        target.depth(0)
    return rounds


def rows(threads, rounds):
    """The row says that no difference is seen if the interval contains 1, or if the ratio is as
    near to 1 as the ratio of two windows of the same recording."""
    name = "busy program" + (", %d idle threads" % threads if threads else "")
    middle, low, high = tools.ratio(rounds, speed, "wall", "cpu")
    same, same_low, same_high = tools.ratio(rounds, speed, "again", "cpu")
    seen = not low <= 1 <= high and abs(1 - middle) > max(1 - same_low, same_high - 1)
    yield lib.Row(name + ": speed, --wall", middle, "x without --wall",
                  1.0 if seen else None, True,
                  "%.4f..%.4f, A/A %.4f (%.4f..%.4f), %d rounds; %s" % (
                      low, high, same, same_low, same_high, len(rounds),
                      "a difference" if seen else "no difference seen"))
    middle, low, high = tools.ratio(rounds, speed, "wall", "off")
    yield lib.Row(name + ": speed, --wall", middle, "x alone", note="%.4f..%.4f" % (low, high))


def run(options):
    store = tools.Store(options.store)
    for threads in THREADS:
        rounds = measure(lib.newest_interpreter(), threads, store, options.seconds / len(THREADS))
        yield from rows(threads, rounds)
