"""Comparisons of curves that are flat where their quantiles are: what holds, and what does not."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Hierarchy

pytestmark = pytest.mark.needs_jit

GRID = dp.Grid.uniform(0, 1, 64)


def test_medians_between_two_values_are_told_apart_too_often_and_curves_are_not():
    rng, n, found = np.random.default_rng(7), 100, []
    for _ in range(150):
        samples = (np.where(rng.random(n) < 0.5, 0.1, 0.9) for _ in range(2))
        curves = [dp.cdf(values, GRID, Hierarchy(1.0), rng=rng) for values in samples]
        each = dp.compare(*curves, probabilities=[0.25, 0.5], simulations=39, rng=rng)
        found.append((each.p_value, *each.p_values))
    of_curves, of_quartiles, of_medians = np.mean(np.array(found) <= 0.05, axis=0)
    most = 0.05 + 4 * np.sqrt(0.05 * 0.95 / 150)
    assert of_curves < most
    assert of_quartiles < most
    assert of_medians < 0.3  # docs/guides/several-curves.md, section "Limits"
