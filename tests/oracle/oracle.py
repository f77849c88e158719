#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs krait on every target program under every interpreter, and compares its recordings with the
interpreter's own truth (truth.py, check.py). Prints a line for each interpreter and program.

    oracle.py [--full] [--only GLOB] [--program GLOB] [--samples N] [--hz N] [--krait FILE] [--keep DIR]

The variables PYTHON_JIT=1 and PYTHONPERFSUPPORT=1 are passed on to the interpreters, which then run
with the JIT compiler, or with perf trampolines."""
import argparse
import concurrent.futures
import fnmatch
import glob
import hashlib
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import modules
from drivers import krait
from judge import check, pprof

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TARGETS = os.path.join(HERE, "targets")
# folders of targets that native.py and waits.py judge instead of this script
APART = ("native", "waits")
CACHE = os.environ.get("KRAIT_TEST_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "krait-tests")
SCRATCH = "/tmp/krait-oracle-%d" % os.getuid()
HZ = 9999
# the sampling rate in the fast tier: with the shortest recording of each program, it gives somewhat
# more than FAST_SAMPLES
HZ_FAST = 7499
INCOMPLETE = 0.001  # which share of samples may be incomplete
# which share of samples may have no Python frames, in programs that always start threads or
# processes; on some CPUs a start takes long
NO_PYTHON = 0.4
# NO_PYTHON for free-threaded builds, in which PyThreadState_Clear() takes long: it visits memory
# that ended threads have left (_mi_abandoned_collect())
NO_PYTHON_FREE = 0.8
FEW = 3  # number of incomplete samples that each program may always have
ROUNDS = 8
# which share of samples may have no frame of the program, because threads begin and end
FOREIGN = 0.3
MIN_LEAVES = 20  # a leaf function's share isn't judged if the program has fewer samples
FAST_SAMPLES, FULL_SAMPLES = 20000, 1000000
# exceptions that recording and judging may raise
ERRORS = RuntimeError, OSError, ValueError, subprocess.SubprocessError


def by_chance(due):
    """Returns the largest number of samples that can still be chance if @due are expected."""
    return due + 3 * due ** 0.5


class Interpreter:
    def __init__(self, name, version, kind, path):
        self.name, self.kind, self.path = name, kind, path
        self.version = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
        self.scratch = os.path.join(SCRATCH, name)
        self.modules = {}

    def environment(self):
        return dict(os.environ, KRAIT_ORACLE_TMP=self.scratch, PYTHONDONTWRITEBYTECODE="1",
                    PYTHONPATH=os.pathsep.join([TARGETS, modules.folder(CACHE, self.version)]),
                    PYTHONHASHSEED="0")

    def has_module(self, name):
        if name not in self.modules:
            done = subprocess.run([self.path, "-c", "import " + name], env=self.environment(),
                                  cwd=ROOT, stderr=subprocess.DEVNULL, check=False)
            self.modules[name] = done.returncode == 0
        return self.modules[name]


def is_plain(name):
    """Tells whether the interpreter called @name is CPython with a GIL."""
    return not name.startswith("pypy") and not re.search(r"\dt-", name)


def is_free_threaded(name):
    return re.search(r"python\d\.\d+t\b", name) is not None


def interpreters(full, only, free_threaded=False):
    """Returns the interpreters: in the fast tier one of each minor version, in the full tier all.
    free_threaded: includes those without a GIL."""
    with open(os.path.join(CACHE, "interpreters.tsv")) as f:
        rows = [Interpreter(*line.rstrip("\n").split("\t")) for line in f if line.strip()]
    rows = [r for r in rows
            if is_plain(r.name) or free_threaded and is_free_threaded(r.name)]
    if only:
        rows = [r for r in rows if fnmatch.fnmatch(r.name, only) or
                ".".join(map(str, r.version)).startswith(only)]
        if not rows:
            sys.exit("oracle: no interpreter is %s (see %s/interpreters.tsv)" % (only, CACHE))
        return rows
    if full:
        return rows
    first = {}
    for row in rows:
        if row.kind in ("static", "shared"):
            first.setdefault(row.version[:2], row)
    return [first[version] for version in sorted(first)]


def unlike(rows):
    """Returns the interpreters without 3.7, 3.9 and 3.10, which make frames and run the evaluation
    loop as 3.6 and 3.8 do. For tests of the fast tier that don't compare names and lines."""
    return [row for row in rows if row.version[:2] not in ((3, 7), (3, 9), (3, 10))]


class Program:
    """A target program: its file, and what the comments at the file's beginning declare."""

    def __init__(self, path):
        self.path, self.name = path, os.path.basename(path)[:-3]
        with open(path, encoding="utf-8") as f:
            self.source = f.read()
        declared = dict(re.findall(r"^# ([a-z ]+): (.*)$", self.source, re.M))
        self.needs = declared.get("needs", "")
        self.contract = "contract" in declared
        self.leaves = [(name, sign, int(percent) / 100) for name, sign, percent in
                       re.findall(r"(\w+) ([<>]) (\d+)%", declared.get("leaf", ""))]
        self.storm = "storm" in declared
        self.no_python = "no python" in declared
        self.incomplete = self.allowance(declared.get("incomplete", "0%"))
        self.also = [os.path.join(os.path.dirname(path), p) for p in declared.get("also", "").split()]
        self.recurses = "recursion" in declared
        self.libraries = declared.get("library", "").split()
        self.is_part = "part of" in declared or self.name == "rig"

    @staticmethod
    def allowance(text):
        """Parses "0.3% 3.11-3.12 reason" and returns (share, first version, last version). Without
        versions, the share holds for all versions."""
        percent, *versions = re.match(r"([\d.]+)%(?: (\d\.\d+)-(\d\.\d+))?", text).groups()
        first, last = ([int(p) for p in v.split(".")] if v else [] for v in versions)
        return float(percent) / 100, tuple(first), tuple(last) or (3, 99)

    def may_lack(self, interpreter):
        """Returns which share of the program's samples may be incomplete with this interpreter."""
        share, first, last = self.incomplete
        return share if first <= interpreter.version[:2] <= last else 0

    def lacks(self, interpreter):
        """Returns why the target can't run with this interpreter, or None if it can."""
        if self.needs in ("free threading", "a GIL"):
            if is_free_threaded(interpreter.name) != (self.needs == "free threading"):
                return "needs " + self.needs
        elif self.needs.startswith("module "):
            names = self.needs.split()[1].split("|")
            if not any(interpreter.has_module(name) for name in names):
                return "no module " + " or ".join(names)
        elif self.needs:
            if interpreter.version < tuple(int(p) for p in self.needs.split(".")):
                return "needs Python " + self.needs
        if self.recurses and os.environ.get("PYTHONPERFSUPPORT"):
            return "trampolines take the C stack, which isn't so deep"
        return None


def programs(pattern, apart=None):
    """Returns the programs whose names match @pattern, sorted by name. With @apart, those in that
    folder, which native.py or waits.py judges; without it, all that are in no such folder."""
    found = [Program(path) for path in glob.glob(os.path.join(TARGETS, apart or "*", "*.py"))
             if apart or os.path.basename(os.path.dirname(path)) not in APART]
    found.sort(key=lambda p: p.name)
    patterns = (pattern or "*").split(",")
    return [p for p in found if not p.is_part and any(fnmatch.fnmatch(p.name, each) for each in patterns)]


def odd_leaves(program, report):
    """Returns, as texts, which leaf functions have a wrong share of the samples. Missing frames
    would make these shares wrong."""
    out = []
    if report.foreign > FOREIGN * report.samples and not program.storm:
        out.append("%d samples without a frame of the program" % report.foreign)
    named = sum(report.leaves.values())
    for name, sign, bound in program.leaves if named >= MIN_LEAVES else ():
        share = report.leaves[name] / named
        if not (share < bound if sign == "<" else share > bound):
            out.append("%s is the leaf of %.1f %%, not %s %d %%" % (
                name, 100 * share, sign, 100 * bound))
    return out


def truth_of(interpreter, program):
    """Returns the paths of a program's truth files, and makes those that aren't in the cache."""
    out = []
    for path in [program.path] + program.also:
        digest = hashlib.sha1(repr((os.stat(interpreter.path).st_mtime_ns, ROOT)).encode())
        for source in (path, os.path.join(HERE, "truth", "truth.py"), *rig_files(), *parts(path)):
            with open(source, "rb") as f:
                digest.update(f.read())
        folder = os.path.join(CACHE, "oracle", interpreter.name)
        name = os.path.basename(path)[:-3]
        file = os.path.join(folder, "%s-%s.json" % (name, digest.hexdigest()[:12]))
        if not os.path.exists(file):
            os.makedirs(folder, exist_ok=True)
            os.makedirs(interpreter.scratch, exist_ok=True)
            fresh = os.path.join(interpreter.scratch, "%s-%d.json" % (name, threading.get_ident()))
            subprocess.run([interpreter.path, os.path.join(HERE, "truth", "truth.py"), path, fresh],
                           env=interpreter.environment(), cwd=ROOT, check=True, timeout=300,
                           stdout=subprocess.DEVNULL)
            shutil.move(fresh, file)
        out.append(file)
    return out


def parts(path):
    """Returns the files next to a program that the program imports."""
    with open(path, encoding="utf-8") as f:
        names = re.findall(r"^import (\w+)$", f.read(), re.M)
    files = [os.path.join(os.path.dirname(path), name + ".py") for name in names]
    return [file for file in files if os.path.exists(file)]


def rig_files():
    return [os.path.join(TARGETS, n) for n in ("rig.py", "threads/subinterpreters_child.py")]


class Running:
    """A target program that is running. When wait_ready() returns, it has done all of its work
    once, and does it again and again."""

    def __init__(self, interpreter, program, seconds, *arguments):
        self.interpreter, self.program = interpreter, program
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen([interpreter.path, program.path, str(seconds),
                                         *arguments], cwd=ROOT,
                                        env=interpreter.environment(), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=self.errors)
        self.pid = self.process.pid

    def wait_ready(self):
        ready, _, _ = select.select([self.process.stdout], [], [], 120)
        if not ready or self.process.stdout.readline().strip() != b"ready":
            raise RuntimeError("%s didn't start: %s" % (self.program.name, self.said()))

    def said(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")[-400:]

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


class Oracle:
    """Records programs with .record_options and judges the recordings. The programs are those of
    the folder .apart, or the usual ones if that is None."""
    apart, record_options = None, ()
    report = check.Report

    def __init__(self, options):
        self.options = options
        self.failed = False
        self.no_python = NO_PYTHON  # a subclass may change this for an interpreter
        self.work = options.keep or tempfile.mkdtemp(prefix="krait-oracle.")
        os.makedirs(self.work, exist_ok=True)

    @property
    def hz(self):
        return self.options.hz or (HZ if self.options.samples > FAST_SAMPLES else HZ_FAST)

    def say(self, good, what, text):
        self.failed |= not good
        print("%s oracle %s: %s" % ("PASS" if good else "FAIL", what, text), flush=True)

    def record(self, name, pids, seconds, times):
        """Makes a recording and returns its path."""
        out = os.path.join(self.work, name + ".pb.gz")
        extra = ["-q", *self.record_options, *([] if times else ["--no-times"])]
        command = krait.command(self.options.krait, pids, seconds, self.hz, out, extra)
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              timeout=seconds + 120, check=False)
        if done.returncode:
            raise RuntimeError("krait: exit code %d: %s" % (
                done.returncode, done.stderr.decode(errors="replace")[-500:]))
        return out

    def batch(self, interpreter, some, samples):
        """Records some programs at the same time. Returns {program: report}."""
        return dict(zip(some, verdicts(*self.recorded(interpreter, some, samples))))

    def recorded(self, interpreter, some, samples):
        """Records some programs at the same time. Returns the arguments with which verdicts()
        judges them."""
        storm = some[0].storm
        seconds = max(0.6 if storm else 0.5,
                      1.3 * samples * len(some) / self.hz / (os.cpu_count() or 1))
        running = [Running(interpreter, program, 900) for program in some]
        try:
            for one in running:
                one.wait_ready()
            file = self.record("%s-%s" % (interpreter.name, some[0].name),
                               [one.pid for one in running], seconds, storm)
            for one in running:
                if one.process.poll() is not None:
                    raise RuntimeError("%s ended early: %s" % (one.program.name, one.said()))
        finally:
            for one in running:
                one.stop()
        return file, [(truth_of(interpreter, one.program), one.program.contract,
                       None if storm else {str(one.pid)}) for one in running]

    def incomplete(self, program, report):
        """Returns how many samples lack frames that krait should have."""
        bad = report.bad()
        absent = sum(report.incomplete[name] for name in check.ABSENT)
        if program.no_python and absent <= self.no_python * report.samples:
            bad -= absent
        return bad

    def judge(self, interpreter, program, report):
        named = ", ".join("%s %d" % item for item in sorted(report.incomplete.items()))
        bad = self.incomplete(program, report)
        odd = odd_leaves(program, report)
        text = "%d samples, %d impossible, %d wrong lines, %d wrong names, %d incomplete%s%s" % (
            report.samples, report.impossible, report.wrong_lines, report.wrong_names,
            report.bad(), " (%s)" % named if named else "",
            ", %d truncated" % report.truncated if report.truncated else "")
        # Each program may always have FEW incomplete samples, because one in 500 is already more
        # than 0.1 %. All samples count in the sum over the programs, which is judged as well.
        many = bad > FEW + by_chance(max(INCOMPLETE, program.may_lack(interpreter)) * report.samples)
        good = not (report.wrong() or odd or many or not report.samples)
        self.say(good, "%s %s" % (interpreter.name, program.name),
                 text + "".join(", " + each for each in odd))
        if report.wrong():
            for example in report.examples[:self.options.examples]:
                print("  " + example.replace("\n", "\n  "), flush=True)

    def prepare(self, interpreter, program):
        """Prepares what judging the program needs. Returns why that can't be done, or None."""
        truth_of(interpreter, program)

    def able(self, interpreter):
        """Returns the programs that can run, and makes their truth files."""
        able, all_programs = [], programs(self.options.program, self.apart)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            made = [pool.submit(lambda p: p.lacks(interpreter) or self.prepare(interpreter, p), p)
                    for p in all_programs]
        for program, lacks in zip(all_programs, made):
            try:
                lacks = lacks.result()
                if lacks:
                    print("SKIP oracle %s %s: %s" % (interpreter.name, program.name, lacks))
                else:
                    able.append(program)
            except (subprocess.SubprocessError, OSError) as error:
                self.say(False, "%s %s" % (interpreter.name, program.name), "no truth: %s" % error)
        return able

    def interpreter(self, interpreter):
        os.makedirs(interpreter.scratch, exist_ok=True)
        self.no_python = NO_PYTHON_FREE if is_free_threaded(interpreter.name) else NO_PYTHON
        modules.fetch(CACHE, interpreter.version)
        able = self.able(interpreter)
        wanted, size = self.options.samples, self.options.batch
        steady = [p for p in able if not p.storm]
        batches = [[p] for p in able if p.storm]
        batches += [steady[i:i + size] for i in range(0, len(steady), size)]
        reports = {}
        # several rounds, because on a busy machine one may not give enough samples
        for _ in range(ROUNDS):
            total = sum(r.samples for r in reports.values())
            if total >= wanted and all(p in reports for p in able):
                break
            with concurrent.futures.ProcessPoolExecutor(1, initializer=os.nice, initargs=(10,)) as pool:
                self.record_all(interpreter, batches, reports, pool)
        for program in able:
            if program in reports:
                self.judge(interpreter, program, reports[program])
        self.sum(interpreter, reports)

    def record_all(self, interpreter, batches, reports, pool):
        """Records each batch once. A process of @pool judges a batch while the next is recorded."""
        wanted, left, judged = self.options.samples, sum(map(len, batches)), None
        for some in batches + [None]:
            try:
                # Storms (programs that start many processes) are recorded first: they give more
                # samples than their share, so the other programs need fewer.
                total = sum(r.samples for r in reports.values())
                fresh = some and (some, pool.submit(verdicts, *self.recorded(
                    interpreter, some, max(500, (wanted - total) // max(1, left)))))
                left -= len(some or ())
            except ERRORS as error:
                fresh = self.say(False, self.named(interpreter, some), str(error))
            try:
                for program, report in zip(judged[0], judged[1].result()) if judged else ():
                    reports.setdefault(program, self.report()).add(report)
            except ERRORS as error:
                self.say(False, self.named(interpreter, judged[0]), str(error))
            judged = fresh

    @staticmethod
    def named(interpreter, some):
        return "%s %s" % (interpreter.name, " ".join(p.name for p in some))

    def sum(self, interpreter, reports):
        total = sum(r.samples for r in reports.values())
        bad = sum(self.incomplete(p, r) for p, r in reports.items())
        wrong = sum(r.wrong() for r in reports.values())
        if not self.options.program:
            due = INCOMPLETE * total
            good = not wrong and bad <= by_chance(due) and total >= self.options.samples
        else:
            good = not wrong and total > 0
        self.say(good, interpreter.name + " total", "%d samples of %d wanted, %d wrong, "
                 "%d incomplete (%.3f %%)" % (total, self.options.samples, wrong, bad,
                                              100 * bad / max(1, total)))


def verdicts(file, programs_of):
    """Judges one recording. Returns a Report for each (truth files, contract, process ids or None).
    """
    profile = pprof.read(file)
    return [check.verdict(profile, check.load(truth, contract), pids) for truth, contract, pids in programs_of]


def arguments(full_samples):
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="every interpreter, %d samples each"
                        % full_samples)
    parser.add_argument("--only", help="interpreters: a glob of names, or a version's beginning")
    parser.add_argument("--program", help="target programs: globs, a comma between them")
    parser.add_argument("--samples", type=int, help="in each interpreter, all programs together")
    parser.add_argument("--hz", type=int, help="where the usual rate is more than the machine can do")
    parser.add_argument("--krait", default=krait.BUILT)
    parser.add_argument("--keep", metavar="DIR", help="leave the profiles there")
    parser.add_argument("--batch", type=int, default=16, help="programs profiled at once")
    parser.add_argument("--examples", type=int, default=2, help="wrong stacks shown")
    options = parser.parse_args()
    options.samples = options.samples or (full_samples if options.full else FAST_SAMPLES)
    return options


def run(oracle, rows):
    started = time.time()
    try:
        for interpreter in rows:
            oracle.interpreter(interpreter)
    finally:
        if not oracle.options.keep:
            shutil.rmtree(oracle.work, ignore_errors=True)
    print("oracle: %d s" % (time.time() - started))
    return 1 if oracle.failed else 0


def main():
    options = arguments(FULL_SAMPLES)
    return run(Oracle(options), interpreters(options.full, options.only, free_threaded=True))


if __name__ == "__main__":
    sys.exit(main())
