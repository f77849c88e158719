#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Does a recording say rightly how long threads waited for locks, and which threads ended these
waits? The threads of lock_blame_target.py measure their waits by their own clock, and know who
ends them.

lock_blame.py [--full] [--loose] [--only GLOB] [--seconds N] [--faults]

--loose: wider limits for a busy machine, on which the program's own clocks include waits for the
GIL. --faults: gives the judge recordings with known mistakes, each of which it must refuse."""
import argparse
import collections
import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "oracle"))
import oracle  # noqa: E402
from judge import pprof  # noqa: E402

WAITS = 0.01  # the recorded waits of a function may differ from the truth by this part of it
BLAME = 0.03  # the recorded blame of a function may differ from the truth by this part of it
LOOSE = 0.1  # the limit for waits and for blame with --loose
STATES = ("lock", "gil")
BUDGET = "50"  # percentage of a CPU that recording waits may use: enough to take each wait's stack
FAST = ("python3-dist",)
SOME = ("python2.7-pyenv", "python3-dist", "python3.12-pyenv", "python3.15-sid")

# What a recording or the program's clocks say. .waits: {function: ns}; .blame: {(function that
# waits, function that ends the wait): ns}.
Account = collections.namedtuple("Account", "waits blame")


def read_truth(path):
    with open(path) as f:
        rows = json.load(f)
    out = Account(collections.Counter(), collections.Counter())
    for waiter, waker, ns in rows:
        out.waits[waiter] += ns
        out.blame[waiter, waker] += ns
    return out


def recorded_of(profile, functions):
    """Returns an Account of what the recording says. Each thread has the name of its function. Only
    borrows() runs in the main thread of another process."""
    names = [name for name, _ in profile.sample_types]
    off, blame = names.index("off_cpu"), names.index("lock_blame")
    out = Account(collections.Counter(), collections.Counter())
    for sample in profile.samples:
        at = [frame.name.split(".")[-1] for frame in profile.stack(sample) if frame.kind == "python"]
        mine = [name for name in at if name in functions]
        if mine and "block" in at and sample.labels.get("state") in STATES and sample.labels.get("idle") != "yes":
            out.waits[mine[0]] += sample.values[off]
        if sample.values[blame]:
            out.blame[sample.labels.get("waiter", ""), mine[0] if mine else "?"] += sample.values[blame]
    return out


def judge(truth, recorded, waits=WAITS, blame=BLAME):
    """Compares the recording with the truth. Returns what is wrong, as a list of texts. @waits and
    @blame: the part by which waits and blame may be wrong."""
    wrong = []
    for function, ns in sorted(truth.waits.items()):
        got = recorded.waits[function]
        if abs(got - ns) > waits * ns:
            wrong.append("%s() waited %.1f ms, recorded %.1f" % (function, ns / 1e6, got / 1e6))
    for pair, ns in sorted(truth.blame.items()):
        got = recorded.blame[pair]
        if abs(got - ns) > blame * ns:
            wrong.append("%s() waited %.1f ms for %s(), recorded %.1f" % (pair[0], ns / 1e6, pair[1], got / 1e6))
    whole = sum(truth.blame.values())
    for (waiter, waker), got in sorted(recorded.blame.items()):
        if waiter in truth.waits and (waiter, waker) not in truth.blame and got > blame * truth.waits[waiter]:
            wrong.append("%s() is blamed for %.1f ms of %s()" % (waker, got / 1e6, waiter))
        if waker == "submits" and got > blame * whole:
            wrong.append("submits() is blamed for %.1f ms of waiting for work" % (got / 1e6))
    return wrong


def library(scratch):
    out = os.path.join(scratch, "liblock.so")
    os.makedirs(scratch, exist_ok=True)
    subprocess.run(["gcc", "-std=gnu17", "-O2", "-fPIC", "-shared", "-pthread", "-o", out,
                    os.path.join(TESTS, "samples", "lock_blame.c")], check=True, timeout=60)
    return out


def run(krait, interpreter, seconds):
    """Records the program. Returns (truth, profile), or the reason why it couldn't be recorded."""
    folder = tempfile.mkdtemp(prefix="krait-locks-")
    out, truth = os.path.join(folder, "locks.pb.gz"), os.path.join(folder, "truth.json")
    try:
        done = subprocess.run(
            [krait, "record", "-q", "--wall", "--wait-budget", BUDGET, "--no-times", "-o", out, "--", interpreter.path,
             os.path.join(TESTS, "samples", "lock_blame_target.py"), library(interpreter.scratch), truth, str(seconds)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=oracle.ROOT, check=False,
            timeout=60 + 3 * seconds, env=interpreter.environment())
        if done.returncode:
            return "exit code %d: %s" % (done.returncode, done.stderr.decode()[-300:])
        return read_truth(truth), pprof.read(out)
    finally:
        shutil.rmtree(folder)


def test(krait, interpreter, seconds, loose):
    what = "lock-blame " + interpreter.name
    got = run(krait, interpreter, seconds)
    if isinstance(got, str):
        print("FAIL %s: %s" % (what, got))
        return False
    truth = got[0]
    recorded = recorded_of(got[1], set(truth.waits) | {waker for _, waker in truth.blame} | {"submits"})
    wrong = judge(truth, recorded, LOOSE, LOOSE) if loose else judge(truth, recorded)
    print("%s %s: waited %.0f ms, recorded %.0f: %s" % (
        "FAIL" if wrong else "PASS", what, sum(truth.waits.values()) / 1e6, sum(recorded.waits[f] for f in truth.waits) / 1e6,
        ", ".join("%s for %s %.0f/%.0f" % (pair + (recorded.blame[pair] / 1e6, ns / 1e6))
                  for pair, ns in sorted(truth.blame.items()))), flush=True)
    for text in wrong:
        print("  " + text)
    return not wrong


def faults():
    """Yields mistakes: each changes a recording that agrees with the truth."""
    def agreeing():
        blame = collections.Counter({("asks", "reads"): 1500000000, ("asks", "writes"): 600000000,
                                     ("eats", "feeds"): 2000000000, ("shares", "borrows"): 1800000000})
        waits = collections.Counter()
        for (waiter, _), ns in blame.items():
            waits[waiter] += ns
        return Account(waits, blame)

    def move(counter, source, target, share):
        ns = int(counter[source] * share)
        counter[source] -= ns
        counter[target] += ns

    changes = {
        "a wait in fifty is missing": lambda r: move(r.waits, "asks", "", 0.02),
        "the waker of the wait before": lambda r: move(r.blame, ("asks", "writes"), ("asks", "reads"), 0.1),
        "a lost wake-up in twenty": lambda r: move(r.blame, ("eats", "feeds"), ("", ""), 0.05),
        "the waiter is another thread": lambda r: move(r.blame, ("asks", "reads"), ("eats", "reads"), 1),
        "an interrupted thread counts as the waker": lambda r: r.blame.update({("eats", "owns"): 100000000}),
        "other processes aren't seen": lambda r: r.blame.pop(("shares", "borrows")),
        "waiting for work counts": lambda r: r.blame.update({("pool", "submits"): 2000000000}),
    }
    good = not judge(agreeing(), agreeing())
    print("%s lock-blame agrees" % ("PASS" if good else "FAIL"))
    for name, change in changes.items():
        recorded = copy.deepcopy(agreeing())
        change(recorded)
        caught = bool(judge(agreeing(), recorded))
        print("%s lock-blame refuses: %s" % ("PASS" if caught else "FAIL", name))
        good &= caught
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--loose", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--faults", action="store_true")
    options = parser.parse_args()
    good = faults()
    if options.faults:
        return 0 if good else 1
    krait = os.environ.get("KRAIT", os.path.join(oracle.ROOT, "build", "release", "krait"))
    rows = oracle.interpreters(True, options.only)
    if not options.only:
        rows = [row for row in rows if row.name in (SOME if options.full else FAST)]
    if not rows:
        print("SKIP lock-blame: no test interpreters")
    if os.geteuid():
        print("SKIP lock-blame: needs root")
        rows = []
    for row in rows:
        good &= test(krait, row, options.seconds or (10 if options.full else 2), options.loose)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
