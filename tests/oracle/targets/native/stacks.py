# SPDX-License-Identifier: BSD-2-Clause
# part of: all programs in this folder
"""The program declares which stacks it can have, with Python and native frames in one order, as a
graph. A stack is a walk through it from the thread's start to the leaf, with an edge for each
frame of the program's own functions. Frames of other code (the interpreter, libffi, libc) may
lie between them.

A sampled stack is right if it is a path from START, wherever it ends. Runs on Python 2.7 and 3.x.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.path.insert(0, os.environ.get("KRAIT_ORACLE_TMP", "/tmp/krait-oracle"))
import rig  # noqa: E402

START = 0

# What may lie between a frame and its caller. Any text other than these is a regular expression:
# there must be a native frame between them, and the name or the file of at least one must match (if
# the interpreter has symbols).
NOTHING = "nothing"  # compiled code calls compiled code directly
INTERPRETER = "interpreter"  # Python calls Python: only frames of the interpreter lie between
ANY = "any"


class Stacks(object):
    def __init__(self):
        self.edges, self.n = [], 1
        self.copies = None  # a regex for functions that exchange the C stack

    def _add(self, state, kind, names, between, never, to):
        if to is None:
            to, self.n = self.n, self.n + 1
        names = [names] if isinstance(names, str) else list(names)
        self.edges.append([state, to, kind, names, between, never])
        return to

    def python(self, state, names, between=INTERPRETER, never=None, to=None):
        """Declares that a function of the program is called in @state. Returns the state in which
        it runs.

        names: one name, or a list of the names in all versions. between: what may lie between the
        function and its caller. never: a regex that no frame between them may match."""
        return self._add(state, "python", names, between, never, to)

    def native(self, state, names, between=ANY, never=None, to=None):
        return self._add(state, "native", names, between, never, to)

    def main(self, *functions):
        """Returns the state in which the main thread runs the last of @functions, each of which
        calls the next one; without any: round_()."""
        state = self.python(START, "<module>", ANY)
        state = self.run(self.python(state, "main"))
        for function in functions or ("round_",):
            state = self.python(state, function)
        return state

    def run(self, state):
        """Returns the state in which the main thread is in rig.run()."""
        state = self.python(state, "run")
        self.python(state, "ready")
        return state

    def save(self, file):
        with open(file, "w") as f:
            json.dump({"edges": self.edges, "copies": self.copies}, f)


def caller(name):
    """Returns the source of a function NAME_{k} that works, calls the next function if there is
    one, and works again."""
    return """
def %s_{k}(n):
    spent = 0
    for i in range(12):
        spent += i
    if n > {k}:
        spent += {call}
    for i in range(12):
        spent += i
    return spent & 255
""" % name


def library(name):
    """Returns the path of a library that the test has compiled for this program."""
    return os.path.join(rig.scratch(), name)


def main(round_, stacks):
    """The main program: PROGRAM SECONDS FILE. Runs the program, and writes to FILE which stacks it
    can have."""
    declare(stacks)
    rig.run(round_)


def declare(stacks):
    made = Stacks()
    stacks(made)
    made.save(sys.argv[2])


def generated(source, scope, name):
    """Compiles source text that contains functions, as if it were the file @name, and adds them to
    @scope."""
    exec(compile(source, os.path.join(HERE, name), "exec"), scope)
