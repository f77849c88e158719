#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Cells of a notebook are shown under the notebook's own names, such as In [3], and the page has
the cells' text. The target compiles cells as ipykernel does, and keeps their numbers and lines
where IPython keeps them. In the full tier, the target is ipykernel itself, driven by
jupyter_client."""
import collections
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import case, check, folder, krait

TEXTS = ('''
import time
class Spinner:
    def spin(self, seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            sum(range(500))
''', "Spinner().spin(0.3)", '''
end = time.process_time() + 0.4
while time.process_time() < end:
    sum(range(500))
''', "Spinner().spin(0.3)  # again", '''
end = time.process_time() + 0.4
while time.process_time() < end: sum(range(501))
''')
# The number in a cell's file name is Python's hash of the cell's text, which differs from process
# to process. So cells of two kernels have different files even if their texts are the same.
CELLS = """
import linecache, os, sys, time
class Compiler:
    def __init__(self):
        self._filename_map = {}
class Shell:
    def __init__(self):
        self.compile = Compiler()
    def get_ipython(self):
        return self
shell, text, first = Shell(), "", int(sys.argv[1])
user = {"__name__": "__main__", "get_ipython": shell.get_ipython, "__builtins__": __builtins__, **{"x%d" % i: i for i in range(300)}}
CELLS = """ + repr(TEXTS) + """
for number, text in enumerate(CELLS, first):
    name = "/tmp/ipykernel_%d/%d.py" % (os.getpid(), 4000000000 + hash(text) % 10**8)
    if number != first + 4:
        shell.compile._filename_map[name] = number
    linecache.cache[name] = len(text), None, [line + "\\n" for line in text.splitlines()], name
    exec(compile(text, name, "exec"), user)
time.sleep(0.4)  # krait can read the numbers of cells only while the process exists
"""


def files_of(profile):
    """Returns {(file, function) of the innermost Python frame: CPU samples}."""
    seen = collections.Counter()
    for s in profile.samples:
        frames = [f for f in profile.stack(s) if f.kind == "python"]
        if frames and "ipykernel_" in frames[-1].file:
            seen[frames[-1].file.rpartition("/")[2], frames[-1].name.rpartition(".")[2]] += s.values[0]
    return seen


def texts_of_cells(page):
    texts = {path.rpartition("/")[2]: text for path, text in kit.page_text(page).items() if "ipykernel_" in path}
    for name, cell, hot in ("In [3]", 0, "sum(range(500))"), ("In [4]", 1, "spin(0.3)"), ("In [5]", 2, "while time.process_time() < end:"):
        check(hot in texts[name] and set(texts[name].split("\n")) <= {*TEXTS[cell].split("\n"), ""}, texts)
    check(any(name.endswith(".py") and "sum(range(501))" in text for name, text in texts.items()), "a cell without a number: %s" % texts)
    line = re.search(r"In \[5\]:4 +(.*)", krait("report", page).stdout)
    check(line and line[1] == TEXTS[2].split("\n")[3].strip(), line)


def numbered(python):
    with folder() as d:
        with open(d + "/app.py", "w") as f:
            f.write(CELLS)
        done = krait("record", "-q", "-o", d + "/o.html", "--", python, d + "/app.py", 3)
        check(done.returncode == 0 and krait("report", d + "/o.html", "-o", d + "/o.pb.gz").returncode == 0, done.stderr)
        profile = kit.pprof.read(d + "/o.pb.gz")
        seen = files_of(profile)
        check(seen["In [3]", "spin"] > 300 and seen["In [5]", "<module>"] > 200, "seen: %s" % seen)
        unknown = sum(n for (name, _), n in seen.items() if name.endswith(".py"))
        check(unknown > 200 and sum(seen.values()) - unknown == sum(n for (name, _), n in seen.items() if name in ("In [3]", "In [5]", "In [4]", "In [6]")),
              "a cell that the shell has no number of: %s" % seen)
        outer = {f.file.rpartition("/")[2] for s in profile.samples for f in profile.stack(s) if f.name == "<module>" and "ipykernel_" in f.file}
        check({"In [4]", "In [5]", "In [6]"} <= outer, "cells: %s" % outer)
        texts_of_cells(d + "/o.html")
        text = krait("report", d + "/o.pb.gz").stdout
        check("sum(range" not in text, "only pages have text: " + text)
        check("In [3].Spinner.spin" in text and "In [3]:7" in text, text)
        check("/In [" not in text, text)


def register(name, path):
    def run():
        numbered(path)

    run.__name__ = "cells_" + name
    kit.case(run)


@case
def one_number_twice():
    """If two cells with different texts have the same number, the page shows no text for that
    number."""
    with folder() as d:
        with open(d + "/app.py", "w") as f:
            f.write(CELLS.replace("enumerate(CELLS, first)", "((first, text) for text in CELLS)"))
        done = krait("record", "-q", "-o", d + "/o.html", "--", kit.PYTHON, d + "/app.py", 3)
        texts = {path.rpartition("/")[2]: text for path, text in kit.page_text(d + "/o.html").items() if "ipykernel_" in path}
        check(done.returncode == 0 and not texts.get("In [3]"), "%s %s" % (done.stderr, texts))
        krait("report", d + "/o.html", "-o", d + "/o.pb.gz")
        check({name for name, _ in files_of(kit.pprof.read(d + "/o.pb.gz"))} == {"In [3]"}, "the files have other names")


@case
def two_kernels():
    """In [1] of one kernel isn't merged with In [1] of another kernel: krait shows both cells with
    the folders of their files."""
    with folder() as d:
        with open(d + "/app.py", "w") as f:
            f.write(CELLS)
        done = krait("record", "-q", "-o", d + "/o.pb.gz", "--", "sh", "-c", "%s %s/app.py 1 & %s %s/app.py 1; wait" % ((kit.PYTHON, d) * 2))
        check(done.returncode == 0, done.stderr)
        rows = [line for line in krait("report", d + "/o.pb.gz").stdout.split("\n") if "spin " in line and "/In [1]" in line]
        check(len(rows) == 2, "%s" % rows)


@case
def dumped():
    """krait dump shows the names of the cells and their text, for a thread that runs and for a
    thread that waits."""
    for wait in "while True: sum(range(500))", "time.sleep(60)":
        with folder() as d:
            with open(d + "/app.py", "w") as f:
                f.write(CELLS.replace(repr(TEXTS), repr(("import time", "def last():\n    " + wait + "\n\nlast()"))))
            with kit.Background(kit.PYTHON, d + "/app.py", 7) as target:
                kit.wait_for(lambda: "last" in krait("dump", "-p", target.pid).stdout, 20)  # pylint: disable=cell-var-from-loop
                said = krait("dump", "-p", target.pid).stdout
            check(re.search(r'File "/tmp/ipykernel_\d+/In \[8\]", line 4, in <module>\n    last\(\)\n', said), said)
            check(re.search(r'/In \[8\]", line 2, in last\n    %s\n' % re.escape(wait), said), said)


# A program with two cells of the same number. <other> has the text of another function, <none> has
# no text.
SEVERAL = """
import linecache, os, sys, threading, time
class Shell:
    compile = None
    def get_ipython(self):
        return self
shell = Shell()
shell.compile = Shell()
shell.compile._filename_map = {}
def start(name, text, lines):
    linecache.cache[name] = len(text), None, lines, name
    user = {"__name__": "__main__", "get_ipython": shell.get_ipython, "__builtins__": __builtins__}
    exec(compile(text, name, "exec"), user)
    threading.Thread(target=user["waits"], daemon=True).start()
for i, word in enumerate(("one", "two")):
    name = "/tmp/ipykernel_%d/%d.py" % (os.getpid(), 4000000000 + i)
    shell.compile._filename_map[name] = 7
    text = "import time\\ndef waits():\\n    time.sleep(60)  # %s\\n" % word
    start(name, text, text.splitlines(True))
text = "import time\\ndef waits():\\n    time.sleep(60)  # %s\\n"
start("<made>", text % "made", (text % "made").splitlines(True))
start("<other>", text % "other", (text % "other").replace("waits", "others").splitlines(True))
start("<none>", text % "none", [])
print("ready", flush=True)
time.sleep(60)
"""


@case
def dumped_text_of_this_code():
    """krait dump shows a text only if the text certainly belongs to the code that runs."""
    with kit.Background(kit.PYTHON, "-c", SEVERAL, stdout=subprocess.PIPE) as target:
        target.process.stdout.readline()
        said = krait("dump", "-p", target.pid).stdout
        short, json = krait("dump", "-p", target.pid, "--short").stdout, krait("dump", "-p", target.pid, "--json").stdout
    lines = said.split("\n")
    below = [(re.sub(r".*[/\"]([^/\"]+)\".*", r"\1", line), after.strip()) for line, after in zip(lines, lines[1:]) if ", in waits" in line]
    check(sorted(name for name, _ in below) == ["<made>", "<none>", "<other>", "In [7]", "In [7]"], said)
    check(all((after == "time.sleep(60)  # made") == (name == "<made>") for name, after in below), said)
    check(said.count("time.sleep(60)  #") == 1, said)
    check("time.sleep(60)" not in short + json and "waits" in short and "waits" in json, short + json)


NOTEBOOK = """
import subprocess, sys, time
from jupyter_client.manager import KernelManager
manager = KernelManager(kernel_name="python3")
manager.start_kernel()
client = manager.client()
client.start_channels()
client.wait_for_ready(timeout=60)
pid, krait, stacks = str(manager.provisioner.pid), sys.argv[2], sys.argv[1]
recorder = subprocess.Popen([*sys.argv[2:], "-p", pid])
time.sleep(2)
SPIN = '''
def spin(seconds):
    import time
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(500))
'''
for cell in "import sys", SPIN, "%time spin(0.5)", SPIN.replace("spin", "turn") + "turn(0.5)", "%%time\\nspin(0.5)":
    client.execute_interactive(cell, timeout=60)
recorder.wait()
client.execute("import time\\ndef waits():\\n    time.sleep(60)\\nwaits()")
time.sleep(2)
with open(stacks, "w") as f:
    subprocess.run([krait, "dump", "-p", pid], stdout=f)
client.stop_channels()
manager.shutdown_kernel(now=True)
"""


@kit.full_case
def kernel():
    """The kernel is ipykernel as pip installs it: the recording has functions of cells 2 and 4, and
    a dump shows cell 6."""
    with folder() as d:
        venv = subprocess.run([kit.PYTHON, "-m", "venv", d + "/venv"], check=False)
        python = d + "/venv/bin/python"
        pip = venv.returncode or subprocess.run([python, "-m", "pip", "install", "-q", "ipykernel", "jupyter_client"], check=False).returncode
        if pip:
            raise kit.Skip("no ipykernel")
        subprocess.run([python, "-c", NOTEBOOK, d + "/stacks", kit.KRAIT, "record", "-q", "-d", "12", "-o", d + "/o.html"], check=True, env={**os.environ, "HOME": d},
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        krait("report", d + "/o.html", "-o", d + "/o.pb.gz")
        seen = files_of(kit.pprof.read(d + "/o.pb.gz"))
        texts = {path.rpartition("/")[2]: text for path, text in kit.page_text(d + "/o.html").items()}
        check(all("sum(range(500))" in texts[name] and "def %s(seconds):" % function in texts[name] for name, function in (("In [2]", "spin"), ("In [4]", "turn"))), texts)
        with open(d + "/stacks", encoding="utf-8") as f:
            stacks = f.read()
        check(re.search(r'/In \[6\]", line 4, in <module>\n    waits\(\)\n', stacks) and
              re.search(r'/In \[6\]", line 3, in waits\n    time\.sleep\(60\)\n', stacks), stacks)
        total = sum(seen.values())
        check(seen["In [2]", "spin"] > 0.5 * total and seen["In [4]", "turn"] > 0.25 * total, "%s" % seen)
        check(seen["In [2]", "spin"] + seen["In [4]", "turn"] > 0.97 * total, "%s" % seen)


for name, version, _, path in kit.interpreters():
    if name in ("python3.8-pyenv", "python3.12-pyenv", "python3.15-sid") or (kit.FULL and version >= (3, 6) and name != "pypy3-sid"):
        register(name, path)
if __name__ == "__main__":
    sys.exit(kit.main())
