# SPDX-License-Identifier: BSD-2-Clause
"""svg.py DIR: checks the pictures that tests/unit/picture/test_render_svg.c left in DIR.

What shares.svg must show is written down here, by hand, from the samples in that test: 100 samples,
main > a 30, main > b:4 > a 20, main > b:5 10, main > deflate 25, main > do_syscall_64 15.
"""

import base64
import collections
import gzip
import json
import pathlib
import re
import sys
import traceback
import xml.etree.ElementTree as ET

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import browser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "oracle"))
from judge import pprof  # noqa: E402  pylint: disable=wrong-import-position

SVG = "{http://www.w3.org/2000/svg}"
MARGIN, INNER, ROW = 12, 1200 - 24, 18
# each box: (name, depth, first sample, number of samples); the widest first, boxes of the same
# width by name
SHARES = [("app.py", 0, 0, 100), ("main", 1, 0, 100), ("a", 2, 0, 30), ("b", 2, 30, 30),
          ("a", 3, 30, 20), ("deflate", 2, 60, 25), ("do_syscall_64", 2, 85, 15)]
pictures = pathlib.Path(sys.argv[1])


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: {got!r}, not {want!r}")


# The next tests need no browser.

def self_contained():
    """Python's XML parser can read every picture; a picture refers to nothing outside itself, and
    contains one script."""
    for path in sorted(pictures.glob("*.svg")):
        root = ET.parse(path).getroot()
        scripts = [e for e in root.iter() if e.tag.endswith("script")]
        equal(len(scripts), 1, f"{path.name}: scripts")
        for e in root.iter():
            for name, value in e.attrib.items():
                plain = name.split("}")[-1]
                assert plain not in ("href", "src") and not plain.startswith("on"), (path, name)
                assert "url(" not in value, (path, value)
        style = root.find(SVG + "style").text
        assert "url(" not in style and "@import" not in style and "http" not in style


def static_boxes():
    """The boxes in the file itself have the right place, width and title, before any script runs.
    """
    root = ET.parse(pictures / "shares.svg").getroot()
    boxes = list(root.find(f"{SVG}g[@id='boxes']"))
    equal(len(boxes), len(SHARES), "boxes")
    for g, (name, depth, first, samples) in zip(boxes, SHARES):
        rect, title = g.find(SVG + "rect"), g.find(SVG + "title").text
        equal(title.split("\n")[0], name, "title")
        assert f"\n{samples:.1f} % of all" in "\n" + title.split("\n", 1)[1], title
        assert abs(float(rect.get("x")) - MARGIN - first * INNER / 100) < 0.02
        assert abs(float(rect.get("width")) + 1 - samples * INNER / 100) < 0.02
        equal(int(rect.get("y")), 88 + ROW * depth, name)


def metadata(root, name):
    return root.find(f"{SVG}metadata[@id='{name}']").text


def recording_of(root):
    return pprof.Profile(gzip.decompress(base64.b64decode(metadata(root, "krait-recording"))))


def recording():
    """A reader other than krait reads the recording in shares.svg, and finds the samples that were
    written by hand."""
    profile = recording_of(ET.parse(pictures / "shares.svg").getroot())
    counts = collections.Counter()
    for sample in profile.samples:
        counts[";".join(f"{x.name}:{x.line}" for x in profile.stack(sample))] += sample.values[0]
    equal(counts, {"main:10;a:3": 30, "main:10;b:4;a:3": 20, "main:10;b:5": 10,
                   "main:10;deflate:0": 25, "main:10;do_syscall_64:0": 15}, "samples")


class Node:
    """A node of the recording's tree of calls. The test sums up this tree without krait."""

    def __init__(self):
        self.children = collections.defaultdict(Node)
        self.value = self.self = 0
        self.lines = collections.Counter()


def sum_up(profile, value):
    root = Node()
    for sample in profile.samples:
        node, amount = root, sample.values[value]
        root.value += amount
        for frame in profile.stack(sample):
            name = frame.name or f"[{frame.mapping.split('/')[-1]}+{frame.address:#x}]"
            node = node.children[name, frame.file if frame.name else frame.mapping]
            node.value += amount
            node.lines[frame.line] += amount
        node.self += amount
    return root


def boxes_add_up():
    """The share of each box, and of each line, equals the sum over the samples of the recording.
    Boxes with the same parent don't overlap."""
    for name in ("shares", "samples", "kinds", "large", "deep", "empty"):
        root = ET.parse(pictures / f"{name}.svg").getroot()
        data = json.loads(metadata(root, "krait-boxes"))
        tree = sum_up(recording_of(root), 0 if name == "samples" else 1)
        path, ends = [], []
        for i, depth in enumerate(data["depth"]):
            function, _, file = data["functions"][data["function"][i]][:3]
            del path[depth:], ends[depth + 1:]
            node = path[-1].children[function, file] if depth else tree
            path.append(node)
            ends[depth:] = [ends[depth] if depth < len(ends) else data["start"][i]]
            assert data["start"][i] >= ends[depth], (name, i)
            ends[depth] = data["start"][i] + data["value"][i]
            assert not depth or ends[depth] <= ends[depth - 1], (name, i)
            equal((data["value"][i], data["self"][i]), (node.value, node.self), f"{name} box {i}")
            lines = data["lines"][i]
            equal(dict(zip(lines[::2], lines[1::2])), dict(node.lines), f"{name} lines of {i}")


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one, other):
    """Returns WCAG 2.1's contrast ratio."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def text_contrast():
    """The contrast is at least 4.5:1 for every text on every fill on which it can stand, in both
    colour schemes."""
    style = ET.parse(pictures / "shares.svg").getroot().find(SVG + "style").text
    light, dark = style.split("@media (prefers-color-scheme:dark){")[:2]
    seen = 0
    for css in (light, dark):
        def colour(selector):
            return re.search(re.escape(selector) + r"\{[^}]*fill:(#[0-9a-f]{6})", css)[1]

        page = colour("#page")
        text = re.search(r"^text\{[^}]*fill:(#[0-9a-f]{6})", css, re.M)[1]
        for on_page in (text, colour(".l")):
            assert contrast(on_page, page) >= 4.5, on_page
        fills = re.findall(r"\.([pqsnk]\d|[jgmr])\{fill:(#[0-9a-f]{6})\}", css)
        equal(len(fills), 10 * 3 + 4 + 3 + 4, "colours")
        fills.append(("searching", colour(".searching .b rect")))
        for name, fill in fills:
            for ink in (text, colour(".b .f")):
                assert contrast(ink, fill) >= 4.5, (name, fill, ink)
                seen += 1
        hit = re.search(r"\.searching \.hit text[^}]*fill:(#[0-9a-f]{3,6})", css)[1]
        hit = "#ffffff" if hit == "#fff" else hit
        assert contrast(hit, colour(".searching .hit rect")) >= 4.5
    equal(seen, 2 * 42 * 2, "pairs")


# The next tests run in a browser.

BOX = "[...document.querySelectorAll('#boxes > g')]"


def texts(b):
    return b.js(BOX + ".filter(g => g.style.display !== 'none')"
                ".map(g => g.querySelector('text')?.firstChild?.data ?? '')")


def middle(b, index):
    return b.js(f"(() => {{const r = {BOX}[{index}].querySelector('rect').getBoundingClientRect();"
                "return [r.x + r.width / 2, r.y + r.height / 2];})()")


def rect(b, index):
    return b.js(f"['x', 'y', 'width'].map(a => +{BOX}[{index}].querySelector('rect').getAttribute(a))")


def matched(b):
    return b.js("document.querySelector('#matched').textContent")


def find(b, query):
    b.key("f", modifiers=2)
    b.js("document.activeElement.select()")
    b.type(query)


def no_errors(b):
    equal(b.errors, [], "console errors")


def labels_fit(b):
    """Every label ends inside its box. A box without room for a label has no label."""
    outside = b.js(BOX + """.filter(g => {
        const t = g.querySelector('text'), r = g.querySelector('rect');
        if (!t || t.style.display === 'none' || g.style.display === 'none') return false;
        const tb = t.getBBox(), rb = r.getBBox();
        return tb.x < rb.x || tb.x + tb.width > rb.x + rb.width + 0.5;
    }).map(g => g.textContent)""")
    equal(outside, [], "labels outside their boxes")


def without_scripts():
    with browser.Browser(1200, 300) as b:
        b.scripts(False)
        b.open(pictures / "shares.svg")
        equal(b.js(BOX + ".length"), len(SHARES), "boxes")
        equal(b.js("document.querySelector('#bar')"), None, "controls")
        equal(texts(b), [s[0] for s in SHARES], "labels")
        labels_fit(b)
        b.open(pictures / "hostile.svg")
        labels_fit(b)
        b.open(pictures / "shares.svg")
        b.screenshot(pictures / "static.png")


def scroll_bars():
    """A vertical scroll bar beside the picture cuts nothing off, and there is no horizontal one."""
    with browser.Browser(1000, 300, scrollbars=True) as b:
        for width in (1000, 700):
            b.resize(width, 300)
            b.open(pictures / "deep.svg")
            bar = width - b.js("document.documentElement.clientWidth")
            assert bar > 5, "no vertical scroll bar to be tried with"
            equal(b.js("document.documentElement.clientHeight"), 300, "height without a horizontal one")
            assert b.js("document.querySelector('#flip').getBoundingClientRect().right") <= \
                width - bar, "a control behind the scroll bar"
        b.open(pictures / "shares.svg")
        b.resize(800, 700)
        equal(b.js("document.documentElement.clientWidth"), 800, "width without scroll bars")
        equal(b.js("document.querySelector('svg').getAttribute('width')"), "800", "the picture's")
        no_errors(b)


def controls_beside_title():
    """The controls don't cover the picture, at any width."""
    with browser.Browser(1200, 300) as b:
        b.open(pictures / "shares.svg")
        b.js("document.querySelector('#title').textContent = 'A title of 64 columns '.repeat(3)")
        for width in range(500, 1300, 50):
            b.resize(width, 300)
            over = b.js("""(() => {
                const t = document.querySelector('#title').getBoundingClientRect();
                return [...document.querySelectorAll('#bar input, #bar button')].some(c => {
                    const r = c.getBoundingClientRect();
                    return r.left < t.right && r.top < t.bottom;
                }) && innerWidth + ' ' + t.right})()""")
            assert not over, f"at {width} pixels: {over}"
        no_errors(b)


def zoom():
    with browser.Browser(1000, 400) as b:
        b.open(pictures / "shares.svg")
        inner = 1000 - 2 * MARGIN
        for i, (_, depth, first, samples) in enumerate(SHARES):
            x, y, width = rect(b, i)
            assert abs(x - MARGIN - first * inner / 100) < 0.01, (i, x)
            assert abs(width + 1 - samples * inner / 100) < 0.01, (i, width)
            equal(y, 88 + ROW * depth, "row")
        equal(b.js("document.querySelector('#reset').disabled"), True, "reset disabled")
        b.click(*middle(b, 3))
        equal(texts(b), ["app.py", "main", "b", "a"], "zoomed on b")
        for i in (0, 1, 3, 4):
            assert abs(rect(b, i)[0] - MARGIN) < 0.01, (i, rect(b, i))
        assert abs(rect(b, 3)[2] + 1 - inner) < 0.01
        assert abs(rect(b, 4)[2] + 1 - inner * 2 / 3) < 0.01
        b.screenshot(pictures / "zoom.png")
        equal(b.js("location.hash"), "#box=3", "address")
        b.click(*middle(b, 1))
        equal(len(texts(b)), 7, "zoomed out to main")
        b.click(*middle(b, 4))
        equal(len(texts(b)), 4, "zoomed on b > a")
        b.js("document.querySelector('#reset').click()")
        equal(len(texts(b)), 7, "reset")
        b.js("document.querySelector('#flip').click()")
        equal([rect(b, i)[1] for i in (0, 1, 4)], [88 + 3 * ROW, 88 + 2 * ROW, 88], "flipped rows")
        no_errors(b)


def search():
    with browser.Browser(1200, 400) as b:
        b.open(pictures / "shares.svg")
        for query, share in (("^a$", 50), ("main", 100), ("b.py|deflate", 55), ("LIBZ", 25),
                             ("^(a|b)$", 60), ("nothing", 0)):
            find(b, query)
            equal(matched(b), f"matched {share:.1f} % of all", query)
        find(b, "(")  # "(" isn't a pattern, so it is taken as text
        equal(matched(b), "matched 0.0 % of all", "(")
        find(b, "^a$")
        b.screenshot(pictures / "search.png")
        equal(b.js("document.querySelectorAll('#boxes > .hit').length"), 2, "boxes lit")
        b.key("Escape")
        equal(matched(b), "", "cleared")
        find(b, "^a$")
        b.key("Enter")
        b.click(*middle(b, 3))
        equal(matched(b), "matched 50.0 % of all, 66.7 % of shown", "zoomed on b")
        b.open("/dev/null")
        b.open(pictures / "shares.svg", "#box=3&search=^a$")
        equal(matched(b), "matched 50.0 % of all, 66.7 % of shown", "from the address")
        b.open(pictures / "kinds.svg")
        for query, share in (("libz", 70), ("f.cc", 40), ("0x1234]", 40), ("^core::", 30),
                             ("jit", 20), ("python", 0), ("C\\+\\+", 0)):
            find(b, query)
            equal(matched(b), f"matched {share:.1f} % of all", query)
        no_errors(b)


def details():
    with browser.Browser(1200, 500) as b:
        b.open(pictures / "shares.svg")
        shown = "document.querySelector('#details').textContent"
        b.mouse("mouseMoved", *middle(b, 3))
        text = b.js(shown)
        for part in ("b/srv/lib/b.py", "[python 3.12] · your code", "30.0 ms30.0 % of all",
                     "itself10.0 ms10.0 % of all", "30 samples", "line 466.7 %", "line 533.3 %"):
            assert part in text, (part, text)
        b.screenshot(pictures / "details.png")
        equal(b.js(BOX + "[0].querySelector('title')"), None, "browser's own titles")
        inside = b.js("(() => {const r = document.querySelector('#details > *')"
                      ".getBoundingClientRect(); return r.right <= innerWidth && r.bottom <= innerHeight})()")
        equal(inside, True, "details inside the window")
        b.open(pictures / "kinds.svg")
        for index, parts in ((2, ("ns::f/src/f.cc", "libz.so.1 · native, C++")),
                             (3, ("[libz.so.1+0x1234]/usr/lib/x86_64-linux-gnu/libz.so.1native",)),
                             (4, ("core::glibz.so.1 · native, Rust",)),
                             (6, ("py::h:/srv/app.py[jit] · JIT code",)),
                             (7, ("gc_collect_main[gc] · garbage collector",))):
            b.mouse("mouseMoved", *middle(b, index))
            text = b.js(shown)
            for part in parts:
                assert part in text, (part, text)
        b.screenshot(pictures / "kinds.png")
        no_errors(b)


def keyboard():
    with browser.Browser(1200, 400) as b:
        b.open(pictures / "shares.svg")
        focus = BOX + ".indexOf(document.activeElement)"
        b.js(BOX + "[0].focus()")
        for key, index in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowRight", 3), ("ArrowRight", 5),
                           ("ArrowLeft", 3), ("ArrowDown", 4), ("ArrowUp", 3)):
            b.key(key)
            equal(b.js(focus), index, key)
        b.key("Enter")
        equal(texts(b), ["app.py", "main", "b", "a"], "zoomed by Enter")
        label = b.js("document.activeElement.getAttribute('aria-label')")
        assert label.startswith("b\n/srv/lib/b.py\n30.0 % of all"), label
        b.key("Backspace")
        equal(len(texts(b)), 7, "one out")
        b.key("/")
        equal(b.js("document.activeElement.localName"), "input", "/")
        no_errors(b)


def hostile():
    with browser.Browser(1200, 400) as b:
        b.call("Network.enable")
        requests = []
        b.on_event = lambda method, params: requests.append(params["request"]["url"]) \
            if method == "Network.requestWillBeSent" else None
        b.open(pictures / "hostile.svg")
        names = b.js(BOX + ".filter(g => !g.classList.contains('r')).map(g => {"
                     "g.dispatchEvent(new MouseEvent('mousemove', {bubbles: true}));"
                     "return document.querySelector('#details b').textContent})")
        for name in ("</title><script>alert(1)</script>", "]]></script><rect/>", "&amp;&#60;&lt;",
                     "\\u003cb\\\\\"", "__proto__", "tab\ufffdnewline\ufffdescape\ufffd[31m del\ufffd"):
            assert name in names, (name, names)
        equal(b.js("document.querySelectorAll('script').length"), 1, "scripts")
        find(b, "<script>")
        equal(matched(b), "matched 8.3 % of all", "search for markup")
        b.screenshot(pictures / "hostile.png")
        equal(len(requests), 1, f"requests {requests}")
        no_errors(b)


def others():
    for dark in (False, True):
        with browser.Browser(1200, 700, dark=dark) as b:
            for name in ("empty", "roots", "samples", "kinds", "large", "deep"):
                b.open(pictures / f"{name}.svg")
                if name != "deep":
                    labels_fit(b)
                if name == "large":
                    find(b, "function_99")
                    assert matched(b).startswith("matched at least "), matched(b)
            b.open(pictures / "shares.svg")
            fill = b.js("getComputedStyle(document.querySelector('#page')).fill")
            equal(fill, "rgb(23, 24, 28)" if dark else "rgb(252, 252, 253)", "page")
            b.screenshot(pictures / ("dark.png" if dark else "light.png"))
            b.resize(400, 700)
            labels_fit(b)
            b.screenshot(pictures / "narrow.png")
            no_errors(b)


def run(name, test):
    try:
        test()
    except Exception as e:  # pylint: disable=broad-except
        traceback.print_exc()
        print(f"FAIL {name}: {str(e) or type(e).__name__}".replace("\n", " "))
        return 1
    print(f"PASS {name}")
    return 0


def main():
    bad = sum(run("svg-" + t.__name__.replace("_", "-"), t)
              for t in (self_contained, static_boxes, recording, boxes_add_up, text_contrast))
    in_browser = (without_scripts, scroll_bars, controls_beside_title, zoom, search, details, keyboard, hostile, others)
    if not browser.find():
        print("SKIP svg-browser: no Chromium")
        return bad
    return bad + sum(run("svg-" + t.__name__.replace("_", "-"), t) for t in in_browser)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
