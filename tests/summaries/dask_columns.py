"""Columns in partitions, and what is counted of them in memory."""

from __future__ import annotations

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd

import dpcore as dp

GRID = dp.Grid.uniform(-2, 2, 64)
_rng = np.random.default_rng(1)
X = _rng.normal(size=5_003)
Y = _rng.random(X.size) < 0.3


def array(values, chunks=997):
    return da.from_array(values, chunks=chunks)


def frame(*, divisions=True, **columns):
    made = dd.from_pandas(pd.DataFrame(columns), npartitions=7)
    return made if divisions else made.clear_divisions()
