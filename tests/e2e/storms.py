#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs that start processes all the time. Beside them a recording of the machine soon costs at
most 5 % of a CPU, and says what it left out. Programs that ran before, and other users' programs,
are recorded whole.

The truth is the kernel's account of krait's CPU time, and of the processes that read for it.
Nothing else should run meanwhile.
"""
import os
import re
import sys
import time

import kit
from judge import pprof
from cost import MOST, soon
from kit import Background, PYTHON, check, folder, honest_is_whole, python

# Starts children that end soon, several at once. It has a higher priority than other programs, so
# that as many begin on a busy machine.
FORKS = """
import contextlib, os
with contextlib.suppress(PermissionError):
    os.nice(-10)
print("ready", flush=True)
for _ in range(3):
    if not os.fork():
        break
while True:
    pid = os.fork()
    if not pid:
        sum(range(30000))
        os._exit(0)
    os.waitpid(pid, 0)
"""

# Starts Python for --version, which ends before it runs any Python code, at most 320 times a
# second.
EXECS = """
import contextlib, os, sys, time
with contextlib.suppress(PermissionError):
    os.nice(-10)
print("ready", flush=True)
for _ in range(3):
    if not os.fork():
        break
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
while True:
    time.sleep(0.0125)
    os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "-V"], {}, file_actions=quiet), 0)
"""

SOON = 6  # seconds until a user's new processes have spent the part of their budget for a burst
OTHER = 65534  # uid of a user who starts nothing
LEFT_OUT = 20  # the fewest processes that krait must have left out


# The quickest Python: Debian's starts in a fifth of the time that others take.
QUICK = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else PYTHON


def storm(source):
    """New processes that would cost more than their budget are counted without stacks; other
    programs' stacks are whole."""
    with folder() as d, Background(QUICK, "-c", source, stdout=-1) as target, \
            python(user=OTHER) as other, python() as older:
        target.process.stdout.readline()
        with kit.recorder(d + "/o.pb.gz", "-F", 999) as recording:
            time.sleep(SOON)
            took = soon(recording.pid)
            code, said = recording.finish()
        target.stop(9)
        print("  %.1f %% of a CPU" % (100 * took))
        check(code == 0, "exit code %d: %s" % (code, said))
        check(took <= MOST, "it cost %.1f %% of a CPU: %s" % (100 * took, said))
        named = re.search(r"(\d+) new processes \(the first: \d+, [^)]+\) were counted without stacks",
                          said)
        check(named and int(named[1]) >= LEFT_OUT, "what was left out isn't named: " + said)
        profile = pprof.read(d + "/o.pb.gz")
        marks = {l.name for sample in profile.samples for l in profile.stack(sample)}
        check("[incomplete: too many new processes to look at]" in marks, "no stack says so")
        for honest in other, older:
            honest_is_whole(d + "/o.pb.gz", honest.pid)


@kit.case
def forks():
    """A program starts children of Python all the time."""
    storm(FORKS)


@kit.case
def execs():
    """A program starts Python all the time."""
    storm(EXECS)


if __name__ == "__main__":
    sys.exit(kit.main())
