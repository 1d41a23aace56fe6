"""Labels and probabilities of several classes, added up by cells. They are private and additive."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import MissingValueError, ParameterError
from ..records.labels import Label
from .class_probabilities import class_probabilities
from .grid import Grid
from .totals import NanPolicy

__all__ = ["CLASS_BITS", "ClassSums", "check_classes_and_cells", "class_sums"]

CLASS_BITS: Final = 24  # probabilities are rounded down to multiples of 2^-24
_MOST_CLASSES: Final = 2**16  # with more, roundings of a row's sum could add up to a unit
_MOST_SUMS: Final = 2**22
_ROWS: Final = 2**18  # so many probabilities at a time: some megabytes of doubles


class ClassSums(NamedTuple):
    """Sums over records, in integers.

    Parameters
    ----------
    observed
        (K, N) int64: how many records of each class have its probability in each cell.
    expected
        (K, N) int64: the sum of the probabilities of each class in each cell, over the records of
        all classes, in units of 2^-bits.
    n
        The number of records.
    """

    observed: NDArray[np.int64]
    expected: NDArray[np.int64]
    n: int


def check_classes_and_cells(classes: int, cells: int) -> None:
    """Refuse more sums than there is room for."""
    if classes > _MOST_CLASSES:
        raise ParameterError("classes", classes, f"must be at most {_MOST_CLASSES}")
    if classes * cells > _MOST_SUMS:
        most = _MOST_SUMS // classes
        raise ParameterError("grid", cells, f"must have at most {most} cells for {classes} classes")


def class_sums(
    y_true: Any,
    y_prob: Any,
    labels: tuple[Label, ...],
    grid: Grid,
    bits: int,
    *,
    nan_policy: NanPolicy = "raise",
) -> ClassSums:
    """Add up records by class and cell.

    A record adds 1 to one of the observed numbers, or to none, and at most 2^bits to all expected
    ones together, however many classes there are (docs/proofs/vector-sums.md, section 8).

    Parameters
    ----------
    y_true, y_prob, labels
        As in ``class_probabilities``. Probabilities beyond [0, 1] count as its nearest end. If
        those of a record add up to more than 1, they are divided by their sum.
    grid
        The cells: thresholds within [0, 1], of which the last one is 1.
    bits
        Each probability is rounded down to a multiple of 2^-bits.
    nan_policy
        As in ``score_curves``. A record is missing if its label or any probability is.
    """
    _check.choice("nan_policy", nan_policy, NanPolicy)
    place, is_missing, given = class_probabilities(y_true, y_prob, labels)
    if is_missing is not None and nan_policy == "raise":
        raise MissingValueError("y_true")
    classes, cells = len(labels), grid.size
    observed, expected = (np.zeros(classes * cells, np.int64) for _ in range(2))
    first, n = cells * np.arange(classes), 0
    rows = max(1, _ROWS // classes)
    for start in range(0, place.size, rows):
        part = slice(start, start + rows)
        probabilities, own = _check.doubles(given[part]), place[part]
        absent = np.isnan(probabilities).any(axis=1)
        if absent.any() and nan_policy == "raise":
            raise MissingValueError("y_prob")
        if is_missing is not None:
            absent |= is_missing[part]
        if absent.any():
            probabilities, own = probabilities[~absent], own[~absent]
        n += own.size
        shares = _shares(probabilities)
        at = np.searchsorted(grid.positions, shares) + first
        known = np.flatnonzero(own < classes)
        observed += np.bincount(at[known, own[known]], minlength=observed.size)
        units = np.floor(np.ldexp(shares, bits))
        # Sums of so few integers are far below 2^53, up to where doubles add them without errors.
        sums = np.bincount(at.ravel(), units.ravel(), expected.size)
        expected += sums.astype(np.int64)
    shape = classes, cells
    return ClassSums(observed.reshape(shape), expected.reshape(shape), n)


def _shares(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities within [0, 1], in rows that add up to 1 at most."""
    # NumPy adds columns in another order if they are contiguous, so that one record, whose type
    # decides how a data frame is laid out, could move all others over the ends of cells.
    clipped = np.ascontiguousarray(np.clip(probabilities, 0.0, 1.0))
    with np.errstate(under="ignore"):  # where a user makes it an error, it would tell of a record
        return np.asarray(clipped / np.maximum(clipped.sum(axis=1, keepdims=True), 1.0))
