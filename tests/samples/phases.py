# SPDX-License-Identifier: BSD-2-Clause
"""Measures the CPU time of its own phases: plain loops, tiny calls, C code, generators, recursion.

phases.py SECONDS: runs for so much CPU time in all and prints {phase: CPU nanoseconds} as JSON.
"""
import ctypes
import json
import sys
import time
import zlib

DATA = bytes(bytearray(i * 7 & 255 for i in range(400)))


class Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


def old_clock():
    """Returns CLOCK_THREAD_CPUTIME_ID on versions before 3.7, which have no time.thread_time_ns().
    """
    now = Timespec()
    libc.clock_gettime(3, ctypes.byref(now))
    return now.seconds * 1000000000 + now.nanoseconds


libc = ctypes.CDLL(None)
clock = getattr(time, "thread_time_ns", old_clock)


def phase_loops(n):
    total = 0
    for _ in range(n * 20):
        for i in range(200):
            total += i & 7
    return total


def nothing():
    pass


def tiny(x):
    return x


def phase_calls(n):
    for _ in range(n * 900):
        nothing()
        tiny(1)
        nothing()
        tiny(2)


def phase_c(n):
    for _ in range(n * 8):
        zlib.compress(DATA, 6)
        sorted(DATA)


def numbers(n):
    for i in range(n):
        yield i


def doubled(n):
    for i in numbers(n):
        yield i * 2


def phase_generators(n):
    total = 0
    for _ in range(n * 4):
        for i in doubled(500):
            total += i
    return total


def deep(n):
    if n:
        return deep(n - 1)
    return 0


def phase_recursion(n):
    for _ in range(n * 12):
        deep(200)


PHASES = (phase_loops, phase_calls, phase_c, phase_generators, phase_recursion)


def main():
    sys.setrecursionlimit(2000)
    spent = dict((phase.__name__, 0) for phase in PHASES)
    end = clock() + int(float(sys.argv[1]) * 1e9)
    now = 0
    while now < end:
        for phase in PHASES:
            before = clock()
            phase(7)
            now = clock()
            spent[phase.__name__] += now - before
    print(json.dumps(spent))


main()
