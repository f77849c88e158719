#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`krait record --label-intervals`: a program writes down on which item it worked, from when to
when. The truth is the CPU time of the program's own threads."""
import json
import os
import re
import shutil
import stat
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import case, check, folder, krait

# A program of two processes with two threads each. Every thread works at its own items in turn, and
# each process has an interval for the time of its threads. The program writes the intervals to the
# file argv[1], and the CPU seconds of each item to the file argv[1].truth.
WORKS = """
import json, os, sys, threading, time
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
truth = os.open(sys.argv[1] + ".truth", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
def say(fd, **line):
    os.write(fd, (json.dumps(line) + "\\n").encode())
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(200))
def work(items):
    for item, seconds in items:
        begin, before = time.monotonic_ns(), time.thread_time()
        burn(seconds)
        spent, end = time.thread_time() - before, time.monotonic_ns()
        say(fd, pid=os.getpid(), tid=threading.get_native_id(), begin=begin, end=end, labels={"item": item})
        say(truth, item=item, seconds=spent)
def process(first):
    begin = time.monotonic_ns()
    threads = [threading.Thread(target=work, args=([(first + n, 0.05 * (k + 1)), ("both", 0.1)] * 3,)) for k, n in enumerate("xy")]
    for t in threads: t.start()
    for t in threads: t.join()
    say(fd, pid=os.getpid(), begin=begin, end=time.monotonic_ns(), labels={"phase": "threads", "item": "covered"})
    burn(0.1)
child = os.fork()
process("c" if child == 0 else "p")
if child:
    os.waitpid(child, 0)
"""


# A program that starts processes while it is in a labelled interval of time: a fork, a command, a
# command's child, and a process that still runs when the interval is over.
STARTS = """
import json, os, subprocess, sys, threading, time
def text(name, seconds=0.2):
    return ("import time\\ndef %s():\\n  end = time.process_time() + %g\\n"
            "  while time.process_time() < end: sum(range(200))\\n%s()" % (name, seconds, name))
def say(begin, name, **more):
    line = dict(more, pid=os.getpid(), begin=begin, end=time.monotonic_ns(), labels={"item": name})
    with open(sys.argv[1], "a") as f:
        f.write(json.dumps(line) + "\\n")
begin = time.monotonic_ns()
child = os.fork()
if not child:
    exec(text("by_fork"))
    os._exit(0)
os.waitpid(child, 0)
say(begin, "by_fork")
def in_a_thread():
    begin = time.monotonic_ns()
    subprocess.run([sys.executable, "-c", text("by_command")])
    say(begin, "by_command", tid=threading.get_native_id())
t = threading.Thread(target=in_a_thread)
t.start()
t.join()
begin = time.monotonic_ns()
subprocess.run(["/bin/sh", "-c", '"$0" -c "$1"; exit 0', sys.executable, text("by_its_child")])
say(begin, "by_its_child")
subprocess.run([sys.executable, "-c", text("outside")])
begin = time.monotonic_ns()
last = subprocess.Popen([sys.executable, "-c", text("outlives", 1)])
while True:
    with open("/proc/%d/stat" % last.pid) as f:
        ran = sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))
    if ran >= 0.4 * os.sysconf("SC_CLK_TCK"):
        break
    time.sleep(0.01)
say(begin, "outlives")
last.wait()
"""


def spent(path):
    """Returns the CPU seconds of each item, by the program's own clock."""
    seconds = {}
    with open(path + ".truth") as f:
        for line in map(json.loads, f):
            seconds[line["item"]] = seconds.get(line["item"], 0) + line["seconds"]
    return seconds


def record(d, *args, code=0):
    """Records the program WORKS. Returns (krait's messages, the recording)."""
    for name in ("i", "i.truth"):
        if os.path.exists(os.path.join(d, name)):
            os.remove(os.path.join(d, name))
    done = krait("record", "-o", d + "/o.pb.gz", "--label-intervals", d + "/i", *args, "--", kit.PYTHON, "-c", WORKS, d + "/i")
    check(done.returncode == code, done.stderr)
    return done.stderr, kit.pprof.read(d + "/o.pb.gz")


def within(seen, share, n, what):
    """Checks that the share @seen of @n samples equals @share, the share of the time. It may be off
    by three standard errors and by 0.004, because a clock may be read 1 ms late."""
    error = 3 * (share * (1 - share) / n) ** 0.5 + 0.004
    check(abs(seen - share) <= error, "%s: %.4f of the samples, %.4f of the time, allowed %.4f" % (what, seen, share, error))


@case
def shares():
    """In both processes and in all threads, each item has the same share of the samples as of the
    CPU time."""
    with folder() as d:
        said, profile = record(d)
        check("warning" not in said, said)
        seconds, counts, phases = spent(d + "/i"), {}, {}
        for s in profile.samples:
            item, phase = s.labels.get("item"), s.labels.get("phase")
            counts[item] = counts.get(item, 0) + s.values[0]
            phases[item] = phases.get(item, set()) | {phase}
        total = sum(seconds.values())
        # An interval of the whole process is one of the items. This item counts for samples that no
        # thread's item covers.
        n = sum(counts.get(item, 0) for item in seconds)
        check(set(seconds) == {"px", "py", "cx", "cy", "both"} and n > 800, "%s %s" % (seconds, counts))
        for item in seconds:
            within(counts.get(item, 0) / n, seconds[item] / total, n, item)
            check(phases[item] == {"threads"}, "%s has phases %s" % (item, phases[item]))
        check(counts[None] > 100 and None in phases[None], "what is in no interval: %s" % counts)
        check(counts.get("covered", 0) < 0.1 * n, "%s" % counts)


@case
def children():
    """A process that is started in an interval has the interval's labels until the interval ends: a
    fork, a command, and a command's child. A process that is started after the interval doesn't
    have them."""
    functions = {"by_fork", "by_command", "by_its_child", "outlives", "outside"}
    with folder() as d:
        done = krait("record", "-o", d + "/o.pb.gz", "--label-intervals", d + "/i", "--",
                     kit.PYTHON, "-c", STARTS, d + "/i")
        check(done.returncode == 0 and "warning" not in done.stderr, done.stderr)
        seen, profile = {}, kit.pprof.read(d + "/o.pb.gz")
        for s in profile.samples:
            for name in functions & {f.name.split(".")[-1] for f in profile.stack(s)}:
                counts = seen.setdefault(name, {})
                item = s.labels.get("item")
                counts[item] = counts.get(item, 0) + s.values[0]
        for name in functions:
            wanted = {"outside": {None}, "outlives": {"outlives", None}}.get(name, {name})
            check(set(seen.get(name, ())) == wanted and min(seen[name].values()) > 100, seen)


@case
def time_namespaces():
    """The program, or krait, runs in a time namespace where CLOCK_MONOTONIC is shifted: still each
    sample is in the interval of its own time."""
    kit.need("unshare")
    elsewhere = ["unshare", "--time", "--monotonic=50000", "--fork"]
    for before, within in (([], elsewhere), (elsewhere, [])):
        with folder() as d:
            done = subprocess.run([*before, kit.KRAIT, "record", "-o", d + "/o.pb.gz", "--label-intervals", d + "/i", "--", *within, kit.PYTHON, "-c", WORKS,
                                   d + "/i"], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=60, check=False)
            check(done.returncode == 0 and "warning" not in done.stderr, done.stderr)
            counts = {}
            for s in kit.pprof.read(d + "/o.pb.gz").samples:
                counts[s.labels.get("item")] = counts.get(s.labels.get("item"), 0) + s.values[0]
            n = sum(n for item, n in counts.items() if item)
            for item, seconds in spent(d + "/i").items():
                within_all = seconds / sum(spent(d + "/i").values())
                check(counts.get(item, 0) / n > within_all / 2, "%s: %s of %s" % (before, item, counts))


@case
def by():
    """--by makes a root frame of each value of the label, and --label selects samples by the
    label's value."""
    with folder() as d:
        krait("record", "-q", "-o", d + "/o.folded", "--label-intervals", d + "/i", "--by", "item", "--", kit.PYTHON, "-c", WORKS, d + "/i")
        # the frame of the label is the second frame, after the frame of the process
        roots = {line.split(";")[1] for line in open(d + "/o.folded")}
        check({"px", "py", "cx", "cy", "both", "[no item]"} <= roots, "%s" % roots)
        _, _ = record(d)
        done = krait("report", d + "/o.pb.gz", "--label", "item=cx", "-o", "-", "--format", "folded")
        check(done.returncode == 0 and "work" in done.stdout, done.stderr + done.stdout[:300])


def refused_lines(d, text, *words):
    """Records with a file of intervals that contains @text. Checks that the recording is whole, and
    that krait says @words."""
    with open(d + "/f", "wb") as f:
        f.write(text)
    done = krait("record", "-o", d + "/p.pb.gz", "--label-intervals", d + "/f", "--by", "item", "--", kit.PYTHON, "-c", "for i in range(3000000): i")
    check(done.returncode == 0 and os.path.getsize(d + "/p.pb.gz") > 100, done.stderr)
    for word in words:
        check(word in done.stderr, "%r isn't in: %s" % (word, done.stderr))


@case
def wrong_files():
    """Whatever is wrong with the file of intervals, the recording is written, and krait says what
    is wrong with the file."""
    with folder() as d:
        refused_lines(d, b"", "--by item: no sample has that label")
        refused_lines(d, b"\0\xff{\n" * 9, "9 of 9 lines aren't intervals", "line 1: byte 0")
        refused_lines(d, b'{"pid":1,"begin":1,"end":2,"labels":{"item":"x"}}\n', "no sample lies in any interval of the file")
        for name, words in (("none", "No such file"), (".", "isn't a regular file"), ("fifo", "isn't a regular file"),
                            ("link", "isn't a regular file"), ("zero", "isn't a regular file")):
            if name == "fifo":
                os.mkfifo(d + "/fifo")
            elif name == "zero":
                os.mknod(d + "/zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
            # krait, which runs as root, doesn't read the file to which a target's link leads
            elif name == "link":
                os.symlink("/etc/passwd", d + "/link")
            done = krait("record", "-o", d + "/p.pb.gz", "--label-intervals", os.path.join(d, name), "--", kit.PYTHON, "-c", "for i in range(3000000): i")
            check(done.returncode == 0 and words in done.stderr, done.stderr)
        huge = d + "/huge"
        with open(huge, "wb") as f:
            f.truncate(1 << 40)
        done = krait("record", "-o", d + "/p.pb.gz", "--label-intervals", huge, "--", kit.PYTHON, "-c", "for i in range(3000000): i")
        check(done.returncode == 0 and re.search("only the first 64 MiB", done.stderr), done.stderr)


@case
def opened_as_the_user():
    """An ordinary user runs a krait whose capabilities let it read everybody's files: it doesn't
    read another user's file of intervals."""
    kit.need("setpriv")
    with folder() as d:
        os.chmod(d, 0o777)
        shutil.copy(kit.KRAIT, d + "/krait")
        caps = "-all,+bpf,+perfmon,+sys_ptrace,+dac_read_search"
        for mode, words in ((0o600, "Permission denied"), (0o644, "9 of 9 lines")):
            with open(d + "/f", "wb") as f:
                f.write(b"x\n" * 9)
            os.chmod(d + "/f", mode)
            done = subprocess.run(
                ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=" + caps, "--ambient-caps=" + caps, "--", d + "/krait",
                 "record", "-o", d + "/p%o.pb.gz" % mode, "--label-intervals", d + "/f", "--", kit.PYTHON, "-c", "for i in range(3000000): i"],
                stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=60, check=False)
            check(done.returncode == 0 and words in done.stderr, done.stderr)


if __name__ == "__main__":
    sys.exit(kit.main())
