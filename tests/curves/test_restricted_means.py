"""Differences of restricted means: areas without noise, and intervals that cover with it."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

import dpcore as dp

RNG = np.random.default_rng
EXACT, HISTOGRAM = dp.mechanisms.NoNoise(), dp.mechanisms.Histogram
GRID = dp.Grid.uniform(0, 12, 12)


def released(rng, n, mean, mechanism=None, last=30.0):
    until_event, until_end = rng.exponential(mean, n), rng.uniform(0, last, n)
    durations, event = np.minimum(until_event, until_end), until_event <= until_end
    return dp.survival(durations, event, GRID, mechanism or HISTOGRAM(1.0), rng=rng)


def test_the_difference_is_that_of_the_areas_and_its_error_that_of_both():
    first, second = released(RNG(1), 900, 8.0), released(RNG(2), 600, 10.0)
    found = dp.restricted_mean_difference(first, second, 6.0, 0.9)
    assert found.difference == first.restricted_mean(6) - second.restricted_mean(6)
    both = [each.restricted_mean_interval(6, 0.9, of="population") for each in (first, second)]
    reach = np.hypot(*(high - low for low, high in both)) / 2
    # Those of a mean alone are of its log odds, so that they are not quite as far on both sides.
    assert found.interval.high - found.difference == pytest.approx(reach, rel=0.01)
    assert found.difference - found.interval.low == pytest.approx(reach, rel=0.01)
    assert found.n == (900, 600)
    of_records = dp.restricted_mean_difference(first, second, 6.0, of="records").interval
    assert of_records.high - of_records.low < found.interval.high - found.interval.low
    swapped = dp.restricted_mean_difference(second, first, 6.0, 0.9)
    assert swapped.difference == -found.difference
    assert swapped.pvalue == pytest.approx(found.pvalue)


def test_of_exact_curves_it_says_whether_records_differ():
    durations = [1.0, 2.0, 3.0, 9.0] * 5
    one, other = (dp.survival(durations, [1] * 20, GRID, EXACT) for _ in range(2))
    assert dp.restricted_mean_difference(one, other, 6, of="records").pvalue == 1.0
    later = dp.survival(np.add(durations, 1.0), [1] * 20, GRID, EXACT)
    assert dp.restricted_mean_difference(one, later, 6, of="records").pvalue == 0.0


@pytest.mark.needs_jit
def test_intervals_cover_and_equal_populations_are_rarely_rejected():
    """Of 120 tests at 10 %, 12 are expected; more than 25 are 4 standard errors off."""
    until, rejected, held = 8.0, 0, 0
    means = [mean * -np.expm1(-until / mean) for mean in (8.0, 12.0)]
    for seed in range(120):
        rng = RNG(seed)
        first = released(rng, 800, 8.0, HISTOGRAM(0.5))
        second = released(rng, 600, 8.0, HISTOGRAM(1.0), 60.0)
        other = released(rng, 600, 12.0, HISTOGRAM(1.0), 60.0)
        rejected += dp.restricted_mean_difference(first, second, until).pvalue <= 0.1
        low, high = dp.restricted_mean_difference(first, other, until, 0.9).interval
        held += low <= means[0] - means[1] <= high
    assert 1 <= rejected <= 25
    assert held >= 95


def test_durations_are_durations_and_the_result_is_stored():
    grid = dp.Grid.uniform(dt.timedelta(0), dt.timedelta(days=8), 8)
    curves = []
    for seed in (1, 2):
        durations = [dt.timedelta(days=float(day)) for day in RNG(seed).exponential(4, 300)]
        curves.append(dp.survival(durations, [1] * 300, grid, HISTOGRAM(1.0), rng=RNG(seed)))
    found = dp.restricted_mean_difference(*curves, dt.timedelta(days=5))
    assert found.until == np.timedelta64(5, "D")
    assert found.difference.dtype.kind == "m"
    assert found.interval.low < found.difference < found.interval.high
    assert dp.load(found.to_json()) == found
    assert "difference" in dp.report(found)


def test_bad_arguments_are_refused():
    first, second = released(RNG(1), 300, 8.0), released(RNG(2), 300, 8.0)
    days = dp.Grid.uniform(dt.timedelta(0), dt.timedelta(days=8), 8)
    of_days = dp.survival([dt.timedelta(days=1)] * 50, [1] * 50, days, epsilon=1.0)
    for name, arguments in (
        ("second", (first, of_days, 6)),
        ("second", (first, first, 6)),
        ("until", (first, second, 13)),
        ("level", (first, second, 6, 1.5)),
    ):
        with pytest.raises(dp.ParameterError, match=name):
            dp.restricted_mean_difference(*arguments)
    few = dp.survival([1.0] * 40 + [3.0], [1] * 40 + [0], GRID, HISTOGRAM(0.5), rng=RNG(3))
    with pytest.raises(dp.ParameterError, match="ends of both"):
        dp.restricted_mean_difference(first, few, 10)
    with pytest.raises(dp.DtypeError, match="first"):
        dp.restricted_mean_difference([1, 2], second, 6)
    with pytest.raises(dp.ParameterError, match="mechanism"):
        dp.restricted_mean_difference(first, dp.Survival(GRID, second.row), 6)
