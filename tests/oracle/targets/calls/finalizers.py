# SPDX-License-Identifier: BSD-2-Clause
"""__del__ and weak reference callbacks during garbage collection, and signal handlers: they may be
called at any line."""
import gc
import signal
import sys
import weakref

import rig


class Node(object):
    def __init__(self):
        self.other = None

    if sys.version_info > (3, 4):  # before 3.4, cycles with __del__ are never collected
        def __del__(self):
            finalize(10)


class Counted(object):
    def __del__(self):
        return finalize(5)


def finalize(n):
    return rig.spin(n)


def gone(reference):
    rig.spin(8)


def handler(number, frame):
    handled(30)


def handled(n):
    return rig.spin(n)


rig.anywhere(Counted.__del__)
rig.anywhere(gone)
rig.anywhere(handler)
if sys.version_info > (3, 4):
    rig.anywhere(Node.__del__)


def cycles(n):
    references = []
    for _ in range(n):
        a, b = Node(), Node()
        a.other, b.other = b, a
        references.append(weakref.ref(a, gone))
    return references


def allocate(n):
    return [(i, [i]) for i in range(n)]


def counted(n):
    for _ in range(n):
        Counted()
        x = Counted()
        x = None
        y = [Counted(), Counted()]


def round_():
    gc.set_threshold(50, 5, 5)
    for _ in range(5):
        kept = cycles(30)
        allocate(300)
        counted(20)
        gc.collect()
        del kept
    if rig.tracing:
        handler(0, None)


signal.signal(signal.SIGALRM, handler)
if not rig.tracing:
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)


if __name__ == "__main__":
    rig.run(round_)
    signal.setitimer(signal.ITIMER_REAL, 0)
