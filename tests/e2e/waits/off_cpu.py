#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`krait record -e wait`: how long each thread waits, where, and what for. The program knows what
each of its lines waits for. The truth of the times is the kernel's accounting of each thread: a
thread waits while it neither runs nor is ready to run."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import by_thread, check, folder, krait, python, waited

# rest() returns how long the thread neither ran nor was ready to run. This includes time that the
# host stole from this machine.
REST = kit.ACCOUNT + """
def rest():
    now, cpu, delay = account()
    return now - cpu - delay
"""
# A program in which each function waits for one thing. Its thread prints [the thread's number, how
# long it waited].
WAITS = REST + """
import json, os, select, socket, subprocess, sys
told = {}
def final():  # the thread may wait for the GIL before it reads the accounts
    return rest()
def timed(f):
    before = rest()
    f()
    told[f.__name__] = threading.get_native_id(), final() - before
lock = threading.Lock()
lock.acquire()
mine, other = socket.socketpair()
out, into = os.pipe()
def sleep():
    for _ in range(20):
        time.sleep(0.05)
def lock_():
    lock.acquire()
def net():
    mine.recv(1)
def pipe():
    os.read(out, 1)
def poll():
    select.select([sys.stdin], [], [], 1)
def child():
    subprocess.call(["sleep", "1"])
def disk():
    with open(sys.argv[1], "wb") as f:
        for _ in range(50):
            f.write(bytes(200000))
            f.flush()
            os.fsync(f.fileno())
def begin(work):
    thread = threading.Thread(target=timed, args=(work,))
    thread.start()
    return thread
time.sleep(0.05)  # gives krait time to examine the process; krait sees it first when it waits
threads = [begin(f) for f in (sleep, lock_, net, pipe, poll, child, disk)]
time.sleep(1.2)
lock.release()
other.send(b"x")
os.write(into, b"x")
for thread in threads:
    thread.join()
print(json.dumps(told))
"""
KINDS = ("sleep", "lock_", "net", "pipe", "poll", "child", "disk")
# By how much the recorded waiting may differ from what the thread measures itself: a thread can't
# read all clocks at one moment, and the system's clock may be slewed (500 ppm), while a thread's
# isn't.
SLACK_NS = 300000
SHARE = 0.001
# how long other waits than those of a function may take in sum, such as the wait for the pipe by
# which a child says that it has begun
OTHERS_NS = 2000000


def by_function(profile, names, value="off_cpu"):
    """Returns {(function, state): sum of the value} of samples with one of these functions."""
    at = [name for name, _ in profile.sample_types].index(value)
    sums = collections.Counter()
    for sample in profile.samples:
        if sample.labels.get("state") == "runnable":
            continue  # tests/e2e/waits/sums.py
        frames = [l.name for l in profile.stack(sample) if l.kind == "python"]
        for name in names:
            if name in frames:
                sums[name, sample.labels.get("state")] += sample.values[at]
    return sums


def record(d, source, *options):
    """Records the program @source. Returns (what the program said, the profile, krait's messages).
    """
    script, out = os.path.join(d, "waits.py"), os.path.join(d, "o.pb.gz")
    with open(script, "w") as f:
        f.write(source)
    r, w = os.pipe()
    try:
        done = krait("record", *options, "-o", out, "--", kit.PYTHON, script, d + "/file", stdin=r,
                     timeout=120)
    finally:
        os.close(r)
        os.close(w)
    check(done.returncode == 0, done.stderr)
    return json.loads(done.stdout), kit.pprof.read(out), done.stderr


@kit.case
def kinds():
    """Each kind of wait is recorded with its reason and its line, and takes as much time as the
    thread's own accounts say."""
    with folder() as d:
        told, profile, said = record(d, WAITS, "-e", "wait")
    check(profile.sample_types[1] == ("off_cpu", "nanoseconds"), profile.sample_types)
    for name in KINDS:
        tid, rest = told[name]
        states = by_thread(profile, name, "final")[tid]
        check(abs(waited(states) - rest) <= SHARE * rest + SLACK_NS,
              "%s waited %d ns, and %d were recorded: %s" % (name, rest, waited(states), states))
        others = waited(states) - states[name.rstrip("_")] - states["gil"] - states["stolen"]
        check(others <= SHARE * rest + OTHERS_NS, "%s also waited for something else: %s" % (name, states))
    check("threads waited" in said, said)


@kit.case
def beside_cpu_clock():
    """A recording with --wall has both CPU time and waiting, and each sample says whether its
    thread ran or waited."""
    with folder() as d:
        _, profile, said = record(d, WAITS, "--wall")
    types = [name for name, _ in profile.sample_types]
    check(types == ["samples", "cpu", "off_cpu", "gil_wait", "gil_blame", "lock_blame"], types)
    for sample in profile.samples:
        cpu, waited = sample.values[1:3]
        if sample.values[types.index("lock_blame")]:
            check(not cpu and not waited and "state" not in sample.labels, (sample.values, sample.labels))
            continue
        running = sample.labels.get("state") == "running"
        check(bool(cpu) == running and bool(waited) != running, (sample.values, sample.labels))
    check(" of cpu-clock, " in said, said)


BEGINS = """
import json, time
def long():
    time.sleep(1)
time.sleep(0.05)
began = time.time_ns()
long()
print(json.dumps(began))
"""


@kit.case
def time_of_a_wait():
    """The time of a wait's sample is when the wait began. So formats with a time axis draw the wait
    where it was."""
    with folder() as d:
        began, profile, _ = record(d, BEGINS, "-e", "wait", "--times")
    times = [profile.time_nanos + int(s.labels["time"]) for s in profile.samples
             if "long" in [l.name for l in profile.stack(s)] and s.values[1] > 5e8]
    check(len(times) == 1 and 0 <= times[0] - began < 1e8, "began at %d, recorded %s" % (began, times))


IDLE = """
import time
while True:
    end = time.thread_time() + 0.002
    while time.thread_time() < end: pass
    time.sleep(0.05)
"""


@kit.case
def says_where():
    """If waits were recorded but an output doesn't show them by default, krait says how to see
    them."""
    with folder() as d, python(IDLE) as program:
        def said(*options):
            done = krait("record", "-d", "1", "-p", program.pid, *options)
            check(done.returncode == 0 and "krait dump" not in done.stderr, done.stderr)
            return done.stderr
        for name, words in (("o.svg", "svg shows only one value, not the waits; --value off_cpu"),
                            ("o.folded", "folded shows only one value, not the waits; --value off_cpu"),
                            ("o.pb.gz", "`krait report --value off_cpu %s/o.pb.gz` shows where" % d)):
            check(words in said("--wall", "-o", "%s/%s" % (d, name)), "not said of %s: %s" % (name, words))
        report = krait("report", d + "/o.pb.gz").stdout
        check(re.search(r"The main thread was asleep \d+ % of its time at ", report), report)
        report = krait("report", "--value", "off_cpu", "--state", "sleep", d + "/o.pb.gz").stdout
        check("of the time waiting is" in report, report)
        for options in ("-e", "wait"), ("--wall", "--value", "off_cpu"):
            words = said(*options, "-o", d + "/x.folded")
            check("--value off_cpu" not in words, words)


SLEEPS = """
import time
def often():
    for _ in range(100):
        time.sleep(0.01)
def long():
    time.sleep(60)
often()
long()
"""


@kit.case
def still_waiting():
    """A wait that isn't over when the recording ends counts up to that end."""
    with folder() as d, python(SLEEPS) as program:
        out = os.path.join(d, "o.pb.gz")
        done = krait("record", "-e", "wait", "-d", "4", "-o", out, "-p", program.pid)
        check(done.returncode == 0, done.stderr)
        profile = kit.pprof.read(out)
    sums, all_of = by_function(profile, ("often", "long")), sum(sum(states.values()) for states in by_thread(profile).values())
    check(2.5e9 < sums["long", "sleep"] < 4.2e9, sums)
    check(3.7e9 < all_of <= 4.2e9, (all_of, sums))
    check(re.search(r"waited [34].\d s in all: sleep .*; 1 of them still waited at the end, for [234].\d s$", done.stderr, re.M),
          done.stderr)


# A program that prints a line before its threads begin to wait. One of the threads prints the time
# when its wait is over.
BEFORE = """
import os, threading, time
lock = threading.Lock()
lock.acquire()
out, _ = os.pipe()
def locked():
    lock.acquire()
def reads():
    os.read(out, 1)
def ends():
    os.read(0, 1)
    print(time.time_ns(), flush=True)
    time.sleep(60)
for f in (locked, reads, ends):
    threading.Thread(target=f, daemon=True).start()
print("begun", flush=True)
def main():
    time.sleep(60)
main()
"""


@kit.case
def began_before():
    """A wait that began before the recording counts from the beginning of the recording, on its
    line and with its reason, whether the wait ends during the recording or not."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with folder() as d, kit.Background(kit.PYTHON, "-c", BEFORE, **pipes) as program:
        process, out = program.process, os.path.join(d, "o.pb.gz")
        process.stdout.readline()
        kit.wait_for(lambda: kit.asleep(process.pid, 4), 30)
        with kit.Background(kit.KRAIT, "record", "-v", "-e", "wait", "-d", "2", "-o", out, "-p", process.pid) as recorder:
            kit.samples(recorder.process)
            time.sleep(1)
            process.stdin.write(b"x")
            process.stdin.flush()
            said = recorder.process.stderr.read().decode()
            check(recorder.process.wait(30) == 0, said)
        ended, profile = int(process.stdout.readline()), kit.pprof.read(out)
    sums = by_function(profile, ("locked", "reads", "main", "ends"))
    for waited in ("locked", "lock"), ("reads", "pipe"), ("main", "sleep"):
        check(abs(sums[waited] - profile.duration_nanos) < 0.02e9, "%s of %d: %s" % (waited, profile.duration_nanos, sums))
    over = sum(s.values[1] for s in profile.samples if "wait" not in s.labels)
    check(abs(over - (ended - profile.time_nanos)) < 0.02e9, "ends() woke up %d after the beginning, recorded %d" % (
        ended - profile.time_nanos, over))
    open_ = {s.labels["tid"]: s.labels["wait"] for s in profile.samples if "wait" in s.labels}
    check(len(open_) == 4 and set(open_.values()) == {"still waiting"}, open_)
    check("; 4 of them still waited at the end, for " in said, said)


# A program that reads a byte, and then starts the interpreter argv[1], which krait doesn't know
# yet.
STARTS = """
import subprocess, sys, threading, time
held = threading.Lock()
held.acquire()
def locked(): held.acquire()
threading.Thread(target=locked, daemon=True).start()
print("begun", flush=True)
sys.stdin.read(1)
subprocess.run([sys.argv[1], "-c", "import time; time.sleep(0.5)"])
time.sleep(60)
"""


@kit.case
def met_beside():
    """A wait that began before the recording still counts when krait, later on, sees another
    process for the first time and reads the waits of that process too."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with folder() as d:
        unknown, out = os.path.join(d, "python"), os.path.join(d, "o.pb.gz")
        shutil.copy(os.path.realpath(kit.PYTHON), unknown)
        with open(unknown, "ab") as f:
            f.write(b"another file")
        with kit.Background(kit.PYTHON, "-c", STARTS, unknown, **pipes) as program:
            program.process.stdout.readline()
            kit.wait_for(lambda: kit.asleep(program.pid, 2), 30)
            with kit.Background(kit.KRAIT, "record", "-v", "-e", "wait", "-d", "2", "-o", out, "-p", program.pid) as recorder:
                kit.samples(recorder.process)
                program.process.stdin.write(b"x")
                program.process.stdin.flush()
                said = recorder.process.stderr.read().decode()
                check(recorder.process.wait(30) == 0, said)
        profile = kit.pprof.read(out)
    sums = by_function(profile, ("locked",))
    check(abs(sums["locked", "lock"] - profile.duration_nanos) < 0.02e9, "%s of %d\n%s" % (sums, profile.duration_nanos, said))


FIRST = "import time\ndef first(): time.sleep(1)\nfirst()"


@kit.case
def first_wait():
    """The first wait of a process is recorded with its stack, though krait sees the process for the
    first time when that wait begins."""
    with folder() as d:
        out = os.path.join(d, "o.pb.gz")
        done = krait("record", "-e", "wait", "-o", out, "--", "sh", "-c", "%s -c '%s'; true" % (kit.PYTHON, FIRST))
        check(done.returncode == 0, done.stderr)
        sums = by_function(kit.pprof.read(out), ("first",))
    check(sums["first", "sleep"] > 0.99e9, "%s\n%s" % (sums, done.stderr))


# A program that prints its process number when it begins to wait in poll(). When it is thawed, the
# kernel goes on with the poll() as restart_syscall().
POLLS = """
import os, select, time
def polls():
    poll = select.poll()
    poll.register(os.pipe()[0])
    poll.poll(2000)
time.sleep(0.1)
print(os.getpid(), flush=True)
polls()
"""


@kit.case
def frozen():
    """While a control group is frozen, as by `docker pause`, its threads are recorded as frozen.
    When the group is thawed, the threads are recorded as waiting for what they waited for
    before."""
    tried = 0
    for at, control, freeze, thaw in kit.freezers():
        try:
            with folder() as d:
                out = os.path.join(d, "o.pb.gz")
                frozen_s = record_frozen(out, at, (control, freeze, thaw))
                if frozen_s is None:
                    continue  # this test has no right to freeze control groups, as in a container
                sums = by_function(kit.pprof.read(out), ("polls",))
        finally:
            kit.wait_for(lambda: not open(at + "/cgroup.procs").read(), 5)
            os.rmdir(at)
        tried += 1
        check(abs(sums["polls", "frozen"] - frozen_s * 1e9) < 0.1e9, "%s: %.2f s, %s" % (control, frozen_s, sums))
        check(abs(sums["polls", "poll"] - (2 - frozen_s) * 1e9) < 0.1e9, "%s: %.2f s, %s" % (control, frozen_s, sums))
    if not tried:
        raise kit.Skip("no control group can be frozen here")


def record_frozen(out, group, control):
    """Records a program, and freezes it during the recording. Returns for how many seconds the
    program was frozen."""
    path, freeze, thaw = control
    with kit.Background(kit.KRAIT, "record", "-e", "wait", "-o", out, "--", kit.PYTHON, "-c", POLLS,
                        stdout=subprocess.PIPE) as recorder:
        pid = recorder.process.stdout.readline().decode().strip()
        time.sleep(0.3)
        try:
            with open(group + "/cgroup.procs", "w") as f:
                f.write(pid)
            begin = time.monotonic()
            with open(path, "w") as f:
                f.write(freeze)
            time.sleep(0.6)
        except OSError:
            return None
        finally:
            with open(path, "w") as f:
                f.write(thaw)
        seconds = time.monotonic() - begin
        check(recorder.process.wait(30) == 0, recorder.process.stderr.read())
        return seconds


# A program in which two threads pass a byte back and forth, far more often than krait's budget
# allows it to take stacks.
BUSY = REST + """
import json, os
told, ends, slow = {}, [os.pipe() for _ in range(4)], os.pipe()
until = time.monotonic() + 4
def echoes(read, write):
    while os.read(read, 1) == b"x":
        os.write(write, b"x")
    os.write(write, b"e")
def asks(read, write, name):
    before = rest()
    while time.monotonic() < until:
        os.write(write, b"x")
        answers(read)
        if name == "asks0" and time.monotonic() > until - 2 and "rare" not in told:
            rare()
    told[name] = rest() - before
def answers(read):
    os.read(read, 1)
def rare():
    before = rest()
    os.read(slow[0], 1)
    told["rare"] = rest() - before
def rests():
    before = rest()
    for i in range(8):
        time.sleep(0.5)
        if i == 5:
            os.write(slow[1], b"x")
    told["rests"] = rest() - before
def life(work, *args):
    account() # opens its file
    work(*args)
    if work is asks:
        os.write(args[1], b"e")
time.sleep(0.05)
threads = [threading.Thread(target=life, args=(rests,))]
for i in (0, 2):
    threads.append(threading.Thread(target=life, args=(echoes, ends[i][0], ends[i + 1][1])))
    threads.append(threading.Thread(target=life, args=(asks, ends[i + 1][0], ends[i][1], "asks%d" % i)))
for t in threads:
    t.start()
for t in threads:
    t.join()
print(json.dumps(told))
"""


@kit.case
def bounded():
    """If there are too many waits, krait takes the stacks of only some of them, by chance, and says
    so. The sums stay right. The rare long waits have all their stacks, even if the same system
    call also has short waits, on another descriptor."""
    with folder() as d:
        told, profile, said = record(d, BUSY, "-e", "wait")
    sums = by_function(profile, ("asks", "rests", "rare"))
    asked, asks = told["asks0"] + told["asks2"], sum(ns for (f, _), ns in sums.items() if f == "asks")
    rests = sums["rests", "sleep"]
    check("chosen at random" in said, said)
    waits = int(re.search(r"% of (\d+) waits", said)[1])
    check(waits > 40000, said)
    check(abs(asks - asked) <= SHARE * asked + SLACK_NS, "waited %d, recorded %d, of %d waits in all" % (asked, asks, waits))
    check(abs(sums["rare", "pipe"] - told["rare"]) <= SHARE * told["rare"] + SLACK_NS,
          "rare() waited %d, recorded %d" % (told["rare"], sums["rare", "pipe"]))
    check(abs(rests - told["rests"]) <= SHARE * told["rests"] + SLACK_NS, "slept %d, recorded %d" % (told["rests"], rests))


# A shell that runs Python once, so that krait knows the executable, then waits, and then execs
# Python.
BECOMES = '%s -c "import time; time.sleep(0.3)"; sleep 0.3; exec %s %s'
SLEEPS_ALONE = """
import time
def after():
    for _ in range(10):
        time.sleep(0.1)
after()
"""


@kit.case
def becomes_python():
    """The waits of a process that isn't Python aren't recorded. When it execs Python, its waits are
    recorded from then on."""
    with folder() as d:
        script, out = os.path.join(d, "after.py"), os.path.join(d, "o.pb.gz")
        with open(script, "w") as f:
            f.write(SLEEPS_ALONE)
        done = krait("record", "-e", "wait", "-o", out, "--", "sh", "-c",
                     BECOMES % (kit.PYTHON, kit.PYTHON, script), timeout=60)
        check(done.returncode == 0, done.stderr)
        sums = by_function(kit.pprof.read(out), ("after",))
    check(sums["after", "sleep"] > 0.85e9, "10 waits of 0.1 s: %s\n%s" % (sums, done.stderr))


# A program in which each function waits for something else: the other end of a connection, or a
# file. The function says what that is.
ON = """
import fcntl, json, os, select, socket, subprocess, sys, threading, time
folder = os.path.dirname(sys.argv[1])
told, keep, opened = {}, [], {}
def pair(family, address):
    listener = socket.socket(family)
    listener.bind(address)
    listener.listen()
    mine = socket.socket(family)
    mine.connect(listener.getsockname())
    keep.append((listener, mine, listener.accept()[0]))
    return mine
def name(address):
    if isinstance(address, (str, bytes)):
        return os.fsdecode(address).replace("\\0", "@")
    return ("[%s]:%d" if ":" in address[0] else "%s:%d") % address[:2]
def ipv4():
    mine = pair(socket.AF_INET, ("127.0.0.1", 0))
    told["ipv4"] = name(mine.getpeername())
    mine.recv(1)
def ipv6():
    mine = pair(socket.AF_INET6, ("::1", 0))
    told["ipv6"] = name(mine.getpeername())
    mine.recv(1)
def timeout():
    mine = pair(socket.AF_INET, ("127.0.0.2", 0))
    mine.settimeout(60)
    told["timeout"] = name(mine.getpeername())
    mine.recv(1)
def unix():
    mine = pair(socket.AF_UNIX, folder + "/socket")
    told["unix"] = name(mine.getpeername())
    mine.recv(1)
def abstract():
    mine = pair(socket.AF_UNIX, "\\0krait-on-%d" % os.getpid())
    told["abstract"] = name(mine.getpeername())
    mine.recv(1)
def accepts():
    listener = socket.create_server(("127.0.0.1", 0))
    told["accepts"] = "listening on " + name(listener.getsockname())
    listener.accept()
def fifo():
    path = told["fifo"] = folder + "/fifo"
    os.mkfifo(path)
    opened["fifo"] = os.open(path, os.O_RDWR)
    os.read(opened["fifo"], 1)
def locked():
    path = told["locked"] = folder + "/locked"
    opened["lock"], other = open(path, "w"), open(path, "w")
    keep.append(other)
    fcntl.flock(opened["lock"], fcntl.LOCK_EX)
    fcntl.flock(other, fcntl.LOCK_EX)
def child():
    children.append(subprocess.Popen(["sleep", "60"]))
    told["child"] = "sleep"
    children[0].wait()
def pipe():
    keep.append(os.pipe())
    told["pipe"] = None
    os.read(keep[-1][0], 1)
def sleeps():
    told["sleeps"] = None
    time.sleep(60)
children = []
works = (ipv4, ipv6, timeout, unix, abstract, accepts, fifo, locked, child, pipe, sleeps)
for work in works:
    threading.Thread(target=work, daemon=True).start()
while len(told) < len(works):  # a thread says what it waits on right before its wait
    time.sleep(0.01)
time.sleep(0.9)
children[0].kill()
os.write(opened["fifo"], b"x")
opened["lock"].close()
time.sleep(0.5)  # longer than krait takes to look into /proc
print(json.dumps(told))
"""


def check_on(told, profile):
    """Checks that the label `on` of each wait is what the program told."""
    at = [name for name, _ in profile.sample_types].index("off_cpu")
    sums = collections.defaultdict(collections.Counter)
    for sample in profile.samples:
        names = [l.name for l in profile.stack(sample) if l.kind == "python"]
        for name in set(names) & set(told):
            sums[name][sample.labels.get("on")] += sample.values[at]
    for name, value in told.items():
        whole = sum(sums[name].values())
        check(whole > 0.5e9 and sums[name][value] > 0.9 * whole, "%s waits for %s: %s" % (name, value, dict(sums[name])))


@kit.case
def on_what():
    """The label `on` names the other end of a socket as getpeername() does, a file by its path, and
    a child process by its command. Other waits don't have the label."""
    with folder() as d:
        told, profile, _ = record(d, ON, "-e", "wait")
        named = krait("report", d + "/o.pb.gz", "--by", "on", "--value", "off_cpu", "--json").stdout
        krait("report", d + "/o.pb.gz", "--label", "on=" + told["unix"], "--format", "folded", "--value", "off_cpu",
              "-o", d + "/unix.folded")
        with open(d + "/unix.folded") as f:
            lines = f.read().splitlines()
    check_on(told, profile)
    shares = {s["name"] for s in json.loads(named)["shares"]}
    check({told["ipv4"], told["fifo"]} <= shares, shares)
    check(lines and all(";unix" in line for line in lines), lines)


@kit.case
def on_before():
    """The label `on` is also right for waits that began before the recording."""
    with folder() as d:
        with open(d + "/waits.py", "w") as f:
            f.write(ON.replace("time.sleep(0.9)", "print(flush=True); os.read(0, 1)"))
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with kit.Background(kit.PYTHON, d + "/waits.py", d + "/file", **pipes) as target:
            target.process.stdout.readline()
            kit.wait_for(lambda: kit.asleep(target.pid, 12), 30)
            with kit.Background(kit.KRAIT, "record", "-v", "-e", "wait", "-p", target.pid, "-o", d + "/o.pb.gz") as recorder:
                kit.samples(recorder.process)
                time.sleep(0.9)
                told = json.loads(target.process.communicate(b"x")[0])
                said = recorder.process.stderr.read().decode()
                check(recorder.process.wait(30) == 0, said)
        check_on(told, kit.pprof.read(d + "/o.pb.gz"))


@kit.case
def bad_input():
    """krait refuses options that have no meaning for waits, with one sentence."""
    kit.refused(2, "takes no rate and no modifiers", "record", "-e", "wait:u", "-p", os.getpid())
    kit.refused(2, "takes no rate and no modifiers", "record", "-e", "wait/period=1/", "-p", os.getpid())
    kit.refused(2, "leave it out", "record", "-e", "wait", "-F", "99", "-p", os.getpid())
    kit.refused(2, "leave one of", "record", "--wall", "-e", "wait", "-p", os.getpid())
    kit.refused(2, "with -e wait state", "record", "--by", "state", "-p", os.getpid())
    for text, words in (("next_job", "has no module"), ("", "not a function"), ("shop.", "not a function"),
                        ("shop..job", "not a function"), ("shop/jobs.py", "not a function"), ("1.job", "not a function")):
        kit.refused(2, words, "record", "--wall", "--idle-at", text, "-p", os.getpid())
    kit.refused(2, "add --wall", "record", "--idle-at", "shop.job", "-p", os.getpid())


if __name__ == "__main__":
    sys.exit(kit.main())
