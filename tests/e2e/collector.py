#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What is said of the garbage collector. Of made profiles the truth is arithmetic; of recorded programs it is what they
measure themselves, by gc.callbacks and their thread's CPU time."""
import json
import os
import sys

import kit
import pprof
from kit import case, check, folder, krait

PYTHON = "[python 3.12]"


def made(path, *stacks):
    """A profile of (count, frame, ...), root first; a frame is "function:line" of app.py, a Python one's, or "mapping function"."""
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
    """What the collector calls is its own: native code and finalizers. --kind and the report say the same."""
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
        check("68.0 %   80.0 %   app.work  app.py  of it GC 18.0 %" in text, text)
        check("GC 30.0 %" in text.split("Taken in")[1], text)


@case
def told_first():
    """The collector comes first if it takes more than any function does without it; then who calls it."""
    with folder() as d:
        def said(*stacks):
            return report(made(d + "/p.pb.gz", *stacks))["summary"]
        words = "40 % of the CPU time is in the garbage collector"
        rest = [(20, *MAIN, name + ":3") for name in ("a", "b", "c")]
        check(said(*rest, (30, *MAIN, "work:5", *GC), (10, *MAIN, "work:6", *GC)) == words + ", called from app.py:5", "line")
        check(said(*rest, *((8, *MAIN, "work:%d" % n, *GC) for n in range(1, 6))) == words + ", called from app.work", "function")
        check(said(*rest, *((8, *MAIN, "f%d:%d" % (n, n), *GC) for n in range(1, 6))) == words, "from everywhere")
        check(said(*rest, (40, "/lib/libc.so.6 start", *GC)) == words, "from no Python code")
        # A finalizer that collects again is the first collection's doing.
        check(said(*rest, (40, *MAIN, "work:5", GC[0], "__del__:7", *GC)) == words + ", called from app.py:5", "finalizer")
        got = said((25, *MAIN, "work:5", *GC), (30, *MAIN, "work:5"), (45, *MAIN, "a:3"))
        check(got == "55 % of the CPU time is in app.work, called from app.py:8", got)


if __name__ == "__main__":
    sys.exit(kit.main())
