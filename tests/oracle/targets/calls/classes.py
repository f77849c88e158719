# SPDX-License-Identifier: BSD-2-Clause
"""Class bodies that do work, nested classes, metaclasses, classes made in functions."""
import rig


class Meta(type):
    def __new__(mcs, name, bases, namespace):
        rig.spin(20)
        return super(Meta, mcs).__new__(mcs, name, bases, namespace)

    def __init__(cls, name, bases, namespace):
        rig.spin(15)
        super(Meta, cls).__init__(name, bases, namespace)

    def __call__(cls, *args):
        return cls.build(rig.spin(10))

    def build(cls, n):
        return type.__call__(cls)


Root = Meta("Root", (object,), {})


def make(n):
    class Made(Root):
        total = 0
        for i in range(n):
            total += i
        squares = [rig.spin(
            5) for _ in range(3)]

        class Nested(object):
            value = rig.spin(40)

            def method(self):
                return rig.spin(30)

            class Innermost:
                value = rig.spin(
                    20)

        def method(self):
            return self.Nested().method() + rig.spin(10)

    return Made


def use(cls):
    thing = cls()
    return (thing.method(),
            type("Dynamic", (cls,), {"extra": lambda self: rig.spin(25)})().extra())


def round_():
    for _ in range(40):
        use(make(20))


if __name__ == "__main__":
    rig.run(round_)
