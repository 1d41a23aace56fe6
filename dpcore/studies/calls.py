"""Calls of a study's function, one after the other: the work of a worker."""

from __future__ import annotations

import functools
import inspect
import pickle
import re
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from traceback import extract_tb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DpcoreError, DpcoreWarning
from ..privacy.spending import unwatched
from .cells import TAKEN, Cell
from .header import differences, versions
from .study import Study

__all__ = ["Chunk", "Done", "Row", "Shipped", "StudyError", "ignored", "make"]

Row = dict[str, float | NDArray[np.float64]]


class StudyError(DpcoreError, RuntimeError):
    """The function of a study failed, or returned something that a table cannot hold."""


class Chunk(NamedTuple):
    """The calls ``start`` to ``stop`` - 1 of the cell with a key."""

    key: str
    start: int
    stop: int


class Done(NamedTuple):
    """The results of the calls of a chunk, one row for each replicate, and their seconds.

    ``strayed``: it, or another chunk of its task, drew from NumPy's global generator.
    """

    chunk: Chunk
    rows: list[Row]
    seconds: float
    strayed: bool = False


class Shipped:
    """A study on its way to workers, pickled once with everything it needs, and unpickled once.

    Functions that live in a script or a notebook go by value, so that no worker has to import
    them. Where nothing is pickled, as with threads or one worker, this is the study itself.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.differs = ""  # how the versions of the worker differ, if they do

    @functools.cached_property
    def _bytes(self) -> bytes:
        import cloudpickle

        return bytes(cloudpickle.dumps((self.study, versions())))

    def pack(self) -> None:
        """Pickle the study, before workers start and before anything is written.

        joblib would find only later, in a thread of its own, that the study cannot be pickled. The
        process could end before this thread, and then with warnings about semaphores.

        Raises
        ------
        StudyError
            The study cannot be pickled.
        """
        try:
            _ = self._bytes
        except Exception as error:
            cause = f"{type(error).__name__}: {error}"
            raise StudyError(
                f"{self.study.name} cannot be sent to workers ({cause});"
                " a single one needs no sending"
            ) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (self._bytes,)


@functools.lru_cache(maxsize=4)
def _received(pickled: bytes) -> Shipped:
    import cloudpickle

    study, expected = cloudpickle.loads(pickled)
    shipped = Shipped(study)
    shipped.differs = differences(expected, versions())
    return shipped


def make(shipped: Shipped, seed: int, chunks: Sequence[Chunk]) -> list[Done]:
    """Make the calls of some chunks.

    Raises
    ------
    StudyError
        A call failed; the message names the cell and the call, and how to repeat it. Or this
        worker has other versions than the table will say.
    """
    if shipped.differs:
        raise StudyError(
            f"a worker has other versions than the process that runs the study: {shipped.differs}"
        )
    before = _global_state()
    # Most warnings of releases are about much noise, which studies measure. Budgets belong to this
    # process alone.
    with ignored(DpcoreWarning), unwatched():
        done = [_made(shipped.study, seed, chunk) for chunk in chunks]
    strayed = _global_state() != before
    return [each._replace(strayed=strayed) for each in done]


def _global_state() -> bytes:
    """Return the state of NumPy's global generator, for a comparison."""
    return pickle.dumps(np.random.get_state(legacy=False))  # noqa: NPY002


@contextmanager
def ignored(category: type[Warning], beginning: str = "") -> Iterator[None]:
    """Show no warnings of a category whose message begins with a text.

    In the main thread alone, as workers have it: elsewhere filters are not a thread's own, and
    might stay when it has gone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", re.escape(beginning), category)
        yield


def _made(study: Study, seed: int, chunk: Chunk) -> Done:
    cell, rows = study.by_key[chunk.key], []
    begun = time.perf_counter()
    for call in range(chunk.start, chunk.stop):
        try:
            found = study.call(cell, call, seed)
            rows += _rows(found, study.batch) if study.batch else [_row(found)]
            _check_names(rows[-1], study)
        except Exception as error:
            raise StudyError(_message(study, cell, call, seed, error)) from error
    return Done(chunk, rows, time.perf_counter() - begun)


def _message(study: Study, cell: Cell, call: int, seed: int, error: Exception) -> str:
    where = f" at {cell}" if cell.labels else ""
    again = ", ".join(filter(None, (str(call), str(seed), str(cell))))
    return (
        f"{study.name} failed{where}, in call {call}: {type(error).__name__}: {error}"
        f"{_place(study, error)}; "
        f"{study.name}.replay({again}) repeats it"
    )


def _place(study: Study, error: Exception) -> str:
    """Return the line of the function's own file that failed, if one did."""
    code = getattr(inspect.unwrap(study.function), "__code__", None)
    file = getattr(code, "co_filename", None)
    lines = [each.lineno for each in extract_tb(error.__traceback__) if each.filename == file]
    return f" ({file}, line {lines[-1]})" if lines else ""


def _row(found: Mapping[str, Any]) -> Row:
    """Return one replicate in the form of the table: floats, and arrays of one dimension."""
    return {name: _value(name, value) for name, value in _mapping(found).items()}


def _value(name: str, value: Any) -> float | NDArray[np.float64]:
    if isinstance(value, int | float):  # the usual case, for which no array is made
        return float(value)
    array = _numbers(name, value)
    if array.ndim > 1:
        raise StudyError(f"{name!r} has the shape {array.shape}; it must have at most one axis")
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


def _check_names(row: Row, study: Study) -> None:
    """Check that the columns of a table have different names."""
    for name in row:
        if not isinstance(name, str) or name in study.names or name in TAKEN:
            raise StudyError(f"{name!r} must be text, and not the name of another column")


def _mapping(found: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(found, Mapping) or not found:
        raise StudyError(f"it must return a mapping of names to numbers, not {found!r:.80}")
    return found


def _numbers(name: str, value: Any) -> NDArray[np.float64]:
    array = _check.array(repr(name), value, "biuf", "must be a number or an array of numbers")
    return _check.doubles(array)
