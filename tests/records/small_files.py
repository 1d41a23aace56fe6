"""Small files of numbers, read in small blocks, and what their counts are."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

import dpcore as dp
from dpcore.records import csv, parquet
from dpcore.records.files import column_batches

GRID = dp.Grid.uniform(-2, 2, 64)
VALUES = np.random.default_rng(1).normal(size=50_000)


def write_csv(path: Path, values, *, header=b"id,x,note\n", end=b"\n") -> Path:
    rows = (b'%d,%s,"a, b\nc"' % (at, repr(float(v)).encode()) for at, v in enumerate(values))
    path.write_bytes(header + end.join(rows) + end)
    return path


def write_parquet(path: Path, array, **options) -> Path:
    pq.write_table(pa.table({"id": pa.array(range(len(array))), "x": array}), path, **options)
    return path


def counts_of(source, column="x", *, grid=GRID, nan_policy="raise", **options):
    counts = np.zeros(grid.size, np.int64)
    for batch in column_batches(source, column, **options):
        counts += grid.count(batch, nan_policy=nan_policy)
    return counts


def expected(values):
    cells = np.minimum(np.searchsorted(GRID.thresholds, values), GRID.size - 1)
    return np.bincount(cells, minlength=GRID.size)


def small_blocks(monkeypatch, size=2**16):
    monkeypatch.setattr(csv, "MOST_ROW", size)
    monkeypatch.setattr(parquet, "_PAGES", size)


def cells(text: bytes) -> list[str] | None:
    """Return the second cells of all rows as Arrow reads them, None if it cannot."""
    try:
        table = pc.read_csv(
            io.BytesIO(text),
            read_options=pc.ReadOptions(column_names=["a", "b"]),
            parse_options=pc.ParseOptions(newlines_in_values=True),
            convert_options=pc.ConvertOptions(
                include_columns=["b"], column_types={"b": pa.string()}
            ),
        )
    except pa.ArrowInvalid:
        return None
    return table.column(0).to_pylist()
