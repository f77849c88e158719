#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""native_faults.py [VERSION]: tests order.py. Right recordings are changed, as if krait unwound
stacks wrongly or merged Python and native frames wrongly. order.py must find each changed stack
wrong, and all others right.

A fault isn't made in a stack that wouldn't show it, such as one with nothing to exchange."""
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import native  # noqa: E402
import oracle  # noqa: E402
from judge import order, pprof  # noqa: E402

MARK = pprof.Location("[krait]", order.NATIVE_MARK + ": why]", "", 0, 0, 0)
STACKS = 100  # number of different stacks in which each fault is made


class Known:
    """A stack, root first. .at has the indexes of the program's own frames in it."""

    def __init__(self, stack, checker, rng):
        self.stack, self.rng = stack, rng
        self.at = [i for i, loc in enumerate(stack)
                   if loc.kind in ("python", "native") and checker.known(loc)]
        self.checker = checker

    def kind(self, n):
        return self.stack[self.at[n]].kind

    def some(self, condition):
        """Returns the index in .at of a random frame for which @condition holds, other than the
        first and the last one. None: there is none."""
        fit = [n for n in range(1, len(self.at) - 1) if condition(n)]
        return self.rng.choice(fit) if fit else None

    def groups(self):
        """Returns (first, last), indexes in .stack, for each group of Python frames that has native
        frames on both sides and contains a frame of the program."""
        out, first = [], None
        for i, loc in enumerate(self.stack):
            if loc.kind == "python" and first is None:
                first = i
            elif loc.kind != "python" and first is not None:
                out.append((first, i - 1))
                first = None
        return [g for g in out if any(i in self.at for i in range(g[0], g[1] + 1))]


def swapped(known, n):
    """Fault: numbers @n and @n + 1 of the program's own frames change places."""
    if n is None:
        return None
    a, b = known.at[n], known.at[n + 1]
    out = list(known.stack)
    out[a], out[b] = out[b], out[a]
    return out


def native_swapped(known):
    return swapped(known, known.some(lambda n: known.kind(n) == known.kind(n + 1) == "native"))


def python_swapped(known):
    return swapped(known, known.some(lambda n: known.kind(n) == known.kind(n + 1) == "python"))


def mixed_swapped(known):
    return swapped(known, known.some(lambda n: known.kind(n) != known.kind(n + 1)))


def dropped(known, kind):
    n = known.some(lambda n: known.kind(n) == kind)
    return n and known.stack[:known.at[n]] + known.stack[known.at[n] + 1:]


def native_dropped(known):
    return dropped(known, "native")


def python_dropped(known):
    return dropped(known, "python")


def native_twice(known):
    n = known.some(lambda n: known.kind(n) == "native")
    return n and known.stack[:known.at[n]] + known.stack[known.at[n]:][:1] + known.stack[known.at[n]:]


def group_moved(known, step):
    """Fault: a group of Python frames is moved beyond the next native frame of the program,
    outwards or inwards."""
    natives = [i for n, i in enumerate(known.at) if known.kind(n) == "native"]
    fit = []
    for first, last in known.groups():
        past = [i for i in natives if i < first] if step < 0 else [i for i in natives if i > last]
        if past:
            fit.append((first, last, past[-1] if step < 0 else past[0]))
    if not fit:
        return None
    first, last, other = known.rng.choice(fit)
    group, stack = known.stack[first:last + 1], known.stack
    if step < 0:
        return stack[:other] + group + stack[other:first] + stack[last + 1:]
    return stack[:first] + stack[last + 1:other + 1] + group + stack[other + 1:]


def group_too_far_out(known):
    return group_moved(known, -1)


def group_too_far_in(known):
    return group_moved(known, 1)


def group_off_by_one(known, step):
    """Fault: a group of Python frames is moved beyond the next native frame, outwards or inwards,
    so that it isn't beside its evaluation loop."""
    fit = [g for g in known.groups()
           if all(0 < i < len(known.stack) and known.stack[i].kind == "native"
                   for i in (g[0] - 2, g[0] - 1, g[1] + 1))]
    if not fit:
        return None
    first, last = known.rng.choice(fit)
    group, stack = known.stack[first:last + 1], known.stack
    if step < 0:
        return stack[:first - 1] + group + stack[first - 1:first] + stack[last + 1:]
    return stack[:first] + stack[last + 1:last + 2] + group + stack[last + 2:]


def group_one_out(known):
    return group_off_by_one(known, -1)


def group_one_in(known):
    return group_off_by_one(known, 1)


def loop_dropped(known):
    """Fault: an evaluation loop is missing, but its Python frames are there."""
    fit = [first for first, _ in known.groups()[1:]
           if order.LOOP.match(known.stack[first - 1].name)]
    if not fit:
        return None
    first = known.rng.choice(fit)
    return known.stack[:first - 1] + known.stack[first:]


def groups_shifted(known):
    """Fault: each group of Python frames is at the place of the group further out, as if one
    evaluation loop had been counted twice."""
    groups = known.groups()
    if len(groups) < 3:
        return None
    out, end = [], 0
    for place, taken in zip(groups, groups[1:]):
        out += known.stack[end:place[0]] + known.stack[taken[0]:taken[1] + 1]
        end = place[1] + 1
    return out + known.stack[end:groups[-1][0]] + known.stack[groups[-1][1] + 1:]


def natives_dropped(known):
    """Fault: all native frames between two groups of Python frames are missing, and no mark says
    so."""
    fit = [(a, b) for a, b in zip(known.groups(), known.groups()[1:])
           if any(known.stack[i].kind == "native" and i in known.at for i in range(a[1], b[0]))]
    if not fit:
        return None
    a, b = known.rng.choice(fit)
    return known.stack[:a[1] + 1] + known.stack[b[0]:]


def start_dropped(known):
    """Fault: the frames further out than the outermost Python frame are missing, and no mark says
    so."""
    first = next(i for i, loc in enumerate(known.stack) if loc.kind == "python")
    return known.stack[first:] if first else None


def outer_dropped(known):
    """Fault: an outer part of the stack is missing, with the Python frames in it, and no mark says
    so.
    """
    groups = known.groups()
    if len(groups) < 3:
        return None
    cut = known.rng.choice(groups[1:-1])[0]
    python = [loc for loc in known.stack[:cut] if loc.kind == "python"]
    return known.stack[:1] + python + known.stack[cut:]


def start_inside(known):
    """Fault: the outermost frame occurs again in the middle of the stack."""
    outer = [loc for loc in known.stack if order.OUTERMOST.match(loc.name)]
    n = known.some(lambda n: True)
    return n and outer and known.stack[:known.at[n]] + outer[:1] + known.stack[known.at[n]:]


def kernel_inside(known):
    kernel = pprof.Location("[kernel]", "do_syscall_64", "", 0, 0, 0)
    n = known.some(lambda n: True)
    return n and known.stack[:known.at[n]] + [kernel] + known.stack[known.at[n]:]


def repeated(known):
    """Fault: an outer part of the stack occurs twice, as if wrong unwind rows had led back to it.
    """
    n = known.some(lambda n: n > 4 and known.kind(n) == "native")
    m = n and known.rng.randrange(2, n)
    return n and known.stack[:known.at[n]] + known.stack[known.at[m]:]


def marked_and_swapped(known):
    """Fault: in a stack with a mark (a frame that says that others are missing), two frames further
    in than the mark change places. The mark excuses only missing frames, so the judge must find
    this."""
    out = native_swapped(known)
    return out and [MARK] + out


def marked_and_dropped(known):
    """Fault: a Python frame is missing that is further out than a mark (a frame that says that
    native frames are missing)."""
    n = known.some(lambda n: n > 4 and known.kind(n) == "python" and n < len(known.at) - 3)
    if not n:
        return None
    cut = known.at[n + 2]
    python = [loc for i, loc in enumerate(known.stack[:cut]) if loc.kind == "python"
              and i != known.at[n]]
    return python + [MARK] + known.stack[cut:]


FAULTS = (native_swapped, python_swapped, mixed_swapped, native_dropped, python_dropped,
          native_twice, group_too_far_out, group_too_far_in, group_one_out, group_one_in,
          loop_dropped, groups_shifted, natives_dropped,
          start_dropped, outer_dropped, start_inside, kernel_inside, repeated, marked_and_swapped,
          marked_and_dropped)
PROGRAMS = ("by_ctypes", "by_extension", "by_builtins", "by_threads")
# faults that can't be seen if the interpreter has no names for some of its functions
NEED_SYMBOLS = {group_one_out, group_one_in, loop_dropped}
# Faults that a program can't show, because it has no native frames of its own, or because its
# outermost frame has no name.
LACKS = {"by_threads": {start_inside},
         "by_builtins": {native_swapped, mixed_swapped, native_dropped, native_twice,
                         group_too_far_out, group_too_far_in, natives_dropped, repeated,
                         marked_and_swapped}}


def harmless(stack, whole):
    """Not a fault: the native frames further out than a mark are missing, as the mark says, and the
    rest is right."""
    known = Known(stack, whole, random.Random(len(stack)))
    groups = known.groups()
    if len(groups) < 3:
        return None
    # If the chosen group is the outermost one, the mark becomes the stack's outermost frame.
    cut = known.rng.choice(groups)[0]
    return [loc for loc in stack[:cut] if loc.kind == "python"] + [MARK] + stack[cut:]


def test(what, stacks, checker, fault):
    rng = random.Random(fault.__name__)
    made = caught = 0
    missed = None
    for stack in stacks:
        spoilt = fault(Known(stack, checker, rng))
        if not spoilt or spoilt == stack:
            continue
        made += 1
        if checker.classify(spoilt)[0] in order.FINE:
            missed = missed or spoilt
        else:
            caught += 1
    good = made and made == caught
    print("%s oracle native fault %s (%s): made in %d stacks, caught in %d" % (
        "PASS" if good else "FAIL", fault.__name__, what, made, caught), flush=True)
    if missed:
        print("\n".join("  %s [%s]" % (l.name, l.mapping) for l in missed[:40]))
    return good


def test_program(what, stacks, checker, name):
    """Tests that @checker notices each fault. @stacks: different stacks without faults, root first.
    Returns whether it does."""
    good = True
    for fault in FAULTS:
        if fault not in LACKS.get(name, ()) and (checker.symbols or fault not in NEED_SYMBOLS):
            good &= test(what, stacks, checker, fault)
    broken = [each for each in (harmless(stack, checker) for stack in stacks) if each]
    fine = sum(checker.classify(each)[0] == "marked" for each in broken)
    good &= bool(broken) and fine == len(broken)
    print("%s oracle native without a fault, broken off (%s): right in %d of %d" % (
        "PASS" if broken and fine == len(broken) else "FAIL", what, fine, len(broken)))
    return good


def recorded(judge, interpreter, program):
    """Returns a recording's different right stacks, and the checker that found them right."""
    if judge.prepare(interpreter, program):
        return None, None
    running = oracle.Running(interpreter, program, 60, native.graph_file(interpreter, program))
    try:
        running.wait_ready()
        seconds = 1 + order.YOUNG_NS / 1e9
        profile = native.with_symbols(pprof.read(judge.record("faults", [running.pid], seconds, True)))
    finally:
        running.stop()
    checker = judge.checker(interpreter, program)
    stacks = {s.stack: profile.stack(s) for s in profile.samples
              if s.labels.get("time", 0) > order.YOUNG_NS}
    right = [stack for stack in stacks.values() if checker.classify(stack)[0] == "right"]
    random.Random(1).shuffle(right)
    return right[:STACKS], checker


def main():
    sys.argv[1:1] = ["--only"] if len(sys.argv) > 1 else []
    options = oracle.arguments(0)
    rows = native.rows(options)
    if not options.only:
        # krait finds the native frame to which a group of Python frames belongs in three ways: by
        # counting, by _PyCFrame, and by the loop's own frame (shim). These versions need all three.
        wanted = {(3, 9), (3, 11), (3, 12), max(r.version[:2] for r in rows)}
        rows = [r for r in rows if r.version[:2] in wanted]
    good = True
    with tempfile.TemporaryDirectory() as options.keep:
        judge = native.Native(options)
        for interpreter in rows:
            os.makedirs(interpreter.scratch, exist_ok=True)
            for program in oracle.programs("*", "native"):
                if program.name not in PROGRAMS:
                    continue
                stacks, checker = recorded(judge, interpreter, program)
                what = "%s %s" % (interpreter.name, program.name)
                if stacks is None:
                    print("SKIP oracle native faults %s: can't be built here" % what)
                else:
                    good &= test_program(what, stacks, checker, program.name)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
