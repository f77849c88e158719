#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""sums.py [SEED [PROFILES]]: draws small, odd profiles at random (functions of one name in several
files, recursion, `;` in names, stacks without frames, values of 0, threads without names, one
thread id for two threads). The test compares krait's results with sums in plain Python: the
report's tables and folded stacks under random filters, the profiles that come back from every
format that holds a recording, and merged profiles.

A failure prints its seed: sums.py SEED 1 draws that profile again."""
import collections
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
from judge import pprof  # noqa: E402

KRAIT = os.path.join(ROOT, os.environ.get("KRAIT", "build/release/krait"))
NAMES = ("f", "g", "f2", "Worker.run", "<module>", "a;b", "naïve", "数", "x 12", "h (y)", "op<T>::q", "<lambda>", 'z"q')
FILES = ("/srv/one/app.py", "/srv/two/app.py", "rel/mod.py", "<string>", "<frozen importlib._bootstrap>", "odd", "",
         "/usr/lib/python3.12/json/decoder.py", "/usr/lib/python3.12/site-packages/pkg/__init__.py", "/srv/x y/ü;1.py")
OTHERS = (("/usr/lib/libz.so.1", "inflate", "native"), ("/opt/libz.so.1", "f", "native"), ("[unknown]", "g", "native"),
          ("[kernel]", "vfs_read", "kernel"), ("[kernel ext4]", "f", "kernel"), ("[jit]", "f", "jit"), ("[gc]", "collect", "gc"),
          ("[krait]", "[truncated]", "mark"))
KINDS = {mapping: kind for mapping, _, kind in OTHERS}
SHOWN = sorted({*NAMES, *(name for _, name, _ in OTHERS)}, key=len, reverse=True)
TYPES = ((("samples", "count"), ("cpu", "nanoseconds")), (("samples", "count"),),
         (("objects", "count"), ("space", "bytes"), ("inuse", "bytes")),
         (("samples", "count"), ("cpu", "nanoseconds"), ("wall", "nanoseconds"), ("alloc_objects", "count"), ("alloc_space", "bytes"),
          ("inuse_objects", "count"), ("inuse_space", "bytes"), ("contentions", "count"), ("delay", "nanoseconds"), ("page_faults", "count"),
          # the last of these lists has twelve values
          ("context_switches", "count"), ("read", "bytes")))

Frame = collections.namedtuple("Frame", "mapping name file start line column address")
# .stack: frames, outermost first; .time: -1 if the sample has no time
Sample = collections.namedtuple("Sample", "stack labels time values")
Profile = collections.namedtuple("Profile", "types default start duration samples")


def kind(f):
    return KINDS.get(f.mapping, "python")


def kind_of(s):
    """Returns the kind of a sample: "gc" if any frame of its stack is the garbage collector's, else
    the kind of its innermost frame."""
    return "gc" if any(kind(f) == "gc" for f in s.stack) else kind(s.stack[-1])


def draw_frame(r):
    if r.random() < 0.65:
        return Frame(r.choice(("[python 3.12]", "[python 3.11]")), r.choice(NAMES), r.choice(FILES), r.choice((0, 1, 7)),
                     r.choice((0, 3, 4, 9)), r.choice((0, 2)), 0)
    mapping, name, what = r.choice(OTHERS)
    source = r.choice(("", "src/a.c")) if what == "native" else ""
    return Frame(mapping, name, source, 0, r.choice((0, 12)) if source else 0, 0, r.choice((16, 32)) if what == "native" else 0)


def draw_sample(r, frames, types):
    stack = [r.choice(frames) for _ in range(r.choice((0, 1, 2, 3, 5)))]
    stack += stack[-2:] * r.choice((0, 0, 0, 1, 3))
    labels = dict(zip(("process", "pid"), r.choice((("web", "7"), ("web", "8"), ("", "9"), ("api", ""), ("", "")))))
    labels.update(zip(("thread", "tid"), r.choice((("Main", "7"), ("worker", "8"), ("", "7"), ("ẅ;r", "9"), ("", "")))))
    labels["gil"] = r.choice(("", "held", "released"))
    n = r.choice((0, 1, 1, 2, 5))
    values = (n,) + tuple(n * 10 ** 6 + r.choice((0, 5)) if i == 1 else r.choice((0, 17)) for i in range(1, len(types)))
    return Sample(tuple(stack), tuple(sorted((k, v) for k, v in labels.items() if v)), r.choice((-1, 0, 10 ** 6, r.randrange(10 ** 9))), values)


def draw(r):
    types, frames = r.choice(TYPES), [draw_frame(r) for _ in range(r.randint(1, 12))]
    samples = [draw_sample(r, frames, types) for _ in range(r.choice((1, 30, 30)))]
    return Profile(types, r.randrange(len(types)), r.choice((0, 10 ** 18, 10 ** 18 + 10 ** 9)), r.choice((0, 10 ** 9)), samples)


def save(p, path):
    """Writes the samples of a profile as pprof, one by one."""
    w, field = pprof.Writer(), pprof._field
    for s in p.samples:
        ids = []
        for f in s.stack:
            mapping = w._id(w.mappings, 3, f.mapping, [field(5, w.string(f.mapping))])
            function = w._id(w.functions, 5, f[1:4], [field(2, w.string(f.name)), field(4, w.string(f.file)), field(5, f.start)])
            ids.insert(0, w._id(w.locations, 4, f, [field(2, mapping), field(3, f.address), field(
                4, field(1, function) + field(2, f.line) + field(3, f.column))]))
        parts = [field(n, b"".join(pprof._varint(v) for v in list_)) for n, list_ in ((1, ids), (2, s.values))]
        parts += [field(3, field(1, w.string(k)) + field(2, w.string(v))) for k, v in s.labels]
        if s.time >= 0:
            parts.append(field(3, field(1, w.string("time")) + field(3, s.time) + field(4, w.string("nanoseconds"))))
        w.out.append(field(2, b"".join(parts)))
    w.out += [field(1, field(1, w.string(t)) + field(2, w.string(u))) for t, u in p.types]
    w.out += [field(14, w.string(p.types[p.default][0])), field(9, p.start), field(10, p.duration)]
    with gzip.open(path, "wb", 1) as f:
        f.write(b"".join(w.out + [field(6, text) for text in sorted(w.strings, key=w.strings.get)]))


def krait(*args):
    done = subprocess.run([KRAIT, *args], capture_output=True, timeout=60)
    if done.returncode:
        raise AssertionError(done.stderr.decode()[:300])
    return done.stdout.decode()


def same(what, want, got):
    if want != got:
        key = next((k for k in {**want, **got} if want.get(k) != got.get(k)), None) if isinstance(want, dict) else None
        raise AssertionError("%s: %s, not %s" % (what, (key, got.get(key)) if key else got, want.get(key) if key else want))


def owner(s):
    return ([f for f in s.stack if kind(f) == "python"] or list(s.stack))[-1]


def function(f):
    """Returns what distinguishes a function's row in the table: the function's name; its file, or
    the last part of its mapping if it has no file; whether it is Python with a file."""
    return f.name, f.file or (f.mapping.rsplit("/", 1)[-1]), kind(f) == "python" and bool(f.file)


def shown_name(text, ends):
    """Returns the bare function name in a row such as "json.decoder.f", or in a frame such as "f
    (app.py:3)"."""
    return next((n for n in SHOWN if text == n or (text.endswith("." + n) if ends else text.startswith(n.replace(";", ":") + " ("))), text)


def whose(s, name, number):
    labels = dict(s.labels)
    a, b = labels.get(name, ""), labels.get(number, "")
    return "%s (%s %s)" % (a, number, b) if a and b else a or (b and "%s %s" % (number, b))


def check_tables(p, path, args, value, everything):
    own, own_gc, total, lines, kinds, threads = (collections.Counter() for _ in range(6))
    for s in p.samples:
        w = s.values[value]
        threads[whose(s, "thread", "tid") or "[no thread]"] += w
        own[function(owner(s)) if s.stack else "[no stack]"] += w
        total.update({f: w for f in {function(f) for f in s.stack} or ("[no stack]",)})
        if s.stack:
            kinds[kind_of(s)] += w
            own_gc[function(owner(s))] += w if kind_of(s) == "gc" else 0
        if s.stack and owner(s).line:
            f = owner(s)
            lines[f.file if f.file[:1] not in ("", "<") else (f.file, function(f)), f.line] += w
    got = json.loads(krait("report", path, "--json", "--value", p.types[value][0], *args))
    same("shown and all", (sum(own.values()), everything), (got["shown"], got["all"]))
    same("functions", collections.Counter((f if isinstance(f, str) else f[0], own[f], own_gc[f], n) for f, n in total.items() if n),
         collections.Counter((shown_name(f["name"].replace("[left out by the filters]", "[no stack]"), True), f["own"], f.get("own_gc", 0), f["total"]) for f in got["functions"]))
    same("lines", collections.Counter((f if isinstance(f, str) else f[0], line, n) for (f, line), n in lines.items() if n),
         collections.Counter((line["file"], line["line"], line["own"]) for line in got["lines"]))
    same("kinds", dict(+kinds), {k["name"]: k["total"] for k in got["kinds"]})
    if "threads" in got:
        same("threads", dict(+threads), {t["name"]: t["total"] for t in got["threads"]})


def check_folded(p, path, args, value, inverted):
    want, got = collections.Counter(), collections.Counter()
    several = len({whose(s, "process", "pid") for s in p.samples} - {""}) > 1
    for s in p.samples:
        labels, names = dict(s.labels), [f.name for f in s.stack]
        root = labels.get("process") or ("pid " + labels["pid"] if "pid" in labels else "[no process]")
        names = [root] * several + (names[::-1] if inverted else names) or ["[no stack]"]
        want[tuple(n.replace(";", ":") for n in names)] += s.values[value]
    for line in krait("report", path, "--format", "folded", "--value", p.types[value][0], *args).splitlines():
        stack, _, count = line.rpartition(" ")
        got[tuple(shown_name(frame, False).replace(";", ":") for frame in stack.split(";"))] += int(count)
    same("folded stacks", +want, got)


def draw_filter(r, p):
    """Draws random filters. Returns the options as a list, the samples that the filters let
    through, and whether stacks are inverted."""
    args, samples, frames = [], p.samples, [f for s in p.samples for f in s.stack]

    def pattern(option):
        f = r.choice(frames)
        text = r.choice([f.name, f.file or f.name, "%s:%d" % (f.file, f.line) if f.file and f.line else f.name])
        args.extend((option, text))
        return lambda f: text in (f.name, f.file, "%s:%d" % (f.file, f.line))
    if r.random() < 0.2:
        text = r.choice(("7", "8", "worker", "Main", "Main (tid 7)"))
        args += ["--thread", text]
        samples = [s for s in samples if text in (dict(s.labels).get("thread"), dict(s.labels).get("tid"), whose(s, "thread", "tid"))]
    if r.random() < 0.2:
        args += ["--kind", r.choice(("python", "native", "kernel", "gc"))]
        samples = [s for s in samples if s.stack and kind_of(s) == args[-1]]
    if frames and r.random() < 0.3:
        focus = pattern("--focus")
        samples = [s for s in samples if any(map(focus, s.stack))]
    if frames and r.random() < 0.3:
        ignore = pattern("--ignore")
        samples = [s for s in samples if not any(map(ignore, s.stack))]
    if r.random() < 0.2 and any(s.time >= 0 for s in p.samples):
        args += ["--since", "1ms", "--until", "500ms"]
        samples = [s for s in samples if 10 ** 6 <= s.time < 5 * 10 ** 8]
    if r.random() < 0.2:
        args += ["--native", "none"]
        samples = [s._replace(stack=tuple(f for f in s.stack if kind(f) in ("python", "mark"))) for s in samples]
    if frames and r.random() < 0.3:
        hide = pattern("--hide")
        samples = [s._replace(stack=tuple(f for f in s.stack if not hide(f))) for s in samples]
    if r.random() < 0.2:
        args.append("--functions")
        samples = [s._replace(stack=tuple(f._replace(line=0) for f in s.stack)) for s in samples]
    if r.random() < 0.2:
        args.append("--invert")
    return args, p._replace(samples=samples), "--invert" in args


def content(p, shift=0, types=None, more=()):
    """Adds up everything in a profile: {(stack, labels, time): values}."""
    out = collections.defaultdict(lambda: [0] * len(types or p.types))
    for s in p.samples:
        at = out[s.stack, tuple(sorted({**dict(s.labels), **dict(more)}.items())), s.time if s.time < 0 else s.time + shift]
        for i, v in enumerate(s.values):
            at[types.index(p.types[i]) if types else i] += v
    return dict(out)


def read(path):
    p = pprof.read(path)
    samples = [Sample(tuple(Frame(f.mapping, f.name, f.file, f.first, f.line, f.column, f.address) for f in p.stack(s)),
                      tuple((k, v) for k, v in s.labels.items() if k != "time"), s.labels.get("time", -1), s.values) for s in p.samples]
    types = tuple(p.sample_types)
    return Profile(types, [t for t, _ in types].index(p.default_type), p.time_nanos, p.duration_nanos, samples)


def check_back(p, path, work):
    for ext in ("pb.gz", "svg", "html", "jsonl"):
        there, back = os.path.join(work, "there." + ext), os.path.join(work, "back.pb.gz")
        krait("report", path, "-o", there)
        krait("report", there, "-o", back)
        same("through " + ext, content(p), content(read(back)))
        same("head through " + ext, p[:4], read(back)[:4])


def check_merge(p, q, paths, work):
    out, start = os.path.join(work, "merged.pb.gz"), min((x.start for x in (p, q) if x.start), default=0)
    types, want = list(dict.fromkeys(p.types + q.types)), collections.defaultdict(lambda: [0] * len(types))
    krait("merge", *paths, "-o", out, "--add-label", "job=x")
    for x in p, q:
        for key, values in content(x, x.start - start if x.start else 0, types, [("job", "x")]).items():
            want[key] = [a + b for a, b in zip(want[key], values)]
    same("merged", dict(want), content(read(out)))


def check(seed, work):
    r, paths = random.Random(seed), [os.path.join(work, x) for x in ("a.pb.gz", "b.pb.gz")]
    p, q = draw(r), draw(r)
    save(p, paths[0])
    save(q, paths[1])
    for i in range(4):
        args, left, inverted = draw_filter(r, p) if i else ([], p, False)
        value = r.randrange(len(p.types))
        try:
            check_tables(left, paths[0], args, value, sum(s.values[value] for s in p.samples))
            check_folded(left, paths[0], args, value, inverted)
        except AssertionError as e:
            raise AssertionError("%s: %s" % (" ".join(args), e)) from None
    check_back(p, paths[0], work)
    check_merge(p, q, paths, work)


def each_seed(name, n, test):
    """Calls @test for @n seeds, or for those that the script's arguments name: FIRST [NUMBER].
    Returns the script's exit code."""
    first, n = (int(x) for x in (sys.argv[1:] + ["0", str(n)][len(sys.argv) - 1:])[:2])
    with tempfile.TemporaryDirectory() as work:
        for seed in range(first, first + n):
            try:
                test(seed, work)
            except AssertionError as e:
                print("FAIL %s: seed %d: %s" % (name, seed, str(e)[:600]))
                return 1
    print("PASS %s" % name)
    return 0


if __name__ == "__main__":
    sys.exit(each_seed("sums", 25, check))
