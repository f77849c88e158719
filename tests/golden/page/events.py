# SPDX-License-Identifier: BSD-2-Clause
"""events.py: the page of a recording of two events, and of two such recordings, in a headless
Chromium. KEEP=DIR leaves the pages there.

The truth is arithmetic on profiles that are written here. Samples of CPU time count 10 ms each, and
a page fault has no sample in "samples":

    thread     GIL        stack          samples   CPU time   page faults
    spins      held       main > spin         20     200 ms            72
    touches    released   main > touch         2      20 ms         3,000
                                              22     220 ms         3,072

In the second recording touch has 1,000 page faults. Another function is the largest for each value:
spin has 90.9 % of the CPU time, and touch has 97.7 % of the page faults.
"""

import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import browser

sys.argv[1:] = [browser.folder()]
import page  # noqa: E402  pylint: disable=wrong-import-position
from page import at, choose, drawn, equal, no_errors, open_page, pprof, tip_at, until  # noqa: E402  pylint: disable=wrong-import-position

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
KRAIT = ROOT / os.environ.get("KRAIT", "build/release/krait")
MS = 10 ** 6
EVENTS = (("samples", "count"), ("cpu", "nanoseconds"), ("page-faults", "count"))
HEAP = (("objects", "count"), ("space", "bytes"), ("live", "count"))
# thread, tid, GIL, stack, samples of CPU time, page faults
BEFORE = [("spins", 11, "held", "main spin", 20, 72), ("touches", 12, "released", "main touch", 2, 3000)]
AFTER = [BEFORE[0], (*BEFORE[1][:5], 1000)]
NUMBERS = "document.querySelector('#numbers').textContent.replace(/\\u00a0/g, ' ')"
LEGEND = "[...document.querySelectorAll('#legend span:has(b)')].map((e) => e.textContent)"


def krait(*args):
    return subprocess.run([KRAIT, *args], check=True, capture_output=True, timeout=60).stdout.decode()


def write(name, rows, faults_first=False):
    """Writes a recording of the rows. Each sample has either CPU time or page faults. Each function
    is in a file of the same name. @faults_first: "samples" are those of page faults."""
    events, period = (EVENTS, 10 * MS) if not faults_first else ((EVENTS[0], EVENTS[2], EVENTS[1]), 1)
    w, path = pprof.Writer(events, period=period, duration=10 ** 9), page.pages / (name + ".pb.gz")
    for i, (thread, tid, gil, stack, samples, faults) in enumerate(rows):
        ids = [w.location("[python 3.12]", f, f"/srv/{f}.py", 1, 2, 0) for f in stack.split()]
        labels = {"process": "app", "pid": "1", "thread": thread, "tid": str(tid), "gil": gil}
        for k, values in enumerate(((samples, samples * 10 * MS, 0), (0, 0, faults))):
            if faults_first:
                values = (values[2], values[2], values[1])
            if any(values):
                w.sample(ids, {**labels, "time": (20 * i + 10 * k) * MS}, values=values)
    w.save(str(path))
    return path


def made(name, rows):
    krait("report", write(name, rows), "-o", page.pages / (name + ".html"))


def make():
    made("events", BEFORE)
    krait("diff", page.pages / "events.pb.gz", write("after", AFTER), "-o", page.pages / "diff.html")
    # Two of these threads have less than a pixel of the CPU time.
    made("threads", [("busy", 1, "held", "main", 5000, 0), ("one", 2, "held", "main", 1, 10), ("two", 3, "held", "main", 1, 30)])
    # All stacks of CPU time begin with outer > middle > inner, and no stacks of page faults do.
    made("trunk", [("t", 1, "held", "outer middle inner x", 10, 0), ("t", 1, "held", "outer middle inner y", 10, 0),
                   ("t", 1, "held", "outer p", 0, 100)])


def tip(b, share, row):
    return tip_at(b, share, row).replace("\t", "|").replace("\n", "|")


def fill(b, share, row):
    """Returns what the legend says about the colour of the box at this place."""
    x, y = at(b, share, row)
    return b.js(page.FILL % [x, y - page.ROW / 2 + 1])


def folded(b):
    """Returns the numbers of each stack in the folded stacks that the page saves: {name of its
    innermost function: numbers}."""
    b.js(page.CATCH_SAVED)
    choose(b, "Save", "folded")
    until(b, "'text/plain' in window.saved", "not saved")
    lines = b.js("window.saved['text/plain']").splitlines()
    return dict(re.search(r"(\w+) \([^;]*\) ([\d ]+)$", line).groups() for line in lines)


def counts(b):
    """The page shows the number of samples, and their rate, only with the values of the event to
    which the samples belong."""
    heads = ["22 samples · 100 Hz", "22 samples · 220 ms CPU time in 1.00 s · 100 Hz", "3,072 page-faults in 1.00 s"]
    flame = ["|samples|of all|total|22|100.0 %", "|time|samples|of all|total|220 ms|22|100.0 %", "|page-faults|of all|total|3,072|100.0 %"]
    callers = ["|samples|of all|total|20|90.9 %", "|time|samples|of all|total|200 ms|20|90.9 %", "|page-faults|of all|total|3,000|97.7 %"]
    open_page(b, "events.html")
    equal(b.js("[...document.querySelector('select[aria-label=Value]').options].map((e) => e.textContent)"),
          ["samples of CPU time", "CPU time", "page-faults"], "values")
    equal(b.js(NUMBERS), heads[1], "what is shown first")
    for value in (2, 0, 1, 2):
        choose(b, "Value", value)
        equal(b.js(NUMBERS), heads[value], "header")
    for value in range(3):
        for view, want in (("flame", flame[value]), ("callers", callers[value])):
            open_page(b, "events.html", f"view={view}&value={value}")
            equal(b.js(NUMBERS), heads[value], "header")
            said = tip(b, 0.5, 1)
            assert want in said, (view, value, want, said)
    no_errors(b)


def colours(b, name="events.html"):
    """The colours, and their order in the legend, depend on the value that is shown, and change
    when another value is chosen."""
    most = {1: ("spins (tid 11)", "held", "spin.py"), 2: ("touches (tid 12)", "released", "touch.py")}
    for k, (mode, row) in enumerate((("thread", 1), ("gil", 1), ("module", 2))):
        open_page(b, name, "colour=" + mode)
        for value in (1, 2, 1):
            choose(b, "Value", value)
            got = fill(b, 0.5, row)
            assert got.endswith(most[value][k]), (mode, value, got)
            if mode != "gil":
                equal(b.js(LEGEND)[0], got, f"the first of the legend, {mode}, {value}")
        open_page(b, name, f"colour={mode}&value=2")
        assert fill(b, 0.5, row).endswith(most[2][k]), (mode, "by address")
    no_errors(b)


def saved(b):
    """Saved folded stacks have the value that is shown; if CPU time is shown, they have the number
    of samples. The stacks are the same as those of the command line."""
    for value, want in ((0, ("20", "2")), (1, ("20", "2")), (2, ("72", "3000"))):
        open_page(b, "events.html", f"value={value}")
        equal(folded(b), dict(zip(("spin", "touch"), want)), f"value {value}")
        line = krait("report", page.pages / "events.html", "--format", "folded", "--value", ("samples", "samples", "page-faults")[value])
        equal(sorted(b.js("window.saved['text/plain']").splitlines()), sorted(line.splitlines()), "the command line's")
    w = pprof.Writer(HEAP)
    for name, n in (("f", 4), ("g", 2)):
        w.sample([w.location("[python 3.12]", name, "/srv/app.py", 1, 2, 0)], {}, values=(n, 10 * n, 3 * n))
    w.save(str(page.pages / "heap.pb.gz"))
    krait("report", page.pages / "heap.pb.gz", "-o", page.pages / "heap.html")
    for value, want in enumerate((("4", "2"), ("40", "20"), ("12", "6"))):
        open_page(b, "heap.html", f"value={value}")
        equal(folded(b), dict(zip("fg", want)), f"heap, value {value}")
    no_errors(b)


def fractions(b):
    """If the counts of folded stacks have fractions, the page saves the counts as they were read.
    """
    text = "main;f 1.5\nmain;g 2.000001\nmain;h 3\n"
    (page.pages / "fractions.folded").write_text(text)
    krait("report", page.pages / "fractions.folded", "-o", page.pages / "fractions.html")
    open_page(b, "fractions.html")
    b.js(page.CATCH_SAVED)
    choose(b, "Save", "folded")
    until(b, "'text/plain' in window.saved", "not saved")
    equal(b.js("window.saved['text/plain']"), text, "folded")
    no_errors(b)


def threads(b):
    """In time order a thread has its own part of the picture if its share of the shown value is
    wide enough."""
    open_page(b, "threads.html", "view=time")
    equal(tip(b, 0.5, 1).split("|")[0], "busy (tid 1)", "CPU time")
    choose(b, "Value", 2)
    equal([tip(b, share, 1).split("|")[0] for share in (0.1, 0.6)], ["one (tid 2)", "two (tid 3)"], "page faults")
    choose(b, "Value", 1)
    equal(tip(b, 0.5, 1).split("|")[0], "busy (tid 1)", "CPU time again")
    no_errors(b)


def trunk(b):
    """The view "My code" folds the calls that nearly all samples share. Which calls these are
    depends on the value that is shown."""
    open_page(b, "trunk.html", "library=folded")
    for value, want in ((1, {"x", "y"}), (2, {"p"}), (1, {"x", "y"})):
        choose(b, "Value", value)
        names = {name for path in drawn(b) for name in path}
        equal(names & {"x", "y", "p"}, want, f"leaves of value {value}")
        equal(any(name.startswith("2 frames") for name in names), value == 1, f"a trunk, value {value}, {sorted(names)}")
    no_errors(b)


def two(b):
    """On the page of two recordings, costs, colours and saved stacks are those of the value that is
    shown."""
    colours(b, "diff.html")
    open_page(b, "diff.html", "value=2")
    said = tip(b, 0.5, 2)
    assert said.startswith("touch|") and "|total|97.7 %|93.3 %|\u22124.5 %|\u22124.4 pt" in said, said
    for value, judged in ((2, False), (1, True), (2, False)):
        choose(b, "Value", value)
        head = b.js(NUMBERS)
        equal(("* is more than noise" in head, "noise is judged for CPU time only" in head), (judged, not judged), head)
    for value, want in ((0, ("20 20", "2 2")), (1, ("20 20", "2 2")), (2, ("72 72", "3000 1000"))):
        open_page(b, "diff.html", f"value={value}")
        equal(folded(b), dict(zip(("spin", "touch"), want)), f"value {value}")
    no_errors(b)


def first_differs(b):
    """If the first events of two recordings differ, their "samples" count different things. So the
    page has all values except "samples", and shows the value that it is asked for."""
    faults, time = write("faults-first", BEFORE, faults_first=True), write("time-first", AFTER)
    for sides, options in (((faults, time), ["page-faults", "CPU time"]), ((time, faults), ["CPU time", "page-faults"])):
        krait("diff", *sides, "-o", page.pages / "first.html")
        open_page(b, "first.html")
        equal(b.js("[...document.querySelector('select[aria-label=Value]').options].map((e) => e.textContent)"), options, "values")
        for value, name in enumerate(options):
            choose(b, "Value", value)
            head = b.js(NUMBERS)
            equal("samples" in head or "Hz" in head, False, head)
            want = {"CPU time": ("200000000 200000000", "20000000 20000000"), "page-faults": ("72 72", "3000 1000")}[name]
            if sides[0] is time:
                want = tuple(" ".join(reversed(n.split())) for n in want)
            open_page(b, "first.html", f"value={value}")
            equal(folded(b), dict(zip(("spin", "touch"), want)), f"value {name}")
            said = tip(b, 0.5, 1)
            assert "samples" not in said, said
        for value, right in (("samples", False), ("cpu", True), ("page-faults", True)):
            done = subprocess.run([KRAIT, "diff", *sides, "--value", value], capture_output=True, timeout=60, check=False)
            said = done.stderr.decode()
            equal((done.returncode == 0, "samples are of " in said and "--value chooses a value that both have" in said), (right, not right), said)
    no_errors(b)


def main():
    make()
    if not browser.find():
        print("SKIP page-events: no Chromium")
        return 0
    bad = 0
    with browser.Browser(1400, 800) as screen:
        for test in (counts, colours, saved, fractions, threads, trunk, two, first_differs):
            screen.errors.clear()
            bad += page.run("page-events-" + test.__name__, test, screen)
    return bad


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
