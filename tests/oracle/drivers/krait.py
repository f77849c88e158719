# SPDX-License-Identifier: BSD-2-Clause
"""Drives krait. As krait gives the first line and the column of each frame, these are judged as
well."""
import os

from drivers import driver
from judge import pprof

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILT = os.path.join(ROOT, "build", "release", "krait")


def command(krait, pids, seconds, hz, out, options=()):
    """Returns the command with which krait records the processes @pids."""
    line = [krait, "record", "-F", str(hz), "-d", "%.2f" % seconds, "-o", out, *options]
    for pid in pids:
        line += ["-p", str(pid)]
    return line


class Krait(driver.Driver):
    name = "krait"
    install = "make"
    tools = (BUILT, "krait")
    first_lines = True

    def command(self, _interpreter, pid, seconds, hz, out):
        return command(self.tool[0], [pid], seconds, hz, out,
                       ["--format", "pprof", *self.options])

    def stacks(self, out):
        profile = pprof.read(out)
        for sample in profile.samples:
            yield sample.values[0], profile.stack(sample)

    def loses(self, said):
        return driver.counts(said, lost=r"(\d+) (?:records lost|samples? without a stack)",
                             missing=r"(\d+) samples \([\d.]+ %\) never came")
