"""Counts of records by class and score. They are private and additive."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import MissingValueError, ParameterError
from ..kernels.counting import score_counts as kernels
from ..records.column import Chunk, Column
from ..records.labels import Label, positives
from .grid import Grid, check_grid_of_numbers
from .totals import NanPolicy, add_on_threads, count_in_table, sum_of_parts

__all__ = ["Label", "records", "score_counts"]

_PART: Final = 2**19  # so many records are worth a thread of their own


def score_counts(
    y_true: Any,
    y_score: Any,
    grid: Grid,
    *,
    pos_label: Label | None = None,
    nan_policy: NanPolicy = "raise",
) -> NDArray[np.int64]:
    """Count records by class and score. The counts are private and additive.

    Parameters
    ----------
    y_true, y_score, grid, pos_label, nan_policy
        As in ``score_curves``.

    Returns
    -------
    numpy.ndarray
        (2 N,) int64: negatives by ascending scores, then positives by descending scores.

    Examples
    --------
    >>> import dpcore as dp
    >>> grid = dp.Grid([0.25, 0.5, 0.75, 1.0])
    >>> dp.score_counts([0, 0, 1, 0, 1], [0.1, 0.3, 0.6, 0.7, 0.9], grid)
    array([1, 1, 1, 0, 1, 1, 0, 0])
    """
    _check.choice("nan_policy", nan_policy, NanPolicy)
    check_grid_of_numbers("grid", grid)
    of_labels, of_scores = Column.of(y_true, "y_true"), Column.of(y_score, "y_score")
    if of_labels.is_partitioned or of_scores.is_partitioned:
        own = partial(score_counts, grid=grid, pos_label=pos_label, nan_policy=nan_policy)
        return sum_of_parts(own, of_labels, of_scores)
    is_positive, scores = _classes(of_labels, of_scores, pos_label, nan_policy)
    line, thresholds = grid._uniform_line(), grid.positions

    def add(start: int, stop: int, out: NDArray[np.int64]) -> int:
        values, classes = scores[start:stop], is_positive[start:stop]

        def count(table: NDArray[np.uint16], out: NDArray[np.int64]) -> int:
            if line is None:
                guide = grid._search_guide(values.size)
                return kernels.count_search(values, classes, thresholds, *guide, table, out)
            return kernels.count_uniform(values, classes, thresholds, *line, table, out)

        return count_in_table(count, values.size, out)

    counts = np.zeros(2 * grid.size, np.int64)
    missing = add_on_threads(add, scores.size, max(_PART, 8 * grid.size), counts)
    if missing and nan_policy == "raise":
        raise MissingValueError(of_scores.argument)
    return counts


def records(
    y_true: Any, y_score: Any, pos_label: Label | None, nan_policy: NanPolicy
) -> tuple[NDArray[np.bool_], Chunk]:
    """Return which records are positive, and the scores, without missing values."""
    _check.choice("nan_policy", nan_policy, NanPolicy)
    labels, given = Column.of(y_true, "y_true"), Column.of(y_score, "y_score")
    is_positive, scores = _classes(labels, given, pos_label, nan_policy)
    if (missing := np.isnan(scores)).any():
        if nan_policy == "raise":
            raise MissingValueError(given.argument)
        is_positive, scores = is_positive[~missing], scores[~missing]
    return is_positive, scores


def _classes(
    y_true: Column, y_score: Column, pos_label: Label | None, nan_policy: NanPolicy
) -> tuple[NDArray[np.bool_], Chunk]:
    """Return, for records with a label, whether they are positive, and the scores, maybe NaN."""
    y_true.check_index(y_score)
    labels, given = y_true.only(), y_score.only()
    is_positive, is_missing = positives(labels, pos_label)
    scores = given.joined()
    if scores.shape != is_positive.shape:
        what = f"must have the shape of {y_true.argument}, {is_positive.shape}"
        raise ParameterError(y_score.argument, scores.shape, what)
    if is_missing is not None:
        if nan_policy == "raise":
            raise MissingValueError(y_true.argument)
        is_positive, scores = is_positive[~is_missing], scores[~is_missing]
    if pos_label is None:
        labels.check_order(given)
    return is_positive, scores
