"""Columns of dates and times in files: from the command line, and by the batch."""

from __future__ import annotations

import datetime as dt
import io
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import dpcore as dp

DAYS = np.datetime64("2024-01-01") + np.arange(366).astype("m8[D]")
EXACT = ["--epsilon", "1e6", "--size", "366"]
YEAR = ["--lower", "2023-12-31", "--upper", "2024-12-31"]
IN_UTC = ["--lower", "2023-12-31T00:00Z", "--upper", "2024-12-31T00:00Z"]


@pytest.fixture(autouse=True)
def dates(folder):
    table = pa.table(
        {
            "day": pa.array(DAYS),
            "noon": pa.array(DAYS.astype("M8[us]") + np.timedelta64(12, "h")),
            "zoned": pa.array(DAYS.astype("M8[us]"), pa.timestamp("us", "UTC")),
            "number": np.arange(366),
        }
    )
    pq.write_table(table, "t.parquet")
    pc.write_csv(table, "t.csv")


@pytest.mark.parametrize(
    ("file", "column", "flags", "median"),
    [
        ("t.parquet", "day", YEAR, "2024-07-01"),
        ("t.csv", "day", [*YEAR, "--integers"], "2024-07-01"),
        ("t.csv", "day", YEAR, "2024-07-01T00:00:00"),
        ("t.parquet", "noon", YEAR, "2024-07-02T00:00:00"),
        ("t.csv", "noon", YEAR, "2024-07-02T00:00:00"),
        ("t.parquet", "zoned", IN_UTC, "2024-07-01T00:00:00"),
        ("t.csv", "zoned", IN_UTC, "2024-07-01T00:00:00"),
    ],
)
def test_quantiles_of_columns_of_dates(ran, file, column, flags, median):
    out = ran("cdf", file, "--column", column, *EXACT, *flags, "--json", "out.json")
    assert re.search(rf"^ *50 % +{median} .+ - ", out, re.MULTILINE)
    curve = dp.CDF.from_json(Path("out.json").read_text())
    assert curve.quantile(0.5) == np.datetime64(median)


@pytest.mark.parametrize("file", ["t.parquet", "t.csv"])
@pytest.mark.parametrize(
    ("column", "flags", "words"),
    [
        ("zoned", YEAR, "--column 'zoned'.* without a time zone"),
        ("noon", IN_UTC, "--column 'noon'.* with a time zone"),
        ("number", YEAR, "--column 'number'.* dates or times"),
        ("day", ["--lower", "0", "--upper", "1"], "--column 'day'.* numbers"),
        ("day", ["--lower", "1500-01-01", "--upper", "2025-01-01"], "--lower.* 285 years"),
    ],
)
def test_what_does_not_fit_is_refused(refused, file, column, flags, words):
    assert re.search(words, refused("cdf", file, "--column", column, *EXACT, *flags))


def test_batches_of_a_unit():
    grid = dp.Grid.uniform("2023-12-31", "2024-12-31", 366)
    for file in ("t.parquet", "t.csv"):
        counts = sum(map(grid.count, dp.files.column_batches(file, "day", unit=grid.unit)))
        assert counts.tolist() == [1] * 366
    spans = pa.table({"d": pa.array([dt.timedelta(hours=1)] * 2)})
    stream = io.BytesIO()
    pq.write_table(spans, stream)
    hours = dp.Grid.uniform(dt.timedelta(0), dt.timedelta(hours=2), 2)
    batches = dp.files.column_batches(stream, "d", format="parquet", unit="duration")
    assert sum(map(hours.count, batches)).tolist() == [2, 0]
    with pytest.raises(dp.ParameterError, match="CSV has no durations"):
        dp.files.column_batches("t.csv", "day", unit="duration")


def test_csv_says_what_is_missing():
    grid = dp.Grid.uniform("2024-01-01", "2024-01-03", 2)
    text = b"at,n\n2024-01-01 12:00,1\n,2\nNA,3\n2024-01-02T12:00:00.000001,4\n"
    (batch,) = dp.files.column_batches(io.BytesIO(text), "at", format="csv", unit="time")
    assert grid.count(batch, nan_policy="omit").tolist() == [1, 1]
    with pytest.raises(dp.MissingValueError):
        grid.count(batch)
