#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs that start processes all the time. While they do, a recording of the machine soon costs
at most 5 % of a CPU, and says what it left out. Programs that already ran, and other users'
programs, are recorded whole.

The truth is the kernel's account of krait's CPU time, and of the processes that read for it, and
the storm's own count of what it started. How many processes a machine starts in a second decides
whether krait has to leave any out: it has to if looking at all of them would cost clearly more than
5 %. Nothing else should run meanwhile."""
import mmap
import os
import re
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from cost import MOST, share, soon
from judge import pprof
from kit import Background, PYTHON, check, folder, honest_is_whole, python

# Four loops, each of which counts the processes that it starts. They have a higher priority than
# other programs, so that a busy machine starts as many processes.
LOOPS = """
import contextlib, mmap, os, sys, time
count = memoryview(mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 4096)).cast("Q")
with contextlib.suppress(PermissionError):
    os.nice(-10)
loop = next((i for i in range(3) if not os.fork()), 3)
"""

# A program that starts children, which end soon.
FORKS = LOOPS + """
while True:
    pid = os.fork()
    if not pid:
        sum(range(30000))
        os._exit(0)
    os.waitpid(pid, 0)
    count[loop] += 1
"""

# A program that starts `python --version`, which ends before it runs any Python code, 320 times a
# second if the CPUs manage that many.
EXECS = LOOPS + """
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
due = time.monotonic()
while True:
    due = max(due + 0.0125, time.monotonic())
    time.sleep(max(0, due - time.monotonic()))
    os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "-V"], {}, file_actions=quiet), 0)
    count[loop] += 1
"""

READ = 3  # seconds in which krait reads the files of the interpreters before the measuring begins
BURST = 0.2  # CPU seconds that one user's new processes may cost krait at once
FREE = 3  # seconds to measure the cost of a new process, before BURST is spent
SOON = 3  # after so many more seconds, many new processes have spent krait's budget for them
WINDOWS = 8  # processes that cost krait little must have spent BURST after so many windows (30 s)
OTHER = 65534  # uid of a user who starts no processes in the storm
LEFT_OUT = 20  # the fewest processes that krait leaves out if it has to leave out any
# krait has to leave out some processes if looking at all of them would cost this many times what it
# may take
CLEARLY = 1.5
MARK = "[incomplete: too many new processes to look at]"


# The Python that starts most quickly: Debian's takes a fifth of the time that others take.
QUICK = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else PYTHON


class Storm(Background):
    """Runs a program that starts processes. .count(): how many it has started."""

    def __init__(self, source, path):
        with open(path, "w+b") as f:
            f.truncate(4096)
            self.counts = mmap.mmap(f.fileno(), 4096)
        super().__init__(QUICK, "-c", source, path)
        kit.wait_for(self.count, 30)

    def count(self):
        return sum(struct.unpack_from("4Q", self.counts))

    def rate(self, measure):
        """Calls measure(). Returns its result, and how many processes began in each second of that
        time."""
        count, at = self.count(), time.monotonic()
        result = measure()
        return result, (self.count() - count) / (time.monotonic() - at)

    def cost_of_one(self, pid, before):
        """Returns the CPU seconds that krait takes for each process that begins: the least of
        several seconds. @before: what krait already took per second before the storm, which is
        subtracted. Once krait has spent BURST, it no longer looks at every new process, so later
        seconds tell nothing."""
        spent, costs = 0, []
        for _ in range(FREE):
            took, rate = self.rate(lambda: share(pid, 1))
            spent += took - before
            if not costs or spent < BURST:
                costs.append(max(took - before, 0) / max(rate, 1))
        return min(costs)


def says_what_is_left_out(out, said, must):
    named = re.search(r"(\d+) new processes \(the first: \d+, [^)]+\) were counted without stacks",
                      said)
    count = int(named[1]) if named else 0
    check(count >= LEFT_OUT or not must, "what was left out isn't named: " + said)
    profile = pprof.read(out)
    marks = {l.name for sample in profile.samples for l in profile.stack(sample)}
    check(MARK in marks or count < LEFT_OUT, "no stack says that it was left out")
    check(MARK not in marks or count, "stacks were left out, and krait doesn't say so: " + said)


def storm(source):
    """If new processes would cost krait more than their budget, krait counts them without stacks;
    other programs' stacks are whole."""
    with folder() as d, python(executable=QUICK), python(user=OTHER) as other, python() as older, \
            kit.recorder(d + "/o.pb.gz", "-F", 999) as recording:
        time.sleep(READ)
        before = share(recording.pid)
        with Storm(source, d + "/counts") as target:
            one = target.cost_of_one(recording.pid, before)
            time.sleep(SOON)
            took, rate = target.rate(lambda: soon(recording.pid, WINDOWS))
            code, said = recording.finish()
        print("  %.1f %% of a CPU; to look at all, %d a second, would cost %.1f %%" %
              (100 * took, rate, 100 * rate * one))
        check(code == 0, "exit code %d: %s" % (code, said))
        check(took <= MOST, "krait took %.1f %% of a CPU: %s" % (100 * took, said))
        says_what_is_left_out(d + "/o.pb.gz", said, rate * one >= CLEARLY * MOST)
        for honest in other, older:
            honest_is_whole(d + "/o.pb.gz", honest.pid)


@kit.full_case
def forks():
    """A program forks Python children all the time."""
    storm(FORKS)


@kit.case
def execs():
    """A program starts new Python processes all the time."""
    storm(EXECS)


if __name__ == "__main__":
    sys.exit(kit.main())
