# SPDX-License-Identifier: BSD-2-Clause
"""A script for gdb (see code_steps.sh). It stops a program at the start of each function of
KRAIT_FUNCTIONS without call frame information, and steps through it instruction by instruction.
At each instruction, krait's row must lead to the stack pointer, return address, rbp and rbx that
there were at the function's start.

KRAIT_ROWS is the file with the output of tests/tools/unwind_rows for the library KRAIT_LIBRARY,
KRAIT_TABLES the one with its output with -t. The program raises SIGUSR1 when it has loaded the
library."""
import bisect
import os

import gdb

STEPS = int(os.environ.get("KRAIT_STEPS", "1500"))
SAME, LOST = 0x7fff, 0x7ffe
REG, DEREF = 2, 3
NAMES = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15".split()


def register(name):
    return int(gdb.parse_and_eval("(unsigned long)$" + name)) & 0xffffffffffffffff


def word(address):
    return int.from_bytes(gdb.selected_inferior().read_memory(address, 8).tobytes(), "little")


def rows():
    found = []
    for line in open(os.environ["KRAIT_ROWS"], encoding="utf-8"):
        if line.startswith("row "):
            w = line.split()
            found.append((int(w[1], 16), [int(x) for x in w[2:]]))
    return [x[0] for x in found], [x[1] for x in found]


def described():
    """Returns (start, end) of each function with call frame information."""
    lines = open(os.environ["KRAIT_TABLES"], encoding="utf-8")
    return [tuple(int(x, 16) for x in line.split()[1:]) for line in lines if line.startswith("fde ")]


def bare(names, bias):
    """Yields the names of functions without call frame information that call no others, so that
    stepping stays within them."""
    fdes = described()
    for name in names:
        at = int(gdb.parse_and_eval("(unsigned long)&" + name)) - bias
        if not any(start <= at < end for start, end in fdes):
            yield name


def saved(cfa, slot, now):
    return now if slot == SAME else None if slot == LOST else word(cfa + 8 * slot)


def wrong(rule, cfa, fp, bx):
    """Returns what is wrong with a rule, or None."""
    kind, reg, off, off2, _, ra, fp_slot, bx_slot = rule
    said = register(NAMES[reg]) + off
    if kind == DEREF:
        said = word(said) + off2
    if said != cfa:
        return "frame at %#x instead of %#x" % (said, cfa)
    if ra != -1:
        return "return address at %d" % ra
    for name, slot, entry in (("rbp", fp_slot, fp), ("rbx", bx_slot, bx)):
        if saved(cfa, slot, register(name)) not in (None, entry):
            return "the caller's %s" % name
    return None


def follow(keys, rules, bias, name):
    """Steps through a function. Returns (steps, steps without a rule, what was wrong)."""
    cfa, fp, bx = register("rsp") + 8, register("rbp"), register("rbx")
    ret, unknown, bad = word(cfa - 8), 0, []
    for n in range(STEPS):
        pc = register("rip")
        if pc == ret:
            return n, unknown, bad
        i = bisect.bisect_right(keys, pc - bias) - 1
        if i < 0 or rules[i][0] not in (REG, DEREF):
            unknown += 1
        else:
            why = wrong(rules[i], cfa, fp, bx)
            if why:
                bad.append("%s+%#x: %s" % (name, pc - bias, why))
        gdb.execute("stepi", to_string=True)
    return STEPS, unknown, bad


def bias_of(library):
    """Returns the address of the library's first mapping."""
    pid = gdb.selected_inferior().pid
    for line in open("/proc/%d/maps" % pid, encoding="utf-8"):
        if line.rstrip().endswith(library):
            return int(line.split("-")[0], 16)
    return None


def main():
    keys, rules = rows()
    gdb.execute("set pagination off")
    gdb.execute("handle all nostop noprint pass", to_string=True)
    names = os.environ["KRAIT_FUNCTIONS"].split()
    gdb.execute("handle SIGUSR1 stop nopass", to_string=True)
    gdb.execute("run", to_string=True)
    names = list(bare(names, bias_of(os.environ["KRAIT_LIBRARY"])))
    for name in names:
        gdb.execute("tbreak *%s" % name, to_string=True)
    gdb.execute("continue", to_string=True)
    gdb.execute("set scheduler-locking on")
    total = 0
    for _ in names:
        if not gdb.selected_inferior().pid:
            break
        name = gdb.selected_frame().name() or "?"
        n, unknown, bad = follow(keys, rules, bias_of(os.environ["KRAIT_LIBRARY"]), name)
        print("STEPS %s %d unknown %d wrong %d %s" % (name, n, unknown, len(bad), bad[:2]), flush=True)
        total += n
        gdb.execute("set scheduler-locking off")
        gdb.execute("continue", to_string=True)
        if gdb.selected_inferior().pid:
            gdb.execute("set scheduler-locking on")
    print("TOTAL %d steps" % total)


main()
