# SPDX-License-Identifier: BSD-2-Clause
# part of: subinterpreters.py
"""What runs inside the sub-interpreters."""


def first(n):
    total = 0
    for i in range(n):
        total += i
    return total


def second(n):
    return (first(n) +
            first(n))


def work(i):
    for _ in range(20):
        (first, second)[i](3000)
