"""Tests of counts: without noise they are Pearson's, and with noise they keep their level."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import dpcore as dp

EXACT = {"epsilon": 2.0**40}
SHARES = np.array([0.5, 0.3, 0.2])


def sample(rng, n, shares=SHARES):
    return rng.choice(len(shares), n, p=shares)


def test_without_noise_it_is_that_of_pearson():
    rng = np.random.default_rng(1)
    first, second = (dp.counts(sample(rng, n), range(3), **EXACT) for n in (200, 350))
    of_law = dp.chi_square_test(first, SHARES, simulations=4999)
    wanted = scipy.stats.chisquare(first.values, 200 * SHARES)
    assert of_law.statistic == pytest.approx(wanted.statistic, rel=1e-9)
    assert of_law.pvalue == pytest.approx(wanted.pvalue, abs=0.04)
    of_two = dp.chi_square_test(first, second, simulations=4999)
    table = scipy.stats.chi2_contingency(np.stack([first.values, second.values]), correction=False)
    assert of_two.statistic == pytest.approx(table.statistic, rel=1e-9)
    assert of_two.pvalue == pytest.approx(table.pvalue, abs=0.04)


@pytest.mark.parametrize(
    "budget", [{"epsilon": 0.1}, {"rho": 0.01}, {"epsilon": 0.2, "neighbours": "add-or-remove-one"}]
)
def test_of_true_hypotheses_few_are_rejected_and_of_wrong_ones_many(budget):
    """Of 200 tests at 10 %, 20 are expected; more than 38 are 4.2 standard errors off."""
    rng, rejected = np.random.default_rng(2), np.zeros(3)
    for _ in range(200):
        first, second, other = (
            dp.counts(sample(rng, 600, shares), range(3), **budget, rng=rng)
            for shares in (SHARES, SHARES, [0.2, 0.3, 0.5])
        )
        given = {"simulations": 99}
        tests = [
            dp.chi_square_test(first, SHARES, **given),
            dp.chi_square_test(first, second, **given),
            dp.chi_square_test(first, other, **given),
        ]
        rejected += [test.pvalue <= 0.1 for test in tests]
    assert (rejected[:2] <= 38).all()
    assert rejected[2] >= 180


def test_same_counts_have_the_same_p_value_and_bad_arguments_are_refused():
    rng = np.random.default_rng(3)
    first, second = (dp.counts(sample(rng, 300), range(3), epsilon=1.0, rng=rng) for _ in range(2))
    assert dp.chi_square_test(first, second) == dp.chi_square_test(first, second)
    other = dp.counts([1, 2], [1, 2], epsilon=1.0)
    for wrong in (first, other, [0.5, 0.5], [0.5, 0.4, 0.2], [1.0, 0.0, 0.0], [np.nan] * 3):
        with pytest.raises(dp.ParameterError, match="other"):
            dp.chi_square_test(first, wrong)
    with pytest.raises(dp.ParameterError, match="two categories"):
        dp.chi_square_test(dp.counts([1], [1], epsilon=1.0), [1.0])
    with pytest.raises(dp.DtypeError, match="counts"):
        dp.chi_square_test([10, 20], [0.5, 0.5])
