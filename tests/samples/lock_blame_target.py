# SPDX-License-Identifier: BSD-2-Clause
"""lock_blame_target.py LIBRARY FILE SECONDS: threads that wait for locks, and threads that end
these waits. Each function that waits notes how long it did, and which function ended it. That goes
to FILE; see lock_blame.py. Runs on Python 2.7 and 3.x.
"""
import collections
import ctypes
import json
import multiprocessing
import os
import sys
import threading
import time

try:
    import queue
    from concurrent import futures
except ImportError:
    import Queue as queue
    futures = None

OWN = ctypes.CDLL(sys.argv[1]).krait_own
OWN.argtypes, OWN.restype = [ctypes.c_long], None
SECONDS = float(sys.argv[3])
clock = getattr(time, "monotonic", time.time)  # these keep the GIL
GAP = 0.004  # the seconds from one use of a lock to the next, in which other threads get the lock
WAITED = collections.defaultdict(float)  # {(function that waits, function that ends it): seconds}
FIRST, SECOND = threading.Lock(), threading.Lock()
CONDITION, ITEMS = threading.Condition(), queue.Queue()
SHARED = multiprocessing.Lock()
OVER, LISTENED = threading.Event(), threading.Event()


MINE = threading.local()


def without_cpu():
    """Returns how long this thread was ready to run and had no CPU, as the kernel counts it."""
    if not hasattr(MINE, "file"):
        MINE.file = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
    os.lseek(MINE.file, 0, os.SEEK_SET)
    return int(os.read(MINE.file, 100).split()[1]) / 1e9


def lived():
    """Returns the time, minus the time that this thread was ready to run and had no CPU."""
    while True:
        ready, now = without_cpu(), clock()
        if without_cpu() == ready:
            return now - ready


class waiting(object):
    """Notes how long this thread waits in a with block. @of: the function that waits, and the
    function that ends the wait."""

    def __init__(self, *of):
        self.of = of

    def __enter__(self):
        self.since = lived()

    def __exit__(self, *_):
        WAITED[self.of] += lived() - self.since


def block(call, *args):
    """Calls a function that may wait. The test recognizes the measured waits by this function's
    frame."""
    return call(*args)


def reads():
    while not OVER.is_set():
        with FIRST:
            time.sleep(0.06)
        time.sleep(GAP)


def writes():
    while not OVER.is_set():
        with SECOND:
            time.sleep(0.04)
        time.sleep(GAP)


def asks():
    """Waits for two locks in turn, which two threads hold."""
    while not OVER.is_set():
        for lock, holder in ((FIRST, "reads"), (SECOND, "writes")):
            with waiting("asks", holder):
                block(lock.acquire)
            lock.release()
            time.sleep(GAP / 2)


def feeds():
    while not OVER.is_set():
        time.sleep(0.04)
        ITEMS.put(1)
    ITEMS.put(None)


def eats():
    item = 1
    while item:
        with waiting("eats", "feeds"):
            item = block(ITEMS.get)


def signals():
    while not LISTENED.is_set():
        time.sleep(0.035)
        with CONDITION:
            CONDITION.notify()


def listens():
    while not OVER.is_set():
        with CONDITION:
            with waiting("listens", "signals"):
                block(CONDITION.wait)
    LISTENED.set()


def borrows(lock, end):
    """Runs in another process, and takes the lock again and again."""
    while clock() < end:
        with lock:
            time.sleep(0.03)
        time.sleep(GAP)


def shares():
    while not OVER.is_set():
        with waiting("shares", "borrows"):
            block(SHARED.acquire)
        SHARED.release()
        time.sleep(GAP / 2)


def owns():
    while not OVER.is_set():
        OWN(45000000)
        time.sleep(GAP)


def wants():
    while not OVER.is_set():
        with waiting("wants", "owns"):
            block(OWN, 0)
        time.sleep(GAP / 2)


def submits():
    """Gives a pool's worker a task now and then. The worker's waits for tasks aren't waits for a
    lock, so the recording may blame nobody for them."""
    with futures.ThreadPoolExecutor(1) as pool:
        while not OVER.is_set():
            time.sleep(0.02)
            pool.submit(time.sleep, 0.001)


def main():
    time.sleep(0.1)  # krait sees the process when it first waits, and has time to examine it
    end = clock() + 0.4 + SECONDS
    other = multiprocessing.Process(target=borrows, args=(SHARED, end + 0.1))
    other.daemon = True
    other.start()
    functions = [reads, writes, asks, feeds, eats, listens, signals, shares, owns, wants] + [submits] * bool(futures)
    threads = [threading.Thread(target=function, name=function.__name__) for function in functions]
    for thread in threads:
        thread.start()
    time.sleep(max(0, end - clock()))
    OVER.set()
    for thread in threads:
        thread.join()
    other.join()
    with open(sys.argv[2], "w") as f:
        json.dump([list(of) + [int(s * 1e9)] for of, s in sorted(WAITED.items())], f)


if __name__ == "__main__":
    main()
