# SPDX-License-Identifier: BSD-2-Clause
"""Measures how fast krait's collector reads sample records (bench/programs/feed.c), and whether
its memory grows."""

import os
import subprocess

import lib


def run(options):
    out = subprocess.check_output([os.path.join(lib.BUILD, "bench/feed")], text=True)
    got = dict(line.split() for line in out.splitlines())
    yield lib.Row(
        "sample records",
        float(got["records_per_second"]) / 1e6,
        "M/s a core",
        1,
        least=True,
        note="%s records, CPU time" % got["records"],
    )
    yield lib.Row(
        "memory growth",
        float(got["growth_bytes"]) / float(got["records"]),
        "bytes/sample",
        0.05,
        note="resident, from 2 M to %s samples" % got["records"],
    )
