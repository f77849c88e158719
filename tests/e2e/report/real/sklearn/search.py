# SPDX-License-Identifier: BSD-2-Clause
import numpy
import measured
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import helpers


class Scale(TransformerMixin, BaseEstimator):
    def fit(self, x, y=None):
        return self

    def transform(self, x):
        with measured.measured:
            for _ in range(8):
                helpers.step()
        return x / 3


def main():
    x = numpy.random.default_rng(1).normal(size=(400, 8))
    while not measured.is_over():
        model = make_pipeline(Scale(), LogisticRegression())
        GridSearchCV(model, {"logisticregression__C": [0.1, 1, 10]}, n_jobs=2, cv=3).fit(x, x[:, 0] > 0)


if __name__ == "__main__":
    main()
