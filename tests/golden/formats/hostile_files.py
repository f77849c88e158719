#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""hostile_files.py: small files that claim far more than their size. krait refuses each or reads it
within seconds of CPU time (the limits are ten times what a slow machine needs) and in little
memory. It refuses damaged files with a message that names the byte and the field."""
import gzip
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
KRAIT = os.path.join(ROOT, os.environ.get("KRAIT", "build/release/krait"))
MEMORY = 128 << 20  # address space that krait may use, in bytes; its libraries take 30 MiB of that
WHERE = re.compile(r"byte \d+|line \d+: \w+:|after \d+ bytes")
failed = False


def krait(*args, **kw):
    """Runs krait with MEMORY bytes of address space. If krait needs more, it fails with an error
    that the test doesn't expect."""
    return subprocess.run([KRAIT, *args], capture_output=True, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)), **kw)


def trace(n):
    """Makes a trace of @n slices, each within the slice before, so that the stack changes at each
    beginning and at each end."""
    return {"traceEvents": [{"ph": "X", "name": "f%d" % i, "pid": 1, "tid": 1, "ts": i, "dur": 2 * (n - i)} for i in range(n)]}


def trace_of_threads(n, threads):
    """Makes a trace of many threads. Each of them has the same @n stacks."""
    return {"traceEvents": [{"ph": "X", "name": "f", "pid": 1, "tid": t, "ts": i, "dur": 2 * (n - i)}
                            for t in range(threads) for i in range(n)]}


def trace_samples(n, threads):
    """Makes a trace with a chain of @n frames. Each thread has a sample at the chain's end."""
    return {"traceEvents": [], "stackFrames": {str(i): {"name": "f", "parent": i - 1} for i in range(n)},
            "samples": [{"sf": n - 1, "ts": t, "pid": 1, "tid": t} for t in range(threads)]}


def firefox(n, threads=1):
    """Makes a Firefox profile with a chain of @n stacks. Each thread has a sample of each stack."""
    return {"meta": {"preprocessedProfileVersion": 60, "startTime": 0}, "libs": [],
            "shared": {"stackTable": {"frame": [0] * n, "prefix": [None] + list(range(n - 1))},
                       "frameTable": {"func": [0]}, "funcTable": {"name": [0]}, "stringArray": ["f"]},
            "threads": [{"pid": "1", "tid": t, "name": "t%d" % t, "samples": {"stack": list(range(n))}} for t in range(threads)]}


def speedscope(n):
    """Makes a speedscope profile in which @n frames are opened one after the other, and then
    closed."""
    events = [{"type": "O", "at": i, "frame": 0} for i in range(n)] + [{"type": "C", "at": n + i, "frame": 0} for i in range(n)]
    return {"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "f"}]},
            "profiles": [{"type": "evented", "name": "x", "unit": "milliseconds", "startValue": 0, "endValue": 2 * n, "events": events}]}


def cpuprofile(n):
    """Makes a V8 profile (.cpuprofile) with a chain of @n nodes, and a sample of each node."""
    frame = {"functionName": "f", "scriptId": "1", "url": "x.js", "lineNumber": 1, "columnNumber": 1}
    return {"nodes": [{"id": i + 1, "callFrame": frame, "children": [i + 2] if i + 1 < n else []} for i in range(n)],
            "startTime": 0, "endTime": n, "samples": list(range(1, n + 1)), "timeDeltas": [1] * n}


def bomb(path):
    """Writes a compressed file of four hundred thousand bytes that unpacks to four hundred
    megabytes."""
    with gzip.open(path, "wb", compresslevel=9) as f:
        for _ in range(100):
            f.write(b"f 1\n" * 1000000)


CASES = (
    ("trace", lambda: trace(20000), 5, "nested far deeper"),
    ("trace-100000", lambda: trace(100000), 10, "nested far deeper"),
    ("trace-threads", lambda: trace_of_threads(5000, 20), 10, "nested far deeper"),
    ("trace-12000", lambda: trace(12000), 10, None),  # V8's stack hasn't room for so many calls
    ("trace-samples-threads", lambda: trace_samples(10000, 20000), 10, "far deeper"),
    ("trace-samples", lambda: trace_samples(10000, 2), 10, None),
    ("firefox", lambda: firefox(65000), 5, "far deeper"),
    ("firefox-threads", lambda: firefox(3000, 60), 10, "far deeper"),
    ("firefox-3000", lambda: firefox(3000), 10, None),
    ("speedscope", lambda: speedscope(20000), 10, "far deeper"),
    ("cpuprofile", lambda: cpuprofile(30000), 20, "far deeper"),
    ("folded", bomb, 10, "far more samples"),
)


def check(directory, name, make, limit, words):
    global failed
    path = os.path.join(directory, name + (".folded.gz" if make is bomb else ".json"))
    if make is bomb:
        bomb(path)
    else:
        with open(path, "w", encoding="ascii") as f:
            json.dump(make(), f)
    before = os.times()
    try:
        done = krait("report", path, text=True, timeout=120 + limit)
        said, code = done.stderr, done.returncode
    except subprocess.TimeoutExpired:
        said, code = "no end after %d s" % (120 + limit), None
    after = os.times()
    took = after.children_user + after.children_system - before.children_user - before.children_system
    good = took <= limit and (code == 0 if words is None else code == 1 and words in said and WHERE.search(said))
    print("PASS hostile-file %s" % name if good else "FAIL hostile-file %s: %.1f s of CPU time, exit code %s: %s" % (
        name, took, code, said.strip()[:200]))
    failed |= not good
    if os.environ.get("VERBOSE"):
        print("%s: %d bytes, %.2f s" % (name, os.path.getsize(path), took))


def message(number, data):
    """Makes a field of a protocol buffer. If @data is a number, makes only the field's head with
    this length, without the bytes."""
    n, head = data if isinstance(data, int) else len(data), b""
    while n > 127:
        head, n = head + bytes([n & 127 | 128]), n >> 7
    return bytes([number << 3 | 2]) + head + bytes([n]) + (b"" if isinstance(data, int) else data)


def node(i, *children):
    return {"id": i, "children": children, "callFrame": {"functionName": "f", "scriptId": "1", "url": "x.js", "lineNumber": 1, "columnNumber": 1}}


def prefixes(*prefix):
    """Makes a Firefox profile whose stack table has these values in its column "prefix"."""
    profile = firefox(len(prefix))
    profile["shared"]["stackTable"]["prefix"] = prefix
    return json.dumps(profile).encode()


# the fields with which a pprof file begins
HEAD = message(1, b"\x08\x01\x10\x02") + message(6, b"") + message(6, b"cpu") + message(6, b"nanoseconds")
LINES = b'{"type":"krait","version":1,"sample_types":[{"type":"cpu","unit":"x"}]}\n{"type":"mapping","id":1,"name":"x"}\n'
TEN_GB = 10 ** 10
# each damaged file: its name, its bytes, and the place and the fault that krait's message must name
DAMAGED = (
    ("pprof-10-gb", HEAD + message(2, TEN_GB), "pprof: byte %d: Profile: field 2 says 10000000000 bytes" % len(HEAD)),
    ("pprof-string-10-gb", HEAD + message(6, TEN_GB), "pprof: byte %d: Profile: field 6 says" % len(HEAD)),
    ("pprof-inner-10-gb", HEAD + message(2, message(1, TEN_GB)), "pprof: byte %d: Sample: field 1 says" % (len(HEAD) + 2)),
    ("pprof-inner-shorter", HEAD + message(4, message(4, b"") + message(4, 9)), "pprof: byte %d: Location: field 4 says" % (len(HEAD) + 4)),
    ("pprof-zstd-2-gb-window", b"\x28\xb5\x2f\xfd\x00\xa8" + bytes(99), "the zstd data is damaged near byte"),
    ("firefox-own-caller", prefixes(0), "firefox: prefix: byte"),
    ("firefox-circle", prefixes(None, 2, 1), "firefox: prefix: byte"),
    ("firefox-no-such-caller", prefixes(None, TEN_GB), "firefox: prefix: byte"),
    ("cpuprofile-circle", json.dumps(dict(cpuprofile(1), nodes=[node(1, 2), node(2, 1)])).encode(), "cpuprofile: samples: byte"),
    ("cpuprofile-own-child", json.dumps(dict(cpuprofile(1), nodes=[node(1, 1)])).encode(), "cpuprofile: samples: byte"),
    ("jsonl-own-caller", LINES + b'{"type":"frame","id":1,"mapping":1,"name":"f","inlined_into":1}\n', "line 3: inlined_into:"),
    ("jsonl-inlined", LINES + b'{"type":"frame","id":1,"mapping":1,"name":"f"}\n' + b"".join(
        b'{"type":"frame","id":%d,"mapping":1,"name":"f","inlined_into":%d}\n' % (i + 1, i) for i in range(1, 12000)), "line 259: inlined_into: more than 256"),
    ("folded-inlined", b"a;" + b"b_[i];" * 60000 + b"c 1\n", "folded stacks: byte 0: more than 256"),
    ("jsonl-own-stack", LINES + b'{"type":"stack","id":1,"frames":[1]}\n', "line 3: frames:"),
    ("nested", b'{"$schema":"speedscope.app","x":' + b"[" * 10 ** 6, "speedscope: the file: byte"),
    ("nested-trace", b'{"traceEvents":[{"ph":' + b'{"a":' * 10 ** 6, "trace: ph: byte"),
)


def refused(directory, name, data, words):
    """Checks that krait refuses the file @name with one sentence, which contains @words and names a
    byte or a line."""
    global failed
    path = os.path.join(directory, name)
    with open(path, "wb") as f:
        f.write(data)
    done = krait("report", path, timeout=60)
    said = done.stderr.decode()
    good = done.returncode == 1 and words in said and said.count("\n") == 1 and WHERE.search(said)
    print("PASS hostile-file %s" % name if good else "FAIL hostile-file %s: exit code %s: %s" % (name, done.returncode, said[:300]))
    failed |= not good


def cuts(directory):
    """Files that krait wrote are cut off at many places: krait refuses each of them, and names the
    place."""
    whole = os.path.join(ROOT, "tests", "golden", "go-cpu.pb.gz")
    for ext, words in (("pb.gz", "gzip data ends early"), ("jsonl", "JSON lines: line"), ("speedscope.json", "speedscope: "), ("firefox.json", "firefox: "),
                       ("svg", "recording"), ("html", "recording")):
        path = os.path.join(directory, "whole." + ext)
        subprocess.run([KRAIT, "report", whole, "-o", path], check=True)
        with open(path, "rb") as f:
            data = f.read()
        at = data.index(b'krait-recording">') if ext in ("svg", "html") else 0
        end = data.index(b"<", at) if at else len(data)
        for share in 0.3, 0.6, 0.9:
            refused(directory, "cut-%s-%d" % (ext, 100 * share), data[:at + int((end - at) * share)], words)


def cut_line(directory):
    """If a file of folded stacks is cut off in the middle of a line, krait leaves out that line,
    and the report says so. A cut at the end of a line loses nothing."""
    global failed
    path = os.path.join(directory, "cut.folded")
    with open(path, "wb") as f:
        f.write(b"".join(b"main;f%d 12\n" % i for i in range(9)) + b"main;f9")
    run = krait("report", path)
    good = run.returncode == 0 and b"108 samples\nleft out: 1 line without a blank and a count at the end\n" in run.stdout
    print("PASS hostile-file cut-folded" if good else "FAIL hostile-file cut-folded: %s" % (run.stdout + run.stderr).decode()[:300])
    failed |= not good


def large(directory):
    """krait reads a file of 10 GB, nearly all of which is a hole."""
    global failed
    path = os.path.join(directory, "large.pb.gz")
    with open(os.path.join(ROOT, "tests", "golden", "go-cpu.pb.gz"), "rb") as f, open(path, "wb") as out:
        out.write(f.read())
        out.truncate(TEN_GB)
    said = krait("report", path, timeout=60).stderr.decode()
    print("PASS hostile-file large" if "more than 2 GiB" in said else "FAIL hostile-file large: %s" % said[:300])
    failed |= "more than 2 GiB" not in said


def not_text(directory):
    """krait reads names that aren't UTF-8, in each format that is text: its output is UTF-8."""
    global failed
    bad = b"\xff\xc3(\xed\xa0\x80\xf8"
    for name, data in (("folded", b"main;f%s (/srv/%s.py:3) 5\n" % (bad, bad)), ("jsonl", LINES + b'{"type":"frame","id":1,"mapping":1,"name":"%s"}\n'
                        b'{"type":"stack","id":1,"frames":[1]}\n{"type":"sample","stack":1,"values":[5]}\n' % bad),
                       ("speedscope", json.dumps(speedscope(1)).encode().replace(b'"f"', b'"%s"' % bad)),
                       ("firefox", json.dumps(firefox(1)).encode().replace(b'"f"', b'"%s"' % bad)),
                       ("trace", json.dumps(trace(1)).encode().replace(b'"f0"', b'"%s"' % bad)),
                       ("cpuprofile", json.dumps(cpuprofile(2)).encode().replace(b'"f"', b'"%s"' % bad))):
        path = os.path.join(directory, "not-text-" + name)
        with open(path, "wb") as f:
            f.write(data)
        said = []
        for kind in "text", "json", "md", "folded", "jsonl", "speedscope", "firefox", "html", "svg":
            done = krait("report", path, "-o", "-", "--format", kind, timeout=60)
            try:
                if done.returncode or "\ufffd" not in done.stdout.decode() and kind not in ("html", "text", "md", "svg"):
                    said.append("%s: %s" % (kind, done.stderr.decode() or done.stdout[:200]))
            except UnicodeDecodeError as error:
                said.append("%s: %s" % (kind, error))
        print("FAIL hostile-file not-text-%s: %s" % (name, said[:2]) if said else "PASS hostile-file not-text-" + name)
        failed |= bool(said)


with tempfile.TemporaryDirectory() as work:
    for case in CASES:
        check(work, *case)
    for case in DAMAGED:
        refused(work, *case)
    cuts(work)
    cut_line(work)
    large(work)
    not_text(work)
sys.exit(failed)
