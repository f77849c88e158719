# SPDX-License-Identifier: BSD-2-Clause
"""A script for gdb, attached to a program. It stops the program again and again at random moments,
and writes the registers, the bytes of the stack, the mappings, and gdb's backtrace without
inlined functions. gdb_truth.py starts gdb, and tells in the environment where to write and how
often to stop.

STOPS is text, in lines of words; numbers are hexadecimal:
  maps N           N lines as in /proc/PID/maps follow; they hold until the next `maps`
  thread TID       the lines up to the next `thread` are of one moment
  regs R0 ... R16  by DWARF number: rax rdx rcx rbx rsi rdi rbp rsp r8-r15 rip
  stack ADDRESS LENGTH OFFSET    its bytes are in the file MEMORY, from OFFSET on
  gdb ADDRESS ... REASON         pc of each frame, innermost first; why there is no further one"""
import os
import random
import subprocess
import time

import gdb

OUT = os.environ["KRAIT_GDB_OUT"]
STOPS = int(os.environ["KRAIT_GDB_STOPS"])
LONGEST = float(os.environ.get("KRAIT_GDB_SECONDS", "300"))
STACK_BYTES = 4 << 20
REGISTERS = ("rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip").split()
SKIPPED = (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME)


def backtrace():
    """Returns the pc of each frame of the stack, and gdb's reason for ending the backtrace."""
    frame, out = gdb.newest_frame(), []
    while frame is not None and len(out) < 20000:
        if frame.type() not in SKIPPED:
            out.append(frame.pc())
        reason = frame.unwind_stop_reason()
        frame = frame.older()
    return out, gdb.frame_stop_reason_string(reason).replace(" ", "-")


def mappings(pid):
    with open("/proc/%d/maps" % pid) as f:
        return f.read()


def stack_end(maps, sp):
    for line in maps.splitlines():
        start, end = (int(word, 16) for word in line.split()[0].split("-"))
        if start <= sp < end:
            return end
    return sp


def unsigned(value):
    return int(value) & (1 << 64) - 1


class Writer:
    def __init__(self):
        self.text = open(os.path.join(OUT, "stops"), "w")
        self.memory = open(os.path.join(OUT, "memory"), "wb")
        self.threads = self.frames = 0
        self.maps = None

    def thread(self, pid, maps, tid):
        frame = gdb.newest_frame()
        regs = [unsigned(frame.read_register(name)) for name in REGISTERS]
        sp = regs[REGISTERS.index("rsp")]
        start = sp - 128 & -4096  # includes the red zone, in whole pages, as the unwinder reads it
        length = min(stack_end(maps, sp) - start, STACK_BYTES)
        with open("/proc/%d/mem" % pid, "rb", 0) as f:
            data = os.pread(f.fileno(), length, start)
        frames, reason = backtrace()
        self.text.write("thread %x\nregs %s\nstack %x %x %x\ngdb %s %s\n" % (
            tid, " ".join("%x" % r for r in regs), start, len(data), self.memory.tell(),
            " ".join("%x" % pc for pc in frames), reason))
        self.memory.write(data)
        self.threads += 1
        self.frames += len(frames)

    def stop(self, pid):
        maps = mappings(pid)
        if maps != self.maps:
            self.text.write("maps %x\n%s" % (maps.count("\n"), maps))
            self.maps = maps
        # Writes the thread that ran, and one of the others at random. The others sleep, so their
        # stacks are the same at each stop.
        running = gdb.selected_thread()
        others = [t for t in gdb.selected_inferior().threads() if t.num != running.num]
        for thread in [running] + random.sample(others, min(1, len(others))):
            thread.switch()
            self.thread(pid, maps, thread.ptid[1])


def vdso(pid):
    for line in mappings(pid).splitlines():
        if line.endswith("[vdso]"):
            start, end = (int(word, 16) for word in line.split()[0].split("-"))
            with open("/proc/%d/mem" % pid, "rb", 0) as f, \
                    open(os.path.join(OUT, "vdso"), "wb") as out:
                out.write(os.pread(f.fileno(), end - start, start))




def main():
    random.seed(int(os.environ.get("KRAIT_GDB_SEED", "1")))
    for command in ("pagination off", "confirm off", "print thread-events off",
                    "backtrace past-main on", "backtrace past-entry on", "backtrace limit 20000",
                    "debuginfod enabled off"):
        gdb.execute("set " + command)
    gdb.execute("handle SIGUSR2 stop print nopass", to_string=True)
    pid = gdb.selected_inferior().pid
    vdso(pid)
    writer, end = Writer(), time.monotonic() + LONGEST
    for n in range(STOPS):
        if time.monotonic() > end:
            break
        subprocess.Popen(["sh", "-c", "sleep 0.0%02d; kill -USR2 %d" % (random.randrange(1, 60), pid)])
        gdb.execute("continue", to_string=True)
        if not gdb.selected_inferior().pid:
            raise RuntimeError("the program has ended")
        writer.stop(pid)
    writer.text.close()
    writer.memory.close()
    print("gdb: %d stops, %d stacks, %d frames" % (n + 1, writer.threads, writer.frames))
    gdb.execute("detach")


main()
