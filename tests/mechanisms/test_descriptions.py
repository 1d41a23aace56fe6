"""Mechanisms made again from what a release says of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import (
    AdaptiveQuantiles,
    Dawa,
    Dyadic,
    Hierarchy,
    Histogram,
    HistogramQueries,
    NoNoise,
    PolynomialProjection,
    ToeplitzGaussian,
    from_curve,
)
from dpcore.trust import Local

GRID = dp.Grid.uniform(0, 1, 64)
VALUES = np.random.default_rng(1).random(1000)


@pytest.mark.parametrize(
    "mechanism",
    [
        Dyadic(1.0),
        Dyadic(rho=0.5, base=3),
        Dyadic(1.0, sensitivity="paper"),
        Hierarchy(0.3, branching=4),
        Hierarchy(1.0, branching=(4, 8, 2), budgets=(1, 2, 0.5)),
        Hierarchy(1.0, branching=(64,), budgets=(3.0,)),
        Hierarchy(1.0, branching="hb", budgets="equal"),
        Hierarchy(1.0, delta=1e-6, neighbours="add-or-remove-one"),
        Histogram(rho=0.5),
        Dawa(1.0, split=0.5),
        Dawa(rho=0.5),
        Dawa(1.0, delta=1e-6, neighbours="add-or-remove-one"),
        ToeplitzGaussian(0.5),
        NoNoise(),
        PolynomialProjection(1.0, 1e-6),
        PolynomialProjection(rho=0.1, degree=5, basis="moments", sensitivity="paper"),
        HistogramQueries(1.0, bins=7),
        AdaptiveQuantiles(1.0, steps=9),
    ],
    ids=lambda mechanism: mechanism.describe()["name"],
)
def test_a_curve_says_what_released_it(mechanism):
    curve = dp.cdf(VALUES, GRID, mechanism)
    made = from_curve(curve)
    assert type(made) is type(mechanism)
    assert made.describe() == mechanism.describe()
    assert made.privacy == curve.privacy
    if not hasattr(mechanism, "release_with_deviation"):  # of its error, a release says more
        assert np.array_equal(made.noise_deviation(64), curve.noise_deviation)


def test_a_fraction_comes_back_as_a_double():
    curve = dp.cdf(VALUES, GRID, Hierarchy(Fraction(1, 3)))
    assert from_curve(curve).epsilon == 1 / 3


def test_what_cannot_be_made_again_is_refused():
    with pytest.raises(dp.DtypeError, match="curve must be a CDF; got str"):
        from_curve("hierarchy")
    with pytest.raises(
        dp.ParameterError, match="curve must be released by one of adaptive-quantiles, "
    ):
        from_curve(dp.cdf(VALUES, GRID, Local(1.0, clients=1000)))
    curve = dp.cdf(VALUES, GRID, Dyadic(1.0))
    for wrong in (
        {"name": "dyadic", "epsilon": 1.0},
        {"name": "no-noise", "base": 2},
        {"name": "dawa", "epsilon": 1.0, "split": 0.25, "branching": 16},
    ):
        with pytest.raises(dp.ParameterError, match="curve must be released by "):
            from_curve(replace(curve, mechanism=wrong))
