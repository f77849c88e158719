# SPDX-License-Identifier: BSD-2-Clause
# leaf: a_4 > 5%, spin > 2%, round_ < 10%, rounds < 10%
"""Call chains that can never mix: a_3 is called by a_2 only, and only from one line."""
import hashlib

import rig

DATA = b"x" * 4096


def a_1(n):
    return a_2(n) + 1


def a_2(n):
    total = 0
    for i in range(2):
        total += a_3(
            n,
            i)
    return total


def a_3(n, i):
    return (a_4(n)
            +
            a_4(i))


def a_4(n):
    total = 0
    for i in range(60):
        total += i
        total ^= n
    return total


def b_1(n):
    if n:
        return b_2(n)
    return 0


def b_2(n):
    try:
        return b_3(n) + b_4(n)
    finally:
        n = 0


def b_3(n):
    return len(hashlib.md5(DATA).digest()) + n


def b_4(n):
    return rig.spin(50) + n


def c_1(n): return c_2(n, c_3(n))


def c_2(n, m): return sum(range(n + 400)) + m


def c_3(n): return max(range(n + 300))


def d_1(n):
    value = d_2(n); value += d_3(n); return value


def d_2(n):
    i = 0
    while i < 40:
        i += 1
    return i + n


def d_3(n):
    words = []
    for i in range(30):
        words.append(
            str(i))
    return len(
        ",".join(words)) + n


def round_():
    a_1(3)
    b_1(4)
    c_1(5)
    d_1(6)
    rig.spin(40)
    b_1(4); d_1(6); a_1(3)


def rounds():
    for _ in range(100):
        round_()


if __name__ == "__main__":
    rig.run(rounds)
