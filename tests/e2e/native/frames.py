#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Names of native and kernel frames that are hard to find, and stacks that are hard to unwind."""
import collections
import contextlib
import json
import os
import re
import resource
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
import modules
from kit import Background, Skip, check, folder, krait

WORK_C = """
static volatile unsigned long total;
static __attribute__((noinline)) void hidden_worker(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		total += i ^ n;
}
void run(unsigned long n) { hidden_worker(n); total++; }
"""
CALL_WORK = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
def caller():
    while True:
        lib.run(ctypes.c_ulong(3000000))
caller()
"""


def tool(*args):
    try:
        return subprocess.run([str(a) for a in args], check=True, stdout=subprocess.PIPE,
                              encoding="utf-8").stdout
    except FileNotFoundError:
        raise Skip("no %s" % args[0]) from None


def record(pids, d, *args, cpu=0.8):
    """Records one process or several, until each process has used @cpu seconds of CPU time, however
    busy the machine is."""
    pids = pids if isinstance(pids, list) else [pids]
    return record_until(lambda: kit.runs(pids, cpu), d, *args, *(a for pid in pids for a in ("-p", pid)))


def record_until(wait, d, *args):
    with kit.recorder(d + "/o.pb.gz", "-F", 499, *args) as running:
        wait()
        code, said = running.finish(timeout=60)
    check(code == 0, "exit code %d: %s" % (code, said))
    return kit.pprof.read(d + "/o.pb.gz")


def record_for(seconds, pid, d):
    done = krait("record", "-p", pid, "-d", seconds, "-F", 499, "-o", d + "/o.pb.gz")
    check(done.returncode == 0, "exit code %d: %s" % (done.returncode, done.stderr))
    return kit.pprof.read(d + "/o.pb.gz")


def outcomes(d):
    """Returns the outcomes of unwinding, with their counts, from the recording's summary d/s.json.
    """
    with open(d + "/s.json") as f:
        return json.load(f)["native_outcomes"]


def share(profile, wanted, pid=None):
    """Returns the share of samples for whose stack (root first) wanted() is true, among those of
    one process or among all."""
    n = [0, 0]
    for sample in profile.samples:
        if pid is not None and sample.labels["pid"] != str(pid):
            continue
        n[0] += sample.values[0]
        n[1] += sample.values[0] * bool(wanted(profile.stack(sample)))
    check(n[0] > 50, "only %d samples" % n[0])
    return n[1] / n[0]


def leaf_is(name):
    return lambda stack: stack and stack[-1].name == name


def stripped_library(d):
    """Makes a library without symbols. Returns the path at which krait looks for its debug file, by
    the build id."""
    with open(d + "/work.c", "w") as f:
        f.write(WORK_C)
    lib = d + "/libwork.so"
    tool("gcc", "-O1", "-g", "-shared", "-fPIC", "-Wl,--build-id", "-o", lib, d + "/work.c")
    note = tool("readelf", "-n", lib)
    build_id = note.split("Build ID:")[1].split()[0]
    tool("objcopy", "--only-keep-debug", lib, d + "/libwork.debug")
    tool("strip", "--strip-all", lib)
    return lib, "%s/%s.debug" % (build_id[:2], build_id[2:])


@kit.case
def debug_file_of_a_container():
    """krait finds a debug file that exists only in a container's own file system, even if the
    container ends while krait records."""
    with folder() as d:
        lib, place = stripped_library(d)
        os.mkdir(d + "/tree")
        debug = d + "/tree/usr/lib/debug"
        setup = ("mount --make-rprivate / && mount --rbind / {d}/tree && "
                 "mkdir -p {debug} && mount -t tmpfs none {debug} && "
                 "mkdir -p {debug}/.build-id/{sub} && "
                 "cp {d}/libwork.debug {debug}/.build-id/{place} && "
                 'exec chroot {d}/tree {python} -c "$0" {lib}').format(
                     d=d, debug=debug, sub=place[:2], place=place, python=kit.PYTHON, lib=lib)
        with Background("unshare", "-m", "sh", "-c", setup, CALL_WORK) as target:
            kit.runs(target.pid, 0.2)
            check(target.process.poll() is None, "the container doesn't run")
            got = share(record(target.pid, d), leaf_is("hidden_worker"))
            check(got > 0.9, "hidden_worker is the leaf of %.0f %%" % (100 * got))
        with Background("unshare", "-m", "timeout", "-s", "KILL", "3", "sh", "-c", setup,
                        CALL_WORK) as target:
            time.sleep(1)
            got = share(record_for(6, target.pid, d), leaf_is("hidden_worker"))
            check(got > 0.8, "if the container ends, hidden_worker is the leaf of %.0f %%" % (100 * got))


CALLS_C = """
static volatile unsigned long total;
static __attribute__((noinline)) void work(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		total += i ^ n;
}
static __attribute__((noinline)) void middle(unsigned long n) { work(n); total++; }
void run(unsigned long n) { middle(n); total++; }
"""


BUSY_C = """
static volatile unsigned long total;
__attribute__((noinline)) static void work(void) { for (int i = 0; i < 1000000; i++) total += i; }
int main(void) { for (;;) work(); }
"""


def built_with_musl(d, source, *names):
    """Compiles the program @source with musl, once statically and once dynamically linked. The two
    programs are the files @names in @d. Yields when they exist."""
    with open(d + "/source.c", "w") as f:
        f.write(source)
    for name, link in zip(names, (["-static"], [])):
        tool("musl-gcc", "-O1", "-o", d + "/" + name, d + "/source.c", *link)
        yield name


@kit.case
def musl():
    """musl has no unwind tables. Stacks of its programs must end at the frame that called main().
    """
    with folder() as d:
        for name in built_with_musl(d, BUSY_C, "busy-static", "busy-dynamic"):
            with Background(d + "/" + name) as target:
                profile = record_until(lambda pid=target.pid: kit.runs(pid, 0.8), d, "--all", "--comm", name, "--native=full")
                got = share(profile, lambda stack: [
                    f.name for f in stack if f.kind == "mark" or f.name in ("main", "work")
                ] == ["main", "work"], target.pid)
                check(got > 0.9, "%s: %.1f %% are whole" % (name, 100 * got))


THREADS_C = """
#include <pthread.h>
static volatile unsigned long total;
__attribute__((noinline)) static void work(void) { for (int i = 0; i < 100000; i++) total += i; }
static void *working(void *a) { for (;;) work(); return a; }
static void *nothing(void *a) { return a; }
static void make(void) { pthread_t t; pthread_create(&t, 0, nothing, 0); pthread_join(t, 0); }
int main(void) { pthread_t t; pthread_create(&t, 0, working, 0); for (;;) make(); }
"""


@kit.full_case
def musl_threads():
    """In programs of musl, stacks go through clone(), through the function that runs a thread, and
    through functions that wait, some of which have a stack protector and some of which never
    return. No stack has frames of two threads."""
    with folder() as d:
        for name in built_with_musl(d, THREADS_C, "made-static", "made-dynamic"):
            with Background(d + "/" + name) as target:
                time.sleep(0.3)
                done = krait("record", "--all", "--comm", name, "-F", 999, "-d", 3, "--native=full",
                             "--summary-json", d + "/s.json", "-o", d + "/o.pb.gz")
                check(done.returncode == 0, done.stderr)
            found = outcomes(d)
            check(found["WHOLE"] > 300 and found["NO_RULE"] < 0.06 * found["WHOLE"], "%s: %s" % (name, found))
            profile = kit.pprof.read(d + "/o.pb.gz")
            stacks = [({f.name for f in profile.stack(s)}, s.labels) for s in profile.samples if s.labels["pid"] == str(target.pid)]
            mixed = [names for names, labels in stacks if "main" in names and (
                labels["tid"] != labels["pid"] or names & {"working", "nothing"})]
            check(not mixed, "%s: %d stacks of two threads: %s" % (name, len(mixed), mixed[:2]))


# A program that maps many libraries, as many containers on a machine together do.
MANY_LIBRARIES = """
import glob, mmap, shutil, sys, zlib
library = glob.glob("/usr/lib/*/liblzma.so.5")[0]
maps = []
for i in range(400):
    with open(shutil.copy(library, "%s/%d.so" % (sys.argv[1], i)), "rb") as f:
        maps.append(mmap.mmap(f.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
while True:
    zlib.compress(bytes(100000))
"""


@kit.case
def more_libraries_than_descriptors():
    """If a program has more libraries than krait may open files, stacks still have the program's
    native frames. A command keeps the limit that krait was started with."""
    soft, hard = 300, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))  # noqa: E731
    with folder() as d, Background(kit.PYTHON, "-c", MANY_LIBRARIES, d) as target:
        kit.runs(target.pid, 0.5)
        done = krait("record", "-p", target.pid, "-F", 499, "-d", 2, "-o", d + "/o.pb.gz", preexec_fn=few)
        check(done.returncode == 0, done.stderr)
        got = share(kit.pprof.read(d + "/o.pb.gz"), lambda stack: stack[-1].kind != "python")
        check(got > 0.8, "%.0f %% end in native code" % (100 * got))
        done = krait("record", "-q", "-o", d + "/c.folded", "--", "sh", "-c", "ulimit -S -n", preexec_fn=few)
        check(done.stdout.strip() == str(soft), "the command may open " + done.stdout)


@kit.case
def library_without_tables():
    """Stacks go through a stripped library without unwind information, such as IPP in OpenCV's
    wheel. Where two of its three functions begin is known only from the calls to them."""
    with folder() as d:
        with open(d + "/calls.c", "w") as f:
            f.write(CALLS_C)
        lib = d + "/libcalls.so"
        tool("gcc", "-O1", "-fPIC", "-shared", "-nostdlib", "-fno-asynchronous-unwind-tables", "-s",
             "-fno-optimize-sibling-calls", "-o", lib, d + "/calls.c")
        check("FDE" not in tool("readelf", "--debug-dump=frames", lib), "the library has unwind information")
        with Background(kit.PYTHON, "-c", CALL_WORK, lib) as target:
            kit.runs(target.pid, 0.2)
            frames = share(record(target.pid, d, "--native=full"), lambda stack: stack[0].kind == "native"
                           and len([f for f in stack if f.mapping.endswith("libcalls.so")]) == 3)
            check(frames > 0.95, "%.0f %% are whole" % (100 * frames))


WITHOUT_TABLES = """
.macro function name
.globl \\name
.type \\name, @function
.p2align 4
\\name:
	push %rbx
	lea 2f(%rip), %rax
	jmp *%rax  # krait doesn't follow this jump: docs/decisions/0011
2:	mov %rdi, %rcx
1:	dec %rcx
	jnz 1b
	pop %rbx
	ret
.size \\name, . - \\name
.endm
function first
function second
.section .note.GNU-stack, "", @progbits
"""
CALL_TWO = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
def call_first():
    lib.first(3000000)
def call_second():
    lib.second(3000000)
while True:
    call_first()
    call_second()
"""


@kit.case
def functions_that_nothing_describes():
    """Two functions without unwind information are neighbours: no sample has the name of the other
    function."""
    if os.uname().machine != "x86_64":
        raise Skip("assembly for x86-64")
    with folder() as d:
        with open(d + "/two.S", "w") as f:
            f.write(WITHOUT_TABLES)
        lib = d + "/libtwo.so"
        tool("gcc", "-shared", "-nostdlib", "-o", lib, d + "/two.S")
        with Background(kit.PYTHON, "-c", CALL_TWO, lib) as target:
            kit.runs(target.pid, 0.2)
            profile = record(target.pid, d, cpu=1.5)
        for name, other in (("first", "second"), ("second", "first")):
            called = lambda stack, at=name: any(f.name == "call_" + at for f in stack)
            wrong = share(profile, lambda stack: called(stack) and any(f.name == other for f in stack))
            right = share(profile, lambda stack: called(stack) and any(f.name == name for f in stack))
            check(not wrong and right > 0.3, "%s: %.0f %% right, %.0f %% wrong" % (
                name, 100 * right, 100 * wrong))


# A 32-bit program that calls __kernel_vsyscall() (AT_SYSINFO) for getpid().
PROGRAM_32 = """
asm(".globl _start\\n_start: mov %esp, %eax\\npush %eax\\ncall run");
void run(unsigned *stack)
{
	unsigned *at = stack + 1, call = 0;
	while (*at++) ; /* arguments */
	while (*at++) ; /* environment */
	for (; *at; at += 2)
		if (*at == 32)
			call = at[1];
	for (;;) {
		int number = 20;
		asm volatile("call *%1" : "+a"(number) : "m"(call) : "memory", "ecx", "edx");
	}
}
"""


@kit.case
def vdso_of_32_bits():
    """A 32-bit process has a vDSO of its own: krait doesn't take it for the 64-bit vDSO."""
    with folder() as d:
        with open(d + "/program.c", "w") as f:
            f.write(PROGRAM_32)
        try:
            tool("gcc", "-m32", "-O1", "-nostdlib", "-static", "-fno-pie", "-no-pie",
                 "-fno-stack-protector", "-o", d + "/only-32", d + "/program.c")
        except subprocess.CalledProcessError:
            raise Skip("no compiler for 32 bits") from None
        with Background(d + "/only-32") as target:
            kit.runs(target.pid, 0.1)
            done = krait("record", "--all", "-d", 1, "-F", 999, "--native=full", "-o", d + "/o.pb.gz")
            check(done.returncode == 0, "exit code %d: %s" % (done.returncode, done.stderr))
        profile = kit.pprof.read(d + "/o.pb.gz")
        stacks = [profile.stack(sample) for sample in profile.samples
                  if sample.labels["process"] == "only-32"]
        check(stacks, "no sample of the 32-bit process")
        wrong = [f for stack in stacks for f in stack if f.mapping == "[vdso]"]
        check(not wrong, "%d frames of the 64-bit library" % len(wrong))


# A loop over small integers. Python keeps these objects for ever, so the loop allocates and frees
# nothing.
LOOP = """
def loop():
    while True:
        x = 0
        while x < 200:
            x += 1
loop()
"""
HOST_C = """
int Py_BytesMain(int argc, char **argv);
int main(int argc, char **argv) { return Py_BytesMain(argc, argv); }
"""


def loop_is_python(command, d, env):
    """Checks that loop() is the innermost frame: krait shows no C code that loop() would call."""
    with Background(*command, "-c", LOOP, env=env) as target:
        kit.runs(target.pid, 0.3)
        check(target.process.poll() is None, "%s doesn't run" % command[0])
        got = share(record(target.pid, d), leaf_is("loop"))
        check(got > 0.9, "%s: the loop is the leaf of %.0f %%" % (command[0], 100 * got))


@kit.case
def evaluation_loop_of_tail_calls():
    """A stripped interpreter has a function for each opcode instead of one evaluation loop, in its
    executable or in its library. krait hides these functions as it hides the evaluation loop."""
    executable = os.path.realpath(tool(kit.interpreter("tailcall"), "-c",
                                       "import sys; print(sys.executable)").strip())
    home = os.path.dirname(os.path.dirname(executable))
    libraries = [name for name in os.listdir(home + "/lib") if name.startswith("libpython3.") and
                 ".so.1" in name]
    check(not tool("nm", executable), "the interpreter has symbols")
    with folder() as d:
        loop_is_python([executable], d, None)
        check(libraries, "no libpython in " + home)
        library = home + "/lib/" + libraries[0]
        with open(d + "/host.c", "w") as f:
            f.write(HOST_C)
        tool("gcc", "-o", d + "/host", d + "/host.c", library, "-Wl,-rpath," + home + "/lib")
        loop_is_python([d + "/host"], d, dict(os.environ, PYTHONHOME=home))


SLEEPER = """
import asyncio, json
async def main():
    while True:
        await asyncio.sleep(0.01)
        json.dumps(list(range(300)))
asyncio.run(main())
"""


def whole_from_the_start(d):
    with kit.python(SLEEPER, d + "/sleeper") as target:
        kit.runs(target.pid, 0.1)
        for wanted in ["-p", target.pid], ["--comm", "sleeper"]:
            # Several tries, because on a busy machine the unwind rows are ready later.
            for _ in range(5):
                done = krait("record", *wanted, "--native=full", "-d", "500ms", "-F", 999,
                             "-o", d + "/o.pb.gz")
                check(done.returncode == 0, done.stderr)
                profile = kit.pprof.read(d + "/o.pb.gz")
                stacks = [profile.stack(s) for s in profile.samples
                          if s.labels.get("pid") == str(target.pid)]
                broken = [s for s in stacks if s[0].kind != "native"]
                if stacks and not broken:
                    break
            check(stacks, "no samples")
            check(not broken, "%s: %d of %d stacks, five times: %s" % (
                wanted, len(broken), len(stacks), broken and [f.name for f in broken[0]]))


@kit.case
def whole_from_the_first_sample():
    """A server that mostly sleeps has few samples. All their stacks reach the native frames with
    which the thread starts."""
    with folder() as d:
        os.symlink(kit.PYTHON, d + "/sleeper")  # no other process of the machine has this name
        whole_from_the_start(d)


@kit.case
def mappings_are_read_soon():
    """If krait itself starts the program, at most 25 samples at 999 Hz come before krait has read
    the mappings."""
    def missed(d):
        done = krait("record", "-F", 999, "--summary-json", d + "/s.json", "-o", d + "/o.pb.gz", "--", kit.PYTHON, "-c",
                     "import json, sqlite3, decimal, time\nend = time.process_time() + .4\nwhile time.process_time() < end: pass")
        check(done.returncode == 0, done.stderr)
        found = outcomes(d)
        check(found["LEAF"] > 100, str(found))
        return found["NO_SPACE"]
    with folder() as d:
        counts = []
        while len(counts) < 6 and not (counts and min(counts) <= 25):
            counts.append(missed(d))
        check(min(counts) <= 25, "samples without mappings: %s" % counts)


MAKES = """
import subprocess, sys, threading, time
def nothing():
    pass
def make_thread():
    thread = threading.Thread(target=nothing)
    thread.start()
    thread.join()
def make_process():
    subprocess.run(["/bin/true"])
make, end = globals()[sys.argv[1]], time.time() + 2
while time.time() < end:
    make()
"""


def made_by(d, function, system_call, hz):
    """Records a program that calls @function all the time. Returns two lists of (labels, names of
    the functions): the first for the samples in @system_call, the second for all other samples."""
    done = krait("record", "-F", hz, "--native=full", "--summary-json", d + "/s.json", "-o", d + "/o.pb.gz",
                 "--", kit.PYTHON, "-c", MAKES, function)
    check(done.returncode == 0, done.stderr)
    found = outcomes(d)
    check(found["NO_RULE"] <= 0.003 * found["WHOLE"], "code without unwind information: %s" % found)
    inside, other, profile = [], [], kit.pprof.read(d + "/o.pb.gz")
    for sample in profile.samples:
        functions = [frame.name for frame in profile.stack(sample)]
        (inside if any(system_call in f for f in functions) else other).append((sample.labels, functions))
    check(len(inside) > 20, "only %d stacks in %s" % (len(inside), system_call))
    return inside, other


@kit.case
def where_threads_begin():
    """glibc's clone3() has no unwind information from its system call on. While clone3() runs that
    code, the old thread's stack is whole, and the new thread's stack doesn't go on into the old
    thread's functions."""
    with folder() as d:
        inside, other = made_by(d, "make_thread", "sys_clone", 4999)
        lost = [f for _, f in inside if not {"pthread_create", "Thread.start", "make_thread"} <= set(f)]
        # In the first moments of a recording, krait may not know the mappings or the unwind rows
        # yet.
        check(len(lost) <= 0.02 * len(inside),
              "%d of %d stacks of the old thread end: %s" % (len(lost), len(inside), lost[:2]))
        new = [f for labels, f in inside + other if labels["tid"] != labels["pid"]]
        wrong = [f for f in new if "make_thread" in f]
        check(len(new) > 100 and not wrong, "%d of %d stacks of new threads go on: %s" % (len(wrong), len(new), wrong[:2]))


@kit.case
def where_processes_begin():
    """During glibc's vfork() the return address is in a register; still the parent's stack is
    whole. After vfork(), parent and child share memory until the child's exec. The child's stack
    doesn't show frames that the parent has in that memory."""
    with folder() as d:
        inside, other = made_by(d, "make_process", "sys_vfork", 9999)
        wrong = [f for labels, f in other if "execve" in f and "Popen._close_pipe_fds" in f]
        check(not wrong, "%d stacks of the parent in the child: %s" % (len(wrong), wrong[:2]))
        lost = [f for _, f in inside if not {"Popen._execute_child", "make_process", "_start"} <= set(f)]
        check(len(lost) <= 0.05 * len(inside), "%d of %d stacks end: %s" % (len(lost), len(inside), lost[:2]))


EXITS = """
import os, resource, time
read, write = os.pipe()
pid = os.fork()
if not pid:
    memory = [bytearray(1 << 20) for _ in range(500)]
    for block in memory:
        block[::4096] = bytes(256)
    os.write(write, b"%f" % time.process_time())
    os._exit(0)
before = float(os.read(read, 100))
os.waitpid(pid, 0)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(pid, used.ru_utime + used.ru_stime - before)
"""


@kit.case
def the_end_of_a_process():
    """The time that the kernel takes to free a process's memory, when the process ends, counts for
    the process."""
    with folder() as d:
        done = krait("record", "-F", 1999, "-o", d + "/o.pb.gz", "--", kit.PYTHON, "-c", EXITS)
        check(done.returncode == 0, done.stderr)
        pid, took = done.stdout.split()
        profile = kit.pprof.read(d + "/o.pb.gz")
        ends = [(sample.values[0], [f.name for f in profile.stack(sample)]) for sample in profile.samples
                if sample.labels["pid"] == pid and "do_exit" in [f.name for f in profile.stack(sample)]]
        seen = sum(n for n, _ in ends) / 1999
        check(0.5 * float(took) < seen < 1.1 * float(took) + 0.01, "%.3f of %s s" % (seen, took))
        wrong = [names for _, names in ends if "[interpreter ending]" not in names or "<module>" in names]
        check(not wrong, "%d with Python frames: %s" % (len(wrong), wrong[:2]))


COLLECTS = """
import gc, sys, time
spent, since = 0, 0
def note(phase, info):
    global spent, since
    now = time.thread_time()
    if phase == "start":
        since = now
    else:
        spent += now - since
class Node: pass
def build():
    for i in range(2000):
        node = Node()
        node.me = node
gc.callbacks.append(note)
begin = time.thread_time()
while time.thread_time() < begin + 1:
    build()
with open(sys.argv[1], "w") as f:
    f.write(str(spent / (time.thread_time() - begin)))
"""


@kit.case
def the_collector():
    """The garbage collector's share of the samples equals the share that a clock in Python shows,
    even if BOLT has split the collector's function in two (python-build-standalone's 3.14)."""
    for executable in kit.interpreter("tailcall"), kit.interpreter("static", (3, 13)), kit.PYTHON:
        with folder() as d:
            done = krait("record", "-F", 999, "--native=full", "-o", d + "/o.pb.gz", "--", executable, "-c", COLLECTS, d + "/share")
            check(done.returncode == 0, done.stderr)
            with open(d + "/share") as f:
                true = float(f.read())
            profile = kit.pprof.read(d + "/o.pb.gz")
            seen = share(profile, lambda stack: any(frame.kind == "gc" for frame in stack))
        check(true > 0.3 and abs(seen - true) < 0.08, "%s: %.1f %% for %.1f" % (executable, 100 * seen, 100 * true))


GREENLETS = """
import greenlet
def work():
    for i in range(3000):
        i ** 2
def inside(n):
    while True:
        work()
        others[1 - n].switch(1 - n)
def start(depth, n):
    return start(depth - 1, n) if depth else others[n].switch(n)
others = [greenlet.greenlet(inside), greenlet.greenlet(inside)]
start(30, 0)
"""


def with_greenlet(version):
    modules.fetch(kit.CACHE, version)
    where = modules.folder(kit.CACHE, version)
    if not os.path.isdir(os.path.join(where, "greenlet")):
        raise Skip("no greenlet for %d.%d" % version)
    return dict(os.environ, PYTHONPATH=where)


def greenlets_of(executable, version):
    with folder() as d, Background(executable, "-c", GREENLETS,
                                   env=with_greenlet(version)) as target:
        time.sleep(0.5)
        done = krait("record", "-p", target.pid, "-d", 3, "-F", 499, "--native=full", "-v", "-o",
                     d + "/o.pb.gz")
        profile = kit.pprof.read(d + "/o.pb.gz")
    native = share(profile, lambda stack: stack[0].kind == "native")
    begun = share(profile, lambda stack: "g_initialstub" in stack[0].name
                  and not any(frame.name == "start" for frame in stack))
    check(native > 0.3 and begun > 0.95 * native, "%d.%d: %.0f %% begin with a native frame, %.0f %% "
          "with a greenlet's" % (*version, 100 * native, 100 * begun))
    total, said = (sum(int(n.replace(",", "")) for n in re.findall(words, done.stderr, re.M))
                   for words in (r"^krait: ([0-9,]+) samples? of 1 process",
                                 r"^krait: ([0-9,]+) samples? .*native stack: (?!.*not re)"))
    marked = total * share(profile, lambda stack: any("native stack: " in frame.name
                                                      for frame in stack))
    check(abs(said - marked) < 0.005 * total + 1, "%d.%d: %d samples said to break off, %d do: %s"
          % (*version, said, marked, done.stderr))


@kit.case
def a_greenlet_begins_its_stack():
    """A greenlet's stack ends where the greenlet begins. To pair evaluation loops with Python
    frames, krait counts them up to 3.10, and uses addresses since 3.11. Both ways are tested.
    krait's messages say how many native stacks break off, and as many do."""
    for least, most in (((3, 6), (3, 10)), ((3, 11), (3, 15))):
        found = [(version, path) for _, version, kind, path in kit.interpreters()
                 if kind in ("static", "shared") and least <= version <= most]
        if not found:
            raise Skip("no interpreter %d.%d to %d.%d" % (*least, *most))
        greenlets_of(*reversed(max(found)))


GREENLET_IN_C = """
import collections, functools, greenlet, itertools
main = greenlet.getcurrent()
work = itertools.chain(map(main.switch, [0]), itertools.repeat(0))
other = greenlet.greenlet(functools.partial(collections.deque, work, maxlen=0))
def nested(n):
    return [nested(n - 1)] if n else []
def deep(n):  # each call runs an evaluation loop of its own
    return max([n], key=deep_key) if n else other.switch()
def deep_key(n):
    deep(n - 1)
deep(40)
repr(nested(400))  # uses the part of the C stack on which the other greenlet was started
other.switch()
"""


@kit.case
def a_greenlet_without_python():
    """A greenlet that runs only C functions, without Python frames, has a stack that ends where the
    greenlet begins, and isn't marked as incomplete."""
    version, executable = max((version, path) for _, version, kind, path in kit.interpreters()
                              if kind in ("static", "shared") and version <= (3, 15))
    with folder() as d, Background(executable, "-c", GREENLET_IN_C,
                                   env=with_greenlet(version)) as target:
        time.sleep(0.5)
        profile = record(target.pid, d, "--native=full")
    begun = share(profile, lambda stack: stack[0].name == "[no Python]"
                  and "g_initialstub" in stack[1].name)
    check(begun > 0.95, "%.0f %% begin with the greenlet's: %s" % (
        100 * begun, [[f.name for f in profile.stack(s)] for s in profile.samples[:3]]))


BUSY_C = """
static volatile unsigned long total;
static __attribute__((noinline)) void work(void)
{
	for (unsigned long i = 0; i < 1000000; i++)
		total += i;
}
int main(void)
{
	for (;;) {
		work();
		total++;
	}
}
"""


@kit.case
def all_processes():
    """With --all, a C program is recorded whether it was started before krait or later. Without
    --all it has no sample."""
    with folder() as d:
        with open(d + "/busy.c", "w") as f:
            f.write(BUSY_C)
        tool("gcc", "-O1", "-g", "-o", d + "/busy-c", d + "/busy.c")
        for args in (["--all"], []):
            with Background(d + "/busy-c") as early, \
                    kit.recorder(d + "/o.pb.gz", "-F", 499, *args) as krait_runs:
                with Background(d + "/busy-c") as late, kit.python():
                    pids = {str(early.pid), str(late.pid)}
                    kit.runs([early.pid, late.pid], 0.8)
                    code, said = krait_runs.finish(timeout=60)
                    check(code == 0, "exit code %d: %s" % (code, said))
            profile = kit.pprof.read(d + "/o.pb.gz")
            seen = {}
            for sample in profile.samples:
                pid, stack = sample.labels.get("pid"), profile.stack(sample)
                # Until its exec the process is a copy of this test, so samples under this test's
                # name don't count.
                if pid in pids and sample.labels["process"] != os.path.basename(__file__):
                    names = [frame.name for frame in stack]
                    n = seen.setdefault(pid, [0, 0])
                    n[0] += sample.values[0]
                    n[1] += sample.values[0] * (
                        names[-2:] == ["main", "work"] or names[-1] == "main")
                    check(sample.labels["process"] == "busy-c", "the labels are %r" % sample.labels)
            if not args:
                check(not seen, "seen without --all: %r" % seen)
                continue
            check(set(seen) == pids, "seen %r of %r" % (seen, pids))
            for pid, (n, right) in seen.items():
                check(n > 100, "%d samples of %s" % (n, pid))
                check(right > 0.6 * n, "%d of %d stacks of %s" % (right, n, pid))


SPIN_C = """
#include <unistd.h>
static volatile unsigned long total;
static __attribute__((noinline)) void burn(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		total += i ^ n;
}
void _start(void)
{
	for (int i = 0; i < 300; i++)
		burn(30000);
	_exit(0);
}
"""
SPAWNER = """
import subprocess, sys, time
while True:
    end = time.thread_time() + .005
    while time.thread_time() < end: pass
    subprocess.call([sys.argv[1]])
"""


def code_of(pid):
    """Returns the first and the last address of the executable's code in a process."""
    exe = os.readlink("/proc/%d/exe" % pid)
    with open("/proc/%d/maps" % pid) as f:
        start, end = next(line.split()[0].split("-") for line in f if line.split()[1:] and
                          line.split()[1][2] == "x" and line.rstrip().endswith(exe))
    return int(start, 16), int(end, 16)


@kit.case
def another_program_at_the_same_addresses():
    """A Python process execs a program whose code is at the addresses where the process had its
    own: none of the program's frames has a name of the first program."""
    python = ("setarch", "-R", kit.PYTHON, "-c")
    with folder() as d:
        with open(d + "/spin.c", "w") as f:
            f.write(SPIN_C)
        with Background(*python, "import time; time.sleep(60)") as target:
            kit.wait_for(lambda: "python" in os.readlink("/proc/%d/exe" % target.pid), 10)
            place = sum(code_of(target.pid)) // 2 & ~0xffff
        tool("gcc", "-O1", "-fPIE", "-static", "-nostartfiles", "-no-pie", "-Wl,-Ttext-segment=%#x" % place,
             "-o", d + "/spin", d + "/spin.c")
        with Background(*python, SPAWNER, d + "/spin") as target:
            kit.runs(target.pid, 0.2)
            start, end = code_of(target.pid)
            check(start <= place < end, "the program's code is at another address")
            done = krait("record", "--all", "-d", 4, "-F", 999, "--native=full", "-o", d + "/o.pb.gz")
            check(done.returncode == 0, "exit code %d: %s" % (done.returncode, done.stderr))
        profile = kit.pprof.read(d + "/o.pb.gz")
        whole, foreign = 0, {}
        for sample in profile.samples:
            stack = profile.stack(sample)
            if sample.labels["process"] != "spin":
                continue
            check(not any(f.kind == "python" for f in stack), "the fork before its exec is called spin")
            whole += [f.name for f in stack if f.kind == "native"][-1:] == ["burn"]
            for f in stack:
                if "python" in f.mapping:
                    foreign[f.mapping] = foreign.get(f.mapping, 0) + sample.values[0]
        check(not foreign, "frames of %s" % foreign)
        check(whole > 50, "only %d stacks of the program" % whole)


LINES_C = """
static volatile unsigned long total;
static inline __attribute__((always_inline)) void inner(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		total += i ^ n; /* line 6 */
}
static inline __attribute__((always_inline)) void middle(unsigned long n)
{
	inner(n); /* line 10 */
}
void run(unsigned long n)
{
	middle(n); /* line 14 */
	total++;
}
"""


@kit.case
def lines_and_inlined_functions():
    """--native-lines shows two inlined functions as frames of their own, each with its line in the
    source. Without the option only the function into which they are inlined is shown."""
    with folder() as d:
        with open(d + "/lines.c", "w") as f:
            f.write(LINES_C)
        tool("gcc", "-O2", "-g", "-shared", "-fPIC", "-o", d + "/liblines.so", d + "/lines.c")
        with Background(kit.PYTHON, "-c", CALL_WORK, d + "/liblines.so") as target:
            kit.runs(target.pid, 0.2)
            for want, args in ((["run", "middle", "inner"], ["--native-lines"]), (["run"], [])):
                profile = record(target.pid, d, *args)
                stacks = [profile.stack(sample) for sample in profile.samples]
                # Samples of inner() are in line 5 or 6: both lines belong to inner()'s loop.
                got = share(profile, lambda stack, n=len(want): [
                    frame.name for frame in stack[-n:]] == want and "middle" not in [
                        frame.name for frame in stack[:-n]])
                check(got > 0.9, "%s: %.0f %%" % (want, 100 * got))
                if args:
                    places = {(f.file[-7:], f.line) for s in stacks for f in s[-3:]}
                    for name, line in (("run", 14), ("middle", 10), ("inner", 6)):
                        right = share(profile, lambda stack, name=name, line=line: any(
                            f.name == name and f.line == line and f.file == d + "/lines.c"
                            for f in stack))
                        check(right > (0.2 if name == "inner" else 0.9),
                              "%s at line %d: %.0f %%, %s" % (name, line, 100 * right, places))


TRAMPOLINES = """
import sys
def innermost(x):
    return sum(i & 3 for i in range(x + 20000))
def middle(x):
    return -innermost(x)
def outermost():
    while True:
        sorted(range(20), key=middle)
outermost()
"""


def is_called_in_order(stack):
    """Tells whether the stack has the program's Python functions in the order of the calls, and
    whether the next Python function after each trampoline is the one that the trampoline is
    named after."""
    names = [f.name for f in stack if f.kind == "python"]
    # In the first moments of a recording, before krait knows mappings and unwind rows, only Python
    # frames are certain.
    whole = stack[0].kind == "native"
    if any(f.kind == "mark" or whole and f.name.startswith("[unknown") for f in stack):
        return False
    if [n for n in names if n != "<genexpr>" and not n.endswith(".<genexpr>")] not in (
            ["<module>", "outermost", "middle", "innermost"], ["<module>", "outermost", "middle"],
            ["<module>", "outermost"]):
        return False
    for i, frame in enumerate(stack):
        if frame.kind == "jit":
            behind = [f for f in stack[i:] if f.kind == "python"]
            if behind and frame.name.split(":")[2] != behind[0].name:
                return False
    sort = [i for i, f in enumerate(stack) if "sort" in f.name]
    return "middle" not in names or not whole or bool(sort) and (
        stack.index(next(f for f in stack if f.name == "outermost")) < sort[0]
        < stack.index(next(f for f in stack if f.name == "middle")))


def trampolines(option, since, modes):
    """Records interpreters that run with -X @option, from version @since on: once with each list of
    krait's options in @modes. The fast tier tests one build of each version."""
    with contextlib.ExitStack() as ends, folder() as d:
        targets = []
        for name, version, kind, path in kit.interpreters():
            if not kit.FULL and (not kit.is_plain(name) or version in [v for _, v, _ in targets]):
                continue
            if version < since or kind in ("pypy", "chroot", "dlopen") or subprocess.run(
                    [path, "-X", option, "-c", "import sys; "
                     "sys.exit(not sys.is_stack_trampoline_active())"], check=False,
                    stderr=subprocess.DEVNULL).returncode:
                continue
            target = ends.enter_context(Background(path, "-X", option, "-c", TRAMPOLINES))
            targets.append((name, version, target.pid))
        if not targets:
            raise Skip("no interpreter with trampolines")
        pids = [pid for _, _, pid in targets]
        kit.runs(pids, 0.4)
        for more in modes:
            profile = record(pids, d, "--native=full", *more, cpu=1)
            for name, _, pid in targets:
                got = share(profile, is_called_in_order, pid)
                stubs = share(profile, lambda stack: any(f.kind == "jit" for f in stack), pid)
                check(got > 0.98, "%s %s: %.1f %% in order" % (name, more, 100 * got))
                got = share(profile, lambda stack: stack[0].kind == "native", pid)
                check(got > 0.5, "%s %s: %.1f %% whole" % (name, more, 100 * got))
                check(stubs > 0.5 if more else not stubs,
                      "%s %s: trampolines in %.1f %%" % (name, more, 100 * stubs))
    for pid in pids:
        for path in "/tmp/perf-%d.map" % pid, "/tmp/jit-%d.dump" % pid:
            if os.path.exists(path):
                os.remove(path)


@kit.case
def perf_trampolines():
    """With -X perf Python calls each function through a stub. Stubs are shown only with
    --interpreter-frames. The stacks are right with and without this option."""
    trampolines("perf", (3, 12), ([], ["--interpreter-frames"]))


@kit.full_case
def perf_jit_trampolines():
    """With -X perf_jit the stubs have gaps between them, and get their names later. Still the
    stacks are right."""
    trampolines("perf_jit", (3, 13), ([],))


# A program with a hot loop, which CPython's JIT compiler compiles. Its Python functions call each
# other through sorted().
COMPILED = """
def leaf():
    total = 0
    for i in range(500):
        total += i
    return total
def work(n):
    if not n:
        for i in range(50):
            leaf()
        return 0
    return sorted([n], key=key)[0]
def key(n):
    return work(n - 1)
while True:
    work(2)
"""


WORK = """
import time, zlib
DATA, END = bytes(range(256)) * 16, 0.05
def formats(end):
    while time.perf_counter() < end:
        for i in range(200): "%d" % i
def chars(end, chr=chr):
    while time.perf_counter() < end:
        for i in range(10000, 10200): chr(i)
def compresses(end):
    while time.perf_counter() < end:
        zlib.compress(DATA)
def adds(end):
    while time.perf_counter() < end:
        s = ""
        for i in range(200): s += "abcdefgh"
while True:
    for work in formats, chars, compresses, adds:
        work(time.perf_counter() + END)
"""


@kit.case
def work_is_told_apart():
    """krait never hides native functions that carry out a Python operation: below each of four
    Python functions it shows a native function that the other three don't have."""
    functions = "formats", "chars", "compresses", "adds"
    wanted = (3, 8), (3, 11), (3, 14)
    paths = {version: path for _, version, kind, path in kit.interpreters() if kind == "static" and version in wanted}
    paths[(3, 8)] = paths.get((3, 8)) or next(p for _, v, _, p in kit.interpreters() if v == (3, 8))
    check(len(paths) == 3, "no interpreters but %s" % paths)
    for path in paths.values():
        with folder() as d, Background(path, "-c", WORK) as target:
            kit.runs(target.pid, 0.7)
            profile = record(target.pid, d, cpu=2)
        below = {name: collections.Counter() for name in functions}
        for sample in profile.samples:
            stack = profile.stack(sample)
            for at, frame in enumerate(stack[:-1]):
                if frame.kind == "python" and frame.name in below and stack[at + 1].kind == "native":
                    below[frame.name][stack[at + 1].name] += 1
        own = {}
        for name, count in below.items():
            others = sum((c for other, c in below.items() if other != name), collections.Counter())
            own[name] = [(symbol, n) for symbol, n in count.most_common() if n > 5 * others[symbol]][:1]
        print("  %s: %s" % (path, own))
        for name, found in own.items():
            check(found and found[0][1] > 20, "%s: %s() has no function of its own: %s" % (path, name, below))


@kit.case
def nameless_machinery():
    """In an interpreter without symbols krait hides the functions that start the program or enter
    the evaluation loop. It shows the function that sorts."""
    for path in {kit.PYTHON, kit.interpreter("static", (3, 13))}:
        with folder() as d, Background(path, "-c", COMPILED) as target:
            kit.runs(target.pid, 0.5)
            profile = record(target.pid, d, "--native=full", "--since", "0.5s", cpu=1.5)

            def is_folded(stack):
                names = [f.name for f in stack]
                if "key" not in names:
                    return True
                start, key = names.index("<module>"), names.index("key")
                between = stack[names.index("sorted") + 1:key]
                return (all("libc" in f.mapping or f.name == "_start" for f in stack[:start])
                        and len(between) in (1, 2) and all(f.kind == "native" for f in between))

            whole = share(profile, lambda stack: stack[0].name == "_start")
            got = share(profile, is_folded)
            check(whole > 0.95 and got > 0.95, "%s: %.1f %% are whole, %.1f %% as they should be" % (
                path, 100 * whole, 100 * got))


def compiles(path):
    """Tells whether this interpreter has the JIT compiler."""
    ask = [path, "-c", "import sys; sys.exit(not sys._jit.is_enabled())"]
    return not subprocess.run(ask, env=dict(os.environ, PYTHON_JIT="1"), check=False,
                              stderr=subprocess.DEVNULL).returncode


@kit.case
def python_jit():
    """Stacks go through code of CPython's JIT compiler. 3.15 registers the code with gdb, with an
    unwind table that is only in the registered file; 3.14 registers nothing. The code is
    compiled before krait starts, so the first stacks must be whole too. Now and then the
    compiler makes some code anew. Until krait has read the new code's table (up to 0.2 s on a
    busy machine), stacks break off in the new code. So the best of three recordings counts."""
    able = [path for _, version, kind, path in kit.interpreters()
            if version >= (3, 14) and kind in ("static", "tailcall") and compiles(path)]
    if len(able) < 3:
        raise Skip("only these interpreters have a compiler: %s" % able)
    calls = ["<module>", "work", "sorted", "key", "work", "sorted", "key", "work"]

    def is_whole(stack):
        names = [f.name for f in stack if f.name in calls or f.kind == "mark"]
        return stack[0].kind == "native" and names == calls[:len(names)]

    for path in able:
        with folder() as d, Background("env", "PYTHON_JIT=1", path, "-c", COMPILED) as target:
            kit.runs(target.pid, 0.7)
            got = 0
            for _ in range(3):
                profile = record(target.pid, d, "--native=full")
                got = max(got, share(profile, is_whole))
                if got > 0.9:
                    break
            check(got > 0.9, "%s: %.1f %% are whole" % (path, 100 * got))
            got = share(profile, lambda stack: any(f.kind == "jit" for f in stack))
            check(got < 0.01, "%s: %.1f %% show the compiler's code" % (path, 100 * got))
            profile = record(target.pid, d, "--native=full", "--interpreter-frames")
            got = share(profile, lambda stack: any(f.kind == "jit" for f in stack))
            check(got > 0.3, "%s: %.1f %% show it when asked" % (path, 100 * got))


MADE_CODE = """
import ctypes, mmap, os, sys, time
# mov %rdi, %rcx; 1: dec %rcx; jnz 1b; ret
code = bytes.fromhex("4889f9" "48ffc9" "75fb" "c3")
def write_name(at, name):
    with open("/tmp/perf-%d.map" % os.getpid(), "a") as f:
        f.write("%x %x %s\\n" % (at, len(code), name))
def caller(seconds, name, late):
    area = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    area.write(code)
    at = ctypes.addressof(ctypes.c_char.from_buffer(area))
    write_name(*(0x1000, "elsewhere") if late else (at, name))
    count = ctypes.CFUNCTYPE(None, ctypes.c_ulong)(at)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        count(3000000)
    if late:
        write_name(at, name)
    kept.append(area)
kept = []
caller(3, "first_by_hand", sys.argv[2] == "late")
caller(float(sys.argv[1]), "second_by_hand", False)
"""


@kit.case
def code_made_at_run_time():
    """A perf map that grows names machine code in anonymous memory, even if the process ends during
    the recording, or if a name is added only when the code has already run."""
    for life, seconds, when in ((60, 5, "at once"), (2, 8, "late")):
        with folder() as d, Background(kit.PYTHON, "-c", MADE_CODE, life, when) as target:
            path = "/tmp/perf-%d.map" % target.pid
            kit.wait_for(lambda path=path: os.path.exists(path), 10)
            profile = record_for(seconds, target.pid, d)
            if os.path.exists(path):
                os.remove(path)
            for sample in profile.samples:
                stack = profile.stack(sample)
                for outer, inner in zip(stack, stack[1:]):
                    check(inner.kind != "jit" or outer.kind == "mark" or "ffi" in outer.mapping,
                          "neither its caller nor a mark: %r" % [f.name for f in stack])
            for name in ("first_by_hand", "second_by_hand"):
                named = share(profile, lambda stack, name=name: stack[-1].kind == "jit" and
                              stack[-1].name == name)
                check(named > 0.1, "%s in %.0f %%" % (name, 100 * named))
            python = share(profile, lambda stack: "caller" in [f.name for f in stack])
            check(python > 0.95, "caller is in %.0f %%" % (100 * python))


BPF_PROGRAM = """
import ctypes, struct, sys, time
NAME = sys.argv[1].encode()
libc = ctypes.CDLL(None, use_errno=True)
def bpf(command, attr):
    attr = ctypes.create_string_buffer(attr, 128)
    return libc.syscall(321, command, attr, 128)
# A BPF program: r0 = 0; 3,000 times r0 += 1; exit. BPF_PROG_TEST_RUN runs it again and again.
code = struct.pack("<BBhi", 0xb7, 0, 0, 0) + struct.pack("<BBhi", 0x07, 0, 0, 1) * 3000
code += struct.pack("<BBhi", 0x95, 0, 0, 0)
instructions = ctypes.create_string_buffer(code, len(code))
text = ctypes.create_string_buffer(b"GPL")
data = ctypes.create_string_buffer(64)
time.sleep(float(sys.argv[2]))
prog = bpf(5, struct.pack("<IIQQIIQII16s", 1, len(code) // 8, ctypes.addressof(instructions),
                          ctypes.addressof(text), 0, 0, 0, 0, 0, NAME))
if prog < 0:
    sys.exit("bpf: %d" % ctypes.get_errno())
def caller():
    while True:
        bpf(10, struct.pack("<IIIIQQII", prog, 0, 64, 0, ctypes.addressof(data), 0, 100000, 0))
caller()
"""


@kit.case
def kernel_code_that_is_loaded_later():
    """A BPF program that was loaded when krait had already read the kernel's symbols has its name.
    """
    with folder() as d, Background(kit.PYTHON, "-c", BPF_PROGRAM, "krait_test", 3) as target:
        time.sleep(0.5)
        profile = record_for(6, target.pid, d)
        if target.process.poll() is not None:
            raise Skip("no BPF program: " + target.process.stderr.read().decode().strip())
        names = {frame.name for sample in profile.samples for frame in profile.stack(sample)}
        mine = [name for name in names if name.endswith("_krait_test")]
        check(len(mine) == 1, "%d names of the program" % len(mine))
        got = share(profile, lambda stack: any(frame.name == mine[0] for frame in stack))
        check(got > 0.7, "%s is in %.0f %%" % (mine[0], 100 * got))


# A program in which a Python function of its own calls each C function. The interpreter says under
# which name Python calls each C function.
CALLED = """
import sys, time, zlib
data, numbers, words = bytes(range(256)) * 400, [i * 7919 % 10007 for i in range(20000)], ["w%d" % i for i in range(20000)]
def of_sum(): sum(numbers)
def of_sorted(): sorted(numbers)
def of_sort(): numbers[:].sort()
def of_compress(): zlib.compress(data)
def of_reverse(): numbers.reverse()
def of_count(): numbers.count(5)
def of_join(): "".join(words)
for of, what in ((of_sum, sum), (of_sorted, sorted), (of_sort, list.sort), (of_compress, zlib.compress), (of_reverse, list.reverse), (of_count, list.count), (of_join, str.join)):
    module = getattr(what, "__module__", None)
    print(of.__name__, what.__qualname__ if module in (None, "builtins") else module + "." + what.__qualname__)
    end = time.process_time() + 0.15
    while time.process_time() < end: of()
"""


@kit.case
def called_as_python_calls_them():
    """krait shows a C function of the interpreter, or of one of its modules, under the name that
    method tables give it, if only one entry of all tables has the function."""
    for name in "python3-dist", "python3.8-pyenv", "python3.12-pyenv", "python3.14-sid":
        path = next((path for known, _, _, path in kit.interpreters() if known == name), None)
        with folder() as d:
            with open(d + "/app.py", "w") as f:
                f.write(CALLED)
            if not path:
                continue
            done = krait("record", "-q", "-F", 1999, "-o", d + "/o.pb.gz", "--", path, d + "/app.py")
            check(done.returncode == 0, done.stderr)
            truth, below = dict(line.split() for line in done.stdout.splitlines()), {}
            for stack in map(kit.pprof.read(d + "/o.pb.gz").stack, kit.pprof.read(d + "/o.pb.gz").samples):
                for f, callee in zip(stack, stack[1:]):
                    if f.name in truth and callee.kind == "native":
                        below.setdefault(f.name, collections.Counter())[callee.name] += 1
            # A C function may end with a jump to another C function (a tail call); then samples
            # show that other function. So a C name such as PyUnicode_Join is right, too. The name
            # of another Python function would be wrong.
            called = {of: seen.most_common(1)[0][0] for of, seen in below.items()}
            wrong = {of: seen for of, seen in called.items() if seen and seen != truth[of] and not re.match(r"_?Py|\[", seen)}
            right = [of for of in called if called[of] == truth[of]]
            check(len(called) == 7 and not wrong and len(right) > 4, "%s: %s, wrong %s" % (name, called, wrong))


if __name__ == "__main__":
    sys.exit(kit.main())
