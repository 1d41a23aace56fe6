"""Counting a column of a Parquet file in DuckDB. The floor: its own count of rounded values."""

from __future__ import annotations

import contextlib
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dpcore as dp

from ..registry import Contender
from .counts import in_other_cells, job
from .partitions import ROW_GROUP, WORKERS, Kept

CELLS = 2**12
AT_A_TIME = 4 * 10**6


class Parquet(NamedTuple):
    grid: dp.Grid
    kept: Kept

    @property
    def path(self) -> str:
        return str(Path(self.kept.path) / "values.parquet")


def parquet(size: int) -> Parquet:
    import pyarrow as pa
    import pyarrow.parquet as pq

    inputs = Parquet(dp.Grid.uniform(0, 1, CELLS), Kept())
    rng = np.random.default_rng(1)
    with pq.ParquetWriter(inputs.path, pa.schema({"x": pa.float64()})) as writer:
        for start in range(0, size, AT_A_TIME):
            values = rng.random(min(AT_A_TIME, size - start))
            writer.write_table(pa.table({"x": values}), row_group_size=ROW_GROUP)
    return inputs


def connected() -> Any:
    import ibis

    connection = ibis.duckdb.connect()
    connection.con.execute(f"SET threads = {WORKERS}")
    return connection


def column(inputs: Parquet) -> Any:
    with warnings.catch_warnings():  # of DuckDB, about ibis
        warnings.simplefilter("ignore", DeprecationWarning)
        return connected().read_parquet(inputs.path).x


def in_engine(inputs: Parquet):
    values = column(inputs)
    return lambda: inputs.grid.count(values)


def of_files(inputs: Parquet):
    return lambda: sum(inputs.grid.count(x) for x in dp.files.column_batches(inputs.path, "x"))


def rounded(inputs: Parquet):
    """The query that a user writes, whose cells have their lower ends."""
    duck = connected().con
    query = f"SELECT floor(x * {CELLS}), count(*) FROM '{inputs.path}' GROUP BY 1"

    def count():
        counts = np.zeros(CELLS, np.int64)
        with contextlib.closing(duck.cursor()) as cursor:
            for cell, records in cursor.execute(query).fetchall():
                counts[int(cell)] += records
        return counts

    return count


def disagreements(inputs, outcomes):
    return in_other_cells(next(iter(outcomes.values())), outcomes)


JOBS = (
    job(
        "count-engine",
        "Count a column of doubles in a Parquet file, in 2^12 uniform cells",
        parquet,
        (10**8,),
        10**7,
        disagreements,
        Contender("dpcore, a column of DuckDB", "ours", in_engine),
        Contender("dpcore, the file", "ours", of_files),
        Contender("DuckDB, floor and count", "floor", rounded),
    ),
)
