# SPDX-License-Identifier: BSD-2-Clause
"""Measures what a recording of the whole machine costs at the default rate: krait's own CPU time
(user and system, of its threads and of its child process that reads other processes) and, in a
row of its own, the run time of its kernel programs. Both are measured at rest, while 500
processes of /bin/true start each second, and while 40 Pythons start each second. A third row is
the CPU time of krait's own start. The Python is the distribution's, because two CPUs may not be
able to start a slower Python 40 times a second."""

import contextlib
import glob
import os
import re
import statistics
import subprocess
import sys
import time

import lib

WINDOW = 2
# seconds before each measurement, in which krait makes the unwind tables of the programs that run,
# and of the program that storm starts
SETTLE = 5
STORM = os.path.join(lib.BUILD, "bench/storm")
PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
SITUATIONS = (
    ("at rest", None, 0.3),
    ("500 starts of /bin/true a second", ["500", "/bin/true"], 1),
    ("40 starts of Python a second", ["40", PYTHON, "-c", "pass"], 1),
)


@contextlib.contextmanager
def storm(arguments):
    if not arguments:
        yield
        return
    process = subprocess.Popen([STORM] + arguments)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def family(pid):
    """Returns the process ids of krait, of its children and of their children, because the process
    that writes the agent's store is a grandchild of the agent."""
    texts = [lib.read(path) for path in glob.glob("/proc/%d/task/*/children" % pid)]
    return [pid] + [p for text in texts for child in text.split() for p in family(int(child))]


def cpu_seconds(pid):
    """Returns the CPU time of all threads of a process, also of those that have ended. It comes
    from the process's clock in the kernel."""
    try:
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:
        return 0.0  # this child has ended meanwhile


def forks():
    return int(re.search(r"^processes (\d+)", lib.read("/proc/stat"), re.M).group(1))


def program_seconds(k):
    """Returns the run time of all kernel programs of krait. The kernel counts run times
    (run_time_ns) only while its statistics are on."""
    programs = {
        lib.field(text, "prog_id"): lib.field(text, "run_time_ns")
        for _, text in k.fdinfo("prog_type:")
    }
    return sum(programs.values()) / 1e9


def window(k):
    """Measures a second. Returns (krait's CPU time in % of one CPU, the CPU time of its kernel
    programs in % of one CPU, how many processes began)."""
    pids, began, at = family(k.pid), forks(), time.monotonic()
    own, programs = sum(map(cpu_seconds, pids)), program_seconds(k)
    time.sleep(WINDOW)
    own, programs = sum(map(cpu_seconds, pids)) - own, program_seconds(k) - programs
    seconds = time.monotonic() - at
    return 100 * own / seconds, 100 * programs / seconds, (forks() - began) / seconds


def watch(arguments, seconds):
    """Records while @arguments are started again and again. Returns (milliseconds of CPU time that
    krait's start took, list of what window() returned)."""
    with storm(arguments), lib.BpfStats(), lib.Krait(["-v"]) as k:
        k.program()
        time.sleep(SETTLE)
        windows = [window(k) for _ in range(max(5, int(seconds / WINDOW)))]
    text = re.search(r"itself used ([\d.]+) s of CPU time to start", k.errors)
    return float(text.group(1)) * 1000 if text else 0.0, windows


def start_of(command):
    """Returns a text for the table's note: which program the command runs, and how long its start
    takes on this machine (the median of nine)."""
    took = []
    for _ in range(9):
        began = time.monotonic()
        subprocess.run(command, check=True)
        took.append(time.monotonic() - began)
    program = os.path.realpath(command[0])
    return "; a start of %s takes %.1f ms" % (program, statistics.median(took) * 1000)


def run(options):
    for name, arguments, most in SITUATIONS:
        program = start_of(arguments[1:]) if arguments else ""
        start, windows = watch(arguments, options.seconds / len(SITUATIONS) - SETTLE)
        own, programs, began = zip(*windows)
        yield lib.Row(
            name + ": krait",
            statistics.median(own),
            "% of a CPU",
            most,
            note="%.2f to %.2f in %d windows; %.0f processes began a second%s"
            % (min(own), max(own), len(own), statistics.median(began), program),
        )
        yield lib.Row(
            name + ": kernel programs",
            statistics.median(programs),
            "% of a CPU",
            note="%.2f to %.2f" % (min(programs), max(programs)),
        )
        yield lib.Row(name + ": start", start, "ms of CPU")
