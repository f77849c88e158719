# SPDX-License-Identifier: BSD-2-Clause
"""Runs one thread after the other. Each is made so that it has one known state of the GIL.

Prints for each thread its name, its state, the times at which the state began and ended, and two
times at which the thread didn't exist yet and no longer existed.
"""
import hashlib
import queue
import sys
import threading
import time

times = {}
gate = queue.SimpleQueue()
TURNS = 6


def timed(work, name, state):
    def body():
        start = time.time()
        work()
        times[name] = [threading.get_native_id(), state, start, time.time()]
    return threading.Thread(target=body, name=name)


def held():
    end = time.time() + 0.5
    n = 0
    while time.time() < end:
        for i in range(2000):
            n += i & 3


def released():
    """Runs a loop of OpenSSL, which releases the GIL."""
    end = time.time() + 0.5
    while time.time() < end:
        hashlib.pbkdf2_hmac("sha256", b"", b"", 100000)


def keeper():
    """Makes calls that don't check whether other threads want the GIL."""
    for _ in range(TURNS):
        gate.put(None)
        sum(range(9000000 // TURNS))


def waiter():
    """Waits for the GIL that the keeper has, again and again. The timer slack is 1 us, not the
    usual 50 us, so that it wakes up in time."""
    for _ in range(TURNS):
        gate.get()


def phase(*threads):
    before = time.time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for thread in threads:
        times[thread.name] += [before, time.time()]
    time.sleep(0.15)


with open("/proc/self/timerslack_ns", "w") as slack:
    slack.write("1")
phase(timed(held, "one", "held"))
phase(timed(released, "two", "released"))
sys.setswitchinterval(1e-6)
phase(timed(waiter, "four", "waiting"), timed(keeper, "three", "held"))
for name, told in times.items():
    print(name, *told, sep="\t")
