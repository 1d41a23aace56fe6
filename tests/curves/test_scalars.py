"""A number in is a float out, and an array in is an array out."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp

GRID = dp.Grid.uniform(0, 10, 10)
EXACT = dp.cdf(np.arange(1, 11), GRID, dp.mechanisms.NoNoise())
NOISY = dp.cdf(np.arange(1, 11), GRID, epsilon=50.0, rng=np.random.default_rng(1))


@pytest.mark.parametrize("curve", [EXACT, NOISY, EXACT.isotonic()])
@pytest.mark.parametrize("number", [0.5, np.float64(0.5), np.array(0.5), np.float32(0.5), 1, True])
def test_a_number_in_is_a_float_out(curve, number):
    assert type(curve(number)) is float
    if number is not True:
        assert type(curve.quantile(number)) is float
        assert type(curve.quantile(number, method="inverted_cdf")) is float


def test_an_array_in_is_an_array_out():
    assert EXACT(3) == 0.3
    assert EXACT([3]).tolist() == [0.3]
    assert EXACT([[3, 4]]).shape == (1, 2)
    assert EXACT.quantile(0.3) == 3.0
    assert EXACT.quantile([[0.3], [0.4]]).tolist() == [[3.0], [4.0]]
    assert EXACT([]).shape == EXACT.quantile([]).shape == (0,)
