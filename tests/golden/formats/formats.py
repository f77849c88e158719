# SPDX-License-Identifier: BSD-2-Clause
"""formats.py KRAIT DIRECTORY RECORDING...: krait report writes recordings in every format.

This test reads each output back: with the format's own reader if Python has one (pstats), else by
the format's published rules. Every function, thread and time must be as in the recording, which
tests/oracle/judge/pprof.py reads. viewers.py runs the viewers themselves."""

import collections
import json
import os
import pstats
import subprocess
import sys

from truth import Results, Truth, difference, frame, pprof

result = Results()
KRAIT = None


def convert(path, output, *options):
    run = subprocess.run([KRAIT, "report", *options, path, "-o", output], capture_output=True,
                         text=True, timeout=120)
    if run.returncode:
        raise RuntimeError(f"{output}: {run.stderr}")
    return output


def by_line(location):
    return frame(location) + (location.line,)


def by_function(location):
    return frame(location) + (location.first,)


def load(path):
    with open(path, encoding="utf-8") as f:  # decoding fails if the file isn't UTF-8
        return json.load(f)


def check_speedscope(name, truth, path):
    d = load(path)
    wrong = []
    if d["$schema"] != "https://www.speedscope.app/file-format-schema.json":
        wrong.append("$schema")
    frames = [(f["name"], f.get("file", ""), f.get("line", 0)) for f in d["shared"]["frames"]]
    if len(set(frames)) != len(frames):
        wrong.append("a frame is there twice")
    got = collections.defaultdict(lambda: [0, 0])
    for p in d["profiles"]:
        if (p["type"], p["unit"], p["startValue"]) != ("sampled", "nanoseconds", 0):
            wrong.append(p["name"])
        if len(p["samples"]) != len(p["weights"]) or p["endValue"] != sum(p["weights"]):
            wrong.append(f"{p['name']}: lengths or endValue")
        for stack, weight in zip(p["samples"], p["weights"]):
            for i in set(stack):
                got[frames[i]][1] += weight
            if stack:
                got[frames[stack[-1]]][0] += weight
        if any(a == b for a, b in zip(p["samples"], p["samples"][1:])) and not truth.gaps:
            wrong.append(f"{p['name']}: equal neighbours")
    result(f"{name} speedscope form", wrong)
    result(f"{name} speedscope functions, files, lines", difference(truth.sums(by_line), dict(got)))
    totals = collections.Counter({p["name"]: p["endValue"] for p in d["profiles"]})
    result(f"{name} speedscope threads",
           difference(collections.Counter(truth.threads.values()),
                      collections.Counter(totals.values())))


def numbered(threads):
    """Returns the sums with "?" in place of each thread id that isn't a number. krait gives such a
    thread an unused number, so only the sum over these threads can be compared."""
    out = collections.Counter()
    for ids, value in threads.items():
        known = all(i.isdigit() and int(i) < 1 << 22 for i in ids)
        out[ids if known else ("?", value)] += value
    return out


def ns(ms):
    return round(ms * 1000000)


def check_firefox(name, truth, path):
    """Checks the rules of processed profiles: docs-developer/processed-profile-format.md and
    types/profile.ts of firefox-devtools/profiler."""
    d = load(path)
    s, meta, wrong = d["shared"], d["meta"], []
    if meta["preprocessedProfileVersion"] != 60:
        wrong.append("version")
    for table in ("stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols", "sources"):
        wrong += [f"{table}.{column}" for column, v in s[table].items()
                  if column != "length" and len(v) != s[table]["length"]]
    stacks, frames, funcs = s["stackTable"], s["frameTable"], s["funcTable"]
    wrong += [f"prefix {i}" for i, p in enumerate(stacks["prefix"]) if p is not None and p >= i]
    if not any(c["color"] == "grey" for c in meta["categories"]):
        wrong.append("no default category")
    strings, sources = s["stringArray"], s["sources"]

    def location(i):
        func = frames["func"][i]
        source = funcs["source"][func]
        resource = funcs["resource"][func]
        file = "" if source is None else strings[sources["filename"][source]]
        if not file and resource >= 0:
            file = d["libs"][s["resourceTable"]["lib"][resource]]["path"]
        return (strings[funcs["name"][func]], file, frames["line"][i] or 0,
                frames["column"][i] or 0, meta["categories"][frames["category"][i]]["name"],
                funcs["lineNumber"][func] or 0)

    table = [location(i) for i in range(frames["length"])]
    got = collections.defaultdict(lambda: [0, 0])
    threads = {}
    for t in d["threads"]:
        samples = t["samples"]
        n = samples["length"]
        if {len(samples[c]) for c in ("stack", "time", "weight", "threadCPUDelta")} != {n}:
            wrong.append("columns of samples")
        if samples["time"] != sorted(samples["time"]) or samples["weightType"] != "tracing-ms":
            wrong.append(f"{t['tid']}: order of time")
        if not isinstance(t["pid"], str) or (str(t["tid"]) == t["pid"]) != t["isMainThread"]:
            wrong.append(f"{t['tid']}: pid or isMainThread")
        for stack, weight in zip(samples["stack"], samples["weight"]):
            leaf, seen = True, set()
            while stack is not None:
                key = table[stacks["frame"][stack]]
                got[key][0] += ns(weight) if leaf else 0
                got[key][1] += 0 if key in seen else ns(weight)
                seen.add(key)
                leaf, stack = False, stacks["prefix"][stack]
        threads[t["pid"], str(t["tid"])] = sum(map(ns, samples["weight"]))
        if sum(samples["threadCPUDelta"]) != threads[t["pid"], str(t["tid"])]:
            wrong.append(f"{t['tid']}: CPU time")
    kinds = {"python": "Python", "native": "Native", "kernel": "Kernel", "jit": "JIT code",
             "gc": "Garbage collector", "mark": "Other"}
    result(f"{name} firefox form", wrong)
    want = truth.sums(lambda l: frame(l) + (l.line, l.column, kinds[l.kind], l.first))
    got = {key: v for key, v in got.items() if v != [0, 0]}
    result(f"{name} firefox functions, files, lines, columns", difference(want, got))
    result(f"{name} firefox threads", difference(numbered(truth.threads), numbered(threads)))


def check_trace(name, truth, path):
    """Checks Perfetto's rules for traces: an E event ends the last open B event of its thread, and
    times never go back."""
    d = load(path)
    wrong, open_slices, last = [], collections.defaultdict(list), collections.defaultdict(int)
    got = collections.defaultdict(lambda: [0, 0])
    threads = collections.Counter()
    begun = {}
    for e in d["traceEvents"]:
        key = (str(e["pid"]), str(e["tid"]))
        if e["ph"] == "M":
            continue
        at = ns(e["ts"] / 1000)
        stack = open_slices[key]
        if at < last[key]:
            wrong.append(f"{key} goes back at {at}")
        if stack:
            got[stack[-1][0]][0] += at - last[key]
        last[key] = at
        if e["ph"] == "B":
            args = e.get("args", {})
            stack.append(((e["name"], args.get("file", ""), args.get("line", 0)), at))
        elif e["ph"] == "E" and stack:
            function, start = stack.pop()
            if all(f != function for f, _ in stack):
                got[function][1] += at - start
            if not stack:
                threads[key] += at - start
        else:
            wrong.append(f"{e['ph']} without B")
        begun.setdefault(key, at)
    wrong += [f"{key}: not closed" for key, stack in open_slices.items() if stack]
    result(f"{name} trace nesting", wrong)
    in_time = [s for s in truth.profile.samples if "time" in s.labels]
    ok = set(map(id, in_time))
    want = truth.sums(by_function, lambda s: id(s) in ok)
    result(f"{name} trace functions, files", difference(want, dict(got)))
    want, first = collections.Counter(), {}
    for s in in_time:
        # a sample without frames isn't in the file, because a slice of a trace needs a name
        if truth.profile.stack(s):
            want[truth.thread(s)] += s.values[truth.value]
        first[truth.thread(s)] = min(s.labels["time"], first.get(truth.thread(s), 1 << 62))
    result(f"{name} trace threads", difference(numbered(want), numbered(threads)))
    result(f"{name} trace begins", difference(
        {key: at for key, at in first.items() if key in begun},
        {key: at for key, at in begun.items() if key in first}))


def check_pstats(name, truth, path):
    stats = pstats.Stats(path).stats
    p, want = truth.profile, collections.defaultdict(lambda: [0, 0, 0])
    edges = collections.defaultdict(lambda: [0, 0, 0])
    for sample, stack in truth.stacks:
        value = sample.values[truth.value]
        chain = [(l.file, l.first, l.name) for l in stack if l.kind == "python"]
        chain = chain or [("~", 0, "[no Python]")]
        for key in set(chain):
            want[key][0] += sample.values[0]
            want[key][2] += value
        want[chain[-1]][1] += value
        pairs = list(zip(chain, chain[1:]))
        for pair in set(pairs):
            edges[pair][0] += sample.values[0]
            edges[pair][2] += value
        if pairs:
            edges[pairs[-1]][1] += value

    def plain(cost):
        return [cost[1], ns(cost[2] * 1000), ns(cost[3] * 1000)]

    result(f"{name} pstats functions", difference(
        dict(want), {key: plain(v) for key, v in stats.items()}))
    result(f"{name} pstats callers", difference(
        dict(edges), {(caller, key): plain(cost) for key, v in stats.items()
                      for caller, cost in v[4].items()}))
    with open(os.devnull, "w") as null:
        pstats.Stats(path, stream=null).sort_stats("cumulative").print_stats().print_callers()


def content(path):
    """Returns all contents of a recording, in an order that doesn't depend on the file's order."""
    p = pprof.read(path)
    samples = collections.Counter()
    for s in p.samples:
        stack = tuple((l.mapping, l.name, l.file, l.first, l.line, l.column, l.end_line, l.end_column, l.address,
                       l.system) for l in p.stack(s))
        samples[stack, tuple(sorted(s.labels.items())), tuple(s.values)] += 1
    samples["meta"] = (p.sample_types, p.default_type, p.period_type, p.period, p.time_nanos,
                       p.duration_nanos, p.comments)
    return samples


def check_jsonl(name, recording, path, directory):
    with open(path, encoding="utf-8") as f:
        # splitlines() also splits at every character that some programs take for the end of a line
        lines = f.read().splitlines()
    result(f"{name} jsonl is JSON, line by line",
           [line for line in lines if not isinstance(json.loads(line), dict)])
    back = convert(path, os.path.join(directory, "back.pb.gz"))
    result(f"{name} jsonl keeps everything", difference(content(recording), content(back)))
    first = convert(path, os.path.join(directory, "first.jsonl"))
    again = convert(first, os.path.join(directory, "again.jsonl"))
    with open(first, "rb") as a, open(again, "rb") as b:
        result(f"{name} jsonl once more is the same", [] if a.read() == b.read() else ["bytes"])


def check_folded(name, truth, path):
    """Checks that each stack of a folded file is one line: `;` between frames, the count after the
    last blank."""
    wrong, total = [], 0
    with open(path, encoding="utf-8", newline="") as f:
        text = f.read()
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        if not count.isdigit() or not all(stack.split(";")):
            wrong.append(line)
        else:
            total += int(count)
    if len(text.splitlines()) != text.count("\n"):
        wrong.append("something else ends a line")
    result(f"{name} folded form", wrong)
    result(f"{name} folded total",
           difference({"": sum(s.values[0] for s in truth.profile.samples)}, {"": total}))


ODD = ["f" * 4000, "a;b", "line\nbreak", "tab\there", "quo\"te'\\", "<module>", "</script><b>",
       "größe", "名前", "\U0001f40d", "ש\u202eל", "nul\x01\x7f\x85\u2028", "", " blank ", "100%", "a 7"]


def odd_recording(path):
    """Writes a profile in which functions, files, threads and processes have all the odd names,
    with recursion and with samples without times."""
    w = pprof.Writer()
    base = w.location("[python 3.12]", "<module>", "/srv/app.py", 1, 3, 1)
    kinds = ["[python 3.12]", "/usr/lib/libodd;\n.so", "[kernel]", "[jit]", "[gc]", "[krait]"]
    at = 0
    for n, name in enumerate(ODD):
        labels = {"pid": str(100 + n % 3), "tid": str(200 + n), "process": name, "thread": name,
                  "other": name}
        for i, mapping in enumerate(kinds):
            if not name and i:
                continue
            leaf = w.location(mapping, name or "x", f"/srv/{name}.py" if not i else "", 7, 9 + n, 4)
            for repeat in range(3):
                at += 1000000
                w.sample([base, leaf, base, leaf], dict(labels, time=at), count=1 + repeat)
            w.sample([base, leaf], labels)
    w.sample([], {})
    w.sample([base], {"pid": "not a number", "tid": "7 x"})
    for _ in range(3):
        w.sample([base], {"pid": "1", "tid": "1", "time": at})
    invalid = b"bad \xff\xfe\xc3 \xed\xa0\x80 end"
    w.sample([w.location(invalid, invalid, invalid, 1, 1, 1)], {"tid": "5", "thread": invalid})
    w.save(path)


def stacks(truth, in_time=False):
    """Returns {stack: times}, where a stack is known by its frames' names and files. @in_time
    leaves out samples that have no time or no frames."""
    sums = collections.Counter()
    for sample, stack in truth.stacks:
        if in_time and ("time" not in sample.labels or not stack):
            continue
        sums[tuple(frame(location) for location in stack)] += sample.values[truth.value]
    return sums


def check_back(name, truth, path):
    """krait can read the file that it has written, and every stack has its time."""
    kind = path.split(".")[-2]
    result(f"{name} {kind} read back", difference(stacks(truth, kind == "trace"),
                                                  stacks(Truth(convert(path, path + ".pb.gz")))))


def check(name, recording, directory):
    truth = Truth(recording)
    times = {s.labels.get("time") for s in truth.profile.samples}
    truth.gaps = len(times) > 1
    for kind in ("speedscope", "firefox", "trace"):
        path = os.path.join(directory, f"{name}.{kind}.json")
        globals()[f"check_{kind}"](name, truth, convert(recording, path))
        if kind != "speedscope":
            check_back(name, truth, path)
    check_pstats(name, truth, convert(recording, os.path.join(directory, f"{name}.pstats")))
    check_folded(name, truth, convert(recording, os.path.join(directory, f"{name}.folded")))
    check_jsonl(name, recording, convert(recording, os.path.join(directory, f"{name}.jsonl")),
                directory)


def main():
    global KRAIT
    KRAIT, directory, recordings = sys.argv[1], sys.argv[2], sys.argv[3:]
    odd = os.path.join(directory, "odd-made.pb.gz")
    odd_recording(odd)
    # pprof.py refuses bytes that aren't UTF-8. So krait first writes the profile again, as UTF-8.
    odd = convert(odd, os.path.join(directory, "odd.pb.gz"))
    for path in [odd] + recordings:
        check(os.path.basename(path).split(".")[0], path, directory)
    result.exit()


main()
