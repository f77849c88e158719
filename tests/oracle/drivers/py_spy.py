# SPDX-License-Identifier: BSD-2-Clause
"""Drives py-spy, which stops the process for each sample unless it is run with --nonblocking. Its
lines are those of the instructions that frames execute. From Python 3.11 on it gives qualified
names."""
from drivers import driver, folded


class PySpy(driver.Driver):
    name = "py-spy"
    package = "py-spy"
    install = "pip install py-spy"
    tools = ("py-spy",)

    def command(self, _interpreter, pid, seconds, hz, out):
        return self.tool + ["record", "--full-filenames", "--format", "raw", "--rate", str(hz),
                            "--duration", str(seconds), "--output", out, "--pid", str(pid),
                            *self.options]

    def stacks(self, out):
        return folded.stacks(out)

    def loses(self, said):
        return driver.counts(said, errors=r"Samples: \d+ Errors: (\d+)")
