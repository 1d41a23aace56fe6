"""Calls of a study's function, one after the other: the work of a worker."""

from __future__ import annotations

import functools
import inspect
import os
import pickle
import re
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from traceback import extract_tb, format_exception
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DpcoreError, DpcoreWarning
from ..privacy.spending import simulating
from .cells import TAKEN, Cell, is_text
from .header import differences, versions
from .parents import end_with
from .study import Study

__all__ = ["Chunk", "Done", "Made", "Row", "Shipped", "StudyError", "ignored", "make"]

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


class Made(NamedTuple):
    """The outcome of a task: what was made, what was not, and the error that ended it, if any."""

    done: list[Done]
    left: list[Chunk]
    error: BaseException | None


class Shipped:
    """A study on its way to workers, pickled once with everything it needs, and unpickled once.

    Functions that live in a script or a notebook go by value, so that no worker has to import
    them. Where nothing is pickled, as with threads or one worker, this is the study itself.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.differs = ""  # how the versions of the worker differ, if they do
        self.is_copy = False  # in a process of a worker

    @functools.cached_property
    def _bytes(self) -> bytes:
        import cloudpickle

        return bytes(cloudpickle.dumps((self.study, versions(), os.getpid())))

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

    study, expected, runner = cloudpickle.loads(pickled)
    end_with(runner)
    shipped = Shipped(study)
    shipped.is_copy = True
    shipped.differs = differences(expected, versions())
    return shipped


def make(shipped: Shipped, seed: int, chunks: Sequence[Chunk], seconds: float) -> Made:
    """Make the calls of some chunks, and begin none after so many seconds.

    A call that fails ends the task. Its error names the cell and the call, and how to repeat it.
    The calls before it, and those before an interrupt, come back with the error.

    Raises
    ------
    StudyError
        This worker has other versions than the table will say.
    """
    if shipped.differs:
        raise StudyError(
            f"a worker has other versions than the process that runs the study: {shipped.differs}"
        )
    before = _global_state()
    # Most warnings of releases are about much noise, which studies measure.
    with ignored(DpcoreWarning), simulating():
        made = _made(shipped.study, seed, chunks, seconds)
    strayed = _global_state() != before
    if shipped.is_copy and made.error is not None and made.error.__cause__ is not None:
        made.error.add_note("".join(format_exception(made.error.__cause__)))  # which stays here
    return made._replace(done=[done._replace(strayed=strayed) for done in made.done])


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


def _made(study: Study, seed: int, chunks: Sequence[Chunk], seconds: float) -> Made:
    done: list[Done] = []
    end = time.perf_counter() + seconds
    for at, chunk in enumerate(chunks):
        cell, rows, call = study.by_key[chunk.key], list[Row](), chunk.start
        error: BaseException | None = None
        begun = time.perf_counter()
        try:
            for call in range(chunk.start, chunk.stop):
                if (rows or done) and time.perf_counter() >= end:
                    break
                rows += _called(study, cell, call, seed)
        except (Exception, SystemExit) as problem:
            error = StudyError(_message(study, cell, call, seed, problem))
            error.__cause__ = problem
        except BaseException as problem:
            error = problem
        stop = chunk.start + len(rows) // study.size
        if rows:
            done.append(Done(chunk._replace(stop=stop), rows, time.perf_counter() - begun))
        if stop < chunk.stop:
            return Made(done, [chunk._replace(start=stop), *chunks[at + 1 :]], error)
    return Made(done, [], None)


def _called(study: Study, cell: Cell, call: int, seed: int) -> list[Row]:
    """Return the replicates of one call."""
    returned = study.call(cell, call, seed)
    rows = _rows(returned, study.batch) if study.batch else [_row(returned)]
    _check_names(rows[-1], study)
    return rows


def _message(study: Study, cell: Cell, call: int, seed: int, error: BaseException) -> str:
    where = f" at {cell}" if cell.labels else ""
    again = ", ".join(filter(None, (str(call), str(seed), str(cell))))
    return (
        f"{study.name} failed{where}, in call {call}: {_said(error)}"
        f"{_place(study, error)}; "
        f"{study.name}.replay({again}) repeats it"
    )


def _said(error: BaseException) -> str:
    kind = type(error).__name__
    try:
        return f"{kind}: {error}"
    except Exception:  # an error without words
        return kind


def _place(study: Study, error: BaseException) -> str:
    """Return the line of the function's own file that failed, if one did."""
    code = getattr(inspect.unwrap(study.function), "__code__", None)
    file = getattr(code, "co_filename", None)
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == file]
    return f" ({file}, line {lines[-1]})" if lines else ""


def _row(returned: Mapping[str, Any]) -> Row:
    """Return one replicate in the form of the table: floats, and arrays of one dimension."""
    return {name: _value(name, value) for name, value in _mapping(returned).items()}


def _value(name: str, value: Any) -> float | NDArray[np.float64]:
    if isinstance(value, int | float):  # the usual case, for which no array is made
        return float(value)
    array = _numbers(name, value)
    if array.ndim > 1:
        raise StudyError(f"{name!r} has the shape {array.shape}; it must have at most one axis")
    return array if array.ndim else float(array)


def _rows(returned: Mapping[str, Any], size: int) -> list[Row]:
    """Return the replicates of a batch, one by one."""
    arrays = {name: _numbers(name, value) for name, value in _mapping(returned).items()}
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
        if not is_text(name):
            raise StudyError(f"the name {name!r} must be text that can be written as UTF-8")


def _mapping(returned: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(returned, Mapping) or not returned:
        raise StudyError(f"it must return a mapping of names to numbers, not {returned!r:.80}")
    return returned


def _numbers(name: str, value: Any) -> NDArray[np.float64]:
    array = _check.array(repr(name), value, "biuf", "must be a number or an array of numbers")
    return _check.doubles(array)
