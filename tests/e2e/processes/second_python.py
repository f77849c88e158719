#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""If a process has more than one interpreter, krait shows those that are initialised. In one test
case the interpreter is newer than krait."""
import contextlib
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import Background, Skip, check, folder, krait

LOADED = "import ctypes, sys\nif len(sys.argv) > 1: ctypes.CDLL(sys.argv[1])\nprint(flush=True)\n" + kit.BUSY

# A Python program that loads a second libpython, initialises it and runs a thread in it. The second
# library uses its own symbols before those of the first (RTLD_DEEPBIND).
INITIALISED = """
import ctypes, os, sys, threading
second = ctypes.CDLL(sys.argv[1], mode=os.RTLD_LOCAL | os.RTLD_DEEPBIND)
ready = threading.Event()
def other():
    os.environ["PYTHONHOME"] = sys.argv[2]
    ctypes.CDLL(None).setenv(b"PYTHONHOME", sys.argv[2].encode(), 1)
    second.Py_InitializeEx(0)
    ready.set()
    second.PyRun_SimpleString(b"import time\\ndef elsewhere():\\n    while True: sum(range(9999))\\nelsewhere()")
threading.Thread(target=other, daemon=True).start()
ready.wait()
for i in range(3): threading.Thread(target=threading.Event().wait, daemon=True).start()
print(flush=True)
""" + kit.BUSY


def libraries():
    """Returns {version: (executable, library, prefix)} of the interpreters with a libpython."""
    found = {}
    for executable, library, prefix in kit.shared():
        version = re.match(r"libpython(\d+)\.(\d+)", os.path.basename(library))
        found.setdefault(tuple(int(n) for n in version.groups()), (executable, library, prefix))
    return found


def pairs():
    """Yields (name, executable, its version, the libpython of another version)."""
    found = libraries()
    both = [v for v in ((3, 12), (3, 9)) if v in found]
    if len(both) < 2:
        raise Skip("no libpython of 3.9 and 3.12")
    for version, other in both, both[::-1]:
        yield "%d.%d in %d.%d" % (other + version), found[version][0], version, found[other][1]


def started(executable, *args, source=LOADED, command=(), **kw):
    target = Background(*command, executable, "-c", source, *args, stdout=kit.subprocess.PIPE, cwd="/", **kw)
    if not target.process.stdout.readline():
        raise AssertionError("the program doesn't run: %s" % target.process.stderr.read(2000))
    return target


def is_shown(pid, version, said):
    """Checks that record -p, top and dump show the process's function busy(), and that dump shows
    the version of its Python."""
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


@kit.full_case
def not_initialised():
    """ctypes has loaded a libpython of another version: krait doesn't take it for the interpreter,
    whichever library is mapped first."""
    for name, executable, version, library in pairs():
        with started(executable, library) as target:
            kit.runs(target.pid, 0.2)
            is_shown(target.pid, version, name)


@kit.full_case
def same_version_twice():
    """ctypes has loaded a second copy of the interpreter's own libpython: krait doesn't take this
    copy for the interpreter."""
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
    """`record -- COMMAND` shows the interpreter although ctypes loads another libpython later. It
    also does so for a later process of the same program, which has only one libpython."""
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


# A C program that loads a libpython and works for a while. Then it loads another libpython, and
# runs Python with that second one.
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
    """A program with two libpythons initialises its interpreter when krait has already looked for
    one: krait looks again and shows the interpreter of the right library."""
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
        # Half a second until the program runs Python, and up to a second until krait looks again,
        # don't count.
        kit.sees(d + "/o.pb.gz", pids={target.pid}, least=0.4)


@kit.case
def one_within_the_other():
    """A thread of the first interpreter runs code in the second interpreter, which ctypes has
    loaded: krait shows the frames of the second one."""
    found = libraries()
    first, second = found.get((3, 12)), found.get((3, 9))
    if not first or not second:
        raise Skip("no libpython of 3.12 and 3.9")
    with started(first[0], second[1], second[2], source=INITIALISED) as target, folder() as d:
        kit.runs(target.pid, 0.2)
        done = krait("record", "-p", target.pid, "-d", 1, "-F", 499, "-o", d + "/o.pb.gz")
        check(done.returncode == 0 and "interpreter" not in done.stderr, done.stderr)
        profile = kit.pprof.read(d + "/o.pb.gz")
        of = {name: {frame.mapping for sample in profile.samples for frame in profile.stack(sample) if frame.name == name}
              for name in ("busy", "elsewhere")}
        check(of == {"busy": {"[python 3.12]"}, "elsewhere": {"[python 3.9]"}}, str(of))
        dump = krait("dump", "-p", target.pid)
        for text in "Python 3.12 and 3.9", "in busy", "in elsewhere":
            check(text in dump.stdout, dump.stderr or dump.stdout)


# A program whose second interpreter has more threads than the first one, and reads a file in C code
# that has released the GIL.
WITHOUT_GIL = INITIALISED.replace("import time\\ndef elsewhere():\\n    while True: sum(range(9999))\\n", """\\
import posix, _thread\\n\\
lock = _thread.allocate_lock()\\n\\
lock.acquire()\\n\\
for i in range(8): _thread.start_new_thread(lock.acquire, ())\\n\\
zero = posix.open('/dev/zero', posix.O_RDONLY)\\n\\
def elsewhere():\\n    while True: posix.read(zero, 1 << 22)\\n""")


# Makes room in the address space above the first libpython, so that the second one is loaded into
# this room.
ROOM_C = "char room[64 << 20];"
ROOM = """
import ctypes
libc, at = ctypes.CDLL(None), ctypes.addressof((ctypes.c_char * (64 << 20)).in_dll(ctypes.CDLL(None), "room"))
assert not libc.munmap(ctypes.c_void_p(at + 8192 & -4096), (64 << 20) - 16384)
"""


def places(directory):
    """Yields the ways to start the program: (description, command, environment, source). In each
    way the second library is mapped at another place: below the first one, above it, or in a
    hole of another mapping."""
    room = directory + "/room.so"
    yield "below", (), {}, ""
    yield "the legacy layout", ("setarch", "-L"), {}, ""
    kit.need("gcc")
    kit.subprocess.run(["gcc", "-shared", "-fPIC", "-o", room, "-x", "c", "-"], input=ROOM_C.encode(), check=True)
    yield "in a hole", (), {"LD_PRELOAD": room}, ROOM


@kit.case
def the_inner_one_without_its_gil():
    """krait shows the frames of the second interpreter also while it doesn't hold its GIL, wherever
    its library is mapped, and although it has more threads than the first interpreter."""
    with folder() as d:
        for place in places(d):
            inner_without_gil(d, *place)


def inner_without_gil(d, place, command, env, before):
    found = libraries()
    first, second = found.get((3, 12)), found.get((3, 9))
    if not first or not second:
        raise Skip("no libpython of 3.12 and 3.9")
    check("posix.read" in WITHOUT_GIL, "the program has changed")
    with started(first[0], second[1], second[2], source=before + WITHOUT_GIL, command=command,
                 env=dict(os.environ, **env)) as target:
        kit.runs(target.pid, 0.3)
        with open("/proc/%d/maps" % target.pid) as f:
            starts = {version: int(line.split("-")[0], 16) for line in f for version in ("3.12", "3.9")
                      if "/libpython%s." % version in line}
        check((starts["3.9"] > starts["3.12"]) == (place != "below"), "%s: %s" % (place, starts))
        done = krait("record", "-p", target.pid, "-d", 2, "-F", 499, "-o", d + "/o.pb.gz")
        check(done.returncode == 0, done.stderr)
        profile = kit.pprof.read(d + "/o.pb.gz")
    inner = sum(s.values[0] for s in profile.samples if any(f.name == "elsewhere" for f in profile.stack(s)))
    outer = sum(s.values[0] for s in profile.samples if any(f.name == "other" for f in profile.stack(s)))
    check(inner >= 20 and outer <= 0.02 * inner,
          "%s: %d samples of the inner one, %d of the outer one" % (place, inner, outer))


# A program whose second interpreter imports a module whose top-level code works.
IMPORTS = INITIALISED.replace("import time\\ndef elsewhere():\\n    while True: sum(range(9999))\\nelsewhere()",
                              "import sys\\nsys.path.insert(0, '\" + sys.argv[3].encode() + b\"')\\nimport endless")


@kit.full_case
def imports_of_the_second():
    """An import in the second interpreter is also shown as one frame, by the rules of that
    interpreter's version."""
    found = libraries()
    first, second = found.get((3, 12)), found.get((3, 9))
    if not first or not second:
        raise Skip("no libpython of 3.12 and 3.9")
    with folder() as d:
        with open(d + "/endless.py", "w") as f:
            f.write("def inside():\n    while True: sum(range(9999))\ninside()\n")
        with started(first[0], second[1], second[2], d, source=IMPORTS) as target:
            kit.runs(target.pid, 0.2)
            done = krait("record", "-p", target.pid, "-d", 1, "-F", 499, "-o", d + "/o.pb.gz")
        check(done.returncode == 0, done.stderr)
        profile = kit.pprof.read(d + "/o.pb.gz")
    stacks = [[f for f in profile.stack(sample) if f.kind == "python"] for sample in profile.samples]
    of = {tuple((f.name, f.mapping) for f in stack) for stack in stacks if any(f.name == "inside" for f in stack)}
    wanted = {tuple((name, "[python 3.9]") for name in ("<module>", "import endless", "<module>", "inside"))}
    check(of == wanted, str(of))


# A program with two interpreters. Each interpreter makes new functions and runs them: one for 3 ms,
# then the other for 1 ms, in turn.
WORK = """
import sys, time
def made(what, seconds, i):
    of = {"clock": time.thread_time}
    exec("def NAME_%s_%d(end):\\n    while clock() < end: pass" % (what, i), of)
    of["NAME_%s_%d" % (what, i)](time.thread_time() + seconds)
def NAME_main():
    i = 0
    while True:
        made("long", 0.003, i)
        made("short", 0.001, i)
        i += 1
NAME_main()
"""
# A program in which each interpreter prints the functions of its stack and then sleeps.
REST = """
import sys, time
def NAME_rest():
    frame, names = sys._current_frames().popitem()[1], []
    while frame:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    print(*names, flush=True)
    while True: time.sleep(100)
def NAME_main():
    NAME_rest()
NAME_main()
"""


def build_host(directory):
    kit.need("gcc")
    kit.subprocess.run(["gcc", "-o", directory + "/host", os.path.join(kit.HERE, "processes", "several_pythons.c"), "-ldl", "-lpthread"],
                       check=True)
    return directory + "/host"


def together(directory):
    """Yields (name, "here" or "apart" (see several_pythons.c), [(version, library, prefix)]) for
    pairs of interpreters: of two versions, and of one version twice."""
    found = {version: files for version, files in libraries().items() if files[2] != sys.prefix}
    if len(found) < 2:
        raise Skip("no two interpreters with a library")
    ways = [("here", pair) for pair in ((min(found), max(found)), ((3, 9), (3, 12)), ((3, 11), (3, 13)))]
    ways += [("here", (version, version)) for version in ((3, 12), (3, 11))]
    ways += [("apart", (max(found), max(found))), ("apart", ((3, 12), (3, 12)))]
    for how, versions in ways if kit.FULL else ways[:1] + ways[3:4] + ways[5:6]:
        if not set(versions) <= set(found):
            continue
        loads = [(version,) + found[version][1:] for version in versions]
        if how == "here" and versions[0] == versions[1]:
            copy = shutil.copy(loads[1][1], directory)
            loads[1] = (versions[1], copy, loads[1][2])
        yield "%s: %s" % (how, " and ".join("%d.%d" % version for version in versions)), how, loads


def start_host(host, how, loads, source, apart_ms=0, **kw):
    args = [word for i, (_, library, prefix) in enumerate(loads)
            for word in (library, prefix, source.replace("NAME", "first second".split()[i]))]
    return Background(host, how, apart_ms, *args, stdout=kit.subprocess.PIPE, cwd="/", **kw)


def functions_of(profile, tid):
    """Yields ([names of the Python functions], samples) for each stack of a thread."""
    for sample in profile.samples:
        if int(sample.labels["tid"]) == tid:
            yield [frame.name for frame in profile.stack(sample) if frame.kind == "python"], sample.values[0]


def judge_thread(profile, tid, name, said):
    stacks = list(functions_of(profile, tid))
    total = sum(n for _, n in stacks)
    check(total >= 40, "%s: %s: only %d samples" % (said, name, total))
    wrong = [names for names, _ in stacks
             if any(f not in ("made", "<module>") and not f.startswith(name + "_") for f in names)]
    check(not wrong, "%s: %s has frames of the other interpreter: %s" % (said, name, wrong[:1]))
    whole = sum(n for names, n in stacks if name + "_main" in names)
    check(whole >= 0.98 * total, "%s: %s: %d of %d samples have its main function" % (said, name, whole, total))
    n = {what: sum(n for names, n in stacks if any(name + "_" + what in f for f in names)) for what in ("long", "short")}
    both = n["long"] + n["short"]
    off = abs(n["long"] / both - 0.75)
    check(off <= 0.03 + 3 * (0.1875 / both) ** 0.5, "%s: %s: %s" % (said, name, n))


@kit.case
def each_works():
    """A process has two initialised interpreters, each in a thread: record and top show what each
    thread runs."""
    with folder() as d:
        host = build_host(d)
        for said, how, loads in together(d):
            with start_host(host, how, loads, WORK) as target:
                tids = [int(target.process.stdout.readline()) for _ in loads]
                kit.runs(target.pid, 0.3)
                done = krait("record", "-p", target.pid, "-d", 8 if kit.FULL else 1.5, "-F", 997, "-o", d + "/o.pb.gz")
                check(done.returncode == 0, said + ": " + done.stderr)
                for tid, name in zip(tids, ("first", "second")):
                    judge_thread(kit.pprof.read(d + "/o.pb.gz"), tid, name, said)
                top = krait("top", "--json", "-n", 1, "-i", "500ms", "-p", target.pid)
                for name in "first", "second":
                    check(name + "_long" in top.stdout, "%s: top doesn't show %s: %s" % (said, name, top.stderr))


# A program whose second interpreter calls Python functions through C.
CALLS = """
import time
def leaf():
    total = 0
    for i in range(500):
        total += i
    return total
def work(n):
    if n: return sorted([n], key=key)[0]
    for i in range(50): leaf()
    return 0
def key(n):
    return work(n - 1)
def NAME_main():
    while True: work(2) if "NAME" == "second" else time.sleep(99)
NAME_main()
"""
CALLED = ["<module>", "second_main", "work", "sorted", "key", "work", "sorted", "key", "work"]


def is_called_in_order(stack):
    """Tells whether the stack begins with the start of a thread, and has the program's Python
    functions in order and no other Python functions."""
    names = [f.name for f in stack if f.kind in ("python", "mark") or f.name == "sorted"]
    names = names[:-1] if names[-1] == "leaf" else names
    return stack[0].kind == "native" and not any(f.kind == "jit" for f in stack) and names == CALLED[:len(names)]


def makers():
    """Yields ways to make an interpreter generate code: (environment variable, libpython, prefix).
    These are perf trampolines for 3.12, and the JIT compiler for 3.14."""
    found = libraries()
    if (3, 9) not in found or (3, 12) not in found:
        raise Skip("no libpython of 3.9 and 3.12")
    yield "PYTHONPERFSUPPORT", *found[3, 12][1:]
    for _, version, kind, path in kit.interpreters():
        if kind == "tailcall" and version == (3, 14):
            prefix = kit.subprocess.check_output([path, "-c", "import sys; print(sys.prefix)"], encoding="utf-8").strip()
            if os.path.exists(prefix + "/lib/libpython3.14.so.1.0"):
                yield "PYTHON_JIT", prefix + "/lib/libpython3.14.so.1.0", prefix


@kit.full_case
def code_made_by_the_second():
    """Stacks go through code that the second interpreter makes at run time, while the first
    interpreter makes none."""
    first = (3, 9)
    with folder() as d:
        host = build_host(d)
        for option, library, prefix in makers():
            loads = [(first, *libraries()[first][1:]), (None, library, prefix)]
            with start_host(host, "here", loads, CALLS, env=dict(os.environ, **{option: "1"})) as target:
                tid = [int(target.process.stdout.readline()) for _ in loads][1]
                kit.runs(target.pid, 1)
                best = 0
                # Until krait has read the table of code that the JIT compiler makes anew, stacks
                # break off in this code. So the best of three recordings counts.
                for _ in range(3):
                    with kit.recorder(d + "/o.pb.gz", "-p", target.pid, "-F", "499", "--native=full") as running:
                        kit.runs(target.pid, 1)
                        code, said = running.finish()
                    check(code == 0, said)
                    profile = kit.pprof.read(d + "/o.pb.gz")
                    stacks = [(profile.stack(s), s.values[0]) for s in profile.samples if int(s.labels["tid"]) == tid]
                    total, whole = sum(n for _, n in stacks), sum(n for stack, n in stacks if is_called_in_order(stack))
                    best = max(best, whole / max(total, 1) if total > 100 else 0)
                    if best > 0.95:
                        break
            with contextlib.suppress(FileNotFoundError):
                os.remove("/tmp/perf-%d.map" % target.pid)
            check(best > 0.95, "%s: %.1f %% of %d samples are whole" % (option, 100 * best, total))


@kit.case
def each_rests():
    """krait dump shows for each thread the frames that sys._current_frames() of its interpreter
    has."""
    with folder() as d:
        host = build_host(d)
        for said, how, loads in together(d):
            with start_host(host, how, loads, REST) as target:
                lines = [target.process.stdout.readline().decode().split() for _ in range(2 * len(loads))]
                truth = {name: " ".join(line) for line in lines if len(line) > 1 for name in (line[0].split("_")[0],)}
                check(len(truth) == 2, "%s: %s" % (said, lines))
                dump = json.loads(krait("dump", "--json", "-p", target.pid).stdout)
                shown = {}
                for thread in dump["processes"][0]["threads"]:
                    names = [f["function"] for f in thread["frames"][::-1] if f["kind"] == "python"]
                    if names:
                        shown[names[0].split("_")[0]] = " ".join(names)
                check(shown == truth, "%s: %s, not %s" % (said, shown, truth))


@kit.case
def second_comes_later():
    """A process initialises a second interpreter while krait records: krait shows it within two
    seconds."""
    with folder() as d:
        host = build_host(d)
        for said, how, loads in list(together(d))[:1]:
            with kit.recorder(d + "/o.pb.gz", "-p", os.getpid(), "-F", "499") as running, \
                    start_host(host, how, loads, WORK, 1500) as target:
                tids = [int(target.process.stdout.readline()) for _ in loads]
                # both interpreters together use 8 s of CPU time, so on two CPUs they work for four
                # seconds
                kit.runs(target.pid, 8, 150)
                code, text = running.finish()
            check(code == 0, text)
            profile = kit.pprof.read(d + "/o.pb.gz")
            for tid, name, least in (tids[0], "first", 0.9), (tids[1], "second", 0.3):
                stacks = list(functions_of(profile, tid))
                total, seen = (sum(n for _, n in some) for some in
                               (stacks, [of for of in stacks if name + "_main" in of[0]]))
                check(seen >= least * total, "%s: %s: %d of %d" % (said, name, seen, total))


def has_become_another(pid):
    """True if the process no longer runs the program "host" (several_pythons.c), but another one.
    In the middle of an exec() the link /proc/PID/exe can't be read; then the answer is False,
    and the caller asks again."""
    try:
        return not os.readlink("/proc/%d/exe" % pid).endswith("/host")
    except FileNotFoundError:
        return False


@kit.case
def another_program_instead():
    """A process with two interpreters execs a Python program, which has one interpreter: krait uses
    nothing for the new program that it knew of the two interpreters."""
    with folder() as d:
        host = build_host(d)
        becomes = """
import os, time
def first_becomes(end):
    while time.thread_time() < end: pass
    os.execv("%s", ["python3", "-I", "-c", "def after():\\n  while True: pass\\nafter()"])
if "NAME" == "first": first_becomes(time.thread_time() + 1.5)
while True: time.sleep(1)
""" % kit.PYTHON
        for _, how, loads in list(together(d))[:1]:
            with start_host(host, how, loads, becomes) as target:
                kit.runs(target.pid, 0.2)
                with kit.recorder(d + "/o.pb.gz", "-p", target.pid, "-F", "499") as running:
                    kit.wait_for(lambda: has_become_another(target.pid), 60)
                    kit.runs(target.pid, 1)
                    code, text = running.finish()
            check(code == 0, text)
            profile = kit.pprof.read(d + "/o.pb.gz")
            stacks = [(names, n) for names, n in functions_of(profile, target.pid) if "first_becomes" not in names]
            total, seen = sum(n for _, n in stacks), sum(n for names, n in stacks if "after" in names)
            check(total > 200 and seen >= 0.8 * total, "%d of %d samples have after()" % (seen, total))


@kit.case
def newer_than_krait():
    """krait doesn't know the version of an interpreter: it walks the frames by the debug offsets
    that the interpreter itself has, and says what it doesn't read."""
    ask = "import os, sys; print(os.readlink('/proc/self/exe'), sys.prefix, " \
          "next(os.path.dirname(l.split()[-1]) for l in open('/proc/self/maps') if '/libc.so' in l))"
    for _, version, kind, path in kit.interpreters():
        # krait tries 3.15's list of debug offsets for newer versions
        if kind != "static" or version != (3, 15):
            continue
        executable, prefix, libc = kit.subprocess.check_output([path, "-c", ask], encoding="utf-8").split()
        with folder() as d:
            copy = os.path.join(d, "python3")
            with open(executable, "rb") as f, open(copy, "wb") as to:
                content = f.read()
                offsets = re.search(rb"xdebugpy..\x0f\x03\0{4}", content, re.DOTALL)
                check(offsets, "no debug offsets in " + executable)
                # offset of the bytes with the minor and the major version, little-endian
                at = offsets.start() + 10
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
