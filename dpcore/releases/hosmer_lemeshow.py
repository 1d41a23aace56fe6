"""The Hosmer-Lemeshow test from one joint release: do predicted probabilities fit the labels?"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np

from .. import _check
from .._documentation import documented
from ..errors import DtypeError, MissingValueError, ParameterError
from ..mechanisms import Mechanism
from ..privacy.spending import called
from ..records import columns
from ..records.columns import Chunk
from ..records.partitions import refuse_collection
from ..records.single_columns import single_column
from ..statistics.hosmer_lemeshow import HosmerLemeshow
from ..statistics.risk_groups import check_groups, check_minimum
from ..summaries.grid import MOST_CELLS, Grid, check_grid
from ..summaries.score_counts import Label, score_counts
from ..summaries.totals import NanPolicy
from .most_accurate import most_accurate
from .released_by import released_by
from .score_curves import score_curves_from_counts

__all__ = ["arcsine_grid", "checked_probabilities", "grid_of_probabilities", "hosmer_lemeshow"]

_DEFAULT_CELLS: Final = 2**7


def arcsine_grid(size: int = _DEFAULT_CELLS) -> Grid:
    """Return thresholds for probabilities, with narrow cells near 0 and 1.

    Parameters
    ----------
    size
        Number of cells, N.

    Returns
    -------
    Grid
        tau_k = sin^2(pi k / (2 N)), k = 1, ..., N. The cell at p has a width of about
        pi sqrt(p (1 - p)) / N. The standard deviation of a label with probability p is
        sqrt(p (1 - p)), so every cell is the same part of it wide.

    Raises
    ------
    DtypeError, ParameterError
        ``size`` is not within [1, 2^24].

    Examples
    --------
    >>> arcsine_grid(4).thresholds.round(3)
    array([0.146, 0.5  , 0.854, 1.   ])
    """
    size = _check.integer("size", size, 1, MOST_CELLS)
    thresholds = np.sin(np.pi / 2 * np.arange(1, size + 1) / size) ** 2
    thresholds[-1] = 1.0
    return Grid(thresholds)


@documented
def hosmer_lemeshow(
    y_true: Any,
    y_prob: Any,
    *,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    delta: float | None = None,
    groups: int = 10,
    grid: Grid | None = None,
    mechanism: Mechanism | tuple[Mechanism, Mechanism] | None = None,
    minimum_expected: float | None = None,
    fitted: bool = True,
    pos_label: Label | None = None,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
    sample_weight: None = None,
) -> HosmerLemeshow:
    """Release the Hosmer-Lemeshow test of predicted probabilities with differential privacy.

    This releases the curves of both classes together. Groups, observed and expected numbers, and
    the statistic are computed from the curves. Neighbours: one record is replaced, with its label
    and its probability; n is public. **The model must not depend on the records**, or it must have
    been released before with its own guarantee. The two guarantees then add up
    (docs/hosmer-lemeshow.md).

    Parameters
    ----------
    y_true
        {labels}
    y_prob
        (n,) predicted probabilities of being positive. Those outside [0, 1] count in the end cells
        of the grid.
    epsilon, rho, delta
        {budget}
    groups
        Q, the number of groups, 3 <= Q <= n. Each group has about n / Q records.
    grid
        Public thresholds of the probabilities, within [0, 1]; the last one must be 1. None:
        ``arcsine_grid()``. A finer grid lowers the error of probabilities and raises the error of
        counts.
    mechanism
        The mechanism that adds the noise. None: among the mechanisms whose error has a closed
        form, the one with the smallest error for the budget. A pair of mechanisms, for negatives
        and positives: each class is then released alone, and the guarantees add up.
    minimum_expected, fitted
        As in ``HosmerLemeshow.from_curves``.
    pos_label
        {pos_label}
    rng
        {rng}
    nan_policy
        {nan_policy}
    sample_weight
        {weights}

    Returns
    -------
    HosmerLemeshow
        Its ``pvalue`` takes the noise into account, by simulation.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before any noise is drawn.

    Notes
    -----
    The cost is O(n + N).

    Examples
    --------
    >>> import numpy as np
    >>> rng, grid = np.random.default_rng(1), arcsine_grid(64)
    >>> y_prob = rng.beta(1, 8, 5000)
    >>> y_true = rng.random(5000) < y_prob
    >>> test = hosmer_lemeshow(y_true, y_prob, grid=grid, epsilon=1.0, fitted=False, rng=rng)
    >>> int(test.merged.sum()), round(test.statistic, 1), round(test.pvalue, 2)
    (10, 15.1, 0.64)
    """
    _check.unweighted("sample_weight", sample_weight)
    grid, minimum = grid_of_probabilities(grid), check_minimum(minimum_expected)
    probabilities = checked_probabilities(y_true, y_prob, nan_policy)
    counts = score_counts(y_true, probabilities, grid, pos_label=pos_label, nan_policy=nan_policy)
    groups = check_groups(groups, int(counts.sum()), fitted)
    budget: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "delta": delta}
    # Not DAWA: lines through its buckets would become part of the table. So it is a tree's noise.
    if mechanism is None:
        mechanism = most_accurate(2 * grid.size, neighbours="replace-one", **budget)
        budget = {}
    with called("hosmer_lemeshow"):
        curves = score_curves_from_counts(counts, grid, mechanism, rng=rng, **budget)
    own = released_by(curves, mechanism)
    return HosmerLemeshow._of_checked(curves, groups, own, minimum, fitted)


def grid_of_probabilities(grid: Grid | None) -> Grid:
    """Return the grid, or the default for None; refuse a grid that is not for probabilities."""
    if grid is None:
        return arcsine_grid()
    check_grid("grid", grid)
    grid._refuse_times("grid")
    if grid.positions[0] < 0.0 or grid.positions[-1] != 1.0:
        raise ParameterError("grid", grid, "must have thresholds within [0, 1], the last one 1")
    return grid


def checked_probabilities(y_true: Any, y_prob: Any, nan_policy: NanPolicy) -> Chunk:
    """Return the predicted probabilities as one array, with one for each label."""
    _check.choice("nan_policy", nan_policy, NanPolicy)
    refuse_collection(y_true, "y_true")
    probabilities = columns.whole(single_column(y_prob), "y_prob")
    try:
        shape = np.shape(single_column(y_true))
    except Exception:  # rows of several lengths, or columns that NumPy cannot hold
        raise DtypeError("y_true", type(y_true).__name__, "must be one-dimensional") from None
    if probabilities.shape != shape:
        raise ParameterError(
            "y_prob", probabilities.shape, f"must have the shape of y_true, {shape}"
        )
    if nan_policy == "raise" and np.isnan(probabilities).any():
        raise MissingValueError("y_prob")
    return probabilities
