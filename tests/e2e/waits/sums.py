#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The times that a thread ran, waited and was ready to run add up to its whole life, no more and no
less. The truth is the kernel's accounting: each thread reads its CPU time, how long it was ready
(schedstat), and the clock."""
import collections
import json
import os
import re
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import by_thread, check, folder, krait, python, waited

# Code for the programs. Each thread prints [tid, ns that passed, CPU time in ns, ns ready to run,
# ns ready to run before the first statement].
KIT = kit.ACCOUNT + """
import hashlib, json, os, queue, random, resource, select, signal, socket, subprocess, sys
told, apart = [], []
def final():
    return account()
def inner(work, arg):
    work(arg)
def life(work, arg, born):
    first = account()
    inner(work, arg)
    last = final()
    told.append([threading.get_native_id()] + [b - a for a, b in zip(first, last)] + [first[2]])
    apart.append((first[0] - born - first[1] - first[2], last[0]))
def begin(work, arg=None):
    thread = threading.Thread(target=life, args=(work, arg, time.monotonic_ns()))
    thread.start()
    return thread
"""

# A program with 200 threads, some of which begin while others end. The last threads still wait when
# the process ends.
LIVES = KIT + """
random.seed(7)
until = time.monotonic() + 2.5
def left():
    return max(0, until - time.monotonic())
def sleeps(i):
    while left():
        time.sleep(random.uniform(0, 0.05))
def naps(i):
    time.sleep(0.3 + i % 10 / 20)
def waits_for_lock(lock):
    lock.acquire()
    lock.release()  # the next thread gets the lock
def waits_for_item(q):
    while q.get():
        pass
def reads(fd):
    while os.read(fd, 1) == b"x":
        pass
def receives(s):
    while s.recv(1) == b"x":
        pass
def polls(fd):
    while not select.select([fd], [], [], 0.02)[0] and left():
        pass
def syncs(i):
    with open("%s.%d" % (sys.argv[1], i), "wb") as f:
        while left():
            f.write(bytes(50000))
            os.fsync(f.fileno())
            time.sleep(0.02)
def starts(i):
    while left():
        subprocess.call(["/bin/true"])
        time.sleep(0.2)
def signals(i):
    while left():
        signal.sigtimedwait([signal.SIGUSR2], 0.1)
def hashes(i):
    while left():
        hashlib.pbkdf2_hmac("sha256", b"x", b"y", 3000)
def spins(i):
    while left() > 1.5:
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
time.sleep(0.1)  # krait examines the process during this sleep
lock = threading.Lock()
lock.acquire()
q = queue.Queue()
pipes = [os.pipe() for _ in range(30)]
pairs = [socket.socketpair() for _ in range(10)]
threads = [begin(sleeps, i) for i in range(40)] + [begin(waits_for_lock, lock) for _ in range(20)]
threads += [begin(waits_for_item, q) for _ in range(20)] + [begin(reads, r) for r, _ in pipes[:20]]
threads += [begin(receives, s) for s, _ in pairs] + [begin(polls, r) for r, _ in pipes[20:]]
threads += [begin(syncs, i) for i in range(3)] + [begin(starts, i) for i in range(2)]
threads += [begin(signals, i) for i in range(5)] + [begin(hashes, i) for i in range(2)]
threads += [begin(spins, i) for i in range(4)] + [begin(naps, i) for i in range(34)]
turn = 0
while left():
    q.put(1)
    os.write(pipes[turn % 20][1], b"x")
    pairs[turn % 10][1].send(b"x")
    turn += 1
    if turn % 25 == 0:
        threads.append(begin(naps, turn % 3))
    time.sleep(0.01)
lock.release()
for _ in range(20):
    time.sleep(0.01)
    q.put(0)
for (_, w), s in zip(pipes, pairs + pairs[:1] * 20):
    os.write(w, b"e")
    s[1].send(b"e")
for thread in threads:
    thread.join()
n = len(told)
# The following threads still wait when the process ends.
began, last = {}, threading.Event()
def inner(i):
    if i % 2:
        time.sleep(60)
    last.wait()
def stays(i):
    began[threading.get_native_id()] = account()
    inner(i)
for i in range(30):
    threading.Thread(target=stays, args=(i,), daemon=True).start()
while len(began) < 30:
    time.sleep(0.01)
time.sleep(0.5)
now = time.monotonic_ns()
for tid, (t, cpu, delay) in began.items():
    with open("/proc/self/task/%d/schedstat" % tid) as f:
        ran, waited, _ = map(int, f.read().split())
    told.append([tid, now - t, ran - cpu, waited - delay, delay])
print(json.dumps(told), flush=True)
os._exit(0)
"""

LAST = 30
SHARE = 0.001
# by how many ns a sum may be off, because a thread reads its accounts one after another
SLACK_NS = 300000
# by how many ns the sum of a thread may be off that lost its CPU between two readings of its
# accounts
ONE_NS = 8000000


def record(d, source, *options):
    """Records the program @source. Returns (what the program said, the profile, the summary as
    JSON, krait's messages)."""
    script, out, summary = (os.path.join(d, name) for name in ("sums.py", "o.pb.gz", "o.json"))
    with open(script, "w") as f:
        f.write(source)
    done = krait("record", *options, "-v", "-o", out, "--summary-json", summary, "--", kit.PYTHON, script,
                 d + "/file", timeout=120)
    check(done.returncode == 0, done.stderr)
    with open(summary) as f:
        return json.loads(done.stdout), kit.pprof.read(out), json.load(f), done.stderr


def agree(summary, said, ready=0):
    """krait itself compares two sums: its waits, added up from switch to switch, and the waiting
    time of the kernel's accounts. Checks that the two sums are equal. @ready: how long the
    threads were ready to run; the kernel and the switches disagree by some microseconds on when
    such a time ends."""
    one, other = summary["wait_check"]["switches_ns"], summary["wait_check"]["kernel_ns"]
    slack = SHARE * other + 20000 * summary["wait_check"]["threads"] + 0.0003 * ready
    check(other and abs(one - other) <= slack, "%s\n%s" % (summary["wait_check"], said))
    check(re.search(r"the waits of \d+ threads add up to [0-9.]+ s as krait measured them", said), said)


@kit.case
def lives():
    """200 threads have every kind of wait. Each thread's recorded waits are right, and so is how
    long it was ready to run."""
    with folder() as d:
        # with this budget krait takes the stack of every wait
        told, profile, summary, said = record(d, LIVES, "--wall", "--wait-budget", "100")
    check(len(told) >= 200, len(told))
    sums, everywhere, all_of, off = by_thread(profile, "inner", "final"), by_thread(profile), collections.Counter(), []
    # The last threads print their accounts and then wait for the process to end: all of them for
    # the same time, @late.
    late = statistics.median(waited(sums[tid]) - (passed - cpu - ready) for tid, passed, cpu, ready, _ in told[-LAST:])
    check(-SLACK_NS <= late < 0.5e9, "%d ns between what the last threads tell and the end\n%s" % (late, said))
    for i, (tid, passed, cpu, ready, before) in enumerate(told):
        rest, got = passed - cpu - ready + (late if i >= len(told) - LAST else 0), waited(sums[tid])
        all_of.update(passed=passed, rest=rest, ready=ready + before, waited=got, runnable=everywhere[tid]["runnable"])
        if abs(got - rest) > SHARE * passed + ONE_NS:
            off.append("%d waited %d, recorded %s" % (tid, rest, dict(sums[tid])))
    check(abs(all_of["waited"] - all_of["rest"]) <= SHARE * all_of["passed"] + SLACK_NS * len(told), "waited: %s" % all_of)
    # The recording also has what a thread does after it has read its accounts. How long the thread
    # is ready to run after that isn't known.
    check(0.999 * all_of["ready"] - SLACK_NS * len(told) <= all_of["runnable"] <= 1.1 * all_of["ready"] + ONE_NS * len(told),
          "ready: %s\n%s" % (all_of, said))
    check(len(off) <= len(told) // 50, "\n".join(off))
    agree(summary, said)


# A program in which two pairs of threads pass a byte back and forth on all CPUs, as fast as they
# can. The program also prints how long the threads may have waited before and after their accounts,
# and how many waits the kernel counted.
SHORT = KIT + """
ends, until = [os.pipe() for _ in range(4)], time.monotonic() + 2
def echoes(i):
    while os.read(ends[i][0], 1) == b"x":
        os.write(ends[i + 1][1], b"x")
def asks(i):
    while time.monotonic() < until:
        os.write(ends[i][1], b"x")
        os.read(ends[i + 1][0], 1)
    os.write(ends[i][1], b"e")
time.sleep(0.1)
for thread in [begin(f, i) for i in (0, 2) for f in (echoes, asks)]:
    thread.join()
over = time.monotonic_ns()
rest = sum(before + over - last for before, last in apart)
print(json.dumps([told, rest, resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw]))
"""


@kit.case
def short_waits():
    """Many waits of some microseconds add up, within 0.1 %, to the waiting time that follows from
    the kernel's accounts."""
    with folder() as d:
        (told, outside, waits), profile, summary, said = record(d, SHORT, "--wall")
    # krait takes only some stacks, by chance, so the time of waits before and after account() may
    # count at inner().
    sums = by_thread(profile)
    rest = sum(passed - cpu - ready for _, passed, cpu, ready, _ in told)
    got = sum(waited(sums[tid]) for tid, *_ in told)
    check(waits > 20000, "only %d waits" % waits)
    slack = SHARE * rest + SLACK_NS * len(told)
    check(rest - slack <= got <= rest + outside + slack,
          "waited %d and up to %d more, recorded %d, %d waits: %s" % (rest, outside, got, waits, summary["wait_check"]))
    agree(summary, said)


# A program whose four threads don't need the GIL and share one CPU. They wait while the program
# reads the kernel's accounts.
STARVED = KIT + """
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
done, last = [], threading.Event()
def hashes(i):
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        hashlib.pbkdf2_hmac("sha256", b"x", b"y", 3000)
def stays(i):
    hashes(i)
    done.append(threading.get_native_id())
    last.wait()
time.sleep(0.1)
for i in range(4):
    threading.Thread(target=stays, args=(i,), daemon=True).start()
while len(done) < 4:
    time.sleep(0.01)
time.sleep(0.3)
for tid in done:
    with open("/proc/self/task/%d/schedstat" % tid) as f:
        told.append([tid, int(f.read().split()[1])])
print(json.dumps(told), flush=True)
os._exit(0)
"""


@kit.case
def too_small():
    """Threads never wait, but can't always get a CPU: how long they were ready to run is recorded
    on the lines that they ran, and a closing line says so."""
    with folder() as d:
        told, profile, summary, said = record(d, STARVED, "--wall")
        text = krait("report", "--value", "wall", d + "/o.pb.gz").stdout
    at = [name for name, _ in profile.sample_types].index("off_cpu")
    ready = sum(ns for _, ns in told)
    runnable = [s for s in profile.samples if s.labels.get("state") == "runnable" and int(s.labels["tid"]) in [t[0] for t in told]]
    got = sum(s.values[at] for s in runnable)
    check(0.999 * ready - 4 * SLACK_NS <= got <= 1.05 * ready + 4 * ONE_NS, "ready %d, recorded %d" % (ready, got))
    here = sum(s.values[at] for s in runnable if "hashes" in [l.name for l in profile.stack(s)])
    check(here >= 0.95 * got, "%d of %d in hashes()" % (here, got))
    check(summary["runnable_ns"] >= got, (summary["runnable_ns"], got))
    check(re.search(r"threads were ready to run for [0-9.]+ s, but had no CPU: longer than they ran", said), said)
    check("of wall time" in text and "hashes" in text, text)


@kit.case
def still_there():
    """If threads live longer than the recording, their waiting counts until the recording's end."""
    source = KIT.replace("told = []", "") + """
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
def hashes(i):
    while True:
        hashlib.pbkdf2_hmac("sha256", b"x", b"y", 3000)
for i in range(3):
    threading.Thread(target=hashes, args=(i,)).start()
time.sleep(60)
"""
    def delays(pid):
        return {tid: int(open("/proc/%d/task/%s/schedstat" % (pid, tid)).read().split()[1])
                for tid in os.listdir("/proc/%d/task" % pid)}
    with folder() as d, python(source) as program:
        kit.wait_for(lambda: len(delays(program.pid)) == 4, 10)
        before = delays(program.pid)
        out = os.path.join(d, "o.pb.gz")
        done = krait("record", "--wall", "-d", "1", "-v", "-o", out, "-p", program.pid)
        after = delays(program.pid)
        check(done.returncode == 0, done.stderr)
        sums = by_thread(kit.pprof.read(out))
    for tid in before:
        most, got = after[tid] - before[tid], sums[int(tid)]["runnable"]
        check(got <= most + 50e6, "%s was ready for %d, recorded %d" % (tid, most, got))
    got = sum(s["runnable"] for s in sums.values())
    # Three threads share one CPU: two of them are ready to run at any time.
    check(2 * 1e9 * 0.97 <= got, "ready for %d\n%s" % (got, done.stderr))


# A program that shares its CPU with another process. It computes, calls execve() of itself, and
# computes again. It prints [its pid; how long the thread was ready in its life; if a thread other
# than the first one called execve(), how long the first one was ready before that, else 0; how long
# the first thread was ready before the program's first statement].
EXECS = KIT + """
def hashes(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        hashlib.pbkdf2_hmac("sha256", b"x", b"y", 3000)
def first_thread():
    with open("/proc/self/task/%d/schedstat" % os.getpid()) as f:
        return int(f.read().split()[1])
def first_image(child, waits):
    hashes(0.7)
    numbers = child, first_thread() if waits else 0, began
    os.execv(sys.executable, [sys.executable] + sys.argv + list(map(str, numbers)))
if len(sys.argv) > 2:
    hashes(0.7)
    print(json.dumps([os.getpid(), ready()] + list(map(int, sys.argv[3:]))), flush=True)
    os.kill(int(sys.argv[2]), signal.SIGKILL)
    os._exit(0)
began = ready()
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
child = os.fork()
if not child:
    hashes(20)
    os._exit(1)
time.sleep(0.1)
if IN_THREAD:
    thread = threading.Thread(target=first_image, args=(child, True))
    thread.start()
    thread.join()
first_image(child, False)
"""


@kit.case
def execs():
    """What a thread did before execve() counts exactly once, whether the first thread or another
    thread calls execve()."""
    for in_thread in False, True:
        with folder() as d:
            told, profile, summary, said = record(d, EXECS.replace("IN_THREAD", str(in_thread)), "--wall")
        pid, ready, before, early = told
        at = [name for name, _ in profile.sample_types].index("off_cpu")
        got = sum(s.values[at] for s in profile.samples if s.labels["pid"] == str(pid) and s.labels.get("state") == "runnable")
        check(ready > 3e8, ready)
        # Nobody can tell how long threads are still ready to run between their last account and
        # their end.
        check(0.999 * (ready + before - early) - 4 * SLACK_NS <= got <= 1.05 * (ready + before) + 2 * ONE_NS + 2e8,
              "in a thread: %s; ready for %d and %d, recorded %d\n%s" % (in_thread, ready, before, got, said))
        agree(summary, said, ready + before)


def quota_group():
    """Makes a control group that may use 2 % of a CPU. Returns its directory; None: this test has
    no right to make one."""
    # krait shows the longest of a process's paths in the trees of cgroup v1, so this name is longer
    # than other names.
    name = "krait-throttled-%d-%s" % (os.getpid(), "x" * 64)
    for tree, quota in (("/cpu", "cpu.cfs_quota_us"), ("/cpu,cpuacct", "cpu.cfs_quota_us"), ("", "cpu.max")):
        at = os.path.join("/sys/fs/cgroup" + tree, name)
        try:
            os.mkdir(at)
            with open(os.path.join(at, quota), "w") as f:
                f.write("2000")
            return at
        except OSError:
            if os.path.isdir(at):
                os.rmdir(at)
    return None


def throttled_ns(group):
    with open(group + "/cpu.stat") as f:
        words = dict(line.split() for line in f)
    return int(words["throttled_usec"]) * 1000 if "throttled_usec" in words else int(words["throttled_time"])


@kit.case
def throttled():
    """For a control group with a CPU quota krait says how long the group was throttled, and that
    its thread therefore was ready to run but had no CPU."""
    group = quota_group()
    if not group:
        raise kit.Skip("no control group with a quota can be made here")
    try:
        with folder() as d, python("import threading\nwhile True: pass") as program:
            with open(group + "/cgroup.procs", "w") as f:
                f.write(str(program.pid))
            before = throttled_ns(group)
            done = krait("record", "--wall", "-d", "1.5", "-v", "-o", d + "/o.pb.gz", "-p", program.pid)
            after = throttled_ns(group)
            check(done.returncode == 0, done.stderr)
    finally:
        kit.wait_for(lambda: not open(group + "/cgroup.procs").read(), 5)
        os.rmdir(group)
    found = re.search(r"control group (/krait-throttled\S+) had used up its CPU quota for ([0-9.]+) s", done.stderr)
    check(found and group.endswith(found[1]), done.stderr)
    # krait reads the group twice, between the two readings of this test.
    check(0.8 <= float(found[2]) <= (after - before) / 1e9 + 0.05, "%d ns: %s" % (after - before, found[0]))
    check("had no CPU: longer than they ran" in done.stderr, done.stderr)


@kit.full_case
def budget():
    """--wait-budget limits what stacks of waits cost. With a smaller budget, fewer stacks are
    taken."""
    taken = {}
    with folder() as d:
        for percent in "0.1", "30":
            *_, said = record(d, SHORT.replace("+ 2", "+ 1"), "-e", "wait", "--wait-budget", percent)
            found = re.search(r"stacks were taken for ([0-9.]+) %% of (\d+) waits, .* more than %s %% of a CPU" % percent, said)
            taken[percent] = float(found[1]) * int(found[2]) / 100 if found else 1e9
    check(taken["0.1"] * 10 < taken["30"], taken)


@kit.case
def wrong_budget():
    """--wait-budget takes 0.1 to 100 % and needs recorded waits; everything else is refused."""
    for wrong in "0.09", "0", "101", "100.1", "-1", "x", "1 %%", "":
        kit.refused(2, "0.1 to 100", "record", "--wall", "--wait-budget=" + wrong, "-p", os.getpid())
    kit.refused(2, "without --wall", "record", "--wait-budget", "1", "-p", os.getpid())


if __name__ == "__main__":
    sys.exit(kit.main())
