"""Counts of records, counts of categories and means: against plain Python, with their intervals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import dpcore as dp
from dpcore.curves.counts import laplace_rate
from dpcore.noise import DiscreteLaplace
from tests.reference import plain_releases as naive

RELATIONS = ["replace-one", "add-or-remove-one"]
HUGE = {"epsilon": 2.0**40}  # with so much, noise is below all that is compared


def rng(seed=1):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("bounds", [(0, 1), (-3, 5), (-1e300, 1e300), (1e-300, 2e-300)])
def test_totals_are_those_of_plain_sums_up_to_rounding(bounds, relation):
    lower, upper = bounds
    values = [*rng().uniform(-0.2, 1.2, 50), -math.inf, math.inf]
    values = [
        value if math.isinf(value) else (1 - value) * lower + value * upper for value in values
    ]
    found = dp.mean(values, bounds, neighbours=relation, **HUGE)
    exact = naive.sums_of_places(values, lower, upper)
    for own, wanted in zip(found.totals, exact, strict=False):
        assert abs(own / 2**found.bits - wanted) <= len(values) * 1.01 * 2.0**-29 + 2.0**-20
    wanted = float(exact[0] / len(values))
    place = found.value / (upper - lower) - lower / (upper - lower)
    assert abs(place - wanted) < 1e-6


def test_containers_agree_and_bounds_and_missing_values_are_refused():
    values = [1.0, 2.5, None, 4.0]
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    kinds = [values, pandas.Series(values), polars.Series(values), np.array(values, float)]
    found = [dp.mean(of, (0, 5), epsilon=1.0, nan_policy="omit", rng=rng()) for of in kinds]
    assert len({(mean.totals, mean.n) for mean in found}) == 1
    with pytest.raises(dp.MissingValueError, match="values"):
        dp.mean(values, (0, 5), epsilon=1.0)
    for wrong in ((5, 0), (0, 0), (0, math.inf), 5, (0, 1, 2), "ab"):
        with pytest.raises(dp.DpcoreError, match="bounds"):
            dp.mean([1.0], wrong, epsilon=1.0)
    with pytest.raises(dp.ParameterError, match="at least one record"):
        dp.mean([], (0, 5), epsilon=1.0)
    assert dp.mean([], (0, 5), epsilon=1.0, neighbours="add-or-remove-one").interval() == (0.0, 5.0)


@pytest.mark.parametrize("given", [{}, {"deviation": 20.0}, None])
@pytest.mark.parametrize("relation", RELATIONS)
def test_intervals_of_means_hold_all_means_near_the_totals(relation, given):
    found = dp.mean(
        rng().uniform(0, 60, 300), (0, 100), epsilon=0.5, neighbours=relation, rng=rng(2)
    )
    unit, width = 2.0**found.bits, -math.log(0.05) / math.sqrt(2.0)
    totals = [total / unit for total in found.totals]
    deviation = found.noise_deviation / unit
    fewest = 300 if found.n else sum(totals) - math.sqrt(2.0) * width * deviation
    spread = {None: lambda p: 0.0 * p, "bound": lambda p: p * (1 - p), 0.2: lambda p: 0.04 + 0 * p}
    of = spread[None if given is None else 0.2 if given else "bound"]
    wanted = naive.means_within(totals, found.n, deviation, width, lambda p: of(p) / fewest)
    own = found.interval() if given is None else found.population_interval(**given)
    assert np.array(own) / 100 == pytest.approx(wanted, abs=2e-5)


def test_little_is_known_of_few_records():
    found = dp.mean([1.0] * 3, (0, 5), epsilon=0.01, neighbours="add-or-remove-one", rng=rng())
    assert found.interval() == (0.0, 5.0)
    assert 0.0 <= found.value <= 5.0
    for seed in range(300):  # in some, fewer records than none are released
        found = dp.mean([5.0], (0, 5), epsilon=0.1, neighbours="add-or-remove-one", rng=rng(seed))
        low, high = found.interval(0.9)
        assert low <= found.value <= high


@pytest.mark.sample(2)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    "budget", [{"epsilon": 0.3}, {"rho": 0.02}, {"epsilon": 1.0, "delta": 1e-6}]
)
def test_intervals_of_means_and_counts_cover(budget, relation):
    """Of 600, 95 % should cover; fewer than 91 % are 4.5 standard errors off."""
    values = rng().uniform(0, 60, 300)
    given, stream = {**budget, "neighbours": relation}, rng(3)
    hits = np.zeros(2)
    for _ in range(600):
        low, high = dp.mean(values, (0, 100), **given, rng=stream).interval()
        least, most = dp.counts(values > 20, [True], **given, rng=stream).interval()
        hits += [low <= values.mean() <= high, least[0] <= (values > 20).sum() <= most[0]]
    assert (hits / 600 > 0.91).all()


def test_mean_is_more_accurate_than_that_of_a_curve():
    """Its standard error is sqrt(2) / (n epsilon) of the range; that of curves is larger."""
    values, grid = rng().beta(2, 5, 1000), dp.Grid.uniform(0, 1, 1024)
    stream = rng(4)
    own = [dp.mean(values, (0, 1), epsilon=1.0, rng=stream).value for _ in range(60)]
    curve = [dp.cdf(values, grid, epsilon=1.0, rng=stream).mean() for _ in range(60)]
    errors = [np.sqrt(np.mean((np.array(found) - values.mean()) ** 2)) for found in (own, curve)]
    assert errors[0] == pytest.approx(math.sqrt(2) / 1000, rel=0.5)
    assert errors[1] > 2 * errors[0]


LABELS = ["a"] * 30 + ["b"] * 20 + ["c\0"] * 5 + ["other"] * 10


@pytest.mark.parametrize("relation", RELATIONS)
def test_counts_are_those_of_plain_python(relation):
    categories = ["b", "c\0", "c", "a"]
    found = dp.counts(LABELS, categories, neighbours=relation, **HUGE)
    assert found.values.tolist() == naive.counts(LABELS, categories)
    assert found.n == (65 if relation == "replace-one" else None)
    assert found["a"] == 30
    with pytest.raises(KeyError, match="other"):
        found["other"]


def test_count_takes_any_column_with_missing_values():
    polars = pytest.importorskip("polars")
    for column in (LABELS, np.zeros((65, 3)), polars.Series([None, *LABELS[1:]])):
        assert dp.count(column, **HUGE).value == 65
    days = np.array(["2024-01-01", "NaT"], "M8[D]")
    assert int(dp.count(days, **HUGE)) == 2
    with pytest.raises(dp.DpcoreError, match="values"):
        dp.count(5, epsilon=1.0)


def test_categories_must_be_given_and_be_public():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(dp.ParameterError, match=r"categories.*write categories="):
        dp.counts(pandas.Series(LABELS, dtype="category"), epsilon=1.0)
    with pytest.raises(dp.ParameterError, match="all different"):
        dp.counts(LABELS, ["a", "a"], epsilon=1.0)
    with pytest.raises(dp.MissingValueError, match="values"):
        dp.counts(["a", None], ["a"], epsilon=1.0)
    assert dp.counts(["a", None], ["a"], nan_policy="omit", **HUGE).n == 1


@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 7.5, 1e6])
def test_rate_of_laplace_noise_follows_from_its_deviation(scale):
    assert laplace_rate(DiscreteLaplace(scale).variance ** 0.5) * scale == pytest.approx(1.0)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_intervals_of_counts_are_the_shortest_of_their_level(epsilon, level):
    found = dp.count([0] * 10_000, epsilon=epsilon, rng=rng())
    reach = found.interval(level).high - found.noisy
    sizes = np.arange(-5000, 5001)
    chances = np.exp(-epsilon * np.abs(sizes))
    within = [chances[np.abs(sizes) <= r].sum() / chances.sum() for r in (reach, reach - 1)]
    assert within[0] >= level > within[1]


def test_names_that_are_near_are_told():
    for name, near in {
        "avg": "dp.mean",
        "histogram": "dp.counts",
        "quantilse": "dp.quantiles",
    }.items():
        with pytest.raises(AttributeError, match=f"did you mean {near}"):
            getattr(dp, name)
    with pytest.raises(AttributeError, match=r"no attribute 'xyzzy'$"):
        _ = dp.xyzzy
    assert not hasattr(dp, "__wrapped__")


@pytest.mark.parametrize("deviation", [5e-324, 1e-200, 1e18, 1e70])
def test_stored_noise_as_small_and_large_as_is_read_has_intervals_and_tests(deviation):
    one, several = (
        dp.count(range(9), epsilon=1.0, rng=rng()),
        dp.counts([1, 2] * 9, [1, 2], epsilon=1.0, rng=rng()),
    )
    one, several = (replace(found, noise_deviation=deviation) for found in (one, several))
    for level in (0.5, 1 - 1e-15):
        low, high = one.interval(level)
        lows, highs = several.interval(level)
        if deviation < 1:
            assert (low, high) == (one.value, one.value)
            assert np.array_equal([lows, highs], [several.values] * 2)
        else:
            assert (low, high >= 2**53, lows.tolist(), highs.tolist()) == (
                0,
                True,
                [0, 0],
                [18, 18],
            )
    assert 0.0 < dp.chi_square_test(several, [0.5, 0.5], simulations=19).pvalue <= 1.0


def test_counts_made_by_hand_are_as_large_as_64_bits_can_add_up():
    found = dp.counts([1, 2], [1, 2], neighbours="add-or-remove-one", epsilon=1.0, rng=rng())
    with pytest.raises(
        dp.ParameterError, match=r"noisy must be between .*; got 9223372036854775807"
    ):
        replace(found, noisy=np.array([0, 2**63 - 1]))
    largest = replace(found, noisy=np.array([2**62, 2**62]))
    assert np.all(largest.interval().high > 2**62)
    assert dp.chi_square_test(largest, [0.5, 0.5], simulations=19).n == (2**53,)
    narrow = replace(found, noisy=np.array([1, 2], np.uint8), noise_deviation=1000.0)
    assert np.all(narrow.interval().high > 1000)


def test_a_deviation_counts_between_bounds_whose_difference_is_no_double():
    far = dp.mean([0.0] * 50, (-1.6e308, 1.6e308), **HUGE)
    near = dp.mean([0.0] * 50, (-1.6, 1.6), **HUGE)
    found, wanted = (
        far.population_interval(deviation=1e307),
        near.population_interval(deviation=0.1),
    )
    assert np.array(found) / 1e308 == pytest.approx(np.array(wanted), rel=1e-6)
