#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""An exception is thrown into a generator that waits in a `yield from`. 3.9 then sets the
generator's frame as the thread's current one, without a link to the frame that threw the
exception. The module calls everything in the program, so a stack whose root isn't the module must
be marked as incomplete."""
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
import kit  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM = """
import time
def outer():
    while True:
        yield from inner()
def busy(n):
    for i in range(n):
        n ^= i
def inner():
    while True:
        try:
            yield
        except ValueError:
            busy(20000)
def drive(generator):
    end = time.thread_time() + 0.7
    while time.thread_time() < end:
        generator.throw(ValueError)
started = outer()
next(started)
drive(started)
"""
MARK = "[incomplete: the caller of the outermost function isn't known]"


def stacks_of(python):
    """Records the program. Returns {stack of the function that the generator calls: number of
    samples}."""
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/thrown.py", "w", encoding="utf-8") as f:
            f.write(PROGRAM)
        done = kit.krait("record", "-q", "--native=none", "--no-kernel", "--format", "folded", "-o", d + "/o.folded", "--", python, d + "/thrown.py")
        kit.check(done.returncode == 0, done.stderr)
        with open(d + "/o.folded", encoding="utf-8") as f:
            rows = [re.sub(r" \([^;]*\)", "", line).rsplit(" ", 1) for line in f if "busy (" in line]
    return {tuple(stack.split(";")): int(n) for stack, n in rows}


def thrown(version, python):
    got = {}
    for stack, n in stacks_of(python).items():
        got[stack[:2] if version == (3, 9) else stack[:1]] = got.get(stack[:2] if version == (3, 9) else stack[:1], 0) + n
    want = {(MARK, "outer")} if version == (3, 9) else {("<module>",)}
    kit.check(set(got) == want and sum(got.values()) > 100, "%s: %s" % (python, got))


if __name__ == "__main__":
    for name, version_, kind, path in kit.interpreters():
        if version_ in ((3, 8), (3, 9), (3, 10), (3, 12)) and kind == "shared":
            kit.CASES.append(lambda version=version_, python=path: thrown(version, python))
            kit.CASES[-1].__name__ = name
    sys.exit(kit.main())
