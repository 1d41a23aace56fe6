"""Hilbert's curve: a bijection, neighbours next to each other, and the recursion itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.kernels.trees import hilbert
from tests import reference


def positions_of(rows, columns, order):
    out = np.empty(len(rows), np.int64)
    hilbert.positions(np.asarray(rows, np.int64), np.asarray(columns, np.int64), order, out)
    return out


def cells_at(at, order):
    rows, columns = np.empty(len(at), np.int64), np.empty(len(at), np.int64)
    hilbert.cells(np.asarray(at, np.int64), order, rows, columns)
    return rows, columns


@pytest.mark.parametrize("order", range(7))
def test_is_the_recursive_curve_both_ways(order):
    path = np.array(reference.hilbert(order))
    np.testing.assert_array_equal(np.column_stack(cells_at(range(4**order), order)), path)
    np.testing.assert_array_equal(positions_of(*path.T, order), np.arange(4**order))


@given(st.integers(0, 31), st.data())
def test_there_and_back_for_any_order(order, data):
    side = st.lists(st.integers(0, 2**order - 1), min_size=3, max_size=3)
    rows, columns = data.draw(side), data.draw(side)
    at = positions_of(rows, columns, order)
    assert np.all((at >= 0) & (at < 4**order))
    back = cells_at(at, order)
    assert [part.tolist() for part in back] == [rows, columns]


@given(st.integers(1, 20), st.integers(1, 20))
def test_rectangles_skip_what_is_outside_and_keep_the_order(height, width):
    order = (max(height, width) - 1).bit_length()
    path = [(r, c) for r, c in reference.hilbert(order) if r < height and c < width]
    assert hilbert.rectangle(height, width).tolist() == [r * width + c for r, c in path]


@pytest.mark.parametrize(("height", "width"), [(1, 2**16), (2**16, 1), (3, 30_000), (255, 257)])
def test_long_tables_are_permuted(height, width):
    found = hilbert.rectangle(height, width)
    np.testing.assert_array_equal(np.sort(found), np.arange(height * width))
    at = positions_of(found // width, found % width, (max(height, width) - 1).bit_length())
    assert np.all(np.diff(at) > 0)
