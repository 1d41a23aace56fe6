"""Two released curves beside each other: sizes, power, intervals, and what is refused."""

from __future__ import annotations

import warnings
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

import dpcore as dp
from dpcore.mechanisms import Hierarchy, NoNoise, PolynomialProjection

pytestmark = pytest.mark.needs_jit  # many releases: a minute and more where kernels are interpreted

GRID = dp.Grid.uniform(0, 1, 64)


def released(rng, n, a=2.0, b=3.0, grid=GRID, **budget):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of noise that is too much for the grid
        return dp.cdf(rng.beta(a, b, n), grid, rng=rng, **budget)


def p_values(rng, sizes, comparisons, simulations=39, **budget):
    """Of so many pairs of samples of one population: the statistic's, and the median's."""
    found = []
    for _ in range(comparisons):
        first, second = (released(rng, n, **budget) for n in sizes)
        each = dp.compare(first, second, probabilities=0.5, simulations=simulations, rng=rng)
        found.append((each.p_value, each.p_values))
    return np.array(found)


@pytest.mark.sample(1)
@pytest.mark.parametrize("sizes", [(800, 800), (300, 2000)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_equal_populations_are_told_apart_no_more_often_than_the_level_says(sizes, epsilon):
    found = p_values(np.random.default_rng(5), sizes, 100, mechanism=Hierarchy(epsilon))
    for level in (0.1, 0.25, 0.5):  # four deviations of 100 comparisons
        most = level + 4 * np.sqrt(level * (1 - level) / 100)
        assert (np.mean(found <= level, axis=0) <= most).all()
    assert (found[:, 0] <= 0.5).mean() > 0.25  # and not for want of power


@pytest.mark.sample(1)
@pytest.mark.parametrize(("epsilon", "n"), [(1.0, 300), (0.1, 800)])
def test_nor_by_the_default_which_looks_for_buckets(epsilon, n):
    rng = np.random.default_rng(5)
    assert released(rng, n, epsilon=epsilon).mechanism["name"] == "dawa"
    found = p_values(rng, (n, n), 30, simulations=19, epsilon=epsilon)
    for level in (0.1, 0.25, 0.5):  # four deviations of 30 comparisons
        most = level + 4 * np.sqrt(level * (1 - level) / 30)
        assert (np.mean(found <= level, axis=0) <= most).all()


@pytest.mark.full
def test_half_of_all_records_in_a_cell_do_not_mislead_the_default():
    rng, rejected = np.random.default_rng(3), 0
    counts = np.full(256, 500 / 256)
    counts[85] += 500
    grid = dp.Grid.uniform(0, 1, 256)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(40):
            pair = (
                dp.cdf_from_counts(
                    rng.multinomial(1000, counts / counts.sum()), grid, epsilon=0.1, rng=rng
                )
                for _ in range(2)
            )
            rejected += dp.compare(*pair, simulations=19, rng=rng).p_value <= 0.05
    assert rejected <= 6  # of 40 at 0.05; the pooled curve alone rejects about 10


@pytest.mark.parametrize("budget", [{"epsilon": 1.0}, {"mechanism": Hierarchy(1.0)}, {"rho": 0.1}])
def test_a_shift_is_found(budget):
    rng = np.random.default_rng(4)
    first, second = released(rng, 2000, **budget), released(rng, 1500, 3.0, 3.0, **budget)
    found = dp.compare(first, second, simulations=199, rng=rng)
    assert found.p_value == 1 / 200
    assert (found.p_values <= 0.02).all()
    truth = stats.beta(2, 3).ppf([0.25, 0.5, 0.75]) - stats.beta(3, 3).ppf([0.25, 0.5, 0.75])
    low, high = found.population_interval
    assert (low - 0.02 < truth).all()
    assert (truth < high + 0.02).all()
    assert (high < 0).all()
    np.testing.assert_allclose(found.differences, truth, atol=0.06)


def test_without_noise_it_is_the_textbook_test():
    rng, grid = np.random.default_rng(2), dp.Grid.uniform(0, 1, 4096)
    samples = rng.beta(2, 3, 150), rng.beta(2.3, 3, 120)
    first, second = (dp.cdf(each, grid, NoNoise(), rng=rng) for each in samples)
    found = dp.compare(first, second, simulations=499, rng=rng)
    theirs = stats.ks_2samp(*samples)
    assert found.statistic == pytest.approx(theirs.statistic, abs=0.02)
    assert found.p_value == pytest.approx(theirs.pvalue, abs=0.07)


@pytest.mark.parametrize("budget", [{"epsilon": 0.5}, {"mechanism": Hierarchy(0.5)}])
def test_the_pvalue_is_that_of_the_test_of_two_samples(budget):
    rng = np.random.default_rng(3)
    first, second = released(rng, 400, **budget), released(rng, 300, 2.5, 3.0, **budget)
    found, tested = (
        test(first, second, simulations=49, rng=RNG(1)) for test in (dp.compare, dp.two_sample_test)
    )
    assert (found.statistic, found.p_value) == (tested.statistic, tested.pvalue)
    assert dp.compare(first, second, simulations=49) == dp.compare(first, second, simulations=49)


def test_curves_of_a_trust_model_and_of_a_curator_are_compared():
    rng, local = np.random.default_rng(3), dp.trust.Local(4.0, clients=3000)
    first = released(rng, 3000, mechanism=local)
    second = released(rng, 3000, 4.0, 3.0, mechanism=Hierarchy(1.0))
    found = dp.compare(first, second, mechanism=(local, None), simulations=39, rng=rng)
    assert found.p_value == 1 / 40
    truth = stats.beta(2, 3).ppf(P) - stats.beta(4, 3).ppf(P)
    low, high = found.population_interval
    assert ((low < truth) & (truth < high)).all()
    with pytest.raises(dp.ParameterError, match="mechanism"):
        dp.compare(first, second, mechanism=Hierarchy(1.0))


def test_intervals_cover():
    rng, inside = np.random.default_rng(6), []
    truth = stats.beta(2, 3).ppf(0.5) - stats.beta(3, 3).ppf(0.5)
    for _ in range(80):
        first = released(rng, 500, mechanism=Hierarchy(1.0))
        second = released(rng, 700, 3.0, 3.0, mechanism=Hierarchy(0.5))
        found = dp.compare(first, second, probabilities=0.5, simulations=99, rng=rng)
        low, high = found.population_interval
        inside.append(low < truth < high)
    assert np.mean(inside) > 0.85


def test_curves_with_a_private_number_of_records_and_raw_ones():
    rng = np.random.default_rng(9)
    budget = {"epsilon": 1.0, "neighbours": "add-or-remove-one", "isotonic": False}
    first, second = (released(rng, n, **budget) for n in (900, 1100))
    found = dp.compare(first, second, simulations=99, rng=rng)
    assert found.n == (first.n, second.n)
    assert found.p_value > 0.05


def test_the_same_generator_gives_the_same_comparison():
    rng = np.random.default_rng(9)
    pair = [released(rng, 300, epsilon=1.0) for _ in range(2)]
    first, second, other = (
        dp.compare(*pair, simulations=99, rng=np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert first == second
    assert hash(first) == hash(second)
    assert first != other
    assert first != "first"


def test_projections_are_compared_too():
    rng = np.random.default_rng(9)
    mechanism = PolynomialProjection(rho=1.0, degree=5)
    pair = (dp.project(rng.beta(2, b, 2000), 0, 1, mechanism, rng=rng) for b in (3.0, 6.0))
    found = dp.compare(*(each.curve(GRID) for each in pair), simulations=39, rng=rng)
    assert found.p_value == 1 / 40


def test_scalars_are_floats_and_it_shows_itself():
    rng = np.random.default_rng(9)
    pair = [released(rng, 300, mechanism=Hierarchy(1.0)) for _ in range(2)]
    comparison = dp.compare(*pair, probabilities=0.5, simulations=19, rng=rng)
    interval = comparison.population_interval
    for number in (comparison.differences, comparison.p_values, *interval):
        assert type(number) is float
    assert repr(comparison).startswith("<Comparison of 300 and 300 records: KS ")
    assert len(repr(comparison)) < 88
    assert "95% interval" in str(comparison)


OTHER_GRID = dp.Grid.uniform(0, 1, 32)
UNABLE = {
    "another grid": lambda c, rng: (c, released(rng, 300, epsilon=1.0, grid=OTHER_GRID), "second"),
    "no mechanism": lambda c, rng: (
        dp.cdf(rng.random(50), GRID, dp.trust.Local(1.0, clients=50), rng=rng),
        c,
        "first",
    ),
    "other processing": lambda c, _: (c, c.without_negative_counts(), "second"),
    "no curve": lambda c, _: ([1.0, 2.0], c, "first"),
    "itself": lambda c, _: (c, c, "second"),
}


@pytest.mark.parametrize("name", UNABLE)
def test_what_cannot_be_compared(name):
    rng = np.random.default_rng(9)
    curve = released(rng, 300, epsilon=1.0)
    first, second, argument = UNABLE[name](curve, rng)
    with pytest.raises((dp.ParameterError, dp.DtypeError), match=argument):
        dp.compare(first, second)
    with pytest.raises(dp.ParameterError, match="simulations"):
        dp.compare(curve, released(rng, 300, epsilon=1.0), simulations=5)


# --- intervals of differences of quantiles include the cells in which the quantiles lie


RNG = np.random.default_rng
CELLS = dp.Grid.uniform(0, 100, 100)
P = [0.25, 0.5, 0.75]

# Shapes whose records do not lie evenly in their cells, or are not whole numbers
SHAPES = {
    "gamma": lambda rng, n: rng.gamma(4.0, 5.0, n),
    "at the beginning of cells": lambda rng, n: rng.poisson(20, n) + 0.05,
    "at the end of cells": lambda rng, n: rng.poisson(20, n) + 0.95,
    "one value": lambda rng, n: np.full(n, 20.3),
    "three values": lambda rng, n: rng.choice([10.4, 20.1, 40.9], n, p=[0.3, 0.4, 0.3]),
    "narrow": lambda rng, n: rng.normal(20.2, 0.1, n),
}
SHIFTS = [0.0, 0.3, -2.45]


def true_quantiles(shape):
    return np.quantile(SHAPES[shape](RNG(7), 2_000_001), P, method="inverted_cdf")


def pair_of(shape, shift, n, mechanism, rng):
    columns = SHAPES[shape](rng, n), SHAPES[shape](rng, n) + shift
    return [dp.cdf(column, CELLS, mechanism, rng=rng) for column in columns]


@pytest.mark.sample(1)
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_hold_the_difference_wherever_records_lie_in_their_cells(shape):
    held, widths = [], []
    for seed in range(12):
        rng = RNG(seed)
        for shift in SHIFTS:
            pair = pair_of(shape, shift, 20_000, Hierarchy(1.0), rng)
            low, high = dp.compare(
                *pair, probabilities=P, simulations=99, rng=rng
            ).population_interval
            held.append((low <= -shift) & (-shift <= high))
            widths.append(high - low)
    assert np.mean(held) > 0.97, np.mean(held, axis=0)
    assert np.median(widths) <= 4.0  # cells


@pytest.mark.parametrize("shift", SHIFTS)
def test_without_noise_an_interval_is_as_wide_as_both_cells(shift):
    rng = RNG(1)
    pair = pair_of("one value", shift, 500, NoNoise(), rng)
    low, high = dp.compare(*pair, probabilities=P, simulations=19, rng=rng).population_interval
    ends = [np.ceil(20.3) - np.floor(20.3 + shift), np.floor(20.3) - np.ceil(20.3 + shift)]
    np.testing.assert_allclose(high, ends[0])
    np.testing.assert_allclose(low, ends[1])


def test_whole_numbers_that_have_cells_of_their_own_need_no_more():
    grid = dp.Grid.integers(0, 60)
    columns = RNG(1).poisson(20, 20_000), RNG(2).poisson(23, 20_000)
    pair = [dp.cdf(column, grid, Hierarchy(1.0), rng=RNG(3)) for column in columns]
    found = dp.compare(*pair, probabilities=P, simulations=99, rng=RNG(4))
    low, high = found.population_interval
    assert (low <= -3).all()
    assert (high >= -3).all()
    assert (high - low <= 1).all()
    assert (low == np.rint(low)).all()


def test_whole_numbers_may_be_any_in_wide_cells():
    grid = dp.Grid.uniform(0, 60, 6)
    pair = [dp.cdf(np.full(50, each), grid, NoNoise(), integers=True) for each in (15, 33)]
    low, high = dp.compare(*pair, probabilities=0.5, simulations=19, rng=RNG(1)).population_interval
    assert (low, high) == (11 - 40, 20 - 31)


def test_an_end_that_is_not_known_is_not_made_up():
    grid = dp.Grid([10.0, 20.0, 30.0])
    first, second = (dp.cdf([value] * 50, grid, NoNoise()) for value in (5.0, 15.0))
    found = dp.compare(first, second, probabilities=[0.25, 0.5], simulations=19, rng=RNG(1))
    assert found.population_interval.low.tolist() == [-np.inf, -np.inf]
    assert found.population_interval.high.tolist() == [0.0, 0.0]
    found = dp.compare(second, first, probabilities=0.5, simulations=19, rng=RNG(1))
    assert found.population_interval == (0.0, np.inf)


def test_differences_of_times_include_cells_too():
    grid = dp.Grid.uniform("2024-01-01", "2024-01-11", 10)
    noons = [np.full(50, f"2024-01-0{day}T12:00", "M8[m]") for day in (3, 5)]
    pair = [dp.cdf(each, grid, NoNoise()) for each in noons]
    low, high = dp.compare(*pair, probabilities=0.5, simulations=19, rng=RNG(1)).population_interval
    assert (low, high) == (np.timedelta64(-3, "D"), np.timedelta64(-1, "D"))


# --- curves over equal grids that state different things about their records are read alike


TENTHS = np.linspace(0, 1, 11)

# Equal grids, which begin at different places and state different things
GRIDS = {
    "whole numbers": dp.Grid.integers(0, 30),
    "thresholds": dp.Grid(range(31)),
    "thresholds with a lower end": dp.Grid(range(31), lower=0),
    "cells": dp.Grid.uniform(-1, 30, 31),
}


def curve_on(name, said=None, seed=1):
    values = RNG(seed).binomial(30, 0.4, 500).tolist()
    return dp.cdf(values, GRIDS[name], NoNoise(), integers=said)


def read(curve):
    found = [curve.integers, curve._are_whole, curve.grid.start, curve.quantile(TENTHS).tolist()]
    return [*found, curve.mean(), curve.std(), curve.mean_interval(), curve(TENTHS).tolist()]


@pytest.mark.parametrize("join", [dp.combine, dp.average])
@pytest.mark.parametrize("said", [None, True, False])
def test_a_combination_does_not_depend_on_the_order(join, said):
    for first, second in permutations(GRIDS, 2):
        pair = [curve_on(first), curve_on(second, said)]
        assert read(join(pair)) == read(join(pair[::-1])), (first, second)
        assert join(pair) == join(pair[::-1])


def test_a_combination_begins_where_its_records_may_begin():
    known = [curve_on("whole numbers"), curve_on("cells")]
    assert dp.combine(known).grid.start == -1.0
    assert not dp.combine(known)._are_whole
    unknown = [*known, curve_on("thresholds")]
    assert {dp.combine(each).grid.start for each in permutations(unknown)} == {-np.inf}
    both = dp.combine([curve_on("whole numbers"), curve_on("thresholds", True)])
    assert both._are_whole


@pytest.mark.parametrize("second", ["thresholds", "thresholds with a lower end", "cells"])
def test_the_same_records_do_not_differ_by_half_a_cell(second):
    pair = [curve_on("whole numbers"), curve_on(second)]
    for curves in (pair, pair[::-1]):
        found = dp.compare(*curves, simulations=19, rng=RNG(1))
        assert found.differences.tolist() == [0.0, 0.0, 0.0]
        low, high = found.population_interval
        assert (low <= 0).all()
        assert (high >= 0).all()
        pair_said = [dp.compare(*curves, simulations=19, rng=RNG(1)), found]
        assert pair_said[0] == pair_said[1]


def test_whole_numbers_are_compared_as_such_if_both_curves_say_so():
    pair = [curve_on("whole numbers"), curve_on("thresholds", True, seed=2)]
    found = dp.compare(*pair, simulations=19, rng=RNG(1))
    assert (found.differences == np.rint(found.differences)).all()
    low, high = found.population_interval
    assert (high - low <= 2).all()


def test_a_comparison_has_both_guarantees_and_that_of_exact_curves_is_not_stored():
    rng = np.random.default_rng(6)
    first, second = (released(rng, 300, mechanism=Hierarchy(each)) for each in (1.0, 2.0))
    compared = dp.compare(first, second, simulations=19)
    assert compared.privacy == (first.privacy, second.privacy)
    assert dp.load(compared.to_json()).privacy[1].simulated
    exact = released(rng, 300, mechanism=NoNoise())
    for pair in ((exact, second), (first, exact)):
        with pytest.raises(dp.ParameterError, match="exact curve"):
            dp.compare(*pair, simulations=19).to_json()
