"""Up to how many quantiles are better drawn one by one than read off a curve."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import Final

from ..errors import ParameterError
from ..mechanisms.cuts import MOST_COUNTED, expected_error, planned
from ..privacy.allowance import Allowance
from ..privacy.guarantees import Neighbours
from .most_accurate import error_of, most_accurate

__all__ = ["few_drawn"]

_MOST: Final = 1024
# Measured (docs/guides/quantiles.md): quantiles of curves are off by about so much of the
# closed-form error of counts. Where n epsilon is small, buckets do better: by about _BUCKETS
# (n epsilon)^_POWER / epsilon.
_OF_COUNTS: Final = 0.75
_BUCKETS: Final = 2.0
_POWER: Final = 0.2


@lru_cache(maxsize=256)
def few_drawn(size: int, budget: Allowance, n: int | None) -> int:
    """Return the largest number of quantiles, up to 1,024, that are better drawn; 0: none.

    Parameters
    ----------
    size
        The number of cells.
    budget
        Epsilon or rho.
    n
        The number of records if it is public, or None.
    """
    if n is not None and n > MOST_COUNTED:
        return 0
    try:
        of_curve = _OF_COUNTS * error_of(most_accurate(size, budget), size)
    except ParameterError:  # the budget is too small for a curve
        return _MOST
    epsilon = float(budget.epsilon or sqrt(8 * (budget.rho or 0)))
    if n is not None:
        of_curve = min(of_curve, _BUCKETS * (n * epsilon) ** _POWER / epsilon)
    few, beyond = 0, _MOST + 1
    while beyond - few > 1:
        middle = (few + beyond) // 2
        unit = _error(middle, budget.epsilon is not None, budget.total_is_public)
        few, beyond = (middle, beyond) if unit / epsilon <= of_curve else (few, middle)
    return few


@lru_cache(maxsize=256)
def _error(m: int, is_pure: bool, is_public: bool) -> float:
    """Return the error of m quantiles for epsilon = 1, or rho = 1 / 8."""
    neighbours: Neighbours = "replace-one" if is_public else "add-or-remove-one"
    budget = Allowance.checked(1 if is_pure else None, None if is_pure else 0.125, neighbours)
    return expected_error(planned([(i + 1) / (m + 1) for i in range(m)], budget))
