#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""waits.py: tests `krait diff` on wall time, on waiting, and on a profile's two values about the
GIL. The test makes the profiles, so the right answers are known. A thread waits in a function,
chosen by fixed shares, for a random time, runs for a while, and so on. Of pairs of recordings of
the same program, almost none may flag anything. A function whose share grew by 5 percentage points
must be found. One long wait is a single event, however long it is, and must flag nothing."""
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
TYPES = (("samples", "count"),) + tuple((name, "nanoseconds") for name in ("cpu", "off_cpu", "gil_wait", "gil_blame"))
CPU, OFF, WAIT, BLAME = range(1, 5)
MS, SECOND = 10 ** 6, 10 ** 9
LEAVES = 8
failed = False


def verdict(name, true, words=""):
    global failed
    print("%s diff-waits %s%s" % ("PASS" if true else "FAIL", name, "" if true else ": %s" % words))
    failed |= not true


class Made:
    """A profile that the test makes. add() adds a sample: its function, {index of a value: amount},
    its time in ns (or None), its labels."""

    def __init__(self, comment=None):
        self.w, self.now, self.comment = pprof.Writer(TYPES, period=MS, duration=0), 0, comment

    def add(self, function, values, begin=None, **labels):
        stack = [self.w.location("[python 3.12]", name, "/srv/app.py", 1, 2, 0) for name in ("main", function)]
        if begin is not None:
            labels["time"] = begin
        self.w.sample(stack, labels, values=tuple(values.get(i, 0) for i in range(len(TYPES))))

    def wait(self, function, ns, timed=True, **labels):
        self.add(function, {OFF: ns}, self.now if timed else None, state="net", **labels)
        self.now += ns

    def run(self, function, ms, timed=True, blame=0):
        for _ in range(ms):
            self.add(function, {0: 1, CPU: MS, BLAME: blame * MS}, self.now if timed else None, state="running")
            self.now += MS

    def save(self, path, duration=None):
        self.w.out.append(pprof._field(10, duration or self.now))
        if self.comment:
            self.w.out.append(pprof._field(13, self.w.string(self.comment)))
        self.w.save(path)
        return path


def shares(points):
    first = 0.1 + points
    rest = [k + 1 for k in range(LEAVES - 1)]
    return [first] + [(1 - first) * r / sum(rest) for r in rest]


def program(path, rng, value, mean_ms, seconds, points=0.0):
    """Writes the profile of a run. The functions leaf0 to leaf7 share the run's time, which is
    counted in @value."""
    made = Made()
    while made.now < seconds * SECOND:
        leaf = "leaf%d" % rng.choices(range(LEAVES), shares(points))[0]
        ns = int(rng.uniform(0.5, 1.5) * mean_ms * MS)
        if value == "gil_wait":
            made.add(leaf, {OFF: ns, WAIT: ns}, made.now, state="gil")
            made.now += ns
        # while the thread runs, one or two other threads wait for the GIL
        elif value == "gil_blame":
            made.run(leaf, ns // MS + 1, blame=rng.choice((1, 2)))
        elif value == "wall" and rng.random() < 0.5:
            made.run(leaf, ns // MS + 1)
        else:
            made.wait(leaf, ns)
        made.run("other", rng.randrange(3))
    return made.save(path)


def krait(*args, code=0):
    done = subprocess.run([KRAIT, "diff"] + list(args), capture_output=True, text=True, timeout=60)
    if done.returncode != code:
        verdict("exit-code", False, "%d: %s" % (done.returncode, done.stderr[:300]))
    return done


def compared(a, b, value, *args):
    return json.loads(krait(a, b, "--json", "--value", value, *args).stdout)


PROGRAMS = (("off_cpu", 5, 20, True), ("wall", 5, 20, True), ("off_cpu", 400, 60, False), ("gil_wait", 5, 20, True), ("gil_blame", 5, 20, True))


def noise(work, programs, pairs):
    a, b = os.path.join(work, "a.pb.gz"), os.path.join(work, "b.pb.gz")
    for value, mean_ms, seconds, powerful in programs:
        rng, flagged, found = random.Random(value + str(mean_ms)), 0, 0
        for _ in range(pairs):
            program(a, rng, value, mean_ms, seconds)
            program(b, rng, value, mean_ms, seconds)
            flagged += compared(a, b, value)["changed"] > 0
            program(b, rng, value, mean_ms, seconds, 0.05)
            rows = {f["name"]: f["own"] for f in compared(a, b, value)["functions"]}
            found += rows["app.leaf0"]["share_changed"]
        name = "%s-%d" % (value, mean_ms)
        verdict("same-" + name, flagged <= max(1, pairs // 10), "%d of %d pairs flag something" % (flagged, pairs))
        verdict("five-points-" + name, not powerful or found >= pairs * 0.8, "found in %d of %d pairs" % (found, pairs))


def one_event(work):
    """Among 6,000 waits of 2 ms, one wait of 4 s takes as long as 2,000 of them, but it happened
    once, so diff must not flag it, nor four waits of 1 s. If samples have no times, diff can't
    know how many waits there were."""
    a, b = os.path.join(work, "a.pb.gz"), os.path.join(work, "b.pb.gz")
    for name, count, timed in (("timed", 1, True), ("timed-few", 4, True), ("untimed", 1, False)):
        rng = random.Random(name)
        for path, n in ((a, 0), (b, count)):
            made = Made()
            when = set(rng.sample(range(6000), n))
            for i in range(6000):
                made.wait("leaf%d" % rng.randrange(LEAVES), 2 * MS, timed)
                if i in when:
                    made.wait("rare", 4 * SECOND // count, timed)
            made.save(path)
        got = compared(a, b, "off_cpu")
        rare = [f for f in got["functions"] if f["name"] == "app.rare"][0]["own"]
        verdict("once-" + name, not rare["changed"] and not rare["share_changed"] and abs(rare["share_after"] - 0.25) < 0.001, str(rare))
    verdict("untimed-said", "the samples have no times, so that krait can't count the waits" in got["summary"] and not got["timed"], got["summary"])


def long_waits(work):
    """diff divides a run into blocks of time, and a long wait counts in each block that it
    overlaps. The thread waits 1 s in one function and 1 s in another, in turn. In the second run
    the waits begin half a second later: nothing has changed."""
    a, b = os.path.join(work, "a.pb.gz"), os.path.join(work, "b.pb.gz")
    for path, first in ((a, SECOND), (b, SECOND // 2)):
        made = Made()
        made.wait("ping", first)
        for i in range(30):
            made.wait(("pong", "ping")[i % 2], SECOND)
        made.save(path)
    got = compared(a, b, "off_cpu")
    verdict("long-waits", got["changed"] == 0 and got["compared"] >= 2, str(got))
    made = Made()
    for i in range(60):
        made.wait(("pong", "ping")[i % 2], (1, 3)[i % 2] * SECOND // 2)
    made.save(b)
    rows = {f["name"]: f["own"] for f in compared(a, b, "off_cpu")["functions"]}
    verdict("long-waits-changed", rows["app.ping"]["share_changed"] and rows["app.pong"]["share_changed"], str(rows))


def batch(path, wait_ms, other_ms=10, comment="ended: 0", idle_s=0):
    """Writes a profile with 400 rounds of a wait in fetch(), a wait in store(), and 5 ms of work(),
    and with a thread that has no work."""
    made = Made(comment)
    for _ in range(400):
        made.wait("fetch", wait_ms * MS)
        made.wait("store", other_ms * MS)
        made.run("work", 5)
    end = made.now
    if idle_s:
        made.now = 0
        made.wait("get", idle_s * SECOND, thread="worker", idle="yes")
    return made.save(path, end)


def words(work):
    """Tests diff's sentences and sums, with and without the amount of work of each side."""
    a, b = os.path.join(work, "a.pb.gz"), os.path.join(work, "b.pb.gz")
    batch(a, 10, idle_s=3)
    batch(b, 15, idle_s=2)
    text = krait(a, b, "--value", "off_cpu").stdout
    verdict("words", text.startswith(
        "Per run (both commands ran to their end), app.fetch waits 50.0 % longer: 4.00 s before, 6.00 s after. Nothing else changed by "
        "more than noise.\nAll together, time waiting per run: 8.00 s before, 10.0 s after (+25.0 %)\n"
        "Left out: waits of threads that had no work, 3.00 s before, 2.00 s after; --idle shows them\n"), text)
    got = compared(a, b, "off_cpu")
    verdict("idle", (got.get("idle"), got["all"]) == ({"before": 3e9, "after": 2e9}, {"before": 8e9, "after": 10e9}), str(got))
    for args in (["--idle"], ["--label", "idle=*"]):
        got = compared(a, b, "off_cpu", *args)
        verdict("idle " + args[0], "idle" not in got and got["all"] == ({"before": 11e9, "after": 12e9} if args == ["--idle"] else
                                                                       {"before": 3e9, "after": 2e9}), str(got))
    # both sides are from the same file: the label of side a selects idle waits, that of side b
    # others
    got = json.loads(krait(a, "--json", "--value", "off_cpu", "--a", "idle=yes", "--b", "state=net").stdout)
    verdict("idle --a", (got.get("idle"), got["all"]) == ({"before": 0, "after": 0.3}, {"before": 0.3, "after": 0.8}), str(got))
    rows = {f["name"]: f["own"] for f in compared(a, b, "wall", "--idle")["functions"]}
    verdict("wall", [(rows["app." + n]["before"] / SECOND, rows["app." + n]["after"] / SECOND) for n in ("fetch", "store", "work", "get")] ==
            [(4, 6), (4, 4), (2, 2), (3, 2)] and rows["app.fetch"]["changed"] and not rows["app.work"]["changed"], str(rows))
    groups = {g["name"]: g["own"]["after"] / SECOND for g in json.loads(krait(a, b, "--json", "--value", "off_cpu", "--by", "state").stdout)["groups"]}
    verdict("by-state", groups == {"net": 10}, str(groups))
    text = krait(a, b, "--value", "wall").stdout
    verdict("wall-words", "app.fetch takes 50.0 % more wall time: 4.00 s before, 6.00 s after." in text, text)
    batch(a, 10, comment=None)
    batch(b, 15, comment=None)
    text = krait(a, b, "--value", "off_cpu").stdout
    # 8 of 10 s and 10 of 12 s
    verdict("words-unknown", text.startswith("Time waiting: 800 ms per second before, 833 ms per second after (+4.2 %). Of that, the share of app.fetch grew "
                                             "most, from 50.0 to 60.0 %; the share of app.store fell most, from 50.0 to 40.0 %. How much"), text)
    said = krait(a, b, "--value", "off_cpu", "--fail-if", "own:app.fetch>+5%", code=4).stderr
    verdict("fail-if", "judges time waiting per second" in said, said)
    batch(a, 10)
    batch(b, 14, 14)
    text = krait(a, b, "--value", "off_cpu").stdout
    verdict("words-all", "the total is 40 % more: waits got longer, or there were more of them" in text and "machine" not in text, text)
    # changes from 0, which have no percentage
    for path, value in ((a, {CPU: SECOND}), (b, {OFF: SECOND})):
        made = Made("ended: 0")
        made.add("fetch", value, 0, state="net")
        made.save(path, SECOND)
    for value, first, second, want in (("off_cpu", a, b, "the total is more: waits got longer"), ("cpu", b, a, "together take more CPU time: the machine")):
        text = krait(first, second, "--value", value).stdout
        verdict("words-new-" + value, want in text and "inf" not in text, text)


def comparable(work):
    """diff doesn't compare wall time with CPU time."""
    a, b = os.path.join(work, "a.pb.gz"), os.path.join(work, "b.pb.gz")
    for path, types in ((a, ("samples", "cpu")), (b, ("samples", "wall"))):
        w = pprof.Writer(tuple((t, "count" if t == "samples" else "nanoseconds") for t in types))
        w.sample([w.location("[python 3.12]", "f", "/srv/app.py", 1, 2, 0)], {}, values=(1, MS))
        w.save(path)
    said = krait(a, b, code=1).stderr
    verdict("wall-and-cpu", "they have no value in common" in said, said)


def main():
    with tempfile.TemporaryDirectory() as work:
        words(work)
        comparable(work)
        one_event(work)
        long_waits(work)
        full = "--full" in sys.argv or os.environ.get("KRAIT_TEST_FULL")
        noise(work, PROGRAMS if full else PROGRAMS[:1], 100 if full else 2)
    sys.exit(failed)


main()
