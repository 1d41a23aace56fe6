"""Errors by simulation: those of raw releases are the closed forms, those of isotonic ones less."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dpcore as dp
from dpcore import trust
from dpcore.mechanisms import (
    AdaptiveQuantiles,
    Dawa,
    Hierarchy,
    HistogramQueries,
    NoNoise,
    ToeplitzGaussian,
    with_simulated_deviation,
)

RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 1, 64)
VALUES = RNG(1).normal(0.3, 0.05, 500)


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    "mechanism",
    [
        Hierarchy(1.0),
        Hierarchy(1.0, neighbours="add-or-remove-one"),
        ToeplitzGaussian(rho=0.1),
        trust.DistributedNoise(1.0, clients=500),
    ],
    ids=repr,
)
def test_raw_releases_have_the_closed_form(mechanism):
    if isinstance(mechanism, trust.DistributedNoise):
        curve = replace(
            dp.cdf(VALUES, GRID, Hierarchy(1.0), isotonic=False, rng=RNG(2)),
            mechanism=mechanism.describe(),
            noise_deviation=mechanism.noise_deviation(GRID.size),
        )
        found = with_simulated_deviation(curve, mechanism, replicates=4000)
    else:
        curve = dp.cdf(VALUES, GRID, mechanism, isotonic=False, rng=RNG(2))
        found = with_simulated_deviation(curve, replicates=4000)
    assert found.noise_deviation == pytest.approx(curve.noise_deviation, rel=0.08, abs=0.05)
    assert found.counts is curve.counts


@pytest.mark.needs_jit
def test_isotonic_releases_have_less_noise_and_their_bands_still_cover():
    rng, truth = RNG(3), np.cumsum(GRID.count(VALUES)) / VALUES.size
    inside, ratios = np.zeros((2, 64)), []
    for _ in range(150):
        curve = dp.cdf(VALUES, GRID, Hierarchy(0.5), rng=rng)
        found = with_simulated_deviation(curve, replicates=60)
        for i, each in enumerate((curve, found)):
            low, high = each.band(0.9)
            inside[i] += (low <= truth + 1e-12) & (truth <= high + 1e-12)
        ratios.append(np.sum(found.noise_deviation) / np.sum(curve.noise_deviation))
    assert np.mean(ratios) < 0.7
    share = inside.mean(axis=1) / 150
    assert 0.88 < share[1] < share[0]


def test_the_same_curve_has_the_same_answer_and_a_generator_another():
    curve = dp.cdf(VALUES, GRID, Hierarchy(1.0), rng=RNG(4))
    again = dp.CDF.from_json(curve.to_json())
    found, other = (with_simulated_deviation(each).noise_deviation for each in (curve, again))
    assert np.array_equal(found, other)
    other = with_simulated_deviation(curve, rng=RNG(1)).noise_deviation
    assert not np.array_equal(found, other)
    assert np.sum(found) == pytest.approx(np.sum(other), rel=0.2)


def test_no_noise_stays_none():
    curve = with_simulated_deviation(dp.cdf(VALUES, GRID, NoNoise()), replicates=2)
    assert not curve.noise_deviation.any()


@pytest.mark.parametrize(
    ("mechanism", "change"),
    [
        (Dawa(1.0), {}),  # what these lose beside noise is not simulated
        (HistogramQueries(1.0, 8), {}),
        (AdaptiveQuantiles(1.0), {}),
        (Hierarchy(1.0), {"mechanism": {"name": "mine"}}),
        (Hierarchy(1.0), {"processing": ("smooth(norm=2)",)}),
        (Hierarchy(1.0), {"privacy": dp.Privacy(1.0, neighbours="replace-client")}),
    ],
)
def test_other_curves_are_refused(mechanism, change):
    curve = replace(dp.cdf(VALUES, GRID, mechanism), **change)
    with pytest.raises(dp.ParameterError, match=r"curve|mechanism"):
        with_simulated_deviation(curve)
