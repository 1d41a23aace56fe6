"""Counts of records by duration and by the kind of event that ended it. They are private."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import MissingValueError
from ..records.column import Column
from ..records.labels import Label
from .grid import Grid
from .survival_counts import ended
from .totals import NanPolicy, sum_of_parts

__all__ = ["incidence_counts"]


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
    grid.add_groups(ends, rows, counts)
    counts[-1] = counts[-1, ::-1].copy()
    return counts.ravel()
