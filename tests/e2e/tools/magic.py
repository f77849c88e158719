#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`%%krait` and `%krait` in a notebook. The kernel is ipykernel, driven by jupyter_client. The
truth is the CPU time that the cell itself measures. In the full tier, JupyterLab draws the
notebook in Chromium, also when the notebook is opened again."""
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import case, check, folder

sys.path.insert(0, os.path.join(kit.ROOT, "tests", "golden"))
import browser  # noqa: E402  pylint: disable=wrong-import-position

PACKAGE = os.path.join(kit.ROOT, "packaging", "python")
MOST_BYTES = 300000
SPIN = """
import time
def planted_much(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: sum(range(300))
def planted_little(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: sum(range(300))
"""
# A cell that measures two functions by the kernel's clock. The value of its last expression is the
# cell's Out.
MEASURED = """%%krait
a = time.process_time()
planted_much(0.9)
b = time.process_time()
planted_little(0.3)
c = time.process_time()
print("truth %.4f %.4f" % ((b - a) / (c - a), c - a))
"the value"
"""
LINES = """%%krait
import time
end = time.process_time() + 0.4
while time.process_time() < end: sum(range(300))
"""
# A cell with 600 functions that call each other at random, so that a picture of all would have very
# many boxes; and with a deep recursion.
MANY = """
import random
exec("\\n".join("def f%d(n):\\n    return sum(range(2000)) if not n else g[random.randrange(600)](n - 1)" % i for i in range(600)))
g = [globals()["f%d" % i] for i in range(600)]
def deep(n):
    return deep(n - 1) if n else sum(range(20000))
"""
# Runs the cells of the JSON file argv[1]. Writes the outputs of each cell to argv[2], in the form
# that a notebook's file has.
DRIVER = """
import json, sys
from jupyter_client.manager import KernelManager
manager = KernelManager(kernel_name="python3")
manager.start_kernel()
client = manager.client()
client.start_channels()
client.wait_for_ready(timeout=60)
cells = []
for source in json.load(open(sys.argv[1])):
    outputs = []
    def hook(message):
        content = dict(message["content"])
        if message["msg_type"] in ("stream", "display_data", "execute_result", "error"):
            content.pop("transient", None)
            outputs.append(dict(content, output_type=message["msg_type"]))
    client.execute_interactive(source, timeout=120, output_hook=hook)
    cells.append(outputs)
json.dump(cells, open(sys.argv[2], "w"))
client.stop_channels()
manager.shutdown_kernel(now=True)
"""


def environment(d, program=kit.KRAIT):
    return {**os.environ, "HOME": d, "PYTHONPATH": PACKAGE, "KRAIT": program, "PYTHONDONTWRITEBYTECODE": "1", "IPYTHONDIR": d + "/ipython"}


NEWEST = ("notes", "3.11", "ipykernel")
OLDEST = ("notes-3.8", "3.8", "ipykernel")


def run_cells(d, *sources, program=kit.KRAIT, packages=NEWEST):
    """Runs cells in a notebook's kernel. Returns the outputs of each cell."""
    with open(d + "/in.json", "w") as f:
        json.dump(sources, f)
    done = subprocess.run([kit.with_packages(*packages), "-c", DRIVER, d + "/in.json", d + "/out.json"], env=environment(d, program),
                          stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=170, check=False)
    check(done.returncode == 0, done.stderr[-600:])
    with open(d + "/out.json") as f:
        return json.load(f)


def text_of(outputs):
    return "".join(o.get("text", "") for o in outputs)


def picture_of(outputs):
    pictures = [o["data"]["image/svg+xml"] for o in outputs if "image/svg+xml" in o.get("data", {})]
    check(len(pictures) == 1, "%d pictures: %s" % (len(pictures), str(outputs)[:600]))
    xml.etree.ElementTree.fromstring(pictures[0])
    check(not re.search("<script|krait-recording|in this file", pictures[0]), "more than a picture")
    return pictures[0]


def notebook(sources, outputs):
    """Writes a notebook as the notebook's server does: nbformat 4, texts as lists of lines."""
    def lines(value):
        return value.splitlines(True) if isinstance(value, str) else value
    cells = []
    for source, of_cell in zip(sources, outputs):
        of_cell = [dict(o, data={k: lines(v) for k, v in o["data"].items()}) if "data" in o else dict(o, text=lines(o["text"])) if "text" in o else o
                   for o in of_cell]
        cells.append({"cell_type": "code", "execution_count": None, "id": "c%d" % len(cells), "metadata": {}, "outputs": of_cell, "source": lines(source)})
    return json.dumps({"cells": cells, "metadata": {"kernelspec": {"name": "python3", "display_name": "python3"}}, "nbformat": 4, "nbformat_minor": 5},
                      indent=1, ensure_ascii=False)


def share_in(svg, name):
    """Returns a box's share of all samples, which the box's title in the SVG says."""
    found = re.search(r"%s[^<]*?([0-9.]+) %%" % name, svg)
    check(found, "no %s in the picture" % name)
    return float(found[1]) / 100


@case
def shows_where(packages=NEWEST):
    """A recorded cell shows krait's sentence and picture, and keeps its own output and value. The
    planted function has the share that the cell's CPU clock says."""
    with folder() as d:
        cells = ("%load_ext krait", SPIN, MEASURED, "%krait planted_little(0.4)", "%krait", "%%krait -F 100\nplanted_much(0.4)", LINES,
                 "%%krait\n%%time\nplanted_much(0.1)")
        outputs = run_cells(d, *cells, packages=packages)
        text, svg = text_of(outputs[2]), picture_of(outputs[2])
        truth, seconds = map(float, re.search("truth ([0-9.]+) ([0-9.]+)", text).groups())
        n = seconds * 999
        much, little = share_in(svg, "planted_much"), share_in(svg, "planted_little")
        error = 3 * (truth * (1 - truth) / n) ** 0.5
        check(abs(much / (much + little) - truth) < error + 0.001, "%.4f and %.4f, %.4f of the time" % (much, little, truth))
        check(much + little > 0.9, "%.4f and %.4f of all" % (much, little))
        check("<title>&lt;module&gt;\n/tmp/ipykernel_" in svg and not re.search("run_cell|krait/notebook", svg), re.findall("<title>(.*\n.*)", svg)[:12])
        check(re.search(r"% of the CPU time is at In \[\d+\].*planted_much", text), text)
        check(any(o.get("data", {}).get("text/plain") == "'the value'" for o in outputs[2]), "the cell's value isn't shown")
        check("planted_little" in text_of(outputs[3]) and "planted_little" in picture_of(outputs[3]), text_of(outputs[3]))
        check("%%krait [OPTIONS" in text_of(outputs[4]), text_of(outputs[4]))
        check("100 Hz" in picture_of(outputs[5]), "options")
        check("at In [7]:4 (" in text_of(outputs[6]), "cell 7, line 4: " + text_of(outputs[6]))
        check("CPU times" in text_of(outputs[7]) and "planted_much" in picture_of(outputs[7]), text_of(outputs[7]))
        check(len(notebook(cells[2:3], outputs[2:3])) < MOST_BYTES, "the notebook is too large")


@case
def in_other_cells():
    """A %krait line inside of a recorded cell makes a picture of its own. A cell with await is
    refused and not run. If an option can't be used in cells, the cell runs, and krait says that
    the option can't be given."""
    with folder() as d:
        outputs = run_cells(d, "%load_ext krait", SPIN, "%%krait\n%krait planted_little(0.2)\nplanted_much(0.2)", "7 * 6",
                            "%%krait\nimport asyncio\nawait asyncio.sleep(0)", "%%krait -o x.html\nprint('ran')", "%%krait '\nprint('ran')")
        pictures = [o["data"]["image/svg+xml"] for o in outputs[2] if "image/svg+xml" in o.get("data", {})]
        check(len(pictures) == 2 and "planted_much" in pictures[1], "%d pictures: %s" % (len(pictures), text_of(outputs[2])))
        check(not any(o["output_type"] == "error" for o in outputs[2] + outputs[3]), "%s" % outputs[2:4])
        check("a cell with await" in text_of(outputs[4]) and not any(o.get("traceback") for o in outputs[4]), "%s" % outputs[4])
        check("ran\n" in text_of(outputs[5]) and "-o can't be given here" in text_of(outputs[5]), "%s" % outputs[5])
        check("ran\n" in text_of(outputs[6]) and "No closing quotation" in text_of(outputs[6]), "%s" % outputs[6])


@kit.full_case
def in_an_old_kernel():
    """Does what shows_where() does, with IPython 8 under Python 3.8, which counts cells in another
    way."""
    shows_where(OLDEST)


@case
def bounded():
    """However many functions a cell calls, a notebook grows by at most 300 kB."""
    with folder() as d:
        cells = ("%load_ext krait", MANY, "%%krait -F 20000\nfor _ in range(8000): f0(12)", "%%krait -F 5000\nfor _ in range(500): deep(900)")
        outputs = run_cells(d, *cells)
        for i in (2, 3):
            picture_of(outputs[i])
            size = len(notebook(cells[i:i + 1], outputs[i:i + 1]).encode()) - len(notebook(cells[i:i + 1], [[]]).encode())
            check(50000 < size <= MOST_BYTES, "%d bytes: %s" % (size, text_of(outputs[i])))
        check("of the picture aren't drawn" in text_of(outputs[2]), text_of(outputs[2]))


@case
def goes_on():
    """A cell that raises an exception shows one error. Without the right to record, the cell runs,
    and krait names the command that gives the right. Unknown options are reported."""
    kit.need("setpriv")
    with folder() as d:
        os.chmod(d, 0o755)
        os.mkdir(d + "/bin")
        subprocess.run(["cp", kit.KRAIT, d + "/bin/krait"], check=True)
        with open(d + "/krait", "w") as f:
            f.write("#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups %s/bin/krait \"$@\"\n" % d)
        os.chmod(d + "/krait", 0o755)
        outputs = run_cells(d, "%load_ext krait", "%%krait\nprint('ran')\n1 / 0", program=d + "/krait")
        text = text_of(outputs[1])
        check("ran\n" in text and "wasn't recorded" in text and "bin/krait doctor --grant" in text, text)
        check([o["ename"] for o in outputs[1] if o["output_type"] == "error" and o.get("traceback")] == ["ZeroDivisionError"], "%s" % outputs[1])
        check(any(o["output_type"] == "error" for o in outputs[1]), "the cell doesn't fail")
        outputs = run_cells(d, "%load_ext krait", "%%krait --nosuch\nprint('ran')")
        check("ran\n" in text_of(outputs[1]) and "nosuch" in text_of(outputs[1]), "%s" % outputs)
        outputs = run_cells(d, "%load_ext krait", "%%krait\nprint('ran')", program=d + "/nothing")
        check("ran\n" in text_of(outputs[1]) and "wasn't recorded" in text_of(outputs[1]), "%s" % outputs)


LAB = ("jupyter", "3.12", "jupyterlab", "nbconvert", "ipykernel", "jupyter_client")
# JavaScript that returns three things for each picture that is shown: how wide it is drawn, how
# wide the notebook's output area is, and the picture's source.
PICTURES = """JSON.stringify([...document.querySelectorAll('.jp-RenderedSVG img')].filter(i => i.complete && i.naturalWidth)
    .map(i => [i.getBoundingClientRect().width, i.closest('.jp-OutputArea-output').clientWidth, decodeURIComponent(i.src)]))"""
STATUS = "jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status"


def until(b, expression, wanted, seconds=90):
    """Evaluates @expression in JupyterLab until wanted() is true of its value. JupyterLab takes a
    while to draw; until it has, the answer is false or an error."""
    end, got = time.time() + seconds, None
    while time.time() < end:
        try:
            got = b.js(expression)
            if wanted(got):
                return got
        except RuntimeError as error:
            got = error
        time.sleep(0.3)
    raise AssertionError("waited in vain for %s: %s" % (expression[:80], str(got)[:300]))


def drawn(b):
    """JupyterLab shows exactly one picture, and it is drawn."""
    (width, room, source), = json.loads(until(b, PICTURES, lambda p: len(json.loads(p)) == 1))
    check(room / 2 < width <= room and "planted_much" in source, "%s of %s points: %s" % (width, room, source[:200]))


def page(b, url):
    b.call("Page.navigate", {"url": url})
    until(b, "!!jupyterapp.shell.currentWidget?.content?.widgets?.length", bool)


@kit.full_case
def jupyterlab():
    """JupyterLab draws the cell's flame graph and saves it. When the notebook is opened again,
    JupyterLab draws the flame graph although no kernel runs."""
    if not browser.find():
        raise kit.Skip("no Chromium")
    bin_ = os.path.dirname(kit.with_packages(*LAB))
    with folder() as d, socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
        s.close()
        with open(d + "/x.ipynb", "w") as f:
            f.write(notebook(("%load_ext krait", SPIN, MEASURED), ([], [], [])))
        before = os.path.getsize(d + "/x.ipynb")
        with kit.Background(bin_ + "/jupyter-lab", "--no-browser", "--allow-root", "--port=%d" % port, "--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True",
                            "--ServerApp.root_dir=" + d, env={**environment(d), "PATH": bin_ + ":" + os.environ["PATH"]}, stderr=subprocess.DEVNULL):
            url = "http://127.0.0.1:%d/lab/tree/x.ipynb?reset" % port
            kit.wait_for(lambda: answers(url), 60)
            with browser.Browser(1300, 1600) as b:
                page(b, url)
                until(b, STATUS, lambda status: status == "idle")
                b.js("jupyterapp.commands.execute('notebook:run-all-cells')", wait=True)
                drawn(b)
                b.js("jupyterapp.commands.execute('docmanager:save')", wait=True)
            grown = os.path.getsize(d + "/x.ipynb") - before
            check(20000 < grown <= MOST_BYTES, "%d bytes more" % grown)
            with browser.Browser(1300, 1600) as b:
                page(b, url)
                drawn(b)
                if os.environ.get("KEEP"):
                    b.screenshot(os.environ["KEEP"] + "/jupyterlab.png")


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(kit.main())
