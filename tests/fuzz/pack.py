#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Handles the seeds with which fuzzers begin. They are in one text file for each fuzzer,
tests/fuzz/corpus/FUZZER.seeds.

pack.py list [FUZZER...]    prints how many seeds and bytes each fuzzer has, and the seeds' names
pack.py unpack [FUZZER...]  writes each seed to a file of its own, in build/fuzz/seeds/FUZZER
pack.py add FUZZER FILE...  adds these files as seeds, each under its own name
pack.py merge [FUZZER...]   adds what fuzzing found (build/fuzz/corpus/FUZZER), as far as it reaches
                            code that the seeds don't reach; drops seeds without a name that reach
                            nothing more than the others do

A file has for each seed a line `seed NAME`, or `seed` alone for what a fuzzer found, then the
seed's bytes, with a space before each line. Printable ASCII stands for itself; other bytes and the
backslash are escaped as in C and Python (\\n, \\0, \\xff). Ends of lines in the file aren't bytes
of the seed: a line feed of the seed is \\n. Lines that begin with a number sign are comments. Named
seeds come first, by name; the others by length. So the same seeds give the same file, and a diff
shows what changed."""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join(ROOT, "tests", "fuzz", "corpus")
BUILD = os.path.join(ROOT, "build", "fuzz")
HEAD = "# Seeds of %s: tests/fuzz/pack.py says how they are written, and writes them.\n"
WIDTH = 96


def all_fuzzers():
    return sorted(
        name[:-2]
        for name in os.listdir(os.path.dirname(CORPUS))
        if re.fullmatch(r"fuzz_\w+\.c", name)
    )


def path_of(fuzzer):
    return os.path.join(CORPUS, fuzzer + ".seeds")


def escaped(byte):
    return {0: r"\0", 9: r"\t", 10: r"\n", 92: r"\\"}.get(byte) or (
        chr(byte) if 32 <= byte < 127 else r"\x%02x" % byte
    )


def lines_of(data):
    """Returns the bytes as lines of text. A line ends after a line feed of the seed, or when it is
    full."""
    line = ""
    for i, byte in enumerate(data):
        piece = escaped(byte)
        if piece == r"\0" and data[i + 1 : i + 2].isdigit():
            piece = r"\x00"  # \0 and a digit after it would be read as one number
        line += piece
        if byte == 10 or len(line) >= WIDTH:
            yield line
            line = ""
    if line:
        yield line


def kept(line):
    """Returns the line as it is written to the file. A space at its end is escaped, because an
    editor might remove it."""
    return line[:-1] + r"\x20" if line.endswith(" ") else line


def name_of(data):
    """Returns the name that libFuzzer gives to an input that it has found."""
    return hashlib.sha1(data).hexdigest()


def is_name(name):
    return not re.fullmatch("[0-9a-f]{40}", name)


def load(fuzzer):
    """Reads the fuzzer's file of seeds. Returns {name: bytes}."""
    seeds, name, text = {}, None, []

    def end():
        if name is not None:
            data = "".join(text).encode("ascii").decode("unicode_escape").encode("latin-1")
            seeds[name or name_of(data)] = data

    if not os.path.exists(path_of(fuzzer)):
        return {}
    with open(path_of(fuzzer), encoding="ascii") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if line == "seed" or line.startswith("seed "):
                end()
                name, text = line[5:], []
            elif line.startswith(" ") and name is not None:
                text.append(line[1:])
            elif line and not line.startswith("#"):
                sys.exit("%s:%d: neither a seed nor a part of one" % (path_of(fuzzer), number))
    end()
    return seeds


def save(fuzzer, seeds):
    """Writes the fuzzer's file of seeds. Leaves out a seed without a name if a named one has the
    same bytes."""
    named = {data for name, data in seeds.items() if is_name(name)}
    order = sorted(
        (not is_name(name), 0 if is_name(name) else len(data), name, data)
        for name, data in seeds.items()
        if is_name(name) or data not in named
    )
    with open(path_of(fuzzer), "w", encoding="ascii") as f:
        f.write(HEAD % fuzzer)
        for unnamed, _, name, data in order:
            f.write("\nseed\n" if unnamed else "\nseed %s\n" % name)
            f.writelines(" %s\n" % kept(line) for line in lines_of(data))
    if load(fuzzer) != {name: data for *_, name, data in order}:
        sys.exit("%s: isn't what was to be written" % path_of(fuzzer))


def add(fuzzer, seeds):
    """Adds seeds to the fuzzer's file. A new seed replaces one with the same name."""
    save(fuzzer, dict(load(fuzzer), **seeds))


def from_files(paths):
    seeds = {}
    for path in paths:
        with open(path, "rb") as f:
            seeds[os.path.basename(path)] = f.read()
    return seeds


def files_in(directory):
    return (
        [os.path.join(directory, name) for name in sorted(os.listdir(directory))]
        if os.path.isdir(directory)
        else []
    )


def unpack(fuzzer):
    """Writes each seed of the fuzzer to a file of its own. Returns the directory of these files."""
    folder = os.path.join(BUILD, "seeds", fuzzer)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name, data in load(fuzzer).items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
    return folder


def merge(fuzzer):
    named = {name: data for name, data in load(fuzzer).items() if is_name(name)}
    with tempfile.TemporaryDirectory() as out:
        for name, data in named.items():
            with open(os.path.join(out, name), "wb") as f:
                f.write(data)
        found = os.path.join(BUILD, "corpus", fuzzer)
        subprocess.run(
            [
                os.path.join(ROOT, "build/asan/tests/fuzz", fuzzer),
                "-merge=1",
                "-timeout=10",
                "-rss_limit_mb=1024",
                out,
                unpack(fuzzer),
            ]
            + ([found] if os.path.isdir(found) else []),
            check=True,
            stderr=subprocess.DEVNULL,
        )
        save(fuzzer, from_files(files_in(out)))


def show(fuzzer):
    seeds = load(fuzzer)
    print(
        "%-18s %4d seeds %7d bytes  %s"
        % (fuzzer, len(seeds), sum(map(len, seeds.values())), " ".join(filter(is_name, seeds)))
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("list", "unpack", "add", "merge"))
    parser.add_argument("names", nargs="*", metavar="FUZZER")
    args = parser.parse_args()
    if args.command == "add":
        add(args.names[0], from_files(args.names[1:]))
        args.names = args.names[:1]
    for fuzzer in args.names or all_fuzzers():
        {"list": show, "unpack": unpack, "add": show, "merge": merge}[args.command](fuzzer)


if __name__ == "__main__":
    main()
