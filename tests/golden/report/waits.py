#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""waits.py: what `krait report` says first of programs that wait, the table of states, and the
filter --state. The test makes the profiles itself, so the truth is arithmetic."""
import json
import os
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
from judge import pprof  # noqa: E402

KRAIT = os.path.join(ROOT, os.environ.get("KRAIT", "build/release/krait"))
WALL = (("samples", "count"), ("cpu", "nanoseconds"), ("off_cpu", "nanoseconds"))
WAIT = (("samples", "count"), ("off_cpu", "nanoseconds"))
BLAMED = WALL + (("lock_blame", "nanoseconds"),)
SECOND = 10**9
failed = False


def check(name, true, words=""):
    global failed
    print("PASS report-waits %s" % name if true else "FAIL report-waits %s: %s" % (name, words))
    failed |= not true


def krait(*args, code=0):
    done = subprocess.run([KRAIT] + list(args), capture_output=True, text=True, timeout=60)
    if done.returncode != code:
        check(" ".join(args), False, "exit code %d, not %d: %s" % (done.returncode, code, done.stderr[:300]))
    return done


class Made:
    """Makes a profile. In its stacks a frame is (function, file, line), and the outermost frame
    comes first."""

    def __init__(self, types=WALL):
        self.w = pprof.Writer(types, period=10**6, duration=10 * SECOND)
        self.types = types

    def add(self, frames, seconds, state="running", tid=7, thread="MainThread", pid=7, process="app.py", **labels):
        stack = [self.w.location("[python 3.12]", name, file, 1, line, 1) for name, file, line in frames]
        ns = round(seconds * SECOND)
        values = [1] + [ns if kind == ("cpu" if state == "running" else "off_cpu") else 0 for kind, _ in self.types[1:]]
        if state:  # files of other tools have no label "state"
            labels["state"] = state
        self.w.sample(stack, dict(labels, pid=str(pid), tid=str(tid), thread=thread, process=process), values=values)
        return self

    def ended(self, frames, seconds, waiter_tid, waiter, tid=7, thread="MainThread", pid=7, process="app.py"):
        """Adds a sample of a thread that ended waits for a lock; another thread, @waiter, had
        waited @seconds. A frame may have a fourth part: the column."""
        stack = [self.w.location("[python 3.12]", name, file, 1, line, *(column or [1])) for name, file, line, *column in frames]
        values = [round(seconds * SECOND) if kind == "lock_blame" else 0 for kind, _ in self.types]
        self.w.sample(stack, {"pid": str(pid), "tid": str(tid), "thread": thread, "process": process,
                              "waiter": waiter, "waiter_tid": str(waiter_tid)}, values=values)
        return self

    def save(self, path):
        self.w.save(path)
        return path


APP = "/srv/app/app.py"
LIB = "/usr/lib/python3.12/site-packages/"
STD = "/usr/lib/python3.12/"
MAIN = [("<module>", APP, 90), ("main", APP, 40)]
EXECUTE = MAIN + [("load", APP, 31), ("Cursor.execute", LIB + "psycopg/cursor.py", 97),
                  ("wait", LIB + "psycopg/waiting.py", 8)]
THREAD = [("Thread._bootstrap", STD + "threading.py", 1), ("Thread._bootstrap_inner", STD + "threading.py", 2),
          ("Thread.run", STD + "threading.py", 3)]
JOIN = MAIN + [("Thread.join", STD + "threading.py", 9)]
WORK = [("worker", APP, 55)]
SLEEP = MAIN + [("tick", APP, 12)]


def client():
    return (Made().add(EXECUTE, 8.1, "net", on="10.0.0.5:5432").add(MAIN + [("work", APP, 50)], 0.6)
            .add(MAIN + [("log", APP, 60)], 0.7, "disk").add(SLEEP, 0.6, "sleep"))


def parts():
    """Makes a profile in which the main thread waits at several lines and for several addresses."""
    m = Made()
    for line, seconds, on in (31, 4.4, "10.0.0.5:5432"), (35, 3.0, "10.0.0.5:5432"), (39, 1, "10.0.0.9:80"):
        m.add(MAIN + [("load", APP, line)], seconds, "net", on=on)
    return m.add(MAIN, 1.6)


def pool(state="lock", types=WALL, **labels):
    m = Made(types).add(JOIN, 9.8, "lock").add(MAIN, 0.2)
    for i in range(8):
        m.add(THREAD + WORK, 7.6, state, tid=10 + i, thread="worker-%d" % (i + 1), **labels)
        m.add(THREAD + [("worker", APP, 57)], 0.4, tid=10 + i, thread="worker-%d" % (i + 1))
    return m


FLUSH = THREAD + [("flush", APP, 88)]
PUT = MAIN + [("feed", APP, 99), ("Queue.put", STD + "queue.py", 5), ("Condition.notify", STD + "threading.py", 7)]


def flushed(share=0.8):
    """Makes a profile of waits for a lock. worker-2 ends the share @share of each worker's waiting
    time, in two columns of one line. The main thread ends a small part. The profile doesn't say who
    ended the rest."""
    m, columns = pool(types=BLAMED), (FLUSH, FLUSH[:-1] + [(*FLUSH[-1], 30)])
    for frames, seconds in zip(columns, (4, 5)):
        m.ended(frames, seconds, 7, "MainThread", tid=11, thread="worker-2")
    for i in range(8):
        m.ended(columns[i % 2], 7.6 * share, 10 + i, "worker-%d" % (i + 1), tid=11, thread="worker-2")
        m.ended(PUT, 0.38, 10 + i, "worker-%d" % (i + 1))
    return m


def two_callees(put):
    """Makes a profile in which worker-2 ends the main thread's waits in two calls of one line. The
    share @put is ended by Queue.put, which comes last, and the rest by Condition.notify."""
    m = Made(BLAMED).add(MAIN + [("save", APP, 31)], 9, "lock").add(MAIN, 1)
    notify, other = FLUSH + PUT[-1:], FLUSH[:-1] + [(*FLUSH[-1], 30)] + PUT[-2:-1]
    for frames, share in ((notify, 1 - put), (other, put)):
        m.ended(frames, 9 * share, 7, "MainThread", tid=11, thread="worker-2")
    return m


def two_processes():
    return (Made(BLAMED).add(MAIN + [("save", APP, 31)], 9, "lock").add(MAIN, 1).add(MAIN + [("tick", APP, 12)], 10, "sleep", tid=20, pid=20, process="other.py")
            .ended(MAIN + [("load", APP, 66)], 8.1, 7, "MainThread", tid=20, pid=20, process="other.py"))


def runner():
    """Makes a profile of a program that starts other programs. Its forks have the program's name
    until they exec."""
    m = Made().add(MAIN + [("run", STD + "subprocess.py", 5)], 9, "child").add(MAIN, 1)
    for i in range(3):
        m.add(MAIN + [("run", STD + "subprocess.py", 5)], 0.001, "disk", pid=20 + i, tid=20 + i)
    return m


def heartbeat():
    """Makes a profile in which the main thread waits for a lock. Another thread sleeps most of the
    time, but the main thread doesn't wait for that thread."""
    return (Made().add(JOIN, 9.8, "lock").add(MAIN, 0.2)
            .add(THREAD + [("beat", APP, 70)], 9.9, "sleep", tid=10, thread="beat")
            .add(THREAD + [("beat", APP, 70)], 0.1, tid=10, thread="beat"))


def sleeping_main():
    """Makes a profile in which the main thread sleeps while another thread downloads something."""
    return (Made().add(SLEEP, 9.9, "sleep").add(MAIN, 0.1)
            .add(THREAD + EXECUTE[2:], 9, "net", tid=10, thread="download").add(THREAD, 1, tid=10, thread="download"))


def forks():
    """Makes a profile of a Python process that waits for its child processes, which also run
    Python."""
    m = Made().add(MAIN + [("BaseProcess.join", STD + "multiprocessing/process.py", 9)], 10, "child")
    boot = MAIN + [("BaseProcess._bootstrap", STD + "multiprocessing/process.py", 1),
                   ("BaseProcess.run", STD + "multiprocessing/process.py", 2)]
    for i in range(4):
        m.add(boot + WORK, 8, "disk", pid=20 + i, tid=20 + i).add(boot + WORK, 2, pid=20 + i, tid=20 + i)
    return m


def busy():
    return (Made().add(MAIN + [("work", APP, 50)], 9).add(EXECUTE, 1, "net")
            .add(THREAD + [("beat", APP, 70)], 10, "sleep", tid=10, thread="beat"))


def server(idle):
    m = Made().add(MAIN + [("serve", APP, 20)], 9.9, "net", idle="yes").add(MAIN, 0.1)
    for i in range(2):
        m.add(THREAD + EXECUTE[2:], 10 - idle, "net", tid=10 + i, thread="Thread-%d (handle)" % i)
        if idle:
            m.add(THREAD + WORK, idle, "lock", tid=10 + i, thread="Thread-%d (handle)" % i, idle="yes")
    return m


def idle_main(**worker):
    """Makes a profile of a server whose main thread has no work. Another thread runs and waits:
    @worker has the seconds of its states."""
    m = (Made().add(MAIN + [("serve", APP, 20)], 59.9, "net", idle="yes", on="listening on 0.0.0.0:80")
         .add(MAIN, 0.05).add(MAIN, 0.03, "runnable"))
    for state, seconds in worker.items():
        m.add(THREAD + (EXECUTE[2:] if state == "net" else WORK), seconds, state, tid=10, thread="worker")
    return m


def database():
    """Makes a profile of a server as in idle_main(), whose workers wait for a database."""
    m = idle_main()
    for i in range(2):
        m.add(THREAD + EXECUTE[2:], 50, "net", tid=10 + i, thread="worker-%d" % i)
    return m


def stateless():
    """Makes a profile as a tool other than krait writes it: the waits have no label "state"."""
    return Made().add(THREAD + WORK, 10, "", tid=10, thread="X")


def lasting():
    """Makes a profile of one thread that lasts and of many threads that live briefly. All the brief
    threads run the same function under different names."""
    m = Made().add(THREAD + WORK, 9, "disk", tid=10, thread="loader").add(THREAD + WORK, 1, tid=10, thread="loader")
    for i, name in enumerate(("first", "second", "third")):
        m.add(THREAD + WORK, 0.001, "disk", tid=20 + i, thread=name)
    return m


def loop():
    run = [("<module>", APP, 90), ("run", STD + "asyncio/runners.py", 5), ("select", STD + "selectors.py", 3)]
    return Made().add(run, 9.4, "loop").add(run[:1] + [("work", APP, 4)], 0.6)


SENTENCES = [
    (client, "The main thread waited 81 % of its time for the network (10.0.0.5:5432) in psycopg.cursor.Cursor.execute, "
     "called from /srv/app/app.py:31; 6 % running"),
    (parts, "The main thread waited 84 % of its time for the network (mostly 10.0.0.5:5432), 44 of these 84 % at "
     "/srv/app/app.py:31 (load); 16 % running"),
    (pool, "8 threads (worker-N) waited 61 s for a lock, 95 % of their time, at /srv/app/app.py:55 (worker); 5 % running; "
     "the main thread waited for a lock in threading.Thread.join, called from /srv/app/app.py:40"),
    (heartbeat, "The main thread waited 98 % of its time for a lock in threading.Thread.join, called from /srv/app/app.py:40; 2 % running"),
    (sleeping_main, "Thread download waited 90 % of its time for the network in psycopg.cursor.Cursor.execute, called from "
     "/srv/app/app.py:31; 10 % running; the main thread was asleep at /srv/app/app.py:12 (tick)"),
    (forks, "The main threads of 4 processes (app.py) waited 32 s for the disk, 80 % of their time, at /srv/app/app.py:55 "
     "(worker); 20 % running"),
    (busy, "100 % of the CPU time is"),
    (lambda: server(0), "2 threads (Thread-N (handle)) waited 20 s for the network, 100 % of their time, in "
     "psycopg.cursor.Cursor.execute, called from /srv/app/app.py:31; 0 % running"),
    (lambda: server(6), "2 threads (Thread-N (handle)) waited 8.0 s for the network, 100 % of their time, in "
     "psycopg.cursor.Cursor.execute, called from /srv/app/app.py:31; 0 % running; idle time of 12 s isn't counted"),
    (lambda: server(10), "The main thread had nothing to do 99 % of the time; 1 % running"),
    (runner, "The main thread waited 90 % of its time for a child process in subprocess.run, called from /srv/app/app.py:40; "
     "10 % running"),
    (loop, "The event loop of the main thread had nothing to run 94 % of the time; 6 % running"),
    (lambda: Made().add(SLEEP, 9.7, "sleep").add(MAIN, 0.3),
     "The main thread was asleep 97 % of its time at /srv/app/app.py:12 (tick); 3 % running"),
    (lambda: Made().add(SLEEP, 9, "other: mmap").add(MAIN, 1),
     "The main thread waited 90 % of its time in mmap() at /srv/app/app.py:12 (tick); 10 % running"),
    (lambda: Made(WAIT).add(EXECUTE, 9, "net").add(SLEEP, 1, "sleep"),
     "The main thread waited 9.0 s for the network, 90 % of the waiting, in psycopg.cursor.Cursor.execute, called "
     "from /srv/app/app.py:31; 10 % asleep"),
    # The worker waited 20 of 25 s. The main thread had no work for 59.9 s, and that must not hide
    # the worker's waits.
    (lambda: idle_main(net=20, running=5), "Thread worker waited 80 % of its time for the network in psycopg.cursor.Cursor.execute, "
     "called from /srv/app/app.py:31; 20 % running"),
    (lambda: idle_main(running=25), "100 % of the CPU time is"),
    # 0.05 of 59.98 s
    (lambda: idle_main(sleep=59, running=0.5), "The main thread had nothing to do 100 % of the time; 0.1 % running"),
    (database, "2 threads (worker-N) waited 100 s for the network, 100 % of their time, in psycopg.cursor.Cursor.execute, "
     "called from /srv/app/app.py:31; 0 % running"),
    (stateless, "Thread X waited 100 % of its time in the kernel at /srv/app/app.py:55 (worker); 0 % running"),
    (lambda: stateless().add(THREAD + WORK, 30, "lock", tid=10, thread="X"),
     "Thread X waited 75 % of its time for a lock at /srv/app/app.py:55 (worker); 25 % waiting in the kernel; 0 % running"),
    (flushed, "8 threads (worker-N) waited 61 s for a lock, 95 % of their time, at /srv/app/app.py:55 (worker), 80 % of it ended by "
     "worker-2 in app.flush (/srv/app/app.py:88); 5 % running; the main thread waited for a lock in threading.Thread.join, "
     "called from /srv/app/app.py:40"),
    # worker-2 ended less than half of the waiting time, so the sentence doesn't name worker-2.
    (lambda: flushed(0.45), "8 threads (worker-N) waited 61 s for a lock, 95 % of their time, at /srv/app/app.py:55 (worker); 5 % running; "
     "the main thread waited for a lock in threading.Thread.join, called from /srv/app/app.py:40"),
    (lambda: two_callees(0.05), "The main thread waited 90 % of its time for a lock at /srv/app/app.py:31 (save), 100 % of it ended by "
     "worker-2 in threading.Condition.notify (/srv/app/app.py:88); 10 % running"),
    (lambda: two_callees(0.4), "The main thread waited 90 % of its time for a lock at /srv/app/app.py:31 (save), 100 % of it ended by "
     "worker-2 in app.flush (/srv/app/app.py:88); 10 % running"),
    (two_processes, "The main thread of app.py waited 90 % of its time for a lock at /srv/app/app.py:31 (save), 90 % of it ended by "
     "MainThread (pid 20) in app.load (/srv/app/app.py:66); 10 % running"),
    (lasting, "Thread loader waited 90 % of its time for the disk at /srv/app/app.py:55 (worker); 10 % running"),
]


def first(path, *options):
    return json.loads(krait("report", "--json", path, *options).stdout)["summary"]


def sentences(work):
    for i, (make, words) in enumerate(SENTENCES):
        path = make().save(os.path.join(work, "%d.pb.gz" % i))
        said = first(path)
        check("sentence-%d" % i, said.startswith(words) if words.endswith("is") else said == words,
              "%r is said, not %r" % (said, words))


def everywhere(work):
    """The sentence about waiting comes first in each format of the report, also if --value chooses
    a value of waiting. The report leaves this sentence out if filters leave only a part of a
    thread's time."""
    path, words = client().save(os.path.join(work, "x.pb.gz")), SENTENCES[0][1]
    text = " ".join(krait("report", path).stdout.split())
    check("text", text.startswith(words + "."), text[:300])
    md = krait("report", path, "--format", "md").stdout
    check("markdown", md.startswith("**The main thread waited 81 %"), md[:300])
    for value in "off_cpu", "cpu":
        check("value-" + value, first(path, "--value", value) == words, first(path, "--value", value))
    page = os.path.join(work, "x.html")
    krait("report", path, "-o", page)
    check("page", first(page) == words, first(page))
    check("threads", first(path, "--thread", "MainThread") == words, "a filter of threads")
    for option in ("--state", "net"), ("--focus", "load"), ("--label", "on=*"):
        check("part" + option[0], "main thread" not in first(path, *option), first(path, *option))
    cpu = Made((("samples", "count"), ("cpu", "nanoseconds"))).add(MAIN, 1).save(os.path.join(work, "cpu.pb.gz"))
    check("cpu-alone", "main thread" not in first(cpu), first(cpu))


def part_of_the_time(work):
    """If --since and --until cut a wait, only the part of the wait between them counts."""
    m = Made()
    for second in range(10):
        m.add(EXECUTE, 0.9, "net", time=second * SECOND).add(MAIN, 0.1, time=second * SECOND + 9 * SECOND // 10)
    path = m.save(os.path.join(work, "x.pb.gz"))
    check("whole-time", first(path).startswith("The main thread waited 90 % of its time"), first(path))
    for options, waited, ran in ((["--since", "4.45s"], 0.45 + 5 * 0.9, 0.6), (["--until", "4.5s"], 4 * 0.9 + 0.5, 0.4),
                                 (["--since", "2.25s", "--until", "2.75s"], 0.5, 0)):
        got = [json.loads(krait("report", "--json", "--value", value, path, *options).stdout)["shown"] for value in ("off_cpu", "cpu")]
        check("part %s" % options, got == [round(waited * SECOND), round(ran * SECOND)], got)
        words = "The main thread waited %.0f %% of its time" % (100 * waited / (waited + ran))
        check("part-words %s" % options, first(path, *options).startswith(words), first(path, *options))


def idle(work):
    """A report of waits leaves out idle waits. Its first sentence is still that of the whole
    report, and the report says how long the chosen threads were idle."""
    path = database().add(THREAD + WORK, 7, "lock", tid=12, thread="worker-3", idle="yes").save(os.path.join(work, "x.pb.gz"))
    for more in ([], ["--thread", "MainThread"]):
        want = first(path, *more)
        got = [first(path, "--value", "off_cpu", *more, *shown) for shown in ([], ["--idle"])]
        check("idle-sentence %s" % more, got == [want, want] and ("nothing to do" in want) == bool(more), got + [want])
    for options, shown, waited in (([], 100.03, 66.9), (["--thread", "MainThread"], 0.03, 59.9), (["--thread", "worker-3"], 0, 7),
                                   (["--label", "on=listening on*"], 0, 59.9), (["--focus", "load"], 100, None)):
        done = krait("report", "--json", "--value", "off_cpu", path, *options)
        report = json.loads(done.stdout)
        got = [report.get(key) for key in ("shown", "all", "idle")]
        want = [round(s * SECOND) for s in (shown, 100.03)] + [waited and round(waited * SECOND)]
        check("idle %s" % options, got == want and "nothing" not in done.stderr, "%s, not %s; %s" % (got, want, done.stderr))


def busy_worker(work):
    """If the main thread had no work, the first sentence names another thread's hot spot. Only a
    report of waits says first that the main thread had no work."""
    path = idle_main(running=25).save(os.path.join(work, "x.pb.gz"))
    check("hot-spot", APP + ":55" in first(path), first(path))
    check("hot-spot-waits", first(path, "--value", "off_cpu") == "The main thread had nothing to do 100 % of the time; 0.1 % running",
          first(path, "--value", "off_cpu"))


def many_states(work):
    """A file has 50,000 states that krait doesn't know: the time of `krait report` must not grow
    with the product of waits and states, and odd names must not break the rows of the table."""
    n = 50000
    m = Made().add(SLEEP, 20, "two\nlines").add(SLEEP, 10, "long" * 1000).add(SLEEP, 1, "other")
    for i in range(n):
        m.add(SLEEP, 1e-6, "state %d" % i)
    path = m.save(os.path.join(work, "x.pb.gz"))
    # comparing each wait with each state would take far longer than this limit
    done = subprocess.run([KRAIT, "report", path], capture_output=True, text=True, timeout=100,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (3, 3)))
    check("states-quick", done.returncode == 0, "exit code %d: %s" % (done.returncode, done.stderr[:200]))
    rows = done.stdout.partition("what threads did\n")[2].split("\n")[:3]
    check("states-newline", rows and rows[0].endswith("  two?lines"), rows)
    check("states-long", len(rows) == 3 and rows[1].endswith("   " + "long" * 14 + "lon…"), rows)
    got = json.loads(krait("report", "--json", path).stdout)["states"]
    other = [s["nanoseconds"] for s in got if s["name"] == "other"]
    # 98 others have a row
    check("states-most", len(got) == 101 and other == [SECOND + (n - 98) * 1000], "%d states, %s" % (len(got), other))


def states(work):
    path = client().save(os.path.join(work, "x.pb.gz"))
    report = json.loads(krait("report", "--json", path).stdout)
    want = [("net", 8.1), ("disk", 0.7), ("running", 0.6), ("sleep", 0.6)]
    got = [(s["name"], s["nanoseconds"] / SECOND) for s in report["states"]]
    check("states-json", got == want and not any(s["idle"] for s in report["states"]), report["states"])
    text = krait("report", path).stdout
    check("states-text", " 81.0 %      8.10 s   net\n" in text, text)
    text = krait("report", path, "--format", "md").stdout
    check("states-markdown", "| 81.0 % | 8.10 s | net |" in text, text)
    path = server(6).save(os.path.join(work, "s.pb.gz"))
    text = krait("report", path).stdout
    # only the 8 s of "net" and 0.1 s of CPU time aren't idle
    check("states-idle", " 98.8 %      8.00 s   net\n" in text and "12.0 s   lock, waiting for work\n" in text, text)


def filters(work):
    path = client().add(SLEEP, 0.4, "other: mmap").save(os.path.join(work, "x.pb.gz"))

    def shown(*options):
        return json.loads(krait("report", "--json", "--value", "off_cpu", path, *options).stdout)["shown"] / SECOND
    for options, want in ((("--state", "net"), 8.1), (("--state", "net", "--state", "disk"), 8.8),
                          (("--state", "running"), 0), (("--state", "other"), 0.4), (("--state", "other: mmap"), 0.4),
                          (("--state", "net", "--thread", "nobody"), 0), (("--label", "on=10.0.0.5:5432"), 8.1)):
        check("filter %s" % " ".join(options), shown(*options) == want, shown(*options))
    said = krait("report", path, "--state", "network", code=2).stderr
    check("unknown-state", "'network' is not a state" in said and " net, " in said and " page-fault, " in said, said)
    by = json.loads(krait("report", "--json", "--value", "off_cpu", "--by", "state", path).stdout)["shares"]
    check("by-state", [(s["name"], s["total"] / SECOND) for s in by] ==
          [("net", 8.1), ("disk", 0.7), ("sleep", 0.6), ("other: mmap", 0.4)], by)


# the main thread's waits: (state, what the thread waited for, begin in seconds, end in seconds)
INTERVALS = [("net", "db:5432", 1, 3.5), ("net", "db:5432", 3.5, 4), ("sleep", "", 5, 9.25)]


def viewers(work):
    """In formats for viewers that show threads, each wait is an interval of the wait's length."""
    m = Made().add(WORK, 10, "lock", tid=10, thread="worker", time=0)
    for state, on, begin, end in INTERVALS:
        m.add(EXECUTE if on else SLEEP, end - begin, state, time=int(begin * SECOND), **({"on": on} if on else {}))
    path = m.add(MAIN, 0.5, time=int(4.5 * SECOND)).save(os.path.join(work, "x.pb.gz"))
    out = os.path.join(work, "x.json")
    krait("report", path, "--format", "firefox", "-o", out)
    with open(out) as f:
        data = json.load(f)
    strings = data["shared"]["stringArray"]
    for thread in data["threads"]:
        k = thread["markers"]
        got = [(strings[k["name"][i]], k["data"][i]["on"], k["startTime"][i] / 1000, k["endTime"][i] / 1000) for i in range(k["length"])]
        want = INTERVALS if thread["isMainThread"] else [("lock", "", 0, 10)]
        check("firefox-%s" % thread["name"], got == want and set(k["phase"]) == {1} and len(k["category"]) == len(want), k)
    check("firefox-schema", [s["name"] for s in data["meta"]["markerSchema"]] == ["state"], data["meta"]["markerSchema"])
    krait("report", path, "--format", "trace", "-o", out)
    with open(out) as f:
        events = [e for e in json.load(f)["traceEvents"] if e.get("cat") == "state"]
    got, open_ones = {}, {}
    for e in events:
        if e["ph"] == "b":
            open_ones.setdefault(e["id"], []).append(e)
        else:
            begun = open_ones[e["id"]].pop()
            check("trace-nests", begun["name"] == e["name"], (begun, e))
            got.setdefault(e["tid"], []).append((e["name"], begun.get("args", {}).get("on"), begun["ts"] / 1e6, e["ts"] / 1e6))
    check("trace", got == {7: INTERVALS + [("states of MainThread", None, 1, 9.25)],
                           10: [("lock", "", 0, 10), ("states of worker", None, 0, 10)]}, got)
    for name in "firefox", "trace":
        krait("report", path, "--format", name, "-o", out)
        back = json.loads(krait("report", "--json", out).stdout)
        check("read-back-" + name, back["shown"] in (0.5 * SECOND, 500), back["shown"])


def who_of(thread):
    return thread and (thread["thread"], thread.get("pid"))


def waits_for_locks(*args):
    """Returns a report's waits for locks as [(thread that waited, thread that ended the wait,
    function:line, seconds)]."""
    return [(who_of(w["waiter"]), who_of(w["waker"]), "%s:%d" % (w["function"], w["line"]) if w["waker"] else "", w["nanoseconds"] / SECOND)
            for w in json.loads(krait("report", "--json", *args).stdout)["lock_waits"]]


def wakers_json(path):
    """In JSON, the rows of a thread add up to its waits for locks, because one row has the time of
    the waits whose end the profile blames on nobody. If filters are set, there is no such row."""
    main, two = ("MainThread", "7"), ("worker-2", "7")
    got = waits_for_locks(flushed().save(path))
    check("wakers-json", len(got) == 1 + 8 + 8 + 9 and got[0] == (main, two, "flush:88", 9) and
          sorted(got[1:9]) == [(("worker-%d" % i, "7"), two, "flush:88", 6.08) for i in range(1, 9)] and
          sorted(got[9:17]) == [(("worker-%d" % i, "7"), main, "feed:99", 0.38) for i in range(1, 9)], got)
    rests = {w[0]: w[3] for w in got[17:]}
    check("wakers-json-rest", rests == {main: 0.8, **{("worker-%d" % i, "7"): 1.14 for i in range(1, 9)}} and
          {w[1] for w in got[17:]} == {None}, rests)
    # With this filter only the waits that worker-2 ended are left. No row has other time of the
    # waiting threads.
    got = waits_for_locks(path, "--thread", "worker-2")
    check("wakers-json-filter", got[0] == (("MainThread", None), two, "flush:88", 9) and [w[1:] for w in got[1:]] == 8 * [(two, "flush:88", 6.08)], got)
    got = waits_for_locks(two_processes().save(path))
    check("wakers-json-processes", got == [(main, ("MainThread", "20"), "load:66", 8.1), (main, None, "", 0.9)], got)
    check("wakers-json-without", "lock_waits" not in json.loads(krait("report", "--json", client().save(path)).stdout), "")


def wakers(work):
    """The rows of the table of who ended whose waits add up to the sum of all waits for locks."""
    path = flushed().save(os.path.join(work, "w.pb.gz"))
    text = krait("report", path, "--by", "waiter", "--limit", "2").stdout
    rows = [row.split(None, 7) for row in text.split("who waited")[-1].splitlines()[1:]]
    # the eight waiting workers share the row "worker-N", and worker-2 ends their waits: 8 x 6.08 s
    # by worker-2, 8 x 0.38 s by the main thread; the last row is the rest of 9.8 s + 8 x 7.6 s
    check("wakers-first", rows[0][:6] == ["48.6", "s", "68.9", "%", "worker-N", "worker-2"] and rows[1][:5] == ["9.00", "s", "12.7", "%", "MainThread"], text)
    check("wakers-line", rows[1][6:] == ["app.flush", "(/srv/app/app.py:88)"], text)
    check("wakers-more", rows[2][:6] == ["3.04", "s", "4.3", "%", "1", "more"], text)
    check("wakers-rest", rows[3] == ["9.92", "s", "14.1", "%", "not", "known"], text)
    md = krait("report", path, "--by", "waiter", "--format", "md").stdout
    check("wakers-markdown", "| 9.00 s | 12.7 % | <code>MainThread</code> | <code>worker-2</code> | <code>app.flush (/srv/app/app.py:88)</code> |" in md, md)
    text = " ".join(krait("report", two_processes().save(path), "--by", "waiter").stdout.split())
    check("wakers-processes", "8.10 s 90.0 % MainThread (pid 7) MainThread (pid 20) app.load (/srv/app/app.py:66)" in text, text)
    folded = krait("report", path, "--value", "lock_blame", "--format", "folded").stdout
    check("wakers-folded", len(folded.splitlines()) == 1 and folded.endswith(" 8100000000\n") and "load" in folded, folded)
    wakers_json(path)
    without = krait("report", pool().save(path), "--by", "waiter", code=1)
    check("wakers-without", "no sample has the label 'waiter'" in without.stderr, without.stderr)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as d:
        for test in sentences, everywhere, part_of_the_time, idle, busy_worker, states, many_states, filters, viewers, wakers:
            test(d)
    sys.exit(failed)
