# SPDX-License-Identifier: BSD-2-Clause
# contract: the import system's frames
"""Modules reloaded after their source changed, and modules that replace each other."""
import os
import sys

import rig

try:
    from importlib import reload
except ImportError:
    try:
        reload
    except NameError:
        from imp import reload

sys.dont_write_bytecode = True
PATH = os.path.join(rig.scratch(), "krait_reloaded.py")
rig.own(PATH)
SOURCE = """
import rig
%sdef work_%d(n):
    total = rig.spin(n)%s
    return total + rig.spin(n)
def work(n):
    return work_%d(n)
"""


def write(i):
    with open(PATH, "w") as f:
        f.write(SOURCE % ("\n" * (i % 3), i, "\n" * i, i))


def use_0(m):
    return m.work(400)


def use_1(m):
    return m.work(400)


def use_2(m):
    return m.work(400)


def use_3(m):
    return m.work(400)


sys.path.insert(0, rig.scratch())
write(0)
import krait_reloaded


def again(i):
    write(i)
    return reload(krait_reloaded)


def round_():
    for _ in range(3):
        for i, use in enumerate((use_0, use_1, use_2, use_3)):
            module = again(i)
            for _ in range(4):
                use(module)


if __name__ == "__main__":
    rig.run(round_)
