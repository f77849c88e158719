# SPDX-License-Identifier: BSD-2-Clause
# contract: frames of the standard library don't count: threading.py waits in various functions
"""Eight threads in eight kinds of wait that never end, and the main thread in a ninth kind."""
import time

import clocks
import kinds
import rig

KINDS = (kinds.Sleep, kinds.Lock, kinds.Queue, kinds.Epoll, kinds.Recv, kinds.Accept, kinds.Pipe,
         kinds.Flock)


def waiter(kind):
    """Returns the function for a thread that waits in this way."""
    def waits():
        made, log = kind(), clocks.Log()
        clocks.started.append(log)
        made.wait(log, 0.01 if rig.tracing else kinds.EVER)
    return waits


class LastLog(clocks.Log):
    """A log that saves all threads' logs just before its thread's wait begins."""

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
