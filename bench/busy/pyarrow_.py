# SPDX-License-Identifier: BSD-2-Clause
# packages: pyarrow
"""Uses pyarrow: tables, kernels and Parquet in C++, on its own threads, and conversion from and to
Python objects."""
import io

import pyarrow
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

import busy

N = 20000
TABLE = pyarrow.table({"a": list(range(N)), "b": [i % 97 for i in range(N)],
                       "c": ["word %d" % (i % 50) for i in range(N)]})


def round_():
    out = io.BytesIO()
    pyarrow.parquet.write_table(TABLE, out)
    pyarrow.parquet.read_table(io.BytesIO(out.getvalue()))
    TABLE.group_by("b").aggregate([("a", "sum"), ("c", "count_distinct")])
    TABLE.sort_by([("c", "ascending"), ("a", "descending")])
    text = io.BytesIO()
    pyarrow.csv.write_csv(TABLE, text)
    pyarrow.csv.read_csv(io.BytesIO(text.getvalue()))
    pyarrow.array(TABLE["c"].to_pylist()[:5000])


busy.run(round_)
