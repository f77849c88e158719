#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""platforms.py [--write] [FOLDER...]: what tests have shown of krait on each interpreter. With
--write, makes docs/platforms.md from the logs of tests/run in the folders (by default
build/test-logs). Without it, checks that no log contradicts that table: an interpreter with "0
wrong" in the table has no wrong sample in the logs."""
import glob
import os
import re
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLE = os.path.join(ROOT, "docs", "platforms.md")

# By column of the table: what is counted, the entries of tests/list whose logs say it, and a
# pattern for their lines, with the interpreter's name, the number compared, and the number wrong.
COLUMNS = {
    "names and lines": ("samples", r"oracle(-full|-arm64)?", r"oracle (\S+) total: (\d+) samples .*?, (\d+) wrong"),
    "native order": ("samples", r"native-order(-full)?", r"oracle (\S+) \S+: (\d+) samples, (\d+) in a wrong order"),
    "the GIL": ("samples", r"gil(-full)?", r"gil (\S+): (\d+) samples, (\d+) wrong"),
    "waits": ("captures", r"oracle-waits(-full)?", r"waits (\S+) \S+: (\d+) captures, .* (\d+) impossible stacks"),
    "names of threads": ("names", r"thread-names", r"threads (\S+): (\d+) names and tids()"),
}

HEAD = """# What works on which interpreter

Made by `tests/tools/platforms.py --write` from the logs of `tests/run`: how much was compared with the truth, and
how much of it was wrong. An empty cell isn't in those logs, so it says nothing. The logs are of %s.

"""


def row_of(name, log):
    """Returns the table row of an interpreter: (interpreter, architecture, C library)."""
    return (name, "arm64" if "arm64" in log else "x86-64", "musl" if "musl" in name else "glibc")


def logs_of(folder):
    return sorted(glob.glob(os.path.join(folder, "*.log")))


def read_folder(folder):
    """Reads the logs in a folder. Returns {row: {column: (number compared, number wrong)}}."""
    found = {}
    for path in logs_of(folder):
        log = os.path.basename(path)[:-len(".log")]
        for column, (_, logs, line) in COLUMNS.items():
            if not re.fullmatch(logs, log):
                continue
            with open(path, errors="replace") as f:
                for name, n, wrong in re.findall(r"^(?:PASS|FAIL) " + line, f.read(), re.M):
                    cells = found.setdefault(row_of(name, log), {})
                    before = cells.get(column, (0, 0))
                    cells[column] = (before[0] + int(n), before[1] + int(wrong or 0))
    return found


def read(folders):
    """Reads the logs in several folders, like read_folder(). A later folder replaces what an
    earlier one says."""
    found = {}
    for folder in folders:
        for row, cells in read_folder(folder).items():
            found.setdefault(row, {}).update(cells)
    return found


def days(folders):
    return sorted({time.strftime("%Y-%m-%d", time.gmtime(os.path.getmtime(p))) for f in folders for p in logs_of(f)})


def key_of(row):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", row[0])], row[1:]


def cell(column, counts):
    return "{:,} {}, {:,} wrong".format(counts[0], COLUMNS[column][0], counts[1]) if counts else ""


def write(found, when):
    head = ["interpreter", "machine", "C library", *COLUMNS]
    lines = ["| %s |" % " | ".join(head), "|---" * len(head) + "|"]
    for row in sorted(found, key=key_of):
        cells = [*row, *(cell(column, found[row].get(column)) for column in COLUMNS)]
        lines.append("| %s |" % " | ".join(cells))
    with open(TABLE, "w") as f:
        f.write(HEAD % ", ".join(when) + "\n".join(lines) + "\n")


def table():
    """Reads docs/platforms.md. Returns {row: {column: text}}."""
    with open(TABLE) as f:
        rows = [[c.strip() for c in line.strip("|\n").split("|")] for line in f if line.startswith("| ")]
    return {tuple(row[:3]): dict(zip(COLUMNS, row[3:])) for row in rows[1:]}


def main():
    folders = [a for a in sys.argv[1:] if a != "--write"] or [os.path.join(ROOT, "build", "test-logs")]
    found, bad, compared = read(folders), [], 0
    if "--write" in sys.argv:
        return write(found, days(folders))
    said = table()
    for row, cells in found.items():
        for column, (_, wrong) in cells.items():
            compared += 1
            if wrong and said.get(row, {}).get(column, "").endswith(" 0 wrong"):
                bad.append("%s, %s: %d wrong" % (row[0], column, wrong))
    if not compared:
        print("SKIP platforms: no logs to compare with")
    else:
        print("FAIL platforms: " + "; ".join(bad) if bad else "PASS platforms: %d results" % compared)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
