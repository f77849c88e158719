# SPDX-License-Identifier: BSD-2-Clause
# contract: threading.py waits in functions that differ from time to time
"""Eight threads in eight kinds of wait, which are never over, and the main thread in a ninth."""
import time

import clocks
import kinds
import rig

KINDS = (kinds.Sleep, kinds.Lock, kinds.Queue, kinds.Epoll, kinds.Recv, kinds.Accept, kinds.Pipe,
         kinds.Flock)


def waiter(kind):
    """Returns the function that a thread runs."""
    def waits():
        made, log = kind(), clocks.Log()
        clocks.started.append(log)
        made.wait(log, 0.01 if rig.tracing else kinds.EVER)
    return waits


class LastLog(clocks.Log):
    """Saves all logs when its wait is about to begin."""

    def begin(self, depth=1, seconds=0):
        clocks.Log.begin(self, depth + 1, seconds)
        if not rig.tracing:
            clocks.save()
            rig.ready()


def main():
    signals = kinds.Signal()
    kinds.Peer()
    threads = clocks.threads(*[waiter(kind) for kind in KINDS])
    while len(clocks.started) < len(threads):
        time.sleep(0.01)
    time.sleep(0.3)
    signals.wait(LastLog(), 0.01 if rig.tracing else kinds.EVER)


main()
