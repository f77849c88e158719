#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs whose interpreter is hard to find: deleted files, other namespaces, other names, other
programs that become Python."""
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import Background, Skip, check, folder, krait, python


def profiled(pid, name="busy", least=0.9, args=()):
    """Records process @pid for a second; checks that nearly every sample has the function."""
    with folder() as d:
        done = krait("record", "-p", pid, "-d", 1, "-F", 499, "-o", d + "/o.pb.gz", *args)
        check(done.returncode == 0, "exit code %d: %s" % (done.returncode, done.stderr))
        kit.sees(d + "/o.pb.gz", name, least)


@kit.full_case
def every_kind_of_interpreter():
    """krait records one interpreter of each kind: static, shared, debug, dlopened, in another root
    directory."""
    for kind in ("static", "shared", "dbg", "dlopen", "chroot"):
        path = kit.interpreter(kind)
        with python(executable=path, cwd=kit.ROOT) as target:
            kit.runs(target.pid, 0.2)
            try:
                profiled(target.pid)
            except AssertionError as error:
                raise AssertionError("%s: %s" % (path, error)) from None


# A program whose first thread ends. The other thread works on, and later runs in a library that it
# loads only then.
FIRST_ENDED = """
import ctypes, sys, threading, time
def busy():
    while time.time() < end: sum(range(1000))
def later():
    global end
    end = time.time() + float(sys.argv[1])
    busy()
    import zlib
    while True: zlib.compress(bytes(100000))
threading.Thread(target=later).start()
time.sleep(0.2)
ctypes.CDLL(None).pthread_exit(None)
"""


@kit.case
def first_thread_ended():
    """If a process's first thread has ended, krait reads memory, mappings and files through the
    /proc directory of another thread, because the files in that of the first thread are empty."""
    for name, version, kind, path in kit.interpreters():
        if version not in ((3, 8), (3, 12), (3, 14)) or kind == "chroot" or not (kit.FULL or kit.is_plain(name)):
            continue
        with Background(path, "-c", FIRST_ENDED, "1") as target:
            stacks = profiled_first_ended(target, path)
        compressing = sum(any(l.name in ("zlib_compress", "zlib.compress") for l in stack) for stack in stacks)
        check(compressing > len(stacks) / 4, "%s: zlib in %d of %d" % (path, compressing, len(stacks)))


def profiled_first_ended(target, path):
    """Checks that nearly all samples have the function of the second thread, which works on after
    the first one has ended. Returns the stacks."""
    kit.wait_for(lambda: ") Z " in open("/proc/%d/stat" % target.pid).read(), 5)
    with folder() as d:
        done = krait("record", "-p", target.pid, "-F", 499, "-d", 1.5, "-o", d + "/o.pb.gz")
        check(done.returncode == 0, "%s: exit code %d: %s" % (path, done.returncode, done.stderr))
        kit.sees(d + "/o.pb.gz", "later", 0.95)
        profile = kit.pprof.read(d + "/o.pb.gz")
        return [profile.stack(s) for s in profile.samples]


@kit.case
def renamed():
    """krait recognizes a Python executable that isn't called python."""
    with folder() as d:
        shutil.copy(kit.PYTHON, d + "/my-server")
        with python(executable=d + "/my-server") as target:
            profiled(target.pid)


@kit.case
def deleted():
    """While a program runs, its executable is removed, and then replaced as by a package upgrade:
    recordings still have the program's function."""
    with folder() as d:
        shutil.copy(kit.PYTHON, d + "/python3")
        with python(executable=d + "/python3") as target:
            os.remove(d + "/python3")
            profiled(target.pid)
            shutil.copy("/bin/true", d + "/python3")
            profiled(target.pid)


@kit.case
def deleted_library():
    """While a program runs, its libpython is removed. Recordings still have the program's function.
    """
    for executable, library, _ in kit.shared():
        with folder() as d:
            copy = os.path.join(d, os.path.basename(library))
            shutil.copy(library, copy)
            environment = dict(os.environ, LD_LIBRARY_PATH=d)
            with python(executable=executable, env=environment) as target:
                with open("/proc/%d/maps" % target.pid) as f:
                    if copy not in f.read():
                        continue
                os.remove(copy)
                profiled(target.pid)
                return
    raise Skip("no interpreter with a library that can be copied")


MAPPED_TWICE = """
import ctypes, mmap, os
lines = [line.split() for line in open("/proc/self/maps")]
text = [line for line in lines if line[-1].endswith(%r) and "x" in line[1]][0]
at = int(text[0].split("-")[0], 16) - (1 << 30)
map_at = ctypes.CDLL(None).mmap
map_at.restype = ctypes.c_void_p
map_at.argtypes = ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long
with open(text[-1], "rb") as f:
    assert at == map_at(at, 4096, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, f.fileno(),
                        int(text[2], 16) + 4096)
"""


@kit.case
def library_with_a_page_mapped_once_more():
    """A page of the library is mapped once more, as libffi does for its closures, at a lower
    address: krait doesn't take that address for the place where the library is loaded."""
    for executable, library, _ in kit.shared():
        with python(MAPPED_TWICE % os.path.basename(library) + kit.BUSY, executable) as target:
            profiled(target.pid)
            return
    raise Skip("no interpreter with a library")


@kit.case
def virtual_environment():
    with folder() as d:
        made = subprocess.run([kit.PYTHON, "-m", "venv", "--without-pip", d + "/venv"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if made.returncode:
            raise Skip("no venv module")
        done = krait("record", "-F", 999, "-o", d + "/o.pb.gz", "--", d + "/venv/bin/python", "-c",
                     "def busy():\n    for i in range(9000000): i & 3\nbusy()")
        check(done.returncode == 0, done.stderr)
        kit.sees(d + "/o.pb.gz", least=0.6)


def unshared(*flags):
    tried = subprocess.run(["unshare", *flags, "true"], stderr=subprocess.PIPE, encoding="utf-8",
                           check=False)
    if tried.returncode:
        # In a chroot the kernel refuses to make a user namespace (create_user_ns():
        # current_chrooted()).
        raise Skip("no namespace for unshare %s here, a chroot perhaps: %s" % (
            " ".join(flags), tried.stderr.strip()))
    return Background("unshare", *flags, kit.PYTHON, "-c", kit.BUSY)


@kit.case
def mount_namespace():
    """The program's files are in a mount namespace of its own, so krait can't open them by their
    paths."""
    with folder() as d:
        script = "mount -t tmpfs none %s && cp %s %s/hidden && exec %s/hidden -c '%s'" % (
            d, kit.PYTHON, d, d, kit.BUSY)
        with Background("unshare", "--mount", "sh", "-c", script) as target:
            kit.runs(target.pid, 0.2)
            check(not os.path.exists(d + "/hidden"), "the file is visible here")
            profiled(target.pid)


@kit.case
def pid_namespace():
    """The program is in another PID namespace: -p takes process numbers of krait's own namespace,
    and the labels have these, also for children."""
    with unshared("--pid", "--fork", "--mount-proc") as target:
        child = kit.child_of(target.pid)
        profiled(child)
        profiled(target.pid)
        with folder() as d:
            krait("record", "-p", target.pid, "-d", 1, "-F", 499, "-o", d + "/o.pb.gz")
            kit.sees(d + "/o.pb.gz", pids={child})


@kit.case
def krait_in_pid_namespace():
    """krait and the program are in one PID namespace, as in a container: -p takes process numbers
    of that namespace, and the labels have these."""
    script = "%s -c '%s' & sleep 1; exec %s record -p $! -d 1 -F 499 -o %s/o.pb.gz"
    with folder() as d:
        done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c",
                               script % (kit.PYTHON, kit.BUSY, kit.KRAIT, d)], timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        check(done.returncode == 0, done.stderr.decode())
        kit.sees(d + "/o.pb.gz")
        check(kit.share(d + "/o.pb.gz", "busy", pids=set(range(1, 30)))[1] > 20,
              "the labels have other PIDs than the namespace's")


@kit.case
def krait_in_time_namespace():
    """In a time namespace CLOCK_MONOTONIC differs from the kernel's clock: the times of samples are
    still counted from the start of the recording."""
    flags = ["--time", "--monotonic=50000", "--boottime=100000", "--fork"]
    with folder() as d, unshared(*flags) as target:
        child = kit.child_of(target.pid)
        done = subprocess.run(["unshare", *flags, kit.KRAIT, "record", "--times", "-p", str(child), "-d", "1",
                               "-F", "499", "-o", d + "/o.pb.gz"], timeout=60, stderr=subprocess.PIPE, check=False)
        check(done.returncode == 0, done.stderr.decode())
        kit.sees(d + "/o.pb.gz")
        times = [sample.labels["time"] for sample in kit.pprof.read(d + "/o.pb.gz").samples]
        check(min(times) < 0.5e9 < max(times) < 1.5e9, "times from %d to %d ns" % (min(times), max(times)))


@kit.case
def user_namespace():
    with unshared("--user", "--map-root-user", "--pid", "--fork") as target:
        profiled(kit.child_of(target.pid))


@kit.case
def exec_into_python():
    """A shell execs Python when krait has already started: krait records the Python program."""
    with folder() as d, Background("sh", "-c", "sleep 1; exec %s -c '%s'" % (
            kit.PYTHON, kit.BUSY)) as target:
        with kit.recorder(d + "/o.pb.gz", "-p", os.getpid(), "-F", "499") as running:
            kit.runs(target.pid, 1)
            code, said = running.finish()
        check(code == 0, said)
        kit.sees(d + "/o.pb.gz", pids={target.pid}, least=0.8)


# A program that works for a while and then loads a libpython. Its executable doesn't show that it
# will run Python.
STRANGER = r"""
#include <dlfcn.h>
#include <time.h>
int main(int argc, char **argv)
{
	int (*run)(int, char **);
	clock_t end = clock() + CLOCKS_PER_SEC / 2;

	while (clock() < end) {}
	run = dlsym(dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL), "Py_BytesMain");
	return run(argc, argv);
}
"""


@kit.case
def python_into_a_stranger():
    """A Python process execs a program that maps a libpython later, and of which krait already
    knows that it isn't Python: its Python functions are shown."""
    kit.need("gcc")
    for _, library, prefix in kit.shared():
        with folder() as d:
            host = d + "/host"
            subprocess.run(["gcc", "-o", host, "-DLIBRARY=\"%s\"" % library, "-x", "c", "-",
                            "-ldl"], input=STRANGER.encode(), check=True)
            env = dict(os.environ, PYTHONHOME=prefix)
            source = "import os\ndef before():\n    while sum(os.times()[:2]) < 0.3: pass\nbefore()\n" \
                     "os.environ.update(PYTHONHOME=%r)\n" \
                     "os.execv(%r, [%r, '-c', %r])" % (prefix, host, host, kit.BUSY)
            with kit.recorder(d + "/o.pb.gz", "-p", os.getpid(), "-F", "499") as running:
                with Background(host, "-c", "", env=env) as first:
                    first.process.wait(20)
                with python(source) as target:
                    kit.runs(target.pid, 2)
                code, said = running.finish()
            check(code == 0, said)
            before, busy = (kit.share(d + "/o.pb.gz", name, pids={target.pid})[1]
                            for name in ("before", "busy"))
            check(before > 50 and busy > 300, "%d before, %d busy" % (before, busy))
        return
    raise Skip("no interpreter with a library")


@kit.full_case
def same_inode_elsewhere():
    """A mapped file has the same inode number as the executable, but is on another file system:
    krait doesn't take it for the executable."""
    kit.need("gcc")
    library = next((library for _, library, _ in kit.shared()), None)
    if not library:
        raise Skip("no interpreter with a library")
    with folder() as d:
        try:
            for name in "ab":
                os.mkdir(d + "/" + name)
                if subprocess.run(["mount", "-t", "tmpfs", "krait", d + "/" + name],
                                  stderr=subprocess.DEVNULL, check=False).returncode:
                    raise Skip("no mount")
            exe, other = d + "/a/python3", d + "/b/other"
            shutil.copy(kit.PYTHON, exe)
            subprocess.run(["gcc", "-o", d + "/other", library, os.path.join(
                kit.ROOT, "tests", "setup", "embed-linked.c"), library], check=True)
            shutil.copy(d + "/other", other)
            if os.stat(exe).st_ino != os.stat(other).st_ino:
                raise Skip("inode numbers differ")
            low = "import ctypes, os\nctypes.CDLL(None).mmap(65536, 4096, 5, 0x12, os.open(%r, 0), 0)\n"
            env = dict(os.environ, PYTHONHOME="/usr")
            with kit.recorder(d + "/o.pb.gz", "-p", os.getpid(), "-F", "10") as running:
                with python(low % other + kit.BUSY, exe, env=env) as first:
                    time.sleep(1)
                    with open("/proc/%d/maps" % first.pid) as f:
                        check(f.readline().startswith("00010000-"), "the program has nothing mapped at 65536")
                with python(executable=exe, env=env) as second:
                    kit.runs(second.pid, 3, 150)
                code, said = running.finish()
            check(code == 0, said)
            kit.sees(d + "/o.pb.gz", pids={second.pid}, least=0.8)
        finally:
            for name in "ab":
                subprocess.run(["umount", "-l", d + "/" + name], stderr=subprocess.DEVNULL, check=False)


@kit.case
def python_into_python():
    """An interpreter execs one of a different version: krait uses nothing that it knew of the first
    interpreter."""
    others = [path for _, version, kind, path in kit.interpreters()
              if kind in ("static", "shared") and version in ((3, 8), (2, 7), (3, 13))]
    if not others:
        raise Skip("only one version")
    after = kit.BUSY.replace("while True:", "import os\n    while sum(os.times()[:2]) < 1.2:")
    for other in others:
        source = ("import os\ndef before():\n    while sum(os.times()[:2]) < 0.3: pass\n"
                  "before()\nos.execv(%r, [%r, '-c', %r])" % (other, other, after))
        with folder() as d:
            done = krait("record", "-F", 499, "-o", d + "/o.pb.gz", "--", kit.PYTHON, "-c", source)
            check(done.returncode == 0, done.stderr)
            total, busy = kit.share(d + "/o.pb.gz", "busy")
            before = kit.share(d + "/o.pb.gz", "before")[1]
            check(busy > 0.4 * total and before > 0.1 * total,
                  "%s: %d before, %d busy of %d" % (other, before, busy, total))


@kit.case
def exec_before_the_first_sample():
    """An executable with fixed addresses (not PIE) execs itself, and its libpython is at another
    address after that: krait looks for the library again."""
    kit.need("gcc")
    source = os.path.join(kit.ROOT, "tests", "setup", "embed-linked.c")
    for _, library, prefix in kit.shared():
        with folder() as d:
            host = d + "/host"
            subprocess.run(["gcc", "-no-pie", "-o", host, source, library,
                            "-Wl,-rpath," + os.path.dirname(library)], check=True)
            script = "import os, signal\nsignal.pthread_sigmask(0, [10])\nprint(flush=True)\n" \
                     "signal.sigwait([10])\nos.execv(%r, [%r, '-c', %r])" % (host, host, kit.BUSY)
            with python(script, host, env=dict(os.environ, PYTHONHOME=prefix),
                        stdout=subprocess.PIPE) as target:
                target.process.stdout.readline()
                with kit.recorder(d + "/o.pb.gz", "-p", target.pid, "-F", "499") as running:
                    target.process.send_signal(10)
                    kit.runs(target.pid, 1)
                    code, said = running.finish()
            check(code == 0, said)
            kit.sees(d + "/o.pb.gz", pids={target.pid}, least=0.8)
        return
    raise Skip("no interpreter with a library")


@kit.full_case
def two_interpreters_at_once():
    """krait records processes of all Python versions at once, and each process has its own
    function."""
    paths = {version: path for name, version, kind, path in kit.interpreters()
             if kind in ("static", "shared") and kit.is_plain(name)}.values()
    running = [python(executable=path, cwd=kit.ROOT) for path in paths]
    try:
        kit.runs([one.pid for one in running], 0.1)
        with folder() as d:
            args = [a for one in running for a in ("-p", one.pid)]
            done = krait("record", "-d", 3, "-F", 999, "-o", d + "/o.pb.gz", *args)
            check(done.returncode == 0, done.stderr)
            profile = kit.pprof.read(d + "/o.pb.gz")
        for one, path in zip(running, paths):
            try:
                kit.sees(profile, pids={one.pid})
            except AssertionError as error:
                raise AssertionError("%s: %s" % (path, error)) from None
    finally:
        for one in running:
            one.stop(9)


@kit.case
def other_interpreters_are_named():
    """krait doesn't understand PyPy. It names PyPy, and counts each of PyPy's samples once, from
    the process's start on."""
    path = [p for name, _, _, p in kit.interpreters() if name.startswith("pypy")]
    if not path:
        raise Skip("no PyPy")
    with folder() as d:
        done = krait("record", "-o", d + "/o.pb.gz", "--", path[0], "-c",
                     "import time\nwhile time.process_time() < 1: pass", cwd=kit.ROOT)
    counts = re.findall(r"(\d+) samples of 1 process( not understood: PyPy|)", done.stderr)
    check(len(counts) == 2 and counts[0][0] == counts[1][0] and counts[1][1], done.stderr)
    check("not examined" not in done.stderr, done.stderr)


SPINS = """
volatile int n;
int mp_execute_bytecode(void) { for (;;) n++; }
int main(void) { return mp_execute_bytecode(); }
"""


@kit.case
def others_are_named():
    """krait names interpreters that aren't CPython. It knows them by a symbol, by the program's
    name, or by what java was told to run. `record` names them if it records a process, all
    processes or a command, and so do top and dump. A program that isn't such an interpreter
    counts as not Python. The test makes small programs that look like these interpreters."""
    with folder() as d:
        with open(d + "/spins.c", "w") as f:
            f.write(SPINS)
        subprocess.run(["gcc", "-o", d + "/spins", d + "/spins.c"], check=True)
        for name in ("rustpython", "java", "none"):
            subprocess.run(["strip", "-o", d + "/" + name, d + "/spins"], check=True)
        commands = {"MicroPython": ["/spins"], "RustPython": ["/rustpython"], "Jython": ["/java", "-jar", "jython.jar"],
                    "": ["/none"]}
        running = {what: Background(d + c[0], *c[1:]) for what, c in commands.items()}
        try:
            kit.runs([one.pid for one in running.values()], 0.1)
            kit.refused(1, "can't be profiled: Jython", "record", "-p", running["Jython"].pid, "-o", d + "/o.pb.gz")
            kit.refused(1, "can't be profiled: RustPython", "top", "--json", "-p", running["RustPython"].pid)
            done = krait("dump", "--json", *[a for one in running.values() for a in ("-p", one.pid)])
            said = {p["pid"]: p["not_understood"] for p in json.loads(done.stdout)["processes"]}
            check(said == {one.pid: what or None for what, one in running.items()}, str(said))
            done = krait("record", "-d", 0.5, "-F", 499, "-o", d + "/o.pb.gz")
            named = re.findall(r"samples of 1 process not understood: (.*)", done.stderr)
            check({what for what in commands if what} <= set(named), done.stderr)
        finally:
            for one in running.values():
                one.stop(9)
        done = krait("record", "-o", d + "/o.pb.gz", "--", "timeout", "0.5", d + "/rustpython")
        check("1 process not understood: RustPython" in done.stderr, done.stderr)


@kit.case
def of_32_bits_is_named():
    """krait doesn't understand a 32-bit interpreter. It says so, and doesn't say that the program
    isn't Python."""
    with folder() as d:
        with open(d + "/program.c", "w") as f:
            f.write('asm(".globl _start\\n_start: jmp _start");\n')
        if subprocess.run(["gcc", "-m32", "-nostdlib", "-static", "-fno-pie", "-no-pie", "-o", d + "/python3.9",
                           d + "/program.c"], check=False).returncode:
            raise Skip("no compiler for 32 bits")
        with Background(d + "/python3.9") as target:
            kit.runs(target.pid, 0.1)
            done = krait("record", "-d", 1, "-F", 99, "-o", d + "/o.pb.gz")
            check(done.returncode == 0 and "1 process not understood: 32-bit CPython 3.9" in done.stderr, done.stderr)
            kit.refused(1, "32-bit CPython 3.9", "record", "-p", target.pid, "-o", d + "/p.pb.gz")


if __name__ == "__main__":
    sys.exit(kit.main())
