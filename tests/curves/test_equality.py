"""Releases are equal if all they say is."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import dpcore as dp

GRID = dp.Grid.uniform(0, 1, 16)
VALUES = np.random.default_rng(3).random(500)


def rng():
    return np.random.default_rng(1)


def releases():
    cells = dp.TableGrid.uniform((0, 1), (0, 1), (4, 4))
    return {
        "cdf": dp.cdf(VALUES, GRID, epsilon=1.0, rng=rng()),
        "quantiles": dp.quantiles(VALUES, [0.5], GRID, epsilon=1.0, rng=rng()),
        "bounds": dp.bounds(VALUES, epsilon=1.0, rng=rng()),
        "box": dp.box_plot(VALUES, GRID, epsilon=1.0, rng=rng()),
        "projection": dp.project(VALUES, 0, 1, rho=1.0, rng=rng()),
        "table": dp.table(VALUES, VALUES, cells, epsilon=1.0, rng=rng()),
        "residuals": dp.residual_plot(VALUES, VALUES - 0.5, epsilon=5.0, rng=rng()),
    }


FIRST, SECOND = releases(), releases()


@pytest.mark.parametrize("name", FIRST)
def test_equal_by_value_with_equal_hashes(name):
    first, second = FIRST[name], SECOND[name]
    assert first is not second
    for other in (second, copy.deepcopy(first), pickle.loads(pickle.dumps(first))):
        assert first == other
        assert hash(first) == hash(other)
    assert len({first, second}) == 1
    assert all(first != other for key, other in SECOND.items() if key != name)
    if name not in ("table", "residuals"):  # whose guarantee is that of a row
        assert first != replace(first, privacy=replace(first.privacy, simulated=False))


def test_one_number_makes_a_difference():
    curve = FIRST["cdf"]
    counts = curve.counts.copy()
    counts[3] += 1e-9
    assert curve != replace(curve, counts=counts)
    assert curve != replace(curve, integers=True)
    assert curve != curve.to_json()
    box = FIRST["box"]
    assert box != replace(box, outliers=np.array([1.0]))
    assert box != replace(box, median=box.third_quartile)


def test_whole_numbers_are_equal_to_the_same_reals():
    exact = dp.cdf([0.1, 0.9], GRID, dp.mechanisms.NoNoise(), isotonic=False)
    reals = replace(exact, counts=exact.counts.astype(float))
    assert exact == reals
    assert hash(exact) == hash(reals)


def test_where_first_cells_begin_makes_a_difference():
    starts = [dp.Grid([1.0, 2.0], lower=low) for low in (None, 0, -9)]
    curves = [dp.cdf([0.5, 1.5], each, dp.mechanisms.NoNoise()) for each in starts]
    assert len({curve.quantile(0.1) for curve in curves}) == 3
    assert len(set(curves)) == 3
    exact, other = dp.mechanisms.NoNoise(), dp.Grid([1.0, 2.0])
    cells = [*(dp.TableGrid(each, other) for each in starts), dp.TableGrid(other, starts[1])]
    assert len({dp.table([0.5], [1.5], each, mechanism=exact) for each in cells}) == 4
    assert curves[1] == replace(curves[1], grid=dp.Grid([1.0, 2.0], lower=-0.0))


def test_zeros_of_either_sign_are_one():
    curve = dp.cdf([0.9], GRID, dp.mechanisms.NoNoise())
    negative = replace(curve, counts=np.where(curve.counts == 0, -0.0, curve.counts))
    assert np.signbit(negative.counts[0])
    assert curve == negative
    assert hash(curve) == hash(negative)
