"""Residual plots: what is counted, what each part spends, and all that is refused before."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.releases import bounds_around_zero, residual_bounds, residual_plot
from dpcore.summaries.grid import Grid
from tests import reference

LOTS = 1e9  # an epsilon that leaves no noise
VALUES = st.one_of(
    st.sampled_from([0.0, -1.0, 1.0, -4.0, 4.0, np.nextafter(4.0, 5), -5e-324, 1e300, -np.inf]),
    st.floats(-9, 9),
)


def generator(seed=5):
    return np.random.default_rng(seed)


def scattered(n=400):
    rng = generator(1)
    x = rng.uniform(1, 50, n)
    return x, rng.normal(0, 1 + x / 25)


def edges(grid):
    return np.append(grid.lower, grid.thresholds)


# --- what is counted


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=25),
    st.sampled_from([1, (2, 3), (7, 1)]),
    st.sampled_from([{}, {"predicted_range": (-4.0, 4.0)}, {"residual_range": (-1.0, 9.0)}]),
)
def test_without_noise_it_is_the_table_of_the_records_within(records, cells, known):
    x, y = np.array(records).T
    plot = dp.residual_plot(x, y, epsilon=LOTS, cells=cells, rng=generator(), **known)
    grid = plot.table.grid
    counts, outside = reference.cells_within(x, y, edges(grid.x), edges(grid.y))
    assert plot.cells.tolist() == counts.tolist()
    assert plot.outside == pytest.approx(outside, abs=1e-3)
    assert plot.n == len(records)
    assert plot.predicted_range == known.get("predicted_range", plot.predicted_range)
    assert plot.residual_range == known.get("residual_range", plot.residual_range)


@pytest.mark.parametrize("value", [-1.0, 1.0, -64.0, 64.0])
def test_constant_residuals_at_an_end_of_the_bounds_are_within(value):
    """Both ends belong to the bounds, but cells are open on the left."""
    plot = dp.residual_plot([value] * 400, [value] * 400, epsilon=LOTS, cells=4, rng=generator())
    assert plot.residual_range == (-abs(value), abs(value))
    assert plot.predicted_range == (min(value, 0.0), max(value, 0.0))
    assert plot.cells.sum() == plot.cells.max() == 400
    known = dp.residual_plot(
        [-3] * 9, [2] * 9, epsilon=LOTS, predicted_range=(-3, 8), residual_range=(0, 2), cells=2
    )
    assert known.cells.tolist() == [[0, 9], [0, 0]]


def test_one_record_and_records_far_outside():
    one = dp.residual_plot([3.0], [0.5], epsilon=1.0, rng=generator())
    assert (one.n, one.cells.shape) == (1, (2, 2))
    beyond = [np.inf, -np.inf, 1e300, -(10**300)] * 100
    plot = dp.residual_plot([1.0] * 400, beyond, epsilon=LOTS, cells=2, rng=generator())
    assert plot.outside == pytest.approx(400)
    assert plot.points.shape == (0, 2)


def test_an_even_number_of_cells_by_the_public_number_of_records():
    x, y = scattered()
    ends = {"predicted_range": (0, 50), "residual_range": (-9, 9)}

    def shape(epsilon, n=400, **more):
        plot = dp.residual_plot(x[:n], y[:n], epsilon=epsilon, rng=generator(), **more)
        return plot.table.grid.shape

    assert shape(1.0, **ends) == (12, 12)  # sqrt(0.9 * 400 / 10) = 6
    assert shape(1.0) == (10, 10)  # sqrt(0.9 * 400 * 0.7 / 10) = 5.02
    assert shape(0.05, 1) == (2, 2)
    assert shape(2.0, cells=(3, 5)) == (3, 5)
    assert residual_plot.side_of(400, Fraction(1.7e308)) == 2048


SERIES = {
    "list": list,
    "float32": partial(np.asarray, dtype=np.float32),
    "int16": partial(np.asarray, dtype=np.int16),
    "pandas": pd.Series,
    "polars": pl.Series,
}


@pytest.mark.parametrize("name", SERIES)
def test_columns_of_every_kind_are_the_same(name):
    values = np.array([-3, 1, 2, 0, 5, -1] * 30)
    expected = dp.residual_plot(values, values[::-1], epsilon=1.0, rng=generator())
    make = SERIES[name]
    found = dp.residual_plot(make(values), make(values[::-1]), epsilon=1.0, rng=generator())
    assert found.table.integers == (True if name in ("int16", "polars") else None,) * 2
    assert replace(found.table, integers=(True, True)).to_json() == expected.table.to_json()
    assert found.privacy == expected.privacy
    assert np.array_equal(found.points, expected.points)


def test_records_that_lack_either_value_are_left_out():
    x, y = scattered()
    x[3] = y[[3, 7, 9]] = np.nan
    found = dp.residual_plot(x, y, epsilon=1.0, rng=generator(), nan_policy="omit")
    whole = np.isfinite(x) & np.isfinite(y)
    expected = dp.residual_plot(x[whole], y[whole], epsilon=1.0, rng=generator())
    assert found.n == 397
    assert found.to_json() == expected.to_json()


# --- what each part spends


@pytest.fixture
def spent(monkeypatch):
    """The epsilons of both axes and of the table, as the parts are told."""
    told = []

    def watched(module, name):
        original = getattr(module, name)

        def recorded(*arguments, epsilon, **others):
            told.append(epsilon)
            return original(*arguments, epsilon=epsilon, **others)

        monkeypatch.setattr(module, name, recorded)

    watched(residual_bounds, "exponential_mechanism")
    watched(bounds_around_zero, "exponential_mechanism")
    watched(bounds_around_zero, "above_threshold")
    of_table = residual_plot.by_default

    def recorded_table(size, epsilon, *others):
        told.append(epsilon)
        return of_table(size, epsilon, *others)

    def recorded_histogram(epsilon):
        told.append(epsilon)
        return dp.mechanisms.Histogram(epsilon)

    monkeypatch.setattr(residual_plot, "by_default", recorded_table)
    monkeypatch.setattr(residual_plot, "Histogram", recorded_histogram)
    return told


KNOWN = [{}, {"residual_range": (-5, 5)}, {"residual_range": (-5, 5), "predicted_range": (0, 50)}]


@pytest.mark.parametrize("epsilon", [1.0, 0.1, Fraction(1, 3), 7e-4, 30])
@pytest.mark.parametrize("search", ["compact", "sparse-vector"])
@pytest.mark.parametrize("known", KNOWN, ids=["none", "one", "both"])
def test_parts_spend_the_budget_to_the_last_bit(spent, epsilon, search, known):
    x, y = scattered(3000)
    plot = dp.residual_plot(x, y, epsilon=epsilon, search=search, **known)
    table, *bounds = spent  # a table that cannot be is refused before bounds are paid for
    assert len(bounds) == 2 - len(known)
    assert sum(spent) == Fraction(epsilon)
    both = min(Fraction(3, 10) * Fraction(epsilon), Fraction(470, 3000))
    parts = (Fraction(2, 3), Fraction(1, 3)) if search == "compact" else (Fraction(1, 2),) * 2
    assert bounds == [both * part for part in parts][: len(bounds)]
    assert plot.privacy == dp.Privacy(Fraction(epsilon))
    assert plot.table.privacy == dp.Privacy(table)


@pytest.mark.parametrize(("cells", "name"), [(None, "histogram"), (100, "dawa")])
def test_noise_on_each_cell_is_best_for_as_many_cells_as_n_epsilon_asks_for(cells, name):
    plot = dp.residual_plot(*scattered(3000), epsilon=0.1, cells=cells)
    assert plot.table.row.mechanism["name"] == name


MECHANISMS = {
    "Dawa": dp.mechanisms.Dawa,
    "Hierarchy": dp.mechanisms.Hierarchy,
    "Local, in doubles": lambda epsilon: dp.trust.Local(float(epsilon), 400),
    "HistogramQueries": partial(dp.mechanisms.HistogramQueries, delta=1e-6),
}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("epsilon", [1.0, 0.7, Fraction(2, 3)])
def test_a_mechanism_for_the_table_gets_what_bounds_leave(spent, name, epsilon):
    x, y = scattered()
    given_to = []

    def make(epsilon):
        given_to.append(epsilon)
        return MECHANISMS[name](epsilon=epsilon)

    plot = dp.residual_plot(x, y, epsilon=epsilon, mechanism=make)
    (table,) = given_to
    rest = Fraction(epsilon) - sum(spent)
    assert Fraction(float(table)) == table  # so that it is what a mechanism states
    assert rest - Fraction(np.spacing(float(rest))) <= table <= rest
    assert plot.table.row.mechanism["name"] == make(table).describe()["name"]
    delta = 1e-6 if name == "HistogramQueries" else 0.0
    assert plot.privacy == dp.Privacy(epsilon, delta)
    assert Fraction(plot.table.privacy.epsilon) + sum(spent) <= Fraction(epsilon)


# --- order of the draws


@pytest.mark.parametrize("n", [10, 400])
@pytest.mark.parametrize("search", ["compact", "sparse-vector"])
def test_a_seed_gives_bounds_of_predictions_then_of_residuals(n, search):
    x, y = scattered(n)
    plot, again = (
        dp.residual_plot(x, y, epsilon=1.0, search=search, unit=(2, 0.5), rng=generator())
        for _ in range(2)
    )
    assert plot.to_json() == again.to_json()
    assert np.array_equal(plot.points, again.points)
    rng, nothing = generator(), (None, None)
    if search == "compact":
        ends = residual_bounds.residual_bounds(x, y, (2, 0.5), nothing, Fraction(3, 10), rng)
    else:
        bounds = [
            dp.symmetric_bounds(values, epsilon=Fraction(3, 20), unit=unit, rng=rng)
            for values, unit in ((x, 2), (y, 0.5))
        ]
        ends = tuple((each.lower, each.upper) for each in bounds)
    assert (plot.predicted_range, plot.residual_range) == ends
    assert plot.privacy == dp.Privacy(1.0, simulated=True)


# --- what is refused


def local_of(clients):
    return lambda epsilon: dp.trust.Local(float(epsilon), clients)


REFUSED = {
    "epsilon": [
        (0.0, dp.ParameterError, "epsilon"),
        (1e-13, dp.ParameterError, "epsilon is too small: noise scale exceeds .*; got 1e-13"),
        (None, dp.ParameterError, "epsilon"),
    ],
    "unit": [
        (0.0, dp.ParameterError, "unit"),
        ("metre", dp.DtypeError, "unit"),
        (1e305, dp.ParameterError, "unit must keep unit 2\\^[0-9]+ finite"),
        (5e303, dp.ParameterError, "unit must leave room for 10 cells"),
        ((1.0, 5e-324), dp.ParameterError, "unit"),
    ],
    "predicted_range": [
        ((1, 2, 3), dp.ParameterError, "predicted_range"),
        (3.0, dp.DtypeError, "predicted_range"),
        ((2, 1), dp.ParameterError, "predicted_range must rise; got \\(2, 1\\)"),
        ((1, 1 + 2**-52), dp.ParameterError, "predicted_range must leave room for 12 cells"),
    ],
    "residual_range": [((0, np.finfo(float).max), dp.ParameterError, "residual_range")],
    "search": [("bounds", dp.ParameterError, "search")],
    "cells": [
        (0, dp.ParameterError, "cells"),
        ((3, 4, 5), dp.ParameterError, "cells"),
        ((1, 2**23), dp.ParameterError, r"cells.*16777216"),
    ],
    "mechanism": [
        (dp.mechanisms.Dawa(1.0), dp.DtypeError, "mechanism"),
        (int, dp.DtypeError, "mechanism"),
        (local_of(399), dp.ParameterError, "counts must sum to the 399 clients; got 400"),
        (lambda epsilon: dp.trust.SquareWave(1.0, 400), dp.ParameterError, "one row"),
        (lambda epsilon: epsilon, dp.DtypeError, "mechanism"),
        (
            lambda epsilon: dp.mechanisms.Dawa(epsilon * Fraction(101, 100)),
            dp.ParameterError,
            r"mechanism.*at most the epsilon it is given, 0\.7",
        ),
        (lambda epsilon: dp.mechanisms.Dawa(rho=0.1), dp.ParameterError, "spend at most"),
        (
            partial(dp.mechanisms.Histogram, neighbours="add-or-remove-one"),
            dp.ParameterError,
            "mechanism",
        ),
    ],
    "rng": [(3, dp.DtypeError, "no integer seeds")],
    "nan_policy": [("drop", dp.ParameterError, "nan_policy")],
    "predicted": [
        ([], dp.ParameterError, r"residuals.*0"),
        ([1.0] * 399, dp.ParameterError, "must have the shape of predicted, \\(399,\\); got"),
        ([[1.0]] * 400, dp.ParameterError, "predicted"),
        ([np.nan] * 400, dp.MissingValueError, "predicted"),
        (["a"] * 400, dp.DtypeError, "predicted"),
    ],
    "residuals": [
        ([1.0] * 399 + [np.nan], dp.MissingValueError, "residuals"),
        (1.0, dp.DpcoreError, "residuals"),
    ],
}


@pytest.mark.parametrize(
    ("argument", "bad", "error", "message"),
    [(argument, *case) for argument, cases in REFUSED.items() for case in cases],
)
def test_what_is_wrong_is_refused_before_anything_is_drawn(argument, bad, error, message):
    x, y = scattered()
    rng, untouched = generator(), generator()
    arguments = {"predicted": x, "residuals": y, "epsilon": 1.0, "rng": rng, argument: bad}
    with pytest.raises(error, match=message):
        dp.residual_plot(**arguments)
    assert rng.bit_generator.state == untouched.bit_generator.state


def test_no_records_at_all():
    for values in ([], [np.nan]):
        with pytest.raises(dp.ParameterError, match="predicted"):
            dp.residual_plot(values, values, epsilon=1.0, nan_policy="omit")


@pytest.mark.parametrize("known", [{}, {"predicted_range": (0, 1)}, {"residual_range": (0, 1)}])
def test_too_small_for_a_search_is_the_whole_budget_and_no_part_of_it(known):
    least = 8e-12  # enough for the table, and not for bounds
    with pytest.raises(dp.ParameterError, match=r"epsilon is too small: .*; got 8e-12$"):
        dp.residual_plot(
            [1.0] * 9, [0.0] * 9, epsilon=least, cells=1, search="sparse-vector", **known
        )


def test_generators_are_checked_before_the_records_are_looked_at():
    with pytest.raises(dp.DtypeError, match="rng"):
        dp.residual_plot([np.nan], [0.0], epsilon=1.0, rng=1)
    with pytest.raises(dp.DtypeError, match="rng"):
        dp.table([np.nan], [0.0], dp.TableGrid.uniform((0, 1), (0, 1), 2), epsilon=1.0, rng=1)


@pytest.mark.needs_jit
@pytest.mark.parametrize("epsilon", [0.4, 1.0])
def test_each_cell_has_noise_of_its_own_however_many_there_are(epsilon):
    x, y = generator(1).uniform(1, 50, 20_000), generator(2).normal(0, 2, 20_000)
    plot = dp.residual_plot(x, y, epsilon=epsilon, rng=generator(3))
    assert plot.table.row.mechanism["name"] == "histogram"
    # the same number of cells, asked for: then they may be told in buckets
    cells = plot.cells.shape
    asked = dp.residual_plot(x, y, epsilon=epsilon, cells=cells, rng=generator(3))
    assert asked.table.row.mechanism["name"] == "dawa"


def test_residual_plots_where_underflow_is_an_error():
    """Doubles beside zero are subnormal."""
    x = np.linspace(0.1, 5, 400)
    with np.errstate(all="raise"):
        dp.residual_plot(x, x - 2, epsilon=1.0)
        dp.residual_plot(x, x - 2, epsilon=1.0, predicted_range=(0, 5))
        dp.residual_plot(x, x - 2, epsilon=1.0, search="sparse-vector", cells=4)


# --- the axes of a residual plot: what searches are asked, and which ends leave room for cells


@pytest.mark.parametrize("n", [10, 30, 400])  # of the first two, 5 % are a half and 1.5
def test_the_paper_s_search_asks_what_symmetric_bounds_asks(monkeypatch, n):
    asked = []

    def recorded(queries, threshold, *, epsilon, monotonic, rng):
        asked.append((queries.tolist(), threshold, monotonic))
        return 3

    monkeypatch.setattr(bounds_around_zero, "above_threshold", recorded)
    x, y = scattered(n)
    dp.residual_plot(x, y, epsilon=1.0, search="sparse-vector")
    for values in (x, y):
        dp.symmetric_bounds(values, epsilon=0.15)
    assert asked[:2] == asked[2:]
    assert abs(asked[0][1] - 0.95 * n) < 0.51


@pytest.mark.parametrize(
    ("n_epsilon", "doublings"), [(10, 9), (100, 9), (250, 12), (1000, 24), (1567, 31), (10**5, 31)]
)
def test_how_many_units_bounds_reach(n_epsilon, doublings):
    """docs/proofs/residuals.md, section 5."""
    n, known = 10**4, (None, None)
    spent = min(Fraction(3, 10) * n_epsilon, 470) / n
    for rungs in residual_bounds.rungs_for("compact", (1.0, 1.0), known, n, spent):
        assert rungs.ends[-1] == 2.0**doublings


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-5e-324, 3.0), (-4.0, -1.0), (1e308, 1.1e308)])
def test_a_cell_more_at_either_end(ends):
    """Both ends are within, and the next doubles are not."""
    grid = residual_plot.with_ends(Grid.uniform(*ends, 4))
    low, high = ends
    values = [np.nextafter(low, -np.inf), low, high, np.nextafter(high, np.inf)]
    assert grid.count(values).tolist() == [1, 1, 0, 0, 1, 1]


def test_the_paper_s_search_asks_for_units_that_can_be_doubled_more_often():
    x, y = scattered()
    with pytest.raises(dp.ParameterError, match="unit must keep unit 2\\^62 finite"):
        dp.residual_plot(x, y, epsilon=1.0, unit=1e290, search="sparse-vector")


@pytest.mark.parametrize("values", [np.zeros(400), np.full(400, 1e300), np.arange(400.0)])
@pytest.mark.parametrize("search", ["compact", "sparse-vector"])
@pytest.mark.parametrize("last", [False, True])
def test_nothing_is_refused_for_what_records_are(monkeypatch, values, search, last):
    """Whatever interval comes out, a table has room between its ends."""

    def chosen(candidates, *_, **__):
        return len(candidates) - 1 if last else 0

    for module, name in (
        (residual_bounds, "exponential_mechanism"),
        (bounds_around_zero, "exponential_mechanism"),
        (bounds_around_zero, "above_threshold"),
    ):
        monkeypatch.setattr(module, name, chosen)
    plot = dp.residual_plot(values, values, epsilon=1.0, unit=1e-300, search=search)
    assert plot.n == 400


@pytest.mark.parametrize("search", ["compact", "sparse-vector"])
def test_units_need_no_room_for_doublings_where_both_axes_are_known(search):
    x, y = scattered()
    ends = {"predicted_range": (0, 50), "residual_range": (-5, 5)}
    dp.residual_plot(x, y, epsilon=1.0, unit=1.7e308, search=search, **ends)
    with pytest.raises(dp.ParameterError, match="unit"):
        dp.residual_plot(x, y, epsilon=1.0, unit=0.0, search=search, **ends)
