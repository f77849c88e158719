#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""shares.py [VERSION]: do samples fall where the CPU time went?

phases.py measures the CPU time of its phases with the thread's own clock. Of 20,000 samples
no phase's share may be off by more than three standard errors. By chance one of a hundred right
profilers would fail somewhere among all phases and versions. So a version with a share that is
off is measured again, and fails if the same share is off again, in the same direction.
"""
import concurrent.futures
import json
import math
import os
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "oracle"))
import oracle  # noqa: E402
from judge import pprof  # noqa: E402

SAMPLES = 20000
HZ = 3999
ERRORS = 3


def measured(krait, interpreter, folder):
    """Returns ({phase: (share of the CPU time, share of the samples)}, the number of samples)."""
    out = os.path.join(folder, interpreter.name + ".pb.gz")
    program = os.path.join(TESTS, "samples", "phases.py")
    done = subprocess.run(
        [krait, "record", "-q", "-F", str(HZ), "--no-times", "-o", out, "--",
         interpreter.path, program, "%.2f" % (1.06 * SAMPLES / HZ)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=oracle.ROOT, timeout=300, check=False,
        env=interpreter.environment())
    if done.returncode:
        raise RuntimeError("exit code %d: %s" % (done.returncode, done.stderr.decode()[-300:]))
    spent = json.loads(done.stdout)
    profile, seen, others = pprof.read(out), dict.fromkeys(spent, 0), 0
    for sample in profile.samples:
        names = {l.name for l in profile.stack(sample) if l.kind == "python"}
        phase = names & set(spent)
        if len(phase) > 1:
            raise RuntimeError("two phases in one stack")
        if phase:
            seen[phase.pop()] += sample.values[0]
        else:
            others += sample.values[0]
    total, cpu = sum(seen.values()), sum(spent.values())
    if total < SAMPLES:
        raise RuntimeError("only %d samples in phases, %d elsewhere" % (total, others))
    return {p: (spent[p] / cpu, seen[p] / total) for p in spent}, total


def errors(shares, total):
    """Returns {phase: the error of its share, in standard errors}."""
    return {phase: (found - true) / math.sqrt(true * (1 - true) / total)
            for phase, (true, found) in shares.items()}


def off(shares, total):
    """Returns the phases whose share is off by too many standard errors, in the form of errors().
    """
    return {phase: e for phase, e in errors(shares, total).items() if abs(e) > ERRORS}


def test(krait, interpreter, folder):
    what = "shares " + interpreter.name
    try:
        shares, total = measured(krait, interpreter, folder)
        wrong = off(shares, total)
        if wrong:
            again, total = measured(krait, interpreter, folder)
            repeated = off(again, total)
            wrong = {p: e for p, e in repeated.items() if p in wrong and e * wrong[p] > 0}
            shares = again
    except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as error:
        print("FAIL %s: %s" % (what, error), flush=True)
        return False
    text = ", ".join("%s %.2f/%.2f %%" % (p[6:], 100 * found, 100 * true)
                     for p, (true, found) in sorted(shares.items()))
    said = "".join("; %s off by %.1f standard errors" % each for each in sorted(wrong.items()))
    print("%s %s: seen/true %s%s" % ("FAIL" if wrong else "PASS", what, text, said), flush=True)
    return not wrong


def main():
    krait = os.environ.get("KRAIT", os.path.join(oracle.ROOT, "build", "release", "krait"))
    only = sys.argv[1] if len(sys.argv) > 1 else None
    full = bool(os.environ.get("KRAIT_TEST_FULL"))
    rows = oracle.interpreters(full, only)
    rows = rows if full or only else oracle.unlike(rows)
    rows = [row for row in rows if row.kind in ("static", "shared")]
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda row: test(krait, row, folder), rows))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
