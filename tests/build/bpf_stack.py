#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Computes from an object file how much BPF stack each program takes together with its subprograms.
Also says how many instructions the verifier processes.

A program with a combined stack of more than 512 bytes may be loaded by a new kernel, but not by an
old one such as 5.10. This script finds such a program on any machine. check_max_stack_depth() in
the kernel's kernel/bpf/verifier.c adds the stacks of a chain of calls, each rounded up to 32 bytes
(from 6.8 on to 16 where a JIT compiles). This script does the same: it reads the calls from the
object, and the size of a stack is the lowest offset from r10.

bpf_stack.py [OBJECT...]: says for each program of the objects (by default krait's) whether it is
within the limits, and whether each function's stack depth is the one in the verifier's log. By that
log, the verifier may process at most MAX_VERIFIED instructions of a program, because most of
krait's start-up time is spent in the verifier. At last, test programs exactly at the limits and one
word beyond are built: this script and the kernel must judge them alike."""

import os
import re
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OBJECTS = ["build/release/bpf/events/%s.bpf.o" % n for n in ("sample", "tasks")]

MAX_STACK = 512  # MAX_BPF_STACK
MAX_CALLS = 8  # MAX_CALL_FRAMES
ROUND = 32
# with all options the verifier processes 98,000 of on_sample() on 6.18, and 110,000 of on_switch()
MAX_VERIFIED = 112000

STT_FUNC, SHF_EXECINSTR, SHT_SYMTAB, SHT_REL = 2, 4, 2, 9
FP = 10  # r10, the frame pointer
CALL, PSEUDO_CALL = 0x85, 1
LD_IMM64, PSEUDO_FUNC = 0x18, 4
MOV64_REG, ADD64_IMM = 0xBF, 0x07
LDX, ST, STX = 1, 2, 3  # instruction classes for memory at a register plus an offset


class Bad(Exception):
    """Raised if this script can't judge an object file."""


class Object:
    """An ELF file for BPF: its functions, and which functions each of them calls."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as f:
            self.data = f.read()
        if self.data[:6] != b"\x7fELF\x02\x01" or self.half(18) != 247:  # EM_BPF
            raise Bad("%s is no BPF object" % path)
        self.read_sections()
        self.read_functions()

    def half(self, at):
        return struct.unpack_from("<H", self.data, at)[0]

    def read_sections(self):
        at, n, names = struct.unpack_from("<Q", self.data, 40)[0], self.half(60), self.half(62)
        # name, type, flags, addr, offset, size, link, info, align, entsize
        self.sections = [
            struct.unpack_from("<IIQQQQIIQQ", self.data, at + 64 * i) for i in range(n)
        ]
        self.names = names

    def text(self, section, at):
        begin = self.sections[section][4] + at
        return self.data[begin : self.data.index(b"\0", begin)].decode()

    def rows(self, section, layout):
        return struct.iter_unpack(layout, self.bytes(section))

    def bytes(self, section):
        return self.data[section[4] : section[4] + section[5]]

    def read_functions(self):
        """Sets self.functions, {(section, offset): name}, and self.relocated, {(section, offset):
        symbol}."""
        table = next(s for s in self.sections if s[1] == SHT_SYMTAB)
        # name, info, other, section, value, size
        self.symbols = list(self.rows(table, "<IBBHQQ"))
        self.functions, self.size, self.relocated = {}, {}, {}
        for name, info, _, section, value, size in self.symbols:
            if info & 15 == STT_FUNC:
                self.functions[section, value] = self.text(table[6], name)
                self.size[section, value] = size
        for s in self.sections:
            if s[1] == SHT_REL and self.sections[s[7]][2] & SHF_EXECINSTR:
                for offset, info in self.rows(s, "<QQ"):
                    self.relocated[s[7], offset] = self.symbols[info >> 32]

    def programs(self):
        """Returns the functions that the kernel calls: those in sections other than .text."""
        return sorted(
            at
            for at in self.functions
            if self.text(self.names, self.sections[at[0]][0]) != ".text"
        )

    def instructions(self, function):
        """Yields (offset, opcode, destination register, source register, memory offset, constant)
        for each instruction."""
        section, at = function
        code = self.bytes(self.sections[section])[at : at + self.size[function]]
        for i, (op, regs, off, imm) in enumerate(struct.iter_unpack("<BBhi", code)):
            yield at + 8 * i, op, regs & 15, regs >> 4, off, imm

    def calls(self, function):
        """Returns the functions that @function calls, each once, in the order of the calls."""
        section, called = function[0], []
        for at, op, _, src, _, imm in self.instructions(function):
            if op == LD_IMM64 and src == PSEUDO_FUNC:
                raise Bad("%s passes a function to a helper" % self.functions[function])
            if op != CALL or src != PSEUDO_CALL:
                continue
            symbol = self.relocated.get((section, at))
            if symbol:  # computed as in libbpf's bpf_object__reloc_code()
                target = symbol[3], symbol[4] + 8 * (imm + 1)
            else:
                target = section, at + 8 * (imm + 1)
            if target not in self.functions:
                raise Bad("%s calls what is no function" % self.functions[function])
            if target not in called:
                called.append(target)
        return called

    def depth(self, function):
        """Returns how many bytes below r10 the function's stack reaches, by its loads and stores,
        and by the stack addresses that it computes for helpers."""
        lowest = 0
        copies = set()  # registers that hold r10's value
        for _, op, dst, src, off, imm in self.instructions(function):
            base = src if op & 7 == LDX else dst if op & 7 in (ST, STX) else None
            if base == FP or base in copies:
                lowest = min(lowest, off)
            if op == ADD64_IMM and dst in copies:
                lowest = min(lowest, imm)
            if op == MOV64_REG and src == FP:
                copies.add(dst)
            elif op & 7 not in (ST, STX):
                copies.discard(dst)
        return -lowest

    def order(self, program):
        """Returns the program and its subprograms, in the order in which libbpf appends them."""
        found = []

        def visit(function):
            found.append(function)
            for called in self.calls(function):
                if called not in found:
                    visit(called)

        visit(program)
        return found

    def deepest(self, function, above=()):
        """Returns (sum of stack, functions) of the call chain that takes the most stack."""
        if function in above:
            raise Bad("%s calls itself" % self.functions[function])
        if len(above) == MAX_CALLS:
            raise Bad("more than %d functions call each other in a chain" % MAX_CALLS)
        chains = [self.deepest(c, above + (function,)) for c in self.calls(function)]
        below, chain = max(chains, default=(0, []))
        return rounded(max(self.depth(function), 1), ROUND) + below, [function] + chain


def rounded(n, to):
    return (n + to - 1) // to * to


def judge(o, program):
    """Returns (whether the program is within the limits, text that says how much stack it takes).
    """
    try:
        total, chain = o.deepest(program)
    except Bad as e:
        return False, str(e)
    chain = " > ".join("%s %d" % (o.functions[f], o.depth(f)) for f in chain)
    return total <= MAX_STACK, "%d bytes of %d: %s" % (total, MAX_STACK, chain)


bad = 0


def verdict(name, why):
    global bad
    bad |= bool(why)
    print("FAIL bpf-stack %s: %s" % (name, why) if why else "PASS bpf-stack %s" % name)


def load(tool, path):
    """Lets tests/vm/verify.c load the object file @path. Returns (whether the kernel accepted it,
    {program: the verifier's log}, all output)."""
    r = subprocess.run([tool, "--all-options", path], capture_output=True, errors="replace")
    head, *parts = r.stdout.split("PROGRAM ")
    return " ok " in head, {p.split()[0]: p for p in parts}, r.stdout


def differs(o, program, log):
    """Compares the stack depths in the verifier's log of @program with those computed here, rounded
    up to multiples of 8. Returns the differences as text, or None."""
    depths = re.search(r"^stack depth ([0-9+]+)", log, re.M)
    if not depths:
        return "the verifier gave no depths: " + log.strip()[-300:]
    own = [(o.functions[f], rounded(o.depth(f), 8)) for f in o.order(program)]
    its = [rounded(int(n), 8) for n in depths[1].split("+")]
    if len(own) != len(its):
        return "%d functions, in the verifier %d" % (len(own), len(its))
    return "; ".join("%s %d, in the verifier %d" % (n, a, b) for (n, a), b in zip(own, its) if a != b)


def costly(log):
    """Returns what is wrong with the number of instructions in the verifier's log @log, or None."""
    n = re.search(r"^processed (\d+) insns", log, re.M)
    if not n:
        return "the verifier gave no number: " + log.strip()[-300:]
    if int(n[1]) > MAX_VERIFIED:
        return "the verifier looked at %s instructions, %d are allowed" % (n[1], MAX_VERIFIED)
    return None


def check(path, tool):
    o = Object(path)
    logs = load(tool, path)[1] if tool else {}
    for program in o.programs():
        name = o.functions[program]
        ok, what = judge(o, program)
        print("# %s: %s" % (name, what))
        verdict(name, None if ok else what)
        if tool:
            verdict(name + "-verifier", differs(o, program, logs.get(name, "")))
            verdict(name + "-cost", costly(logs.get(name, "")))


SOURCE = """
char LICENSE[] __attribute__((section("license"))) = "Dual BSD/GPL";
static long (*load_bytes)(const void *, unsigned, void *, unsigned) = (void *)26;
"""
FUNCTION = """
%s int f%d(void *ctx) {
	char text[%d];
	load_bytes(ctx, 0, text, sizeof(text)); /* bpf_skb_load_bytes() */
	return text[0]%s;
}
"""
# For each chain of calls: the stack of each function, whether this script must find the chain
# within the limits, and whether the kernel must. The programs are socket filters, because since
# 6.13 the kernel gives each function of a tracing program its own stack.
CHAINS = [
    ("fits", [256, 256], True, True),
    ("a-word-more", [256, 264], False, True),
    ("rounded-to-32", [200, 200, 72], False, False),  # a new kernel rounds up to 16
    ("eight-calls", [16] * 8, True, True),
    ("nine-calls", [16] * 9, False, True),
]


def build(folder, name, sizes):
    source = SOURCE
    for i in reversed(range(len(sizes))):
        first = '__attribute__((section("socket")))'
        source += FUNCTION % (
            "static __attribute__((noinline))" if i else first,
            i,
            sizes[i],
            " + f%d(ctx)" % (i + 1) if i + 1 < len(sizes) else "",
        )
    path = os.path.join(folder, name)
    with open(path + ".c", "w") as f:
        f.write(source)
    clang = os.environ.get("CLANG", "clang")
    flags = ["-target", "bpf", "-mcpu=v2", "-O2", "-g", "-c", "-o", path + ".o", path + ".c"]
    subprocess.run([clang] + flags, check=True)
    return path + ".o"


def check_faults(folder, tool):
    """Builds programs at the limits and a little beyond them. This script must judge each as CHAINS
    says, and so must the kernel."""
    for name, sizes, fits, everywhere in CHAINS:
        path = build(folder, name, sizes)
        o = Object(path)
        ok, what = judge(o, o.programs()[0])
        verdict(name, None if ok == fits else "%s: %s" % ("taken" if ok else "refused", what))
        if tool and everywhere:
            loads, _, log = load(tool, path)
            verdict(name + "-kernel", None if loads == fits else "the kernel: " + log[-400:])


def main():
    with tempfile.TemporaryDirectory() as folder:
        tool = None
        if os.geteuid():
            print("SKIP bpf-stack-verifier: only root loads BPF programs")
        else:
            tool = os.path.join(folder, "verify")
            libs = subprocess.check_output(["pkg-config", "--libs", "libbpf"], text=True).split()
            source = os.path.join(ROOT, "tests/vm/verify.c")
            subprocess.run(["cc", "-o", tool, source] + libs, check=True)
        for path in sys.argv[1:] or OBJECTS:
            check(path, tool)
        check_faults(folder, tool)
    return bad


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
