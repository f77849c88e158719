#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""source.py: source text in `krait report`: which lines it shows, which expression it marks, and
which users' files it shows. The truth is the file itself and the interpreter's co_positions()."""
import os
import re
import subprocess
import sys
import tempfile
import time
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
from judge import pprof  # noqa: E402

KRAIT = os.path.join(ROOT, os.environ.get("KRAIT", "build/release/krait"))
CHANGED = "(the file changed since)"
TEXT = '''def work(p, d):
\treturn p.get("\u00e9\u6f22") * d["key"] + sum(range(len(d) % 50))
def long(p):
    total = p.first_of_the_names + p.second_of_the_names * (p.third_of_the_names - p.fourth(1, 2))
    return [
        total,
        p.append(1,
                 2)]
'''
failed = False


def check(name, true, words=""):
    global failed
    print("PASS source %s" % name if true else "FAIL source %s: %s" % (name, words))
    failed |= not true


def report(path, *args, width=80):
    done = subprocess.run([KRAIT, "report", path, *args], capture_output=True, timeout=60,
                          env=dict(os.environ, COLUMNS=str(width)))
    check_words = done.stderr.decode()
    return done.stdout.decode() if not done.returncode else "exit %d: %s" % (done.returncode, check_words)


def cells(text):
    """Returns how many columns each character of a text takes on a terminal."""
    return [0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
            for c in text]


def above(text, row):
    """Returns the part of the line @text that is above the carets in @row."""
    first, last, at, out = row.index("^"), row.rindex("^"), 0, ""
    for c, width in zip(text, cells(text)):
        if first <= at <= last:
            out += c
        at += width
    return out


def codes(code):
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from codes(constant)


def profile(path, file, code, position, start):
    """Makes a profile with one sample, at one instruction of a code object."""
    line, end_line, column, end_column = position
    w = pprof.Writer()
    w.sample([w.location("[python 3.12]", code.co_qualname, file, code.co_firstlineno, line,
                         column + 1, (end_line, end_column + 1))], {})
    w.out.append(pprof._field(9, start))
    w.save(path)


def carets(work):
    """For each expression of a file, the text above the carets is that expression."""
    file, path = os.path.join(work, "carets.py"), os.path.join(work, "x.pb.gz")
    with open(file, "w", encoding="utf-8") as f:
        f.write(TEXT)
    lines, wrong, n, multi = TEXT.split("\n"), [], 0, 0
    now = int((time.time() + 5) * 1e9)
    for code in codes(compile(TEXT, file, "exec")):
        for position in sorted(set(p for p in code.co_positions() if None not in p)):
            line, end_line, column, end_column = position
            source = lines[line - 1].encode()
            part = source[column:end_column if end_line == line else None].decode()
            whole = part == lines[line - 1].strip()
            if not part or code.co_name == "<module>":
                continue
            profile(path, file, code, position, now)
            rows = report(path, width=60 if n % 2 else 80).split("\n")
            at = [i for i, row in enumerate(rows) if row.strip() and not row.strip(" ^")]
            n += 1
            multi += end_line != line
            if whole or not at:
                wrong += [] if whole and not at else [(position, rows)]
                continue
            shown = above(rows[at[0] - 1], rows[at[0]])
            if not (shown == part or len(shown) > 20 and part.startswith(shown[:-1])):
                wrong.append((position, part, shown))
            if len(rows) > 24 or max(sum(cells(r)) for r in rows[1:]) > (60 if n % 2 == 0 else 80):
                wrong.append((position, "too wide"))
    check("carets, %d expressions, %d over several lines" % (n, multi), n > 30 and multi and not wrong,
          str(wrong[:2]))
    md = report(path, "--format", "md", "--source")
    check("markdown", "<ins><code>" in md and "| <code>" in md, md)


def module(work, name):
    file, path = os.path.join(work, name), os.path.join(work, "x.pb.gz")
    with open(file, "w", encoding="utf-8") as f:
        f.write("def seen():\n    return wanted(1)\n")
    code = next(c for c in codes(compile("def seen():\n    return wanted(1)\n", file, "exec"))
                if c.co_name == "seen")
    profile(path, file, code, (2, 2, 11, 20), int((time.time() + 5) * 1e9))
    return file, path


def rules(work):
    file, path = module(work, "mine.py")
    page = os.path.join(work, "x.html")
    check("own", "return wanted(1)" in report(path), report(path))
    check("no-source", "wanted" not in report(path, "--no-source"))
    text = os.path.join(work, "x.text")
    check("markdown is passed on", "wanted" not in report(path, "--format", "md"))
    report(path, "--format", "text", "-o", text)
    check("a file is passed on", "wanted" not in open(text).read())
    for name, mode, args, shown in (("mine.py", "foreign", [], 0), ("mine.py", "none", ["--no-source"], 0), ("mine.py", "all", ["--source"], 1),
                                    ("mine.pyx", "all", ["--source"], 1), ("mine.wsgi", "all", ["--source"], 0)):
        report(module(work, name)[1], "-o", page, *args)
        check("page %s of %s" % (mode, name), source_of(page).count("return wanted(1)") == shown)
    file, path = module(work, "mine.py")
    check("excluded", "exclude each other" in report(path, "--source", "--no-source")
          and "for the report" in report(path, "--source", "--json"))
    # Sets the file's mtime to 1970. The file's ctime, which can't be set, is the present time.
    os.utime(file, (1, 1))
    code = compile(open(file).read(), file, "exec")
    profile(path, file, next(c for c in codes(code) if c.co_name == "seen"), (2, 2, 11, 20),
            int((time.time() - 100) * 1e9))
    check("changed", CHANGED in report(path) and "wanted" not in report(path), report(path))
    file, path = module(work, "other.py")
    if os.geteuid() == 0:
        os.chown(file, 12345, 12345)
        text = report(path)
        check("other's", "wanted" not in text and "aren't yours: --source" in text, text)
        text = report(path, width=40)
        check("other's, narrow", "aren't yours: --source" in text and max(map(len, text.split("\n")[1:])) <= 40, text)
        text = report(path, "--source")
        check("other's asked for", "wanted" in text and "--source" not in text, text)
        report(path, "-o", page, "--source")
        check("other's page asked for", '"foreign":true' not in source_of(page) and "wanted" in source_of(page))
    else:
        print("SKIP source other's: not root")
    file, path = module(work, "moved.py")
    with open(file, "w") as f:
        f.write("import os\ndef other(): return wanted(1)\n")
    check("another function there", CHANGED in report(path) and "wanted" not in report(path))


def pages(work):
    """A page that krait makes of a profile doesn't contain the text of the reader's own files that
    the profile names, unless --source is given. If an older page already contains text, the text is
    kept."""
    file, path = module(work, "secret.py")
    one, two, part, both = (os.path.join(work, name + ".html") for name in ("one", "two", "part", "both"))

    def said(*args):
        return subprocess.run([KRAIT, *args], capture_output=True, timeout=60, check=False).stderr.decode()

    said("report", path, "-o", one)
    said("diff", path, path, "-o", both)
    for page in (one, both):
        check("foreign: nothing in " + os.path.basename(page), "wanted" not in text_of(page), text_of(page))
    words = said("report", path, "-o", one, "--source")
    check("files are named", "source text of 1 file is in %s: %s" % (one, file) in words, words)
    words = said("diff", path, path, "-o", both, "--source")
    check("files are named by diff", file in words and "wanted" in text_of(both), words)
    os.unlink(file)
    said("report", one, "-o", two)
    check("a page of a page", text_of(two) == text_of(one) != "", text_of(two))
    said("report", one, "-o", part, "--focus", "seen")
    check("a part of a page", "wanted" not in text_of(part), text_of(part))
    said("diff", one, path, "-o", both)
    check("diff with a page", "wanted" in text_of(both), text_of(both))


def own_text(work):
    """A page contains lines of source text. `krait report` of the page shows these lines, even if
    the file on disk has changed or is gone."""
    file, path = module(work, "held.py")
    page, out = os.path.join(work, "held.html"), os.path.join(work, "held.txt")
    report(path, "-o", page, "--source")
    with open(file, "w") as f:
        f.write("import os\n\ndef seen():\n    return other(2)\n")
    check("changed, without the page", CHANGED in report(path), report(path))
    for what, args in (("the file changed", ()), ("of a part", ("--focus", "seen")), ("markdown", ("--format", "md"))):
        text = report(page, *args)
        check("a page's own text, " + what, CHANGED not in text and "other" not in text and "wanted(1)" in text, text)
    report(page, "-o", out, "--format", "text")
    check("a page's own text in a file", "wanted(1)" in open(out).read())
    check("a page's own text, none", "wanted" not in report(page, "--no-source"))
    rows = report(page).split("\n")
    at = [i for i, row in enumerate(rows) if row.strip() and not row.strip(" ^")]
    check("a page's own text has carets", at and above(rows[at[0] - 1], rows[at[0]]) == "wanted(1)", str(rows))
    # The file on disk has changed, so the new page says this and has no text.
    report(path, "-o", page, "--source")
    os.unlink(file)
    check("what a page says has changed", CHANGED in report(page), report(page))


def private(work):
    """A file belongs to root, and only root may read it: if root runs `krait report`, the report
    doesn't say that the file is somebody else's."""
    if os.geteuid():
        print("SKIP source private: not root")
        return
    inner = os.path.join(work, "inner")
    os.mkdir(inner, 0o700)
    path = module(inner, "mine.py")[1]
    for width in (80, 40):
        text = report(path, width=width)
        check("root's own, %d columns" % width, "wanted" not in text and "aren't yours" not in text
              and "(files not everybody may read: --source" in text and max(map(len, text.split("\n")[1:])) <= width, text)
    check("root's own asked for", "wanted(1)" in report(path, "--source"))
    os.chown(os.path.join(inner, "mine.py"), 12345, 12345)
    check("another's where nobody else may look", "aren't yours" in report(path), report(path))


def text_of(page):
    return source_of(page) + source_of(page, "-before") + source_of(page, "-after")


def source_of(page, side=""):
    """Returns the source text that a page contains, as the page stores it."""
    import base64
    import gzip
    with open(page) as f:
        block = re.search(r'id="krait-source%s">\s*([^<]*)<' % side, f.read())
    return gzip.decompress(base64.b64decode(block.group(1))).decode() if block else ""


def main():
    if sys.version_info < (3, 11):
        print("SKIP source carets: this python3 has no co_positions()")
    with tempfile.TemporaryDirectory() as work:
        # Everybody may enter the folder and so read root's files in it: krait shows them.
        os.chmod(work, 0o755)
        if sys.version_info >= (3, 11):
            carets(work)
        rules(work)
        pages(work)
        own_text(work)
        private(work)
    sys.exit(failed)


main()
