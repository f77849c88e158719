#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""odd_files.py: files of other tools with faults in them. The test knows their totals by
arithmetic, and krait must say what it left out."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
from judge import pprof  # noqa: E402

KRAIT = os.path.join(ROOT, os.environ.get("KRAIT", "build/release/krait"))
failed = False


def check(name, true, words=""):
    global failed
    print("PASS odd-files %s" % name if true else "FAIL odd-files %s: %s" % (name, words))
    failed |= not true


def krait(*args, stdin=b""):
    done = subprocess.run([KRAIT] + list(args), input=stdin, capture_output=True, timeout=60)
    return done.stdout.decode() if done.returncode == 0 else "exit code %d: %s" % (done.returncode, done.stderr.decode())


def report(text, *args):
    """Returns `krait report --json` of a file that has this text or these bytes. If krait refuses
    the file, "all" has the error."""
    out = krait("report", "-", "--json", *args, stdin=text if isinstance(text, bytes) else text.encode())
    return json.loads(out) if out.startswith("{") else {"all": out, "notes": [], "functions": [], "unit": "", "value": ""}


def says(name, text, all_of_it, notes=(), *args):
    """Checks the report's total, and that the reports as text and as Markdown also say what is left
    out."""
    got = report(text, *args)
    plain, md = (krait("report", "-", *args, *more, stdin=text if isinstance(text, bytes) else text.encode())
                 for more in ((), ("--format", "md")))
    wrong = [word for word in notes if not any(word in note for note in got["notes"]) or word not in plain or word not in md]
    check(name, got["all"] == all_of_it and len(got["notes"]) == len(notes) and not wrong, "%s, %s" % (got["all"], got["notes"] or plain))


def trace(*events):
    """Makes a trace of events. Each event is given as text, so that it needn't be valid JSON."""
    return '{"traceEvents":[%s]}' % ",".join(events)


def traces(work):
    step = '{"name":"step","ph":"X","ts":0,"dur":100,"pid":1,"tid":1}'
    for word in ("NaN", "Infinity", "-Infinity"):
        says("trace-" + word, trace(step.replace("}", ',"args":{"loss":%s}}' % word)), 100000)
    says("trace-text", trace(step.replace('"ts":0,"dur":100', '"ts":"100","dur":"50"')), 50000)
    says("trace-negative", trace(step, step.replace("100", "-5")), 100000, ["1 slice whose length is below 0"])
    says("trace-unused", trace(step, '{"name":"m","ph":"e","ts":null,"pid":1,"tid":1}'), 100000)
    says("trace-no-time", trace(step, *["{\"name\":\"m\",\"ph\":\"X\",\"dur\":9}"] * 3), 100000, ["3 events without a time"])
    torch = trace('{"ph":"X","cat":"python_function","name":"torch/nn/functional.py(2000): linear","ts":1,"dur":7}')
    path = os.path.join(work, "torch.pb.gz")
    krait("report", "-", "-o", path, stdin=torch.encode())
    profile = pprof.read(path)
    frame = profile.stack(profile.samples[0])[0]
    check("trace-torch", (frame.name, frame.file, frame.line, frame.mapping) == ("linear", "torch/nn/functional.py", 2000, "[python]"), str(frame))
    kept = trace(step, step.replace("100", "-5"))
    path = os.path.join(work, "kept.pb.gz")
    krait("report", "-", "-o", path, stdin=kept.encode())
    check("trace-kept", json.loads(krait("report", path, "--json"))["notes"] == report(kept)["notes"] != [], krait("report", path))


def hermes(work):
    """krait reads a trace as Hermes' sampling profiler writes it: numbers are texts, samples come
    before the frames to which they refer, and each thread has a slice without length."""
    def sample(ts, frame, tid="7", **more):
        return dict({"cpu": "-1", "name": "", "ts": str(ts), "pid": 1, "tid": tid, "weight": "1", "sf": frame}, **more)
    named = [{"name": "thread_name", "ph": "M", "pid": 1, "ts": "100", "tid": tid, "args": {"name": name}} for tid, name in (("7", "mqt_js"), ("8", "worker"))]
    empty = [{"name": "mqt_js", "cat": "mqt_js", "ph": "X", "dur": 0, "pid": 1, "ts": "100", "tid": "7", "args": {}}]
    frames = {"1": {"name": "global(/srv/index.js:1:2)", "category": "JavaScript", "line": "1", "column": "2", "funcLine": "1", "funcColumn": "1"},
              "3": {"name": "[Native]4711", "category": "Native", "parent": 2},
              "2": {"name": "draw(/srv/view.js:12:7)", "category": "JavaScript", "line": "12", "column": "7", "funcLine": "10", "parent": 1},
              "4": {"name": "(/srv/view.js:30:7)", "category": "JavaScript", "parent": 1},
              "5": {"name": "poll", "category": "libc.so", "parent": 99}}
    samples = [sample(100, 1), sample(200, 2), sample(300, 3), sample(450, 3), sample(500, 4), sample(600, 5, "8", weight="2"), sample(700, 77)]
    text = json.dumps({"traceEvents": named + empty, "samples": samples, "stackFrames": frames})
    says("hermes", text, 7, ["1 sample in the list beside the events, whose stack", "1 frame of stackFrames without its callers"])
    path = os.path.join(work, "hermes.pb.gz")
    krait("report", "-", "-o", path, stdin=text.encode())
    profile, got = pprof.read(path), {}
    for s in profile.samples:
        stack = tuple((f.name, f.file, f.line) for f in profile.stack(s))
        got.setdefault((s.labels["thread"], stack), []).append((s.labels.get("time"), s.values[0]))
    top, draw = ("global", "/srv/index.js", 1), ("draw", "/srv/view.js", 12)
    want = {("mqt_js", (top,)): [(0, 1)], ("mqt_js", (top, draw)): [(100000, 1)], ("mqt_js", (top, draw, ("[Native]4711", "", 0))): [(200000, 1), (350000, 1)],
            ("mqt_js", (top, ("(anonymous)", "/srv/view.js", 30))): [(400000, 1)], ("worker", (("poll", "", 0),)): [(500000, 2)]}
    check("hermes-stacks", got == want, str(got))
    check("hermes-values", profile.sample_types == [("samples", "count")], str(profile.sample_types))
    both = {"traceEvents": [{"name": "step", "ph": "X", "ts": 0, "dur": 100, "pid": 1, "tid": 1}], "samples": samples[:5], "stackFrames": frames}
    says("hermes-slices", json.dumps(both), 100000, ["1 frame of stackFrames"])
    says("hermes-samples", json.dumps(both), 5, ["1 frame of stackFrames"], "--value", "samples")
    says("hermes-no-frames", json.dumps(dict(both, stackFrames=[])), 100000, ["5 samples in the list beside the events, whose stack"])
    circle = dict(both, stackFrames={"1": {"name": "f", "parent": 2}, "2": {"name": "g", "parent": "1"}})
    check("hermes-circle", "far deeper" in krait("report", "-", stdin=json.dumps(circle).encode()), "a circle of callers is read")


def close(a, b):
    return isinstance(a, (int, float)) and abs(a - b) < 1e-9


def fractions(work):
    """krait reads counts with fractions, and every format that has counts keeps the fractions."""
    many = "".join("main;f%d 0.4\n" % i for i in range(100))
    flame = "foo;bar;baz 0.156\nfoo;foo;bar;baz 0.98\nfoo;bar;baz 0.343\nfoo;foo;bar;baz 0.888\n"
    weights = json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "f"}, {"name": "g"}]},
                          "profiles": [{"type": "sampled", "unit": "none", "name": "", "samples": [[0, i % 2] for i in range(10)], "weights": [0.4] * 10}]})
    for name, text, want in (("folded-0.4", many, 40), ("folded-inferno", flame, 2.367), ("speedscope-0.4", weights, 4)):
        got = report(text)
        check(name, close(got["all"], want) and got["unit"] == "count" and got["notes"] == [], str(got["all"]))
        check(name + "-own", close(sum(f["own"] for f in got["functions"]), want), str(got["functions"]))
        check(name + "-text", ("%s samples" % want) in krait("report", "-", stdin=text.encode()), krait("report", "-", stdin=text.encode()))
        for kind in ("pb.gz", "jsonl", "folded", "speedscope.json", "firefox.json", "html", "svg"):
            path = os.path.join(work, "x." + kind)
            krait("report", "-", "-o", path, stdin=text.encode())
            back = json.loads(krait("report", path, "--json"))["all"]
            check("%s-%s" % (name, kind), close(back, want), str(back))
    folded = krait("report", "-", "--format", "folded", stdin=flame.encode())
    check("folded-inferno-folded", folded == "foo;bar;baz 0.499\nfoo;foo;bar;baz 1.868\n", folded)


def negatives(work):
    """krait reads profiles with values below 0, as pprof -diff_base and Go's heap?seconds= write
    them for a comparison of two profiles."""
    w = pprof.Writer()
    main, work_, other = (w.location("[python 3.12]", name, "/srv/app.py", i, i, 0) for i, name in enumerate(("main", "work", "other"), 1))
    w.sample([main, work_], {}, -5000)
    w.sample([main], {}, 1000)
    w.sample([main, other], {"tid": "7"}, 30)
    w.sample([main, other], {"tid": "8"}, -20)
    path = os.path.join(work, "negative.pb.gz")
    w.save(path)
    got = json.loads(krait("report", path, "--json", "--value", "samples"))
    rows = {f["name"].rsplit(".", 1)[-1]: (f["own"], f["total"]) for f in got["functions"]}
    check("negative-report", got["all"] == -3990 and rows == {"main": (1000, -3990), "work": (-5000, -5000), "other": (10, 10)}, "%s %s" % (got["all"], rows))
    text = krait("report", path, "--value", "samples")
    check("negative-text", "-3,990 samples" in text and "-5,000" in text and " -82." in text, text)
    tree = krait("report", path, "--value", "samples", "--tree")
    check("negative-tree", " -82." in tree.split("path")[1], tree)
    for kind in ("pb.gz", "jsonl", "speedscope.json", "firefox.json", "folded"):
        out = os.path.join(work, "n." + kind)
        krait("report", path, "--value", "samples", "-o", out)
        back = json.loads(krait("report", out, "--json", "--value", "samples"))["all"]
        check("negative-" + kind, back == -3990, str(back))
    with open(os.path.join(work, "n.speedscope.json"), encoding="utf-8") as f:
        check("negative-speedscope-sum", sum(sum(p["weights"]) for p in json.load(f)["profiles"]) == -3990)
    krait("report", path, "--value", "samples", "-o", os.path.join(work, "n.svg"))
    # of 6,050 functions that changed, the picture has only 1,030
    with open(os.path.join(work, "n.svg"), encoding="utf-8") as f:
        picture = f.read()
    check("negative-svg", ">-3,990 samples: 1,030 more, which is drawn, and 5,020 less<" in picture and
          "<title>all\n17.0 % of all, 1,030 samples" in picture, picture[picture.find('id="numbers"'):][:200])
    check("negative-shares", "shares are of 6,050\n" in text, text)
    sums = [sum(s.values[i] for s in pprof.read(os.path.join(work, "n.pb.gz")).samples) for i in range(2)]
    check("negative-pprof-sum", sums == [-3990, -3990 * 10**6], str(sums))
    with open(os.path.join(work, "n.folded"), encoding="utf-8") as f:
        check("negative-folded", f.read() == "main (/srv/app.py:1) 1000\nmain (/srv/app.py:1);other (/srv/app.py:3) 10\nmain (/srv/app.py:1);work (/srv/app.py:2) -5000\n")


def several_values(work):
    """If a file has several values, krait shows the default value, or the value that --value names.
    """
    two = "a;b 10 20\na;c 5 0\n"
    check("two-counts", report(two)["value"] == "after" and report(two)["all"] == 20 and report(two, "--value", "before")["all"] == 15, str(report(two)))
    path = os.path.join(work, "two.folded")
    with open(path, "w", encoding="utf-8") as f:
        f.write("main;parse 1000 700\nmain;hot 1000 2200\nmain 5 6\n")
    page = os.path.join(work, "two.html")
    krait("diff", path, "-o", page)
    for name in (path, page):
        diff = json.loads(krait("diff", name, "--per", "run=1,1", "--json"))
        rows = {f["name"]: (f["own"]["before"], f["own"]["after"]) for f in diff["functions"]}
        check("two-counts-diff " + name[-6:], rows == {"main": (5, 6), "parse": (1000, 700), "hot": (1000, 2200)} and
              diff["all"] == {"before": 2005, "after": 2906}, str(diff["all"]) + str(rows))
    scope = json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "f"}]}, "profiles": [
        {"type": "sampled", "unit": unit, "name": name, "samples": [[0]], "weights": [weight]}
        for unit, name, weight in (("microseconds", "CPU time profile for 1:2", 7), ("microseconds", "Wall time profile for 1:2", 9),
                                   ("bytes", "Memory allocation profile for 1:2", 4096), ("bytes", "Memory deallocation profile for 1:2", 64))]})
    got = {value: report(scope, "--value", value)["all"] for value in ("cpu", "wall", "allocated", "freed")}
    check("speedscope-values", got == {"cpu": 7000, "wall": 9000, "allocated": 4096, "freed": 64} and report(scope)["value"] == "cpu", str(got))
    path = os.path.join(work, "v8.pb.gz")
    krait("report", "-", "-o", path, stdin=b"LazyCompile:*foo /srv/app.js:39 5\n")
    profile = pprof.read(path)
    frame = profile.stack(profile.samples[0])[0]
    check("v8-name", (frame.name, frame.file, frame.line) == ("foo", "/srv/app.js", 39), str((frame.name, frame.file, frame.line)))


def through_speedscope(work):
    """Functions of other languages have the same names, files and lines after a conversion to
    speedscope's format and back."""
    w = pprof.Writer()
    places = [("", "", 0), ("", "", 745), ("", "Thread.java", 745), ("", "java/lang/Thread", 7), ("", "java/lang/Thread", 0), ("/lib/libjvm.so", "", 12)]
    w.sample([w.location(mapping, "java/lang/Thread.run", file, 0, line, 0) for mapping, file, line in places], {}, 5)
    path, scope = os.path.join(work, "java.pb.gz"), os.path.join(work, "java.speedscope.json")
    w.save(path)
    krait("report", path, "-o", scope)
    names = [{f["name"] for f in json.loads(krait("report", p, "--json"))["functions"]} for p in (path, scope)]
    check("java-through-speedscope", names == [{"java/lang/Thread.run"}] * 2, str(names))


def main():
    with tempfile.TemporaryDirectory() as work:
        traces(work)
        hermes(work)
        fractions(work)
        negatives(work)
        several_values(work)
        through_speedscope(work)
    sys.exit(failed)


main()
