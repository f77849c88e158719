# SPDX-License-Identifier: BSD-2-Clause
"""varied.py [WORKERS [SPINNING]]: a program with thousands of different stacks: it parses,
compiles, prints and compresses the standard library, for ever. WORKERS: forked children, of which
SPINNING (default: all) work; the others sleep."""

import ast
import io
import json
import os
import pprint
import random
import re
import sys
import time
import tokenize
import zlib


def files():
    directory = os.path.dirname(os.__file__)
    paths = [os.path.join(directory, f) for f in sorted(os.listdir(directory)) if f.endswith(".py")]
    return [p for p in paths if os.path.isfile(p)]


def read(path):
    with io.open(path, encoding="utf-8", errors="replace") as f:
        return f.read()[:20000]


def count_nodes(tree):
    return sum(1 + count_nodes(child) for child in ast.iter_child_nodes(tree))


def work(path):
    text = read(path)
    try:
        count_nodes(ast.parse(text))
        list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (SyntaxError, tokenize.TokenError):
        pass
    words = re.sub(r"\W+", lambda m: " ", text).split()
    json.loads(json.dumps({w: [len(w)] for w in words}, indent=1))
    pprint.pformat(sorted(set(words))[:200])
    zlib.compress(text.encode("utf-8"), 9)


def spin(seed):
    paths = files()
    random.Random(seed).shuffle(paths)
    while True:
        for path in paths:
            work(path)


def main():
    workers = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    spinning = int(sys.argv[2]) if len(sys.argv) > 2 else workers
    for i in range(workers):
        if not os.fork():
            while i >= spinning:
                time.sleep(3600)
            spin(i)
    while workers:
        time.sleep(3600)
    spin(0)


if __name__ == "__main__":
    main()
