# SPDX-License-Identifier: BSD-2-Clause
# needs: 3.6
# incomplete: 0.3% 3.11-3.11 a _PyCFrame is published before it says where it was called from
"""Special methods, which C code calls through the slots of types. Each runs in an evaluation loop
of its own. The loops are entered from C frames of different sizes, so that the memory in which a
loop begins still holds what another loop left there."""
import functools

import rig


class Value:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return self.x == other.x

    def __lt__(self, other):
        return self.x < other.x

    def __hash__(self):
        return hash(
            self.x)

    def __len__(self):
        return self.x

    def __getitem__(self, i):
        return self.x + i

    def __getattr__(self, name):
        return name

    def __contains__(self, i):
        return i == self.x

    def __add__(self, other):
        return rig.spin(2) + other.x

    def __bool__(self):
        return self.deep(3)

    def __iter__(self):
        return self.items(3)

    def __call__(self, n):
        return self.deep(
            n)

    def items(self, n):
        for i in range(n):
            yield self.deep(1) + i

    def deep(self, n):
        return self.deep(n - 1) if n else len(self) > 1

    def __enter__(self):
        return hash(self)

    def __exit__(self, *args):
        return len(
            self)


def each(v, w):
    len(v)
    v[3]
    v == w
    v + w
    hash(v)
    v.missing
    3 in v
    not v
    v(2)
    with v:
        pass


def nested(v, w):
    list(v)
    sorted([v, w])
    {v: 1}
    sum(v)
    any(map(v, [1, 2]))
    [len(x) for x in (v, w)]
    functools.reduce(Value.__add__, [v, w])


def round_():
    v, w = Value(1), Value(2)
    for _ in range(50):
        each(v, w)
        nested(v, w)


if __name__ == "__main__":
    rig.run(round_)
