# SPDX-License-Identifier: BSD-2-Clause
"""Uses only Python and its built-in types."""
import busy


class Node:
    def __init__(self, value):
        self.value, self.left, self.right = value, None, None

    def insert(self, value):
        side = "left" if value < self.value else "right"
        below = getattr(self, side)
        if below is None:
            setattr(self, side, Node(value))
        else:
            below.insert(value)

    def __iter__(self):
        if self.left:
            yield from self.left
        yield self.value
        if self.right:
            yield from self.right


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def round_():
    root = Node(500)
    for i in range(300):
        root.insert(i * 7919 % 1000)
    sum(root)
    fib(14)
    words = ["%d-%s" % (i, chr(65 + i % 26)) for i in range(500)]
    sorted(words, key=lambda w: w[::-1])
    {w: w.split("-") for w in words}
    "".join(words).encode().decode()


busy.run(round_)
