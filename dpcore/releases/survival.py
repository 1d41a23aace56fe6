"""Release survival curves from durations and events."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..curves.likely_mistakes import named
from ..curves.survival import Survival
from ..curves.survival_groups import GroupedSurvival
from ..errors import ParameterError
from ..mechanisms import Mechanism
from ..privacy.allowance import Allowance
from ..records.labels import Label
from ..summaries.grid import Grid
from ..summaries.survival_counts import survival_counts
from ..summaries.totals import NanPolicy
from .cdf import OfGroups, asked
from .event_row import asked_of_rows, checked_spender, event_row, grid_of
from .survival_by_groups import survival_by_groups

__all__ = ["released_survival", "survival", "survival_from_counts"]


@overload
def survival(
    durations: Any,
    event: Any,
    grid: Grid | tuple[Any, Any],
    mechanism: Mechanism | None = ...,
    *,
    by: None = ...,
    groups: None = ...,
    epsilon: float | Fraction | None = ...,
    rho: float | Fraction | None = ...,
    neighbours: None = ...,
    delta: float | None = ...,
    event_label: Label | None = ...,
    rng: np.random.Generator | None = ...,
    nan_policy: NanPolicy = ...,
) -> Survival: ...


@overload
def survival(
    durations: Any,
    event: Any,
    grid: Grid | tuple[Any, Any],
    mechanism: Mechanism | None = ...,
    *,
    by: Any,
    groups: Sequence[Label] | None = ...,
    epsilon: float | Fraction | None = ...,
    rho: float | Fraction | None = ...,
    neighbours: OfGroups | None = ...,
    delta: float | None = ...,
    event_label: Label | None = ...,
    rng: np.random.Generator | None = ...,
    nan_policy: NanPolicy = ...,
) -> GroupedSurvival: ...


@documented
def survival(
    durations: Any,
    event: Any,
    grid: Grid | tuple[Any, Any],
    mechanism: Mechanism | None = None,
    *,
    by: Any = None,
    groups: Sequence[Label] | None = None,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    neighbours: OfGroups | None = None,
    delta: float | None = None,
    event_label: Label | None = None,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> Survival | GroupedSurvival:
    """Release the survival curve of durations, some of them censored, with differential privacy.

    Kaplan-Meier and Nelson-Aalen estimates, numbers at risk, median and restricted mean are all
    computed from the release. Neighbours: one record is replaced, with its duration and its event.
    The number of records is public; that of events is not.

    Parameters
    ----------
    durations
        (n,) how long each record was observed, n >= 1: numbers, or durations on a grid of
        durations, in the containers that ``cdf`` takes. Durations below the grid count in the first
        cell, and those beyond it as censored at the last threshold.
    event
        (n,) whether the duration ended with the event: booleans, 0 and 1, or other labels. Records
        with another label than ``event_label`` are censored. Columns of pandas must have the same
        index.
    grid
        {thresholds}
        Or the public bounds of durations, (lower, upper): then the number of cells grows with the
        number of records and the budget, or with a small noise of the mechanism. With groups, it is
        that for 10,000 records.
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
    event_label
        The label of the event; None: 1, or True. It must be given if the labels are strings, or 1
        and 2 as in R, where 2 is the event.
    rng
        {rng}
    nan_policy
        {nan_policy}

    Returns
    -------
    Survival or GroupedSurvival
        With ``survival``, ``cumulative_hazard``, ``at_risk``, ``median`` and
        ``restricted_mean(until)``. It was made monotone by isotonic regression. With groups, a
        mapping from labels to such curves.

    Warns
    -----
    DpcoreWarning
        Nearly all durations are in one end cell, or many may equal the grid's lower end, or a group
        may have no records.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before any noise is drawn, and apart from missing
        values they do not depend on the values of records.

    Notes
    -----
    docs/proofs/survival.md has the proof. The cost is O(n + N), or O(n + G N) for G groups.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> until_event, censoring = rng.exponential(10, 5000), rng.uniform(0, 30, 5000)
    >>> durations, event = np.minimum(until_event, censoring), until_event <= censoring
    >>> curve = dp.survival(durations, event, (0, 24), epsilon=1.0)
    >>> curve.n, round(curve(5), 1), round(curve.restricted_mean(12))
    (5000, 0.6, 7)
    """
    fine, coarsens = grid_of(grid)
    by_groups = by is not None or groups is not None
    asked_for = asked_of_rows(mechanism, epsilon, rho, neighbours, delta, by_groups=by_groups)
    release: Any = {"coarsens": coarsens}
    spender = checked_spender(asked_for, fine, 1, rng, by_groups=by_groups, **release)
    how: Any = {"event_label": event_label, "nan_policy": nan_policy}
    if by_groups:
        records = durations, event, by, groups
        return survival_by_groups(*records, fine, spender, rng, coarsens=coarsens, **how)
    counts = survival_counts(durations, event, fine, **how)
    if not counts.any():
        raise ParameterError("durations", 0, "must hold at least one record")
    return released_survival(counts, event_label, fine, spender, rng, **release)


def released_survival(
    counts: NDArray[np.int64],
    event_label: Label | None,
    grid: Grid,
    spender: Mechanism | Allowance,
    rng: np.random.Generator | None = None,
    *,
    coarsens: bool,
) -> Survival:
    """Release the curve from counts, (2 N,), that were checked."""
    events = [named(event_label, "event_label")]
    own, row = event_row(counts, events, grid, spender, rng, "survival", coarsens=coarsens)
    return Survival(own, *row)


@documented
def survival_from_counts(
    counts: NDArray[np.integer[Any]],
    grid: Grid,
    mechanism: Mechanism | None = None,
    *,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    delta: float | None = None,
    rng: np.random.Generator | None = None,
) -> Survival:
    """Release the survival curve of records that are already counted.

    Use this for data in chunks, in several files or at several sites: add up ``survival_counts`` of
    the parts and release once. Every record must be counted exactly once.

    Parameters
    ----------
    counts
        (2 N,) integers, 0 or more, from ``survival_counts``.
    grid
        {thresholds}
    mechanism
        {mechanism}
    epsilon, rho, delta
        {budget}
    rng
        {rng}

    Raises
    ------
    DtypeError, ParameterError
        As in ``survival``; also if ``counts`` are not 2 N integers that are 0 or more.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid([6.0, 12.0, 18.0, 24.0])
    >>> parts = [([3, 5, 9, 31] * 50, [1, 1, 1, 0] * 50), ([7, 15, 20] * 40, [0, 1, 1] * 40)]
    >>> counts = sum(dp.survival_counts(*part, grid) for part in parts)
    >>> curve = dp.survival_from_counts(counts, grid, epsilon=1.0, rng=rng)
    >>> curve.n, curve.survival.round(2), curve.at_risk.round()
    (320, array([0.71, 0.53, 0.36, 0.21]), array([320., 226., 135.,  91.]))
    """
    spender = checked_spender(asked(mechanism, epsilon, rho, None, delta), grid, 1, rng)
    exact = _check.counts("counts", counts, (2 * grid.size,))
    if not exact.any():
        raise ParameterError("counts", 0, "must hold at least one record")
    release = exact, ["its label"], grid, spender, rng, "survival_from_counts"
    return Survival(grid, *event_row(*release)[1])
