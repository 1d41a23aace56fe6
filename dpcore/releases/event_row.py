"""Release rows of events and censorings, for all curves of durations."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from ..curves.cdf import CDF
from ..curves.event_row import deviation_of_at_risk
from ..curves.likely_mistakes import warn_of_empty_groups
from ..curves.scores import numbered
from ..errors import ParameterError
from ..mechanisms import Mechanism, from_curve
from ..privacy.allowance import Allowance
from ..records.labels import Label
from ..summaries.grid import Grid
from .cdf import checked, raw_release, raw_rows, refuse_one_row_only

__all__ = ["EventRow", "check_groups_spender", "check_spender", "event_row", "event_rows"]

# The monotone row, the deviations of the noise in the numbers at risk, (N,), and the mechanism that
# released it, if it can be made from the row.
EventRow = tuple[CDF, NDArray[np.float64], Mechanism | None]


def event_row(
    counts: NDArray[np.int64],
    grid: Grid,
    spender: Mechanism | Allowance,
    rng: np.random.Generator | None,
    what: str,
) -> EventRow:
    """Release a row of events and censorings.

    Parameters
    ----------
    counts
        ((K + 1) N,) the counts of all classes, which were checked.
    grid, spender, rng
        As they were checked.
    what
        The name of the function that a budget records.
    """
    cells = numbered(counts.size)
    row = raw_release(counts, cells, checked(cells, spender, True, rng), rng, what=what)
    return _processed(row, grid, spender)


def event_rows(
    counts: NDArray[np.int64],
    groups: Sequence[Label],
    grid: Grid,
    spender: Mechanism | Allowance,
    rng: np.random.Generator | None,
    what: str,
) -> list[EventRow]:
    """Release the rows of groups for the price of one, from their counts, (G, (K + 1) N)."""
    cells = numbered(counts.shape[1])
    chosen = checked(cells, spender, True, rng)
    rows = raw_rows(counts, groups, cells, chosen, rng, what=what)
    warn_of_empty_groups(dict(zip(groups, rows, strict=True)))
    return [_processed(row, grid, spender) for row in rows]


def check_spender(spender: Mechanism | Allowance) -> None:
    """Refuse what cannot release a row of several classes, or publishes no n."""
    check_groups_spender(spender)
    if spender.privacy.neighbours != "replace-one":
        given = spender.privacy.neighbours
        raise ParameterError("mechanism", given, "must be for replace-one: n is public")


def check_groups_spender(spender: Mechanism | Allowance) -> None:
    """Refuse what cannot release a row of several classes. Sizes of groups may be private."""
    refuse_one_row_only(spender, "durations have several classes")


def _processed(row: CDF, grid: Grid, spender: Mechanism | Allowance) -> EventRow:
    used = spender if isinstance(spender, Mechanism) else None
    if used is None:
        with suppress(ParameterError):  # the release is already paid for
            used = from_curve(row)
    return row.isotonic(), deviation_of_at_risk(row, grid.size, used), used
