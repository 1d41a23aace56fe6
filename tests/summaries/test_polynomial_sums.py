"""Sums of polynomials: adding up, equality by value, a repr in a line, and what is refused."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

import dpcore as dp

VALUES = np.random.default_rng(3).random(500)
SUMS = dp.polynomial_sums(VALUES, 0, 1, 12)


def test_equal_by_value_with_equal_hashes():
    again = dp.polynomial_sums(VALUES[::-1], 0, 1, 12)
    parts = (dp.polynomial_sums(part, 0, 1, 12) for part in (VALUES[:100], VALUES[100:]))
    first, second = parts
    copies = copy.deepcopy(SUMS), pickle.loads(pickle.dumps(SUMS))
    for other in (again, first + second, *copies, replace(SUMS, lower=-0.0)):
        assert other == SUMS
        assert hash(SUMS) == hash(other)
    assert len({SUMS, again, first}) == 2


@pytest.mark.parametrize(
    "other",
    [
        dp.polynomial_sums(VALUES, 0, 1, 11),
        dp.polynomial_sums(VALUES, 0, 1, 12, basis="moments"),
        dp.polynomial_sums(VALUES[1:], 0, 1, 12),
        replace(SUMS, upper=2.0),
        replace(SUMS, lower=-1.0),
        replace(SUMS, sums=SUMS.sums - np.eye(14, dtype=np.int64)[5]),
        SUMS.sums,
        None,
    ],
)
def test_one_difference_is_enough(other):
    assert SUMS is not other
    assert not np.any(other == SUMS)
    assert np.all(other != SUMS)


def test_sums_fit_a_line_that_does_not_tell_them():
    text = repr(SUMS)
    assert text == "<PolynomialSums: n = 500, degree 12, legendre, within [0, 1]>"
    widest = dp.PolynomialSums(
        -1.2345678e-300, 9.87654321e300, "legendre", np.array([2**61] * 130, np.int64)
    )
    assert len(repr(widest)) <= 88
    assert str(int(SUMS.sums[1])) not in text


GOOD = dp.polynomial_sums([0.5, 0.25], 0, 1, 4)


@pytest.mark.parametrize(("place", "value"), [(0, 5), (0, 2**62), (3, 2**62), (3, -(2**63))])
def test_sums_that_are_none_are_refused(place, value):
    wrong = GOOD.sums.copy()
    wrong[place] = value
    with pytest.raises(dp.ParameterError, match="sums"):
        replace(GOOD, sums=wrong)
    with pytest.raises(dp.DtypeError, match="sums"):
        replace(GOOD, sums=GOOD.sums.astype(float))


@pytest.mark.parametrize(
    ("other", "name"),
    [
        (dp.polynomial_sums([0.5], -1, 1, 4), "lower"),
        (dp.polynomial_sums([0.5], 0, 2, 4), "upper"),
        (dp.polynomial_sums([0.5], 0, 1, 5), "degree"),
        (dp.polynomial_sums([0.5], 0, 1, 4, "moments"), "basis"),
        (replace(GOOD, sums=np.array([2**61, 0, 0, 0, 0, 0])), "sums"),
    ],
)
def test_sums_that_do_not_add_up(other, name):
    with pytest.raises(dp.ParameterError, match=f"^{name} "):
        _ = GOOD + other


def test_infinite_values_count_as_the_bounds():
    beyond = dp.polynomial_sums([-math.inf, math.inf, 7.0], 0, 1, 9)
    assert np.array_equal(beyond.sums, dp.polynomial_sums([0.0, 1.0, 1.0], 0, 1, 9).sums)
