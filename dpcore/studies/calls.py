"""Calls of a study's function, one behind the other: what a worker does."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DpcoreError
from .cells import TAKEN, Cell
from .study import Study

__all__ = ["Chunk", "Done", "Shipped", "StudyError", "make"]

Row = dict[str, float | NDArray[np.float64]]


class StudyError(DpcoreError, RuntimeError):
    """The function of a study failed, or returned what a table cannot hold."""


class Chunk(NamedTuple):
    """Some calls of one cell, ``start`` to ``stop`` - 1."""

    cell: Cell
    start: int
    stop: int


class Done(NamedTuple):
    """What the calls of a chunk returned, a row for each replicate, and the seconds they took."""

    chunk: Chunk
    rows: list[Row]
    seconds: float


class Shipped:
    """A study on its way to workers: pickled once with all that it needs, and unpickled once.

    Functions that live in a script or a notebook go by value, so that no worker has to import
    them. Where nothing is pickled, as with threads or one worker, this is the study itself.
    """

    def __init__(self, study: Study, seed: int) -> None:
        self.study = study
        self.seed = seed

    @functools.cached_property
    def _bytes(self) -> bytes:
        import cloudpickle

        return bytes(cloudpickle.dumps((self.study, self.seed)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (self._bytes,)


@functools.lru_cache(maxsize=4)
def _received(pickled: bytes) -> Shipped:
    import cloudpickle

    return Shipped(*cloudpickle.loads(pickled))


def make(shipped: Shipped, chunk: Chunk) -> Done:
    """Make the calls of a chunk.

    Raises
    ------
    StudyError
        A call failed; the message names the cell and the call.
    """
    study, rows = shipped.study, []
    begun = time.perf_counter()
    for call in range(chunk.start, chunk.stop):
        rng = study.rng(chunk.cell, call, shipped.seed)
        try:
            if study.batch is None:
                rows.append(_row(study.function(**chunk.cell.values, rng=rng)))
            else:
                found = study.function(**chunk.cell.values, rng=rng, replicates=study.batch)
                rows += _rows(found, study.batch)
            _check_names(rows[-1], chunk.cell)
        except Exception as error:
            raise StudyError(
                f"{study.name} failed at {chunk.cell or 'its only cell'}, call {call} of seed "
                f"{shipped.seed}: {type(error).__name__}: {error}"
            ) from error
    return Done(chunk, rows, time.perf_counter() - begun)


def _row(found: Mapping[str, Any]) -> Row:
    """Return one replicate as the table holds it: floats, and arrays of one dimension."""
    return {name: _value(name, value) for name, value in _mapping(found).items()}


def _value(name: str, value: Any) -> float | NDArray[np.float64]:
    if isinstance(value, int | float):  # the usual case, at the price of no array
        return float(value)
    array = _numbers(name, value)
    if array.ndim > 1:
        raise StudyError(f"{name!r} has the shape {array.shape}; numbers or one dimension are kept")
    return array if array.ndim else float(array)


def _rows(found: Mapping[str, Any], size: int) -> list[Row]:
    """Return the replicates of a batch, one by one."""
    arrays = {name: _numbers(name, value) for name, value in _mapping(found).items()}
    for name, array in arrays.items():
        if array.ndim not in (1, 2) or array.shape[0] != size:
            raise StudyError(f"{name!r} has the shape {array.shape}; its first axis must be {size}")
    return [
        {name: array[at] if array.ndim > 1 else float(array[at]) for name, array in arrays.items()}
        for at in range(size)
    ]


def _check_names(row: Row, cell: Cell) -> None:
    """Check that the columns of a table have different names."""
    taken = [name for name in row if name in cell.labels or name in TAKEN]
    if taken:
        raise StudyError(f"{taken[0]!r} is the name of another column of the table")


def _mapping(found: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(found, Mapping) or not found:
        raise StudyError(f"it must return a mapping of names to numbers, not {found!r:.80}")
    return found


def _numbers(name: str, value: Any) -> NDArray[np.float64]:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise StudyError(f"{name!r} must be a number or an array of numbers, not {value!r:.80}")
    return array.astype(np.float64)
