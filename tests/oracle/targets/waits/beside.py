# SPDX-License-Identifier: BSD-2-Clause
# contract: frames of the standard library don't count: threading.py waits in various functions
"""Each kind of wait has its thread, and all threads wait at once. The main thread waits for a
signal."""
import random
import time

import clocks
import kinds
import rig


def seconds(chance):
    """Returns a random length for a wait: 0.2 to 6.4 ms, shorter ones more often."""
    return 0.0002 * 2 ** chance.uniform(0, 5)


def waiter(kind):
    """Returns the function for a thread that waits in this way."""
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
