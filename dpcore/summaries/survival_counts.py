"""Counts of records by kind of end and duration. They are private and additive."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import MissingValueError, ParameterError
from ..records import times
from ..records.column import Chunk, Column
from ..records.labels import Label, places, plain
from .grid import Grid, check_grid
from .score_counts import counted_in_two_classes
from .totals import NanPolicy, sum_of_parts

__all__ = ["check_grid_of_durations", "ended", "labelled_ends", "survival_counts"]


def survival_counts(
    durations: Any,
    event: Any,
    grid: Grid,
    *,
    event_label: Label | None = None,
    nan_policy: NanPolicy = "raise",
) -> NDArray[np.int64]:
    """Count records by duration, and by whether it ended with the event or was censored.

    The counts are private and additive.

    Parameters
    ----------
    durations, event, grid, event_label, nan_policy
        As in ``survival``. ``grid`` is a ``Grid``.

    Returns
    -------
    numpy.ndarray
        (2 N,) int64: events by ascending durations, then censorings by descending durations. Events
        beyond the last threshold count as censored there.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        As in ``survival``.

    Examples
    --------
    >>> import dpcore as dp
    >>> dp.survival_counts([3, 5, 12, 31], [1, 0, 1, 1], dp.Grid([10.0, 20.0]))
    array([1, 1, 1, 1])
    """
    _check.choice("nan_policy", nan_policy, NanPolicy)
    check_grid_of_durations("grid", grid)
    of_durations, of_events = Column.of(durations, "durations"), Column.of(event, "event")
    if event_label is None:
        of_events.check_order(of_durations, "times", "event_label=1")
    if of_durations.is_partitioned or of_events.is_partitioned:
        how: Any = {"grid": grid, "event_label": event_label, "nan_policy": nan_policy}
        return sum_of_parts(partial(survival_counts, **how), of_durations, of_events)
    wanted = None if event_label is None else plain("event_label", event_label)
    place, ends = ended(of_durations, of_events, [wanted], "event_label", grid, nan_policy)
    # Whoever is observed beyond the grid had no event within it.
    is_event = (place == 0) & (ends <= grid.positions[-1])
    counts, missing = counted_in_two_classes(is_event, ends, grid)
    if missing and nan_policy == "raise":
        raise MissingValueError("durations")
    return np.ascontiguousarray(counts[::-1])


def ended(
    durations: Column,
    events: Column,
    wanted: Sequence[Any],
    argument: str,
    grid: Grid,
    nan_policy: NanPolicy,
) -> tuple[NDArray[np.integer[Any]], Chunk]:
    """Return which of the wanted labels each record has, and its duration; both without gaps.

    Parameters
    ----------
    durations, events
        Columns that are not partitioned.
    wanted
        The labels; another label has the number that follows theirs.
    argument
        The argument that holds them, for errors.
    grid, nan_policy
        As in ``survival``.
    """
    place, ends, has_no_label = labelled_ends(durations, events, wanted, argument, grid, nan_policy)
    return (place, ends) if has_no_label is None else (place[~has_no_label], ends[~has_no_label])


def labelled_ends(
    durations: Column,
    events: Column,
    wanted: Sequence[Any],
    argument: str,
    grid: Grid,
    nan_policy: NanPolicy,
) -> tuple[NDArray[np.integer[Any]], Chunk, NDArray[np.bool_] | None]:
    """Do as ``ended`` does for all records, and return which of them have no label, if any."""
    durations.check_index(events)
    place, has_no_label = places(events, wanted, argument)
    ends = durations.only().joined(grid.unit, times.REQUIREMENTS[grid.unit])
    if ends.shape != place.shape:
        what = f"must have the shape of durations, {ends.shape}"
        raise ParameterError("event", place.shape, what)
    if has_no_label is not None and nan_policy == "raise":
        raise MissingValueError("event")
    return place, ends, has_no_label


def check_grid_of_durations(argument: str, grid: object) -> None:
    """Refuse what is no grid, and a grid of dates: a date is no duration."""
    check_grid(argument, grid)
    assert isinstance(grid, Grid)
    if grid.unit not in (None, "duration"):
        what = "must be of numbers or durations: subtract the date at which each record begins"
        raise ParameterError(argument, grid.unit, what)
