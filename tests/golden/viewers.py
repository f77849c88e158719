# SPDX-License-Identifier: BSD-2-Clause
"""viewers.py DIRECTORY: speedscope and the Firefox Profiler read what formats.py left in DIRECTORY.

Their own code, from npm (tests/setup/viewers.sh): speedscope in a headless Chromium, the Firefox
Profiler by its command line. What they show must be what the recording says.
"""

import base64
import collections
import json
import os
import re
import subprocess
import sys
import time

import browser
from truth import Results, Truth, difference, frame

result = Results()


def milliseconds(text):
    """Of '158.16ms (45%)'."""
    m = re.match(r"([\d.]+)(ns|\xb5s|ms|s) \(", text)
    return float(m[1]) * {"ns": 1e-6, "\xb5s": 1e-3, "ms": 1, "s": 1000}[m[2]] if m else None


def rows(text):
    """(total, self, name) of the sandwich view's table, as far as it is on the screen."""
    lines = text[text.index("Symbol Name\n") + 12:].split("\n")
    for total, own, name in zip(lines[::3], lines[1::3], lines[2::3]):
        if milliseconds(total) is not None:
            yield milliseconds(total), milliseconds(own.strip()), name.strip("\t")


def near(shown, ns):
    return abs(shown - ns / 1e6) <= (0.006 if shown < 1000 else 6)


def speedscope(name, truth, path, package, directory):
    script = os.path.join(directory, "load.js")
    with open(path, "rb") as f, open(script, "w", encoding="ascii") as out:
        out.write("speedscope.loadFileFromBase64(%s, %s)"
                  % (json.dumps(os.path.basename(path)), json.dumps(base64.b64encode(f.read()).decode())))
    with browser.Browser(height=2000) as b:
        b.open(os.path.join(package, "dist/release/index.html"), "#localProfilePath=" + script)
        end = time.monotonic() + 40
        while b.js("document.title") == "speedscope" and time.monotonic() < end:
            time.sleep(0.2)
        b.js("window.dispatchEvent(new KeyboardEvent('keypress', {key: '3'}))")
        text = ""
        while "Symbol Name\n" not in text and time.monotonic() < end:
            time.sleep(0.2)
            text = b.js("document.body.innerText")
        wrong = list(b.errors)
    if f"(1/{len(truth.threads)})" not in text and len(truth.threads) > 1:
        wrong.append(f"not {len(truth.threads)} threads: {text[:200]}")
    result(f"{name} speedscope opens it", wrong)
    if name == "odd":
        return  # on the screen its names aren't what they are
    with open(path, encoding="utf-8") as f:
        title = json.load(f)["profiles"][0]["name"]
    ids = tuple(re.search(r"\(%s (\d+)\)" % key, title)[1] for key in ("pid", "tid"))
    want = truth.sums(lambda l: frame(l) + (l.line,), lambda s: truth.thread(s) == ids)
    shown = list(rows(text))
    result(f"{name} speedscope shows {len(shown)} functions",
           [row for row in shown if not any(
               key[0] == row[2] and near(row[0], total) and near(row[1], own)
               for key, (own, total) in want.items())] + ([] if len(shown) > 20 else ["too few"]))


def firefox(name, truth, path, cache, directory):
    tool = [os.path.join(cache, "node_modules/.bin/node"),
            os.path.join(cache, "node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js")]
    env = dict(os.environ, PROFILER_CLI_SESSION_DIR=os.path.join(directory, f"firefox-{name}"))

    def ask(*args, tries=20):
        """Its daemon may need longer to start than it waits for."""
        for _ in range(tries):
            run = subprocess.run(tool + list(args), env=env, capture_output=True, text=True, timeout=60)
            if run.returncode == 0 or args[0] == "load":
                return run.stdout
            time.sleep(0.5)
        raise RuntimeError(f"profiler-cli {' '.join(args)}: {run.stderr or run.stdout}")

    try:
        ask("load", path)
        threads = [t for p in json.loads(ask("profile", "info", "--all", "--json"))["processes"]
                   for t in p["threads"]]
        result(f"{name} firefox has the threads", difference(
            collections.Counter(len(truth.threads) * ["thread"]),
            collections.Counter(len(threads) * ["thread"])))
        threads.sort(key=lambda t: -t["cpuMs"])
        for t in threads[:3]:
            ids = str(t["tid"])
            ask("thread", "select", t["threadHandle"])
            got = json.loads(ask("thread", "functions", "--include-idle", "--json"))["functions"]
            want = truth.sums(lambda l: frame(l) + (l.first, l.mapping),
                              lambda s: s.labels.get("tid") == ids)
            result(f"{name} firefox functions of {t['name'][:20]!r}", difference(
                collections.Counter((key[0], *v) for key, v in want.items()),
                collections.Counter((f["name"], round(f["selfSamples"] * 1e6),
                                     round(f["totalSamples"] * 1e6)) for f in got)))
    finally:
        subprocess.run(tool + ["stop", "--all"], env=env, capture_output=True, timeout=60)


def main():
    directory = sys.argv[1]
    setup = subprocess.run([os.path.join(os.path.dirname(__file__), "..", "setup", "viewers.sh")],
                           capture_output=True, text=True, timeout=300)
    if setup.returncode:
        why = (setup.stdout or setup.stderr).strip()
        print(f"SKIP formats in speedscope: {why}\nSKIP formats in the Firefox Profiler: {why}")
        return
    cache = setup.stdout.strip()
    if not browser.find():
        print("SKIP formats in speedscope: no chromium")
    for name in ("odd", "real"):
        recording = os.path.join(directory, f"{name}.pb.gz")
        if not os.path.exists(recording):
            continue
        truth = Truth(recording)
        if browser.find():
            speedscope(name, truth, os.path.join(directory, f"{name}.speedscope.json"),
                       os.path.join(cache, "node_modules/speedscope"), directory)
        firefox(name, truth, os.path.join(directory, f"{name}.firefox.json"), cache, directory)
    result.exit()


main()
