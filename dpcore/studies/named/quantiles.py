"""Errors of deciles: read off a released curve, or released alone.

A curve gives all quantiles for one budget. Quantiles that are released alone are drawn one between
two others (docs/proofs/selection.md, docs/guides/quantiles.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...releases.cdf import cdf
from ...releases.quantiles import quantiles as released_quantiles
from ...summaries.grid import Grid
from .. import study

__all__ = ["quantiles"]

DECILES = np.arange(1, 10) / 10
Reals = NDArray[np.float64]


def normal(n: int, rng: np.random.Generator) -> Reals:
    """Normal values, within about three deviations of 1/2."""
    return rng.normal(0.5, 0.15, n)


def skewed(n: int, rng: np.random.Generator) -> Reals:
    """Exponential values, most of them small."""
    return rng.exponential(0.1, n)


def of_curve(values: Reals, grid: Grid, epsilon: float, rng: np.random.Generator) -> Reals:
    """Deciles of a released curve."""
    return cdf(values, grid, epsilon=epsilon, rng=rng).quantile(DECILES)


def alone(values: Reals, grid: Grid, epsilon: float, rng: np.random.Generator) -> Reals:
    """Deciles that are released alone."""
    how: dict[str, Any] = {"epsilon": epsilon, "method": "recursion", "rng": rng}
    released = released_quantiles(values, DECILES, grid, **how)
    return np.asarray(released.values)


@study(
    {
        "n": [1_000, 10_000],
        "epsilon": [0.1, 1.0],
        "cells": [1024],
        "data": {"normal": normal, "skewed": skewed},
        "release": {"curve": of_curve, "alone": alone},
    }
)
def quantiles(
    n: int,
    epsilon: float,
    cells: int,
    data: Callable[..., Reals],
    release: Callable[..., Reals],
    rng: np.random.Generator,
) -> Mapping[str, Any]:
    """Errors of deciles: read off a released curve, or released alone.

    Against the deciles of the same records, on a grid of [0, 1]: ``error`` is the mean over the
    nine deciles, and ``largest_error`` the largest of them.
    """
    values = data(n, rng)
    released = release(values, Grid.uniform(0, 1, cells), epsilon, rng)
    errors = np.abs(released - np.quantile(values, DECILES, method="inverted_cdf"))
    return {"error": errors.mean(), "largest_error": errors.max()}
