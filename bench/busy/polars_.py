# SPDX-License-Identifier: BSD-2-Clause
# packages: polars
"""Uses polars: queries in Rust, on polars's own threads, and Python functions that polars calls."""
import polars

import busy

N = 20000
FRAME = polars.DataFrame({"a": range(N), "b": [i % 97 for i in range(N)],
                          "c": ["word %d" % (i % 50) for i in range(N)]})


def mapped(value):
    return len(str(value))


def round_():
    FRAME.lazy().group_by("b").agg(polars.col("a").sum(), polars.col("c").n_unique()).collect()
    FRAME.sort(["c", "a"]).join(FRAME.head(500), on="b", how="left")
    FRAME.head(500).with_columns(polars.col("a").map_elements(mapped, return_dtype=polars.Int64))
    FRAME.select(polars.col("c").str.to_uppercase().str.contains("9"))


busy.run(round_)
