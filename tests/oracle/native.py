#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs krait with native and kernel frames on the programs of native/ under every interpreter: are
Python, native and kernel frames in the order in which they called each other (order.py)?

    native.py [--full] [--only GLOB] [--program GLOB] [--samples N] [--krait FILE] [--keep DIR]
"""
import os
import re
import shutil
import subprocess
import sys

import oracle
import order

HZ = 1999            # a stack may have 2,048 native frames
BROKEN = 0.005       # share of samples whose native part breaks off
TRUNCATED = "[incomplete: native stack: deeper than 2,048 frames]"
KINDS = ("static", "shared", "tailcall")
FLAGS = ["-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-optimize-sibling-calls"]
# Headers of interpreters that come without: Debian's, unpacked by tests/setup.
UNPACKED = os.path.join(oracle.CACHE, "sid", "root", "usr", "include")


class Native(oracle.Oracle):
    """As users see it, and with all frames of the interpreter, in turn."""
    folder, hz = "native", HZ
    report = order.Report
    machinery = True

    def record(self, name, pids, seconds, times):
        """With times: what wasn't ready to be unwound with at first."""
        return oracle.Oracle.record(self, name, pids, seconds + order.YOUNG_NS / 1e9, True)

    @property
    def record_options(self):
        return ("--native=full", "--kernel") + ("--interpreter-frames",) * self.machinery

    def batch(self, interpreter, some, samples):
        seen = oracle.Oracle.batch(self, interpreter, some, samples / 2)
        self.machinery = not self.machinery
        for program, report in oracle.Oracle.batch(self, interpreter, some, samples / 2).items():
            seen[program].add(report)
        return seen

    def prepare(self, interpreter, program):
        for source in program.libraries:
            lacks = build(interpreter, source)
            if lacks:
                return lacks
        graph = graph_file(interpreter, program)
        done = subprocess.run([interpreter.path, program.path, "--stacks", graph], timeout=300,
                              env=interpreter.environment(), cwd=oracle.ROOT, check=False,
                              stderr=subprocess.PIPE)
        if done.returncode:
            raise OSError(done.stderr.decode(errors="replace")[-300:])
        return None

    def verdict(self, profile, interpreter, program, pids):
        return order.verdict(profile, self.checker(interpreter, program), pids)

    def checker(self, interpreter, program):
        return order.Checker(order.Graph(graph_file(interpreter, program)), has_symbols(interpreter),
                             machinery=self.machinery, each=interpreter.version < (3, 11))

    @staticmethod
    def incomplete(program, report):
        """Samples that lack frames which were there; a limit's cut isn't one."""
        bad = sum(report.kinds[k] for k in ("marked", "unmarked", "python"))
        bad -= report.marks[TRUNCATED]
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
                    report.kinds["unmarked"], report.kinds["young"], report.kinds["python"], " (%s)" % marks if marks else "",
                    report.longest, report.deepest))
        for example in report.examples[:self.options.examples]:
            print("  " + example.replace("\n", "\n  "), flush=True)

    def sum(self, interpreter, reports):
        total = sum(r.samples for r in reports.values())
        wrong = sum(r.wrong() for r in reports.values())
        bad = sum(self.incomplete(p, r) for p, r in reports.items())
        due = sum(self.allowed(interpreter, p, r) for p, r in reports.items())
        good = not wrong and bad <= due + 3 * due ** 0.5
        self.say(good and (self.options.program or total >= self.options.samples),
                 interpreter.name + " order", "%d samples of %d wanted, %d in a wrong order, %d "
                 "incomplete (%.3f %%)" % (total, self.options.samples, wrong, bad,
                                           100 * bad / max(1, total)))


def graph_file(interpreter, program):
    return os.path.join(interpreter.scratch, program.name + ".json")


def build(interpreter, source):
    """Compiles a part of a program; why that can't be, or None."""
    file = os.path.join(oracle.HERE, "native", source)
    name, kind = os.path.splitext(source)
    command = {".c": ["gcc", "-std=gnu17", "-pthread"],
               ".cc": ["g++", "-static-libstdc++", "-static-libgcc"]}[kind] + FLAGS
    out = "lib%s.so" % name
    if not shutil.which(command[0]):
        return "no " + command[0]
    if name == "ext":
        headers = python_headers(interpreter)
        if not headers:
            return "no headers of %d.%d.%d" % interpreter.version
        command += ["-isystem", headers, "-idirafter", os.path.dirname(headers)]
        out = "ext.so"
    out = os.path.join(interpreter.scratch, out)
    if not os.path.exists(out) or os.stat(out).st_mtime < os.stat(file).st_mtime:
        subprocess.run(command + ["-o", out + ".new", file], check=True, timeout=300)
        os.rename(out + ".new", out)
    return None


def python_headers(interpreter):
    """The directory with the Python.h of an interpreter, or None."""
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
    """Do the files that this interpreter consists of have names for all of its functions?"""
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
    """Fast: each version as the distribution builds it, static and shared; full: all."""
    found = oracle.interpreters(True, options.only)
    return [r for r in found if options.full or options.only or r.kind in KINDS]


def main():
    options = oracle.arguments(oracle.FULL_SAMPLES)
    options.batch = 16  # each recording begins with seconds in which not all is ready
    return oracle.run(Native(options), rows(options))


if __name__ == "__main__":
    sys.exit(main())
