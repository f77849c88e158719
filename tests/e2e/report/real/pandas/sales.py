# SPDX-License-Identifier: BSD-2-Clause
import pandas
from measured import is_over, measured

import helpers


def summary(group):
    with measured:
        helpers.step()
    return group["price"].sum()


def main():
    frame = pandas.DataFrame({"shop": [i % 9 for i in range(30000)], "price": [i / 7 for i in range(30000)]})
    while not is_over():
        frame.groupby("shop")[["price"]].apply(summary)
        frame.sort_values("price", ascending=False).describe()


main()
