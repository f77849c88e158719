# SPDX-License-Identifier: BSD-2-Clause
"""Decorators, lambdas, properties, operators, inheritance: which name has each frame?"""
import functools

import rig


def plain(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper


def with_args(n):
    def decorate(function):
        def counted(*args):
            rig.spin(n)
            return function(
                *args)
        return counted
    return decorate


class Callable(object):
    def __init__(self, function):
        self.function = function

    def __call__(self, *args):
        return self.function(*args)


@plain
def one(n):
    return rig.spin(n)


@plain
@with_args(
    5)
@Callable
def two(n):
    return rig.spin(n) + one(n)


class Base(object):
    def method(self, n):
        return self.hook(n) + rig.spin(10)

    def hook(self, n):
        return rig.spin(n)

    @property
    def value(self):
        return rig.spin(10)

    @value.setter
    def value(self, new):
        rig.spin(new)

    @staticmethod
    def static(n):
        return rig.spin(n)

    @classmethod
    def make(cls, n):
        return cls()

    def other_first(this, n):
        return rig.spin(n)

    def __add__(self, other):
        return rig.spin(12)

    def __lt__(self, other):
        return rig.spin(9) < 0

    def __eq__(self, other):
        return rig.spin(8) == 0

    __hash__ = None

    def __getitem__(self, key):
        return rig.spin(7)

    def __getattr__(self, name):
        return rig.spin(6)

    def __len__(self):
        return rig.spin(5) and 3

    def __contains__(self, x):
        return rig.spin(4) < 0

    def __iter__(self):
        return iter([1, 2])

    def __enter__(self):
        rig.spin(11)
        return self

    def __exit__(self, *args):
        rig.spin(13)

    def __repr__(self):
        return str(rig.spin(5))


class Derived(Base):
    def hook(self, n):
        return super(Derived, self).hook(n) + Base.hook(self, n)

    class Inner(Base):
        def hook(self, n):
            def self_less(self):
                return rig.spin(self)
            return self_less(n)

    def make_function(self, n):
        def uses_self():
            return self.hook(n)
        return uses_self()


def rebound(self, n):
    """A function with a self that belongs to no class."""
    return rig.spin(n)


def operators(a, b):
    a + b
    a < b
    a == b
    a[1]
    a.missing
    len(a)
    3 in a
    with a as c:
        rig.spin(10)
    a.value
    a.value = 5
    return "%r" % (a,)


L1, L2 = (lambda n: rig.spin(n)), (lambda n: rig.spin(n) + 1)
TABLE = {
    "x": lambda n: rig.spin(n),
    "y": lambda n: (
        rig.spin(n)
        + rig.spin(1)),
}


def lambdas(n):
    L1(n)
    L2(n)
    for name in sorted(TABLE):
        TABLE[name](n)
    f = lambda: (lambda: rig.spin(n))()
    return f()


def round_():
    for _ in range(40):
        one(10)
        two(10)
        for thing in (Base(), Derived(), Derived.Inner()):
            thing.method(5)
            rebound(thing, 5)
        Derived().make_function(7)
        Derived.make(1).static(8)
        Base.static(9)
        Base().other_first(9)
        operators(Base(), Derived())
        lambdas(10)


if __name__ == "__main__":
    rig.run(round_)
