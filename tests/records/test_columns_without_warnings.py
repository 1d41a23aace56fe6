"""Whatever records are: nothing is said of them, neither by errors nor by warnings."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp

LARGEST, LEAST = np.finfo(np.float64).max, 5e-324
BETWEEN = np.nextafter(np.longdouble(LARGEST), np.longdouble(0))  # rounded up to the largest
TINY = np.finfo(np.longdouble).tiny  # rounded up to the least
GRID = dp.Grid([-LARGEST, -1.0, 0.0, 1.0, LARGEST])


@pytest.mark.parametrize(
    "dtype",
    ["<f8", ">f8", "g", "O", "<f4", ">f4"],
    ids=["f8", "swapped", "long", "objects", "f4", "f4s"],
)
def test_the_ends_of_doubles_are_counted_as_others_are(dtype: str) -> None:
    with np.errstate(all="ignore"):
        values = np.array([-LARGEST, LARGEST, LEAST, -LEAST, 0.5]).astype(dtype)
    with np.errstate(all="raise"):
        counts = GRID.count(values)
    assert counts.sum() == 5


def test_long_doubles_beside_the_largest_double_too() -> None:
    with np.errstate(all="raise"):
        counts = GRID.count(np.array([BETWEEN, -BETWEEN, TINY]))
    assert counts.tolist() == [0, 1, 0, 1, 1]
