"""Intervals of quantiles: what they are beside a naive reference, and how often they cover."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Dyadic, Hierarchy, Histogram, NoNoise, ToeplitzGaussian
from tests.curves.raw_releases import raw

RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 1, 128)
ENDS = GRID.thresholds
P = np.array([0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98])


def naive(curve, p, level, *, sampling):
    """The first and the last cell that no threshold's interval speaks against."""
    if sampling:
        added = math.sqrt(curve.n * p * (1 - p))
        deviation = np.hypot(curve.noise_deviation, added)
        deviation[-1] = 0.0
        curve = replace(curve, noise_deviation=deviation)
    low, high = curve.band(level)
    cells = range(curve.grid.size)
    first = min(k for k in cells if high[k] >= p)
    last = max(k for k in cells if k == 0 or low[k - 1] < p)
    return first, last


@pytest.mark.parametrize("sampling", [False, True])
@pytest.mark.parametrize("isotonic", [False, True])
def test_they_go_from_the_first_cell_to_the_last_in_which_f_may_reach_p(isotonic, sampling):
    rng = RNG(1)
    for _ in range(5):
        curve = dp.cdf(rng.beta(2, 5, 500), GRID, Dyadic(1.0), isotonic=isotonic, rng=rng)
        ask = curve.population_quantile_interval if sampling else curve.quantile_interval
        steps, found = ask(P, 0.9, method="inverted_cdf"), ask(P, 0.9)
        cells = np.array([naive(curve, p, 0.9, sampling=sampling) for p in P]).T
        ends = ENDS[cells]
        ends[0, cells[0] == 0] = 0.0  # this cell also holds the grid's lower end
        np.testing.assert_array_equal(steps, ends)
        np.testing.assert_array_equal(found, [ENDS[cells[0]] - 1 / 128, ENDS[cells[1]]])
        assert np.all(found.low <= curve.quantile(P))
        assert np.all(curve.quantile(P) <= found.high)


def test_without_noise_they_are_one_cell():
    curve = dp.cdf([0.2, 0.4, 0.6, 0.8], dp.Grid.uniform(0, 1, 10), NoNoise())
    assert curve.quantile_interval(0.5) == pytest.approx((0.3, 0.4))
    assert curve.quantile_interval(0.5, method="inverted_cdf") == pytest.approx((0.4, 0.4))
    low, high = curve.quantile([0.0, 0.51, 1.0], level=0.5)
    assert low == pytest.approx([0.0, 0.5, 0.7])
    assert high == pytest.approx([0.1, 0.6, 0.8])


def test_scalars_give_floats_and_arrays_arrays():
    curve = raw([2, 3, 0, 5], NoNoise())
    interval = curve.quantile(0.5, level=0.9)
    assert interval == curve.quantile_interval(0.5, 0.9)
    assert type(interval.low) is type(interval.high) is float
    assert curve.population_quantile_interval([[0.1, 0.2]]).low.shape == (1, 2)


def test_the_largest_value_of_a_population_may_be_any_above_those_of_the_records():
    grid, p = dp.Grid.uniform(0, 10, 10), [0.999, 1.0]
    for mechanism in (NoNoise(), dp.mechanisms.Histogram(rho=1000.0)):
        curve = dp.cdf([0.5, 1.5, 2.5, 3.5] * 5, grid, mechanism, rng=RNG(1))
        low, high = curve.population_quantile_interval(p)
        assert high.tolist() == [10.0, 10.0]  # as p tends to 1
        assert low[1] == pytest.approx(3.0)
        assert curve.quantile_interval(1.0).high == pytest.approx(4.0)  # of the records


def test_whole_numbers_have_whole_ends():
    grid = dp.Grid([9.5, 19.5, 29.5], lower=-0.5)
    curve = dp.cdf([5, 15, 25], grid, NoNoise(), integers=True)
    assert curve.quantile_interval(0.5) == (10.0, 19.0)
    assert dp.cdf([5.0, 15.0, 25.0], grid, NoNoise()).quantile_interval(0.5) == (9.5, 19.5)


def test_where_the_first_cell_begins_nowhere_they_do_too():
    curve = dp.cdf([1.0, 2.0, 3.0], dp.Grid([1.0, 2.0, 3.0]), NoNoise(), integers=False)
    assert curve.quantile_interval(0.1) == (-math.inf, 1.0)
    assert curve.quantile_interval(0.1, method="inverted_cdf") == (1.0, 1.0)
    assert curve.quantile_interval(0.5) == (1.0, 2.0)


def test_where_nothing_is_known_of_the_noise_they_are_the_whole_grid():
    unknown = dp.mechanisms.PolynomialProjection(1.0, delta=1e-6)
    curve = dp.cdf(RNG(1).random(5000), GRID, unknown, rng=RNG(2))
    assert curve.quantile_interval(0.5) == (0.0, 1.0)


SHAPES = {
    "normal": lambda rng, n: rng.normal(0.4, 0.15, n),
    "half at one value": lambda rng, n: np.where(
        rng.random(n) < 0.5, 0.307, rng.normal(0.6, 0.1, n)
    ),
    "steps": lambda rng, n: rng.integers(1, 7, n) / 8,
}
MECHANISMS = {
    "default": None,
    "hierarchy": Hierarchy,
    "histogram": Histogram,
    "dyadic": Dyadic,
    "Gauss": lambda epsilon: ToeplitzGaussian(rho=epsilon**2 / 2),
}


@pytest.mark.sample(2)
@pytest.mark.needs_jit
@pytest.mark.filterwarnings("ignore::dpcore.DpcoreWarning")
@pytest.mark.parametrize("isotonic", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", MECHANISMS)
def test_they_cover(name, shape, isotonic):
    rng, releases = RNG(5), 40
    population = np.sort(SHAPES[shape](rng, 10**6))
    of_all = np.quantile(population, P, method="inverted_cdf")
    for n, epsilon in ((400, 0.3), (400, 3.0), (10_000, 0.1)):
        covered = np.zeros((2, P.size))
        for _ in range(releases):
            values = SHAPES[shape](rng, n)
            how = {"isotonic": isotonic, "rng": rng}
            if MECHANISMS[name] is None:
                curve = dp.cdf(values, GRID, epsilon=epsilon, **how)
            else:
                curve = dp.cdf(values, GRID, MECHANISMS[name](epsilon), **how)
            own = np.quantile(values, P, method="inverted_cdf")
            asked = curve.quantile_interval, curve.population_quantile_interval
            for at, (ask, true) in enumerate(zip(asked, (own, of_all), strict=True)):
                low, high = ask(P, 0.9)
                true = np.clip(true, 0.0, 1.0)
                covered[at] += (low - 1e-9 <= true) & (true <= high + 1e-9)
        share = covered / releases
        if name == "default" and n * epsilon < 200:  # DAWA, which estimates its own error
            assert share.mean() >= 0.75
            continue
        # quantiles of one release are not independent, but not one and the same either
        assert share.mean() >= 0.9 - 3 * math.sqrt(0.09 / releases)
        assert share.min() >= 0.9 - 5 * math.sqrt(0.09 / releases)


# --- raw curves, whose cells may have shares below 0


RNG = np.random.default_rng
WIDE = dp.Grid([1.0, 2.0, 3.0, 1000.0, 1001.0, 1002.0], lower=0)


@pytest.mark.parametrize("level", [0.05, 0.3, 0.95])
def test_the_ends_for_the_mean_are_never_the_other_way_round(level):
    rng, differences = RNG(1), []
    for _ in range(100):
        values = rng.choice([1.0, 1000.0], 50)
        curve = dp.cdf(values, WIDE, Hierarchy(0.3), isotonic=False, rng=rng)
        low, high = curve.mean_interval(level)
        assert low <= curve.isotonic().mean() <= high
        assert (low, high) == curve.isotonic().mean_interval(level)
        differences.append(curve.isotonic().mean() - curve.mean())
    assert np.any(differences)  # some were raw


def test_bands_take_the_noise_of_a_released_number_at_its_worst():
    made = Histogram(1.5, neighbours="add-or-remove-one")
    values, grid = RNG(1).random(50), dp.Grid.uniform(0, 1, 4)
    curve = dp.cdf(values, grid, made, rng=RNG(2))
    reach = NormalDist().inv_cdf(0.95) * curve.noise_deviation
    low, high = curve.band(0.9)
    inner = (curve.counts - reach) / (curve.n + reach[-1])
    outer = (curve.counts + reach) / (curve.n - reach[-1])
    np.testing.assert_allclose(low[:-1], inner[:-1])
    np.testing.assert_allclose(high[:-1], outer[:-1])
    assert 0.0 < low[0] < high[-2] < 1.0
    assert low[-1] == high[-1] == 1.0


def test_where_the_number_of_records_may_be_noise_no_share_is_too_high():
    made = Histogram(0.5, neighbours="add-or-remove-one")
    grid, deviation = dp.Grid.uniform(0, 1, 4), made.noise_deviation(4)
    counts = np.array([1, 2, 3, 4])
    curve = dp.CDF(grid, counts, 4, made.privacy, made.describe(), deviation)
    assert deviation[-1] * NormalDist().inv_cdf(0.975) > 4
    low, high = curve.band()
    assert high.tolist() == [1.0] * 4
    assert low.tolist() == [0.0, 0.0, 0.0, 1.0]


def test_intervals_are_of_the_method_that_is_asked_for_and_within_the_grid():
    grid = dp.Grid.uniform(0, 1, 8)
    curve = dp.cdf(RNG(1).random(900), grid, Hierarchy(1.0), rng=RNG(1))
    steps = curve.quantile(0.4, level=0.9, method="inverted_cdf")
    assert steps == curve.quantile_interval(0.4, 0.9, method="inverted_cdf")
    assert steps != curve.quantile(0.4, level=0.9)
    noisy = dp.CDF(grid, curve.counts, 900, curve.privacy, curve.mechanism, np.full(8, 1e4))
    assert noisy.mean_interval() == (0.0, 1.0)
