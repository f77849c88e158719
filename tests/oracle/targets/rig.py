# SPDX-License-Identifier: BSD-2-Clause
"""What every target program of the oracle uses: how long to run, what may be called from anywhere.

A target does the same things in each round, so that two traced rounds (truth.py) show every stack
that can exist. Runs on Python 2.7 and 3.x.
"""
import os
import sys
import time

tracing = None  # truth.py puts its Tracer here: then a target runs two rounds and returns
seconds = None  # drivers/inside.py puts a duration here; else it is the first argument


def run(round_):
    """Runs rounds for sys.argv[1] seconds; prints "ready" when one whole round is behind."""
    warm = False
    end = 1e18
    left = 2
    while time.time() < end and left:
        round_()
        if tracing:
            left -= 1
        if not warm:
            warm = True
            end = 1e18 if tracing else time.time() + float(seconds or sys.argv[1])
            ready()


def ready():
    sys.stdout.write("ready\n")
    sys.stdout.flush()


def anywhere(*functions):
    """Declares functions that the interpreter may call between any two instructions."""
    if tracing:
        for function in functions:
            tracing.anywhere(function)
    return functions[0]


def own(prefix):
    """Declares that files that begin with prefix belong to the target."""
    if tracing:
        tracing.own.append(prefix)


def scratch():
    """A directory whose name is the same in the traced and in the profiled run."""
    path = os.environ.get("KRAIT_ORACLE_TMP", "/tmp/krait-oracle")
    if not os.path.isdir(path):
        os.makedirs(path)
    return path


def fork():
    """Calls os.fork(). If traced, it returns 0 without a fork. Because leave() does nothing then,
    the child's code runs first, and the parent's code after it."""
    return 0 if tracing else os.fork()


def leave():
    """Ends a forked child; does nothing when traced."""
    if not tracing:
        os._exit(0)


def trace_here():
    """Called first in a thread that Python didn't start, when traced."""
    sys.setprofile(tracing.event)


def spin(n):
    """Burns a little CPU in Python code."""
    total = 0
    for i in range(n):
        total += i & 3
    return total
