"""The grid of released durations if only its bounds are given: chosen by public numbers."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..mechanisms import Mechanism
from ..privacy.allowance import Allowance
from ..summaries.grid import Grid
from .most_accurate import error_of
from .score_grid import of_scores

__all__ = ["coarser", "fine_grid", "joined", "suited_to_survival", "with_noise_alone"]

_FINEST: Final = 3072  # which all the sizes divide
_SIZES: Final = tuple(sorted({k * 2**i for k in (2, 3) for i in range(1, 10)}))  # 4 to 1,536
_NOISE: Final = 0.4  # of a cell's mean share of the records: the most on a grid


def fine_grid(lower: Any, upper: Any) -> Grid:
    """Return the grid on which durations are counted before the number of records is known."""
    return Grid.uniform(lower, upper, _FINEST)


def coarser(fine: Grid, size: int) -> Grid:
    """Return the grid of so many cells, each of which is a whole number of those of a fine grid."""
    ends = np.arange(1, size + 1) * (fine.size // size) - 1
    return Grid(fine.thresholds[ends], lower=fine.lower)


def joined(counts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the counts of a row of classes on a grid of so many cells from those on a fine one."""
    return np.asarray(counts.reshape(-1, _FINEST // size).sum(axis=1))


def suited_to_survival(
    n: int, spender: Mechanism | Allowance, kinds: int = 1
) -> tuple[int, Mechanism]:
    """Return how many cells durations of n records get, and the mechanism for all classes.

    Parameters
    ----------
    n
        The number of records, which is public.
    spender
        The mechanism, or what the default one may spend.
    kinds
        The number of kinds of events. With those that are censored, there is one more class.

    Raises
    ------
    ParameterError
        The budget is too small.

    Notes
    -----
    The number of cells is the largest one whose cumulative counts have noise of at most 0.4 of a
    cell's mean share of the records, in root mean square. More cells show more of the curve, and
    have more noise. The number 0.4 was chosen by simulation of one kind, for hazards that are
    constant, rise, fall, do both, or end, with 0 to 70 % censored; docs/measured/survival.md has
    the errors. The default is a histogram or a tree, whose error is noise alone, so that intervals
    know its law.
    """
    classes = kinds + 1
    chosen = _SIZES[0], with_noise_alone(classes * _SIZES[0], spender)
    for size in _SIZES[1:]:
        with suppress(ParameterError):
            mechanism = with_noise_alone(classes * size, spender)
            noise = error_of(mechanism, classes * size)
            if not math.isfinite(noise) or noise > _NOISE * n / size:
                break
            chosen = size, mechanism
    return chosen


def with_noise_alone(cells: int, spender: Mechanism | Allowance) -> Mechanism:
    """Return the mechanism for a row of so many cells: without one, one of noise alone."""
    return of_scores(cells, spender) if isinstance(spender, Allowance) else spender
