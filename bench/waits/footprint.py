# SPDX-License-Identifier: BSD-2-Clause
"""Measures what `krait record --wall` takes apart from CPU time: bytes a second through its ring
buffers and in the finished file, memory with 10 and with 10,000 threads, and how often krait itself
wakes up."""

import mmap
import os
import struct
import tempfile
import time

import lib
from waits import server as servers
from waits import tools

MIB = 1 << 20
SECONDS = 60  # seconds of the recording whose file is measured
THREADS = (10, 10000)


class Rings:
    """Counts the bytes that kernel programs have put into the ring buffers of a process."""

    def __init__(self, k):
        self.pages = []
        for number in {lib.field(t, "map_id") for _, t in k.fdinfo("map_type:\t27\n")}:
            fd = lib.BpfMap(number).fd
            # The second page of a ring buffer begins with the producer's position.
            self.pages.append(mmap.mmap(fd, mmap.PAGESIZE, prot=mmap.PROT_READ,
                                              offset=mmap.PAGESIZE))
            os.close(fd)

    def bytes(self):
        return sum(struct.unpack_from("Q", page)[0] for page in self.pages)


def wake_ups(k):
    """Returns how often krait's threads have left a CPU. krait's child process that reads other
    processes isn't counted: it wakes up only when a thread asks it."""
    return tools.switches(k.pid)


def recorded(server, directory, seconds, *what):
    """Records a server with the options @what. Returns (bytes a second through the ring buffers,
    wake-ups a second, bytes of the file, closing JSON)."""
    path = os.path.join(directory, "recorded.pb.gz")
    with lib.Krait([*what, "-p", str(server.pid)], path, directory, None) as k:
        tools.ready(k)
        rings, settled = Rings(k), min(3, seconds / 4)
        time.sleep(settled)
        before, woke, at = rings.bytes(), wake_ups(k), time.monotonic()
        time.sleep(seconds - settled)
        took = time.monotonic() - at
        sent, woke = (rings.bytes() - before) / took, (wake_ups(k) - woke) / took
    return sent, woke, os.path.getsize(path), k.summary


def servers_rows(python, store, seconds):
    """Yields the table's rows for the servers with the lowest and the highest number of switches.
    """
    for wanted, length in ((30000, min(10, seconds)), (120000, seconds)):
        found = servers.find_load(python, wanted, store)
        name = "threads, %dk switches: " % (wanted / 1000)
        with servers.Server(python, "threads", found["hops"]) as server, \
                tempfile.TemporaryDirectory() as directory:
            server.drive(found["rate"])
            time.sleep(0.3)
            sent, *_ = recorded(server, directory, min(10, length), "-e", "wait")
            both, woke, size, summary = recorded(server, directory, length, "--wall")
        yield lib.Row(name + "records of waits", sent / 1000, "kB/s", 50,
                      note="%.0f with those of CPU time" % (both / 1000))
        yield lib.Row(name + "krait's own wake-ups", woke, "a second", 100,
                      note="%d lost records" % summary["lost_records"])
        yield lib.Row(name + "file of %.0f s" % length, size / 1e6, "MB",
                      2 if length >= SECONDS else None)


WAITING = """
import sys, threading, time
threading.stack_size(128 << 10)
def naps(i):
    time.sleep(i % 100 / 100)
    while True:
        time.sleep(1)
for i in range(int(sys.argv[1])):
    threading.Thread(target=naps, args=(i,), daemon=True).start()
print("ready", flush=True)
time.sleep(10000)
"""


def memory(python, threads, *options):
    """Returns (bytes of krait's memory and maps, bytes of its maps)."""
    command = [python, "-c", WAITING, str(threads)]
    with tools.running(command) as (target, ready):
        if ready.strip() != "ready":
            raise lib.Skip("%d threads can't be made here" % threads)
        with lib.Krait(["-p", str(target.pid), *options]) as k:
            k.program()
            time.sleep(6)
            maps = k.map_bytes()
            return lib.rss_bytes(k.pid) + maps, maps


def memory_rows(python):
    got = {}
    for threads in THREADS:
        for options in ((), ("--wall",)):
            got[threads, options] = memory(python, threads, *options)
    few, many = ([got[n, o] for o in ((), ("--wall",))] for n in THREADS)
    yield lib.Row("maps, --wall: more with 10,000 threads", (many[1][1] - few[1][1]) / MIB, "MiB", 0,
                  note="%.1f MiB, %.1f without --wall" % (many[1][1] / MIB, many[0][1] / MIB))
    yield lib.Row("memory, --wall: more with 10,000 threads", (many[1][0] - few[1][0]) / MIB, "MiB",
                  8, note="%.1f to %.1f MiB" % (few[1][0] / MIB, many[1][0] / MIB))
    yield lib.Row("memory, 10,000 threads: more with --wall", (many[1][0] - many[0][0]) / MIB, "MiB",
                  note="%.1f to %.1f MiB" % (many[0][0] / MIB, many[1][0] / MIB))


def run(options):
    python, store = lib.newest_interpreter(), tools.Store(options.store)
    yield from memory_rows(python)
    yield from servers_rows(python, store, min(SECONDS, max(5, options.seconds)))
