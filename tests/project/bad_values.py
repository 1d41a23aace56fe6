"""Things of some eighty kinds that hardly any argument may be."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

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


def spent(iterator):
    list(iterator)
    return iterator


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
    "a tiny long double": np.longdouble("1e-4900"),
    "a long double near 1": np.nextafter(np.longdouble(1), np.longdouble(2)),
    "half a precision": np.float16(0.1),
    "a decimal that is not a number": Decimal("NaN"),
    "a huge decimal": Decimal("1e5000"),
    "2^53": 2**53,
    "2^63": 2**63,
    "a large float": 1e300,
    "the largest float": np.finfo(float).max,
    "a large negative float": -1e308,
    "the smallest float": 5e-324,
    "minus nothing": -0.0,
    "a complex number": 1j,
    "a time span": np.timedelta64(1, "ns"),
    "no date": np.datetime64("NaT"),
    "pandas' NaT": pd.NaT,
    "pandas' NA": pd.NA,
    "a masked element": np.ma.masked,
    "text": "x",
    "no text": "",
    "bytes": b"x",
    "a null character": "a\0",
    "a surrogate": "\ud800",
    "a long text": "x" * 5000,
    "long bytes": b"\xff" * 500,
    "NumPy's text": np.str_("x"),
    "NumPy's bytes": np.bytes_(b"x"),
    "NumPy's void": np.void(b"x"),
    "a date": date(2020, 1, 2),
    "a time of day": datetime(2020, 1, 2, 3),
    "a path": Path("x"),
    "a slice": slice(3),
    "an ellipsis": ...,
    "a function": len,
    "a list of a float": [0.5],
    "a list of a list": [[0.5]],
    "a list of extremes": [-1e308, 1e308],
    "a list of a large float": [1e300],
    "a list of the smallest float": [5e-324],
    "a list of 2^53": [2**53],
    "a list of text": ["a\0", "\ud800"],
    "a list of dicts": [{}],
    "an empty tuple": (),
    "a spent iterator": iter(()),
    "a spent nditer": spent(np.nditer(np.arange(3.0))),
    "a memory view": memoryview(b"abc"),
    "a range": range(3),
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
    "the class of arrays": np.ndarray,
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
    "a polars frame": pl.DataFrame({"a": [1.0]}),
    "a lazy frame": pl.LazyFrame({"a": [1.0]}),
    "an expression": pl.col("a"),
    "an Arrow table": pa.table({"a": [1.0]}),
    "an Arrow scalar": pa.scalar(1.0),
    "an array of extremes": np.array([-1e308, 1e308]),
    "an array of long doubles": np.array(["1e4000", "1e-4900"], np.longdouble),
    "an array of half precision": np.array([0.1, 6e4], np.float16),
    "an array of objects": np.array([None, "x"], object),
    "an array of big endians": np.array([1.0, 2.0], ">f8"),
    "an array of three axes": np.ones((1, 1, 1)),
    "polars' Int128": pl.Series([1], dtype=INT128),
}
