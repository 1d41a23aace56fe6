"""Curves over equal grids that state different things about their records are read alike."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import NoNoise

RNG = np.random.default_rng
P = np.linspace(0, 1, 11)

# Equal grids, which begin at different places and state different things
GRIDS = {
    "whole numbers": dp.Grid.integers(0, 30),
    "thresholds": dp.Grid(range(31)),
    "thresholds with a lower end": dp.Grid(range(31), lower=0),
    "cells": dp.Grid.uniform(-1, 30, 31),
}


def curve_on(name, said=None, seed=1):
    values = RNG(seed).binomial(30, 0.4, 500).tolist()
    return dp.cdf(values, GRIDS[name], NoNoise(), integers=said)


def read(curve):
    found = [curve.integers, curve._of_integers, curve.grid.start, curve.quantile(P).tolist()]
    return [*found, curve.mean(), curve.std(), curve.mean_interval(), curve(P).tolist()]


@pytest.mark.parametrize("join", [dp.combine, dp.average])
@pytest.mark.parametrize("said", [None, True, False])
def test_a_combination_does_not_depend_on_the_order(join, said):
    for first, second in permutations(GRIDS, 2):
        pair = [curve_on(first), curve_on(second, said)]
        assert read(join(pair)) == read(join(pair[::-1])), (first, second)
        assert join(pair) == join(pair[::-1])


def test_a_combination_begins_where_its_records_may_begin():
    known = [curve_on("whole numbers"), curve_on("cells")]
    assert dp.combine(known).grid.start == -1.0
    assert not dp.combine(known)._of_integers
    unknown = [*known, curve_on("thresholds")]
    assert {dp.combine(each).grid.start for each in permutations(unknown)} == {-np.inf}
    both = dp.combine([curve_on("whole numbers"), curve_on("thresholds", True)])
    assert both._of_integers


@pytest.mark.parametrize("second", ["thresholds", "thresholds with a lower end", "cells"])
def test_the_same_records_do_not_differ_by_half_a_cell(second):
    pair = [curve_on("whole numbers"), curve_on(second)]
    for curves in (pair, pair[::-1]):
        found = dp.compare(*curves, simulations=19, rng=RNG(1))
        assert found.differences.tolist() == [0.0, 0.0, 0.0]
        low, high = found.population_interval
        assert (low <= 0).all()
        assert (high >= 0).all()
        pair_said = [dp.compare(*curves, simulations=19, rng=RNG(1)), found]
        assert pair_said[0] == pair_said[1]


def test_whole_numbers_are_compared_as_such_if_both_curves_say_so():
    pair = [curve_on("whole numbers"), curve_on("thresholds", True, seed=2)]
    found = dp.compare(*pair, simulations=19, rng=RNG(1))
    assert (found.differences == np.rint(found.differences)).all()
    low, high = found.population_interval
    assert (high - low <= 2).all()
