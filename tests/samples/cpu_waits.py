#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Are samples of CPU time the same if waits are recorded too? cpu_waits_target.py is recorded with
`-e cpu-clock` alone and with `-e wait` beside it, in turn, and measures its functions' CPU time
itself.

cpu_waits.py [--pairs N] [--seconds N]

If waits are recorded, no sample may be lost, and the samples of all pairs together must stand for
as much CPU time as without waits. Half a percent may be missing, or three standard errors if that
is more, as on a busy machine. No function's share may be further from the truth with waits than
without, by more than three standard errors. One of some hundred pairs exceeds this limit by chance,
so such a pair is recorded again. For all pairs together the limit is four standard errors. (Without
waits shares may be off too, on a busy machine: interrupts are off while the kernel switches to
another thread, so that no sample meets that time.) The test puts faults into right recordings, and
must find each of them."""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

import shares
from shares import TESTS, oracle, pprof

# if waits are recorded, a function's share in all pairs together may be further from the truth by
# this many standard errors
ALL_ERRORS = 4
# the part of the CPU time that may be missing in the samples of all pairs if waits are recorded
LOST = 0.005
HZ = 1999


class Recording(object):
    """.shares: {function: (its share of the CPU time, its share of the samples)}. .covered: the
    part of the CPU time for which the samples stand."""

    def __init__(self, told, seen, samples, lost):
        self.cpu, self.seen, self.samples, self.lost = told, seen, samples, lost

    @property
    def shares(self):
        cpu, seen = sum(self.cpu.values()), sum(self.seen.values())
        return {f: (self.cpu[f] / cpu, self.seen[f] / seen) for f in self.cpu}

    @property
    def covered(self):
        return sum(self.seen.values()) / sum(self.cpu.values())


def record(krait, waits, seconds, folder):
    out, summary = os.path.join(folder, "o.pb.gz"), os.path.join(folder, "o.json")
    done = subprocess.run(
        [krait, "record", "-q", "-F", str(HZ), *(["-e", "cpu-clock", "-e", "wait"] if waits else []), "--native=none",
         "--summary-json", summary, "-o", out, "--", sys.executable,
         os.path.join(TESTS, "samples", "cpu_waits_target.py"), str(seconds)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=oracle.ROOT, timeout=120 + 3 * seconds, check=False)
    if done.returncode:
        raise RuntimeError("exit code %d: %s" % (done.returncode, done.stderr.decode()[-300:]))
    told, profile = json.loads(done.stdout), pprof.read(out)
    at = [name for name, _ in profile.sample_types].index("cpu")
    seen, samples = dict.fromkeys(told, 0), 0
    for sample in profile.samples:
        function = {l.name for l in profile.stack(sample) if l.kind == "python"} & set(told)
        if sample.values[at] and len(function) == 1:
            seen[function.pop()] += sample.values[at]
            samples += 1
    with open(summary) as f:
        figures = json.load(f)
    return Recording(told, seen, samples, figures["lost_records"] + figures["missing"])


def changes(pairs, most):
    """Compares each function's distance from the truth without and with waits. Returns {function:
    by how many standard errors its share is further from the truth with waits}, where this is
    more than @most."""
    out = {}
    for function in pairs[0][0].cpu:
        change = variance = 0
        for i, sign in enumerate((-1, 1)):
            recordings = [pair[i] for pair in pairs]
            n = sum(r.samples for r in recordings)
            for r in recordings:
                true, found = r.shares[function]
                change += sign * r.samples * (found - true) / n
                variance += r.samples * true * (1 - true) / n ** 2
        if abs(change) > most * math.sqrt(variance):
            out[function] = change / math.sqrt(variance)
    return out


def words_of(wrong):
    return ["%s() is off by %.1f standard errors more with waits" % each for each in sorted(wrong.items())]


def judge_all(pairs):
    """Returns what is wrong with all pairs together, as texts. A pair is (the recording without
    waits, the one with waits)."""
    alone, beside = (sum(pair[i].covered for pair in pairs) / len(pairs) for i in range(2))
    changed = [pair[1].covered - pair[0].covered for pair in pairs]
    error = statistics.stdev(changed) / math.sqrt(len(pairs)) if len(pairs) > 1 else 0
    out = []
    if beside < alone - max(LOST * alone, shares.ERRORS * error):
        out.append("samples stand for %.2f %% of the CPU time, without waits for %.2f %%" % (100 * beside, 100 * alone))
    lost = [sum(pair[i].lost for pair in pairs) for i in range(2)]
    if lost[1] > lost[0]:
        out.append("%d samples were lost, without waits %d" % (lost[1], lost[0]))
    return out + words_of(changes(pairs, ALL_ERRORS))


def pair_of(krait, seconds, folder):
    """Records a pair: once without waits, once with them. Returns the pair, and what is wrong with
    it."""
    pair, wrong = None, {}
    for attempt in range(2):
        pair = [record(krait, waits, seconds, folder) for waits in (False, True)]
        wrong = {f: e for f, e in changes([pair], shares.ERRORS).items() if not attempt or wrong.get(f, 0) * e > 0}
        if not wrong:
            break
    return pair, words_of(wrong)


def shares_of(pairs):
    """Returns the shares of each function in all pairs, as text: by the samples and by the
    program's clocks, first without waits and then with waits."""
    def mean(function, i, at):
        n = sum(pair[i].samples for pair in pairs)
        return 100 * sum(pair[i].samples * pair[i].shares[function][at] for pair in pairs) / n
    return ", ".join("%s %.2f/%.2f and %.2f/%.2f %%" % (f, mean(f, 0, 1), mean(f, 0, 0), mean(f, 1, 1), mean(f, 1, 0)) for f in pairs[0][0].cpu)


def finds_faults(pair):
    """Puts faults into the recording with waits, of a pair that is right. Checks that each fault is
    found."""
    def changed(seen):
        return Recording(pair[1].cpu, dict(pair[1].seen, **seen), pair[1].samples, 0)

    seen = pair[1].seen
    few = {f: 0.99 * ns for f, ns in seen.items()}
    moved = {"hands": seen["hands"] + 0.15 * seen["loops"], "loops": 0.85 * seen["loops"]}
    good = True
    for what, found in (("one sample of 100 is lost", judge_all([(pair[1], changed(few))])),
                        ("samples of loops() counted for a wait", changes([(pair[0], changed(moved))], shares.ERRORS)),
                        ("lost samples that are counted", judge_all([(pair[0], Recording(
                            pair[1].cpu, seen, pair[1].samples, pair[0].lost + 1))]))):
        good &= bool(found)
        print("%s cpu-waits finds: %s" % ("PASS" if found else "FAIL", what))
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    if os.geteuid():
        print("SKIP cpu-waits: needs root")
        return 0
    krait = os.environ.get("KRAIT", os.path.join(oracle.ROOT, "build", "release", "krait"))
    good, pairs = True, []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(options.pairs):
            pair, wrong = pair_of(krait, options.seconds, folder)
            pairs.append(pair)
            good &= not wrong
            print("%s cpu-waits pair %d: %d and %d samples for %.2f and %.2f %% of the CPU time%s" % (
                "FAIL" if wrong else "PASS", i + 1, pair[0].samples, pair[1].samples, 100 * pair[0].covered,
                100 * pair[1].covered, "".join("; " + text for text in wrong)), flush=True)
    wrong = judge_all(pairs)
    print("%s cpu-waits of %d pairs: for %.3f %% of the CPU time without waits, %.3f %% with; seen/true without and with: %s%s" % (
        "FAIL" if wrong else "PASS", len(pairs), *(100 * sum(p[i].covered for p in pairs) / len(pairs) for i in range(2)),
        shares_of(pairs), "".join("; " + text for text in wrong)))
    return 0 if finds_faults(pairs[-1]) and good and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
