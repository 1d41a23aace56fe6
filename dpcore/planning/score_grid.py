"""The grid and the mechanism of released scores if none is given: chosen by public numbers."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..mechanisms import Histogram, Mechanism
from ..privacy.allowance import Allowance
from ..summaries.grid import Grid
from .most_accurate import data_aware, error_of, most_accurate, pays

__all__ = [
    "OF_A_GROUP",
    "Spender",
    "grid_of_groups",
    "of_scores",
    "on_grid",
    "score_grid",
    "suited_to_mechanism",
    "suited_to_scores",
]

Spender = Mechanism | tuple[Mechanism, Mechanism] | Allowance

_EVEN: Final = 40  # cells where records or budget are so scarce that DAWA joins them
_FIRST: Final = 500.0  # the signal of the coarsest grid, where DAWA no longer pays
_FINEST: Final = 8
_HALVINGS: Final = 3
_NOISE: Final = 1 / 12  # of a cell's mean share of the records: the most on a grid
OF_A_GROUP: Final = 10_000  # records, where the number in each group is not public
_MOST_AT_ONCE: Final = 200  # joint cells up to which a histogram is better than a tree


@cache
def score_grid(doublings: int = _FINEST) -> Grid:
    """Return thresholds for probabilities: tenths, divided, and finer towards 0 and 1.

    Parameters
    ----------
    doublings
        k from 0 to 8. Each tenth has 2^k even cells. Both end cells are halved towards 0 and 1
        three times more, because the scores of a rare class lie there.

    Returns
    -------
    Grid
        10 2^k + 6 cells. Its thresholds are among those of more doublings.

    Examples
    --------
    >>> score_grid(0).thresholds[:5], score_grid(0).size, score_grid().size
    (array([0.0125, 0.025 , 0.05  , 0.1   , 0.2   ]), 16, 2566)
    """
    even = 10 * 2**doublings
    parts = even * 2.0 ** np.arange(_HALVINGS, 0, -1)
    inner = np.arange(1, even) / even
    return Grid(np.concatenate([1 / parts, inner, ((parts - 1) / parts)[::-1], [1.0]]))


def suited_to_scores(n: int, budget: Allowance) -> tuple[Grid, Mechanism]:
    """Return the grid and the mechanism for the scores of n records, from 0 to 1.

    Parameters
    ----------
    n
        The number of records, which is public.
    budget
        What the mechanism may spend.

    Raises
    ------
    ParameterError
        The budget is too small.

    Notes
    -----
    Rates and calibration errors are differences of cumulative counts. Noise in each cell alone
    changes them less than that of a tree, which is best for cumulative counts themselves. So the
    mechanism is a histogram as long as there are few cells. Their number grows with the root of
    n epsilon: noise falls with n epsilon, and the error of a cell with the square of its width. All
    constants are measured (docs/measured/roc-accuracy.md).
    """
    buckets = data_aware(2 * _EVEN, budget, n)
    if buckets and pays(buckets, 2 * _EVEN, n):
        return Grid.uniform(0, 1, _EVEN), buckets
    grid = score_grid(_doublings(budget.signal(n)))
    return grid, of_scores(2 * grid.size, budget, n)


def suited_to_mechanism(n: int, given: Mechanism | tuple[Mechanism, Mechanism]) -> Grid:
    """Return the grid for the scores of n records by a given mechanism, or one for each class.

    Notes
    -----
    A mechanism, also one of a trust model, says how much noise it adds. The grid has 10 2^k + 6
    cells, with the largest k up to which the root mean square of the noise in cumulative counts is
    at most n / (120 2^k): a twelfth of what a cell holds on average. The constant was chosen by
    simulation with trees, histograms and local noise; others were at most as good.
    """
    both = given if isinstance(given, tuple) else (given,)
    chosen = score_grid(0)
    for doublings in range(1, _FINEST + 1):
        finer = score_grid(doublings)
        # Alone, each class has one more cell, for the records of the other class.
        cells = finer.size + 1 if len(both) == 2 else 2 * finer.size
        if max(_noise(each, cells) for each in both) > _NOISE * n / (10 * 2**doublings):
            break
        chosen = finer
    return chosen


def grid_of_groups(spender: Mechanism | Allowance) -> Grid:
    """Return the grid for scores by groups: that of 10,000 records, whatever the groups hold.

    Groups are compared on one grid, and their sizes may be private.
    """
    if isinstance(spender, Mechanism):
        return suited_to_mechanism(OF_A_GROUP, spender)
    return score_grid(_doublings(spender.signal(OF_A_GROUP)))


def of_scores(cells: int, budget: Allowance, n: int | None = None) -> Mechanism:
    """Return the mechanism for scores in this number of joint cells: a histogram for few cells."""
    if cells > _MOST_AT_ONCE:
        return most_accurate(cells, budget, n)
    options = [Histogram(**each.arguments) for each in (budget.pure, budget) if each is not None]
    return min(options, key=lambda option: error_of(option, cells))


def on_grid(counts: NDArray[np.int64], grid: Grid) -> NDArray[np.int64]:
    """Return counts of scores on a coarser grid, (2 N,), from those on ``score_grid()``.

    The thresholds of the coarser grid must be among those of the fine one.
    """
    ends = np.searchsorted(score_grid().thresholds, grid.thresholds)
    starts = np.append(0, ends[:-1] + 1)
    size = score_grid().size
    negatives, positives = counts[:size], counts[size:][::-1]
    joined = [np.add.reduceat(part, starts) for part in (negatives, positives)]
    return np.concatenate([joined[0], joined[1][::-1]])


def _doublings(signal: float) -> int:
    """Return how often the tenths are halved: once more for each four times the signal."""
    steps = math.log2(min(max(signal, _FIRST), 2.0**100) / _FIRST) / 2
    return min(int(steps), _FINEST)


def _noise(mechanism: Mechanism, cells: int) -> float:
    """Return the root mean square of the noise; infinity if there cannot be so many cells.

    Where the error depends on the records, take that of the default for the same guarantee.
    """
    with suppress(ParameterError):
        noise = error_of(mechanism, cells)
        if math.isfinite(noise):
            return noise
        cost = mechanism.privacy
        if cost.epsilon is None:
            budget = Allowance.checked(None, cost.rho, "replace-one")
        else:
            budget = Allowance.checked(cost.epsilon, None, "replace-one", cost.delta or None)
        return error_of(most_accurate(cells, budget), cells)
    return math.inf
