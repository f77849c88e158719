#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""If a name or a number (of a thread, a process, a file) is used again, no sample has a name that
belongs only to a later or an earlier owner. Each program has functions that run only in one
thread, module or process, so the function in a sample says which name is right."""
import collections
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import check, folder, krait

BURN = """
import time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        for i in range(500):
            pass
"""
# A thread that `threading` doesn't know has the kernel's name. When it has ended, a thread with a
# name in Python gets the same thread id.
THREADS = BURN + """
import _thread, threading
def run(function, done):
    number.append(threading.get_native_id())
    function()
    done.release()
def unnamed_long():
    burn(0.3)
def unnamed_short():
    burn(0.02)
def named():
    burn(0.6)
def start(function, starter):
    done = _thread.allocate_lock()
    done.acquire()
    starter(run, (function, done))
    done.acquire()
    time.sleep(0.2)
    return number.pop()
def start_named(target, args):
    threading.Thread(target=target, args=args, name="Named").start()
number = []
again = 0
for function in (unnamed_long, unnamed_short):
    first = start(function, _thread.start_new_thread)
    for i in range(20):
        with open("/proc/sys/kernel/ns_last_pid", "w") as f:
            f.write(str(first - 1))
        if start(named, start_named) == first:
            again += 1
            break
print(again)
"""
# A program in which only one thread has samples, and only few. This thread isn't the main thread.
LONE = """
import sys, threading, time
def lone():
    end = time.thread_time() + 0.06
    while time.thread_time() < end:
        for i in range(500):
            pass
    time.sleep(0.5)
sys.stdin.readline()
thread = threading.Thread(target=lone, name="Lone")
thread.start()
thread.join()
"""
# The text of one module file, which is executed under several module names, one after the other.
BODY = "import builtins; builtins.burn_in(__name__)\n"
IMPORTS = BURN + """
import builtins, importlib, importlib.util, sys
for i in range(12):
    exec(compile("def burn_%d(): burn(0.1)" % i, "burn.py", "exec"))
builtins.burn_in = lambda name: globals()["burn_" + name.split("_")[1]]()
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("plugin_"):
            return importlib.util.spec_from_file_location(name, sys.argv[1])
sys.meta_path.insert(0, Finder())
for i in range(12):
    importlib.import_module("plugin_%d" % i)
    del sys.modules["plugin_%d" % i]
"""

# When krait reads the name of a module that has run, the memory of the module's globals already
# holds the globals of the next module. The first module's code object still exists.
LATE = IMPORTS.replace("burn(0.1)", "burn(0.05)").replace("range(12)", "range(6)").replace(
    "for i in range(6):\n    importlib", """
import os, signal, time
def hook(event, args):
    if event == "compile" and str(args[1]).endswith("body.py"):
        os.kill(os.getppid(), signal.SIGCONT)
        time.sleep(0.2)
        os.kill(os.getppid(), signal.SIGSTOP)
sys.addaudithook(hook)
for i in range(6):
    importlib""") + "os.kill(os.getppid(), signal.SIGCONT)\n"

# Before and after an exec there is code made at run time at the same address. Only the perf map of
# the first program names it.
EXEC = BURN + """
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
FIXED = 0x100000  # MAP_FIXED_NOREPLACE
at = libc.mmap(0x10000000, 65536, 7, 0x22 | FIXED, -1, 0)
CODE = bytes([0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf9,  # push rbp; mov rbp, rsp; mov rcx, rdi
              0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3])  # dec rcx; jnz; pop rbp; ret
ctypes.memmove(at, CODE, len(CODE))
function = ctypes.CFUNCTYPE(None, ctypes.c_long)(at)
def spend():
    end = time.process_time() + 0.4
    while time.process_time() < end:
        function(10000000)
def first_image():
    spend()
def second_image():
    spend()
path = "/tmp/perf-%d.map" % os.getpid()
if len(sys.argv) == 1:
    with open(path, "w") as f:
        f.write("%x %x code_of_the_first\\n" % (at, 64))
    time.sleep(1.1)  # krait looks for a perf map once a second
    first_image()
    os.execv(sys.executable, [sys.executable, "-B", sys.argv[0], "again"])
try:
    second_image()
finally:
    os.unlink(path)
"""

# Up to 3.12 a subinterpreter has one thread state, made by the thread that created the interpreter.
# Another thread that runs code in it uses the same state.
INTERPRETER = BURN + """
import threading
import _xxsubinterpreters as interpreters
made_here = interpreters.create()
def outside():
    burn(0.2)
    interpreters.run_string(made_here, INSIDE)
    burn(0.2)
INSIDE = open(__file__).read().split("import threading")[0] + '''
def inside():
    burn(0.4)
inside()
'''
thread = threading.Thread(target=outside)
thread.start()
thread.join()
"""


def record(d, program, python, *args, options=()):
    with open(d + "/program.py", "w") as f:
        f.write(program)
    done = krait("record", "-q", "-F", 4999, *options, "-o", d + "/o.pb.gz", "--", python, "-B",
                 d + "/program.py", *args)
    check(done.returncode == 0, done.stderr)
    return done.stdout, kit.pprof.read(d + "/o.pb.gz")


@kit.case
def thread_numbers():
    """A thread doesn't get the name of the thread that had the same thread id before."""
    with folder() as d:
        said, profile = record(d, THREADS, kit.PYTHON)
    if said.strip() != "2":
        raise kit.Skip("other programs took the thread numbers")
    count = collections.Counter()
    for sample in profile.samples:
        for frame in profile.stack(sample):
            if frame.name in ("named", "unnamed_long", "unnamed_short"):
                count[frame.name, sample.labels.get("thread") == "Named"] += sample.values[0]
    print("  %s" % dict(count))
    for function in ("unnamed_long", "unnamed_short"):
        check(not count[function, True], "%d samples of %s in the named thread" % (
            count[function, True], function))
        check(count[function, False] > 20, "%s: hardly a sample" % function)
    # Until krait knows the named thread's name in Python, it shows the kernel's name, which the
    # unnamed thread has, too.
    check(count["named", True] > count["named", False], "the named one has no name")


def lone_names():
    """Returns the thread names in the worker's samples, or None if the main thread has samples too
    or nobody has samples."""
    with folder() as d, kit.python(LONE, stdin=subprocess.PIPE) as target:
        with kit.recorder(d + "/x.pb.gz", "-q", "-F", "99", "-p", target.pid) as running:
            target.process.communicate(b"\n")
            code, said = running.finish()
        check(code == 0, said)
        samples = kit.pprof.read(d + "/x.pb.gz").samples
    alone = {sample.labels["tid"] == sample.labels["pid"] for sample in samples} == {False}
    return {sample.labels.get("thread") for sample in samples} if alone else None


@kit.case
def lone_thread():
    """A thread that ends soon is shown under its name, even if no other thread of the process had a
    sample."""
    met = [names for names in (lone_names() for _ in range(4)) if names]
    if not met:
        raise kit.Skip("the main thread was met, or none")
    check(all(names == {"Lone"} for names in met), met)


@kit.case
def start_of_a_process():
    """The kernel programs and /proc give the same start time for a process."""
    if os.path.exists("/proc/self/ns/time") and os.readlink("/proc/self/ns/time") != "time:[4026531834]":
        raise kit.Skip("/proc has other times in a time namespace")
    with folder() as d, kit.python() as target:
        done = krait("record", "-vv", "-p", target.pid, "-d", 0.5, "-o", d + "/o.pb.gz")
        with open("/proc/%d/stat" % target.pid) as f:
            ticks = int(f.read().rsplit(")", 1)[1].split()[19])
    told = re.findall(r"process %d \(exec number \d+, started at (\d+) ns\)" % target.pid, done.stderr)
    check(told, done.stderr)
    start = ticks * 10**9 // os.sysconf("SC_CLK_TCK")
    check(set(map(int, told)) == {start}, "%s, not %d" % (told, start))


def place_of(python):
    """Returns the path of the file that @python really executes, and the PYTHONHOME that a copy of
    this file needs."""
    text = "import os, sys; print(os.readlink('/proc/self/exe')); print(sys.base_prefix)"
    return subprocess.run([python, "-c", text], check=True, stdout=subprocess.PIPE,
                          encoding="utf-8").stdout.split("\n")[:2]


@kit.case
def executable_rewritten():
    """An executable is overwritten with another interpreter, so that path and inode stay the same:
    krait reads each process by the rules of the interpreter that the process runs."""
    places = [place_of(path) for name, _, _, path in kit.interpreters()
              if name in ("python3-dist", "python3-dist-dbg")]
    if len(places) != 2:
        raise kit.Skip("no two interpreters for this C library")
    with folder() as d:
        pids = []
        with open(d + "/busy.py", "w") as f:
            f.write(BURN + "burn(0.5)\n")
        with kit.recorder(d + "/o.pb.gz", "-F", 999) as running:
            for executable, home in places + places[:1]:
                shutil.copyfile(executable, d + "/program")
                os.chmod(d + "/program", 0o755)
                with subprocess.Popen([d + "/program", "-S", d + "/busy.py"],
                                      env=dict(os.environ, PYTHONHOME=home)) as python:
                    check(python.wait() == 0, "the copied interpreter doesn't run")
                pids.append(python.pid)
            code, said = running.finish()
        check(code == 0, said)
        for pid in pids:
            total, found = kit.share(d + "/o.pb.gz", "burn", d + "/busy.py", {pid})
            print("  %d samples, %d of them in burn()" % (total, found))
            check(total > 100 and found > total / 2, "%d samples, %d in burn()" % (total, found))


LIBRARY = r"""
__attribute__((noinline)) long NAME(long n)
{
	volatile long x = 0;

	while (n--)
		x += n;
	return x;
}
long go(long n)
{
	char frame[FRAME];

	frame[n % FRAME] = 1;
	__asm__ volatile("" ::"r"(frame) : "memory");
	return NAME(n) + 1;
}
"""
# The program maps one more executable page in each round, so krait reads its mappings again and
# again.
TWO_LIBRARIES = """
import ctypes, mmap, sys
first, second = (ctypes.CDLL(path) for path in sys.argv[1:])
pages = []
def in_first():
    first.go(2000000)
def in_second():
    second.go(2000000)
while True:
    in_first()
    in_second()
    pages.append(mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7))
"""
OVERLAY = """
set -e
cd "$1"
mkdir lower1 lower2 both
for name in first second; do
	n=$((n + 1))
	mount -t tmpfs krait lower$n
	cp -p $name.so lower$n
done
mount -t overlay krait -o xino=off,lowerdir=lower1:lower2 both
shift
exec "$@"
"""


@kit.case
def layers_of_an_overlay():
    """If the layers of an overlay are different file systems, two files can have the same inode
    number in the list of mappings. No sample in one of these files has a function of the other
    file."""
    kit.need("gcc")
    with folder() as d:
        paths = [d + "/both/%s.so" % name for name in ("first", "second")]
        for name, frame in (("first", 64), ("second", 512)):
            subprocess.run(["gcc", "-O1", "-fPIC", "-shared", "-DNAME=of_" + name, "-DFRAME=%d" % frame,
                            "-x", "c", "-", "-o", "%s/%s.so" % (d, name)], input=LIBRARY.encode(),
                           check=True)
            os.utime("%s/%s.so" % (d, name), (1, 1))
        with kit.Background("unshare", "--mount", "--propagation", "private", "sh", "-c", OVERLAY, "sh",
                            d, kit.PYTHON, "-c", TWO_LIBRARIES, *paths) as target:
            try:
                kit.runs(target.pid, 0.5)
            except (AssertionError, OSError):
                raise kit.Skip("no overlay") from None
            with open("/proc/%d/maps" % target.pid) as f:
                numbers = {l.split()[5]: l.split()[3:5] for l in f if l.split()[-1] in paths}
            if len(numbers) != 2 or numbers[paths[0]] != numbers[paths[1]]:
                raise kit.Skip("the files have different numbers")
            with kit.recorder(d + "/o.pb.gz", "-p", target.pid, "-F", "199") as running:
                kit.runs(target.pid, 3)
                held = ["/both/" in target for target in kit.open_files(running.pid)]
                code, said = running.finish()
        check(code == 0, said)
        profile, count = kit.pprof.read(d + "/o.pb.gz"), collections.Counter()
        for sample in profile.samples:
            names = {f.name for f in profile.stack(sample)}
            for name, other in (("first", "second"), ("second", "first")):
                if "in_" + name in names:
                    count[name] += sample.values[0]
                    count[name, "named"] += "of_" + name in names and "go" in names
                    count[name, "wrong"] += "of_" + other in names
    print("  %s, %d files held" % (dict(count), sum(held)))
    for name in ("first", "second"):
        # While krait reads the mappings anew, it names no function. Reading takes longer on
        # machines with slow system calls, so it is enough if 0.4 of the samples are named.
        check(count[name] > 50 and count[name, "named"] > 0.4 * count[name],
              "%d of %d samples in %s" % (count[name, "named"], count[name], name))
        check(not count[name, "wrong"], "%d samples in %s have the other's function" % (
            count[name, "wrong"], name))
    check(sum(held) <= 4, "%d descriptors of two files" % sum(held))


# A program that runs early(), changes its name, moves to another control group and runs late().
# argv[1]: the file cgroup.procs of that group.
CHANGING = BURN + """
import os, sys
def early():
    burn(1.5)
def late():
    burn(3)
early()
with open("/proc/self/comm", "w") as f:
    f.write("krait-late")
with open(sys.argv[1], "w") as f:
    f.write(str(os.getpid()))
late()
"""


def control_group():
    """Makes a control group. Returns its directory."""
    with open("/proc/self/mountinfo") as f:
        mounts = [line.split() for line in f]
    for mount in mounts:
        if mount[mount.index("-") + 1] == "cgroup2" or "memory" in mount[-1].split(","):
            try:
                made = os.path.join(mount[4], "krait-late-%d" % os.getpid())
                os.mkdir(made)
            except OSError:
                continue
            if os.path.exists(made + "/cgroup.procs"):
                return made
            os.rmdir(made)
    raise kit.Skip("no control group can be made")


def chosen_while_it_changes(made, *options):
    """Records the program CHANGING. Returns {(whether the sample is in late() and not in early(),
    whether its label is the new control group): samples}."""
    count = collections.Counter()
    with folder() as d:
        with open(d + "/program.py", "w") as f:
            f.write(CHANGING)
        with kit.recorder(d + "/o.pb.gz", "-F", "199", *options) as running:
            subprocess.run([kit.PYTHON, d + "/program.py", made + "/cgroup.procs"], check=True)
            code, said = running.finish()
        check(code == 0, said)
        profile = kit.pprof.read(d + "/o.pb.gz")
    for sample in profile.samples:
        for name in {f.name for f in profile.stack(sample)} & {"early", "late"}:
            moved = os.path.basename(made) in sample.labels.get("cgroup", "")
            count[name == "late", moved] += sample.values[0]
    print("  %s: %s" % (" ".join(options), dict(count)))
    return count


@kit.case
def renamed_and_moved():
    """Options that choose a program take its current name and control group, not those with which
    it began."""
    made = control_group()

    def holds(condition, *options):
        # krait looks at names and control groups once a second, on a busy machine less often; so it
        # is enough if one of three tries succeeds.
        check(any(condition(chosen_while_it_changes(made, *options)) for _ in range(3)),
              " ".join(options) or "labels")
    try:
        holds(lambda n: not n[False, False] and n[True, True] > 150, "--comm", "krait-late")
        holds(lambda n: n[False, False] > 200 and n[True, False] + n[True, True] < 400,
              "--comm", "python3*")
        holds(lambda n: not n[False, False] and n[True, True] > 150,
              "--cgroup", os.path.basename(made))
        holds(lambda n: n[False, False] > 200 and not n[False, True] and n[True, True] > 150)
    finally:
        os.rmdir(made)


@kit.case
def map_of_an_earlier_image():
    """A program makes a perf map and then execs: the perf map doesn't name code that was made after
    the exec."""
    if os.uname().machine != "x86_64":
        raise kit.Skip("x86-64 code")
    with folder() as d:
        _, profile = record(d, EXEC, kit.PYTHON, options=("--native=full",))
    count = collections.Counter()
    for sample in profile.samples:
        names = {f.name for f in profile.stack(sample)}
        for image in names & {"first_image", "second_image"}:
            count[image, "code_of_the_first" in names] += sample.values[0]
    print("  %s" % dict(count))
    check(count["first_image", True] > 100, "the first one's code has no name")
    check(count["second_image", False] > 100, "hardly a sample of the second one")
    check(not count["second_image", True], "%d samples of the second one with the first one's name" %
          count["second_image", True])


def interpreter_of_another_thread(python):
    """A thread runs code in a subinterpreter that another thread made: its samples have all its
    frames."""
    with folder() as d:
        _, profile = record(d, INTERPRETER, python)
    count = collections.Counter()
    for sample in profile.samples:
        names = {f.name for f in profile.stack(sample)}
        if "burn" in names:
            count["inside" if "inside" in names else "outside" if "outside" in names else ""] += (
                sample.values[0])
    print("  %s: %s" % (python, dict(count)))
    # Each function works for 0.4 s, and krait samples at 4,999 Hz.
    for name in ("inside", "outside"):
        check(0.9 * 2000 < count[name] < 1.1 * 2000, "%d of 2,000 samples of %s" % (
            count[name], name))
    check(not count[""], "%d samples without a caller" % count[""])


def module_names(python, program=IMPORTS):
    with folder() as d:
        with open(d + "/body.py", "w") as f:
            f.write(BODY)
        _, profile = record(d, program, python, d + "/body.py")
    count = collections.Counter()
    for sample in profile.samples:
        names = [f.name for f in profile.stack(sample)]
        burns = [n.split("_")[1] for n in names if n.startswith("burn_") and n != "burn_in"]
        imports = [n.split("_")[1] for n in names if n.startswith("import plugin_")]
        if burns:
            count[not imports or imports == burns] += sample.values[0]
    print("  %s: %s" % (python, dict(count)))
    check(sum(count.values()) > 100, "hardly a sample")
    check(not count[False], "%d of %d samples with another module's import" % (
        count[False], sum(count.values())))


def module_names_late(python):
    module_names(python, LATE)


def register(what, name, path):
    def run():
        what(path)

    run.__name__ = "%s_%s" % (what.__name__, name)
    kit.case(run)


WANTED = ((3, 8), (3, 10), (3, 11), (3, 12), (3, 14))
taken = set()  # (version, kind): the fast tier takes one interpreter of each
for name, version, kind, path in kit.interpreters():
    if version in WANTED and kit.is_plain(name) and kind in ("static", "shared"):
        if not kit.FULL and (version, kind) in taken:
            continue
        taken.add((version, kind))
        register(module_names, name, path)
        if version in ((3, 12), (3, 14)):
            register(module_names_late, name, path)
        if version in ((3, 11), (3, 12)):
            register(interpreter_of_another_thread, name, path)
if __name__ == "__main__":
    sys.exit(kit.main())
