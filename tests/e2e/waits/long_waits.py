#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Threads wait long, once each, among many short waits for the same lock. krait takes the stacks of
only some waits, chosen at random. Each long wait must be recorded at its own line, even if it isn't
over when the recording ends. The truth is how long each thread waited by the program's own clock.
"""
import collections
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import check, folder, krait

# A program in which each thread waits for a lock many times, each time for a moment, and then once
# for long. The long wait is on another line, but in the same system call.
PROGRAM = """
import json, os, sys, threading, time
lasts = float(sys.argv[1])
told = {}
def often(lock):
    for _ in range(3000):
        lock.acquire(timeout=0.0001)
def once(lock):
    lock.acquire(timeout=lasts)
def work():
    lock = threading.Lock()
    lock.acquire()
    often(lock)
    began = time.monotonic_ns()
    once(lock)
    told[threading.get_native_id()] = time.monotonic_ns() - began
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(told))
"""


def sums_of(profile):
    """Returns {(tid, function): ns} of the waits that the program's threads had in lines of the
    program."""
    at = [name for name, _ in profile.sample_types].index("off_cpu")
    sums = collections.Counter()
    for sample in profile.samples:
        if sample.labels.get("state") in ("runnable", "stolen"):
            continue
        names = {l.name for l in profile.stack(sample) if l.kind == "python"}
        for name in names & {"often", "once"}:
            sums[int(sample.labels["tid"]), name] += sample.values[at]
    return sums


def record(lasts, *options):
    """Records the program, whose long waits take @lasts seconds. Returns what the program printed,
    and the profile's waits as by sums_of()."""
    with folder() as d:
        with open(d + "/long.py", "w") as f:
            f.write(PROGRAM)
        done = krait("record", "-e", "wait", "--wait-budget", "0.1", *options, "-o", d + "/o.pb.gz", "--",
                     kit.PYTHON, d + "/long.py", lasts)
        check(done.returncode == 0, done.stderr)
        check("chosen at random" in done.stderr, "stacks weren't taken by chance: " + done.stderr)
        return done.stdout, sums_of(kit.pprof.read(d + "/o.pb.gz"))


@kit.case
def over():
    """The program, with all its waits, ends before the recording does."""
    told, sums = record("1.5")
    for tid, ns in json.loads(told).items():
        check(abs(sums[int(tid), "once"] - ns) < 0.03 * ns, "once() of %s waited %d: %s" % (tid, ns, dict(sums)))
        check(sums[int(tid), "often"] > 0.2e9, "often() of %s waited: %s" % (tid, dict(sums)))


@kit.case
def not_over():
    """The recording ends while all threads are in their long waits."""
    _, sums = record("5", "-d", "3")
    once = [ns for (_, name), ns in sums.items() if name == "once"]
    often = [ns for (_, name), ns in sums.items() if name == "often"]
    check(len(once) == 4, "threads in once(): %s" % dict(sums))
    check(sum(often) < 0.4 * sum(once), "often() has what once() waited: %s" % dict(sums))


if __name__ == "__main__":
    sys.exit(kit.main())
