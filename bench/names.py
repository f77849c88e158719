# SPDX-License-Identifier: BSD-2-Clause
"""Measures what it costs krait to open a large library from a wheel and to name 10,000 distinct
addresses in it: CPU time, peak memory and time of a process that does nothing else
(tests/tools/names.c). Compares each name with nm's symbols, as c++filt shows them."""

import bisect
import os
import random
import re
import statistics
import subprocess
import sys
import time

import lib

sys.path.insert(0, os.path.join(lib.ROOT, "tests/oracle"))
import modules

ADDRESSES = 10000
LIBRARIES = (  # version of Python, package, file in the package
    # the next library has code in Rust and C
    ("3.12", "polars", "_polars_runtime_32/_polars_runtime.abi3.so"),
    ("3.10", "torch==1.12.1+numpy<2", "torch/lib/libtorch_cpu.so"),  # its code is C++
)
TOOL = os.path.join(lib.BUILD, "tests/tools/names")
CUT = 4096  # bytes at which krait cuts off longer names
COPY = re.compile(r"(@.*|\.(cold|part|constprop|isra|lto_priv|localalias|llvm|warm|__uniq|local)(\.\d+)?)+$")

# a function that PyO3 makes for a method of a Rust class, as c++filt shows it
METHOD = re.compile(r"^<?(?:.*<impl )?([\w:]+)(?:<.*>)?>?::__pymethod_(\w+)__$")


class Symbols:
    """The functions of a file as nm lists them, sorted by address, without functions that have no
    size."""

    def __init__(self, path):
        nm = ["nm", "-S", "--defined-only"]
        text = "".join(subprocess.check_output(nm + extra + [path], text=True, stderr=subprocess.DEVNULL)
                       for extra in ([], ["-D"]))
        self.names = {}  # {(start of a function, -its size): the function's linkage names}
        for words in map(str.split, text.splitlines()):
            if len(words) == 4 and words[2] in "tTwWi" and int(words[1], 16):
                self.names.setdefault((int(words[0], 16), -int(words[1], 16)), set()).add(words[3])
        self.keys = sorted(self.names)

    def draw(self, rng):
        """Draws random addresses, all different, anywhere in functions."""
        drawn = set()
        while len(drawn) < ADDRESSES:
            start, size = rng.choice(self.keys)
            drawn.add(start + rng.randrange(-size))
        return sorted(drawn)

    def at(self, address):
        """Returns the names of the functions that contain @address. If functions are nested,
        returns only the innermost ones, which are those that start last."""
        i = bisect.bisect(self.keys, (address, 0)) - 1
        while address >= self.keys[i][0] - self.keys[i][1]:
            i -= 1
        start = self.keys[i][0]
        return {name for key in self.keys[max(i - 8, 0):i + 1] if key[0] == start
                and address < start - key[1] for name in self.names[key]}


def shown(names):
    """Returns {linkage name: the name as its language writes it}, for PyO3's methods their Python
    name: "a::Class.method"."""
    names = sorted(names)
    out = subprocess.run(["c++filt", "-p", "-i"], input="\n".join(COPY.sub("", n) for n in names), text=True,
                         stdout=subprocess.PIPE, check=True).stdout
    return {name: METHOD.sub(r"\1.\2", line) for name, line in zip(names, out.split("\n"))}


def wrong(symbols, addresses, got):
    """Returns for each address to which the tool gave a wrong name: the address, this name, and the
    right names. An address has several right names if functions start at the same place."""
    truth = [symbols.at(address) for address in addresses]
    text = shown(set.union(*truth))
    text = {name: t if len(t.encode()) < CUT else t.encode()[:CUT].decode() + "..."
            for name, t in text.items()}
    return [(hex(a), g, names) for a, g, names in zip(addresses, got, truth)
            if g not in {text[name] for name in names}]


def measure(path, addresses):
    """Returns the names that the tool gives to the addresses, and the tool's cost: {"cpu_ms": ...}.
    """
    start = time.monotonic()
    done = subprocess.run([TOOL, "elf", path], input="".join("%x\n" % a for a in addresses),
                          capture_output=True, text=True, check=True)
    cost = {name: float(value) for name, value in map(str.split, done.stderr.splitlines())}
    return done.stdout.splitlines(), dict(cost, elapsed_ms=1000 * (time.monotonic() - start))


def rows(path):
    symbols = Symbols(path)
    addresses = symbols.draw(random.Random(1))
    runs = [measure(path, addresses) for _ in range(5)]
    bad = wrong(symbols, addresses, runs[0][0])

    def middle(what):
        return statistics.median(cost[what] for _, cost in runs)
    file = "%s, %d MB: " % (os.path.basename(path), os.path.getsize(path) // 10**6)
    yield lib.Row(file + "CPU time", middle("cpu_ms"), "ms", 1000,
                  note="of it %.0f to open; median of 5" % middle("open_ms"))
    yield lib.Row(file + "elapsed", middle("elapsed_ms"), "ms", note="median of 5")
    yield lib.Row(file + "peak memory", middle("peak_mib"), "MiB", 256,
                  note="%.3g held" % middle("held_mib"))
    yield lib.Row(file + "wrong names", len(bad), "", 0,
                  note="%s: %s, not %s" % bad[0] if bad else "%d functions" % len(symbols.keys))


def run(options):
    for version, package, file in LIBRARIES:
        where = modules.package(lib.CACHE, tuple(map(int, version.split("."))), package)
        if where and os.path.exists(os.path.join(where, file)):
            yield from rows(os.path.join(where, file))
        else:
            print("SKIP names: %s can't be had" % package)
