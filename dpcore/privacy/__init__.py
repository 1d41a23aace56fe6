"""What a release costs: guarantees, how they add up, conversions, and budgets.

Imports ``noise`` for the noise that an allowance pays for, and ``records`` for the errors of files.
"""

from __future__ import annotations

from .budgets import Budget, BudgetError, Charge
from .composition import composed
from .concentrated import zcdp_delta, zcdp_epsilon, zcdp_rho
from .gaussian import discrete_gaussian_delta, gaussian_delta, gaussian_sigma
from .guarantees import Neighbours, Privacy, Relation, double_above
from .losses import Losses, ShiftedNoise
from .shuffling import local_epsilon, shuffled
from .subsampling import subsampled

__all__ = [
    "Budget",
    "BudgetError",
    "Charge",
    "Losses",
    "Neighbours",
    "Privacy",
    "Relation",
    "ShiftedNoise",
    "composed",
    "discrete_gaussian_delta",
    "double_above",
    "gaussian_delta",
    "gaussian_sigma",
    "local_epsilon",
    "shuffled",
    "subsampled",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_rho",
]
