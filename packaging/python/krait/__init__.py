# SPDX-License-Identifier: BSD-2-Clause
"""krait for Python's own tools: `pytest --krait` (pytest_plugin.py), `%load_ext krait` in a
notebook (notebook.py). Both start the program `krait`, which records their own process. This
package measures nothing itself."""


def load_ipython_extension(shell):
    """IPython calls this for %load_ext krait."""
    from . import notebook
    notebook.load(shell)
