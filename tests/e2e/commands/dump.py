#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""krait dump as a user runs it: hung, stopped and large programs, filters, errors and their exit
codes. tests/oracle tests that the stacks are right."""
import ctypes
import json
import os
import re
import resource
import select
import signal
import struct
import subprocess
import sys
import time
import unicodedata

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import case, check, krait, python, refused, wait_for
from mute import hanging, LOCKED, Mute, state

SLEEPS = """
import sys, threading, time
def sleeps_here():
    time.sleep(1000)
for i in range(int(sys.argv[1]) if len(sys.argv) > 1 else 0):
    threading.Thread(target=sleeps_here, name="worker-%d" % i, daemon=True).start()
sys.stdout.write("ready")
sys.stdout.flush()
sleeps_here()
"""


def dump(*args):
    """Returns the processes of krait dump --json, by pid."""
    done = krait("dump", "--json", *args)
    check(done.returncode == 0, "exit code %d: %s" % (done.returncode, done.stderr))
    return {process["pid"]: process for process in json.loads(done.stdout)["processes"]}


def names(thread, kind="python"):
    return [frame["function"] for frame in thread["frames"] if frame["kind"] == kind]


def ready(source, *args, executable=kit.PYTHON):
    """Starts the program. Waits until the program has said that it is ready."""
    running = kit.Background(executable, "-c", source, *args, stdout=subprocess.PIPE)
    check(running.process.stdout.read(5) == b"ready", "the program doesn't start")
    time.sleep(0.1)
    wait_for(lambda: state(running.pid) == "S", 5)
    return running


YOUNG = """
import sys, threading, time
def works():
    time.sleep(0.3)
def starts():
    while True:
        start(works, "young-%d" % (time.time() * 100))
        time.sleep(0.05)
def start(function, name):
    thread = threading.Thread(target=function, name=name)
    thread.daemon = True
    thread.start()
start(starts, "starter")
sys.stdout.write("ready")
sys.stdout.flush()
time.sleep(1000)
"""


@case
def young_threads():
    """A thread that lives only for a third of a second is shown under the name that the program
    gave it."""
    versions = {version: path for _, version, kind, path in kit.interpreters()
                if kind in ("static", "shared")}
    for version in [(2, 7), (3, 8), (3, 11), max(versions)]:
        if version not in versions:
            continue
        with ready(YOUNG, executable=versions[version]) as target:
            time.sleep(0.3)
            threads = dump("-p", target.pid)[target.pid]["threads"]
        young = [t["name"] for t in threads if "works" in names(t)]
        check(len(young) >= 2, "%s: only %d threads work: %s" % (version, len(young), threads))
        check(all(re.fullmatch(r"young-\d+", name or "") for name in young), "%s: %s" % (version, young))


SOCKETS = """
import os, socket, sys, threading
def reads(s):
    s.recv(1)
def accepts(s):
    s.accept()
def waits(function, s, says):
    threading.Thread(target=function, args=(s,), name=says, daemon=True).start()
kept = []
def pair(family, at):
    server = socket.socket(family)
    server.bind(at)
    server.listen(8)
    client = socket.socket(family)
    client.connect(server.getsockname())
    peer, _ = server.accept()
    kept.extend([server, client, peer])
    return server, client, peer
def shown(address):
    return ("%s:%d" if ":" not in address[0] else "[%s]:%d") % address[:2]
for family, at in ((socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_INET6, ("::1", 0))):
    try:
        server, client, peer = pair(family, at)
    except OSError:
        continue
    waits(accepts, server, "tcp listening on " + shown(server.getsockname()))
    waits(reads, client, "tcp " + shown(client.getpeername()))
    waits(reads, peer, "tcp " + shown(peer.getpeername()))
path = os.path.join(sys.argv[1], "a socket")
server, client, peer = pair(socket.AF_UNIX, path)
waits(accepts, server, "unix " + path)
waits(reads, peer, "unix " + path)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 0))
waits(reads, udp, "udp on " + shown(udp.getsockname()))
sys.stdout.write("ready")
sys.stdout.flush()
threading.Event().wait()
"""


@case
def peers():
    """For a thread that waits on a socket, krait shows the socket's peer. In the test's program
    each thread is named after its peer."""
    with kit.folder() as folder, ready(SOCKETS, folder) as target:
        said = krait("dump", "-p", target.pid).stdout
        threads = dump("-p", target.pid)[target.pid]["threads"]
    found = 0
    for thread in threads:
        if thread["name"].split()[0] not in ("tcp", "udp", "unix"):
            continue
        found += 1
        check(thread["peer"] == thread["name"], "%s isn't %s" % (thread["peer"], thread["name"]))
        check("(%s)" % thread["name"] in said, "%s isn't in %s" % (thread["name"], said))
        check(thread["descriptor_is"].startswith("socket:["), thread["descriptor_is"])
    check(found >= 6, "only %d threads wait for a socket" % found)


@case
def text():
    """The text reads like a Python traceback: latest call last, each with its line of source."""
    with kit.folder() as folder:
        script = os.path.join(folder, "app.py")
        with open(script, "w") as f:
            f.write("import threading, time\ndef sleeps():\n    print('ready', flush=True); (1,"
                    " time.sleep(1000))\nsleeps()\n")
        os.utime(script, (1, 1))
        with kit.Background(kit.PYTHON, script, stdout=subprocess.PIPE) as target:
            target.process.stdout.readline()
            time.sleep(0.1)
            said = krait("dump", "-p", target.pid).stdout
    check("Process %d: app.py, Python 3." % target.pid in said, said)
    check('Thread %d "MainThread": sleeping' % target.pid in said, said)
    at = said.index('app.py", line 4, in <module>\n    sleeps()\n')
    check(said.index('app.py", line 3, in sleeps\n') > at, "the frames aren't in the order of a traceback: " + said)
    if sys.version_info >= (3, 11):
        check("\n    print('ready', flush=True); (1, time.sleep(1000))\n"
              "                                    ^^^^^^^^^^^^^^^^\n" in said, said)


@case
def relative_names():
    """Up to 3.8 the interpreter keeps a script's name as it was typed. krait shows the script's
    text only if $PWD is the working directory. If the program has changed its directory, the
    name would lead krait to another file."""
    executable = next((path for name, _, _, path in kit.interpreters() if name == "python3.8-pyenv"), None)
    if not executable:
        raise kit.Skip("no Python 3.8")
    # Runs the interpreter's own executable, because a shell script in between would set PWD.
    executable = subprocess.check_output([executable, "-c", "import sys; print(sys.executable)"], text=True).strip()
    with kit.folder() as folder:
        here, there = [os.path.join(folder, name) for name in ("here", "there")]
        for place, text in ((here, "import os, sys, time\nos.chdir(sys.argv[1])\ntime.sleep(1000)\n"),
                            (there, "import sys\n\nprint('of another program')\n")):
            os.mkdir(place)
            with open(place + "/app.py", "w") as f:
                f.write(text)
            os.utime(place + "/app.py", (1, 1))
        for goes_to, environment, line in ((".", {"PWD": here}, "    time.sleep(1000)\n"), (there, {"PWD": here}, ""),
                                           (".", {"PWD": there}, ""), (".", {}, "")):
            with kit.Background(executable, "app.py", goes_to, cwd=here, env=environment) as target:
                place = 'File "app.py", line 3, in <module>\n'
                wait_for(lambda pid=target.pid: place in krait("dump", "-p", pid).stdout, 5)
                said = krait("dump", "-p", target.pid).stdout
            check(place + line in said and "of another" not in said, "%s %s: %s" % (goes_to, environment, said))
            check(bool(line) == ("time.sleep(" in said), "%s %s: %s" % (goes_to, environment, said))


def columns(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


@case
def odd_text():
    """krait dump puts the carets (^) below a line of source into the right columns, also if the
    line has wide or combining characters. It leaves control characters out of source and names."""
    call = "time.sleep(1000)"
    lines = ["a = '\u4e2d\u6587e\u0301\u202e\x9b';\tb = (%s, 1)" % call, "c = (%s, '%s')" % (call, "\xe9" * 300),
             "d = ('%s', %s)" % ("\xe9" * 300, call)]
    for line in lines:
        with kit.folder() as folder:
            script = os.path.join(folder, "app.py")
            with open(script, "w", encoding="utf-8") as f:
                f.write("import threading, time\nthreading.current_thread().name = 'a\u202eb'\ndef sleeps():\n"
                        "    print('ready', flush=True); time.sleep(.5)\n    " + line + "\nsleeps()\n")
            os.utime(script, (1, 1))
            with kit.Background(kit.PYTHON, script, stdout=subprocess.PIPE) as target:
                target.process.stdout.readline()
                time.sleep(1)
                done = subprocess.run([kit.KRAIT, "dump", "-p", str(target.pid)], capture_output=True, timeout=60, check=False)
        said = done.stdout.decode("utf-8").split("\n")  # decoding fails if the output isn't UTF-8
        check(any('"a?b"' in row for row in said), said[:3])
        at = next(i for i, row in enumerate(said) if row.endswith("line 5, in sleeps"))
        clean = line.replace("\t", " ").replace("\u202e", "?").replace("\x9b", "?")
        shown = clean if columns(clean) <= 200 else clean[:200] + "\u2026"
        check(said[at + 1] == "    " + shown, "%r, not %r" % (said[at + 1], shown))
        if sys.version_info < (3, 11) or call not in shown:
            continue
        carets = " " * columns(clean[:clean.index(call)]) + "^" * len(call)
        check(said[at + 2] == "    " + carets, "%r below %r" % (said[at + 2], shown))


@case
def stopped():
    """A process that SIGSTOP has stopped is shown and stays stopped."""
    with ready(SLEEPS, "2") as target:
        os.kill(target.pid, signal.SIGSTOP)
        wait_for(lambda: state(target.pid) == "T", 5)
        threads = dump("-p", target.pid)[target.pid]["threads"]
        check(state(target.pid) == "T", "the process runs again")
    check([t["state"] for t in threads] == ["stopped"] * 3, str(threads))
    check(all(names(t)[-1] == "sleeps_here" for t in threads), str(threads))


FROZEN = """
import select, socket, sys, threading, time
a, b = socket.socketpair()
lock = threading.Lock()
lock.acquire()
def spins():
    while True: pass
for target, args in (time.sleep, (1000,)), (a.recv, (1,)), (select.select, ([b], [], [])), (lock.acquire, ()):
    threading.Thread(target=target, args=args, daemon=True).start()
threading.Thread(target=spins, daemon=True).start()
sys.stdout.write("ready")
sys.stdout.flush()
time.sleep(1000)
"""


@case
def frozen():
    """If a program is frozen, as by `docker pause`, krait calls every thread frozen, even a thread
    that waited before."""
    tried = 0
    for at, control, freeze, thaw in kit.freezers():
        try:
            with kit.Background(kit.PYTHON, "-c", FROZEN, stdout=subprocess.PIPE) as target:
                check(target.process.stdout.read(5) == b"ready", "the program doesn't start")
                time.sleep(0.1)
                try:
                    for path, text in (at + "/cgroup.procs", str(target.pid)), (control, freeze):
                        with open(path, "w") as f:
                            f.write(text)
                    time.sleep(0.2)
                    threads = dump("-p", target.pid)[target.pid]["threads"]
                except OSError:
                    continue  # this test has no right to freeze control groups, as in a container
                finally:
                    with open(control, "w") as f:
                        f.write(thaw)
            tried += 1
            found = [(t["state"], t["name"]) for t in threads]
            check(len(found) == 6 and {state for state, _ in found} == {"frozen"}, "%s: %s" % (control, found))
        finally:
            wait_for(lambda: not open(at + "/cgroup.procs").read(), 5)
            os.rmdir(at)
    if not tried:
        raise kit.Skip("no control group can be frozen here")


def timed_dump(*args):
    """Returns what dump() returns, and the CPU time that krait took. Wall time would prove nothing
    on a busy machine."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = dump(*args)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print("krait dump: %.2f s of CPU time for %d processes, %d threads" % (
        took, len(found), sum(len(p["threads"]) for p in found.values())))
    return found, took


@case
def thousand_threads():
    """A dump of 1,000 threads takes less than a second, and shows all threads with their names."""
    with ready(SLEEPS, "1000") as target:
        found, took = timed_dump("-p", target.pid)
    threads = found[target.pid]["threads"]
    check({t["name"] for t in threads} == {"MainThread"} | {"worker-%d" % i for i in range(1000)},
          "krait shows only some threads: %d" % len(threads))
    check(all(names(t)[-1] == "sleeps_here" for t in threads), "wrong frames")
    check(took < 1, "%.2f s" % took)


FORKS = """
import os, sys, time
def child():
    time.sleep(1000)
for i in range(99):
    if not os.fork():
        child()
sys.stdout.write("ready"); sys.stdout.flush()
child()
"""


@case
def hundred_processes():
    """A dump of 100 processes takes less than two seconds."""
    with ready(FORKS) as target:
        found, took = timed_dump("-p", target.pid)
        for pid in found:
            if pid != target.pid:
                os.kill(pid, signal.SIGKILL)
    check(len(found) == 100, "%d processes" % len(found))
    check(all(names(t) == ["<module>", "child"] for p in found.values() for t in p["threads"]),
          "wrong frames")
    check(took < 2, "%.2f s" % took)


@case
def running():
    """A running thread is shown with its stack of one instant, also if it runs C code at that
    instant."""
    source = """
import sys, zlib
def inner(n):
    for i in range(n): pass
def outer():
    while True: inner(1000000)
def compress():
    data = b"0123456789" * 10000000
    while True: zlib.compress(data)
sys.stdout.write("ready"); sys.stdout.flush()
{"outer": outer, "compress": compress}[sys.argv[1]]()
"""
    for name, stacks in (("outer", (["<module>", "outer"], ["<module>", "outer", "inner"])),
                         ("compress", (["<module>", "compress"],))):
        with kit.Background(kit.PYTHON, "-c", source, name, stdout=subprocess.PIPE) as target:
            target.process.stdout.read(5)
            time.sleep(0.3)
            thread, = dump("-p", target.pid)[target.pid]["threads"]
            check(thread["state"] in ("running", "runnable"), thread["words"])
            check(names(thread) in stacks and thread["steady"], str(thread))
            if thread["state"] == "running" and name == "compress":
                check(any("libz" in f["file"] for f in thread["frames"]), str(thread["frames"]))


@case
def ready_to_run():
    """A thread that can't run because another thread uses its CPU is called ready to run. Its stack
    stays the same until it runs."""
    cpu = max(os.sched_getaffinity(0))

    def there():
        os.sched_setaffinity(0, [cpu])

    def there_first():
        there()
        os.nice(-20)

    with python(preexec_fn=there) as target:
        kit.runs(target.pid, 0.2)
        os.sched_setscheduler(target.pid, os.SCHED_IDLE, os.sched_param(0))
        with python(preexec_fn=there_first) as other:
            kit.runs(other.pid, 0.3)
            found = dump("-p", target.pid)
    thread, = found[target.pid]["threads"]
    check(thread["state"] == "runnable" and thread["seconds"] > 0, thread["words"])
    check(thread["steady"] and names(thread)[:2] == ["<module>", "main"], str(thread))


@case
def several_run():
    """krait samples the running threads of several processes at the same time."""
    with python() as one, python() as two:
        found = dump("-p", one.pid, "-p", two.pid)
    for pid in (one.pid, two.pid):
        thread, = found[pid]["threads"]
        check(names(thread)[:2] == ["<module>", "main"] and thread["steady"], str(thread))


@case
def whole_stack():
    """By default krait shows C and kernel frames below the innermost Python frame, and with
    --native=full all C frames. krait also says how long the thread has been blocked."""
    source = """
import sys, threading, time
lock = threading.Lock()
lock.acquire()
sys.stdout.write("ready"); sys.stdout.flush()
lock.acquire()
"""
    with ready(source) as target:
        began = time.time()
        time.sleep(1)
        waited = time.time() - began
        leaf, = dump("-p", target.pid)[target.pid]["threads"]
        full, = dump("-p", target.pid, "--native=full")[target.pid]["threads"]
        none, = dump("-p", target.pid, "--native=none", "--no-kernel")[target.pid]["threads"]
    check(waited <= leaf["seconds"] < waited + 2, "%s s, not %s" % (leaf["seconds"], waited))
    check([f["kind"] for f in none["frames"]] == ["python"], str(none))
    check(leaf["frames"][0]["kind"] == "python", "native frames above it: %s" % leaf)
    check("PyThread_acquire_lock_timed" in names(leaf, "native"), str(leaf))
    check(any("futex" in name for name in names(leaf, "kernel")), str(leaf))
    check(names(full, "native")[0] == "_start", str(full))
    check(not names(leaf, "mark") and not names(full, "mark"), "the stack isn't whole: %s" % full)


# Numbers of the system calls kill, tkill, tgkill, ptrace, rt_sigqueueinfo, rt_tgsigqueueinfo,
# pidfd_send_signal.
TO_STOP = {"x86_64": (62, 200, 234, 101, 129, 297, 424), "aarch64": (129, 130, 131, 117, 138, 240, 424)}


def forbid_stopping():
    """Makes the kernel kill this process if it makes one of the system calls in TO_STOP (seccomp).
    """
    calls = TO_STOP[os.uname().machine]
    rows = [(0x20, 0, 0, 0)]  # the filter's first row loads the number of the system call
    rows += [(0x15, len(calls) - i, 0, call) for i, call in enumerate(calls)]
    # the filter's last two rows are its two results: the call is allowed, or the kernel kills the
    # process
    rows += [(0x06, 0, 0, 0x7fff0000), (0x06, 0, 0, 0x80000000)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    filters = struct.pack("HP", len(rows), ctypes.addressof(program))
    libc = ctypes.CDLL(None)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, filters, 0, 0):
        os._exit(77)


@case
def stops_nobody():
    """krait stops no thread, traces none, and sends no signals. In this test the kernel would kill
    krait if it made such a call; krait still shows everything."""
    if os.uname().machine not in TO_STOP:
        raise kit.Skip("the numbers of the calls aren't known")
    done = subprocess.run([kit.PYTHON, "-c", "import os; os.kill(os.getpid(), 0)"], preexec_fn=forbid_stopping,
                          check=False)
    if done.returncode == 77:
        raise kit.Skip("no seccomp")
    check(done.returncode == -signal.SIGSYS, "the kernel allows the call: exit code %d" % done.returncode)
    with ready(SLEEPS, "3") as sleeps, python() as runs:
        done = krait("dump", "--json", "-p", sleeps.pid, "-p", runs.pid, preexec_fn=forbid_stopping)
    check(done.returncode == 0, "exit code %d: %s" % (done.returncode, done.stderr))
    found = {process["pid"]: process["threads"] for process in json.loads(done.stdout)["processes"]}
    check([names(t)[-1] for t in found[sleeps.pid]] == ["sleeps_here"] * 4, str(found[sleeps.pid]))
    check(names(found[runs.pid][0])[:2] == ["<module>", "main"], str(found[runs.pid]))


@case
def repeated():
    """If a function calls itself from one line, its repeated frames are summed up as in CPython's
    own traceback."""
    source = """
import sys, time, traceback
def down(n):
    if n:
        return down(n - 1)
    traceback.print_stack(file=sys.stdout); sys.stdout.flush(); time.sleep(60)
def turn(n): return turn(n - 1) if n else down(%d)
sys.stdout.write("ready"); turn(%d)
"""
    for down, turn in ((300, 2), (3, 3), (4, 9), (2, 4)):
        with kit.folder() as d:
            with open(d + "/deep.py", "w") as f:
                f.write(source % (down, turn))
            with kit.Background(kit.PYTHON, d + "/deep.py", stdout=subprocess.PIPE) as target:
                wait_for(lambda: "sleep" in krait("dump", "-p", target.pid).stdout, 20)
                shown = krait("dump", "-p", target.pid, "--no-kernel", "--native=none").stdout
                target.process.kill()
                truth = target.process.stdout.read().decode().removeprefix("ready")

        def told(text):
            return re.findall(r"line \d+, in \w+|\[Previous.*", text.replace("<module>", "module"))
        check(told(shown) == told(truth) and ("repeated" in truth) == (max(down, turn) > 2), "%s, not %s" % (told(shown), told(truth)))


@case
def short_waits():
    """Waits of less than a tenth of a second are shown in milliseconds."""
    with ready("import sys, time\nsys.stdout.write('ready'); sys.stdout.flush()\nwhile True: time.sleep(.03)\n") as target:
        said = [krait("dump", "-p", target.pid).stdout for _ in range(20)]
    spans = [float(ms) for text in said for ms in re.findall(r"sleeping for ([0-9.]+) ms", text)]
    check(len(spans) > 10 and 1 < max(spans) < 95, "%s in %s" % (spans, said[0]))


# Functions without unwind information. The file has so much code without it that krait makes the
# unwind rows of this code in a second step, after the rows of the file's other code.
BARE = """
.text
.globl hold, spin
.type hold, @function
.type spin, @function
hold: sub $24, %rsp
call pause@plt
add $24, %rsp
ret
.size hold, . - hold
spin: sub $24, %rsp
1: jmp 2f
2: dec %rdi
jnz 1b
add $24, %rsp
ret
.size spin, . - spin
known: .cfi_startproc
ret
.cfi_endproc
.rept 70000
.p2align 4
.skip 62, 0x90
ret
.endr
.section .note.GNU-stack, "", @progbits
"""


@case
def bare_code():
    """A process runs functions without unwind information. Its first dump, without anything cached,
    already shows whole stacks."""
    if os.uname().machine != "x86_64":
        raise kit.Skip("krait doesn't read this machine's instructions")
    kit.need("gcc")
    source = "import ctypes, sys\n" \
             "lib = ctypes.CDLL(sys.argv[1])\n" \
             "sys.stdout.write('ready'); sys.stdout.flush()\n" \
             "lib[sys.argv[2]](ctypes.c_long(1 << 62))\n"
    with kit.folder() as folder:
        library = os.path.join(folder, "libbare.so")
        subprocess.run(["gcc", "-shared", "-x", "assembler", "-o", library, "-"],
                       input=BARE.encode(), check=True)
        for function in "hold", "spin":
            with kit.Background(kit.PYTHON, "-c", source, library, function,
                                stdout=subprocess.PIPE) as target:
                target.process.stdout.read(5)
                # gives the target a CPU even on a busy machine
                os.setpriority(os.PRIO_PROCESS, target.pid, -10)
                time.sleep(0.3)
                done = krait("dump", "--json", "--native=full", "-p", target.pid,
                             env=dict(os.environ, XDG_CACHE_HOME=os.path.join(folder, function)))
                thread, = json.loads(done.stdout)["processes"][0]["threads"]
                if thread["state"] == "runnable":
                    continue  # the thread didn't get a CPU while krait sampled
                native = names(thread, "native")
                check(function in native and native[0] == "_start" and not names(thread, "mark"),
                      str(thread))


@case
def uninterruptible():
    """A process is in state D and holds the GIL, because it waits in vfork() until its child execs:
    krait shows the stacks of both of the process's threads."""
    source = """
import os, sys, threading, time
def other():
    while True: time.sleep(0.001)
def spawns():
    os.posix_spawn("/bin/true", ["true"], {},
                   file_actions=[(os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0)])
threading.Thread(target=other, daemon=True).start()
sys.stdout.write("ready"); sys.stdout.flush()
spawns()
"""
    with kit.folder() as folder:
        fifo = os.path.join(folder, "fifo")
        os.mkfifo(fifo)
        with kit.Background(kit.PYTHON, "-c", source, fifo, stdout=subprocess.PIPE) as target:
            wait_for(lambda: state(target.pid) == "D", 5)
            threads = dump("-p", target.pid, "--no-children")[target.pid]["threads"]
    main, other = threads
    check(main["state"] == "child" and main["uninterruptible"], main["words"])
    check(names(main) == ["<module>", "spawns"] and main["steady"], str(main))
    check(names(other)[-1] == "other" and other["steady"], str(other))


@case
def file_io():
    """A thread hangs while it reads a file whose file system doesn't answer. The main thread waits
    for that thread. Nobody holds the GIL. krait shows both threads."""
    source = """
import os, sys, threading
def reads(fd):
    os.read(fd, 100)
direct, fd = [os.open(sys.argv[1] + "/file", os.O_RDONLY) for i in range(2)]
thread = threading.Thread(target=reads, args=(fd,), name="reader", daemon=True)
thread.start()
thread.join()
"""
    with hanging(source, Mute.READ) as (target, place):
        main, reader = dump("-p", target.pid)[target.pid]["threads"]
        mapped = os.readlink("/proc/%d/fd/%d" % (target.pid, reader["descriptor"]))
    check((reader["state"], reader["system_call"]) == ("disk", "read"), reader["words"])
    check(mapped == reader["descriptor_is"] == place + "/file", reader["words"])
    check(names(reader)[-1] == "reads" and reader["steady"] and reader["seconds"] > 0.2, str(reader))
    check(any("folio" in name or "page" in name or "fuse" in name for name in names(reader, "kernel")), str(reader))
    check(main["state"] == "lock" and names(main)[0] == "<module>", main["words"])


@case
def locked():
    """A process hangs in mmap() while its list of mappings is locked. Meanwhile nobody can read the
    process's memory, and krait doesn't wait for it."""
    with hanging(LOCKED, Mute.WRITE) as (target, _):
        process = dump("-p", target.pid)[target.pid]
        text = krait("dump", "-p", target.pid)
        everything = krait("dump", "--comm", "python*")
        waits = subprocess.Popen(["cat", "/proc/%d/cmdline" % target.pid], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        time.sleep(0.2)
        check(waits.poll() is None, "the list of mappings isn't locked")
    waits.wait(10)
    main, other = process["threads"]
    check(process["life"] == "locked" and process["python"] is None, str(process))
    for thread in main, other:
        check({frame["kind"] for frame in thread["frames"]} == {"kernel"}, str(thread))
    check(any("futex" in name for name in names(main, "kernel")), str(main))
    check(any("mmap" in name for name in names(other, "kernel")), str(other))
    check(main["state"] == "lock" and main["system_call"] == "futex", main["words"])
    check(other["uninterruptible"] and other["seconds"] > 0.2, other["words"])
    check(text.returncode == 0 and "  [the process hangs while it changes its list of mappings" in text.stdout, text.stdout)
    check("process %d, python" % target.pid in everything.stderr, everything.stderr)


@case
def children():
    """-p also takes the children of its process; --no-children leaves the children out."""
    parent = "import subprocess, sys; subprocess.run([sys.executable, '-c', %r])" % SLEEPS
    with ready(parent) as target:
        both = dump("-p", target.pid)
        check(len(both) == 2 and target.pid in both, "processes: %s" % list(both))
        check(set(dump("-p", target.pid, "--no-children")) == {target.pid}, "a child too")
        check(both[target.pid]["threads"][0]["state"] in ("child", "poll"),
              both[target.pid]["threads"][0]["words"])


@case
def not_python():
    """A process that isn't Python is shown if -p names it. The test tries a blocked process, a
    running one and a kernel thread."""
    with kit.Background("sleep", "100") as target:
        wait_for(lambda: state(target.pid) == "S", 5)
        process = dump("-p", target.pid)[target.pid]
        text = krait("dump", "-p", target.pid).stdout
    thread, = process["threads"]
    check(process["python"] is None and ": sleep, not Python, 1 thread" in text, text)
    check(thread["state"] == "sleep" and "clock_nanosleep" in names(thread, "native"), str(thread))
    check(any("nanosleep" in name for name in names(thread, "kernel")), str(thread))
    check(not names(thread, "mark"), str(thread))
    with kit.Background("sh", "-c", "while :; do :; done") as target:
        time.sleep(0.3)
        thread, = dump("-p", target.pid)[target.pid]["threads"]
        check(thread["state"] in ("running", "runnable") and thread["steady"], thread["words"])
        check("__libc_start_main" in names(thread, "native"), str(thread))
    with open("/proc/2/comm") as f:
        if f.read() != "kthreadd\n":
            return  # in a PID namespace of a container, process 2 isn't the kernel's kthreadd
    thread, = dump("-p", 2)[2]["threads"]
    check("kthreadd" in names(thread, "kernel") and not thread["system_call"], str(thread))


@case
def all_processes():
    """Without -p krait dump shows all Python processes, with --comm all Python processes of that
    name."""
    with ready(SLEEPS) as one, ready(SLEEPS) as two:
        check({one.pid, two.pid} <= set(dump()), "krait doesn't show all Python processes")
        check({one.pid, two.pid} <= set(dump("--comm", "pyth*")), "krait doesn't show all processes of that name")
        refused(1, "no Python process", "dump", "--comm", "no-such-name")


ENDS = """
import ctypes, os, sys, threading, time
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
time.sleep(0.1)
sys.stdout.write("ready"); sys.stdout.flush()
ctypes.CDLL(None).pthread_exit(None)
"""


def waits_for_reader(pid):
    with open("/proc/%d/wchan" % pid) as f:
        return "pipe" in f.read()


@case
def ends_meanwhile():
    """If one of several processes ends while krait reads it, krait says that this process has
    ended, and shows the others."""
    for args in (), ("--json",):
        with ready(SLEEPS, "1000") as long, ready(SLEEPS) as ends, ready(SLEEPS) as stays:
            # krait's text about the first process is more than a pipe holds. So krait waits here
            # before it reads the second process.
            with kit.Background(kit.KRAIT, "dump", *args, "-p", long.pid, "-p", ends.pid, "-p", stays.pid,
                                stdout=subprocess.PIPE) as dumps:
                wait_for(lambda: waits_for_reader(dumps.pid), 20)
                ends.stop(signal.SIGKILL)
                said = dumps.process.communicate(timeout=60)[0].decode()
        if args:
            lives = {p["pid"]: (p["life"], bool(p["life_words"])) for p in json.loads(said)["processes"]}
            check(lives == {long.pid: ("goes on", False), ends.pid: ("ended", True),
                            stays.pid: ("goes on", False)}, str(lives))
            continue
        parts = {int(part.split(":")[0]): part for part in said.split("Process ")[1:]}
        check("  [the process ended while it was read: " in parts[ends.pid], parts[ends.pid])
        check(said.count("ended while") == 1, "krait says it of another process too")


@case
def ended():
    """If a process is a zombie, or its first thread has ended, krait says so. It calls neither
    process "not Python"."""
    with kit.Background(kit.PYTHON, "-c", "", stdout=subprocess.PIPE) as target:
        wait_for(lambda: state(target.pid) == "Z", 5)
        process = dump("-p", target.pid)[target.pid]
        text = krait("dump", "-p", target.pid).stdout
    thread, = process["threads"]
    check(process["life"] == "had ended" and thread["state"] == "ended" and not thread["frames"], str(process))
    check("its parent hasn't noticed" in text and re.search("has ended [0-9.]+ m?s ago\n", text), text)
    check("not Python" not in text and "[incomplete" not in text, text)
    with kit.Background(kit.PYTHON, "-c", ENDS, stdout=subprocess.PIPE) as target:
        wait_for(lambda: state(target.pid) == "Z", 5)
        process = dump("-p", target.pid)[target.pid]
        text = krait("dump", "-p", target.pid).stdout
    check([t["state"] for t in process["threads"]] == ["ended", "sleep"], str(process))
    check(process["life"] == "first thread ended" and "  [the process's first thread has ended; other threads go on]" in text, text)
    check("not Python" not in text and "[incomplete" not in text, text)
    check(names(process["threads"][1], "python")[-1] == "Thread.run" and "\n    self._target(" in text, text)


@case
def no_frames():
    """With the options that leave out native and kernel frames, a program in C has no frames. krait
    then shows its stack as "[no stack]", and doesn't call it incomplete."""
    with kit.Background("sleep", "100") as target:
        wait_for(lambda: state(target.pid) == "S", 5)
        thread, = dump("-p", target.pid, "--native=none", "--no-kernel")[target.pid]["threads"]
    check(names(thread, "mark") == ["[no stack]"], str(thread))


@case
def thread_number():
    """If -p is given the number of a thread, the error names the process to which the thread
    belongs."""
    with ready(SLEEPS, "1") as target:
        tid = max(map(int, os.listdir("/proc/%d/task" % target.pid)))
        for command in "dump", "top", "record":
            refused(1, "%d is a thread of process %d; give the number of the process: -p %d" % (tid, target.pid, target.pid), command, "-p", tid, "--no-children")
            refused(1, "-p %d" % target.pid, command, "-p", tid)


@case
def splice():
    """A thread is blocked in splice(), which has two descriptors. krait names the descriptor for
    which the thread waits."""
    source = """
import ctypes, os, sys
(a, b), (c, d) = os.pipe(), os.pipe()
if sys.argv[1] == "full":
    os.write(b, b"x"); os.set_blocking(d, False)
    try:
        while True: os.write(d, b"x" * 4096)
    except BlockingIOError: os.set_blocking(d, True)
os.write(1, b"ready%3d" % (d if sys.argv[1] == "full" else a))
ctypes.CDLL(None).splice(a, None, d, None, 1, 0)
"""
    for pipe in "empty", "full":
        with kit.Background(kit.PYTHON, "-c", source, pipe, stdout=subprocess.PIPE) as target:
            descriptor = int(target.process.stdout.read(8)[5:])
            wait_for(lambda: state(target.pid) == "S", 5)
            thread, = dump("-p", target.pid)[target.pid]["threads"]
        check((thread["system_call"], thread["descriptor"]) == ("splice", descriptor),
              "%s, not %d" % (thread["words"], descriptor))


NAPS = """
import sys, threading, time
def naps():
    while True: time.sleep(0.00005)
for i in range(8):
    threading.Thread(target=naps, daemon=True).start()
sys.stdout.write("ready"); sys.stdout.flush()
time.sleep(1000)
"""


@case
def short_sleeps():
    """If a thread wakes up while krait reads it, krait reads the thread again, and doesn't show it
    as blocked at an unknown place."""
    with kit.Background(kit.PYTHON, "-c", NAPS, stdout=subprocess.PIPE) as target:
        target.process.stdout.read(5)
        for _ in range(30):
            for thread in dump("-p", target.pid, "--native=none", "--no-kernel")[target.pid]["threads"]:
                check(thread["state"] in ("sleep", "gil", "runnable", "running"), thread["words"])


SPINS = """
import sys, threading
def spin():
    while True: pass
threading.Thread(target=spin, daemon=True).start()
sys.stdout.write("ready"); sys.stdout.flush()
spin()
"""


@case
def gil_changes_hands():
    """krait reads one thread after the other. Between two readings, another thread may get the GIL.
    krait doesn't name a thread as the holder if that thread's own state says that it doesn't
    hold the GIL."""
    claims = 0
    with kit.Background(kit.PYTHON, "-c", SPINS, stdout=subprocess.PIPE) as target:
        target.process.stdout.read(5)
        for _ in range(40):
            threads = {t["tid"]: t for t in dump("-p", target.pid, "--native=none")[target.pid]["threads"]}
            for thread in threads.values():
                if not thread["gil_holder"]:
                    continue
                holds = " %d holds" % thread["gil_holder"] in thread["words"]
                claims += 1
                check(holds or "held when" in thread["words"], thread["words"])
                gil = threads[thread["gil_holder"]]["gil"]
                check(holds == (gil in ("held", "unknown")), "%s, but: %s" % (thread["words"], gil))
    check(claims, "none waited for the GIL")


@case
def stopped_without_gil():
    """A program hangs in C code that keeps the GIL, and then SIGSTOP stops it: for the thread that
    waits for the GIL krait still names the holder."""
    with kit.Background(kit.PYTHON, "-c", SPINS.replace("while True: pass", "import re; re.match('(a+)+$', 'a' * 60 + 'b')"),
                        stdout=subprocess.PIPE) as target:
        target.process.stdout.read(0)
        wait_for(lambda: len(os.listdir("/proc/%d/task" % target.pid)) == 2, 5)
        time.sleep(0.5)
        hangs = dump("-p", target.pid)[target.pid]["threads"]
        os.kill(target.pid, signal.SIGSTOP)
        wait_for(lambda: state(target.pid) == "T", 5)
        threads = dump("-p", target.pid)[target.pid]["threads"]
    # `hangs` is a dump from before the stop. In it, one thread was in C code that keeps the GIL for
    # ever.
    holder, = (t for t in hangs if t["gil"] == "held")
    waiter, = (t for t in hangs if t["gil"] == "waiting")
    check(holder["state"] in ("running", "runnable") and holder["steady"] and names(holder)[-2:] == ["spin", "match"],
          str(holder))
    check(waiter["state"] == "gil" and waiter["gil_holder"] == holder["tid"] and waiter["steady"] and names(waiter), str(waiter))
    holder, = (t for t in threads if t["gil"] == "held")
    waiter, = (t for t in threads if t["gil"] == "waiting")
    check(waiter["state"] == "stopped" and waiter["gil_holder"] == holder["tid"], waiter["words"])
    check("waits for the GIL, which thread %d has held for " % holder["tid"] in waiter["words"],
          waiter["words"])


@case
def errors():
    """If krait can't do what the command line asks for, it says so in one sentence and ends with
    the right exit code."""
    refused(1, "no process 4194999", "dump", "-p", 4194999)
    refused(2, "not a process id", "dump", "-p", "init")
    refused(2, "--no-children needs", "dump", "--no-children")
    refused(2, "--pid already chooses", "dump", "-p", 1, "--comm", "x")


@case
def other_users():
    """An ordinary user who asks for another user's process is told which right this takes. The
    user's own processes are shown."""
    kit.need("setpriv")
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

    def as_nobody(*args):
        return subprocess.run(nobody + [kit.KRAIT, "dump"] + [str(a) for a in args], timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                              check=False)
    with kit.folder() as folder:
        # The user nobody may not look into the build's folder, so the test copies krait.
        copy = os.path.join(folder, "krait")
        subprocess.run(["cp", kit.KRAIT, copy], check=True)
        os.chmod(folder, 0o755)
        original, kit.KRAIT = kit.KRAIT, copy
        try:
            with ready(SLEEPS) as target:
                done = as_nobody("-p", target.pid)
                check(len(done.stderr.splitlines()) == 1, done.stderr)
                check(done.returncode == 3, "exit code %d: %s" % (done.returncode, done.stderr))
                check("`sudo %s dump -p %d`" % (copy, target.pid) in done.stderr, done.stderr)
                # Even the root user of a container may have no capabilities.
                done = subprocess.run(["setpriv", "--bounding-set=-all", "--inh-caps=-all", copy, "dump", "-p", "1"],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
                                      timeout=60, check=False)
                check(done.returncode == 3 and "although krait runs as root" in done.stderr
                      and "sudo" not in done.stderr, done.stderr)
            # With these capabilities, the copy can do everything that needs no kernel program.
            with kit.Background(*nobody, kit.PYTHON, "-c", SLEEPS, "1",
                                stdout=subprocess.PIPE) as target:
                target.process.stdout.read(5)
                time.sleep(0.2)
                done = as_nobody("-p", target.pid, "--json")
                check(done.returncode == 0, "exit code %d: %s" % (done.returncode, done.stderr))
                found, = json.loads(done.stdout)["processes"]
                check([names(t)[-1] for t in found["threads"]] == ["sleeps_here"] * 2, str(found))
            # Without the kernel program krait can't sample a running thread. It reads the stack
            # while the thread runs, and says so above the stack.
            with kit.Background(*nobody, kit.PYTHON, "-c", kit.BUSY) as target:
                kit.runs(target.pid, 0.3)
                done = as_nobody("-p", target.pid, "--json")
                thread, = json.loads(done.stdout)["processes"][0]["threads"]
                check(thread["state"] == "running" and not thread["steady"], str(thread))
                text = as_nobody("-p", target.pid).stdout
                check("  [read while it ran: these frames may not belong together]\n" in text, text)
        finally:
            kit.KRAIT = original


TELLS = """
import sys, threading, time, traceback
def deep(n):
    if n:
        return deep(n - 1)
    for f in traceback.extract_stack():
        sys.stdout.write("%s %s:%d\\n" % (f.name, f.filename, f.lineno))
    sys.stdout.write("ready\\n"); sys.stdout.flush(); time.sleep(1000)
def outer():
    deep(1)
outer()
"""


@case
def short():
    """With --short each frame is one line, and kernel frames are shown only with -v. The program
    itself says which frames are right."""
    with kit.folder() as d:
        script = os.path.join(d, "tells.py")
        with open(script, "w") as f:
            f.write(TELLS)
        with kit.Background(kit.PYTHON, script, stdout=subprocess.PIPE) as target:
            frames = []
            while not frames or frames[-1] != "ready":
                frames.append(target.process.stdout.readline().decode().strip())
            wait_for(lambda: state(target.pid) == "S", 5)
            text = krait("dump", "-p", target.pid, "--short").stdout
            whole, more = (krait("dump", "-p", target.pid, *args).stdout for args in ((), ("-v",)))
            kernel = names(dump("-p", target.pid)[target.pid]["threads"][0], "kernel")
    lines = text.splitlines()
    # deep() sleeps in line 8, but has read its own stack in line 6.
    want = [f.replace(script + ":6", script + ":8") if "deep" in f else f for f in frames[:-1]]
    got = [re.match(r"  (\S+) \((.*)\)$", line).expand(r"\1 \2") for line in lines[3:] if not line.startswith("  native: ")]
    check(len(want) == 4 and len(got) == len(want) and all(g.split(" ")[0] == w.split(" ")[0] and w.endswith(g.split(" ")[1].split("/")[-1])
                                                           for g, w in zip(got, want)), "%s, not %s" % (got, want))
    check(len(lines) == 3 + 4 + sum(line.startswith("  native: ") for line in lines) and "sleep(1000)" not in text, text)
    check(kernel and not re.search("^  kernel: ", text + whole, re.M) and len(re.findall("^  kernel: ", more, re.M)) == len(kernel), more)
    refused(2, "keep one", "dump", "--short", "--json")


if __name__ == "__main__":
    sys.exit(kit.main())
