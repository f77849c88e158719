# SPDX-License-Identifier: BSD-2-Clause
"""page.py DIR: checks the pages that tests/unit/picture/test_render_html.c left in DIR.

What shares.html must show is written down here, by hand, from the samples in that test: 100
samples, main > a 30, main > b:4 > a 20, main > b:5 10, main > deflate 25, main > do_syscall_64 15.
"""

import base64
import collections
import gzip
import hashlib
import itertools
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import time
import traceback
import xml.etree.ElementTree as ET

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import browser
import pdf

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "oracle"))
from judge import pprof  # noqa: E402  pylint: disable=wrong-import-position

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent.parent / "bench"))
import page as bench  # noqa: E402  pylint: disable=wrong-import-position

KRAIT = os.environ.get("KRAIT", "build/release/krait")
ROW = 18
pages = pathlib.Path(sys.argv[1])


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: {got!r}, not {want!r}")


# The tests from here on need no browser.

def self_contained():
    """A page refers to nothing outside its file. Its security policy allows only its own script and
    style."""
    for path in sorted(pages.glob("*.html")):
        text = path.read_text()
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
        assert policy.startswith("default-src 'none'; "), policy
        assert "unsafe" not in policy and "http" not in policy and "*" not in policy, policy
        for kind, tag in (("script", "<script>"), ("style", "<style>")):
            equal(text.count(tag), 1, f"{path.name}: {tag}")
            body = text.split(tag, 1)[1].split(f"</{kind}>", 1)[0]
            pin = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
            assert f"{kind}-src 'sha256-{pin}'" in policy, (path.name, kind)
        outside = re.sub(r"<script>.*?</script>", "", text, flags=re.S)
        assert not re.search(r"\s(src|href|on\w+)=", outside), path.name
        assert "url(" not in text and "@import" not in text, path.name


def recording():
    """A reader other than krait's reads the recording in shares.html, and finds the samples that
    the test wrote by hand."""
    text = (pages / "shares.html").read_text()
    data = text.split('id="krait-recording">', 1)[1].split("<", 1)[0]
    profile = pprof.Profile(gzip.decompress(base64.b64decode(data)))
    counts = collections.Counter()
    for sample in profile.samples:
        counts[";".join(f"{x.name}:{x.line}" for x in profile.stack(sample))] += sample.values[0]
    equal(counts, {"main:10;a:3": 30, "main:10;b:4;a:3": 20, "main:10;b:5": 10,
                   "main:10;deflate:0": 25, "main:10;do_syscall_64:0": 15}, "samples")


# The tests from here on need a browser.

def made(name, samples, values=(("samples", "count"),), **head):
    """Makes a page of @samples: (frames, labels, values[, time]). A frame is given as the name of a
    function in app.py, or as a dict of all members."""
    lines = [{"type": "krait", "version": 1, "sample_types": [{"type": t, "unit": u} for t, u in values], "duration_nanos": 10 ** 9, **head}]
    for i, (stack, of, amounts, *when) in enumerate(samples, 1):
        frames = [{"mapping": "[python 3.12]", "file": "/srv/app.py", "name": f} if isinstance(f, str) else f for f in stack]
        for k, f in enumerate(frames):
            lines += [{"type": "mapping", "id": 1000 * i + k, "name": f["mapping"]},
                      {"type": "frame", **f, "id": 1000 * i + k, "mapping": 1000 * i + k}]
        lines += [{"type": "stack", "id": i, "frames": [1000 * i + k for k in range(len(frames))]},
                  *([{"type": "labels", "id": i, "labels": of}] if of else []),
                  {"type": "sample", "stack": i, **({"labels": i} if of else {}), "values": amounts, **({"time": when[0]} if when else {})}]
    subprocess.run([KRAIT, "report", "-", "-o", pages / name], check=True, timeout=60, text=True, input="".join(json.dumps(line) + "\n" for line in lines))


def marks(b, name):
    return b.js(f"performance.getEntriesByName('{name}').length")


def until(b, condition, what):
    end = time.monotonic() + 20
    while not b.js(condition):
        assert time.monotonic() < end, what
        time.sleep(0.02)


def open_page(b, name, fragment="", code="all"):
    """Opens a page in which each native function has a row and each frame has a box, because the
    tests count whole stacks. With @code "", opens the page as a reader first sees it."""
    b.open("/dev/null")
    words = [word for word in (code and "code=" + code, code and "library=" not in fragment and "library=shown", fragment.lstrip("#")) if word]
    b.open(pages / name, "#" + "&".join(words) if words else "")
    until(b, "performance.getEntriesByName('krait:ready').length > 0", f"{name}: no picture: {b.errors}")


def rows(b):
    """Returns (name, self, total) of each row of the table."""
    return b.js("""[...document.querySelectorAll('#table tbody tr:not(.group)')].map((tr) => [
        tr.querySelector('.name').textContent,
        ...[...tr.querySelectorAll('.share')].map((e) => e.textContent.replace('\\u00a0', ' '))])""")


def crumbs(b):
    return b.js("[...document.querySelectorAll('#crumbs button:not(.reset)')].map((e) => e.textContent)")


def matched(b):
    return b.js("document.querySelector('#matched').textContent.replace(/\\u00a0/g, ' ')")


def press(b, label):
    """Clicks the visible button that has this text or id."""
    where = b.js("""(() => {
        const e = [...document.querySelectorAll('button')].find((e) => (e.textContent === %r || e.id === %r) && e.offsetParent);
        e.scrollIntoView({block: 'nearest'});
        const r = e.getBoundingClientRect();
        return [r.x + r.width / 2, r.y + r.height / 2];
    })()""" % (label, label))
    b.click(*where)


def at(b, share, depth):
    """Returns the point (x, y) in row @depth of the picture. @share, from 0 to 1, is the place on
    the picture's width."""
    x, y, w, h = b.js("(() => { const r = document.querySelector('#canvas').getBoundingClientRect();"
                      "return [r.x, r.y, r.width, r.height]; })()")
    return x + w * share, y + (depth + 0.5) * ROW


def find(b, text):
    b.js("document.querySelector('#query').select(), document.querySelector('#query').focus()")
    b.js("document.querySelector('#query').value = ''")
    b.type(text)


def tip(b):
    return b.js("document.querySelector('#tip').hidden ? '' : document.querySelector('#tip').innerText.replace(/\\u00a0/g, ' ')")


def no_errors(b):
    equal(b.errors, [], "console errors")


def numbers(b):
    """The shares in the table equal those of the samples that the test wrote by hand."""
    open_page(b, "shares.html")
    equal(rows(b), [["a", "50.0 %", "50.0 %"], ["deflate", "25.0 %", "25.0 %"],
                    ["do_syscall_64", "15.0 %", "15.0 %"], ["b", "10.0 %", "30.0 %"],
                    ["main", "0.0 %", "100.0 %"]], "functions")
    press(b, "Total")
    equal([r[0] for r in rows(b)], ["main", "a", "b", "deflate", "do_syscall_64"], "by total")
    equal(b.js("document.querySelector('[aria-sort=descending]').textContent"), "Total", "sorted by")
    press(b, "Files")
    equal([r[::2] for r in rows(b)], [["app.py", "100.0 %"], ["lib/a.py", "50.0 %"], ["lib/b.py", "30.0 %"]], "files")
    press(b, "Modules")
    equal(dict((r[0], r[1]) for r in rows(b))["libz.so.1"], "25.0 %", "modules")
    assert "100 samples · 100 ms CPU time in 10.0 s · 999 Hz" in b.js(
        "document.querySelector('#numbers').textContent.replace(/\\u00a0/g, ' ')")
    no_errors(b)


def python_functions(b):
    """On a page as a reader first sees it, native code counts for its Python caller's own share:
    main calls deflate (25 of 100 samples) and do_syscall_64 (15)."""
    open_page(b, "shares.html", code="")
    whole = [["a", "50.0 %", "50.0 %"], ["main", "40.0 %", "100.0 %"], ["b", "10.0 %", "30.0 %"]]
    equal(rows(b), whole, "Python functions")
    notes = "[...document.querySelectorAll('#table tbody .note')].map((e) => e.textContent.replace('\\u00a0', ' '))"
    until(b, notes + "[0].includes(' at ')", "no line beside a function")
    equal(b.js(notes), ["all of it at lib/a.py:3", "all of it at app.py:10", "all of it at lib/b.py:5"], "the line that has most of a function's own")
    assert "with native" in b.js("document.querySelector('#table thead th').textContent"), "what own has"
    open_page(b, "picture.html", code="")
    until(b, notes + "[0].includes(' at ')", "no line beside a function")
    equal(b.js(notes)[0], "21.4 of 28.6 % at lib/b.py:4", "a line that has a part of them")
    open_page(b, "shares.html", code="")
    press(b, "main")
    own = b.js("[...document.querySelectorAll('#lines tbody tr')].map((tr) => parseFloat(tr.querySelector('.n').textContent || '0'))")
    equal(round(sum(own), 1), 40.0, "its lines' own")
    press(b, "Native functions")
    equal([r[0] for r in rows(b)], ["a", "deflate", "do_syscall_64", "b", "main"], "all functions")
    own = b.js("[...document.querySelectorAll('#lines tbody tr')].map((tr) => parseFloat(tr.querySelector('.n').textContent || '0'))")
    equal(round(sum(own), 1), 0.0, "its lines' own without native code")
    press(b, "Native functions")
    equal(rows(b), whole, "Python functions again")
    no_errors(b)


def zoom(b):
    """A click, the wheel and keys zoom to a box. Boxes are drawn widest first: a 30, b 30, deflate
    25, do_syscall_64 15."""
    open_page(b, "shares.html")
    equal(crumbs(b), ["app.py"], "crumbs")
    b.click(*at(b, 0.45, 2))
    equal(crumbs(b), ["app.py", "main", "b"], "after a click")
    b.click(*at(b, 0.6, 3))
    equal(crumbs(b), ["app.py", "main", "b", "a"], "after a click in the zoomed picture")
    press(b, "main")
    equal(crumbs(b), ["app.py", "main"], "after a crumb")
    press(b, "reset")
    equal(crumbs(b), ["app.py"], "after the reset")
    b.mouse("mouseMoved", *at(b, 0.9, 2))
    before = marks(b, "krait:answer")
    for _ in range(20):
        x, y = at(b, 0.9, 2)
        b.mouse("mouseWheel", x, y, deltaX=0, deltaY=-120)
    assert marks(b, "krait:answer") > before, "a wheel isn't answered"
    b.mouse("mouseMoved", *at(b, 0.1, 2))
    assert tip(b).startswith("do_syscall_64"), tip(b)
    press(b, "reset")
    no_errors(b)


def search(b):
    open_page(b, "shares.html")
    for text, want in (("deflate", "1 function, 25.0 % of shown"), ("/^(a|b)$/", "2 functions, 60.0 % of shown"),
                       ("b.py:4", "1 function, 20.0 % of shown"), ("lib/b.py:5", "1 function, 10.0 % of shown"),
                       ("nothing", "0 functions, 0.0 % of shown"), ("/(/", "not a regular expression"), ("", "")):
        find(b, text)
        if not text:
            b.js("document.querySelector('#query').dispatchEvent(new Event('input'))")
        equal(matched(b), want, text)
    no_errors(b)


def installed_twice(b):
    """A library that is installed for two Pythons and in two virtual environments is one module.
    Search finds Python's dotted names."""
    def frame(name, file):
        return {"mapping": "[python 3.12]", "file": file, "name": name}
    stacks = [(3, "dumps", "/opt/a/lib/python3.13/json/encoder.py"), (2, "dumps", "/opt/b/lib/python3.9/json/encoder.py"),
              (4, "work", "/venv/a/lib/python3.9/site-packages/pkg/core.py"), (1, "work", "/venv/b/lib/python3.9/site-packages/pkg/core.py")]
    made("twice.html", [([frame(name, file), "main"], {}, [n]) for n, name, file in stacks])
    open_page(b, "twice.html")
    press(b, "Modules")
    equal(sorted(r[0] for r in rows(b)), ["/srv/app.py", "json", "pkg"], "modules")
    for text, want in (("json.encoder.dumps", "2 functions, 50.0 % of shown"), ("/^pkg[.]core[.]work$/", "2 functions, 50.0 % of shown"),
                       ("/^work$/", "2 functions, 50.0 % of shown"), ("app.main", "1 function, 100.0 % of shown")):
        find(b, text)
        equal(matched(b), want, text)
    no_errors(b)


def hover(b):
    open_page(b, "shares.html")
    b.mouse("mouseMoved", *at(b, 0.45, 2))
    text = tip(b)
    for part in ("b\n/srv/lib/b.py", "30.0 ms\t30\t30.0 %", "10.0 ms\t10\t10.0 %", "line 4", "66.7 %"):
        assert part in text, (part, text)
    no_errors(b)


def uncounted(b):
    """If a recording doesn't count samples, the page shows no number of samples."""
    recording, page = pages / "uncounted.jsonl", pages / "uncounted.html"
    recording.write_text("\n".join((
        '{"type":"krait","version":1,"sample_types":[{"type":"samples","unit":"count"},{"type":"space","unit":"bytes"}],'
        '"default_sample_type":1}',
        '{"type":"mapping","id":1,"name":"[unknown]"}', '{"type":"frame","id":1,"mapping":1,"name":"main"}',
        '{"type":"stack","id":1,"frames":[1]}', '{"type":"sample","stack":1,"values":[3,4000]}')) + "\n")
    subprocess.run([KRAIT, "report", recording, "-o", page], check=True, timeout=60)
    for view, want in (("flame", "\tvalue\tsamples\tof all\ntotal\t3.91 KiB\t3\t100.0 %"),
                       ("callers", "\tvalue\tof all\ntotal\t3.91 KiB\t100.0 %")):
        open_page(b, "uncounted.html", "#view=" + view)
        b.mouse("mouseMoved", *at(b, 0.5, 1))
        assert want in tip(b), (view, want, tip(b))
    no_errors(b)


def weighed(b):
    """Page and picture call a value "samples" only if it counts samples: not if it is a time, or
    counts objects or bytes. If the period is 1, they show no sampling rate."""
    stacks = [(["main", "f"], 4), (["main", "g"], 2)]
    time_type, heap = (("time", "nanoseconds"),), (("objects", "count"), ("space", "bytes"), ("live", "count"))
    for types, value, head, want, title in (
            (time_type, 0, "6.00 s time in 1.00 s", "time|of all|total|6.00 s|100.0 %", "6.00 s"),
            (heap, 1, "6 objects · 12 bytes space in 1.00 s", "value|objects|of all|total|12 bytes|6|100.0 %", "12 bytes, 6 objects"),
            (heap, 2, "6 objects · 18 live in 1.00 s", "live|objects|of all|total|18|6|100.0 %", "18 live, 6 objects"),
            (heap, 0, "6 objects in 1.00 s", "objects|of all|total|6|100.0 %", "6 objects")):
        made("weighed.html", [(stack, {}, [n * 10 ** 9] if types == time_type else [n, 2 * n, 3 * n]) for stack, n in stacks], types,
             default_sample_type=value, period_type=dict(zip(("type", "unit"), types[value])), period=1)
        open_page(b, "weighed.html")
        equal(b.js("document.querySelector('#numbers').textContent.replace(/\\u00a0/g, ' ')"),
              head if value or types == time_type else "6 objects", "header")
        b.mouse("mouseMoved", *at(b, 0.5, 1))
        assert want in tip(b).replace("\t", "|").replace("\n", "|"), tip(b)
        picture = pages / "weighed.svg"
        subprocess.run([KRAIT, "report", pages / "weighed.html", "-o", picture], check=True, timeout=60)
        root = ET.parse(picture).getroot()
        equal(root.find(".//*[@id='numbers']").text, head, "the picture's")
        equal(root.find(".//*[@id='boxes']//{*}title").text.split("\n")[1], "100.0 % of all, " + title, "a box's title")
    no_errors(b)


def periods(b):
    """In merged recordings samples may have different sampling periods. Then the page doesn't
    divide the time by one of these periods to get a number of samples."""
    made("periods.html", [(["main", "f"], {}, [2, 2000000]), (["main", "g"], {}, [1, 3000000])], (("samples", "count"), ("cpu", "nanoseconds")),
         default_sample_type=1, period_type={"type": "cpu", "unit": "nanoseconds"}, period=1000000)
    for view, row, want in (("flame", 2, "total\t3.00 ms\t1\t60.0 %"), ("callers", 1, "total\t3.00 ms\t60.0 %"),
                            ("callers&value=0", 1, "total\t2\t66.7 %")):
        open_page(b, "periods.html", "#view=" + view)
        b.mouse("mouseMoved", *at(b, 0.3, row))
        assert want in tip(b), (view, want, tip(b))
    no_errors(b)


def keyboard(b):
    open_page(b, "shares.html")
    b.js("document.querySelector('#canvas').focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        b.key(key)
    said = b.js("document.querySelector('#live').textContent.replace(/\\u00a0/g, ' ')")
    equal(said, "b, /srv/lib/b.py, 30.0 % of all, itself 10.0 %", "said")
    b.key("Enter")
    equal(crumbs(b), ["app.py", "main", "b"], "Enter")
    b.key("Backspace")
    equal(crumbs(b), ["app.py", "main"], "Backspace")
    b.key("0", "0")
    equal(crumbs(b), ["app.py"], "0")
    b.key("/", "/")
    b.type("a.py")
    b.key("Enter", "\r")
    equal(crumbs(b)[-1], "a", "Enter in the search")
    no_errors(b)


def turned(b):
    """A key and a button turn the picture: an icicle's root is at the top, a flame graph's at the
    bottom. In both, the arrow key that points towards the callees goes to a callee."""
    open_page(b, "shares.html")
    high = b.js("document.querySelector('#canvas').clientHeight") / ROW

    def names(*rows_up):
        return [tip_at(b, 0.1, high - up - 1).split("\n")[0] for up in rows_up]

    equal(boxes_below(b, 0.1, (0, 1, 2)), ["app.py", "main", "a"], "an icicle")
    for turn in (lambda: b.key("i", "i"), lambda: press(b, "Flip")):
        turn()
        equal(names(0, 1, 2), ["app.py", "main", "a"], "a flame graph")
        b.js("document.querySelector('#canvas').focus()")
        b.key("ArrowUp")
        assert b.js("document.querySelector('#live').textContent").startswith("main,"), "up is to the callee"
        press(b, "Flip")
        equal(boxes_below(b, 0.1, (0, 1, 2)), ["app.py", "main", "a"], "an icicle again")
        b.js("document.activeElement.blur()")
        b.key("0", "0")
    no_errors(b)


def hover_line(b):
    """The pointer on a box shows its function's file, with the whole path, and the line of its def.
    The title of the function's row in the table shows these too. (The row itself soon says which
    line takes the time.)"""
    made("def.html", [([{"mapping": "[python 3.12]", "file": "/srv/lib/deep/app.py", "name": "f", "start_line": 41, "line": 42}], {}, [5])])
    open_page(b, "def.html")
    assert tip_at(b, 0.5, 1).startswith("f\n/srv/lib/deep/app.py:41\n") and "line 42\t" in tip(b), tip(b)
    equal(b.js("document.querySelector('#table tbody .name').title"), "f\n/srv/lib/deep/app.py:41", "the row")
    no_errors(b)


def slept(b):
    """If a recording has time off the CPU, the timeline shows when a thread slept. In the test the
    thread ran from 0 to 2 s and slept from 2 to 6 s, of 8 s."""
    made("slept.html", [(["run"], {"thread": "t", "tid": "1"}, [10 ** 7, 0], 10 ** 7 * i) for i in range(200)] +
         [(["wait"], {"thread": "t", "tid": "1"}, [0, 10 ** 7], 10 ** 7 * i) for i in range(200, 600)],
         (("cpu", "nanoseconds"), ("off_cpu", "nanoseconds")), duration_nanos=8 * 10 ** 9)
    open_page(b, "slept.html")
    for value, want in ("0", (0, 2)), ("1", (2, 6)):
        press(b, ("CPU time", "time waiting")[int(value)])
        first, last = b.js("""(() => {
            const c = document.querySelector('#strip canvas'), wide = c.width - 166, {data} = c.getContext('2d').getImageData(150, 10, wide, 1), on = [];
            for (let x = 0; x < wide; x++)
                Math.max(...data.slice(4 * x, 4 * x + 3)) - Math.min(...data.slice(4 * x, 4 * x + 3)) > 50 && on.push(8 * x / wide);
            return [on[0], on.at(-1)];
        })()""")
        assert abs(first - want[0]) < 0.03 and abs(last - want[1]) < 0.03, (value, first, last)
        equal([r[0] for r in rows(b)], [("run", "wait")[int(value)]], "functions")
    no_errors(b)


def keyboard_in_controls(b):
    """A control that is used by keyboard keeps the focus when the page is drawn again, so that the
    next key changes the same control."""
    open_page(b, "timed.html")
    on = "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"
    b.key("Tab")
    b.js("document.querySelector('select[aria-label=\"Library frames\"]').focus()")
    for want, key in ("folded", "ArrowDown"), ("hidden", "ArrowDown"), ("folded", "ArrowUp"):
        b.key(key)
        equal(b.js("document.querySelector('select[aria-label=\"Library frames\"]').value"), want, "the choice")
    equal(b.js(on), "Library frames", "after a choice")
    open_page(b, "timed.html")
    b.key("Tab")
    for where, want in (("#tools button:nth-child(2)", "By time"), ("#tabs button:nth-child(4)", "Threads"),
                        ("#table tbody tr:last-child button", "two (tid 2)"), ("#table thead th:last-child button", "Thread"), ("#chips button", "")):
        b.js("document.querySelector('%s').focus()" % where)
        b.key("Enter", "\r")
        equal(b.js("document.activeElement === document.body ? '' : " + on), want, where)
    no_errors(b)


def chosen(b):
    """Returns the timeline's range in seconds, from the page's address; None: the address has no
    range."""
    # the page writes its state into the address 200 ms later
    b.js("new Promise((done) => setTimeout(done, 400))", wait=True)
    found = re.search(r"[#&]t=([^&]*)", b.js("location.hash"))
    return found and [round(float(t) / 1e9, 6) for t in found[1].split("-")]


def timeline(b):
    """A brush (a range that is drawn with the mouse) over the first half of the timeline changes
    all numbers. A click removes the brush, a right click doesn't."""
    open_page(b, "timed.html")
    x, y, w, h = b.js("(() => { const r = document.querySelector('#strip canvas').getBoundingClientRect();"
                      "return [r.x, r.y, r.width, r.height]; })()")
    start, width = x + 150, w - 166
    equal([r[0::2] for r in rows(b)], [["a", "80.0 %"], ["b", "20.0 %"]], "all")
    b.mouse("mouseMoved", start + 1, y + 9)
    b.mouse("mousePressed", start + 1, y + 9, button="left", buttons=1, clickCount=1)
    for share in (0.2, 0.5):
        b.mouse("mouseMoved", start + width * share, y + 9, button="left", buttons=1)
    b.mouse("mouseReleased", start + width * 0.5, y + 9, button="left", clickCount=1)
    until(b, "document.querySelector('#chips').textContent.includes('of all is shown')", "no brush")
    time.sleep(0.1)
    shown = {r[0]: float(r[2].split()[0]) for r in rows(b)}
    assert shown["a"] == 100 and "b" not in shown, shown  # function b begins at 6 s
    until(b, "location.hash.includes('t=')", "the range isn't in the address")
    for button, want in (("right", [["a", "100.0 %"]]), ("left", [["a", "80.0 %"], ["b", "20.0 %"]])):
        b.click(start + width * 0.9, y + 9, button)
        time.sleep(0.1)
        equal([r[0::2] for r in rows(b)], want, "after the click, " + button)
    # By keyboard: the first press of an arrow key chooses a tenth of the recording, here the first
    # tenth. Shift with an arrow moves one end, Escape chooses all.
    b.js("document.querySelector('#strip canvas').focus()")
    # the ranges that must result, in seconds; the recording has 10 s
    ranges = [[0, 1], [0.2, 1.2], [0.2, 1.4]]
    for modifiers, want in zip((0, 0, 8), ranges):
        b.key("ArrowRight", modifiers=modifiers)
        equal(chosen(b), want, "the range after an arrow")
    b.key("Escape")
    equal(chosen(b), None, "the range after Escape")
    no_errors(b)


def printed(b):
    """A printed page has light colours, even if the screen's are dark, and names the filters that
    apply to its numbers."""
    def darkest():
        return b.js("""(() => ['#canvas', '#strip canvas'].map((name) => {
            const c = document.querySelector(name);
            return Math.min(...c.getContext('2d').getImageData(0, c.height - 3, c.width, 1).data);
        }))()""")

    b.scheme(True)
    open_page(b, "timed.html", "#t=0-5e9")
    assert max(darkest()) < 60, darkest()
    b.js("window.dispatchEvent(new Event('beforeprint'))")
    assert darkest()[1] > 200, "the timeline"
    darkest_box = b.js("""Math.min(...[...document.querySelectorAll('#flame .sheet canvas')].map((c) => {
        const {data} = c.getContext('2d').getImageData(0, c.height - 3, c.width, 1);
        return Math.min(...Array.from({length: c.width}, (_, i) => Math.max(...data.slice(4 * i, 4 * i + 3))));
    }))""")
    assert darkest_box > 190, darkest_box
    b.scheme(True, "print")
    equal(b.js("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)", "paper")
    text = b.js("document.body.innerText.replace(/\\u00a0/g, ' ')")
    assert "0 ns – 5.00 s" in text and "of all is shown" in text and "Save" not in text, text
    # imitates paper: the page is narrower, and no resize event is reported
    b.js("document.body.style.width = '700px'")
    wide, high = b.js("""(() => { const c = document.querySelector('#strip canvas'), r = c.getBoundingClientRect(); return [r.width / c.width, r.height / c.height]; })()""")
    # On paper, which is narrower than the window, the timeline is drawn smaller by the same factor
    # in both directions.
    assert wide < 0.6 and abs(high - wide) < 0.02, (wide, high)
    b.js("document.body.style.width = ''")
    b.scheme(True)
    b.js("window.dispatchEvent(new Event('afterprint'))")
    assert max(darkest()) < 60, darkest()
    b.scheme(False)
    no_errors(b)


def printed_more(b):
    """A printed sandwich (the view of one function's callers and callees) has room for both of its
    pictures. The text of the search is printed."""
    made("deep.html", [([f"f{i}" for i in range(100)], {}, [5])])
    open_page(b, "deep.html", "#view=sandwich&f=50&q=f7")
    b.js("window.dispatchEvent(new Event('beforeprint'))")
    b.scheme(False, "print")
    bottom, top, legend = b.js("""(() => { const r = (id) => document.querySelector(id).getBoundingClientRect();
        return [r('#above .sheet').bottom, r('#flame .sheet').top, r('#legend').top - r('#flame .sheet').bottom]; })()""")
    assert bottom <= top and legend >= 0, (bottom, top, legend)
    above, below = b.js("[...document.querySelectorAll('.sheet')].map((e) => e.children.length)")
    equal([above + below, min(above, below) > 40], [103, True], "rows, two of them the root's and two the function's")
    assert "search: f7, 11 functions, 100.0 % of shown" in b.js(CHIPS), b.js(CHIPS)
    b.scheme(False)
    b.js("window.dispatchEvent(new Event('afterprint'))")
    assert "search" not in b.js(CHIPS), "on the screen"
    no_errors(b)


def printed_deep(b):
    """A printed picture has at most 1,800 rows, and says how many further rows are left out."""
    for n, left in ((400, 0), (2500, 2501 - 1800)):
        made("deep.html", [([f"f{i}" for i in range(n)], {}, [5])])
        for flip in ("", "#flip=1") if not left else ("",):
            open_page(b, "deep.html", flip)
            b.js("window.dispatchEvent(new Event('beforeprint'))")
            equal(b.js("""(() => { const all = [...document.querySelectorAll('#flame .sheet canvas')];
                const blank = (c) => [...c.getContext('2d').getImageData(c.width - 9, 4, 1, 1).data].every((x) => x > 245);
                return [all.length, all.filter(blank).length]; })()"""), [n + 1 - left, 0], (n, flip))
            says = f"{left} deeper rows of the picture left out"
            equal(says in b.js(CHIPS) if left else b.js(CHIPS), bool(left) or "", n)
            b.js("window.dispatchEvent(new Event('afterprint'))")
            equal([b.js(CHIPS), b.js("document.querySelectorAll('.sheet canvas').length")], ["", 0], "on the screen")
    no_errors(b)


def printed_whole(b):
    """The printed picture begins on the first page, and the end of a page of paper cuts no row."""
    made("deep.html", [([f"f{i}" for i in range(k)], {}, [1]) for k in (300, 400)])
    for fragment, first in ("#table=files", "f0"), ("#table=files&flip=1", "f399"), ("#table=files&view=sandwich&f=200", "f0"):
        open_page(b, "deep.html", fragment)
        sheets = pdf.Pdf(base64.b64decode(b.call("Page.printToPDF")["data"])).pages()
        names = [[w for w in words if re.fullmatch(r"f\d+", w)] for words in sheets]
        # The chosen function is printed three more times: in the second picture of the view of one
        # function (sandwich), among the filters, and above its lines.
        chosen_one = re.findall(r"f\d+", b.js(CHIPS)) * 3
        seen, want = collections.Counter(itertools.chain(*names)), collections.Counter([f"f{i}" for i in range(400)] + chosen_one)
        equal([seen - want, want - seen], [{}, {}], "rows" + fragment)
        assert [name for name in names[0] if name not in chosen_one][0] == first and 6 <= len(sheets) <= 8, (fragment, len(sheets), names[0][:3])
    no_errors(b)


def scrolled(b):
    """A link to the page keeps how far the pictures are scrolled. Printing doesn't change how far
    they are scrolled."""
    where = "['#flame', '#above'].map((e) => document.querySelector(e)).filter((e) => !e.hidden).map((e) => e.scrollTop)"
    made("deep.html", [([f"f{i}" for i in range(120)], {}, [5])])
    for fragment, places, want in (("", [500], "z=0~0~1~500"), ("#flip=1", [700], "z=0~0~1~%d"), ("#z=80~0~1", [0], "z=80~0~1~0"),
                                   ("#view=sandwich&f=60", [500, 300], "z=0~0~1~500")):
        open_page(b, "deep.html", fragment + "&table=files")
        if "flip" in fragment:
            want %= b.js("(({scrollHeight, clientHeight}) => scrollHeight - clientHeight - 700)(document.querySelector('#flame'))")
        b.js("%s.forEach((y, i) => { document.querySelector(['#flame', '#above'][i]).scrollTop = y; })" % places)
        until(b, "decodeURIComponent(location.hash).includes('%s')" % want, want)
        link = b.js("location.hash")
        equal("above=" in link, len(places) > 1, link)
        b.call("Page.printToPDF")
        equal(b.js(where), places, "after printing" + fragment)
        time.sleep(0.4)
        equal(b.js("location.hash"), link, "the address then")
        open_page(b, "deep.html", link)
        equal(b.js(where), places, "from the address " + link)
        time.sleep(0.4)
        equal(b.js("location.hash"), link, "the link of the link")
    open_page(b, "deep.html", "#z=0~0~1~1e99&above=0~1~-1~x")
    no_errors(b)


def shown_of(b):
    """The pointer shows a box's share of all, and its share of the zoomed box or of the samples
    that filters let through."""
    open_page(b, "shares.html")
    b.click(*at(b, 0.45, 2))
    assert "of all\tof the zoomed box\ntotal\t20.0 ms\t20\t20.0 %\t66.7 %" in tip_at(b, 0.2, 3), tip(b)
    open_page(b, "library.html", "#kind=native")
    assert "of all\tof shown\ntotal\t40.0 ms\t40\t40.0 %\t100.0 %" in tip_at(b, 0.2, 2), tip(b)
    no_errors(b)


def whole_names(b):
    """The pointer shows a whole name within the window, however long the name and however small the
    window is."""
    name = "".join(f"part{i:04}." for i in range(4000 // 9))
    made("whole.html", [([name], {}, [5])])
    for size in (1400, 800), (320, 480):
        b.resize(*size)
        open_page(b, "whole.html")
        b.js("document.querySelector('#canvas').scrollIntoView()")
        assert name in tip_at(b, 0.5, 1), tip(b)
        equal(b.js("(() => { const r = document.querySelector('#tip').getBoundingClientRect(), inner = document.querySelector('#tip b').getBoundingClientRect();"
                   "return r.x >= 0 && r.y >= 0 && r.right <= innerWidth && r.bottom <= innerHeight && inner.right <= r.right && inner.bottom <= r.bottom; })()"), True, size)
    # a long name doesn't make the page wider than its window, wherever the name stands
    name = "x" * 1500 + "\u754c" * 1500 + "\U0001f40d" * 1000 + " \u202e<b>"
    made("whole.html", [([name + "1", name + "2"], {"process": name, "pid": "1", "thread": name, "tid": "1", name[:300]: name, "version": str(i)}, [5], 10 ** 8 * i) for i in range(2)])
    for width in 1400, 320:
        b.resize(width, 800)
        for fragment in ("#view=sandwich&f=1&q=" + "y" * 4000, "#by=thread&colour=thread&table=threads", "#colour=module&table=labels&label=version%3D1", "#view=time&z=2~0~1"):
            open_page(b, "whole.html", fragment)
            assert b.js("document.documentElement.scrollWidth <= innerWidth"), (width, fragment[:40])
    made("whole.html", [(["short"], {}, [5])])
    b.resize(1400, 800)
    no_errors(b)


def long_names(b):
    """A name that is too long for the place beside its lane (a row of the timeline) is cut: it ends
    in an ellipsis and the thread's number. The pointer shows the whole name."""
    long, short = "a-thread-with-a-name-for-two-of-them (tid 1234)", "one (tid 12)"
    lines = [{"type": "krait", "version": 1, "sample_types": [{"type": "samples", "unit": "count"}], "duration_nanos": 10 ** 9},
             {"type": "mapping", "id": 1, "name": "[python 3.12]"}, {"type": "frame", "id": 1, "mapping": 1, "name": "f"},
             {"type": "stack", "id": 1, "frames": [1]}]
    for i, name in enumerate([long, short], 1):
        thread, tid = name[:-1].split(" (tid ")
        lines += [{"type": "labels", "id": i, "labels": {"thread": thread, "tid": tid}},
                  {"type": "sample", "stack": 1, "labels": i, "time": 10 ** 8 * i, "values": [3 - i]}]
    subprocess.run([KRAIT, "report", "-", "-o", pages / "long.html"], check=True, timeout=60, text=True,
                   input="".join(json.dumps(line) + "\n" for line in lines))
    open_page(b, "long.html")
    b.js("""const write = CanvasRenderingContext2D.prototype.fillText; window.written = [];
        CanvasRenderingContext2D.prototype.fillText = function (text, x, ...rest) {
            if (this.canvas.closest('#strip') && x < 100) window.written.push(text);
            return write.call(this, text, x, ...rest);
        }; dispatchEvent(new Event('resize')); 0""")
    until(b, "window.written.length >= 2", "the strip isn't drawn again")
    got = b.js("window.written.slice(0, 2)")
    equal(got[1], short, "a name that has room")
    start, _, end = got[0].partition("\u2026")
    assert end == " (tid 1234)" and len(start) > 4 and long.startswith(start), got[0]
    x, y = b.js("(() => { const r = document.querySelector('#strip canvas').getBoundingClientRect(); return [r.x, r.y]; })()")
    for at, title in ((9, long), (26, short)):
        b.mouse("mouseMoved", x + 30, y + at)
        until(b, "document.querySelector('#strip canvas').title === %s" % json.dumps(title), "no title")
    b.mouse("mouseMoved", x + 300, y + 9)
    until(b, "!document.querySelector('#strip canvas').title", "a title over the lanes")
    no_errors(b)


WRITTEN = """(() => {
    const write = CanvasRenderingContext2D.prototype.fillText, written = [];
    CanvasRenderingContext2D.prototype.fillText = function (text, x, ...rest) {
        if (this.canvas.closest('#strip') && x < 100) written.push(text);
    };
    dispatchEvent(new Event('resize'));
    CanvasRenderingContext2D.prototype.fillText = write;
    dispatchEvent(new Event('resize'));
    return written;
})()"""


def lanes(b):
    """Each group of samples that the filters let through has a lane (a row of the timeline); the
    groups with most samples come first."""
    made("lanes.html", [(["f"], {"process": "app", "pid": str(p), "thread": f"t{t}", "tid": str(10 * p + t)}, [30 - 3 * p - t], 10 ** 8 * t)
                        for p in (1, 2, 3) for t in range(3)])
    # names beside the timeline: the full name where there is room, and the short name elsewhere
    each = [(f"app (pid {p}) \u00b7 t{t} (tid {10 * p + t})", f"{p} \u00b7 t{t}") for p in (1, 2, 3) for t in range(3)]
    open_page(b, "lanes.html")
    equal(b.js(WRITTEN), ["app (pid 1)", "app (pid 2)", "app (pid 3)"], "processes")
    high = b.js("document.querySelector('#strip').clientHeight")
    choose(b, "Group by", "thread")
    got = b.js(WRITTEN)
    equal(len(got), 9, "threads of all processes")
    assert all(name in want for name, want in zip(got, each)), got
    equal(b.js("document.querySelector('#strip').clientHeight"), high + 6 * 17, "the strip's height")
    open_page(b, "lanes.html", "#label=process%3Dapp+(pid+2)")
    equal(b.js(WRITTEN), ["t0 (tid 20)", "t1 (tid 21)", "t2 (tid 22)"], "threads of one process")
    open_page(b, "lanes.html", "#by=process&label=process%3Dapp+(pid+2)")
    equal(b.js(WRITTEN), ["app (pid 2)"], "one process")
    made("threads.html", [(["f"], {"thread": f"t{t:02}", "tid": str(t)}, [50 - t], 10 ** 8) for t in range(12)])
    name = [f"t{t:02} (tid {t})" for t in range(12)]
    open_page(b, "threads.html")
    equal(b.js(WRITTEN), [*name[:5], "7 others"], "many threads")
    choose(b, "Group by", "thread")
    equal(b.js(WRITTEN), [*name[:10], "2 others"], "many threads that are asked for, in a window of 800 pixels")
    press(b, "Threads")
    press(b, name[9])
    equal(b.js(WRITTEN), [name[9]], "a chosen thread")
    no_errors(b)


def time_of_threads(b):
    """Threads are below their processes, both in the order of their first samples, in the timeline
    and in the picture by time. Threads thinner than a pixel are drawn as one."""
    begin = {("web", "20", "late", "21"): 7, ("web", "20", "early", "22"): 3, ("api", "10", "second", "11"): 5, ("api", "10", "first", "12"): 4, ("web", "20", "thin", "23"): 6}
    stacks = [(["f"], dict(zip(("process", "pid", "thread", "tid"), who)), [5000 + 1000 * i if who[2] != "thin" else 3], 10 ** 8 * when + 10 ** 7 * k)
              for i, (who, when) in enumerate(begin.items()) for k in range(2)]
    stacks += [(["f"], {"process": "api", "pid": "10", "thread": f"t{i}", "tid": str(100 + i)}, [2], 10 ** 8 * 8 + i) for i in range(40)]
    made("order.html", stacks)
    open_page(b, "order.html")
    equal(b.js(WRITTEN), ["web (pid 20)", "api (pid 10)"], "processes")
    choose(b, "Group by", "thread")
    equal([re.search("early|thin|late|first|second", name)[0] for name in b.js(WRITTEN)[:5]], ["early", "thin", "late", "first", "second"], "lanes of threads")
    open_page(b, "order.html", "#view=time")
    got = [path[0] for path, _ in sorted(((path, x) for path, x in places(b).items() if len(path) == 1), key=lambda p: p[1])]
    equal(got[:4], ["web (pid 20) · early (tid 22)", "web (pid 20) · late (tid 21)", "api (pid 10) · first (tid 12)", "api (pid 10) · second (tid 11)"],
          "groups by time; what is a tenth of a pixel isn't drawn")
    equal(tip_at(b, 0.9993, 1).split("\n")[0], "api (pid 10) · 40 threads", "thin ones, at the end of their process, where the first of them began")
    no_errors(b)


def one_scale(b):
    """All lanes (rows of the timeline) have the same scale: a thread with a thousandth of another's
    time is drawn lower, but can still be seen."""
    made("scale.html", [(["f"], {"thread": t, "tid": "1"}, [w], 10 ** 8) for t, w in (("much", 1000), ("half", 500), ("bit", 1))])
    open_page(b, "scale.html")
    equal(b.js("""(() => {
        const c = document.querySelector('#strip canvas'), {data, width} = c.getContext('2d').getImageData(0, 0, c.width, 51);
        return [0, 1, 2].map((lane) => {
            let high = 0;
            for (let x = 150; x < width; x++) {
                let n = 0;
                for (let y = 17 * lane; y < 17 * lane + 15; y++)
                    n += (([r, g, b]) => Math.max(r, g, b) - Math.min(r, g, b) > 50)([0, 1, 2].map((i) => data[4 * (y * width + x) + i]));
                high = Math.max(high, n);
            }
            return high;
        });
    })()"""), [13, 7, 1], "heights")
    no_errors(b)


def even(b):
    """A thread that ran all the time is drawn without gaps and peaks, although samples have times
    in steps of 10 ms, and a step isn't a whole number of pixels."""
    for seconds in 2, 4, 7, 20:
        made("even.html", [(["f"], {"thread": "t", "tid": "1"}, [10], 10 ** 7 * i) for i in range(100 * seconds)], duration_nanos=seconds * 10 ** 9)
        open_page(b, "even.html")
        heights = b.js("""(() => {
            const c = document.querySelector('#strip canvas'), {data, width} = c.getContext('2d').getImageData(0, 0, c.width, 15), out = [];
            const inked = (x, y) => { const i = 4 * (y * width + x), [r, g, b] = [data[i], data[i + 1], data[i + 2]]; return Math.max(r, g, b) - Math.min(r, g, b) > 50; };
            for (let x = 152; x < width - 24; x++)
                out.push([...Array(15).keys()].filter((y) => inked(x, y)).length);
            return [Math.min(...out), Math.max(...out)];
        })()""")
        assert heights[0] >= 12, (seconds, heights)
    no_errors(b)


def diff_legend(b):
    """On the page of two recordings the legend also explains the timeline's colours. The legend
    explains pale boxes only if the picture has pale boxes."""
    def said():
        return b.js("document.querySelector('#legend').textContent")

    subprocess.run([KRAIT, "diff", pages / "picture.html", pages / "picture.html", "-o", pages / "diff-gil.html"], check=True, timeout=60)
    open_page(b, "diff-gil.html")
    assert "Timeline, state of the GIL:" in said() and "held" in said() and "pale" in said(), said()
    b.js("document.querySelector('#strip canvas').focus()")
    for key, pale in (("ArrowRight", False), ("Escape", True)):
        b.key(key)
        equal("pale" in said(), pale, "pale in the legend after " + key)
    press(b, "Threads")
    b.js("document.querySelector('#table tbody button').click()")
    assert "pale" not in said() and "held" in said(), said()
    no_errors(b)


def lane_legend(b):
    """Each colour occurs once in the legend of the timeline."""
    states = ("held", "waiting", "released", "none", "unknown")
    made("states.html", [(["f"], {"thread": "t", "tid": "1", "gil": gil}, [1], 10 ** 8 * i) for i, gil in enumerate(states)])
    open_page(b, "states.html")
    got = b.js("""[...document.querySelectorAll('#legend span:has(b)')].slice(-4).map((e) => [e.textContent, getComputedStyle(e.querySelector('b')).backgroundColor])""")
    equal([name for name, _ in got], ["held", "waiting", "released", "none or unknown"], "states")
    equal(len({fill for _, fill in got}), 4, "colours")
    no_errors(b)


def chip(b):
    """On a telephone the button that removes a filter is visible, however long the filter's name
    is."""
    b.resize(420, 800)
    open_page(b, "shares.html", "#label=x%3D" + "long" * 40 + "&kind=native")
    until(b, "document.querySelectorAll('#chips button').length === 2", "no chips")
    for chip in b.js("""[...document.querySelectorAll('#chips button')].map((e) => { const range = document.createRange(); range.selectNodeContents(e.lastChild);
            const r = range.getBoundingClientRect(); return [e.lastChild.textContent, r.left, r.right, r.width]; })"""):
        assert chip[0] == " ×" and chip[1] >= 0 and chip[2] <= 420 and chip[3] > 5, chip
    b.resize(1400, 800)
    no_errors(b)


def line_in_sight(b):
    """If file and line are too long for their row, the beginning of the file is cut off, and the
    line number stays."""
    file = "/srv/a_rather_long_folder/of_a_project/with_templates/and_tags/helpers.py"
    frames = [{"mapping": "[python 3.12]", "file": file, "name": "f", "line": line} for line in (1234, 1240)]
    made("long-place.html", [([frames[0]], {}, [3]), ([frames[1]], {}, [1])])
    for width in 420, 1024:
        b.resize(width, 800)
        open_page(b, "long-place.html", code="")
        until(b, "document.querySelector('#table tbody .note').textContent.includes(' at ')", "no line beside a function")
        said, line, begins, box = b.js("""(() => { const note = document.querySelector('#table tbody .note'), text = note.querySelector('bdi').firstChild, range = document.createRange();
            const ends = (from, to) => { range.setStart(text, from); range.setEnd(text, to); const r = range.getBoundingClientRect(); return [r.left, r.right]; };
            const r = note.closest('th').getBoundingClientRect(); return [note.textContent, ends(text.length - 5, text.length), ends(0, 5), [r.left, r.right]]; })()""")
        assert said.replace("\u00a0", " ").startswith("75.0 of 100.0 % at ") and said.endswith("helpers.py:1234"), said
        assert box[0] < line[0] < line[1] <= box[1], (width, line, box)
        assert begins[0] < line[0], (width, begins, line)
    b.resize(1400, 800)
    no_errors(b)


def filters(b):
    """With filters by thread, group and kind, the table has the right rows. Next to each percentage
    stands what it is a percentage of."""
    open_page(b, "timed.html")
    press(b, "Threads")
    equal(rows(b), [["one (tid 1)", "80.0 %"], ["two (tid 2)", "20.0 %"]], "threads")
    press(b, "two (tid 2)")
    assert "20.0 % of all is shown" in b.js("document.querySelector('#chips').textContent.replace(/\\u00a0/g, ' ')")
    press(b, "Functions")
    equal(rows(b), [["b", "100.0 %", "100.0 %"]], "functions of a thread")
    press(b, "thread: two (tid 2) \u00d7")
    choose(b, "Group by", "thread")
    b.click(*at(b, 0.9, 1))
    equal(crumbs(b)[1:], ["two (tid 2)"], "group")
    open_page(b, "shares.html")
    choose(b, "Only with", "kernel")
    equal([r[0] for r in rows(b)], ["do_syscall_64", "main"], "with kernel code")
    no_errors(b)


def machine(b):
    """A page with several processes: a filter can select one process, samples can be grouped by
    control group, and another value of the recording can be chosen."""
    made("machine.html", [(["f"], {"process": "api", "pid": "1", "cgroup": "/one"}, [1, 60]), (["g"], {"process": "api", "pid": "2", "cgroup": "/two"}, [2, 10]),
                          (["h"], {"process": "web", "pid": "3", "cgroup": "/one"}, [5, 30])], (("samples", "count"), ("space", "bytes")))
    open_page(b, "machine.html")
    press(b, "Processes")
    equal(rows(b), [["web (pid 3)", "62.5 %"], ["api (pid 2)", "25.0 %"], ["api (pid 1)", "12.5 %"]], "processes")
    press(b, "api (pid 2)")
    equal(b.js(CHIPS), "process: api (pid 2) \u00d725.0 % of all is shown", "the filter")
    press(b, "Functions")
    equal(rows(b), [["g", "100.0 %", "100.0 %"]], "functions of a process")
    equal(boxes_below(b, 0.5, (1, 2, 3)), ["api", "g", ""], "its boxes")
    press(b, "process: api (pid 2) \u00d7")
    equal(rows(b), [["h", "62.5 %", "62.5 %"], ["g", "25.0 %", "25.0 %"], ["f", "12.5 %", "12.5 %"]], "all functions")
    choose(b, "Group by", "cgroup")
    equal([boxes_below(b, x, (1, 2)) for x in (0.2, 0.7, 0.9)], [["cgroup /one", "h"], ["cgroup /one", "f"], ["cgroup /two", "g"]], "control groups")
    choose(b, "Value", "1")
    equal(rows(b), [["f", "60.0 %", "60.0 %"], ["h", "30.0 %", "30.0 %"], ["g", "10.0 %", "10.0 %"]], "by bytes")
    equal(boxes_below(b, 0.5, (1, 2)), ["cgroup /one", "f"], "the widest by bytes")
    assert "total\t60 bytes\t1\t60.0 %" in tip_at(b, 0.5, 2), tip(b)
    assert "100 bytes space" in b.js("document.querySelector('#numbers').textContent.replace(/\\u00a0/g, ' ')"), "the header"
    no_errors(b)


def twelve(b):
    """A recording has twelve values. The page's chooser has all of them, and each value has its own
    shares and its own total."""
    types = [("v%d" % i, ("count", "nanoseconds", "bytes")[i % 3]) for i in range(12)]
    stacks = [(i, [(v + 1) * (i * v % 5 + i + 1) for v in range(12)]) for i in range(3)]
    made("twelve.html", [(["f%d" % i], {"process": "api", "pid": "1"}, values) for i, values in stacks], types)
    open_page(b, "twelve.html")
    equal(b.js("[...document.querySelectorAll('select[aria-label=\"Value\"] option')].map((e) => e.textContent)"), [t for t, _ in types], "the chooser")
    for v, (name, unit) in enumerate(types):
        choose(b, "Value", str(v))
        whole = sum(values[v] for _, values in stacks)
        want = [["f%d" % i] + ["%.1f %%" % (100 * values[v] / whole)] * 2 for i, values in sorted(stacks, key=lambda s: -s[1][v])]
        equal(sorted(rows(b)), sorted(want), name)
        words = {"count": "%d %s", "nanoseconds": "%d ns %s", "bytes": "%d bytes %s"}[unit] % (whole, name)
        text = b.js("document.querySelector('#numbers').textContent.replace(/\\u00a0/g, ' ')")
        assert words in text, (words, text)
    no_errors(b)


def waited(b):
    """If the program used less than half a CPU, the page's first sentence says how much the program
    waited."""
    use = ["CPU use: pid 7: 1000 ms, CPU 20 ms, 1 threads, main thread ran 20 ms, queued 10 ms, waited 970 ms, not known 0 ms: app.py",
           "CPU use: all: 1000 ms, CPU %d ms, 1 processes"]
    for cpu, first in (20, True), (500, False):
        made("waited.html", [(["f"], {}, [2])], comments=[use[0], use[1] % cpu])
        open_page(b, "waited.html")
        head = b.js("document.querySelector('header').textContent.replace(/\\u00a0/g, ' ')")
        equal("app.py ran 2 %, waited for a CPU 1 %, for anything else 97 %" in head, first, head)
        assert not first or head.index("else 97 %") < head.index("of the samples are in"), head
    no_errors(b)


def whole_sentence(b):
    """On a telephone the first sentence is shown whole, however long a process's name is."""
    use = ["CPU use: pid %d: 1000 ms, CPU 50 ms, 1 threads, main thread ran 5 ms, queued %d ms, waited %d ms, not known 0 ms: %s" % (
        pid, queued, 995 - queued, "joblib.externals.loky.backend.popen_loky_posix") for pid, queued in ((23112, 40), (23107, 600))]
    made("long-use.html", [(["f"], {}, [2])], comments=use + ["CPU use: all: 1000 ms, CPU 100 ms, 2 processes"])
    for width in 420, 1024:
        b.resize(width, 800)
        open_page(b, "long-use.html")
        said = b.js("document.getElementById('headline').textContent.replace(/\\u00a0/g, ' ')")
        assert "(joblib.externals.loky.backend.popen_loky_posix, pid 23107, 60 %), for anything else" in said, said
        cut = b.js("[...document.querySelectorAll('#headline span')].filter((e) => e.scrollHeight > e.clientHeight + 1).map((e) => e.textContent)")
        equal(cut, [], "cut sentences, %d pixels" % width)
    b.resize(1400, 800)
    no_errors(b)


def kind_and_module(b):
    """If filters for a kind and for a module are both set, a sample must have a frame of the kind
    and a frame of the module. These may be two frames."""
    native, kernel = {"mapping": "/usr/lib/libz.so.1", "name": "inflate"}, {"mapping": "[kernel]", "name": "page_fault"}
    made("both.html", [(["main", kernel], {}, [3]), (["main", native], {}, [4]), (["main", native, kernel], {}, [5])])
    open_page(b, "both.html")
    choose(b, "Only with", "kernel")
    press(b, "Modules")
    press(b, "libz.so.1")
    equal(sorted(r[::2] for r in rows(b)), [["/srv/app.py", "100.0 %"], ["[kernel]", "100.0 %"], ["libz.so.1", "100.0 %"]], "rows")
    assert "41.7 % of all is shown" in b.js("document.querySelector('#chips').textContent.replace(/\\u00a0/g, ' ')")
    no_errors(b)


def garbage(b):
    """Every stack with the garbage collector in it counts for the collector: in the header, at a
    box and in the filter, as in krait report --kind gc."""
    gc, free, finalizer = {"mapping": "[gc]", "name": "gc_collect_main"}, {"mapping": "/usr/lib/libc.so.6", "name": "free"}, "__del__"
    made("garbage.html", [(["main"], {}, [40]), (["main", "work"], {}, [30]), (["main", "work", gc], {}, [5]), (["main", "work", gc, free], {}, [10]),
                          (["main", "work", gc, finalizer], {}, [12]), (["main", free], {}, [3])])
    open_page(b, "garbage.html")
    assert "garbage collector 27.0 %" in b.js("document.querySelector('#numbers').textContent.replace(/\\u00a0/g, ' ')"), "the header"
    assert "including GC\t27\t27.0 %" in tip_at(b, 0.3, 2), tip(b)
    assert "including GC\t12\t12.0 %" in tip_at(b, 0.05, 4), tip(b)
    assert "GC" not in tip_at(b, 0.585, 2), tip(b)
    choose(b, "Only with", "garbage collector")
    equal(b.js(CHIPS), "with garbage collector \u00d727.0 % of all is shown", "the filter")
    said = subprocess.run([KRAIT, "report", pages / "garbage.html", "--kind", "gc", "--json"], check=True, timeout=60, capture_output=True)
    equal(json.loads(said.stdout)["shown"], 27, "--kind gc")
    start, visit = {"mapping": "/usr/bin/python3.12", "name": "Py_Finalize"}, {"mapping": "/usr/bin/python3.12", "name": "visit_decref"}
    made("bare.html", [(["main"], {}, [60]), ([start, gc, visit], {}, [25]), ([start, visit], {}, [15])])
    open_page(b, "bare.html", code="")
    equal([r[:2] for r in rows(b) if r[1]], [["main", "60.0 %"], ["gc_collect_main", "25.0 %"], ["visit_decref", "15.0 %"]], "without Python")
    no_errors(b)


def nameless(b):
    """Code without a name counts for its library, in the table of modules, the filter and the
    colours. In the table of functions it is named by library and address."""
    lib, other = "/usr/lib/libz.so.1", "/usr/lib/libm.so.6"
    made("nameless.html", [(["main", {"mapping": lib, "address": "0x4970"}], {}, [3]), (["main", {"mapping": lib, "address": "0x5d80"}, {"mapping": lib, "address": "0x4970"}], {}, [2]),
                           (["main", {"mapping": lib, "name": "inflate"}], {}, [4]), (["main", {"mapping": other, "address": "0x10"}], {}, [1])])
    open_page(b, "nameless.html", "#colour=module")
    equal(len({pixel(b, *at(b, x, 2)) for x in (0.2, 0.5, 0.8)}), 1, "colours of a library")
    assert "libz.so.1 \u00b7 native" in tip_at(b, 0.5, 2), tip(b)
    press(b, "Modules")
    equal(rows(b), [["libz.so.1", "90.0 %", "90.0 %"], ["libm.so.6", "10.0 %", "10.0 %"], ["/srv/app.py", "0.0 %", "100.0 %"]], "modules")
    press(b, "libz.so.1")
    equal(b.js(CHIPS), "with libz.so.1 \u00d790.0 % of all is shown", "with a library")
    press(b, "Functions")
    equal(sorted(r[0] for r in rows(b)), ["[libz.so.1+0x4970]", "[libz.so.1+0x5d80]", "inflate", "main"], "functions")
    no_errors(b)


def pixel(b, x, y):
    """Returns the colour of the box at (x, y), by reading a pixel above the box's text."""
    return tuple(b.js("(([x, y]) => { const c = document.querySelector('#canvas'), r = c.getBoundingClientRect();"
                      "return [...c.getContext('2d').getImageData(x - r.x, y - r.y, 1, 1).data].slice(0, 3); })([%f, %f])" % (x, y - ROW / 2 + 1)))


def kept_place(b):
    """When a filter is set, the picture stays zoomed if the zoomed box still exists, also in views
    whose trees aren't made of whole stacks (callers, by time)."""
    stacks = ((["main", "a", "x"], "one", 50), (["main", "b", "y"], "two", 30), (["main", "c", "y"], "three", 25), (["main", "d", "z"], "two", 10))
    made("kept.html", [(stack, {"thread": thread}, [n], 10 ** 8 * i) for i, (stack, thread, n) in enumerate(stacks)])
    for view, path in (("callers", ["y", "b"]), ("time", ["two", "main", "b"])):
        for thread, want in (("two", path), ("three", [])):
            open_page(b, "kept.html", "#table=threads&view=" + view)
            for share in (0.05 + i / 20 for i in range(18)):
                b.click(*at(b, share, len(path)))
                if crumbs(b)[1:] == path:
                    break
                press(b, "reset")
            equal(crumbs(b)[1:], path, (view, "zoomed"))
            b.js("[...document.querySelectorAll('#table button.name')].find((e) => e.textContent === '%s').click()" % thread)
            equal(crumbs(b)[1:], want, (view, "only " + thread))
    no_errors(b)


def chosen_group(b):
    """The reader looks at a group in the view of callers and callees (sandwich), and then changes
    the grouping: no other group takes the chosen group's place."""
    made("groups.html", [(["f"], {"process": program, "pid": pid, "thread": thread}, [n]) for program, pid, thread, n in
                         (("web", "7", "A", 5), ("api", "8", "B", 4), ("api", "8", "C", 3))])
    for by, want in (("none", ""), ("thread", ""), ("process", "")):
        open_page(b, "groups.html")
        b.click(*at(b, 0.1, 1))
        b.key("s", "s")
        equal(b.js("document.querySelector('#chips').textContent"), "api \u00d7", "chosen")
        choose(b, "Group by", by)
        equal(b.js("document.querySelector('#chips').textContent"), want, by)
    open_page(b, "groups.html", "#view=sandwich&by=none&f=2")
    equal(b.js("document.querySelector('#chips').textContent"), "", "from the address")
    open_page(b, "groups.html", "#view=sandwich&by=thread&f=4")
    equal(b.js("document.querySelector('#chips').textContent"), "C \u00d7", "from the address, of groups that aren't there at first")
    no_errors(b)


def labels(b):
    """The recording has the user's label "version", which is 1 in the first 6 s and 2 afterwards.
    Its values have rows in a table, can be a filter, and can make groups."""
    open_page(b, "picture.html")
    press(b, "Labels")
    equal(rows(b), [["gil: held", "66.7 %"], ["version: 1", "64.3 %"], ["version: 2", "35.7 %"],
                    ["gil: waiting", "19.0 %"], ["gil: released", "14.3 %"]], "labels")
    press(b, "version: 2")
    equal(rows(b)[0], ["version: 2", "100.0 %"], "with one")
    assert "35.7 % of all is shown" in b.js("document.querySelector('#chips').textContent.replace(/\\u00a0/g, ' ')")
    press(b, "gil: waiting")
    press(b, "Functions")
    equal(rows(b), [["b", "100.0 %", "100.0 %"], ["run", "0.0 %", "100.0 %"]], "both filters")
    until(b, "location.hash.includes('label=version%3D2&label=gil%3Dwaiting')", "the filters aren't in the address")
    press(b, "version: 2 \u00d7")
    assert "19.0 % of all is shown" in b.js("document.querySelector('#chips').textContent.replace(/\\u00a0/g, ' ')")
    press(b, "gil: waiting \u00d7")
    choose(b, "Group by", "version")
    b.click(*at(b, 0.2, 1))
    equal(crumbs(b)[1:], ["version 1"], "group")
    open_page(b, "shares.html")
    equal(b.js("[...document.querySelectorAll('#tabs button')].map((e) => e.textContent)"),
          ["Functions", "Files", "Modules", "Threads", "Processes", "Native functions"], "tabs without labels")
    no_errors(b)


def choose(b, label, value):
    b.js("(() => { const e = document.querySelector('select[aria-label=\"%s\"]'); e.value = '%s';"
         "e.dispatchEvent(new Event('change')); })()" % (label, value))


CHIPS = "document.querySelector('#chips').textContent.replace(/\\u00a0/g, ' ')"


def library(b):
    """Library frames can be hidden. In the test's samples, the user's main calls a library's f,
    which has 30 itself; f calls the user's callback (20) and native code (40); main has 10
    itself."""
    open_page(b, "library.html")
    choose(b, "Library frames", "hidden")
    equal(rows(b), [["main", "80.0 %", "100.0 %"], ["callback", "20.0 %", "20.0 %"]], "their time is their caller's")
    equal(b.js(CHIPS), "", "all is shown")
    assert "itself\t80\t80.0 %" in tip_at(b, 0.5, 1).replace("80.1 ms\t", ""), tip(b)
    hide = [KRAIT, "report", pages / "library.html", "--hide", "f", "--hide", "deflate"]
    said = json.loads(subprocess.run([*hide, "--json"], check=True, timeout=60, capture_output=True).stdout)
    equal([[f["name"].split(".")[-1], "%.1f %%" % (f["own"] / said["all"] * 100), "%.1f %%" % (f["total"] / said["all"] * 100)] for f in said["functions"]],
          rows(b), "krait report --hide")
    equal(sorted(f"{line['own'] / said['all'] * 100:.1f} %" for line in said["lines"]), ["20.0 %", "80.0 %"], "its lines")
    b.js(CATCH_SAVED)
    choose(b, "Save", "folded")
    until(b, "'text/plain' in window.saved", "not saved")
    want = subprocess.run([*hide, "--format", "folded"], check=True, timeout=60, capture_output=True).stdout.decode()
    equal(sorted(b.js("window.saved['text/plain']").splitlines()), sorted(want.splitlines()), "saved")
    press(b, "main")
    shares = "[...document.querySelectorAll('#lines tbody tr')].map((e) => e.innerText.replace(/\\u00a0/g, ' ').split('\\t').slice(0, 2))"
    until(b, "document.querySelector('#lines tbody tr') !== null", "no lines")
    equal([line for line in b.js(shares) if any(line)], [["80.0 %", "100.0 %"]], "lines when hidden")
    find(b, "app.py:7")
    equal(matched(b), "1 function, 20.0 % of shown", "a line when hidden")
    find(b, "f.py:3")
    equal(matched(b), "0 functions, 0.0 % of shown", "a line that isn't shown")
    made("alone.html", [([{"mapping": "[python 3.12]", "file": "/usr/lib/python3.12/json/decoder.py", "name": "decode", "line": 4}], {}, [3]), (["main"], {}, [1])])
    open_page(b, "alone.html", "#library=hidden")
    equal(b.js(CHIPS), "75.0 % of shown is library code that none of yours called", "a library alone")
    no_errors(b)


def own_words(b):
    """A label of the user's may have the same name as one of the page's own groupings; the page
    keeps both apart."""
    lines = [{"type": "krait", "version": 1, "sample_types": [{"type": "samples", "unit": "count"}], "duration_nanos": 10 ** 9},
             {"type": "mapping", "id": 1, "name": "[python 3.12]"}, {"type": "frame", "id": 1, "mapping": 1, "name": "f"},
             {"type": "stack", "id": 1, "frames": [1]}]
    for i, (program, thread) in enumerate((("old", "x"), ("new", "y"))):
        lines += [{"type": "labels", "id": i + 1, "labels": {"process": "app.py", "program": program, "thread name": thread}},
                  {"type": "sample", "stack": 1, "labels": i + 1, "values": [2 - i]}]
    for options in [], ["--by", "program"]:
        subprocess.run([KRAIT, "report", "-", *options, "-o", pages / "words.html"], check=True, timeout=60, text=True,
                       input="".join(json.dumps(line) + "\n" for line in lines))
        open_page(b, "words.html")
        press(b, "Labels")
        equal(rows(b), [["program: old", "66.7 %"], ["thread name: x", "66.7 %"], ["program: new", "33.3 %"], ["thread name: y", "33.3 %"]],
              "labels")
    b.click(*at(b, 0.2, 1))
    equal(crumbs(b)[1:], ["program old"], "a group")
    no_errors(b)


def label_keys(b):
    """A label's key may contain "=", which separates key and value in the address, and "%", which
    escapes it there."""
    keys = ("a=b", "c%3Dd")
    lines = [{"type": "krait", "version": 1, "sample_types": [{"type": "samples", "unit": "count"}], "duration_nanos": 10 ** 9},
             {"type": "mapping", "id": 1, "name": "[python 3.12]"}, {"type": "frame", "id": 1, "mapping": 1, "name": "f"},
             {"type": "stack", "id": 1, "frames": [1]}]
    for i, value in enumerate(("x=1", "y")):
        lines += [{"type": "labels", "id": i + 1, "labels": dict.fromkeys(keys, value)},
                  {"type": "sample", "stack": 1, "labels": i + 1, "values": [3 - 2 * i]}]
    subprocess.run([KRAIT, "report", "-", "-o", pages / "keys.html"], check=True, timeout=60, text=True,
                   input="".join(json.dumps(line) + "\n" for line in lines))
    for key in keys:
        open_page(b, "keys.html")
        press(b, "Labels")
        press(b, key + ": x=1")
        until(b, "location.hash.includes('label=')", "the filter isn't in the address")
        address = b.js("location.hash")
        open_page(b, "keys.html", address)
        until(b, "document.querySelector('#chips').textContent.includes('75.0')", "the address' filter isn't applied: " + address)
        assert key + ": x=1" in b.js("document.querySelector('#chips').textContent"), key
    no_errors(b)


LIBRARY = {"django": "/venv/lib/python3.12/site-packages/django/core.py", "asgiref": "/venv/lib/python3.12/site-packages/asgiref/sync.py",
           "json": "/usr/lib/python3.12/json/decoder.py", "IMPORT": "<frozen importlib._bootstrap>"}


def frame_of(name):
    """Makes a frame from a short name: "django.f" is f of that library, "import json" an import,
    ":inflate" native, "[gc]" the collector, anything else a function of the user's."""
    library = "IMPORT" if name.startswith("import ") else name.split(".")[0] if "." in name else ""
    if name[0] == ":":
        return {"mapping": "/usr/lib/libz.so.1", "name": name[1:]}
    if name == "[gc]":
        return {"mapping": "[gc]", "name": name}
    return {"mapping": "[python 3.12]", "name": name if not library or library == "IMPORT" else name.split(".")[1], "file": LIBRARY.get(library, "/srv/app.py")}


def folded_path(stack):
    """Returns the boxes that the view "My code" must make of a stack, by the rule in the page's
    help: a list of [key, number of library frames, their names]."""
    out, run, imports = [], False, False
    for name in stack:
        package = "importlib" if name.startswith("import ") else name.split(".")[0] if "." in name else ""
        if not package and not (run and name[0] == ":"):
            out.append([name.lstrip(":"), 0, []])
            run = imports = False
        elif not run or name.startswith("import ") and not imports:
            imports = name.startswith("import ")
            out.append([name if imports else "library " + package, 1, [name]])
            run = True
        else:
            out[-1][1] += 1
            out[-1][2].append(name)
    return out


def folded_boxes(samples):
    """Returns {path of names: weight} of all boxes, counted from the samples."""
    paths, weights, lengths, members, packages = [], collections.Counter(), collections.defaultdict(set), collections.defaultdict(set), collections.defaultdict(dict)
    for stack, n in samples:
        boxes = folded_path(stack)
        paths.append([tuple(key for key, _, _ in boxes[:i + 1]) for i in range(len(boxes))])
        for path, (_, frames, names) in zip(paths[-1], boxes):
            weights[path] += n
            lengths[path].add(frames)
            members[path].add(tuple(names))

    def name(path):
        if not path[-1].startswith("library "):
            return path[-1]
        if lengths[path] == {1} and len(members[path]) == 1:
            return next(iter(members[path]))[0].split(".")[1]
        least, most, of = min(lengths[path]), max(lengths[path]), {n.split(".")[0]: 0 for m in sorted(members[path]) for n in m if "." in n}
        return ("up to " if least < most else "") + f"{most} frame{'s' * (most > 1)}: " + ", ".join(sorted(of))
    return {tuple(name(path[:i + 1]) for i in range(len(path))): n for path, n in weights.items()}


def places(b):
    """Returns {path of names: x of the box's left edge}, from the saved picture. In the name of a
    folded box the packages are in alphabetical order."""
    return {path: x for path, (x, _) in boxes_of(b)[0].items()}


def drawn(b):
    """Returns {path of names: share} of all boxes that the picture has."""
    boxes, width = boxes_of(b)
    return {path: (right - x) / width for path, (x, right) in boxes.items()}


def boxes_of(b):
    """Returns ({path of names: (left and right edge of the box)}, the picture's width)."""
    b.js(CATCH_SAVED)
    choose(b, "Save", "svg")
    until(b, "'image/svg+xml' in window.saved", "not saved")
    root, boxes, out = ET.fromstring(b.js("window.saved['image/svg+xml']")), [], {}
    for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
        title = rect.find("{http://www.w3.org/2000/svg}title")
        if title is not None:
            boxes.append((int(rect.get("y")) // ROW, float(rect.get("x")), float(rect.get("width")) + 1, title.text.split("\n")[0]))
    for depth, x, width, name in sorted(boxes):
        words = re.fullmatch(r"\[(.*frames?: )(.*)\]", name)
        above = next((path for path, (left, right) in out.items() if len(path) == depth and left - 0.2 <= x and x + width <= right + 0.2), ())
        path = (*above, words[1] + ", ".join(sorted(words[2].split(", "))) if words else name)
        assert path not in out, path
        out[path] = (x, x + width)
    return {path[1:]: edges for path, edges in out.items()}, float(root.get("width"))


def my_code(b):
    """Libraries between the user's own frames are drawn as one box, with the weight of its samples.
    The numbers in the tables stay the same."""
    rng = random.Random(5)
    names = ["view", "rule", "django.get", "django.run", "asgiref.sync", "json.loads", "json.scan", ":inflate", ":crc", "import json", "[gc]"]
    samples = [(["main", *rng.choices(names, k=rng.randrange(1, 7))], rng.randrange(20, 60)) for _ in range(30)]
    whole = sum(n for _, n in samples)
    made("mine.html", [([frame_of(name) for name in stack], {}, [n]) for stack, n in samples])
    open_page(b, "mine.html")
    unfolded, most = rows(b), len(drawn(b))
    press(b, "My code")
    want, got = folded_boxes(samples), drawn(b)
    got.pop(())
    equal(sorted(got), sorted(want), "boxes")
    assert len(want) < most and all(abs(got[path] * whole - n) < 0.002 * whole for path, n in want.items()), (got, want)
    equal([r[0] for r in rows(b)][:3], [r[0] for r in unfolded if r[0] in ("main", "view", "rule")], "the first rows")
    # Within each group the rows are in the order of the column by which the table is sorted.
    groups = [[]]
    for name, *numbers in b.js("""[...document.querySelectorAll('#table tbody tr')].map((tr) => tr.className === 'group' ? [tr.textContent] :
            [tr.querySelector('.name').textContent, ...[...tr.querySelectorAll('.share')].map((e) => parseFloat(e.textContent))])"""):
        groups.append([]) if not numbers else groups[-1].append(numbers[0])  # pylint: disable=expression-not-assigned
    assert groups.pop(0) == [], groups  # the first row is a heading
    assert len(groups) == 2 and len(groups[0]) == 3 and all(g == sorted(g, reverse=True) for g in groups), groups
    press(b, "Function")
    equal((b.js("document.querySelectorAll('#table .group').length"), [r[0] for r in rows(b)]), (0, sorted(r[0] for r in rows(b))), "by name")
    press(b, "Own")
    seen = {r[0]: r[1:] for r in rows(b)}
    equal({name: seen[name] for name in ("main", "view", "rule", "inflate", "crc", "import json")},
          {name: next(r[1:] for r in unfolded if r[0] == name) for name in ("main", "view", "rule", "inflate", "crc", "import json")}, "one's own rows")
    for package in "django", "asgiref", "json":
        own = sum(n for stack, n in samples if stack[-1].startswith(package + "."))
        total = sum(n for stack, n in samples if any(name.startswith(package + ".") for name in stack))
        equal(seen[package], [f"{100 * n / whole:.1f} %" for n in (own, total)], package)
    find(b, "loads")
    loads = sum(n for stack, n in samples if "json.loads" in stack)
    equal(matched(b), f"1 function, {100 * loads / whole:.1f} % of shown", "a function that is folded")
    open_page(b, "mine.html", "#library=folded&view=callers")
    got, want = {path: n for path, n in drawn(b).items() if len(path) == 1}, collections.Counter()
    for stack, n in samples:
        want["library" if "library" in folded_path(stack)[-1][0] else folded_path(stack)[-1][0]] += n
    for (name,), share in got.items():
        want[name if name in want else "library"] -= share * whole
    assert max(map(abs, want.values())) < 0.01 * whole, want
    for view in "flame", "callers", "sandwich&f=0":
        open_page(b, "mine.html", "#library=folded&recursion=1&view=" + view)
        b.mouse("mouseMoved", *at(b, 0.1, 2))
        b.js("document.querySelector('#canvas').focus()")
        for key in "ArrowDown", "ArrowDown", "ArrowDown", "s":
            b.key(key, key if len(key) == 1 else None)
    no_errors(b)


def deep_trunk(b):
    """If more than 25 rows of calls, one below the other, have at least 95 % of all samples, the
    page folds them into one row at first, so that it begins with the user's code. It also folds
    25 rows of library code. One press of a button shows all rows."""
    above = ["serve", *[f"django.f{i}" for i in range(24)], "view"]
    samples = [([*above, "hot", ":sin"], 60), ([*above, "warm", "json.loads"], 37), (["serve", "django.f0", "idle"], 3)]
    for rows_above, folded in ((above, True), (above[:10], False)):
        made("trunk.html", [([frame_of(name) for name in [*rows_above, *stack[len(above):]] if name != "idle"] if n > 3 else [frame_of(name) for name in stack], {}, [n])
                            for stack, n in samples])
        open_page(b, "trunk.html", code="")
        equal(b.js("[...document.querySelectorAll('#tools button')].find((e) => e.textContent === 'My code').getAttribute('aria-pressed')"), str(folded).lower(), "at first")
    for n, folded in (60, True), (40, False):
        made("trunk.html", [([frame_of(name) for name in stack], {}, [n if "hot" in stack else 100 - n]) for stack in ([f"django.g{i}" for i in range(25)] + ["view", "hot"], ["main", "cold"])])
        open_page(b, "trunk.html", code="")
        equal(b.js("[...document.querySelectorAll('#tools button')].find((e) => e.textContent === 'My code').getAttribute('aria-pressed')"), str(folded).lower(), "most is in libraries")
    made("trunk.html", [([frame_of(name) for name in stack], {}, [n]) for stack, n in samples])
    open_page(b, "trunk.html", code="")
    trunk = "up to 25 frames: app.py, django"
    got = {path: round(100 * share) for path, share in drawn(b).items() if path}
    equal(got, {(trunk,): 100, (trunk, "view"): 97, (trunk, "view", "hot"): 60, (trunk, "view", "hot", "sin"): 60, (trunk, "view", "warm"): 37,
                (trunk, "view", "warm", "loads"): 37, (trunk, "idle"): 3}, "boxes")
    press(b, "My code")
    equal(len(drawn(b)), len(above) + 1 + 4 + 1, "all boxes")
    until(b, "location.hash.includes('library=shown')", "the address doesn't say so")
    no_errors(b)


def recursion(b):
    open_page(b, "recursion.html")
    b.click(*at(b, 0.5, 4))
    equal(crumbs(b)[1:], ["main", "f", "f", "f"], "f calls itself")
    press(b, "Collapse recursion")
    b.click(*at(b, 0.5, 2))
    equal(crumbs(b)[1:], ["main", "f"], "collapsed")
    b.click(*at(b, 0.2, 3))
    equal(crumbs(b)[1:], ["main", "f", "g"], "below all of them")
    equal([r for r in rows(b) if r[0] == "f"], [["f", "60.0 %", "100.0 %"]], "counted once")
    no_errors(b)


def sandwich(b):
    """The view of callers and callees (sandwich) of function a shows its callers main (30) and b
    (20)."""
    open_page(b, "shares.html")
    press(b, "a")
    press(b, "One function")
    equal(b.js("document.querySelector('#above').hidden"), False, "callers")
    x, y, w, h = b.js("(() => { const r = document.querySelector('#above').getBoundingClientRect();"
                      "return [r.x, r.y, r.width, r.height]; })()")
    b.mouse("mouseMoved", x + w * 0.8, y + h - 2.5 * ROW - 2)
    assert tip(b).startswith("b\n"), tip(b)
    b.mouse("mouseMoved", x + w * 0.3, y + h - 2.5 * ROW - 2)
    assert tip(b).startswith("main\n"), tip(b)
    b.mouse("mouseMoved", *at(b, 0.5, 1))
    assert tip(b).startswith("a\n") and "50.0 %" in tip(b), tip(b)
    x, y = at(b, 0.9, 1)
    equal(pixel(b, x, y), (124, 47, 208), "it is marked as what is searched for")
    press(b, "Who called it")
    b.mouse("mouseMoved", *at(b, 0.3, 1))
    assert tip(b).startswith("a\n"), tip(b)
    no_errors(b)


def around(b):
    """A reader without a mouse can switch by keys to the pictures of callers and callees. The
    tables of callers and callees have the same numbers as the pictures."""
    open_page(b, "shares.html", "#view=sandwich&f=2")
    name = b.js("document.querySelector('#lines h2').textContent")
    for _ in range(3):
        if name == "a":
            break
        press(b, "a")
        name = b.js("document.querySelector('#lines h2').textContent")
    equal(b.js("['#above', '#flame'].map((id) => { const c = document.querySelector(id + ' canvas'); return [c.tabIndex, c.getAttribute('aria-label').split(':')[0]]; })"),
          [[0, "Callers of a"], [0, "Callees of a"]], "canvases")
    said = "document.querySelector('#live').textContent.replace(/\\u00a0/g, ' ')"
    b.js("document.querySelector('#above canvas').focus()")
    for key, want in (("ArrowUp", "a, /srv/lib/a.py, 50.0 % of all"), ("ArrowUp", "main, /srv/app.py, 30.0 % of all"),
                      ("ArrowRight", "b, /srv/lib/b.py, 20.0 % of all"), ("ArrowUp", "main, /srv/app.py, 20.0 % of all"), ("ArrowDown", "b, /srv/lib/b.py, 20.0 % of all")):
        b.key(key)
        equal(b.js(said), want, key)
    b.key("+", "+")
    press(b, "reset")
    equal(b.js("document.querySelector('#reset')"), None, "a reset of what isn't zoomed")
    for table, want in (("Callers", [["main", "30.0 %", "50.0 %"], ["b", "20.0 %", "20.0 %"]]), ("Callees", [])):
        press(b, table)
        equal(rows(b), want, table)
    b.js("document.querySelector('#above canvas').focus()")
    for key in ("ArrowUp", "ArrowUp", "ArrowRight", "Enter"):
        b.key(key)
    equal(b.js("document.querySelector('#above canvas').getAttribute('aria-label')").split(":")[0], "Callers of b", "after Enter")
    equal(rows(b), [["a", "20.0 %", "20.0 %"]], "callees")
    equal(b.js("[...document.querySelectorAll('#table thead th')].map((e) => e.textContent)"), ["Direct", "Total", "Callee"], "headings")
    press(b, "a")
    press(b, "By weight")
    equal([r[0] for r in rows(b)], ["a", "deflate", "do_syscall_64", "b", "main"], "without a sandwich")
    assert "Callers" not in b.js("document.querySelector('#tabs').textContent"), "a table of nothing"
    made("again.html", [(["main", "f", "g", "f", "h"], {}, [6]), (["f", "h"], {}, [4])])
    open_page(b, "again.html", "#table=callers")
    press(b, "f")
    press(b, "One function")
    for table, want in (("Callers", [["main", "60.0 %", "60.0 %"]]), ("Callees", [["g", "60.0 %", "60.0 %"], ["h", "40.0 %", "100.0 %"], ["f", "0.0 %", "60.0 %"]])):
        press(b, table)
        equal(sorted(rows(b)), sorted(want), table + " of a function that calls itself")
    no_errors(b)


def upwards(b):
    """In the picture of callers, a caller's box stands for time that its callee took, so the caller
    has no own time there. Functions that are too narrow for boxes still count in the total."""
    made("narrow.html", [(["main", f"leaf{i}"], {}, [1]) for i in range(5000)] + [(["main", "wide"], {}, [5000])])
    open_page(b, "narrow.html", "#view=callers&colour=self")
    for row, want in ((0, "total\t10,000\t100.0 %"), (1, "total\t5,000\t50.0 %"), (2, "total\t5,000\t50.0 %")):
        b.mouse("mouseMoved", *at(b, 0.25, row))
        assert tip(b).split("\n")[-1] == want, (row, tip(b))
        if row:
            x, y = at(b, 0.4, row)
            equal(b.js(FILL % [x, y]), ("all", "own share: none")[row - 1], "own share's colour")
    b.mouse("mouseMoved", *at(b, 0.75, 1))
    equal(tip(b), "", "what is too narrow")
    no_errors(b)


def lines(b):
    """The panel of lines shows each line's share. If the file hasn't changed since it ran, the
    panel also shows the source text, with the expression underlined."""
    open_page(b, "shares.html")
    press(b, "b")
    text = "[...document.querySelectorAll('#lines tbody tr')].map((e) => e.innerText.replace(/[\\u00a0]/g, ' ').split('\\t').join('|'))"
    equal(b.js(text), ["|20.0 %|4", "10.0 %|10.0 %|5"], "lines of b")
    line = [{"mapping": "[python 3.12]", "file": "/srv/app.py", "name": "fib", "line": n} for n in range(8)]
    made("lines.html", [([line[5], line[5], line[2]], {}, [6]), ([line[5], line[7]], {}, [3]), ([line[7], line[7]], {}, [1])])
    open_page(b, "lines.html")
    press(b, "fib")
    equal(sorted(b.js(text)), ["40.0 %|40.0 %|7", "60.0 %|60.0 %|2", "|90.0 %|5"], "lines of a function that calls itself")
    open_page(b, "source.html")
    press(b, "work")
    equal(b.js("document.querySelector('#lines u').textContent"), "call(n, </script>)", "underlined")
    equal(b.js("document.querySelectorAll('#lines tbody tr').length"), 4, "lines")
    open_page(b, "changed.html")
    press(b, "work")
    assert "The file changed" in b.js("document.querySelector('#lines').textContent")
    equal(b.js("document.querySelectorAll('#lines code').length"), 0, "text of a changed file")
    open_page(b, "foreign.html")
    press(b, "work")
    assert "option --source" in b.js("document.querySelector('#lines').textContent")
    open_page(b, "shares.html")
    press(b, "b")
    assert "--source" not in b.js("document.querySelector('#lines').textContent"), "there is none to be had"
    no_errors(b)


def panel(b):
    """The panel of lines shows 48 characters of source, without the indentation that all lines
    share. The hot expression can be seen. Mouse, finger and keys change the panel's width. The
    width stays when another function is chosen, and the address has it."""
    deep = pages / "deep.py"
    call = "self.check(order, " + ", ".join(f"rule_{i}" for i in range(14)) + ", hot(order))"
    deep.write_text("def other():\n    pass\n\n\nclass A:\n    class B:\n        def f(self, order):\n            if order:\n\n                " + call + "\n            return 1\n")
    at_hot, frames = 17 + call.index("hot("), [{"mapping": "[python 3.12]", "file": str(deep.resolve()), "name": name, "line": line, "start_line": start, **more} for name, line, start, more in (
        ("A.B.f", 10, 7, {"column": 17 + call.index("hot("), "end_line": 10, "end_column": 17 + call.index("hot(") + len("hot(order)")}), ("other", 2, 1, {}))]
    made("deep.html", [([frames[0]], {}, [9]), ([frames[1]], {}, [1])])
    subprocess.run([KRAIT, "report", pages / "deep.html", "--source", "-o", pages / "panel.html"], check=True, timeout=60)
    width, left = "document.querySelector('#side').clientWidth", "document.querySelector('#divider').getBoundingClientRect().left"
    open_page(b, "panel.html")
    press(b, "A.B.f")
    equal(b.js("[...document.querySelectorAll('#lines code')].slice(0, 5).map((e) => e.textContent)"), ["def f(self, order):", "    if order:", "", "        " + call, "    return 1"], "source")
    equal(b.js("document.querySelector('#lines u').textContent"), "hot(order)", f"the expression from column {at_hot} on")
    assert b.js("""(() => { const [u, p] = ['#lines u', '#lines'].map((q) => document.querySelector(q).getBoundingClientRect());
        return u.left >= p.left && u.right <= p.right && u.top >= p.top && u.bottom <= p.bottom; })()"""), "the hot expression isn't in sight"
    room = b.js("""(() => { const g = document.createElement('canvas').getContext('2d'), e = document.querySelector('#lines code');
        document.querySelector('#lines').scrollLeft = 0;
        g.font = getComputedStyle(e).font;
        return (document.querySelector('#lines').getBoundingClientRect().right - e.getBoundingClientRect().left) / g.measureText('m').width; })()""")
    assert room >= 48, room
    before, x = b.js(width), b.js(left) + 3
    b.mouse("mouseMoved", x, 500)
    b.mouse("mousePressed", x, 500, button="left", buttons=1, clickCount=1)
    b.mouse("mouseMoved", x - 100, 520, button="left", buttons=1)
    b.mouse("mouseReleased", x - 100, 520, button="left", clickCount=1)
    equal(b.js(width), before + 100, "after a drag")
    equal(b.js("document.querySelector('#canvas').clientWidth"), b.js("document.querySelector('#picture').clientWidth"), "the picture's width")
    touch = (lambda kind, *points: b.call("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]}))
    touch("touchStart", (x - 100, 500))
    for step in range(1, 5):
        touch("touchMove", (x - 100 + 15 * step, 500))
    touch("touchEnd")
    equal(b.js(width), before + 40, "after a finger's drag")
    b.js("document.querySelector('#divider').focus()")
    b.key("ArrowLeft")
    equal(b.js(width), before + 72, "after a key")
    equal(int(b.js("document.querySelector('#divider').getAttribute('aria-valuenow')")), before + 72, "what is told")
    press(b, "other")
    equal(b.js(width), before + 72, "with another function")
    until(b, f"location.hash.includes('side={before + 72}')", "the address doesn't say so")
    open_page(b, "panel.html", b.js("location.hash"))
    equal(b.js(width), before + 72, "from the address")
    b.js("document.querySelector('#divider').focus()")
    for key, want in (("End", 1400 - 240), ("Home", 240), ("Enter", before)):
        b.key(key)
        equal(b.js(width), want, key)
    b.js("document.querySelector('#divider').focus()")
    b.key("End")
    b.resize(1100, 800)
    assert b.js("document.querySelector('#picture').clientWidth >= 200 && document.documentElement.scrollWidth <= innerWidth"), "in a smaller window"
    b.resize(1400, 800)
    no_errors(b)


def colours(b):
    """Each way to colour the boxes draws a different picture, with a legend of its own."""
    seen = set()
    for mode in ("kind", "module", "self", "thread", "gil"):
        open_page(b, "gil.html", f"#colour={mode}")
        seen.add(b.js("document.querySelector('#canvas').toDataURL()"))
    equal(len(seen), 5, "pictures")
    assert "waiting" in b.js("document.querySelector('#legend').textContent")
    mixed()
    open_page(b, "mixed.html", "#colour=module&by=none")
    # no box has an edge at these places
    for share, row in itertools.product((0.013 + 0.04 * i for i in range(25)), range(1, 6)):
        name = tip_at(b, share, row).split("\n")[0]
        if name:
            x, y = at(b, share, row)
            equal(b.js(FILL % [x, y - ROW / 2 + 1]), CODE[name][3], "the legend's name of the colour of " + name)
    no_errors(b)


# How people with each kind of vision see colours: matrices for linear RGB by Machado, Oliveira,
# Fernandes (2009), severity 1.
SEEN_BY = {"everybody": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
           "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
           "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
           "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900))}
TO_XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))


def linear(colour):
    """Returns the linear RGB values of a colour, which is written #rrggbb or rgb(r, g, b)."""
    parts = ([int(colour[i:i + 2], 16) for i in (1, 3, 5)] if colour[0] == "#" else
             [int(n) for n in re.findall(r"\d+", colour)[:3]])
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (p / 255 for p in parts)]


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def contrast_of(one, other):
    """Returns WCAG's contrast ratio of two colours, by their luminance."""
    low, high = sorted(times(TO_XYZ, linear(c))[1] + 0.05 for c in (one, other))
    return high / low


def lab(colour, by):
    """Returns the CIELAB values of a colour, as a person with the vision @by sees it."""
    xyz = times(TO_XYZ, [min(max(c, 0), 1) for c in times(SEEN_BY[by], linear(colour))])
    x, y, z = (c ** (1 / 3) if c > 0.008856 else 7.787 * c + 16 / 116 for c in (a / white for a, white in zip(xyz, (0.95047, 1, 1.08883))))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def ciede2000(one, other):
    """Returns the difference of two CIELAB colours (Sharma, Wu, Dalal 2005)."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    grey = 0.5 * (1 - math.sqrt((mean := (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2) ** 7 / (mean ** 7 + 25 ** 7)))
    (c1, h1), (c2, h2) = ((math.hypot(a * (1 + grey), y), math.degrees(math.atan2(y, a * (1 + grey))) % 360) for a, y in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180
    light, chroma, hue = (l1 + l2) / 2, (c1 + c2) / 2, h1 + turn / 2
    cos = lambda angle: math.cos(math.radians(angle))
    t = 1 - 0.17 * cos(hue - 30) + 0.24 * cos(2 * hue) + 0.32 * cos(3 * hue + 6) - 0.2 * cos(4 * hue - 63)
    turned = -2 * math.sqrt(chroma ** 7 / (chroma ** 7 + 25 ** 7)) * math.sin(math.radians(60 * math.exp(-((hue % 360 - 275) / 25) ** 2)))
    dl = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / math.sqrt(20 + (light - 50) ** 2))
    dc = (c2 - c1) / (1 + 0.045 * chroma)
    dh = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2)) / (1 + 0.015 * chroma * t)
    return math.sqrt(dl ** 2 + dc ** 2 + dh ** 2 + turned * dc * dh)


def kinds_apart(b):
    """The colours of any two kinds of code differ by at least 10 (CIEDE2000). In the dark scheme
    they differ by at least 13, from each other and from the colours of groups. So neighbours in
    a picture can be told apart at a glance."""
    for one, other, want in (((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425), ((50, 2.5, 0), (73, 25, -18), 27.1492), ((2.0776, 0.0795, -1.135), (0.9033, -0.0636, -0.5514), 0.9082),
                             # pairs of colours and their differences, from the table of the
                             # formula's authors
                             ((22.7233, 20.0904, -46.694), (23.0331, 14.973, -42.5619), 2.0373)):
        assert abs(ciede2000(one, other) - want) < 1e-4, (one, other, ciede2000(one, other))
    source = base64.b64encode(pathlib.Path("ui/picture/colour.js").read_bytes()).decode()
    for dark, least in (False, 10), (True, 13):
        b.scheme(dark)
        b.open("/dev/null")
        fills = b.js(f"""import('data:text/javascript;base64,{source}').then((m) =>
            Object.fromEntries([...m.FAMILIES.map(([k]) => k), ...({str(dark).lower()} ? ['r'] : [])].map((k) => [k, m.familyFills(k)])))""", wait=True)
        found = min((ciede2000(lab(x, "everybody"), lab(y, "everybody")), one, other) for one, other in itertools.combinations(fills, 2) for x in fills[one] for y in fills[other])
        assert found[0] >= least, (dark, found)
        found = min((ciede2000(lab(x, "everybody"), lab(y, "everybody")), x, y) for x in fills["q"] for y in fills["s"])
        assert found[0] >= (10, 17)[dark], ("packages and standard library, which lie beside each other", dark, found)
    b.scheme(False)


def imports(b):
    """An import statement counts as a kind of code: it has its own colour, its whole name in the
    box, and its share in the header and in the filter."""
    samples = [(["main", "import shop.orders.rules", "django.f", "import json"], 30), (["main", "view", "import json"], 10), (["main", "view"], 58), (["main", "django.f"], 2)]
    made("imports.html", [([frame_of(name) for name in stack], {}, [n]) for stack, n in samples])
    open_page(b, "imports.html")
    assert "imports 40.0 %" in b.js("document.querySelector('#numbers').textContent.replace(/\u00a0/g, ' ')"), "the header"
    x, y = at(b, 0.8, 2)  # the function view() has the widest box
    equal(b.js(FILL % [x, y - ROW / 2 + 1]), "imports", "the colour of import shop.orders.rules")
    assert tip_at(b, 0.8, 2).split("\n")[0] == "import shop.orders.rules", tip(b)
    choose(b, "Only with", "imports")
    equal(b.js(CHIPS), "with imports ×40.0 % of all is shown", "by the filter")
    b.js("""window.written = []; CanvasRenderingContext2D.prototype.fillText = function (text) { window.written.push(text); }; dispatchEvent(new Event('resize'))""")
    assert "import shop.orders.rules" in b.js("window.written") and "import json" in b.js("window.written"), b.js("window.written")
    picture = pages / "imports.svg"
    subprocess.run([KRAIT, "report", pages / "imports.html", "-o", picture], check=True, timeout=60)
    boxes = ET.parse(picture).getroot().find(".//*[@id='boxes']")
    equal({e.get("class").split()[1] for e in boxes if e.find("{*}title") is not None and e.find("{*}title").text.startswith("import ")}, {"i"}, "the picture's class")
    no_errors(b)


def told_apart(b):
    """The colours that ui/picture/colour.js has for kinds of code, for states of the GIL, and for
    threads and modules (ten, and one for all others) differ enough for everybody in SEEN_BY
    (CIE76), and text on each can be read. krait's pictures have the same colours."""
    source = base64.b64encode(pathlib.Path("ui/picture/colour.js").read_bytes()).decode()
    style = pathlib.Path("src/picture/svg/svg.css").read_text().split("@media (prefers-color-scheme:dark){")
    for dark in (False, True):
        b.scheme(dark)
        b.open("/dev/null")
        fills, inks, gil, apart = b.js(f"""import('data:text/javascript;base64,{source}').then((m) =>
            [Object.fromEntries([...m.FAMILIES.map(([k]) => k), 'r'].map((k) => [k, m.familyFills(k)])), m.inks(), m.GIL.map(m.gilFill),
             [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(m.nthFill)])""", wait=True)
        for name, members in fills.items():
            css = re.findall(r"\.%s\d?\{fill:(#[0-9a-f]{6})\}" % name, style[dark])
            equal(css, members, "the picture's fills of " + name)
        for fill in [*sum(fills.values(), []), *gil, *apart]:
            for ink in (inks["text"], inks["faint"]):
                got = contrast_of(fill, ink)
                assert got >= 4.5, (dark, fill, ink, got)
        # The colours of groups ("r") needn't differ, because the groups' place tells them apart.
        del fills["r"]
        for by, sets in itertools.product(SEEN_BY, (fills, dict(enumerate(map(lambda c: [c], gil))), dict(enumerate(map(lambda c: [c], apart))))):
            seen = {name: [lab(c, by) for c in members] for name, members in sets.items()}
            least = min((math.dist(x, y), one, other) for one, other in itertools.combinations(seen, 2) for x in seen[one] for y in seen[other])
            assert least[0] >= 10, (dark, by, least)
    b.scheme(False)


GIL = {"main": "held", "App.handle": "held", "loads": "held", "get": "released", "tcp_sendmsg": "released",
       "run": "waiting", "b": "waiting"}
FILL = """(([x, y]) => {
    const c = document.querySelector('#canvas'), r = c.getBoundingClientRect(), d = devicePixelRatio;
    const fill = 'rgb(' + c.getContext('2d').getImageData((x - r.x) * d, (y - r.y) * d, 1, 1).data.slice(0, 3).join(', ') + ')';
    const named = [...document.querySelectorAll('#legend span:has(b)')].filter((e) => getComputedStyle(e.querySelector('b')).backgroundColor === fill);
    return named.map((e) => e.textContent).join();
})(%s)"""


def votes(b):
    """In every view a box has the colour of the GIL state, or of the thread, that most of its
    samples have. In the 100 ms of picture.html that are tested, two of ten samples of one thread
    are in get(), which releases the GIL; the other thread waits in six of ten."""
    for view, colour in (("flame", "gil"), ("time", "gil"), ("callers", "gil"), ("time", "thread"), ("callers", "thread")):
        open_page(b, "picture.html", f"#view={view}&colour={colour}&t=3000000000-3100000000")
        seen = set()
        for share in (0.013 + 0.04 * i for i in range(25)):  # no box has an edge at these places
            leaf = None
            for row in range(1, 6):
                x, y = at(b, share, row)
                b.mouse("mouseMoved", x, y)
                name = tip(b).split("\n")[0]
                # In the view of callers, a column has the callers of one innermost function, so all
                # its boxes stand for samples of this function.
                leaf = leaf or name
                of = leaf if view == "callers" else name
                if name and of in GIL:
                    state = GIL[of] if colour == "gil" else "worker (tid 2)" if of in ("run", "b") else "MainThread (tid 1)"
                    equal(b.js(FILL % [x, y - ROW / 2 + 1]), state, f"{view}: {name}")
                    seen.add(of)
        assert seen >= {"tcp_sendmsg", "b"}, seen
    no_errors(b)


CATCH_SAVED = """window.saved = {};
URL.createObjectURL = (blob) => { blob.text().then((t) => { window.saved[blob.type] = t; }); return 'blob:x'; };
HTMLAnchorElement.prototype.click = () => {};
0"""


def saved(b):
    """The saved picture has the same boxes as the page."""
    open_page(b, "shares.html")
    b.js(CATCH_SAVED)
    for what in ("svg", "folded", "png"):
        choose(b, "Save", what)
    until(b, "Object.keys(window.saved).length === 3", "not saved")
    folded = b.js("window.saved['text/plain']")
    equal(sorted(folded.splitlines())[0], "main (app.py:10);a (lib/a.py:3) 30", "folded")
    root = ET.fromstring(b.js("window.saved['image/svg+xml']"))
    titles = [e.text.split("\n")[0] for e in root.iter("{http://www.w3.org/2000/svg}title")]
    equal(sorted(titles), sorted(["app.py", "main", "a", "b", "a", "deflate", "do_syscall_64"]), "svg")
    no_errors(b)


def saved_folded(b):
    """The folded stacks that the page saves have the same frames and counts as those that the
    command line writes from the page."""
    native = {"mapping": "/usr/lib/libz.so.1"}
    made("frames.html", [([{"mapping": "[python 3.12]", "file": "/srv/app.py", "name": "a;b c", "line": 3}, {**native, "name": "inflate"},
                           {"mapping": "[kernel]", "name": "page_fault"}], {"process": "#1", "pid": "1"}, [3, 5000]),
                         ([{**native, "name": "libz.so.1"}, {"mapping": "[unknown]", "name": "x"}, {**native, "address": "0x1234"}], {"process": "two", "pid": "2"}, [4, 7000]),
                         ([{"mapping": "[python 3.12]", "name": "# no file"}, {**native, "name": "f", "file": "/src/f.c", "line": 9}], {"process": "two", "pid": "2"}, [5, 1])],
         (("samples", "count"), ("cpu", "nanoseconds")), default_sample_type=1)
    for name in "frames", "shares", "picture", "library", "recursion", "source", "gil":
        open_page(b, name + ".html")
        b.js(CATCH_SAVED)
        choose(b, "Save", "folded")
        until(b, "'text/plain' in window.saved", "not saved")
        want = subprocess.run([KRAIT, "report", pages / (name + ".html"), "--format", "folded"], check=True, timeout=60, capture_output=True)
        equal(sorted(b.js("window.saved['text/plain']").splitlines()), sorted(want.stdout.decode().splitlines()), name)
    made("same.html", [(["main", "f"], {"process": name, "pid": pid, "thread": thread, "tid": pid}, [n]) for n, (name, pid, thread) in
                       enumerate((("app", "1", "x"), ("app", "2", "y"), ("web", "3", "x")), 1)])
    one, two = "app (pid 1)", "app*"
    for words, fragment in ((["--process", two], ""), (["--process", two, "--by", "process"], ""), (["--process", two, "--by", "thread"], ""),
                            ([], ""), ([], "label=process%3D" + one.replace(" ", "+")), (["--by", "process"], ""), (["--by", "thread"], "")):
        subprocess.run([KRAIT, "report", pages / "same.html", *words, "-o", pages / "part.html"], check=True, timeout=60)
        open_page(b, "part.html", "#" + fragment if fragment else "")
        b.js(CATCH_SAVED)
        choose(b, "Save", "folded")
        until(b, "'text/plain' in window.saved", "not saved")
        want = subprocess.run([KRAIT, "report", pages / "part.html", "--format", "folded", *words[2 if two in words else 0:], *(["--process", one] if fragment else [])],
                              check=True, timeout=60, capture_output=True)
        equal(sorted(b.js("window.saved['text/plain']").splitlines()), sorted(want.stdout.decode().splitlines()), (words, fragment))
    no_errors(b)


def saved_sandwich(b):
    """If the view of callers and callees (sandwich) is saved, the file also has the picture of
    callers. A picture that is higher than the window is saved in full."""
    stack = [f"f{i}" for i in range(100)]
    made("deep.html", [(stack, {}, [5])])
    open_page(b, "deep.html", "#view=sandwich&f=%d" % 50)
    b.js("window.size = null;" + CATCH_SAVED.replace("URL.create", "const size = (a) => new DataView(a); URL.create", 1).replace(
        "blob.text()", "if (blob.type === 'image/png') blob.arrayBuffer().then((a) => { window.size = [size(a).getUint32(16), size(a).getUint32(20)]; }); blob.text()"))
    for what in ("svg", "png"):
        choose(b, "Save", what)
    until(b, "Object.keys(window.saved).length === 2 && window.size !== null", "not saved")
    root = ET.fromstring(b.js("window.saved['image/svg+xml']"))
    titles = [e.text.split("\n")[0] for e in root.iter("{http://www.w3.org/2000/svg}title")]
    equal(sorted(titles), sorted(["all callers", "all callees", b.js("document.querySelector('#lines h2').textContent"), *stack]), "boxes")
    rects = [r for r in root.iter("{http://www.w3.org/2000/svg}rect") if r.find("{http://www.w3.org/2000/svg}title") is not None]
    equal(sorted(float(r.get("y")) for r in rects), [ROW * i for i in range(len(stack) + 3)], "rows, one below the other")
    equal(b.js("window.size"), [int(root.get("width")), ROW * (len(stack) + 3)], "the PNG's size")
    no_errors(b)


CUT = """[...document.querySelectorAll('select')].flatMap((e) => {
    const s = getComputedStyle(e), g = document.createElement('canvas').getContext('2d'), arrow = 20;
    g.font = s.fontSize + ' ' + s.fontFamily;
    return [...e.options].map((o) => o.text).filter((t) =>
        g.measureText(t).width > e.clientWidth - parseFloat(s.paddingLeft) - parseFloat(s.paddingRight) - arrow);
})"""


def options(b):
    """On a telephone, one button opens all controls except the views and My code, which are always
    shown."""
    seen = "[...document.querySelectorAll('#tools > *')].filter((e) => e.offsetWidth && e.textContent).length"
    open_page(b, "picture.html")
    wide = b.js(seen)
    b.resize(400, 700)
    until(b, "%s === 3" % seen, "more than the views, My code and a button")
    press(b, "Options")
    until(b, "%s === %d" % (seen, wide + 1), "not all controls")
    choose(b, "Library frames", "hidden")
    equal(b.js(seen), wide + 1, "controls after one was used")
    press(b, "Options")
    until(b, "%s === 3" % seen, "still more than the views, My code and a button")
    b.resize(1400, 800)
    no_errors(b)


def sizes(b):
    """On screens of all sizes, light and dark, nothing is wider than the screen, and no choice is
    wider than its control."""
    for dark in (False, True):
        b.scheme(dark)
        for width, height in ((1600, 900), (800, 700), (400, 700), (320, 640)):
            b.resize(width, height)
            open_page(b, "picture.html")
            if width <= 620:
                press(b, "Options")
            equal(b.js(CUT), [], (width, "choices that are cut"))
            assert b.js("document.documentElement.scrollWidth <= innerWidth"), (width, "wider than the screen")
            b.screenshot(pages / f"page-{width}-{'dark' if dark else 'light'}.png")
    b.scheme(False)
    b.resize(1400, 800)
    no_errors(b)


VIEWS = (("shares.html", ""), ("timed.html", "#view=sandwich&f=1&t=0-5e9&label=thread%3Done (tid 1)"), ("shares.html", "#view=sandwich&f=2&table=callers"),
         ("picture.html", "#view=sandwich&f=1&table=callees"), ("picture.html", "#colour=module&view=time&table=labels&label=version%3D1"),
         ("source.html", "#table=files&f=1&q=work"), ("gil.html", "#colour=gil&by=thread&table=threads"))


def accessible(b, axe, views=VIEWS):
    """The page violates no rule of axe-core, in every view, light and dark."""
    script = pathlib.Path(axe).read_text()
    for dark in (False, True):
        b.scheme(dark)
        for name, state in views:
            open_page(b, name, state)
            b.js(script + ";window.done = null; axe.run().then((r) => { window.done = r.violations.map((v) => "
                 "v.id + ': ' + v.nodes.map((n) => n.html.slice(0, 120) + ' ' + n.failureSummary).join(' | ')); }); 0")
            until(b, "window.done !== null", "axe-core doesn't end")
            equal(b.js("window.done"), [], f"{name} {'dark' if dark else 'light'}")
    b.scheme(False)


def axe_script():
    setup = subprocess.run([pathlib.Path(__file__).resolve().parent.parent.parent / "setup" / "axe.sh"],
                           capture_output=True, text=True, timeout=200, check=False)
    return setup.returncode, (setup.stdout or setup.stderr).strip()


def time_order(b):
    """In the view by time each thread has its own part of the picture: the part of thread "two" has
    only function b."""
    open_page(b, "timed.html")
    press(b, "By time")
    b.mouse("mouseMoved", *at(b, 0.95, 2))
    assert tip(b).startswith("b\n"), tip(b)
    no_errors(b)


def tip_at(b, share, row):
    b.mouse("mouseMoved", *at(b, share, row))
    return tip(b)


def boxes_below(b, share, rows):
    """Returns the names of the boxes at the place @share of the width in each of @rows; "" for a
    row that has no box there."""
    names = []
    for row in rows:
        b.mouse("mouseMoved", *at(b, share, row))
        names.append(tip(b).split("\n")[0])
    return names


def time_places(b):
    """In time order each sample is drawn at its time. A zoomed box is drawn with all its samples up
    to the last one, however many other samples the page has."""
    stacks = (["main", "a", "x"], ["main"], ["main", "b", "y"], ["main", "a", "z"])
    for name, n in (("few.html", 4), ("crowd.html", 20000)):
        made(name, [(stacks[i % 4], {}, [1], 10 ** 6 * i) for i in range(n)])
        open_page(b, name, "#view=time&z=0~0.5~%.7f" % (0.5 + 4 / n) if n > 4 else "#view=time")
        end = time.monotonic() + 10
        while boxes_below(b, 0.1, [3]) != ["x"] and time.monotonic() < end:
            time.sleep(0.1)
        equal([boxes_below(b, (i + 0.5) / 4, (2, 3)) for i in range(4)], [["a", "x"], ["", ""], ["b", "y"], ["a", "z"]], name)
    b.click(*at(b, 0.6, 3))
    equal(crumbs(b)[1:], ["main", "b", "y"], "crumbs")
    time.sleep(0.5)
    link = b.js("decodeURIComponent(location.hash)")
    place = link.split("z=3~")[1].split("&")[0].split("~")
    equal([round(float(x) * n) for x in place[:2]], [n // 2 + 2, n // 2 + 3], "the address")
    equal(crumbs(b)[1:], ["main", "b", "y"], "crumbs")
    lines = "document.querySelector('#lines h2').textContent"
    equal(b.js(lines), "y", "lines")
    open_page(b, name, link)
    equal(crumbs(b)[1:], ["main", "b", "y"], "crumbs of the link")
    equal(b.js(lines), "y", "lines of the link")
    equal(boxes_below(b, 0.1, (1, 3)), ["main", "y"], "boxes of the link")
    time.sleep(0.5)
    equal(b.js("decodeURIComponent(location.hash)"), link, "the link of the link")
    press(b, "reset")
    time.sleep(0.5)
    equal(boxes_below(b, 0.5, (1, 3)), ["main", ""], "all of it again")
    no_errors(b)


def address(b):
    """A link to the page keeps the view that the page had."""
    open_page(b, "timed.html", "#table=threads&by=thread&q=b&view=flame&flip=1&z=3~0~1")
    equal(rows(b)[0][0], "one (tid 1)", "table")
    equal(matched(b), "1 function, 20.0 % of shown", "search")
    b.js("location.hash = '#table=functions'")
    until(b, "document.querySelector('#tabs [aria-pressed=true]').textContent === 'Functions'", "a new address")
    made("deep.html", [([f"f{i}" for i in range(100)], {}, [5])])
    for fragment, want in (("#flip=1", True), ("#sort=total", False)):
        open_page(b, "deep.html", fragment)
        equal(b.js("(({scrollTop, scrollHeight, clientHeight}) => [scrollTop, scrollHeight - clientHeight - scrollTop])(document.querySelector('#flame'))")[want],
              0, "where all stacks begin" + fragment)
    for fragment in "#z=90~0~1", "#flip=1&z=90~0~1":
        open_page(b, "deep.html", fragment)
        assert "f89" in [tip_at(b, 0.5, row).split("\n")[0] for row in range(40)], "what is zoomed to can be seen " + fragment
    open_page(b, "shares.html", "#view=time&sort=total")
    equal(b.js("document.querySelector('#tools [aria-pressed=true]').textContent"), "By weight", "the view of a page without times")
    open_page(b, "timed.html", "#table=x&f=99999&z=1e9~5~-3&t=a-b&value=77&label=%3Cimg&by=__proto__")
    no_errors(b)


def many():
    """Makes a page of 3,000 stacks, with more boxes than its first picture draws."""
    recording, page = pages / "many.pb.gz", pages / "many.html"
    if not page.exists():
        bench.make(recording, 3000, 40, 0.5)
        subprocess.run([KRAIT, "report", recording, "-o", page], check=True, timeout=60)
    return page


def open_early(b, path):
    """Opens a large page, but holds back the part of its file that has the tree."""
    script = b.call("Page.addScriptToEvaluateOnNewDocument", {"source":
        "const reader = ReadableStreamDefaultReader.prototype, read = reader.read, go = new Promise((done) => { window.go = done; });"
        "reader.read = function () { return go.then(() => read.call(this)); };"})["identifier"]
    b.open("/dev/null")
    b.open(path)
    until(b, "performance.getEntriesByName('krait:first-picture').length > 0", "no picture")
    b.call("Page.removeScriptToEvaluateOnNewDocument", {"identifier": script})
    equal(marks(b, "krait:ready"), 0, "ready")


def let_go(b):
    b.js("window.go(); 0")
    until(b, "performance.getEntriesByName('krait:ready').length > 0", f"not ready: {b.errors}")


def mutual_recursion(b):
    """visit() and generic_visit() call each other. With "Collapse recursion" each is drawn once;
    the sums in the tables are still those of the real stacks."""
    made("mutual.html", [(["main", "visit", "generic_visit", "visit"], {}, [4]), (["main", "visit", "generic_visit", "visit", "generic_visit", "visit"], {}, [6])])
    open_page(b, "mutual.html")
    before = rows(b)
    equal(before, [["visit", "100.0 %", "100.0 %"], ["generic_visit", "0.0 %", "100.0 %"], ["main", "0.0 %", "100.0 %"]], "rows")
    press(b, "Collapse recursion")
    equal(boxes_below(b, 0.5, (1, 2, 3)), ["main", "visit", ""], "the picture")
    equal(rows(b), before, "rows of what is collapsed")
    find(b, "generic_visit")
    equal(matched(b), "1 function, 100.0 % of shown", "the search")
    press(b, "generic_visit")
    press(b, "One function")
    equal(boxes_below(b, 0.5, (1, 2, 3)), ["generic_visit", "visit", ""], "its callees")
    assert "total\t10\t100.0 %" in tip_at(b, 0.5, 1), tip(b)
    x, y, w, h = b.js("(() => { const r = document.querySelector('#above').getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()")
    for row, name in ((1, "generic_visit"), (2, "visit"), (3, "main")):
        b.mouse("mouseMoved", x + w / 2, y + h - (row + 0.5) * ROW - 2)
        equal(tip(b).split("\n")[0], name, "its callers")
    no_errors(b)


def contrast(b, selector):
    """Returns WCAG's contrast ratio of an element's text and its background."""
    style = b.js("(() => { const s = getComputedStyle(document.querySelector('%s')); return [s.color, s.backgroundColor]; })()" % selector)
    return contrast_of(*style)


def pressed(b):
    """A pressed button can be read while the pointer is on it, as it is after each click."""
    for dark in False, True:
        b.scheme(dark)
        open_page(b, "shares.html")
        press(b, "Who called it")
        # The page has replaced the button. The browser notices that the pointer is on the new
        # button only when it draws the next frame.
        until(b, "document.querySelector('#tools button:hover')?.textContent === 'Who called it'", "the pointer")
        got = contrast(b, "#tools button:hover")
        assert got >= 4.5, (dark, got)
    b.scheme(False)
    no_errors(b)


def early(b):
    """While a page of many boxes is still being read, the widest boxes show their numbers and can
    be zoomed and searched. The picture stays zoomed when the other boxes have been read."""
    open_early(b, many())
    b.mouse("mouseMoved", *at(b, 0.3, 0))
    assert "total\t30.0 s\t\u2026\t100.0 %" in tip(b), tip(b)
    x, y = at(b, 0.3, 2)
    b.mouse("mouseMoved", x, y)
    name = tip(b).split("\n")[0]
    assert name.startswith("Class") and "\u2026" in tip(b) and "itself" not in tip(b), tip(b)
    b.click(x, y)
    before = crumbs(b)
    equal(before[-1], name, "zoomed to")
    find(b, "method_1")
    assert re.fullmatch(r"[\d,]+ functions", matched(b)), matched(b)
    b.js("document.querySelector('#canvas').focus()")
    for key in ("ArrowDown", "ArrowUp", "s", "i", "i"):
        b.key(key)
    let_go(b)
    equal(crumbs(b), before, "where it is when all is there")
    assert re.fullmatch(r"[\d,]+ functions, [\d.]+ % of shown", matched(b)), matched(b)
    b.mouse("mouseMoved", *at(b, 0.4, 2))
    assert tip(b).startswith(name) and "itself" in tip(b) and "\u2026" not in tip(b), tip(b)
    until(b, "location.hash.includes('q=method_1')", "the address")
    until(b, "document.querySelectorAll('#table tbody tr').length === 60", "rows")
    no_errors(b)


LAYOUT = """JSON.stringify(['header', '#tools', '#strip', '#status', '#picture', '#canvas', '#tabs', '#legend', ...[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(
    (i) => `#tools > :nth-child(${i + 1})`)].map((q) => {
    const r = document.querySelector(q)?.getBoundingClientRect();
    return [q, r && [r.x, r.y, r.width, r.height].map(Math.round)];
}))"""


def steady(b):
    """A page shows some boxes before it has read the others. When the others have been read, the
    toolbar, the picture and the first boxes don't move, also on a page of several programs."""
    recording, page = pages / "programs.pb.gz", pages / "programs.html"
    bench.make(recording, 3000, 40, 0.5, programs=3)
    subprocess.run([KRAIT, "report", recording, "-o", page], check=True, timeout=60)
    for size, path, first in (((1400, 800), many(), "Class"), ((1400, 800), page, "app"), ((400, 700), page, "app")):
        b.resize(*size)
        open_early(b, path)
        places = [at(b, 0.013 + share / 6, row) for share in range(6) for row in range(1, 6)]

        def names():
            out = []
            for place in places:  # pylint: disable=cell-var-from-loop
                b.mouse("mouseMoved", *place)
                out.append(tip(b).split("\n")[0])
            return out

        before = names(), b.js(LAYOUT), b.js("document.querySelector('#numbers').textContent")
        assert before[0][0].startswith(first), before[0]
        assert b.js("document.querySelector('#tools').inert"), "controls that can't do anything yet"
        let_go(b)
        equal(b.js(LAYOUT), before[1], "places")
        equal(b.js("document.querySelector('#numbers').textContent"), before[2], "numbers")
        equal([n for n, early in zip(names(), before[0]) if early], [n for n in before[0] if n], f"boxes of {path.name}")
        assert not b.js("document.querySelector('#tools').inert"), "controls"
    b.resize(1400, 800)
    no_errors(b)


def brushed(b):
    """The mouse draws a range on the timeline step by step. In the end the page has the sums of the
    last range."""
    def shown():
        b.js(CATCH_SAVED)
        choose(b, "Save", "folded")
        until(b, "window.saved['text/plain']", "not saved")
        return rows(b), b.js("[window.saved['text/plain'], document.querySelector('#canvas').toDataURL()]")

    open_page(b, many().name)
    x, y, w, h = b.js("(() => { const r = document.querySelector('#strip canvas').getBoundingClientRect();"
                      "return [r.x, r.y, r.width, r.height]; })()")
    b.mouse("mouseMoved", x + 400, y + 9)
    b.mouse("mousePressed", x + 400, y + 9, button="left", buttons=1, clickCount=1)
    for to in (500, 510, 515, 530, 520, 900, 890, 895):
        b.mouse("mouseMoved", x + to, y + 9, button="left", buttons=1)
    b.mouse("mouseReleased", x + 895, y + 9, button="left", clickCount=1)
    # the page writes its state into the address 200 ms later
    b.js("new Promise((done) => setTimeout(done, 400))", wait=True)
    before, fragment = shown(), b.js("location.hash")
    open_page(b, many().name, fragment)
    equal(before[0], rows(b), "rows")
    equal(len(before[0]), 60, "rows")
    equal(before[1] == shown()[1], True, "the same stacks and picture")
    no_errors(b)


def rare(b):
    """The view of callers and callees (sandwich) of a function with 3 of 100,003 samples has all
    its callers."""
    made("rare.html", [(["main", "usual"], {}, [100000]), (["main", "first", "rare"], {}, [1]), (["main", "second", "rare", "below"], {}, [2])])
    open_page(b, "rare.html", "#sort=name")
    press(b, "rare")
    press(b, "One function")
    x, y, w, h = b.js("(() => { const r = document.querySelector('#above').getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()")
    for row, share, name, total in ((1, 0.5, "rare", 3), (2, 0.3, "second", 2), (2, 0.9, "first", 1), (3, 0.3, "main", 2), (3, 0.9, "main", 1)):
        b.mouse("mouseMoved", x + w * share, y + h - (row + 0.5) * ROW - 2)
        assert tip(b).startswith(name + "\n") and f"total\t{total}\t" in tip(b), (row, share, tip(b))
    amounts = """[...document.querySelectorAll('#table tbody tr')].map((tr) => [tr.querySelector('.name').textContent,
        ...[...tr.querySelectorAll('.amount')].map((e) => e.textContent)])"""
    for table, want in (("Callers", [["first", "1", "1"], ["main", "0", "3"], ["second", "2", "2"]]), ("Callees", [["below", "2", "2"]])):
        press(b, table)
        equal(b.js(amounts), want, table)
    no_errors(b)


SHOWN = """(() => {
    const text = (q) => [...document.querySelectorAll(q)].filter((e) => e.offsetParent).map((e) => e.innerText);
    return [[...document.querySelectorAll('select')].map((e) => e.ariaLabel + ': ' + e.value), text('[aria-pressed=true]'), text('[aria-sort=descending], [aria-sort=ascending]'),
        text('#crumbs'), text('#chips'), text('#matched'), text('#table'), text('#lines'), text('#legend'),
        [...document.querySelectorAll('canvas')].filter((e) => e.offsetParent).map((e) => e.toDataURL())];
})()"""


def whole_address(b):
    """The address holds every choice of the reader: a page that is opened with this address shows
    the same view."""
    def narrow(selector, deltas):
        x, y = b.js("(() => { const r = document.querySelector('%s').getBoundingClientRect(); return [r.x + r.width * 0.4, r.y + r.height - 40]; })()" % selector)
        for delta in deltas:
            b.mouse("mouseWheel", x, y, deltaX=0, deltaY=delta)

    def shaped_():
        for label, value in (("Value", "0"), ("Group by", "thread"), ("Library frames", "hidden"), ("Colour", "module"), ("Only with", "your code")):
            choose(b, label, value)
        for button in "Collapse recursion", "Files", "Total", "Flip":
            press(b, button)
        find(b, "app.py")

    def filtered():
        for table, row in (("Threads", "worker (tid 2)"), ("Labels", "version: 1"), ("Modules", "worker.py"), ("Functions", "b")):
            press(b, table)
            press(b, row)
        b.js("document.querySelector('#strip canvas').focus()")
        for _ in range(20):
            b.key("ArrowRight")
        b.key("ArrowRight", modifiers=8)
        press(b, "Function")

    def in_time():
        press(b, "By time")
        narrow("#canvas", (-120, -120))

    def between():
        press(b, "a")
        press(b, "One function")
        press(b, "Callees")
        narrow("#above canvas", (-120, -120))

    for what, name, do in (("shape", "picture.html", shaped_), ("filters", "picture.html", filtered), ("zoom", "picture.html", lambda: narrow("#canvas", (-120, -120))),
                           ("time", "picture.html", in_time), ("sandwich", "shares.html", between)):
        open_page(b, name)
        start = b.js(SHOWN)
        do()
        b.mouse("mouseMoved", 5, 5)
        # the page writes its state into the address 200 ms later
        b.js("document.activeElement.blur(); new Promise((done) => setTimeout(done, 500))", wait=True)
        shown_, link = b.js(SHOWN), b.js("location.hash")
        assert shown_ != start and link, what
        open_page(b, name, link)
        b.js("new Promise((done) => setTimeout(done, 300))", wait=True)
        for i, (got, want) in enumerate(zip(b.js(SHOWN), shown_)):
            equal(got if i < 9 else got == want, want if i < 9 else True, f"{what}, part {i} of what {link} shows")
    no_errors(b)


def origins(b):
    """Library frames are those of site-packages, of the standard library and of modules frozen into
    the interpreter, at any path, and of code made at run time whose owner isn't recorded."""
    library = ("/srv/venv/lib/python3.12/site-packages/requests/api.py", "/usr/lib/python3/dist-packages/apt/cache.py", "/usr/lib/python3.12/json/decoder.py",
               "/usr/lib64/python3.9/json/decoder.py", "<frozen importlib._bootstrap>", "<frozen os>", "<string>")
    own = ("/srv/lib/helper.py", "/home/me/site.py")
    python = "[python 3.12]"
    made("origins.html", [(["main", {"mapping": python, "file": f, "name": "lib"}], {}, [10]) for f in library] +
         [(["main", {"mapping": python, "file": f, "name": f"own{i}"}], {}, [20]) for i, f in enumerate(own)])
    open_page(b, "origins.html")
    choose(b, "Library frames", "hidden")
    equal(rows(b), [["main", "63.6 %", "100.0 %"], *[[f"own{i}", "18.2 %", "18.2 %"] for i in range(2)]], "hidden")
    equal(b.js(CHIPS), "", "all is shown")
    no_errors(b)


def answered(b):
    """Each zoom, search, brush and filter sets one performance mark, krait:answer. When the mark is
    set, the picture has been drawn."""
    open_page(b, "picture.html")
    b.js("""window.pictures = []; const set = performance.mark;
        performance.mark = function (name) {
            if (name === 'krait:answer')
                window.pictures.push(document.querySelector('#canvas').toDataURL());
            return set.apply(this, arguments);
        }; 0""")

    def one(what, action):
        before = b.js("[window.pictures.length, performance.getEntriesByName('krait:answer').length, document.querySelector('#canvas').toDataURL()]")
        action()
        time.sleep(0.15)
        after = b.js("[window.pictures.length, performance.getEntriesByName('krait:answer').length, document.querySelector('#canvas').toDataURL()]")
        equal([after[0] - before[0], after[1] - before[1]], [1, 1], "marks of a " + what)
        assert after[2] != before[2], "nothing changed by a " + what
        equal(b.js("window.pictures.at(-1)") == after[2], True, "the picture when the mark of a %s is set" % what)

    def wheel():
        b.mouse("mouseWheel", *at(b, 0.5, 2), deltaX=0, deltaY=-120)

    def key(name, text=None):
        b.js("document.querySelector('#canvas').focus()")
        b.key(name, text)

    b.mouse("mouseMoved", *at(b, 0.5, -2))
    one("zoom by wheel", wheel)
    one("zoom by key", lambda: key("-", "-"))
    one("search", lambda: find(b, "loads"))
    one("brush", lambda: (b.js("document.querySelector('#strip canvas').focus()"), b.key("ArrowRight")))
    one("filter by kind", lambda: choose(b, "Only with", "standard library"))
    one("filter taken off", lambda: press(b, "with standard library \u00d7"))
    no_errors(b)


APP, DECODER = "/srv/app.py", "/usr/lib/python3.12/json/decoder.py"
# For each function of mixed(): mapping, file as recorded, file as shown, module as shown.
CODE = {"main": ("[python 3.12]", APP, APP, APP), "work": ("[python 3.12]", APP, APP, APP), "decode": ("[python 3.12]", DECODER, "json/decoder.py", "json"),
        "inflate": ("/usr/lib/libz.so.1", "", "", "libz.so.1"), "page_fault": ("[kernel]", "", "", "[kernel]")}
STACKS = [path.split() for path in ("main:1", "main:2 work:11", "main:2 work:12", "main:3 work:11 work:13", "main:2 work:12 decode:7", "main:3 decode:7 work:11",
                                    "main:3 decode:8", "main:3 decode:7 inflate:0", "main:2 work:12 inflate:0", "main:2 work:12 decode:8 inflate:0 page_fault:0")]


def mixed():
    """Makes a page of random samples, drawn from a fixed seed. Returns the samples as (stack of
    (function, line), labels, time, count)."""
    rng, out = random.Random(7), []
    for _ in range(900):
        pid, thread, version = rng.choice("12"), rng.choice(("in", "out")), rng.choice("ab")
        labels_of = {"process": "api" if pid == "1" else "web", "pid": pid, "thread": thread, "tid": pid + ("1" if thread == "in" else "2"), "version": version}
        stack = [(name, int(line)) for name, line in (f.split(":") for f in rng.choice(STACKS))]
        out.append((stack, labels_of, rng.randrange(1000) * 10 ** 7, rng.randrange(1, 5)))
    made("mixed.html", [([{"mapping": CODE[name][0], "name": name, **({"file": CODE[name][1], "line": line} if CODE[name][1] else {})} for name, line in stack],
                         of, [n], when) for stack, of, when, n in out], duration_nanos=10 ** 10)
    return out


def counted_by(samples, keys, own=None):
    """Returns own and total value of each key, over all stacks: {key: [own, total]}."""
    out = collections.defaultdict(lambda: [0, 0])
    for sample in samples:
        for key in set(keys(sample)):
            out[key][1] += sample[3]
        if own:
            out[own(sample)][0] += sample[3]
    return {key: sums if own else sums[1:] for key, sums in out.items() if key is not None and key != ""}


def tables_of(samples):
    """Checks the page's tables against sums that are counted from the samples."""
    names, last = (lambda s: [f for f, _ in s[0]]), (lambda s: s[0][-1][0])
    cut = [(*s, [f for f, _ in s[0]].index("work")) for s in samples if any(f == "work" for f, _ in s[0])]
    above, below = (lambda s: [f for f, _ in s[0][:s[4]]]), (lambda s: [f for f, _ in s[0][s[4] + 1:]])
    return {"Functions": counted_by(samples, names, last),
            "Files": counted_by(samples, lambda s: [CODE[f][2] for f in names(s)], lambda s: CODE[last(s)][2]),
            "Modules": counted_by(samples, lambda s: [CODE[f][3] for f in names(s)], lambda s: CODE[last(s)][3]),
            "Threads": counted_by(samples, lambda s: ["%(thread)s (tid %(tid)s)" % s[1]]),
            "Processes": counted_by(samples, lambda s: ["%(process)s (pid %(pid)s)" % s[1]]),
            "Labels": counted_by(samples, lambda s: ["version: " + s[1]["version"]]),
            "Callers": counted_by(cut, above, lambda s: above(s)[-1]),
            "Callees": counted_by(cut, below, lambda s: (below(s) or [None])[0]),
            "lines": counted_by(samples, lambda s: [n for f, n in s[0] if f == "work"], lambda s: s[0][-1][1] if last(s) == "work" else None),
            "search": sum(s[3] for s in samples if "decode" in names(s))}


def follows(b):
    """Sets a range and all filters, one after the other: every table, the lines and the search
    count only the samples that all filters let through."""
    samples = mixed()
    open_page(b, "mixed.html")
    # On a page of several programs, the table gets its numbers after the picture.
    until(b, "document.querySelectorAll('#table tbody tr').length > 0", "no rows")
    press(b, "work")
    find(b, "decode")

    def same(got, want, what):
        assert got.keys() == want.keys() and all(abs(x - y) < 0.051 for k in want for x, y in zip(got[k], want[k], strict=True)), (what, got, want)

    def check(kept, what):
        whole = sum(s[3] for s in kept)
        of = {name: {k: [100 * n / whole for n in v] for k, v in table.items()} for name, table in tables_of(kept).items() if name != "search"}
        for name in "Functions", "Files", "Modules", "Threads", "Processes", "Labels":
            press(b, name)
            same({r[0]: [float(x.split()[0]) for x in r[1:]] for r in rows(b)}, of[name], (what, name))
        lines_shown = b.js("[...document.querySelectorAll('#lines tbody tr')].map((e) => e.innerText.replace(/\\u00a0/g, ' ').split('\\t'))")
        same({int(n): [float((x or "0").split()[0]) for x in shares] for *shares, n in lines_shown}, of["lines"], (what, "lines"))
        equal(matched(b).split(", ")[0], "1 function", what)
        assert abs(float(matched(b).split(", ")[1].split()[0]) - 100 * tables_of(kept)["search"] / whole) < 0.051, (what, matched(b))
        press(b, "One function")
        for name in "Callers", "Callees":
            press(b, name)
            same({r[0]: [float(x.split()[0]) for x in r[1:]] for r in rows(b)}, of[name], (what, name))
        press(b, "By weight")
        share = 100 * whole / sum(s[3] for s in samples)
        assert share > 99.9 or f"{share:.1f} % of all is shown" in b.js(CHIPS), (what, share, b.js(CHIPS))

    def only(table, row):
        press(b, table)
        press(b, row)

    check(samples, "all")
    x, y, w = b.js("(() => { const r = document.querySelector('#strip canvas').getBoundingClientRect(); return [r.x, r.y, r.width]; })()")
    b.mouse("mouseMoved", x + 150 + (w - 166) * 0.1, y + 9)
    b.mouse("mousePressed", x + 150 + (w - 166) * 0.1, y + 9, button="left", buttons=1, clickCount=1)
    b.mouse("mouseMoved", x + 150 + (w - 166) * 0.9, y + 9, button="left", buttons=1)
    b.mouse("mouseReleased", x + 150 + (w - 166) * 0.9, y + 9, button="left", clickCount=1)
    first, last = (1e9 * t for t in chosen(b))
    kept = [s for s in samples if first <= s[2] < last]
    assert 650 < len(kept) < 790, len(kept)
    check(kept, "a range")
    for table, row, keep in (("Processes", "web (pid 2)", lambda s: s[1]["pid"] == "2"), ("Labels", "version: a", lambda s: s[1]["version"] == "a"),
                             ("Threads", "in (tid 21)", lambda s: s[1]["thread"] == "in"), ("Modules", "json", lambda s: any(f == "decode" for f, _ in s[0])),
                             ("", "native", lambda s: any(f == "inflate" for f, _ in s[0]))):
        kept = list(filter(keep, kept))
        if table:
            only(table, row)
        else:
            choose(b, "Only with", row)
        check(kept, row)
    no_errors(b)


def hostile(b):
    """Every hostile name is shown as text, no name has run as a script, and the console has no
    message."""
    open_page(b, "hostile.html")
    # On a page of several programs, the table gets its numbers after the picture.
    until(b, "document.querySelectorAll('#table tbody tr').length > 0", "no rows")
    names = [r[0] for r in rows(b)]
    assert "</title><script>alert(1)</script>" in names, names
    equal(b.js("document.querySelectorAll('img, #table script, #tip script').length"), 0, "elements made")
    for share in (0.05, 0.5, 0.95):
        b.mouse("mouseMoved", *at(b, share, 2))
        b.click(*at(b, share, 2))
    no_errors(b)


def difference(b):
    """A page with values below 0 draws only the stacks above 0, in sum 57, and not those below 0,
    in sum 83. The total is shown with its sign, and shares are of 140, the sum of both, as in
    the report."""
    made("difference.html", [(stack.split(), {}, [n]) for stack, n in (("main a x", 50), ("main a y", -30), ("main b", -40), ("main", 7), ("gone", -13))])
    open_page(b, "difference.html")
    until(b, "document.querySelectorAll('#table tbody tr').length === 3", "rows")
    equal(b.js("document.getElementById('numbers').textContent").split(" in ")[0].replace("\u00a0", " "), "-26 samples", "the whole")
    assert "40.7\u00a0% of all is shown" in b.js("document.body.innerText")
    assert "57 more, 83 less" in b.js("document.getElementById('headline').textContent")
    equal([r[:2] for r in rows(b)], [["x", "87.7 %"], ["main", "12.3 %"], ["a", "0.0 %"]], "own")
    no_errors(b)


def empty(b):
    open_page(b, "empty.html")
    no_errors(b)


def chain(b):
    """A page of a single stack that has more boxes than the first picture draws: all boxes have the
    same width."""
    folded = pages / "chain.folded"
    folded.write_text(";".join(f"f{i % 50}" for i in range(25000)) + " 5\n")
    subprocess.run([KRAIT, "report", folded, "-o", pages / "chain.html"], check=True, timeout=60)
    open_page(b, "chain.html")
    until(b, "document.querySelectorAll('#table tbody tr').length === 50", "rows")
    equal(set(r[2] for r in rows(b)), {"100.0 %"}, "totals")
    no_errors(b)


def run(name, test, *args):
    begun = time.monotonic()
    try:
        test(*args)
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
        print(f"FAIL {name}: see the log")
        return 1
    finally:
        print(f"{time.monotonic() - begun:.1f} s: {name}", flush=True)
    print(f"PASS {name}")
    return 0


def name_of(test):
    return "page-" + test.__name__.replace("_", "-")


def main():
    bad = sum(run(name_of(t), t) for t in (self_contained, recording))
    if not browser.find():
        print("SKIP page-browser: no Chromium")
        return bad
    with browser.Browser(1400, 800) as b:
        for t in (numbers, python_functions, zoom, search, installed_twice, hover, uncounted, weighed, periods, keyboard, turned, hover_line, slept, keyboard_in_controls, timeline, lanes, time_of_threads, one_scale, even, diff_legend, lane_legend,
                  printed, printed_more, printed_deep, printed_whole, scrolled, shown_of, whole_names, long_names, line_in_sight, chip, filters, machine, twelve, waited, whole_sentence, kind_and_module, garbage, nameless, kept_place, chosen_group, labels, own_words,
                  label_keys, library, my_code, deep_trunk, recursion, mutual_recursion, pressed, sandwich, around, upwards, time_order, time_places, lines, panel, colours, told_apart, kinds_apart, imports,
                  votes, saved, saved_folded, saved_sandwich, options, sizes,
                  address, early, steady, brushed, follows, answered, origins, whole_address, rare, hostile, difference, empty, chain):
            b.errors.clear()
            bad += run(name_of(t), t, b)
        code, axe = axe_script()
        if code:
            print(f"SKIP page-accessible: {axe}")
        else:
            bad += run("page-accessible", accessible, b, axe)
    return bad


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
