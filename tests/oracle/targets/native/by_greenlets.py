# SPDX-License-Identifier: BSD-2-Clause
# library: hop.c
# needs: module greenlet
# incomplete: 10% while they switch, which they do most of the time, the C stack is two greenlets'
# no python: a greenlet has no frame while it is made and when it is done
"""Greenlets that switch from inside C calls: a stack must be that of one greenlet."""
import greenlet

import by_ctypes
import stacks

DEPTH = 3


def py_ping(n):
    while True:
        py_ping_deep(6)


def py_ping_deep(n):
    if n:
        return py_ping_deep(n - 1)
    by_ctypes.py_hop_0(DEPTH)
    return MAIN[0].switch()


def py_pong(n):
    while True:
        sorted([1], key=py_pong_key)


def py_pong_key(x):
    by_ctypes.py_hop_0(DEPTH)
    MAIN[0].switch()
    return by_ctypes.py_hop_0(DEPTH)


MAIN, OTHERS = [None], []


def round_():
    if not OTHERS:
        MAIN[0] = greenlet.getcurrent()
        OTHERS.extend([greenlet.greenlet(py_ping), greenlet.greenlet(py_pong)])
    for _ in range(20):
        for other in OTHERS:
            other.switch(1)
        by_ctypes.py_hop_0(DEPTH)


def describe(made):
    made.copies = "slp_(switch|save_state|restore_state)"
    by_ctypes.chain(made, made.main(), DEPTH)
    ping = deep = made.python(stacks.START, "py_ping", stacks.ANY)
    for _ in range(7):
        deep = made.python(deep, "py_ping_deep")
    by_ctypes.chain(made, deep, DEPTH)
    pong = made.python(made.python(stacks.START, "py_pong", stacks.ANY), "py_pong_key", "sort")
    by_ctypes.chain(made, pong, DEPTH)


if __name__ == "__main__":
    stacks.main(round_, describe)
