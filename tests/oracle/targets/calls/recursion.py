# SPDX-License-Identifier: BSD-2-Clause
# recursion: a thousand calls
# leaf: spin > 20%, round_ < 5%
"""Recursion 10, 100 and 1,000 deep, plain, mutual and through a generator."""
import sys

import rig

sys.setrecursionlimit(5000)


def down_10(n):
    if n:
        return down_10(n - 1)
    return rig.spin(3000)


def down_100(n):
    if not n:
        return rig.spin(3000)
    else:
        return (
            1 +
            down_100(
                n - 1))


def down_1000(n):
    if n:
        down_1000(n - 1)
        return n
    return rig.spin(6000)


def even(n):
    if n == 0:
        return rig.spin(2000)
    return odd(n - 1)


def odd(n):
    return even(n -
                1)


def tree(n):
    yield n
    if n:
        for value in tree(n - 1):
            yield value


def fib(n):
    if n < 2:
        return n
    return (fib(n - 1)
            + fib(n - 2))


def round_():
    for _ in range(20):
        down_10(10)
    for _ in range(10):
        down_100(100)
    for _ in range(5):
        down_1000(970)
    even(40)
    even(40)
    for _ in range(3):
        sum(tree(40))
    fib(12)


if __name__ == "__main__":
    rig.run(round_)
