#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Code that is made at run time and registered for gdb, as LLVM registers it. krait uses the names
and unwind tables of this code itself, never those of other code. The truth is the Python
function that calls the code: call_a() calls code_a(), call_b() calls code_b(). Both do the same,
in frames of different size, and take turns at one address. libffi calls them."""
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import case, check, folder, krait, pprof

NO_RULE = "[incomplete: native stack: code without unwind information]"
CODE = """
long %s(long n)
{
	volatile long sum = 0;
	volatile char room[%d];

	for (volatile long i = 0; i < n; i++)
		sum += i;
	room[0] = 0;
	return sum;
}
"""
PROGRAM = """
import ctypes, os, random, sys, time
lib = ctypes.CDLL(sys.path[0] + "/lists.so")
lib.load.restype = ctypes.c_void_p
lib.load.argtypes = ctypes.c_char_p, ctypes.c_void_p
lib.unload.argtypes = ctypes.c_void_p, ctypes.c_void_p
lib.unregister.argtypes = ctypes.c_void_p,
PLACE = 0x7e0000000000
code = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)(PLACE)
def load(x, place=PLACE):
    return lib.load(sys.path[0].encode() + b"/" + x + b".o", place)
def spend(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        code(200000)
def call_a(seconds):
    spend(seconds)
def call_b(seconds):
    spend(seconds)
"""
TURNS = PROGRAM + """
CALLS = (b"a", call_a), (b"b", call_b)
def turns(seconds):
    for x, call in CALLS:
        entry = load(x)
        call(seconds)
        lib.unload(entry, PLACE)
def main(rounds=1):
    for i in range(rounds):
        turns(0.7)
        for k in range(40):
            turns(random.uniform(0, 0.03))
entry = load(b"a")
call_a(0.3)
if os.fork():
    os.wait()
    sys.exit()
call_a(0.3)
lib.unload(entry, PLACE)
main(ROUNDS)
"""
FORKS = PROGRAM + """
lib.exchange.argtypes = ctypes.c_char_p, ctypes.c_void_p
entry = load(b"a")
def in_child():
    lib.unregister(entry)
    lib.exchange(sys.path[0].encode() + b"/b.o", PLACE)
    call_b(0.03)
    os._exit(0)
call_a(0.4)
for i in range(20):
    if not os.fork():
        in_child()
    os.wait()
"""
# Machine code in memory that stays writable. In a()'s loop the return address is one word above the
# stack pointer, in b()'s five words. In the place of a()'s return address, b() has an address in
# qsort(), which nobody calls: if a stack contains qsort(), krait has unwound b() by a()'s rule.
WRITABLE = """
import ctypes, mmap, random, time
A = bytes.fromhex("53" + "90" * 8 + "f390 48ffcf 75f9" + "5b c3")  # push rbx; loop; pop rbx; ret
B = bytes.fromhex("4883ec28 4889742408" + "f390 48ffcf 75f9" + "4883c428 c3")  # sub $40, rsp; mov rsi, 8(rsp); ...
place = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
address = ctypes.addressof(ctypes.c_char.from_buffer(place))
code = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long, ctypes.c_void_p)(address)
nobody = ctypes.cast(ctypes.CDLL(None).qsort, ctypes.c_void_p).value + 4
def spend(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        code(20000, nobody)
def call_a(seconds):
    place[:len(A)] = A
    spend(seconds)
def call_b(seconds):
    place[:len(B)] = B
    spend(seconds)
for i in range(ROUNDS):
    call_a(0.7)
    call_b(0.7)
    for k in range(40):
        random.choice((call_a, call_b))(random.uniform(0, 0.03))
"""
NUMBA = PROGRAM + """
def call_numba(seconds):
    spend(seconds)
entry = load(b"numba")
call_numba(0.6)
lib.unregister(entry)
call_numba(0.1)
"""
BROKEN = PROGRAM + """
class Entry(ctypes.Structure):
    _fields_ = ("next", ctypes.c_uint64), ("prev", ctypes.c_uint64), ("file", ctypes.c_uint64), ("size", ctypes.c_uint64)
other = load(b"b", PLACE + 0x100000)
at = load(b"a")
entry = Entry.from_address(at)
whole = bytes(entry)
for field, value in (("next", at), ("size", 2**63), ("size", 700), ("file", 4096), ("next", 2**64 - 8)):
    setattr(entry, field, value)
    call_a(0.1)
    ctypes.memmove(at, whole, len(whole))
time.sleep(2)  # krait tries again after half a second what has failed again and again
lib.unload(at, PLACE)
load(b"a")
def later():
    call_a(0.8)
later()
"""


def cc(*args):
    try:
        subprocess.run(["cc", "-O1", *args], check=True)
    except FileNotFoundError:
        raise kit.Skip("no C compiler")


def build(d):
    cc("-fPIC", "-shared", "-o", os.path.join(d, "lists.so"), os.path.join(kit.HERE, "native", "jit_lists.c"))
    # LLVM makes unwind tables only for functions that an exception may pass. b has none, so krait
    # must read its instructions.
    for x, name, room, *options in (("a", "code_a", 1000),
                                    ("b", "code_b", 200, "-fno-asynchronous-unwind-tables"),
                                    ("numba", "_ZN3app4codeB2v1B4c8tJE5ArrayIdLi1E1C", 400)):
        source = os.path.join(d, x + ".c")
        with open(source, "w") as f:
            f.write(CODE % (name, room))
        cc("-fPIC", *options, "-c", "-o", os.path.join(d, x + ".o"), source)


def record(text, *options):
    """Records a program; @text is its source. Checks that as many stacks break off for lack of an
    unwind rule as the summary says. Returns the profile."""
    with folder() as d:
        build(d)
        script, out = os.path.join(d, "program.py"), os.path.join(d, "o.pb.gz")
        with open(script, "w") as f:
            f.write(text)
        done = krait("record", *options, "-o", out, "--summary-json", os.path.join(d, "s.json"), "--",
                     kit.interpreter("shared", (3, 12)), script)
        check(done.returncode == 0, done.stderr)
        profile = pprof.read(out)
        with open(os.path.join(d, "s.json")) as f:
            counted = json.load(f)["native_outcomes"]["NO_RULE"]
    marked = sum(sample.values[0] for sample in profile.samples if any(
        frame.kind == "mark" and frame.name == NO_RULE for frame in profile.stack(sample)))
    check(counted == marked, "the summary counts %d such stacks, %d are marked" % (counted, marked))
    return profile


def count_names(profile):
    """Counts the samples below call_a() and call_b(): "right a" and "right b" are samples in which
    the code has its own name, "wrong" those with the other code's name, "unnamed" those without
    a name."""
    count = collections.Counter()
    for sample in profile.samples:
        stack = profile.stack(sample)
        names = [frame.name for frame in stack]
        for x, other in ("ab", "ba"):
            if "call_" + x not in names:
                continue
            below = [f for f in stack[names.index("call_" + x):] if f.kind in ("jit", "native")]
            if "code_" + other in [f.name for f in below]:
                count["wrong"] += sample.values[0]
            elif "code_" + x in [f.name for f in below if f.kind == "jit"]:
                count["right " + x] += sample.values[0]
            else:
                count["unnamed"] += sample.values[0]
    print("  " + ", ".join("%s %d" % item for item in sorted(count.items())))
    return count


def check_right(count, names, least):
    check(not count["wrong"], "%d samples show the code that wasn't there" % count["wrong"])
    for x in names:
        check(count["right " + x] > least, "only %d samples name code_%s()" % (count["right " + x], x))


def is_code(frame):
    return frame.kind == "jit" or frame.name == "[unknown code]"


def count_callers(profile):
    """Counts the samples in generated code by the frame that called the code. "called": a function
    of libffi; "whole": those of "called" whose stack reaches _start. "cut off": a Python frame, or
    a mark (a name in brackets that stands for missing frames). "wrong": any other frame."""
    count = collections.Counter()
    for sample in profile.samples:
        stack = [frame for frame in profile.stack(sample) if frame.kind != "kernel"]
        if not {"call_a", "call_b"} & {frame.name for frame in stack} or not is_code(stack[-1]):
            continue
        caller = stack[-2]
        if caller.kind in ("mark", "python"):
            count["cut off"] += sample.values[0]
        elif "ffi" in caller.mapping and not any(map(is_code, stack[:-1])):
            count["called"] += sample.values[0]
            count["whole"] += sample.values[0] * (stack[0].name == "_start")
        else:
            count["wrong"] += sample.values[0]
    print("  " + ", ".join("%s %d" % item for item in sorted(count.items())))
    return count


@case
def turns():
    """Two functions take turns at one address, in a fork whose code differs from its parent's. Each
    sample has the name of the function that ran."""
    text = TURNS.replace("ROUNDS", "20" if kit.FULL else "1")
    profile = record(text, "--native=full")
    names, callers = count_names(profile), count_callers(profile)
    check_right(names, "ab", 250)
    check(not callers["wrong"], "%d samples show what didn't call the code" % callers["wrong"])
    check(callers["whole"] > 500, "only %d stacks are whole" % callers["whole"])


@case
def forks():
    """A fork has other code than its parent at an address where krait knows the parent's code.
    Until krait has read the fork's own mappings, the fork's code has no name."""
    profile = record(FORKS, "--native=full", "-F", "4999")
    names, callers = count_names(profile), count_callers(profile)
    check(not names["wrong"], "%d samples show the code that wasn't there" % names["wrong"])
    check(not callers["wrong"], "%d samples show what didn't call the code" % callers["wrong"])
    check(callers["cut off"] > 50 and callers["whole"] > 500, str(dict(callers)))


@case
def writable():
    """In memory that stays writable, code may be replaced without a system call. krait notices this
    by the code's bytes alone."""
    if os.uname().machine != "x86_64":
        raise kit.Skip("the program's machine code is x86-64's")
    profile = record(WRITABLE.replace("ROUNDS", "20" if kit.FULL else "1"), "--native=full")
    callers = count_callers(profile)
    called = {frame.name for sample in profile.samples for frame in profile.stack(sample)}
    check(not callers["wrong"] and "qsort" not in called, "what didn't call the code is shown")
    check(callers["whole"] > 500, "only %d stacks are whole" % callers["whole"])


@case
def numba_name():
    """If a symbol has the form that numba makes, krait shows the name that the author gave the
    function."""
    profile = record(NUMBA)
    found = collections.Counter()
    for sample in profile.samples:
        stack = profile.stack(sample)
        if "call_numba" in [frame.name for frame in stack]:
            found[stack[-1].name if stack[-1].kind == "jit" else ""] += sample.values[0]
    print("  " + str(dict(found)))
    check(found["app.code"] > 200 and not set(found) - {"app.code", ""}, str(found))


@case
def broken_lists():
    """Lists of registered code that lead in a circle, or have wrong sizes and addresses, do no
    harm: code that is registered later still has its name."""
    check_right(count_names(record(BROKEN)), "a", 200)


if __name__ == "__main__":
    sys.exit(kit.main())
