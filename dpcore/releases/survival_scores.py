"""Release the scores of a survival model with the durations of the same records."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from .._documentation import documented
from ..curves.event_row import check_event_grid
from ..curves.likely_mistakes import named
from ..curves.scores import numbered
from ..curves.table_mistakes import warn_of_survival_scores
from ..errors import DtypeError, ParameterError
from ..mechanisms import Mechanism
from ..planning.survival_grid import coarser
from ..planning.survival_score_grid import (
    FINEST_SCORES,
    FINEST_TIMES,
    joined_in_both,
    suited_to_survival_scores,
)
from ..records.labels import Label
from ..statistics.survival_scores import SurvivalScores
from ..summaries.grid import Grid, check_grid_of_numbers
from ..summaries.survival_score_counts import survival_score_counts
from ..summaries.table_grid import TableGrid
from ..summaries.totals import NanPolicy
from .cdf import asked, checked, refuse_one_row_only
from .table import raw_table

__all__ = ["survival_scores"]


@documented
def survival_scores(
    durations: Any,
    event: Any,
    scores: Any,
    grid: Grid | tuple[Any, Any],
    score_grid: Grid | tuple[float, float] = (0, 1),
    mechanism: Mechanism | None = None,
    *,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    delta: float | None = None,
    event_label: Label | None = None,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> SurvivalScores:
    """Release how well the scores of a survival model foretell durations, some of them censored.

    Concordance, ROC curves and areas up to any time, and calibration of predicted risks are all
    computed from one release. Neighbours: one record is replaced, with its duration, its event and
    its score. The number of records is public; that of events is not. The model must not come from
    the same records, unless it is private itself: its cost is then added.

    Parameters
    ----------
    durations, event
        (n,) each, as in ``survival``. Durations beyond the grid count as censored at the last
        threshold, so the last one may be the time up to which a risk is predicted.
    scores
        (n,) real numbers. A higher score means that the event is expected earlier: a predicted risk
        up to a time, or negative expected durations. Those beyond the grid count in its end cells.
    grid
        Public thresholds of the durations. Or their public bounds, (lower, upper): then the number
        of cells grows with the number of records and the budget, or with a small noise of the
        mechanism.
    score_grid
        Public thresholds of the scores, or their public bounds, likewise.
    mechanism
        The mechanism that adds the noise to the row of cells, ordered as in ``table``. None: a
        histogram, or a tree if there are many cells.
    epsilon, rho, delta
        {budget}
    event_label
        As in ``survival``.
    rng
        {rng}
    nan_policy
        {nan_policy}

    Returns
    -------
    SurvivalScores
        With ``concordance``, ``roc(until)``, ``auc(until)`` and ``calibration(until)``.

    Warns
    -----
    DpcoreWarning
        Nearly all scores or durations are in one end cell.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before any noise is drawn, and apart from missing
        values they do not depend on the values of records.

    Notes
    -----
    docs/proofs/survival.md, section 5, has the proof. The cost is O(n log S + S N).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> risk = rng.beta(0.5, 0.5, 20_000)
    >>> until_event, censoring = rng.exponential(-1 / np.log1p(-risk)), rng.uniform(0, 2, 20_000)
    >>> durations, event = np.minimum(until_event, censoring), until_event <= censoring
    >>> found = dp.survival_scores(durations, event, risk, (0, 1), epsilon=1.0)
    >>> round(found.concordance, 1), round(found.auc(1.0), 1)
    (0.8, 0.9)
    """
    fine = _fine("grid", grid, FINEST_TIMES)
    fine_scores = _fine("score_grid", score_grid, FINEST_SCORES)
    check_event_grid(fine, 1)
    check_grid_of_numbers("score_grid", fine_scores)
    spender = asked(mechanism, epsilon, rho, None, delta)
    refuse_one_row_only(spender, "a table has two columns")
    if spender.privacy.neighbours != "replace-one":
        given = spender.privacy.neighbours
        raise ParameterError("mechanism", given, "must be for replace-one: n is public")

    sizes = [each.size if isinstance(each, Grid) else None for each in (score_grid, grid)]
    least, first = suited_to_survival_scores(1, spender, *sizes)
    checked(numbered(2 * math.prod(least)), first, True, rng)
    how: Any = {"event_label": event_label, "nan_policy": nan_policy}
    counts = survival_score_counts(durations, event, scores, fine, fine_scores, **how)
    if not counts.any():
        raise ParameterError("durations", 0, "must hold at least one record")
    shape, used = suited_to_survival_scores(int(counts.sum()), spender, *sizes)
    own_scores = fine_scores if sizes[0] else coarser(fine_scores, shape[0])
    times = fine if sizes[1] else coarser(fine, shape[1])
    cells = TableGrid(own_scores, Grid.integers(1, 2 * times.size))
    chosen = checked(numbered(cells.size), used, True, rng)
    raw = raw_table(joined_in_both(counts, shape), None, cells, chosen, rng, what="survival_scores")
    warn_of_survival_scores(raw, times, named(event_label, "event_label"))
    return SurvivalScores(times, raw, used)


def _fine(argument: str, grid: Grid | tuple[Any, Any], size: int) -> Grid:
    """Return the grid on which records are counted: the finest one between bounds."""
    if isinstance(grid, Grid):
        return grid
    if not isinstance(grid, tuple | list) or len(grid) != 2:
        what = "must be a Grid, or the bounds (lower, upper)"
        raise DtypeError(argument, type(grid).__name__, what)
    return Grid.uniform(*grid, size)
