"""Errors: what is no number, what is quoted, how they are pickled, what newcomers are told."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpcore as dp
from dpcore import _check, mechanisms, studies
from dpcore.errors import shown
from dpcore.papers.matching_pursuit import MatchingPursuit
from dpcore.privacy.allowance import Allowance
from dpcore.records.files import Column, FileError, column_batches, record_batches

CLASSES = {name: getattr(mechanisms, name) for name in mechanisms.__all__}
NAMED = sorted(
    name
    for name, own in CLASSES.items()
    if isinstance(own, type) and issubclass(own, mechanisms.Mechanism)
)
NAMED.remove("Mechanism")
GRID = dp.Grid.uniform(0, 1, 16)
CELLS = dp.TableGrid.uniform((0, 1), (0, 1), (4, 4))
Y = np.arange(200) % 2
S = np.linspace(0, 1, 200)
CURVE = dp.cdf(S, GRID, epsilon=20.0, rng=np.random.default_rng(1))
GROUPS = dp.cdf(S, GRID, by=Y, groups=[0, 1], epsilon=20.0, rng=np.random.default_rng(1))
STUDY = studies.Study(lambda n, rng: {"x": n}, {"n": [1, 2]})


@pytest.mark.parametrize(
    "error",
    [
        dp.MissingValueError("values"),
        dp.ParameterError("size", 0, "must be positive"),
        dp.DtypeError("values", "text", "must hold real numbers"),
        dp.MissingExtraError("a picture", "plot"),
        dp.FormatError("cut short"),
        FileError("ages.csv", "is empty"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_are_pickled_whole(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


@pytest.mark.parametrize(
    "span", [np.timedelta64(1, "ns"), np.timedelta64(2), np.timedelta64("NaT")]
)
def test_time_spans_are_no_numbers(span):
    for gate in (_check.finite, _check.positive, _check.fraction, _check.plain):
        with pytest.raises(dp.DtypeError, match=r"^x .*timedelta64"):
            gate("x", span)
    with pytest.raises(dp.DtypeError, match=r"^x .*timedelta64"):
        _check.integer("x", span, 0, 9)
    with pytest.raises(dp.ParameterError, match="norm"):
        dp.smooth([1.0], 2, norm=span)


def test_long_doubles_are_the_numbers_that_they_stand_for():
    above = np.longdouble(1) + np.finfo(np.longdouble).eps
    below = np.longdouble(1) - np.finfo(np.longdouble).epsneg
    for number in (above, below):
        exact = Fraction(*number.as_integer_ratio())
        assert _check.fraction("x", number) == exact
        assert _check.plain("x", number) == exact
        assert Allowance.checked(number, None, "replace-one").epsilon == exact
    with pytest.raises(dp.ParameterError, match="x"):
        _check.fraction("x", np.longdouble("inf"))


def test_whatever_is_quoted_is_short():
    deep = [1]
    for _ in range(100_000):
        deep = [deep]

    class Broken:
        def __repr__(self):
            raise RuntimeError

    assert shown(10**100) == "1" + 76 * "0" + "..."
    assert shown(-(10**5000)) == "an integer of 16610 bits"
    assert shown(Fraction(1, 10**5000)) == "a Fraction"
    assert shown([10**5000]) == shown(deep) == "a list"
    assert shown(Broken()) == "a Broken"
    assert shown(np.float32(0.5)) == "0.5"
    for value in (10**5000, deep, Broken(), "x" * 10**6):
        error = dp.ParameterError("x", value, "must be small")
        assert str(error).startswith("x must be small; got ")
        assert len(str(error)) < 120
    with pytest.raises(dp.ParameterError, match=r"^size .* an integer of 16610 bits"):
        dp.Grid.uniform(0, 1, 10**5000)
    with pytest.raises(dp.ParameterError, match=r"^upper .* lower, 2; got -9999"):
        dp.Grid.uniform(2, -int("9" * 100), 3)


@pytest.mark.parametrize("solver", ["graph", "osqp"])
@pytest.mark.parametrize("norm", [1, 2])
def test_no_curves_are_smoothed_to_none(solver, norm):
    smoothing = dp.smooth(np.empty((0, 5)), 10, norm=norm, solver=solver)
    assert smoothing.cumulative.shape == (0, 5)
    assert smoothing.objective.shape == (0,)
    assert smoothing.is_optimal()
    assert dp.smooth(np.empty((2, 0, 5)), 10, solver=solver).cumulative.shape == (2, 0, 5)


# --- faults that show late: in an overflow, in a long wait


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_edges_of_histograms_as_far_apart_as_doubles_go():
    curve = dp.cdf([0.5], dp.Grid.uniform(0, 1, 4), mechanisms.NoNoise())
    counts, edges = curve.histogram([-1e308, 1e308])
    assert counts.tolist() == [1.0]
    assert edges.tolist() == [-1e308, 1e308]


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::dpcore.DpcoreWarning")
@pytest.mark.parametrize("isotonic", [True, False])
@pytest.mark.parametrize("epsilon", [1.0, 1e-9])
@pytest.mark.parametrize("ends", [(-1.7e308, 0.0, 1.7e308), (1e307, 1e308, 1.7e308)])
def test_numbers_of_curves_over_grids_as_far_as_doubles_go(ends, epsilon, isotonic):
    rng, mechanism = np.random.default_rng(1), mechanisms.Histogram(epsilon)
    grid, near = dp.Grid(ends, lower=ends[0]), np.divide(ends, 2.0**1000)
    curve = dp.cdf([ends[1]] * 30, grid, mechanism, isotonic=isotonic, rng=rng)
    same = replace(curve, grid=dp.Grid(near, lower=near[0]))
    groups = dp.GroupedCDF(("a",), (curve,))
    with np.errstate(over="ignore"):
        for number in ("mean", "std", "mean_interval", "population_mean_interval"):
            expected = np.multiply(getattr(same, number)(), 2.0**1000)
            assert getattr(curve, number)() == pytest.approx(expected, rel=1e-9), number
        assert groups.mean() == pytest.approx(same.mean() * 2.0**1000, rel=1e-9)
    assert np.ravel(groups.mean_interval()).tolist() == list(curve.mean_interval())
    assert "nan" not in curve._repr_html_()
    law = np.linspace(0.0, 1.0, 3)
    test = dp.goodness_of_fit(curve, lambda _: law, "wasserstein", simulations=19)
    assert test.pvalue > 0.0
    other = dp.cdf([ends[0]] * 30, grid, mechanism, isotonic=isotonic, rng=rng)
    found = dp.compare(curve, other, simulations=19, rng=rng)
    assert np.all(found.population_interval.low <= found.population_interval.high)
    low, high = dp.interval(curve, lambda own: own.quantile(0.5), replicates=9)
    assert low < high


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_pictures_of_curves_over_the_least_doubles():
    grid = dp.Grid([5e-324, 1e-323, 1e-320], lower=0)
    assert "nan" not in dp.cdf([0.0], grid, mechanisms.NoNoise())._repr_html_()


@pytest.mark.parametrize("deviation", [1e300, 1e141])
def test_a_stored_deviation_that_no_release_has(deviation):
    days = dp.Grid.uniform(np.datetime64("2020-01-01"), np.datetime64("2021-01-01"), 4)
    rng = np.random.default_rng(1)
    curve = dp.cdf(np.array(["2020-05-05"], "M8[D]"), days, mechanisms.Dyadic(20.0), rng=rng)
    stored = json.loads(curve.to_json())
    for key, value in (
        ("noise_deviation", [[deviation, 4]]),
        ("counts", [0.0, 0.0, 0.0, -deviation]),
    ):
        with pytest.raises(dp.FormatError, match=key):
            dp.CDF.from_json(json.dumps(stored | {key: value}))


def test_as_many_replicates_as_no_machine_holds():
    with pytest.raises(dp.ParameterError, match=r"TiB of memory, and .* years") as raised:
        studies.run(STUDY, replicates=2**53, seed=1)
    assert raised.value.argument == "replicates"


def test_a_column_of_another_kind(tmp_path):
    for wrong in ("x", Column("x", "colours"), Column(3)):
        with pytest.raises(dp.DpcoreError):
            record_batches(tmp_path / "t.csv", [wrong])
    for wrong in (None, 3, memoryview(b"x\n1\n")):
        with pytest.raises(dp.DtypeError, match=r"^source"):
            column_batches(wrong, "x", format="csv")


# --- what newcomers write, and the code that they are told to write instead


def refused(argument, told, kind, function, *positional, **given):
    with pytest.raises(dp.DpcoreError) as raised:
        function(*positional, **given)
    assert isinstance(raised.value, kind)
    assert raised.value.argument == argument
    assert told in str(raised.value)


RELEASES = {
    "cdf": lambda *given, **named: dp.cdf(S, *given or (GRID,), **named),
    "cdf_from_counts": lambda *given, **named: dp.cdf_from_counts(
        np.ones(16, int), *given or (GRID,), **named
    ),
    "score_curves": lambda *given, **named: dp.score_curves(Y, S, *given or (GRID,), **named),
    "roc_curve": lambda *given, **named: dp.roc_curve(Y, S, *given, **named),
    "cdf by groups": lambda **named: dp.cdf(S, GRID, by=Y, groups=[0, 1], **named),
    "hosmer_lemeshow": lambda **named: dp.hosmer_lemeshow(Y, S, **named),
    "table": lambda **named: dp.table(S, S, CELLS, **named),
}
OF_GRIDS = list(RELEASES)[:4]


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
@pytest.mark.parametrize(
    ("mechanism", "told"),
    [
        (mechanisms.Dyadic, "Dyadic(epsilon=...)"),
        (mechanisms.NoNoise, "NoNoise()"),
        (int, "mechanism"),
        ("dyadic", "dp.mechanisms.Dyadic(epsilon=...)"),
        ("laplace", ", ".join(NAMED)),
        (0.5, "epsilon=0.5"),
        (dp.Privacy(1.0), "dp.mechanisms.Dyadic(epsilon=1.0)"),
    ],
)
def test_a_class_a_name_or_a_budget_is_no_mechanism(release, mechanism, told):
    assert MatchingPursuit.name  # it is defined, and not in ``dpcore.mechanisms``
    refused("mechanism", told, TypeError, release, mechanism=mechanism)
    refused("mechanism", told, TypeError, release, mechanism=mechanism, epsilon=1.0)


@pytest.mark.parametrize(
    ("argument", "function", "given"),
    [
        ("mechanism", dp.cdf, (S, GRID)),
        ("mechanism", dp.table, (S, S, CELLS)),
        ("mechanism", dp.project, (S, 0, 1)),
        ("grid", dp.cdf, (S,)),
        ("grid", dp.roc_curve, (Y, S)),
    ],
)
def test_a_budget_is_given_by_its_name(argument, function, given):
    refused(argument, "epsilon=1.0", TypeError, function, *given, np.float64(1.0))


def test_a_roc_curve_takes_grid_and_mechanism_as_score_curves_do():
    given = GRID, mechanisms.NoNoise()
    roc = dp.roc_curve(Y, S, *given)
    assert np.array_equal(roc.curves.joint.counts, dp.score_curves(Y, S, *given).joint.counts)


@pytest.mark.parametrize(
    "grid",
    [100, (0, 1), range(9), S, "0-1", None, dp.Grid, CELLS, pd.Series(S)],
    ids=lambda grid: type(grid).__name__,
)
def test_what_is_no_grid(grid):
    told = "dp.Grid.uniform(lower, upper, size)"
    releases = [RELEASES[name] for name in OF_GRIDS]
    releases += [
        lambda grid, **budget: dp.quantiles(S, [0.5], grid, **budget),
        lambda grid, **budget: dp.box_plot(S, grid, **budget),
        lambda grid, **budget: dp.score_counts(Y, S, grid),
        lambda grid, **budget: dp.group_counts(S, Y, grid, [0, 1]),
        lambda grid, **budget: dp.bounds(S, grid=grid, **budget),
    ]
    if grid is None:  # which is a default
        del releases[-1], releases[2:4]
    for release in releases:
        refused("grid", told, TypeError, release, grid, epsilon=1.0)


def test_grids_of_tables_and_swapped_arguments():
    for grid in (GRID, (4, 4), None):
        refused("grid", "dp.TableGrid.uniform(", TypeError, dp.table, S, S, grid, epsilon=1.0)
    refused("grid", "after the values", TypeError, dp.cdf, GRID, S)
    refused("probabilities", "before the grid", TypeError, dp.quantiles, S, GRID, 0.5, epsilon=1)


@pytest.mark.parametrize(
    "release",
    [
        *RELEASES.values(),
        lambda **given: dp.quantiles(S, [0.5], GRID, **given),
        lambda **given: dp.bounds(S, **given),
        lambda **given: dp.box_plot(S, GRID, **given),
        lambda **given: dp.project(S, 0, 1, delta=1e-6, **given),
        lambda epsilon, rng: CURVE.sample(3, rng=rng),
        lambda epsilon, rng: dp.compare(CURVE, dp.CDF.from_json(CURVE.to_json()), rng=rng),
    ],
)
def test_seeds_are_no_generators(release):
    told = "rng=numpy.random.default_rng(7)"
    refused("rng", told, TypeError, release, epsilon=1.0, rng=7)
    legacy = np.random.RandomState(7)
    refused("rng", "default_rng(seed)", TypeError, release, epsilon=1.0, rng=legacy)


@pytest.mark.parametrize(
    ("given", "argument", "kind", "told"),
    [
        ({}, "epsilon", ValueError, "epsilon=1.0"),
        ({"delta": 1e-6}, "epsilon", ValueError, "epsilon=1.0"),
        ({"epsilon": -1}, "epsilon", ValueError, "got -1"),
        ({"epsilon": "1"}, "epsilon", TypeError, "got '1' of type str"),
        ({"epsilon": np.True_}, "epsilon", TypeError, "got True of type bool"),
        ({"epsilon": 1, "rho": 1}, "rho", ValueError, "epsilon; got 1"),
        ({"epsilon": 1, "mechanism": mechanisms.Dyadic(1.0)}, "epsilon", ValueError, "got 1"),
    ],
)
@pytest.mark.parametrize("release", ["cdf", "score_curves", "table"])
def test_budgets_of_releases(given, argument, kind, told, release):
    refused(argument, told, kind, RELEASES[release], **given)


@pytest.mark.parametrize("epsilon", [np.float32(0.5), np.float64(0.5), Fraction(1, 2)])
def test_numbers_of_all_kinds_are_budgets(epsilon):
    assert dp.cdf(S, GRID, epsilon=epsilon).privacy.epsilon == 0.5


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (pd.DataFrame({"a": S, "b": S}), 'frame["name"]'),
        (pl.DataFrame({"a": S, "b": S}), 'frame["name"]'),
        ("a", 'frame["name"]'),
    ],
)
def test_columns_are_neither_tables_nor_names(wrong, told):
    refused("values", told, TypeError, dp.cdf, wrong, GRID, epsilon=1.0)
    refused("y_true", told, TypeError, dp.roc_curve, wrong, S, epsilon=1.0)
    refused("y_score", told, TypeError, dp.roc_curve, Y, wrong, epsilon=1.0)


def test_scores_are_one_column_and_words_need_a_positive_one():
    both = np.column_stack([1 - S, S])
    refused("y_score", "asarray(y_score)[:, 1]", ValueError, dp.roc_curve, Y, both, epsilon=1.0)
    words = np.where(Y, "yes", "no")
    refused("pos_label", "given", ValueError, dp.roc_curve, words, S, epsilon=1.0)
    assert dp.roc_curve(words, S, epsilon=1.0, pos_label="yes").curves.n == 200


def test_one_quantile_is_a_float():
    one, several = (
        dp.quantiles(S, p, GRID, epsilon=50.0, rng=np.random.default_rng(1)) for p in (0.5, [0.5])
    )
    assert type(one.values) is type(one.probabilities) is float
    assert several.values.tolist() == [one.values]
    assert several.privacy == one.privacy
    days = np.arange("2024-01-01", "2024-02-01", dtype="M8[D]")
    middle = dp.quantiles(days, 0.5, dp.Grid.days("2024-01-01", "2024-01-31"), epsilon=100.0).values
    assert isinstance(middle, np.datetime64)
    assert abs(middle - np.datetime64("2024-01-16")) < np.timedelta64(4, "D")


def test_curves_to_combine():
    refused("curves", "[first, second]", TypeError, dp.combine, CURVE, CURVE)
    refused("curves", "[first, second]", TypeError, dp.average, CURVE, CURVE)
    whole = dp.combine(GROUPS)
    assert whole == dp.combine(GROUPS.values()) == dp.combine(dict(GROUPS))
    assert whole.n == sum(curve.n for curve in GROUPS.values())
    refused("curves", "use combine", TypeError, dp.average, GROUPS)


def test_groups_are_equal_by_value():
    again = dp.GroupedCDF.from_json(GROUPS.to_json())
    assert again == GROUPS
    assert hash(again) == hash(GROUPS)
    assert again != dp.GroupedCDF((1, 0), GROUPS.curves)
    assert again != dp.GroupedCDF((0, 1), GROUPS.curves[::-1])


def test_numbers_are_no_guarantees():
    one = dp.Privacy(1.0)
    refused("privacy", "dp.Privacy(epsilon=1.0)", TypeError, dp.Budget(1.0).charge, 0.5)
    for wrong in (lambda: one + 0.5, lambda: 0.5 + one, lambda: one | 0.5, lambda: one <= 0.5):
        with pytest.raises(dp.DtypeError, match=r"Privacy\(0.5\)"):
            wrong()
    with pytest.raises(TypeError, match="operand"):
        one + "x"
