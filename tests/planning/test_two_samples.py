"""Two released curves and several: statistics of SciPy, sizes, power, equivalence, Holm."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import dpcore as dp
from dpcore.mechanisms import Dawa, Hierarchy, HistogramQueries, NoNoise

RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 1, 64)
FINE = dp.Grid.uniform(0, 1, 2**13)
STATISTICS = ["kolmogorov-smirnov", "kuiper", "cramer-von-mises", "wasserstein"]


def pair_of(first, second, grid=GRID, mechanism=None, seed=1, **how):
    how = how if mechanism is not None else {"epsilon": 1.0, **how}
    rng = RNG(seed)
    return [dp.cdf(values, grid, mechanism, rng=rng, **how) for values in (first, second)]


# --- exact curves over many cells have SciPy's tests


THEIRS = {
    "kolmogorov-smirnov": stats.ks_2samp,
    "cramer-von-mises": stats.cramervonmises_2samp,
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("statistic", THEIRS)
@pytest.mark.parametrize("power", [1.0, 1.4])
def test_of_exact_curves_the_tests_are_scipys(statistic, power):
    values = RNG(1).random(120), RNG(2).random(200) ** power
    found = dp.two_sample_test(*pair_of(*values, FINE, NoNoise()), statistic)
    expected = THEIRS[statistic](*values)
    assert found.statistic == pytest.approx(expected.statistic, abs=0.005)
    assert found.pvalue == pytest.approx(expected.pvalue, abs=0.05)
    assert found.n == (120, 200)


def test_the_area_is_scipys_distance():
    values = RNG(1).poisson(9, 300), RNG(2).poisson(10, 500)
    pair = pair_of(*values, dp.Grid.integers(0, 40), NoNoise())
    found = dp.two_sample_test(*pair, "wasserstein", simulations=19)
    assert found.statistic == pytest.approx(stats.wasserstein_distance(*values))


# --- sizes and power


def atoms(rng, n):
    return rng.choice([0.1, 0.4, 0.45], n, p=[0.5, 0.3, 0.2])


def half_at_one(rng, n):
    return np.where(rng.random(n) < 0.5, 0.3, rng.beta(2, 5, n))


def rare(rng, n):
    return np.where(rng.random(n) < 0.97, 0.1, rng.random(n))


@pytest.mark.sample(4)
@pytest.mark.needs_jit
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("shape", [atoms, half_at_one, rare])
@pytest.mark.parametrize("mechanism", [NoNoise(), Hierarchy(0.1), Hierarchy(1.0)], ids=repr)
def test_equal_populations_are_rejected_as_often_as_the_level_says(mechanism, shape, statistic):
    rng, rounds, level = RNG(1), 200, 0.1
    rejected = 0
    for seed in range(rounds):
        pair = pair_of(shape(rng, 200), shape(rng, 300), GRID, mechanism, seed)
        rejected += dp.two_sample_test(*pair, statistic, simulations=39).pvalue <= level
    assert rejected <= rounds * level + 4 * math.sqrt(rounds * level * (1 - level))
    if mechanism != NoNoise():  # ties make tests of exact curves too careful
        assert rejected >= 3


@pytest.mark.sample(4)
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("mechanism", [None, Hierarchy(1.0), Dawa(1.0)], ids=repr)
def test_what_differs_is_told_apart_and_what_does_not_is_not(mechanism, statistic):
    rng = RNG(1)
    values = half_at_one(rng, 3000), half_at_one(rng, 2000)
    assert dp.two_sample_test(*pair_of(*values, mechanism=mechanism), statistic).pvalue > 0.01
    other = pair_of(values[0], values[1] + 0.05, mechanism=mechanism)
    assert dp.two_sample_test(*other, statistic).pvalue == 0.001


def test_curves_of_a_trust_model_and_of_a_curator_are_tested_together():
    model = dp.trust.DistributedNoise(1.0, clients=2000)
    first = dp.cdf(RNG(1).random(2000), GRID, model, rng=RNG(2))
    second = dp.cdf(RNG(3).random(1000), GRID, Hierarchy(2.0), rng=RNG(4))
    assert dp.two_sample_test(first, second, mechanism=[model, None]).pvalue > 0.01
    with pytest.raises(dp.ParameterError, match="mechanism must be one, or one for each"):
        dp.two_sample_test(first, second, mechanism=[model])


def test_raw_and_isotonic_curves_of_one_release_have_one_test():
    values = RNG(1).random(500), RNG(2).random(400)
    isotonic = pair_of(*values, mechanism=Hierarchy(0.5))
    raw = [curve.as_released() for curve in isotonic]
    found = [dp.two_sample_test(*pair, simulations=99, rng=RNG(3)) for pair in (isotonic, raw)]
    assert found[0] == found[1]
    assert repr(found[0]).endswith("500 and 400 records>")


# --- equivalence


def shifted(rng, n, by):
    """Return uniform records, of which a share is moved from below 0.5 to above it."""
    values = rng.random(n)
    return np.where((values > 0.5 - by) & (values <= 0.5), values + by, values)


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("mechanism", [NoNoise(), Hierarchy(1.0), Dawa(1.0)], ids=repr)
def test_populations_a_margin_apart_are_seldom_called_equivalent(mechanism):
    rounds, rejected = 150, {"kolmogorov-smirnov": 0, "wasserstein": 0}
    rng = RNG(1)
    for seed in range(rounds):
        near = pair_of(rng.random(2000), shifted(rng, 1000, 0.15), GRID, mechanism, seed)
        far = pair_of(0.9 * rng.random(2000), 0.05 + 0.9 * rng.random(1000), GRID, mechanism, seed)
        tested = {
            "kolmogorov-smirnov": dp.equivalence_test(*near, 0.15, simulations=39),
            "wasserstein": dp.equivalence_test(*far, 0.05, "wasserstein", simulations=39),
        }
        for statistic, test in tested.items():
            rejected[statistic] += test.pvalue <= 0.1
    for count in rejected.values():
        assert count <= rounds * 0.1 + 4 * math.sqrt(rounds * 0.1 * 0.9)


@pytest.mark.parametrize("mechanism", [NoNoise(), Hierarchy(1.0), Dawa(1.0), None], ids=repr)
@pytest.mark.parametrize(
    ("statistic", "margin"), [("kolmogorov-smirnov", 0.1), ("wasserstein", 0.06)]
)
def test_equal_populations_are_shown_to_be_equivalent(statistic, margin, mechanism):
    pair = pair_of(RNG(1).random(5000), RNG(2).random(4000), GRID, mechanism)
    found = dp.equivalence_test(*pair, margin, statistic)
    assert found.pvalue <= 0.01
    assert found.margin == margin
    assert f"of a distance of {margin:g} or more" in repr(found)
    assert dp.equivalence_test(*pair, margin / 20, statistic).pvalue > 0.1
    largest = dp.two_sample_test(*pair, statistic, simulations=19).statistic
    assert found.statistic <= largest + 1e-9 or mechanism is None


def test_a_margin_that_the_curves_exceed_is_never_shown():
    pair = pair_of(RNG(1).random(5000), RNG(2).random(4000) ** 2, mechanism=NoNoise())
    assert dp.equivalence_test(*pair, 0.2).pvalue == 1.0
    assert dp.equivalence_test(*pair, 0.1, "wasserstein").pvalue > 0.9


# --- several groups


def groups():
    values, by = RNG(1).normal([[0.3], [0.3], [0.5]], 0.1, (3, 900)), np.repeat([1, 2, 3], 900)
    return dp.cdf(values.ravel(), GRID, Hierarchy(1.0), by=by, groups=[1, 2, 3], rng=RNG(2))


def test_pairs_of_groups_have_holms_pvalues():
    curves = groups()
    found = dp.pairwise_tests(curves)
    assert found.pairs == ((1, 2), (1, 3), (2, 3))
    assert len(found) == 3
    alone = [dp.two_sample_test(curves[first], curves[second]) for first, second in found.pairs]
    assert found.tests == tuple(alone)
    assert found.statistics.tolist() == [test.statistic for test in alone]
    assert found.adjusted_pvalues.tolist() == [found.pvalues[0], 0.003, 0.003]
    frame = found.to_frame()
    assert frame.columns.tolist() == ["first", "second", "statistic", "pvalue", "adjusted_pvalue"]
    assert frame["adjusted_pvalue"].tolist() == found.adjusted_pvalues.tolist()
    assert repr(found) == "<PairwiseTests: kolmogorov-smirnov, 3 pairs, 2 of adjusted p <= 0.05>"
    assert dp.load(found.to_json()) == found


def test_adjusted_pvalues_are_holms():
    test = dp.pairwise_tests(groups(), simulations=19).tests[0]
    pvalues = [0.04, 0.01, 0.03, 0.5]
    tests = tuple(
        dp.DistributionTest(test.name, test.n, 0.1, pvalue, 99, test.privacy) for pvalue in pvalues
    )
    found = dp.pairwise_tests(groups(), simulations=19)
    found = type(found)((("a", "b"),) * 4, tests)
    assert found.adjusted_pvalues == pytest.approx([0.09, 0.04, 0.09, 0.5])


def test_groups_are_tested_against_one():
    found = dp.pairwise_tests(dict(groups()), "wasserstein", reference=3, simulations=99)
    assert found.pairs == ((1, 3), (2, 3))
    assert found.adjusted_pvalues.tolist() == [0.02, 0.02]
    found = dp.pairwise_tests(groups(), reference=True, simulations=19)
    assert repr(found.pairs) == "((2, 1), (3, 1))"  # the label of the group, and not an equal one


# --- what is refused, and what is not charged


def test_no_budget_is_charged_and_the_same_curves_have_the_same_pvalue():
    pair, curves = pair_of(RNG(1).random(500), RNG(2).random(400)), groups()
    with dp.Budget(epsilon=0.001) as budget:
        first, second = (dp.two_sample_test(*pair, simulations=99) for _ in range(2))
        dp.equivalence_test(*pair, 0.1, simulations=99)
        dp.pairwise_tests(curves, simulations=19)
    assert budget.log == ()
    assert first == second
    assert first.privacy == (pair[0].privacy, pair[1].privacy)


def test_what_cannot_be_tested():
    first, second = pair_of(RNG(1).random(500), RNG(2).random(400), mechanism=Hierarchy(1.0))
    elsewhere = dp.cdf(RNG(1).random(500), FINE, Hierarchy(1.0), rng=RNG(3))
    for test in (dp.two_sample_test, lambda *pair, **how: dp.equivalence_test(*pair, 0.1, **how)):
        for other, error in (
            (first, dp.ParameterError),
            (elsewhere, dp.ParameterError),
            (second.counts, dp.DtypeError),
            (second.without_negative_counts(), dp.ParameterError),
        ):
            with pytest.raises(error, match="second"):
                test(first, other)
        for wrong, error in (
            ({"statistic": "ks"}, dp.ParameterError),
            ({"simulations": 5}, dp.ParameterError),
            ({"mechanism": Hierarchy(2.0)}, dp.ParameterError),
            ({"rng": 7}, dp.DtypeError),
        ):
            with pytest.raises(error, match=next(iter(wrong))):
                test(first, second, **wrong)
    for margin in (0.0, 1.0, math.nan):
        with pytest.raises(dp.ParameterError, match="margin"):
            dp.equivalence_test(first, second, margin)
    unknown = pair_of(RNG(1).random(500), RNG(2).random(400), mechanism=HistogramQueries(1.0))
    with pytest.raises(dp.ParameterError, match="noise whose law does not depend"):
        dp.equivalence_test(*unknown, 0.1)
    with pytest.raises(dp.ParameterError, match="statistic"):
        dp.equivalence_test(first, second, 0.1, "kuiper")


def test_tests_of_labels_that_are_no_text_of_utf8_or_not_in_json():
    curves = dict(zip(["\ud800", "b"], groups().values(), strict=False))
    found = dp.pairwise_tests(curves, simulations=19)
    assert found.to_frame()["first"].tolist() == ["\ud800"]
    assert dp.load(found.to_json()) == found
    for label in (("b", 2), None, np.int64(3), math.inf, b"b"):
        named = type(found)((("a", label),), found.tests)
        with pytest.raises(dp.ParameterError, match="groups must be strings or finite numbers"):
            named.to_json()
    for wrong in ('["b", 2]', "null", "{}"):  # such pairs had no hash, or were not equal
        with pytest.raises(dp.FormatError):
            dp.load(found.to_json().replace('"b"', wrong))
    for pairs, error in (((("a",),), dp.ParameterError), ((("a", ["b"]),), dp.DtypeError)):
        with pytest.raises(error, match="pairs"):
            type(found)(pairs, found.tests)


@pytest.mark.parametrize(
    "wrong", [{"pvalue": math.nan}, {"pvalue": 1.5}, {"statistic": -1.0}, {"statistic": math.nan}]
)
def test_no_test_has_such_numbers(wrong):
    test = dp.pairwise_tests(groups(), simulations=19).tests[0]
    with pytest.raises(dp.ParameterError, match=next(iter(wrong))):
        replace(test, **wrong)


def test_what_are_no_groups():
    curves = groups()
    for given, error in (({1: curves[1]}, dp.ParameterError), ([*curves.values()], dp.DtypeError)):
        with pytest.raises(error, match="curves"):
            dp.pairwise_tests(given)
    with pytest.raises(dp.ParameterError, match="reference must be the label"):
        dp.pairwise_tests(curves, reference=4)
