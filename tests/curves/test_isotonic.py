"""Isotonic regression against SciPy's, and its invariants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from dpcore.kernels.smoothing.isotonic import isotonic


@settings(max_examples=100)
@given(
    st.lists(st.integers(-20, 20) | st.floats(-1e9, 1e9), min_size=1, max_size=60),
    st.floats(-1e3, 0),
    st.floats(0, 1e3),
)
def test_it_is_scipys_clipped(values, least, most):
    rows = np.array([values, values[::-1]], dtype=float)
    found = rows.copy()
    isotonic(found, least, most)
    for row, projected in zip(rows, found, strict=True):
        expected = np.clip(isotonic_regression(row).x, least, most)
        assert projected == pytest.approx(expected, abs=1e-6)
        assert np.all(np.diff(projected) >= 0.0)
        assert least <= projected[0]
        assert projected[-1] <= most


def test_nothing_to_do():
    for shape in ((0, 4), (3, 0)):
        isotonic(np.empty(shape), 0.0, 1.0)


def pooled(row, least, most):
    """Pool adjacent violators, as the definition has it."""
    blocks: list[tuple[float, int]] = []
    for value in row:
        total, length = value, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / length:
            before, places = blocks.pop()
            total, length = total + before, length + places
        blocks.append((total, length))
    means = [np.full(length, total / length) for total, length in blocks]
    return np.clip(np.concatenate([*means, []]), least, most)


@pytest.mark.parametrize("drift", [0, 1, 4])
@pytest.mark.parametrize("size", [0, 1, 14, 15, 16, 17, 31, 400])
def test_counts_are_pooled_to_the_last_bit(size, drift):
    rng = np.random.default_rng(size)
    rows = drift * np.arange(size) + rng.integers(-12, 13, (20, size)).astype(float)
    rows[10:] = np.cumsum(rows[10:] - drift * np.arange(size), axis=1)
    found = rows.copy()
    isotonic(found, -30.0, 500.0)
    for row, projected in zip(rows, found, strict=True):
        assert np.array_equal(projected, pooled(row, -30.0, 500.0))


def test_means_that_differ_by_rounding_are_not_pooled():
    steps = np.repeat(0.1 + 2.0**-56 * np.arange(0, 40, 2), 16)
    row = np.unique(steps)[np.newaxis]
    assert row.size > 16
    found = row.copy()
    isotonic(found, 0.0, 1.0)
    assert np.array_equal(found, row)


@pytest.mark.parametrize("size", [5, 40])
def test_no_bound_is_passed_whatever_the_size_of_the_values(size):
    row = np.random.default_rng(1).normal(0, 1e300, (1, size))
    isotonic(row, -1e299, 1e299)
    assert np.all(np.diff(row) >= 0.0)
    assert row[0, 0] >= -1e299
    assert row[0, -1] <= 1e299
