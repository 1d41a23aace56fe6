"""Releases, one or many at once: dealt to threads in blocks, each with its own noise stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DtypeError, ParameterError
from ..grid import MOST_CELLS
from ..randomness import Source, on_threads, source

__all__ = ["cell_counts", "released"]

_BLOCK_DRAWS: Final = 2**16  # replicates are dealt to threads in blocks of about so many draws

_Number = TypeVar("_Number", np.int64, np.float64)


def released(
    exact: NDArray[np.int64],
    make: Callable[[NDArray[_Number], Source], None],
    draws: int,
    dtype: type[_Number],
    rng: np.random.Generator | None,
    replicates: int | None,
    workers: int | None,
) -> NDArray[_Number]:
    """Return one or more releases from cell counts.

    Parameters
    ----------
    exact
        (N,) the counts, from ``cell_counts``.
    make
        Overwrites an array (rows, N) with independent releases of them, given a noise stream.
    draws
        About how many noise variates a release takes; blocks, and so results, depend on it.
    dtype
        Of the releases.
    rng, replicates, workers
        As in a mechanism's ``release``.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as in ``release``.
    """
    repeat = 1 if replicates is None else _check.integer("replicates", replicates, 1, 2**40)
    stream = source(rng)
    out = np.empty((repeat, exact.size), dtype)
    rows = max(1, _BLOCK_DRAWS // max(1, draws))
    starts = range(0, repeat, rows)

    def fill(block: tuple[int, Source]) -> None:
        start, own = block
        make(out[start : start + rows], own)

    on_threads(fill, list(zip(starts, stream.spawn(len(starts)), strict=True)), workers)
    return out if replicates is not None else out[0]


def cell_counts(counts: object) -> NDArray[np.int64]:
    """Return the counts of N cells, (N,), or raise."""
    array: NDArray[Any] = np.asarray(counts)
    if array.dtype.kind not in "iu":
        raise DtypeError("counts", f"dtype {array.dtype}", "must hold integers")
    if array.ndim != 1 or not 1 <= array.size <= MOST_CELLS:
        raise ParameterError(
            "counts", array.shape, f"must be one-dimensional, with 1 to {MOST_CELLS} cells"
        )
    return array.astype(np.int64)
