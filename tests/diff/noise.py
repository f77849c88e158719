#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""noise.py [--full]: does `krait diff` tell changes from noise? The test makes the profiles, so the
right answers are known. A program goes from task to task, and calls functions in each task in
fixed shares. A task lasts for a while, so that neighbouring samples are alike. Of the pairs of
recordings of an unchanged program, diff may flag something in at most 5 %. A function whose
share grew by 5 percentage points must be found in 90 % of the pairs. With --full there are 200
pairs of each of several programs, else fewer. real.py tests the same with real recordings."""
import collections
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
from judge import pprof  # noqa: E402

KRAIT = os.path.join(ROOT, os.environ.get("KRAIT", "build/release/krait"))
SAMPLES, HZ = 20000, 1000
TASKS, LEAVES = 8, 8
failed = False


def verdict(name, true, words):
    global failed
    print("%s diff %s%s" % ("PASS" if true else "FAIL", name, " (%s)" % words if true else ": " + words))
    failed |= not true


class Program:
    """A program: the shares of its tasks, and of the leaf functions in each task. The first leaf
    function of the first task has the share @share of all samples, changed by @points (0.05:
    from 10 to 15 % of all samples)."""

    def __init__(self, dwell_ms, points=0.0, idle=0.0, share=0.1):
        self.dwell, self.idle = dwell_ms, idle
        task = max(0.4, share ** 0.5)
        self.tasks = [task] + [(1 - task) / (TASKS - 1)] * (TASKS - 1)
        first = (share + points) / task
        rest = [(k + 1) for k in range(LEAVES - 1)]
        self.leaves = [[first] + [(1 - first) * r / sum(rest) for r in rest]]
        self.leaves += [[(k + 1) / (LEAVES * (LEAVES + 1) / 2) for k in range(LEAVES)]
                        for _ in range(TASKS - 1)]

    def record(self, path, rng):
        """Writes a recording of SAMPLES milliseconds of CPU time. Times are multiples of 10 ms, as
        krait writes them."""
        counts, now, ms = {}, 0, 0
        while ms < SAMPLES:
            task = rng.choices(range(TASKS), self.tasks)[0]
            stay = min(int(rng.expovariate(1.0 / self.dwell)) + 1, SAMPLES - ms)
            for i, leaf in enumerate(rng.choices(range(LEAVES), self.leaves[task], k=stay), now):
                key = (i // 10, task * LEAVES + leaf)
                counts[key] = counts.get(key, 0) + 1
            ms += stay
            now += stay
            if rng.random() < self.idle:
                now += int(rng.expovariate(1.0 / self.dwell))
        write(path, counts, now)


def write(path, counts, duration_ms):
    """Writes a profile as pprof. @counts: {(bucket of 10 ms, leaf function): samples}. Strings and
    locations are the same in all profiles."""
    w = pprof.Writer()
    main = w.location("[python 3.12]", "main", "/srv/app.py", 1, 5, 0)
    parts = []
    for leaf in range(TASKS * LEAVES):
        stack = [w.location("[python 3.12]", "leaf%d_%d" % divmod(leaf, LEAVES), "/srv/app.py", 20, 22, 0),
                 w.location("[python 3.12]", "task%d" % (leaf // LEAVES), "/srv/app.py", 10, 12, 0), main]
        parts.append(pprof._field(1, b"".join(map(pprof._varint, stack))))
    key = pprof._field(1, w.string("time"))
    unit = pprof._field(4, w.string("nanoseconds"))
    values = [pprof._field(2, pprof._varint(n) + pprof._varint(n * 1000000)) for n in range(32)]
    label, last = b"", None
    for bucket, leaf in sorted(counts):
        if bucket != last:
            label, last = pprof._field(3, key + pprof._field(3, bucket * 10000000) + unit), bucket
        body = parts[leaf] + values[counts[bucket, leaf]] + label
        w.out.append(b"\x12" + bytes([len(body)]) + body)
    w.out.append(pprof._field(10, duration_ms * 1000000))
    w.save(path)


def diff(a, b, *args, code=0):
    done = subprocess.run([KRAIT, "diff", a, b, "--json"] + list(args), capture_output=True, timeout=60)
    if done.returncode != code:
        verdict("exit-code", False, "%d: %s" % (done.returncode, done.stderr.decode()[:300]))
        return {"changed": 0, "functions": []}
    return json.loads(done.stdout)


def found(result, name):
    return any(f["name"] == name and (f["own"]["changed"] or f["own"]["share_changed"])
               for f in result["functions"])


def nothing_changed(work, name, pairs, seed, **program):
    a, b = os.path.join(work, "a.pb.gz"), os.path.join(work, "b.pb.gz")
    rng, flagged = random.Random(seed), 0
    for _ in range(pairs):
        Program(**program).record(a, rng)
        Program(**program).record(b, rng)
        flagged += diff(a, b)["changed"] > 0
    verdict("same-" + name, flagged <= max(pairs * 0.05, 1), "%d of %d pairs flag something" % (
        flagged, pairs))


def changed(work, name, pairs, seed, points=0.05, **program):
    a, b = os.path.join(work, "a.pb.gz"), os.path.join(work, "b.pb.gz")
    rng, hits = random.Random(seed), 0
    for _ in range(pairs):
        Program(**program).record(a, rng)
        Program(points=points, **program).record(b, rng)
        hits += found(diff(a, b), "app.leaf0_0")
    verdict("five-points-" + name, hits >= pairs * 0.9, "found in %d of %d pairs" % (hits, pairs))


def limits(work):
    """Tests --fail-if with a known change: a function goes from 10 to 15 % of all samples."""
    a, b = os.path.join(work, "a.pb.gz"), os.path.join(work, "b.pb.gz")
    rng = random.Random(5)
    Program(20).record(a, rng)
    Program(20, points=0.05).record(b, rng)
    for rule, code in (("own:app.leaf0_0>+5%", 4), ("own:app.leaf0_0>+3points", 4),
                       ("total:app.leaf0_*>+5%", 4), ("own:app.leaf0_0>+90%", 0),
                       ("own:app.leaf0_0<-5%", 0), ("own:app.leaf3_3>+0%", 0),
                       ("own:app.leaf0_0>5", 2), ("self:app.leaf0_0>+5%", 4), ("mine:x>+5%", 2), ("own:nobody>+5%", 0)):
        done = subprocess.run([KRAIT, "diff", a, b, "--fail-if", rule], capture_output=True, timeout=60)
        verdict("fail-if-" + rule, done.returncode == code, "exit code %d" % done.returncode)
    reason = subprocess.run([KRAIT, "diff", a, b, "--fail-if", "own:app.leaf0_0>+5%"],
                            capture_output=True, timeout=60).stderr.decode()
    verdict("fail-if-reason", "own cost of app.leaf0_0" in reason and "percent judges CPU time per second" in reason and reason.count("\n") == 2, reason.strip())
    result = {f["name"]: f["own"] for f in diff(a, b, "--per", "requests=100,200")["functions"]}
    truth = [sum(s.values[1] for s in p.samples if p.stack(s)[-1].name == "leaf0_0")
             for p in (pprof.read(a), pprof.read(b))]
    got = result["app.leaf0_0"]
    verdict("per-requests", got["before"] == truth[0] / 100.0 and got["after"] == truth[1] / 200.0,
            str(got))
    # A function grows from 200 to 220 of 20,000 samples. That is a tenth, but only one standard
    # error, so it may be chance. Growth from 200 to 800 samples can't be chance.
    for n, code in ((220, 0), (800, 4)):
        for path, k in ((a, 200), (b, n)):
            at = set(rng.sample(range(SAMPLES), k))
            write(path, collections.Counter((i // 10, int(i not in at)) for i in range(SAMPLES)), SAMPLES)
        for rule in "self:app.leaf0_0>+5%", "total:app.leaf0_0>+0.05points":
            done = subprocess.run([KRAIT, "diff", a, b, "--fail-if", rule], capture_output=True, timeout=60)
            verdict("fail-if-%d-%s" % (n, rule), done.returncode == code, "exit code %d" % done.returncode)


def batches(work):
    """One of three tasks takes 8 of 20 s, and in the second recording 2 s. If the program does each
    task once, diff reports the change but doesn't mark it. If it does each task 40 times in the
    same time, diff marks the change. Between two equal files diff reports nothing."""
    a, b = os.path.join(work, "a.pb.gz"), os.path.join(work, "b.pb.gz")
    for times, words in ((1, "app.leaf1_0 went from 40.0 to 14.3 % of all, but in too few stretches"), (40, "the share of app.leaf1_0 fell most, from 40.0 to 14.3 %")):
        for path, lengths in ((a, (6000, 8000, 6000)), (b, (6000, 2000, 6000))):
            leaves = [leaf * LEAVES for _ in range(times) for leaf, ms in enumerate(lengths) for _ in range(ms // times)]
            write(path, collections.Counter((i // 10, leaf) for i, leaf in enumerate(leaves)), len(leaves))
        text = subprocess.run([KRAIT, "diff", a, b], capture_output=True, timeout=60).stdout.decode()
        verdict("batch-%d" % times, words in text and ("no more than noise" in text) == (times == 1), text.replace("\n", " ")[:170])
        done = subprocess.run([KRAIT, "diff", a, b, "--fail-if", "self:app.leaf1_0<-5%"], capture_output=True, timeout=60)
        verdict("batch-%d-fail-if" % times, (done.returncode, b"app.leaf1_0 is beyond the limit, but in too few" in done.stderr) == ((0, True) if times == 1 else (4, False)),
                done.stderr.decode().strip())
        text = subprocess.run([KRAIT, "diff", a, a], capture_output=True, timeout=60).stdout.decode()
        verdict("batch-%d-same" % times, "no more than noise" in text and "stretches" not in text, text.split("\n")[0])


def labels(work):
    """Two label sets of one file are compared in the same way as two files."""
    a, b, both = (os.path.join(work, n) for n in ("a.pb.gz", "b.pb.gz", "both.pb.gz"))
    rng = random.Random(6)
    for path, version, points in ((a, "1", 0), (b, "2", 0.05)):
        Program(20, points=points).record(path, rng)
        subprocess.run([KRAIT, "merge", path, "--add-label", "version=" + version, "-o", path], check=True)
    subprocess.run([KRAIT, "merge", a, b, "-o", both], check=True)
    one = subprocess.run([KRAIT, "diff", both, "--a", "version=1", "--b", "version=2", "--json"],
                         capture_output=True, timeout=60)
    two = {f["name"]: f for f in diff(a, b)["functions"]}
    one = {f["name"]: f for f in json.loads(one.stdout)["functions"]}
    verdict("labels", {k: v["own"]["share_after"] for k, v in one.items()}
            == {k: v["own"]["share_after"] for k, v in two.items()} and one, "%d functions" % len(one))


def batch_run(path, hot_ms, comment="ended: 0", parse_ms=6000, rest_ms=2000):
    """Writes a profile of a program that does 100 rounds and ends. main() calls run(), which calls
    parse() for @parse_ms and hot() for @hot_ms; then main() calls rest() for @rest_ms."""
    w, now = pprof.Writer(), 0
    parse, hot, rest, run, main_ = (w.location("[python 3.12]", name, "/srv/app.py", 10 * line, 10 * line + 1, 0)
                                    for line, name in enumerate(("parse", "hot", "rest", "run", "main"), 1))
    key, unit = pprof._field(1, w.string("time")), pprof._field(4, w.string("nanoseconds"))
    for _ in range(100):
        for frames, ms in (((parse, run, main_), parse_ms), ((hot, run, main_), hot_ms), ((rest, main_), rest_ms)):
            stack = pprof._field(1, b"".join(map(pprof._varint, frames)))
            for _ in range(ms // 400):
                label = pprof._field(3, key + pprof._field(3, now * 1000000) + unit)
                w.out.append(pprof._field(2, stack + pprof._field(2, pprof._varint(4) + pprof._varint(4 * 1000000)) + label))
                now += 4
    w.out.append(pprof._field(10, now * 1000000))
    if comment:
        w.out.append(pprof._field(13, w.string(comment)))
    w.save(path)


def runs(work):
    """hot() costs 4 s of a run, and in the second recording 6 s; parse() costs 6 s in both. If both
    files are of whole runs, diff says what a run costs; if not, it calls no function dearer."""
    def two(*args):
        done = subprocess.run([KRAIT, "diff", a, b, *args], capture_output=True, timeout=60)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    a, b = os.path.join(work, "run-a.pb.gz"), os.path.join(work, "run-b.pb.gz")
    begin = "Per run (both commands ran to their end), "
    batch_run(a, 4000)
    batch_run(b, 6000)
    text = two()[1]
    verdict("runs-words", text.startswith(begin + "app.hot takes 50.0 % more CPU time: 4.00 s before, 6.00 s after. Nothing else changed by more than noise.\n"
                                          "All together, CPU time per run: 12.0 s before, 14.0 s after (+16.7 %)\n"), text)
    batch_run(a, 4000, rest_ms=12000)
    batch_run(b, 6000, rest_ms=12000)
    text = two()[1]
    left_out = "\nLeft out: 1 caller that changed only because it calls a function in the table: "
    verdict("runs-folded", left_out + "app.run.\n" in text and " app.run\n" not in text, text)
    got = json.loads(two("--json")[1])
    rows = {f["name"]: f for f in got["functions"]}
    verdict("runs-json", (got["work"], got["runs"], got["changed"], got["functions"][0]["name"], rows["app.hot"]["own"]["changed"], rows["app.parse"]["own"]["changed"],
                          rows["app.run"].get("passes_on"), rows["app.parse"]["own"]["after"]) ==
            ("runs", {"before": 1, "after": 1}, 1, "app.hot", True, False, "app.hot", 6e9), str(got))
    batch_run(a, 4000)
    batch_run(b, 6000)
    code, _, said = two("--fail-if", "own:app.hot>+40%", "--fail-if", "own:app.parse<-1%")
    verdict("runs-fail-if", code == 4 and "app.hot went from 4.00 s to 6.00 s (+50.0 %)" in said and "judges" not in said, said)
    for name, n in (("3.pb.gz", 3), ("2.pb.gz", 2)):
        of = a if n == 3 else b
        subprocess.run([KRAIT, "merge", "-q", *[of] * n, "-o", os.path.join(work, name)], check=True)
    text = subprocess.run([KRAIT, "diff", "3.pb.gz", "2.pb.gz"], cwd=work, capture_output=True, timeout=60).stdout.decode()
    verdict("runs-merged", text.startswith("Per run (3 before, 2 after; each ran to its end), app.hot takes 50.0 % more CPU time: 4.00 s before, 6.00 s after."), text)
    # hot() has half of the time and gets a tenth dearer. Between two single runs that may be
    # chance, between two times five runs it isn't.
    batch_run(a, 8000)
    batch_run(b, 8800)
    for name, of in (("5a.pb.gz", a), ("5b.pb.gz", b)):
        subprocess.run([KRAIT, "merge", "-q", *[of] * 5, "-o", os.path.join(work, name)], check=True)
    marked = [subprocess.run([KRAIT, "diff", *pair, "--fail-if", "own:app.hot>+5%"], cwd=work, capture_output=True, timeout=60).returncode == 4
              for pair in ((a, b), ("5a.pb.gz", "5b.pb.gz"))]
    verdict("runs-five", marked == [False, True], "one run each: %s, five: %s" % tuple(marked))
    batch_run(a, 4000)
    # All functions take a fifth more, or twice as much. So the machine was slower, or all code is:
    # no function is flagged, but a limit for a total is exceeded.
    for times, words in ((1.2, "20 %"), (2, "100 %")):
        batch_run(b, int(4000 * times), parse_ms=int(6000 * times), rest_ms=int(2000 * times))
        text = two()[1]
        verdict("runs-machine-%g" % times, text.startswith(
            begin + "what differs is no more than noise (5 functions compared), but all functions together take %s more CPU time: the machine was slower, or "
            "something changed them all.\n" % words), text)
    verdict("runs-machine-fail-if", two("--fail-if", "total:app.main>+10%")[0] == 4, "exit code 4")
    verdict("runs-machine-fail-if-own", two("--fail-if", "own:*>+10%")[0] == 0, "exit code 0")
    for comment, why in ((None, ""), ("ended: by -d", " (after: ended by -d)"), ("ended: 1", " (after: ended with exit code 1)"),
                         ("ended: what it started goes on", " (after: what it started goes on)")):
        batch_run(b, 6000, comment)
        text = two()[1]
        first = text.split("\n", 1)[0]
        verdict("runs-not-%s" % comment, first == (
            "CPU time: 1000 ms per second before, 1000 ms per second after (+0.0 %). Of that, the share of app.hot grew most, from 33.3 to 42.9 %; the share of "
            "app.parse fell most, from 50.0 to 42.9 %. How much work was done isn't known" + why + ", so this can't say what got slower or faster. To learn that, give the amount of work, "
            "as in --per requests=12000,13500 (done before, done after).") and "+28" not in text and "-14" not in text, text)
    got = json.loads(two("--json")[1])
    verdict("runs-not-json", (got["work"], got["share_grew_most"], got["share_fell_most"]) == ("unknown", "app.hot", "app.parse")
            and first == got["summary"] and not any(f[w]["changed"] for f in got["functions"] for w in ("own", "total")), str(got))
    code, _, said = two("--fail-if", "own:app.hot>+5%")
    verdict("runs-not-fail-if", code == 4 and "judges CPU time per second" in said, said)
    verdict("runs-not-fail-if-points", "judges" not in two("--fail-if", "own:app.hot>+5points")[2], "")
    text = two("--per", "requests=100,100")[1]
    verdict("runs-given", text.startswith("Per request, app.hot takes 50.0 % more CPU time: 40.0 ms before, 60.0 ms after. Nothing else"), text)


def main():
    full = "--full" in sys.argv or os.environ.get("KRAIT_TEST_FULL")
    programs = {"10ms": {"dwell_ms": 10}, "20ms": {"dwell_ms": 20}, "100ms": {"dwell_ms": 100},
                "400ms-idle": {"dwell_ms": 400, "idle": 0.3}}
    with tempfile.TemporaryDirectory() as work:
        limits(work)
        batches(work)
        labels(work)
        runs(work)
        for seed, name in enumerate(programs if full else ["10ms", "100ms"]):
            nothing_changed(work, name, 200 if full else 10, seed, **programs[name])
        # If each task takes 20 ms, 20,000 samples tell as much as 4,000 independent ones. If tasks
        # take longer, 20,000 samples are too few to find a change of 5 percentage points.
        for seed, name in enumerate(["10ms", "20ms"] if full else ["10ms"]):
            changed(work, name, 200 if full else 8, seed + 100, **programs[name])
        for percent, points in itertools.product((20, 30, 50, 70) if full else (50,), (0.05, -0.05)):
            changed(work, "%s-of-%d" % ("up" if points > 0 else "down", percent), 60, percent, points, share=percent / 100, **programs["10ms"])
    sys.exit(failed)


main()
