#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stacks that are so deep that krait doesn't reach their outermost Python frames. Still each native
frame must come right after the Python frame that called it."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import Background, Skip, check, folder, krait

# A program in which low() calls itself in one evaluation loop, more often than a recorded stack can
# have frames (1,024). middle() and leaf() each run in an evaluation loop of their own, which
# sorted() calls.
DEEP = """
import sys
sys.setrecursionlimit(5000)
def low(n):
    if n:
        return low(n - 1)
    return sorted([3000], key=middle)
def middle(n):
    return sorted([n], key=leaf)
def leaf(n):
    total = 0
    for i in range(n):
        total += i
    return total
while True:
    low(1500)
"""
CALLED = ["low", "sorted", "middle", "sorted", "leaf"]


def once_each(stack):
    """Returns the names in a stack: the program's functions, "sorted" for sorting, and marks (names
    in brackets that stand for missing frames). Neighbours with the same name are returned once,
    because low() calls itself, and a call of sorted() has several native frames."""
    names = []
    for frame in stack:
        name = "sorted" if "sort" in frame.name else frame.name
        if (name in CALLED or frame.kind == "mark") and names[-1:] != [name]:
            names.append(name)
    return names


def stacks(d, pid, native, expected):
    """Records the program. Returns two lists: how many stacks have leaf() innermost, and which of
    these are wrong. A right stack begins with a mark, a name in brackets that stands for the frames
    that weren't reached, and goes on with @expected."""
    done = krait("record", "-p", pid, "-d", "0.6", "-F", "499", "--native=" + native, "-o", d + "/o.pb.gz")
    check(done.returncode == 0, done.stderr)
    profile = kit.pprof.read(d + "/o.pb.gz")
    found = [once_each(profile.stack(sample)) for sample in profile.samples]
    found = [names for names in found if names[-1:] == ["leaf"]]
    return len(found), [names for names in found if names[0] == "low" or names[1:] != expected]


@kit.case
def outermost_loop():
    """The stacks are right with interpreters since 3.11, in which one evaluation loop runs many
    Python functions."""
    tested = {version: path for _, version, kind, path in kit.interpreters() if version >= (3, 11) and kind == "static"}
    if not tested:
        raise Skip("no interpreter from 3.11 on")
    for path in tested.values():
        with folder() as d, Background(path, "-c", DEEP) as target:
            kit.runs(target.pid, 0.3)
            for native, expected in (("full", CALLED), ("leaf", ["low", "middle", "leaf"])):
                seen, wrong = stacks(d, target.pid, native, expected)
                check(seen > 20 and not wrong, "%s, %s: %d of %d stacks are wrong: %s" % (
                    path, native, len(wrong), seen, wrong[:3]))


if __name__ == "__main__":
    sys.exit(kit.main())
