"""Noise: where random bits come from, exact laws of integers, and draws from them.

``privacy`` says what a law costs. This room imports ``kernels`` and no other room.
"""

from __future__ import annotations

from .laws import (
    DiscreteGaussian,
    DiscreteLaplace,
    discrete_gaussian,
    discrete_laplace,
    rounded_up,
)

__all__ = [
    "DiscreteGaussian",
    "DiscreteLaplace",
    "discrete_gaussian",
    "discrete_laplace",
    "rounded_up",
]
