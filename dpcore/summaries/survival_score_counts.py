"""Counts of records by score, duration and whether it ended with the event. They are private."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import MissingValueError, ParameterError
from ..records.column import Column
from ..records.labels import Label, plain
from .grid import Grid
from .survival_counts import labelled_ends
from .totals import NanPolicy, sum_of_parts

__all__ = ["survival_score_counts"]


def survival_score_counts(
    durations: Any,
    event: Any,
    scores: Any,
    grid: Grid,
    score_grid: Grid,
    *,
    event_label: Label | None = None,
    nan_policy: NanPolicy = "raise",
) -> NDArray[np.int64]:
    """Count records by score, and in each cell of scores as ``survival_counts`` does: (S, 2 N).

    The counts are additive: each record counts in one cell. The parameters are those of
    ``survival_scores``; the grids are ``Grid``. Scores beyond theirs count in its end cells.
    """
    _check.choice("nan_policy", nan_policy, NanPolicy)
    given = ((durations, "durations"), (event, "event"), (scores, "scores"))
    columns = [Column.of(*each) for each in given]
    of_durations, of_events, of_scores = columns
    if event_label is None:
        of_events.check_order(of_durations, "times", "event_label=1")
        of_events.check_order(of_scores, "scores", "event_label=1")
    if any(column.is_partitioned for column in columns):
        how: Any = {"grid": grid, "score_grid": score_grid, "event_label": event_label}
        own = partial(survival_score_counts, **how, nan_policy=nan_policy)
        return sum_of_parts(own, *columns)
    of_durations.check_index(of_scores)
    of_events.check_index(of_scores)
    wanted = None if event_label is None else plain("event_label", event_label)
    place, ends, has_no_label = labelled_ends(
        of_durations, of_events, [wanted], "event_label", grid, nan_policy
    )
    ends = ends.astype(np.float64, copy=False)
    values = of_scores.only().joined()
    if values.shape != ends.shape:
        what = f"must have the shape of durations, {ends.shape}"
        raise ParameterError("scores", values.shape, what)
    has_no_score = np.isnan(values)
    if nan_policy == "raise":
        for argument, absent in (("durations", np.isnan(ends)), ("scores", has_no_score)):
            if absent.any():
                raise MissingValueError(argument)
    # Whoever is observed beyond the grid had no event within it.
    is_censored = (place != 0) | (ends > grid.positions[-1])
    cells = np.minimum(np.searchsorted(score_grid.positions, values), score_grid.size - 1)
    rows = (2 * cells + is_censored).astype(np.int32)
    rows[has_no_score] = 2 * score_grid.size
    if has_no_label is not None:
        rows[has_no_label] = 2 * score_grid.size
    counts = np.zeros((2 * score_grid.size, grid.size), np.int64)
    grid._add_groups(ends, rows, counts)
    counts[1::2] = counts[1::2, ::-1].copy()
    return counts.reshape(score_grid.size, -1)
