#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""driver_faults.py [--python WHICH] [DRIVER...]: does the judge find all faults in profiles of each
profiler, and nothing else?

Each installed profiler samples targets/threads/still.py. As its threads stand still, their
stacks can't change while the profiler reads them, so the judge must find nothing wrong. krait,
which samples only running threads, samples targets/calls/chains.py. Then each kind of fault in
turn is made in a tenth of the same samples. The judge must find exactly these samples wrong, and
name the right kind."""
import argparse
import copy
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile

ORACLE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ORACLE)
import oracle  # noqa: E402
from judge import loose  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("run", os.path.join(ORACLE, "run"))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", LOADER))
LOADER.exec_module(run)

EACH = 10


def changed(frame, **facts):
    """Returns a copy of the frame with some members changed."""
    other = copy.copy(frame)
    for name, value in facts.items():
        setattr(other, name, value)
    other.key = (other.file, other.name, other.first)
    return other


def line(own):
    """Fault: the leaf's line is far below its function."""
    own[-1] = changed(own[-1], line=own[-1].line + 1000)


def name(own):
    """Fault: the leaf has a name that the program doesn't have."""
    own[-1] = changed(own[-1], name=own[-1].name + "_")


def stack(own):
    """Fault: the frame that called the leaf is missing."""
    del own[-2]


def order(own):
    """Fault: the leaf and its caller have changed places."""
    own[-2:] = own[:-3:-1]


FAULTS = {each.__name__: each for each in (line, name, stack, order)}


def stacks_with(fault, stacks, is_own):
    """Makes the fault in a tenth of the samples of each stack, in at least one. Returns the stacks,
    and the number of samples with the fault."""
    out, made = [], 0
    for count, frames in stacks:
        mine = [f for f in frames if f.kind == "python" and is_own(f)]
        others = [f for f in frames if f not in mine]
        bad = -(-count // EACH) if len(mine) > 3 and mine[-1].name != mine[-2].name else 0
        if bad:
            FAULTS[fault](mine)
            out.append((bad, others + mine))
        out.append((count - bad, frames))
        made += bad
    return out, made


def summed(stacks):
    """Adds up the samples of equal stacks, because some profilers write each sample separately."""
    out = {}
    for count, frames in stacks:
        key = tuple((f.key, f.line, f.column) for f in frames)
        out[key] = (out.get(key, (0,))[0] + count, frames)
    return list(out.values())


def judged(driver, paths, program, stacks):
    judge = loose.Judge(paths, program.contract, driver.first_lines)
    for count, frames in stacks:
        judge.add(count, frames)
    return judge


def say(good, what, text):
    print("%s oracle driver %s: %s" % ("PASS" if good else "FAIL", what, text), flush=True)
    return good


def wrong(judge):
    return {kind: judge.counts[kind] for kind in loose.WRONG if judge.counts[kind]}


def test(driver, python, program, options):
    what = "%s %s" % (driver.name, python.name)
    try:
        run.sampled(driver, python, program, options)
    except (RuntimeError, OSError, ValueError, LookupError, subprocess.SubprocessError) as error:
        return say(False, what, str(error))
    stacks = summed(driver.stacks(os.path.join(options.keep, program.name)))
    paths = oracle.truth_of(python, program)
    clean = judged(driver, paths, program, stacks)
    good = say(clean.judged() and not wrong(clean), what + " clean",
               "%d samples judged, wrong: %s" % (clean.judged(), wrong(clean) or "none"))
    for example in clean.examples[:2]:
        print("  " + example.replace("\n", "\n  "))

    def is_own(location):
        file = clean.frame(location).file
        return clean.checker.truth.is_own(changed(location, file=file))
    for fault in FAULTS:
        spoilt, made = stacks_with(fault, stacks, is_own)
        found = wrong(judged(driver, paths, program, spoilt))
        good &= say(made and found == {fault: made}, "%s with a wrong %s" % (what, fault),
                    "made in %d samples, found: %s" % (made, found or "none"))
    return good


def provide(kind):
    """Returns the path of the profiler's program in the test cache, and installs its package there
    if needed. Returns None if the program is on PATH, or if the profiler isn't in a package."""
    if not kind.package or any(shutil.which(tool) for tool in kind.tools):
        return None
    place = os.path.join(oracle.CACHE, "oracle", "tools", kind.package)
    program = os.path.join(place, "bin", kind.tools[0])
    if not os.path.exists(program):
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target",
                        place, "--disable-pip-version-check", kind.package],
                       stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300,
                       check=False)
    return program if os.path.exists(program) else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", help="instead of one that each driver can profile")
    parser.add_argument("--tool", help="the program of the only driver")
    parser.add_argument("drivers", nargs="*", metavar="DRIVER")
    options = parser.parse_args()
    options.seconds, options.hz = 3, 200
    good = True
    with tempfile.TemporaryDirectory(prefix="krait-oracle.") as options.keep:
        for name_, kind in run.DRIVERS.items():
            if name_ == "folded" or options.drivers and name_ not in options.drivers:
                continue
            driver = kind(options.tool or provide(kind))
            python = run.interpreter(options.python or
                                     ("3.15" if name_ == "profiling.sampling" else "3.11"))
            lacks = driver.missing(python)
            if lacks:
                print("SKIP oracle driver %s: %s" % (name_, lacks))
                continue
            os.makedirs(python.scratch, exist_ok=True)
            target = "calls/chains.py" if name_ == "krait" else "threads/still.py"
            program = oracle.Program(os.path.join(oracle.TARGETS, target))
            good &= bool(test(driver, python, program, options))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
