#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The garbage collector's share of the samples. For made-up profiles, arithmetic gives the right
share. Recorded programs measure their share, by gc.callbacks and their thread's CPU time."""
import base64
import gzip
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from judge import pprof
from kit import case, check, folder, krait

PYTHON = "[python 3.12]"


def made(path, *stacks):
    """Writes a profile. A stack is (count, frame, ...), root first. A frame is "function:line" for
    Python code of app.py, "mapping function" for native code."""
    w = pprof.Writer()

    def location(text):
        if " " in text:
            mapping, name = text.split(" ")
            return w.location(mapping, name, "", 0, 0, 0)
        name, line = text.split(":")
        return w.location(PYTHON, name, "/srv/app/app.py", 1, int(line), 1)
    for count, *frames in stacks:
        w.sample([location(f) for f in frames], {"cwd": "/srv/app"}, count)
    w.save(path)
    return path


def report(path, *args):
    done = krait("report", path, "--json", *args)
    check(done.returncode == 0, done.stderr)
    return json.loads(done.stdout)


MAIN, GC = ("<module>:9", "main:8"), ("[gc] gc_collect_main", "/lib/libc.so.6 free")


@case
def every_stack_with_it():
    """Native code and finalizers that the garbage collector calls count for the collector. `--kind`
    selects the same samples as the report counts."""
    with folder() as d:
        path = made(d + "/p.pb.gz", (50, *MAIN, "work:3"), (11, *MAIN, "work:3", *GC), (7, *MAIN, "work:4", GC[0]),
                    (12, *MAIN, "work:4", GC[0], "__del__:20"), (20, *MAIN, "load:6", "/lib/libc.so.6 read"))
        got = report(path)
        kinds = {k["name"]: k["total"] // 10 ** 6 for k in got["kinds"]}
        check(kinds == {"python": 50, "gc": 30, "native": 20}, str(kinds))
        own = {f["name"]: (f["own"] // 10 ** 6, f.get("own_gc", 0) // 10 ** 6) for f in got["functions"]}
        check(own["app.work"] == (68, 18) and own["app.__del__"] == (12, 12) and own["app.load"] == (20, 0), str(own))
        check(report(path, "--kind", "gc")["shown"] == 30 * 10 ** 6, "--kind gc")
        check(report(path, "--kind", "native", "--kind", "python")["shown"] == 70 * 10 ** 6, "the other kinds")
        text = krait("report", path).stdout
        check("68.0 %   80.0 %   app.work  app.py  including GC 18.0 %" in text, text)
        check("GC 30.0 %" in text.split("What ran")[1], text)


@case
def without_python():
    """If no Python function called the garbage collector, as at the interpreter's end, the
    collector's native functions count for the collector. Other native functions count for
    themselves."""
    with folder() as d:
        path = made(d + "/p.pb.gz", (60, *MAIN), (25, "/bin/python3 Py_Finalize", GC[0], "/bin/python3 subtract_refs", "/bin/python3 visit_decref"),
                    (10, "/bin/python3 Py_Finalize", GC[0]), (5, "/bin/python3 Py_Finalize", "/bin/python3 visit_decref"))
        own = {f["name"]: f["own"] // 10 ** 6 for f in report(path)["functions"] if f["own"]}
        check(own == {"app.main": 60, "gc_collect_main": 35, "visit_decref": 5}, str(own))


@case
def in_other_commands():
    """`krait diff` shows the collector's share on both sides. --native=leaf leaves out native
    frames that aren't below the innermost Python frame, but keeps the collector's native frames
    above a finalizer."""
    with folder() as d:
        a = made(d + "/a.pb.gz", (90, *MAIN, "work:3"), (6, *MAIN, "work:3", *GC), (4, *MAIN, "work:4", GC[0], "__del__:20"))
        b = made(d + "/b.pb.gz", (75, *MAIN, "work:3"), (25, *MAIN, "work:3", *GC))
        check("The garbage collector took 10.0 % of all before, 25.0 % after" in krait("diff", a, b).stdout, krait("diff", a, b).stdout)
        done = krait("diff", a, b, "-o", d + "/d.html")
        check(done.returncode == 0, done.stderr)
        with open(d + "/d.html", encoding="utf-8") as f:
            text = gzip.decompress(base64.b64decode(f.read().split('id="krait-view">', 1)[1].split("<", 1)[0]))
        check(b"The garbage collector took 10.0 % of all before, 25.0 % after" in text, "the page doesn't say so")
        got = json.loads(krait("diff", a, b, "--json").stdout)["gc_share"]
        check(got == {"before": 0.1, "after": 0.25}, str(got))
        check(report(a, "--native=leaf", "--kind", "gc")["kinds"] == [{"name": "gc", "total": 10 * 10 ** 6}], "--native=leaf")


@case
def told_first():
    """If the collector takes more time than any function takes without the collector, the report's
    first sentence names the collector and the code that calls it."""
    with folder() as d:
        def said(*stacks):
            return report(made(d + "/p.pb.gz", *stacks))["summary"]
        words = "40 % of the CPU time is in the garbage collector"
        rest = [(20, *MAIN, name + ":3") for name in ("a", "b", "c")]
        check(said(*rest, (30, *MAIN, "work:5", *GC), (10, *MAIN, "work:6", *GC)) == words + ", called from app.py:5", "line")
        check(said(*rest, *((8, *MAIN, "work:%d" % n, *GC) for n in range(1, 6))) == words + ", called from app.work", "function")
        check(said(*rest, *((8, *MAIN, "f%d:%d" % (n, n), *GC) for n in range(1, 6))) == words, "from everywhere")
        got = said(*rest, (17, *MAIN, "load:9", "f:1", *GC), (16, *MAIN, "load:9", "g:2", *GC), (7, *MAIN, "h:3", *GC))
        check(got == words + ", called from app.load", "of what more than half is called in: " + got)
        check(said(*rest, (40, "/lib/libc.so.6 start", *GC)) == words, "from no Python code")
        # a finalizer starts a second collection; its work counts for the first one
        check(said(*rest, (40, *MAIN, "work:5", GC[0], "__del__:7", *GC)) == words + ", called from app.py:5", "finalizer")
        got = said((25, *MAIN, "work:5", *GC), (30, *MAIN, "work:5"), (45, *MAIN, "a:3"))
        check(got == "55 % of the CPU time is at app.py:5 (work), 25 of these 55 % in the garbage collector", got)


# A program that measures the time of its own collections: of cycles alone, of cycles with
# finalizers, of cycles with callbacks of weak references.
MEASURED = """
import gc, sys, time, weakref
spent = begun = 0.0
def watch(phase, info):
    global spent, begun
    if phase == "start":
        begun = time.thread_time()
    else:
        spent += time.thread_time() - begun
class Node(object):
    def __init__(self):
        self.me = self
class Closing(Node):
    def __del__(self):
        sum(map(deeper, range(150)))
def deeper(n):
    return n & 3
def gone(ref):
    sum(map(deeper, range(150)))
def build():
    for _ in range(150):
        a = []
        a.append([a])
        Closing()
        refs.append(weakref.ref(Node(), gone))
def work(n):
    s = 0
    for i in range(n):
        s += i & 3
gc.set_threshold(100, 10, 10)
gc.callbacks.append(watch)
while time.thread_time() < 1.2:
    refs = []
    build()
    work(70000)
sys.stdout.write("%.4f" % (spent / time.thread_time()))
"""


def measured():
    """Returns (name, path) of the interpreters that record whether a collection is under way, as
    all do since 3.9. In the full tier these are one of each version; else three."""
    found = {}
    for name, version, kind, path in kit.interpreters():
        if version >= (3, 9) and kind in ("static", "shared", "tailcall"):
            found.setdefault(version, (name, path))
    versions = sorted(found)
    return [found[v] for v in (versions if kit.FULL else sorted({(3, 11), versions[0], versions[-1]} & set(found)))]


def check_measured(name, path, d, *args):
    out = d + "/p.pb.gz"
    done = krait("record", "-q", "-o", out, *args, "--", path, "-c", MEASURED)
    check(done.returncode == 0, done.stderr)
    truth, got = float(done.stdout), report(out)
    value = {k["name"]: k["total"] for k in got["kinds"]}.get("gc", 0)
    share = value / got["all"]
    check(0.2 < truth < 0.8, "%s: a collector's share of %.3f tells little" % (name, truth))
    check(abs(share - truth) < 0.05, "%s: %.3f, not %.3f" % (name, share, truth))
    check(report(out, "--kind", "gc")["shown"] == value, "%s: --kind gc" % name)
    finalizers = [f for f in got["functions"] if f["name"].endswith(("__del__", "gone"))]
    check(len(finalizers) == 2 and all(f.get("own_gc", 0) >= 0.9 * f["own"] > 0 for f in finalizers), "%s: %s" % (name, finalizers))


@case
def as_the_program_measures():
    """The collector's share equals the share that the program measures by gc.callbacks and its
    thread's CPU time. The share includes finalizers and callbacks of weak references."""
    with folder() as d:
        for name, path in measured():
            check_measured(name, path, d)


@kit.full_case
def as_the_program_measures_with_all_native_frames():
    with folder() as d:
        for name, path in measured():
            check_measured(name, path, d, "--native=full")


@case
def top_says_it():
    """krait top shows the collector's share of all time, which equals the program's own measure. It
    also shows the collector's share of each function's own time."""
    done = krait("top", "-F", 999, "-i", "60s", "--json", "--", kit.PYTHON, "-c", MEASURED)
    shown, truth = json.loads(done.stdout), 100 * float(re.search(r"0\.\d{4}", done.stderr)[0])
    check(abs(shown["last"]["gc_percent"] - truth) < 5, "%s, not %s" % (shown["last"], truth))
    rows = {r["function"]: r["self"]["gc_percent"] for r in shown["rows"] if r["kind"] == "python" and r["self"]["samples"] > 20}
    # only finalizers and callbacks of weak references call deeper()
    check(rows["work"] == 0 and rows["deeper"] > 90, str(rows))


# A program in which one thread sleeps in a finalizer, within a collection. Meanwhile another thread
# runs Python functions that map() and sum(), which are C functions, call.
BESIDE = """
import gc, threading, time
class Sleeps:
    def __init__(self):
        self.me = self
    def __del__(self):
        time.sleep(1.2)
def deeper(n):
    for i in range(100):
        n += i
    return n
def beside():
    while True:
        sum(map(deeper, range(1000)))
threading.Thread(target=beside, daemon=True, name="beside").start()
Sleeps()
gc.collect()
"""


@case
def not_what_runs_beside_it():
    """While a collection is under way, code of another thread doesn't count for the collector, and
    that thread's stacks have native frames only below the innermost Python frame, as usual."""
    with folder() as d:
        out = d + "/p.pb.gz"
        done = krait("record", "-q", "-o", out, "--", kit.PYTHON, "-c", BESIDE)
        check(done.returncode == 0, done.stderr)
        p = pprof.read(out)
        stacks = [[f.kind for f in p.stack(s)] for s in p.samples if s.labels.get("thread") == "beside"]
        inside = [of for of in stacks if of[-1] == "python" and len(of) > 3]
        check(len(inside) > 50, "only %d of %d samples" % (len(inside), len(stacks)))
        check(all(set(of) == {"python"} for of in inside), "native frames outside of the innermost Python one")
        check(not any("gc" in of for of in stacks), "taken for the collector's")


if __name__ == "__main__":
    sys.exit(kit.main())
