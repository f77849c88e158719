# SPDX-License-Identifier: BSD-2-Clause
"""Measures krait top of all processes: its CPU time at 99 Hz while programs start and end all the
time; and its memory while processes live for a few milliseconds, and while code is compiled
again and again."""

import fcntl
import os
import pty
import statistics
import struct
import subprocess
import sys
import termios
import threading
import time

import lib

STEADY = 20
STARTED = 66  # how many processes are started in a second
WINDOW = 5

# A program that sleeps four milliseconds after each millisecond of work.
PART_TIME = """
import time
while True:
    end = time.thread_time() + .001
    while time.thread_time() < end: pass
    time.sleep(.004)
"""

STARTS = """
import os, sys, time
due = time.monotonic()
while True:
    os.posix_spawn(sys.executable, [sys.executable, "-S", "-E", "-c", "pass"], os.environ)
    due = max(due + 1 / float(sys.argv[1]), time.monotonic() - 1)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]: pass
    except ChildProcessError:
        pass
    time.sleep(max(0, due - time.monotonic()))
"""

# A program whose children, one after another, work for five milliseconds each.
FORKS = """
import os, time
def child():
    end = time.thread_time() + .005
    while time.thread_time() < end: pass
    os._exit(0)
while True:
    pid = os.fork()
    if not pid: child()
    os.waitpid(pid, 0)
"""

COMPILES = """
import time
n = 0
while True:
    n += 1
    text = "def made_%d(now):\\n    while time.thread_time() < now + .0003: pass\\n" % n
    names = {"time": time}
    exec(compile(text, "<made %d>" % n, "exec"), names)
    names["made_%d" % n](time.thread_time())
"""


class Program:
    def __init__(self, source, *arguments):
        self.process = subprocess.Popen([sys.executable, "-c", source, *arguments])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Top:
    """Runs krait top on a terminal of 80 columns and 24 lines."""

    def __init__(self, *options):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [lib.KRAIT, "top", *options],
            stdin=slave,
            stdout=slave,
            stderr=subprocess.DEVNULL,
            env=dict(os.environ, TERM="xterm"),
            start_new_session=True,
        )
        os.close(slave)
        self.pid = self.process.pid
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            while os.read(self.master, 1 << 16):
                pass
        except OSError:
            pass  # this process has ended

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.write(self.master, b"q")
        self.process.wait(60)


def cost(seconds):
    """Returns krait top's CPU time, in % of a core, in each of several windows."""
    steady = [Program(PART_TIME) for _ in range(STEADY)]
    try:
        with Program(STARTS, str(STARTED)), Top() as top:
            time.sleep(WINDOW)
            windows = []
            for _ in range(max(3, int(seconds / WINDOW))):
                cpu, begin = lib.cpu_seconds(top.pid), time.monotonic()
                time.sleep(WINDOW)
                used = lib.cpu_seconds(top.pid) - cpu
                windows.append(100 * used / (time.monotonic() - begin))
            return windows
    finally:
        for program in steady:
            program.__exit__()


def memory(source, seconds, hz, points=10):
    """Returns krait top's anonymous resident memory in bytes, read @points times at equal
    distances."""
    with Program(source) as target, Top("-F", str(hz), "-p", str(target.process.pid)) as top:
        got = []
        for _ in range(points):
            time.sleep(seconds / points)
            got.append(lib.rss_bytes(top.pid, "RssAnon"))
        return got


def run(options):
    windows = cost(options.seconds / 3)
    yield lib.Row(
        "%d processes, %d others start each second, 99 Hz" % (STEADY, STARTED),
        statistics.median(windows),
        "% of a core",
        1,
        note="%.2f to %.2f in %d windows" % (min(windows), max(windows), len(windows)),
    )
    for name, source, hz in (
        ("processes of 5 ms", FORKS, 999),
        ("code compiled anew", COMPILES, 4999),
    ):
        got = memory(source, options.seconds / 3, hz)
        yield lib.Row(
            "memory, %s: growth in the second half" % name,
            (got[-1] - got[len(got) // 2 - 1]) / (1 << 20),
            "MiB",
            note=" ".join("%.1f" % (b / (1 << 20)) for b in got),
        )
