#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Are the shares of stacks of waits right, if stacks are taken by chance? The programs of
wait_shares_target.py wait more often than the default budget allows stacks to be taken, and
measure how long each of their functions waited.

wait_shares.py [--program NAME] [--runs N] [--seconds N]

No function's share of its thread's waiting may be off by more than three standard errors. In a
recording of 30 s it may also not be off by more than two percentage points if all waits of the
program have the same length; in other programs this limit holds for a function's share of all
waiting. By chance one of some hundred right shares is off. So a program with such a share is
recorded again, and fails if the same share is off again. Of all shares 95 % must be within two
standard errors. The standard error follows from how much shares differ from one part of the
recording to the next. Right recordings must pass, and each fault that is put into one must be
found."""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

from shares import TESTS, oracle, pprof

ERRORS, POINTS, LONG = 3, 0.02, 30
# the part OFTEN of all shares must be within WITHIN standard errors of the truth
OFTEN, WITHIN = 0.95, 2
MANY = 200  # OFTEN is checked only if there are at least this many shares
# the least standard error of a share, because the program's clocks have an error too
LEAST = 0.0005
# a thread's sum of waits may be wrong by this part of it, and by this many ns in addition
SUM, SUM_NS = 0.005, 500000
FUNCTIONS = ("a", "b", "c")
PARTS = 24  # into how many parts a recording is cut, to get the standard error
# .name: the program's name; .number: its last argument; .options: the recording's options. In the
# program "in_step", the fewer stacks a recording takes, the more waits are between two of them.
Program = collections.namedtuple("Program", "name number options")
MIXED = Program("mixed", None, ("--wait-budget", "5"))
PROGRAMS = [MIXED] + 3 * [Program("lengths", None, ())] + [
    Program("length", us, ()) for us in (20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 50000, 200000, 1000000)] + [
    Program("in_step", threads, ("--wait-budget", budget))
    for threads, budget in ((1, "0.2"), (1, "0.1"), (2, "0.1"), (3, "0.1"), (4, "0.1"), (6, "0.1"), (8, "0.1"))] + [
    Program("many", 10000, ())]
# programs whose waits are so long, or whose threads live so briefly, that krait takes all stacks
CERTAIN = ("many", "length 10000", "length 50000", "length 200000", "length 1000000")

Row = collections.namedtuple("Row", "tid function time ns")
# .true and .seen: a function's share by the program's clocks and in the recording; .error: the
# standard error of .seen.
Share = collections.namedtuple("Share", "name function true seen error")


def rows_of(profile):
    """Returns the waits of the profile whose stacks have one of the program's functions."""
    at, out = [name for name, _ in profile.sample_types].index("off_cpu"), []
    for sample in profile.samples:
        ns = sample.values[at]
        if not ns or sample.labels.get("state") in ("runnable", "stolen"):
            continue
        names = {l.name for l in profile.stack(sample) if l.kind == "python"}
        function = names & set(FUNCTIONS)
        if len(function) == 1:
            out.append(Row(int(sample.labels["tid"]), function.pop(), sample.labels["time"], ns))
    return out


def without_stolen(told, profile):
    """Returns @told without the time that a host took from its virtual machine: a thread's clocks
    count it as waiting, and krait as a state of its own. The same part is taken from all
    functions."""
    at, stolen, total = [name for name, _ in profile.sample_types].index("off_cpu"), collections.Counter(), collections.Counter()
    for sample in profile.samples:
        if sample.labels.get("state") == "stolen":
            stolen[int(sample.labels["tid"])] += sample.values[at]
    for _, tid, _, ns in told:
        total[tid] += ns
    return [[name, tid, function, ns * (1 - min(stolen[tid] / total[tid], 0.1) if total[tid] else 1)] for name, tid, function, ns in told]


def together(told, rows):
    """Returns @told and @rows as if all threads were one thread."""
    return [["all", 0, function, ns] for _, _, function, ns in told], [row._replace(tid=0) for row in rows]


def shares_of(told, rows):
    """Returns ([Share of each function of each thread], {thread whose sum of waits is wrong:
    text})."""
    name_of = {tid: name for name, tid, _, _ in told}
    # The program's threads live so briefly that the kernel uses their ids again.
    if len(name_of) > 100:
        told, rows = together(told, rows)
        name_of = {0: "all"}
    true, of_thread = collections.defaultdict(collections.Counter), collections.defaultdict(list)
    for _, tid, function, ns in told:
        true[tid][function] += ns
    for row in rows:
        of_thread[row.tid].append(row)
    out, wrong = [], {}
    for tid, waits in true.items():
        mine, total = of_thread[tid], sum(waits.values())
        got = sum(row.ns for row in mine)
        if not got or abs(got - total) > SUM * total + SUM_NS:
            wrong[name_of[tid]] = "%s waited %.1f ms, recorded %.1f" % (name_of[tid], total / 1e6, got / 1e6)
            continue
        for function, ns in sorted(waits.items()):
            seen = sum(row.ns for row in mine if row.function == function) / got
            out.append(Share(name_of[tid], function, ns / total, seen, error_of(mine, function, ns / total)))
    return out, wrong


def error_of(rows, function, share):
    """Returns the standard error of a function's share in these rows. The share is about @share."""
    first, last = min(row.time for row in rows), max(row.time for row in rows) + 1
    parts = [0.0] * PARTS
    for row in rows:
        parts[(row.time - first) * PARTS // (last - first)] += row.ns * ((row.function == function) - share)
    total = sum(row.ns for row in rows)
    return (sum(part ** 2 for part in parts) * PARTS / (PARTS - 1)) ** 0.5 / total + LEAST


def far(share):
    return abs(share.seen - share.true) / share.error


def said(share):
    return "%s %s() %.2f %% of its waiting, recorded %.2f (standard error %.2f)" % (
        share.name, share.function, 100 * share.true, 100 * share.seen, 100 * share.error)


def points(share):
    return abs(share.seen - share.true)


def off(share):
    """Returns what identifies a wrong share: (thread, function, whether the recorded share is too
    large)."""
    return share.name, share.function, share.seen > share.true


def judge(program, told, rows, most=POINTS):
    """Returns ([Share of each thread's functions], {what is off: text}). @most: by how many
    percentage points a share may be off."""
    shares, wrong = shares_of(told, rows)
    all_of, _ = shares_of(*together(told, rows))
    wrong.update((off(share), said(share)) for share in shares if far(share) > ERRORS)
    wrong.update((off(share), said(share)) for share in (shares if program.name == "length" else all_of)
                 if points(share) > most)
    return shares, wrong


def recorded(krait, program, seconds, folder):
    """Records a program. Returns (what the program told, the recording's waits, the share of waits
    whose stacks were taken)."""
    out = os.path.join(folder, "o.pb.gz")
    target = os.path.join(TESTS, "samples", "wait_shares_target.py")
    done = subprocess.run(
        [krait, "record", "-v", "--wall", *program.options, "--native=none", "-o", out, "--", sys.executable,
         target, program.name, str(seconds), str(program.number)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=oracle.ROOT, timeout=300 + 3 * seconds, check=False)
    text = done.stderr.decode(errors="replace")
    if done.returncode:
        raise RuntimeError("exit code %d: %s" % (done.returncode, text[-300:]))
    chance = re.search(r"stacks were taken for ([0-9.]+) % of \d+ waits", text)
    profile = pprof.read(out)
    return without_stolen(json.loads(done.stdout), profile), rows_of(profile), float(chance[1]) / 100 if chance else 1


# The next functions are faults: each changes the rows of a right recording.

def equal_weights(rows):
    """Fault: all samples of a thread have the same weight."""
    mean = collections.defaultdict(list)
    for row in rows:
        mean[row.tid].append(row.ns)
    return [row._replace(ns=sum(mean[row.tid]) / len(mean[row.tid])) for row in rows]


def stale_stacks(rows):
    """Fault: every second sample has the stack of its thread's sample before."""
    last, out = {}, []
    for i, row in enumerate(sorted(rows, key=lambda row: row.time)):
        out.append(row._replace(function=last.get(row.tid, row.function)) if i % 2 == 0 else row)
        last[row.tid] = row.function
    return out


def one_function(rows):
    """Fault: if a wait is over four times as long as its function's shortest wait, the excess
    counts for a(), as if all waits without a stack were waits of a()."""
    least = collections.defaultdict(lambda: 1 << 62)
    for row in rows:
        least[row.tid, row.function] = min(least[row.tid, row.function], row.ns)
    out = []
    for row in rows:
        own = min(row.ns, 4 * least[row.tid, row.function])
        out += [row._replace(ns=own), row._replace(function="a", ns=row.ns - own)]
    return out


def in_step_with_a(rows):
    """Fault: every third sample of b() is missing, as if the program worked in step with the
    sampling."""
    return [row for i, row in enumerate(rows) if row.function != "b" or i % 3]


FAULTS = (equal_weights, stale_stacks, one_function, in_step_with_a)


def finds_faults(program, told, rows):
    good = True
    for fault in FAULTS:
        found = judge(program, told, fault(rows), 1)[1]
        good &= bool(found)
        print("%s wait-shares finds: %s" % ("PASS" if found else "FAIL", fault.__name__.replace("_", " ")))
    return good


def test(krait, program, seconds, folder):
    """Records and judges a program. Returns ([Share], whether all shares are right)."""
    what = program.name + (" %d" % program.number if program.number else "")
    before = None
    while True:
        try:
            told, rows, chance = recorded(krait, program, seconds, folder)
        except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as error:
            print("FAIL wait-shares %s: %s" % (what, error), flush=True)
            return [], False
        shares, wrong = judge(program, told, rows, POINTS if seconds >= LONG else 1)
        if chance > 0.9 and program.name not in CERTAIN and what not in CERTAIN:
            wrong["chance"] = "nearly all stacks were taken: nothing was left to chance"
        if before is not None:
            wrong = {name: text for name, text in wrong.items() if name in before}
        if not wrong or before is not None:
            break
        before = wrong
        print("# wait-shares %s: once more, %s" % (what, "; ".join(wrong.values())), flush=True)
    print("%s wait-shares %s: %d samples, stacks of %.1f %% of the waits, %d shares, at most %.2f points and %.1f "
          "standard errors off" % ("FAIL" if wrong else "PASS", what, len(rows), 100 * chance, len(shares),
                                   100 * max(map(points, shares), default=0), max(map(far, shares), default=0)), flush=True)
    for text in wrong.values():
        print("  " + text)
    return shares, not wrong and (program.name != "mixed" or finds_faults(program, told, rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--program")
    parser.add_argument("--seconds", type=float)
    options = parser.parse_args()
    if os.geteuid():
        print("SKIP wait-shares: needs root")
        return 0
    krait = os.environ.get("KRAIT", os.path.join(oracle.ROOT, "build", "release", "krait"))
    some = [p for p in (PROGRAMS if options.full or options.program else [MIXED]) if options.program in (None, p.name)]
    seconds = options.seconds or (30 if options.full else 8)
    shares, good = [], True
    with tempfile.TemporaryDirectory() as folder:
        for program in some:
            more, right = test(krait, program, seconds, folder)
            shares += more
            good &= right
    if len(shares) >= MANY:
        within = sum(far(share) <= WITHIN for share in shares) / len(shares)
        good &= within >= OFTEN
        print("%s wait-shares: %.1f %% of %d shares within %d standard errors" % (
            "PASS" if within >= OFTEN else "FAIL", 100 * within, len(shares), WITHIN))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
