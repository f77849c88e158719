# SPDX-License-Identifier: BSD-2-Clause
# recursion: a thousand calls
"""Stacks deeper than 1,024 frames: cut at the root end with a mark, innermost frames right."""
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
