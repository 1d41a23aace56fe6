"""Released curves: evaluation, inverses, post-processing, storage."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp

GRID = dp.Grid([1.0, 2.0, 4.0, 8.0])
PRIVACY = {"epsilon": 1.0, "delta": 0.0, "neighbours": "replace-one", "simulated": False}


def curve_of(counts, grid=None, n=None):
    counts = np.asarray(counts)
    grid = dp.Grid.integers(1, counts.size) if grid is None else grid
    return dp.CDF(
        grid=grid,
        counts=counts,
        n=int(counts[-1]) if n is None else n,
        privacy=dp.Privacy(1.0),
        mechanism=dp.mechanisms.Dyadic(1.0).describe(),
        noise_deviation=dp.mechanisms.Dyadic(1.0).noise_deviation(counts.size),
    )


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
    expected = [curve.thresholds[np.flatnonzero(counts / counts[-1] >= q)[0]] for q in p]
    assert curve.quantile(p).tolist() == expected  # records are whole numbers
    halves = curve_of(counts, dp.Grid(curve.thresholds / 2))
    steps = halves.quantile(p, method="inverted_cdf")
    assert steps.tolist() == [each / 2 for each in expected]
    assert np.all(halves(steps) >= p)


@settings(max_examples=200)
@given(st.lists(st.integers(-9, 9), min_size=0, max_size=40), st.floats(0.01, 1))
def test_quantile_of_a_raw_curve_is_a_crossing(noisy, p):
    curve = curve_of([*noisy, 5])
    at = int(np.flatnonzero(curve.thresholds == curve.quantile(p))[0])
    assert curve.counts[at] / 5 >= p
    assert at == 0 or curve.counts[at - 1] / 5 < p


def test_quantile_shapes():
    curve = curve_of([2, 5, 5, 10], GRID)
    assert curve.quantile(0.5) == 2.0
    assert curve.quantile([[0.1, 0.9]]).tolist() == [[1.0, 7.2]]


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


@pytest.mark.parametrize("kind", ["raw", "smooth", "isotonic"])
@pytest.mark.parametrize("grid", [dp.Grid.uniform(0, 1, 33), dp.Grid.log(0.01, 1, 20)])
def test_json_round_trip(kind, grid):
    values = np.linspace(0, 1, 200)
    mechanism, rng = dp.mechanisms.Dyadic(0.3), np.random.default_rng(1)
    curve = dp.cdf(values, grid, mechanism, isotonic=False, rng=rng)
    curve = curve if kind == "raw" else getattr(curve, kind)()
    again = dp.CDF.from_json(curve.to_json())
    assert again.counts.dtype == curve.counts.dtype
    assert np.array_equal(again.counts, curve.counts)
    assert np.array_equal(again.noise_deviation, curve.noise_deviation)
    for field in ("grid", "n", "privacy", "mechanism", "processing"):
        assert getattr(again, field) == getattr(curve, field)
    assert again.to_json() == curve.to_json()


def broken(**changes):
    data = json.loads(curve_of([2, 5, 5, 10], GRID).to_json())
    for field, value in changes.items():
        if value is None:
            del data[field]
        else:
            data[field] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a release"),
        (broken(format="other"), "not a release"),
        (broken(version=2), "format version 2; this dpcore reads version 1"),
        (broken(counts=None), "without the field 'counts'"),
        (broken(counts=[1, 2]), "counts must be 4 numbers"),
        (broken(counts=["a", "b", "c", "d"]), "counts must be a list of numbers"),
        (broken(counts=[1, 2, 3, 4]), "counts must end with n, 10; got 4"),
        (broken(n=0), "n must be between 1 and"),
        (broken(grid={"kind": "thresholds", "thresholds": [1, 1, 2, 3]}), "strictly increasing"),
        (broken(privacy={**PRIVACY, "epsilon": -1}), "epsilon must be 0 or more"),
        (broken(privacy={"epsilon": 1}), "privacy must have epsilon, delta"),
        (broken(privacy=3), "bad field"),
        (broken(noise_deviation=[[1.0, 3]]), "noise_deviation must be runs of 4"),
        (broken(noise_deviation=[[1.0, 10**12]]), "noise_deviation must be runs of 4"),
        (broken(mechanism=[]), "mechanism must be an object"),
        (broken(processing="x"), "processing must be a list of strings"),
        (broken().replace("10]", "NaN]"), "NaN is not a JSON number"),
    ],
)
def test_bad_json(text, words):
    with pytest.raises(dp.FormatError, match=words):
        dp.CDF.from_json(text)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda c: c(float("nan")), "t must not be NaN"),
        (lambda c: c("a"), "t must hold real numbers"),
        (lambda c: c.quantile(1.5), "p must lie within"),
        (lambda c: c.quantile([0.5, float("nan")]), "p must lie within"),
        (lambda c: c.quantile("a"), "p must hold real numbers"),
        (lambda c: c.sample(-1), "size must be between 0"),
        (lambda c: c.sample(3, rng=5), "rng must be a generator"),
        (lambda c: c.smooth(3), "norm must be one of 1, 2; got 3"),
        (lambda c: c.smooth(solver="cvxopt"), "solver must be one of 'graph', 'osqp'"),
        (lambda c: c.band(1.0), "level must be between 0 and 1"),
    ],
)
def test_bad_arguments(use, words):
    with pytest.raises((dp.ParameterError, dp.DtypeError), match=words):
        use(curve_of([2, 7, 5, 10], GRID))
