"""Release how many records had each of several kinds of events, by their durations."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from .._documentation import documented
from ..curves.cumulative_incidence import CumulativeIncidence
from ..curves.event_row import check_event_grid
from ..curves.scores import numbered
from ..errors import ParameterError
from ..mechanisms import Mechanism
from ..records.labels import Label
from ..summaries.grid import Grid
from ..summaries.group_counts import labels_of
from ..summaries.incidence_counts import incidence_counts
from ..summaries.totals import NanPolicy
from .cdf import asked, checked
from .event_row import check_spender, event_row

__all__ = ["cumulative_incidence"]


@documented
def cumulative_incidence(
    durations: Any,
    event: Any,
    grid: Grid,
    kinds: Sequence[Label],
    mechanism: Mechanism | None = None,
    *,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    delta: float | None = None,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> CumulativeIncidence:
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
    kinds
        (K,) the labels of the kinds of events, all different. They are public, so they must not
        come from the data.
    mechanism
        {mechanism}
    epsilon, rho, delta
        {budget}
    rng
        {rng}
    nan_policy
        {nan_policy}

    Returns
    -------
    CumulativeIncidence
        With ``incidence`` of each kind, ``survival``, ``at_risk``, ``band`` and ``plot``. It was
        made monotone by isotonic regression.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before any noise is drawn, and apart from missing
        values they do not depend on the values of records.

    Notes
    -----
    docs/proofs/survival.md has the proof: a record is in one of (K + 1) N cells, which are released
    as one curve, so more kinds cost no more privacy. The cost is O(n + K N).

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
    labels = labels_of(kinds, "kinds")
    check_event_grid(grid, len(labels))
    spender = asked(mechanism, epsilon, rho, None, delta)
    check_spender(spender)
    checked(numbered((len(labels) + 1) * grid.size), spender, True, rng)
    counts = incidence_counts(durations, event, grid, labels, nan_policy=nan_policy)
    if not counts.any():
        raise ParameterError("durations", 0, "must hold at least one record")
    row = event_row(counts, grid, spender, rng, "cumulative_incidence")
    return CumulativeIncidence(grid, labels, *row)
