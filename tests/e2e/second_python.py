#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""More than one interpreter in a process: the one that was initialised is shown. And one that is newer than krait."""
import json
import os
import re
import shutil
import sys

import kit
from kit import Background, Skip, check, folder, krait

LOADED = "import ctypes, sys\nif len(sys.argv) > 1: ctypes.CDLL(sys.argv[1])\nprint(flush=True)\n" + kit.BUSY

# The second one is initialised, and a thread of it runs; a namespace of its own keeps the two apart.
INITIALISED = """
import ctypes, os, sys, threading
second = ctypes.CDLL(sys.argv[1], mode=os.RTLD_LOCAL | os.RTLD_DEEPBIND)
ready = threading.Event()
def other():
    os.environ["PYTHONHOME"] = sys.argv[2]
    ctypes.CDLL(None).setenv(b"PYTHONHOME", sys.argv[2].encode(), 1)
    second.Py_InitializeEx(0)
    ready.set()
    second.PyRun_SimpleString(b"import time\\ndef elsewhere():\\n    while True: time.sleep(0.01)\\nelsewhere()")
threading.Thread(target=other, daemon=True).start()
ready.wait()
for i in range(3): threading.Thread(target=threading.Event().wait, daemon=True).start()
print(flush=True)
""" + kit.BUSY


def libraries():
    """{version: (executable, library, prefix)}"""
    found = {}
    for executable, library, prefix in kit.shared():
        name = os.path.basename(library)
        version = tuple(int(n) for n in name[len("libpython"):].rstrip("dmt.so10").split(".")[:2])
        found.setdefault(version, (executable, library, prefix))
    return found


def pairs():
    """(name, executable, its version, another library)"""
    found = libraries()
    both = [v for v in ((3, 12), (3, 9)) if v in found]
    if len(both) < 2:
        raise Skip("no libpython of 3.9 and 3.12")
    for version, other in both, both[::-1]:
        yield "%d.%d in %d.%d" % (other + version), found[version][0], version, found[other][1]


def started(executable, *args, source=LOADED):
    target = Background(executable, "-c", source, *args, stdout=kit.subprocess.PIPE, cwd="/")
    if not target.process.stdout.readline():
        raise AssertionError("it doesn't run: %s" % target.process.stderr.read(2000))
    return target


def is_shown(pid, version, said):
    """record -p, top and dump show it."""
    with folder() as d:
        done = krait("record", "-p", pid, "-d", 1, "-F", 499, "-o", d + "/o.pb.gz")
        check(done.returncode == 0, "%s: exit code %d: %s" % (said, done.returncode, done.stderr))
        kit.sees(d + "/o.pb.gz")
    top = krait("top", "--json", "-n", 1, "-i", "500ms", "-p", pid)
    rows = json.loads(top.stdout.splitlines()[0])["rows"] if top.stdout else []
    check(any(row.get("function") == "busy" for row in rows), "%s: top: %s" % (said, top.stderr or top.stdout[:500]))
    dump = krait("dump", "-p", pid)
    check("busy" in dump.stdout and "%d.%d" % version in dump.stdout, "%s: dump: %s" % (said, dump.stderr or dump.stdout))
    return done.stderr, dump.stdout + dump.stderr


@kit.case
def not_initialised():
    """A libpython of another version that ctypes has loaded isn't the interpreter, whichever is mapped first."""
    for name, executable, version, library in pairs():
        with started(executable, library) as target:
            kit.runs(target.pid, 0.2)
            is_shown(target.pid, version, name)


@kit.case
def same_version_twice():
    """Nor is another file of the same version."""
    version, (executable, library, _) = max(libraries().items(), default=((), (None,) * 3))
    if not executable:
        raise Skip("no interpreter with a library")
    with folder() as d:
        shutil.copy(library, d)
        with started(executable, os.path.join(d, os.path.basename(library))) as target:
            kit.runs(target.pid, 0.2)
            is_shown(target.pid, version, "the same version")


@kit.case
def recorded_from_its_start():
    """record -- COMMAND: the first one is mapped before the second; a later process of that program has one only."""
    for name, executable, _, library in pairs():
        source = LOADED.replace("while True", "import time\n    while time.process_time() < 1")
        again = source + "\nimport subprocess\nif len(sys.argv) > 1: subprocess.run([%r, '-c', sys.argv[2]])" % executable
        with folder() as d:
            done = krait("record", "-F", 499, "-o", d + "/o.pb.gz", "--", executable, "-c", again, library, source)
            check(done.returncode == 0, done.stderr)
            profile = kit.pprof.read(d + "/o.pb.gz")
            pids = {int(sample.labels["pid"]) for sample in profile.samples}
            check(len(pids) == 2, "%s: %d processes: %s" % (name, len(pids), done.stderr))
            for pid in pids:
                kit.sees(profile, pids={pid}, least=0.6)


# Loads one libpython, works, loads another one and only then runs Python, with that.
HOST = r"""
#include <dlfcn.h>
#include <time.h>
int main(int argc, char **argv)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 2;
	int (*run)(int, char **);

	dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	while (clock() < end) {}
	run = dlsym(dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL), "Py_BytesMain");
	return run(argc - 2, argv + 2);
}
"""


@kit.case
def initialised_later():
    """Which one it is may show only after krait has looked."""
    kit.need("gcc")
    found = libraries()
    used, idle = found.get((3, 12)), found.get((3, 9))
    if not used or not idle:
        raise Skip("no libpython of 3.9 and 3.12")
    with folder() as d:
        kit.subprocess.run(["gcc", "-o", d + "/host", "-x", "c", "-", "-ldl"], input=HOST.encode(), check=True)
        with kit.recorder(d + "/o.pb.gz", "-p", os.getpid(), "-F", "499") as running:
            with Background(d + "/host", idle[1], used[1], "-c", kit.BUSY,
                            env=dict(os.environ, PYTHONHOME=used[2])) as target:
                kit.runs(target.pid, 4, 150)
                code, said = running.finish()
        check(code == 0, said)
        # Half a second before Python, and up to a second until krait looks again.
        kit.sees(d + "/o.pb.gz", pids={target.pid}, least=0.4)


@kit.case
def two_initialised():
    """The one that more threads use is shown, and said is that there is another one."""
    found = libraries()
    first, second = found.get((3, 12)), found.get((3, 9))
    if not first or not second:
        raise Skip("no libpython of 3.9 and 3.12")
    with started(first[0], second[1], second[2], source=INITIALISED) as target:
        kit.runs(target.pid, 0.2)
        said, dumped = is_shown(target.pid, (3, 12), "two initialised")
    for text in said, dumped:
        check("CPython 3.9" in text and os.path.basename(second[1]) in text, text)


@kit.case
def newer_than_krait():
    """A version that krait doesn't know is walked as it describes itself; said is what isn't read of it."""
    ask = "import os, sys; print(os.readlink('/proc/self/exe'), sys.prefix, " \
          "next(os.path.dirname(l.split()[-1]) for l in open('/proc/self/maps') if '/libc.so' in l))"
    for _, version, kind, path in kit.interpreters():
        if kind != "static" or version != (3, 15):  # whose list of offsets is tried for newer ones
            continue
        executable, prefix, libc = kit.subprocess.check_output([path, "-c", ask], encoding="utf-8").split()
        with folder() as d:
            copy = os.path.join(d, "python3")
            with open(executable, "rb") as f, open(copy, "wb") as to:
                content = f.read()
                offsets = re.search(rb"xdebugpy..\x0f\x03\0{4}", content, re.DOTALL)
                check(offsets, "no debug offsets in " + executable)
                at = offsets.start() + 10  # of minor and major version, little-endian
                to.write(content[:at] + b"\x63\x03" + content[at + 2:])
            os.chmod(copy, 0o755)
            env = dict(os.environ, PYTHONHOME=prefix, LD_LIBRARY_PATH=libc)
            with kit.python(executable=copy, env=env) as target:
                kit.runs(target.pid, 0.2)
                done = krait("record", "-p", target.pid, "-d", 1, "-F", 499, "-o", d + "/o.pb.gz")
                check(done.returncode == 0, done.stderr)
                kit.sees(d + "/o.pb.gz")
                check("CPython 3.99 is newer than this krait" in done.stderr, done.stderr)
                dump = krait("dump", "-p", target.pid)
                check("Python 3.99" in dump.stdout and "newer than this krait" in dump.stdout, dump.stdout + dump.stderr)
            return
    raise Skip("no static interpreter of 3.15")


if __name__ == "__main__":
    sys.exit(kit.main())
