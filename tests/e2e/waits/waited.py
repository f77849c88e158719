#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""krait says that a program waited, and how much. The truth is the program's own measure of its
sleeps and the kernel's accounting."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import check, folder, krait, python

# At its end, the program prints in ms: the CPU time of its main thread, the CPU time of the process,
# and how long the main thread slept.
TELL = """
import atexit, sys, threading, time
slept = 0
def sleep(s):
    global slept
    time.sleep(s)
    slept += s  # s itself, because after s seconds the thread is ready to run and no longer waits
def work(s):
    end = time.thread_time() + s
    while time.thread_time() < end:
        pass
def tell():
    print(*(int(1000 * s) for s in (time.thread_time(), time.process_time(), slept)))
atexit.register(tell)
"""
WORKS = TELL + """
for _ in range(4):
    work(0.01)
    sleep(0.49)
"""
IDLE = """
import socket, time
listener = socket.create_server(("127.0.0.1", 0))
def ask():
    end = time.thread_time() + 0.002
    while time.thread_time() < end:
        socket.create_connection(listener.getsockname()).close()
        listener.accept()[0].close()
while True:
    ask()
    time.sleep(0.5)
"""
COMMENT = re.compile(r"CPU use: pid (\d+): (\d+) ms, CPU (\d+) ms, (\d+) threads, main thread ran (\d+) ms, "
                     r"queued (\d+) ms, waited (\d+) ms, not known (\d+) ms: (.*)")


class Use:
    """The times of one process, in ms, read from a comment of the recording."""

    def __init__(self, comment):
        found = COMMENT.fullmatch(comment)
        check(found, "no comment of a process: %r" % comment)
        (self.pid, self.wall, self.cpu, self.threads, self.ran, self.queued, self.waited,
         self.unknown) = map(int, found.groups()[:8])
        self.name = found.group(9)


def uses(path):
    """Returns ([a Use for each process], [comments about all processes together])."""
    lines = krait("report", path, "--format", "jsonl", "-o", "-").stdout.splitlines()
    comments = [c for c in json.loads(lines[0])["comments"] if c.startswith("CPU use")]
    every = [c for c in comments if ": all: " in c]
    return [Use(c) for c in comments if c not in every], every


def near(what, got, truth, within):
    check(abs(got - truth) <= within, "%s: %d ms, not %d" % (what, got, truth))


def first_line(path, *options):
    return krait("report", path, *options).stdout.splitlines()[0]


def sentence_of(said):
    """Returns the sentence about waits from the closing lines, where it must be one of the last
    three lines."""
    found = [line[len("krait: "):] for line in said.splitlines()[-3:] if " of one CPU" in line or "waited for" in line]
    check(len(found) == 1, said)
    return found[0]


def record(path, source, *options):
    """Records a command. Returns (Use of the recording's only process, the numbers that the program
    prints, the closing lines)."""
    done = krait("record", "-o", path, *options, "--", kit.PYTHON, "-c", source)
    check(done.returncode == 0, done.stderr)
    found, _ = uses(path)
    check(len(found) == 1, "%d processes" % len(found))
    return found[0], [int(n) for n in done.stdout.split()], done.stderr


@kit.case
def works_and_sleeps():
    """A program's sleeps count as "waited", its CPU time as "ran". The sentence about these times
    comes first in each form of the report, and first in the closing lines."""
    with folder() as d:
        use, (ran, _, slept), said = record(d + "/o.pb.gz", WORKS)
        near("ran", use.ran, ran, 30)
        check(use.waited <= use.wall - use.ran and use.waited + use.unknown >= slept - 20,
              "waited %d ms, slept %d" % (use.waited + use.unknown, slept))
        sentence = "python3 -c ran %.0f %%, waited for a CPU" % (100 * use.ran / use.wall)
        check(sentence_of(said).startswith(sentence), said)
        check("krait dump" not in said, "krait names a dump of a program that has ended: " + said)
        check(first_line(d + "/o.pb.gz").startswith(sentence), first_line(d + "/o.pb.gz"))
        check(first_line(d + "/o.pb.gz", "--format", "md").startswith("**" + sentence), "md")
        check(json.loads(krait("report", "--json", d + "/o.pb.gz").stdout)["summary"].startswith(sentence), "json")
        krait("report", d + "/o.pb.gz", "-o", d + "/o.html")
        check(first_line(d + "/o.html").startswith(sentence), "a page of it")
        for text in said, krait("report", d + "/o.pb.gz").stdout:
            check("Most of the time was waiting; all functions together took " in text and "of the CPU time is" not in text, "the report names a cause: " + text)
        check("of the CPU time is" in krait("report", d + "/o.pb.gz", "--thread", "MainThread").stdout, "the sentence names no function although a filter is given")


@kit.case
def idle_service():
    """If a service mostly waits, the first sentence says so and names no function from its few
    samples. krait names a command that shows where it waits, and the command works."""
    with folder() as d, python(IDLE) as target:
        done = krait("record", "-o", d + "/o.pb.gz", "-d", 2, "-p", target.pid)
        use = uses(d + "/o.pb.gz")[0][0]
        near("wall", use.wall, 2000, 200)
        check(use.waited + use.unknown > 0.9 * use.wall, "waited %d ms" % use.waited)
        dump = "`krait dump -p %d` shows where" % target.pid
        check("waited for a CPU" in sentence_of(done.stderr) and dump in sentence_of(done.stderr), done.stderr)
        check("time.sleep" in krait("dump", "-p", target.pid).stdout, "krait dump doesn't show it")
        check("waited" in first_line(d + "/o.pb.gz") and "ask" not in first_line(d + "/o.pb.gz"),
              first_line(d + "/o.pb.gz"))


@kit.case
def without_a_sample():
    """If a program has no sample at all, krait says that it waited all the time."""
    with folder() as d, python("import time; time.sleep(60)") as target:
        krait("record", "-o", d + "/o.pb.gz", "-d", 1, "-p", target.pid)
        check(re.match("python3 -c ran 0 %, waited for a CPU 0 %, for anything else (9[0-9]|100) %", first_line(d + "/o.pb.gz")),
              first_line(d + "/o.pb.gz"))


@kit.case
def busy():
    """A busy program doesn't count as waiting, however much CPU time other programs and the host
    take. If the program had at least half a CPU, krait prints no sentence about waits."""
    with folder() as d:
        use, (ran, _, _), said = record(d + "/o.pb.gz", TELL + "work(1.5)")
        near("ran", use.ran, ran, 60)
        # The program may wait for files on a disk while it starts. The test allows 150 ms for that.
        check(use.waited < 150, "waited %d of %d ms" % (use.waited, use.wall))
        if use.ran > 0.55 * use.wall:
            for text in said, krait("report", d + "/o.pb.gz").stdout:
                check("waited" not in text, text)


@kit.case
def ready_without_a_cpu():
    """Four programs share one CPU: each program runs a quarter of the time, and the rest of its
    time counts as waiting for a CPU."""
    pin = "import os; os.sched_setaffinity(0, {%d})\nwhile True: pass" % max(os.sched_getaffinity(0))
    with folder() as d, python(pin) as target, python(pin), python(pin), python(pin):
        with open("/proc/%d/schedstat" % target.pid) as f:
            before = f.read().split()
        krait("record", "-o", d + "/o.pb.gz", "-d", 2, "-p", target.pid)
        with open("/proc/%d/schedstat" % target.pid) as f:
            after = f.read().split()
        use = uses(d + "/o.pb.gz")[0][0]
        # The kernel's own counts cover a little more time than the recording.
        ran, queued = ((int(b) - int(a)) / 1e6 for a, b in zip(before[:2], after[:2]))
        check(0 < use.ran <= ran + 20 and 0 < use.queued <= queued + 20,
              "ran %d, queued %d, not %d, %d" % (use.ran, use.queued, ran, queued))
        check(use.queued > use.ran and use.waited < 60, "queued %d, waited %d" % (use.queued, use.waited))
        check(re.search("waited for a CPU [4-9][0-9] %, for anything else [0-2] %", first_line(d + "/o.pb.gz")),
              first_line(d + "/o.pb.gz"))


@kit.case
def threads():
    """The main thread waits for another thread, which works now and then and ends later. The
    sentence about waits has the main thread's times. The process's CPU time includes that of the
    ended thread."""
    source = TELL + """
def loop():
    for _ in range(4):
        work(0.03)
        time.sleep(0.4)
t = threading.Thread(target=loop)
t.start()
t.join()
"""
    with folder() as d:
        use, (ran, all_ran, _), said = record(d + "/o.pb.gz", source)
        near("main thread", use.ran, ran, 30)
        near("process", use.cpu, all_ran, 30)
        check(use.cpu >= use.ran + 100, "process %d, main thread %d ms" % (use.cpu, use.ran))
        check(use.waited + use.unknown > 1600, "waited %d ms" % use.waited)
        check(" % of one CPU; its main thread ran " in sentence_of(said), said)


@kit.case
def children():
    """Of children that have ended krait knows the CPU time, from their samples, but not how long
    they waited. So the sentence about waits has only the times of the parent's main thread."""
    source = "import os, time\n" + TELL + """
for _ in range(2):
    if os.fork() == 0:
        work(0.1)
        time.sleep(0.1)
        os._exit(0)
    os.wait()
time.sleep(1)
"""
    with folder() as d:
        done = krait("record", "-o", d + "/o.pb.gz", "--", kit.PYTHON, "-c", source)
        found, every = uses(d + "/o.pb.gz")
        check(len(every) == 1, repr(every))
        cpu = int(re.search(r"CPU (\d+) ms", every[0]).group(1))
        check(cpu >= 180, "all: CPU %d ms" % cpu)
        check(re.match(r"3 processes used \d+ % of one CPU; the main thread", sentence_of(done.stderr)), done.stderr)
        check(len(found) == 1, "only the parent was there at the end")


@kit.case
def where_it_isnt_known():
    """krait prints no sentence about waits for a format without comments, for a part of the time,
    or for a merge with a file without comments. For two merged recordings it prints one sentence
    about both."""
    with folder() as d:
        record(d + "/o.pb.gz", WORKS)
        for name in "o.folded", "o.speedscope.json":
            krait("report", d + "/o.pb.gz", "-o", d + "/" + name)
            check("waited" not in krait("report", d + "/" + name).stdout, name)
        check("waited" not in krait("report", d + "/o.pb.gz", "--since", "0.5s").stdout, "--since")
        krait("merge", d + "/o.pb.gz", d + "/o.pb.gz", "-o", d + "/two.pb.gz")
        check(first_line(d + "/two.pb.gz").startswith("2 processes used "), first_line(d + "/two.pb.gz"))
        krait("merge", d + "/o.pb.gz", d + "/o.folded", "-o", d + "/half.pb.gz")
        check("waited" not in first_line(d + "/half.pb.gz"), first_line(d + "/half.pb.gz"))


def held_least(path):
    """Returns the percentage of the wall time in which the GIL was certainly held, as the report
    says."""
    text = krait("report", path).stdout
    check("GIL, of the CPU time (waiting threads have none): held " in text, text)
    found = re.search(r"GIL held at least (\d+) % of the wall time \(not counting holders that sleep\)", text)
    check(found, text)
    return int(found.group(1))


@kit.case
def gil_of_four_threads():
    """Python code runs only with the GIL. So krait says that the GIL was held as long as the four
    threads together ran."""
    source = TELL + """
end = time.monotonic() + 1.5
def loop():
    while time.monotonic() < end: sum(range(1000))
threads = [threading.Thread(target=loop) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
"""
    with folder() as d:
        use, (_, ran, _), _ = record(d + "/o.pb.gz", source)
        least, truth = held_least(d + "/o.pb.gz"), 100 * ran / use.wall
        check(truth - 15 <= least <= truth + 3, "at least %d %%, its threads ran %.0f %%" % (least, truth))


@kit.case
def gil_of_a_sleeper():
    """A thread sleeps in C code that keeps the GIL, so the GIL is held nearly all the time. The
    report's "held at least" is less than that, because samples don't show a holder that sleeps."""
    source = TELL + """
import ctypes
usleep = ctypes.PyDLL(None).usleep
def loop():
    for _ in range(10):
        usleep(100000)
        work(0.01)
threads = [threading.Thread(target=f) for f in (loop, lambda: work(0.05))]
for t in threads: t.start()
for t in threads: t.join()
"""
    with folder() as d:
        record(d + "/o.pb.gz", source)
        least = held_least(d + "/o.pb.gz")
        check(least < 60, "at least %d %%: it ran for a fifth of the time" % least)


if __name__ == "__main__":
    sys.exit(kit.main())
