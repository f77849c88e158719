# SPDX-License-Identifier: BSD-2-Clause
"""waits.py: the page of a recording with waits, in a headless Chromium. KEEP=DIR leaves the page
there.

The truth is arithmetic on a profile that is written here: 10 s, two threads.

    thread  stack          state     on          begins   lasts
    main    main > fetch   net       db:5432     1 s      4 s
    main    main > fetch   net       db:5432     6 s      2 s
    main    main > work    running               0 s      10 samples of 100 ms, 0 to 1 s
    main    main > work    runnable              5 s      0.5 s
    main    main > nap     sleep                 8 s      2 s
    idler   take           lock                  0 s      10 s, idle

So the main thread waited 8 s, was ready for 0.5 s and ran 1 s; from 2 s to 4 s it only waits, though
no wait begins then.

    thread  begins   waits for the GIL   holds it; blamed for how much waiting of others
    w       0 s      8 s
    v       4 s      4 s
    h       1 s, 5 s                     two samples of 2 s: blamed for 2 s and for 4 s
    s       5 s                          sleeps for 3 s: blamed for 4 s

At 6 s h ends a wait of 4 s for a lock.

So at 1 s only w waits for h; from 4 s on both wait alike for h and s.

    thread  begins   waits for a lock    until who ended that
    a       0 s      4 s                 o
    a       5 s      2 s                 f
    b       1 s      3 s                 o
    b       6 s      2 s                 not known
    b       8 s      2 s, idle
"""

import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import browser

sys.argv[1:] = [browser.folder()]
import page  # noqa: E402  pylint: disable=wrong-import-position
from page import equal, no_errors, open_page, pprof, tip_at  # noqa: E402  pylint: disable=wrong-import-position

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
KRAIT = ROOT / os.environ.get("KRAIT", "build/release/krait")
SECOND = 10 ** 9
WALL = (("samples", "count"), ("cpu", "nanoseconds"), ("off_cpu", "nanoseconds"))
GIL = WALL + (("gil_wait", "nanoseconds"), ("gil_blame", "nanoseconds"), ("lock_blame", "nanoseconds"))
PAIRS = "[...document.querySelectorAll('#gil tr')].map((r) => [...r.children].map((c) => c.textContent.replace(/\\u00a0/g, ' ')).join('|'))"
NUMBERS = "document.querySelector('#numbers').textContent.replace(/\\u00a0/g, ' ')"
SWITCH = "[...document.querySelectorAll('#tools [aria-label=Value] button')]"
TABLE = "[...document.querySelectorAll('#table tbody tr')].map((e) => e.textContent.replace(/\\u00a0/g, ' '))"
FILLS = {"running": "#5fb878", "runnable": "#d9a400", "net": "#6fa8f5", "sleep": "#b8bcc8", "idle": "#dcdce0", "lock": "#e58aa8"}
# JavaScript that returns the colours in the middle row of pixels of a lane (a row of the timeline),
# at a part of the time.
LANE = """(() => {
    const c = document.querySelector('#strip canvas'), g = c.getContext('2d'), d = [];
    const at = Math.round(150 + %f * Math.floor((c.clientWidth - 166) / 2) * 2);
    const all = g.getImageData(at, %d * 17, 1, 15).data;
    for (let i = 0; i < all.length; i += 4)
        d.push('#' + [0, 1, 2].map((k) => all[i + k].toString(16).padStart(2, '0')).join(''));
    return d;
})()"""


def make():
    w = pprof.Writer(WALL, period=10 ** 8, duration=10 * SECOND)

    def add(stack, thread, state, begin, cpu=0, off=0, **labels):
        ids = [w.location("[python 3.12]", f, f"/srv/{f}.py", 1, 2, 0) for f in stack.split()]
        w.sample(ids, {"process": "app", "pid": "1", "thread": thread, "tid": "1" if thread == "main" else "2", "state": state,
                       "time": round(begin * SECOND), **labels}, values=(1, round(cpu * SECOND), round(off * SECOND)))
    for i in range(10):
        add("main work", "main", "running", i / 10, cpu=0.1)
    add("main fetch", "main", "net", 1, off=4, on="db:5432")
    add("main fetch", "main", "net", 6, off=2, on="db:5432")
    add("main work", "main", "runnable", 5, off=0.5)
    add("main nap", "main", "sleep", 8, off=2)
    add("take", "idler", "lock", 0, off=10, idle="yes")
    w.save(str(page.pages / "waits.pb.gz"))
    make_gil().save(str(page.pages / "gil-waits.pb.gz"))
    make_locks().save(str(page.pages / "lock-waits.pb.gz"))
    for name in "waits", "gil-waits", "lock-waits":
        subprocess.run([KRAIT, "report", page.pages / f"{name}.pb.gz", "-o", page.pages / f"{name}.html"], check=True, timeout=60)


def make_gil():
    w = pprof.Writer(GIL, period=10 ** 8, duration=9 * SECOND)
    for thread, begin, state, values in (("w", 0, "gil", (0, 0, 8, 8, 0, 0)), ("v", 4, "gil", (0, 0, 4, 4, 0, 0)),
                                         ("h", 1, "running", (1, 2, 0, 0, 2, 0)), ("h", 5, "running", (1, 2, 0, 0, 4, 0)),
                                         ("s", 5, "sleep", (0, 0, 3, 0, 4, 0)), ("h", 6, "", (0, 0, 0, 0, 0, 4))):
        ids = [w.location("[python 3.12]", f, f"/srv/{f}.py", 1, 2, 0) for f in ("main", "in_" + thread)]
        w.sample(ids, {"process": "app", "pid": "1", "thread": thread, "tid": str(ord(thread)), "state": state, "time": begin * SECOND},
                 values=(values[0], *(v * SECOND for v in values[1:])))
    return w


def make_locks():
    w = pprof.Writer(GIL, period=10 ** 8, duration=10 * SECOND)
    for thread, begin, end, waker in ("a", 0, 4, "o"), ("a", 5, 7, "f"), ("b", 1, 4, "o"), ("b", 6, 8, ""), ("b", 8, 10, "idle"):
        for who, time_s, more, off, blame in ((thread, begin, {"state": "lock", **({"idle": "yes"} if waker == "idle" else {})}, end - begin, 0),
                                              (waker, end, {"waiter": thread, "waiter_tid": str(ord(thread))}, 0, end - begin)):
            if len(who) == 1:
                ids = [w.location("[python 3.12]", "in_" + who, f"/srv/{who}.py", 1, 2, 0)]
                w.sample(ids, {"process": "app", "pid": "1", "thread": who, "tid": str(ord(who)), "time": time_s * SECOND, **more},
                         values=(1 if off else 0, 0, off * SECOND, 0, 0, blame * SECOND))
    return w


def press(b, name):
    b.js(f"{SWITCH}.find((e) => e.textContent === {name!r}).click()")


def switch(b):
    """Buttons choose CPU time, wall time or waiting; wall time is CPU time and waiting together."""
    open_page(b, "waits.html")
    equal(b.js(SWITCH + ".map((e) => e.textContent)"), ["CPU time", "wall time", "time waiting"], "the switch")
    for name, total in (("CPU time", "1.00 s"), ("wall time", "19.5 s"), ("time waiting", "18.5 s"), ("CPU time", "1.00 s")):
        press(b, name)
        assert f"{total} {name}" in b.js(NUMBERS), (name, b.js(NUMBERS))
    no_errors(b)


def timeline(b):
    """A wait is drawn over its whole length. Of two lanes (rows of the timeline) that begin at the
    same time, the one with the larger value is first."""
    open_page(b, "waits.html", "value=3")
    for at, want in ((0.05, "running"), (0.11, "net"), (0.3, "net"), (0.49, "net"), (0.52, "runnable"), (0.58, None), (0.7, "net"), (0.9, "sleep")):
        colours = set(b.js(LANE % (at, 1))) & set(FILLS.values())
        equal(colours, {FILLS[want]} if want else set(), f"the main thread's lane at {at}")
    equal(set(b.js(LANE % (0.5, 0))) & set(FILLS.values()), {FILLS["idle"]}, "the idle thread's lane")
    no_errors(b)


def ranges(b):
    """If a range of the timeline is chosen, the part of each wait that lies in the range counts,
    even if no wait begins there."""
    for value, span, main, table in ((2, (2, 4), "4.00 s", "2.00 s"), (3, (2, 4), "4.00 s", "2.00 s"), (2, (4.5, 7), "4.00 s", "2.00 s"),
                                     (1, (0, 0.5), "500 ms", "500 ms")):
        open_page(b, "waits.html", f"value={value}&table=threads&t={int(span[0] * SECOND)}-{int(span[1] * SECOND)}")
        rows = b.js(TABLE)
        got = [r for r in rows if "main" in r]
        assert len(got) == 1 and table in got[0], (value, span, rows)
    # The values are: waiting for the GIL; waits of others for which the sleeper is blamed; a wait
    # for a lock, whose sample has the time at which the wait ended.
    for value, span, part in ((3, (6, 7), 2 / 12), (4, (7, 8), 4 / 3 / 10), (5, (0, 3), 1 / 4), (5, (5, 9), 1 / 4), (5, (7, 9), 0)):
        open_page(b, "gil-waits.html", f"value={value}&t={span[0] * SECOND}-{span[1] * SECOND}")
        said = b.js("document.querySelector('#chips').textContent.replace(/\\u00a0/g, ' ')")
        assert f"{100 * part:.1f} % of all is shown" in said, (value, span, said)
    open_page(b, "waits.html", "value=2&table=threads")
    equal([r.split("%")[1].split("(")[0].strip().split(" s")[0] for r in b.js(TABLE)], ["10.0", "8.50"], "threads by waiting")
    no_errors(b)


def tips(b):
    """The tooltip of a box says for what its threads waited and on what, how often, and the longest
    and the median wait. Time in which a thread was ready to run has no number of waits."""
    open_page(b, "waits.html", "value=2")
    # main has 8.5 of 18.5 s: fetch has 6 s of them, work 0.5 s, nap 2 s
    for name, want in (("fetch", "net (db:5432)|6.00 s|\u2265 2|\u2264 4.00 s|\u2248 4.00 s"), ("work", "runnable|500 ms|\u2013|\u2013|\u2013")):
        x = [share / 100 for share in range(2, 100) if name in tip_at(b, share / 100, 2).split("\n")[0]]
        said = tip_at(b, x[0], 2).replace("\t", "|")
        assert want in said.replace("\u00a0", " "), said
    no_errors(b)


def waiting(b):
    """While wall time is shown, the table of threads also has a column for waiting, and is first
    sorted by it. A button leaves out waits of threads that have no work."""
    open_page(b, "waits.html", "value=3&table=threads")
    equal(b.js("[...document.querySelectorAll('#table thead button')].map((e) => e.textContent)"), ["Waiting", "Total", "Thread"], "the headings")
    cells = "[...document.querySelectorAll('#table tbody tr')].map((r) => [...r.querySelectorAll('.amount')].map((e) => e.textContent.replace(/\\u00a0/g, ' ')).join())"
    equal(b.js(cells), ["10.0 s,10.0 s", "8.50 s,9.50 s"], "threads by waiting")
    b.js("[...document.querySelectorAll('#tools button')].find((e) => e.textContent === 'Without idle').click()")
    equal(b.js(cells), ["8.50 s,9.50 s"], "without idle")
    assert "idle: [no idle]" in b.js("document.querySelector('#chips').textContent"), "the chip"
    b.js("[...document.querySelectorAll('#tools button')].find((e) => e.textContent === 'Without idle').click()")
    equal(len(b.js(cells)), 2, "with idle again")
    no_errors(b)


def pairs_are(b, want, what):
    """Waits until the table of who waited for whom, which comes after the picture, is as wanted."""
    end = time.monotonic() + 5
    while b.js(PAIRS) != want and time.monotonic() < end:
        time.sleep(0.05)
    equal(b.js(PAIRS), want, what)


def gil(b):
    """While a value of the GIL is shown, a table says which thread waited for which, in the chosen
    range. Choosing a row shows where its thread waited, choosing a column shows what its thread
    did meanwhile."""
    head = "waited|h|s|nobody seen"
    open_page(b, "gil-waits.html", "value=1")
    assert b.js("document.querySelector('#gil').hidden"), "a table beside CPU time"
    press(b, "GIL blame")
    pairs_are(b, [head, "w|4.00 s|2.00 s|2.00 s", "v|2.00 s|2.00 s|\u2013"], "the table")
    b.js("document.querySelector('#gil tbody button').click()")
    equal([b.js(SWITCH + ".find((e) => e.ariaPressed === 'true').textContent"), b.js(NUMBERS).split(" \u00b7 ")[0]], ["GIL wait", "12.0 s GIL wait in 9.00 s"], "w's row")
    assert "thread: w (tid 119)" in b.js("document.querySelector('#chips').textContent"), b.js("document.querySelector('#chips').textContent")
    pairs_are(b, [head, "w|4.00 s|2.00 s|2.00 s", "v|2.00 s|2.00 s|\u2013"], "the table does not follow a filter of threads")
    b.js("document.querySelector('#gil thead button').click()")
    equal(b.js(SWITCH + ".find((e) => e.ariaPressed === 'true').textContent"), "GIL blame", "h's column")
    assert any("in_h" in r and "6.00 s" in r for r in b.js(TABLE)) and not any("in_s" in r for r in b.js(TABLE)), b.js(TABLE)
    open_page(b, "gil-waits.html", f"value=4&t={int(4.5 * SECOND)}-{9 * SECOND}")
    pairs_are(b, [head, "w|2.00 s|2.00 s|\u2013", "v|2.00 s|2.00 s|\u2013"], "in a range")
    no_errors(b)


def locks(b):
    """While the value "lock blame" is shown, a table says which thread waited for the locks of
    which thread, in the chosen range."""
    head, chosen = "waited|o|f|not known", SWITCH + ".find((e) => e.ariaPressed === 'true').textContent"
    open_page(b, "lock-waits.html", "value=2")
    assert b.js("document.querySelector('#gil').hidden"), "a table beside time waiting"
    press(b, "lock blame")
    pairs_are(b, [head, "a|4.00 s|2.00 s|\u2013", "b|3.00 s|\u2013|2.00 s"], "the table")
    b.js("document.querySelector('#gil thead button').click()")
    equal([b.js(chosen), [r for r in b.js(TABLE) if "in_f" in r]], ["lock blame", []], "o's column")
    assert "thread: o (tid 111)" in b.js("document.querySelector('#chips').textContent"), b.js("document.querySelector('#chips').textContent")
    pairs_are(b, [head, "a|4.00 s|2.00 s|\u2013", "b|3.00 s|\u2013|2.00 s"], "the table does not follow a filter of threads")
    b.js("document.querySelector('#gil tbody button').click()")
    equal([b.js(chosen), b.js(NUMBERS).split(" \u00b7 ")[0]], ["time waiting", "13.0 s time waiting in 10.0 s"], "a's row")
    assert "thread: a (tid 97)" in b.js("document.querySelector('#chips').textContent"), b.js("document.querySelector('#chips').textContent")
    open_page(b, "lock-waits.html", f"value=5&t={2 * SECOND}-{6 * SECOND}")
    pairs_are(b, [head, "a|2.00 s|1.00 s|\u2013", "b|2.00 s|\u2013|\u2013"], "in a range")
    no_errors(b)


def colours(b):
    """Boxes can be coloured by the states of threads."""
    open_page(b, "waits.html", "value=3&colour=state")
    legend = b.js("[...document.querySelectorAll('#legend span:has(b)')].map((e) => e.textContent)")
    equal(sorted(legend), ["lock", "net", "runnable", "running", "sleep"], "the legend")
    no_errors(b)


def main():
    if not browser.find():
        print("SKIP page-waits: no Chromium")
        return 0
    make()
    bad = 0
    with browser.Browser(1200, 800) as b:
        for test in (switch, timeline, ranges, tips, colours, waiting, gil, locks):
            try:
                test(b)
                print("PASS page-waits-" + test.__name__)
            except AssertionError as error:
                bad = 1
                print(f"FAIL page-waits-{test.__name__}: {error}")
    return bad


if __name__ == "__main__":
    sys.exit(main())
