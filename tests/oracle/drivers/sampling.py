# SPDX-License-Identifier: BSD-2-Clause
"""Drives profiling.sampling, a part of Python since 3.15, which profiles only programs that run the
same version. In its folded stacks, the paths of files are shortened. The frame <GC> stands for the
garbage collector and isn't a Python frame. A frame with an unknown file is one that
profiling.sampling couldn't read."""
import re

from drivers import driver, folded


class Sampling(driver.Driver):
    name = "profiling.sampling"
    install = "it comes with Python 3.15: take that, as in --python 3.15"

    def missing(self, interpreter):
        if interpreter.version < (3, 15):
            return "%s profiles Python from 3.15 on, not %s" % (
                self.name, ".".join(map(str, interpreter.version)))
        return None

    def version(self, interpreter):
        return "of Python " + ".".join(map(str, interpreter.version))

    def command(self, interpreter, pid, seconds, hz, out):
        return [interpreter.path, "-m", "profiling.sampling", "attach", "--all-threads",
                "--sampling-rate", str(hz), "--duration", str(seconds), "--collapsed",
                "--output", out, *self.options, str(pid)]

    def stacks(self, out):
        for count, stack in folded.stacks(out):
            yield count, [driver.mark("unknown") if f.file == "<unknown file>" else f
                          for f in stack if f.file not in ("~", "")]

    def loses(self, said):
        lost = driver.counts(said, missed=r"missed (\d+) samples")
        taken = sum(int(n) for n in re.findall(r"Captured (\d+) samples", said))
        rate = sum(float(n) for n in re.findall(r"Error rate: ([\d.]+)", said))
        return dict(lost, failed=round(taken * rate / 100))
