# SPDX-License-Identifier: BSD-2-Clause
"""Reads a day's orders, checks them, prices them and writes a report: a small data job."""
import csv
import datetime
import io
import json
import random
import re
import sqlite3
import zlib
from decimal import Decimal

SKU = re.compile(r"^(?P<group>[A-Z]{2,4})-(?P<number>\d{3,6})(-(?P<size>XS|S|M|L|XL))?$")


def make_orders(n):
    rng = random.Random(1)
    for i in range(n):
        yield json.dumps({
            "id": i,
            "at": "2026-11-%02dT%02d:%02d:00" % (rng.randint(1, 28), rng.randint(0, 23), rng.randint(0, 59)),
            "customer": "customer-%d" % rng.randint(1, 5000),
            "lines": [{"sku": "%s-%d%s" % (rng.choice(["SHOE", "CAP", "BAG"]), rng.randint(100, 99999),
                                          rng.choice(["", "-M", "-XL"])),
                       "count": rng.randint(1, 5), "price": "%d.%02d" % (rng.randint(1, 200), rng.randint(0, 99))}
                      for _ in range(rng.randint(1, 6))]})


class Catalog:
    def __init__(self):
        self.seen = {}

    def group(self, sku):
        match = SKU.match(sku)
        if not match:
            raise ValueError(sku)
        self.seen[sku] = self.seen.get(sku, 0) + 1
        return match.group("group")


class Store:
    def __init__(self):
        self.db = sqlite3.connect(":memory:")
        self.db.execute("create table lines(day text, grp text, customer text, total real)")

    def add(self, rows):
        self.db.executemany("insert into lines values (?, ?, ?, ?)", rows)

    def by_group(self):
        return self.db.execute("select day, grp, sum(total), count(distinct customer) from lines "
                               "group by day, grp order by day, grp").fetchall()


def price(line):
    total = Decimal(line["price"]) * line["count"]
    if line["count"] >= 3:
        total *= Decimal("0.95")
    return total.quantize(Decimal("0.01"))


def parse(text):
    order = json.loads(text)
    order["at"] = datetime.datetime.fromisoformat(order["at"])
    return order


def rows_of(order, catalog):
    for line in order["lines"]:
        yield order["at"].date().isoformat(), catalog.group(line["sku"]), order["customer"], float(price(line))


def report(store):
    out = io.StringIO()
    writer = csv.writer(out)
    for row in store.by_group():
        writer.writerow(row)
    return out.getvalue()


def archive(texts):
    return len(zlib.compress("\n".join(texts).encode(), 9))


def main():
    catalog, store, texts = Catalog(), Store(), []
    for text in make_orders(60000):
        texts.append(text)
        store.add(rows_of(parse(text), catalog))
    print(len(report(store)), archive(texts), len(catalog.seen))


main()
