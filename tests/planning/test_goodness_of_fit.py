"""Released curves and given laws: sizes, power, SciPy's tests of exact curves, and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import dpcore as dp
from dpcore.mechanisms import Dawa, Hierarchy, HistogramQueries, NoNoise
from dpcore.planning.differences import Distance

RNG = np.random.default_rng
FINE = dp.Grid.uniform(0, 1, 2**13)
GRID = dp.Grid.uniform(0, 1, 64)
STATISTICS = ["kolmogorov-smirnov", "kuiper", "cramer-von-mises", "wasserstein"]


def beta(t):
    return stats.beta(2, 3).cdf(t)


# --- exact curves over many cells have SciPy's tests


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("statistic", "theirs"),
    [("kolmogorov-smirnov", stats.kstest), ("cramer-von-mises", stats.cramervonmises)],
)
@pytest.mark.parametrize("power", [1.0, 1.1])
def test_of_exact_curves_the_tests_are_scipys(statistic, theirs, power):
    values = RNG(1).beta(2, 3, 300) ** power
    ours = dp.goodness_of_fit(dp.cdf(values, FINE, NoNoise()), beta, statistic)
    expected = theirs(values, beta)
    assert ours.statistic == pytest.approx(expected.statistic, abs=0.004)
    assert ours.pvalue == pytest.approx(expected.pvalue, abs=4 * math.sqrt(0.25 / 999))


def test_the_statistics_are_what_they_say():
    differences = np.array([[0.1, -0.2, 0.05, 0.0], [0.1, 0.2, 0.3, 0.0]])
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    grid = dp.Grid([0.0, 1.0, 3.0, 7.0])
    expected = {
        "kolmogorov-smirnov": [0.2, 0.3],
        "kuiper": [0.3, 0.3],
        "cramer-von-mises": 10 * (differences**2) @ weights,
        "wasserstein": [0.1 + 0.4 + 0.2, 0.1 + 0.4 + 1.2],
    }
    for statistic in STATISTICS:
        found = Distance.on("curve", grid, statistic, weights, 10)(differences)
        assert found == pytest.approx(expected[statistic]), statistic
    assert Distance.on("curve", grid, "kuiper", weights, 10, 30).size == pytest.approx(7.5)


def test_the_area_is_that_between_the_curves():
    values = RNG(1).integers(0, 9, 400)
    curve = dp.cdf(values, dp.Grid.integers(0, 9), NoNoise())
    found = dp.goodness_of_fit(curve, stats.randint(0, 10), "wasserstein")
    expected = stats.wasserstein_distance(values, np.arange(10))
    assert found.statistic == pytest.approx(expected)


def test_what_is_beyond_the_grid_is_in_its_end_cells():
    curve = dp.cdf(RNG(1).normal(size=2000), dp.Grid.uniform(-1, 1, 16), NoNoise())
    assert dp.goodness_of_fit(curve, stats.norm).pvalue > 0.01
    assert dp.goodness_of_fit(curve, stats.norm(0, 2)).pvalue == 0.001
    assert dp.goodness_of_fit(curve, lambda t: np.where(t < 5, 0.0, 1.0)).statistic > 0.8


# --- sizes are exact, whatever the law, the mechanism, and how its errors depend on records


LAWS = {
    "beta": stats.beta(2, 3),
    "atoms": stats.rv_discrete(values=([20, 21, 50], [0.5, 0.3, 0.2])),
    "poisson": stats.poisson(30),
}
MECHANISMS = [
    Hierarchy(0.5),
    Hierarchy(0.5, neighbours="add-or-remove-one"),
    Hierarchy(rho=0.1),
    Dawa(0.3),
    HistogramQueries(0.5),
]


@pytest.mark.sample(2)
@pytest.mark.needs_jit
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_true_laws_are_rejected_as_often_as_the_level_says(mechanism, law):
    rng, rounds, of = RNG(1), 120, LAWS[law]
    grid = GRID if law == "beta" else dp.Grid.integers(0, 63)
    values = [
        dp.cdf(of.rvs(size=200, random_state=rng), grid, mechanism, rng=rng) for _ in range(rounds)
    ]
    pvalues = [dp.goodness_of_fit(curve, of, simulations=39).pvalue for curve in values]
    for level in (0.1, 0.5):
        rejected = np.mean(np.array(pvalues) <= level)
        assert rejected < level + 4 * math.sqrt(level * (1 - level) / rounds), level
    assert np.mean(pvalues) < 0.5 + 4 * math.sqrt(1 / 12 / rounds) + 0.05  # not much too careful


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("isotonic", [True, False])
def test_wrong_laws_are_rejected(statistic, isotonic):
    values = RNG(1).beta(2, 3, 5000)
    curve = dp.cdf(values, GRID, epsilon=1.0, isotonic=isotonic, rng=RNG(2))
    assert dp.goodness_of_fit(curve, lambda t: beta(t) ** 1.3, statistic).pvalue == 0.001
    assert dp.goodness_of_fit(curve, beta, statistic).pvalue > 0.01


def test_a_trust_models_curve_is_tested_with_its_model():
    model = dp.trust.DistributedNoise(1.0, clients=2000)
    curve = dp.cdf(RNG(1).beta(2, 3, 2000), GRID, model, rng=RNG(2))
    assert dp.goodness_of_fit(curve, beta, mechanism=model).pvalue > 0.01
    assert dp.goodness_of_fit(curve, lambda t: t, mechanism=model).pvalue == 0.001


# --- results


def test_the_same_curve_has_the_same_pvalue_and_no_budget_is_charged():
    curve = dp.cdf(RNG(1).beta(2, 3, 300), GRID, epsilon=0.5)
    with dp.Budget(epsilon=0.001) as budget:
        first, second = (dp.goodness_of_fit(curve, beta, simulations=99) for _ in range(2))
        other = dp.goodness_of_fit(curve, beta, simulations=999, rng=RNG(1))
    assert budget.log == ()
    assert first == second
    assert first.privacy == (curve.privacy,)
    assert first.pvalue == pytest.approx(other.pvalue, abs=0.2)
    assert dp.load(first.to_json()) == first
    assert repr(first).startswith("<DistributionTest: kolmogorov-smirnov 0.")
    assert repr(first).endswith(", 300 records>")


def test_tests_of_exact_curves_are_not_stored():
    curve = dp.cdf(RNG(1).beta(2, 3, 300), GRID, NoNoise())
    with pytest.raises(dp.ParameterError, match="exact curve"):
        dp.goodness_of_fit(curve, beta, simulations=19).to_json()


def test_times_have_laws_of_times():
    grid = dp.Grid.days("2026-01-01", "2026-01-31")
    days = grid.thresholds[RNG(1).integers(0, 31, 900)]
    curve = dp.cdf(days, grid, Hierarchy(1.0), rng=RNG(2))

    def uniform(t):
        return (t - np.datetime64("2025-12-31")) / np.timedelta64(31, "D")

    assert dp.goodness_of_fit(curve, uniform).pvalue > 0.01
    assert dp.goodness_of_fit(curve, lambda t: uniform(t) ** 2).pvalue == 0.001
    with pytest.raises(dp.DtypeError, match="curve must be of numbers"):
        dp.goodness_of_fit(curve, uniform, "wasserstein")


def test_what_cannot_be_tested():
    curve = dp.cdf(RNG(1).random(300), GRID, Hierarchy(1.0), rng=RNG(2))
    laws = {
        "never fall": lambda t: 1 - t,
        "probabilities": lambda t: 2 * t,
        "64 numbers": lambda t: 0.5,
        "within": lambda t: t * np.nan,
        "distribution function": 7,
        "two_sample_test": curve,
    }
    for message, law in laws.items():
        with pytest.raises((dp.ParameterError, dp.DtypeError), match=f"law.*{message}"):
            dp.goodness_of_fit(curve, law)
    for wrong, error in (
        ({"statistic": "ks"}, dp.ParameterError),
        ({"simulations": 5}, dp.ParameterError),
        ({"mechanism": Hierarchy(2.0)}, dp.ParameterError),
        ({"rng": 7}, dp.DtypeError),
    ):
        with pytest.raises(error, match=next(iter(wrong))):
            dp.goodness_of_fit(curve, beta, **wrong)
    local = dp.cdf(RNG(1).random(50), GRID, dp.trust.Local(1.0, clients=50), rng=RNG(2))
    with pytest.raises(dp.ParameterError, match="curve"):
        dp.goodness_of_fit(local, beta)
    with pytest.raises(dp.DtypeError, match="curve must be a CDF"):
        dp.goodness_of_fit(curve.counts, beta)
