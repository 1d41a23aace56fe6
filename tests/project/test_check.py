"""The gates that arguments pass: what is a number, and how errors quote what is none."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore import _check
from dpcore.errors import shown
from dpcore.privacy.allowance import Allowance

SPANS = [np.timedelta64(1, "ns"), np.timedelta64(2), np.timedelta64("NaT")]


@pytest.mark.parametrize("span", SPANS)
def test_time_spans_are_no_numbers(span):
    for gate in (_check.finite, _check.positive, _check.fraction, _check.plain):
        with pytest.raises(
            dp.DtypeError, match=r"x must be a real number; got .* of type timedelta64"
        ):
            gate("x", span)
    with pytest.raises(dp.DtypeError, match=r"x must be an integer; got .* of type timedelta64"):
        _check.integer("x", span, 0, 9)
    for choose in (
        lambda: dp.cdf([1.0], dp.Grid([1.0]), epsilon=span),
        lambda: dp.mechanisms.Hierarchy(rho=span),
        lambda: dp.trust.Local(span, clients=9),
        lambda: dp.Privacy(span),
    ):
        with pytest.raises(dp.DtypeError, match=r"(epsilon|rho) must be a real number"):
            choose()
    with pytest.raises(dp.ParameterError, match="norm must be one of 1, 2"):
        dp.smooth([1.0], 2, norm=span)


def test_long_doubles_are_the_numbers_that_they_stand_for():
    above = np.longdouble(1) + np.finfo(np.longdouble).eps
    below = np.longdouble(1) - np.finfo(np.longdouble).epsneg
    for each in (above, below):
        exact = Fraction(*each.as_integer_ratio())
        assert _check.fraction("x", each) == exact
        assert _check.plain("x", each) == exact
        assert Allowance.checked(each, None, "replace-one").epsilon == exact
    with pytest.raises(dp.ParameterError, match="x must be finite"):
        _check.fraction("x", np.longdouble("inf"))


def test_whatever_is_quoted_is_short():
    deep = [1]
    for _ in range(100_000):
        deep = [deep]

    class Broken:
        def __repr__(self):
            raise RuntimeError

    assert shown(10**100) == "1" + 76 * "0" + "..."
    assert shown(-(10**5000)) == "an integer of 16610 bits"
    assert shown(Fraction(1, 10**5000)) == "a Fraction"
    assert shown([10**5000]) == shown(deep) == "a list"
    assert shown(Broken()) == "a Broken"
    assert shown(np.float32(0.5)) == "0.5"
    for value in (10**5000, deep, Broken(), "x" * 10**6):
        error = dp.ParameterError("x", value, "must be small")
        assert str(error).startswith("x must be small; got ")
        assert len(str(error)) < 120
    with pytest.raises(
        dp.ParameterError, match=r"size must be between 1 .* an integer of 16610 bits"
    ):
        dp.Grid.uniform(0, 1, 10**5000)
    with pytest.raises(dp.ParameterError, match="upper must be greater than lower, 2; got -9999"):
        dp.Grid.uniform(2, -int("9" * 100), 3)


@pytest.mark.parametrize("solver", ["graph", "osqp"])
@pytest.mark.parametrize("norm", [1, 2])
def test_no_curves_are_smoothed_to_none(solver, norm):
    found = dp.smooth(np.empty((0, 5)), 10, norm=norm, solver=solver)
    assert found.cumulative.shape == (0, 5)
    assert found.objective.shape == (0,)
    assert found.is_optimal()
    assert dp.smooth(np.empty((2, 0, 5)), 10, solver=solver).cumulative.shape == (2, 0, 5)
