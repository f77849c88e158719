# SPDX-License-Identifier: BSD-2-Clause
"""wait_shares_target.py PROGRAM SECONDS [NUMBER]: threads that wait in functions of their own, and
measure how long; see wait_shares.py. Prints [[name, thread id, function, nanoseconds], ...] as
JSON.

A thread reads its clocks before and after a function: the time, its CPU time, and how long it was
ready without a CPU. What is left is what it waited in the function, waits for the GIL included.
The clocks are read by calls that keep the GIL.
"""
import ctypes
import json
import os
import random
import sys
import threading
import time

PR_SET_TIMERSLACK = 29
SECONDS = float(sys.argv[2])
# the lengths of waits in the program "lengths"
LENGTHS = (20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 50e-3, 0.2, 1)
TURN = 0.003  # one turn of a(), b() and c() waits at least so many seconds in all
# if reading all clocks took longer than this, the values don't belong together, and are read again
TORN_NS = 100000
told, libc = [], ctypes.PyDLL(None)


def a(account, n, length):
    for _ in range(n):
        time.sleep(length)
    account.end("a")


def b(account, n, length):
    for _ in range(n):
        time.sleep(length)
    account.end("b")


def c(account, n, length):
    for _ in range(n):
        time.sleep(length)
    account.end("c")


class Account(object):
    """Measures how long the current thread waited in each function."""

    def __init__(self, name):
        libc.prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(1))
        self.file = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        self.buffer = ctypes.create_string_buffer(96)
        self.sums, self.name, self.before = {}, name, 0

    def now(self):
        """Returns a clock of the current thread that advances only while the thread waits: it
        stands still while the thread runs or is ready to run."""
        while True:
            begin = time.monotonic_ns()
            size = libc.pread(self.file, self.buffer, 96, ctypes.c_long(0))
            ready, cpu, end = self.buffer.raw[:size].split()[1], time.thread_time_ns(), time.monotonic_ns()
            if end - begin < TORN_NS:
                return end - cpu - int(ready)

    def call(self, function, n, length):
        self.before = self.now()
        function(self, n, length)

    def end(self, name):
        """Ends the measured wait. a(), b() and c() call this themselves before they return, since
        the thread may wait for the GIL on its way to the caller."""
        self.sums[name] = self.sums.get(name, 0) + self.now() - self.before

    def close(self):
        os.close(self.file)
        told.extend([self.name, threading.get_native_id(), name, ns] for name, ns in self.sums.items())


def turns(name, *calls):
    """Returns a thread's function: it makes these calls, (function, n, length), in turn."""
    def run():
        account, end = Account(name), time.monotonic() + SECONDS
        while time.monotonic() < end:
            for call in calls:
                account.call(*call)
        account.close()
    return run


def of_length(length):
    """Returns a thread's function: c() waits three times as long as a(), b() twice as long."""
    n = max(1, int(TURN / 6 / length))
    return turns("%g" % length, (a, n, length), (b, 2 * n, length), (c, 3 * n, length))


def lengths():
    """Returns the functions of threads, one for each length of waits."""
    return [of_length(length) for length in LENGTHS]


def length():
    """Returns two threads' functions. All waits have the length NUMBER, in microseconds."""
    return [of_length(int(sys.argv[3]) / 1e6) for _ in range(2)]


def drawn(name, share, short, long):
    """Returns a thread's function: most waits are short, and any one may be long."""
    def run():
        account, end = Account(name), time.monotonic() + SECONDS
        chance = random.Random(name)
        while time.monotonic() < end:
            if chance.random() < share:
                account.call(b, 1, long)
            else:
                account.call(a, 1, short)
        account.close()
    return run


def mixed():
    """Yields threads' functions, each with another mixture of short and long waits in one call."""
    yield turns("1:10", (a, 1, 50e-6), (b, 1, 500e-6))
    yield turns("1:100", (a, 1, 50e-6), (b, 1, 5e-3))
    yield turns("20 of 1:10", (a, 20, 50e-6), (b, 2, 500e-6))
    yield turns("100 of 1:50", (a, 100, 50e-6), (b, 1, 2500e-6))
    yield drawn("drawn 1:20", 0.1, 50e-6, 1e-3)
    yield drawn("drawn 1:3", 0.5, 100e-6, 300e-6)


def in_step():
    """Yields the functions of NUMBER threads, with waits of 0.5 ms in a() and in b() in turn."""
    for i in range(int(sys.argv[3])):
        yield turns("%d" % i, (a, 1, 500e-6), (b, 1, 500e-6))


def short_lived(i):
    """Returns the function of a thread that waits once, and ends."""
    def run():
        account = Account("all")
        account.call(b if i % 3 == 0 else a, 1, 3e-3)
        account.close()
    return run


def main():
    time.sleep(0.1)  # krait examines the process during this sleep
    if sys.argv[1] == "many":
        works, alive = (short_lived(i) for i in range(int(sys.argv[3]))), 40
    else:
        works, alive = list(globals()[sys.argv[1]]()), 1000
    threads = []
    for work in works:
        if len(threads) >= alive:
            threads.pop(0).join()
        threads.append(threading.Thread(target=work))
        threads[-1].start()
    for thread in threads:
        thread.join()
    print(json.dumps(told))


main()
