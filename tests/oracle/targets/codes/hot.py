# SPDX-License-Identifier: BSD-2-Clause
"""Functions hot enough that calls of them are specialized (3.11: they get a version), then freed
and made again at one address, or given another code object, also while they run.

As in churn.py each variant has a driver of its own.
"""
import rig

N = 24
FILE = "/krait-oracle/hot-%d.py"
rig.own("/krait-oracle/")


def variant(name, gap, file):
    """A function whose lines depend on gap but whose instructions don't."""
    scope = {"replace": replace}
    exec(compile("def %s(n, after=-1):\n"
                 "    total = 0\n%s"
                 "    for i in range(n):\n%s"
                 "        total += i & 3\n"
                 "    if after >= 0:\n"
                 "        replace(after)\n"
                 "        for i in range(n):\n"
                 "            total += i & 3\n"
                 "    return total\n" % (name, "\n" * gap, "\n" * (gap // 2)), FILE % file, "exec"),
         scope)
    return scope[name]


def heat(f):
    for _ in range(150):
        f(1)
    f(300)


def made(i):
    heat(variant("name_%02d" % i, 0, 0))
    heat(variant("same", i, 1))
    heat(variant("same", 0, 100 + i))


def slot(n, after=-1):
    return n


def replace(i):
    """Other code for slot(), while the one before may be running."""
    slot.__code__ = CODES[i]
    heat(slot)


CODES = [variant("code_%02d" % i, i, 2).__code__ for i in range(N)]


def swapped(i):
    slot.__code__ = CODES[i]
    heat(slot)
    slot(200, (i + 7) % N)


DRIVER = """
def drive_%(i)d():
    made(%(i)d)
    swapped(%(i)d)
drivers.append(drive_%(i)d)
"""
drivers = []
exec(compile("".join(DRIVER % {"i": i} for i in range(N)), "/krait-oracle/hot-drivers.py", "exec"),
     {"made": made, "swapped": swapped, "drivers": drivers})


def round_():
    for driver in drivers:
        driver()


if __name__ == "__main__":
    rig.run(round_)
