# SPDX-License-Identifier: BSD-2-Clause
"""A script that runs in gdb, attached to a program, for tests/live/dump.py. It prints "threads: "
and a line of JSON with what gdb knows of each thread."""
import json

import gdb

SKIPPED = (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME)
CALL = ("orig_rax", "rdi", "rsi")


def stack():
    """Returns [address, function] of each frame of the thread, innermost first, without inlined
    functions."""
    frame, out = gdb.newest_frame(), []
    while frame is not None and len(out) < 20000:
        if frame.type() not in SKIPPED:
            out.append([frame.pc(), frame.name()])
        frame = frame.older()
    return out


def call():
    """Returns the number of the thread's system call, and the arguments of the call."""
    return [int(gdb.newest_frame().read_register(name)) & (1 << 64) - 1 for name in CALL]


gdb.execute("set pagination off")
gdb.execute("set debuginfod enabled off")
gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")
told = []
for thread in gdb.selected_inferior().threads():
    thread.switch()
    told.append({"tid": thread.ptid[1], "call": call(), "frames": stack()})
print("threads: " + json.dumps(told), flush=True)
gdb.execute("detach")
