# SPDX-License-Identifier: BSD-2-Clause
# needs: 3.6
# contract: threading.py waits in functions that differ from time to time
"""Two workers of a pool that have no work, which is idle, and a consumer that waits for a queue,
which isn't; the main thread sleeps."""
import concurrent.futures
import threading
import time

import clocks
import kinds
import rig

WORKERS = 2
both = threading.Barrier(WORKERS)


def work():
    """The only task of a worker, which has no other work afterwards."""
    both.wait()
    log = clocks.Log()
    clocks.started.append(log)
    log.rests("lock|idle")


def consumes():
    made = kinds.Queue()
    clocks.repeat(clocks.Log(), lambda log: made.wait(log, 0.005))


def main():
    pool = concurrent.futures.ThreadPoolExecutor(WORKERS)
    for _ in range(WORKERS):
        pool.submit(work)
    consumer, = clocks.threads(consumes)
    while len(clocks.started) < WORKERS + 1:
        time.sleep(0.01)
    time.sleep(0.1)
    if not rig.tracing:
        rig.ready()
    sleep = kinds.Sleep()
    clocks.repeat(clocks.Log(), lambda log: sleep.wait(log, 0.005))
    consumer.join()
    if not rig.tracing:
        clocks.save()
    pool.shutdown()


main()
