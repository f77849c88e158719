# SPDX-License-Identifier: BSD-2-Clause
"""Measures the BPF time of a sample that unwinds a whole native stack, with warm caches. The stack
is one of different functions (bench/programs/deep.c), at two depths. The difference gives the
time for each native frame. For comparison it prints the time that a bare loop
(bench/programs/bare.bpf.c) takes for each Python frame."""

import os

import lib
import walk

DEPTHS = (8, 128)


def run(options):
    got = lib.interpreters()
    version = lib.newest_interpreter() if not options.versions else options.versions[0]
    python = got[version] if version in got else version
    seconds = 0.5
    windows = max(3, int(options.seconds / 2 / len(DEPTHS) / (seconds * 4 / 3 + 0.4)))
    native = walk.measure(
        python, windows, seconds, DEPTHS, os.path.join(lib.BUILD, "bench", "deep.so")
    )
    bare = walk.line(walk.measure(python, windows, seconds), 1)[1]
    fixed, slope = walk.line(native, 0)
    yield lib.Row("unwind fixed, Python included", fixed, "ns")
    yield lib.Row("unwind slope", slope, "ns/frame", 120, note="bare %.0f" % bare)
    yield lib.Row("unwind slope / bare", slope / bare, "", 2.0, note="%d windows" % windows)
