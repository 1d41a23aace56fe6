"""Eq. 3 by the general solver. (The solvers that compete with it come with the next release.)

Run: pytest benchmarks/bench_smoothing.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("size", [2**10, 2**12])
@pytest.mark.benchmark(group="smoothing, epsilon = 1")
def test_osqp(measure, norm, size):
    rng = np.random.default_rng(1)
    counts = rng.poisson(3, size)
    noisy = dp.mechanisms.Dyadic(1.0).release(counts, rng=rng)[:-1]
    result = measure(lambda: dp.smooth(noisy, counts.sum(), norm=norm), rounds=5)
    assert result.is_optimal()


@pytest.mark.benchmark(group="isotonic regression, 2^15 cells")
def test_isotonic(measure):
    rng = np.random.default_rng(1)
    counts = rng.poisson(3, 2**15)
    curve = dp.cdf_from_counts(counts, dp.Grid.uniform(0, 1, 2**15), epsilon=1.0, rng=rng)
    measure(curve.isotonic)
