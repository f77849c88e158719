#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""report.py: `krait report` and `krait merge` on profiles of several tools. The truth isn't what
krait says, but arithmetic in Python on the pprof file (tests/oracle/judge/pprof.py)."""
import base64
import fcntl
import gzip
import html
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
import kit  # noqa: E402
from judge import pprof  # noqa: E402

KRAIT = os.path.join(ROOT, os.environ.get("KRAIT", "build/release/krait"))
GO = os.path.join(ROOT, "tests", "golden", "go-cpu.pb.gz")
failed = False


def check(name, true, words=""):
    global failed
    print("PASS report %s" % name if true else "FAIL report %s: %s" % (name, words))
    failed |= not true


def krait(*args, stdin=b"", code=0):
    done = subprocess.run([KRAIT] + list(args), input=stdin, capture_output=True, timeout=60)
    if done.returncode != code:
        check(" ".join(args), False, "exit code %d, not %d: %s" % (
            done.returncode, code, done.stderr.decode()[:300]))
    return done


def folded(text):
    """Returns {stack: count} of a text of folded stacks."""
    out = {}
    for line in text.decode().splitlines():
        stack, _, count = line.rpartition(" ")
        out[stack] = out.get(stack, 0) + int(count)
    return out


def made(path, start=0, version=None):
    """Writes a profile with 3 functions, 2 threads and times. The code that writes it isn't
    krait's."""
    w = pprof.Writer()
    main = w.location("[python 3.12]", "<module>", "/srv/app/app.py", 1, 9, 1)
    work = w.location("[python 3.12]", "Worker.run", "/srv/app/lib/work.py", 3, 5, 1)
    deep = w.location("", "deflate", "", 0, 0, 0)
    for i in range(100):
        stack = [main, work, deep] if i % 4 == 0 else [main, work] if i % 4 < 3 else [main]
        labels = {"pid": "7", "process": "app.py", "tid": str(7 + i % 2),
                  "thread": "Main" if i % 2 == 0 else "worker"}
        if version:
            labels["version"] = version
        w.sample(stack, labels, 1 + i % 3)
    if start:
        w.out.append(pprof._field(9, start))
    w.save(path)


def stacks(profile, value=0):
    """Returns {the functions' names in a stack, root first: sum} of a pprof file."""
    out = {}
    for s in profile.samples:
        key = tuple(f.name for f in profile.stack(s))
        out[key] = out.get(key, 0) + s.values[value]
    return out


def names(stack):
    """Returns the names of the frames of a folded stack, without files and lines."""
    return tuple(frame.split(" (")[0] for frame in stack.split(";"))


def same_as_pprof(name, path, stdin=b""):
    truth = stacks(pprof.read(GO if path == "-" else path))
    got = {}
    for stack, count in folded(krait("report", path, "--format", "folded", stdin=stdin).stdout).items():
        got[names(stack)] = got.get(names(stack), 0) + count
    # krait writes "[no stack]" for an empty stack.
    truth = {k or ("[no stack]",): v for k, v in truth.items()}
    check(name, got == truth, "folded stacks of %s differ" % path)


def round_trips(work, path, name):
    """If krait writes a profile in a format that holds the whole recording, and then as pprof
    again, the counts stay the same."""
    truth = stacks(pprof.read(path))
    for ext in ("pb.gz", "svg", "html", "jsonl", "pstats"):
        out, back = os.path.join(work, "x." + ext), os.path.join(work, "back.pb.gz")
        krait("report", path, "-o", out)
        krait("report", out, "-o", back)
        check("%s-through-%s" % (name, ext), stacks(pprof.read(back)) == truth)


def packed_pages(work, path):
    for ext in ("svg", "html"):
        out = os.path.join(work, "x." + ext)
        krait("report", path, "-o", out)
        with open(out, "rb") as f:
            packed = gzip.compress(f.read())
        check("packed-" + ext, b"must be unpacked" in krait("report", "-", stdin=packed, code=1).stderr)


def speedscope_and_back(work, path, name):
    """The file that krait writes for speedscope has the time of each stack."""
    out, back = os.path.join(work, "x.speedscope.json"), os.path.join(work, "back.pb.gz")
    krait("report", path, "-o", out)
    krait("report", out, "-o", back)
    both = json.loads(krait("diff", path, out, "--json").stdout)
    check("%s-diff-of-other-words" % name, both["changed"] == 0 and all(
        abs(row["own"]["share_before"] - row["own"]["share_after"]) < 1e-6
        for row in both["functions"]), str(both)[:300])
    times = {k: v for k, v in stacks(pprof.read(path), 1).items() if v}
    check("%s-through-speedscope" % name, stacks(pprof.read(back)) == times)


def diff_by(work):
    """diff --by shows the cost of each thread before and after. It pairs threads by name, because
    their ids differ."""
    paths = [os.path.join(work, x) for x in ("before.pb.gz", "after.pb.gz")]
    for path, of_worker, ids in zip(paths, (100, 300), (7, 9)):
        w = pprof.Writer()
        at = w.location("[python 3.12]", "f", "/srv/app.py", 1, 1, 1)
        for name, n in (("Main", 400), ("worker", of_worker)):
            for _ in range(n):
                w.sample([at], {"pid": "%d" % ids, "tid": "%d" % (ids + len(name)), "thread": name}, 1)
        w.sample([at], {}, 50)
        w.save(path)
    both = json.loads(krait("diff", *paths, "--by", "thread", "--value", "samples", "--json").stdout)
    got = {row["name"]: tuple(row[w]["share_" + side] for w in ("own", "total") for side in ("before", "after"))
           for row in both["groups"]}
    want = {name: (a / 550, b / 750) * 2 for name, a, b in (("Main", 400, 400), ("worker", 100, 300),
                                                            ("[no thread]", 50, 50))}
    check("diff-by-thread", set(got) == set(want) and both["by"] == "thread" and all(
        abs(x - y) < 1e-5 for k in want for x, y in zip(got[k], want[k])), "%s, not %s" % (got, want))
    text = krait("diff", *paths, "--by", "thread").stdout.decode()
    check("diff-by-words", "the share of worker grew most, from 18.2 to 40.0 %; the share of Main fell most, from 72.7 to 53.3 %" in text and " thread\n" in text, text)
    check("diff-by-unknown", krait("diff", *paths, "--by", "x", code=1).stderr.decode()
          == "krait: error: --by x: %s: no sample has the label 'x'\n" % paths[0])
    check("diff-of-nothing", b"no sample has the label gil=nix" in krait("diff", paths[0], "--a", "gil=nix", "--b", "gil=held", code=1).stderr)
    check("diff-by-lines", b"--by excludes --lines" in krait(
        "diff", *paths, "--by", "thread", "--lines", code=2).stderr)
    check("diff-invert", b"a table of functions has no stacks to invert" in krait("diff", *paths, "--invert", code=2).stderr)
    other = os.path.join(work, "other-unit.jsonl")
    krait("report", paths[1], "-o", other)
    with open(other, encoding="utf-8") as f:
        text = f.read()
    with open(other, "w", encoding="utf-8") as f:
        f.write(text.replace('"nanoseconds"', '"microseconds"'))
    check("diff-units", b"has the unit nanoseconds in " in krait("diff", paths[0], other, code=1).stderr)


def diff_only_total(work):
    """Native code has no own cost. If only the total of a native function changed, the columns for
    the own cost are empty in its row, and don't show 0."""
    paths = [os.path.join(work, x) for x in ("with.pb.gz", "without.pb.gz")]
    for path, native in zip(paths, (True, False)):
        w = pprof.Writer()
        f, deep = w.location("[python 3.12]", "f", "/srv/app.py", 1, 1, 1), w.location("/usr/lib/libz.so.1", "deflate", "", 0, 0, 0)
        for i in range(4000):
            w.sample([f, deep] if native and i % 2 else [f], {}, 1)
        w.save(path)
    os.environ["COLUMNS"], os.environ["LINES"] = "80", "24"
    text = krait("diff", *paths, "--value", "samples").stdout.decode()
    rows = [line.split() for line in text.split("\n") if line.endswith(" deflate")]
    check("diff-only-total", rows == [["-", "-", "-", "-50.0", "pt*", "deflate"]], text)
    text = krait("diff", *paths, "--value", "samples", "--format", "md").stdout.decode()
    check("diff-only-total-md", "| <code>deflate</code> | - | - | - | -50.0 pt! |" in " ".join(text.split()), text)


def diff_without_times(work):
    """diff takes the count of a line of folded stacks for a number of samples: 1,000 of 5,000, then
    1,600 or 1,010."""
    paths = [os.path.join(work, x) for x in ("before.folded", "after.folded", "same.folded")]
    for path, n in zip(paths, (1000, 1600, 1010)):
        with open(path, "w") as f:
            f.write("run (app.py:1);parse (app.py:2) %d\nrun (app.py:1);rest (app.py:3) %d\n" % (n, 5000 - n))
    before, after, same = paths
    for name, end in (("folded", ".folded"), ("pprof", ".pb.gz")):
        a, b, c = (path.replace(".folded", end) for path in (before, after, same))
        if end != ".folded":
            for path in paths:
                krait("report", path, "-o", path.replace(".folded", end))
        check("diff-without-times-" + name, b"share of app.parse grew most, from 20.0 to 32.0 %; the share of app.rest fell" in krait("diff", a, b).stdout)
        check("diff-without-times-same-" + name, b"no more than noise" in krait("diff", a, c).stdout)
        for how in "text", "md":
            none = "\nNo change in this table is more than noise (samples assumed to be independent: a profile has no times, corrected for all rows).\n"
            mark = {"text": "*", "md": "!"}[how]
            some = "\n%s: the change is more than noise (" % mark, "a change without %s may be chance.\n" % mark
            quiet, grew = (krait("diff", a, x, "--format", how).stdout.decode() for x in (c, b))
            check("diff-legend-%s-%s" % (how, name), none in quiet and some[0] not in quiet and none not in grew and all(x in grew for x in some), quiet + grew)
        krait("diff", a, b, "--fail-if", "own:app.parse>+10points", code=4)


def block_of(page, name):
    block = base64.b64decode(re.search(r'id="%s">\s*([^<]*)<' % name, open(page).read())[1])
    return gzip.decompress(block) if block[:2] == b"\x1f\x8b" else block


def page_of_two_values(work):
    """The page's data has the numbers that ui/data/data.js expects. A value below 0 isn't drawn,
    even if its number of samples would make it lower than it is (it is -30; its -5 samples, at the
    usual 10 for each, would make -50)."""
    lines = [{"type": "krait", "version": 1, "sample_types": [{"type": "samples", "unit": "count"}, {"type": "cpu", "unit": "nanoseconds"}],
              "period_type": {"type": "cpu", "unit": "nanoseconds"}, "period": 10}, {"type": "mapping", "id": 1, "name": "x"}]
    for i, values in enumerate(([-5, -30], [7, 70], [9, -20]), 1):
        lines += [{"type": "frame", "id": i, "mapping": 1, "name": "f%d" % i}, {"type": "stack", "id": i, "frames": [i]},
                  {"type": "sample", "stack": i, "values": values}]
    page = os.path.join(work, "two-values.html")
    krait("report", "-", "-o", page, stdin="".join(json.dumps(line) + "\n" for line in lines).encode())
    usual = json.loads(block_of(page, "krait-view").split(b"\n", 1)[0])["values"][1][2]
    at, got = iter(block_of(page, "krait-tree")), []

    def number():
        byte = next(at)
        return byte if byte < 128 else byte - 128 + 128 * number()

    for _ in range(3):
        _, _, head = number(), number(), number()
        rest = number() if head % 2 else 0
        got.append((head // 2, max(head // 2 * usual + (-(rest + 1) // 2 if rest % 2 else rest // 2), 0)))
    check("page-of-two-values", usual == 10 and sorted(got) == [(0, 0), (7, 70), (9, 0)], "%s %s" % (usual, got))


def page_of_a_difference(work):
    """The page doesn't draw values below 0, and says so: the lines of the file add up to 100 above
    0 and 40 below 0."""
    path, page = os.path.join(work, "less.folded"), os.path.join(work, "less.html")
    with open(path, "w") as f:
        f.write("run;more 100\nrun;less -40\n")
    krait("report", path, "-o", page)
    said = json.loads(block_of(page, "krait-view").split(b"\n", 1)[0])["headline"]
    words = "Some of the samples are negative, as in a difference of two profiles: 100 more, 40 less; most in more: 100"
    check("page-of-a-difference", said == words + ". The picture and the tables leave out negative values", said)
    check("report-of-a-difference", krait("report", path).stdout.decode().startswith(words + ".\n"))


def diff_limits(work):
    """If diff can't tell whether a limit for own costs is exceeded, it says so, in Markdown too. If
    three of four functions cost 1.5 times as much, diff takes that for a slower machine; a limit
    for the total is still exceeded. A function with a new name can't exceed a limit for all
    functions, only a limit that names it."""
    costs = {"before": {"f": 10000, "g": 8000, "h": 9000, "rest": 7000}, "slower": {"f": 15000, "g": 12000, "h": 13500, "rest": 7000},
             "renamed": {"f": 10000, "g": 8000, "h2": 9000, "rest": 7000},
             "dearer": {"f": 10000, "g": 8001, "h": 9000, "rest": 9800},
             "faster": {"f": 8000, "g": 6400, "h": 7200, "rest": 7000 * 0.8 * 1.3},
             "much-faster": {"f": 8000, "g": 6400, "h": 7200, "rest": 7000 * 0.8 * 1.24}}
    paths = {name: os.path.join(work, name + ".limits.folded") for name in costs}
    for name, of in costs.items():
        with open(paths[name], "w") as f:
            f.writelines("run (app.py:1);%s (app.py:2) %d\n" % (function, n) for function, n in of.items())

    def diff(after, limit, code):
        done = krait("diff", paths["before"], paths[after], "--per", "run=1,1", "--format", "md", "--fail-if", limit, code=code)
        return done.stdout.decode(), done.stderr.decode()

    shared = "The own cost of app.f went from 10,000 to 15,000 (+50.0 %)", "but most functions changed as much. The machine is slower, or all of the work grew."
    for said in diff("slower", "own:*>+5%", 0):
        check("diff-limit-shared", all(words in said for words in shared), said)
    # If most functions changed alike, because the machine's speed did, diff judges a function's own
    # cost by how much its change differs from theirs, also if the cost fell.
    for name, words in ("faster", "from 7,000 to 7,280 (+4.0 %; relative to the many functions that changed by -20.0 %, it is +30.0 %)"), \
            ("much-faster", "from 7,000 to 6,944 (-0.8 %; relative to the many functions that changed by -20.0 %, it is +24.0 %)"):
        said = diff(name, "own:*>+5%", 4)
        check("diff-limit-" + name, words in said[1], said[1])
        check("diff-limit-told-" + name, "app.rest" in said[0].split("\n|")[0], said[0])
        check("diff-limit-total-" + name, "beyond" not in diff(name, "total:app.rest>+5%", 0)[1])
    check("diff-limit-total", "beyond --fail-if 'total:*>+25%'" in diff("slower", "total:*>+25%", 4)[1])
    said = diff("dearer", "own:*>+5%", 4)
    check("diff-limit-no-speed", "(+40.0 %), beyond" in said[1] and "The own cost" not in said[0], said)
    for pattern in "*", "/app/":
        for said in diff("renamed", "own:%s>+5%%" % pattern, 0):
            check("diff-limit-new", "app.h2 went from 0 to 9,000 (new)" in said and "the function is new, or has a new name" in said, said)
    said = diff("renamed", "own:app.h2>+5%", 4)
    check("diff-limit-new-named", "app.h2 went from 0 to 9,000 (new)" in said[1] and "it is new, or" not in said[0], said)
    check("diff-limit-quiet", "The own cost" not in diff("before", "own:*>+5%", 0)[0])
    # A terminal of 75 columns or more has room for the column with the shares, where app.rest has a
    # star.
    for columns, starred in ("80", True), ("60", False):
        os.environ["COLUMNS"] = columns
        table, legend = krait("diff", paths["before"], paths["slower"], "--per", "run=1,1").stdout.decode().split("\n\n")[1:]
        check("diff-legend-of-%s" % columns, ("*" in table) == starred and ("*: the change is more than noise" in legend) == starred, table + legend)
    os.environ["COLUMNS"] = "80"


def firefox_and_back(work, path, name):
    """The file that krait writes for the Firefox Profiler has for each stack its value, its
    threads, and when it was sampled."""
    out, back = os.path.join(work, "x.firefox.json"), os.path.join(work, "back.pb.gz")
    krait("report", path, "-o", out)
    krait("report", out, "-o", back)
    truth, got = pprof.read(path), pprof.read(back)
    times = {k: v for k, v in stacks(truth, 1).items() if v}
    check("%s-through-firefox" % name, stacks(got) == times)
    owners = {tuple(s.labels.get(k) for k in ("pid", "process", "tid", "thread")) for s in truth.samples}
    check("%s-firefox-owners" % name, {tuple(s.labels.get(k) for k in ("pid", "process", "tid", "thread"))
                                       for s in got.samples} == owners)


def firefox_of_today(work, path):
    """krait reads a file for the Firefox Profiler in the form that profiler.firefox.com writes
    today. The test makes this form of krait's own file, by the steps with which the viewer
    itself converts version 60 to 75."""
    out, back = os.path.join(work, "x.firefox.json"), os.path.join(work, "back.pb.gz")
    krait("report", path, "-o", out)
    with open(out) as f:
        g = json.load(f)
    g["meta"]["preprocessedProfileVersion"] = 75
    stack, frame, func, resource = (g["shared"][t + "Table"] for t in ("stack", "frame", "func", "resource"))
    stack["prefixOffset"] = [0 if p is None else i - p for i, p in enumerate(stack.pop("prefix"))]
    libs = [-1 if r == -1 else resource["lib"][r] for r in func["resource"]]
    # A frame of a library needs an address. Without an address, converting the file to version 71
    # leaves out the library.
    frame["address"] = [1 if libs[f] != -1 else -1 for f in frame["func"]]
    frame["lib"], frame["flags"] = [max(libs[f], 0) for f in frame["func"]], [
        2 * (libs[f] != -1) | 4 | 16 * (line is not None) for f, line in zip(frame["func"], frame["line"])]
    frame["line"] = [line or 0 for line in frame["line"]]
    func["flags"] = [4 * (r != -1) | 8 * (s is not None) | 16 * (line is not None)
                     for r, s, line in zip(func["resource"], func["source"], func["lineNumber"])]
    func["resource"] = [max(r, 0) for r in func["resource"]]
    for column in "source", "lineNumber":
        func[column] = [v or 0 for v in func[column]]
    del resource["lib"]
    with open(out, "w") as f:
        json.dump(g, f)
    krait("report", out, "-o", back)
    got = pprof.read(back)
    krait("report", path, "-o", back)  # krait gives a mapping without a name some name
    truth = pprof.read(back)

    def places(p):
        return {tuple((f.name, f.file, f.line, os.path.basename(f.mapping) if f.kind == "native" else f.kind)
                      for f in p.stack(s)) for s in p.samples}
    check("firefox-75", stacks(got) == {k: v for k, v in stacks(truth, 1).items() if v} and places(got) == places(truth),
          str(places(got) ^ places(truth))[:300])


def gecko_of_cpython(work):
    """krait reads a profile that CPython 3.15's own profiler made. The test adds up the counts of
    each stack from the profile's tables."""
    try:
        python = kit.interpreter("static", (3, 15))
    except (kit.Skip, OSError):
        python = None
    out, script = os.path.join(work, "gecko.json"), os.path.join(work, "busy.py")
    with open(script, "w") as f:
        f.write("import json, time\nend = time.time() + 1\ndef spin():\n    json.loads('[1, 2]' * 1)\n"
                "while time.time() < end: spin()\n")
    if not python or subprocess.run([python, "-m", "profiling.sampling", "run", "--gecko", "-o", out, script],
                                    capture_output=True, cwd=work).returncode:
        print("SKIP report cpython-gecko: no Python 3.15 that profiles")
        return
    with open(out) as f:
        g = json.load(f)
    truth, strings = {}, g["shared"]["stringArray"]
    for t in g["threads"]:
        for at in t["samples"]["stack"]:
            names_of = []
            while at is not None:
                func = t["frameTable"]["func"][t["stackTable"]["frame"][at]]
                names_of.insert(0, strings[t["funcTable"]["name"][func]])
                at = t["stackTable"]["prefix"][at]
            truth[tuple(names_of)] = truth.get(tuple(names_of), 0) + 1
    krait("report", out, "-o", os.path.join(work, "gecko.pb.gz"))
    check("cpython-gecko", stacks(pprof.read(os.path.join(work, "gecko.pb.gz"))) == truth)


def traces(work):
    """krait reads trace events as py-spy 0.4 writes them (a list of B and E events) and as
    viztracer 1.0 does (an X event comes after the events of the slices that it called)."""
    pyspy = [dict(pid=7, tid=7, ph=ph, name=name, cat="py-spy", ts=ts, args={"filename": "app.py", "line": line})
             for ph, name, ts, line in (("B", "<module>", 10, 3), ("B", "f", 12.5, 8), ("E", "f", 20, 8),
                                        ("B", "f", 30, 8), ("E", "f", 31, 8), ("E", "<module>", 40, 3))]
    check("py-spy-trace", folded(krait("report", "-", "--format", "folded", stdin=json.dumps(pyspy).encode()).stdout) == {
        "<module> (app.py:3)": 21500, "<module> (app.py:3);f (app.py:8)": 8500})
    viz = {"traceEvents": [{"ph": "M", "pid": 7, "tid": 8, "name": "thread_name", "args": {"name": "Main"}}] + [
        {"pid": 7, "tid": 8, "ph": "X", "cat": "FEE", "name": name, "ts": ts, "dur": dur} for name, ts, dur in (
            ("g (/srv/a.py:5)", 3.25, 1), ("f (/srv/a.py:1)", 2, 4), ("deflate (libz.so.1)", 7, 1), ("f (/srv/a.py:1)", 6.5, 2))]}
    check("viztracer-trace", folded(krait("report", "-", "--format", "folded", "--by", "thread",
                                          stdin=json.dumps(viz).encode()).stdout) == {
        "Main (tid 8);f (/srv/a.py:1)": 4000, "Main (tid 8);f (/srv/a.py:1);g (/srv/a.py:5)": 1000,
        "Main (tid 8);f (/srv/a.py:1);deflate (libz.so.1)": 1000})


def cpuprofile_of_node(work):
    """krait reads a profile that Node itself made of a program. The test adds up the time of each
    stack from the profile's nodes."""
    node = shutil.which("node")
    script, out = os.path.join(work, "spin.js"), os.path.join(work, "x.cpuprofile")
    with open(script, "w") as f:
        f.write("function f(n) { let x = 0; for (let i = 0; i < n; i++) x += Math.sqrt(i); return x; }\n"
                "const end = Date.now() + 200; while (Date.now() < end) f(1e5);\n")
    if not node or subprocess.run([node, "--cpu-prof", "--cpu-prof-dir", work, "--cpu-prof-name", "x.cpuprofile", script],
                                  capture_output=True, cwd=work).returncode:
        print("SKIP report node-cpuprofile: no node that profiles")
        return
    with open(out) as f:
        p = json.load(f)
    nodes = {n["id"]: n for n in p["nodes"]}
    parent = {child: n["id"] for n in p["nodes"] for child in n.get("children", [])}
    times, truth = [p["startTime"]], {}
    for delta in p["timeDeltas"]:
        times.append(times[-1] + delta)
    for i, at in enumerate(p["samples"]):
        lasts, stack = (times + [p["endTime"]])[i + 2] - times[i + 1], []
        while at in parent:
            stack.insert(0, nodes[at]["callFrame"]["functionName"] or "(anonymous)")
            at = parent[at]
        count, time = truth.get(tuple(stack), (0, 0))
        truth[tuple(stack)] = count + 1, time + 1000 * max(lasts, 0)
    krait("report", out, "-o", os.path.join(work, "node.pb.gz"))
    got = pprof.read(os.path.join(work, "node.pb.gz"))
    counts, spans = stacks(got, 0), stacks(got, 1)
    check("node-cpuprofile", {k: (counts[k], spans[k]) for k in counts} == truth)


def profile_in_trace(work):
    """krait reads a trace that Node wrote: two V8 profiles of one thread, and the slices beside
    them. The test adds up the time of each stack from the profiles' chunks."""
    node = shutil.which("node")
    script, out = os.path.join(work, "spin.js"), os.path.join(work, "node.trace")
    if not node or subprocess.run([node, "--trace-event-categories", "v8,disabled-by-default-v8.cpu_profiler",
                                   "--trace-event-file-pattern", out, "--cpu-prof", "--cpu-prof-dir", work, script],
                                  capture_output=True, cwd=work).returncode:
        print("SKIP report node-trace-profile: no node that profiles")
        return
    with open(out) as f:
        events = json.load(f)["traceEvents"]
    starts = {(e["pid"], e["id"]): e for e in events if e["name"] == "Profile"}
    truth, threads, base = {}, {}, min([e["ts"] for e in events if e["ph"] in "BX"] + [e["args"]["data"]["startTime"] for e in starts.values()])
    for key, begin in starts.items():
        data = [e["args"]["data"] for e in events if e["name"] == "ProfileChunk" and (e["pid"], e["id"]) == key]
        nodes = {n["id"]: n for d in data for n in d.get("cpuProfile", {}).get("nodes", [])}
        samples = [at for d in data for at in d.get("cpuProfile", {}).get("samples", [])]
        times = [begin["args"]["data"]["startTime"]]
        for delta in (x for d in data for x in d.get("timeDeltas", [])):
            times.append(times[-1] + delta)
        times.append(next((d["endTime"] for d in data if "endTime" in d), times[-1]))
        for i, at in enumerate(samples):
            stack = []
            while "parent" in nodes[at]:
                stack.insert(0, nodes[at]["callFrame"]["functionName"] or "(anonymous)")
                at = nodes[at]["parent"]
            count, time, first = truth.get(tuple(stack), (0, 0, times[i + 1] - base))
            truth[tuple(stack)] = count + 1, time + 1000 * max(times[i + 2] - times[i + 1], 0), min(first, times[i + 1] - base)
            threads[str(begin["tid"])] = threads.get(str(begin["tid"]), 0) + 1
    krait("report", out, "-o", os.path.join(work, "node.pb.gz"))
    got = pprof.read(os.path.join(work, "node.pb.gz"))
    profiled, first, whose, slices = [s for s in got.samples if s.values[0]], {}, {}, 0
    for s in profiled:
        stack = tuple(f.name for f in got.stack(s))
        first[stack] = min(s.labels["time"] // 1000, first.get(stack, 1 << 62))
        whose[s.labels["tid"]] = whose.get(s.labels["tid"], 0) + s.values[0]
    counts, spans = stacks(got, 0), stacks(got, 1)
    check("node-trace-profile", truth and {k: (counts[k], spans[k], first[k]) for k in first} == truth, str(truth)[:300])
    check("node-trace-thread", whose == threads, "%s, not %s" % (whose, threads))
    check("node-trace-slices", all(not s.values[0] and not s.values[1] for s in got.samples if s.values[2])
          and got.default_type == "time" and any(s.values[2] for s in got.samples), str(got.sample_types))


def pstats_refused(work, path):
    """krait refuses pstats files without stacks, and gives that reason. The test tries a file of
    cProfile's, krait's own file without its end, and one whose end claims more bytes than the
    file has."""
    own, theirs, cut, claims = [os.path.join(work, x + ".pstats") for x in ("own", "c", "cut", "claims")]
    krait("report", path, "-o", own)
    subprocess.run([sys.executable, "-c", "import cProfile; cProfile.run('sum(range(9))', %r)" % theirs], check=True)
    with open(own, "rb") as f:
        data = f.read()
    check("pstats-end", data[-8:] == b"krait-pb" and gzip.decompress(
        data[-16 - int.from_bytes(data[-16:-8], "little"):-16]), str(data[-32:]))
    for file, text in (cut, data[:-1]), (claims, data[:-16] + b"\xff" * 8 + b"krait-pb"):
        with open(file, "wb") as f:
            f.write(text)
    for file in theirs, cut, claims:
        check("no-stacks-" + os.path.basename(file), b"has no stacks" in krait("report", file, code=1).stderr)


def others(work):
    with open(GO, "rb") as f:
        packed = f.read()
    plain = gzip.decompress(packed)
    same_as_pprof("go-gzip", GO)
    same_as_pprof("go-stdin-plain", "-", stdin=plain)
    try:
        zstd = subprocess.run(["zstd", "-q", "-c"], input=plain, capture_output=True, check=True)
        same_as_pprof("go-zstd", "-", stdin=zstd.stdout)
    except FileNotFoundError:
        print("SKIP report go-zstd: no zstd")
    pyspy = b'process 7:"python app.py";<module> (app.py:3);f (lib/a.py:10) 12\n' \
            b'process 7:"python app.py";<module> (app.py:3);sin (libm.so.6) 3\n'
    check("py-spy-raw", folded(krait("report", "-", "--format", "folded", stdin=pyspy).stdout) == {
        "<module> (app.py:3);f (lib/a.py:10)": 12, "<module> (app.py:3);sin (libm.so.6)": 3})
    check("py-spy-no-frames", sum(folded(krait("report", "-", "--format", "folded",
                                               stdin=pyspy + b" 2\n").stdout).values()) == 17)
    # A shortened speedscope file as py-spy 0.4.3 writes it: the frames are at its end, weights are
    # in seconds, and each thread has a profile of its own.
    scope = {"$schema": "https://www.speedscope.app/file-format-schema.json", "profiles": [
        {"type": "sampled", "name": name, "unit": "seconds", "startValue": 0.0, "endValue": 0.015,
         "samples": samples, "weights": [0.005] * len(samples)} for name, samples in (
             ('Process 7 Thread 7 "MainThread"', [[0, 1], [0], [0, 1]]),
             ('Process 7 Thread 8 "worker"', [[2]]))], "shared": {"frames": [
                 {"name": "<module>", "file": "/srv/app.py", "line": 3, "col": None},
                 {"name": "f", "file": "/srv/lib/a.py", "line": 10, "col": None},
                 {"name": "deflate", "file": "libz.so.1", "line": None, "col": None}]},
        "activeProfileIndex": None, "exporter": "py-spy@0.4.3", "name": "py-spy profile"}
    text = json.dumps(scope, separators=(",", ":")).encode()
    check("py-spy-speedscope", folded(krait("report", "-", "--format", "folded", "--by", "thread",
                                            stdin=text).stdout) == {
        "MainThread (tid 7);<module> (/srv/app.py:3)": 5000000,
        "MainThread (tid 7);<module> (/srv/app.py:3);f (/srv/lib/a.py:10)": 10000000,
        "worker (tid 8);deflate (libz.so.1)": 5000000})
    perf = b"python3;_start;[libc.so.6];PyEval_EvalCode;entry_SYSCALL_64_[k] 5\npython3;[unknown] 2\n"
    check("perf-script-folded", sum(folded(
        krait("report", "-", "--format", "folded", stdin=perf).stdout).values()) == 7)
    austin = b"# austin: 3.6\n# mode: wall\nP7;T0:8;/srv/a.py:f:3;/srv/a.py:g:9 1500\n"
    check("austin", folded(krait("report", "-", "--format", "folded", stdin=austin).stdout) == {
        "f (/srv/a.py:3);g (/srv/a.py:9)": 1500000})  # this file's weights are microseconds


def by_stack(text, frames):
    """Returns {names of frames: count} of folded stacks that another tool wrote. The function
    @frames returns the frames' names, given the parts of a line."""
    out = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            stack, _, count = line.rpartition(" ")
            key = tuple(frames(stack.split(";")))
            out[key] = out.get(key, 0) + int(count)
    return out


def slices(events):
    """Adds up B and E events. Returns {names of the open slices: how many ns they are open
    together}."""
    out, threads = {}, {}
    for e in events:
        stack, last = threads.setdefault(e["tid"], ([], [0]))
        if stack and e["ts"] > last[0]:
            out[tuple(stack)] = out.get(tuple(stack), 0) + (e["ts"] - last[0]) * 1000
        last[0] = e["ts"]
        stack.append(e["name"]) if e["ph"] == "B" else stack.pop()
    return out


def real_ones(work):
    """krait reads files that other tools wrote of a program with two threads: py-spy 0.4.3 (with -t
    -s; the folded file also with -n), Austin 3.7 and perf (tests/golden/others)."""
    files = {}
    for name in os.listdir(os.path.join(ROOT, "tests", "golden", "others")):
        with open(os.path.join(ROOT, "tests", "golden", "others", name), "rb") as f:
            data = f.read()
        files[name.removesuffix(".gz")] = (gzip.decompress(data) if name.endswith(".gz") else data).decode()
    scope = json.loads(files["py-spy.speedscope.json"])
    names = [f["name"] for f in scope["shared"]["frames"]]
    weights = {}
    for p in scope["profiles"]:
        for stack, weight in zip(p["samples"], p["weights"]):
            key = tuple(names[i] for i in stack)
            weights[key] = weights.get(key, 0) + round(weight * 1e9)

    def of_pyspy(parts):
        return [f.split(" (")[0] for f in parts if not f.startswith(("process ", "thread "))]
    for name, truth, threads in (
            ("py-spy.folded", by_stack(files["py-spy.folded"], of_pyspy), {"MainThread"}),
            ("py-spy.speedscope.json", weights, {"MainThread", "worker"}),
            ("py-spy.trace.json", slices(json.loads(files["py-spy.trace.json"])), None),
            ("austin.folded", {k: 1000 * v for k, v in by_stack(files["austin.folded"], lambda parts: [f.split(":")[1] for f in parts[2:]]).items()}, None),
            ("perf.folded", by_stack(files["perf.folded"], lambda parts: parts), None)):
        path, back = os.path.join(work, name), os.path.join(work, "back.pb.gz")
        with open(path, "w", encoding="utf-8") as f:
            f.write(files[name])
        krait("report", path, "-o", back)
        got = pprof.read(back)
        check("real-" + name, stacks(got) == truth and len(truth) > 5, str(set(stacks(got).items()) ^ set(truth.items()))[:300])
        if threads:
            # Samples from before the program gave its thread a name don't have the thread's name.
            check("real-threads-" + name, {s.labels.get("thread") for s in got.samples} - {None} == threads)
        lines = {(f.name, os.path.basename(f.file), f.line) for s in got.samples for f in got.stack(s)}
        check("real-lines-" + name, ("leaf", "spin.py", 3) in lines or name in ("perf.folded", "py-spy.trace.json"), str(lines)[:300])


def merges(work):
    a, b, out = (os.path.join(work, n) for n in ("a.pb.gz", "b.pb.gz", "ab.pb.gz"))
    made(a, start=10**18)
    made(b, start=10**18 + 5 * 10**9)
    krait("merge", a, b, "-o", out, "--add-label", "job=x")
    one, both = pprof.read(a), pprof.read(out)
    check("merge-adds", stacks(both) == {k: 2 * v for k, v in stacks(one).items()})
    check("merge-labels", all(s.labels["job"] == "x" for s in both.samples))
    check("merge-start", both.time_nanos == 10**18)
    folded_too = os.path.join(work, "a.folded")
    with open(folded_too, "w") as f:
        f.write("f (a.py:1) 3\n")
    for files, unseen in (([a, folded_too], folded_too), ([a, b], None), ([folded_too, a], None)):
        said = krait("merge", *files, "-o", out).stderr.decode()
        check("merge-says-what-is-unseen", (unseen is None) == (said == "") and (unseen or "") in said, said)
    krait("merge", a, GO, "-o", out)
    types = [t for t, _ in pprof.read(out).sample_types]
    check("merge-any-tool", types[:2] == ["samples", "cpu"], str(types))
    sums = stacks(pprof.read(out))
    check("merge-any-tool-counts",
          sum(sums.values()) == sum(stacks(one).values()) + sum(stacks(pprof.read(GO)).values()))


def filters(work, path):
    """Each filter option of krait report leaves the samples that the same filter in Python leaves.
    """
    truth = pprof.read(path)

    def total(keep):
        return sum(s.values[0] for s in truth.samples
                   if keep(s.labels, [f.name for f in truth.stack(s)]))

    for name, args, keep in (
            ("thread", ["--thread", "worker"], lambda l, n: l["thread"] == "worker"),
            ("thread-id", ["--thread", "8"], lambda l, n: l["tid"] == "8"),
            ("label-regex", ["--label", "thread=/^M/"], lambda l, n: l["thread"] == "Main"),
            ("focus", ["--focus", "Worker.run"], lambda l, n: "Worker.run" in n),
            ("focus-dotted", ["--focus", "lib.work.Worker.*"], lambda l, n: "Worker.run" in n),
            ("ignore", ["--ignore", "deflate"], lambda l, n: "deflate" not in n),
            ("kind", ["--kind", "native"], lambda l, n: n[-1] == "deflate"),
            ("hide", ["--hide", "Worker.run"], lambda l, n: True)):
        got = folded(krait("report", path, "--format", "folded", *args).stdout)
        check("filter-" + name, sum(got.values()) == total(keep), str(got))
    check("bad-regex", b"not a regular expression" in krait("report", path, "--focus", "/(/",
                                                          code=2).stderr)


def diff_filters(work, path):
    """diff with filter options: each function's total, before and after, equals a sum made in
    Python."""
    other = os.path.join(work, "other.pb.gz")
    w = pprof.Writer()
    main, work_at = (w.location("[python 3.12]", name, "/srv/app/" + file, line, line, 1)
                     for name, file, line in (("<module>", "app.py", 9), ("Worker.run", "lib/work.py", 5)))
    for i in range(60):
        w.sample([main, work_at] if i % 3 else [main], {"pid": "9", "process": "app.py", "tid": str(9 + i % 2),
                                                        "thread": "worker" if i % 2 else "Main"}, 1)
    w.save(other)
    both, names_of = [pprof.read(p) for p in (path, other)], {"<module>": "app.<module>", "Worker.run": "lib.work.Worker.run", "deflate": "deflate"}
    for name, args, keep, hidden in (
            ("process", ["--process", "app.*"], lambda l, n: True, ()),
            ("process-id", ["--process", "9"], lambda l, n: l["pid"] == "9", ()),
            ("thread", ["--thread", "worker"], lambda l, n: l["thread"] == "worker", ()),
            ("label", ["--label", "thread=M*"], lambda l, n: l["thread"] == "Main", ()),
            ("module", ["--module", "lib"], lambda l, n: "Worker.run" in n, ()),
            ("kind", ["--kind", "native"], lambda l, n: n[-1] == "deflate", ()),
            ("focus", ["--focus", "Worker.run"], lambda l, n: "Worker.run" in n, ()),
            ("ignore", ["--ignore", "Worker.run"], lambda l, n: "Worker.run" not in n, ()),
            ("hide", ["--hide", "Worker.run"], lambda l, n: True, ("Worker.run",)),
            ("show", ["--show", "Worker.run"], lambda l, n: True, ("<module>", "deflate"))):
        want = {}
        for side, profile in enumerate(both):
            for s in profile.samples:
                stack = [f.name for f in profile.stack(s)]
                for f in set(stack) - set(hidden) if keep(s.labels, stack) else ():
                    want.setdefault(names_of[f], [0, 0])[side] += s.values[0]
        rows = json.loads(krait("diff", path, other, "--value", "samples", "--per", "runs=1,1", "--json", *args).stdout)["functions"]
        got = {r["name"]: [round(r["total"][side]) for side in ("before", "after")] for r in rows if r["name"] != "[no stack]"}
        check("diff-filter-" + name, got == want, "%s, not %s" % (got, want))


def per_process(work):
    """The table of processes has a row for each process, even if some have the same name, as long
    as all rows fit. The last line sums up the processes that don't fit."""
    path, w = os.path.join(work, "processes.pb.gz"), pprof.Writer()
    at = w.location("[python 3.12]", "f", "/srv/app.py", 1, 1, 1)
    for name, pid, n in (("web.py", "4", 50), ("web.py", "5", 30), ("cron.py", "6", 15), ("", "7", 5)):
        w.sample([at], {"pid": pid, **({"process": name} if name else {})}, n)
    w.save(path)
    rows = ["50.0 % web.py (pid 4)", "30.0 % web.py (pid 5)", "15.0 % cron.py (pid 6)", "5.0 % pid 7"]
    for args, want in ((["--per-process"], rows), (["--per-process", "-n", "2"], ["80.0 % web.py, 2 processes", rows[2], "5.0 % 1 more"])):
        lines = krait("report", path, *args).stdout.decode().split("\n")
        check(" ".join(args), [" ".join(line.split()) for line in lines[-1 - len(want):-1]] == want, "\n".join(lines))
    for what in "process", "thread":
        done = krait("report", "-", "--per-" + what, stdin=b"f (a.py:1) 3\n", code=1)
        check("per-unknown-" + what, b"--per-%s: no sample" % what.encode() in done.stderr and not done.stdout, str(done))
    for args in ["--by", "process"], ["--by", "pid"], ["--by", "process", "--tree"]:
        text = krait("report", path, "--per-process", *args).stdout.decode()
        check("per-process-once " + " ".join(args), text.count("  share    process\n") == 1, text)


def lines_as_rows(work):
    """With --lines each row of the table and of the tree is a line, with --modules a module. The
    table says which it is."""
    path, w = os.path.join(work, "rows.pb.gz"), pprof.Writer()
    root, *leaves = [w.location("[python 3.12]", name, "/srv/app.py", 1, line, 1) for name, line in (("run", 3), ("leaf", 7), ("leaf", 8))]
    for leaf, n in zip(leaves, (3, 1)):
        w.sample([root, leaf], {}, n)
    w.save(path)
    for word, noun, rows in (("--lines", "line", ["app.leaf:7", "app.leaf:8", "app.run:3"]), ("--functions", "function", ["app.leaf", "app.run"]),
                             ("--modules", "module", ["app"])):
        text = krait("report", path, word, "--tree").stdout.decode()
        table, tree = text.split("  total    path")
        check("rows" + word, " total    %s\n" % noun in table and all(" %s" % r in tree for r in rows) and
              [r for r in rows if " %s  " % r in table] == rows[:len(rows) - (word != "--modules")] and "of all" not in text, text)


def own_lines(work):
    """A line of the user's code also counts what it calls in libraries, down to the next line of
    the user's code."""
    path, w = os.path.join(work, "own-lines.pb.gz"), pprof.Writer()
    site = "/srv/env/lib/python3.12/site-packages/pkg/core.py"
    main, mine, other = (w.location("[python 3.12]", name, "/srv/app.py", first, line, 1) for name, first, line in (("main", 1, 2), ("work", 5, 6), ("work", 5, 7)))
    library = [w.location("[python 3.12]", name, site, 1, line, 1) for name, line in (("run", 3), ("deep", 9))]
    native = w.location("/usr/lib/libz.so.1", "deflate", "", 0, 0, 0)
    stacks = [([main, mine], 5), ([main, mine, *library], 20), ([main, library[0], other, library[1], native], 30), ([main, library[0]], 15),
              ([library[0]], 10), ([native], 20)]
    for stack, n in stacks:
        w.sample(stack, {}, n)
    w.save(path)
    # The innermost frame in /srv/app.py of each stack, counted by hand.
    want = {7: 30, 6: 5 + 20, 2: 15}
    got = json.loads(krait("report", path, "--value", "samples", "--json").stdout)["your_lines"]
    check("own-lines-json", {(r["file"], r["line"], r["with_libraries"]) for r in got} == {("/srv/app.py", *row) for row in want.items()}, str(got))
    text = krait("report", path).stdout.decode()
    table = text.split("  share    your line, with the library code that it calls\n")[1].split("\n\n")[0]
    rows = [(int(r.split()[2].split(":")[1]), float(r.split()[0])) for r in table.splitlines()]
    check("own-lines-text", rows == sorted(want.items(), key=lambda row: -row[1]), text)
    w = pprof.Writer()
    w.sample([w.location("[python 3.12]", "main", "/srv/app.py", 1, 2, 1)], {}, 1)
    w.save(path)
    check("own-lines-alike", "your line" not in krait("report", path).stdout.decode())


def owner(stack):
    """Returns the function that owns a sample: the innermost Python function, else the innermost
    frame."""
    python = [f for f in stack if f.kind == "python"]
    return (python or stack)[-1]


def gil(path):
    """The report says how the CPU time is divided between the states of the GIL, even if the report
    must fit into 24 rows."""
    w = pprof.Writer()
    at = [w.location("[python 3.12]", "f%d" % i, "/srv/app/app.py", 1, i + 1, 1) for i in range(9)]
    for i, state in enumerate(("held", "held", "held", "released", "waiting")):
        w.sample([at[i]], {"gil": state}, 1)
    w.save(path)
    text = krait("report", path).stdout.decode()
    check("gil", "\nGIL, of the CPU time (waiting threads have none): held 60.0 %, released 20.0 %,\n"
          "     entering or leaving a wait for it 20.0 %\n" in text and text.count("\n") <= 23, text)
    text = krait("report", path, "--by", "gil").stdout.decode()
    check("gil-by", "\n  share    gil (running threads only; waiting threads have no samples)\n" in text, text)
    check("gil-json", [(g["name"], g["total"]) for g in json.loads(krait(
        "report", path, "--json", "--value", "samples").stdout)["gil"]] == [
            ("held", 3), ("released", 1), ("waiting", 1)])
    rows = [{"type": "krait", "version": 1, "sample_types": [{"type": "samples", "unit": "count"}, {"type": "cpu", "unit": "nanoseconds"},
                                                             {"type": "off_cpu", "unit": "nanoseconds"}]},
            {"type": "mapping", "id": 1, "name": "[python 3.12]"}, {"type": "frame", "id": 1, "mapping": 1, "name": "f"},
            {"type": "stack", "id": 1, "frames": [1]}]
    for i, (state, values) in enumerate((("held", [1, 9, 0]), ("waiting", [0, 0, 3]), ("released", [0, 0, 1])), 1):
        rows += [{"type": "labels", "id": i, "labels": {"gil": state}}, {"type": "sample", "stack": 1, "labels": i, "values": values}]
    waits = "".join(json.dumps(row) + "\n" for row in rows).encode()
    text = krait("report", "-", "--value", "off_cpu", stdin=waits).stdout.decode()
    check("gil-of-waits", "\nGIL, of the time waiting: waiting for it 75.0 %, released 25.0 %\n" in text, text)
    text = krait("report", "-", "--value", "off_cpu", "--by", "gil", stdin=waits).stdout.decode()
    check("gil-by-of-waits", "\n  share    gil (waiting threads)\n" in text, text)


def gil_waits(work):
    """The report says which threads waited for the GIL, and what the thread that held it did
    meanwhile. w waits from 0 to 8 s, v from 4 to 8 s. h holds the GIL in two samples of 2 s: at
    1 s, while one thread waits, and at 5 s, while two wait, in two columns of one line. s sleeps
    with the GIL for 3 s, from 5 s on."""
    rows = [{"type": "krait", "version": 1, "duration_nanos": 9 * 10 ** 9, "sample_types": [
        {"type": "samples", "unit": "count"}] + [{"type": t, "unit": "nanoseconds"} for t in ("cpu", "off_cpu", "gil_wait", "gil_blame")]},
            {"type": "mapping", "id": 1, "name": "[python 3.12]"},
            {"type": "frame", "id": 1, "mapping": 1, "name": "dumps", "file": "/usr/lib/python3.12/json/__init__.py", "line": 231},
            {"type": "frame", "id": 2, "mapping": 1, "name": "work", "file": "/srv/app.py", "line": 88},
            {"type": "frame", "id": 3, "mapping": 1, "name": "rest", "file": "/srv/app.py", "line": 99},
            {"type": "frame", "id": 4, "mapping": 1, "name": "work", "file": "/srv/app.py", "line": 88, "column": 30},
            {"type": "frame", "id": 5, "mapping": 1, "name": "loads", "file": "/usr/lib/python3.12/json/__init__.py", "line": 300},
            {"type": "stack", "id": 1, "frames": [2, 1]}, {"type": "stack", "id": 2, "frames": [3]}, {"type": "stack", "id": 3, "frames": [2]},
            {"type": "stack", "id": 4, "frames": [4, 1]}, {"type": "stack", "id": 5, "frames": [4, 5]}]
    s = 10 ** 9
    for i, (thread, gil, state, stack, at, values) in enumerate((
            ("w", "waiting", "gil", 3, 0, [0, 0, 8 * s, 8 * s, 0]), ("v", "waiting", "gil", 3, 4, [0, 0, 4 * s, 4 * s, 0]),
            ("h", "held", "running", 1, 1, [1, 2 * s, 0, 0, 2 * s]), ("h", "held", "running", 4, 5, [1, 2 * s, 0, 0, 4 * s]),
            ("s", "held", "sleep", 2, 5, [0, 0, 3 * s, 0, 4 * s])), 1):
        rows += [{"type": "labels", "id": i, "labels": {"pid": "7", "tid": str(ord(thread)), "thread": thread, "gil": gil, "state": state}},
                 {"type": "sample", "stack": stack, "labels": i, "values": values, "time": at * s}]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    text = krait("report", "-", "--by", "gil", stdin=data).stdout.decode()
    check("gil-waited", "Threads waited 12.0 s for the GIL, 50 % of it while h was in json.dumps (/srv/app.py:88); "
          "for 17 % no holder was seen" in text.replace("\n     ", " "), text)
    two = krait("report", "-", "--by", "gil", stdin=data.replace(b'"stack": 4', b'"stack": 5')).stdout.decode()
    check("gil-waited-two-callees", "12.0 s for the GIL, 50 % of it while h was in app.work (/srv/app.py:88);" in two.replace("\n     ", " "), two)
    check("gil-asleep", "s held the GIL while it waited 3.00 s in app.rest (/srv/app.py:99); meanwhile others waited 4.00 s for" in
          text.replace("\n     ", " "), text)
    matrix = [line.split() for line in text.split("that waited for the GIL while other threads (columns) held it")[-1].splitlines()[1:4]]
    check("gil-matrix", matrix == [["h", "s", "others", "nobody"], ["w", "4.00", "s", "2.00", "s", "-", "2.00", "s"],
                                   ["v", "2.00", "s", "2.00", "s", "-", "-"]], text)
    # Headings of columns are narrow: a long name is cut at the front, and the thread's number
    # replaces a name that several threads have. "Thread-1 (work)" is a name as Python makes it.
    names = data.replace(b'"h"', b'"Thread-1 (work)"').replace(b'"s"', b'"Thread-2 (work)"').replace(b'"v"', b'"Thread-2 (work)"')
    named = krait("report", "-", "--by", "gil", stdin=names).stdout.decode().split("that waited for the GIL while other threads (columns) held it")[-1]
    check("gil-matrix-names", re.split("  +", named.splitlines()[1].strip())[:2] == ["…-1 (work)", "tid 115"], named)
    md = krait("report", "-", "--by", "gil", "--format", "md", stdin=data).stdout.decode()
    check("gil-matrix-md", "| w | 4.00 s | 2.00 s | - | 2.00 s |" in md, md)
    pairs = json.loads(krait("report", "-", "--json", stdin=data).stdout)["gil_waits"]
    got = [[(pair[side] or {}).get("thread") for side in ("waiter", "holder")] + [pair["nanoseconds"] / s] for pair in pairs]
    check("gil-json", got == [["w", "h", 4], ["w", "s", 2], ["w", None, 2], ["v", "h", 2], ["v", "s", 2]] and
          pairs[0]["holder"] == {"thread": "h", "tid": str(ord("h")), "pid": "7"}, str(pairs))
    part = krait("report", "-", "--by", "gil", "--thread", "w", "--value", "gil_wait", stdin=data).stdout.decode()
    check("gil-filtered", "The filters left out samples; holders in those are missing." in part, part)
    old = krait("report", "-", "--by", "gil", stdin=data.replace(b"gil_", b"old_")).stdout.decode()
    check("gil-without", "waited for the GIL" not in old, old)
    blame = krait("report", "-", "--value", "gil_blame", "--format", "folded", stdin=data).stdout.decode()
    check("gil-blame-folded", sorted(int(line.split()[-1]) for line in blame.splitlines()) == [4 * s, 6 * s], blame)


def gil_many(work):
    """krait doesn't compare each wait with each sample of a holder: for 40,000 waits and 40,000
    samples that would take 1.6 billion comparisons. Thread w waits 20,000 times at once from 0
    to 8 s, and v from 4 to 8 s. h holds the GIL in 20,000 samples at 1 s and in as many at 5 s;
    during each of them other threads waited for 1 us."""
    n, s = 20000, 10 ** 9
    rows = [{"type": "krait", "version": 1, "duration_nanos": 9 * s, "sample_types": [
        {"type": "samples", "unit": "count"}] + [{"type": t, "unit": "nanoseconds"} for t in ("cpu", "off_cpu", "gil_wait", "gil_blame")]},
            {"type": "mapping", "id": 1, "name": "[python 3.12]"},
            {"type": "frame", "id": 1, "mapping": 1, "name": "f", "file": "/srv/app.py", "line": 88}, {"type": "stack", "id": 1, "frames": [1]}]
    for i, (thread, state, at, ns) in enumerate((("w", "gil", 0, 8 * s), ("v", "gil", 4, 4 * s), ("h", "running", 1, 0), ("h", "running", 5, 0)), 1):
        values = [0, 0, ns, ns, 0] if ns else [1, 1000, 0, 0, 1000]
        rows += [{"type": "labels", "id": i, "labels": {
            "pid": "7", "tid": str(ord(thread)), "thread": thread, "state": state, "gil": "waiting" if ns else "held"}}]
        rows += [{"type": "sample", "stack": 1, "labels": i, "values": values, "time": at * s}] * n
    text = krait("report", "-", "--by", "gil", stdin="".join(json.dumps(row) + "\n" for row in rows).encode()).stdout.decode()
    matrix = [line.split()[:3] for line in text.split("that waited for the GIL while other threads (columns) held it")[-1].splitlines()[2:4]]
    check("gil-many", matrix == [["w", "30.0", "ms"], ["v", "10.0", "ms"]], text)


def waits_in_time(work):
    """Formats with a time axis show a wait from its beginning, which is its sample's time, to its
    end. In the test, the thread waited from 1 to 2 s and from 3 to 3.5 s."""
    rows = [{"type": "krait", "version": 1, "sample_types": [{"type": "samples", "unit": "count"}, {"type": "off_cpu", "unit": "nanoseconds"}],
             "period_type": {"type": "off_cpu", "unit": "nanoseconds"}, "period": 1}, {"type": "labels", "id": 1, "labels": {"tid": "7", "thread": "t"}}, {"type": "mapping", "id": 1, "name": "[python 3.12]"}]
    for i, (begin, ns) in enumerate(((1, 10 ** 9), (3, 5 * 10 ** 8)), 1):
        rows += [{"type": "frame", "id": i, "mapping": 1, "name": "f%d" % i}, {"type": "stack", "id": i, "frames": [i]},
                 {"type": "sample", "stack": i, "labels": 1, "values": [1, ns], "time": begin * 10 ** 9}]
    waits = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path = os.path.join(work, "waits")
    for kind in "trace", "firefox":
        krait("report", "-", "--value", "off_cpu", "--format", kind, "-o", path, stdin=waits)
        with open(path, encoding="utf-8") as f:
            data = json.load(f)
        if kind == "trace":
            got = [(e["ph"], e["name"], round(e["ts"] / 1e6, 3)) for e in data["traceEvents"] if e["ph"] in "BE"]
            got = [(name if ph == "B" else None, ts) for ph, name, ts in got]
        else:
            names, (thread,) = data["shared"]["stringArray"], data["threads"]
            functions = data["shared"]["funcTable"]["name"]
            frames = [names[functions[i]] for i in data["shared"]["frameTable"]["func"]]
            stacks = [frames[i] for i in data["shared"]["stackTable"]["frame"]]
            got = [(stacks[s] if s is not None else None, round(t / 1e3, 3)) for s, t in zip(thread["samples"]["stack"], thread["samples"]["time"])]
        want = [("f1", 1), (None, 2), ("f2", 3)] + [(None, 3.5)] * (kind == "trace")
        check("waits-in-time-" + kind, got == want, str(got))


def tables(work, path):
    """The self and total values of each function equal sums made in Python. The text of the report
    isn't too large."""
    truth, own, total = pprof.read(path), {}, {}
    for s in truth.samples:
        stack = truth.stack(s)
        own[owner(stack).name] = own.get(owner(stack).name, 0) + s.values[1]
        for name in {f.name for f in stack}:
            total[name] = total.get(name, 0) + s.values[1]
    report = json.loads(krait("report", path, "--json").stdout)
    got = {f["name"]: (f["own"], f["total"]) for f in report["functions"]}
    want = {"app.<module>": "<module>", "lib.work.Worker.run": "Worker.run", "deflate": "deflate"}
    check("json-functions", got == {k: (own.get(v, 0), total[v]) for k, v in want.items()}, str(got))
    check("json-lines", {(f["file"], f["line"]): f["own"] for f in report["lines"]} == {
        ("/srv/app/app.py", 9): own["<module>"], ("/srv/app/lib/work.py", 5): own["Worker.run"]})
    check("json-threads", {t["name"]: t["total"] for t in report["threads"]} == {
        "%s (tid %s)" % key: sum(s.values[1] for s in truth.samples
                                 if (s.labels["thread"], s.labels["tid"]) == key)
        for key in (("Main", "7"), ("worker", "8"))})
    share = 100.0 * own["Worker.run"] / sum(own.values())
    sentence = "%.0f %% of the CPU time is at /srv/app/lib/work.py:5 (Worker.run), %.0f of these %.0f %% in deflate" % (
        share, 100.0 * total["deflate"] / sum(own.values()), share)
    check("sentence", report["summary"] == sentence, report["summary"])
    for source, width in ((path, 80), (GO, 80), (path, 50)):
        os.environ["COLUMNS"] = str(width)
        lines = krait("report", source).stdout.decode().split("\n")
        check("fits-%d" % width, len(lines) <= 24 and max(map(len, lines[1:])) <= width
              and "\033" not in "".join(lines), "\n".join(lines))
    check("md", b"| %.1f %% | " % share in krait("report", path, "--format", "md").stdout)
    check("to-standard-output", krait("report", path, "-o", "-").stdout == krait("report", path).stdout)
    check("color", b"\033[31m" in krait("report", path, "--color=always").stdout)
    for args in (["--invert"], ["--native=full"], ["--functions"]):
        check("same-table" + args[0], json.loads(krait("report", path, "--json", *args).stdout)[
            "functions"] == report["functions"])
    kinds = {}
    for s in truth.samples:
        of = [frame.kind for frame in truth.stack(s)]
        kind = "gc" if "gc" in of else of[-1]
        kinds[kind] = kinds.get(kind, 0) + s.values[1]
    check("json-kinds", {k["name"]: k["total"] for k in report["kinds"]} == kinds, report["kinds"])
    text = krait("report", path, "--by", "thread").stdout.decode().split("\n")
    check("by-shares", [line.split("   ")[-1] for line in text[-3:-1]] == [
        t["name"] for t in report["threads"]], str(text))
    by = json.loads(krait("report", path, "--json", "--by", "thread").stdout)
    check("json-by", (by["by"], by["shares"]) == ("thread", report["threads"]) and "by" not in report, str(by))
    text = krait("report", path, "--per-thread", "-n", "1").stdout.decode().split("\n")
    total = sum(t["total"] for t in report["threads"])
    check("shares-limit", [line.split() for line in text[-3:-1]] == [
        ["%.1f" % (100 * report["threads"][0]["total"] / total), "%"]
        + report["threads"][0]["name"].split(),
        ["%.1f" % (100 * sum(t["total"] for t in report["threads"][1:]) / total), "%",
         str(len(report["threads"]) - 1), "more"]] and len(report["threads"]) > 1, str(text))
    for args in ([], ["--format", "md"], ["--json"], ["--tree"]):
        done = krait("report", path, "--by", "x", *args, code=1)
        check(" ".join(["by-unknown", *args]), b"--by x: no sample has the label 'x'" in done.stderr and not done.stdout, str(done))
    out = os.path.join(work, "x.json")
    krait("report", path, "-o", out)
    with open(out, encoding="utf-8") as f:
        check("json-by-name", json.load(f) == report)
    nameless(work)
    json_described(path)
    diff_by(work)
    diff_only_total(work)
    diff_without_times(work)
    page_of_two_values(work)
    page_of_a_difference(work)
    diff_limits(work)
    for args in (["report", path], ["diff", path, path]):
        rows = json.loads(krait(*args, "--modules", "--json").stdout)["functions"]
        check("modules-" + args[0], {r["name"] for r in rows} == {"app", "lib.work", "[unknown]"}, str(rows))
    nothing_shown(work, path)
    text = krait("report", path, "--tree").stdout
    check("tree", b"lib.work.Worker.run" in text and "path (└: the only call of the row above)".encode() in text)
    os.environ["COLUMNS"], os.environ["LINES"] = "80", "24"
    script = os.path.join(work, "shown.py")
    with open(script, "w") as f:
        f.write("import os\nos.wait()  # line two\n")
    text = krait("report", "-", stdin=b"f (%s:2) 3\n" % script.encode()).stdout
    check("source-line", b"os.wait()  # line two" in text, text.decode())
    os.rename(script, script[:-3] + ".txt")
    os.symlink("/etc/hostname", os.path.join(work, "x.txt"))
    for file in (script[:-3] + ".txt", work + "/x.txt", "/dev/zero", "/etc/passwd"):
        text = krait("report", "-", stdin=b"f (%s:1) 3\n" % file.encode()).stdout
        check("no-source-" + os.path.basename(file), b"root" not in text and b"import" not in text
              and b"os.wait" not in text, text.decode())
    wide = "\u6f22" * 60 + "e\u0301" * 9 + "\033[31m"
    w = pprof.Writer()
    w.sample([w.location("[python 3.12]", wide, "/a/" + wide + ".py", 1, 2, 1)], {})
    w.save(path)
    text = krait("report", path).stdout.decode()
    check("hostile-name", "\033" not in text and max(map(columns, text.split("\n")[2:])) <= 80, text)


def said(path, *stacks):
    """Writes a profile of stacks (count, frame, ...), root first, where a frame is (name, file,
    line). Returns the first sentence of the report."""
    w = pprof.Writer()
    for count, *frames in stacks:
        w.sample([w.location("[python 3.12]", name, file, 1, line, 1) for name, file, line in frames],
                 {"cwd": "/srv/app"}, count)
    w.save(path)
    return json.loads(krait("report", path, "--json").stdout)


def fits(work):
    """The report fits the terminal even if it has everything that takes rows: a first sentence that
    takes two rows, carets below five lines, the GIL, files of other users."""
    name = "handler_of_requests_" + "x" * 80
    for files, carets in ((5, True), (5, False), (2, True)):
        paths = [os.path.join(work, "%s%d.py" % (name, i)) for i in range(files)]
        for path in paths:
            with open(path, "w", encoding="ascii") as f:
                f.write("x = first(1) + second(2)\n" * 9)
        lines = [{"type": "krait", "version": 1, "sample_types": [{"type": "samples", "unit": "count"}], "default_sample_type": 0,
                  "period_type": {"type": "samples", "unit": "count"}, "period": 1, "time_nanos": 4000000000000000000},
                 {"type": "mapping", "id": 1, "name": "[python 3.12]"}]
        lines += [{"type": "labels", "id": i + 1, "labels": {"gil": state}} for i, state in enumerate(("held", "waiting"))]
        for i in range(9):
            ends = {"column": 5, "end_line": i + 1, "end_column": 13} if carets else {}
            lines.append({"type": "frame", "id": i + 1, "mapping": 1, "name": "%s%d" % (name, i), "file": paths[i % files],
                          "line": i + 1, **ends})
            lines.append({"type": "stack", "id": i + 1, "frames": [1, i + 1] if i else [1]})
            lines.append({"type": "sample", "stack": i + 1, "labels": i % 2 + 1, "values": [90 - i]})
        path = os.path.join(work, "fits.jsonl")
        with open(path, "w", encoding="ascii") as f:
            f.writelines(json.dumps(line) + "\n" for line in lines)
        for width in (80, 120, 64):
            os.environ["COLUMNS"] = str(width)
            for color in ("never", "always"):
                text = krait("report", path, "--color=" + color).stdout.decode()
                plain = re.sub("\033\\[[0-9;]*m", "", text).split("\n")[:-1]
                rows = sum(max(1, -(-columns(line) // width)) for line in plain)
                check("fits-%d-%s%s" % (width, color, "-carets" if carets else ""), 18 <= rows <= 23 and "GIL, of the " in text
                      and (text.count("^^") >= 3) == carets, "%d rows:\n%s" % (rows, text))
            more = krait("report", path, "-n", "5").stdout.decode()
            # on a narrow terminal the line about the GIL needs a second row
            check("fits-not-%d" % width, len(more.split("\n    own    line\n")[1].split("\n")) == (13 if carets else 8) + (width < 120), more)
    os.environ["COLUMNS"], os.environ["LINES"] = "80", "24"


def dotted_names(path):
    """A function of an imported module is shown with the name under which the module is imported. A
    function of a script is shown with the name of the script's file."""
    w = {"/srv/app/./app.py": "app.f", "/srv/app/../venv/bin/serve": "serve.f", "/pkg/__init__.py": "pkg.f",
         "../other/x.py": "x.f", "/srv/app/pkg/y.py": "pkg.y.f", "/v/lib/python3.12/json/__init__.py": "json.f"}
    got = {f["name"] for f in said(path, *((1, ("f", file, 4)) for file in w))["functions"]}
    check("names", got == set(w.values()), str(got))
    frame = ("import json", "<frozen importlib._bootstrap>", 0)
    got = said(path, (1, frame))["functions"]
    check("import", [f["name"] for f in got] == ["import json"], str(got))


def one_line(path):
    """Two functions on one line of a file are one row in the table of lines. Functions of the file
    <string> have a row each, because they may come from two programs."""
    files = ("/srv/app/app.py", "<string>")
    got = said(path, *((10, (name, file, 4)) for name in ("f", "f.<locals>.<genexpr>") for file in files))
    check("lines", sorted((r["file"], r["own"] // 1000000) for r in got["lines"])
          == [("/srv/app/app.py", 20), ("<string>", 10), ("<string>", 10)], str(got["lines"]))


def long_names(path):
    """Names that don't fit are cut at the front: the end of a Python name is the function, and the
    file shows the package."""
    said(path, (9, ("Queue.run" + "_all" * 20, "/v/lib/python3.12/site-packages/gunicorn/workers/queue.py", 4)))
    for option in ("", "--tree"):
        rows = krait("report", path, *option.split()).stdout.decode().split("\n")
        check("long" + option, rows[-2 if option else 4].count("_all") > (14 if option else 5), str(rows))


def sentences(path):
    """The first sentence names the user's line, and then the library that the line calls; its
    shares are those of the stacks that the test makes."""
    lib = "/v/lib/python3.12/site-packages/serve/"
    start = [("<module>", "/venv/bin/serve", 8), ("main", lib + "__init__.py", 5)]
    handle = ("handle", "/srv/app/app.py", 9)
    hears(path, "launcher", "33 % of the CPU time is at app.py:9 (handle)",
          (30, *start, handle), *((20, *start, ("f%d" % i, lib + "x.py", i)) for i in range(3)))
    work = ("work", "/srv/app/app.py", 2)
    hears(path, "callers", "100 % of the CPU time is at app.py:2 (work)",
          *((10, ("a", "/srv/app/app.py", i), work) for i in (1, 2, 3)), (10, work))
    hears(path, "recursion", "100 % of the CPU time is at app.py:2 (work)",
          (9, ("a", "/srv/app/app.py", 4), work, work, work))
    find = ("_find_and_load", "<frozen importlib._bootstrap>", 1176)
    stack = [("<module>", "/srv/app/app.py", 1), find, ("<module>", "/v/lib/python3.12/http/__init__.py", 6)]
    for more in [], [find], [("import enum", find[1], 0), ("<module>", "/v/lib/python3.12/enum.py", 1)]:
        hears(path, "importlib", "100 % of the CPU time is at app.py:1 (<module>), 75 of these 100 % in http.<module>",
              (3, *stack, *more), (1, *stack[:2]))
        krait("report", path, "-o", path + ".folded")
        got = json.loads(krait("report", path + ".folded", "--json").stdout)
        check("importlib-folded", "_find" not in got["summary"], got["summary"])
    imports_of_libraries(path, find)


def hears(path, name, sentence, *stacks):
    got = said(path, *stacks)
    check(name, got["summary"] == sentence, "%s, not: %s" % (got["summary"], sentence))
    return got


def lines_told(path):
    """The first sentence names the user's function that is innermost most often, its line, and what
    that line calls."""
    app, lib = "/srv/app/aio.py", "/v/lib/python3.12/"
    start, count, other = ("<module>", app, 15), ("count", app, 5), ("other", app, 9)
    findall, enter = ("findall", lib + "re/__init__.py", 217), ("__aenter__", lib + "site-packages/aiohttp/client.py", 1425)
    hears(path, "line", "37 % of the CPU time is at aio.py:5 (count), 22 of these 37 % in re.findall", (22, start, count, findall),
          (15, start, count), (24, start, other, enter), (3, start, other), *((6, start, ("f%d" % i, app, 20 + i)) for i in range(6)))
    hears(path, "two-lines", "90 % of the CPU time is in aio.hot, 60 of these 90 % at aio.py:21", (60, start, ("hot", app, 21)),
          (30, start, ("hot", app, 22)), (10, start, count, findall))
    hears(path, "line-without-head", "57 % of the CPU time is at aio.py:21 (hot)", (57, start, ("hot", app, 21)),
          (3, start, ("hot", app, 20)), *((8, start, ("f%d" % i, app, 30 + i)) for i in range(5)))
    hears(path, "many-lines", "90 % of the CPU time is in aio.hot", *((30, start, ("hot", app, 21 + i)) for i in range(3)),
          (10, start, count, findall))
    hears(path, "small", "None of your functions takes a tenth of the CPU time; 64 % is in aiohttp.client.__aenter__",
          (64, enter), *((9, start, ("f%d" % i, app, 20 + i)) for i in range(4)))
    hears(path, "flat", "None of your functions takes a tenth of the CPU time", *((5, ("f%d" % i, app, 20 + i)) for i in range(20)))
    hears(path, "no-lines", "100 % of the CPU time is in aio.f, 40 of these 100 % in re.findall", (60, ("f", app, 0)), (40, ("f", app, 0), findall))


def parts_told(path):
    """If one of the user's functions calls others of the user's functions, the first sentence
    doesn't count their time for the caller, nor the time of a framework that runs them."""
    app, lib = "/srv/app/app.py", "/v/lib/python3.12/"
    start, hot = ("<module>", app, 15), ("hot", app, 7)
    run, dumps = ("scheduler.run", lib + "sched.py", 151), ("dumps", lib + "json/__init__.py", 238)
    every = [(59, start, run, dumps), (34, start, run, hot), (7, start)]
    words = "34 %% of the %s at app.py:7 (hot); 59 %% is in sched.scheduler.run around your code"
    got = hears(path, "loop", words % "CPU time is", *every)
    totals = {f["name"]: f["total"] * 100 // got["all"] for f in got["functions"]}
    check("loop-total", totals["sched.scheduler.run"] == 93, str(got))
    got = json.loads(krait("report", path, "--json", "--value", "samples").stdout)
    check("loop-samples", got["summary"] == words % "samples are", got["summary"])
    got = krait("report", path, "--format", "md").stdout.decode().replace("\\", "")
    check("loop-md", "**" + words % "CPU time is" + ".**" in got, got)
    hears(path, "loop-rounded", "100 % of the CPU time is at app.py:15 (<module>), 59 of these 100 % in sched.scheduler.run",
          (591, start, run, dumps), (3, start, run, hot), (406, start))
    pprint = ("pprint", lib + "pprint.py", 50)
    hears(path, "passed-on", "85 % of the CPU time is at app.py:15 (<module>), without your functions that it calls; "
          "60 of these 85 % in json.dumps", (60, start, dumps), (20, start, pprint, dumps), (15, start, hot), (5, start))
    hears(path, "passed-on-to-one", "60 % of the CPU time is at app.py:15 (<module>), nearly all in json.dumps, which it calls",
          (57, start, dumps), (3, start), (15, start, hot), (15, start, ("cold", app, 9)), (10, start, ("main", app, 3)))
    hears(path, "trunk", "40 % of the CPU time is at app.py:7 (hot), 35 of these 40 % in json.dumps",
          (35, start, ("main", app, 3), hot, dumps), (5, start, ("main", app, 3), hot), (30, start, ("main", app, 4)),
          (30, start))
    find = ("_find_and_load", "<frozen importlib._bootstrap>", 1176)
    hears(path, "importlib-included", "80 % of the CPU time is at app.py:7 (hot), 30 of these 80 % in json.dumps",
          (20, start, hot), (30, start, hot, find), (30, start, hot, dumps), (20, start))


def imports_of_libraries(path, find):
    """If no code is the user's (as when only a test runner runs), the first sentence doesn't name
    importlib. It names the module that imports, if there is one."""
    runpy = ("_run_code", "<frozen runpy>", 88)
    main = ("<module>", "/v/lib/python3.12/site-packages/pytest/__main__.py", 1)
    compiles = [find, ("_call_with_frames_removed", find[1], 491)]
    for stack, name in (([runpy, main, ("import enum", find[1], 0)], "import enum"),
                        ([runpy, main], "pytest.__main__.<module>"), ([runpy], "runpy._run_code")):
        got = said(path, (5, *stack, *compiles), (3, runpy, main, ("f", "/v/lib/python3.12/x.py", 3)))
        check("importlib-" + name, " in " + name in got["summary"], got["summary"])
    hears(path, "import-in-between", "100 % of the CPU time is in enum.<module>, called from pytest/__main__.py:1",
          (5, main, ("import enum", find[1], 0), ("<module>", "/v/lib/python3.12/enum.py", 1)))
    got = said(path, (5, *compiles))
    check("importlib-alone", got["summary"] == "No function stands out but importlib's", got["summary"])


def trees(path):
    """Each row of --tree has the share and the depth that it has in a tree that the test makes.
    This also holds for the tree that begins with the innermost functions."""
    w = pprof.Writer()
    at = {n: w.location("[python 3.12]", n, "/srv/app.py", 1, 1, 1) for n in ("main", "work", "deep", "deeper", "other", "rare")}
    for names_, n in (("main work deep deeper", 300), ("main work", 200), ("main other deep", 290), ("main work deep", 204), ("main rare", 6)):
        w.sample([at[n] for n in names_.split()], {}, n)
    w.save(path)
    profile = pprof.read(path)
    for invert in False, True:
        root = {}
        for s in profile.samples:
            children = root
            for f in profile.stack(s)[::-1 if invert else 1]:
                node = children.setdefault("app." + f.name, [0, {}])
                node[0] += s.values[0]
                children = node[1]

        def rows(children, indent, first):
            shown = sorted(((n, name, inner) for name, (n, inner) in children.items() if n >= 10), key=lambda x: (-x[0], x[1]))
            indent += len(shown) > 1 and not first
            only = "\u2514 " if len(shown) == 1 and not first else ""
            for n, name, inner in shown:
                yield "%6.1f %%   %s%s%s" % (n / 10, " " * indent, only, name)
                yield from rows(inner, indent, False)
        want = list(rows(root, 0, True))
        text = krait("report", path, "--tree", "--value", "samples", *["--invert"] * invert).stdout.decode()
        check("tree" + "-inverted" * invert, text.split(" total    path")[1].split("\n")[1:-1] == want and len(want) > 5, "%s\n%s" % (text, want))


def folded_trees(path):
    """Library frames that only pass a call on are folded into one row. Frames with a cost of their
    own and the user's code aren't folded, nor is a run of only two library frames."""
    w = pprof.Writer()
    site = "/v/lib/python3.12/site-packages/"

    def at(name, file):
        return w.location("[python 3.12]", name, file, 1, 1, 1)
    main, work = at("main", "/srv/app.py"), at("work", "/srv/app.py")
    runner = [at("r%d" % i, site + "pytest/run.py") for i in range(3)] + [at("p%d" % i, site + "pluggy/call.py") for i in range(2)]
    # one more frame, of the same package as the first three
    runner.append(at("back", site + "pytest/back.py"))
    two = [at("t%d" % i, site + "two/it.py") for i in range(2)]
    costly = [at("c%d" % i, site + "costly/it.py") for i in range(3)]
    for stack, n in (([main, *runner, work], 600), ([main, *two, work], 200), ([main, *costly, work], 150), ([main, *costly[:2]], 50)):
        w.sample(stack, {}, n)
    w.save(path)
    want = [" 100.0 %   app.main", "  60.0 %    [6 frames: pytest, pluggy]", "  60.0 %    \u2514 app.work", "  20.0 %    two.it.t0", "  20.0 %    \u2514 two.it.t1",
            "  20.0 %    \u2514 app.work", "  20.0 %    costly.it.c0", "  20.0 %    \u2514 costly.it.c1", "  15.0 %    \u2514 costly.it.c2", "  15.0 %    \u2514 app.work"]
    text = krait("report", path, "--tree", "--value", "samples").stdout.decode()
    got = text.split(" total    path")[1].split("\n")[1:-1]
    check("tree-folded", sorted(got) == sorted(want) and got[:3] == want[:3], text)


def on_terminal(path):
    """On a terminal the report is as wide as the terminal, and has colours. It has no colours with
    NO_COLOR, or if the terminal can't show colours."""
    for more, colored in ({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 61, 0, 0))
        env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
        child = subprocess.Popen([KRAIT, "report", path], stdin=subprocess.DEVNULL, stdout=theirs, env=dict(env, **more))
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 65536):
                said += part
        except OSError:
            pass  # the other end of the pipe is closed
        os.close(ours)
        text = said.decode().replace("\r", "")
        plain = re.sub("\033\\[[0-9;]*m", "", text)
        check("on-terminal-%s" % " ".join(more.values()), not child.wait() and (plain != text) == colored
              and 40 < max(map(columns, plain.split("\n")[1:])) <= 61, text)


def keys_of(value):
    """Yields the names of all members of a JSON value, however deep."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    return set(value).union(*map(keys_of, value.values())) if isinstance(value, dict) else set()


def json_described(path):
    """The manual page names every member of krait's JSON. The test finds in krait's source text
    which members `krait record` writes, so that it needn't record."""
    with open(os.path.join(ROOT, "man/krait.1.in"), encoding="utf-8") as f:
        manual = f.read().replace("\\", "")
    with open(os.path.join(ROOT, "src/cli/record/closing_json.c"), encoding="utf-8") as f:
        record = set(re.findall(r'\\"(\w+)\\":', f.read()))
    for command, keys in (("krait report", keys_of(json.loads(krait("report", path, "--json").stdout))),
                          ("krait diff", keys_of([json.loads(krait("diff", path, path, "--json", *args).stdout) for args in ([], ["--by", "thread"])])),
                          ("krait doctor", keys_of(json.loads(subprocess.run([KRAIT, "doctor", "--json"], capture_output=True).stdout))),
                          ("krait record", record)):
        told = re.search(r"\.SH JSON\n.*?\n\.[A-Z]+ \"?%s [^\n]*\n(.*?)\n\.(TP|SH)" % command, manual, re.S)
        missing = keys - set(re.findall(r"\w+", told[1] if told else ""))
        check("json-described " + command, keys and not missing, ", ".join(sorted(missing)))


def nameless(work):
    """krait gives a thread without a name some name in a file for the Firefox Profiler, which needs
    one. When krait reads the file again, the thread has no name."""
    path, there = os.path.join(work, "nameless.jsonl"), os.path.join(work, "nameless.firefox.json")
    owners = [{"pid": "7", "process": "web", "tid": "8"}, {"pid": "7", "process": "web", "tid": "9", "thread": "web"},
              {"pid": "8", "tid": "8", "thread": "Thread"}, {"pid": "9", "process": "Process", "tid": "9"}]
    lines = [{"type": "krait", "version": 1, "sample_types": [{"type": "cpu", "unit": "nanoseconds"}]},
             {"type": "mapping", "id": 1, "name": "[python 3.12]"}, {"type": "frame", "id": 1, "mapping": 1, "name": "f"},
             {"type": "stack", "id": 1, "frames": [1]}]
    for i, labels in enumerate(owners, 1):
        lines += [{"type": "labels", "id": i, "labels": labels}, {"type": "sample", "stack": 1, "labels": i, "time": i, "values": [5]}]
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(line) + "\n" for line in lines)
    krait("report", path, "-o", there)
    with open(there, encoding="utf-8") as f:
        names = [(t["name"], t["processName"]) for t in json.load(f)["threads"]]
    check("firefox-names-all", all(map(all, names)), str(names))
    back = [json.loads(line) for line in krait("report", there, "--format", "jsonl").stdout.splitlines()]
    got = [line["labels"] for line in back if line["type"] == "labels"]
    check("firefox-without-names", sorted(got, key=str) == sorted(owners, key=str), str(got))


def nothing_shown(work, path):
    """If no sample is shown, the report says why, as far as the file or the filters tell, and
    prints no empty table."""
    none, why = os.path.join(work, "none.pb.gz"), "note: no samples: the process slept; record longer"
    for comments, words in ([], "There are no samples."), ([why], "There are no samples: " + why[18:] + "."):
        w = pprof.Writer()
        w.out += [pprof._field(13, w.string(c)) for c in comments]
        w.save(none)
        for option in [], ["--tree"], ["--by", "thread"], ["--format", "md"]:
            text = krait("report", none, *option).stdout.decode()
            check("nothing", words in text and text.count("\n") < 4, text)
    text = krait("report", path, "--label", "x=1").stdout.decode()
    check("nothing-matches", text.startswith("There is nothing to show: the filters let no sample through.\n")
          and text.count("\n") == 2, text)
    text = krait("diff", none, none).stdout.decode()
    check("nothing-to-compare", text.startswith("There is nothing to compare: no samples on either side.\n")
          and "before  " not in text and "*" not in text, text)


def markdown(work):
    """The report as Markdown shows names as they are: it escapes characters that would be markup
    (CommonMark 0.31, GFM's ~ and $) as references."""
    names = ["Foo.__init__", "a_b_*c*", "`d`", "~~e~~", "[f](g)", "$h$", "i\\*", "j|k", "<b>l</b>&amp;"]
    paths = [os.path.join(work, "markdown-%d.pb.gz" % i) for i in range(2)]
    for path, step in zip(paths, (0, 1)):
        w = pprof.Writer()
        main = w.location("[python 3.12]", "<module>", "/srv/_app_.py", 1, 9, 1)
        for i, name in enumerate(names):
            w.sample([main, w.location("[python 3.12]", name, "/srv/_app_.py", 1, 3, 1)], {}, 200 + i * i * step)
        w.save(path)
    text = krait("report", "-", "--format", "md", stdin=("f;" + "x" * 4000 + " 5\n").encode()).stdout.decode()
    check("md-long-name", text.count("x" * 150) >= 2 and len(text) < 2000, text)
    for args in ["report", paths[0]], ["diff", *paths]:
        text = krait(*args, "-n", "20", "--format", "md").stdout.decode()
        cells = re.findall("<code>(.*?)</code>", text)
        shown = [html.unescape(c) for c in cells]
        check("md-names " + args[0], all(any(s.endswith(n) for s in shown) for n in names), str(shown))
        prose = text.split("\n| ")[0].removeprefix("**").replace("**\n", "")
        markup = [c for c in cells + [prose] if re.search(r"[][*_`~$|<>\\]", c)]
        check("md-no-markup " + args[0], not markup, str(markup))
    lines = [{"type": "krait", "version": 1, "sample_types": [{"type": "_t_", "unit": "<b>|u"}]}, {"type": "mapping", "id": 1, "name": "m"},
             {"type": "frame", "id": 1, "mapping": 1, "name": "f"}, {"type": "stack", "id": 1, "frames": [1]}, {"type": "sample", "stack": 1, "values": [3]}]
    text = krait("report", "-", "--format", "md", stdin="".join(json.dumps(line) + "\n" for line in lines).encode()).stdout.decode()
    check("md-no-markup units", not re.search("[<|_]", text.split("\n| ")[0]) and "3 <b>|u of _t_" in html.unescape(text), text)


def diff_widths(work, path):
    """The table of diff fits the terminal, and says which columns a narrow terminal has no room
    for."""
    other = os.path.join(work, "other.pb.gz")
    made(other, start=3)
    for width, heads in ((75, "before after own share total"), (64, "before after own total"),
                         (53, "before after own"), (40, "before own")):
        os.environ["COLUMNS"] = str(width)
        text = krait("diff", path, other, "--per", "n=1,2").stdout.decode()
        table = text.split("\n\n")[1].split("\n")
        check("diff-fits-%d" % width, table[0].split() == heads.split() + ["function"] and len(table) > 2
              and max(map(columns, table)) <= width and ("75 columns" in text) == (width < 75), text)
    os.environ["COLUMNS"], os.environ["LINES"] = "80", "24"


def columns(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in text)


def refused(work):
    """krait refuses a damaged file with exit code 1 and one sentence, which names the file and the
    place of the damage."""
    with open(GO, "rb") as f:
        packed = f.read()
    plain = gzip.decompress(packed)
    for name, data, words in (
            ("cut-gzip", packed[:len(packed) // 2], "ends early, after"),
            ("cut-pprof", plain[:-3], "pprof: byte"),
            ("not-folded", b"f 1\nbroken\n", "folded stacks: byte 4"),
            ("binary", bytes(range(255, -1, -1)) * 9, "byte 0"),
            ("perf-data", b"PERFILE2" + bytes(200), "stackcollapse-perf.pl"),
            ("austin-mojo", b"MOJ\x03\x01austin\x00", "mojo2austin"),
            ("utf-16", "main;f 1\nmain;g 2\n".encode("utf-16"), "iconv -f UTF-16 -t UTF-8"),
            ("old-cpuprofile", b'{"head":{"functionName":"(root)","id":1,"children":[]},"samples":[1],"timestamps":[1]}', "the older form"),
            ("speedscope", b'{"$schema":"speedscope.app","profiles":[0]}', "speedscope: profiles: byte 40"),
            ("html", b"<html><body>x</body></html>", "no recording")):
        path = os.path.join(work, name)
        with open(path, "wb") as f:
            f.write(data)
        for command in (["report", path, "--format", "folded"], ["merge", path, GO, "-o", "/dev/null",
                                                                "--format", "folded"]):
            err = krait(*command, code=1).stderr.decode()
            check("refuses-%s-%s" % (name, command[0]), path + ":" in err and words in err
                  and err.count("\n") == 1, err)
    check("missing-file", "No such file" in krait("report", work + "/none", "--format", "folded",
                                                  code=1).stderr.decode())
    os.environ["COLUMNS"], os.environ["LINES"] = "80", "24"
    check("names-no-file", "krait report FILE" in krait("report", code=2).stderr.decode())


def hidden_text(work):
    """The report mentions --source only if --source would show more: not for scripts without the
    ending .py, and not for lines past the end of a file."""
    if os.geteuid():
        theirs, words = os.__file__, "(files that aren't yours"
        if os.stat(theirs).st_uid == os.geteuid():
            return  # if this test isn't root, it can't make files of another user
    else:
        theirs, words = os.path.join(work, "theirs.py"), "(files not everybody may read"
        with open(theirs, "w") as f:
            f.write("# a first line\n")
        # without --source, krait shows files of root only if everybody may read them
        os.chmod(theirs, 0o600)
    script = shutil.copy(theirs, os.path.join(work, "tool"))
    with open(theirs) as f:
        first, beyond = f.readline().strip(), len(f.readlines()) + 3
    for name, places, shown in (("theirs", [(theirs, 1), (script, 1)], True), ("script", [(script, 1)], False),
                                ("beyond", [(theirs, beyond), (script, 1)], False)):
        stacks = "".join("f (%s:%d) 3\n" % place for place in places).encode()
        for option in ([], ["--source"]):
            text = krait("report", *option, "-", stdin=stacks).stdout.decode()
            check("hint-" + name + "".join(option), (first in text) == (shown and option != [])
                  and (words in text) == (shown and not option), text)


def unprivileged(work, path):
    """Reading profiles needs no rights: the user nobody can do it, and krait writes into a
    directory of this user."""
    if os.geteuid():
        return  # if this test isn't root, all its other checks already run without rights
    binary, theirs = shutil.copy(KRAIT, work), os.path.join(work, "theirs")
    os.mkdir(theirs)
    os.chown(theirs, 65534, 65534)
    for args in (["report", path], ["report", path, "-o", "x.html"], ["report", "x.html", "-o", "x.svg"],
                 ["merge", path, "x.svg", "-o", "x.pb.gz"], ["diff", path, "x.pb.gz"],
                 ["diff", path, "x.pb.gz", "-o", "d.html"]):
        done = subprocess.run([binary] + args, cwd=theirs, capture_output=True, timeout=60,
                              user=65534, group=65534, extra_groups=[])
        check("as-nobody-" + "-".join(os.path.basename(a) for a in args), done.returncode == 0
              and not done.stderr, done.stderr.decode())
    check("as-nobody-adds", stacks(pprof.read(theirs + "/x.pb.gz")) == {
        k: 2 * v for k, v in stacks(pprof.read(path)).items()})


def main():
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)  # as root, krait shows files of root only if everybody may read them
        path = os.path.join(work, "made.pb.gz")
        made(path)
        same_as_pprof("made", path)
        round_trips(work, path, "made")
        round_trips(work, GO, "go")
        packed_pages(work, path)
        speedscope_and_back(work, path, "made")
        speedscope_and_back(work, GO, "go")
        waits_in_time(work)
        gil_waits(work)
        gil_many(work)
        firefox_and_back(work, path, "made")
        firefox_and_back(work, GO, "go")
        firefox_of_today(work, path)
        gecko_of_cpython(work)
        traces(work)
        cpuprofile_of_node(work)
        profile_in_trace(work)
        pstats_refused(work, path)
        others(work)
        real_ones(work)
        merges(work)
        filters(work, path)
        diff_filters(work, path)
        per_process(work)
        lines_as_rows(work)
        own_lines(work)
        tables(work, path)
        gil(path)
        fits(work)
        dotted_names(path)
        one_line(path)
        long_names(path)
        sentences(path)
        lines_told(path)
        parts_told(path)
        trees(path)
        folded_trees(path)
        on_terminal(path)
        markdown(work)
        diff_widths(work, path)
        made(path)
        hidden_text(work)
        unprivileged(work, path)
        refused(work)
    sys.exit(failed)


main()
