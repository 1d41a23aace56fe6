"""The cells of scores and durations if only their bounds are given: chosen by public numbers."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..mechanisms import Mechanism
from ..privacy.allowance import Allowance
from ..summaries.grid import MOST_CELLS
from .most_accurate import error_of
from .survival_grid import with_noise_alone

__all__ = ["FINEST_SCORES", "FINEST_TIMES", "joined_in_both", "suited_to_survival_scores"]

FINEST_SCORES: Final = 256
_PER_CELL: Final = 4  # cells of scores for each cell of durations
FINEST_TIMES: Final = FINEST_SCORES // _PER_CELL
_COARSEST: Final = 8
_NOISE: Final = 4.0  # of n / S^2, the most on a grid with S cells of scores


def joined_in_both(counts: NDArray[np.int64], shape: tuple[int, int]) -> NDArray[np.int64]:
    """Return counts, (S, 2 N), of so many cells of scores and durations, from those on finer ones.

    Parameters
    ----------
    counts
        From ``survival_score_counts``, over grids whose cells can be joined to these.
    shape
        (S, N).
    """
    scores, times = shape
    parts = counts.reshape(scores, counts.shape[0] // scores, 2 * times, -1)
    return np.asarray(parts.sum(axis=(1, 3)))


def suited_to_survival_scores(
    n: int, spender: Mechanism | Allowance, scores: int | None, times: int | None
) -> tuple[tuple[int, int], Mechanism]:
    """Return how many cells scores and durations of n records get, and what releases them.

    Parameters
    ----------
    n
        The number of records, which is public.
    spender
        The mechanism, or what the default one may spend.
    scores, times
        The numbers of cells that are given. None: to be chosen.

    Raises
    ------
    ParameterError
        The budget is too small, or there are too many cells.

    Notes
    -----
    Ties of scores cost areas an error of about 1 / S^2 for S cells, and noise one of that of a sum
    of cells, as a share of n. So S is the largest power of 2 from 8 to 256 for which the root mean
    square of the noise in cumulative counts is at most 4 n / S^2: 8 for n epsilon = 100, 16 for
    1,000, 32 for 10,000 and 64 for 100,000. Durations, whose cells matter less, get a quarter of
    as many. The number 4 was chosen by simulation; docs/measured/survival-scores.md has errors. The
    default is a histogram or a tree, whose error is noise alone, so that intervals know its law.
    """
    chosen = scores or _COARSEST, times or _COARSEST // _PER_CELL
    if 2 * math.prod(chosen) > MOST_CELLS:
        most = MOST_CELLS // (2 * chosen[0])
        what = f"must have at most {most} cells of durations for {chosen[0]} of scores"
        raise ParameterError("grid", chosen[1], what)
    mechanism = with_noise_alone(2 * math.prod(chosen), spender)
    width = 2 * _COARSEST
    while (scores is None or times is None) and width <= FINEST_SCORES:
        shape = scores or width, times or width // _PER_CELL
        cells = 2 * math.prod(shape)
        with suppress(ParameterError):
            finer = with_noise_alone(cells, spender)
            if not error_of(finer, cells) <= _NOISE * n / width**2:
                break
            chosen, mechanism = shape, finer
        width *= 2
    return chosen, mechanism
