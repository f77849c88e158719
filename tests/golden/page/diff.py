# SPDX-License-Identifier: BSD-2-Clause
"""diff.py: the page of `krait diff`, driven in a headless Chromium. KEEP=DIR leaves the pages
there.

The truth is arithmetic on two profiles that are written here, a sample a millisecond of CPU time:

    before, 10 s:  main > work 1000, main > work > deflate 1000, main > same 1000, main > gone 500
    after, 8 s:    main > work 1200, main > work > deflate 1200, main > same  800, main > new  480

in ms/s: work 200 and 300, same 100 and 100, gone 50 and 0, new 0 and 60, all 350 and 460. How much
work was done isn't known, so diff compares shares: work 57.1 and 65.2 %, same 28.6 and 21.7, gone
14.3 and 0, new 0 and 13.0. A seed draws the order of the stacks, so that noise is small and not 0.
On the two sides the program's file is in different folders, and its functions are on different
lines.

large.html has more boxes than are shown at once: both sides also have one sample of main > many >
x > y > z for each choice of x, y and z among 28 functions. In ms/s: many 2195.2 and 2744, all
2545.2 and 3204; the means of both sides are 2469.6 and 2874.6.
"""

import base64
import collections
import itertools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import browser

sys.argv[1:] = [browser.folder()]
import page  # noqa: E402  pylint: disable=wrong-import-position
from page import at, equal, find, matched, no_errors, open_page, press, rows, tip  # noqa: E402  pylint: disable=wrong-import-position

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
KRAIT = ROOT / os.environ.get("KRAIT", "build/release/krait")
BEFORE = {"main;work": 1000, "main;work;deflate": 1000, "main;same": 1000, "main;gone": 500}
AFTER = {"main;work": 1200, "main;work;deflate": 1200, "main;same": 800, "main;new": 480}
MS = 1000000
HOSTILE = ["</title><script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "\"onload=\"alert(1)",
           "<script type=\"application/octet-stream\" id=\"krait-before\">AAAA</script>", "__proto__", "\u202eright to left"]


def write(name, counts, seconds, first_line, directory, threads=None, labels=(), comments=()):
    """Writes a profile as JSON lines. A seed draws the order of the stacks; samples have equal
    distances in time."""
    out = [{"type": "krait", "version": 1, "sample_types": [{"type": "samples", "unit": "count"}, {"type": "cpu", "unit": "nanoseconds"}],
            "default_sample_type": 1, "period_type": {"type": "cpu", "unit": "nanoseconds"}, "period": MS,
            "duration_nanos": seconds * 10 ** 9, "comments": ["cwd: " + directory, *comments]},
           {"type": "mapping", "id": 1, "name": "[python 3.12]"}, {"type": "mapping", "id": 2, "name": "/usr/lib/libz.so.1"}]
    frames, samples = {}, []
    for i, stack in enumerate(counts, 1):
        for f in stack.split(";"):
            if f not in frames:
                frames[f] = len(frames) + 1
                where = {} if f == "deflate" else {"file": directory + "/app.py", "start_line": first_line + 10 * len(frames),
                                                   "line": first_line + 10 * len(frames) + 1}
                out.append({"type": "frame", "id": frames[f], "mapping": 2 if f == "deflate" else 1, "name": f, **where})
        out.append({"type": "stack", "id": i, "frames": [frames[f] for f in stack.split(";")]})
        thread = (threads or {}).get(stack.split(";")[-1], "")
        out.append({"type": "labels", "id": i, "labels": {"pid": str(first_line), "process": name, "tid": str(first_line + len(thread)),
                                                          "thread": thread or "main", **dict(labels)}})
        samples += [i] * counts[stack]
    random.Random(1).shuffle(samples)
    for k, i in enumerate(samples):
        out.append({"type": "sample", "stack": i, "labels": i, "time": k * seconds * 10 ** 9 // len(samples), "values": [1, MS]})
    path = page.pages / (name + ".jsonl")
    path.write_text("".join(json.dumps(line) + "\n" for line in out))
    return path


def krait(*args):
    return subprocess.run([KRAIT, *args], check=True, capture_output=True, timeout=60).stdout.decode()


def make():
    threads = {"gone": "worker", "new": "worker"}
    a = write("a", BEFORE, 10, 1, "/srv/v1", threads)
    b = write("b", AFTER, 8, 3, "/srv/v2", threads)
    krait("diff", a, b, "-o", page.pages / "diff.html")
    krait("diff", a, b, "--by", "thread", "-o", page.pages / "by.html")
    krait("diff", a, b, "--per", "requests=1000,2000", "-o", page.pages / "per.html")
    one, two = (write(n, c, 10, 1, "/srv", labels=[("version", v)]) for n, c, v in (("one", BEFORE, "1"), ("two", AFTER, "2")))
    krait("merge", one, two, "-o", page.pages / "both.pb.gz")
    krait("diff", page.pages / "both.pb.gz", "--a", "version=1", "--b", "version=2", "-o", page.pages / "labels.html")
    ended = [write("ended-" + n, c, s, 1, "/srv", comments=["ended: 0"]) for n, c, s in (("a", BEFORE, 10), ("b", AFTER, 8))]
    krait("diff", *ended, "-o", page.pages / "runs.html")
    many = {"main;many;" + ";".join(f"{k}{i}" for k, i in zip("xyz", at)): 1 for at in itertools.product(range(28), repeat=3)}
    large = [write("large-" + n, {**c, **many}, s, 1, "/srv") for n, c, s in (("a", BEFORE, 10), ("b", AFTER, 8))]
    krait("diff", *large, "-o", page.pages / "large.html")
    for name, last in (("left", "gone 10"), ("right", "new 10")):
        (page.pages / f"{name}.folded").write_text(f"main;a 30\nmain;b 20\nmain;{last}\n")
    krait("diff", page.pages / "left.folded", page.pages / "right.folded", "-o", page.pages / "folded.html")
    bad = [write(f"<script>alert({n})", {f"{h};{h}": 50 + n for h in HOSTILE}, 1, 1, "<b>", labels=[(HOSTILE[0], HOSTILE[1])])
           for n in (1, 2)]
    krait("diff", *bad, "-o", page.pages / "hostile.html")
    return a, b


def table(b):
    """Returns for each row of the table {name: for each of its cells (the change, the change in
    percent, both costs)}."""
    cells = b.js("""Object.fromEntries([...document.querySelectorAll('#table tbody tr')].map((tr) => [tr.querySelector('.name').textContent,
        [...tr.querySelectorAll('td')].map((td) => [...td.querySelectorAll('span')].map((e) => e.textContent.replace(/\\u00a0/g, ' ')))]))""")
    return {name: [tuple(c) for c in row] for name, row in cells.items()}


def numbers(b):
    """The table shows for each function how its own cost and its total changed, and what they were
    before and after. Native code counts for its caller. The rows with the largest change come
    first."""
    open_page(b, "diff.html")
    got = table(b)
    equal(got["work"], [("+8.1 pt *", "", "200 ms/s \u2192 300 ms/s")] * 2, "work")
    equal(got["gone"], [("\u221214.3 pt *", "gone", "50 ms/s \u2192 0 ms/s")] * 2, "gone")
    equal(got["new"], [("+13.0 pt *", "new", "0 ms/s \u2192 60 ms/s")] * 2, "new")
    equal(got["same"], [("\u22126.8 pt *", "", "100 ms/s \u2192 100 ms/s")] * 2, "same")
    equal(got["deflate"], [("\u2013",), ("+4.0 pt *", "", "100 ms/s \u2192 150 ms/s")], "deflate")
    equal(got["main"][1][0], "0.0 pt", "main")
    equal([r[0] for r in rows(b)][:4], ["gone", "new", "work", "same"], "by the change of self")
    press(b, "Total")
    # main's total is all samples on both sides, so its share can't change, and main is the last
    # row.
    equal([r[0] for r in rows(b)], ["gone", "new", "work", "same", "deflate", "main"], "by the change of the total")
    equal(b.js("document.querySelector('#tabs').innerText.split(/\\s+/).length"), 5, "tabs: no labels but the sides")
    press(b, "Threads")
    equal({k: v[0][2] for k, v in table(b).items()}, {"main": "300 ms/s \u2192 400 ms/s", "worker": "50 ms/s \u2192 60 ms/s"}, "threads")
    said = b.js("document.querySelector('#numbers').textContent")
    assert "350 ms per second before, 460 ms per second after (+31.4 %)" in said and "give the amount of work, as in --per" in said and "block permutation over time" in said, said
    assert "a change without * may be chance" in said, said
    no_errors(b)


def verdicts(b, a_path, b_path):
    """The page marks the same functions as changed as `krait diff` in the terminal does."""
    told = {f["name"].split(".")[-1]: [mark for w in ("own", "total") for mark in (f[w]["share_changed"], f[w]["changed"])]
            for f in json.loads(krait("diff", a_path, b_path, "--json"))["functions"]}
    open_page(b, "diff.html")
    for name, cells in table(b).items():
        marks = [text.endswith("*") for cell in cells for text in (cell[:2] if len(cell) > 1 else ("", ""))]
        equal(marks, told[name], name)


def terminal(a_path, b_path):
    """The page shows the same numbers as `krait diff` in the terminal."""
    text = subprocess.run([KRAIT, "diff", a_path, b_path], check=True, capture_output=True, timeout=60, env={**os.environ, "COLUMNS": "100"}).stdout.decode()
    got = {line.split()[-1].split(".")[-1]: " ".join(line.split()[:-1]) for line in text.split("\n\n")[1].split("\n")}
    equal({name: got[name] for name in ("function", "work", "gone", "new", "same")}, {
        "function": "before after own total", "work": "57.1 % 65.2 % +8.1 pt* +8.1 pt*", "gone": "14.3 % 0.0 % -14.3 pt* -14.3 pt*",
        "new": "0.0 % 13.0 % +13.0 pt* +13.0 pt*", "same": "28.6 % 21.7 % -6.8 pt* -6.8 pt*"}, "rows")
    assert "main" not in got, "no cost of its own, and no change of the total that is more than noise"
    first = text.split("\n", 1)[0]
    assert first.startswith("CPU time: 350 ms per second before, 460 ms per second after (+31.4 %). Of that, the share of app.new grew most, from 0.0 to "
                            "13.0 %; the share of app.gone fell most, from 14.3 to 0.0 %. How much work was done isn't known"), text


def pixel(b, share, depth, down):
    return b.js("""(() => { const c = document.querySelector('#canvas');
        return [...c.getContext('2d').getImageData(Math.round(c.width * %r), %d, 1, 1).data].slice(0, 3); })()""" % (share, 18 * depth + down))


def picture(b):
    """A box is as wide as the mean of both sides (work 250, new 30, gone 25, same 100 of 405 ms/s).
    The largest change comes first. Red is more and blue is less. Each box has a bar for the cost
    before and a bar for the cost after; a bar is empty if its side doesn't have the path."""
    places = {"work": 0.3, "new": 0.65, "gone": 0.72, "same": 0.9}
    for dark in (False, True):
        b.scheme(dark)
        open_page(b, "diff.html")
        colour = {name: pixel(b, share, 2, 1) for name, share in places.items()}
        assert colour["new"][0] > colour["new"][2] + 60 and colour["work"][0] > colour["work"][2] + 30, colour
        assert colour["gone"][2] > colour["gone"][0] + 60, colour
        assert 12 < colour["same"][2] - colour["same"][0] < colour["gone"][2] - colour["gone"][0], colour
        bars = {name: [pixel(b, share, 2, down) != colour[name] for down in (14, 16)] for name, share in places.items()}
        equal(bars, {"work": [True, True], "new": [False, True], "gone": [True, False], "same": [True, True]}, "bars")
        equal(pixel(b, 0.55, 2, 14), colour["work"], "beyond 2/3 of the box, where work's bar of before ends")
        b.screenshot(page.pages / f"diff-{'dark' if dark else 'light'}.png")
    b.scheme(False)
    b.resize(400, 700)
    assert b.js("document.querySelector('#canvas').clientWidth") == 400, "the picture of a narrow page"
    assert b.js("document.documentElement.scrollWidth <= innerWidth"), "wider than the screen"
    b.resize(1400, 800)
    for name, share in places.items():
        b.mouse("mouseMoved", *at(b, share, 2))
        assert tip(b).startswith(name + "\n"), (name, tip(b))
        equal("itself\t50 ms/s\t0 ms/s\tgone\t\u221214.3 pt" in tip(b), name == "gone", tip(b))
    b.mouse("mouseMoved", *at(b, 0.3, 2))
    assert "total\t200 ms/s\t300 ms/s\t+50.0 %\t+8.1 pt\nitself\t100 ms/s\t150 ms/s" in tip(b), tip(b)
    assert "More than noise in this function: its own cost and its total" in tip(b), tip(b)
    no_errors(b)


def keyboard(b):
    open_page(b, "diff.html")
    b.js("document.querySelector('#canvas').focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
        b.key(key)
    equal(b.js("document.querySelector('#live').textContent.replace(/\\u00a0/g, ' ')"),
          "gone, /srv/v1/app.py:51, before 50 ms/s, after 0 ms/s, gone", "said")
    b.key("Enter")
    equal(page.crumbs(b)[1:], ["main", "gone"], "Enter")
    no_errors(b)


def filters(b):
    """Filters by thread, time and search apply to both sides. krait judged noise without filters,
    so the page marks nothing as changed."""
    open_page(b, "diff.html")
    press(b, "Threads")
    press(b, "worker")
    equal(b.js("document.querySelector('#chips .note').textContent.replace(/\\u00a0/g, ' ')"), "14.3 % of before, 13.0 % of after is shown; noise is judged for all only", "shown")
    press(b, "Functions")
    equal(table(b)["gone"][0], ("\u221214.3 pt", "gone", "50 ms/s \u2192 0 ms/s"), "no mark")
    assert "work" not in table(b), "the other thread"
    # Samples have equal distances in time, so a rate is the same in the first 4 s.
    open_page(b, "diff.html", "#t=0-4000000000")
    b.mouse("mouseMoved", *at(b, 0.5, 0))
    assert "total\t350 ms/s\t460 ms/s\t+31.4 %" in tip(b), tip(b)
    open_page(b, "diff.html")
    for text, want in (("work", "1 function, 57.1 % of before, 65.2 % of after"), ("gone", "1 function, 14.3 % of before, 0.0 % of after"),
                       ("app.py:42", "1 function, 28.6 % of before, 0.0 % of after"), ("/^(gone|new)$/", "2 functions, 14.3 % of before, 13.0 % of after")):
        find(b, text)
        equal(matched(b), want, text)
    no_errors(b)


def library(b):
    """While library frames are hidden, the page says how much time library code without the user's
    code takes, on both sides."""
    whole = write("stdlib", BEFORE, 10, 1, "/usr/lib/python3.12")
    krait("diff", whole, whole, "-o", page.pages / "stdlib.html")
    open_page(b, "stdlib.html")
    equal(b.js(page.CHIPS), "", "all is shown")
    page.choose(b, "Library frames", "hidden")
    equal(b.js(page.CHIPS), "100.0 % of before, 100.0 % of after is library code that none of yours called", "its part")
    no_errors(b)


def other_pictures(b):
    """The pictures of callers, of callees and of stacks from the leaf also have the costs of both
    sides."""
    open_page(b, "diff.html", "#view=callers")
    # the largest change comes first: new +60, then gone -50, deflate and work +50
    b.mouse("mouseMoved", *at(b, 0.04, 1))
    assert tip(b).startswith("new\n") and "total\t0 ms/s\t60 ms/s\tnew" in tip(b), tip(b)
    open_page(b, "diff.html")
    press(b, "work")
    press(b, "One function")
    b.mouse("mouseMoved", *at(b, 0.2, 1))
    assert tip(b).startswith("work\n") and "total\t200 ms/s\t300 ms/s\t+50.0 %" in tip(b), tip(b)
    b.mouse("mouseMoved", *at(b, 0.2, 2))
    assert tip(b).startswith("deflate\n") and "total\t100 ms/s\t150 ms/s" in tip(b), tip(b)
    for name, of, cost in (("Callers", "main", "200 ms/s \u2192 300 ms/s"), ("Callees", "deflate", "100 ms/s \u2192 150 ms/s")):
        press(b, name)
        equal({f: [cell[2] for cell in cells] for f, cells in table(b).items()}, {of: [cost, cost]}, name)
    press(b, "Functions")
    lines = b.js("[...document.querySelectorAll('#lines tbody tr')].map((e) => e.innerText.replace(/\\u00a0/g, ' '))")
    equal(sorted(lines), ["\t300 ms/s\tnew\t24", "200 ms/s\t\tgone\t22"], "lines: each side's own")
    no_errors(b)


BOTH = ("def run(n):", "    a = n", "    b = a * a")
FILES = {"v1": (*BOTH, "    slow(b)"), "v2": ("import fast", "", *BOTH, "    fast.quick(b)")}
# {version of the file: {line: number of samples}}. Lines 2 and 3 of v1 have the same text as lines
# 4 and 5 of v2.
COUNTS = {"v1": {2: 100, 3: 200, 4: 300}, "v2": {4: 150, 5: 200, 6: 50}}


def source_profile(name, path):
    """Makes a profile of a second of CPU time in run(), divided between its lines. The recording
    began when @path had been written."""
    out = [{"type": "krait", "version": 1, "sample_types": [{"type": "cpu", "unit": "nanoseconds"}], "default_sample_type": 0,
            "time_nanos": time.time_ns() + 10 ** 9, "duration_nanos": 10 ** 9, "comments": ["cwd: /"]},
           {"type": "mapping", "id": 1, "name": "[python 3.12]"}]
    for line, n in COUNTS[name].items():
        out.append({"type": "frame", "id": line, "mapping": 1, "name": "run", "file": str(path),
                    "start_line": FILES[name].index("def run(n):") + 1, "line": line})
        out.append({"type": "stack", "id": line, "frames": [line]})
        out.append({"type": "sample", "stack": line, "values": [n * MS]})
    profile = page.pages / (name + "-source.jsonl")
    profile.write_text("".join(json.dumps(line) + "\n" for line in out))
    return profile


def source(b):
    """Lines are shown with the text of their own side's file. A line that both files have is one
    row, even if it moved. If a file isn't the one that ran, its text isn't shown. A page keeps
    its text when the file changes later."""
    def shown(out, *sides):
        krait("diff", *sides, "-o", page.pages / out)
        open_page(b, out)
        press(b, "run")
        return sorted(b.js("[...document.querySelectorAll('#lines tbody tr')].map((e) => e.innerText.replace(/\\u00a0/g, ' '))"))

    page.pages.chmod(0o755)  # as root, krait shows files of root only if everybody may read them
    paths = {name: page.pages / name / "app.py" for name in FILES}
    for name, path in paths.items():
        path.parent.mkdir()
        path.write_text("\n".join(FILES[name]) + "\n")
    one, two = (source_profile(name, path) for name, path in paths.items())
    want = sorted(["100 ms/s\t150 ms/s\t+50.0 %\t2 \u2192 4\ta = n", "200 ms/s\t200 ms/s\t0.0 %\t3 \u2192 5\tb = a * a",
                   "300 ms/s\t\tgone\t4\tslow(b)", "\t50 ms/s\tnew\t6\tfast.quick(b)"])
    equal(shown("source.html", "--source", one, two), want, "files as they were")
    kept = page.pages / "kept.html"
    krait("report", one, "--source", "-o", kept)
    time.sleep(1.1)  # waits, so that the file's new time is after the end of the recordings
    paths["v1"].write_text("def run(n):\n    not this\n" * 3)
    equal(shown("kept-diff.html", "--source", kept, two), want, "the text of a page")
    equal(shown("again.html", page.pages / "kept-diff.html"), want, "the text of a page of two")
    nonsense = base64.b64encode(b'[{"path":1,"runs":{"length":9}}]').decode()
    kept.write_text(re.sub(r'(id="krait-source">)[^<]*', r"\g<1>" + nonsense, kept.read_text()))
    equal(shown("nonsense.html", "--source", kept, two)[-1], "300 ms/s\t\tgone\t4\t", "a page with something else in the place of text")
    equal(shown("changed.html", "--source", one, two), sorted(["100 ms/s\t\tgone\t2\t", "200 ms/s\t\tgone\t3\t", "300 ms/s\t\tgone\t4\t",
        "\t150 ms/s\tnew\t4\ta = n", "\t200 ms/s\tnew\t5\tb = a * a", "\t50 ms/s\tnew\t6\tfast.quick(b)"]), "one file changed")
    assert "Before: The file changed after" in b.js("document.querySelector('#lines').textContent")
    equal(shown("none.html", "--no-source", kept, two), sorted(["100 ms/s\t\tgone\t2", "200 ms/s\t\tgone\t3",
        "300 ms/s\t150 ms/s\t\u221250.0 %\t4", "\t200 ms/s\tnew\t5", "\t50 ms/s\tnew\t6"]), "--no-source")
    no_errors(b)


def measures(b):
    """If the user counts the work, the page shows costs per unit of work. The page can compare two
    label sets of one recording. If profiles have no times, it compares only shares."""
    open_page(b, "per.html")
    equal(table(b)["work"][0][2], "2.00 ms \u2192 1.20 ms", "work for a request")
    open_page(b, "runs.html")
    equal(table(b)["work"][0][1:], ("+20.0 % \u00b7 +8.1 pt *", "2.00 s \u2192 2.40 s"), "work for a run")
    assert b.js("document.querySelector('#numbers').textContent").startswith(
        "Per run (both commands ran to their end), app.gone is gone: it took 500 ms of CPU time. "), b.js("document.querySelector('#numbers').textContent")
    open_page(b, "labels.html")
    equal(table(b)["work"][0][2], "200 ms/s \u2192 240 ms/s", "version 1 and 2")
    equal(b.js("document.querySelector('#table tbody .note').textContent"), "app.py:51", "a file is cut after the process's directory")
    open_page(b, "folded.html")
    equal(table(b)["gone"][0], ("\u221216.7 pt *", "gone", "16.7 % \u2192 0.0 %"), "shares")
    no_errors(b)


def early(b):
    """The first picture of a large page is drawn before the samples are read: its numbers are
    right, and stay the same afterwards."""
    said = {"main": "2545 ms/s\t3204 ms/s\t+25.9 %\t0.0 pt", "many": "2195 ms/s\t2744 ms/s\t+25.0 %\t\u22120.6 pt",
            "work": "200 ms/s\t300 ms/s\t+50.0 %\t+1.5 pt", "deflate": "100 ms/s\t150 ms/s\t+50.0 %\t+0.8 pt",
            "new": "0 ms/s\t60 ms/s\tnew\t+1.9 pt", "gone": "50 ms/s\t0 ms/s\tgone\t\u22122.0 pt",
            "same": "100 ms/s\t100 ms/s\t0.0 %\t\u22120.8 pt"}
    # (box, row, left edge, right edge). The edges are in ms/s, the mean of both sides. Siblings are
    # in the order of their change, the largest first.
    boxes = [("main", 1, 0, 2874.6), ("many", 2, 0, 2469.6), ("work", 2, 2469.6, 2719.6), ("deflate", 3, 2469.6, 2594.6),
             ("new", 2, 2719.6, 2749.6), ("gone", 2, 2749.6, 2774.6), ("same", 2, 2774.6, 2874.6)]
    picture = """(() => { const c = document.querySelector('#canvas'), w = c.width;
        return w + ' ' + [...c.getContext('2d').getImageData(0, 0, w, 18 * 5).data]; })()"""

    def told(itself):
        for name, depth, left, right in boxes:
            for x in (left + 2, right - 2):
                b.mouse("mouseMoved", *at(b, x / 2874.6, depth))
                text = tip(b)
                assert text.startswith(name + "\n") and "total\t" + said[name] in text, (name, x, text)
                equal("itself" in text, itself, name)
        b.mouse("mouseMoved", *at(b, 0.01, 4))
        equal("total\t2.80 ms/s\t3.50 ms/s\t+25.0 %" in tip(b), True, tip(b))
        b.mouse("mouseMoved", *at(b, 0, -2))

    page.open_early(b, page.pages / "large.html")
    assert "2545 ms per second before, 3204 ms per second after" in b.js("document.querySelector('#numbers').textContent")
    told(False)
    before = b.js(picture)
    page.let_go(b)
    told(True)
    equal(b.js(picture) == before, True, "the picture as it was")
    for depth in (3, 4):
        b.click(*at(b, 0.1, depth))
    b.mouse("mouseMoved", *at(b, 0.1, 5))
    assert tip(b).startswith("z") and "total\t0.10 ms/s\t0.1" in tip(b), tip(b)
    no_errors(b)


def hostile(b):
    open_page(b, "hostile.html")
    assert HOSTILE[0] in table(b), table(b)
    for share in (0.05, 0.5, 0.95):
        b.mouse("mouseMoved", *at(b, share, 2))
        b.click(*at(b, share, 1))
    press(b, "Threads")
    equal(b.js("document.querySelectorAll('img, b:not(#legend b, #tip b), #table script, #tip script').length"), 0, "elements made")
    no_errors(b)


def grouped(b):
    """With --by thread, threads with the same name on both sides count as one."""
    open_page(b, "by.html")
    heads = set()
    for x in (0.02, 0.5, 0.98):
        b.mouse("mouseMoved", *at(b, x, 1))
        heads.add(tip(b).split("\n")[0])
    equal(heads, {"main", "worker"}, "root frames")
    no_errors(b)


def saved(b):
    """Saving folded stacks writes two counts for each stack, one for each side, as FlameGraph's
    difffolded.pl does."""
    open_page(b, "diff.html")
    b.js("window.saved = {}; URL.createObjectURL = (blob) => { blob.text().then((t) => { window.saved[blob.type] = t; }); return 'blob:x'; };"
         "HTMLAnchorElement.prototype.click = () => {}; 0")
    for what in ("folded", "svg"):
        page.choose(b, "Save", what)
    page.until(b, "Object.keys(window.saved).length === 2", "not saved")
    lines = {line.rsplit(" ", 2)[0].split(";")[-1].split(" (")[0]: line.rsplit(" ", 2)[1:] for line in b.js("window.saved['text/plain']").splitlines()}
    equal(lines["gone"] + lines["work"], ["500", "0", "1000", "1200"], "folded")
    assert "gone" in b.js("window.saved['image/svg+xml']")
    no_errors(b)


def read_back(a_path, b_path):
    """The page contains both recordings. krait can make the same comparison from the page, and can
    write each recording from it."""
    name = page.pages / "diff.html"
    equal(json.loads(krait("diff", name, "--json")), json.loads(krait("diff", a_path, b_path, "--json")), "krait diff of the page")
    for side, counts in (("before", BEFORE), ("after", AFTER)):
        out = collections.Counter()
        for line in krait("report", name, "--label", "diff=" + side, "--format", "folded").splitlines():
            stack, n = line.rsplit(" ", 1)
            out[";".join(f.split(" ")[0] for f in stack.split(";"))] += int(n)
        equal(out, counts, side)


def main():
    a, b = make()
    bad = page.run("page-diff-self-contained", page.self_contained)
    bad += page.run("page-diff-read-back", read_back, a, b)
    bad += page.run("page-diff-terminal", terminal, a, b)
    if not browser.find():
        print("SKIP page-diff-browser: no Chromium")
        return bad
    with browser.Browser(1400, 800) as screen:
        for test in (numbers, picture, keyboard, filters, library, other_pictures, source, measures, early, grouped, hostile, saved):
            screen.errors.clear()
            bad += page.run("page-diff-" + test.__name__.replace("_", "-"), test, screen)
        bad += page.run("page-diff-verdicts", verdicts, screen, a, b)
        code, axe = page.axe_script()
        if code:
            print(f"SKIP page-diff-accessible: {axe}")
        else:
            bad += page.run("page-diff-accessible", page.accessible, screen, axe,
                            (("diff.html", ""), ("diff.html", "#view=sandwich&f=5&table=threads"), ("diff.html", "#view=sandwich&f=2&table=callers"), ("folded.html", "#table=files&q=a")))
    return bad


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
