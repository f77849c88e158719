# SPDX-License-Identifier: BSD-2-Clause
"""Runs a notebook's cells in a kernel that it starts, and prints the kernel's process number. The
last cell never ends."""
import sys

from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")
print(manager.provisioner.pid, flush=True)
for cell in sys.argv[1:]:
    client.execute(cell)
manager.provisioner.process.wait()
