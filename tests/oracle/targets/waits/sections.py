# SPDX-License-Identifier: BSD-2-Clause
# contract: threading.py waits in functions that differ from time to time
# needs: free threading
"""Threads that use the same list. Each method of a list is a critical section. No collection stops
the world."""
import gc
import random
import time

import clocks
import rig

chance = random.Random(3)
mixed = [chance.random() for _ in range(200 if rig.tracing else 60000)]
shared = []


def sort_round(log):  # waits in: critical-section
    log.begin()
    shared[:] = mixed
    shared.sort()
    log.end()


def sorter():
    clocks.repeat(clocks.Log(), sort_and_sleep)


def sort_and_sleep(log):
    """Without the sleep the thread would hardly wait, and its CPU time isn't known that exactly."""
    sort_round(log)
    log.begin()
    time.sleep(0.02)  # waits: sleep
    log.end()


def append_round(log):
    log.begin()
    shared.append(1.0)  # waits: critical-section
    log.end()
    log.begin()
    time.sleep(0.002)  # waits: sleep
    log.end()


def appender():
    clocks.repeat(clocks.Log(), append_round)


gc.disable()
clocks.beside(append_round, sorter, appender)
if not rig.tracing:
    clocks.save()
