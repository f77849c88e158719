# SPDX-License-Identifier: BSD-2-Clause
# part of: faults/driver_faults.py, not of the oracle
# contract: threading.py waits in functions that differ from time to time
"""Threads that stand still, each in a stack of its own, until the program ends. So no profiler can
read a stack that is half old and half new, whether it stops the program or not.
"""
import threading
import time

import rig

there, never = [], threading.Lock()
never.acquire()


def wait():
    there.append(1)
    if rig.tracing:
        return never.acquire(False)
    return never.acquire()


def recursion(n):
    if n:
        return recursion(
            n - 1
        )
    return wait()


def generator(n):
    for i in range(n):
        yield wait() if i else i


def consumer():
    return sum(
        len(str(i))
        for i in generator(3)
    )


class Worker(object):
    def method(self, n):
        return [
            self.inner(i)
            for i in range(n)
        ]

    def inner(self, i):
        return i or sorted([2, 1], key=lambda x: wait() and 0)


def lines(a, b):
    return wait() if a > b else lines(
        b,
        (
            a
        ))


KINDS = [lambda: recursion(5), lambda: recursion(60), consumer, lambda: Worker().method(2),
         lambda: lines(1, 2)]


def round_():
    del there[:]
    threads = [threading.Thread(target=kind) for kind in KINDS]
    for thread in threads:
        thread.daemon = True
        thread.start()
    while len(there) < len(threads):
        time.sleep(0.01)
    time.sleep(0.5)
    if not rig.tracing:
        rig.ready()
    recursion(7)
    for thread in threads:
        thread.join()


rig.run(round_)
