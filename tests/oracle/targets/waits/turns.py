# SPDX-License-Identifier: BSD-2-Clause
# contract: threading.py waits in functions that differ from time to time
"""One thread waits in each kind in turn. So a sample with the stack or state of the wait before is
wrong."""
import random

import clocks
import kinds
import rig

chance = random.Random(1)


def seconds(kind):
    """Draws how long a wait of this kind lasts, 0.25 to 8 ms. Some kinds are always longer than
    others."""
    return 0.00025 * 2 ** chance.uniform(0, 2) * (1 if every.index(kind) % 2 else 8)


def turn(log, kind):
    kind.wait(log, seconds(kind))


def round_(log):
    for kind in every:
        turn(log, kind)


def again(log):
    """Waits in every third kind once more, from another line, so that stacks have different
    shares."""
    for kind in every[::3]:
        turn(log,
             kind)


def rounds(log):
    round_(log)
    again(log)
    if not clocks.started and not rig.tracing:
        rig.ready()


every = [kinds.Signal()] + [kind() for kind in kinds.OF_THREADS]
clocks.repeat(clocks.Log(), rounds)
if not rig.tracing:
    clocks.save()
