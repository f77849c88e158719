# SPDX-License-Identifier: BSD-2-Clause
# recursion: a thousand calls
"""Stacks deeper than 1,024 frames: they are cut off at the root with a mark, and the innermost
frames are right."""
import sys

import rig

sys.setrecursionlimit(20000)


def first(n):
    if n:
        return second(n - 1)
    return rig.spin(20000)


def second(n):
    return third(
        n)


def third(n):
    return first(n)


def bottom(n):
    return rig.spin(4000) if n == 0 else bottom(n - 1)


def round_():
    first(700)
    bottom(1500)
    bottom(1100)


if __name__ == "__main__":
    rig.run(round_)
