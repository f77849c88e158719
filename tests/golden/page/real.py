# SPDX-License-Identifier: BSD-2-Clause
"""real.py: the page that `krait record -- python app.py` writes, in a headless Chromium. The
test knows which line of the program is hot, and which expression of the line runs nearly always.
Every command that reads profiles must read the page."""

import ast
import collections
import glob
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import browser

sys.argv[1:] = [browser.folder()]
import page  # noqa: E402  pylint: disable=wrong-import-position
from page import equal, no_errors, open_page, press, until  # noqa: E402  pylint: disable=wrong-import-position

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
KRAIT = ROOT / os.environ.get("KRAIT", "build/release/krait")
PROGRAM = '''\
import time


def spin(n):
    return sum(i * i for i in range(n))


def cheap(n):
    return n


def work(n):
    name = "\u00fc\u4e00"; made = [cheap(n), spin(n), cheap(n)]
    return name, made


while time.process_time() < 1:
    work(2000)
'''
# {function: (its hot line, the expression of the line that runs nearly always)}
HOT = {"work": (13, "spin(n)"), "spin": (5, "sum(i * i for i in range(n))")}


def krait(*args):
    return subprocess.run([KRAIT, *args], check=True, capture_output=True, timeout=60).stdout.decode()


def record(folder):
    """Records a page. Returns the page's path, which krait prints last."""
    (folder / "app.py").write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run([KRAIT, "record", "--", sys.executable, "app.py"], cwd=folder, capture_output=True, text=True, timeout=100, check=True)
    told = done.stderr.splitlines()[-1].split()[-1]
    equal(glob.glob("krait-app.py-*.html", root_dir=folder), [told], "the page beside the program")
    return folder / told


def lines(b, path):
    """The hottest line of a function has nearly all of the function's time, the text of the line is
    the file's, and the expression is underlined."""
    open_page(b, path.name)
    until(b, "document.querySelectorAll('#table tbody tr').length > 0", "no rows")
    press(b, "Total")
    text = PROGRAM.splitlines()
    for name, (line, expression) in HOT.items():
        press(b, name)
        shown = b.js("""[...document.querySelectorAll('#lines tbody tr')].map((tr) => [tr.querySelector('th').textContent,
            parseFloat(tr.querySelectorAll('.n')[1].textContent || '0'), tr.querySelector('code').textContent, tr.querySelector('u') && tr.querySelector('u').textContent])""")
        for n, _, code, _ in shown:
            equal(code, text[int(n) - 1], f"line {n}")
        n, total, _, underlined = max(shown, key=lambda row: row[1])
        equal([int(n), underlined], [line, expression], f"the hottest line of {name}")
        assert total > 80, (name, total)
    no_errors(b)


def first_sentence(b, path):
    """The first sentence on the page names the function that takes the program's time. The report's
    first sentence is the same."""
    open_page(b, path.name)
    # The header may begin with a sentence about how much of the time the program had a CPU.
    said = b.js("[...document.querySelectorAll('#headline span')].map((e) => e.textContent)")
    assert "app.py:5" in said[-1] and "spin" in said[-1], said
    equal([line.rstrip(".") for line in krait("report", path).split("\n")[:len(said)]], said, "the report's first sentences")
    no_errors(b)


def read_back(path):
    """report, merge and diff can read the page: report has all samples once, merge of the page with
    itself has them twice, and diff finds no change."""
    def counts(*args):
        out = collections.Counter()
        for line in krait(*args, "--format", "folded", "-o", "-").splitlines():
            stack, n = line.rsplit(" ", 1)
            out[stack] += int(n)
        return out

    samples = sum(sum(s["values"][:1]) for s in map(json.loads, krait("report", path, "--format", "jsonl", "-o", "-").splitlines()) if s["type"] == "sample")
    once, twice = counts("report", path), counts("merge", path, path)
    assert samples > 500, samples
    equal(sum(once.values()), samples, "samples")
    equal(twice, once + once, "merged")
    assert "no more than noise" in krait("diff", path, path).split("\n")[0], "diff"


def main():
    if os.geteuid() or subprocess.run([KRAIT, "doctor"], capture_output=True, timeout=60, check=False).returncode:
        print("SKIP page-real: krait can't record here")
        return 0
    page.pages.chmod(0o755)  # as root, krait shows files of root only if everybody may read them
    path = record(page.pages)
    bad = page.run("page-real-read-back", read_back, path)
    if not browser.find():
        print("SKIP page-real-lines: no Chromium")
    elif sys.version_info < (3, 11):
        print("SKIP page-real-lines: this python3 has no columns")
    else:
        assert ast.get_source_segment(PROGRAM, ast.parse(PROGRAM).body[3].body[1].value.elts[1]) == HOT["work"][1]
        with browser.Browser(1400, 800) as b:
            bad += page.run("page-real-lines", lines, b, path)
            bad += page.run("page-real-first-sentence", first_sentence, b, path)
    return bad


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
