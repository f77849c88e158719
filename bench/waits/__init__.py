# SPDX-License-Identifier: BSD-2-Clause
"""What recordings of waits cost (docs/decisions/0023). `bench/run waits` measures all of it, in
about ten times --seconds; waits.programs, waits.servers, waits.busy, waits.footprint and
waits.rivals are its parts. With --store FILE the measured windows are kept in FILE, so that a
run that was cut short can go on."""

import importlib
import sys

import lib

# the parts of this measurement, and how many times --seconds each takes
PARTS = (("programs", 1), ("servers", 5), ("busy", 1), ("footprint", 1), ("rivals", 1))


class Options:
    def __init__(self, options, times):
        self.seconds, self.store = options.seconds * times, options.store


def run(options):
    for name, times in PARTS:
        try:
            yield from importlib.import_module("waits." + name).run(Options(options, times))
        except lib.Skip as e:
            print("SKIP waits.%s: %s" % (name, e), file=sys.stderr)
