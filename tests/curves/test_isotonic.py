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


def test_what_is_monotone_stays_as_it_is():
    row = np.array([[0.0, 0.0, 1.5, 1.5, 7.0]])
    found = row.copy()
    isotonic(found, 0.0, 7.0)
    assert np.array_equal(found, row)


def test_nothing_to_do():
    for shape in ((0, 4), (3, 0)):
        isotonic(np.empty(shape), 0.0, 1.0)
