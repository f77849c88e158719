# SPDX-License-Identifier: BSD-2-Clause
# packages: numpy
"""Uses numpy: arithmetic, linear algebra (in OpenBLAS's own threads), sorting, a Python function
for each row."""
import numpy

import busy

RANDOM = numpy.random.default_rng(1)
BIG = RANDOM.random((400, 400))
SMALL = RANDOM.random((60, 60))
ROWS = RANDOM.random((200, 8))


def row(values):
    return float(values[0]) + float(values.sum())


def round_():
    BIG @ BIG
    numpy.linalg.svd(SMALL)
    numpy.sort(BIG, axis=0)
    numpy.fft.fft2(SMALL)
    numpy.apply_along_axis(row, 1, ROWS)
    numpy.exp(BIG).sum() + numpy.where(BIG > 0.5, BIG, -BIG).mean()
    numpy.einsum("ij,jk,kl->il", SMALL, SMALL, SMALL)


busy.run(round_)
