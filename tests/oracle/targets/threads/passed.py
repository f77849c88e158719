# SPDX-License-Identifier: BSD-2-Clause
# needs: 3.14
# contract: threading.py waits in functions that differ from time to time
# no python: threads that begin and end
"""Generators pass from thread to thread. In free-threaded builds since 3.14 each thread has its own
copy of their bytecode, to which a generator's frame moves when it is resumed."""
import threading

import rig

THREADS = 4
TURNS = 6


def below(n):
    return rig.spin(n)


def inner(n):
    for _ in range(3):
        yield below(n)


def passed(n):
    while True:
        total = below(n)
        yield total
        total += below(
            n)
        yield total
        total += sum(inner(n))
        yield total


def take(generators, first, barrier):
    for turn in range(TURNS):
        next(generators[(first + turn) % THREADS])
        barrier.wait()


def round_():
    generators = [passed(6000) for _ in range(THREADS)]
    barrier = threading.Barrier(THREADS)
    threads = [threading.Thread(target=take, args=(generators, i, barrier))
               for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    rig.run(round_)
