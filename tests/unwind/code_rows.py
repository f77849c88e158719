#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""code_rows.py INSNS CHECK HIDDEN ROWS [--full]: compares what krait derives from instructions
(src/unwind/x86/x86_insn.h, x86_flow.h) with what other tools say.

INSNS (tests/tools/x86_insns.c): the lengths of instructions, against objdump's.

CHECK (tests/tools/code_check.c): where the caller's frame, rbp and rbx are, in functions with call
frame information, analysed from their start and from their middle. Where krait differs from call
frame information, that information must be wrong. It is known to be wrong where it has no row after
an instruction that moves the stack pointer; where it puts the frame elsewhere than at rsp + 8 at a
return (OpenSSL); and where it says that a register is restored before the instruction that pops it
(SVML and MKL, in numpy and torch). Other mistakes are in KNOWN_WRONG.

HIDDEN (tests/tools/code_hidden.c): the same comparison for files stripped of symbols and call frame
information, in which only pointers and calls tell where functions begin.

The files are libraries of this Python and of the C library; with --full all of the machine."""
import os
import re
import subprocess
import sys
import tempfile

import unwind_rows

# what objdump prints for data that it can't decode, which is no instruction by itself
NOT_ALONE = re.compile(r"(\.byte|rex(\.[WRXB]+)?|data16|addr32|[c-gs]s|repn?z|lock)( |$)")
MOVES = re.compile(r"(push|pop|sub|add|lea|mov|leave|call)\b.*(%rsp|%rbp|^)|push|pop")
LEAST_SAME = 0.99
# Files whose call frame information has other mistakes, and which.
KNOWN_WRONG = {
    "libmvec.so.1": "SVML's wrappers: behind `sub $32,%rsp` it says that the frame is 40 bytes larger",
    "libjsvml.so": "SVML: registers are said to be restored before they are popped",
    "ld-linux-x86-64.so.2": "_dl_runtime_resolve(): behind `push %rbx` it doesn't say where rbx is",
    "python3.14": "python-build-standalone's: BOLT puts rows of an epilogue at blocks that it moved before it",
}


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          errors="replace", check=False, **more).stdout


def lengths(tool, path):
    """Returns (number of instructions, lines about instructions whose length differs between krait
    and objdump)."""
    with subprocess.Popen(["objdump", "-dw", "--insn-width=16", path], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as dump:
        said = run(tool, stdin=dump.stdout)
    wrong = [x for x in said.splitlines()
             if x.startswith("length ") and not NOT_ALONE.match(x.split(None, 4)[4])
             and "(bad)" not in x]
    return int(said.split()[-1]), wrong


def instruction(path, start, stop):
    """Returns the text of the last instruction before @stop."""
    said = run("objdump", "-dw", "--start-address=%#x" % start, "--stop-address=%#x" % stop, path)
    return said.rstrip().rpartition("\t")[2]


def rules(tool, path):
    return [int(x.split()[1], 16) for x in run(tool, "-t", path).splitlines() if x.startswith("row ")]


def is_wrong(path, rows, start, key, register="-"):
    """Returns whether call frame information is wrong at @key: it has no row there although the
    instruction before @key moves the stack pointer, or it has a row at a return, or where
    @register is popped."""
    if key in rows:
        return bool(re.search(r"\bret\b", instruction(path, key, key + 2))
                    or re.search(r"\bpop +%%%s\b" % register, instruction(path, key, key + 1)))
    return bool(MOVES.match(instruction(path, start, key)))


def check(tool, rows_tool, path):
    """Checks one file. Returns (the six numbers that the tool prints, the differences that nothing
    explains, the number of differences that mistakes of call frame information explain)."""
    said = run(tool, path).splitlines()
    wrong, unnoticed, numbers, rows = [], 0, [0] * 6, None
    known_wrong = os.path.basename(path) in KNOWN_WRONG
    for line in said:
        word = line.split()
        if word[0] == "guess":
            wrong.append("begun in its middle: " + line)
        elif word[0] == "differs":
            rows = rows if rows is not None else set(rules(rows_tool, path))
            if known_wrong or is_wrong(path, rows, int(word[2], 16), int(word[1], 16),
                                       word[3]):
                unnoticed += 1
            else:
                wrong.append(line)
        elif word[0] == "file":
            numbers = [int(x) for x in word[-6:]]
    return numbers, wrong, unnoticed


def hidden(tool, rows_tool, path):
    """Compares a file with its copy without symbols and call frame information. Returns (bytes of
    functions, bytes with a rule, bytes that differ because call frame information is wrong,
    functions with other bytes that differ). Call frame information is wrong in glibc's
    __mpn_mul_1() and similar functions, which push registers without saying so."""
    with tempfile.TemporaryDirectory() as d:
        out = os.path.join(d, "hidden")
        run("objcopy", "--strip-all", "-R", ".eh_frame", "-R", ".eh_frame_hdr", path, out)
        said = [x.split() for x in run(tool, path, out).splitlines()]
    rows, unnoticed, wrong = None, 0, []
    for _, start, first, n in said[:-1]:
        rows = rows if rows is not None else set(rules(rows_tool, path))
        if is_wrong(path, rows, int(start, 16), int(first, 16)):
            unnoticed += int(n)
        else:
            wrong.append("%s: function at %s, from %s on, %s bytes" % (path, start, first, n))
    return int(said[-1][1]), int(said[-1][2]), unnoticed, wrong


def check_hidden(tool, rows_tool, paths):
    """Compares all files with their stripped copies. Returns whether the check failed."""
    bytes_, known, unnoticed, wrong = zip(*(hidden(tool, rows_tool, path) for path in paths))
    wrong = sum(wrong, [])
    bad = not sum(known) or bool(wrong)
    for line in wrong[:9]:
        print("FAIL code-rows hidden %s" % line)
    print("%s code-rows hidden: %d files, %d of %d bytes of functions known without tables, %d more where call frame information "
          "is wrong" % ("FAIL" if bad else "PASS", len(paths), sum(known) - sum(unnoticed), sum(bytes_), sum(unnoticed)))
    return bad


def files(full):
    if full:
        return sorted(set(unwind_rows.everything()))
    found = unwind_rows.mapped(sys.executable)
    return [x for x in found if os.path.getsize(x) < 5 << 19]


def main():
    insns, code_check, hidden_tool, rows_tool = sys.argv[1:5]
    bad, decoded, unnoticed, sums, n = False, 0, 0, [0] * 6, 0
    paths = [path for path in files("--full" in sys.argv)
             if unwind_rows.is_ours(path) and unwind_rows.Machine(path).x86 is not False]
    for path in paths:
        total, wrong = lengths(insns, path)
        numbers, differing, known = check(code_check, rows_tool, path)
        for line in wrong[:3] + differing[:3]:
            print("FAIL code-rows %s: %s" % (path, line), flush=True)
        bad |= bool(wrong or differing)
        decoded, unnoticed, n = decoded + total, unnoticed + known, n + 1
        sums = [a + b for a, b in zip(sums, numbers)]
    functions, proven, looked, same, _, guessed = sums
    if not looked or same < LEAST_SAME * looked:
        print("FAIL code-rows: only %d of %d instructions as call frame information has them"
              % (same, looked))
        bad = True
    if not bad:
        print("PASS code-rows lengths: %d files, %d instructions as objdump has them" % (n, decoded))
        print("PASS code-rows: %d of %d functions proven, %d of %d instructions as call frame information "
              "has them, %d more begun in the middle; %d functions whose call frame information misses an "
              "instruction" % (proven, functions, same, looked, guessed, unnoticed))
    return bad | check_hidden(hidden_tool, rows_tool, paths)


if __name__ == "__main__":
    sys.exit(main())
