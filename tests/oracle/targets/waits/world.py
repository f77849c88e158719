# SPDX-License-Identifier: BSD-2-Clause
# contract: threading.py waits in functions that differ from time to time
# needs: free threading
"""Each collection stops the world. The threads that compute wait for nothing else."""
import gc
import time

import clocks
import rig

ITEMS = 20000
HEAP = 2000 if rig.tracing else 200000


def counts_down(n):
    total = 0
    while n:
        n -= 1
        total ^= n
    return total


def adds_up(n):
    total = 0
    for i in range(n):
        total += i & 3
    return total


def computes(function):
    """Returns the function that a thread runs."""
    def waits():  # waits in: stop-the-world
        def round_(log):
            log.begin()
            function(ITEMS)
            log.end()
        clocks.repeat(clocks.Log(), round_)
    return waits


def collects(log):  # waits in: lock
    """Waits until all others have stopped. That is a lock for krait."""
    log.begin()
    gc.collect()
    log.end()


def round_(log):
    collects(log)
    log.begin()
    time.sleep(0.02)  # waits: sleep
    log.end()


heap = [[i] for i in range(HEAP)]
clocks.beside(round_, computes(counts_down), computes(adds_up))
if not rig.tracing:
    clocks.save()
