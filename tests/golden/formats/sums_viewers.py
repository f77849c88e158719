#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""sums_viewers.py [SEED [PROFILES]]: draws random profiles, like sums.py, for the formats of
viewers: speedscope, the Firefox Profiler, Chrome's traces, pstats and folded stacks. Functions,
files, processes and threads have names that look like something else (places, counts, several
lines). The test compares two things with sums in plain Python, for each stack, thread by thread:
the contents of each file by its own rules, and the profile that krait reads back from it.

A failure prints its seed: sums_viewers.py SEED 1 draws that profile again."""
import collections
import json
import marshal
import os
import random
import sys

import sums
from sums import Frame, Profile, Sample, kind, krait, same

NAMES = ("f", "g", "<module>", "a;b", "f 12", "x 3.5", "tab\there", "two\nlines", "naïve", "数", "(file:line)", "h (app.py:3)", "k (y)", " lead",
         "trail ", "#c", "std::sort", "op<T>::q", "z\"q\\", "\u2028sep", "7", "a · b", "-", "C:\\x.py", "f;", "{}", "𝒳", "")
FILES = ("/srv/one/app.py", "/srv/two/app.py", "rel/mod.py", "<string>", "", "/srv/x y/ü;1.py", "/srv/a (b).py", "/srv/t\tab.py")
OTHERS = (("/usr/lib/libz.so.1", "native"), ("/opt/libz.so.1", "native"), ("[unknown]", "native"), ("[kernel]", "kernel"),
          ("[jit]", "jit"), ("[gc]", "gc"))
OWNERS = ("web", "Main", "", "", "a;b", "Process", "Thread", "x (y)", "two\nlines", "tab\t", "数 12", "end 7", "7", "8", "a: b", "#1", "a · b")
KINDS = {"python": "Python", "native": "Native", "kernel": "Kernel", "jit": "JIT code", "gc": "Garbage collector"}
MADE_UP = 1 << 22  # numbers for unknown ids begin with this number, as in src/profile/profile.h


def draw_frame(r):
    name = r.choice(NAMES)
    if r.random() < 0.65:
        return Frame("[python 3.12]", name, r.choice(FILES), r.choice((0, 1, 7)), r.choice((0, 3, 4, 9)), r.choice((0, 2)), 0)
    mapping, what = r.choice(OTHERS)
    source = r.choice(("", "src/a.c")) if what == "native" else ""
    return Frame(mapping, name, source, 0, r.choice((0, 12)) if source else 0, 0, 0)


def draw_owners(r):
    """Draws random label sets of threads. A process id or thread id has the same name in all of
    them, or no name."""
    out = []
    for pid in r.sample(range(7, 20), r.randint(1, 3)):
        process = {"pid": str(pid), "process": r.choice(OWNERS)}
        out += [{**process, "tid": str(tid), "thread": r.choice(OWNERS)} for tid in r.sample(range(7, 30), r.randint(1, 3))]
    if r.random() < 0.3:
        out += [{"process": r.choice(OWNERS)}, {"thread": r.choice(OWNERS)}, {}]
    return [tuple(sorted((k, v) for k, v in labels.items() if v)) for labels in out]


def draw(r):
    types, owners = r.choice(sums.TYPES[:2] + sums.TYPES[3:]), draw_owners(r)
    frames, samples = [draw_frame(r) for _ in range(r.randint(1, 12))], []
    for _ in range(r.choice((1, 30, 30))):
        stack, n = [r.choice(frames) for _ in range(r.choice((0, 1, 2, 3, 5)))], r.choice((0, 1, 1, 2, 5))
        stack += stack[-2:] * r.choice((0, 0, 0, 1, 3))
        samples.append(Sample(tuple(stack), r.choice(owners), r.choice((-1, 0, 10 ** 6, r.randrange(10 ** 9))),
                              (n, n * 10 ** 6 + r.choice((0, 5)), *(r.choice((0, 17)) for _ in types[2:]))[:len(types)]))
    return Profile(types, min(len(types) - 1, 1), 10 ** 18, 10 ** 9, samples)


def name(f):
    """Returns the name of a function, or its address if it has no name."""
    return f.name or "0x%x" % f.address


def place(f):
    """Returns the file of a frame, or its mapping if it has no file."""
    return f.file or ("" if kind(f) == "python" else f.mapping)


def known(mapping):
    """Returns the name of a mapping, or "" if it isn't the name of a file, because some formats
    can't express such a mapping."""
    return "" if mapping in ("[unknown]", "[python]") or mapping.startswith("[python ") else mapping


def by_thread(p, frame, value, wanted=lambda s: True):
    out = collections.Counter()
    for s in p.samples:
        if wanted(s) and s.values[value] > 0:
            out[s.labels, tuple(map(frame, s.stack))] += s.values[value]
    return out


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def title(labels):
    """Returns the name that krait gives to a thread in a speedscope file."""
    labels = dict(labels)
    parts = [" ".join(filter(None, (labels.get(name), "(%s %s)" % (number, labels[number]) if number in labels else "")))
             for name, number in (("process", "pid"), ("thread", "tid"))]
    return " · ".join(filter(None, parts)) or "all threads"


def untitled(counter):
    """Returns the sums of @counter by the threads' names. Threads with the same name in the file
    are added up."""
    out = collections.Counter()
    for (labels, stack), n in counter.items():
        out[title(labels), stack] += n
    return out


def not_alone(counter):
    """Returns the sums of @counter by the threads' names, as untitled() does. If there is only one
    thread, and it has no ids, its name is left out: a speedscope file may have the program's
    name in this place."""
    out, names = untitled(counter), {title(labels) for labels, _ in counter}
    if len(names) > 1 or any("id" in key for labels, _ in counter for key, _ in labels):
        return out
    return collections.Counter({stack: n for (_, stack), n in out.items()})


def speedscope(p, path):
    """Checks a speedscope file. Besides the number of samples, the file has either one value or all
    values, with the default value first."""
    d, got, several = load(path), collections.defaultdict(collections.Counter), len(p.types) > 2
    frames = [(f["name"], f.get("file", ""), f.get("line", 0)) for f in d["shared"]["frames"]]
    values = range(len(p.types)) if several else (p.default,)
    for part in d["profiles"]:
        value = p.types.index((part["valueType"], part["valueUnit"])) if several else p.default
        prefix, unit = p.types[value][0] + ": " if several else "", p.types[value][1]
        same("speedscope's names and units", (prefix, unit if unit != "count" else "none"), (part["name"][:len(prefix)], part["unit"]))
        of = got[value]
        for stack, weight in zip(part["samples"], part["weights"]):
            of[part["name"][len(prefix):], tuple(frames[i] for i in stack)] += weight
    same("speedscope's first value", p.default, next(iter(got)))
    for value in values:
        same("speedscope " + p.types[value][0], untitled(by_thread(p, lambda f: (name(f), place(f), f.line), value)), got[value])


def firefox(p, path):
    d, got = load(path), collections.Counter()
    s, unit = d["shared"], 10 ** 6 if p.types[p.default][1] == "nanoseconds" else 1
    strings, funcs, frames = s["stringArray"], s["funcTable"], s["frameTable"]

    def frame(i):
        func = frames["func"][i]
        source, resource = funcs["source"][func], funcs["resource"][func]
        file = strings[s["sources"]["filename"][source]] if source is not None else ""
        if not file and resource >= 0:
            file = d["libs"][s["resourceTable"]["lib"][resource]]["path"]
        return (strings[funcs["name"][func]], file, frames["line"][i] or 0, d["meta"]["categories"][frames["category"][i]]["name"])
    for t in d["threads"]:
        names = {"process": "" if "processName" in t.get("made_up", ()) else t["processName"],
                 "thread": "" if "name" in t.get("made_up", ()) else t["name"],
                 "pid": t["pid"] if int(t["pid"]) < MADE_UP else "", "tid": str(t["tid"]) if t["tid"] < MADE_UP else ""}
        labels = tuple(sorted((k, v) for k, v in names.items() if v))
        for at, weight in zip(t["samples"]["stack"], t["samples"]["weight"]):
            stack = []
            while at is not None:
                stack.insert(0, frame(s["stackTable"]["frame"][at]))
                at = s["stackTable"]["prefix"][at]
            got[labels, tuple(stack)] += round(weight * unit)
    same("firefox", by_thread(p, lambda f: (name(f), place(f), f.line, KINDS[kind(f)]), p.default), +got)


def trace(p, path):
    """Checks a trace: for how long each set of slices is open. Samples without a time or without
    frames are left out."""
    names, threads, got = {}, {}, collections.Counter()
    for e in load(path)["traceEvents"]:
        pid, tid = e["pid"], e["tid"]
        if e["ph"] == "M":
            names[(pid,) if e["name"] == "process_name" else (pid, tid)] = e["args"]["name"]
            continue
        stack, last = threads.setdefault((pid, tid), ([], [0]))
        at = round(e["ts"] * 1000)
        labels = {"process": names.get((pid,), ""), "thread": names.get((pid, tid), ""),
                  "pid": str(pid) if pid < MADE_UP else "", "tid": str(tid) if tid < MADE_UP else ""}
        if stack:
            got[tuple(sorted((k, v) for k, v in labels.items() if v)), tuple(stack)] += at - last[0]
        last[0] = at
        if e["ph"] == "B":
            stack.append((e["name"], e["args"].get("file", ""), e["args"].get("line", 0)))
        else:
            stack.pop()
    same("trace", by_thread(p, lambda f: (name(f), place(f), f.start), p.default, lambda s: s.time >= 0 and s.stack), +got)


def profiler(p, path):
    want, edges = (collections.defaultdict(lambda: [0, 0, 0]) for _ in range(2))
    for s in p.samples:
        n, value = s.values[0], s.values[p.default]
        chain = [(f.file, f.start, name(f)) for f in s.stack if kind(f) == "python"] or [("~", 0, "[no Python]")]
        for table, keys, last in (want, chain, chain[-1]), (edges, list(zip(chain, chain[1:])), tuple(chain[-2:])):
            for key in set(keys):
                table[key][0] += n
                table[key][2] += value
            if last in keys:
                table[last][1] += value

    def plain(cost):
        unit = 10 ** 9 if p.types[p.default][1] == "nanoseconds" else 1
        return [cost[1], round(cost[2] * unit), round(cost[3] * unit)]
    with open(path, "rb") as f:
        # loads the file as pstats does, which refuses a file without functions
        stats = marshal.load(f)
    same("pstats", {k: v for k, v in want.items() if any(v)}, {k: plain(v) for k, v in stats.items() if any(plain(v))})
    same("pstats' callers", {k: v for k, v in edges.items() if any(v)},
         {(caller, k): plain(cost) for k, v in stats.items() for caller, cost in v[4].items() if any(plain(cost))})


def clean(text):
    """Cleans the text of a frame as docs/format.md says: it then has no ";" and is one line."""
    return "".join(":" if c == ";" else " " if c < " " or "\x7f" <= c <= "\x9f" or c in "\u2028\u2029" else c for c in text)


def folded_frame(f):
    where = f.file or ("" if f.mapping == "[unknown]" else f.mapping.rsplit("/", 1)[-1])
    return clean(name(f) + (" (%s%s)" % (where, ":%d" % f.line if f.file and f.line else "") if where else ""))


def folded(p, path):
    want, got = collections.Counter(), collections.Counter()
    several = len({sums.whose(s, "process", "pid") for s in p.samples} - {""}) > 1
    for s in p.samples:
        labels = dict(s.labels)
        root = labels.get("process") or ("pid " + labels["pid"] if "pid" in labels else "[no process]")
        line = ";".join([clean(root)] * several + (list(map(folded_frame, s.stack)) or ["[no stack]"] * (not several)))
        want[" " * (line[0] == "#") + line] += s.values[0]
    with open(path, encoding="utf-8", newline="") as f:
        text = f.read()
    for line in text.split("\n")[:-1]:
        stack, _, count = line.rpartition(" ")
        got[stack] += int(count)
    same("folded lines", text.count("\n"), len(text.splitlines()))
    same("folded", +want, got)
    # krait reads a root frame "pid 7" as a label, but a root frame with a process's name stays a
    # frame. If a file has both kinds, krait doesn't write it again as it was.
    if several and any("process" not in dict(s.labels) for s in p.samples):
        return
    again = krait("report", path, "--format", "folded")
    same("folded read again", collections.Counter(text.splitlines()), collections.Counter(again.splitlines()))


def plain_owner(labels):
    return tuple(sorted((k, v) for k, v in labels if k in ("pid", "process", "thread", "tid")))


def read_again(p, path, work, by, frame, wanted=lambda s: True, all_values=False):
    """Checks that krait reads the names, files and lines of each stack from a file, thread by
    thread."""
    back = os.path.join(work, "back.pb.gz")
    krait("report", path, "-o", back)
    q = sums.read(back)
    q = q._replace(samples=[s._replace(labels=plain_owner(s.labels)) for s in q.samples])
    for value in range(len(p.types)) if all_values else (p.default,):
        there = q.types.index(p.types[value]) if all_values else q.default
        same("%s read again, %s" % (path.rsplit(".", 2)[1], p.types[value][0]), by(by_thread(p, frame, value, wanted)), by(by_thread(q, frame, there)))


def place_read(f):
    return known(f.file or f.mapping)


def check(seed, work):
    r, path = random.Random(seed), os.path.join(work, "a.pb.gz")
    p = draw(r)
    sums.save(p, path)
    timed = len(p.types) > 1 and any(s.time >= 0 for s in p.samples)
    for ext, look in (("speedscope", speedscope), ("firefox", firefox), ("trace", trace), ("pstats", profiler), ("folded", folded)):
        there = os.path.join(work, "a.%s%s" % (ext, "" if ext in ("pstats", "folded") else ".json"))
        if ext == "trace" and not timed:
            continue
        krait("report", path, "-o", there)
        look(p, there)
        if ext == "speedscope":
            read_again(p, there, work, not_alone, lambda f: (name(f), place_read(f), f.line), all_values=len(p.types) > 2)
        elif ext == "firefox":
            read_again(p, there, work, dict, lambda f: (name(f), place_read(f), f.line, f.start, kind(f)))
        elif ext == "trace":
            read_again(p, there, work, dict, lambda f: (name(f), place_read(f), f.start, kind(f)), lambda s: s.time >= 0 and s.stack)


if __name__ == "__main__":
    sys.exit(sums.each_seed("sums-viewers", 60, check))
