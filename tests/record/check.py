#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""src/record records without a command line, and prints nothing (tests/record/record.c).

The program itself says what must be found: its functions, and the CPU time that it had. Wants root.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../e2e"))

import kit  # noqa: E402
from kit import case, check, folder  # noqa: E402

RECORD = os.path.join(kit.ROOT, "build/release/tests/record/record")
HZ = 999
WORK = """
import sys, time
def inner():
    return sum(range(3000))
def outer():
    while time.process_time() < 1.5:
        inner()
outer()
open(sys.argv[1], "w").write(str(time.process_time()))
"""


def record(*command):
    return subprocess.run([RECORD, *command], capture_output=True, text=True, timeout=60)


@case
def engine_records():
    """There are as many samples as are due for the CPU time that the program says it had, in its
    own functions. Nothing is printed on standard error."""
    with folder() as d:
        done = record(kit.PYTHON, "-c", WORK, d + "/time")
        check(done.returncode == 0, done.stdout[-500:])
        check(done.stderr == "", "standard error: " + done.stderr[:500])
        with open(d + "/time", encoding="ascii") as f:
            due = float(f.read()) * HZ
        *stacks, last = done.stdout.splitlines()
        mine = [s for s in stacks if re.search("<module>;outer(;inner)?(;|$)", s)]
        check(abs(len(stacks) - due) < due / 10, "%d samples of %.0f" % (len(stacks), due))
        check(len(mine) > 0.8 * len(stacks), "%d of %d are of the program" % (len(mine), len(stacks)))
        check(last.endswith(" came %d" % len(stacks)), "the summary: " + last)


@case
def engine_fails_quietly():
    """If the command can't be run, the engine returns an error with a message. Its caller prints
    the message."""
    done = record("/nowhere/python")
    check(done.returncode == 1 and done.stdout.startswith("failed: can't run '/nowhere/python'"), done.stdout)
    check(done.stderr == "", "standard error: " + done.stderr[:500])


@case
def engine_alone():
    """Checks that nothing of src/cli is in the program."""
    names = subprocess.run(["nm", RECORD], capture_output=True, text=True, check=True).stdout
    check(" session_run\n" in names, "nm has no session_run")
    for name in ("options_parse", "command_record", "words_begin", "cmd_record"):
        check(" %s\n" % name not in names, "it has " + name)


if __name__ == "__main__":
    subprocess.run(["make", "-s", "-C", kit.ROOT, RECORD[len(kit.ROOT) + 1:]], check=True, stdout=subprocess.DEVNULL)
    sys.exit(kit.main())
