# SPDX-License-Identifier: BSD-2-Clause
# needs: module greenlet
# no python: a greenlet has no frame while it is made and when it is done
# incomplete: 0.5% 3.11-3.12 its C stack, on which loops begin, is copied while it switches
"""Greenlets that switch from deep inside: a stack must be that of one greenlet."""
import greenlet

import rig


def ping(n):
    for _ in range(n):
        ping_deep(6)


def ping_deep(n):
    if n:
        return ping_deep(n - 1)
    rig.spin(60)
    PONG[0].switch(20)
    return rig.spin(60)


def pong(n):
    while True:
        pong_deep(9)


def pong_deep(n):
    if n == 0:
        rig.spin(80)
        return PING[0].switch()
    return pong_deep(
        n - 1)


def via_c(n):
    for _ in range(n):
        sorted([1], key=switching_key)


def switching_key(x):
    rig.spin(50)
    MAIN[0].switch()
    return rig.spin(50)


PING, PONG, MAIN = [None], [None], [None]


def round_():
    MAIN[0] = greenlet.getcurrent()
    PING[0] = greenlet.greenlet(ping)
    PONG[0] = greenlet.greenlet(pong)
    PING[0].switch(30)
    other = greenlet.greenlet(via_c)
    other.switch(20)
    while not other.dead:
        rig.spin(70)
        other.switch()


if __name__ == "__main__":
    rig.run(round_)
