"""The Hosmer-Lemeshow test from one joint release: do predicted probabilities fit the labels?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..curves.likely_mistakes import mistake_in_scores, named, warn
from ..curves.scores import ScoreCurves, check_score_grid
from ..errors import ParameterError, amount
from ..mechanisms import Mechanism
from ..mechanisms.base import check_mechanism
from ..planning.most_accurate import most_accurate
from ..privacy.allowance import Allowance
from ..privacy.spending import called
from ..records.column import Column
from ..statistics.hosmer_lemeshow import HosmerLemeshow, tested
from ..statistics.risk_groups import check_groups, check_minimum, check_testable
from ..summaries.grid import MOST_CELLS, Grid, check_grid_of_numbers
from ..summaries.score_counts import Label, score_counts
from ..summaries.totals import NanPolicy
from .released_by import released_by
from .score_curves import asked_of_scores, labelled_score_curves

__all__ = [
    "FINEST",
    "arcsine_grid",
    "grid_of_probabilities",
    "hosmer_lemeshow",
    "in_memory",
    "suited",
    "warn_of_few_groups",
]

FINEST: Final = 2**12  # the p-value of so many cells takes half a second
_COARSEST: Final = 2**7


def arcsine_grid(size: int = _COARSEST) -> Grid:
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
    (docs/proofs/hosmer-lemeshow.md).

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
        At most 2^23 public thresholds of the probabilities, within [0, 1]; the last one must be 1.
        A finer grid lowers the error of probabilities and raises the error of counts. None:
        ``arcsine_grid`` of 128 to 4,096 cells, a power of two, for which the sum of both errors is
        least. It depends on n, the budget and the number of groups, which are public.
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
    (10, 15.1, 0.73)
    """
    _check.unweighted("sample_weight", sample_weight)
    chosen, minimum = grid_of_probabilities(grid, FINEST), check_minimum(minimum_expected)
    check_score_grid(chosen)
    columns = in_memory(y_true, y_prob)
    counts = score_counts(*columns, chosen, pos_label=pos_label, nan_policy=nan_policy)
    groups = check_groups(groups, int(counts.sum()), fitted)
    check_testable(chosen.size, minimum, int(counts.sum()), fitted)
    spender = asked_of_scores(mechanism, epsilon, rho, delta)

    def noise(cells: int) -> Mechanism | tuple[Mechanism, Mechanism]:
        # Not DAWA: lines through its buckets would become part of the table. So it is a tree's.
        return most_accurate(2 * cells, spender) if isinstance(spender, Allowance) else spender

    if grid is None:
        chosen, counts = suited(counts, groups, lambda cells: _variance(noise(cells), cells))
    own_mechanism = noise(chosen.size)
    with called("hosmer_lemeshow"):
        label = named(pos_label)
        curves = labelled_score_curves(counts, chosen, own_mechanism, label, rng=rng)
    test = tested(curves, groups, released_by(curves, own_mechanism), minimum, fitted)
    warn_of_few_groups(test, curves)
    return test


def warn_of_few_groups(test: HosmerLemeshow, curves: ScoreCurves) -> None:
    """Warn if so many groups were merged that the released test tells little or nothing."""
    left = test.merged.size
    if test.degrees_of_freedom >= 1 and left > 1:
        return
    raw = replace(curves, joint=curves.joint.as_released())
    if mistake_in_scores(raw):  # the user knows of that one
        return
    says = "compares totals alone"
    if test.degrees_of_freedom < 1:
        says = "has no degree of freedom and no p-value"
    warn(
        f"{amount(left, 'group')} of {test.merged.sum()} {'is' if left == 1 else 'are'} left, as"
        " groups with few expected positives or negatives are merged. The test"
        f" {says}: more records, a larger budget or a lower `minimum_expected` keep more groups"
    )


def suited(
    counts: NDArray[np.int64], groups: int, variance: Callable[[int], float]
) -> tuple[Grid, NDArray[np.int64]]:
    """Return the grid on which noise and positions in cells change the test least, and its counts.

    Parameters
    ----------
    counts
        (2 N,) the exact counts on ``arcsine_grid(FINEST)``. Only their sum n, which is public, has
        a part in the choice. The thresholds of the result are among those of this grid, because
        both numbers of cells are powers of two.
    groups
        Q, the number of groups.
    variance
        A function of the number of cells of the grid, N. It returns the mean variance of the noise
        in a cumulative count of the 2 N joint cells.

    Returns
    -------
    grid
        2^7 to 2^12 cells.
    counts
        The counts on this grid.

    Notes
    -----
    In a group of T = n / Q records with probabilities near 1/2, the difference between observed and
    expected positives is off by at most T / 2 cells, that is pi T / (4 N), and the noise in it has
    about half of the variance of a cumulative count. Near probabilities of 0.1 or 0.9, noise has
    six times as much weight beside it, and most models have many of these. So the square and three
    variances are added up. The sum falls, and then rises.
    """
    records, best, least = int(counts.sum()) / groups, _COARSEST, math.inf
    size = _COARSEST
    while size <= FINEST:
        try:
            noise = variance(size)
        except ParameterError:  # of a budget too small for so many cells
            if size == _COARSEST:
                raise
            break
        total = (math.pi * records / (4 * size)) ** 2 + 3 * noise
        if total >= least:
            break
        best, least, size = size, total, 2 * size
    return arcsine_grid(best), counts.reshape(-1, FINEST // best).sum(axis=1)


def _variance(mechanism: Mechanism | tuple[Mechanism, Mechanism], cells: int) -> float:
    """Return the mean variance of the noise of a given mechanism, or 0 if it depends on records."""
    if isinstance(mechanism, tuple):
        mean = sum(_mean_square(single, cells + 1) for single in mechanism) / 2
    else:
        mean = _mean_square(mechanism, 2 * cells)
    return mean if math.isfinite(mean) else 0.0


def _mean_square(mechanism: Mechanism, size: int) -> float:
    check_mechanism("mechanism", mechanism)
    return float(np.mean(np.square(mechanism.noise_deviation(size))))


def grid_of_probabilities(grid: Grid | None, default: int = _COARSEST) -> Grid:
    """Return the grid; None stands for ``default`` cells. Refuse one not for probabilities."""
    if grid is None:
        return arcsine_grid(default)
    check_grid_of_numbers("grid", grid)
    if grid.positions[0] < 0.0 or grid.positions[-1] != 1.0:
        raise ParameterError("grid", grid, "must have thresholds within [0, 1], the last one 1")
    return grid


def in_memory(y_true: Any, y_prob: Any) -> tuple[Column, Column]:
    """Return labels and probabilities as columns. Refuse columns in partitions."""
    columns = Column.of(y_true, "y_true"), Column.of(y_prob, "y_prob")
    for column in columns:
        column.check_in_memory()
    return columns
