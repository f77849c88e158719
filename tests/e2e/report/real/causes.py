# SPDX-License-Identifier: BSD-2-Clause
"""Typical causes of CPU time in real programs. Each part of this file is the text of a helpers.py,
whose step() takes some 10 ms. The test draws a part and gives it to a program. The report's
first sentence must name a function that has the comment "the cause" here."""
# === quadratic
def unique(rows):  # the cause
    seen = []
    for row in rows:
        if row not in seen:
            seen.append(row)
    return seen


def step():
    return len(unique([(i * 7919) % 1201 for i in range(1200)]))


# === backtracking
import re

ADDRESS = re.compile(r"^(\w+[.-]?)+@example\.org$")


def valid(address):  # the cause
    return ADDRESS.match(address) is not None


def step():
    return [valid("somebody.who.isn%d" % i) for i in range(3)]


# === json_loop
import json

STATE = {"orders": [{"id": i, "lines": list(range(20)), "note": "n%d" % i} for i in range(60)]}


def snapshot(state):  # the cause
    return json.loads(json.dumps(state))


def step():
    return [snapshot(STATE) for _ in range(15)]


# === serializer
class Node:
    def __init__(self, depth):
        self.name, self.depth = "node", depth
        self.children = [Node(depth - 1) for _ in range(3)] if depth else []


TREE = Node(7)


def to_dict(value):  # the cause
    if isinstance(value, list):
        return [to_dict(item) for item in value]
    if hasattr(value, "__dict__"):
        return {key: to_dict(item) for key, item in vars(value).items()}
    return value


def step():
    return to_dict(TREE)


# === sort_key
import datetime

ROWS = ["2026-%02d-%02d 10:%02d:00" % (i % 12 + 1, i % 28 + 1, i % 60) for i in range(600)]


def by_date(row):  # the cause
    return datetime.datetime.strptime(row, "%Y-%m-%d %H:%M:%S")


def step():
    return sorted(ROWS, key=by_date)[0]


# === property
class Order:
    def __init__(self, lines):
        self.lines = lines

    @property
    def total(self):  # the cause
        value = 0
        for price, count in self.lines:
            value += price * count
        return value


ORDERS = [Order([(j + i, 2) for j in range(80)]) for i in range(50)]


def step():
    return max(order.total / sum(o.total for o in ORDERS[:9]) for order in ORDERS)


# === decorator
import functools
import inspect


def checked(function):
    @functools.wraps(function)
    def wrapper(*args):  # the cause
        bound = inspect.signature(function).bind(*args)
        bound.apply_defaults()
        return function(**bound.arguments)

    return wrapper


@checked
def price(net, tax=19):
    return net * (100 + tax) // 100


def step():
    return sum(price(i) for i in range(400))


# === generator
def windows(values, width):  # the cause
    for at in range(len(values) - width):
        yield sum(values[at:at + width]) / width


def step():
    return max(windows(list(range(2200)), 400))


# === dunder
class Matrix:
    def __init__(self, rows):
        self.rows = rows

    def __matmul__(self, other):  # the cause
        turned = list(zip(*other.rows))
        return Matrix([[sum(a * b for a, b in zip(row, column)) for column in turned] for row in self.rows])


M = Matrix([[i * j % 7 for i in range(44)] for j in range(44)])


def step():
    return M @ M


# === deepcopy
import copy

DEFAULTS = {"stage%d" % i: {"paths": ["a", "b", "c"], "retry": {"most": i, "wait": [1, 2, 4]}} for i in range(80)}


def settings():  # the cause
    mine = copy.deepcopy(DEFAULTS)
    mine["stage0"]["paths"].append("d")
    return mine


def step():
    return [settings() for _ in range(6)]


# === concat
def body(parts):  # the cause
    whole = b""
    for part in parts:
        whole = whole + part
    return whole


def step():
    return len(body([b"x" * 400] * 1500))


# === eager_log
import logging

log = logging.getLogger(__name__)
BASKET = [{"id": i, "price": i / 3, "tags": ["new", "sale"]} for i in range(700)]


def buy(basket):  # the cause
    log.debug("basket: " + repr(basket))
    return len(basket)


def step():
    return [buy(BASKET) for _ in range(12)]


# === pop_front
def drain(queue):  # the cause
    done = 0
    while queue:
        done += queue.pop(0)
    return done


def step():
    return drain(list(range(30000)))


# === exceptions
def number(text):  # the cause
    try:
        return int(text)
    except ValueError as error:
        return str(error)


def step():
    return [number("n/a %d" % i) for i in range(6000)]


# === dataclass_eq
import dataclasses


@dataclasses.dataclass
class Point:
    x: int
    y: int


POINTS = [Point(i, -i) for i in range(220)]


def index_of(point):  # the cause
    return POINTS.index(point)


def step():
    return sum(index_of(Point(i, -i)) for i in range(0, 220, 2))


# === password
import hashlib


def digest(word):  # the cause
    return hashlib.pbkdf2_hmac("sha256", word, b"salt", 25000)


def step():
    return digest(b"secret")


# === collects
import gc

KEPT = [[i] for i in range(60000)]


def tidy():  # the cause
    return gc.collect()


def step():
    return [tidy() for _ in range(2)]


# === nearest
SHOPS = [(i * 37 % 1000, i * 91 % 1000) for i in range(700)]


def nearest(x, y):  # the cause
    return min(SHOPS, key=lambda shop: (shop[0] - x) ** 2 + (shop[1] - y) ** 2)


def step():
    return [nearest(i, i) for i in range(50)]


# === sql_function
import math
import sqlite3
import threading


def distance(x, y):  # the cause
    steps = [math.hypot(x - i, y + i) for i in range(12)]
    return max(steps)


LOCAL = threading.local()


def database():
    if not hasattr(LOCAL, "db"):
        LOCAL.db = sqlite3.connect(":memory:")
        LOCAL.db.create_function("distance", 2, distance)
        LOCAL.db.execute("create table place (x, y)")
        LOCAL.db.executemany("insert into place values (?, ?)", [(i, i % 7) for i in range(3000)])
    return LOCAL.db


def step():
    return database().execute("select max(distance(x, y)) from place").fetchall()


# === namedtuples
import collections

Reading = collections.namedtuple("Reading", "sensor value unit at")


def in_kelvin(readings):  # the cause
    return [r._replace(value=r.value + 273.15, unit="K") for r in readings]


READINGS = [Reading(i, i / 7, "C", 1000 + i) for i in range(3000)]


def step():
    return [in_kelvin(READINGS) for _ in range(3)]


# === recursion
def edits(a, b):  # the cause
    if not a or not b:
        return len(a) + len(b)
    if a[0] == b[0]:
        return edits(a[1:], b[1:])
    return 1 + min(edits(a[1:], b), edits(a, b[1:]), edits(a[1:], b[1:]))


def step():
    return edits("kitten", "sitting")


# === optional_import
def fast_json():  # the cause
    try:
        import no_such_faster_json as found
    except ImportError:
        found = None
    return found


def step():
    return [fast_json() for _ in range(150)]


# === close_names
import difflib

NAMES = ["customer%d_%s" % (i, "abcdefgh"[i % 8:]) for i in range(120)]


def suggest(name):  # the cause
    return difflib.get_close_matches(name, NAMES)


def step():
    return [suggest("costumer%d_dfgh" % i) for i in range(3)]


# === formulas
def cell(formula, row):  # the cause
    return eval(formula, {"a": row, "b": row + 1, "c": 3})


def step():
    return sum(cell("(a * b + c) % 17 if a > b else (b - a) * c", i) for i in range(400))


# === decimals
import decimal


class Invoice:
    def __init__(self, lines):
        self.lines = lines

    def gross(self):  # the cause
        return sum((decimal.Decimal(line) * 119 / 100).quantize(decimal.Decimal("0.01")) for line in self.lines)


def step():
    return Invoice(["%d.%02d" % (i, i % 100) for i in range(9000)]).gross()
