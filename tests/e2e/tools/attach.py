#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`krait attach` and `krait run` take the options of Python 3.15's sampler. Python itself reads the
files that they write."""
import ast
import json
import os
import pstats
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
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
# A script that writes down how long it works and how long it waits, by the wall clock.
NAPS = """
import time
took = {"works": 0, "waits": 0}
def works(until):
    while time.monotonic() < until:
        pass
def waits(until):
    time.sleep(max(0, until - time.monotonic()))
for i in range(20):
    for function, seconds in (works, 0.01), (waits, 0.03):
        begin = time.monotonic()
        function(begin + seconds)
        took[function.__name__] += time.monotonic() - begin
open("took", "w").write(repr(took))
"""


def functions(path):
    return {name for _, _, name in pstats.Stats(path).stats}


def gecko(path):
    with open(path) as f:
        return set(json.load(f)["shared"]["stringArray"])


@case
def run_script():
    """Words after the script's name are the script's arguments. krait records the script, and ends
    with the script's exit code."""
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
    """Each output format has the program's function, and the file has the name that Python's own
    sampler would give it."""
    with kit.python(kit.BUSY) as running, kit.folder() as folder:
        for word, name in (("--gecko", "gecko_%d.json"), ("--flamegraph", "flamegraph_%d.html"),
                           ("--collapsed", "collapsed_%d.txt"), ("--jsonl", "jsonl_%d.jsonl")):
            done = krait("attach", "-d", "0.5", word, running.pid, cwd=folder)
            path = os.path.join(folder, name % running.pid)
            check(not done.returncode and os.path.exists(path), "%s: %s" % (word, done.stderr))
            # the recording in an HTML page is compressed
            text = krait("report", path, "-o", "-", "--format", "folded").stdout if word == "--flamegraph" \
                else open(path, encoding="utf-8").read()
            check("busy" in text, "%s has no busy()" % name)
        check(any(text.startswith("busy") for text in gecko(folder + "/gecko_%d.json" % running.pid)), "gecko")
        done = krait("attach", "-d", "0.5", "--mode=gil", "--collapsed", "-o", "g.txt", running.pid, cwd=folder)
        check(not done.returncode and os.path.getsize(folder + "/g.txt"), done.stderr)


def nanoseconds(path):
    """Returns {function of NAPS: its wall time in ns}, from the recording."""
    text = krait("report", path, "-o", "-", "--format", "folded", "--value", "wall").stdout if path.endswith("html") \
        else open(path, encoding="utf-8").read()
    stacks = [line.rsplit(" ", 1) for line in text.splitlines()]
    return {name: sum(int(n) for frames, n in stacks if re.search(r"\b%s( |;|$)" % name, frames)) for name in ("works", "waits")}


@case
def mode_wall():
    """On a page and in folded stacks, the times of both functions are those that the script
    measured itself. On a busy machine the script often waits for a CPU, and few samples say in
    which function it waited. So it is enough if one of three tries succeeds."""
    with kit.folder() as folder:
        with open(folder + "/naps.py", "w") as f:
            f.write(NAPS)
        for word, name in ("--collapsed", "o.folded"), ("--flamegraph", "o.html"):
            tries = []
            while not any(is_right for is_right, _ in tries):
                check(len(tries) < 3, "%s: %s" % (word, tries))
                done = krait("run", "--mode", "wall", word, "-o", name, "naps.py", cwd=folder)
                check(not done.returncode, done.stderr)
                with open(folder + "/took") as f:
                    took = ast.literal_eval(f.read())
                seen = nanoseconds(folder + "/" + name)
                tries.append((all(abs(seen[function] / 1e9 - seconds) < 0.05 * seconds + 0.02 for function, seconds in took.items()),
                              "%s, by the script's clock %s" % (seen, took)))


@case
def refusals():
    """krait refuses the options of Python's sampler that have no meaning in krait, and gives a
    reason."""
    for words, args in (("cpu, gil or wall", ["--mode", "x"]),
                        ("not of tasks", ["--async-aware"]), ("only one output format", ["--gecko", "--pstats"]),
                        ("writes nothing", ["--live", "--gecko"]), ("krait diff", ["--diff-flamegraph", "b"])):
        kit.refused(2, words, "attach", *args, os.getpid())
    kit.refused(2, "which process", "attach")
    kit.refused(2, "which script", "run", "-m")


if __name__ == "__main__":
    sys.exit(kit.main())
