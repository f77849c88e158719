#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""hostile_files.py: small files that say far more than their size are refused, or read, within seconds of CPU time; the limits are ten times
what a slow machine takes."""
import gzip
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KRAIT = os.path.join(ROOT, os.environ.get("KRAIT", "build/release/krait"))
failed = False


def trace(n):
    """@n slices, each within the one before: a stack of its own at each beginning and each end."""
    return {"traceEvents": [{"ph": "X", "name": "f%d" % i, "pid": 1, "tid": 1, "ts": i, "dur": 2 * (n - i)} for i in range(n)]}


def trace_of_threads(n, threads):
    """The same stacks in each of many threads: what is shown of them is of each."""
    return {"traceEvents": [{"ph": "X", "name": "f", "pid": 1, "tid": t, "ts": i, "dur": 2 * (n - i)}
                            for t in range(threads) for i in range(n)]}


def firefox(n, threads=1):
    """A chain of @n stacks, a sample of each in each thread."""
    return {"meta": {"preprocessedProfileVersion": 60, "startTime": 0}, "libs": [],
            "shared": {"stackTable": {"frame": [0] * n, "prefix": [None] + list(range(n - 1))},
                       "frameTable": {"func": [0]}, "funcTable": {"name": [0]}, "stringArray": ["f"]},
            "threads": [{"pid": "1", "tid": t, "name": "t%d" % t, "samples": {"stack": list(range(n))}} for t in range(threads)]}


def speedscope(n):
    """@n frames opened one after the other, then closed."""
    events = [{"type": "O", "at": i, "frame": 0} for i in range(n)] + [{"type": "C", "at": n + i, "frame": 0} for i in range(n)]
    return {"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "f"}]},
            "profiles": [{"type": "evented", "name": "x", "unit": "milliseconds", "startValue": 0, "endValue": 2 * n, "events": events}]}


def cpuprofile(n):
    """A chain of @n nodes, a sample of each."""
    frame = {"functionName": "f", "scriptId": "1", "url": "x.js", "lineNumber": 1, "columnNumber": 1}
    return {"nodes": [{"id": i + 1, "callFrame": frame, "children": [i + 2] if i + 1 < n else []} for i in range(n)],
            "startTime": 0, "endTime": n, "samples": list(range(1, n + 1)), "timeDeltas": [1] * n}


def bomb(path):
    """Four hundred megabytes in four hundred thousand bytes."""
    with gzip.open(path, "wb", compresslevel=9) as f:
        for _ in range(100):
            f.write(b"f 1\n" * 1000000)


CASES = (
    ("trace", lambda: trace(20000), 5, "nested far deeper"),
    ("trace-100000", lambda: trace(100000), 10, "nested far deeper"),
    ("trace-threads", lambda: trace_of_threads(5000, 20), 10, "nested far deeper"),
    ("trace-12000", lambda: trace(12000), 10, None),  # more calls than V8 has room for on its stack
    ("firefox", lambda: firefox(65000), 5, "far deeper"),
    ("firefox-threads", lambda: firefox(3000, 60), 10, "far deeper"),
    ("firefox-3000", lambda: firefox(3000), 10, None),
    ("speedscope", lambda: speedscope(20000), 10, "far deeper"),
    ("cpuprofile", lambda: cpuprofile(30000), 20, "far deeper"),
    ("folded", bomb, 10, "far more samples"),
)


def check(directory, name, make, limit, words):
    global failed
    path = os.path.join(directory, name + (".folded.gz" if make is bomb else ".json"))
    if make is bomb:
        bomb(path)
    else:
        with open(path, "w", encoding="ascii") as f:
            json.dump(make(), f)
    before = os.times()
    try:
        done = subprocess.run([KRAIT, "report", path], capture_output=True, text=True, timeout=120 + limit, check=False)
        said, code = done.stderr, done.returncode
    except subprocess.TimeoutExpired:
        said, code = "no end after %d s" % (120 + limit), None
    after = os.times()
    took = after.children_user + after.children_system - before.children_user - before.children_system
    good = took <= limit and (code == 0 if words is None else code == 1 and words in said)
    print("PASS hostile-file %s" % name if good else "FAIL hostile-file %s: %.1f s of CPU time, exit code %s: %s" % (
        name, took, code, said.strip()[:200]))
    failed |= not good
    if os.environ.get("VERBOSE"):
        print("%s: %d bytes, %.2f s" % (name, os.path.getsize(path), took))


with tempfile.TemporaryDirectory() as work:
    for case in CASES:
        check(work, *case)
sys.exit(failed)
