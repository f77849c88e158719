#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""published.py FOLDER [--all]: lets krait read every file below FOLDER, such as profiles that other
projects have published.

This script computes the totals of each file as well, with a few lines for each format, written from
the format's description. The totals are compared with those of `krait report` and with the sums in
krait's JSON Lines. Prints the files that differ (--all: every file), then a table of the formats.
No such file is part of this repository: clone speedscope, pprof, FlameGraph, inferno, the Firefox
profiler and others next to each other and name the folder. Exit code 1 if a total differs, or if
krait neither reads nor refuses a file."""
import collections
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from fractions import Fraction

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
from judge import pprof  # noqa: E402

KRAIT = os.path.join(ROOT, os.environ.get("KRAIT", "build/release/krait"))
SECONDS = 60
NUMBER = re.compile(r"-?\d+(\.\d*)?([eE][-+]?\d+)?$")
LIMIT = 1 << 62  # krait doesn't take a larger number of nanoseconds for a time

# totals: {value: total}; n: number of samples, which limits the error by rounding
Truth = collections.namedtuple("Truth", "format totals n")


def number(value):
    """Returns the number in a JSON value that is a number, or a string with a number; otherwise
    None."""
    if isinstance(value, bool) or value is None or not NUMBER.match(str(value).strip()):
        return None
    return Fraction(str(value).strip().rstrip("."))


def folded(text):
    lines = [line.rstrip(" \t\r") for line in text.split("\n") if line.strip("\r") and not line.startswith("#")]
    good = []
    for line in lines:
        stack, blank, count = line.replace("\t", " ").rpartition(" ")
        if blank and NUMBER.match(count):
            good.append((stack, Fraction(count.rstrip("."))))
    bad = len(lines) - len(good)
    if not lines or (bad and bad >= len(good)):
        return None
    mode = re.search("^# mode: (wall|cpu|memory)\r?$", text, re.M)
    firsts = [stack.rpartition(" ")[2] if " " in stack else "" for stack, _ in good]
    if good and all(NUMBER.match(first) for first in firsts) and "# counts: 1" not in text:
        return Truth("folded", {"before": sum(map(Fraction, firsts)), "after": sum(n for _, n in good)}, 0)
    name, scale = {"wall": ("time", 1000), "cpu": ("cpu", 1000), "memory": ("memory", 1)}[mode[1]] if mode else ("samples", 1)
    return Truth("folded", {name: scale * sum(n for _, n in good)}, len(good) if mode else 0)


def speedscope(data):
    totals, n, frames = collections.Counter(), 0, len(data.get("shared", {}).get("frames", []))
    for part in data["profiles"]:
        unit = {"bytes": ("bytes", 1), "nanoseconds": ("time", 1), "microseconds": ("time", 10**3),
                "milliseconds": ("time", 10**6), "seconds": ("time", 10**9)}.get(part.get("unit"), ("samples", 1))
        name = {"CPU": "cpu", "Wall": "wall"}.get(re.sub(" time profile for .*", "", part.get("name", "")), unit[0])
        name = {"a": "allocated", "d": "freed"}.get((re.match("Memory (a|de)llocation profile for ", part.get("name", "")) or "  ")[1][0], name) if unit[0] == "bytes" else name
        if part.get("type") == "sampled" and "samples" in part and "weights" in part:
            for stack, weight in zip(part["samples"], part["weights"]):
                if number(weight) is not None and all(isinstance(i, int) and 0 <= i < frames for i in stack):
                    totals[name] += number(weight) * unit[1]
                    n += 1
        elif part.get("type") == "evented" and "events" in part:
            stack, last = [], 0
            for e in part["events"]:
                at, frame = number(e.get("at")), e.get("frame")
                if at is None or not isinstance(frame, int) or not 0 <= frame < frames or e.get("type") not in ("O", "C"):
                    continue
                at = max(at, last) if stack else at
                totals[name] += (at - last) * unit[1] if stack else 0
                n, last = n + 1, at
                if e["type"] == "O":
                    stack.append(frame)
                elif frame in stack:
                    while stack.pop() != frame:
                        pass
    return Truth("speedscope", totals, n)


def firefox(data):
    totals, n = collections.Counter(), 0
    for thread in data["threads"]:
        samples = thread.get("samples", {})
        stacks = samples.get("stack") or []
        weights = samples.get("weight") or [1] * len(stacks)
        name, scale = {"tracing-ms": ("time", 10**6), "bytes": ("bytes", 1)}.get(samples.get("weightType"), ("samples", 1))
        n += len(stacks)
        for _, weight in zip(stacks, weights):
            totals[name] += Fraction(1 if weight is None else weight) * scale
    return Truth("firefox", totals, n)


def slices(events):
    """Returns (thread, start, end) of each event X, and of each event B with its E."""
    marks = collections.defaultdict(list)
    for i, e in enumerate(events):
        phase, ts = e.get("ph"), number(e.get("ts"))
        if phase not in ("B", "E", "X") or ts is None or abs(ts * 1000) > LIMIT:
            continue
        thread, dur = (str(e.get("pid")), str(e.get("tid"))), number(e.get("dur"))
        if phase == "X" and dur is not None and dur >= 0:
            yield thread, ts, ts + dur
        elif phase != "X":
            marks[thread].append((ts, i, phase, e.get("name") or ""))
    for thread, list_of in marks.items():
        stack = []
        for ts, _, phase, name in sorted(list_of):
            if phase == "B":
                stack.append((name, ts))
            elif stack and (not name or any(name == n for n, _ in stack)):
                while True:
                    opened, start = stack.pop()
                    yield thread, start, ts
                    if not name or opened == name:
                        break


def trace(events):
    events = [e for e in events if isinstance(e, dict)]
    samples = 0
    known = collections.defaultdict(set)  # the nodes in the profile (Chrome leaves some out)
    for e in events:
        data = e["args"].get("data") if e.get("name") in ("Profile", "ProfileChunk") and isinstance(e.get("args"), dict) else None
        nodes = known[e.get("pid"), e.get("id")]
        if data:
            part = data.get("cpuProfile") or {}
            nodes |= {node["id"] for node in part.get("nodes") or []}
            samples += sum(node in nodes for node in part.get("samples") or [])
    total, n, end = 0, 0, {}
    for thread, start, stop in sorted(slices(events), key=lambda s: (s[0], s[1], -s[2])):
        n += 1
        if start >= end.get(thread, start):
            total += (stop - start) * 1000
            end[thread] = stop
    if not samples:
        return Truth("trace", {"time": total}, n)
    return Truth("trace", {"samples": samples, **({"slices": total} if n else {})}, n)


def cpuprofile(data):
    return Truth("cpuprofile", {"samples": len(data["samples"])}, 0)


def of_json(text):
    try:
        data = json.loads(text, strict=False)
    except ValueError:
        head = text.lstrip()
        if not head.startswith("[") or '"ph"' not in head[:65536]:
            return None
        try:
            # a file that is a list of events may lack its closing bracket
            data = json.loads(head.rstrip().rstrip(",") + "]", strict=False)
        except ValueError:
            return None
    if isinstance(data, list):
        return trace(data) if any(isinstance(e, dict) and "ph" in e for e in data) else None
    if not isinstance(data, dict):
        return None
    if "speedscope.app" in str(data.get("$schema")):
        return speedscope(data) if isinstance(data.get("profiles"), list) else None
    if isinstance(data.get("meta"), dict) and "preprocessedProfileVersion" in data["meta"]:
        return firefox(data)
    if isinstance(data.get("traceEvents"), list):
        return trace(data["traceEvents"])
    return cpuprofile(data) if {"nodes", "samples", "timeDeltas"} <= set(data) else None


def of_pprof(data):
    try:
        p = pprof.Profile(data)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return None
    if not p.sample_types or not p.locations or any(len(s.values) != len(p.sample_types) for s in p.samples):
        return None
    totals = collections.OrderedDict()
    for i, (name, _) in enumerate(p.sample_types):
        totals.setdefault(name, sum(s.values[i] for s in p.samples))
    return Truth("pprof", totals, 0)


def truth(path):
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError):
            return None
    text = data.decode("utf-8", "replace")
    if text.lstrip()[:1] in ("{", "["):
        found = of_json(text)
        if found:
            return found
    return folded(text) if not re.search(b"[\0-\x08\x0b\x0c\x0e-\x1f]", data[:65536]) else of_pprof(data)


def run(*args):
    done = subprocess.run([KRAIT, *args], capture_output=True, timeout=SECONDS)
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip()


def sums(path):
    """Returns {value: total} of a file of JSON Lines."""
    totals, names = collections.Counter(), []
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith('{"type":"krait"'):
                names = [(t["type"], 10**6 if t["unit"] == "microcount" else 1) for t in json.loads(line)["sample_types"]]
                totals.update({name: 0 for name, _ in names})
            elif line.startswith('{"type":"sample"'):
                for (name, scale), v in zip(names, json.loads(line)["values"]):
                    totals[name] += Fraction(v, scale)
    return totals


def look(path, work):
    """Lets krait read a file. Returns (format, what krait makes of it, krait's message)."""
    want, lines = truth(path), os.path.join(work, "x.jsonl")
    start = time.monotonic()
    try:
        code, out, words = run("report", path, "--json")
        if code == 0:
            run("report", path, "-q", "-o", lines)
    except subprocess.TimeoutExpired:
        return want.format if want else "none", "broken", "more than %d s" % SECONDS
    seconds = time.monotonic() - start
    if code not in (0, 1):
        return want.format if want else "none", "broken", "exit code %d: %s" % (code, words)
    if code:
        return want.format if want else "none", "refused", words.split("\n")[-1]
    got, told = sums(lines), json.loads(out)
    notes = "; ".join(told["notes"])
    if not want:
        return "unknown", "read", notes
    wrong = ["%s: krait %s, here %s" % (name, float(got[name]) if name in got else "none", float(total))
             for name, total in want.totals.items()
             if (name in got or not told["notes"]) and abs(got.get(name, 0) - total) > (want.n + 1) * Fraction(1, 2 if want.n else 10**5)]
    if told["value"] in want.totals and abs(told["all"] - got[told["value"]]) > 1e-6:
        wrong.append("report %s, JSON lines %s" % (told["all"], got[told["value"]]))
    if wrong:
        return want.format, "differs", "; ".join(wrong[:4] + told["notes"])
    return want.format, "noted" if notes else "same", "%s%.1f s" % (notes + ", " if notes else "", seconds)


def main():
    words = [w for w in sys.argv[1:] if w != "--all"]
    if len(words) != 1 or not os.path.isdir(words[0]):
        sys.exit(__doc__)
    table = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as work:
        for folder, _, names in sorted(os.walk(words[0])):
            for name in sorted(names):
                path = os.path.join(folder, name)
                if not os.path.isfile(path) or not os.path.getsize(path):
                    continue
                kind, did, words_of = look(path, work)
                table[kind][did] += 1
                if "--all" in sys.argv or did in ("differs", "broken") or (did == "refused" and kind != "none"):
                    print("%-10s %-8s %s: %s" % (kind, did, os.path.relpath(path, words[0]), words_of[:300]), flush=True)
    columns = ("same", "noted", "differs", "refused", "read", "broken")
    print("\n%-10s %6s" % ("format", "files") + "".join(" %8s" % c for c in columns))
    for kind, counts in sorted(table.items()):
        print("%-10s %6d" % (kind, sum(counts.values())) + "".join(" %8d" % counts[c] for c in columns))
    sys.exit(any(counts["differs"] + counts["broken"] for counts in table.values()))


main()
