#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""ci_noise.py [FOLDER [--judge]] [--same N] [--planted N] [--before N] [--loads 0,4] [--runs N]
[--seconds S] [--minutes M]: how often does the CI gate of docs/ci.md fail a job although nothing
changed, and how often does it find a function that got slower?

The programs are those of planted.py, and packaging/action/benchmark.sh records each side of a
comparison. A load is a number of processes that compute at the same time. The gate's limit is
'own:*>+5%'. It compares:

- Each side with the --before sides recorded before it, of the same program. The limit may be
  exceeded in 1 of 300 pairs.
- Each side with one in which a function does so much more that a run costs 10 or 5 % more CPU time.
  All functions take turns. 10 % must be found in 57 of 60 pairs; for 5 % the share is printed.
- The sides of the first load with those of the last one.

FOLDER: the directory of the recordings. A recording that is there already isn't made again.
--judge: makes no recordings, and compares those in FOLDER. --minutes: recording with each load ends
after M minutes, and what was recorded by then is judged. Recording needs root."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import planted
from planted import PROGRAMS, ROOT, verdict

SCRIPT = os.path.join(ROOT, "packaging", "action", "benchmark.sh")
LIMIT = "own:*>+5%"
HZ = "4999"


class Load:
    """@n processes that compute."""

    def __init__(self, n):
        self.processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


class NoMore(Exception):
    """Raised with --judge if the folder doesn't have the next recording."""


class Benchmarks:
    def __init__(self, folder, o):
        self.folder, self.o = folder, o
        self.paths = {name: planted.script(folder, name, text + planted.MAIN) for name, text in PROGRAMS.items()}
        self.costs = self.measured(os.path.join(folder, "costs.json"))
        self.env = dict(os.environ, KRAIT=planted.KRAIT)

    def measured(self, kept):
        """Returns the cost of each function of each program. It is measured once and kept in the
        file @kept, because all recordings must use the same numbers of rounds, which are
        computed from it."""
        if not os.path.exists(kept):
            with open(kept, "w") as f:
                json.dump({name: planted.measured(path) for name, path in self.paths.items()}, f)
        with open(kept) as f:
            return json.load(f)

    def record(self, name, file, percent=0, turn=0):
        """Records a run of program @name. With @percent, one function (number @turn) does so much
        more work that the run costs @percent more CPU time."""
        out = os.path.join(self.folder, file + ".pb.gz")
        if self.o.judge and not os.path.exists(out):
            raise NoMore
        if not os.path.exists(out):
            self.make(name, out, percent, turn)
        return out

    def make(self, name, out, percent, turn):
        cost, planted = self.costs[name], ("", "")
        whole = sum(cost.values())
        if percent:
            function = sorted(cost)[turn % len(cost)]
            planted = (function, "%.6f" % (1 + percent / 100 * whole / cost[function]))
        subprocess.run([SCRIPT, "record", "-n", str(self.o.runs), "-F", HZ, "-o", out, "--", sys.executable, self.paths[name],
                        str(max(round(self.o.seconds / whole), 20)), *planted], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=self.env)

    def fails(self, before, after, what):
        done = subprocess.run([SCRIPT, "compare", before, after, LIMIT], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
                              env=self.env, check=False)
        if done.returncode not in (0, 4):
            raise AssertionError(done.stderr)
        if (done.returncode == 4) != (what != "same"):
            print("  %s: %s: %s" % (what, os.path.basename(after), done.stderr.strip() or "not found"), flush=True)
        return done.returncode == 4


class Counts:
    def __init__(self):
        self.of = {}

    def add(self, what, hit):
        n = self.of.setdefault(what, [0, 0])
        n[0] += hit
        n[1] += 1

    def n(self, what):
        return self.of.get(what, [0, 0])

    def words(self):
        return "; ".join("%s: %d of %d fail" % (what, *n) for what, n in self.of.items())


def one_turn(b, load, turn, sides, counts):
    """Records each program as it is, and with functions that do 10 and 5 % more. Adds to @counts
    what the gate says of these pairs."""
    for name in PROGRAMS:
        sides[name].append(b.record(name, "%s-%d-%d" % (name, load, turn)))
        for earlier in sides[name][-1 - b.o.before:-1]:
            counts.add("same", b.fails(earlier, sides[name][-1], "same"))
        for percent in (10, 5):
            what = "%d %%" % percent
            if counts.n(what)[1] < b.o.planted:
                slower = b.record(name, "%s-%d-%d-%d" % (name, load, turn, percent), percent, turn)
                counts.add(what, b.fails(sides[name][-1], slower, what))


def at_load(b, load, o):
    """Records and compares all programs under one load. Returns ({program: its recordings in which
    no function is slower}, the counts)."""
    counts, sides, end = Counts(), {name: [] for name in PROGRAMS}, time.time() + 60 * o.minutes
    turn = 0
    with Load(0 if o.judge else load):
        while time.time() < end and (counts.n("same")[1] < o.same or counts.n("5 %")[1] < o.planted):
            try:
                one_turn(b, load, turn, sides, counts)
            except NoMore:
                break
            turn += 1
            print("  load %d + %.1f: %s" % (load, os.getloadavg()[0] - load, counts.words()), flush=True)
    return sides, counts


def judge(name, counts):
    same, ten = counts.n("same"), counts.n("10 %")
    verdict("ci-same-" + name, same[0] <= max(same[1] / 300, 1), counts.words())
    if ten[1]:
        verdict("ci-planted-" + name, ten[0] >= ten[1] * 57 / 60, counts.words())


def run(o, folder):
    b, of = Benchmarks(folder, o), []
    for load in o.loads:
        sides, counts = at_load(b, load, o)
        of.append(sides)
        judge("load-%d" % load, counts)
    if len(of) > 1:
        counts = Counts()
        for name in PROGRAMS:
            for pair in zip(of[0][name], of[-1][name]):
                counts.add("same", b.fails(*pair, "same"))
        judge("across", counts)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", nargs="?", help="where the recordings are, and stay (default: nowhere)")
    p.add_argument("--judge", action="store_true")
    p.add_argument("--same", type=int, default=300)
    p.add_argument("--planted", type=int, default=60)
    p.add_argument("--before", type=int, default=1, help="with how many earlier sides one is compared")
    p.add_argument("--loads", type=lambda s: [int(n) for n in s.split(",")], default=[0, 4])
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--seconds", type=float, default=0.5, help="CPU time of a run")
    p.add_argument("--minutes", type=float, default=1e6)
    o = p.parse_args()
    if os.geteuid() and not o.judge:
        print("SKIP diff ci: not root")
    elif o.folder:
        os.makedirs(o.folder, exist_ok=True)
        run(o, o.folder)
    else:
        with tempfile.TemporaryDirectory() as folder:
            run(o, folder)
    sys.exit(planted.failed)


if __name__ == "__main__":
    main()
