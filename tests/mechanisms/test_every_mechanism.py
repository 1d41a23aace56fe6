"""What all mechanisms have in common: refusals, stated errors, threads, and what releases say."""

from __future__ import annotations

import inspect
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
    Mechanism,
    NoNoise,
    PolynomialProjection,
    ToeplitzGaussian,
    from_curve,
)
from dpcore.mechanisms.base import names, registered
from dpcore.trust import Local
from tests.mechanisms.refusals import refusals

RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 1, 64)
VALUES = RNG(1).random(1000)
OTHER_RELATION = {"neighbours": "add-or-remove-one"}


# --- what is refused

BUDGETS_REFUSED = [
    *refusals({"epsilon": [0, -1.0, np.nan, np.inf], "rho": [0]}, {"epsilon": ["1"]}),
    ({}, dp.ParameterError, "epsilon"),
    ({"epsilon": 1, "rho": 1}, dp.ParameterError, "rho"),
    ({"rho": 1, "delta": 0.1}, dp.ParameterError, "delta"),
    ({"epsilon": 1, "delta": 0}, dp.ParameterError, "delta"),
    ({"epsilon": 1, "delta": 1}, dp.ParameterError, "delta"),
]
KINDS = [
    AdaptiveQuantiles,
    Dawa,
    Dyadic,
    Hierarchy,
    Histogram,
    HistogramQueries,
    PolynomialProjection,
    ToeplitzGaussian,
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("budget", "error", "words"), BUDGETS_REFUSED)
def test_budgets_that_are_refused(kind, budget, error, words):
    with pytest.raises(error, match=words):
        kind(**budget)


REFUSED = {
    AdaptiveQuantiles: refusals(
        {"steps": [0, 5000], "between": ["spline"]},
        {"steps": ["all"]},
    ),
    Dawa: refusals({"split": [1, -0.5, "half"], "neighbours": ["any"]}, {}),
    Dyadic: refusals({"base": [1], "sensitivity": ["none"]}, {"base": [2.0]}),
    Hierarchy: refusals(
        {
            "branching": [1, (4, 1), "best"],
            "budgets": ["all", (1, 0)],
            "neighbours": ["both"],
        },
        {"branching": [2.5], "budgets": [3]},
    ),
    HistogramQueries: refusals({"bins": [0], "between": ["cubic"]}, {"bins": [3.0]}),
    PolynomialProjection: refusals(
        {
            "degree": [0, "best", 129],
            "basis": ["fourier"],
            "sensitivity": ["paper"],
            "budgets": ["best"],
        },
        {},
    ),
    ToeplitzGaussian: refusals({"neighbours": ["x"]}, {}),
}


@pytest.mark.parametrize(
    ("kind", "change", "error", "words"),
    [(kind, *case) for kind, cases in REFUSED.items() for case in cases],
)
def test_parameters_that_are_refused(kind, change, error, words):
    needed = {"delta": 1e-6} if kind in (PolynomialProjection, ToeplitzGaussian) else {}
    with pytest.raises(error, match=words):
        kind(epsilon=1.0, **needed, **change)


@pytest.mark.parametrize(
    ("kind", "arguments", "named"),
    [
        (Dyadic, {"base": 4, "sensitivity": "paper"}, "base"),
        (Dyadic, {"delta": 0.1, "sensitivity": "paper"}, "sensitivity"),
        (PolynomialProjection, {}, "delta"),
        (PolynomialProjection, {"delta": 1e-6, "degree": 33, "basis": "moments"}, "degree"),
        (ToeplitzGaussian, {}, "delta"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(kind, arguments, named):
    with pytest.raises(dp.ParameterError, match=f"^{named} "):
        kind(epsilon=1.0, **arguments)


ALL = [
    AdaptiveQuantiles(0.5, 10),
    Dawa(0.5),
    Dyadic(0.5),
    Hierarchy(0.5),
    Histogram(0.5),
    HistogramQueries(0.5),
    PolynomialProjection(rho=0.1),
    ToeplitzGaussian(rho=0.1),
]


def named(mechanism):
    return mechanism.describe()["name"]


@pytest.mark.parametrize("mechanism", ALL, ids=named)
@pytest.mark.parametrize(
    ("change", "error", "words"),
    refusals(
        {
            "counts": [
                np.zeros((1, 2, 2), int),
                np.array([], int),
                np.array([3, -1]),
                [2**45, 2**46],
            ],
            "replicates": [0],
            "workers": [0],
        },
        {"counts": [np.array([0.5])], "rng": [1]},
    ),
)
def test_releases_that_are_refused(mechanism, change, error, words):
    with pytest.raises(error, match=words):
        mechanism.release(**{"counts": np.ones(2, int), **change})


@pytest.mark.parametrize(
    "mechanism",
    [
        AdaptiveQuantiles(Fraction(1, 2**50)),
        AdaptiveQuantiles(rho=1e-17),
        Dawa(1e-13),
        Dyadic(1e-15),
        Hierarchy(1e-13),
        Hierarchy(rho=1e-17),
        HistogramQueries(Fraction(1, 2**50)),
        HistogramQueries(rho=1e-17),
        PolynomialProjection(rho=1e-30),
        ToeplitzGaussian(rho=1e-13),
    ],
    ids=repr,
)
def test_a_budget_that_is_too_small_is_refused_before_anything_is_counted(mechanism):
    budget = next(name for name in ("epsilon", "rho") if getattr(mechanism, name) is not None)
    with pytest.raises(dp.ParameterError, match=budget):
        dp.cdf([float("nan")], dp.Grid.uniform(0, 1, 100), mechanism)


# --- releases


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    "mechanism",
    [
        Hierarchy(0.7),
        Hierarchy(0.7, 3, "equal"),
        Hierarchy(0.7, (4, 5, 3), (1, 2, 1)),
        Hierarchy(0.7, **OTHER_RELATION),
        Hierarchy(rho=0.2),
        Hierarchy(4.0, delta=1e-6),  # its noise is finer than a count, as that of the next three
        Hierarchy(8.0, 3, "equal", delta=1e-6),
        Hierarchy(4.0, delta=1e-6, **OTHER_RELATION),
        Histogram(3.0, delta=1e-6),
        Histogram(0.7),
        Histogram(0.7, **OTHER_RELATION),
        Dyadic(0.7),
        Dyadic(0.7, 5),
        Dyadic(0.7, 57),
        Dyadic(rho=0.2),
        Dyadic(rho=0.2, base=5),
        ToeplitzGaussian(rho=0.3),
        ToeplitzGaussian(rho=0.3, **OTHER_RELATION),
        HistogramQueries(0.5, 57),
        HistogramQueries(rho=0.1, bins=57),
    ],
    ids=repr,
)
def test_predicted_and_simulated_errors_agree(mechanism):
    counts, replicates = RNG(1).poisson(3, 57), 20_000
    released = mechanism.release(counts, rng=RNG(2), replicates=replicates)
    errors = released - np.cumsum(counts)
    assert np.mean(errors**2) == pytest.approx(mechanism.mean_squared_error(57), rel=0.03)
    stated = mechanism.noise_deviation(57)
    assert errors.std(axis=0) == pytest.approx(stated, rel=0.05, abs=1e-9)
    assert np.abs(errors.mean(axis=0)).max() < 5.5 * stated.max() / replicates**0.5
    if mechanism.privacy.neighbours == "replace-one":
        assert np.all(released[:, -1] == counts.sum())


@pytest.mark.parametrize(
    "mechanism", [*ALL, HistogramQueries(0.1, delta=1e-5), Dyadic(rho=0.1)], ids=repr
)
@pytest.mark.parametrize("size", [1, 3, 300])
def test_releases_are_independent_and_the_same_on_any_number_of_threads(
    mechanism, size, monkeypatch
):
    monkeypatch.setattr("dpcore.mechanisms.base._BLOCK_DRAWS", 1000)
    counts = RNG(1).poisson(9, size)
    before = counts.copy()
    first, *others = (
        mechanism.release(counts, rng=RNG(3), replicates=23, workers=workers)
        for workers in (1, 2, 7, None)
    )
    assert first.shape == (23, size)
    for other in others:
        assert np.array_equal(first, other)
    assert np.array_equal(counts, before)
    assert np.all(first[:, -1] == pytest.approx(counts.sum()))  # n is public for all of these
    if size == 300:
        again = mechanism.release(counts, replicates=2)
        assert np.unique(np.vstack([first, again]), axis=0).shape[0] == 25


@pytest.mark.parametrize(
    "mechanism",
    [
        kind(**budget)
        for kind in (AdaptiveQuantiles, HistogramQueries)
        for budget in ({"epsilon": 0.5}, {"rho": 0.1}, {"epsilon": 1.0, "delta": 1e-6})
    ],
    ids=repr,
)
def test_as_many_records_as_there_may_be(mechanism):
    counts = np.array([2**45, 0, 2**44, 2**44])
    deviation = mechanism.noise_deviation(4)
    if isinstance(mechanism, AdaptiveQuantiles):
        deviation = mechanism.answer_deviation(4)
    errors = np.abs(mechanism.release(counts) - np.cumsum(counts))
    assert np.all(errors <= 15 * deviation + 1)


# --- what a release says of its mechanism


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
        Hierarchy(1.0, delta=1e-6, **OTHER_RELATION),
        Histogram(rho=0.5),
        Dawa(1.0, split=0.5),
        Dawa(rho=0.5),
        Dawa(1.0, delta=1e-6, **OTHER_RELATION),
        ToeplitzGaussian(rho=0.5),
        PolynomialProjection(1.0, delta=1e-6),
        PolynomialProjection(rho=0.1, degree=5, basis="moments", sensitivity="paper"),
        HistogramQueries(1.0, bins=np.int64(7)),
        HistogramQueries(rho=0.1, bins=7, between="linear"),
        AdaptiveQuantiles(1.0, steps=np.int64(9)),
        AdaptiveQuantiles(1.0, delta=1e-6, steps=9, between="linear"),
    ],
    ids=named,
)
def test_a_curve_says_what_released_it(mechanism):
    assert isinstance(mechanism, Mechanism)
    curve = dp.cdf(VALUES, GRID, mechanism, isotonic=False, rng=RNG(1))
    assert curve.mechanism == mechanism.describe()
    assert curve.privacy == replace(mechanism.privacy, simulated=True)
    again = dp.CDF.from_json(curve.to_json())
    assert np.array_equal(again.counts, curve.counts)
    assert np.array_equal(again.noise_deviation, curve.noise_deviation)
    made = from_curve(again)
    assert type(made) is type(mechanism)
    assert made.describe() == mechanism.describe()
    assert made.privacy == mechanism.privacy
    if not hasattr(mechanism, "release_with_deviation"):  # of its error, a release says more
        assert np.array_equal(made.noise_deviation(64), curve.noise_deviation)


def test_a_fraction_comes_back_as_a_double_and_no_noise_as_none():
    curve = dp.cdf(VALUES, GRID, Hierarchy(Fraction(1, 3)))
    assert from_curve(curve).epsilon == 1 / 3
    assert isinstance(from_curve(dp.cdf(VALUES, GRID, NoNoise())), NoNoise)


def test_what_cannot_be_made_again_is_refused():
    with pytest.raises(dp.DtypeError, match="curve"):
        from_curve("hierarchy")
    curve = dp.cdf(VALUES, GRID, Dyadic(1.0))
    for wrong in (
        Local(1.0, clients=1000).describe(),
        {"name": "dyadic", "epsilon": 1.0},
        {"name": "no-noise", "base": 2},
        {"name": "dawa", "epsilon": 1.0, "split": 0.25, "branching": 16},
    ):
        with pytest.raises(dp.ParameterError, match="curve"):
            from_curve(replace(curve, mechanism=wrong))


def test_all_take_epsilon_first_then_their_own_and_the_rest_of_the_budget_by_name():
    for kind in map(registered, names()):
        if not kind.__module__.startswith("dpcore."):
            continue  # of another test
        given = list(inspect.signature(kind).parameters.values())
        assert not given or given[0].name == "epsilon", kind
        by_name = {
            parameter.name for parameter in given if parameter.kind is parameter.KEYWORD_ONLY
        }
        assert {"rho", "neighbours", "delta"} & {parameter.name for parameter in given} <= by_name
