#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Two libraries are mapped at one address, in turn: no sample shows a function of the library that
wasn't mapped at the sample's time. The program calls library a from call_a() and library b from
call_b(), and closes one library before it loads the other. Both are made of the same code, so
that functions, sizes and addresses are equal. All native frames below call_a() must be of
library a, or without a name."""
import collections
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import case, check, folder, krait, pprof

C = """
__attribute__((noinline)) long inner_%(x)s(long n)
{
	volatile long sum = 0;

	for (volatile long i = 0; i < n; i++)
		sum += i;
	return sum;
}

long outer_%(x)s(long n)
{
	return inner_%(x)s(n) + 1;
}
"""
PROGRAM = """
import _ctypes, ctypes, os, sys, time
seen = set()
def load(x):
    library = ctypes.CDLL(os.path.join(sys.path[0], "lib_" + x + ".so"))
    function = getattr(library, "outer_" + x)
    seen.add(ctypes.cast(function, ctypes.c_void_p).value)
    return library, function
def call_a(function):
    function(ROUNDS)
def call_b(function):
    function(ROUNDS)
def rounds_of_a_turn():
    library, function = load("a")
    start = time.thread_time()
    function(10000000)
    rounds = int(10000000 * 0.025 / (time.thread_time() - start))
    _ctypes.dlclose(library._handle)
    return rounds
def main(seconds):
    end = time.time() + seconds
    while time.time() < end:
        for x, call in (("a", call_a), ("b", call_b)):
            library, function = load(x)
            call(function)
            _ctypes.dlclose(library._handle)
ROUNDS = rounds_of_a_turn()  # a turn lasts several times as long as krait's readings are apart
EXTRA
main(4)
print(len(seen))
"""
GRANDCHILD = """
def child():
    function = load("b")[1]  # right after the fork: krait hasn't seen this process yet
    with open(os.path.join(sys.path[0], "address"), "w") as f:
        f.write(str(seen.pop()))
    burn(0.1)  # krait now sees it for the first time, with its parent's mappings
    os.read(ready[0], 1)
    if os.fork():
        os.wait()
    else:
        while time.thread_time() < 1:
            call_b(function)
    os._exit(0)
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
burn(0.5)
ready = os.pipe()
if not os.fork():
    child()
time.sleep(0.3)
function = load("a")[1]
while time.thread_time() < 1.5:  # krait reads this process's mappings again
    call_a(function)
os.write(ready[1], b"x")
os.wait()
with open(os.path.join(sys.path[0], "address")) as f:
    seen.add(int(f.read()))
print(len(seen))
sys.exit()
"""
REUSED = """
def fork_as(pid):
    for _ in range(50):
        with open("/proc/sys/kernel/ns_last_pid", "w") as f:
            f.write(str(pid - 1))
        got = os.fork()
        if got == pid or (not got and os.getpid() == pid):
            return got
        if not got:
            os._exit(0)
        os.waitpid(got, 0)
    sys.exit("number %d is taken" % pid)
def free_number():  # a number that no process, process group or session has
    busy = set()
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % process) as f:
                busy.update(map(int, f.read().rpartition(")")[2].split()[2:4]))
            busy.update(map(int, os.listdir("/proc/%s/task" % process)))
        except OSError:
            pass  # it has ended
    return next(n for n in range(os.getpid() % 20000 + 5000, 32768) if n not in busy)
library, function = load("a")
while time.thread_time() < 1:
    call_a(function)
number = free_number()
first = fork_as(number)
if not first:
    import _decimal, _ssl  # it now has mappings of its own, which krait reads
    while time.thread_time() < 1.5:
        pass
    os._exit(0)
os.waitpid(first, 0)
second = fork_as(number)
if not second:
    _ctypes.dlclose(library._handle)
    function = load("b")[1]
    while time.thread_time() < 1:
        call_b(function)
    print(len(seen))
    sys.stdout.flush()
    os._exit(0)
os.waitpid(second, 0)
sys.exit()
"""
REWRITTEN = """
def load(x):
    with open(os.path.join(sys.path[0], "lib_" + x + ".so"), "rb") as f:
        code = f.read()
    place = os.path.join(sys.path[0], "lib.so")
    with open(place, "r+b" if os.path.exists(place) else "wb") as f:
        f.write(code)
    library = ctypes.CDLL(place)
    function = getattr(library, "outer_" + x)
    seen.add(ctypes.cast(function, ctypes.c_void_p).value)
    return library, function
main(2)
def call_a(function):
    for _ in range(40):
        function(ROUNDS)
def call_b(function):
    for _ in range(40):
        function(ROUNDS)
"""
FORKED = """
main(0.3)
if os.fork():
    os.wait()
    sys.exit()
"""


def build(d):
    for x in "ab":
        source = os.path.join(d, x + ".c")
        with open(source, "w") as f:
            f.write(C % {"x": x})
        try:
            subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", os.path.join(d, "lib_%s.so" % x), source],
                           check=True)
        except FileNotFoundError:
            raise kit.Skip("no C compiler")


def take_turns(mode, extra="", *options):
    with folder() as d:
        build(d)
        script, out = os.path.join(d, "turns.py"), os.path.join(d, "o.pb.gz")
        with open(script, "w") as f:
            f.write(PROGRAM.replace("EXTRA", extra))
        done = krait("record", "--native=" + mode, *options, "-o", out, "--",
                     kit.interpreter("shared", (3, 12)), script)
        check(done.returncode == 0, done.stderr)
        check(done.stdout.split()[-1] == "1", "the libraries didn't share their address: " + done.stdout)
        judge(out)


def judge(out):
    profile, count = pprof.read(out), collections.Counter()
    for sample in profile.samples:
        names = [frame.name for frame in profile.stack(sample)]
        for x, other in ("ab", "ba"):
            if "call_" + x not in names:
                continue
            below = names[names.index("call_" + x):]
            if {"inner_" + other, "outer_" + other} & set(below):
                count["wrong"] += sample.values[0]
            elif "inner_" + x in below:
                count["right " + x] += sample.values[0]
            else:
                count["unnamed"] += sample.values[0]
    print("  " + ", ".join("%s %d" % item for item in sorted(count.items())))
    total = sum(count.values())
    check(not count["wrong"], "%d samples show the library that wasn't there" % count["wrong"])
    # It is enough if an eighth of the samples have names, because krait reads mappings later on a
    # busy machine.
    for x in "ab":
        check(count["right " + x] > total / 8, "only %d of %d samples name library %s" % (
            count["right " + x], total, x))


@case
def turns_leaf():
    """Two libraries take turns at one address; krait records with --native=leaf, the default."""
    take_turns("leaf")


@case
def turns_full():
    """Two libraries take turns at one address; krait records whole native stacks."""
    take_turns("full")


@case
def one_file_rewritten():
    """A file has the contents of one library, and after a cp over it those of another library.
    krait doesn't name samples from before the cp with symbols from after it."""
    take_turns("full", REWRITTEN)


@case
def turns_in_a_fork():
    """The libraries take turns in a child process. The child's samples don't show libraries of its
    parent."""
    take_turns("full", FORKED)


@case
def a_fork_of_a_fork():
    """A grandchild of a process uses the process's mappings only if krait read them before the
    child was forked."""
    take_turns("full", GRANDCHILD, "-F", 99)


@case
def a_number_used_again():
    """A new process gets the number of a process that has ended, and unmaps something before its
    first sample. krait doesn't take the new process for the old one."""
    if not os.access("/proc/sys/kernel/ns_last_pid", os.W_OK):
        raise kit.Skip("process numbers can't be chosen")
    take_turns("full", REUSED, "-F", 99)


if __name__ == "__main__":
    sys.exit(kit.main())
