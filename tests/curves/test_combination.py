"""One curve from several: sums of counts and variances, updates, weights, means."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.curves.combination import average, combine
from dpcore.kernels.trees import dyadic
from dpcore.mechanisms import (
    Dyadic,
    Hierarchy,
    Histogram,
    PolynomialProjection,
    ToeplitzGaussian,
)
from dpcore.privacy.guarantees import within_group
from tests.curves.raw_releases import raw, same


@st.composite
def part(draw, size=5):
    """A curve of integer counts with made-up noise."""
    counts = draw(st.lists(st.integers(-50, 50), min_size=size, max_size=size))
    n = draw(st.integers(1, 99))
    deviation = draw(st.lists(st.floats(0, 1e3), min_size=size, max_size=size))
    return dp.CDF(
        dp.Grid(np.arange(1.0, size + 1)),
        np.array([*counts[:-1], n]),
        n,
        dp.Privacy(draw(st.floats(0.1, 4.0))),
        {"name": "dyadic", "base": draw(st.integers(2, 3))},
        np.array(deviation),
    )


parts = st.lists(part(), min_size=1, max_size=6)


# --- disjoint records


@settings(max_examples=50)
@given(parts)
def test_counts_records_and_variances_add_up(curves):
    found = combine(curves)
    assert found.n == found.counts[-1] == sum(curve.n for curve in curves)
    assert found.counts.dtype == np.int64
    assert np.array_equal(found.counts, np.sum([curve.counts for curve in curves], axis=0))
    variance = np.sum([curve.noise_deviation**2 for curve in curves], axis=0)
    assert found.noise_deviation == pytest.approx(np.sqrt(variance))
    assert found.processing == ()
    assert found.privacy.epsilon == max(curve.privacy.epsilon for curve in curves)


@settings(max_examples=50)
@given(parts, st.integers(0, 5), st.booleans())
def test_step_by_step_is_the_same_as_all_at_once(curves, middle, floats):
    if floats:
        curves = [replace(curve, counts=curve.counts / 1.0) for curve in curves]
    one_by_one = combine(curves[:1])
    for curve in curves[1:]:
        one_by_one = combine([one_by_one, curve])
    assert same(one_by_one, combine(curves))
    if 0 < middle < len(curves) and not floats:
        halves = combine([combine(curves[:middle]), combine(curves[middle:])])
        assert np.array_equal(halves.counts, one_by_one.counts)
        assert halves.mechanism == one_by_one.mechanism
        assert halves.privacy == one_by_one.privacy


@settings(max_examples=50)
@given(parts, st.lists(st.floats(0.01, 100), min_size=6, max_size=6))
def test_weights(curves, weights):
    weights = weights[: len(curves)]
    found = combine(curves, weights)
    t = np.arange(0.0, 7.0)
    expected = np.average([curve(t) for curve in curves], axis=0, weights=weights)
    assert found(t) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert found.counts.dtype == np.float64
    assert found.counts[-1] == found.n == combine(curves).n
    w = np.array(weights) / math.fsum(weights)
    deviations = [c.noise_deviation / c.n for c in curves]
    errors = np.sqrt(np.sum((w[:, None] * deviations) ** 2, axis=0))
    assert found.standard_error() == pytest.approx(errors, rel=1e-12)
    scaled = combine(iter(curves), np.array(weights) * 1024.0)
    assert np.array_equal(scaled.counts, found.counts)
    pooled = combine(curves, [curve.n for curve in curves])
    assert pooled.counts == pytest.approx(combine(curves).counts, rel=1e-12, abs=1e-12)


@settings(max_examples=50)
@given(parts, st.lists(st.floats(0.01, 100), min_size=6, max_size=6))
def test_the_weights_of_least_noise(curves, other):
    curves = [replace(curve, noise_deviation=curve.noise_deviation + 0.1) for curve in curves]

    def error(curve):
        return np.mean(curve.standard_error() ** 2)

    best = [c.n**2 / np.mean(c.noise_deviation**2) for c in curves]  # docs/guides/several-curves.md
    assert error(combine(curves, best)) <= error(combine(curves, other[: len(curves)])) * 1.000001
    assert error(combine(curves, best)) <= error(combine(curves)) * 1.000001


OPEN = [Hierarchy(epsilon, neighbours="add-or-remove-one") for epsilon in (0.5, 0.9, 0.7)]
PARTS = [
    [Dyadic(0.7), Dyadic(0.7), Dyadic(0.7)],
    [Dyadic(rho=0.1), Dyadic(1.0, base=3), Dyadic(0.4)],
    [Hierarchy(0.5), Hierarchy(0.9, 2), Histogram(1.1)],
    [ToeplitzGaussian(rho=0.2), ToeplitzGaussian(rho=0.05), Dyadic(rho=0.3)],
]


def simulated(mechanisms, together, replicates=3000):
    """Errors of curves made together of independent releases, and what they are said to be."""
    rng = np.random.default_rng(5)
    cells = [rng.poisson(lam, 19) for lam in (40, 60, 90)]
    truth = np.cumsum(cells, axis=1)
    model = [raw(c, m, rng) for c, m in zip(cells, mechanisms, strict=True)]

    def curves(rows):
        numbers = [max(1, round(float(row[-1]))) for row in rows]
        return [
            replace(c, counts=np.append(row[:-1], np.array(n, row.dtype)), n=n)
            for c, row, n in zip(model, rows, numbers, strict=True)
        ]

    noisy = [
        mechanism.release(counts, rng=rng, replicates=replicates)
        for counts, mechanism in zip(cells, mechanisms, strict=True)
    ]
    found = [together(curves(rows)) for rows in zip(*noisy, strict=True)]
    exact = together(curves(truth))
    return np.array([each.counts for each in found]) - exact.counts, exact.noise_deviation


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("mechanisms", "weights"),
    [*((m, w) for m in PARTS for w in (None, (3.0, 1.0, 2.0))), (OPEN, None)],
)
def test_predicted_and_simulated_errors_agree(mechanisms, weights):
    errors, deviation = simulated(mechanisms, lambda curves: combine(curves, weights))
    assert errors.std(axis=0) == pytest.approx(deviation, rel=0.08, abs=1e-9)
    assert np.abs(errors.mean(axis=0)).max() < 5.5 * deviation.max() / math.sqrt(3000)
    assert (deviation[-1] == 0.0) == (mechanisms is not OPEN)


@pytest.mark.parametrize("mechanism", [Dyadic(1.0), Hierarchy(1.0), ToeplitzGaussian(rho=0.5)])
def test_sites_have_the_square_root_of_their_number_times_a_curators_error(mechanism):
    cells = np.full(16, 9)
    curator = raw(9 * cells, mechanism)
    sites = combine([raw(cells, mechanism) for _ in range(9)])
    assert sites.n == curator.n
    assert sites.standard_error() == pytest.approx(3.0 * curator.standard_error())
    assert sites.privacy == within_group(curator.privacy)


@pytest.mark.parametrize("base", [2, 3])
def test_a_sum_of_noise_trees_is_a_noise_tree(base):
    rng = np.random.default_rng(3)
    draws = rng.integers(-9, 10, (2, 4, dyadic.node_count(18, base)))
    separate, together = np.zeros((2, 4, 18), np.int64), np.zeros((4, 18), np.int64)
    dyadic.add_ancestors(draws[0].copy(), base, separate[0])
    dyadic.add_ancestors(draws[1].copy(), base, separate[1])
    dyadic.add_ancestors(draws[0] + draws[1], base, together)
    assert np.array_equal(separate.sum(axis=0), together)


@pytest.mark.parametrize("weights", [None, [1.0, 3.0]])
def test_combined_trees_can_be_smoothed(weights):
    rng = np.random.default_rng(4)
    two = [raw(rng.poisson(5, 30), m, rng) for m in (Dyadic(0.5, 3), Dyadic(rho=0.1, base=3))]
    curve = combine(two, weights)
    smoothed = curve.smooth()
    assert smoothed.is_monotone
    expected = dp.smooth(curve.counts[:-1], curve.n, base=3).cumulative
    assert np.array_equal(smoothed.counts[:-1], expected)
    with pytest.raises(dp.ParameterError, match="must have a noise tree, as Dyadic has"):
        combine([*two, raw(np.ones(30, int), Dyadic(1.0))]).smooth()


# --- the same records again


@settings(max_examples=50)
@given(parts)
def test_the_mean_of_releases_of_the_same_records(curves):
    curves = [
        replace(
            curve,
            counts=np.append(curve.counts[:-1], 50),
            n=50,
            noise_deviation=curve.noise_deviation + 0.01,
        )
        for curve in curves
    ]
    found = average(curves)
    variances = np.array([np.mean(curve.noise_deviation**2) for curve in curves])
    expected = np.average([curve.counts for curve in curves], axis=0, weights=1 / variances)
    assert found.counts == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert found.counts[-1] == found.n == 50
    assert np.mean(found.noise_deviation**2) == pytest.approx(1 / np.sum(1 / variances), rel=1e-9)
    spent = math.fsum(curve.privacy.epsilon for curve in curves)
    assert found.privacy.epsilon == pytest.approx(spent)
    halves = average([average(curves[:2]), *curves[2:]])
    assert halves.counts == pytest.approx(found.counts, rel=1e-9, abs=1e-9)
    assert halves.mechanism == found.mechanism
    weighted = average(curves, [curve.privacy.epsilon for curve in curves])
    assert np.mean(weighted.noise_deviation**2) >= np.mean(found.noise_deviation**2) * 0.999999


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("weights", [None, (3.0, 1.0, 2.0)])
def test_predicted_and_simulated_errors_of_a_mean_agree(weights):
    def together(curves):
        alike = [replace(each, n=500, counts=np.append(each.counts[:-1], 500.0)) for each in curves]
        return average(alike, weights)

    mechanisms = [Dyadic(0.7), Hierarchy(0.3), ToeplitzGaussian(rho=0.2)]
    errors, deviation = simulated(mechanisms, together)  # of three sets of records: all is linear
    assert errors.std(axis=0) == pytest.approx(deviation, rel=0.08, abs=1e-9)
    assert np.abs(errors.mean(axis=0)).max() < 5.5 * deviation.max() / math.sqrt(3000)


def test_a_curve_without_noise_is_the_mean():
    curves = [raw([5], Dyadic(1.0)), raw([5], Dyadic(0.1))]  # one cell: n alone, and that is public
    assert average(curves).counts.tolist() == [5.0]
    assert average(curves).noise_deviation.tolist() == [0.0]


def test_unknown_noise():
    two = [raw(np.full(100, 3), PolynomialProjection(1.0, 1e-6)) for _ in range(2)]
    assert np.all(np.isinf(combine(two).noise_deviation[:-1]))
    assert np.all(
        np.isinf(combine([two[0], raw(np.full(100, 3), Dyadic(1.0))]).noise_deviation[:-1])
    )
    assert np.all(np.isinf(combine(two, [1e-9, 1.0]).noise_deviation[:-1]))
    with pytest.raises(dp.ParameterError, match="weights must be given: the noise of some curve"):
        average(two)
    curve = average(two, [1.0, 1.0])
    assert np.array_equal(curve.counts, (two[0].counts + two[1].counts) / 2)
    assert same(dp.CDF.from_json(curve.to_json()), curve)
