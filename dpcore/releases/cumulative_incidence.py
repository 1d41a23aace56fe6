"""Release how many records had each of several kinds of events, by their durations."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from .._documentation import documented
from ..curves.cumulative_incidence import CumulativeIncidence, kinds_of
from ..curves.cumulative_incidence_groups import GroupedCumulativeIncidence
from ..errors import ParameterError, shown
from ..mechanisms import Mechanism
from ..privacy.allowance import Allowance
from ..records.labels import Label
from ..summaries.grid import Grid
from ..summaries.incidence_counts import incidence_counts, incidence_counts_of_groups
from ..summaries.totals import NanPolicy
from .cdf import OfGroups
from .event_row import asked_of_rows, checked_spender, event_row, event_rows, grid_of, groups_of

__all__ = ["cumulative_incidence", "released_incidence", "released_incidences"]


@overload
def cumulative_incidence(
    durations: Any,
    event: Any,
    grid: Grid | tuple[Any, Any],
    kinds: Sequence[Label],
    mechanism: Mechanism | None = ...,
    *,
    by: None = ...,
    groups: None = ...,
    epsilon: float | Fraction | None = ...,
    rho: float | Fraction | None = ...,
    neighbours: None = ...,
    delta: float | None = ...,
    rng: np.random.Generator | None = ...,
    nan_policy: NanPolicy = ...,
) -> CumulativeIncidence: ...


@overload
def cumulative_incidence(
    durations: Any,
    event: Any,
    grid: Grid | tuple[Any, Any],
    kinds: Sequence[Label],
    mechanism: Mechanism | None = ...,
    *,
    by: Any,
    groups: Sequence[Label] | None = ...,
    epsilon: float | Fraction | None = ...,
    rho: float | Fraction | None = ...,
    neighbours: OfGroups | None = ...,
    delta: float | None = ...,
    rng: np.random.Generator | None = ...,
    nan_policy: NanPolicy = ...,
) -> GroupedCumulativeIncidence: ...


@documented
def cumulative_incidence(
    durations: Any,
    event: Any,
    grid: Grid | tuple[Any, Any],
    kinds: Sequence[Label],
    mechanism: Mechanism | None = None,
    *,
    by: Any = None,
    groups: Sequence[Label] | None = None,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    neighbours: OfGroups | None = None,
    delta: float | None = None,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> CumulativeIncidence | GroupedCumulativeIncidence:
    """Release the cumulative incidence of several kinds of events with differential privacy.

    It is for competing risks: an event of one kind, such as death, ends the duration, so that no
    other can follow. Neighbours: one record is replaced, with its duration and its event. The
    number of records is public; those of events are not.

    Parameters
    ----------
    durations
        (n,) how long each record was observed, as in ``survival``.
    event
        (n,) which event ended it: labels of one kind, such as 0, 1 and 2. Records whose label is
        not in ``kinds`` are censored. Columns of pandas must have the same index.
    grid
        {thresholds}
        Or the public bounds of durations, as in ``survival``.
    kinds
        (K,) the labels of the kinds of events, all different: strings or finite numbers. They are
        public, so they must not come from the data.
    mechanism
        {mechanism}
    by
        {by_groups}
    groups
        {groups}
    epsilon, rho, delta
        {budget}
    neighbours
        {neighbours_of_groups}
    rng
        {rng}
    nan_policy
        {nan_policy}

    Returns
    -------
    CumulativeIncidence or GroupedCumulativeIncidence
        With ``incidence`` of each kind, ``survival``, ``at_risk``, ``band`` and ``plot``. It was
        made monotone by isotonic regression. With groups, a mapping from labels to such results.

    Warns
    -----
    DpcoreWarning
        As in ``survival``.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before any noise is drawn, and apart from missing
        values they do not depend on the values of records.

    Notes
    -----
    docs/proofs/survival.md has the proof: a record is in one of (K + 1) N cells, which are released
    as one curve, so more kinds cost no more privacy. The cost is O(n + K N), or O(n + G K N) for G
    groups.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> durations, event = rng.exponential(10, 5000), rng.integers(0, 3, 5000)
    >>> grid = dp.Grid.uniform(0, 24, 24)
    >>> found = dp.cumulative_incidence(durations, event, grid, [1, 2], epsilon=1.0)
    >>> found.n, found(12).round(1)
    (5000, array([0.3, 0.3]))
    """
    labels = kinds_of(kinds)
    fine, coarsens = grid_of(grid)
    by_groups = by is not None or groups is not None
    asked_for = asked_of_rows(mechanism, epsilon, rho, neighbours, delta, by_groups=by_groups)
    release: Any = {"coarsens": coarsens}
    spender = checked_spender(asked_for, fine, len(labels), rng, by_groups=by_groups, **release)
    given = durations, event
    if by_groups:
        own = groups_of(by, groups)
        of_groups = *given, by, fine, own, labels, "kinds"
        rows = incidence_counts_of_groups(*of_groups, nan_policy=nan_policy)
        return released_incidences(rows, labels, own, fine, spender, rng, **release)
    counts = incidence_counts(*given, fine, labels, nan_policy=nan_policy)
    if not counts.any():
        raise ParameterError("durations", 0, "must hold at least one record")
    return released_incidence(counts, labels, fine, spender, rng, **release)


def released_incidence(
    counts: NDArray[np.int64],
    kinds: tuple[Label, ...],
    grid: Grid,
    spender: Mechanism | Allowance,
    rng: np.random.Generator | None = None,
    *,
    coarsens: bool,
) -> CumulativeIncidence:
    """Release the incidences from counts, ((K + 1) N,), that were checked."""
    release = counts, _named(kinds), grid, spender, rng, "cumulative_incidence"
    own, row = event_row(*release, coarsens=coarsens)
    return CumulativeIncidence(own, kinds, *row)


def released_incidences(
    counts: NDArray[np.int64],
    kinds: tuple[Label, ...],
    groups: Sequence[Label],
    grid: Grid,
    spender: Mechanism | Allowance,
    rng: np.random.Generator | None = None,
    *,
    coarsens: bool,
) -> GroupedCumulativeIncidence:
    """Release the incidences of groups from their counts, (G, (K + 1) N), that were checked."""
    release = counts, _named(kinds), groups, grid, spender, rng, "cumulative_incidence"
    own, rows = event_rows(*release, coarsens=coarsens)
    found = tuple(CumulativeIncidence(own, kinds, *row) for row in rows)
    return GroupedCumulativeIncidence(tuple(groups), found)


def _named(kinds: Sequence[Label]) -> list[str]:
    return [f"the kind {shown(kind)}" for kind in kinds]
