# SPDX-License-Identifier: BSD-2-Clause
"""Touches new pages in a function, and computes in another; says how many pages, and for how long."""
import mmap
import time

PAGES = 3000
SECONDS = 2


def touches(pages):
    for i in range(PAGES):
        pages[i * 4096] = 1


def computes():
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        pass


touches(mmap.mmap(-1, PAGES * 4096))
computes()
print(PAGES, SECONDS)
