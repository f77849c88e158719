#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""odd_files.py: files of other tools with something odd in them; what they say in all is known by arithmetic, and what is
left out of them is said."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
import pprof  # noqa: E402

KRAIT = os.path.join(ROOT, os.environ.get("KRAIT", "build/release/krait"))
failed = False


def check(name, true, words=""):
    global failed
    print("PASS odd-files %s" % name if true else "FAIL odd-files %s: %s" % (name, words))
    failed |= not true


def krait(*args, stdin=b""):
    done = subprocess.run([KRAIT] + list(args), input=stdin, capture_output=True, timeout=60)
    return done.stdout.decode() if done.returncode == 0 else "exit code %d: %s" % (done.returncode, done.stderr.decode())


def report(text, *args):
    """The report as JSON of a file's text or bytes; {} if it is refused."""
    out = krait("report", "-", "--json", *args, stdin=text if isinstance(text, bytes) else text.encode())
    return json.loads(out) if out.startswith("{") else {"all": out, "notes": [], "functions": [], "unit": "", "value": ""}


def says(name, text, all_of_it, notes=(), *args):
    """The whole, and that text and Markdown say what is left out as well."""
    got = report(text, *args)
    plain, md = (krait("report", "-", *args, *more, stdin=text if isinstance(text, bytes) else text.encode())
                 for more in ((), ("--format", "md")))
    wrong = [word for word in notes if not any(word in note for note in got["notes"]) or word not in plain or word not in md]
    check(name, got["all"] == all_of_it and len(got["notes"]) == len(notes) and not wrong, "%s, %s" % (got["all"], got["notes"] or plain))


def trace(*events):
    """Events as text, so that they may be no JSON."""
    return '{"traceEvents":[%s]}' % ",".join(events)


def traces(work):
    step = '{"name":"step","ph":"X","ts":0,"dur":100,"pid":1,"tid":1}'
    for word in ("NaN", "Infinity", "-Infinity"):
        says("trace-" + word, trace(step.replace("}", ',"args":{"loss":%s}}' % word)), 100000)
    says("trace-text", trace(step.replace('"ts":0,"dur":100', '"ts":"100","dur":"50"')), 50000)
    says("trace-negative", trace(step, step.replace("100", "-5")), 100000, ["1 slice whose length is below 0"])
    says("trace-unused", trace(step, '{"name":"m","ph":"e","ts":null,"pid":1,"tid":1}'), 100000)
    says("trace-no-time", trace(step, *["{\"name\":\"m\",\"ph\":\"X\",\"dur\":9}"] * 3), 100000, ["3 events without a time"])
    torch = trace('{"ph":"X","cat":"python_function","name":"torch/nn/functional.py(2000): linear","ts":1,"dur":7}')
    path = os.path.join(work, "torch.pb.gz")
    krait("report", "-", "-o", path, stdin=torch.encode())
    profile = pprof.read(path)
    frame = profile.stack(profile.samples[0])[0]
    check("trace-torch", (frame.name, frame.file, frame.line, frame.mapping) == ("linear", "torch/nn/functional.py", 2000, "[python]"), str(frame))
    kept = trace(step, step.replace("100", "-5"))
    path = os.path.join(work, "kept.pb.gz")
    krait("report", "-", "-o", path, stdin=kept.encode())
    check("trace-kept", json.loads(krait("report", path, "--json"))["notes"] == report(kept)["notes"] != [], krait("report", path))


def main():
    with tempfile.TemporaryDirectory() as work:
        traces(work)
    sys.exit(failed)


main()
