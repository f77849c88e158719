# SPDX-License-Identifier: BSD-2-Clause
"""Two families of functions run in turn. They are called directly and from C, so that both stacks,
C's and Python's, are of another depth each time. A frame that one family leaves behind in memory
must never be shown in a stack of the other family. A function calls only the one before it in its
family."""
import functools

import rig

FUNCTION = """
def {0}_{1}(d, n):
    if (d * 7 + n) % 3 == 0:
        return sorted([1], key=lambda x: {0}_{2}(d - 1, n))[0] and 0
    if (d * 5 + n) % 3 == 1:
        return functools.reduce(lambda a, b: {0}_{2}(d - 1, n), [1, 2])
    return {0}_{2}(d - 1, n + 1)
"""
FIRST = """
def {0}_0(d, n):
    return rig.spin(n % 7 + 20)
"""
DEPTH = 80
rig.own("<families>")
for family in "ab":
    source = FIRST.format(family) + "".join(
        FUNCTION.format(family, i, i - 1) for i in range(1, DEPTH + 1))
    exec(compile(source, "<families>", "exec"))


FUNCTIONS = [(globals()["%s_%d" % (family, depth)], depth)
             for depth in (80, 73, 60, 80, 41, 20) for family in "ab"]


def round_():
    for n in range(60):
        for function, depth in FUNCTIONS:
            function(depth, n)


if __name__ == "__main__":
    rig.run(round_)
