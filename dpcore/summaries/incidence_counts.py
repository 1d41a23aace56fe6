"""Counts of records by duration and by the kind of event that ended it. They are private."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import MissingValueError, ParameterError
from ..records.column import Column
from ..records.labels import Label, places
from .grid import Grid
from .group_counts import check_number_of_groups
from .survival_counts import ended, labelled_ends
from .totals import NanPolicy, sum_of_parts

__all__ = ["incidence_counts", "incidence_counts_of_groups"]


def incidence_counts(
    durations: Any,
    event: Any,
    grid: Grid,
    kinds: Sequence[Label],
    *,
    nan_policy: NanPolicy = "raise",
) -> NDArray[np.int64]:
    """Count records by duration and kind of event, for labels of ``labels_of``: ((K + 1) N,).

    Those of each kind by ascending durations, one after another, then those of censorings by
    descending durations. The other parameters are those of ``cumulative_incidence``. Events beyond
    the last threshold count as censored there. The counts are additive.
    """
    _check.choice("nan_policy", nan_policy, NanPolicy)
    of_durations, of_events = Column.of(durations, "durations"), Column.of(event, "event")
    _check_order(of_durations, of_events, kinds, "kinds")
    if of_durations.is_partitioned or of_events.is_partitioned:
        how: Any = {"grid": grid, "kinds": kinds, "nan_policy": nan_policy}
        return sum_of_parts(partial(incidence_counts, **how), of_durations, of_events)
    place, ends = ended(of_durations, of_events, kinds, "kinds", grid, nan_policy)
    ends = ends.astype(np.float64, copy=False)
    if nan_policy == "raise" and np.isnan(ends).any():
        raise MissingValueError("durations")
    # Whoever is observed beyond the grid had no event within it; none of the kinds is censored.
    rows = np.where(ends > grid.positions[-1], len(kinds), place).astype(np.int32)
    counts = np.zeros((len(kinds) + 1, grid.size), np.int64)
    grid._add_groups(ends, rows, counts)
    counts[-1] = counts[-1, ::-1].copy()
    return counts.ravel()


def incidence_counts_of_groups(
    durations: Any,
    event: Any,
    by: Any,
    grid: Grid,
    groups: Sequence[Label],
    kinds: Sequence[Label | None],
    argument: str,
    *,
    nan_policy: NanPolicy = "raise",
) -> NDArray[np.int64]:
    """Count records by duration and kind in one pass, for labels of ``public_groups``.

    Returns (G, (K + 1) N) int64: row g is ``incidence_counts`` of the records of group g. With the
    one kind ``event_label``, it is ``survival_counts``. Each record counts in one cell of one row,
    or nowhere. ``argument`` is the name of the kinds in errors.
    """
    _check.choice("nan_policy", nan_policy, NanPolicy)
    classes = len(kinds) + 1
    check_number_of_groups(len(groups), classes * grid.size)
    given = ((durations, "durations"), (event, "event"), (by, "by"))
    columns = [Column.of(*each) for each in given]
    _check_order(columns[0], columns[1], kinds, argument)
    if any(column.is_partitioned for column in columns):
        how: Any = {"grid": grid, "groups": groups, "kinds": kinds, "argument": argument}
        own = partial(incidence_counts_of_groups, **how, nan_policy=nan_policy)
        return sum_of_parts(own, *columns)
    of_durations, of_events, of_groups = columns
    for column in (of_durations, of_events):
        column.check_index(of_groups)
    how = {"argument": argument, "grid": grid, "nan_policy": nan_policy}
    kind, ends, has_no_label = labelled_ends(of_durations, of_events, kinds, **how)
    ends = ends.astype(np.float64, copy=False)
    if nan_policy == "raise" and np.isnan(ends).any():
        raise MissingValueError("durations")
    place, has_no_group = places(of_groups, groups, "groups")
    if place.shape != ends.shape:
        raise ParameterError("by", place.shape, f"must have the shape of durations, {ends.shape}")
    if has_no_group is not None and nan_policy == "raise":
        raise MissingValueError("by")
    own_kind = np.where(ends > grid.positions[-1], len(kinds), kind)
    # The rows are the kinds of each group; those behind them are of no group.
    nowhere = classes * len(groups)
    rows = np.minimum(classes * place.astype(np.int32) + own_kind, nowhere).astype(np.int32)
    if has_no_label is not None:
        rows[has_no_label] = nowhere
    counts = np.zeros((nowhere, grid.size), np.int64)
    grid._add_groups(ends, rows, counts)
    counts[len(kinds) :: classes] = counts[len(kinds) :: classes, ::-1].copy()
    return counts.reshape(len(groups), -1)


def _check_order(
    durations: Column, events: Column, kinds: Sequence[Label | None], argument: str
) -> None:
    """Refuse columns that are exchanged by their types, unless the labels are stated as floats."""
    if argument == "kinds":
        if not any(isinstance(kind, float) for kind in kinds):
            events.check_order(durations, "times", "floats in kinds")
    elif None in kinds:
        events.check_order(durations, "times", "event_label=1")
