# SPDX-License-Identifier: BSD-2-Clause
# no python: threads that begin and end
"""Threads that Python didn't start call into it (ctypes and pthread_create)."""
import ctypes

import rig

START = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
libc = ctypes.CDLL("libpthread.so.0")
libc.pthread_create.argtypes = [ctypes.POINTER(ctypes.c_ulong), ctypes.c_void_p, START,
                                ctypes.c_void_p]
libc.pthread_join.argtypes = [ctypes.c_ulong, ctypes.c_void_p]


@START
def callback_a(argument):
    if rig.tracing:
        rig.trace_here()
    for _ in range(20):
        below_a(300)
    return 0


def below_a(n):
    return rig.spin(n)


@START
def callback_b(argument):
    if rig.tracing:
        rig.trace_here()
    for _ in range(20):
        rig.spin(
            300)
    return 0


def start(callback):
    thread = ctypes.c_ulong()
    libc.pthread_create(ctypes.byref(thread), None, callback, None)
    return thread


def round_():
    threads = [start(callback_a), start(callback_b)]
    rig.spin(3000)
    for thread in threads:
        libc.pthread_join(thread, None)


if __name__ == "__main__":
    rig.run(round_)
