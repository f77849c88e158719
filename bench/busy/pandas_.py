# SPDX-License-Identifier: BSD-2-Clause
# packages: pandas
"""Uses pandas: reading, grouping, joining, and Python functions that the Cython code calls."""
import io

import pandas

import busy

N = 2000
FRAME = pandas.DataFrame({"a": range(N), "b": [i % 7 for i in range(N)],
                          "c": ["word %d" % (i % 50) for i in range(N)]})
CSV = FRAME.to_csv(index=False)
OTHER = pandas.DataFrame({"b": range(7), "d": list("abcdefg")})


def spread(series):
    return series.max() - series.min()


def round_():
    pandas.read_csv(io.StringIO(CSV))
    FRAME.groupby("b")["a"].apply(spread)
    FRAME.merge(OTHER, on="b").sort_values(["d", "a"])
    FRAME["c"].map(str.upper).value_counts()
    FRAME.pivot_table(index="b", columns="c", values="a", aggfunc="sum")
    FRAME["a"].rolling(20).apply(sum, raw=True)


busy.run(round_)
