# SPDX-License-Identifier: BSD-2-Clause
"""Python frames called by C code: sort keys, reduce, re.sub, map, ctypes, json hooks, codecs."""
import ctypes
import functools
import json
import re

import rig

ITEMS = list(range(30, 0, -1))
TEXT = "a1b22c333d4444" * 3
JSON = json.dumps([{"a": [1, 2, {"b": 3}]}] * 4)


def key(x):
    return rig.spin(8) + x


def compare(a, b):
    rig.spin(4)
    return (a > b) - (a < b)


def added(a, b):
    return a + b + rig.spin(6)


def replaced(match):
    rig.spin(7)
    return match.group(0) * 2


def hook(pairs):
    return rig.spin(9)


def mapped(x):
    return key_inner(x)


def key_inner(x):
    return sorted([3, 1, 2], key=lambda y: rig.spin(5) - y)


COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
libc = ctypes.CDLL(None)
libc.qsort.restype = None


@COMPARE
def from_qsort(a, b):
    rig.spin(5)
    return (a[0] > b[0]) - (a[0] < b[0])


def by_sort():
    sorted(ITEMS, key=key)
    ITEMS[:].sort(
        key=functools.cmp_to_key(compare))
    return min(ITEMS, key=key) + max(
        ITEMS,
        key=key)


def by_reduce():
    return functools.reduce(added,
                            ITEMS)


def by_re():
    re.sub("[0-9]+", replaced, TEXT)
    return PATTERN.sub(replaced, TEXT)


PATTERN = re.compile("[a-z]")


def by_map():
    return list(map(mapped, ITEMS)) + [x for x in filter(key, ITEMS)]


def by_ctypes():
    array = (ctypes.c_int * 10)(*ITEMS[:10])
    libc.qsort(array, 10, ctypes.sizeof(ctypes.c_int), from_qsort)


def by_json():
    json.loads(JSON, object_pairs_hook=hook)


def nested(n):
    if n == 0:
        return rig.spin(100)
    return sorted([n - 1], key=nested)[0]


def round_():
    for _ in range(10):
        by_sort()
        by_reduce()
        by_re()
        by_map()
        by_ctypes()
        by_json()
        nested(30)


if __name__ == "__main__":
    rig.run(round_)
