"""Counting more values than fit in memory, on two workers. The floor: two threads, no Dask."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

import dpcore as dp

from ..registry import Contender
from .counts import CELLS, in_other_cells, job

WORKERS = 2
BLOCK = 4 * 10**6  # values: 32 MB
LARGEST = 10**7  # values of one file, which has many names to save space on the disk
ROW_GROUP = 10**6


class Generated(NamedTuple):
    grid: dp.Grid
    blocks: int
    block: int  # values

    def values(self, seed: int) -> np.ndarray:
        return np.random.default_rng(seed).random(self.block)


class Kept:
    """A new folder, which is removed when nothing refers to this object any more."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp()
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class Folder(NamedTuple):
    grid: dp.Grid
    kept: Kept

    @property
    def path(self) -> str:
        return self.kept.path

    def files(self) -> list[Path]:
        return sorted(Path(self.path).glob("*.parquet"))


def generated(size: int) -> Generated:
    block = min(BLOCK, size // 10)
    return Generated(dp.Grid.uniform(0, 1, CELLS), size // block, block)


def folder(size: int) -> Folder:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kept = Kept()
    first = Path(kept.path) / "part-0.parquet"
    each = min(LARGEST, size // 10)
    values = np.random.default_rng(1).random(each)
    pq.write_table(pa.table({"x": values}), first, row_group_size=ROW_GROUP)
    for at in range(1, size // each):
        os.link(first, first.with_name(f"part-{at}.parquet"))
    return Folder(dp.Grid.uniform(0, 1, CELLS), kept)


def on_two_threads(count, pieces):
    def run():
        with ThreadPoolExecutor(WORKERS) as pool:
            return sum(pool.map(count, pieces))

    return run


def scheduled(count):
    import dask

    def run():
        with dask.config.set(scheduler="threads", num_workers=WORKERS):
            return count()

    return run


def array(inputs: Generated):
    """Return a Dask array whose blocks are drawn by the workers that count them."""
    import dask.array as da

    return da.map_blocks(
        lambda seed: inputs.values(int(seed[0])),
        da.arange(inputs.blocks, chunks=1),
        chunks=((inputs.block,) * inputs.blocks,),
        dtype=np.float64,
    )


def dask_array(inputs: Generated):
    return scheduled(lambda: inputs.grid.count(array(inputs)))


def dask_histogram(inputs: Generated):
    import dask.array as da

    def count():
        return da.histogram(array(inputs), bins=CELLS, range=(0, 1))[0].compute()

    return scheduled(count)


def generated_without_dask(inputs: Generated):
    def count(seed: int):
        return inputs.grid.count(inputs.values(seed))

    return on_two_threads(count, range(inputs.blocks))


def parquet_folder(inputs: Folder):
    return lambda: sum(
        inputs.grid.count(batch) for batch in dp.files.column_batches(inputs.path, "x")
    )


def dask_column(inputs: Folder):
    import dask.dataframe as dd

    def count():
        with warnings.catch_warnings():  # of Dask's, about pandas
            warnings.simplefilter("ignore", DeprecationWarning)
            return inputs.grid.count(dd.read_parquet(inputs.path)["x"])

    return scheduled(count)


def numpy_of_files(inputs: Folder):
    import pyarrow.parquet as pq

    def count(path: Path):
        values = pq.read_table(path, columns=["x"], use_threads=False)["x"].to_numpy()
        return np.histogram(values, bins=CELLS, range=(0, 1))[0]

    return on_two_threads(count, inputs.files())


def files_without_dask(inputs: Folder):
    import pyarrow.parquet as pq

    def count(path: Path):
        batches = pq.ParquetFile(path).iter_batches(columns=["x"], use_threads=False)
        return sum(inputs.grid.count(batch.column(0)) for batch in batches)

    return on_two_threads(count, inputs.files())


def disagreements(inputs, outcomes):
    return in_other_cells(next(iter(outcomes.values())), outcomes)


JOBS = (
    job(
        "count-generated",
        "Draw doubles on two workers, and count them there in 2^15 uniform cells",
        generated,
        (10**8,),
        10**7,
        disagreements,
        Contender("dpcore, a Dask array", "ours", dask_array),
        Contender("dask.array.histogram", "peer", dask_histogram, "dask.array"),
        Contender("two threads and no Dask", "floor", generated_without_dask),
    ),
    job(
        "count-folder",
        "Count a column of doubles in a folder of Parquet files, in 2^15 uniform cells",
        folder,
        (10**8,),
        10**7,
        disagreements,
        Contender("dpcore, the folder", "ours", parquet_folder),
        Contender("dpcore, a Dask dataframe", "ours", dask_column),
        Contender("np.histogram on two threads", "numpy", numpy_of_files),
        Contender("two threads, a file each", "floor", files_without_dask),
    ),
)
