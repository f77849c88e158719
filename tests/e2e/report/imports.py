#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Modules that do much work while they are imported: each import is shown as one frame with the
module's name."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import check, folder, krait

FILES = {
    "pkg/__init__.py": "from pkg import sub",
    "pkg/sub/__init__.py": "",
    "pkg/sub/slow.py": "import work; work.for_a_while(); import plain",
    "plain.py": "import work; work.for_a_while()",
    "work.py": """
import time
def for_a_while(seconds=0.3):  # longer than krait takes to look at the process again
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(2000))
""",
    "other.py": "import work; work.for_a_while()",
    "many/__init__.py": "",
    **{"many/m%d.py" % i: "import work; work.for_a_while(0.004)" for i in range(100)},
    "app.py": """
import importlib, importlib.util, sys, time
def statement():
    import pkg.sub.slow
def many():
    for i in range(100):
        __import__("many.m%d" % i)
def call():
    importlib.import_module("other")
def loader():
    spec = importlib.util.spec_from_file_location("other", sys.argv[1] + "/plain.py")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
def code():
    with open(sys.argv[1] + "/plain.py") as f:
        exec(compile(f.read(), sys.argv[1] + "/plain.py", "exec"), {"__name__": "made up"})
many()
statement()
call()
loader()
code()
time.sleep(0.3)  # krait can read a module's name only while the process exists
""",
}

# For each function of app.py: the Python frames that it calls, down to the body (the top-level
# code) of the innermost module.
BODIES = {
    "statement": (["import pkg.sub.slow", "<module>"],
                  ["import pkg.sub.slow", "<module>", "import plain", "<module>"]),
    "call": (["import_module", "import other", "<module>"],),
    "loader": (["exec_module", "exec", "<module>"],),
    "code": (["<module>"],),
    "many": (),  # each of these imports is over before krait looks at the process
}


def make(d):
    for name, text in FILES.items():
        os.makedirs(os.path.dirname(os.path.join(d, name)), exist_ok=True)
        with open(os.path.join(d, name), "w") as f:
            f.write(text)


def last_name(frame):
    """Returns the name of a frame's function, without the name of the function's class."""
    return frame.name if frame.name.startswith("import ") else frame.name.rpartition(".")[2]


def importing(stack, function):
    """Returns the part of a stack (root first) that a function called: from its callee to the
    top-level code (body) of the innermost module."""
    at = [f.name for f in stack].index(function) + 1
    bodies = [i for i, f in enumerate(stack) if f.name == "<module>" and i >= at]
    return stack[at:bodies[-1] + 1] if bodies else []


def is_right(part, function):
    if function == "many":
        module = os.path.basename(part[-1].file)[:-len(".py")]
        return [last_name(f) for f in part] == ["import many." + module, "<module>"]
    python = [last_name(f) for f in part if f.kind == "python"]
    whole = function not in ("statement", "call") or all(f.kind == "python" for f in part)
    return whole and python in BODIES[function]


def judge(profile, mode):
    seen = {name: [0, 0, None] for name in BODIES}
    for sample in profile.samples:
        stack = profile.stack(sample)
        function = next((f.name for f in stack if f.name in BODIES), None)
        part = importing(stack, function) if function else None
        if not part:
            continue
        count = seen[function]
        count[0] += sample.values[0]
        if is_right(part, function):
            count[1] += sample.values[0]
        else:
            count[2] = [f.name for f in part]
    for function, (n, right, other) in seen.items():
        check(n > 50, "%s, %s: %d of %d samples" % (
            mode, function, n, sum(s.values[0] for s in profile.samples)))
        check(right >= 0.97 * n, "%s, %s: %d of %d samples as they should be, but %r" % (
            mode, function, right, n, other))


def imported(python):
    with folder() as d:
        make(d)
        for mode in ("none", "full"):
            judge(record(python, d, "--native=" + mode), mode)
        profile = record(python, d, "--native=full", "--interpreter-frames")
        names = {f.name for s in profile.samples for f in profile.stack(s)}
        check("_find_and_load" in names, "importlib isn't there with --interpreter-frames")
        check(not [n for n in names if n.startswith("import ")], "the import is folded nevertheless")


AGAIN = """
import sys, time
MODULES = "json", "json.decoder", "json.scanner", "_json", "decimal", "_decimal", "xml.dom", "xml.dom.minidom", "email.message", "email"
end = time.process_time() + 3
while time.process_time() < end:
    for m in MODULES:
        sys.modules.pop(m, None)
    import json, decimal, xml.dom.minidom, email.message
    from xml import dom
"""

# {builtin: name of the C function that the interpreter has for it}
BUILTINS = {"compile": "builtin_compile", "exec": "builtin_exec", "__import__": "builtin___import__", "_imp.create_dynamic": "_imp_create_dynamic",
            "_imp.exec_dynamic": "_imp_exec_dynamic", "_imp.exec_builtin": "_imp_exec_builtin"}
# builtins whose C functions do the same, so that a compiler may merge their code
ONE_CODE = {"_imp.exec_dynamic", "_imp.exec_builtin"}


def builtins_of(profile):
    """Yields for each frame of _call_with_frames_removed(): the name that krait gives the frame,
    the builtin whose native frame is right below it (or False), and its Python caller."""
    builtins = {c: b for b, c in BUILTINS.items()} | {b: b for b in BUILTINS}
    for sample in profile.samples:
        stack = profile.stack(sample)
        for i in range(1, len(stack) - 1):
            f, caller = stack[i], next((f.name for f in stack[i - 1::-1] if f.kind == "python"), "")
            if f.file == "<frozen importlib._bootstrap>" and f.name in (*BUILTINS, "_call_with_frames_removed"):
                yield f.name, stack[i + 1].kind == "native" and builtins.get(stack[i + 1].name), caller


def removed_frames(python):
    """krait shows _call_with_frames_removed() under the name of the builtin that it calls. The
    native frame below it says which name is right."""
    with folder() as d:
        with open(d + "/app.py", "w") as f:
            f.write(AGAIN)
        seen, profile = {}, record(python, d, "--native=full", "-F", "1999")
        folded = any(f.name.startswith("import ") for s in profile.samples for f in profile.stack(s))
        for name, native, caller in builtins_of(profile):
            if native:
                right = name == native or {name, native} == ONE_CODE or "." not in caller and name == "_call_with_frames_removed"
                check(right, "%s below %s runs %s" % (name, caller, native))
                seen[name] = seen.get(name, 0) + 1
        # since 3.11 nearly every exec is part of a frame "import NAME"
        check(("exec" in seen or folded) and len(seen) > 2, "only %s were seen" % seen)


def record(python, d, *args):
    done = krait("record", "-q", *args, "-o", d + "/o.pb.gz", "--", python, "-B", d + "/app.py", d)
    check(done.returncode == 0, "exit code %d: %s" % (done.returncode, done.stderr))
    return kit.pprof.read(d + "/o.pb.gz")


def register(name, path):
    def run():
        imported(path)

    def removed():
        removed_frames(path)

    run.__name__ = "import_is_one_frame_" + name
    removed.__name__ = "builtin_of_" + name
    kit.case(run)
    kit.case(removed)


WANTED = ("python3.10-pyenv", "python3.14-sid")
for name, version, _, path in kit.interpreters():
    if name in WANTED or ("--full" in sys.argv and version >= (3, 6) and name != "pypy3-sid"):
        register(name, path)
if __name__ == "__main__":
    sys.argv = [a for a in sys.argv if a != "--full"]
    sys.exit(kit.main())
