"""Released curves: evaluation, inverses, post-processing, storage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from tests.curves.raw_releases import curve_of

GRID = dp.Grid([1.0, 2.0, 4.0, 8.0])


def test_evaluation_steps_at_thresholds():
    curve = curve_of([2, 5, 5, 10], GRID)
    t = [-np.inf, 0.99, 1.0, 1.99, 2.0, 4.0, 7.9, 8.0, 1e9, np.inf]
    assert curve(t).tolist() == [0, 0, 0.2, 0.2, 0.5, 0.5, 0.5, 1, 1, 1]
    assert curve(3.0) == 0.5
    assert curve(np.ones((2, 3))).shape == (2, 3)


def test_noise_does_not_hide_what_is_known():
    curve = dp.cdf(np.linspace(0, 8, 50), GRID, epsilon=0.01, isotonic=False)
    assert curve.counts[-1] == curve.n == 50
    assert curve(8.0) == 1
    assert curve(-3.0) == 0


@settings(max_examples=200)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.lists(st.floats(0, 1), max_size=9))
def test_quantile_is_the_generalised_inverse_of_a_monotone_curve(cells, p):
    counts = np.cumsum(cells)
    counts[-1] += 1
    curve = curve_of(counts)
    p = np.r_[p, 0.0, 1.0, counts / counts[-1]]
    least = p * (1.0 - 2.0**-48)  # but for rounding
    expected = [curve.thresholds[np.flatnonzero(counts / counts[-1] >= q)[0]] for q in least]
    assert curve.quantile(p).tolist() == expected  # records are whole numbers
    halves = curve_of(counts, dp.Grid(curve.thresholds / 2))
    steps = halves.quantile(p, method="inverted_cdf")
    assert steps.tolist() == [each / 2 for each in expected]
    assert np.all(halves(steps) >= least)


@settings(max_examples=60)
@given(st.lists(st.integers(-50, 150), min_size=0, max_size=60))
def test_isotonic_is_monotone_bounded_and_never_further_from_any_monotone_curve(noisy):
    curve = curve_of([*noisy, 100])
    fitted = curve.isotonic()
    assert fitted.is_monotone
    assert fitted.counts[-1] == 100
    assert fitted.processing == ("isotonic()",)
    truth = np.sort(np.random.default_rng(1).integers(0, 101, len(noisy) + 1))
    truth[-1] = 100
    assert np.sum((fitted.counts - truth) ** 2) <= np.sum((curve.counts - truth) ** 2) + 1e-6


def test_monotone_input_is_left_as_it_is():
    curve = curve_of([0, 3, 3, 7, 10])
    assert curve.is_monotone
    assert curve.isotonic().counts.tolist() == curve.counts.tolist()
    for norm in (1, 2):
        assert curve.smooth(norm).counts.tolist() == curve.counts.tolist()


@pytest.mark.parametrize("norm", [1, 2])
def test_smooth_is_monotone_and_keeps_the_end(norm):
    grid, mechanism = dp.Grid.uniform(0, 1, 100), dp.mechanisms.Dyadic(0.05)
    curve = dp.cdf(np.linspace(0, 1, 1000), grid, mechanism, isotonic=False)
    smoothed = curve.smooth(norm)
    assert not curve.is_monotone
    assert smoothed.is_monotone
    assert smoothed.counts[-1] == smoothed.n == 1000
    assert smoothed.privacy == curve.privacy
    assert smoothed.smooth(norm) == smoothed
    with pytest.raises(dp.ParameterError, match="must be raw, or keep its raw counts"):
        replace(smoothed, raw=None).smooth(norm)


def test_smooth_uses_the_tree_of_the_mechanism():
    values = np.linspace(0, 1, 1000)
    grid = dp.Grid.uniform(0, 1, 50)
    rng = np.random.default_rng(3)
    curve = dp.cdf(values, grid, dp.mechanisms.Dyadic(0.1, base=7), isotonic=False, rng=rng)
    expected = dp.smooth(curve.counts[:-1], 1000, base=7).cumulative
    assert curve.smooth().counts[:-1].tolist() == expected.tolist()


def test_one_cell():
    curve = dp.cdf([1.0, 2.0], dp.Grid([5.0]), dp.mechanisms.Dyadic(1.0), isotonic=False)
    assert curve.counts.tolist() == [2]
    for other in (curve, curve.smooth(), curve.isotonic()):
        assert other.quantile(0.5) == 5.0
    assert curve.standard_error().tolist() == [0]


def test_samples_follow_the_curve():
    curve = curve_of([100, 500, 500, 1000], GRID)
    rng = np.random.default_rng(8)
    drawn, frequency = np.unique(
        curve.sample(10_000, rng, method="inverted_cdf"), return_counts=True
    )
    assert drawn.tolist() == [1.0, 2.0, 8.0]
    assert frequency == pytest.approx([1000, 4000, 5000], abs=300)
    raw = curve_of([400, -100, 700, 500], GRID)
    assert set(raw.sample(100, rng, method="inverted_cdf")) <= set(GRID.thresholds)
    assert raw.sample(0).shape == (0,)


@pytest.mark.needs_jit
def test_band_covers_the_records_curve_as_often_as_it_says():
    values = np.random.default_rng(1).beta(2, 5, 5000)
    grid = dp.Grid.uniform(0, 1, 64)
    truth = np.cumsum(grid.count(values)) / 5000
    inside = []
    for child in np.random.default_rng(2).spawn(400):
        low, high = dp.cdf(values, grid, epsilon=1.0, isotonic=False, rng=child).band(0.9)
        inside.append((low <= truth) & (truth <= high))
    assert np.mean(np.array(inside)[:, 8:40]) == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("kind", ["raw", "smooth", "isotonic", "without_negative_counts"])
@pytest.mark.parametrize("grid", [dp.Grid.uniform(0, 1, 33), dp.Grid.log(0.01, 1, 20)])
def test_json_gives_every_bit_back(kind, grid):
    mechanism, rng = dp.mechanisms.Dyadic(0.3), np.random.default_rng(1)
    curve = dp.cdf(np.linspace(0, 1, 200), grid, mechanism, isotonic=False, rng=rng)
    curve = curve if kind == "raw" else getattr(curve, kind)()
    again = dp.CDF.from_json(curve.to_json())
    assert again == curve
    assert again.counts.dtype == curve.counts.dtype
    assert kind == "raw" or again.raw.dtype == curve.raw.dtype
    assert again.as_released() == curve.as_released()
    assert again.to_json() == curve.to_json()


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda c: c(float("nan")), r"\bt\b"),
        (lambda c: c("a"), r"\bt\b"),
        (lambda c: c.quantile(1.5), r"\bp\b"),
        (lambda c: c.quantile([0.5, float("nan")]), r"\bp\b"),
        (lambda c: c.quantile("a"), r"\bp\b"),
        (lambda c: c.sample(-1), "size"),
        (lambda c: c.sample(3, rng=5), "rng"),
        (lambda c: c.quantile(0.5, method="lower"), "method"),
        (lambda c: c.sample(3, method=None), "method"),
        (lambda c: c.quantile(0.5, level=95), "level"),
        (lambda c: c.smooth(3), "norm must be one of 1, 2; got 3"),
        (lambda c: c.smooth(solver="cvxopt"), "solver"),
        (lambda c: c.band(1.0), "level"),
        (lambda c: c.quantile_interval(1.5), r"\bp\b"),
        (lambda c: c.quantile_interval(0.5, 1), "level"),
        (lambda c: c.population_quantile_interval(1.5), r"\bp\b"),
        (lambda c: c.population_quantile_interval(0.5, 0.0), "level"),
    ],
)
def test_bad_arguments(use, words):
    with pytest.raises((dp.ParameterError, dp.DtypeError), match=words):
        use(curve_of([2, 7, 5, 10], GRID))


@pytest.mark.parametrize("number", [0.5, np.float64(0.5), np.array(0.5), np.float32(0.5), 1])
def test_a_number_in_is_a_float_out(number):
    curve = curve_of([2, 5, 5, 10], GRID)
    for some in (curve, curve.isotonic()):
        assert type(some(number)) is float
        assert type(some.quantile(number)) is float
        assert type(some.quantile(number, method="inverted_cdf")) is float


def test_an_array_in_is_an_array_out():
    curve = curve_of([2, 5, 5, 10], GRID)
    assert curve([[3, 4]]).tolist() == [[0.5, 0.5]]
    assert curve.quantile(0.5) == 2.0
    assert curve.quantile([[0.1, 0.9]]).tolist() == [[1.0, 7.2]]
    assert curve([]).shape == curve.quantile([]).shape == (0,)
