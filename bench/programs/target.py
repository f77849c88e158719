# SPDX-License-Identifier: BSD-2-Clause
"""target.py THREADS PROGRESS [LIBRARY]: the profiled program of several measurements, for CPython
2.7 to 3.15. For each line DEPTH on stdin it prints "FRAMES SPEED" and spins at the end of a
chain of DEPTH different functions until the next line. If DEPTH is 0, it sleeps. FRAMES: the
depth of its stack. SPEED: how many rounds a second it made while it last spun. It ends when
stdin ends. THREADS: how many other threads of it wait for ever. PROGRESS: descriptor of a file
into which it writes the number of rounds so far, and the time."""

import os
import ctypes
import mmap
import select
import shutil
import struct
import sys
import tempfile
import threading
import time

FUNCTIONS = 200
clock = getattr(time, "perf_counter", time.time)
speed = [0.0]  # how many rounds a second leaf() made when it last ran
progress = mmap.mmap(int(sys.argv[2]), mmap.PAGESIZE)
# The source of a function of ordinary length. The length matters, because krait checks a function's
# line table, which takes longer the longer the function is.
SOURCE = """
def step_%(i)d(n, leaf, values=None, limit=%(i)d):
    total = limit
    if values:
        for value in values:
            total += value
            if total > limit:
                break
    if n <= 1:
        return leaf(
            total)
    return step_%(next)d(
        n - 1,
        leaf)
"""


def make_module(directory):
    path = os.path.join(directory, "chain_of_steps.py")
    with open(path, "w") as f:
        for i in range(FUNCTIONS):
            f.write(SOURCE % {"i": i, "next": (i + 1) % FUNCTIONS})
    sys.path.insert(0, directory)
    import chain_of_steps

    return chain_of_steps.step_0


def frames():
    frame, n = sys._getframe(1), 0
    while frame:
        frame, n = frame.f_back, n + 1
    return n


def say(n):
    sys.stdout.write("%d %f\n" % (n, speed[0]))
    sys.stdout.flush()


def leaf(unused):
    say(frames())
    rounds, begin = 0, clock()
    while not select.select([sys.stdin], [], [], 0)[0]:
        i = 0
        while i < 20000:
            i += 1
        rounds += 1
        struct.pack_into("dd", progress, 0, rounds, clock())
    speed[0] = rounds / (clock() - begin)


def native_leaf(library):
    """Returns a Python function that calls a native stack of the given depth. That stack replaces
    the chain of Python functions."""
    deep = ctypes.CDLL(library).deep
    deep.restype = ctypes.c_long

    def call(depth):
        say(depth)
        begin = clock()
        rounds = deep(depth)
        speed[0] = rounds / (clock() - begin)

    return call


def idle_threads(n):
    lock = threading.Lock()
    lock.acquire()
    if n > 200:
        threading.stack_size(256 * 1024)
    for _ in range(n):
        thread = threading.Thread(target=lock.acquire)
        thread.daemon = True
        thread.start()


def main():
    idle_threads(int(sys.argv[1]))
    directory = tempfile.mkdtemp()
    first = make_module(directory)
    shutil.rmtree(directory)
    for _ in range(200):
        # Makes the functions hot, so that the interpreter specializes them as it does in real
        # programs.
        first(FUNCTIONS, lambda unused: None)
    native = native_leaf(sys.argv[3]) if len(sys.argv) > 3 else None
    say(0)
    while True:
        line = sys.stdin.readline()
        if not line:
            return
        depth = int(line)
        if depth and native:
            native(depth)
        elif depth:
            first(depth, leaf)
        else:
            say(0)


main()
