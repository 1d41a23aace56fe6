"""Log-rank tests of released curves: classical without noise, and of their level with it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import dpcore as dp
from tests.reference.log_rank import log_rank

EXACT, HISTOGRAM = dp.mechanisms.NoNoise(), dp.mechanisms.Histogram
DAYS = dp.Grid.integers(0, 30)


def sample(rng, n, mean=10.0, last=40.0):
    """Whole durations, of which more are censored the smaller ``last`` is."""
    until_event, until_end = rng.exponential(mean, n), rng.uniform(0, last, n)
    durations = np.minimum(until_event, until_end).astype(int)
    return durations, (until_event <= until_end) & (durations <= 30)


def released(rng, n, mean=10.0, last=40.0, **how):
    return dp.survival(*sample(rng, n, mean, last), DAYS, **how, rng=rng)


def test_without_noise_it_is_that_of_scipy():
    rng = np.random.default_rng(1)
    samples = sample(rng, 300, 10.0), sample(rng, 200, 13.0, 60.0)
    found = dp.log_rank_test(*(dp.survival(*one, DAYS, EXACT) for one in samples), simulations=4999)
    wanted = scipy.stats.logrank(
        *(scipy.stats.CensoredData.right_censored(np.minimum(t, 30), ~e) for t, e in samples)
    )
    assert found.statistic == pytest.approx(wanted.statistic**2, rel=1e-9)
    assert found.pvalue == pytest.approx(wanted.pvalue, abs=0.02)
    assert found.name == "log-rank"
    assert found.n == (300, 200)
    assert found.simulations == 4999


@pytest.mark.parametrize("weights", ["wilcoxon", "tarone-ware", "peto", (1, 0), (0.5, 2.0)])
def test_without_noise_strata_and_several_groups_are_those_of_the_records(weights):
    rng = np.random.default_rng(2)
    strata = [[sample(rng, 60, 8.0 + group) for group in range(3)] for _ in range(2)]
    groups = [
        [dp.survival(*strata[at][group], DAYS, EXACT) for at in range(2)] for group in range(3)
    ]
    found = dp.log_rank_test(*groups, weights=weights, simulations=19)
    z, covariances = np.zeros(3), np.zeros((3, 3))
    for stratum in strata:
        durations = np.concatenate([np.minimum(t, 30) for t, _ in stratum])
        events, of = np.concatenate([e for _, e in stratum]), np.repeat(range(3), 60)
        own = log_rank(durations.tolist(), events.tolist(), of.tolist(), 31, weights)
        z, covariances = z + own[0], covariances + own[1]
    wanted = z[:2] @ np.linalg.solve(covariances[:2, :2], z[:2])
    assert found.statistic == pytest.approx(wanted, rel=1e-9)
    assert found.n == (60,) * 6
    assert found.name == (weights if isinstance(weights, str) else "fleming-harrington")


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("mechanism", [HISTOGRAM(0.3), HISTOGRAM(rho=0.1)])
def test_of_equal_hazards_few_are_rejected_and_of_unequal_ones_many(mechanism):
    """Of 100 tests at 10 %, 10 are expected; more than 22 are 4 standard errors off.

    Censoring differs between the groups.
    """
    rng, rejected = np.random.default_rng(3), np.zeros(2)
    for _ in range(100):
        first, second, other = (
            released(rng, n, mean, last, mechanism=mechanism)
            for n, mean, last in ((1500, 10.0, 30.0), (1000, 10.0, 60.0), (1500, 16.0, 60.0))
        )
        tests = (dp.log_rank_test(first, one, simulations=49) for one in (second, other))
        rejected += [test.pvalue <= 0.1 for test in tests]
    assert 1 <= rejected[0] <= 22
    assert rejected[1] >= 90


def test_unequal_censoring_of_wide_cells_does_not_pass_for_unequal_hazards():
    """Of 200 tests at 5 %, 10 are expected; more than 25 are 5 standard errors off.

    If censorings count as after the events of their cell, 8 in 10 are rejected.
    """
    rng, rejected = np.random.default_rng(7), 0
    for _ in range(200):
        curves = []
        for scale in (1.8, 0.3):
            until_event, until_end = rng.exponential(0.35, 1000), rng.exponential(scale, 1000)
            durations, event = np.minimum(until_event, until_end), until_event <= until_end
            curves.append(dp.survival(durations, event, dp.Grid.uniform(0, 1, 8), EXACT))
        rejected += dp.log_rank_test(*curves, simulations=99).pvalue <= 0.05
    assert 1 <= rejected <= 25


@pytest.mark.parametrize("cells", [512, 2048])
def test_on_fine_cells_it_is_that_of_the_records(cells):
    rng = np.random.default_rng(8)
    groups = []
    for mean, scale in ((0.35, 1.8), (0.4, 0.3)):
        until_event, until_end = rng.exponential(mean, 400), rng.exponential(scale, 400)
        until_end = np.minimum(until_end, 1.0)
        groups.append((np.minimum(until_event, until_end), until_event <= until_end))
    curves = (dp.survival(*one, dp.Grid.uniform(0, 1, cells), EXACT) for one in groups)
    found = dp.log_rank_test(*curves, simulations=19)
    wanted = scipy.stats.logrank(
        *(scipy.stats.CensoredData.right_censored(t, ~e) for t, e in groups)
    )
    assert found.statistic == pytest.approx(wanted.statistic**2, rel=0.02)


@pytest.mark.needs_jit
def test_mechanisms_that_choose_buckets_are_simulated_too():
    rng = np.random.default_rng(4)
    dawa = dp.mechanisms.Dawa(epsilon=1.0)
    first, second, other = (
        dp.survival(*sample(rng, 800, mean), DAYS, dawa, rng=rng) for mean in (10.0, 10.0, 20.0)
    )
    assert dp.log_rank_test(first, second, simulations=19).pvalue > 0.05
    assert dp.log_rank_test(first, other, simulations=19).pvalue == 0.05


def test_same_curves_have_the_same_p_value_and_the_result_is_stored():
    rng = np.random.default_rng(5)
    curves = [released(rng, 300, epsilon=1.0) for _ in range(3)]
    found = dp.log_rank_test(*curves, weights="peto", simulations=49)
    assert found == dp.log_rank_test(*curves, weights="peto", simulations=49)
    assert dp.DistributionTest.from_json(found.to_json()) == found
    assert repr(found).endswith("300 and 300 and 300 records>")
    assert found != dp.log_rank_test(*curves, weights="peto", simulations=49, rng=rng)


def test_bad_arguments_are_refused():
    rng = np.random.default_rng(6)
    first, second = (released(rng, 50, epsilon=1.0) for _ in range(2))
    wider = dp.survival([1, 2], [1, 0], dp.Grid.integers(0, 31), epsilon=1.0)
    for wrong, what in (
        (wider, "grid"),
        (first, "another release"),
        ([second, first], "each stratum"),
        ([], "one curve"),
    ):
        with pytest.raises(dp.ParameterError, match=what):
            dp.log_rank_test(first, wrong)
    with pytest.raises(dp.DtypeError, match="Survival"):
        dp.log_rank_test(first, [1, 2, 3])
    for wrong in ("gehan", (-1, 0), (0, np.nan), (0, 99)):
        with pytest.raises(dp.ParameterError, match="weights"):
            dp.log_rank_test(first, second, weights=wrong)
    for wrong in (1.0, (1, 2, 3), ("1", 0)):
        with pytest.raises(dp.DtypeError, match="weights"):
            dp.log_rank_test(first, second, weights=wrong)
    with pytest.raises(dp.ParameterError, match="simulations"):
        dp.log_rank_test(first, second, simulations=1)
