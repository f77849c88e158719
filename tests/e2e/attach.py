#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`krait attach` and `krait run` take the options of Python 3.15's sampler. Python itself reads the
files that they write."""
import json
import os
import pstats
import sys

import kit
from kit import case, check, krait

ENDS = """
import sys
def hot(n):
    return sum(i * i for i in range(n))
for i in range(40):
    hot(99999)
open("argv", "w").write(repr(sys.argv))
sys.exit(7)
"""


def functions(path):
    return {name for _, _, name in pstats.Stats(path).stats}


def gecko(path):
    with open(path) as f:
        return set(json.load(f)["shared"]["stringArray"])


@case
def run_script():
    """The script gets the arguments after its name and is what is recorded. krait ends with the
    script's exit code."""
    with kit.folder() as folder:
        for name in "ends.py", "mod.py":
            with open(os.path.join(folder, name), "w") as f:
                f.write(ENDS)
        for args, argv in ((["ends.py", "-d", "9", "--foo"], ["ends.py", "-d", "9", "--foo"]),
                           (["-m", "mod", "-m"], [os.path.join(folder, "mod.py"), "-m"])):
            done = krait("run", "-ar2khz", "--pstats", "-o", "o.pstats", *args, cwd=folder)
            check(done.returncode == 7, "%s: exit code %d, %s" % (args, done.returncode, done.stderr))
            with open(folder + "/argv") as f:
                check(f.read() == repr(argv), "argv")
            check("hot" in functions(folder + "/o.pstats"), "no hot() in pstats")


@case
def attach_formats():
    """Each format has the function, under the name that Python's sampler gives the file."""
    with kit.python(kit.BUSY) as running, kit.folder() as folder:
        for word, name in (("--gecko", "gecko_%d.json"), ("--flamegraph", "flamegraph_%d.html"),
                           ("--collapsed", "collapsed_%d.txt"), ("--jsonl", "jsonl_%d.jsonl")):
            done = krait("attach", "-d", "1", word, running.pid, cwd=folder)
            path = os.path.join(folder, name % running.pid)
            check(not done.returncode and os.path.exists(path), "%s: %s" % (word, done.stderr))
            text = krait("report", path, "-o", "-", "--format", "folded").stdout if word == "--flamegraph" \
                else open(path, encoding="utf-8").read()  # a page has the recording packed
            check("busy" in text, "%s has no busy()" % name)
        check(any(text.startswith("busy") for text in gecko(folder + "/gecko_%d.json" % running.pid)), "gecko")
        done = krait("attach", "-d", "1", "--mode=gil", "--collapsed", "-o", "g.txt", running.pid, cwd=folder)
        check(not done.returncode and os.path.getsize(folder + "/g.txt"), done.stderr)


@case
def refusals():
    """Options without a meaning in krait are refused with a reason."""
    for words, args in (("threads that run", ["--mode", "wall"]), ("cpu or gil", ["--mode", "x"]),
                        ("not of tasks", ["--async-aware"]), ("only one output format", ["--gecko", "--pstats"]),
                        ("writes nothing", ["--live", "--gecko"]), ("krait diff", ["--diff-flamegraph", "b"])):
        kit.refused(2, words, "attach", *args, os.getpid())
    kit.refused(2, "which process", "attach")
    kit.refused(2, "which script", "run", "-m")


if __name__ == "__main__":
    sys.exit(kit.main())
