"""Things of some forty kinds that hardly any argument may be."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import dpcore as dp

INT128 = getattr(pl, "Int128", pl.Object)  # old polars have none
HUGE = 10**5000  # longer than Python writes down


def deep():
    values = [1]
    for _ in range(100_000):
        values = [values]
    return values


def endless():
    values = []
    values.append(values)
    return values


BAD = {
    "None": None,
    "a bool": True,
    "a huge integer": HUGE,
    "a huge negative integer": -HUGE,
    "a huge fraction": Fraction(HUGE, 3),
    "a tiny fraction": Fraction(1, 10**400),
    "a decimal": Decimal(1),
    "a negative number": -1,
    "a small negative integer": np.int8(-1),
    "NaN": float("nan"),
    "infinity": float("inf"),
    "a long double": np.longdouble("1e4000"),
    "a complex number": 1j,
    "a time span": np.timedelta64(1, "ns"),
    "no date": np.datetime64("NaT"),
    "pandas' NaT": pd.NaT,
    "pandas' NA": pd.NA,
    "a masked element": np.ma.masked,
    "text": "x",
    "no text": "",
    "bytes": b"x",
    "an empty list": [],
    "a list of None": [None],
    "a list of a huge integer": [HUGE],
    "a ragged list": [[1], [2, 3]],
    "a deep list": deep(),
    "an endless list": endless(),
    "a generator": None,
    "a set": {1},
    "a dict": {},
    "an object": object(),
    "a type": int,
    "a mechanism's class": dp.mechanisms.Dyadic,
    "a mechanism": dp.mechanisms.Dyadic(1.0),
    "a guarantee": dp.Privacy(1.0),
    "a grid": dp.Grid.uniform(0, 1, 4),
    "a curve": dp.cdf([0.5], dp.Grid.uniform(0, 1, 4), dp.mechanisms.NoNoise()),
    "an array without axes": np.array(1),
    "an array of two axes": np.ones((2, 2)),
    "an empty array of two axes": np.empty((0, 3)),
    "an array of text": np.array(["a"]),
    "an array of dates": np.array(["2020"], "M8[D]"),
    "a structured array": np.zeros(2, [("a", int)]),
    "masked floats": np.ma.array([1.0, 1000.0], mask=[0, 1]),
    "masked integers": np.ma.array([1, 1000], mask=[0, 1]),
    "a data frame": pd.DataFrame({"a": [1]}),
    "a multi-index": pd.MultiIndex.from_tuples([(1, 2)]),
    "an Arrow union": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
    "polars' Int128": pl.Series([1], dtype=INT128),
}
