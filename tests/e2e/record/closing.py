#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The closing lines of `krait record`: what it found, what went wrong, and how to read more. The
truth is the program's own CPU clock. A shell tells whether the command in the last line can be
run."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import check, folder

# A program with three quarters of its CPU time in one of two functions.
WORKS = """
import time
def much(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def little(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
for _ in range(8):
    much(0.09)
    little(0.03)
"""
# A program with threads that never run Python, as BLAS and OpenMP have them.
SPINS = """
#include <pthread.h>
static volatile int stop;
static void *spin(void *arg) { while (!stop) ; return arg; }
static pthread_t thread;
void begin(void) { pthread_create(&thread, 0, spin, 0); }
void end(void) { stop = 1; pthread_join(thread, 0); }
"""
CALLS = """
import ctypes, sys, time
library = ctypes.CDLL(sys.argv[1])
library.begin()
end = time.process_time() + 0.8
while time.process_time() < end: pass
library.end()
"""


def lines(done):
    check(done.returncode == 0, done.stderr)
    said = [line[len("krait: "):] for line in done.stderr.splitlines()]
    # Leaves out the line about waits for a CPU, which krait adds on a busy machine. waited.py tests
    # that line.
    return [line for line in said if ", waited for a CPU " not in line]


@kit.case
def says_what_it_found():
    """The closing lines have a sentence about the samples, the report's first sentence, and the
    command that shows the report."""
    with folder() as d:
        place = os.path.join(d, "it's here")
        os.mkdir(place)
        script = os.path.join(d, "works.py")
        with open(script, "w") as f:
            f.write(WORKS)
        said = lines(kit.krait("record", "-o", place + "/o.pb.gz", "--", kit.PYTHON, script))
        check(re.match(r"[0-9]+ samples of 1 process in [0-9.]+ s$", said[0]), "%r" % said)
        share = re.match(r"([0-9]+) % of the CPU time is .*\bmuch\b", said[-2])
        check(share and abs(int(share.group(1)) - 75) <= 8, "%r" % said)
        check(len(said) == 3, "%r" % said)
        command = said[-1].split(": ", 1)[1]
        path = os.path.dirname(os.path.realpath(kit.KRAIT)) + ":" + os.environ["PATH"]
        shown = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, encoding="utf-8",
                               env=dict(os.environ, PATH=path), check=True).stdout
        shown = [line for line in shown.splitlines() if ", waited for a CPU " not in line]
        check(shown[0].rstrip(".") == said[-2], "%r, the report: %r" % (said[-2], shown))


@kit.case
def native_threads_are_no_alarm():
    """Half of the samples are of a thread that runs no Python: only the recording itself and the
    messages of -v mention this."""
    kit.need("gcc")
    with folder() as d:
        with open(d + "/spins.c", "w") as f:
            f.write(SPINS)
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-pthread", "-o", d + "/spins.so", d + "/spins.c"],
                       check=True)
        command = ["record", "-o", d + "/o.pb.gz", "--", kit.PYTHON, "-c", CALLS, d + "/spins.so"]
        said = " ".join(lines(kit.krait(*command)))
        check("without Python" not in said and "asked" not in said, said)
        kept = [text for text in kit.pprof.read(d + "/o.pb.gz").comments if "without Python" in text]
        share = float(re.search(r"\(([0-9.]+) %\)", kept[0]).group(1)) if kept else 0
        check(25 < share < 75, "%r" % kept)
        said = " ".join(lines(kit.krait(*command[:1], "-v", *command[1:])))
        check("without Python" in said and "asked" in said, said)


if __name__ == "__main__":
    sys.exit(kit.main())
