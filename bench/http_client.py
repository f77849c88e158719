# SPDX-License-Identifier: BSD-2-Clause
"""What the measurements that ask a server share."""

CONNECTIONS = 4  # at once


def read_answer(f):
    """All of it, up to the next one's beginning."""
    length = 0
    while True:
        line = f.readline()
        if line in (b"\r\n", b""):
            break
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    f.read(length)
