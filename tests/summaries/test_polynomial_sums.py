"""Sums of polynomials: adding up, equality by value, a repr in a line, and what is refused."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


@settings(max_examples=30)
@given(st.lists(st.integers(0, 60), max_size=4), st.sampled_from(["legendre", "moments"]))
def test_sums_of_chunks_add_up_bit_for_bit(cuts, basis):
    values = np.random.default_rng(5).normal(0, 1, 60)
    parts = [dp.polynomial_sums(part, -2, 2, 6, basis) for part in np.split(values, sorted(cuts))]
    whole = dp.polynomial_sums(values, -2, 2, 6, basis)
    assert np.array_equal(reduce(operator.add, parts).sums, whole.sums)
    assert whole.n == 60


def test_sums_that_are_none_are_refused():
    good = dp.polynomial_sums([0.5, 0.25], 0, 1, 4)
    with pytest.raises(dp.DtypeError, match="sums must be int64"):
        replace(good, sums=good.sums.astype(float))
    for change, message in [
        ({0: 5}, "sums must be of 0 to 8589934592 records"),
        ({0: 2**62}, "sums must be of 0 to 8589934592 records"),
        ({3: 2**62}, "sums must be sums of n numbers up to 1"),
        ({3: -(2**63)}, "sums must be sums of n numbers up to 1"),
    ]:
        wrong = good.sums.copy()
        for k, value in change.items():
            wrong[k] = value
        with pytest.raises(dp.ParameterError, match=message):
            replace(good, sums=wrong)
    with pytest.raises(dp.ParameterError, match=r"lower must be 0\.0 in both; got -1\.0"):
        good + dp.polynomial_sums([0.5], -1, 1, 4)
    with pytest.raises(dp.ParameterError, match="degree must be 4 in both; got 5"):
        good + dp.polynomial_sums([0.5], 0, 1, 5)
    most = good.sums.copy()
    most[0] = 2**61
    with pytest.raises(dp.ParameterError, match="sums must be of at most 8589934592 records"):
        replace(good, sums=most) + good


def test_infinite_values_count_as_the_bounds():
    beyond = dp.polynomial_sums([-math.inf, math.inf, 7.0], 0, 1, 9)
    assert np.array_equal(beyond.sums, dp.polynomial_sums([0.0, 1.0, 1.0], 0, 1, 9).sums)
