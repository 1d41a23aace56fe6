"""Guarantees: sums that are never below the truth, disjoint records, and what does not add up."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcore as dp
from dpcore import Privacy
from dpcore.privacy import (
    zcdp_epsilon,
)
from dpcore.privacy.guarantees import within_group

# --- sums


def test_guarantees_add_up():
    total = Privacy(0.5) + Privacy(0.25, 1e-6) + Privacy(0.25)
    assert total == Privacy(1.0, 1e-6)
    assert Privacy(rho=0.5) + Privacy(rho=0.25) == Privacy(rho=0.75)
    assert Privacy(1.0) + Privacy(rho=0.25) == Privacy(rho=0.75) == Privacy(rho=0.25) + Privacy(1.0)


@given(st.floats(1e-12, 1e12), st.floats(1e-12, 1e12))
def test_sums_are_never_below_the_truth(first, second):
    sums = [
        (Privacy(first) + Privacy(second)).epsilon,
        (Privacy(rho=first) + Privacy(rho=second)).rho,
        (Privacy(first) + Privacy(rho=second)).rho,
    ]
    exact = Fraction(first) + Fraction(second)
    mixed = Fraction(first) ** 2 / 2 + Fraction(second)
    for total, truth in zip(sums, (exact, exact, mixed), strict=True):
        assert truth <= Fraction(total)
        assert Fraction(math.nextafter(total, 0.0)) < truth


ABOVE = [Fraction(1, 3), Fraction(2, 3), Fraction(1, 10), 2**60 + 1, Fraction(1, 10**400)]


@pytest.mark.parametrize("exact", [*ABOVE, np.longdouble(1) / 3, np.longdouble(2) / 3])
def test_what_is_no_double_is_rounded_up(exact):
    stated = [Privacy(exact).epsilon, Privacy(rho=exact).rho]
    if exact < 1:
        stated.append(Privacy(1.0, exact).delta)
    for found in stated:
        assert type(found) is float
        assert found >= exact
        assert math.nextafter(found, 0.0) < exact


@pytest.mark.parametrize("exact", ABOVE[:4])
def test_mechanisms_hold_what_is_stated_of_their_budget(exact):
    assert dp.mechanisms.Hierarchy(exact).privacy == Privacy(exact)
    assert dp.mechanisms.Hierarchy(rho=exact).privacy == Privacy(rho=exact)


def test_the_delta_that_is_asked_for_is_rounded_down():
    for delta in (Fraction(1, 3), Fraction(2, 3)):
        below = float(delta) if float(delta) <= delta else math.nextafter(float(delta), 0.0)
        assert Privacy(rho=0.5).epsilon_at(delta) == zcdp_epsilon(0.5, below)
        with pytest.raises(dp.ParameterError, match="delta must be at least 0"):
            Privacy(0.5, delta).epsilon_at(delta)  # it has a little more


def test_one_simulated_part_makes_the_whole_simulated():
    assert (Privacy(1.0) + Privacy(1.0, simulated=True)).simulated
    assert (Privacy(rho=1.0, simulated=True) + Privacy(1.0)).simulated
    assert "SIMULATED" in str(Privacy(1.0, simulated=True))
    assert "SIMULATED" not in str(Privacy(1.0))


def test_different_relations_do_not_add_up():
    with pytest.raises(dp.ParameterError, match="must be 'replace-one' in both"):
        Privacy(1.0) + Privacy(1.0, neighbours="add-or-remove-one")
    with pytest.raises(TypeError):
        Privacy(1.0) + 1.0


def test_approximate_and_concentrated_add_up():
    for first, second in itertools.permutations([Privacy(1.0, 1e-6), Privacy(rho=0.25)]):
        assert first + second == Privacy(rho=0.75, delta=1e-6)


# --- guarantees of releases of disjoint records


def test_the_larger_of_two_guarantees_covers_disjoint_records():
    assert Privacy(0.5) | Privacy(0.25) == within_group(Privacy(0.5))
    assert Privacy(0.5, 1e-9) | Privacy(0.25, 1e-6) == within_group(Privacy(0.5, 1e-6))
    assert Privacy(rho=0.5) | Privacy(rho=0.25) == within_group(Privacy(rho=0.5))
    assert Privacy(1.0) | Privacy(rho=0.25) == within_group(Privacy(rho=0.5))
    assert Privacy(rho=0.25) | Privacy(1.0) == within_group(Privacy(rho=0.5))
    assert Privacy(0.5) | Privacy(rho=0.25) == within_group(Privacy(rho=0.25))
    assert Privacy(1.0, 1e-6) | Privacy(rho=0.25) == within_group(Privacy(rho=0.5, delta=1e-6))
    assert (Privacy(1.0) | Privacy(1.0, simulated=True)).simulated
    assert not (Privacy(1.0) | Privacy(2.0)).simulated


def test_what_parallel_composition_refuses():
    with pytest.raises(dp.ParameterError, match="must be 'replace-one' in both"):
        Privacy(1.0) | Privacy(1.0, neighbours="add-or-remove-one")
    with pytest.raises(TypeError):
        Privacy(1.0) | 1.0


losses = st.floats(1e-9, 1e9)
pure = st.builds(Privacy, losses)
approximate = st.builds(Privacy, losses, st.floats(0.0, 0.1), simulated=st.booleans())
concentrated = st.one_of(pure, st.builds(Privacy, rho=losses, simulated=st.booleans()))
one_kind = st.one_of(*(st.tuples(*[kind] * 3) for kind in (pure, approximate, concentrated)))


def covers(stronger: Privacy, weaker: Privacy) -> bool:
    """Whether all that has the first guarantee has the second one, by its numbers."""
    if stronger.rho is None and weaker.rho is not None:
        return stronger.delta == 0.0 and Fraction(stronger.epsilon) ** 2 / 2 <= weaker.rho
    if stronger.rho is not None:
        return weaker.rho is not None and stronger.rho <= weaker.rho
    return stronger.epsilon <= weaker.epsilon and stronger.delta <= weaker.delta


@given(one_kind)
def test_algebra_of_guarantees(three):
    a, b, c = three
    assert a | a == within_group(a)
    assert a | b == b | a
    assert a | (b | c) == (a | b) | c
    assert a + b == b + a
    assert covers(within_group(a), a | b)
    assert covers(within_group(b), a | b)
    assert covers(a | b, within_group(a + b))
    if len({each.rho is None for each in three}) == 1:  # otherwise it is rounded twice
        assert (a | b) + c == (a + c) | (b + c)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": -1e-9}, "epsilon must be 0 or more"),
        ({"epsilon": float("nan")}, "epsilon must be finite"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta must be at least 0 and below 1"),
        ({"epsilon": 1.0, "delta": -0.1}, "delta must be"),
        ({"epsilon": 1.0, "neighbours": "any"}, "neighbours must be one of"),
        ({"epsilon": 1.0, "simulated": 1}, "simulated must be a bool"),
        ({}, "epsilon or rho must be given"),
        ({"epsilon": 1.0, "rho": 1.0}, "epsilon or rho must be given, and not both"),
        ({"rho": -1}, "rho must be 0 or more"),
        ({"rho": "1"}, "rho must be a real number"),
        ({"rho": 1.0, "delta": 1.0}, "delta must be at least 0 and below 1"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises((dp.ParameterError, dp.DtypeError), match=words):
        Privacy(**arguments)


@pytest.mark.parametrize(
    "privacy",
    [Privacy(1.0), Privacy(0.5, 1e-6, "add-or-remove-one"), Privacy(rho=0.25, simulated=True)],
)
def test_a_guarantee_is_written_so_that_it_can_be_read(privacy):
    assert eval(repr(privacy)) == privacy
    assert str(Privacy(rho=0.25)) == "rho = 0.25 of zCDP (replace-one)"


@pytest.mark.parametrize(
    "privacy", [Privacy(0.5, 1e-6), Privacy(rho=0.25), Privacy(rho=0.25, delta=1e-6)]
)
def test_json_and_reports_hold_either_kind(privacy):
    from dpcore.command_line.reports import summary

    grid = dp.Grid.uniform(0, 1, 4)
    curve = dp.CDF(grid, np.array([1, 2, 3, 9]), 9, privacy, {"name": "none"}, np.zeros(4))
    assert dp.CDF.from_json(curve.to_json()).privacy == privacy
    assert str(privacy) in summary(curve, "column")


def test_epsilon_at():
    assert Privacy(0.5, 1e-6).epsilon_at(1e-6) == 0.5
    assert Privacy(0.5).epsilon_at(0) == 0.5
    assert Privacy(rho=0.5).epsilon_at(1e-6) == zcdp_epsilon(0.5, 1e-6)
    with pytest.raises(dp.ParameterError, match="delta must be at least 1e-06 and below 1; got 0"):
        Privacy(0.5, 1e-6).epsilon_at(0.0)
    with pytest.raises(dp.ParameterError, match=r"delta must be above 0\.0 and below 1"):
        Privacy(rho=0.5).epsilon_at(0.0)


def test_the_delta_of_a_replaced_record_is_never_less_than_it_is():
    """Also where exp(epsilon) is beyond all doubles, or nearly."""
    for epsilon, delta in [(0.1, 1e-6), (20.0, 1e-12), (699.0, 5e-324)]:
        one = Privacy(epsilon, delta, "add-or-remove-one")
        found = one.implied("replace-one")
        assert found.epsilon == 2 * epsilon
        exact = (1 + Fraction(math.exp(epsilon))) * Fraction(delta)
        assert exact <= Fraction(found.delta) <= exact * (1 + Fraction(1, 2**50)) + Fraction(5e-324)
    with pytest.raises(
        dp.ParameterError, match=r"^epsilon must be at most 700 where delta is above 0"
    ):
        Privacy(710.0, 1e-320, "add-or-remove-one").implied("replace-one")
    assert Privacy(710.0, neighbours="add-or-remove-one").implied("replace-one").epsilon == 1420.0


def test_what_is_implied_is_as_real_as_what_implies_it():
    for one in (
        Privacy(0.5, 1e-6, "add-or-remove-one", True),
        Privacy(0.5, 0.0, "add-or-remove-one", True),
    ):
        assert one.implied("replace-one").simulated
