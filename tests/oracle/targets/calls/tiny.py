# SPDX-License-Identifier: BSD-2-Clause
"""Calls so short that most samples fall on frames being built or cleared."""
import rig


def nothing_a():
    pass


def nothing_b():
    pass


def one(x):
    return x


def add(x, y):
    return x + y


def keyword(x, y=2, *args, **kw):
    return x


def outer_a():
    nothing_a()


def outer_b():
    nothing_b()


def closure():
    cell = [0]

    def inner(x):
        cell[0] = x
    return inner


def loop_a(n):
    for _ in range(n):
        nothing_a()
        outer_a()
        nothing_a()


def loop_b(n):
    for i in range(n):
        nothing_b()
        outer_b()
        add(one(i),
            one(
                i))


def loop_c(n):
    inner = closure()
    for i in range(n):
        inner(i)
        keyword(i, 3, 4, 5, z=one(i))
        keyword(y=1, x=2)


def round_():
    loop_a(2000)
    loop_b(1500)
    loop_c(1000)


if __name__ == "__main__":
    rig.run(round_)
