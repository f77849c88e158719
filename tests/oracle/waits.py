#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests what krait says of waits. krait records the programs of targets/waits, which log their own
waits.

waits.py [--full] [--only GLOB] [--program GLOB] [--seconds N] [--wall] [--at-once N]
[--krait FILE] [--keep DIR]"""
import argparse
import concurrent.futures
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

import oracle
from drivers import krait
from judge import check, pprof
from judge import waits as judge

FOLDER = "waits"
# programs whose waits never end: all of their waiting time must be at the right place
WHOLE = ("throughout",)


class Running(oracle.Running):
    """A program that waits. It writes its log to @path when it ends (throughout.py: when it is
    ready)."""

    def __init__(self, interpreter, program, path):
        self.path = path
        for old in path, path + ".stop":
            if os.path.exists(old):
                os.remove(old)
        os.makedirs(interpreter.scratch, exist_ok=True)
        oracle.Running.__init__(self, interpreter, program, 900, path)

    def log(self):
        """Ends the program, and returns its log."""
        with open(self.path + ".stop", "w"):
            pass
        if not os.path.exists(self.path):
            self.process.wait(60)
        return judge.Log(self.path)

    def stop(self):
        oracle.Running.stop(self)
        for path in glob.glob(os.path.join(self.interpreter.scratch, "*-%d-*" % self.pid)):
            os.remove(path)

    def tids(self):
        return [int(tid) for tid in os.listdir("/proc/%d/task" % self.pid)]


def program(name):
    return next(p for p in oracle.programs(name, FOLDER))


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Gate(object):
    """Records programs with krait, and judges what the recordings say of the programs' waits."""

    def __init__(self, options):
        self.options, self.failed = options, False
        self.events = ["--wall"] if options.wall else ["-e", "wait"]
        self.folder = options.keep or tempfile.mkdtemp(prefix="krait-waits.")
        os.makedirs(self.folder, exist_ok=True)

    def say(self, good, what, text):
        self.failed |= not good
        print("%s waits %s: %s" % ("PASS" if good else "FAIL", what, text), flush=True)

    def recorded(self, interpreter, one):
        """Records one run of a program. Returns the profile and the program's log."""
        path = os.path.join(self.folder, "%s-%s" % (interpreter.name, one.name))
        running = Running(interpreter, one, path + ".json")
        try:
            running.wait_ready()
            command = [self.options.krait, "record", "-q", *self.events, "-p", str(running.pid),
                       "-d", "%.2f" % self.options.seconds, "-o", path + ".pb.gz"]
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  timeout=self.options.seconds + 120, check=False)
            if done.returncode:
                raise RuntimeError("krait: exit code %d: %s" % (
                    done.returncode, done.stderr.decode(errors="replace")[-500:]))
            return pprof.read(path + ".pb.gz"), running.log()
        finally:
            running.stop()

    def stacks(self, interpreter, one, profile, pid):
        """Judges the stacks of the samples with waiting time, and returns check.py's report."""
        value = profile.sample_types.index(judge.VALUE)
        profile.samples = [s for s in profile.samples if s.values[value]]
        truth = check.load(oracle.truth_of(interpreter, one), one.contract)
        return check.verdict(profile, truth, {str(pid)})

    def test(self, interpreter, one):
        """Tests one program. The sums need to be right in only one of two runs, because the
        hypervisor stops CPUs now and then."""
        what = "%s %s" % (interpreter.name, one.name)
        try:
            for _ in range(2):
                profile, log = self.recorded(interpreter, one)
                report = judge.judge(profile, log)
                if not set(report.kinds()) & {"sum", "sum of all"}:
                    break
            stacks = self.stacks(interpreter, one, profile, log.pid)
        except (RuntimeError, OSError, ValueError, LookupError,
                subprocess.SubprocessError) as error:
            self.say(False, what, str(error))
            return
        least = 1 if one.name in WHOLE else judge.RIGHT
        good = (not report.faults and not stacks.wrong() and report.captures and
                report.right >= least * report.captured)
        self.say(good, what, "%d captures, %.3f ms, off by %+.4f %%, %.4f %% right, %d impossible "
                 "stacks; %s" % (report.captures, report.captured / 1e6, 100 * report.off,
                                 100 * report.right / max(1, report.captured), stacks.wrong(),
                                 ", ".join(report.kinds()) or "no fault"))
        if not good:
            for kind, text in report.faults[:8]:
                print("  %s: %s" % (kind, text))
            for example in report.examples[:3] + stacks.examples[:2]:
                print("  " + example.replace("\n", "\n  "))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="every interpreter")
    parser.add_argument("--only", help="interpreters: a glob of names, or a version's beginning")
    parser.add_argument("--program", default="*", help="globs, a comma between them")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--wall", action="store_true", help="CPU time is recorded too")
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="programs that run at once")
    parser.add_argument("--krait", default=krait.BUILT)
    parser.add_argument("--keep", metavar="DIR", help="leave the profiles and logs there")
    options = parser.parse_args()
    gate = Gate(options)
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
        begun = [pool.submit(gate.test, interpreter, one)
                 for interpreter in oracle.interpreters(options.full, options.only, free_threaded=True)
                 for one in oracle.programs(options.program, FOLDER) if not one.lacks(interpreter)]
    for one in begun:
        one.result()
    if not options.keep:
        shutil.rmtree(gate.folder, ignore_errors=True)
    return 1 if gate.failed else 0


if __name__ == "__main__":
    sys.exit(main())
