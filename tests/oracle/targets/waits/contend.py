# SPDX-License-Identifier: BSD-2-Clause
# contract: threading.py waits in functions that differ from time to time
# needs: a GIL
"""Three threads that run Python code: what they wait for is the GIL alone."""
import time

import clocks
import rig

ITEMS = 60000


def spins_1(n):  # waits in: gil
    total = 0
    for i in range(n):
        total += i & 3
    return total


def spins_2(n):  # waits in: gil
    total = 0
    while n:
        n -= 1
        total ^= n
    return total


def spins_3(n):  # waits in: gil
    return [
        i * 3
        for i in range(n)
    ]


def spinner(spins):
    """Returns the function that a thread runs."""
    def waits():  # waits in: gil
        log = clocks.Log()

        def round_(log):
            log.begin()
            spins(ITEMS)
            log.end()
        clocks.repeat(log, round_)
    return waits


def main():
    log = clocks.Log()
    threads = clocks.threads(*[spinner(spins) for spins in (spins_1, spins_2, spins_3)])
    while not clocks.over(len(clocks.started) // len(threads) * 2):
        log.begin()
        time.sleep(0.05)  # waits: sleep|gil
        log.end()
        if len(clocks.started) == len(threads) and not rig.tracing:
            clocks.started.append(log)
            rig.ready()
    log.close()
    for thread in threads:
        thread.join()


main()
if not rig.tracing:
    clocks.save()
