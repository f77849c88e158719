# SPDX-License-Identifier: BSD-2-Clause
# contract: frames of the standard library don't count: threading.py waits in various functions
"""One thread waits in each kind of wait in turn. So a sample with the stack or the state of the
previous wait is wrong."""
import random

import clocks
import kinds
import rig

chance = random.Random(1)


def seconds(kind):
    """Returns a random length for a wait of this kind, 0.25 to 8 ms. Every second kind has longer
    waits."""
    return 0.00025 * 2 ** chance.uniform(0, 2) * (1 if every.index(kind) % 2 else 8)


def turn(log, kind):
    kind.wait(log, seconds(kind))


def round_(log):
    for kind in every:
        turn(log, kind)


def again(log):
    """Waits once more in every third kind, on another line, so that stacks get different shares."""
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
