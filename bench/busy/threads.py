# SPDX-License-Identifier: BSD-2-Clause
"""Starts a thread for each task: half of the time passes in clone(), and in the code that a thread
runs when it begins and ends."""
import threading
import zlib

import busy

DATA = bytes(range(256)) * 8


def task():
    zlib.crc32(DATA)


def round_():
    threads = [threading.Thread(target=task) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


busy.run(round_)
