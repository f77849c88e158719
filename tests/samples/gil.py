#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Is the GIL state of each sample right? gil_states.py runs under each interpreter. The innermost
function, in Python or in C, tells which state is true, whatever krait says.

gil.py [--full] [--only GLOB] [--seconds N]

With PYTHON_GIL=1, which enables the GIL of free-threaded interpreters, the test judges those
interpreters.

While the interpreter takes or drops the GIL, each state but "none" is true at some instant. But if
the kernel's frames show that the thread sleeps in that code, the thread doesn't hold the GIL."""
import argparse
import collections
import os
import re
import subprocess
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "oracle"))
import oracle  # noqa: E402
from judge import check, pprof  # noqa: E402

HZ = 1999
FEW_UNKNOWN = 0.03
# the largest part of the samples of contend() that may be in functions that take or drop the GIL
SWITCHING = 0.1
# the largest part of the samples of contend() that may be in the evaluation loop, between
# drop_gil() and take_gil() (up to 3.10)
BETWEEN = 0.002
FAST = ("python2.7-pyenv", "python3-dist", "python3.12-pyenv", "python3.15-sid")
STATES = {"held", "released", "waiting", "none", "unknown"}
BY_C = {"krait_without_gil": "released", "krait_with_gil": "held", "krait_no_python": "none",
        "deflate": "released"}
ALONE = {"alone", "own_gil"}  # programs in which no other thread wants the GIL
SWITCH = re.compile(r"take_gil|drop_gil|pthread_|futex|^(__new_)?sem_|_lll_|clock_gettime|vdso|"
                    r"PyThread_|PyThreadState_|PyEval_(Re|Sa|Ac|Th)|_Py_HandlePending|^\[|"
                    r"eval_frame_handle_pending")
ASLEEP = re.compile(r"^_*futex_(do_)?wait")


def below(stack):
    """Returns (the name of the innermost Python frame, [(kind, name)] of the frames that are
    further in, the innermost first)."""
    names = []
    for frame in reversed(stack):
        if frame.kind == "python":
            return frame.name.split(".")[-1], names
        names.append((frame.kind, frame.name or "[]"))
    return "", names


def truth(stack, giving, between):
    """Returns (the states of the GIL that may be true of a sample, what the sample shows), or None
    if the test doesn't know. giving: the code of the evaluation loop itself gives the GIL away
    (2.7), so any of its instructions may be between dropping and taking the GIL. between: the
    loop calls a function that drops the GIL, and then one that takes it."""
    if any(frame.kind == "mark" and frame.name not in check.ABSENT for frame in stack):
        return None
    python, names = below(stack)
    native = [name for kind, name in names if kind != "kernel"]
    kernel = [name for kind, name in names if kind == "kernel"]
    for name in native:
        if name in BY_C:
            return {BY_C[name]}, name
    if python == "reader" and "vfs_read" in kernel:
        return {"released"}, "read"
    if python in ALONE:
        return {"held"}, python
    if python == "contend":
        if any(ASLEEP.match(name) for name in kernel):
            # drop_gil() locks the GIL's mutex before it gives the GIL away.
            locking = any("mutex_lock" in name for name in native)
            return {"held", "waiting"} if locking else {"waiting"}, "futex"
        if giving or any(SWITCH.search(name) for name in native) or "do_futex" in kernel:
            return {"held", "waiting", "released"}, "switching"
        return {"held", "released"} if between else {"held"}, "contend"
    return None


def judge(profile, giving, between):
    """Judges all samples. Returns ({what samples show: Counter of the states that krait gave them},
    the wrong samples as text)."""
    seen, wrong = collections.defaultdict(collections.Counter), []
    for sample in profile.samples:
        stack, state = profile.stack(sample), sample.labels.get("gil")
        true = truth(stack, giving, between)
        if state not in STATES:
            wrong.append("state %r" % state)
        if not true:
            continue
        seen[true[1]][state] += sample.values[0]
        if state not in true[0] and state != "unknown":
            wrong.append("%s is %s: %s" % (true[1], state, " < ".join(
                frame.name for frame in reversed(stack))[:300]))
    return seen, wrong


def due(interpreter):
    """Returns what samples of this interpreter must show. "deflate" isn't required, because zlib's
    inner functions have no names on some machines."""
    out = {"alone", "krait_without_gil", "krait_with_gil", "krait_no_python", "read"}
    return out | {"own_gil"} if interpreter.version >= (3, 12) else out


def library(interpreter):
    out = os.path.join(interpreter.scratch, "libspin.so")
    os.makedirs(interpreter.scratch, exist_ok=True)
    source = os.path.join(TESTS, "samples", "gil_spin.c")
    subprocess.run(["gcc", "-std=gnu17", "-O2", "-fPIC", "-shared", "-pthread",
                    "-fno-optimize-sibling-calls", "-o", out, source], check=True, timeout=60)
    return out


def test(krait, interpreter, seconds):
    what = "gil " + interpreter.name
    out = os.path.join(interpreter.scratch, "gil.pb.gz")
    program = os.path.join(TESTS, "samples", "gil_states.py")
    done = subprocess.run(
        [krait, "record", "-q", "-F", str(HZ), "--no-times", "--native=full",
         "--interpreter-frames", "-o", out, "--",
         interpreter.path, program, library(interpreter), "%.2f" % seconds],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=oracle.ROOT, check=False,
        timeout=120 + 3 * seconds, env=interpreter.environment())
    if done.returncode:
        print("FAIL %s: exit code %d: %s" % (what, done.returncode, done.stderr.decode()[-300:]))
        return False
    giving, between = interpreter.version < (3,), interpreter.version < (3, 11)
    seen, wrong = judge(pprof.read(out), giving, between)
    total = sum(sum(states.values()) for states in seen.values())
    unknown = sum(states["unknown"] for states in seen.values())
    missing = due(interpreter) - set(seen)
    contend, switching = seen["contend"], seen["switching"]
    if not contend["held"] + switching["held"]:
        missing.add("contend")
    if not giving and switching["released"] > SWITCHING * sum((contend + switching).values()):
        wrong.append("%d released of those that contend" % switching["released"])
    if contend["released"] > BETWEEN * sum(contend.values()) + 3:
        wrong.append("%d released of those that run" % contend["released"])
    good = not wrong and not missing and unknown <= FEW_UNKNOWN * total
    print("%s %s: %d samples, %d wrong, %d unknown; %s%s" % (
        "PASS" if good else "FAIL", what, total, len(wrong), unknown,
        ", ".join("%s %s" % (name, " ".join("%s %d" % each for each in sorted(states.items())))
                  for name, states in sorted(seen.items())),
        "; not seen: " + " ".join(sorted(missing)) if missing else ""), flush=True)
    for text in wrong[:5]:
        print("  " + text)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--seconds", type=float)
    options = parser.parse_args()
    krait = os.environ.get("KRAIT", os.path.join(oracle.ROOT, "build", "release", "krait"))
    # A free-threaded build with the GIL enabled has the same states of the GIL as ordinary builds.
    enabled = os.environ.get("PYTHON_GIL") == "1"
    rows = oracle.interpreters(True, options.only, enabled)
    if enabled:
        rows = [row for row in rows if oracle.is_free_threaded(row.name)]
    elif not options.full and not options.only:
        rows = [row for row in rows if row.name in FAST]
    if not rows:
        print("SKIP gil: no test interpreters")
    results = [test(krait, row, options.seconds or (20 if options.full else 3)) for row in rows]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
