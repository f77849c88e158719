# SPDX-License-Identifier: BSD-2-Clause
# incomplete: 0.3% 3.11-3.11 a _PyCFrame is published before it says where it was called from
"""Generators: nested, sent to, thrown into, closed, run by C code, abandoned."""
import itertools

import rig


def count(n):
    for i in range(n):
        yield i


def squares(n):
    for i in count(n):
        rig.spin(5)
        yield i * i


def pairs(n):
    for a, b in zip(squares(n),
                    evens(n)):
        yield a + b


def evens(n):
    i = 0
    while i < n:
        yield i
        i += 2


def echo():
    value = None
    while True:
        try:
            value = yield value
        except ValueError:
            value = rig.spin(10)


def cleanup():
    try:
        yield 1
        yield 2
    finally:
        rig.spin(30)


def by_next(n):
    it = squares(n)
    total = 0
    for _ in range(n):
        total += next(it)
    return total


def by_for(n):
    total = 0
    for x in pairs(n):
        total += x
    return total


def by_c(n):
    total = sum(pairs(n))
    total += len(list(itertools.islice(squares(n), n // 2)))
    return total + max(x for x in count(n))


def by_send(n):
    gen = echo()
    next(gen)
    for i in range(n):
        gen.send(i)
        gen.throw(ValueError("x"))
    gen.close()


def abandoned(n):
    for _ in range(n):
        gen = cleanup()
        next(gen)
        gen.close()
        # The generator isn't kept in a local variable, because until 3.12 sys.setprofile() keeps
        # what locals refer to.
        next(cleanup())
        rig.spin(next(cleanup()))




def round_():
    for _ in range(30):
        by_next(40)
        by_for(40)
        by_c(40)
        by_send(20)
        abandoned(10)


if __name__ == "__main__":
    rig.run(round_)
