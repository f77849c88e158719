#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests that src/record can record without the command line (src/cli), and prints nothing
(tests/record/record.c).

The recorded program says which functions it ran and how much CPU time it used, and the recording
must show that. Needs root."""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../e2e"))

import kit  # noqa: E402
from kit import case, check, folder  # noqa: E402

RECORD = os.path.join(kit.ROOT, "build/release/tests/record/record")
TYPES = os.path.join(kit.ROOT, "build/release/tests/record/types")
OBJECTS = os.path.join(kit.ROOT, "build/release/bpf/events")
HZ = 999
WORK = """
import sys, time
def inner():
    return sum(range(3000))
def outer():
    while time.process_time() < 1.5:
        inner()
outer()
open(sys.argv[1], "w").write(str(time.process_time()))
"""


def record(*command):
    return subprocess.run([RECORD, *command], capture_output=True, text=True, timeout=60)


@case
def engine_records():
    """Records a program that says how much CPU time it used in which functions. The recording must
    have as many samples as this CPU time should give, most of them in these functions. Nothing
    may be printed on standard error."""
    with folder() as d:
        done = record(kit.PYTHON, "-c", WORK, d + "/time")
        check(done.returncode == 0, done.stdout[-500:])
        check(done.stderr == "", "standard error: " + done.stderr[:500])
        with open(d + "/time", encoding="ascii") as f:
            due = float(f.read()) * HZ
        *stacks, last = done.stdout.splitlines()
        mine = [s for s in stacks if re.search("<module>;outer(;inner)?(;|$)", s)]
        check(abs(len(stacks) - due) < due / 10, "%d samples of %.0f" % (len(stacks), due))
        check(len(mine) > 0.8 * len(stacks), "%d of %d are of the program" % (len(mine), len(stacks)))
        check(last.endswith(" came %d" % len(stacks)), "the summary: " + last)


@case
def engine_fails_quietly():
    """If the command can't be run, the engine returns an error with a message, which its caller
    prints."""
    done = record("/nowhere/python")
    check(done.returncode == 1 and done.stdout.startswith("failed: can't run '/nowhere/python'"), done.stdout)
    check(done.stderr == "", "standard error: " + done.stderr[:500])


@case
def engine_alone():
    """Checks by nm that the program contains no function of src/cli."""
    names = subprocess.run(["nm", RECORD], capture_output=True, text=True, check=True).stdout
    check(" session_run\n" in names, "nm has no session_run")
    for name in ("options_parse", "command_record", "words_begin", "cmd_record"):
        check(" %s\n" % name not in names, "it has " + name)


def types(path, *load):
    out = subprocess.run([TYPES, path, *load], capture_output=True, text=True, check=True, timeout=60)
    first, *tags = out.stdout.splitlines()
    return first, tags[: len(tags) // 2], tags[len(tags) // 2 :]


@case
def picked_types():
    """Loads krait's programs twice, with the types that krait picks and with all of the kernel's
    types. libbpf must make the same instructions in both cases."""
    for name in ("sample.bpf.o", "tasks.bpf.o"):
        first, picked, kernels = types(os.path.join(OBJECTS, name), "load")
        check(first == "picked", name + ": " + first)
        check(re.match("on_[a-z]+ [0-9a-f]{16}$", picked[0]), name + ": " + picked[0])
        check(picked == kernels, "%s: %s, with the kernel's types %s" % (name, picked, kernels))


@case
def types_that_are_missing():
    """If the kernel lacks a struct that the object names, krait doesn't pick types, because libbpf
    may find the struct in a kernel module. If a typedef is missing, krait still picks types."""
    with open(os.path.join(OBJECTS, "sample.bpf.o"), "rb") as f:
        elf = f.read()
    for old, new, word in (("mm_flags_t", "mm_flagz_t", "picked"), ("unix_sock", "unix_sick", "not picked")):
        with folder() as d:
            with open(d + "/o", "wb") as f:
                f.write(elf.replace(b"\0%s\0" % old.encode(), b"\0%s\0" % new.encode()))
            first = types(d + "/o")[0]
            check(first == word, "%s isn't there: %s" % (old, first))


if __name__ == "__main__":
    built = [path[len(kit.ROOT) + 1 :] for path in (RECORD, TYPES)]
    subprocess.run(["make", "-s", "-C", kit.ROOT, *built], check=True, stdout=subprocess.DEVNULL)
    sys.exit(kit.main())
