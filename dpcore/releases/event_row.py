"""Release rows of events and censorings, for all curves of durations."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..curves.cdf import CDF
from ..curves.event_row import check_event_grid, deviation_of_at_risk
from ..curves.likely_mistakes import warn_of_durations
from ..curves.scores import numbered
from ..errors import DtypeError, ParameterError
from ..mechanisms import Mechanism, from_curve
from ..planning.score_grid import OF_A_GROUP
from ..planning.survival_grid import coarser, fine_grid, joined, suited_to_survival
from ..privacy.allowance import Allowance
from ..records.column import Column
from ..records.labels import Label
from ..summaries.grid import Grid
from ..summaries.group_counts import public_groups
from .cdf import OfGroups, asked, checked, of_each, raw_release, raw_rows, refuse_one_row_only

__all__ = [
    "EventRow",
    "asked_of_rows",
    "checked_spender",
    "event_row",
    "event_rows",
    "grid_of",
    "groups_of",
]

# The monotone row, the deviations of the noise in the numbers at risk, (N,), and the mechanism that
# released it, if it can be made from the row.
EventRow = tuple[CDF, NDArray[np.float64], Mechanism | None]


def grid_of(grid: Grid | tuple[Any, Any]) -> tuple[Grid, bool]:
    """Return the grid on which durations are counted, and whether it is to be made coarser.

    Without a grid, but with its bounds (lower, upper), the cells are chosen after counting.
    """
    if isinstance(grid, Grid):
        return grid, False
    if not isinstance(grid, tuple | list) or len(grid) != 2:
        what = "must be a Grid, or the bounds (lower, upper) of durations"
        raise DtypeError("grid", type(grid).__name__, what)
    return fine_grid(*grid), True


def groups_of(by: Any, groups: Sequence[Label] | None) -> tuple[Label, ...]:
    """Return the public groups that are asked for."""
    if by is None:
        raise ParameterError("by", None, "must be the labels of the records if groups are given")
    return public_groups(Column.of(by, "by"), groups)


def asked_of_rows(
    mechanism: Mechanism | None,
    epsilon: float | Fraction | None,
    rho: float | Fraction | None,
    neighbours: OfGroups | None,
    delta: float | None,
    *,
    by_groups: bool,
) -> Mechanism | Allowance:
    """Return the mechanism that is given; without one, what the default one may spend."""
    own: Any = neighbours if mechanism is not None else of_each(neighbours, by_groups)
    if not by_groups and neighbours is not None:
        raise ParameterError("neighbours", neighbours, "is for curves by groups: give by")
    return asked(mechanism, epsilon, rho, own, delta)


def checked_spender(
    spender: Mechanism | Allowance,
    grid: Grid,
    kinds: int,
    rng: np.random.Generator | None,
    *,
    by_groups: bool = False,
    coarsens: bool = False,
) -> Mechanism | Allowance:
    """Check all that does not depend on records, and return what releases, or may be spent."""
    check_event_grid(grid, kinds)
    refuse_one_row_only(spender, "durations have several classes")
    if not by_groups and spender.privacy.neighbours != "replace-one":  # sizes of groups may be
        given = spender.privacy.neighbours
        raise ParameterError("mechanism", given, "must be for replace-one: n is public")
    size = suited_to_survival(1, spender, kinds)[0] if coarsens else grid.size
    checked(numbered((kinds + 1) * size), spender, True, rng)
    return spender


def event_row(
    counts: NDArray[np.int64],
    events: Sequence[str],
    grid: Grid,
    spender: Mechanism | Allowance,
    rng: np.random.Generator | None,
    what: str,
    *,
    coarsens: bool = False,
) -> tuple[Grid, EventRow]:
    """Release a row of events and censorings, and return its grid with it.

    Parameters
    ----------
    counts
        ((K + 1) N,) the counts of all classes, which were checked.
    events
        (K,) the names of their labels, for warnings.
    grid, spender, rng, coarsens
        As they were checked.
    what
        The name of the function that a budget records.
    """
    if coarsens:
        size, spender = suited_to_survival(int(counts.sum()), spender, len(events))
        grid, counts = coarser(grid, size), joined(counts, size)
    cells = numbered(counts.size)
    row = raw_release(counts, cells, checked(cells, spender, True, rng), rng, what=what)
    warn_of_durations({None: row}, grid, events)
    return grid, _processed(row, grid, spender)


def event_rows(
    counts: NDArray[np.int64],
    events: Sequence[str],
    groups: Sequence[Label],
    grid: Grid,
    spender: Mechanism | Allowance,
    rng: np.random.Generator | None,
    what: str,
    *,
    coarsens: bool,
) -> tuple[Grid, list[EventRow]]:
    """Do as ``event_row`` does for groups, from their counts, (G, (K + 1) N), for the price of one.

    If the grid has to be chosen, it is that of 10,000 records, as sizes of groups may be private.
    """
    if coarsens:
        size, spender = suited_to_survival(OF_A_GROUP, spender, len(events))
        grid, counts = coarser(grid, size), joined(counts, size).reshape(len(groups), -1)
    cells = numbered(counts.shape[1])
    chosen = checked(cells, spender, True, rng)
    rows = raw_rows(counts, groups, cells, chosen, rng, what=what)
    warn_of_durations(dict(zip(groups, rows, strict=True)), grid, events)
    return grid, [_processed(row, grid, spender) for row in rows]


def _processed(row: CDF, grid: Grid, spender: Mechanism | Allowance) -> EventRow:
    used = spender if isinstance(spender, Mechanism) else None
    if used is None:
        with suppress(ParameterError):  # the release is already paid for
            used = from_curve(row)
    return row.isotonic(), deviation_of_at_risk(row, grid.size, used), used
