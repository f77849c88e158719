#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`%%krait` and `%krait` in a notebook. The kernel is ipykernel, driven by jupyter_client; the truth is the cell's own time.process_time(), and
how large the notebook is what a file of it says. In the full tier JupyterLab draws it in Chromium, also when it is opened again."""
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

import kit
from kit import case, check, folder

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
# Of the two, by the kernel's clock; the cell's last value is its Out.
MEASURED = """%%krait
a = time.process_time()
planted_much(0.9)
b = time.process_time()
planted_little(0.3)
c = time.process_time()
print("truth %.4f %.4f" % ((b - a) / (c - a), c - a))
"the value"
"""
# Thousands of functions, each in stacks of its own, so that all boxes are different; and deep ones.
MANY = """
import random
exec("\\n".join("def f%d(n):\\n    return sum(range(2000)) if not n else g[random.randrange(600)](n - 1)" % i for i in range(600)))
g = [globals()["f%d" % i] for i in range(600)]
def deep(n):
    return deep(n - 1) if n else sum(range(20000))
"""
# Runs the cells of argv[1], a JSON file, and writes each one's outputs as a notebook has them to argv[2].
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


def run_cells(d, *sources, program=kit.KRAIT):
    """The outputs of each."""
    with open(d + "/in.json", "w") as f:
        json.dump(sources, f)
    done = subprocess.run([kit.with_packages("notes", "3.11", "ipykernel"), "-c", DRIVER, d + "/in.json", d + "/out.json"], env=environment(d, program),
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
    """As the notebook's server writes it: nbformat 4, texts as lists of lines."""
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
    """Of all, as the box's title says it."""
    found = re.search(r"%s[^<]*?([0-9.]+) %%" % name, svg)
    check(found, "no %s in the picture" % name)
    return float(found[1]) / 100


@case
def shows_where():
    """A cell's sentence, picture, output and value; the planted function has the share that the kernel's clock says."""
    with folder() as d:
        cells = ("%load_ext krait", SPIN, MEASURED, "%krait planted_little(0.4)", "%krait", "%%krait -F 100\nplanted_much(0.4)")
        outputs = run_cells(d, *cells)
        text, svg = text_of(outputs[2]), picture_of(outputs[2])
        truth, seconds = map(float, re.search("truth ([0-9.]+) ([0-9.]+)", text).groups())
        n = seconds * 999
        much, little = share_in(svg, "planted_much"), share_in(svg, "planted_little")
        error = 3 * (truth * (1 - truth) / n) ** 0.5
        check(abs(much / (much + little) - truth) < error + 0.001, "%.4f and %.4f, %.4f of the time" % (much, little, truth))
        check(much + little > 0.9, "%.4f and %.4f of all" % (much, little))
        check("<title>&lt;module&gt;\n/tmp/ipykernel_" in svg and not re.search("run_cell|krait/notebook", svg), re.findall("<title>(.*\n.*)", svg)[:12])
        check(re.search(r"% of the CPU time is at In \[\d+\].*planted_much", text), text)
        check(any(o.get("data", {}).get("text/plain") == "'the value'" for o in outputs[2]), "no value")
        check("planted_little" in text_of(outputs[3]) and "planted_little" in picture_of(outputs[3]), text_of(outputs[3]))
        check("%%krait [OPTIONS" in text_of(outputs[4]), text_of(outputs[4]))
        check("100 Hz" in picture_of(outputs[5]), "options")
        check(len(notebook(cells[2:3], outputs[2:3])) < MOST_BYTES, "too large")


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
    """A cell that fails fails once; one without rights runs, and has the command that helps; options that krait doesn't know are said."""
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


if __name__ == "__main__":
    sys.exit(kit.main())
