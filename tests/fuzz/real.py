#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""real.py: makes seeds from real data of this machine, and puts them into tests/fuzz/corpus: line
tables and code objects of each test interpreter, perf's files written by CPython, texts of
/proc, code and files from a compiler. It is run by hand, because addresses in the seeds differ
in each run. Seeds whose source is missing on the machine stay as they are."""

import ctypes
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import pack
import seeds

sys.path.insert(0, os.path.join(pack.ROOT, "tests", "e2e"))
import kit  # noqa: E402

# source of functions whose line tables have every kind of entry
SOURCE = """# -*- coding: utf-8 -*-


def lines(a,
          b=0):
    total = 0
    for i in range(
            len(a)):
        try:
            total += (a[i] +
                      b *
                      total)
        except (KeyError,
                IndexError):
            pass
    with open(a) as f: return [x for x in f if
                               x]


def far(a):
%s
    return a


class C(object):
    def of_a_class(self):
        return (lambda x: x)(self)
""" % ("\n" * 300 + "    a = a\n" + "\n" * 40 + "    a = (" + " " * 300 + "a)\n")
SHOW = """
import json, sys
def walk(code, prefix):
    for c in code.co_consts:
        if hasattr(c, "co_code"):
            name = prefix + c.co_name
            table = bytearray(getattr(c, "co_linetable", None) or c.co_lnotab)
            table = "".join("%02x" % b for b in table)
            out.append([name, c.co_firstlineno, len(c.co_code), table])
            walk(c, name + ".<locals>." if c.co_flags & 1 else name + ".")
out = []
walk(compile(sys.stdin.read(), "/srv/app.py", "exec"), "")
print(json.dumps([sys.version_info[0] << 8 | sys.version_info[1], out]))
"""
# the program for -X perf; its file name doesn't depend on this machine
RUNS = '''exec(compile("""
def f(n): return n and g(n)
def g(n): return f(n - 1)
class C:
    def m(self): return f(3)
C().m()
""", "/srv/app.py", "exec"))'''
MAPS = """
import mmap, os, tempfile, threading
f = tempfile.TemporaryFile()
f.truncate(8192)
a = mmap.mmap(f.fileno(), 8192, prot=mmap.PROT_READ | mmap.PROT_EXEC)
g = os.memfd_create("code of b")
os.truncate(g, 4096)
b = mmap.mmap(g, 4096)
c = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
ready = threading.Event()
threading.Thread(target=ready.wait).start()
print(open("/proc/self/maps").read(), end="", flush=True)
ready.set()
"""
C_SOURCE = """
struct s { long a, b; };
int data = 3;
static const char *const names[] = {"one", "two", "three"};
__attribute__((weak)) int weak(int a) { return a + data; }
const char *name_of(unsigned i) { return i < 3 ? names[i] : 0; }
int chosen(int how, int a, int *p)
{
	switch (how) {
	case 0: return a * 3;
	case 1: return weak(a) + *p;
	case 2: *p = a; return a;
	case 3: return chosen(a, how, p) + weak(*p);
	case 4: return a / (*p | 1);
	default: return -1;
	}
}
long grows(int n)
{
	long on_stack[n];
	for (int i = 0; i < n; i++)
		on_stack[i] = weak(i) + (i ? on_stack[i - 1] : 0);
	return on_stack[n - 1];
}
"""


def of_interpreters():
    tables, codes = {}, {}
    for _, version, _, path in sorted(kit.interpreters(), key=lambda i: i[1]):
        label = "%d.%d" % version
        if label + " lines" in tables:
            continue
        done = subprocess.run(
            [path, "-c", SHOW],
            input=SOURCE.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            continue
        number, found = json.loads(done.stdout)
        for name, line, size, table in found:
            last = name.split(".")[-1]
            if last not in ("lines", "far", "<lambda>"):
                continue
            table = bytes.fromhex(table)
            tables["%s %s" % (label, last)] = struct.pack("<ii", line, size // 2 & ~1) + table
            if number in (0x207, 0x308, 0x30A, 0x30B, 0x30F):
                codes["%s %s" % (label, last)] = bytes(
                    [number & 0xFF if number >> 8 == 3 else 0x80]
                ) + seeds.code(number, name=last.encode(), qualname=name, table=table)
    return tables, codes


def newest(minimum):
    return kit.interpreter("shared", minimum)


def perf_files(option, pattern):
    """Returns the contents of the file that CPython writes for perf while it runs RUNS."""
    process = subprocess.Popen([newest((3, 13)), "-I", "-X", option, "-c", RUNS])
    process.wait()
    path = pattern % process.pid
    try:
        with open(path, "rb") as f:
            return f.read()
    finally:
        os.unlink(path)


def perf_map():
    lines = [
        line
        for line in perf_files("perf", "/tmp/perf-%d.map").splitlines(True)
        if b":/srv/app.py" in line or b":<frozen" in line
    ]
    return {"cpython": b"".join(lines[:6] + lines[-6:])}


def jitdump():
    """Returns two functions of a jitdump, each with its unwinding record. The jitdump's header is
    left out, because fuzz_jitdump adds one."""
    data, records, at = perf_files("perf_jit", "/tmp/jit-%d.dump"), [], 40
    while at + 16 <= len(data):
        size = struct.unpack_from("<I", data, at + 4)[0]
        records.append(data[at : at + size])
        at += size
    own = [i for i, record in enumerate(records) if b":/srv/app.py" in record]
    return {"cpython": b"".join(b"".join(records[i - 1 : i + 1]) for i in own[:2])}


def maps():
    """Returns /proc/PID/maps of a process with every kind of mapping: of files, of a deleted file,
    of a file in memory, of generated code, of threads' stacks. Of its libraries, only libc is
    kept."""
    found = {}
    for name, command in (
        ("python", ["/usr/bin/python3", "-I", "-c", MAPS]),
        ("static", ["/usr/bin/busybox", "cat", "/proc/self/maps"]),
    ):
        if os.path.exists(command[0]):
            text = subprocess.run(command, cwd="/", stdout=subprocess.PIPE, check=True).stdout
            found[name] = b"".join(
                line
                for line in text.splitlines(True)
                if b"/usr/lib/" not in line or b"/libc.so" in line
            )
    return found


def proc():
    def of(pid, file):
        with open("/proc/%s/%s" % (pid, file), "rb") as f:
            return f.read()

    def text(*lines):
        return b"".join(line.replace("ID", "0123456789abcdef" * 4).encode() + b"\n" for line in lines)

    ctypes.CDLL(None).prctl(15, b"a) R (b", 0, 0, 0)
    return {
        "stat": of("self", "stat"),
        "stat-kernel": of("2", "stat"),
        "status": of("self", "status"),
        "cmdline-module": b"/usr/bin/python3\0-I\0-m\0http.server\08000\0",
        "cmdline-code": b"python3\0-c\0import time\ntime.sleep(1)\0",
        "cmdline-server": b"gunicorn: master [app:app]\0\0\0",
        "cpus": text("0-1,4,8-11,63"),
        "cgroup-user": text("0::/user.slice/user-1000.slice/user@1000.service/app.slice/a.scope"),
        "cgroup-docker": text(
            "12:cpu,cpuacct:/docker/ID", "1:name=systemd:/docker/ID", "0::/system.slice/docker-ID.scope"
        ),
        "cgroup-pod": text("0::/kubepods.slice/kubepods-pod1b2c_3d4e.slice/cri-containerd-ID.scope"),
        "mountinfo": text(
            "7 6 8:1 /var/lib/docker/containers/ID/hostname /etc/hostname rw - ext4 /dev/vda1 rw",
            "8 6 0:52 / /proc rw,nosuid - proc proc rw",
        ),
        "record": text(
            "app/__init__.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0",
            "app/main.py,sha256=x,12",
            '"app/a,b.py",,',
            "../../../bin/app,sha256=y,200",
            "app-1.0.dist-info/RECORD,,",
        ),
    }


def kernel_names():
    with open("/proc/kallsyms", "rb") as f:
        lines = f.readlines()
    return {
        "kallsyms": b"".join(
            lines[:4]
            + lines[1000 : len(lines) : len(lines) // 12]
            + [line for line in lines if b"\t[" in line][:6]
        )
    }


def compiled():
    """Returns what gcc makes of a small program: whole files for fuzz_elf, and their code for
    fuzz_x86."""
    files, code = {}, {}
    with tempfile.TemporaryDirectory() as d:
        source, out, text = d + "/a.c", d + "/out", d + "/text"
        with open(source, "w", encoding="ascii") as f:
            f.write(C_SOURCE)
        small = [
            "-nostdlib",
            "-Wl,-z,noseparate-code,-z,norelro,--build-id",
            "-Wl,--hash-style=both",
        ]
        for name, command in (
            ("library", ["gcc", "-O2", "-shared", "-fPIC", "-s"]),
            ("library-with-symbols", ["gcc", "-O2", "-shared", "-fPIC"]),
            ("program", ["gcc", "-O2", "-static", "-Wl,-e,chosen"]),
            ("program-pie", ["gcc", "-O2", "-pie", "-fPIE", "-Wl,-e,chosen"]),
            ("library-arm64", ["aarch64-linux-gnu-gcc", "-O2", "-shared", "-fPIC", "-s"]),
        ):
            if shutil.which(command[0]):
                subprocess.run(command + small + ["-o", out, source], check=True)
                with open(out, "rb") as f:
                    files[name] = b"\0" + f.read()
        for name, options in (
            ("O2", ["-O2"]),
            ("O0", ["-O0"]),
            ("Os-no-frame-pointer", ["-Os", "-fomit-frame-pointer", "-fcf-protection=none"]),
        ):
            subprocess.run(["gcc", "-c", "-fPIC", *options, "-o", out, source], check=True)
            subprocess.run(
                ["objcopy", "-O", "binary", "--only-section=.text", out, text], check=True
            )
            with open(text, "rb") as f:
                code[name] = struct.pack("<H", 16) + f.read()
    return files, code


def main():
    tables, codes = of_interpreters()
    files, code = compiled()
    for fuzzer, found in (
        ("linetable", tables),
        ("code", codes),
        ("elf", files),
        ("x86", code),
        ("perf_map", perf_map()),
        ("jitdump", jitdump()),
        ("maps", maps()),
        ("proc", proc()),
        ("kernel_names", kernel_names()),
    ):
        found = {
            re.sub("[^a-zA-Z0-9._-]+", "-", name).strip("-"): data for name, data in found.items()
        }
        pack.add("fuzz_" + fuzzer, found)
        print("fuzz_%s: %d seeds, %d bytes" % (fuzzer, len(found), sum(map(len, found.values()))))


if __name__ == "__main__":
    main()
