# SPDX-License-Identifier: BSD-2-Clause
"""Frames that unwind: exceptions through Python, C and generators; tracebacks kept; finally."""
import rig


class Error(Exception):
    def __init__(self, n):
        Exception.__init__(self, n)
        rig.spin(n)


def thrower(n):
    if n:
        thrower(n - 1)
    raise Error(
        10)


def through_c(n):
    return sorted([n],
                  key=thrower)


def generator(n):
    try:
        yield n
        thrower(2)
    finally:
        rig.spin(20)


class Suppress(object):
    def __enter__(self):
        return rig.spin(5)

    def __exit__(self, *error):
        rig.spin(15)
        return True


def plain():
    try:
        thrower(5)
    except Error:
        rig.spin(20)
    finally:
        rig.spin(
            10)


def with_c():
    try:
        through_c(3)
    except Error as error:
        rig.spin(11)
    else:
        rig.spin(12)


def with_generator():
    try:
        for x in generator(1):
            rig.spin(6)
    except Error:
        pass


def suppressed():
    with Suppress():
        thrower(1)
    with Suppress(), Suppress():
        return rig.spin(7)


def looped():
    for i in range(5):
        try:
            if i == 2:
                continue
            if i == 4:
                break
            rig.spin(4)
        finally:
            rig.spin(3)


def round_():
    for _ in range(60):
        plain()
        with_c()
        with_generator()
        suppressed()
        looped()


if __name__ == "__main__":
    rig.run(round_)
