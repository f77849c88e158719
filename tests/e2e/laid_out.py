#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs that lay out files and memory so that reading them takes long.

Each attack runs beside an honest program, whose stacks must stay whole, and costs krait itself little CPU time. What an
honest program's stack is made of is known from its source; that the rest was cut is said once.
"""
import json
import os
import struct
import subprocess
import sys

import kit
from kit import Background, check, folder, python
import pprof

WHOLE = 0.99


def record(d, attack, honest, seconds=1, *more):
    """(krait's CPU seconds, its summary, what it said) of a recording of both."""
    command = [kit.KRAIT, "record", "-v", "-p", attack.pid, "-p", honest.pid, "-d", seconds, "-F", 499,
               "--summary-json", d + "/s.json", "-o", d + "/o.pb.gz", *more]
    with open(d + "/said", "w+") as said:
        _, status, used = os.wait4(subprocess.Popen([str(w) for w in command], stderr=said).pid, 0)
        said.seek(0)
        text = said.read()
    check(status == 0, "it ended with %d: %s" % (status, text))
    with open(d + "/s.json") as f:
        return used.ru_utime + used.ru_stime, json.load(f), text


def whole(out, pid):
    """(samples of a process, those whose stack has both of its functions and no mark)."""
    profile, total, good = pprof.read(out), 0, 0
    for sample in profile.samples:
        if int(sample.labels.get("pid", 0)) != pid:
            continue
        names = [l.name for l in profile.stack(sample)]
        total += sample.values[0]
        if "busy" in names and "main" in names and not any(n.startswith("[incomplete") for n in names):
            good += sample.values[0]
    return total, good


def honest_is_whole(out, pid):
    total, good = whole(out, pid)
    check(total >= 20, "only %d samples of the honest program" % total)
    check(good >= WHOLE * total, "%d of %d stacks of the honest program are whole" % (good, total))


# A library of one page of code whose table of exported symbols is a hole of that many bytes.
DYNSYM = r"""
import mmap, struct, sys
SIZE = (500 << 20) // 24 * 24
NAMES = b"\0.dynsym\0.dynstr\0"
def section(name, kind, flags, offset, size, link, info, entry):
    return struct.pack("<IIQQQQIIQQ", name, kind, flags, 0, offset, size, link, info, 8, entry)
def make(path):
    with open(path, "wb") as f:
        f.truncate(0x3000 + SIZE)
        f.write(b"\x7fELF\2\1\1" + bytes(9))
        f.write(struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0x1100, 0, 64, 56, 1, 64, 3, 2))
        f.write(struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 4096, 4096, 4096))
        f.seek(0x1100)
        f.write(bytes(64) + section(1, 11, 2, 0x3000, SIZE, 2, 1, 24) +
                section(9, 3, 2, 0x2000, len(NAMES), 0, 0, 0))
        f.seek(0x2000)
        f.write(NAMES)
keep = []
for i in range(4):
    path = "%s/lib%d.so" % (sys.argv[1], i)
    make(path)
    with open(path, "rb") as f:
        keep.append(mmap.mmap(f.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
print("ready", flush=True)
""" + kit.BUSY


@kit.case
def endless_symbols():
    """Tables of exported symbols of 500 MiB of hole: krait begins in time, and says what it left out."""
    with folder() as d, python() as honest, \
            Background(kit.PYTHON, "-c", DYNSYM, d, stdout=subprocess.PIPE) as attack:
        attack.process.stdout.readline()
        took, _, said = record(d, attack, honest)
        check(took < 3, "%.1f s of CPU" % took)
        check("too large to be looked through" in said, "nothing is said of it: " + said)
        honest_is_whole(d + "/o.pb.gz", honest.pid)
        honest_is_whole(d + "/o.pb.gz", attack.pid)


if __name__ == "__main__":
    sys.exit(kit.main())
