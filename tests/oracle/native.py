#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs krait with native and kernel frames on the programs of targets/native, under every
interpreter. Are the Python, native and kernel frames in the order in which they called each
other (order.py)?

    native.py [--full] [--only GLOB] [--program GLOB] [--samples N] [--krait FILE] [--keep DIR]

20,000 samples are taken for each interpreter (--full: 1,000,000), of all programs together, and
none may be wrong. Half are recorded as users do it, half with all of the interpreter's frames. A
stack that breaks off at a mark isn't wrong; BROKEN limits how many may break off."""
import collections
import concurrent.futures
import copy
import os
import re
import shutil
import signal
import subprocess
import sys
import threading

import modules
import oracle
from judge import order, pprof

HZ = 2499  # highest rate of each recording, because unwinding deep stacks takes long
CPUS = os.cpu_count() or 1
SHORTEST, LONGEST = 1 + order.YOUNG_NS / 1e9, 20  # shortest and longest recording, in seconds
MORE = 1.0  # a recording lasts as long as an idle machine would need, times this factor
FAIR = 0.5  # each program must get at least this share of what an equal division would give it
# Share of samples whose native part may break off. With CPython's JIT compiler it is large, because
# stacks break off while the compiler generates code (docs/decisions/0012).
BROKEN = 0.005 if os.environ.get("PYTHON_JIT") != "1" else 0.5
# Share of a program's samples whose stacks may be cut off because a sample's time is limited: some
# stacks have hundreds of different functions.
CUT = 0.1
FLAGS = ["-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-optimize-sibling-calls"]
# where tests/setup unpacks Debian's headers, for interpreters without headers of their own
UNPACKED = os.path.join(oracle.CACHE, "sid", "root", "usr", "include")


class Native(oracle.Oracle):
    apart = "native"
    machinery = True
    building = threading.Lock()

    @property
    def hz(self):
        """Returns the sampling rate (at most HZ) with which the shortest recording gives the wanted
        number of samples."""
        return self.options.hz or min(HZ, int(MORE * self.options.samples / (2 * CPUS * SHORTEST)))

    def interpreter(self, interpreter):
        """Records all programs at once, again and again, until there are enough samples."""
        os.makedirs(interpreter.scratch, exist_ok=True)
        modules.fetch(oracle.CACHE, interpreter.version)
        running = []
        try:
            self.start(interpreter, running)
            rate, lacking = 2 * self.hz * CPUS, self.lacking(running)
            while lacking and rate:
                seconds = min(max(MORE * lacking / rate, SHORTEST), LONGEST)
                rate = self.round(running, seconds) / seconds
                lacking = self.lacking(running)
        except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as error:
            self.say(False, interpreter.name, str(error))
        finally:
            for one in running:
                one.stop()
        reports = {one.program: one.report for one in running}
        for program, report in reports.items():
            self.judge(interpreter, program, report)
        self.sum(interpreter, reports)

    def start(self, interpreter, running):
        """Starts the programs. They are stopped (SIGSTOP) whenever krait isn't recording."""
        able = self.able(interpreter)
        for i in range(0, len(able), CPUS):
            fresh = [oracle.Running(interpreter, program, 1e6, graph_file(interpreter, program))
                     for program in able[i:i + CPUS]]
            running += fresh
            for one in fresh:
                one.report = order.Report()
                one.wait_ready()
                os.kill(one.pid, signal.SIGSTOP)

    def lacking(self, running):
        """Returns how many samples are still missing."""
        have, fair = [one.report.samples for one in running], self.fair(len(running))
        return max(self.options.samples - sum(have), sum(max(0, fair - n) for n in have), 0)

    def fair(self, programs):
        return FAIR * self.options.samples / max(1, programs)

    def round(self, running, seconds):
        """Makes two recordings at the same time: one as users make it, one with all of the
        interpreter's frames. Returns the number of samples."""
        folded = copy.copy(self)
        folded.machinery = False
        views, pids = (self, folded), [one.pid for one in running]
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            files = list(pool.map(lambda view: view.record("order-%d" % view.machinery, pids,
                                                           seconds, True), views))
        for one in running:
            os.kill(one.pid, signal.SIGSTOP)
            if one.process.poll() is not None:
                raise RuntimeError("%s ended early: %s" % (one.program.name, one.said()))
        checkers = [[(str(one.pid), view.checker(one.interpreter, one.program)) for one in running]
                    for view in views]
        samples = 0
        with concurrent.futures.ProcessPoolExecutor() as pool:
            for reports in pool.map(verdicts, files, checkers):
                for one, report in zip(running, reports):
                    one.report.add(report)
                    samples += report.samples
        return samples

    @property
    def record_options(self):
        return ("--native=full", "--kernel") + ("--interpreter-frames",) * self.machinery

    def prepare(self, interpreter, program):
        with self.building:  # one thread at a time compiles, because programs share libraries
            for source in program.libraries:
                lacks = build(interpreter, source)
                if lacks:
                    return lacks
        return None

    def checker(self, interpreter, program):
        return order.Checker(order.Graph(graph_file(interpreter, program)), has_symbols(interpreter),
                             machinery=self.machinery, each=interpreter.version < (3, 11))

    @staticmethod
    def incomplete(program, report):
        """Returns how many samples lack frames that krait should have. Stacks deeper than krait's
        limit don't count. Stacks cut off because a sample's time was over count only beyond the
        share CUT."""
        bad = sum(report.kinds[k] for k in ("marked", "unmarked", "python"))
        bad -= report.cut[order.DEEP] + min(report.cut[order.LATE], int(CUT * report.samples))
        if program.no_python and report.absent <= oracle.NO_PYTHON * report.samples:
            bad -= report.absent
        return bad

    def allowed(self, interpreter, program, report):
        return max(BROKEN, program.may_lack(interpreter)) * report.samples

    def judge(self, interpreter, program, report):
        bad = self.incomplete(program, report)
        foreign = report.kinds["foreign"]
        many = (bad > oracle.FEW + self.allowed(interpreter, program, report)
                or foreign > oracle.FOREIGN * report.samples)
        marks = ", ".join("%s %d" % each for each in sorted(report.marks.items()))
        self.say(not (report.wrong() or many or not report.kinds["right"]),
                 "%s %s" % (interpreter.name, program.name),
                 "%d samples, %d in a wrong order, %d foreign, native part broken off in %d, "
                 "unmarked in %d (%d at first), Python part incomplete in %d%s; longest %d frames, "
                 "%d of the program"
                 % (report.samples, report.wrong(), foreign, report.kinds["marked"],
                    report.kinds["unmarked"], report.kinds["young"], report.kinds["python"],
                    " (%s)" % marks if marks else "", report.longest, report.deepest))
        for example in report.examples[:self.options.examples]:
            print("  " + example.replace("\n", "\n  "), flush=True)

    def sum(self, interpreter, reports):
        total = sum(r.samples for r in reports.values())
        wrong = sum(r.wrong() for r in reports.values())
        bad = sum(self.incomplete(p, r) for p, r in reports.items())
        due = sum(self.allowed(interpreter, p, r) for p, r in reports.items())
        least = min([r.samples for r in reports.values()] or [0])
        good = not wrong and bad <= due + 3 * due ** 0.5
        good = good and total >= self.options.samples and least >= self.fair(len(reports))
        self.say(good, interpreter.name + " order", "%d samples of %d wanted, %d at least of a "
                 "program, %d in a wrong order, %d incomplete (%.3f %%)" % (
                     total, self.options.samples, least, wrong, bad, 100 * bad / max(1, total)))


def with_symbols(profile):
    """Gives C functions in the profile their symbols as names. krait shows the names that Python
    gives to C functions (ext.hop), but a program's graph has symbols."""
    for location in {loc for locs in profile.locations.values() for loc in locs}:
        if location.kind == "native" and re.match(r"(?!_[ZR])[A-Za-z_]\w*$", location.system):
            location.name = location.system
    return profile


def verdicts(file, checkers):
    """Judges the recording @file, and returns a Report for each (process id, Checker). Runs in a
    process of its own."""
    profile, samples = with_symbols(pprof.read(file)), collections.defaultdict(list)
    for sample in profile.samples:
        samples[str(sample.labels.get("pid", ""))].append(sample)
    return [order.verdict(profile, checker, samples[pid]) for pid, checker in checkers]


def graph_file(interpreter, program):
    return os.path.join(interpreter.scratch, program.name + ".json")


def build(interpreter, source):
    """Compiles a library of a program, once for all interpreters. Returns why that can't be done,
    or None."""
    file = os.path.join(oracle.TARGETS, "native", source)
    name, kind = os.path.splitext(source)
    command = {".c": ["gcc", "-std=gnu17", "-pthread"],
               ".cc": ["g++", "-static-libstdc++", "-static-libgcc"]}[kind] + FLAGS
    out = kept = "lib%s.so" % name
    if not shutil.which(command[0]):
        return "no " + command[0]
    if name == "ext":
        headers = python_headers(interpreter)
        if not headers:
            return "no headers of %d.%d.%d" % interpreter.version
        command += ["-isystem", headers, "-idirafter", os.path.dirname(headers)]
        out, kept = "ext.so", "ext-%d.so" % interpreter.version[0]
    out, kept = os.path.join(interpreter.scratch, out), os.path.join(oracle.SCRATCH, kept)
    if not os.path.exists(kept) or os.stat(kept).st_mtime < os.stat(file).st_mtime:
        new = "%s.%d" % (kept, os.getpid())
        subprocess.run(command + ["-o", new, file], check=True, timeout=300)
        os.rename(new, kept)
    if not os.path.exists(out) or not os.path.samefile(out, kept):
        if os.path.exists(out):
            os.remove(out)
        # not a symbolic link, because a chrooted interpreter sees only its scratch directory
        os.link(kept, out)
    return None


def python_headers(interpreter):
    """Returns the directory that has the Python.h of an interpreter, or None."""
    said = subprocess.run([interpreter.path, "-c", "import sysconfig, sys\nsys.stdout.write("
                           "sysconfig.get_paths()['include'])"], env=interpreter.environment(),
                          cwd=oracle.ROOT, stdout=subprocess.PIPE, check=True).stdout.decode()
    for folder in (said if interpreter.kind != "chroot" else "",
                   os.path.join(UNPACKED, os.path.basename(said)),
                   os.path.join("/usr/include", os.path.basename(said))):
        if os.path.exists(os.path.join(folder, "patchlevel.h")):
            with open(os.path.join(folder, "patchlevel.h"), encoding="utf-8") as f:
                minor = re.search(r"PY_MINOR_VERSION\s+(\d+)", f.read()).group(1)
            if int(minor) == interpreter.version[1]:
                return folder
    return None


def has_symbols(interpreter):
    """Tells whether this interpreter's files have symbols for all of its functions."""
    if not hasattr(interpreter, "symbols"):
        said = subprocess.run([interpreter.path, "-c", "print(open('/proc/self/maps').read())"],
                              env=interpreter.environment(), cwd=oracle.ROOT,
                              stdout=subprocess.PIPE, check=True).stdout.decode()
        files = set(re.findall(r" r-xp .* (/\S*python[^/\s]*)$", said, re.M))
        sections = [subprocess.run(["readelf", "-SW", file], stdout=subprocess.PIPE, check=False,
                                   stderr=subprocess.DEVNULL).stdout.decode() for file in files
                    if interpreter.kind != "chroot"]
        interpreter.symbols = any(" .symtab " in each for each in sections)
    return interpreter.symbols


def rows(options):
    """Returns the interpreters to test. In the fast tier: one of each version that differs from
    others, one with tail calls, and the newest shared library of a distribution. In the full
    tier: all."""
    found = oracle.interpreters(True, options.only)
    if options.full or options.only:
        return found
    chosen = oracle.unlike(oracle.interpreters(False, None))
    others = [r for r in found if r.name not in {c.name for c in chosen}]
    return (chosen + [r for r in others if r.kind == "tailcall"] +
            [r for r in others if r.kind == "shared"][-1:])


def main():
    options = oracle.arguments(oracle.FULL_SAMPLES)
    # exits on SIGTERM, so that no stopped program is left behind
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    return oracle.run(Native(options), rows(options))


if __name__ == "__main__":
    sys.exit(main())
