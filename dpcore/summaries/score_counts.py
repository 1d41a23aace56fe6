"""Counts of records by class and score. They are private and additive."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import MissingValueError, ParameterError
from ..kernels.counting import score_counts as kernels
from ..records.column import Chunk, Column
from ..records.labels import Label, places, positives
from .grid import Grid, check_grid_of_numbers
from .group_counts import check_number_of_groups
from .totals import NanPolicy, add_on_threads, count_in_table, sum_of_parts

__all__ = [
    "Label",
    "counted_in_two_classes",
    "records",
    "score_counts",
    "score_counts_of_groups",
]

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
    counts, missing = counted_in_two_classes(is_positive, scores, grid)
    if missing and nan_policy == "raise":
        raise MissingValueError(of_scores.argument)
    return counts


def counted_in_two_classes(
    is_positive: NDArray[np.bool_], scores: Chunk, grid: Grid
) -> tuple[NDArray[np.int64], int]:
    """Return the (2 N,) counts of records by class and score, and how many scores are NaN."""
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
    return counts, missing


def score_counts_of_groups(
    y_true: Any,
    y_score: Any,
    by: Any,
    grid: Grid,
    groups: Sequence[Label],
    *,
    pos_label: Label | None = None,
    nan_policy: NanPolicy = "raise",
) -> NDArray[np.int64]:
    """Count records by class and score in one pass, for labels of ``public_groups``: (G, 2 N).

    Row g is ``score_counts`` of the records of group g. Each record counts in one cell of one row,
    or nowhere. The arguments are those of ``score_curves``.
    """
    _check.choice("nan_policy", nan_policy, NanPolicy)
    check_grid_of_numbers("grid", grid)
    check_number_of_groups(len(groups), 2 * grid.size)
    columns = Column.of(y_true, "y_true"), Column.of(y_score, "y_score"), Column.of(by, "by")
    if any(column.is_partitioned for column in columns):
        how: dict[str, Any] = {
            "grid": grid,
            "groups": groups,
            "pos_label": pos_label,
            "nan_policy": nan_policy,
        }
        return sum_of_parts(partial(score_counts_of_groups, **how), *columns)
    of_labels, of_scores, of_groups = columns
    for column in (of_labels, of_scores):
        column.check_index(of_groups)
    is_positive, scores, has_no_label = _given(of_labels, of_scores, pos_label, nan_policy)
    if nan_policy == "raise" and np.isnan(scores).any():
        raise MissingValueError(of_scores.argument)
    place, has_no_group = places(of_groups, groups, "groups")
    if place.shape != scores.shape:
        what = f"must have the shape of {of_scores.argument}, {scores.shape}"
        raise ParameterError("by", place.shape, what)
    if has_no_group is not None and nan_policy == "raise":
        raise MissingValueError("by")
    # The rows are the negatives and the positives of each group; the one behind them is of none.
    rows = np.minimum(2 * place.astype(np.int32) + is_positive, 2 * len(groups))
    if has_no_label is not None:
        rows[has_no_label] = 2 * len(groups)
    counts = np.zeros((2 * len(groups), grid.size), np.int64)
    grid._add_groups(scores.astype(np.float64, copy=False), rows.astype(np.int32), counts)
    return np.concatenate([counts[0::2], counts[1::2, ::-1]], axis=1)


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
    is_positive, scores, is_missing = _given(y_true, y_score, pos_label, nan_policy)
    if is_missing is not None:
        is_positive, scores = is_positive[~is_missing], scores[~is_missing]
    return is_positive, scores


def _given(
    y_true: Column, y_score: Column, pos_label: Label | None, nan_policy: NanPolicy
) -> tuple[NDArray[np.bool_], Chunk, NDArray[np.bool_] | None]:
    """Return which records are positive, all scores, and which records have no label, if any."""
    y_true.check_index(y_score)
    is_positive, is_missing = positives(y_true, pos_label)
    scores = y_score.only().joined()
    if scores.shape != is_positive.shape:
        what = f"must have the shape of {y_true.argument}, {is_positive.shape}"
        raise ParameterError(y_score.argument, scores.shape, what)
    if is_missing is not None and nan_policy == "raise":
        raise MissingValueError(y_true.argument)
    if pos_label is None:
        y_true.check_order(y_score, "scores", "pos_label=1")
    return is_positive, scores, is_missing
