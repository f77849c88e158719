# SPDX-License-Identifier: BSD-2-Clause
# contract: threading.py waits in functions that differ from time to time
"""A thread for each kind of wait, all at once; the main thread waits for a signal."""
import random
import time

import clocks
import kinds
import rig


def seconds(chance):
    """Draws how long a wait lasts: 0.2 to 6.4 ms, short times more often."""
    return 0.0002 * 2 ** chance.uniform(0, 5)


def waiter(kind):
    """Returns the function that a thread runs."""
    def waits():
        made, chance = kind(), random.Random(kind.__name__)

        def round_(log):
            made.wait(log, seconds(chance))
        clocks.repeat(clocks.Log(), round_)
    return waits


def main():
    signals, chance = kinds.Signal(), random.Random(0)
    kinds.Peer()
    threads = clocks.threads(*[waiter(kind) for kind in kinds.OF_THREADS])
    while len(clocks.started) < len(threads):
        time.sleep(0.01)
    if not rig.tracing:
        rig.ready()
    clocks.repeat(clocks.Log(), lambda log: signals.wait(log, seconds(chance)))
    for thread in threads:
        thread.join()


main()
if not rig.tracing:
    clocks.save()
