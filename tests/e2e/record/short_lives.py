#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Many scripts of 60 ms each start when krait already records: nearly every sample of their work is
named. Each script prints how much CPU time its busy function took. This time multiplied by the
frequency is the number of samples that krait must have of the function. The scripts run one
after another, then 8 at once."""
import concurrent.futures
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import check, folder

SCRIPTS = 200 if kit.FULL else 50
HZ = 999
LEAST = 0.95
SCRIPT = """import time
clock = getattr(time, "thread_time", None) or time.clock
def busy(seconds):
    start = clock()
    while clock() - start < seconds:
        for i in range(2000):
            i & 3
    return clock() - start
def main():
    took = busy(0.06)
    print(took)
main()
"""


def run(command, path):
    """Runs a script. Returns the CPU seconds of the script's busy function, and the script's
    process id."""
    with subprocess.Popen(command + [path], stdout=subprocess.PIPE) as process:
        return float(process.communicate()[0]), process.pid


def storm(executable, at_once, *targets, options=()):
    with folder() as d:
        script, out = os.path.join(d, "script.py"), os.path.join(d, "o.pb.gz")
        with open(script, "w") as f:
            f.write(SCRIPT)
        with kit.recorder(out, "-F", HZ, *targets) as running:
            with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
                done = list(pool.map(lambda _: run([executable, *options], script), range(SCRIPTS)))
            code, said = running.finish()
        check(code == 0, said)
        expected = sum(seconds for seconds, _ in done) * HZ
        total, found = kit.share(out, "busy", script, {pid for _, pid in done})
        text = "%d samples in busy of %.0f expected (%.1f %%), %d in all" % (
            found, expected, 100 * found / expected, total)
        print("  %s, %d at once: %s" % (os.path.basename(executable), at_once, text))
        check(found >= LEAST * expected, text)


def versions():
    """Returns the distribution's Python, and one Python for each way in which krait finds a
    thread's PyThreadState."""
    wanted = [path for name, version, kind, path in kit.interpreters()
              if name == "python3-dist" or (kind in ("static", "shared") and version in (
                  (3, 8), (3, 12), (3, 14)) and "dist" not in name and "pbs" not in name)]
    if kit.FULL:
        wanted = [path for name, _, kind, path in kit.interpreters()
                  if kind in ("static", "shared") and kit.is_plain(name)]
    return wanted


@kit.case
def one_after_another():
    """krait records every Python process of the machine while the scripts run one after another."""
    storm(kit.interpreter("static"), 1)


@kit.case
def eight_at_once():
    storm(kit.interpreter("static"), 8)


@kit.case
def below_a_process():
    """krait records the children of this test's process; this is tried with several versions of
    Python."""
    for path in versions():
        storm(path, 8, "-p", os.getpid())


@kit.case
def that_load_python_late():
    """The scripts run in a program that dlopens its libpython: krait finds the interpreter in the
    library before perf's own records (the side band) have told user space of the mapping."""
    storm(kit.interpreter("dlopen"), 1, "-p", os.getpid(), options=("-S", "-E"))


if __name__ == "__main__":
    sys.exit(kit.main())
