# SPDX-License-Identifier: BSD-2-Clause
"""viewers.py DIRECTORY: speedscope and the Firefox Profiler read what formats.py left in DIRECTORY.

The viewers' own code, from npm (tests/setup/viewers.sh), reads the files: speedscope in a headless
Chromium, which imports pprof, folded stacks and traces too, and the Firefox Profiler by its command
line. What the viewers show must be what the recording says."""

import base64
import collections
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import browser
from truth import Results, Truth, difference, frame

result = Results()


def number(text):
    """Returns the number of ms in a text such as '158.16ms (45%)', or the number in '1,234 (45%)'.
    """
    m = re.match(r"([\d.,]+)(ns|\xb5s|ms|s|) \(", text)
    return float(m[1].replace(",", "")) * {"ns": 1e-6, "\xb5s": 1e-3, "ms": 1, "s": 1000, "": 1}[m[2]] if m else None


def rows(text):
    """Yields (total, self, name) for each row of the table in speedscope's sandwich view."""
    lines = text[text.index("Symbol Name\n") + 12:].split("\n")
    for total, own, name in zip(lines[::3], lines[1::3], lines[2::3]):
        if number(total) is not None:
            yield number(total), number(own.strip()), name.strip("\t")


def near(shown, ns):
    return abs(shown - ns / 1e6) <= (0.006 if shown < 1000 else 6)


def loaded(path, package, directory):
    """Loads a file into speedscope. Returns the rows of its sandwich view, and its errors."""
    script = os.path.join(directory, "load.js")
    with open(path, "rb") as f, open(script, "w", encoding="ascii") as out:
        out.write("speedscope.loadFileFromBase64(%s, %s)"
                  % (json.dumps(os.path.basename(path)), json.dumps(base64.b64encode(f.read()).decode())))
    with browser.Browser(height=2000) as b:
        b.open(os.path.join(package, "dist/release/index.html"), "#localProfilePath=" + script)
        end = time.monotonic() + 40
        text = ""
        while b.js("document.title") == "speedscope" and "went wrong" not in text and time.monotonic() < end:
            time.sleep(0.2)
            text = b.js("document.body.innerText")
        b.js("window.dispatchEvent(new KeyboardEvent('keypress', {key: '3'}))")
        while "Symbol Name\n" not in text and "went wrong" not in text and time.monotonic() < end:
            time.sleep(0.2)
            text = b.js("document.body.innerText")
        return text, list(b.errors) + ([] if "Symbol Name\n" in text else [text[:200]])


def speedscope(name, truth, path, package, directory):
    """Compares a file with what speedscope shows of it. A file in speedscope's own format, or a
    trace, has one profile for each thread; speedscope shows the first one."""
    kind = os.path.basename(path).split(".", 1)[1]
    text, wrong = loaded(path, package, directory)
    apart = kind in ("speedscope.json", "trace.json")
    threads = {truth.thread(s) for s in truth.profile.samples if kind != "trace.json" or "time" in s.labels}
    if apart and f"(1/{len(threads)})" not in text and len(threads) > 1:
        wrong.append(f"not {len(threads)} threads: {text[:200]}")
    result(f"{name} speedscope opens {kind}", wrong)
    if name == "odd" or wrong:
        return  # speedscope's screen shows odd names in another form than the file has
    ids = tuple(re.search(r"\b%s (\d+)\)" % key, text)[1] for key in ("pid", "tid")) if apart else ()
    if kind == "folded":
        want = collections.Counter()
        with open(path, encoding="utf-8") as f:
            for line in f:
                stack, _, n = line.rpartition(" ")
                want.update({frame: int(n) * 1j for frame in set(stack.split(";"))})
                want[stack.split(";")[-1]] += int(n)
        same, want = (lambda shown, n: shown == n), {(k,): (v.real, v.imag) for k, v in want.items()}
    else:
        same = near
        key = {"speedscope.json": lambda l: frame(l) + (l.line,), "pb.gz": lambda l: (l.name, l.file), "trace.json": in_trace}[kind]
        if kind == "pb.gz":  # speedscope leaves out frames without a name
            truth.stacks = [(s, [l for l in stack if l.name]) for s, stack in truth.stacks]
        want = truth.sums(key, lambda s: (not apart or truth.thread(s) == ids) and (kind != "trace.json" or "time" in s.labels))
    shown = list(rows(text))
    result(f"{name} speedscope shows {len(shown)} functions of {kind}",
           [row for row in shown if not any(
               key[0] == row[2] and same(row[0], total) and same(row[1], own)
               for key, (own, total) in want.items())] + ([] if len(shown) > 20 else ["too few"]))


def schema(name, path, package):
    """Checks that a file is valid by speedscope's own JSON schema."""
    try:
        import jsonschema
    except ImportError:
        print("SKIP formats by speedscope's schema: no jsonschema")
        return
    with open(os.path.join(package, "file-format-schema.json"), encoding="utf-8") as f, open(path, encoding="utf-8") as g:
        problems = jsonschema.Draft7Validator(json.load(f)).iter_errors(json.load(g))
    result(f"{name} speedscope's schema", [f"{list(e.absolute_path)}: {e.message[:200]}" for e in problems][:3])


def in_trace(location):
    """Returns a location as the Firefox Profiler shows it, where the arguments of a slice are part
    of the slice's name."""
    name, file = frame(location)
    args = {"file": file} if file else {}
    return (name + " " + json.dumps({**args, "line": location.first} if location.first else args, separators=(",", ":")),)


def firefox(name, truth, path, cache, directory):
    tool = [os.path.join(cache, "node_modules/.bin/node"),
            os.path.join(cache, "node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js")]
    env = dict(os.environ, PROFILER_CLI_SESSION_DIR=os.path.join(directory, f"firefox-{name}"))

    def ask(*args, tries=20):
        """Asks profiler-cli, several times, because it may give up before the daemon that it starts
        is ready."""
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
    setup = subprocess.run([os.path.join(os.path.dirname(__file__), "..", "..", "setup", "viewers.sh")],
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
        for kind in ("speedscope.json", "trace.json", "folded", "pb.gz") if browser.find() else ():
            speedscope(name, Truth(recording), os.path.join(directory, f"{name}.{kind}"), os.path.join(cache, "node_modules/speedscope"), directory)
        schema(name, os.path.join(directory, f"{name}.speedscope.json"), os.path.join(cache, "node_modules/speedscope/dist/release"))
        firefox(name, truth, os.path.join(directory, f"{name}.firefox.json"), cache, directory)
    result.exit()


main()
