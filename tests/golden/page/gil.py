# SPDX-License-Identifier: BSD-2-Clause
"""gil.py [DIR]: tests the lanes of the page's timeline with a real program whose threads have
known states of the GIL (gil_target.py). Each lane has the colour of its thread's state
while the thread ran, and nothing before and after. DIR keeps the page and a picture of it."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import browser

HERE = pathlib.Path(__file__).resolve().parent
KRAIT = os.environ.get("KRAIT", str(HERE.parent.parent.parent / "build" / "release" / "krait"))
LEFT, LANE, BIN = 150, 17, 2  # the values that these constants have in ui/view/strip.js
COLOURS = {"held": "#2b8a3e", "waiting": "#e8590c", "released": "#1c7ed6"}
# by how many seconds clocks may differ; times are rounded to 10 ms, and one column of the timeline
# (a bin) stands for as long
SLACK = 0.06
# JavaScript that notes which names the page writes beside the lanes (rows of the timeline).
SPY = """const write = CanvasRenderingContext2D.prototype.fillText;
window.written = {};
CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
    if (this.canvas.closest('#strip') && x < 100)
        window.written[text] = y;
    return write.call(this, text, x, y, ...rest);
};"""
LANES = """(() => {
    const c = document.querySelector('#strip canvas'), g = c.getContext('2d'), out = {};
    const hex = (d, i) => '#' + [0, 1, 2].map((k) => d[i + k].toString(16).padStart(2, '0')).join('');
    for (const [name, middle] of Object.entries(window.written)) {
        if (!name.includes('tid'))
            continue;
        const top = Math.floor(middle / %d) * %d, bins = Math.floor((c.width - %d - 16) / %d);
        out[name] = [];
        for (let b = 0; b < bins; b++) {
            const d = g.getImageData(%d + b * %d, top, 1, %d - 2).data, n = {};
            for (let i = 0; i < d.length; i += 4)
                n[hex(d, i)] = (n[hex(d, i)] || 0) + 1;
            out[name].push(n);
        }
    }
    return out;
})()""" % (LANE, LANE, LEFT, BIN, LEFT, BIN, LANE)


def record(page):
    """Records the program. Returns what the program says about its threads, or None if krait can't
    record on this machine."""
    if os.geteuid() or subprocess.run([KRAIT, "doctor"], capture_output=True, timeout=60, check=False).returncode:
        return None
    command = [KRAIT, "record", "-q", "-F", "1999", "-o", page]
    done = subprocess.run([*command, "--", sys.executable, HERE / "gil_target.py"],
                          capture_output=True, text=True, timeout=100, check=True)
    rows = (line.split("\t") for line in done.stdout.splitlines())
    return {(name, tid): (state, *map(float, when)) for name, tid, state, *when in rows}


def lanes(page):
    """Returns ({row of the timeline: pixels of each colour in each bin of time}, the recording's
    start in ns, the width of a bin in ns)."""
    lines = subprocess.run([KRAIT, "report", page, "-o", "-", "--format", "jsonl"], capture_output=True, timeout=60, check=True)
    head = json.loads(lines.stdout.splitlines()[0])
    with browser.Browser(1400, 800) as b:
        b.call("Page.addScriptToEvaluateOnNewDocument", {"source": SPY})
        b.open(page)
        end = time.monotonic() + 20
        while not b.js("performance.getEntriesByName('krait:ready').length") and time.monotonic() < end:
            time.sleep(0.05)
        b.screenshot(page.with_suffix(".png"))
        assert not b.errors, b.errors
        return b.js(LANES), head["time_nanos"], head["duration_nanos"]


def judge(bins, thread, start_ns, width_ns):
    """Returns the faults of a lane (a row of the timeline), as texts."""
    state, start, end, before, after = thread
    inside, outside = dict.fromkeys(COLOURS, 0), 0
    for i, pixels in enumerate(bins):
        when = (start_ns + (i + 0.5) / len(bins) * width_ns) / 1e9
        for name, colour in COLOURS.items():
            if start <= when <= end:
                inside[name] += pixels.get(colour, 0)
            elif when < before - SLACK or when > after + SLACK:
                outside += pixels.get(colour, 0)
    shown = sum(inside.values())
    # A thread that is just taking the GIL neither waits for it nor has it, and even a thread that
    # keeps it must take it first. So it is enough if 60 % of the thread's samples have the state.
    if shown < 10 or inside[state] < 0.6 * shown or outside:
        return [f"{state}, but {inside} while it ran, {outside} when there was no such thread"]
    return []


def check(folder):
    page = pathlib.Path(folder) / "real-gil.html"
    if not browser.find():
        print("SKIP page-gil-lanes: no Chromium")
        return 0
    threads = record(page)
    if threads is None:
        print("SKIP page-gil-lanes: krait can't record here")
        return 0
    shown, start_ns, width_ns = lanes(page)
    wrong = []
    for (name, tid), thread in threads.items():
        # krait may not have read the name of a thread that lives only shortly. In that case the
        # lane has the process's name, or no name.
        lane = [bins for label, bins in shown.items() if label == f"tid {tid}" or label.endswith(f" (tid {tid})")]
        wrong += [f"{name}: {what}" for what in (judge(lane[0], thread, start_ns, width_ns) if len(lane) == 1 else [f"not one lane of {list(shown)}"])]
        for other in set(COLOURS) - {thread[0]}:
            if lane and not judge(lane[0], (other, *thread[1:]), start_ns, width_ns):
                wrong.append(f"{name}: {other} would pass too")
    print(f"FAIL page-gil-lanes: {'; '.join(wrong)}" if wrong else "PASS page-gil-lanes")
    return 1 if wrong else 0


def main():
    if len(sys.argv) > 1:
        return check(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        return check(folder)


if __name__ == "__main__":
    sys.exit(main())
