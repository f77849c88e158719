# SPDX-License-Identifier: BSD-2-Clause
"""pprof-check.py TOOL DIRECTORY: what other tools read in a pprof file that krait wrote.

TOOL is tests/tools/pprof, which says what is in the file; numbers must be equal to the
nanosecond. Files of other tools are read and written by krait and must say the same after it.
"""

import gzip
import os
import re
import shutil
import subprocess
import sys

PPROF = "tests/golden/pprof.sh"
ALL = ["-unit=ns", "-nodecount=100000", "-nodefraction=0", "-edgefraction=0"]
failed = False


def result(name, wrong):
    """Prints one line; @wrong is the list of what differed."""
    global failed
    if wrong:
        failed = True
        print(f"FAIL {name}: {len(wrong)} differ, first: {wrong[0]}")
    else:
        print(f"PASS {name}")


def pprof(*args):
    return subprocess.run([PPROF, *args], check=True, capture_output=True, text=True).stdout


def top(path, *args):
    """{name: (flat, cum)} as `pprof -top` prints it; "(inline)" isn't part of a name."""
    rows = {}
    for line in pprof("-top", *ALL, *args, path).splitlines():
        m = re.match(r"\s*(\d+)(?:ns)?\s+\S+\s+\S+\s+(\d+)(?:ns)?\s+\S+\s\s(.*)$", line)
        if m:
            name = m[3].removesuffix(" (inline)").removesuffix(" (partial-inline)")
            rows[name] = (int(m[1]), int(m[2]))
    return rows


def difference(want, got):
    keys = sorted(want.keys() | got.keys())
    return [f"{k}: want {want.get(k)}, got {got.get(k)}" for k in keys if want.get(k) != got.get(k)]


def truth(text):
    """What TOOL printed: {"function": {...}, "line": {...}, "label": {...}}, total."""
    known, total = {"function": {}, "line": {}, "label": {}}, 0
    for line in text.splitlines():
        what, rest = line.split(" ", 1)
        if what == "total":
            total = int(rest)
        elif what == "label":
            value, key = rest.split(" ", 1)
            known[what][key] = int(value)
        else:
            flat, cum, name = rest.split(" ", 2)
            known[what][name] = (int(flat), int(cum))
    return known, total


def labels(path):
    """{"key value": sum} as `pprof -tags` prints it, without the time."""
    sums, key = {}, None
    for line in pprof("-tags", "-unit=ns", path).splitlines():
        if m := re.match(r" (\S+): Total", line):
            key = m[1]
        elif key != "time" and (m := re.match(r"\s+([\d.]+)ns \(.*?\): (.*)$", line)):
            sums[f"{key} {m[2]}"] = int(float(m[1]))
    return sums


def check_go(path, known, total):
    result("pprof-top", difference(known["function"], top(path, "-functions")))
    lines = {k: v for k, v in top(path, "-lines").items() if re.search(r":\d+$", k)
             and not k.endswith("&&)")}
    result("pprof-lines", difference(known["line"], lines))
    result("pprof-tags", difference(known["label"], labels(path)))
    raw = pprof("-raw", path)
    head = raw.split("Samples:\n")[1].splitlines()[0]
    wrong = [] if head == "samples/count cpu/nanoseconds[dflt]" else [head]
    if sum(int(n) for n in re.findall(r"^\s+\d+\s+(\d+): ", raw, re.M)) != total:
        wrong.append("the sum of all samples")
    wrong += [] if "1: 0x0/0x0/0x0 [python 3.12]  [FN][FL][LN][IN]" in raw else ["first mapping"]
    result("pprof-raw", wrong)


def check_protoc(path):
    """Every field is one of profile.proto, and ids are 1, 2, 3..."""
    with gzip.open(path) as f:
        text = subprocess.run(["protoc", "--decode_raw"], input=f.read(), check=True,
                              capture_output=True).stdout.decode()
    wrong = [n for n in re.findall(r"^(\d+)", text, re.M) if not 1 <= int(n) <= 14]
    for field in (3, 4, 5):
        ids = re.findall(rf"^{field} {{\n  1: (\d+)$", text, re.M)
        if not ids or ids != [str(i + 1) for i in range(len(ids))]:
            wrong.append(f"ids of field {field}: {ids[:5]}...")
    result("pprof-protoc", wrong)


def numbers(*command):
    """What TOOL printed as "NAME NUMBER" lines."""
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {name: float(n) for name, n in (line.split() for line in out.splitlines())}


def check_copy(tool, name, path, copy):
    """krait in the middle changes nothing that pprof shows."""
    numbers(tool, "copy", path, copy)
    wrong = []
    for args in (["-functions"], ["-lines"]):
        wrong += difference(top(path, *args), top(copy, *args))
    wrong += difference(labels(path), labels(copy))
    result(name, wrong)


def check_bulk(tool, made, again):
    """Many samples: memory doesn't grow with them, and the file stays small."""
    n = 10_000_000 if os.environ.get("KRAIT_TEST_FULL") else 300_000
    first = numbers(tool, "bulk", made, str(n))
    size = os.path.getsize(made) / n
    second = numbers(tool, "copy", made, again)
    with open(made, "rb") as a, open(again, "rb") as b:
        same = a.read() == b.read()
    said = (f"{n} samples: {first['add']:.0f} ns to add one, {size:.1f} bytes each, writing "
            f"{first['memory'] / 1024:.0f} MiB, reading and writing {second['memory'] / 1024:.0f} MiB")
    wrong = [said] if first["samples"] != n or size > 9 or not same else []
    wrong += [said] if first["memory"] > 32 * 1024 else []
    # The file itself is mapped while it is read.
    wrong += [said] if second["memory"] > 32 * 1024 + os.path.getsize(made) / 1024 else []
    result(f"pprof-bulk ({said})", wrong)


def main():
    tool, directory = sys.argv[1:]
    made, again = f"{directory}/made.pb.gz", f"{directory}/again.pb.gz"
    known, total = truth(subprocess.run([tool, "make", made], check=True, capture_output=True,
                                        text=True).stdout)
    if subprocess.run([PPROF, "-help"], capture_output=True).returncode == 77:
        print("SKIP pprof: no pprof (golang-1.19-go or newer)")
    else:
        check_go(made, known, total)
        check_copy(tool, "pprof-copy", made, again)
        check_copy(tool, "pprof-copy-of-go", "tests/golden/go-cpu.pb.gz", again)
    check_bulk(tool, made + ".bulk", again)
    if shutil.which("protoc"):
        check_protoc(made)
    else:
        print("SKIP pprof-protoc: no protoc (protobuf-compiler)")
    sys.exit(failed)


main()
