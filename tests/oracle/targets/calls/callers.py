# SPDX-License-Identifier: BSD-2-Clause
# needs: 3.6
# incomplete: 0.3% 3.11-3.11 a frame is current before its caller is noted in it
"""One small function is called from frames of different sizes and kinds in turn. So its frame is at
an address where an earlier frame had another caller. CPython 3.11 and 3.12 make a frame the current
one before they store its caller in it, because compilers put these steps in that order. Until then
the frame still has the earlier frame's caller (docs/decisions/0015).

A frame of wide_N() is as long as the frames of outer() and through() together if its N variables
make up for what a frame costs (8 to 13 words, by version). Then the frames of small() that both
call are at one address. Generators are called from C and from each other at equal depths of both
stacks, C's and Python's."""
import collections
import functools

import rig


def small(n):
    return n


def through(n):
    return small(n)


def outer(n):
    return through(n)


def wide_source(extra):
    names = ["v%d" % i for i in range(extra)]
    return "def wide_%d(n):\n    %s = n\n    return small(n)\n" % (extra, " = ".join(names))


def make_wide():
    scope = {"small": small}
    for extra in range(6, 20):
        exec(compile(wide_source(extra), "wide_%d.py" % extra, "exec"), scope)
    return [scope["wide_%d" % extra] for extra in range(6, 20)]


WIDE = make_wide()
for number in range(6, 20):
    rig.own("wide_%d.py" % number)


def sizes():
    for wide in WIDE:
        for n in range(8):
            wide(n)
            outer(n)


def inner(n):
    for i in range(n):
        small(i)
        yield i


def by_next(n):
    source = inner(n)
    for i in range(n):
        small(i)
        next(source)
        yield i


def by_loop(n):
    for i in inner(n):
        small(i)
        yield i


def by_from(n):
    small(n)
    yield from inner(n)
    small(n)


def generators():
    for make in by_next, by_loop, by_from, inner:
        list(make(9))
        for _ in make(9):
            small(1)
        sum(make(9))


def from_c(source):
    """Generators and functions entered from C code at the same depth, one after the other."""
    list(map(small, range(4)))
    list(source(4))
    list(filter(small, range(4)))
    sum(source(4))
    sorted(range(4), key=small)
    any(source(1))
    max(range(4), key=small)
    max(source(4))
    functools.reduce(small_of_two, range(4))
    collections.deque(source(4), 0)
    functools.partial(small, 1)()
    tuple(map(source(4).send, [None] * 4))
    list(map(small, source(4)))
    list(zip(map(small, range(3)), source(3)))


def small_of_two(a, b):
    return small(a)


def all_of_it():
    sizes()
    generators()
    from_c(inner)
    from_c(by_next)


def from_a_loop(_):
    all_of_it()


def round_():
    """Makes all calls of this program directly, and also below a second evaluation loop, which C
    code enters."""
    for _ in range(3):
        all_of_it()
        list(map(from_a_loop, (1, 2)))


if __name__ == "__main__":
    rig.run(round_)
