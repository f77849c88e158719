# SPDX-License-Identifier: BSD-2-Clause
# part of: every program here
"""Which stacks a program can have, Python and native frames in one order, as the program itself
declares: a graph that is walked from the thread's start to the leaf, one edge for each frame that
the program has made. Frames of others (interpreter, libffi, libc) lie between them.

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

# What may lie between a frame and the one before it. Any other text is a regular expression: at
# least one native frame must lie there, and the name or file of one must match (if the interpreter
# has its symbols).
NOTHING = "nothing"          # compiled code that calls compiled code
INTERPRETER = "interpreter"  # Python that calls Python: nothing but the interpreter itself
ANY = "any"


class Stacks(object):
    def __init__(self):
        self.edges, self.n = [], 1
        self.copies = None  # a regex: functions that exchange the C stack

    def _add(self, state, kind, names, between, never, to):
        if to is None:
            to, self.n = self.n, self.n + 1
        names = [names] if isinstance(names, str) else list(names)
        self.edges.append([state, to, kind, names, between, never])
        return to

    def python(self, state, names, between=INTERPRETER, never=None, to=None):
        """Declares that a function of the program is called in @state. Returns the state in which
        it runs.

        names: one name, or all that are right in some version. never: a regex; no frame between may
        match.
        """
        return self._add(state, "python", names, between, never, to)

    def native(self, state, names, between=ANY, never=None, to=None):
        return self._add(state, "native", names, between, never, to)

    def main(self, *functions):
        """Returns the state in which the main thread's round_() runs, or the last of @functions,
        each of which calls the next one."""
        state = self.python(START, "<module>", ANY)
        state = self.run(self.python(state, "main"))
        for function in functions or ("round_",):
            state = self.python(state, function)
        return state

    def run(self, state):
        """Returns the state in rig.run()."""
        state = self.python(state, "run")
        self.python(state, "ready")
        return state

    def save(self, file):
        with open(file, "w") as f:
            json.dump({"edges": self.edges, "copies": self.copies}, f)


def caller(name):
    """Returns the text of a function NAME_K, which works, calls the next function if there is one,
    and works again."""
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
    """Returns the path at which the harness has put a compiled part of the program."""
    return os.path.join(rig.scratch(), name)


def main(round_, stacks):
    """Called as PROGRAM SECONDS FILE: runs the program, and writes into FILE which stacks the
    program can have."""
    declare(stacks)
    rig.run(round_)


def declare(stacks):
    made = Stacks()
    stacks(made)
    made.save(sys.argv[2])


def generated(source, scope, name):
    """Makes functions from text, in a file of their own."""
    exec(compile(source, os.path.join(HERE, name), "exec"), scope)
