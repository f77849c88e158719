# SPDX-License-Identifier: BSD-2-Clause
"""pprof-check.py TOOL DIRECTORY: other tools read pprof files that krait wrote.

TOOL is tests/tools/pprof, which prints what is in a file. The other tools must show the same
numbers, to the nanosecond. krait also reads files of other tools and writes them again: the copies
must have the same contents."""

import gzip
import itertools
import os
import re
import shutil
import subprocess
import sys

from truth import Results, difference

PPROF = "tests/golden/formats/pprof.sh"
ALL = ["-unit=ns", "-nodecount=100000", "-nodefraction=0", "-edgefraction=0"]
result = Results()


def pprof(*args):
    return subprocess.run([PPROF, *args], check=True, capture_output=True, text=True).stdout


def top(path, *args):
    """Returns {name: (flat, cum)} of what `pprof -top` prints; the suffix "(inline)" is left out of
    names."""
    rows = {}
    for line in pprof("-top", *ALL, *args, path).splitlines():
        m = re.match(r"\s*(\d+)(?:ns)?\s+\S+\s+\S+\s+(\d+)(?:ns)?\s+\S+\s\s(.*)$", line)
        if m:
            name = m[3].removesuffix(" (inline)").removesuffix(" (partial-inline)")
            rows[name] = (int(m[1]), int(m[2]))
    return rows


def truth(text):
    """Reads what TOOL printed. Returns ({"function": {...}, "line": {...}, "label": {...}}, the
    total)."""
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
    """Returns {"key value": sum} of what `pprof -tags` prints, without the label "time"."""
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


NATIVE = """\
0xffffffff81000010 M=2 do_syscall_64 :0 s=0()
0x3210 M=3 inner /src/x.h:20 s=0 x::outer /src/x.cc:30 s=0(_ZN1x5outerEv)
0x4567 M=4
0x4600 M=4 exported :0 s=0
0x7000 M=5 other :0 s=0()
0x7001 M=6 other :0 s=0()
0x7002 M=7 other :0 s=0()
0x0 M=8 other :0 s=0()
0x0 M=1 main /srv/app.py:3 s=0()
1: 0x0/0x0/0x0 [python 3.12] [FN][FL][LN][IN]
2: 0x0/0x0/0x0 [kernel] [FN]
3: 0x3000/0xb000/0x2000 /usr/lib/libx.so.1 0123456789abcdef [FN][FL][LN][IN]
4: 0x3000/0xb000/0x2000 /usr/lib/libstripped.so feedface
5: 0x0/0x0/0x0 [vdso] [FN]
6: 0x0/0x0/0x0 [jit] [FN]
7: 0x0/0x0/0x0 [gc] [FN]
8: 0x0/0x0/0x0 [krait] [FN]
"""


def check_native(tool, path, copy):
    """Checks a file with native code: it has one mapping, and its build id, addresses, mangled
    names, inlined calls and frames without names are right."""
    numbers(tool, "copy", path, copy)
    samples, rest = pprof("-raw", path).split("Locations\n")
    # Puts each function with its inlined calls on one line; a newer pprof writes columns too.
    lines = re.sub(r":(\d+):0 s=", r":\1 s=", re.sub(r"\n {10,}", " ", rest))
    locations, mappings = ([" ".join(x.split()) for x in part.splitlines()]
                           for part in lines.split("Mappings\n"))
    by_id = dict(x.split(": ", 1) for x in locations)
    got = [by_id[i] for i in re.search(r"1001001: ([\d ]+)", samples)[1].split()] + mappings
    result("pprof-native", [f"want {w!r}, got {g!r}" for w, g in
                            itertools.zip_longest(NATIVE.splitlines(), got) if w != g])
    with open(path, "rb") as a, open(copy, "rb") as b:
        result("pprof-native-copy", [] if a.read() == b.read() else ["the bytes"])


def check_named_later(tool, directory):
    """If krait has no name for an address, pprof finds the name later in a file with the same build
    id."""
    library, path = f"{directory}/libnamed.so", f"{directory}/unnamed.pb.gz"
    source = "int first(int x) { return x * 3; }\nint second(int x) { return x * 5; }\n"
    linkers = [n for n in ("bfd", "lld") if shutil.which(f"ld.{n}")]
    wrong = []
    for linker in linkers:
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-xc", "-", f"-fuse-ld={linker}",
                        "-Wl,--build-id", "-o", library], input=source, check=True, text=True)
        elf = subprocess.run(["readelf", "-lnWs", library], check=True, capture_output=True,
                             text=True).stdout
        code = re.search(r"LOAD +(\S+) (\S+) \S+ \S+ (\S+) R E", elf)
        offset, start, size = (int(n, 16) for n in code.groups())
        build_id = re.search(r"Build ID: (\w+)", elf)[1]
        address = int(re.search(r"(\w+) +\d+ FUNC .* second$", elf, re.M)[1], 16) + 1
        low = start & ~0xfff
        subprocess.run([tool, "unnamed", path, library, build_id, hex(low), hex(start + size),
                        hex(offset & ~0xfff), hex(address)], check=True)
        if "second" not in top(path):
            wrong.append(f"{linker}: {top(path)}")
    result(f"pprof-named-later ({', '.join(linkers)})", wrong)


def check_protoc(name, path):
    """Checks a file with protoc: every field is one of profile.proto, and ids are 1, 2, 3..."""
    with gzip.open(path) as f:
        text = subprocess.run(["protoc", "--decode_raw"], input=f.read(), check=True,
                              capture_output=True).stdout.decode()
    wrong = [n for n in re.findall(r"^(\d+)", text, re.M) if not 1 <= int(n) <= 14]
    for field in (3, 4, 5):
        ids = re.findall(rf"^{field} {{\n  1: (\d+)$", text, re.M)
        if not ids or ids != [str(i + 1) for i in range(len(ids))]:
            wrong.append(f"ids of field {field}: {ids[:5]}...")
    result(name, wrong)


def numbers(*command):
    """Runs a command that prints "NAME NUMBER" lines. Returns {NAME: NUMBER}."""
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {name: float(n) for name, n in (line.split() for line in out.splitlines())}


def check_copy(tool, name, path, copy):
    """pprof shows the same for a file as for the copy that krait made by reading the file and
    writing it again."""
    numbers(tool, "copy", path, copy)
    wrong = []
    for args in (["-functions"], ["-lines"]):
        wrong += difference(top(path, *args), top(copy, *args))
    wrong += difference(labels(path), labels(copy))
    result(name, wrong)


def check_bulk(tool, made, again):
    """A recording of many samples: krait's memory doesn't grow with them, and the file stays small.
    """
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
    # krait maps the file while it reads it, so the file's size counts in its memory.
    wrong += [said] if second["memory"] > 32 * 1024 + os.path.getsize(made) / 1024 else []
    result(f"pprof-bulk ({said})", wrong)


def main():
    tool, directory = sys.argv[1:]
    made, again = f"{directory}/made.pb.gz", f"{directory}/again.pb.gz"
    native = f"{directory}/native.pb.gz"
    known, total = truth(subprocess.run([tool, "make", made], check=True, capture_output=True,
                                        text=True).stdout)
    subprocess.run([tool, "native", native], check=True)
    if subprocess.run([PPROF, "-help"], capture_output=True).returncode == 77:
        print("SKIP pprof: no pprof (golang-1.19-go or newer)")
    else:
        check_go(made, known, total)
        check_copy(tool, "pprof-copy", made, again)
        check_copy(tool, "pprof-copy-of-go", "tests/golden/go-cpu.pb.gz", again)
        check_native(tool, native, again)
        if os.environ.get("PPROF"):
            check_named_later(tool, directory)
        else:
            print("SKIP pprof-named-later: Go's own pprof only knows Go's files; PPROF names "
                  "google/pprof")
    check_bulk(tool, made + ".bulk", again)
    if shutil.which("protoc"):
        check_protoc("pprof-protoc", made)
        check_protoc("pprof-protoc-native", native)
    else:
        print("SKIP pprof-protoc: no protoc (protobuf-compiler)")
    result.exit()


main()
