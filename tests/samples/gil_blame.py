#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Does a recording say rightly how long threads waited for the GIL, and what these waits are blamed
on? The threads of gil_blame_target.py note when they began to take the GIL, when they had it,
when they gave it away, and how much CPU time they used meanwhile. From these notes follows how
long each function's threads waited, and how long other threads waited while a thread of this
function held the GIL. A waiting thread looks at the GIL every 5 ms. The CPU time that this takes
is no wait; on a busy machine it is up to some percent.

gil_blame.py [--full] [--only GLOB] [--seconds N] [--faults]

--faults: gives the judge profiles with known mistakes, each of which it must refuse."""
import argparse
import bisect
import collections
import os
import shutil
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "oracle"))
import oracle  # noqa: E402
from judge import pprof  # noqa: E402

HZ = 4999
KINDS = ("asks", "sorts", "matches", "sleeps")
# the recorded wait of a function's threads may differ from the truth by this part of it
WAITS = 0.01
BLAME = 0.03  # recorded blame may differ from the truth by this part of it
ERRORS = 4  # blame that was sampled may be wrong by this many standard errors
# A function's blame isn't judged if it is less than FEW_NS, or less than the part FEW of all blame.
# A function that holds the GIL only for microseconds notes some microseconds late that it has the
# GIL.
FEW_NS, FEW = 50e6, 0.01
FAST = ("python2.7-pyenv", "python3-dist", "python3.12-pyenv", "python3.15-sid")
# name, seconds for which a thread leaves the GIL to others each time, the functions that the
# threads run
MIXED = ("mixed", 0.002, ("sorts", "matches", "sleeps", "asks", "asks"))
PROGRAMS = (MIXED, ("pair", 0.001, ("sorts", "asks")), ("fair", 0.0, ("sorts", "sorts", "matches", "matches")),
            ("many", 0.001, ("sorts", "matches", "sleeps") + 13 * ("asks",)))

# Another thread may take a thread's CPU just before the thread sleeps for the GIL, or when it has
# just got the GIL. At such a time the thread doesn't wait for the GIL. The truth can't tell how
# long this was, so waits with such a switch may be missing (.unsure). If the switch happens in a
# futex call, krait counts it as a wait, though the thread didn't sleep (.extra).
Truth = collections.namedtuple("Truth", "waits unsure extra blame asleep")


def read_accounts(folder):
    """Returns the notes of all threads as [(function, what, from, to, part)]; see struct span in
    gil_blame.c."""
    out = []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name)) as f:
            for line in f:
                what, *times = line.split()
                out.append((name.split(".")[1], what, *map(int, times)))
    return out


def truth_of(spans):
    """Returns a Truth. By function, in ns: how long its threads waited (.waits), how much of this
    were waits in which a thread lost its CPU (.unsure), how long a thread had no CPU and may
    have waited (.extra), and how long other threads waited while it held the GIL (.blame).
    .asleep, in ns, is the part of all blame in which the holder slept; a sleep may end late
    because the thread gets no CPU."""
    waits, unsure, extra, blame = (collections.Counter() for _ in range(4))
    holds = sorted((begin, end, function, nap) for function, what, begin, end, nap in spans if what == "H")
    begins = [hold[0] for hold in holds]
    asleep = 0
    for function, what, begin, end, cpu in spans:
        if what == "P":
            extra[function] += end - begin - cpu
        if what in "HP":
            continue
        waits[function] += end - begin - cpu
        unsure[function] += (end - begin - cpu) * (what == "U")
        # Only one thread holds the GIL at a time, so the times of the holders don't overlap.
        at = max(0, bisect.bisect_right(begins, begin) - 1)
        while at < len(holds) and holds[at][0] < end:
            since, until, holder, nap = holds[at]
            blame[holder] += max(0, min(end, until) - max(begin, since))
            asleep += max(0, min(end, until, since + nap) - max(begin, since))
            at += 1
    return Truth(waits, unsure, extra, blame, asleep)


Recorded = collections.namedtuple("Recorded", "waits blame sampled asleep")


def recorded_of(profile):
    """Returns what the recording says, by function. .sampled: how many samples have blame; .asleep:
    the blame of samples in which the thread slept with the GIL."""
    names = [name for name, _ in profile.sample_types]
    wait, blame, off = (names.index(name) for name in ("gil_wait", "gil_blame", "off_cpu"))
    out = Recorded(*(collections.Counter() for _ in range(4)))
    for sample in profile.samples:
        at = [frame.name.split(".")[-1] for frame in profile.stack(sample) if frame.kind == "python"]
        for function in set(at) & set(KINDS):
            out.waits[function] += sample.values[wait]
            out.blame[function] += sample.values[blame]
            out.sampled[function] += sample.values[blame] > 0
            if sample.labels.get("state") == "sleep" and sample.labels.get("gil") == "held":
                out.asleep[function] += sample.values[blame]
    return out


def judge(truth, recorded):
    """Compares the recording with the truth. Returns what is wrong, as a list of texts."""
    wrong = []
    for function, ns in sorted(truth.waits.items()):
        least, most = (1 - WAITS) * ns - truth.unsure[function], (1 + WAITS) * ns + truth.extra[function]
        if not least <= recorded.waits[function] <= most:
            wrong.append("%s waited %.1f ms, recorded %.1f" % (function, ns / 1e6, recorded.waits[function] / 1e6))
    few = max(FEW_NS, FEW * sum(truth.blame.values()))
    for function in KINDS:
        ns, got, n = truth.blame[function], recorded.blame[function], recorded.sampled[function]
        if ns < few and got < few:
            continue
        error = 0 if function == "sleeps" else ERRORS / max(n, 1) ** 0.5
        if abs(got - ns) > max(BLAME, error) * ns:
            wrong.append("%s is to blame for %.1f ms, recorded %.1f of %d samples" % (function, ns / 1e6, got / 1e6, n))
    # A sleep counts until the thread has a CPU again, so a recorded sleep may be longer than the
    # thread asked for.
    least, most = (1 - BLAME) * truth.asleep, (1 + BLAME) * truth.blame["sleeps"]
    if not least <= recorded.asleep["sleeps"] <= most:
        wrong.append("while sleeps() slept with the GIL others waited %.1f to %.1f ms, recorded %.1f" % (
            truth.asleep / 1e6, truth.blame["sleeps"] / 1e6, recorded.asleep["sleeps"] / 1e6))
    for function in set(KINDS) - {"sleeps"}:
        if recorded.asleep[function] > BLAME * recorded.blame[function]:
            wrong.append("%s() is said to have slept with the GIL" % function)
    return wrong


def library(scratch):
    out = os.path.join(scratch, "libblame.so")
    os.makedirs(scratch, exist_ok=True)
    subprocess.run(["gcc", "-std=gnu17", "-O2", "-fPIC", "-shared", "-o", out,
                    os.path.join(TESTS, "samples", "gil_blame.c")], check=True, timeout=60)
    return out


def run(krait, interpreter, program, seconds):
    """Records the program. Returns (truth, profile), or the reason why it couldn't be recorded."""
    _, gap, kinds = program
    folder = tempfile.mkdtemp(prefix="krait-blame-")
    out = os.path.join(interpreter.scratch, "blame.pb.gz")
    try:
        lib = library(interpreter.scratch)
        done = subprocess.run(
            [krait, "record", "-q", "-F", str(HZ), "--wall", "--no-times", "-o", out, "--", interpreter.path,
             os.path.join(TESTS, "samples", "gil_blame_target.py"), lib, folder, str(seconds), str(gap)] + list(kinds),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=oracle.ROOT, check=False,
            timeout=120 + 3 * seconds, env=interpreter.environment())
        if done.returncode:
            return "exit code %d: %s" % (done.returncode, done.stderr.decode()[-300:])
        return truth_of(read_accounts(folder)), pprof.read(out)
    finally:
        shutil.rmtree(folder)


def test(krait, interpreter, program, seconds):
    what = "gil-blame %s %s" % (program[0], interpreter.name)
    got = run(krait, interpreter, program, seconds)
    if isinstance(got, str):
        print("FAIL %s: %s" % (what, got))
        return False
    truth, recorded = got[0], recorded_of(got[1])
    wrong = judge(truth, recorded)
    waited, blamed = sum(truth.waits.values()), sum(truth.blame.values())
    print("%s %s: waited %.0f ms, recorded %.0f; blamed %.0f ms, recorded %.0f: %s" % (
        "FAIL" if wrong else "PASS", what, waited / 1e6, sum(recorded.waits.values()) / 1e6, blamed / 1e6,
        sum(recorded.blame.values()) / 1e6, ", ".join("%s %.0f/%.0f" % (
            f, recorded.blame[f] / 1e6, truth.blame[f] / 1e6) for f in KINDS if truth.blame[f])), flush=True)
    for text in wrong:
        print("  " + text)
    return not wrong


def faults():
    """Yields mistakes: each changes a recording that agrees with the truth."""
    def agreeing():
        spans = [("asks", "W", 0, 905000000, 5000000), ("asks", "W", 950000000, 1000000000, 0), ("sorts", "H", 0, 500000000, 0),
                 ("sleeps", "H", 500000000, 900000000, 390000000), ("matches", "W", 0, 400000000, 0)]
        truth = truth_of(spans)
        return truth, Recorded(collections.Counter(truth.waits), collections.Counter(truth.blame),
                               collections.Counter(dict.fromkeys(KINDS, 100000)),
                               collections.Counter({"sleeps": truth.asleep}))

    def move(counter, source, target, share):
        ns = int(counter[source] * share)
        counter[source] -= ns
        counter[target] += ns

    changes = {
        "waits 2 % short, as without the time that threads were ready": lambda r: r.waits.update({"asks": -19000000}),
        "one thread's waits are another's": lambda r: move(r.waits, "asks", "matches", 0.05),
        "looks at the GIL count as waits": lambda r: r.waits.update({"matches": 5000000}),
        "blame of the holder at the wait's beginning": lambda r: move(r.blame, "sleeps", "sorts", 0.1),
        "one waiter counted for all": lambda r: r.blame.update({"sorts": -400000000}),
        "of a holder's sleeps one in three has its blame": lambda r: r.asleep.update({"sleeps": -200000000}),
        "a holder that sleeps isn't seen": lambda r: (r.blame.pop("sleeps"), r.asleep.clear()),
        "it is seen, but not said to sleep": lambda r: r.asleep.clear(),
        "others are said to sleep": lambda r: r.asleep.update({"sorts": 100000000}),
    }
    good = not judge(*agreeing())
    print("%s gil-blame agrees" % ("PASS" if good else "FAIL"))
    for name, change in changes.items():
        truth, recorded = agreeing()
        change(recorded)
        caught = bool(judge(truth, recorded))
        print("%s gil-blame refuses: %s" % ("PASS" if caught else "FAIL", name))
        good &= caught
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--faults", action="store_true")
    options = parser.parse_args()
    good = faults()
    if options.faults:
        return 0 if good else 1
    krait = os.environ.get("KRAIT", os.path.join(oracle.ROOT, "build", "release", "krait"))
    rows = oracle.interpreters(True, options.only)
    if not options.full and not options.only:
        rows = [row for row in rows if row.name in FAST]
    if not rows:
        print("SKIP gil-blame: no test interpreters")
    if os.geteuid():
        print("SKIP gil-blame: needs root")
        rows = []
    for row in rows:
        for program in PROGRAMS if options.full else (MIXED,):
            good &= test(krait, row, program, options.seconds or (20 if options.full else 2.5))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
