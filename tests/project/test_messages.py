"""What newcomers write, and what they are told to write instead."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpcore as dp
from dpcore import _instead, mechanisms

GRID = dp.Grid.uniform(0, 1, 16)
CELLS = dp.TableGrid.uniform((0, 1), (0, 1), (4, 4))
Y = np.arange(200) % 2
S = np.linspace(0, 1, 200)
FRAME = pd.DataFrame({"a": S, "b": S})
CURVE = dp.cdf(S, GRID, epsilon=20.0, rng=np.random.default_rng(1))
FOUND = dp.cdf(S, GRID, by=Y, groups=[0, 1], epsilon=20.0, rng=np.random.default_rng(1))
GENERATOR = r"must be a generator .*: write rng=numpy.random.default_rng\(7\)"


def refused(match, kind, function, *positional, **given):
    with pytest.raises(dp.DpcoreError, match=match) as error:
        function(*positional, **given)
    assert isinstance(error.value, kind)


RELEASES = {
    "cdf": lambda **given: dp.cdf(S, GRID, **given),
    "cdf by groups": lambda **given: dp.cdf(S, GRID, by=Y, groups=[0, 1], **given),
    "cdf_from_counts": lambda **given: dp.cdf_from_counts(np.ones(16, int), GRID, **given),
    "score_curves": lambda **given: dp.score_curves(Y, S, GRID, **given),
    "roc_curve": lambda **given: dp.roc_curve(Y, S, **given),
    "hosmer_lemeshow": lambda **given: dp.hosmer_lemeshow(Y, S, **given),
    "table": lambda **given: dp.table(S, S, CELLS, **given),
}


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
def test_a_class_a_name_or_a_budget_is_no_mechanism(release):
    wrong = {
        mechanisms.Dyadic: r"an instance: Dyadic\(epsilon=...\); got the class Dyadic",
        mechanisms.ToeplitzGaussian: r"an instance: ToeplitzGaussian\(epsilon=...\)",
        mechanisms.NoNoise: r"an instance: NoNoise\(\)",
        int: "a mechanism, as dp",
        "dyadic": r"not a name: write dp.mechanisms.Dyadic\(epsilon=...\); got str",
        "laplace": "of dp.mechanisms: AdaptiveQuantiles, Dawa, Dyadic, .*, ToeplitzGaussian; got s",
        0.5: "a mechanism: for a budget, write epsilon=0.5; got float",
        dp.Privacy(1.0): r"as dp.mechanisms.Dyadic\(epsilon=1.0\) is; got Privacy",
    }
    for mechanism, told in wrong.items():
        refused("^mechanism must be .*" + told, TypeError, release, mechanism=mechanism)


@pytest.mark.parametrize("wrong", [mechanisms.Dyadic, "dyadic", 0.5])
def test_what_is_no_mechanism_is_said_before_what_is_beside_it(wrong):
    refused("mechanism must be", TypeError, dp.cdf, S, GRID, wrong, epsilon=1.0)
    refused("mechanism must be", TypeError, dp.table, S, S, CELLS, wrong, epsilon=1.0)
    refused("mechanism must be", TypeError, dp.score_curves, Y, S, GRID, wrong, epsilon=1.0)
    refused("mechanism must be", TypeError, dp.score_curves, Y, S, GRID, (wrong, wrong))


def test_all_mechanisms_are_named():
    is_class = {name for name in mechanisms.__all__ if isinstance(getattr(mechanisms, name), type)}
    assert set(_instead.MECHANISMS) == is_class - {"Mechanism"}


def test_a_budget_is_given_by_its_name():
    told = "for a budget, write epsilon=1.0"
    refused("mechanism .*" + told, TypeError, dp.cdf, S, GRID, 1.0)
    refused("grid .*" + told, TypeError, dp.cdf, S, 1.0)
    refused("grid .*" + told, TypeError, dp.roc_curve, Y, S, 1.0)
    refused("mechanism .*" + told, TypeError, dp.table, S, S, CELLS, np.float64(1.0))
    refused("mechanism .*" + told, TypeError, dp.project, S, 0, 1, 1.0)


def test_a_roc_curve_takes_grid_and_mechanism_as_score_curves_do():
    given = GRID, mechanisms.NoNoise()
    roc = dp.roc_curve(Y, S, *given)
    assert np.array_equal(roc.curves.joint.counts, dp.score_curves(Y, S, *given).joint.counts)


@pytest.mark.parametrize(
    "grid",
    [100, (0, 1), [0, 1], range(9), S, "0-1", None, dp.Grid, CELLS, pd.Series(S)],
    ids=lambda grid: type(grid).__name__,
)
def test_what_is_no_grid(grid):
    told = r"grid must be a Grid: write dp.Grid.uniform\(lower, upper, size\)"
    refused(told, TypeError, dp.cdf, S, grid, epsilon=1.0)
    refused(told, TypeError, dp.cdf_from_counts, np.ones(16, int), grid, epsilon=1.0)
    refused(told, TypeError, dp.quantiles, S, [0.5], grid, epsilon=1.0)
    refused(told, TypeError, dp.box_plot, S, grid, epsilon=1.0)
    refused(told, TypeError, dp.score_counts, Y, S, grid)
    if grid is not None:  # which is a default
        refused(told, TypeError, dp.roc_curve, Y, S, grid, epsilon=1.0)
        refused(told, TypeError, dp.bounds, S, epsilon=1.0, grid=grid)


def test_grids_of_tables_and_swapped_arguments():
    told = r"grid must be a TableGrid: write dp.TableGrid.uniform\(x_bounds, y_bounds, shape\)"
    for grid in (GRID, (4, 4), None):
        refused(told, TypeError, dp.table, S, S, grid, epsilon=1.0)
    refused("grid must be a Grid: .*, after the values; got ndarray", TypeError, dp.cdf, GRID, S)
    refused("probabilities .* before the grid", TypeError, dp.quantiles, S, GRID, 0.5, epsilon=1)


def test_seeds_are_no_generators():
    releases = {**RELEASES, "quantiles": lambda **given: dp.quantiles(S, [0.5], GRID, **given)}
    releases["bounds"] = lambda **given: dp.bounds(S, **given)
    releases["box_plot"] = lambda **given: dp.box_plot(S, GRID, **given)
    releases["project"] = lambda **given: dp.project(S, 0, 1, delta=1e-6, **given)
    for release in releases.values():
        told = GENERATOR + ", for studies; None for a release; got int"
        refused("rng " + told, TypeError, release, epsilon=1.0, rng=7)
    for read in (
        lambda rng: CURVE.sample(3, rng=rng),
        lambda rng: dp.compare(CURVE, replace(CURVE), rng=rng),
    ):
        refused(GENERATOR + ", or None; got int", TypeError, read, 7)
    legacy = r"default_rng\(seed\), for .*; got RandomState"
    refused(legacy, TypeError, dp.cdf, S, GRID, epsilon=1.0, rng=np.random.RandomState(7))


@pytest.mark.parametrize(
    ("given", "kind", "told"),
    [
        ({}, ValueError, "epsilon or rho must be given: write epsilon=1.0"),
        ({"delta": 1e-6}, ValueError, "epsilon must be given beside delta: write epsilon=1.0"),
        ({"epsilon": 0}, ValueError, "epsilon must be positive and finite; got 0"),
        ({"epsilon": -1}, ValueError, "epsilon must be positive and finite; got -1"),
        ({"epsilon": "1"}, TypeError, "epsilon must be a real number; got '1' of type str"),
        ({"epsilon": True}, TypeError, "epsilon must be a real number; got True of type bool"),
        ({"epsilon": np.True_}, TypeError, "epsilon must be a real number; got True of type bool"),
        ({"epsilon": Decimal("0.1")}, TypeError, "epsilon must be a real number; got Decimal"),
        ({"epsilon": 1, "rho": 1}, ValueError, "rho must not be given beside epsilon; got 1"),
    ],
)
def test_budgets_of_releases(given, kind, told):
    for release in (RELEASES["cdf"], RELEASES["score_curves"], RELEASES["table"]):
        refused(told, kind, release, **given)


@pytest.mark.parametrize("epsilon", [np.float32(0.5), np.float64(0.5), Fraction(1, 2)])
def test_numbers_of_all_kinds_are_budgets(epsilon):
    assert dp.cdf(S, GRID, epsilon=epsilon).privacy.epsilon == 0.5


def test_a_budget_or_a_mechanism():
    told = "epsilon must not be given with a mechanism; got 1"
    refused(told, ValueError, dp.cdf, S, GRID, mechanisms.Dyadic(1.0), epsilon=1)


def test_columns_are_neither_tables_nor_names():
    for frame in (FRAME, pl.DataFrame(FRAME.to_dict("list"))):
        told = r"""must be one column, as frame\["name"\] is; got a (pandas|polars) DataFrame"""
        refused("values " + told, TypeError, dp.cdf, frame, GRID, epsilon=1.0)
        refused("y_true " + told, TypeError, dp.roc_curve, frame, S, epsilon=1.0)
        refused("y_score " + told, TypeError, dp.roc_curve, Y, frame, epsilon=1.0)
    told = r"""must be one column, as frame\["name"\] is, and not its name; got a str"""
    refused("values " + told, TypeError, dp.cdf, "a", GRID, epsilon=1.0)
    refused("y_true " + told, TypeError, dp.roc_curve, "a", S, epsilon=1.0)
    refused("y_score " + told, TypeError, dp.roc_curve, Y, "a", epsilon=1.0)
    both = np.column_stack([1 - S, S])
    told = r"y_score must be one-dimensional: for one column, write y_score\[:, 1\]"
    refused(told, ValueError, dp.roc_curve, Y, both, epsilon=1.0)


def test_labels_that_are_text_need_one_that_is_positive():
    words = np.where(Y, "yes", "no")
    refused("pos_label must be given", ValueError, dp.roc_curve, words, S, epsilon=1.0)
    assert dp.roc_curve(words, S, epsilon=1.0, pos_label="yes").curves.n == 200


def test_one_quantile_is_a_float():
    found = dp.quantiles(S, 0.5, GRID, epsilon=50.0, rng=np.random.default_rng(1))
    assert type(found.values) is float
    assert type(found.probabilities) is float
    several = dp.quantiles(S, [0.5], GRID, epsilon=50.0, rng=np.random.default_rng(1))
    assert several.values.tolist() == [found.values]
    assert several.privacy == found.privacy
    assert repr(found).replace("SIMULATED", "") == repr(several).replace("SIMULATED", "")
    assert found == dp.quantiles(S, 0.5, GRID, epsilon=50.0, rng=np.random.default_rng(1))
    days = np.arange("2024-01-01", "2024-02-01", dtype="M8[D]")
    grid = dp.Grid.uniform("2023-12-31", "2024-01-31", 31)
    middle = dp.quantiles(days, 0.5, grid, epsilon=100.0).values
    assert isinstance(middle, np.datetime64)
    assert abs(middle - np.datetime64("2024-01-16")) < np.timedelta64(4, "D")


def test_curves_to_combine():
    told = r"curves must be a list of curves \(CDF\): write \[first, second\]; got CDF"
    refused(told, TypeError, dp.combine, CURVE, CURVE)
    refused(told, TypeError, dp.average, CURVE, CURVE)
    whole = dp.combine(FOUND)
    assert whole == dp.combine(FOUND.values()) == dp.combine(dict(FOUND))
    assert whole.n == sum(curve.n for curve in FOUND.values())
    refused("use combine for curves of groups; got Grouped", TypeError, dp.average, FOUND)


def test_groups_are_equal_by_value():
    again = dp.GroupedCDF.from_json(FOUND.to_json())
    assert again == FOUND
    assert hash(again) == hash(FOUND)
    assert again != dp.GroupedCDF((1, 0), FOUND.curves)
    assert again != dp.GroupedCDF((0, 1), FOUND.curves[::-1])


def test_numbers_are_no_guarantees():
    told = r"privacy must be a Privacy.*: write dp.Privacy\(epsilon=1.0\); got float"
    refused(told, TypeError, dp.Budget(1.0).charge, 0.5)
    one = dp.Privacy(1.0)
    for wrong in (lambda: one + 0.5, lambda: 0.5 + one, lambda: one | 0.5, lambda: one <= 0.5):
        refused(r"must be a Privacy: write Privacy\(0.5\); got 0.5 of type float", TypeError, wrong)
    with pytest.raises(TypeError, match="unsupported operand"):
        one + "x"
    with dp.Budget(1.0) as budget:
        dp.cdf(S, GRID, epsilon=0.5)
    assert budget.spent.epsilon == 0.5
    refused("epsilon must be a real number; got '1'", TypeError, dp.Budget, "1")
