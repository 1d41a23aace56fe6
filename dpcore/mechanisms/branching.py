"""The branchings of a hierarchy: how many children the nodes of each level have."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..kernels.trees import hierarchy_errors

__all__ = ["best_branching", "best_shares", "hb_branching", "trimmed", "uniform_branching"]

Branching = tuple[int, ...]


def trimmed(size: int, branching: Branching) -> Branching:
    """Return the branchings with the root's as small as ``size`` cells allow; 1: not needed.

    The branchings without the first must cover fewer cells than all. Otherwise the second level
    would be the root again.
    """
    return (-(-size // math.prod(branching[1:])), *branching[1:])


def uniform_branching(size: int, branching: int) -> Branching:
    """Return one branching on as many levels as ``size`` >= 2 cells need; the root's is smaller."""
    levels = 1
    while branching**levels < size:
        levels += 1
    return trimmed(size, (branching,) * levels)


def hb_branching(size: int) -> Branching:
    """Return the branching of HB (Qardaji, Yang & Li 2013, section 3).

    It minimises the average variance of range queries over full trees of height h = log_b N with
    equal budgets, which is proportional to (b - 1) h^3 - 2 (b + 1) h^2 / 3.
    """
    branchings = np.arange(2, max(3, min(size, 1024) + 1))
    heights = np.ceil(math.log(size) / np.log(branchings) - 1e-9)
    variances = (branchings - 1) * heights**3 - 2.0 * (branchings + 1) * heights**2 / 3.0
    return uniform_branching(size, int(branchings[np.argmin(variances)]))


def best_shares(
    branching: Branching, power: float, known_root: bool, units: NDArray[np.float64] | None = None
) -> tuple[float, list[float]]:
    """Return the least mean squared error of cumulative counts, and the levels' shares for it.

    See ``kernels.trees.hierarchy_errors.best_shares``: shares from the root on; a known root has 0.
    ``units`` are the variances of the levels with the whole budget; None: 1 for each.
    """
    shares, children = np.empty(len(branching) + 1), np.array(branching, np.int64)
    units = np.ones_like(shares) if units is None else units
    error = hierarchy_errors.best_shares(children, power, known_root, units, shares)
    return error, shares.tolist()


@lru_cache(maxsize=256)
def best_branching(size: int, power: float, known_root: bool) -> Branching:
    """Return the branchings with the least error that a local search finds, 2 cells or more.

    The search begins with the best two of the most even trees of all heights. It enlarges one
    level's branching and reduces another's as long as that lowers the closed-form error with the
    best shares. It takes some milliseconds and does not use the data.
    """
    known: dict[Branching, float] = {}

    def error(branching: Branching) -> float:
        if branching not in known:
            known[branching] = best_shares(branching, power, known_root)[0]
        return known[branching]

    heights = range(1, max(1, math.ceil(math.log2(size))) + 1)
    starts = sorted({_even(size, height) for height in heights}, key=error)
    return min((_descend(start, size, error) for start in starts[:2]), key=error)


def _descend(here: Branching, size: int, error: Callable[[Branching], float]) -> Branching:
    while True:
        best = min(_neighbours(here, size), key=error, default=here)
        if not error(best) < error(here):
            return here
        here = best


def _even(size: int, height: int) -> Branching:
    """Return nearly equal branchings whose product is at least ``size``, and only just."""
    branching = [max(2, math.ceil(size ** (1 / height)))] * height
    for level in range(height):
        rest = math.prod(branching) // branching[level]
        branching[level] = max(2, -(-size // rest))
    return trimmed(size, tuple(branching))


def _neighbours(branching: Branching, size: int) -> Iterator[Branching]:
    """Yield trees in which one level's branching grew and another's shrank accordingly."""
    for grown in range(len(branching)):
        for shrunk in range(len(branching)):
            for factor in (2, 3 / 2, 4 / 3, 5 / 4, 1):
                changed = list(branching)
                changed[grown] = max(changed[grown] + 1, round(changed[grown] * factor))
                rest = math.prod(changed) // changed[shrunk]
                changed[shrunk] = max(2, -(-size // rest))
                if shrunk != grown and trimmed(size, tuple(changed))[0] > 1:
                    yield trimmed(size, tuple(changed))
