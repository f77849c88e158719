#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""in_step.py [--full [HZ]]: are shares right if a program works in step with the sampling?

in_step_target.py spends known shares of each beat (one period of its rhythm) in three functions and
measures their CPU time by the thread's own clock, from one reading of the clock to the next. A
sample counts for a function by its line in main(), because reading the clock takes a microsecond or
two, up to a fiftieth of a beat, and calls are outside of the functions. A sample on a line that
reads the clock counts half for the function before and half for the one after. No share of the
samples may be off by more than three standard errors. By chance one of some hundred right shares is
off by more. So if a share is off, the rate is measured again, and fails if the same share is off
again. The test also fails if many rhythms have alike small errors: it adds up the errors of a
function over all rhythms of a rate, and judges the sum. HZ: measures only this rate."""
import concurrent.futures
import json
import math
import os
import re
import subprocess
import sys
import tempfile

import shares
from shares import oracle, pprof

# (options of the rate, beats a second, seconds). There are as many beats as samples, or twice as
# many.
FAST = ((("-F", "99"), 99, 3), (("-F", "999"), 999, 1), (("-F", "999"), 1998, 1), (("-c", "1000000"), 1000, 1))
BEATS = (10, 33, 49.5, 50, 99, 100, 198, 200, 333, 499.5, 500, 999, 1000, 1998, 2000, 2997, 3000, 9999, 10000)
FULL = ((("-F", "99"), 12), (("-F", "100"), 12), (("-F", "499"), 8), (("-F", "999"), 8), (("-F", "1000"), 8),
        (("-F", "1998"), 6), (("-F", "3999"), 6), (("-F", "9999"), 6), (("-c", "1000000"), 8),
        (("-c", "10000000"), 12))
# The mean error of a function over all rhythms of a rate may be this many standard errors. With 3,
# one of the thirty means would exceed the limit by chance in one of twelve right runs.
LEANING = 4

PROGRAM = os.path.join(shares.TESTS, "samples", "in_step_target.py")


def lines():
    """Returns for each line of main()'s loop how a sample on the line counts: {line: {function:
    part of the sample}}."""
    found, function = {}, None
    with open(PROGRAM) as f:
        for number, line in enumerate(f, 1):
            reading = re.match(r" +t(\d) = cpu\(\)", line)
            if line.startswith("    while sum("):
                function = "a"
            elif not line.startswith(" " * 8):
                function = None
            if function and reading:
                before, function = function, "abc"[int(reading[1]) % 3]
                found[number] = {before: 0.5, function: 0.5}
            elif function:
                found[number] = {function: 1}
    return found


def measured(krait, rate, beats, seconds):
    """Records the program. Returns ({function: (share of the CPU time, share of the samples)}, the
    number of samples)."""
    parts = lines()
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "o.pb.gz")
        done = subprocess.run(
            [krait, "record", "-q", *rate, "--native=none", "-o", out, "--", sys.executable, PROGRAM,
             str(beats), str(seconds)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)
        if done.returncode:
            raise RuntimeError("exit code %d: %s" % (done.returncode, done.stderr.decode()[-300:]))
        spent = json.loads(done.stdout)
        profile = pprof.read(out)
    seen = dict.fromkeys(spent, 0)
    for sample in profile.samples:
        for line in {l.line for l in profile.stack(sample) if l.kind == "python" and l.name == "main"}:
            for name, part in parts.get(line, {}).items():
                seen[name] += part * sample.values[0]
    total, cpu = sum(seen.values()), sum(spent.values())
    if total < 100:
        raise RuntimeError("only %d samples" % total)
    return {f: (spent[f] / cpu, seen[f] / total) for f in spent}, total


def test(krait, rate, beats, seconds):
    """Tests one rate with one rhythm. Returns the errors as shares.errors() does; None if the test
    failed."""
    what = "%s, %s beats a second" % (" ".join(rate), beats)
    try:
        seen, total = measured(krait, rate, beats, seconds)
        wrong = shares.off(seen, total)
        if wrong:
            print("# %s: once more, %s" % (what, {f: round(e, 1) for f, e in wrong.items()}), flush=True)
            seen, total = measured(krait, rate, beats, seconds)
            again = shares.off(seen, total)
            wrong = {f: e for f, e in again.items() if f in wrong}
    except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as error:
        print("FAIL %s: %s" % (what, error), flush=True)
        return None
    text = ", ".join("%s %.2f/%.2f %%" % (f, 100 * found, 100 * true) for f, (true, found) in seen.items())
    said = "".join("; %s off by %.1f standard errors" % each for each in sorted(wrong.items()))
    print("%s %s: seen/true %s of %d samples%s" % ("FAIL" if wrong else "PASS", what, text, total, said),
          flush=True)
    return None if wrong else shares.errors(seen, total)


def leans_nowhere(rate, results):
    """Tells whether the mean of the errors of all rhythms at this rate is small. @results: the
    errors of each rhythm."""
    sums = {f: sum(r[f] for r in results) / math.sqrt(len(results)) for f in results[0]}
    good = max(map(abs, sums.values())) <= LEANING
    text = ", ".join("%s %.1f" % each for each in sums.items())
    print("%s %s, %d rhythms together: standard errors %s" % ("PASS" if good else "FAIL", " ".join(rate),
                                                              len(results), text), flush=True)
    return good


def all_rhythms(krait, rows):
    good = bool(rows)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for rate, seconds in rows:
            results = list(pool.map(lambda beats: test(krait, rate, beats, seconds), BEATS))
            good = all(results) and leans_nowhere(rate, results) and good
    return good


def main():
    krait = os.environ.get("KRAIT", os.path.join(oracle.ROOT, "build", "release", "krait"))
    arguments = sys.argv[1:]
    if "--full" in arguments:
        return 0 if all_rhythms(krait, [row for row in FULL if row[0][1] in (arguments[1:] or row[0])]) else 1
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda row: test(krait, *row), FAST))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
