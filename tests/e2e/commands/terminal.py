#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Output to a terminal. Here names of processes, functions and files contain every control and
format character of Unicode, and no output of krait may contain any of them. Python's copy of
Unicode's data says which characters these are."""
import html
import json
import os
import pty
import re
import select
import subprocess
import sys
import unicodedata

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import Background, check, folder, krait
from vt import Terminal

# Format characters that krait may print: some are visible, others are needed by words and emoji.
DRAWN = {0x200c, 0x200d, 0x6dd, 0x70f, 0x890, 0x891, 0x8e2, 0x110bd, 0x110cd, *range(0x600, 0x606),
         *range(0x13430, 0x13440)}
HIDDEN = "".join(chr(c) for c in range(1, 0x110000)
                 if unicodedata.category(chr(c)) in ("Cc", "Cf", "Zl", "Zp") and c not in DRAWN)
# some characters of HIDDEN, each of which is also tried as a whole name
NAMED = "\u202e\u202d\u2066\u2069\u200e\u200f\u061c\x9b\x1b\u200b"
# matches krait's own escape sequences for colours and movements of the cursor
SEQUENCE = re.compile(r"\x1b\[\??[0-9;]*[A-Za-z]")
PIECE = 6


def names():
    """Returns function names that together contain all characters of HIDDEN, a few in each name."""
    return ["f%d%s_" % (i // PIECE, HIDDEN[i:i + PIECE]) for i in range(0, len(HIDDEN), PIECE)]


def check_clean(text, what, least=1):
    """Checks that the output contains no character of HIDDEN, and at least @least of names()."""
    left = sorted({hex(ord(c)) for c in SEQUENCE.sub("", text) if c in HIDDEN and c not in "\n\r\t"})
    check(not left, "%s: came through: %s" % (what, " ".join(left)))
    # In names from Python, krait writes control characters as repr() does.
    seen = len(set(re.findall(r"(f\d+)[?\\][?\\\w]*_", text)))
    check(seen >= least, "%s: only %d of the names are there: %r" % (what, seen, text[:300]))


def on_terminal(*args):
    """Runs krait with a terminal as its standard output. Returns what krait writes to it."""
    master, slave = pty.openpty()
    with Background(kit.KRAIT, *args, stdout=slave) as running:
        os.close(slave)
        data = b""
        while select.select([master], [], [], 30)[0]:
            try:
                got = os.read(master, 1 << 16)
            except OSError:  # EIO: the other end of the terminal is closed
                break
            if not got:
                break
            data += got
        running.process.wait(timeout=30)
    os.close(master)
    return data.decode(errors="replace").replace("\r\n", "\n")


def markdown(*args):
    return html.unescape(krait(*args, "--format", "md").stdout.replace("\ufffd", "?"))


def files(d):
    """Writes two profiles as another tool could have made them. krait's own JSON lines keep every
    character of the names."""
    made = []
    for n, times in enumerate((10, 30)):
        path = "%s/%d%s.speedscope.json" % (d, n, NAMED)
        frames = [{"name": name, "file": "/srv/%s.py" % name, "line": 3} for name in names()]
        frames.append({"name": "f9999\u202e\u2066\x9b_"})
        profile = {"type": "sampled", "name": "thread " + NAMED, "unit": "seconds", "startValue": 0, "endValue": 9,
                   "samples": [[i] for i in range(len(frames))], "weights": [10] + [times] * (len(frames) - 1)}
        with open(path, "w") as f:
            json.dump({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": frames},
                       "profiles": [profile], "exporter": "x"}, f)
        made.append(path)
    return made


@kit.case
def reports():
    """No output of report, diff and merge has such characters: as text, Markdown, JSON and each
    format that is text, on a terminal and into a pipe."""
    with folder() as d:
        a, b = files(d)
        check_clean(on_terminal("report", a, "--limit", 500), "report", len(names()))
        check_clean(on_terminal("report", a, "--limit", 50, "--tree"), "report --tree", 30)
        check_clean(krait("report", a, "--limit", 500).stdout, "report into a pipe", len(names()))
        check_clean(markdown("report", a, "--limit", 50, "--tree"), "md", 30)
        check_clean(on_terminal("diff", a, b, "--limit", 500), "diff", 10)
        check_clean(markdown("diff", a, b), "diff md", 10)
        for args in (["report", a], ["diff", a, b]):
            done = krait(*args, "--json")
            check(json.loads(done.stdout), args[0])
            left = [hex(ord(c)) for c in done.stdout if c in HIDDEN and c != "\n"]
            check(not left, "%s --json: %s" % (args[0], left))
        for form in ("folded", "jsonl", "speedscope", "html", "svg"):
            text = on_terminal("report", a, "--format", form)
            left = {hex(ord(c)) for c in text if c in HIDDEN and c not in "\n\t\r"}
            check(not left and len(text) > 1000, "%s: %s" % (form, left))
        # in folded stacks, blanks stand for control characters
        check_clean(on_terminal("merge", a, b, "--format", "folded"), "merge", len(names()) - 12)


@kit.case
def messages():
    """krait also cleans names of files in errors, warnings and closing lines."""
    with folder() as d:
        a, _ = files(d)
        for args in (["report", d + "/none f1%s_" % NAMED], ["report", a, "-o", d + "/no/f1%s_.html" % NAMED],
                     ["report", a, "--by", "f1%s_" % NAMED], ["record", "--", d + "/f1%s_" % NAMED],
                     ["f1%s_" % NAMED], ["record", "--f1%s_" % NAMED]):
            check_clean(krait(*args).stderr, " ".join(args[:1]))
        done = krait("record", "-o", d + "/f1%s_.folded" % NAMED, "--", "true")
        check(done.returncode == 0, done.stderr)
        check_clean(done.stderr, "closing lines")


TARGET = r"""
import ctypes, sys, threading, types
names = eval(sys.argv[1])
threading.current_thread().name = names[0]
ctypes.CDLL(None).prctl(15, "f7\u202e\x9b\x1b_".encode(), 0, 0, 0)
def template(next):
    return next()
def work():
    while True:
        sum(range(1000))
def named(name):
    code = template.__code__.replace(co_name=name, co_filename="/srv/" + name + ".py")
    if hasattr(code, "co_qualname"):
        code = code.replace(co_qualname=name)
    return types.FunctionType(code, globals(), name)
run = work
for name in names:
    run = (lambda f, next: lambda: f(next))(named(name), run)
print(flush=True)
run()
"""


@kit.case
def processes():
    """No output of record, dump and top has such characters, although the recorded program's
    functions, files, threads and its own name contain them."""
    with folder() as d, Background(kit.PYTHON, "-c", TARGET, ascii(names()), stdout=subprocess.PIPE) as target:
        target.process.stdout.readline()
        kit.runs(target.pid, 0.2)
        text = on_terminal("record", "-q", "-p", target.pid, "-d", 0.5, "-f")
        check_clean(text, "record -f", len(names()))
        done = krait("record", "-v", "-p", target.pid, "-d", 0.3, "-o", d + "/o.pb.gz")
        check_clean(done.stderr, "record -v", 0)
        check_clean(on_terminal("report", d + "/o.pb.gz", "--by", "thread", "--limit", 99), "report", 1)
        check_clean(on_terminal("dump", "-p", target.pid), "dump", len(names()))
        text = krait("dump", "-p", target.pid, "--json").stdout
        check(json.loads(text) and not [c for c in text if c in HIDDEN and c != "\n"], "dump --json")
        text = on_terminal("top", "-p", target.pid, "-n", 1, "--sort", "total")
        check_clean(text, "top -n 1", 5)
        with Terminal([kit.KRAIT, "top", "-p", target.pid, "--sort", "total"], rows=60, cols=160) as t:
            t.wait(lambda text: re.search(r"f\d+\?+_", text), 20)
            t.end()
            check_clean(t.raw, "top", 5)


if __name__ == "__main__":
    sys.exit(kit.main())
