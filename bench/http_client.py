# SPDX-License-Identifier: BSD-2-Clause
"""What the measurements share that send requests to a server."""

CONNECTIONS = 4  # connections that are open at once


def read_answer(f):
    """Reads one answer from the stream @f, and nothing of the next answer."""
    length = 0
    while True:
        line = f.readline()
        if line in (b"\r\n", b""):
            break
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    f.read(length)
