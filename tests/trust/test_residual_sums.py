"""Moments of residuals by bins, from released sums."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dpcore as dp
from dpcore.trust import Central, DistributedNoise, SecureAggregation, vector_sum
from dpcore.trust.functions import Groups, Identity, One, Product, ResidualSums, Together
from tests.trust.rounds import RNG

EDGES = [0.0, 0.5, 1.0, 2.0]
OF = ResidualSums(EDGES, reach=6)


def records(n, seed=1):
    rng = RNG(seed)
    predicted = rng.uniform(0, 2, n)
    return np.column_stack([predicted, rng.normal(0.4, 1, n) * predicted])


def test_without_noise_moments_are_those_of_the_records():
    given = records(900)
    given[:3] = [[-1e-9, 5.0], [2.5, 5.0], [np.inf, 1.0]]  # these are in no bin
    given[3] = [2.0, 99.0]  # clipped
    found = dp.trust.residual_moments(vector_sum(given, OF, SecureAggregation(), rng=RNG(1)))
    assert np.all(found.noise_deviation < 1e-6)
    for at, (lower, upper) in enumerate(itertools.pairwise(EDGES)):
        own = given[(given[:, 0] > lower) & (given[:, 0] <= upper), 1].clip(-6, 6)
        assert found.counts[at] == pytest.approx(own.size, rel=1e-6)
        assert found.mean[at] == pytest.approx(own.mean(), rel=1e-5)
        assert found.deviation[at] == pytest.approx(own.std(), rel=1e-5)
        assert found.standard_error[at] == pytest.approx(own.std() / own.size**0.5, rel=1e-5)
    assert list(found.table["upper"]) == EDGES[1:]


@pytest.mark.parametrize("lower", [0.0, -np.inf])
def test_records_at_the_lower_edge_are_in_the_first_bin(lower):
    given = records(900)
    given[:300, 0] = lower  # as of a model that never predicts less
    of = ResidualSums([lower, *EDGES[1:]], reach=6)
    found = dp.trust.residual_moments(vector_sum(given, of, SecureAggregation(), rng=RNG(1)))
    own = given[given[:, 0] <= 0.5, 1].clip(-6, 6)
    assert found.counts[0] == pytest.approx(own.size, rel=1e-6)
    assert found.mean[0] == pytest.approx(own.mean(), rel=1e-5)
    assert found.counts.sum() == pytest.approx(900, rel=1e-6)


@pytest.mark.parametrize("budget", [{"epsilon": 0.5}, {"rho": 0.1}])
def test_means_are_as_far_off_as_stated(budget):
    given, trust = records(3000), DistributedNoise(**budget, clients=30, records=None)
    exact = dp.trust.residual_moments(vector_sum(given, OF, SecureAggregation(), rng=RNG(1)))
    found = [
        dp.trust.residual_moments(vector_sum(given, OF, trust, rng=RNG(s))) for s in range(200)
    ]
    off = np.array([one.mean for one in found]) - exact.mean
    assert np.allclose(off.std(axis=0), found[0].noise_deviation, rtol=0.25)
    assert found[0].privacy.simulated


@pytest.mark.parametrize(("budget", "less"), [({"epsilon": 1.0}, 0.6), ({"rho": 0.1}, 1.001)])
def test_parts_of_one_need_less_noise_than_moments_themselves(budget, less):
    v = Identity(-1, 1, at=1)
    plain = Product(Groups(EDGES), Together([One(), v, Product(v, v)]))
    noise = [Central(**budget).sum_noise(of).deviation(1, is_whole=True)[0] for of in (OF, plain)]
    assert 3**0.5 * noise[0] <= less * noise[1]  # of counts; sums of residuals have less


def test_bins_without_records_and_other_sums():
    found = dp.trust.residual_moments(vector_sum([[9.0, 9.0]], OF, SecureAggregation(), rng=RNG(1)))
    assert np.isnan(found.mean).all()
    assert np.isnan(found.standard_error).all()
    numbers = vector_sum([1.0], Identity(0, 1), Central(1.0), rng=RNG(1))
    with pytest.raises(dp.ParameterError, match="ResidualSums"):
        dp.trust.residual_moments(numbers)
    for edges in ([0.0], [1, 0], "ab", [0, np.nan, 1]):
        with pytest.raises(dp.DpcoreError, match="edges"):
            ResidualSums(edges, 1.0)
    for reach in (0.0, -1.0, np.inf, "1"):
        with pytest.raises(dp.DpcoreError, match="reach"):
            ResidualSums(EDGES, reach)
