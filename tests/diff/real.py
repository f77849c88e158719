#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""real.py [FOLDER] [--record N] [--programs P,...] [--verbose]: does `krait diff` tell changes from
noise in real recordings? Two real runs differ in addresses, hash seeds and the machine's speed,
which noise.py doesn't simulate. --record adds N recordings of each program to FOLDER, program by
program in turn. Then each recording of a program is compared with the next one:

same: nothing changed, so at most 5 % of the pairs may flag anything.
five-points: in the second recording a function gets 5 percentage points more: some of its samples
are repeated, and all later samples come later. diff must find the function in at least 90 % of the
pairs. The same is done with the largest function, if it has a fifth of all samples or more.

Recording needs root; judging the recordings of a folder needs the right to read them."""
import argparse
import collections
import glob
import gzip
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
SAMPLES, HZ = 20000, 3999
POINTS = 0.05

# Functions for the programs. Each program runs until it has used the CPU time in its argument.
STEPS = r"""
import hashlib, json, os, random, re, sqlite3, string, subprocess, sys, time, zlib
def parse(): return [json.loads('{"a": [1, 2, %d]}' % i) for i in range(400)]
def match(): return [re.match(r"(\w+)-(\d+)", "abc-%d" % i).group(2) for i in range(600)]
def digest(): return [hashlib.sha256(b"x" * 2000).hexdigest() for i in range(300)]
def order(): return sorted(str(i * 7919 % 5000) for i in range(3000))
def steps():
    parse(); match(); digest(); order()
def until(seconds, work):
    while time.process_time() < seconds: work()
"""
PROGRAMS = {
    "steps": STEPS + "until(float(sys.argv[1]), steps)",
    # runs three processes, each with its own addresses and hash seed
    "processes": STEPS + r"""
if len(sys.argv) == 2:
    third = str(float(sys.argv[1]) / 3)
    for child in [subprocess.Popen([sys.executable, __file__, third, "child"]) for _ in range(3)]:
        child.wait()
else:
    until(float(sys.argv[1]), steps)
""",
    # does jobs that come at random; at times there is nothing to do
    "jobs": STEPS + r"""
base = sqlite3.connect(":memory:")
base.execute("create table t (a integer, b text)")
base.executemany("insert into t values (?, ?)", ((i, str(i)) for i in range(2000)))
def query(): return base.execute("select sum(a) from t where b like '%7%'").fetchall()
def pack(): return zlib.compress(b"".join(b"%d" % (i * i) for i in range(3000)), 6)
def fill(): return [string.Template("$a and $b").substitute(a=i, b=i) for i in range(100)]
def dump(): return json.dumps([{"a": i, "b": [i] * 3} for i in range(300)], indent=1)
def job():
    random.choice((parse, match, digest, order, query, pack, fill, dump))()
    if random.random() < .05: time.sleep(random.expovariate(200))
until(float(sys.argv[1]), job)
""",
    # one function takes half of the time, another one a quarter
    "large": STEPS + r"""
def score(n): return sum([i * i % 7 for i in range(n)])
def large():
    steps(); score(100000)
    for i in range(8): json.dumps([{"a": i, "b": [i] * 3} for i in range(300)])
until(float(sys.argv[1]), large)
""",
}


def record(folder, name, number):
    # Each script is in a folder of its own: importlib lists the files beside a script, so their
    # number would change the layout of Python's heap, and with it the cost of malloc.
    scripts = os.path.join(folder, "scripts")
    os.makedirs(scripts, exist_ok=True)
    script = os.path.join(scripts, name + ".py")
    with open(script, "w") as f:
        f.write(PROGRAMS[name])
    out = os.path.join(folder, "%s-%04d.pb.gz" % (name, number))
    subprocess.run([KRAIT, "record", "-q", "-F", str(HZ), "-o", out, "--", sys.executable, script,
                    "%.2f" % (1.02 * SAMPLES / HZ)], check=True, timeout=600)


def recordings(folder, name):
    return sorted(glob.glob(os.path.join(folder, name + "-[0-9]*.pb.gz")))


def diff(a, b):
    done = subprocess.run([KRAIT, "diff", a, b, "--json"], capture_output=True, timeout=60, check=True)
    return json.loads(done.stdout)


def is_flagged(cost):
    return cost["changed"] or cost["share_changed"]


class Recording:
    """A recording that can be changed. Each sample is a list of [field number, value]."""

    def __init__(self, path):
        self.read = pprof.read(path)
        with gzip.open(path, "rb") as f:
            fields = list(pprof.fields(f.read()))
        self.rest = [(n, value) for n, _, value in fields if n not in (2, 10)]
        self.raw = [list(pprof.fields(value)) for n, _, value in fields if n == 2]
        self.key = self.read.strings.index("time")

    def owner(self, sample):
        """Returns the key of a sample's innermost Python function, to which the cost of native code
        that it calls is charged, or None."""
        return next((l.key for l in reversed(self.read.stack(sample)) if l.kind == "python"), None)

    def owners(self):
        """Returns {function: number of samples of which owner() returns it}."""
        counts = collections.Counter()
        for s in self.read.samples:
            counts[self.owner(s)] += s.values[0]
        del counts[None]
        return counts

    def save_dearer(self, path, leaf, points, rng):
        """Writes the recording with the share of function @leaf raised by @points: repeats some of
        its samples, drawn at random, and moves all samples after them to later times."""
        total = sum(s.values[0] for s in self.read.samples)
        cpu = sum(s.values[1] for s in self.read.samples)
        share = self.owners()[leaf] / total
        more = (share + points) * (1 - share) / (share * (1 - share - points)) - 1
        # CPU seconds per second; above 1 if several threads run
        width = cpu / self.read.duration_nanos
        order = sorted(range(len(self.raw)), key=lambda i: self.read.samples[i].labels["time"])
        out, later = [], 0.0
        for i in order:
            s, n = self.read.samples[i], 0
            if self.owner(s) == leaf:
                n = sum(rng.random() < more % 1 for _ in range(s.values[0]))
                n += int(more) * s.values[0]
            step = s.values[1] / s.values[0]
            later += n * step / width
            out.append(pprof._field(2, self._sample(self.raw[i], [n + s.values[0], int(
                (n + s.values[0]) * step)], int(later) // 10000000 * 10000000)))
        for number, value in self.rest:
            out.append(pprof._field(number, value))
        out.append(pprof._field(10, self.read.duration_nanos + int(later)))
        with gzip.open(path, "wb", 1) as f:
            f.write(b"".join(out))

    def _sample(self, raw, values, later):
        out = [pprof._field(2, b"".join(map(pprof._varint, values)))]
        for number, _, value in raw:
            if number == 3:
                label = pprof.message(value)
                if label[1] == self.key:
                    label[3] = label.get(3, 0) + later
                    value = b"".join(pprof._field(n, v) for n, v in sorted(label.items()))
            if number != 2:
                out.append(pprof._field(number, value))
        return b"".join(out)


# (least, largest) share of a function that is made dearer; few functions have a LARGE one
SOME, LARGE = (0.03, 0.3), (0.2, 0.7)


def five_points(a, b, work, rng, sizes):
    """Makes a function of recording @b dearer: one whose share is within @sizes, or the largest one
    if @sizes is LARGE. Returns (whether diff found it, text for the output), or None if there is
    no such function."""
    r = Recording(b)
    total = sum(s.values[0] for s in r.read.samples)
    leaves = sorted(((n, k) for k, n in r.owners().items() if sizes[0] <= n / total <= sizes[1]))
    if not leaves:
        return None
    leaf = leaves[-1][1] if sizes == LARGE else rng.choice(sorted(k for _, k in leaves))
    path = os.path.join(work, "dearer.pb.gz")
    r.save_dearer(path, leaf, POINTS, rng)
    # krait puts the module before the name. Of several functions with this name, takes the one
    # whose cost rose.
    row = max((f for f in diff(a, path)["functions"] if ("." + f["name"]).endswith("." + leaf[1])),
              key=lambda f: f["own"]["share_after"] - f["own"]["share_before"])
    return is_flagged(row["own"]), words(row)


def words(f):
    return "%s: %s" % (f["name"], ", ".join("%s %.4f to %.4f%s, share %.4f to %.4f%s" % (
        kind, c["before"], c["after"], "*" * c["changed"], c["share_before"], c["share_after"],
        "*" * c["share_changed"]) for kind, c in ((k, f[k]) for k in ("own", "total"))))


def judge(folder, name, verbose):
    """Compares the recordings of a program. Returns (number of pairs, number of pairs in which diff
    flags something, {SOME: found, LARGE: found}). found is [pairs in which diff finds the dearer
    function, pairs with such a function]."""
    files, rng = recordings(folder, name), random.Random(name)
    pairs, flagged, found = list(zip(files, files[1:])), 0, {SOME: [0, 0], LARGE: [0, 0]}
    with tempfile.TemporaryDirectory() as work:
        for a, b in pairs:
            changed = [f for f in diff(a, b)["functions"]
                       if is_flagged(f["own"]) or is_flagged(f["total"])]
            flagged += bool(changed)
            for f in changed if verbose else []:
                print("  %s flags %s" % (os.path.basename(b), words(f)))
            for sizes, counts in found.items():
                hit, what = five_points(a, b, work, rng, sizes) or (None, "")
                counts[0] += bool(hit)
                counts[1] += hit is not None
                if verbose and hit is False:
                    print("  %s misses %s" % (os.path.basename(b), what))
    return len(pairs), flagged, found


def verdict(name, true, what, counts):
    print("%s diff %s: %s in %d of %d pairs (%s)" % (
        "PASS" if true else "FAIL", name, what, sum(n for _, n, _ in counts),
        sum(pairs for _, _, pairs in counts),
        ", ".join("%s %d of %d" % c for c in counts)), flush=True)
    return true


def run(o, folder):
    os.makedirs(folder, exist_ok=True)
    first = {name: len(recordings(folder, name)) for name in o.programs}
    for i in range(o.record):
        for name in o.programs:
            record(folder, name, first[name] + i)
    results = [(name, *judge(folder, name, o.verbose)) for name in o.programs]
    pairs = sum(r[1] for r in results)
    if not pairs:
        sys.exit("real.py: no two recordings of a program; see --record")
    flagged = sum(r[2] for r in results)
    same = verdict("real-same", flagged <= max(0.05 * pairs, 1), "something is flagged",
                   [(name, n, all_) for name, all_, n, _ in results])
    for what, sizes in ("real-five-points", SOME), ("real-five-points-of-a-large-one", LARGE):
        counts = [(name, *found[sizes]) for name, _, _, found in results if found[sizes][1]]
        same &= verdict(what, sum(n for _, n, _ in counts) >= 0.9 * sum(n for _, _, n in counts), "they are found", counts)
    return same


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", nargs="?", help="where the recordings are, and stay (default: nowhere)")
    p.add_argument("--record", type=int, default=0, metavar="N")
    p.add_argument("--programs", type=lambda s: s.split(","), default=list(PROGRAMS))
    p.add_argument("--verbose", action="store_true", help="name what is flagged and what is missed")
    o = p.parse_args()
    if o.record and os.geteuid():
        print("SKIP diff real: not root")
    elif o.folder:
        sys.exit(not run(o, o.folder))
    else:
        with tempfile.TemporaryDirectory() as folder:
            sys.exit(not run(o, folder))


if __name__ == "__main__":
    main()
