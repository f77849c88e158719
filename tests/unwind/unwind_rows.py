#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""unwind_rows.py TOOL [--full]: compares the rows that krait makes (tests/tools/unwind_rows.c) with
`readelf --debug-dump=frames-interp` of the same file, for every row and every function. Where
readelf says "exp", the expression is taken from its --debug-dump=frames. krait's rules can't
express all that DWARF can: LOSSES has the reasons for such differences, and any other difference
is a failure. The files are those that five of the test interpreters map, and a few made here;
with --full those of all interpreters, and every ELF file of the machine."""
import collections
import hashlib
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile

# reasons why krait may lack an unwind row, or a register's rule, that readelf has
LOSSES = {
    "cfa-expression": "the CFA is an expression that is none of `*(reg + n) + m`, `*(reg + n + 8 * reg) + m` and "
                      "binutils' PLT",
    "ra-not-in-memory": "the return address is behind an expression",
    "sp-saved": "the caller's stack pointer is saved somewhere (longjmp, context switches)",
    "fp-lost": "rbp is in another register, behind an expression or not at a multiple of 8; or it is "
               "said to be at its own value where that may be the caller's already (GCC)",
    "bx-lost": "rbx likewise",
    "signal": "a signal frame that doesn't describe a struct ucontext",
    "ra-column": "the return address is in a column of its own (aarch64's TLS descriptors)",
    "overlap": "the function overlaps with one before it",
    "eh-return": "__builtin_eh_return: the stack is made another frame's",
    "not-executable": "the function lies outside of executable memory",
    "empty": "the function has no bytes",
}
# The interpreters of the fast tier: the oldest one, the newest one, and others that were built
# differently.
FEW = ("python2.7-pyenv", "python3.8-pyenv", "python3-dist", "python3.13-pyenv", "python3.15-sid")
UNKNOWN, END, REG, DEREF, PLT, SIGNAL, INDEXED = range(7)
SAME, LOST = 0x7fff, 0x7ffe
HEX = "0123456789abcdef"
ZERO = (UNKNOWN, 0, 0, 0, 0, 0, 0, 0)
MACHINES = {
    "X86-64": ({n: i for i, n in enumerate("rax rdx rcx rbx rsi rdi rbp rsp".split())}
               | {f"r{i}": i for i in range(8, 16)}, "rbp", "rbx", "rsp", "rip", 16),
    "AArch64": ({f"x{i}": i for i in range(31)} | {"sp": 31}, "x29", "x19", "sp", "x30", 30),
}


class Machine:
    def __init__(self, path):
        text = run("readelf", "-hlW", path)
        name = next(n for n in MACHINES if n in text)
        self.regs, self.fp, self.bx, self.sp, self.pc, self.ra = MACHINES[name]
        self.x86 = name == "X86-64"
        self.exec = []
        for line in text.splitlines():
            w = line.split()
            if w[:1] == ["LOAD"] and "E" in w[6:-1]:
                self.exec.append((int(w[2], 16), int(w[2], 16) + int(w[5], 16)))


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          errors="replace", timeout=240, check=False).stdout


def entries(path, how):
    """Returns the CIEs and FDEs in readelf's dump of .eh_frame, or of .debug_frame if .eh_frame has
    no functions. Each is a string of several lines."""
    found = {}
    for text in run("readelf", how + "N", path).split("Contents of the ")[1:]:
        name, _, text = text.partition(" ")
        blocks = [x.lstrip("\n") for x in text.split("\n\n")]
        found[name] = [x for x in blocks if x[:1] in HEX and (" CIE" in x[:70] or " FDE " in x[:70])]
    for name in (".eh_frame", ".debug_frame"):
        if any(" FDE " in x[:70] for x in found.get(name, ())):
            return found[name]
    return []


class Expressions:
    """What only readelf's dump of the instructions has: expressions, and whether a register that
    the rows show as "u" was declared undefined."""
    def __init__(self, path):
        self.path, self.of = path, None

    def read(self):
        self.of = {x.partition("\n")[0]: x.splitlines()[1:] for x in entries(self.path, "-wf")
                   if "expression" in x or "undefined" in x}

    def at(self, key, start, loc, register):
        """Returns the expression that is in effect at @loc for a register's name or "cfa", or
        "undefined", or ""."""
        if self.of is None:
            self.read()
        now, here, kept = {}, start, []
        for line in self.of.get(key, ()):
            op, _, rest = line.strip().partition(" ")
            op = op.rstrip(":")
            if op.startswith("DW_CFA_advance_loc") or op == "DW_CFA_set_loc":
                here = int(rest.split()[-1], 16)
                if here > loc:
                    break
            elif op == "DW_CFA_def_cfa_expression":
                now["cfa"] = rest.strip("()")
            elif op in ("DW_CFA_expression", "DW_CFA_val_expression"):
                m = re.match(r"r\d+ \((\w+)\) \((.*)\)$", rest)
                now[m[1]] = m[2]
            elif op in ("DW_CFA_undefined", "DW_CFA_restore"):
                now[re.search(r"\((\w+)\)", rest)[1]] = op[7:]
            elif op == "DW_CFA_remember_state":
                kept.append(dict(now))
            elif op == "DW_CFA_restore_state":
                now = kept.pop()
        return now.get(register, "")


def breg(machine, text):
    """Parses "DW_OP_breg7 (rsp): 8; ...". Returns (the register's number, the offset, the rest of
    the text)."""
    m = re.match(r"DW_OP_breg(\d+) \(\w+\): (-?\d+)(?:; )?", text)
    return (int(m[1]), int(m[2]), text[m.end():]) if m else (None, 0, "")


class Rules:
    def __init__(self, machine, expressions):
        self.machine, self.expressions = machine, expressions
        self.losses = collections.Counter()
        self.known = {}

    def at(self, text, key, start, loc, names, signal):
        """Returns rule() for an unwind row. It is computed once for equal rows that need no
        expression."""
        known = self.known.get((text, names, signal))
        if known:
            self.losses.update(known[1])
            return known[0]
        # "r8 (r8)" means: in a register
        row = dict(zip(names.split(), text.replace(" (", "(").split()))
        before, self.losses = self.losses, collections.Counter()
        rule = self.rule(row, lambda name: self.expressions.at(key, start, loc, name), signal)
        if "exp" not in row.values() and row.get("ra") != "u":
            self.known[text, names, signal] = rule, self.losses
        self.losses = before + self.losses
        return rule

    def lose(self, why):
        self.losses[why] += 1
        return ZERO

    def cfa(self, text, expression):
        m = re.match(r"([a-z]+[0-9]*)([-+]\d+)$", text)
        if m and m[1] in self.machine.regs:
            return REG, self.machine.regs[m[1]], int(m[2]), 0
        reg, off, rest = breg(self.machine, expression("cfa"))
        m = re.match(r"DW_OP_deref(?:; DW_OP_plus_uconst: (\d+))?$", rest)
        if text == "exp" and reg is not None and m:
            return DEREF, reg, off, int(m[1] or 0)
        m = re.match(r"DW_OP_breg(\d+) \(\w+\): 0; DW_OP_lit8; DW_OP_mul; DW_OP_plus; DW_OP_deref"
                     r"(?:; DW_OP_plus_uconst: (\d+))?$", rest)
        if text == "exp" and reg is not None and m:
            return INDEXED, reg | int(m[1]) << 8, off, int(m[2] or 0)
        m = re.match(r"DW_OP_breg16 \(rip\): 0; DW_OP_lit15; DW_OP_and; DW_OP_lit(\d+); DW_OP_ge; "
                     r"DW_OP_lit3; DW_OP_shl; DW_OP_plus$", rest)
        if text == "exp" and (reg, off) == (7, 8) and m and self.machine.x86:
            return PLT, 7, int(m[1]), 0
        return None

    def slot(self, text, expression, name, cfa=None):
        """Returns (where a register is saved, in units of 8 bytes; 1 if that is an offset from the
        frame pointer, 0 if from the CFA). It is an offset from the frame pointer only if the CFA
        shows whose frame pointer it is."""
        if text in ("u", "s", "n", None):
            return SAME, 0
        m = re.match(r"c([-+]\d+)$", text)
        if m and int(m[1]) % 8 == 0:
            return int(m[1]) // 8, 0
        base, off, rest = breg(self.machine, expression(name) if text == "exp" else "")
        fp, bx = (self.machine.regs[x] for x in (self.machine.fp, self.machine.bx))
        if base == fp and not rest and off % 8 == 0 and cfa in ((DEREF, fp), (REG, bx)):
            return off // 8, 1
        return LOST, 0

    def rule(self, row, expression, signal):
        mc = self.machine
        ra = row.get("ra", "u")
        if ra == "u" and (mc.x86 or expression(mc.pc) == "undefined"):
            return (END,) + ZERO[1:]
        if signal:
            cfa = self.cfa(row["CFA"], expression)
            where = [breg(mc, expression(n))[:2] for n in ("rip", "rbp")]
            if not cfa or cfa[:2] != (DEREF, 7) or cfa[3]:
                return self.lose("signal")
            off = cfa[2] - 160
            if where != [(7, off + 168), (7, off + 120)]:
                return self.lose("signal")
            return (SIGNAL, 7, off) + ZERO[3:]
        cfa = self.cfa(row["CFA"], expression)
        if not cfa:
            return self.lose("cfa-expression")
        if row.get(mc.sp) not in (None, "u", "n", "v+0"):
            return self.lose("sp-saved")
        in_register = re.match(r"r(\d+)\(\w+\)$", ra) if mc.x86 and cfa[0] != INDEXED else None  # vfork()
        if in_register:
            cfa, ra = (cfa[0], cfa[1] | int(in_register[1]) << 8, *cfa[2:]), SAME
        else:
            ra, _ = self.slot(ra, expression, mc.pc)
        if ra == LOST or ra == SAME and mc.x86 and not in_register:
            return self.lose("ra-not-in-memory")
        fp, fp_from_fp = self.slot(row.get(mc.fp), expression, mc.fp, cfa[:2])
        bx, bx_from_fp = self.slot(row.get(mc.bx), expression, mc.bx, cfa[:2])
        for name, v in (("fp", fp), ("bx", bx)):
            if v == LOST:
                self.lose(name + "-lost")
        return cfa + (fp_from_fp + 2 * bx_from_fp + 4 * bool(in_register), ra, fp, bx)


def functions(path):
    """Returns (start, end, rows as (loc, text), names of the columns, key, whether it is a signal
    frame, the return address column) for each function, sorted by start address."""
    cies, found = {}, []
    for entry in entries(path, "-wF"):
        key, _, rest = entry.partition("\n")
        head, lines = key.split(), rest.splitlines()
        names = lines[0].replace("LOC", "").strip() if lines else ""
        rows = [(int(line[:16], 16), line[17:].rstrip()) for line in lines[1:]
                # skips the second line that readelf prints for registers without names
                if line[0] in HEX and "ZERO" not in line]
        if head[3] == "CIE":
            ra = next(int(x[3:]) for x in head if x.startswith("ra="))
            cies[head[0]] = rows, names, "S" in head[4].strip('"'), ra
            continue
        cie_rows, cie_names, signal, ra = cies[head[4][4:]]
        start, end = (int(x, 16) for x in head[5][3:].split(".."))
        # For a function without instructions readelf prints no rows, so those of its CIE are taken.
        if not rows:
            rows, names = [(start, text) for _, text in cie_rows[-1:]], cie_names
        found.append((start, end, rows, names, key, signal, ra))
    return sorted(found, key=lambda x: x[0])


def eh_return(path, start, end, leave):
    """Finds out, for a function left by __builtin_eh_return at @leave, what its call frame
    information doesn't say. Returns four values: the address from which on its return address
    may be overwritten; the address from which on the frames further out may be overwritten; the
    address from which on the function has been left; where the return address is kept until then
    (from the CFA, in units of 8 bytes)."""
    text = run("objdump", "-dw", "--no-show-raw-insn", f"--start-address={start:#x}", f"--stop-address={end:#x}", path)
    code = [(int(m[1], 16), m[2]) for m in re.finditer(r"^ +([0-9a-f]+):\t(.*?) *$", text, re.M)]
    install, hook = [i for i, (at, insn) in enumerate(code) if at < leave and insn.startswith("call")][-2:]
    leas = {m[2]: m[1] for m in re.finditer(r"lea +(-0x[0-9a-f]+)\(%rbp\),%(r\w+)", text)}

    def argument(register):
        how, source = next(m for m in (re.match(rf"(lea|mov) +(\S+),%{register}$", insn)
                                       for _, insn in code[install::-1]) if m).groups()
        # in code of Ubuntu's GCC 14, the register's value is in the frame until then
        if how == "mov" and source[0] != "%":
            source = next(m for m in (re.match(r"mov +(%r\w+)," + re.escape(source), insn)
                                      for _, insn in code[install::-1]) if m)[1]
        return int(leas[source[1:]] if source[0] == "%" else source.split("(")[0], 16)

    context, other = argument("rdi"), argument("rsi")
    read = sorted(int(x, 16) - other for _, insn in code[install:hook]
                  for x in re.findall(r"mov +(-0x[0-9a-f]+)\(%rbp\),", insn))
    left = next(i for i, (at, insn) in enumerate(code) if at > leave and re.match("ret|(notrack )?jmp", insn))
    assert read == [0x90, 0x98], read  # offsets of .cfa and .ra in struct _Unwind_Context
    return (code[install][0] + 1, code[hook + 1][0], code[left + 1][0] if left + 1 < len(code) else end,
            (context + read[1] - 16) // 8)


def truth(path):
    """Returns what readelf says of a file: (rows as (address, rule), functions, number of functions
    left out, {reason: number of rows that can't be compared})."""
    machine = Machine(path)
    rules = Rules(machine, Expressions(path))
    rows, kept, left = [], [], 0

    def add(loc, rule):
        if not rows or rows[-1][1] != rule:
            rows.append((loc, rule))

    last = min((lo for lo, _ in machine.exec), default=0) & ~0xfff
    for start, end, dump, names, key, signal, ra in functions(path):
        why = ("empty" if start == end else
               "ra-column" if ra != machine.ra else
               "not-executable" if not any(lo <= start < end <= hi for lo, hi in machine.exec)
               else "overlap" if start < last else None)
        if why:
            rules.lose(why)
            left += 1
            continue
        if start > last:
            add(last, ZERO)
        own = [(loc, rules.at(text, key, start, loc, names, signal)) for i, (loc, text) in enumerate(dump)
               if not (i + 1 < len(dump) and dump[i + 1][0] == loc or loc >= end)]
        leave = [loc for loc, text in dump if machine.x86 and text.startswith("rcx+8 ")]
        if leave:
            rules.lose("eh-return")
            first, behind, gone, ra = eh_return(path, start, end, leave[0])
            after = [rule for loc, rule in own if loc <= gone][-1]
            own = ([x for x in own if x[0] < first]
                   + [(first, (REG, 6, 16, 0, 0, ra, LOST, LOST)), (behind, ZERO), (gone, after)]
                   + [x for x in own if x[0] > gone])
        for loc, rule in own:
            if loc < end:
                add(loc, rule)
        kept.append((start, end))
        last = end
    if rows:
        add(last, ZERO)
    return rows, kept, left, rules.losses


def tool_rows(tool, path):
    rows, kept, bad = [], [], 0
    for line in run(tool, "-t", path).splitlines():
        w = line.split()
        if w[0] == "row":
            rows.append((int(w[1], 16), tuple(map(int, w[2:]))))
        elif w[0] == "fde":
            kept.append((int(w[1], 16), int(w[2], 16)))
        elif w[0] == "file":
            bad = int(w[5])
        else:
            return None, line, 0
    return rows, kept, bad


def differences(got, want):
    """Returns the first unwind rows that differ between krait and readelf."""
    if got == want:
        return []
    at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))

    def show(rows):
        return " ".join(f"{x[0]:x}:{x[1]}" for x in rows[at:at + 3])
    return [f"row {at}: krait {show(got)}, readelf {show(want)}"]


def unnoticed(rows, want):
    """Returns True if the comparison fails to notice a changed rule or a moved row."""
    i = len(rows) // 2
    loc, rule = rows[i]
    return any(not differences(rows[:i] + [other] + rows[i + 1:], want)
               for other in ((loc, rule[:2] + (rule[2] + 8,) + rule[3:]), (loc + 1, rule)))


def compare(job):
    """Compares one file. Returns (group, path, what is wrong or None, number of rows, number of
    functions, {reason: number of losses})."""
    tool, group, path, original = job
    rows, kept, bad = tool_rows(tool, path)
    if rows is None:
        return group, path, kept, 0, 0, collections.Counter()
    try:
        want, want_kept, left, losses = truth(original)
    except (ValueError, KeyError, IndexError, TypeError, subprocess.TimeoutExpired) as e:
        return group, path, f"readelf's output: {e!r}", 0, 0, collections.Counter()
    wrong = differences(rows, want) + differences(kept, want_kept)
    if bad != left:
        wrong.append(f"{bad} functions left out instead of {left}")
    if rows and not wrong and unnoticed(rows, want):
        wrong.append("a changed row isn't noticed")
    return group, path, "; ".join(wrong) or None, len(rows), len(kept), losses


# A script that loads as many of these libraries as it can, and prints the process's mappings.
MAPPED = """
import sys
for name in "ssl hashlib ctypes sqlite3 zlib lzma bz2 decimal curses readline numpy".split():
    try: __import__(name)
    except ImportError: pass
sys.stdout.write(open("/proc/self/maps").read())
"""


def mapped(interpreter):
    lines = [x.split(None, 5) for x in run(interpreter, "-c", MAPPED).splitlines()]
    return sorted({w[5] for w in lines if len(w) == 6 and "x" in w[1] and w[5][0] == "/"})


def interpreters():
    """Returns (name, path) of each test interpreter that needs no chroot."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    table = os.path.join(os.environ.get("KRAIT_TEST_CACHE") or cache + "/krait-tests",
                         "interpreters.tsv")
    if not os.path.exists(table):
        print("SKIP unwind-rows interpreters: no test interpreters")
        return
    with open(table, encoding="utf-8") as f:
        for line in f:
            name, _, kind, path = line.rstrip("\n").split("\t")[:4]
            if kind != "chroot":
                yield name, path


def is_ours(path):
    """Returns whether the file is a 64-bit ELF program or library for a machine that krait
    supports."""
    try:
        with open(path, "rb") as f:
            h = f.read(20)
    except OSError:
        return False
    return h[:6] == b"\x7fELF\2\1" and h[16] in (2, 3) and h[18] in (62, 183)


def everything():
    """Yields the path of every ELF file in the usual directories."""
    home = os.path.expanduser("~")
    for root in ("/usr/lib", "/usr/bin", "/usr/sbin", "/usr/libexec", "/usr/local", "/opt",
                 "/usr/aarch64-linux-gnu", home + "/.pyenv", home + "/.cache/krait-tests"):
        for where, _, names in os.walk(root):
            for name in names:
                path = os.path.join(where, name)
                if not os.path.islink(path) and is_ours(path):
                    yield path


def made(where):
    """Makes files unlike those of any package. Yields (name, path, path of the file that readelf
    reads) for each."""
    with open(where + "/vdso.so", "wb") as out, open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            if "[vdso]" in line:
                lo, hi = (int(x, 16) for x in line.split()[0].split("-"))
                with open("/proc/self/mem", "rb") as mem:
                    mem.seek(lo)
                    out.write(mem.read(hi - lo))
    yield "vdso", where + "/vdso.so", where + "/vdso.so"
    with open(where + "/debug.c", "w", encoding="utf-8") as f:
        f.write("int g(int *); int f(int n) { int a[n]; return g(a) + n; }\n")
    for compress in ("none", "zlib"):
        lib = f"{where}/debug-{compress}.so"
        run("gcc", "-g", f"-gz={compress}", "-O2", "-shared", "-nostdlib", "-fPIC",
            "-fno-asynchronous-unwind-tables", "-o", lib, where + "/debug.c")
        yield "debug-frame", lib, lib
    libgcc = run("gcc", "-print-file-name=libgcc_s.so.1").strip()
    if libgcc.startswith("/"):
        yield "eh-return", libgcc, libgcc
    libc = next(x for x in mapped(sys.executable) if "/libc." in x or "/libc-" in x)
    with open(libc, "rb") as f:
        data = bytearray(f.read())
    data[0x28:0x30] = bytes(8)  # e_shoff
    data[0x3c:0x40] = bytes(4)  # e_shnum, e_shstrndx
    with open(where + "/bare.so", "wb") as f:
        f.write(data)
    yield "no-section-headers", where + "/bare.so", libc


def jobs(tool, where, full):
    seen = set()

    def once(group, path, original):
        with open(path, "rb") as f:
            digest = hashlib.sha1(f.read()).digest()
        if digest not in seen:
            seen.add(digest)
            yield tool, group, path, original

    for group, path, original in made(where):
        yield from once(group, path, original)
    for name, interpreter in interpreters():
        if full or name in FEW:
            for path in mapped(interpreter):
                yield from once(name, path, path)
    for path in sorted(everything()) if full else ():
        yield from once("everything", path, path)


def main():
    bad = False
    totals = {}
    with tempfile.TemporaryDirectory() as where, multiprocessing.Pool(2) as pool:
        todo = list(jobs(sys.argv[1], where, "--full" in sys.argv))
        for group, path, wrong, rows, functions_n, losses in pool.imap_unordered(compare, todo):
            if wrong:
                print(f"FAIL unwind-rows {path}: {wrong}", flush=True)
                bad = True
            else:
                total = totals.setdefault(group, collections.Counter())
                total.update(losses)
                total.update({"files": 1, "rows": rows, "functions": functions_n})
    for group, n in totals.items():
        if not n["rows"]:
            print(f"FAIL unwind-rows {group}: no rows")
            bad = True
            continue
        losses = ", ".join(f"{n[x]} {x}" for x in LOSSES if n[x])
        print(f"PASS unwind-rows {group}: {n['files']} files, {n['functions']} functions, "
              f"{n['rows']} rows as readelf has them" + (f"; not held: {losses}" if losses else ""))
    return bad


if __name__ == "__main__":
    sys.exit(main())
