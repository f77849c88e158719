# SPDX-License-Identifier: BSD-2-Clause
"""A notebook's cells, run by a kernel of its own, whose process it tells; the last cell doesn't
end."""
import sys

from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")
print(manager.provisioner.pid, flush=True)
for cell in sys.argv[1:]:
    client.execute(cell)
manager.provisioner.process.wait()
