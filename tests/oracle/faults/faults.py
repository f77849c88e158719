#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests the oracle itself: right profiles must pass, and wrong ones must not.

drivers/inside.py makes the profiles, within the targets and without krait. For each fault that
inside.py can make, check.py must find something wrong, and without a fault it must find nothing."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import oracle  # noqa: E402
from judge import check, pprof  # noqa: E402

# fault: (program that shows it, first and last version in which it can be made)
FAULTS = {
    # before 3.8, the instructions beside a call have the same line as the call
    "instruction_later": ("multiline", (3, 8), None),
    "instruction_earlier": ("multiline", (3, 8), None),
    "instruction_zero": ("chains", None, None),
    "instruction_halved": ("chains", None, None),
    "instruction_doubled": ("chains", None, None),
    "first_line": ("chains", None, None),
    "line_plus_one": ("chains", None, None),
    "leaf_line_plus_one": ("chains", None, None),
    "line_minus_one": ("multiline", None, None),
    "column_from_zero": ("chains", (3, 11), None),
    "end_from_zero": ("chains", (3, 11), None),
    "unsigned_line_steps": ("multiline", (3, 6), None),
    "stale_name": ("churn", None, None),
    "stale_lines": ("churn", None, None),
    "name_of_caller": ("chains", None, None),
    "code_of_last_sample": ("chains", None, None),
    "leaf_dropped": ("chains", None, None),
    "middle_dropped": ("chains", None, None),
    "root_dropped": ("chains", None, None),
    "frame_twice": ("chains", None, None),
    "frames_swapped": ("chains", None, None),
    "leaf_swapped": ("chains", None, None),
    "every_second": ("chains", None, None),
    "generators_missed": ("generators", None, None),
    "root_of_another": ("chains", None, None),
    "cut_unmarked": ("recursion", None, None),
    "cut_at_leaf": ("recursion", None, None),
    "name_cut": ("text", None, None),
    "wide_names_as_bytes": ("text", (3, 6), None),
    "class_of_self": ("decorated", None, None),
    "file_cut": ("chains", None, None),
}
RIGHT = ("chains", "multiline", "recursion", "generators", "decorated", "churn", "text", "threads")
# Seconds for which a target runs: churn needs time to use addresses again, and reading the stacks
# of recursion takes long.
SECONDS = {"churn": 1, "recursion": 0.8}
# A run has to have this many samples: then a fault shows. On a busy machine a run may have fewer.
ENOUGH = 50


def sampled(interpreter, program, fault, folder, times=1):
    """Runs the program, lets inside.py sample it, and returns check.py's report."""
    out = os.path.join(folder, "%s-%s.pb.gz" % (interpreter.name, fault or "right"))
    command = [interpreter.path, os.path.join(oracle.HERE, "drivers", "inside.py"), program.path,
               str(times * SECONDS.get(program.name, 0.3)), out]
    subprocess.run(command + ([fault] if fault else []), check=True, timeout=300, cwd=oracle.ROOT,
                   env=interpreter.environment(), stdout=subprocess.DEVNULL)
    checker = check.load(oracle.truth_of(interpreter, program), program.contract)
    return check.verdict(pprof.read(out), checker)


def test(interpreter, program, fault, folder):
    what = "%s oracle fault %s (%s)" % (interpreter.name, fault, program.name)
    if not fault:
        what = "%s oracle without a fault (%s)" % (interpreter.name, program.name)
    try:
        report = sampled(interpreter, program, fault, folder)
        if report.samples < ENOUGH:
            report = sampled(interpreter, program, fault, folder, 8)
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        print("FAIL %s: %s" % (what, error))
        return False
    odd = oracle.odd_leaves(program, report) if fault else []
    found = report.wrong() + len(odd)
    good = bool(found) == bool(fault) and report.samples > 5
    print("%s %s: %d samples, %d impossible, %d wrong lines, %d wrong names%s" % (
        "PASS" if good else "FAIL", what, report.samples, report.impossible, report.wrong_lines,
        report.wrong_names, "".join(", " + each for each in odd)), flush=True)
    if not good and not fault:
        print("\n".join(report.examples[:2]))
    return good


def main():
    rows = oracle.interpreters(False, sys.argv[1] if len(sys.argv) > 1 else None)
    if len(sys.argv) < 2 and not os.environ.get("KRAIT_TEST_FULL"):
        # these versions have, between them, every kind of frame and of line table
        wanted = {(2, 7), (3, 9), (3, 11), max(r.version[:2] for r in rows)}
        rows = [r for r in rows if r.version[:2] in wanted]
    good = True
    by_name = {p.name: p for p in oracle.programs("*")}
    with tempfile.TemporaryDirectory() as folder:
        for interpreter in rows:
            os.makedirs(interpreter.scratch, exist_ok=True)
            for name in RIGHT:
                good &= test(interpreter, by_name[name], None, folder)
            for fault, (name, first, last) in FAULTS.items():
                minor = interpreter.version[:2]
                if (first and minor < first) or (last and minor > last):
                    continue
                good &= test(interpreter, by_name[name], fault, folder)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
