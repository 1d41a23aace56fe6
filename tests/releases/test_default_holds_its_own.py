"""The default does not lose where its rules meet: classes in one row, delta beside epsilon."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Dawa

RNG = np.random.default_rng


@pytest.mark.needs_jit
@pytest.mark.parametrize("size", [100, 101, 128, 1000])
def test_positives_with_the_highest_scores_stay_positives(size):
    """The classes meet in the row at their highest scores: no bucket may join them."""
    negatives, positives = np.zeros(size, int), np.zeros(size, int)
    negatives[: size // 2] = 7000 // (size // 2)
    positives[size // 2 :] = 1500 // (size - size // 2)
    positives[-1] += 1500
    joint = np.concatenate([negatives, positives[::-1]])
    grid, rng = dp.Grid.uniform(0, 1, size), RNG(1)
    found = [dp.score_curves_from_counts(joint, grid, epsilon=0.03, rng=rng) for _ in range(100)]
    assert {each.joint.mechanism["name"] for each in found} == {"dawa"}
    total = positives.sum()
    errors = np.array([each.positives[-1] - total for each in found])
    stated = np.array([each.deviations[1][-1] for each in found])
    assert abs(errors.mean()) < 0.1 * total
    assert np.mean(np.abs(errors) <= 1.96 * stated) > 0.85


@pytest.mark.sample(3)
@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("size", "epsilon", "delta"), [(1024, 1.0, 1e-6), (4096, 0.1, 1e-9), (32768, 1.0, 1e-9)]
)
@pytest.mark.parametrize("signal", [80, 1000])
def test_a_delta_never_makes_scarce_data_worse(size, epsilon, delta, signal):
    n = round(signal / epsilon)
    at = (np.arange(size) + 0.5) / size
    share = np.exp(-(((at - 0.4) / 0.15) ** 2) / 2)
    counts = RNG(1).multinomial(n, share / share.sum())

    def error(**budget):
        best = dp.plan(size, n=n, epsilon=epsilon, **budget).best
        assert isinstance(best, Dawa)
        noisy = best.release(counts, rng=RNG(2), replicates=60)
        return np.sqrt(np.mean((noisy - np.cumsum(counts)) ** 2))

    assert error(delta=delta) < 1.1 * error()


def test_budgets_without_bounds_are_told_of_by_name():
    """No OverflowError, whatever finite epsilon and n are given."""
    counts = np.full(64, 10**6)
    for budget in ({"epsilon": 1e306}, {"epsilon": 1.7e308}, {"rho": 1.7e308}):
        assert Dawa(**budget).release(counts) == pytest.approx(np.cumsum(counts), abs=1)
        dp.plan(64, n=int(counts.sum()), **budget)
