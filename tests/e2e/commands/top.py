# SPDX-License-Identifier: BSD-2-Clause
"""krait top: compares its numbers with programs whose shares are known, and tests its screen in a
pseudo-terminal."""
import collections
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit import (FULL, KRAIT, Background, PYTHON, attached, case, check, cpu_seconds,  # noqa: E402
                 folder, krait, main, pprof, python, refused, wait_for)
from vt import Terminal  # noqa: E402

# A program in which three() uses three quarters of the CPU time and one() one quarter. Both measure
# it by the thread's own clock, so a busy machine doesn't change the shares.
SHARES = """
import time
def until(end):
    while time.thread_time() < end:
        pass
def three(now):
    until(now + .003)
def one(now):
    until(now + .001)
def work():
    now = time.thread_time()
    while True:
        three(now); one(now + .003)
        now += .004
work()
"""


def top_json(*args):
    done = krait("top", "--json", *args)
    check(done.returncode == 0, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def top_until(enough, pid, intervals, seconds, *args):
    """Returns top_json() of a process with @intervals intervals. On a busy machine, tries again
    with longer intervals until enough() says that there is enough to judge."""
    for longer in 1, 4, 16:
        shown = top_json("-p", pid, "-n", intervals, "-i", "%dms" % (1000 * seconds * longer), *args)
        check(len(shown) == intervals, "%d intervals" % len(shown))
        if enough(shown):
            return shown
    raise AssertionError("too little to tell: %s" % str(shown)[:900])


def row(shown, function):
    found = [r for r in shown["rows"] if r.get("function") == function]
    check(len(found) == 1, "%d rows of %s" % (len(found), function))
    return found[0]


@case
def json_shares():
    """The self and total values of each function, both of the last interval and since the start,
    equal the program's known shares."""
    with python(SHARES) as target:
        first, last = top_until(lambda shown: all(each["last"]["samples"] > 400 for each in shown), target.pid, 2, 0.6,
                                "-F", 1999, "--native=none", "--no-kernel")
    check(first["last"]["samples"] + last["last"]["samples"] == last["since_start"]["samples"],
          "the intervals don't add up")
    for name, percent in ("three", 75), ("one", 25):
        r = row(last, name)
        for n in r["total"], r["since_start"]["total"]:
            check(abs(n["percent"] - percent) < 8, "%s has %s" % (name, n))
        check(r["self"]["percent"] < 5, "%s itself has %s" % (name, r["self"]))
    check(row(last, "until")["self"]["percent"] > 90, "until: %s" % row(last, "until"))
    check(row(last, "work")["total"]["percent"] > 95, "work: %s" % row(last, "work"))
    selves = [r["self"]["value"] for r in last["rows"]]
    check(selves == sorted(selves, reverse=True), "not sorted by self: %s" % selves)


@case
def json_tables():
    """The rows of each table (lines, modules, threads, processes) add up to the interval's samples.
    """
    with python(SHARES) as target:
        for table in "lines", "modules", "threads", "processes":
            shown, = top_json("-p", target.pid, "-n", 1, "-i", "300ms", "-F", 999, "--" + table)
            check(shown["table"] == table, shown["table"])
            total = sum(r["self"]["samples"] for r in shown["rows"])
            check(total == shown["last"]["samples"],
                  "%s: %d of %d samples" % (table, total, shown["last"]["samples"]))
            if table in ("threads", "processes"):
                check([r["pid"] for r in shown["rows"]] == [target.pid], str(shown["rows"]))


@case
def gil():
    """top shows a program that computes in Python as holding the GIL, and one that hashes in C as
    not holding it."""
    with python("while True: sum(range(10000))") as target:
        shown, = top_json("-p", target.pid, "-n", 1, "-i", "500ms", "-F", 999, "--threads")
    held = shown["rows"][0]["self"]["gil_percent"]
    check(held is not None and held > 90, str(shown["rows"]))
    with python("import hashlib\nb = bytes(1 << 22)\nwhile True: hashlib.sha256(b)") as target:
        shown, = top_json("-p", target.pid, "-n", 1, "-i", "500ms", "-F", 999, "--threads")
    held = shown["rows"][0]["self"]["gil_percent"]
    check(held is not None and held < 10, str(shown["rows"]))


@case
def by():
    """The row of a module has the samples of its functions. A table by a label has a row for each
    value of the label, and the rows add up to all samples."""
    code = "import colorsys, hashlib, threading\n" \
           "def digest():\n while True: hashlib.sha256(b)\n" \
           "b = bytes(1 << 22)\nthreading.Thread(target=digest, name='digester').start()\n" \
           "while True: colorsys.rgb_to_hls(.1, .2, .3)"
    args = "-n", 1, "-i", "600ms", "-F", 999, "--native=none", "--no-kernel"
    with python(code) as target:
        modules, = top_json("-p", target.pid, "--modules", "--thread", "MainThread", *args)
        gil, = top_json("-p", target.pid, "--by", "gil", *args)
        threads, = top_json("-p", target.pid, "--by", "thread", *args)
    rows = {r["name"]: r for r in modules["rows"]}
    check({"colorsys", "<string>"} <= set(rows), str(rows.keys()))
    check(rows["<string>"]["total"]["percent"] > 95, str(rows["<string>"]))
    check(rows["colorsys"]["self"]["percent"] > 50, str(rows["colorsys"]))
    check(gil["table"] == "by" and gil["by"] == "gil", str(gil)[:300])
    rows = {r["name"]: r["self"] for r in gil["rows"]}
    check(sum(n["samples"] for n in rows.values()) == gil["last"]["samples"], str(rows))
    check(rows["held"]["gil_percent"] == 100 and rows["released"]["gil_percent"] == 0, str(rows))
    check({r["thread"] for r in threads["rows"]} == {"MainThread", "digester"}, str(threads)[:300])


@case
def counts():
    """A program that execs itself counts as one process in the head of the screen and in the
    tables. Its main thread counts as one thread."""
    code = "import os, sys, threading, time\n" \
           "def spin():\n while time.thread_time() < .3: pass\n" \
           "spin()\n" \
           "if len(sys.argv) < 3: os.execv(sys.executable, [sys.executable, '-c', sys.argv[1], sys.argv[1], 'x'])\n" \
           "threading.Thread(target=lambda: [time.thread_time() for i in range(3000000)]).start()"
    last, rows = {}, {"processes": set(), "threads": set()}
    for table in rows:
        done = krait("top", "--json", "-i", "200ms", "-F", 999, "--" + table, "--", PYTHON, "-c", code, code)
        shown = [json.loads(line) for line in done.stdout.splitlines()]
        rows[table] = {(r["pid"], r.get("tid")) for r in shown[-1]["rows"]}
        last[table] = shown[-1]["processes"], shown[-1]["threads"]
    check(len(rows["processes"]) == 1 and len(rows["threads"]) == 2, str(rows))
    check(set(last.values()) == {(1, 2)}, str(last))


SHORT_THREADS = """
import threading, time
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
def stay():
    while True:
        spin(.01)
        time.sleep(.001)
for i in range(3):
    threading.Thread(target=stay, daemon=True).start()
while True:
    one = threading.Thread(target=spin, args=(.01,))
    one.start()
    one.join()
"""


@case
def alive():
    """The head of top's screen says how many of the threads that were sampled since the start are
    alive, as the kernel counts them."""
    with python(SHORT_THREADS) as target:
        many = lambda shown: shown[-1]["threads"] > 15  # noqa: E731
        shown = top_until(many, target.pid, 4, 0.5, "-F", 999)
        text = krait("top", "-p", target.pid, "-n", 6, "-i", "500ms", "-F", 999).stdout.strip().split("\n\n")[-1]
        with open("/proc/%d/status" % target.pid) as f:
            threads = int(re.search(r"Threads:\s+(\d+)", f.read()).group(1))
    # One of the program's threads begins and ends all the time. The other threads may not get a CPU
    # in the first intervals.
    check(4 <= threads <= 5 and abs(shown[-1]["threads_alive"] - threads) <= 1 and all(s["threads_alive"] <= threads + 1 for s in shown),
          "%d threads: %s" % (threads, [s["threads_alive"] for s in shown]))
    check(shown[-1]["processes_alive"] == shown[-1]["processes"] == 1, "processes")
    check(re.search(r", 1 process, [345] of \d+ threads alive[;\n]", text), text.split("\n")[0])
    with python(SHARES) as target:
        text = krait("top", "-p", target.pid, "-n", 1, "-F", 999).stdout
    check(", 1 process, 1 thread\n" in text, text.split("\n")[0])


@case
def filters():
    """top takes the filter options of the other commands: some options select samples, the others
    select frames of these samples."""
    with python(SHARES) as target:
        shown, = top_json("-n", 1, "-i", "500ms", "-F", 999, "--native=none", "--no-kernel", "--process",
                          target.pid, "--focus", "three", "--hide", "until")
    check({r["function"] for r in shown["rows"]} == {"<module>", "work", "three"}, str(shown)[:900])
    check(row(shown, "three")["self"]["percent"] == 100, str(shown)[:900])
    everything = {"<module>", "work", "three", "one", "until"}
    with python(SHARES) as target:
        for words, functions in (("--ignore three", everything - {"three"}), ("--show three", {"three"}), ("--module <string>", everything),
                                 ("--module json", set()), ("--kind python", everything), ("--kind native", set()),
                                 ("--label thread=python*", everything), ("--label thread=x", set()), ("--thread x", set()),
                                 ("--process %d --thread /^python/" % target.pid, everything)):
            shown, = top_json("-p", target.pid, "-n", 1, "-i", "300ms", "-F", 999, "--native=none", "--no-kernel", *words.split())
            check({r["function"] for r in shown["rows"]} == functions, "%s: %s" % (words, str(shown)[:900]))


@case
def plain():
    """Without a terminal, top prints its table as text."""
    with python(SHARES) as target:
        done = krait("top", "-p", target.pid, "-n", 1, "-i", "300ms", "-F", 999, "--sort", "total",
                     "--rows", 3, "--native=none", "--no-kernel")
    check(done.returncode == 0, done.stderr)
    lines = done.stdout.splitlines()
    check("OWN%" in lines[1] and "NAME" in lines[1], done.stdout)
    check(len(lines) == 6 and "(<string>" in lines[2], done.stdout)
    check("\x1b" not in done.stdout, "escape sequences in a pipe")


PHASES = """
import time
def first():
    while time.thread_time() < 1:
        pass
def second():
    while True:
        pass
first()
second()
"""


@case
def recent():
    """top ranks rows by the last ten seconds. The head says how many samples the interval had: at
    the default rate for one process, 999 for each second of CPU time."""
    with python(PHASES) as target:
        done = krait("top", "-p", target.pid, "-n", 4, "--rows", 3)
    blocks = [b.splitlines() for b in done.stdout.strip().split("\n\n")]
    check(len(blocks) == 4, done.stdout)
    for block in blocks:
        samples, seconds, cpu = re.search(r": (\d+) samples in ([\d.]+) s, CPU (\d+) %", block[0]).groups()
        # 999 samples are expected for each second of CPU time
        check(abs(int(samples) - 9.99 * int(cpu) * float(seconds)) < 25, block[0])
    # All four intervals are within the last ten seconds, so the share by which a row is ranked
    # equals its share since the start, also for first(), which has long ended.
    last = {m.group(3): (float(m.group(1)), float(m.group(2))) for m in
            (re.match(r" *([\d.]+) +[\d.]+ +[\d.]+ +([\d.]+)s +[\d.]+s +(first|second) \(", line) for line in blocks[3][2:]) if m}
    total = sum(seconds for _, seconds in last.values())
    check("shares are of the last 4 s" in blocks[3][0] and "shares are" not in blocks[0][0], blocks[3][0])
    check(len(last) == 2 and last["first"][1] < 1.1 and
          all(abs(percent - 100 * seconds / total) < 2 for percent, seconds in last.values()), done.stdout)


@case
def python_first():
    """The time of native and kernel code counts for its Python caller, as in the report, unless
    --with-native is given."""
    code = "import zlib, os\ndata = os.urandom(1 << 20)\ndef pack():\n    zlib.compress(data)\nwhile True: pack()"
    with python(code) as target:
        shown, = top_json("-p", target.pid, "-n", 1, "-i", "500ms")
        native, = top_json("-p", target.pid, "-n", 1, "-i", "500ms", "--with-native", "--sort", "own")
    check({r["kind"] for r in shown["rows"]} <= {"python", "mark", "gc"} and shown["sort"] == native["sort"] == "self", str(shown)[:300])
    check(shown["rows"][0]["function"] == "pack" and row(shown, "pack")["self"]["percent"] > 90, str(shown)[:900])
    check(native["rows"][0]["kind"] == "native" and row(native, "pack")["self"]["percent"] < 10, str(native)[:900])
    check(row(native, "pack")["total"]["percent"] > 90, str(native)[:900])


@case
def target_ends():
    """When the target ends, top prints the samples of the unfinished interval and then ends."""
    with python(SHARES) as target, \
            Background(KRAIT, "top", "--json", "-p", target.pid, "-i", "30s",
                       stdout=subprocess.PIPE) as top:
        wait_for(lambda: attached(top.pid), 20)
        time.sleep(.7)
        target.stop()
        shown = json.loads(top.process.communicate(timeout=20)[0])
    check(top.process.returncode == 0 and shown["last"]["samples"] > 5, str(shown)[:300])


@case
def nothing_waits():
    """If a program ends before krait has the names of its stacks, top still prints its functions.
    """
    done = krait("top", "--json", "-F", 9999, "-i", "30s", "--", sys.executable, "-c",
                 "import time; print(time.process_time())")
    shown, ran = json.loads(done.stdout), float(done.stderr.split()[0])
    seconds = shown["since_start"]["value"] / 1e9
    check(seconds > .7 * ran, "%s s of %s s" % (seconds, ran))


WAITS = """
import socket, threading, time
a, b = socket.socketpair()
lock = threading.Lock()
def answers():
    while b.recv(1):
        time.sleep(.03)
        b.send(b"x")
threading.Thread(target=answers, daemon=True).start()
def asks():
    a.send(b"x")
    a.recv(1)
def naps():
    time.sleep(.01)
def runs():
    end = time.thread_time() + .01
    while time.thread_time() < end:
        pass
while True:
    asks(); naps(); runs()
"""


@case
def waits():
    """top --wall shows for each function and thread how long it ran, and how long it waited in each
    state. The times of all states of a thread add up to the time that it lived."""
    with python(WAITS) as target:
        shown, = top_json("-p", target.pid, "-n", 1, "-i", "2s", "--wall")
        threads, = top_json("-p", target.pid, "-n", 1, "-i", "1s", "--wall", "--threads", "--sort", "net")
    check(shown["value"] == "wall", shown["value"])
    for name, state in ("asks", "net"), ("naps", "sleep"), ("runs", "running"):
        states = row(shown, name)["states"]
        # These threads also wait for the GIL and, on a busy machine, for a CPU.
        check(states[state] > .8 * (sum(states.values()) - states["gil-wait"] - states["runnable"]), "%s: %s" % (name, states))
    main_thread, = [r for r in threads["rows"] if r["tid"] == target.pid]
    for r in threads["rows"]:
        check(sum(r["states"].values()) == r["total"]["value"], r)
    lived = threads["interval_seconds"] * 1e9
    # krait may miss the thread's first wait, and the wait that isn't over
    check(.02 * lived < main_thread["total"]["value"] < 1.1 * lived, (main_thread, lived))
    check(threads["rows"][0] == max(threads["rows"], key=lambda r: r["states"]["net"] / r["total"]["value"]), "the order")


STUCK = """
import ctypes, socket, threading, time
a, b = socket.socketpair()
lock = threading.Lock()
lock.acquire()
def takes():
    lock.acquire()
def reads():
    a.recv(1)
def sleeps():
    time.sleep(1000)
for f in takes, reads, sleeps:
    threading.Thread(target=f, name=f.__name__, daemon=True).start()
while True:
    time.sleep(1000)
"""


@case
def stuck():
    """Some threads wait all the time: top shows them while they still wait. Each interval has their
    waiting time, by reason and function, and the table of threads says where they wait now."""
    with python(STUCK) as target:
        last = top_json("-p", target.pid, "-n", 4, "-i", "600ms", "--wall", "--threads")[-1]
        functions = top_json("-p", target.pid, "-n", 2, "-i", "600ms", "--wall")[-1]
        plain = krait("top", "-p", target.pid, "-n", 2, "-i", "600ms", "--wall", "--threads").stdout
    lived, all_the_time = last["interval_seconds"] * 1e9, last["seconds"] * 1e9
    rows = {r["thread"]: r for r in last["rows"]}
    for name, state in ("takes", "lock"), ("reads", "net"), ("sleeps", "sleep"):
        got, waits = rows[name], rows[name]["waits"]
        check(abs(got["states"][state] - lived) < .1 * lived and got["total"]["value"] == got["states"][state], (name, got, lived))
        check(abs(got["since_start"]["total"]["value"] - all_the_time) < .1 * all_the_time, (got, all_the_time))
        check(waits["state"] == state and waits["name"].startswith(name + " (") and not waits["idle"], waits)
        check(abs(waits["nanoseconds"] - all_the_time) < .1 * all_the_time, (waits, all_the_time))
    # The names of stacks may come only after the first interval, so both intervals are judged
    # together.
    lived = functions["seconds"] * 1e9
    for name in "takes", "reads", "sleeps":
        check(abs(row(functions, name)["since_start"]["total"]["value"] - lived) < .1 * lived, row(functions, name))
    check(re.search(r"\(tid \d+\)  net [01]\.\d\ds in reads \(", plain), plain)


HOLDER = """
import ctypes, threading, time
keeps = ctypes.PyDLL(None).usleep  # usleep() by this call keeps the GIL
def holder():
    while True:
        keeps(300000)
        time.sleep(.002)
def waiter():
    while True:
        time.sleep(.001)
for f in holder, waiter:
    threading.Thread(target=f, name=f.__name__, daemon=True).start()
while True:
    time.sleep(1000)
"""


@case
def blocked():
    """top says which thread now keeps which other threads from the GIL. In the test's program one
    thread sleeps while it holds the GIL, and the other thread waits for the GIL nearly all the
    time."""
    with python(HOLDER) as target:
        shown = top_json("-p", target.pid, "-n", 3, "-i", "1s", "--wall")
        plain = krait("top", "-p", target.pid, "-n", 1, "-i", "1s", "--wall").stdout
    # A record that comes late counts for the next interval. So all intervals are added up before
    # they are compared.
    pairs, lived = collections.Counter(), sum(each["interval_seconds"] for each in shown) * 1e9
    for p in sum((each.get("gil_waits", []) for each in shown), []):
        pairs[(p["waiter"] or {}).get("thread"), (p["holder"] or {}).get("thread")] += p["nanoseconds"]
    check(.75 * lived < pairs["waiter", "holder"] < 1.1 * lived, (pairs, lived))
    check(sum(pairs.values()) < 1.25 * lived, (pairs, lived))
    check(re.search(r"Threads waited [01]\.\d\d s for the GIL in the last 1\.\d s\n  [01]\.\d\d s  while holder held it in holder \(\S+\): waiter [01]\.\d\d s", plain), plain)


LOCKS = """
import queue, threading, time
lock, items = threading.Lock(), queue.Queue()
def owner():
    while True:
        with lock:
            time.sleep(.06)
        time.sleep(.005)
def asker():
    while True:
        lock.acquire()
        lock.release()
        time.sleep(.002)
def feeder():
    while True:
        time.sleep(.09)
        items.put(1)
def eater():
    while True:
        items.get()
for f in owner, asker, feeder, eater:
    threading.Thread(target=f, name=f.__name__, daemon=True).start()
while True:
    time.sleep(1000)
"""


@case
def locks():
    """top says which thread has lately ended which threads' waits for locks. In the test's program
    two threads wait nearly all the time: "asker" for the lock, which "owner" releases, and
    "eater" for the queue, which "feeder" fills."""
    with python(LOCKS) as target:
        shown = top_json("-p", target.pid, "-n", 3, "-i", "1s", "--wall")
        plain = krait("top", "-p", target.pid, "-n", 1, "-i", "1s", "--wall").stdout
    # A record that comes late counts for the next interval. So all intervals are added up before
    # they are compared.
    at, lived = collections.Counter(), sum(each["interval_seconds"] for each in shown)
    for w in sum((each.get("lock_waits", []) for each in shown), []):
        if w["waiter"] and w["nanoseconds"] > 1e8:
            at[w["waiter"]["thread"], w["waker"]["thread"], w["function"], LOCKS.split("\n")[w["line"] - 1].strip()] += w["nanoseconds"] / 1e9 / lived
    check({pair[:3] for pair in at} == {("asker", "owner", "owner"), ("eater", "feeder", "feeder")}, at)
    check(all(.75 < share < 1.15 for share in at.values()) and ("eater", "feeder", "feeder", "items.put(1)") in at, at)
    check(re.search(r"Waits for locks that ended in the last 1\.\d s took [12]\.\d\d s\n(  [01]\.\d\d s  ended by (owner in owner|feeder in feeder) "
                    r"\(\S+:\d+\): (asker|eater) [01]\.\d\d s\n){2}", plain), plain)


@case
def refusals():
    refused(2, "add --wall", "top", "--sort", "net")
    refused(2, "no such column", "top", "--threads", "--sort", "self-time")
    refused(2, "too short", "top", "-i", "1ms")
    refused(2, "exclude each other", "top", "--json", "--plain")
    refused(2, "exclude each other", "top", "--by", "gil", "--lines")
    refused(2, "isn't a label", "top", "--by", "job")
    refused(2, "what happens now", "top", "--since", "3")
    refused(2, "turns the trees of the screen around", "top", "--invert", "-n", 1)
    refused(1, "no process", "top", "-p", 4194999, "-n", 1)


# ---- below: the screen ----

UP, DOWN, END = "\x1b[A", "\x1b[B", "\x1b[F"
# Without these options, native functions that the clock calls would fill the screen's 24 rows.
PYTHON_ONLY = "--native=none", "--no-kernel"


def on_screen(target, *args, **kw):
    argv = [KRAIT, "top", "-p", target.pid, "-i", "200ms", "-F", 999] + list(args)
    return Terminal(argv, **kw)


def rows_of(text):
    """Returns the functions' names in the table on the screen."""
    lines = text.split("\n")
    return [l.split("s ", 1)[-1].strip(" >") for l in lines[4:-1] if l.strip()]


@case
def keys():
    """Each key does what the screen's last line and the help page say it does."""
    with python(SHARES) as target, on_screen(target, *PYTHON_ONLY) as t:
        text = t.wait(lambda text: "three (<string>" in text and "CPU" in text)
        check("pid %d" % target.pid in text and "q quit" in text, text)
        check(all(len(line) <= 80 for line in text.split("\n")), text)
        check("until" in text.split("\n")[4], "not sorted by self: " + text)
        t.type("s", "by TOTAL%")
        t.type("S", "by OWN%")
        t.type("\t", "[lines]")
        t.type("\t", "[modules]")
        t.type("\t", "[threads]")
        t.wait("(tid %d)" % target.pid)
        t.type("\x1b[Z", "[modules]")
        t.type("l", "[lines]")
        t.type("l", "[functions]")
        t.type("t", "by CPU%")
        t.type("t", lambda text: "[functions]" in text and "by OWN%" in text)
        t.type("t", "[threads]")
        t.type("z", lambda text: "[functions]" in text and "by OWN%  tid" in text)
        t.type("z", lambda text: "all processes and threads" in text and "  tid" not in text)
        t.type("/thr")
        text = t.wait(lambda text: "three (" in text and "one (" not in text)
        t.type("\r", lambda text: "/thr" in text and "q quit" in text)
        t.type("c", "one (<string>")
        t.type("?", "any key")
        t.type("x", "q quit")
        t.type("/until\r", lambda text: len(rows_of(text)) == 1)
        text = t.type("\r", "CALLERS OF until")
        check("three (<string>" in text and "one (<string>" in text, text)
        text = t.type("\x1b", "[functions]")
        t.type("c/work\r", lambda text: len(rows_of(text)) == 1)
        text = t.type("f", lambda text: "|three" in text)
        boxes = re.search(r"^(.*)\|three", text, re.M)
        check(boxes, text)
        t.type("\t", lambda text: "|<module>" in text and "|three" not in text)
        t.type("\x1b", "[functions]")
        t.type("r")
        t.wait("0:00:00")
        code, said = t.end()
        check(code == 0 and "samples of 1 process" in said, said)


TOUCHES = """
import mmap, time
def touches(m):
    for i in range(20000):
        m[i * 4096] = 1
def computes():
    while time.thread_time() < .5:
        pass
m = mmap.mmap(-1, 20000 * 4096)
m.madvise(mmap.MADV_NOHUGEPAGE)
touches(m)
computes()
"""


@case
def event_key():
    """Key e switches to the next of several events: the screen's head shows that event's name and
    unit, and the rows show its sums."""
    def number(text, function):
        found = re.search(r" (\d+)[ >]+%s \(" % function, text)
        return int(found[1]) if found else 0

    argv = [KRAIT, "top", "-i", "200ms", "-e", "cpu-clock/freq=999/", "-e", "page-faults/period=1/", *PYTHON_ONLY,
            "--", PYTHON, "-c", TOUCHES]
    with Terminal(argv) as t:
        text = t.wait(lambda text: "ended" in text and "computes (" in text)
        check("cpu (nanoseconds)" in text and "CPU" in text, text)
        text = t.type("e", "page-faults (count)")
        check(20000 <= number(text, "touches") <= 20040, text)
        check("computes (" not in text or number(text, "computes") < 100, text)
        total = re.search(r"\((\d+) in all\)", text)
        check(total and number(text, "<module>") <= int(total[1]), text)
        t.type("\r", "CALLERS OF touches")
        t.type("e", "cpu (nanoseconds)")
        t.type("\x1b", lambda text: "computes (" in text and "[functions]" in text)
        t.end()
    with python(SHARES) as target, on_screen(target, *PYTHON_ONLY) as t:
        t.wait("three (<string>")
        t.type("e", "one event is recorded; give -e NAME more than once")
        t.end()
    # With --wall there are two more values than with events.
    with python(SHARES) as target, on_screen(target, "--wall", *PYTHON_ONLY) as t:
        t.wait("three (<string>")
        for words in ("cpu (nanoseconds)", "off_cpu (nanoseconds)", "gil_wait (nanoseconds)", "gil_blame (nanoseconds)", "lock_blame (nanoseconds)", "wall (nanoseconds)"):
            t.type("e", words)
        t.end()


@case
def pause_and_reset():
    """While top is paused, its screen doesn't change. Samples that are taken meanwhile are in the
    next interval."""
    with python(SHARES) as target, on_screen(target, *PYTHON_ONLY) as t:
        t.wait("three (<string>")
        before = t.type("p", "paused").split("\n")[3:-1]
        t.read(.6)
        check(t.text().split("\n")[3:-1] == before, "top goes on while it is paused: " + t.text())
        t.type(" ", lambda text: "paused" not in text and text.split("\n")[3:-1] != before)
        code, said = t.end("\x03")
        check(code == 0, said)


@case
def opened_goes_on():
    """A row that is opened goes on changing: the times in its tree and flame graph grow, and the
    shares stay the same."""
    with python(SHARES) as target, on_screen(target, *PYTHON_ONLY) as t:
        t.wait("three (<string>")
        t.type("/until\r", lambda text: len(rows_of(text)) == 1)
        for key, shown in ("\r", r"([0-9.]+)s +[-+ ] +three "), ("f", r"% ([0-9.]+)s +until "):
            text = t.type(key, lambda text, shown=shown: re.search(shown, text))
            before = float(re.search(shown, text)[1])
            t.wait(lambda text, shown=shown, before=before: float(re.search(shown, text)[1]) > before + .5)
        row, = re.findall(r"^.*\|three.*$", t.text(), re.M)
        box, = re.findall(r"\|three[^|]*", row.ljust(80))
        check("|one" in row and 50 < len(box) < 70, "three has three parts of four of 80 columns: " + t.text())
        check(t.end()[0] == 0, "exit code")


@case
def sizes():
    """The terminal changes its size while top runs: top never draws beyond its edges."""
    with python(SHARES) as target, on_screen(target, *PYTHON_ONLY) as t:
        t.wait("three (<string>")
        t.type("p", "paused")
        for rows, cols in (50, 200), (10, 40), (1, 1), (2, 300), (5, 12), (24, 80):
            t.resize_and_settle(rows, cols)
            for key in "\r", "\t", "f", "\x1b", "?", "x", "\x1b":
                t.type(key)
        t.wait("TOTAL%", 20)
        t.resize_and_settle(40, 160)
        t.wait("TOTAL%ALL", 20)
        check(t.end()[0] == 0, "exit code")


@case
def colors():
    """On a terminal top uses colours, with NO_COLOR none; the chosen row can be recognized in both
    cases."""
    with python(SHARES) as target:
        with on_screen(target, "--with-native") as t:
            t.wait("([kernel])", 20)
            check(t.end()[0] == 0 and t.colors, "top draws no colours")
        with on_screen(target, *PYTHON_ONLY, env={"NO_COLOR": "1"}) as t:
            text = t.wait("three (<string>")
            check(" > " in text and "*OWN%" in text, text)
            check(t.end()[0] == 0 and not t.colors, "colours: %s" % t.colors)


@case
def screen_target_ends():
    """When the target ends, top leaves its screen open, and says that the target has ended."""
    with python(SHARES) as target, on_screen(target, *PYTHON_ONLY) as t:
        t.wait("<module>")
        target.stop()
        text = t.wait("ended")
        check("<module>" in text, text)
        t.type("\t", "[lines]")
        check(t.end()[0] == 0, "exit code")


@case
def writes():
    """Keys write the screen, and the profile so far, to files."""
    with folder() as place, python(SHARES) as target, on_screen(target, *PYTHON_ONLY) as t:
        text, profile = os.path.join(place, "x.txt"), os.path.join(place, "x.pb.gz")
        t.wait("three (<string>")
        t.type("w", "write the screen to: krait-top.txt")
        t.type("\x7f" * 20 + text + "\r", "written")
        t.type("W" + "\x7f" * 20 + profile + "\r", "written: " + profile)
        t.type("W" + "\x7f" * 20 + "/nowhere/x.svg\r", "No such file")
        with open(text) as f:
            shown = f.read()
        check("krait top pid" in shown and "three (<string>" in shown, shown)
        read = pprof.read(profile)
        check(sum(s.values[0] for s in read.samples) > 20, "hardly a sample")
        check(t.end()[0] == 0, "exit code")


# A program that prints each line in a single write, also with PYTHONUNBUFFERED.
TALKS = "import os, sys\nos.write(1, b'told\\n')\nif sys.argv[1:]: sys.exit('gone')\n" + SHARES


@case
def command():
    """With --json the output of top's command isn't mixed into krait's own output. krait ends with
    the command's exit code."""
    ends = TALKS.replace("while True:", "while now < .8:") + "sys.exit(7)"
    done = krait("top", "--json", "-F", 999, "-i", "200ms", "-n", 1, "--", PYTHON, "-c", ends)
    check(done.returncode == 7, "exit code %d: %s" % (done.returncode, done.stderr))
    check("table" in json.loads(done.stdout), done.stdout)
    check("told\n" in done.stderr and "the command goes on" in done.stderr, done.stderr)
    refused(127, "no command", "top", "-n", 1, "--", "no-such-command")
    refused(2, "exclude", "top", "-p", 1, "--", PYTHON)


@case
def screen_command():
    """While the screen is shown, the command's output is held back until top ends. When top has
    ended, the command goes on."""
    options = ["-i", "200ms", "-F", 999, *PYTHON_ONLY, "--", PYTHON, "-c", TALKS]
    with Terminal([KRAIT, "top", *options]) as t:
        text = t.wait("until (<string>", 20)
        check("krait top " + PYTHON[:8] in text and "told" not in t.raw, text)
        t.strict = False
        t.type("q")
        for _ in range(100):
            if "told" in t.raw:
                break
            t.read(.1)
        check("told" in t.raw and t.process.poll() is None, "it doesn't go on: %r" % t.raw[-200:])
        code, said = t.end("\x03")
        check(code == 130 and "Ctrl-C ends it" in said, "exit code %d: %s" % (code, said))
    with Terminal([KRAIT, "top", *options, "x"]) as t:
        t.wait("ended", 20)
        t.strict = False
        code, said = t.end()
        check(code == 1 and "told" in t.raw and "gone" in t.raw, "%d: %r" % (code, t.raw[-200:]))


@case
def killed():
    """Whatever signal ends top, top restores the terminal. This also holds if a second signal comes
    while top restores the terminal."""
    with python(SHARES) as target:
        for number in signal.SIGQUIT, signal.SIGUSR1, signal.SIGTERM:
            with on_screen(target) as t:
                t.wait("q quit")
                if number == signal.SIGTERM:
                    t.fill()
                for _ in range(20):
                    os.kill(t.pid, number)
                    try:
                        # krait counts signals as one signal if less than this time passes between
                        # them
                        t.process.wait(.7)
                        break
                    except subprocess.TimeoutExpired:
                        pass
                code = t.end("")[0]
                check(code == -number, "exit code %d" % code)


NAMES = """
import sys
def f(): sum(range(100000))
evil = ["\\x1b[2J\\x1b[31mboo", "a" * 4000, "\\u4e2d\\u6587" * 60, "\\u202egnp", "nul\\x00x", "tab\\tx"]
made = []
for name in evil:
    made.append(type(f)(f.__code__.replace(co_name=name, co_qualname=name)
                        if sys.version_info >= (3, 11) else f.__code__.replace(co_name=name), {"sum": sum}))
while True:
    for g in made: g()
"""


@case
def names():
    """Escape sequences in names have no effect on the terminal, and wide names don't leave their
    line."""
    with python(NAMES) as target, on_screen(target, *PYTHON_ONLY) as t:
        text = t.wait("[31mboo")
        check("\u4e2d" in text and "?gnp" in text, text)
        t.type("f", ">")
        check(t.end()[0] == 0, "exit code")


THREADS = """
import threading, time
def work(n):
    go.wait()
    while True:
        sum(range(2000))
        time.sleep(.05)
go = threading.Event()
for i in range(1000):
    threading.Thread(target=work, args=(i,), daemon=True).start()
go.set()
threading.Event().wait()
"""


@case
def thousand_threads():
    """With a process of 1,000 threads, each key costs krait less than 0.2 s of CPU time."""
    with python(THREADS) as target, on_screen(target, "--threads", rows=40) as t:
        t.wait(lambda text: int((re.search("processe?s? +([0-9]+) by", text) or [0, 0])[1]) > 300, 40,
               "300 threads")
        before = cpu_seconds(t.pid)
        keys = (("\t", "[processes]"), ("\t", "[functions]"), ("/work\r", "/work"),
                ("\r", "CALLERS"), ("\x1b", "q quit"), ("t", "[threads]"), (END, "[threads]"))
        for key, shown in keys:
            t.type(key, shown, 20)
        # measures krait's own CPU time, because wall time says nothing on a busy machine
        used = (cpu_seconds(t.pid) - before) / len(keys)
        check(used < .2, "%.2f s of CPU a key" % used)
        check(t.end()[0] == 0, "exit code")


@case
def cost():
    """top at 99 Hz, watching one program, costs less than 1 % of a CPU core."""
    with python(SHARES) as target, \
            Terminal([KRAIT, "top", "-p", target.pid, "--threads"]) as t:
        t.wait("(tid %d)" % target.pid)
        t.read(3)
        seconds = 60 if FULL else 5
        before = cpu_seconds(t.pid)
        t.read(seconds)
        percent = 100 * (cpu_seconds(t.pid) - before) / seconds
        print("krait top: %.2f %% of one core" % percent)
        # The CPU time is counted in steps of 10 ms, each of which is 0.2 % of these few seconds.
        check(percent < (1 if FULL else 2), "%.2f %% of one core" % percent)
        check(t.end()[0] == 0, "exit code")


sys.exit(main())
