"""What a release costs: guarantees, how they add up, conversions, and budgets.

Imports ``noise``, for the law that a budget buys, and no other room.
"""

from __future__ import annotations

from .concentrated import zcdp_delta, zcdp_epsilon, zcdp_rho
from .gaussian import discrete_gaussian_delta, gaussian_delta, gaussian_sigma
from .guarantees import Neighbours, Privacy, Relation, double_above

__all__ = [
    "Neighbours",
    "Privacy",
    "Relation",
    "discrete_gaussian_delta",
    "double_above",
    "gaussian_delta",
    "gaussian_sigma",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_rho",
]
