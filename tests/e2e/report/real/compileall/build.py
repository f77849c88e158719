# SPDX-License-Identifier: BSD-2-Clause
import compileall

from measured import is_over, measured

import helpers


class Skipped:
    """compileall calls .search() of such an object to learn whether it must leave a file out."""

    def search(self, path):
        with measured:
            helpers.step()
        return path.endswith("_old.py")


while not is_over():
    compileall.compile_dir("code", rx=Skipped(), force=True, quiet=1)
