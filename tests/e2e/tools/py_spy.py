#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares `krait py-spy` with py-spy itself (from its package in a cache; else SKIP) on the same
program: both have the same threads, frames, fields, shares and exit codes, and take the command
lines with which other programs call py-spy."""
import contextlib
import json
import math
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import case, check, full_case

# A program in which all threads but one wait for ever, each at its own place. The thread that
# works, "box", is always on one of two lines.
STILL = """
import threading, time
from pack.inner import Box
lock = threading.Lock()
lock.acquire()
def take():
    with lock:
        pass
def nap():
    time.sleep(1000)
threading.Thread(target=take, daemon=True).start()
threading.Thread(target=nap, name="na p", daemon=True).start()
threading.Thread(target=Box().work, name="box", daemon=True).start()
time.sleep(1000)
"""
BOX = """
class Box:
    def work(self):
        while True:
            pass
"""
# A program with three kinds of work. Each piece of work lasts for a random time, so that no sampler
# is in step with the program. The program itself writes down how long each kind took.
MIX = """
import os, random, sys, threading, time  # without threading py-spy names no thread
took = dict.fromkeys(("one", "two", "three"), 0)
def one(n):
    for i in range(n):
        i * i
def two(n):
    return sum(i for i in range(n))
def three(n):
    for i in range(n):
        str(i)
def tell():
    with open(sys.argv[0] + ".new", "w") as f:
        f.write(repr(took))
    os.replace(sys.argv[0] + ".new", sys.argv[0] + ".took")
def main():
    for turn in range(1 << 60):
        for f, most in (one, 9000), (two, 6000), (three, 4000):
            n, begin = random.randrange(most), time.thread_time()
            f(n)
            took[f.__name__] += time.thread_time() - begin
        if turn % 400 == 0:
            tell()
main()
"""


def pyspy():
    """Returns the path of py-spy's own program, from its package."""
    place = os.path.join(kit.CACHE, "py-spy")
    binary = os.path.join(place, "bin", "py-spy")
    if not os.path.exists(binary):
        done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", place,
                               "py-spy==0.4.*"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              encoding="utf-8", check=False)
        if done.returncode or not os.path.exists(binary):
            raise kit.Skip("no py-spy: " + done.stdout.strip().split("\n")[-1])
    return [binary]


def interpreters():
    """Yields (version, path) of the interpreters that py-spy knows. Programs that only embed Python
    (-shared) are left out, because they don't have their script's name."""
    for name, version, kind, path in kit.interpreters():
        if (3, 8) <= version <= (3, 13) and kind in ("static", "shared") and not name.endswith("-shared"):
            yield version, path


def own():
    return [kit.KRAIT, "py-spy"]


def run(tool, *args, timeout=60, **kw):
    return subprocess.run(tool + [str(a) for a in args], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", timeout=timeout, check=False, **kw)


@contextlib.contextmanager
def program(source, executable=kit.PYTHON, settle=1.0):
    with kit.folder() as folder:
        os.makedirs(folder + "/pack")
        for name, text in ("main.py", source), ("pack/__init__.py", ""), ("pack/inner.py", BOX):
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
        with kit.Background(executable, folder + "/main.py", cwd="/") as running:
            time.sleep(settle)
            yield running, folder


def plain(name):
    """Returns the last part of a function's name, because py-spy has no qualified names before
    Python 3.11."""
    return name.rsplit(".", 1)[-1]


def threads(tool, pid, version):
    """Returns the threads of `dump --json`, without the fields whose values krait doesn't know."""
    said = run(tool, "dump", "--json", "--pid", pid)
    check(not said.returncode, "%s: %s" % (tool[0], said.stderr))
    found = json.loads(said.stdout)
    for thread in found:
        for frame in thread["frames"]:
            check({"locals", "is_entry", "is_shim_entry"} < set(frame), "fields: %s" % sorted(frame))
            for field in "locals", "is_entry", "is_shim_entry":
                del frame[field]
            if version < (3, 11):
                frame["name"] = plain(frame["name"])
        # This thread runs: its line is one of two, and it may or may not have the GIL.
        if thread["thread_name"] == "box":
            check(thread["frames"][0].pop("line") in (4, 5), "line of what runs")
            check(thread.pop("active"), "what runs is idle")
            thread.pop("owns_gil")
    return found


def same_dump(executable, version):
    with program(STILL, executable) as (running, _):
        theirs, mine = (threads(t, running.pid, version) for t in (pyspy(), own()))
    check(len(mine) == 4, "%d threads" % len(mine))
    for a, b in zip(theirs, mine):
        check(a == b, "%s: py-spy %s, krait %s" % (executable, a, b))
    check(theirs == mine, "%d threads, krait %d" % (len(theirs), len(mine)))


@case
def dump_json():
    """Both tools' dumps have the same threads, with the same names and ids, and the same frames,
    with the same files and lines, in the same order."""
    same_dump(kit.PYTHON, sys.version_info[:2] if sys.executable == kit.PYTHON else (3, 11))


@full_case
def dump_json_of_every_version():
    for version, path in interpreters():
        same_dump(path, version)


@case
def dump_text():
    """Both tools print the same text, except for Python's version, which krait prints with two
    numbers instead of three."""
    with program(STILL) as (running, _):
        theirs, mine = (run(t, "dump", "--pid=%d" % running.pid).stdout for t in (pyspy(), own()))
    theirs = re.sub(r"(Python v\d+\.\d+)\.\S+", r"\1", theirs)
    theirs, mine = (re.sub(r"\(active(\+gil)?\)", "(active)", t) for t in (theirs, mine))
    theirs, mine = (re.sub(r"inner.py:[45]", "inner.py:N", t) for t in (theirs, mine))
    check(theirs == mine, "py-spy:\n%s\nkrait:\n%s" % (theirs, mine))


def stacks(path):
    with open(path, encoding="utf-8") as f:
        return [(line.rsplit(" ", 1)[0].split(";"), int(line.rsplit(" ", 1)[1])) for line in f]


def shares(found):
    """Returns ({frame: share of the samples that contain it}, the number of samples)."""
    total, of = sum(n for _, n in found), {}
    for frames, n in found:
        for frame in set(frames):
            of[frame] = of.get(frame, 0) + n
    return {frame: n / total for frame, n in of.items()}, total


def differ(p, n, q, m):
    """True if two shares differ by more than three standard errors. p is the share among n samples.
    q is the share among m samples or, if m is None, the exact share."""
    middle = q if m is None else (p * n + q * m) / (n + m)
    error = math.sqrt(max(0, middle * (1 - middle)) * (1 / n + (1 / m if m else 0)))
    return abs(p - q) > 3 * error + 0.01


def judge_by_clock(mine, took):
    """Checks krait's shares of the three functions against the program's own clock. Samples of
    other functions don't count, because the program doesn't measure these."""
    found, n = shares([(frames, n) for frames, n in mine
                       if any(frame.split(" ")[0] in took for frame in frames)])
    check(n > 60, "%d samples" % n)
    for name, seconds in took.items():
        p = sum(share for frame, share in found.items() if frame.split(" ")[0] == name)
        q = seconds / sum(took.values())
        check(not differ(p, n, q, None), "%s: %.1f %% of %d samples, by its clock %.1f %%"
              % (name, 100 * p, n, 100 * q))


def same_frames(theirs, mine):
    """Checks both ways that a frame in 8 % or more of one tool's samples is also in the other
    tool's stacks."""
    (a, _), (b, _) = shares(theirs), shares(mine)
    for frame in sorted(set(a) | set(b)):
        check(max(a.get(frame, 0), b.get(frame, 0)) < 0.08 or frame in a and frame in b,
              "%s: py-spy %.1f %%, krait %.1f %%" % (frame, 100 * a.get(frame, 0), 100 * b.get(frame, 0)))


def same_shares(theirs, mine, seconds):
    (a, n), (b, m) = shares(theirs), shares(mine)
    if m < 90 * seconds:  # py-spy counts a thread that waits for a CPU as running
        raise kit.Skip("the program had a CPU for %d %% of the time: py-spy counts that it waited" % (m / seconds))
    for frame in sorted(set(a) | set(b)):
        p, q = a.get(frame, 0), b.get(frame, 0)
        check(not differ(p, n, q, m), "%s: py-spy %.1f %% of %d, krait %.1f %% of %d"
              % (frame, 100 * p, n, 100 * q, m))


def records(executable, version, *options, seconds=5, rate=900):
    """Returns what py-spy recorded, what krait recorded of the same program @rate times a second,
    and how long the program says that its functions took."""
    with program(MIX, executable) as (running, folder):
        found = []
        for i, (tool, hz) in enumerate(((pyspy(), 100), (own(), rate))):
            out = "%s/%d.txt" % (folder, i)
            said = run(tool, "record", "-p", running.pid, "-d", seconds, "-f", "raw", "-o", out, "-r", hz, *options)
            check(not said.returncode, "%s: %s" % (tool[0], said.stderr))
            check("Wrote raw flamegraph data to '%s'" % out in said.stdout, said.stdout)
            found.append(stacks(out))
            if version < (3, 11):
                found[i] = [([re.sub(r"^(\S+\.)?([^. ]+ \()", r"\2", frame) for frame in frames], n)
                            for frames, n in found[i]]
        with open(folder + "/main.py.took") as f:
            return found[0], found[1], json.loads(f.read().replace("'", '"'))


@case
def record_raw():
    """krait records the frames that py-spy records, with the shares that the program's own clock
    tells."""
    theirs, mine, took = records(kit.PYTHON, (3, 11), "--nolineno", "-t")
    same_frames(theirs, mine)
    judge_by_clock(mine, took)


@full_case
def record_raw_of_every_version():
    for version, path in interpreters():
        theirs, mine, took = records(path, version, "-F")
        same_frames(theirs, mine)
        judge_by_clock(mine, took)


@full_case
def record_raw_shares():
    """krait's shares equal py-spy's shares, if the program had a CPU for itself all the time."""
    theirs, mine, _ = records(kit.PYTHON, (3, 11), "--nolineno", seconds=20, rate=100)
    same_shares(theirs, mine, 20)


@case
def words():
    """Given the same command line, both tools end with the same exit code, and print on the same
    streams."""
    cases = [[], ["record"], ["dump"], ["record", "-p", "1", "-f", "nosuch"],
             ["nosuch"], ["record", "--help"], ["--version"], ["help", "dump"],
             ["dump", "-p", "4194304"], ["record", "-d", "1", "-p", "4194304"],
             ["record", "-d", "1", "--", "/nosuch"]]
    for args in cases:
        a, b = run(pyspy(), *args), run(own(), *args)
        check(a.returncode == b.returncode, "%s: %d, krait %d" % (args, a.returncode, b.returncode))
        check(bool(a.stdout) == bool(b.stdout) or a.returncode == 1,
              "%s: standard output %r, krait %r" % (args, a.stdout, b.stdout))
        check(bool(a.stderr) == bool(b.stderr), "%s: standard error %r, krait %r" % (args, a.stderr, b.stderr))


@case
def calls_of_other_programs():
    """krait accepts the calls of py-spy that Ray's dashboard, SGLang's watchdog, vLLM's scripts,
    kubectl-prof and others make."""
    with program(STILL) as (running, folder):
        pid, out = str(running.pid), folder + "/out"
        for args in (["dump", "-p", pid, "--native"], ["dump", "--native", "--pid", pid],
                     ["dump", "--pid", pid, "--nonblocking"], ["dump", "-p", pid, "-l"]):
            said = run(own(), *args)
            check(not said.returncode, said.stderr)
            for frame in "nap (main.py:10)", "take (main.py:7)", "Box.work (pack/inner.py:", '"na p"':
                check(frame in said.stdout, "%s: no %s in %s" % (args, frame, said.stdout))
        found = json.loads(run(own(), "dump", "-l", "-j", "--pid", pid).stdout)
        check([t["thread_name"] for t in found][-1] == "MainThread", found)
        for args, begins in (
                (["-f", "flamegraph", "--native"], "<?xml"), (["-f", "speedscope", "-r", "20"], '{"$schema"'),
                (["-f", "raw", "--threads", "--gil", "--nonblocking", "--rate", "100"], "thread ("),
                (["--format", "speedscope", "--subprocesses", "--idle"], '{"$schema"'),
                (["--format", "chrometrace"], "["), (["-f", "raw", "--capture", "--hideprogress"], "")):
            said = run(own(), "record", "-o", out, "-p", pid, "-d", "1", *args)
            check(not said.returncode, "%s: %s" % (args, said.stderr))
            with open(out, encoding="utf-8") as f:
                written = f.read()
            check(written.startswith(begins), "%s: not %s" % (args, begins))
            if begins == "[":
                check({e["ph"] for e in json.loads(written)} >= {"B", "E"}, "not a list of events")
        check(not run(own(), "record", "--pid", pid, "--duration", "0", cwd=folder).returncode, "-d 0")


@case
def programs_that_are_started():
    """The command to start may follow without --. krait doesn't end with the command's exit code.
    If the recording ends first, krait ends the command."""
    with kit.folder() as folder:
        with open(folder + "/ends.py", "w") as f:
            f.write("def hot(n):\n    return sum(range(n))\nfor i in range(400):\n    hot(99999)\nexit(7)\n")
        for before in [], ["--"]:
            said = run(own(), "record", "-f", "raw", "-o", "o.txt", *before, kit.PYTHON, "ends.py", cwd=folder)
            check(not said.returncode, said.stderr)
            check(any(frames[-1] == "hot (ends.py:2)" for frames, _ in stacks(folder + "/o.txt")), "no hot()")
        with open(folder + "/endless.py", "w") as f:
            f.write("import os\nopen('pid', 'w').write(str(os.getpid()))\nwhile True: pass\n")
        said = run(own(), "record", "-d", "1", "-o", "o.svg", kit.PYTHON, "endless.py", cwd=folder)
        check(not said.returncode, said.stderr)
        with open(folder + "/pid") as f:
            pid = int(f.read())
        check(not os.path.exists("/proc/%d" % pid), "the program goes on")


@case
def called_by_its_name():
    with kit.folder() as folder:
        os.symlink(kit.KRAIT, folder + "/py-spy")
        check("py-spy COMMAND" in run([folder + "/py-spy"], "--help").stdout, "krait doesn't show py-spy's help")
        check(run([folder + "/py-spy"], "-V").stdout.startswith("krait "), "version")


if __name__ == "__main__":
    sys.exit(kit.main())
