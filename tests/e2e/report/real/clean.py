# SPDX-License-Identifier: BSD-2-Clause
"""Code without a planted cause of CPU time or waiting: each part is the text of a helpers.py."""
# === nothing
def step():
    return None


# === evenly
def names(n):
    return ["name%d" % i for i in range(n)]


def squares(n):
    return [i * i for i in range(n)]


def words(n):
    return " ".join(str(i) for i in range(n)).split()


def table(n):
    return {i: i + 1 for i in range(n)}


def evens(n):
    return [i for i in range(n) if i % 2 == 0]


def pairs(n):
    return list(zip(range(n), range(n)))


def digits(n):
    return sum(int(c) for c in str(10 ** n))


def codes(n):
    return [chr(97 + i % 26) for i in range(n)]


PARTS = [names, squares, words, table, evens, pairs, digits, codes]


def step():
    for part in PARTS:
        part(150)
