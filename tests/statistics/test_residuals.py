"""The distance of two residual plots against its definition; no points, one point, bad points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.statistics import residual_plot_distance
from tests import reference
from tests.mechanisms.refusals import refusals

EIGHTHS = st.integers(-12, 12).map(lambda i: i / 8)
POINTS = st.lists(st.tuples(EIGHTHS, EIGHTHS), max_size=9)


def as_points(pairs):
    return np.array(pairs, np.float64).reshape(-1, 2)


@settings(max_examples=80)
@given(POINTS, POINTS, st.sampled_from([1, 2, 4, 10]), st.sampled_from([0.0, 0.125, 2.0]))
def test_is_what_the_paper_defines(first, second, cells, margin):
    expected = reference.residual_plot_distance(first, second, cells, margin)
    arrays = as_points(first), as_points(second)
    found = residual_plot_distance(*arrays, cells=cells, margin=margin)
    assert isinstance(found, float)
    assert 0.0 <= found <= 1.0 + 1e-15
    if cells != 10:  # borders are doubles
        assert found == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("seed", range(2))
def test_of_scattered_points(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(300, 2)), rng.normal(0.3, 1.4, size=(200, 2))
    expected = reference.residual_plot_distance(first.tolist(), second.tolist())
    assert 0.1 < expected < 0.9
    assert residual_plot_distance(first, second) == pytest.approx(expected, abs=1e-12)
    other_way = residual_plot_distance(second, first)
    assert abs(other_way - expected) > 1e-3  # the first one says where cells are


@settings(max_examples=50)
@given(POINTS, st.randoms())
def test_of_the_same_points_in_another_order(points, random):
    shuffled = list(points)
    random.shuffle(shuffled)
    assert residual_plot_distance(as_points(points), as_points(shuffled)) < 1e-15


def test_points_outside_count_in_full_where_nothing_is_inside():
    first = [[0.0, 0.0], [1.0, 1.0]]
    assert residual_plot_distance(first, [[9.0, 0.0], [0.0, -9.0]]) == 1.0
    assert residual_plot_distance(first, [[0.0, 0.0], [np.inf, -np.inf]]) == 0.5
    assert residual_plot_distance(first, [[0.0, 0.0], [1.15, 1.0]]) == 0.5
    assert residual_plot_distance(first, [[0.0, 0.0], [1.05, 1.0]]) == 0.0


def test_no_points_and_one_point():
    none, one = np.empty((0, 2)), [[3.0, 4.0]]
    assert residual_plot_distance(none, none) == 0.0
    assert residual_plot_distance(none, one) == residual_plot_distance(one, none) == 1.0
    assert residual_plot_distance(one, one) == 0.0
    assert residual_plot_distance(one, one, margin=0) == 0.0
    assert residual_plot_distance(one, [[3.0, 4.5]], margin=0) == 1.0
    assert residual_plot_distance([[1e300, -1e300]], [[1e300, -1e300]]) == 0.0
    assert residual_plot_distance([[1e308, 0], [-1e308, 0]], [[1e308, 0], [-1e308, 0]]) == 0.0


def test_of_released_plots():
    rng = np.random.default_rng(2)
    x, noise = rng.uniform(1, 50, 4000), rng.normal(size=4000)
    ideal, again, curved = (
        dp.residual_plot(x, r, epsilon=2.0, rng=rng, residual_range=(-8, 8), cells=12)
        for r in (noise, noise, noise + 0.01 * (x - 25) ** 2)
    )
    near, far = (residual_plot_distance(ideal, other) for other in (again, curved))
    assert near < 0.2 < 0.3 < far
    assert near == residual_plot_distance(ideal.points, again.points)
    assert residual_plot_distance(np.c_[x, noise], ideal) < 0.3


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        *refusals(
            {
                "first": [[1.0, 2.0], [[np.inf, 0]]],
                "second": [[[1, 2, 3]]],
                "cells": [0],
                "margin": [-0.1, np.nan],
            },
            {"second": [[["a", "b"]]], "cells": [1.5]},
        ),
        ({"first": [[np.nan, 0]]}, dp.MissingValueError, "first"),
        ({"second": [[np.nan, 0]]}, dp.MissingValueError, "second"),
        ({"margin": 1.7e308, "first": [[1e308, 0]]}, dp.ParameterError, "margin"),
    ],
)
def test_bad_arguments(change, error, words):
    with pytest.raises(error, match=words):
        residual_plot_distance(**{"first": [[0, 0]], "second": [[0, 0]], **change})


def test_plots_that_have_nothing_in_common_are_1_apart():
    rng = np.random.default_rng(1)
    for size in range(2, 60):
        first = rng.uniform(0, 9, (size, 2))
        second = rng.uniform(100, 109, (61 - size, 2))
        assert residual_plot_distance(first, second) == 1.0


def test_distances_are_shares_of_the_points():
    first = np.c_[np.arange(10.0), np.zeros(10)]
    second = np.r_[first[:7], first[:3] + 100]
    assert residual_plot_distance(first, second) == 0.3
    assert residual_plot_distance(second[:7], first) == 0.3
