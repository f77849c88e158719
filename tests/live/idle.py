#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests which waits krait calls idle, and which it takes for an event loop's, in a recording and in
a dump. The program (idle_target.py) knows what its own threads do. Several versions of Python
are tested.

    idle.py [--full] [--only GLOB]

Without --full, five interpreters are tested."""
import argparse
import collections
import fnmatch
import json
import os
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "oracle"), os.path.join(TESTS, "oracle", "judge")]
import oracle  # noqa: E402
import pprof  # noqa: E402

KRAIT = os.environ.get("KRAIT", os.path.join(oracle.ROOT, "build", "release", "krait"))
TARGET = os.path.join(TESTS, "live", "idle_target.py")
FAST = ((2, 7), (3, 8), (3, 11), (3, 13), (3, 15))
BARE = ((3, 8), (3, 15))  # versions that are recorded without native frames
NAMED = ("idle_target.fetches_job", "idle_target.fetches_job_remotely", "idle_target.Jobs.get")
# The innermost functions of idle waits. A rule that looks only at these functions would call other
# waits idle as well.
LEAVES = ("get", "wait", "accept", "select", "recv_bytes")


def report(path, *options):
    done = subprocess.run([KRAIT, "report", path, "--value", "off_cpu", *options], stdout=subprocess.PIPE,
                          encoding="utf-8", timeout=60, check=True)
    return json.loads(done.stdout) if "--json" in options else done.stdout


def record(row, *options):
    """Runs and records the program. Returns (truth, profile, {options: text of `krait report`},
    threads of a dump)."""
    with tempfile.TemporaryDirectory(prefix="krait-idle.") as folder:
        out = os.path.join(folder, "o.pb.gz")
        done = subprocess.run([KRAIT, "record", "--wall", *options, "-o", out, "--", row.path, "-B", TARGET],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", timeout=60,
                              env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1", DUMP_TO=folder + "/dump",
                                       DUMP=" ".join([KRAIT, "dump", "--json"] + list(options))), check=False)
        if done.returncode:
            raise AssertionError("exit code %d: %s" % (done.returncode, done.stderr[-400:]))
        truth = {int(tid): words for tid, words in json.loads(done.stdout).items()}
        said = {o: report(out, *o) for o in (("--json",), ("--json", "--idle"), ("--json", "--label", "idle=yes"), ())}
        with open(folder + "/dump") as f:
            dump = [t for p in json.load(f)["processes"] for t in p["threads"]]
        return truth, pprof.read(out), said, dump


def counts_as(sample):
    if sample.labels.get("state") == "loop":
        return "loop"
    return "idle" if sample.labels.get("idle") == "yes" else "waits"


def by_leaf(profile, sample):
    """A wrong rule, which the test must notice: it calls a wait idle if its innermost Python
    function is in LEAVES."""
    names = [l.name.rsplit(".", 1)[-1] for l in profile.stack(sample) if l.kind == "python"]
    return "idle" if names and names[-1] in LEAVES else "waits"


def wrong(truth, profile, how):
    """Compares the profile with the truth. Yields texts that say what is wrong. @how: a function
    that returns "idle", "loop" or "waits" for a sample."""
    at = [name for name, _ in profile.sample_types].index("off_cpu")
    sums = collections.defaultdict(collections.Counter)
    stacks = {}
    for sample in profile.samples:
        tid, ns = int(sample.labels["tid"]), sample.values[at]
        if tid not in truth or not ns or sample.labels.get("state") in ("runnable", "stolen", "gil"):
            continue
        sums[tid][how(sample)] += ns
        if ns > stacks.get(tid, (0,))[0]:
            stacks[tid] = ns, how(sample), " < ".join([l.name for l in profile.stack(sample)][:-9:-1]), sample.labels.get("state")
    for tid, (what, counts) in sorted(truth.items()):
        whole = sum(sums[tid].values())
        if not whole:
            yield "%s has no waits" % what
        # before its longest wait, a thread may wait for locks, and in a pool for its first task
        elif 2 * sums[tid][counts] < whole or stacks[tid][1] != counts:
            yield "%s: %s, not %s: %s" % (what, dict(sums[tid]), counts, stacks[tid])


def wrong_in_dump(truth, dump):
    """Yields texts that say what is wrong with a dump."""
    seen = {t["tid"]: t for t in dump}
    for tid, (what, counts) in sorted(truth.items()):
        t = seen.get(tid)
        if not t:
            yield "%s isn't in the dump" % what
        elif t["state"] not in ("gil", "runnable", "running"):
            got = "loop" if t["state"] == "loop" else "idle" if t["idle"] else "waits"
            if got != counts or (got == "idle") != ("no work" in t["words"]):
                yield "dump: %s: %s, not %s: %s" % (what, got, counts, t["words"])


def shown(profile, said):
    """Yields texts that say what is wrong with the report, which must leave idle waits out and give
    their sum."""
    at = [name for name, _ in profile.sample_types].index("off_cpu")
    whole = sum(s.values[at] for s in profile.samples)
    idle = sum(s.values[at] for s in profile.samples if counts_as(s) == "idle")
    first, all_of, only = (said[("--json",) + o] for o in ((), ("--idle",), ("--label", "idle=yes")))
    scale = {"nanoseconds": 1, "seconds": 1e9}[first["unit"]]
    for what, got, true in (("shown", first["shown"], whole - idle), ("idle", first["idle"], idle),
                            ("shown with --idle", all_of["shown"], whole), ("shown of idle", only["shown"], idle)):
        if abs(got * scale - true) > 1e6:
            yield "the report's %s is %s, not %s" % (what, got, true)
    if "idle" in all_of or "of threads without work left out (--idle)" not in said[()]:
        yield "the report doesn't say what it leaves out: " + said[()].splitlines()[0]


def judge(row, *more):
    options = [o for name in NAMED for o in ("--idle-at", name)] + list(more)
    truth, profile, said, dump = record(row, *options)
    for words in wrong_in_dump(truth, dump):
        yield words
    for words in shown(profile, said):
        yield words
    for words in wrong(truth, profile, counts_as):
        yield words
    kinds = collections.Counter(counts for _, counts in truth.values())
    if kinds["idle"] < 20 or kinds["waits"] < 20:
        yield "too few threads: %s" % dict(kinds)
    taken = [w for w in wrong(truth, profile, lambda sample: by_leaf(profile, sample)) if "not waits" in w]
    if len(taken) < 3:
        yield "a rule that knows the innermost function alone isn't found out: %s" % taken


def chosen(options):
    for row in oracle.interpreters(options.full or options.only, None):
        fast = options.full or options.only or row.version[:2] in FAST
        if fast and row.kind not in ("pypy", "chroot") and fnmatch.fnmatch(row.name, options.only or "*"):
            yield row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", default=bool(os.environ.get("KRAIT_TEST_FULL")))
    parser.add_argument("--only")
    options = parser.parse_args()
    failed = False
    if os.getuid():
        print("SKIP idle: needs root")
        return 0
    for row in chosen(options):
        try:
            found = list(judge(row, *(("--native=none",) if row.version[:2] in BARE else ())))
        except (AssertionError, subprocess.TimeoutExpired) as err:
            found = [str(err)]
        failed |= bool(found)
        for words in found[:10]:
            print("FAIL idle %s: %s" % (row.name, words.replace("\n", " | ")))
        if not found:
            print("PASS idle %s" % row.name, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
