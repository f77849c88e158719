# SPDX-License-Identifier: BSD-2-Clause
"""Makes valid and invalid frames of the agent's store (src/store/columns.h) from lists of rows. A
frame holds a second of samples."""
import struct

MEMBERS = {  # number of columns of each table's rows
    "mappings": 5, "functions": 5, "locations": 8, "nodes": 2}
COLUMNS = 33 + 16


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def signed(n):
    return varint(n << 1 if n >= 0 else (-n << 1) - 1)


def differences(numbers):
    before, out = 0, []
    for number in numbers:
        out.append(signed(number - before))
        before = number
    return b"".join(out)


def frame(strings=(), mappings=(), functions=(), locations=(), sets=(), nodes=(), runs=(), samples=(), base=(0,) * 6, values=2,
          meta=True):
    """Returns the encoded columns of a frame. @sets: (number, [(key, value)]); @runs: (labels,
    size); @samples: (ms, node, {value: number})."""
    columns = [b""] * COLUMNS
    columns[2] = b"".join(strings)
    columns[3] = b"".join(varint(len(s)) for s in strings)
    at = 4
    for rows, table in ((mappings, "mappings"), (functions, "functions"), (locations, "locations")):
        for member in range(MEMBERS[table]):
            columns[at] = differences([row[member] for row in rows])
            at += 1
    columns[22] = differences([number for number, _ in sets])
    columns[23] = b"".join(varint(len(labels)) for _, labels in sets)
    columns[24] = b"".join(differences([key for key, _ in labels]) for _, labels in sets)
    columns[25] = b"".join(differences([value for _, value in labels]) for _, labels in sets)
    columns[26] = differences([parent for parent, _ in nodes])
    columns[27] = differences([location for _, location in nodes])
    columns[28] = b"".join(varint(labels) for labels, _ in runs)
    columns[29] = b"".join(varint(size) for _, size in runs)
    columns[30] = differences([ms for ms, _, _ in samples])
    columns[31] = differences([node for _, node, _ in samples])
    columns[32] = b"".join(varint(sum(1 << i for i in numbers)) for _, _, numbers in samples)
    for i in range(values):
        columns[33 + i] = b"".join(signed(numbers[i]) for _, _, numbers in samples if i in numbers)
    counts = [values, len(strings), len(mappings), len(functions), len(locations), len(sets), len(nodes), len(runs), len(samples)]
    columns[0] = b"".join(varint(n) for n in counts + list(base) + [0])
    if meta:
        columns[1] = b"".join(varint(n) for n in [1, 2] * values + [0, 1, 2, 20, 0])
    return varint(COLUMNS) + b"".join(varint(len(c)) for c in columns) + b"".join(columns)


def frames(*several):
    """Returns an input for fuzz_store: each frame, preceded by its length."""
    return b"".join(struct.pack("<I", len(f)) + f for f in several)


TEXTS = (b"cpu", b"nanoseconds", b"[python 3.12]", b"f", b"f.py", b"pid", b"7", b"/lib/x.so")
PLACES = {"mappings": [(3, 0, 0, 0, 0), (8, 1, 4096, 8192, 0)], "functions": [(4, 5, 0, 0, 1), (4, 0, 4, 0, 0)],
          "locations": [(1, 1, 0, 2, 1, 2, 5, 0), (2, 2, 0, 0, 0, 0, 0, 77), (2, 2, 2, 0, 0, 0, 0, 77)]}


def seeds():
    first = frame(TEXTS, **PLACES, sets=[(1, [(6, 7)])], nodes=[(0, 1), (1, 2), (2, 3)], runs=[(0, 1), (1, 2)],
                  samples=[(1000, 3, {0: 1, 1: 9}), (1001, 0, {}), (999, 1, {0: 1})])
    second = frame([b"worker"], sets=[(1, [(6, 9)]), (2, [(6, 7), (7, 8)])], nodes=[(3, 1)], runs=[(2, 1)], samples=[(2000, 4, {1: -5})],
                   base=(8, 2, 2, 3, 1, 3), meta=False)
    return {"first": frames(first), "two": frames(first, second), "second-alone": frames(second), "cut": frames(first)[:-9]}


def worst(size):
    """Returns those frames of @size bytes that cost most to read."""
    n = size // 3
    deep = 65000
    yield "samples", frames(frame(TEXTS, **PLACES, nodes=[(0, 1)], runs=[(0, n)], samples=[(0, 0, {})] * n))
    yield "deep", frames(frame(TEXTS, **PLACES, nodes=[(i, 1) for i in range(deep)], runs=[(0, deep)],
                               samples=[(0, i + 1, {}) for i in range(deep)]))
    yield "strings", frames(frame(TEXTS + (b"s",) * (size // 2 - 100)))
    yield "equal-places", frames(frame(TEXTS, mappings=[(3, 0, 0, 0, 0)] * (size // 20), functions=[(4, 0, 0, 0, 0)] * (size // 20)))
    yield "labels", frames(frame(TEXTS + tuple(b"%d" % i for i in range(300)), runs=[(i + 1, 1) for i in range(1500)],
                                 sets=[(i + 1, [(256 - k, i % 200 + 1) for k in range(256)]) for i in range(1500)],
                                 samples=[(0, 0, {})] * 1500))
    yield "set-again", frames(frame(TEXTS, sets=[(1, [(6, 7)])] * (size // 5)))
    yield "inlined", frames(frame(TEXTS, mappings=PLACES["mappings"], functions=PLACES["functions"],
                                  locations=[(2, 2, i if i % 250 else 0, 0, 0, 0, 0, 77) for i in range(size // 10)]))
    yield "frames", frames(frame(TEXTS), *[frame(base=(8, 0, 0, 0, 0, 0), meta=False)] * (size // 90))
