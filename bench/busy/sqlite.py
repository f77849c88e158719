# SPDX-License-Identifier: BSD-2-Clause
"""Runs queries of SQLite, which calls functions, aggregates and a collation in Python."""
import sqlite3

import busy

DATABASE = sqlite3.connect(":memory:")


class Product:
    def __init__(self):
        self.value = 1

    def step(self, x):
        self.value = self.value * (x or 1) % 65521

    def finalize(self):
        return self.value


def squared(x):
    return sum([x] * 3) * x


def compare(a, b):
    return (a > b) - (a < b)


DATABASE.create_function("squared", 1, squared)
DATABASE.create_aggregate("product", 1, Product)
DATABASE.create_collation("own", compare)
DATABASE.execute("create table t (a integer, b text)")


def round_():
    DATABASE.executemany("insert into t values (?, ?)", ((i, "row %d" % i) for i in range(300)))
    DATABASE.execute("select sum(squared(a)), product(a) from t group by a % 7").fetchall()
    DATABASE.execute("select a from t order by b collate own").fetchall()
    DATABASE.execute("select count(*) from t x join t y on x.a = y.a + 1").fetchall()
    DATABASE.execute("delete from t")


busy.run(round_)
