"""Shares, quantile ratios, parts of means, Gini and Lorenz: beside NumPy and SciPy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dpcore as dp
from dpcore import statistics as own

RNG = np.random.default_rng
EXACT = dp.mechanisms.NoNoise()
WHOLE = dp.Grid.integers(0, 40)
numbers = st.lists(st.integers(0, 40), min_size=1, max_size=60)


def exact(values, grid=WHOLE, **how):
    return dp.cdf(values, grid, EXACT, **how)


def spread_evenly(curve, size=200_000):
    """Values that lie in cells as the curve reads them."""
    return curve.quantile((np.arange(size) + 0.5) / size)


@given(numbers)
def test_gini_and_lorenz_are_those_of_the_records(values):
    values = np.sort(values)
    curve = exact(values)
    if values.sum() == 0:
        assert np.isnan(own.gini(curve))
        assert np.isnan(own.lorenz_curve(curve, 0.5))
        return
    differences = np.abs(np.subtract.outer(values, values))
    assert own.gini(curve) == pytest.approx(differences.mean() / values.mean() / 2, abs=1e-12)
    at = np.arange(values.size + 1) / values.size
    lorenz = np.append(0, np.cumsum(values)) / values.sum()
    assert own.lorenz_curve(curve, at) == pytest.approx(lorenz, abs=1e-12)
    area = np.trapezoid(lorenz, at)  # straight between whole records
    assert own.gini(curve) == pytest.approx(1 - 2 * area, abs=1e-12)


@given(numbers, st.integers(0, 40), st.integers(0, 40))
def test_shares_and_conditional_means_are_those_of_the_records(values, first, second):
    values, (lower, upper) = np.array(values), sorted((first, second))
    curve = exact(values)
    for own_lower, own_upper in ((lower, upper), (None, upper), (lower, None), (None, None)):
        inside = (values > (-1 if own_lower is None else own_lower)) & (
            values <= (40 if own_upper is None else own_upper)
        )
        ends = {"lower": own_lower, "upper": own_upper}
        assert curve.share(**ends) == pytest.approx(inside.mean(), abs=1e-12)
        mean = own.conditional_mean(curve, **ends)
        if inside.any():
            assert mean == pytest.approx(values[inside].mean())
        else:
            assert np.isnan(mean)


@given(numbers)
def test_quantiles_and_trimmed_means_are_those_of_scipy(values):
    curve, tenfold = exact(values), np.repeat(values, 10)
    quartiles = np.quantile(values, [0.25, 0.75], method="inverted_cdf")
    assert own.interquartile_range(curve) == np.diff(quartiles)[0]
    assert own.trimmed_mean(curve, 0.1, 0.9) == pytest.approx(stats.trim_mean(tenfold, 0.1))
    assert own.trimmed_mean(curve, 0.0, 1.0) == pytest.approx(np.mean(values))
    low, high = np.quantile(values, [0.1, 0.9], method="inverted_cdf")
    with np.errstate(divide="ignore", invalid="ignore"):
        assert own.quantile_ratio(curve) == pytest.approx(np.divide(high, low), nan_ok=True)


@pytest.mark.parametrize(
    ("grid", "how"),
    [
        (dp.Grid.uniform(0, 100, 7), {}),
        (dp.Grid.uniform(0, 100, 10), {"integers": True}),
        (dp.Grid([3, 10, 50], lower=1), {}),
    ],
)
def test_within_cells_records_are_where_quantiles_say(grid, how):
    curve = exact(RNG(1).integers(0, 101, 500), grid, **how)
    drawn = spread_evenly(curve)
    assert own.trimmed_mean(curve, 0.13, 0.7) == pytest.approx(
        spread_evenly(curve)[26_000:140_000].mean(), rel=1e-4
    )
    assert own.lorenz_curve(curve, 0.4) == pytest.approx(
        drawn[:80_000].sum() / drawn.sum(), rel=1e-4
    )
    ranks = 2 * np.arange(1, drawn.size + 1) - drawn.size - 1
    gini = np.sum(ranks * drawn) / drawn.size / drawn.sum()
    assert own.gini(curve) == pytest.approx(gini, rel=1e-3)
    inside = (drawn > 4) & (drawn <= 43)
    assert curve.share(lower=4, upper=43) == pytest.approx(inside.mean(), abs=1e-4)
    mean = own.conditional_mean(curve, lower=4, upper=43)
    assert mean == pytest.approx(drawn[inside].mean(), rel=1e-4)


# --- intervals


@pytest.mark.parametrize(
    ("grid", "how"),
    [
        (dp.Grid.uniform(0, 100, 7), {}),
        (dp.Grid.integers(0, 100), {}),
        (dp.Grid.uniform(0, 100, 10), {"integers": True}),
        (dp.Grid.uniform(0, 100, 30), {"integers": True}),  # some cells have no whole number
        (dp.Grid([100 / 3, 70, 100], lower=0), {}),
    ],
)
def test_without_noise_the_true_share_is_in_the_interval_wherever_records_are(grid, how):
    values = RNG(1).integers(0, 101, 300)
    curve = exact(values, grid, **how)
    ends = [None, -5, 0, 1, 10, 33, 33.3, 99, 100, 120]
    for i, lower in enumerate(ends):
        for upper in (None, *ends[max(i, 1) :]):
            at_least = -np.inf if lower is None else lower
            inside = (values > at_least) & (values <= (np.inf if upper is None else upper))
            low, high = curve.share_interval(lower=lower, upper=upper)
            assert low - 1e-12 <= inside.mean() <= high + 1e-12
            assert low <= curve.share(lower=lower, upper=upper) <= high


def test_at_thresholds_intervals_are_the_band():
    curve = dp.cdf(RNG(1).normal(50, 9, 2000), dp.Grid.uniform(0, 100, 20), epsilon=1.0, rng=RNG(2))
    found = curve.share_interval(0.9, upper=curve.thresholds[:-1])
    for ours, of_band in zip(found, curve.band(0.9), strict=True):
        assert ours == pytest.approx(of_band[:-1], abs=1e-12)
    above = curve.share_interval(0.9, lower=curve.thresholds[:-1])
    assert above.low == pytest.approx(1 - found.high, abs=1e-12)


@pytest.mark.parametrize("mechanism", [dp.mechanisms.Hierarchy(0.5), dp.mechanisms.Dawa(0.05)])
def test_intervals_cover_records_and_population(mechanism):
    rng, grid = RNG(1), dp.Grid.uniform(0, 100, 64)
    law = stats.gamma(3, scale=8)
    shares, population, ranges, ratios = [], [], [], []
    for _ in range(150):
        values = law.rvs(3000, random_state=rng)
        curve = dp.cdf(values, grid, mechanism, rng=rng)
        lower, upper = 12.3, 41.0
        true = np.mean((values > lower) & (values <= upper))
        low, high = curve.share_interval(lower=lower, upper=upper)
        shares.append(low <= true <= high)
        low, high = curve.population_share_interval(lower=lower, upper=upper)
        population.append(low <= law.cdf(upper) - law.cdf(lower) <= high)
        at = np.quantile(values, [0.1, 0.25, 0.75, 0.9], method="inverted_cdf")
        low, high = own.interquartile_range_interval(curve)
        ranges.append(low <= at[2] - at[1] <= high)
        low, high = own.quantile_ratio_interval(curve)
        ratios.append(low <= at[3] / at[0] <= high)
    for covered in (shares, population, ranges, ratios):
        assert np.mean(covered) >= 0.93


@pytest.mark.full
def test_intervals_of_gini_and_trimmed_means_by_simulation_cover():
    rng, grid = RNG(1), dp.Grid.integers(0, 127)
    covered = {statistic: [] for statistic in (own.gini, own.trimmed_mean)}
    mechanism = dp.mechanisms.Hierarchy(0.3)
    for _ in range(60):
        values = rng.geometric(0.05, 2000)
        curve = dp.cdf(values, grid, mechanism, rng=rng)
        clamped = exact(values, grid)
        for statistic, found in covered.items():
            low, high = dp.interval(curve, statistic, replicates=100)
            found.append(low <= statistic(clamped) <= high)
    for found in covered.values():
        assert np.mean(found) >= 0.88  # 60 of 95 %


# --- times, and what is refused


def test_times():
    grid = dp.Grid.days("2024-01-01", "2024-01-31")
    days = np.arange("2024-01-01", "2024-02-01", dtype="M8[D]")
    curve = exact(days, grid)
    assert own.interquartile_range(curve) == np.timedelta64(16, "D")
    low, high = own.interquartile_range_interval(curve)
    assert low <= np.timedelta64(16, "D") <= high
    assert own.trimmed_mean(curve, 0, 1) == np.datetime64("2024-01-16")
    assert own.conditional_mean(curve, lower="2024-01-29") == np.datetime64("2024-01-30T12")
    assert curve.share(upper="2024-01-01") == pytest.approx(1 / 31)
    with pytest.raises(dp.DtypeError, match="of numbers"):
        own.gini(curve)


def test_refusals_name_the_argument():
    curve = exact([1, 2, 3])
    below_zero = exact([1, 2, 3], dp.Grid.integers(-1, 4))
    unknown = exact([1, 2, 3], dp.Grid([2, 4]))
    for wrong, message in (
        (lambda: curve.share(lower=3, upper=2), "lower"),
        (lambda: curve.share(lower=[1, 2], upper=[1, 2, 3]), "upper"),
        (lambda: curve.share(upper=np.nan), "upper"),
        (lambda: curve.share_interval(1.0, upper=2), "level"),
        (lambda: own.gini(below_zero), "lower end"),
        (lambda: own.lorenz_curve(unknown, 0.5), "lower end"),
        (lambda: own.lorenz_curve(curve, 1.5), "p"),
        (lambda: own.quantile_ratio(curve, 0.1, 0.9), "lower"),
        (lambda: own.trimmed_mean(curve, 0.5, 0.5), "lower"),
        (lambda: own.trimmed_mean(curve, 0.5, 1.5), "upper"),
        (lambda: own.conditional_mean(curve, lower=[1, 2]), "lower must be a scalar"),
        (lambda: own.conditional_mean(curve, upper=[1, 2]), "upper must be a scalar"),
        (lambda: own.conditional_mean(curve, lower=3, upper=2), "lower"),
    ):
        with pytest.raises(dp.ParameterError, match=message):
            wrong()
    with pytest.raises(dp.DtypeError, match="curve"):
        own.gini([1, 2, 3])
    assert own.quantile_ratio(curve, Fraction(1, 2)) == own.quantile_ratio(curve, 0.5)


@pytest.mark.parametrize("far", [1e308, 1.7e308])
def test_values_near_the_largest_doubles_have_the_numbers_of_others_and_no_warning_of_numpy(far):
    near, wide = (
        exact([0.5 * most] * 3 + [most] * 5, dp.Grid([0.5 * most, most], lower=0.0))
        for most in (1.0, far)
    )
    assert own.gini(wide) == pytest.approx(own.gini(near), rel=1e-12)
    at = [0.0, 0.3, 1.0]
    assert own.lorenz_curve(wide, at) == pytest.approx(own.lorenz_curve(near, at), rel=1e-12)
    for mean in (own.trimmed_mean, own.conditional_mean):
        assert mean(wide) / far == pytest.approx(mean(near), rel=1e-12)
    both = exact([-far] * 2 + [far] * 6, dp.Grid([-far, far], lower=-far))
    assert both.share(lower=-far, upper=0.0) == pytest.approx(0.375, rel=1e-12)
    assert both(far) - both(-far) == 0.75
    low, high = own.interquartile_range_interval(both)
    assert own.interquartile_range(both) >= far
    assert 0.0 <= low < far < high
    tiny = exact([1e-308] * 2 + [far] * 6, dp.Grid([1e-308, far], lower=0.0))
    assert own.quantile_ratio(tiny, upper=0.9, lower=0.2) == np.inf
