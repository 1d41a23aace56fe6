"""Quantiles by a monotone cubic between thresholds: the definition, and what stays as it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

import dpcore as dp
from dpcore.errors import ParameterError
from dpcore.mechanisms import NoNoise
from tests.reference import papers as reference

CELL = st.one_of(st.just(0), st.integers(0, 40))
P = np.linspace(0.01, 0.99, 23)


def curve_of(counts, thresholds, lower):
    return dp.cdf_from_counts(
        np.asarray(counts), dp.Grid(thresholds, lower=lower), NoNoise(), isotonic=False
    )


@settings(max_examples=80)
@given(
    st.lists(st.tuples(CELL, st.floats(0.01, 5)), min_size=2, max_size=12),
    st.booleans(),
)
def test_a_quantile_is_where_the_cubic_of_the_definition_reaches_p(cells, known):
    counts, widths = zip(*cells, strict=True)
    if sum(counts) == 0:
        return
    ends = 3.0 + np.cumsum([0.0, *widths])
    curve = curve_of(counts, ends[1:], ends[0] if known else None)
    shares = np.append(0, curve.counts) / curve.n
    at, values = (ends, shares) if known else (ends[1:], shares[1:])
    found, linear = curve.quantile(P, method="cubic"), curve.quantile(P)
    assert np.all(np.diff(found) >= 0)
    for p, x, beside in zip(P, found, linear, strict=True):
        if len(at) < 3 or (not known and p <= shares[1]):
            assert x == beside  # one cell, or a cell without a width, knows no more
            continue
        assert reference.monotone_cubic(at, values, x) == pytest.approx(p, abs=1e-7)
        assert np.searchsorted(ends, x, side="left") == np.searchsorted(ends, beside, side="left")


@pytest.mark.parametrize("counts", [[5] * 8, [0, 9, 9, 9, 0], [7], [3, 0, 0, 3]])
def test_where_cells_beside_are_alike_it_is_the_linear_quantile(counts):
    curve = dp.cdf_from_counts(np.array(counts), dp.Grid.uniform(0, 1, len(counts)), NoNoise())
    p = [0.0, 0.5, 1.0]
    assert curve.quantile(p, method="cubic") == pytest.approx(curve.quantile(p), abs=1e-12)


def test_smooth_records_in_few_cells_have_a_fifth_of_the_error():
    grid, p = dp.Grid.uniform(0, 1, 16), np.arange(1, 10) / 10
    counts = np.rint(1e6 * np.diff(beta.cdf(np.linspace(0, 1, 17), 2, 5))).astype(np.int64)
    curve, true = dp.cdf_from_counts(counts, grid, NoNoise()), beta.ppf(p, 2, 5)
    linear, cubic = (np.abs(curve.quantile(p, method=m) - true).mean() for m in ("linear", "cubic"))
    assert 5 * cubic < linear


def test_whole_numbers_and_days_stay_whole():
    ages = np.random.default_rng(1).binomial(90, 0.4, 5000)
    grid = dp.Grid.uniform(0, 90, 9)
    curve = dp.cdf(ages, grid, NoNoise(), integers=True)
    found = curve.quantile(P, method="cubic")
    assert np.all(found == np.rint(found))
    true = np.quantile(ages, P)
    assert 1.2 * np.abs(found - true).mean() < np.abs(curve.quantile(P) - true).mean()
    days = dp.Grid(np.array(["2024-02-01", "2024-03-01", "2024-04-01"], "datetime64[D]"))
    when = np.datetime64("2024-01-20") + np.arange(70)
    of_days = dp.cdf(when, days, NoNoise())
    cubic, linear = of_days.quantile(0.9, method="cubic"), of_days.quantile(0.9)
    assert cubic.dtype == linear.dtype
    assert abs(cubic - linear) < np.timedelta64(4, "D")


def test_cells_as_narrow_and_as_wide_as_doubles_allow():
    tiny = np.array([5e-324, 1e-320, 1e-319, 1.0])
    huge = np.array([-1e308, 0.0, 1e308, 1.7e308])
    for ends in (tiny, huge):
        curve = curve_of([1, 5, 2, 4], ends, -1.7e308 if ends is huge else 0.0)
        found = curve.quantile(P, method="cubic")
        assert np.all(np.isfinite(found))
        assert np.all(np.diff(found) >= 0)


def test_intervals_are_those_of_linear_and_hold_the_cubic_quantile():
    values = np.random.default_rng(2).beta(2, 5, 2000)
    curve = dp.cdf(values, dp.Grid.uniform(0, 1, 12), epsilon=0.5)
    low, high = curve.quantile(P, method="cubic", level=0.9)
    assert (low.tolist(), high.tolist()) == tuple(
        end.tolist() for end in curve.quantile_interval(P, 0.9)
    )
    assert np.all(low <= curve.quantile(P, method="cubic"))
    assert np.all(curve.quantile(P, method="cubic") <= high)


def test_raw_curves_have_one_of_their_crossings():
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 4, 200)
    curve = dp.cdf_from_counts(
        counts, dp.Grid.uniform(0, 1, 200), epsilon=0.05, isotonic=False, rng=rng
    )
    cubic, linear = curve.quantile(P, method="cubic"), curve.quantile(P)
    assert np.array_equal(np.ceil(cubic * 200 - 1e-9), np.ceil(linear * 200 - 1e-9))


def test_other_methods_are_refused():
    curve = dp.cdf_from_counts(np.array([1, 2]), dp.Grid.uniform(0, 1, 2), NoNoise())
    with pytest.raises(ParameterError, match="cubic"):
        curve.quantile(0.5, method="quadratic")
    with pytest.raises(ParameterError, match="method"):
        curve.quantile_interval(0.5, method="cubic")


def test_groups_have_the_quantiles_of_their_curves():
    values, by = np.random.default_rng(1).normal(50, 10, 400), np.repeat(["a", "b"], [150, 250])
    grid, how = dp.Grid.uniform(0, 100, 16), {"by": by, "groups": ["a", "b"]}
    for integers in (None, True):
        groups = dp.cdf(np.rint(values), grid, epsilon=1.0, integers=integers, **how)
        found = groups.quantile([[0.1, 0.5], [0.9, 1.0]], method="cubic")
        own = [
            curve.quantile([[0.1, 0.5], [0.9, 1.0]], method="cubic") for curve in groups.values()
        ]
        np.testing.assert_array_equal(found, own)
