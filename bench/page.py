# SPDX-License-Identifier: BSD-2-Clause
"""page.py [--diff] [STACKS [FRAMES [SHARED]]]: how fast the page is on a synthetic profile.

100,000 distinct stacks with 60 frames each, 2,000 functions in 200 files, over 60 s and 8 threads;
a stack begins with the same frames as another stack, as stacks of programs do. Chromium opens the
page a few times: from navigation to the mark krait:first-picture; then from input to the mark
krait:answer for zooms, searches, filters and brushes. Prints medians, and the sizes of the file's
parts, and PASS or FAIL for each number that has a limit. The exit code is 1 if a number is above
its limit. With --diff the page compares two such profiles, which have the same functions and
different stacks."""

import argparse
import gzip
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
import base64

here = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(here / "tests" / "golden")]
import browser  # noqa: E402  pylint: disable=wrong-import-position


# The page's limits: milliseconds to the first picture and to an answer, bytes of a page without
# samples and of each box.
FIRST_PICTURE, ANSWER, BARE, A_BOX = 300, 50, 150_000, 12
LIMITED = {"click": "zoom by click", "wheel": "zoom by wheel", "search": "search", "brush": "brush", "brush in a sandwich": "brush in a sandwich"}
failed = False


def judge(name, value, limit, unit):
    global failed
    good = value <= limit
    print(f"{'PASS' if good else 'FAIL'} {name}{'' if good else ':'} {value:,.{1 if value < 1000 else 0}f} {unit}, at most {limit:,}", flush=True)
    failed |= not good


def varint(n):
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def make(path, n, depth, shared, seed=5, programs=1):
    """Writes a synthetic pprof file byte by byte. @shared: the fraction of a stack's frames, on
    average, that are also in an earlier stack."""
    rng = random.Random(seed)
    strings = {"": 0}

    def text(s):
        return strings.setdefault(s, len(strings))

    functions, locations = [], []
    for i in range(2000):
        name = text(f"Class{i % 77}.method_{i}")
        file = text(f"/srv/app/{'lib/python3.12/' if i % 3 else ''}package{i % 200 // 10}/module{i % 200}.py")
        functions.append(field(5, field(1, i + 1) + field(2, name) + field(4, file) + field(5, 10 + i)))
        for line in range(3):
            locations.append(field(4, field(1, len(locations) + 1) + field(2, 1) +
                                   field(4, field(1, i + 1) + field(2, 20 + i + line))))
    mapping = field(3, field(1, 1) + field(5, text("[python 3.12]")) + field(7, 1))
    stacks, samples = [], []
    keys = {k: text(k) for k in ("tid", "thread", "pid", "process", "time", "nanoseconds")}
    for i in range(n):
        keep = 0
        base = []
        if stacks:
            base = stacks[rng.randrange(len(stacks))]
            keep = min(int(rng.triangular(0, depth, depth * (2 * shared - 0.5))), depth - 1)
        stack = base[:keep] + [rng.randrange(6000) + 1 for _ in range(depth - keep)]
        if len(stacks) < 5000:
            stacks.append(stack)
        else:
            stacks[rng.randrange(5000)] = stack
        thread = i % 8
        labels = b"".join(field(3, field(1, keys[k]) + field(2, text(v))) for k, v in (
            ("pid", str(100 + i % programs)), ("process", f"app{i % programs or ''}.py"), ("tid", str(100 + thread)), ("thread", f"worker-{thread}")))
        when = field(3, field(1, keys["time"]) + field(3, i * 60_000_000_000 // n // 10_000_000 * 10_000_000)
                     + field(4, keys["nanoseconds"]))
        ids = b"".join(map(varint, reversed(stack)))
        samples.append(field(2, field(1, ids) + field(2, varint(1) + varint(10_000_000)) + labels + when))
    types = [(text("samples"), text("count")), (text("cpu"), text("nanoseconds"))]
    head = b"".join(field(1, field(1, a) + field(2, b)) for a, b in types)
    head += field(9, 1_700_000_000_000_000_000) + field(10, 60_000_000_000)
    head += field(11, field(1, types[1][0]) + field(2, types[1][1])) + field(12, 10_000_000) + field(14, types[1][0])
    table = b"".join(field(6, s.encode()) for s in strings)
    with gzip.open(path, "wb", compresslevel=1) as f:
        f.write(head + table + mapping + b"".join(functions) + b"".join(locations) + b"".join(samples))


def unpacked(data):
    return zlib.decompress(data, 31) if data[:2] == b"\x1f\x8b" else data


def sizes(page):
    """Returns the sizes of the parts of the page's file, in bytes."""
    text = page.read_text()
    blocks = {}
    for name, body in re.findall(r'<script type="application/octet-stream" id="krait-(\w+)">(.*?)</script>', text, re.S):
        blocks[name] = (len(body), len(unpacked(base64.b64decode(body))))
    return len(text), blocks


def answers(b, action, times):
    """Does @action many times. Returns for each time the milliseconds from the input to the mark
    krait:answer."""
    out = []
    for i in range(times):
        before = b.js("performance.getEntriesByName('krait:answer').length")
        b.js("addEventListener('mousedown', () => { window.t0 = performance.now(); }, {capture: true, once: true});"
             "for (const k of ['wheel', 'input', 'keydown', 'pointermove'])"
             " addEventListener(k, () => { window.t0 = performance.now(); }, {capture: true, once: true}); 0")
        action(i)
        end = time.monotonic() + 30
        while b.js("performance.getEntriesByName('krait:answer').length") == before and time.monotonic() < end:
            time.sleep(0.005)
        out.append(b.js("performance.getEntriesByName('krait:answer').at(-1).startTime - window.t0"))
    return out


# JavaScript that notes how long each input waited for its answer.
WAITS = """window.waits = [];
addEventListener('wheel', (e) => { window.asked = e.timeStamp; }, {capture: true, passive: true});
new PerformanceObserver((list) => {
    for (const e of list.getEntriesByName('krait:answer'))
        window.waits.push([e.startTime, e.startTime - window.asked]);
}).observe({type: 'mark'});"""


def impatient(page):
    """Turns the mouse wheel while the page loads. Returns, in ms, when the first picture was there,
    when the page was ready, and for each answer [when it came, how long the turn of the wheel
    had waited for it]."""
    with browser.Browser(1600, 900) as b:
        b.call("Page.addScriptToEvaluateOnNewDocument", {"source": WAITS})
        b.open("/dev/null")
        b.call("Page.navigate", {"url": f"file://{page}"})
        end = time.monotonic() + 60
        while not b.js("performance.getEntriesByName('krait:ready').length") and time.monotonic() < end:
            b.mouse("mouseWheel", 400, 500, deltaX=0, deltaY=-40)
        b.js("new Promise((done) => setTimeout(done, 300))", wait=True)
        picture, ready, waits = b.js("[performance.getEntriesByName('krait:first-picture')[0].startTime,"
                                     " performance.getEntriesByName('krait:ready')[0].startTime, window.waits]")
        return picture, ready, waits


def wait_until_ready(b):
    end = time.monotonic() + 60
    while not b.js("performance.getEntriesByName('krait:ready').length") and time.monotonic() < end:
        time.sleep(0.05)


def measure(page, runs):
    first, found = [], {}
    with browser.Browser(1600, 900) as b:
        b.open("/dev/null")
        for _ in range(runs):
            b.open(str(page))
            wait_until_ready(b)
            first.append(b.js("performance.getEntriesByName('krait:first-picture')[0].startTime"))
        x, y, w, _ = b.js("(() => { const r = document.querySelector('#canvas').getBoundingClientRect();"
                          "return [r.x, r.y, r.width, r.height]; })()")

        def click(i):
            b.click(x + w * (0.1 + 0.1 * (i % 8)), y + 18 * (2 + i % 7) + 9)

        def wheel(i):
            b.mouse("mouseWheel", x + w * 0.4, y + 90, deltaX=0, deltaY=-120 if i % 6 < 4 else 240)

        def search(i):
            b.js("document.querySelector('#query').value = ''; document.querySelector('#query').focus()")
            b.type(("method_1", "module7", "/Class1.*9$/", "package3", "module12.py:45")[i % 5])

        found["click"] = answers(b, click, 16)
        b.key("0", "0")
        found["wheel"] = answers(b, wheel, 16)
        found["search"] = answers(b, search, 15)

        def only(_):
            b.js("(() => { const s = document.querySelector('select[aria-label=\"Only with\"]'); s.selectedIndex = s.selectedIndex ? 0 : 1;"
                 "for (const kind of ['input', 'change']) s.dispatchEvent(new Event(kind, {bubbles: true})); })()")

        found["filter"] = answers(b, only, 16)
        strip = b.js("(() => { const e = document.querySelector('#strip canvas'); if (!e) return null;"
                     "const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()")
        if strip:
            sx, sy, sw, sh = strip

            def brush(i):
                b.mouse("mouseMoved", sx + sw * (0.5 + 0.01 * i), sy + sh / 2, button="left", buttons=1)

            b.mouse("mousePressed", sx + sw * 0.3, sy + sh / 2, button="left", buttons=1, clickCount=1)
            found["brush"] = answers(b, brush, 15)
            b.mouse("mouseReleased", sx + sw * 0.7, sy + sh / 2, button="left", clickCount=1)
            b.open("/dev/null")
            b.open(f"{page}#view=sandwich&f=7&table=callers")
            wait_until_ready(b)
            b.mouse("mousePressed", sx + sw * 0.3, sy + sh / 2, button="left", buttons=1, clickCount=1)
            found["brush in a sandwich"] = answers(b, brush, 15)
        if b.errors:
            print(b.errors)
    return first, found


def write(directory, args):
    """Writes the page of one profile or, with --diff, of a comparison of two."""
    krait = os.environ.get("KRAIT", str(here / "build/release/krait"))
    command, seeds = ("diff", (5, 6)) if args.diff else ("report", (5,))
    recordings, page = [directory / f"{seed}.pb.gz" for seed in seeds], directory / "page.html"
    for recording, seed in zip(recordings, seeds):
        make(recording, args.stacks, args.frames, args.shared, seed)
    start = time.monotonic()
    subprocess.run([krait, command, *recordings, "-o", page], check=True)
    print(f"written in {time.monotonic() - start:.2f} s")
    return page


def main():
    global failed
    parser = argparse.ArgumentParser()
    parser.add_argument("--diff", action="store_true")
    for name, usual in (("stacks", 100_000), ("frames", 60), ("shared", 0.7)):
        parser.add_argument(name, nargs="?", type=type(usual), default=usual)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        page = write(pathlib.Path(tmp), args)
        size, blocks = sizes(page)
        head = unpacked(base64.b64decode(re.search(r'id="krait-view">(.*?)</script>', page.read_text(), re.S)[1]))
        header = head.split(b"\n", 1)[0]
        boxes = int(re.search(rb'"boxes":(\d+)', header)[1])
        print(f"{size} bytes, {size - sum(x for x, _ in blocks.values())} beside data; {boxes} boxes; packed and unpacked: {blocks}")
        print(f"{blocks['tree'][1] / boxes:.2f} bytes a box for the tree, {blocks['samples'][1] / boxes:.2f} for the samples, "
              f"{blocks['view'][1] / boxes:.2f} for names and the first picture")
        for _ in range(3):
            picture, ready, waits = impatient(page)
            print(f"input from the start: picture at {picture:.0f} ms, first answer at {waits[0][0]:.0f} ms, {len(waits)} answers, "
                  f"longest wait {max(w for _, w in waits):.0f} ms; all is there at {ready:.0f} ms")
        first, found = measure(page, 5)
        print(f"first picture: median {statistics.median(first):.0f} ms ({', '.join(f'{x:.0f}' for x in first)})")
        for name, times in found.items():
            print(f"{name}: median {statistics.median(times):.1f} ms, worst {max(times):.1f}")
        which = "page of a comparison: " if args.diff else "page: "
        # The first run doesn't count, because the browser has just been started.
        judge(which + "first picture, median", statistics.median(first[1:] or first), FIRST_PICTURE, "ms")
        for name, words in LIMITED.items():
            if name in found:
                judge(which + words + ", median", statistics.median(found[name]), ANSWER, "ms")
            else:
                print(f"FAIL {which}{words}: the page has none")
                failed = True
        judge(which + "without data", size - sum(x for x, _ in blocks.values()), BARE, "bytes")
        judge(which + "a box's data before compression", sum(blocks[part][1] for part in ("tree", "samples", "view")) / boxes, A_BOX, "bytes")
    return failed


if __name__ == "__main__":
    sys.exit(main())
