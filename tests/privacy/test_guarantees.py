"""Guarantees: how they are stated, add up and compare, and what they imply for other relations."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcore as dp
from dpcore import Privacy
from dpcore.privacy import zcdp_epsilon
from dpcore.privacy.guarantees import within_group

WITHIN, CLIENTS = "replace-one-within-group", "replace-client-within-group"


def removed(*parameters, **how):
    return Privacy(*parameters, **how, neighbours="add-or-remove-one")


def within(*parameters, **how):
    return Privacy(*parameters, **how, neighbours=WITHIN)


# --- what is stated


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"epsilon": -1e-9}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta"),
        ({"epsilon": 1.0, "delta": -0.1}, "delta"),
        ({"epsilon": 1.0, "neighbours": "any"}, "neighbours"),
        ({"epsilon": 1.0, "simulated": 1}, "simulated"),
        ({}, "epsilon"),
        ({"epsilon": math.inf, "rho": 1.0}, "rho"),
        ({"epsilon": 1.0, "rho": -1.0}, "rho"),
        ({"rho": -1}, "rho"),
        ({"rho": math.inf}, "rho"),
        ({"rho": "1"}, "rho"),
        ({"rho": 1.0, "delta": 1.0}, "delta"),
    ],
)
def test_bad_arguments(arguments, name):
    with pytest.raises((dp.ParameterError, dp.DtypeError), match=f"^{name}"):
        Privacy(**arguments)


@pytest.mark.parametrize(
    ("privacy", "text"),
    [
        (Privacy(1.0), "epsilon = 1 (replace-one)"),
        (removed(0.5, 1e-6), "epsilon = 0.5, delta = 1e-06 (add-or-remove-one)"),
        (Privacy(rho=0.25), "rho = 0.25 of zCDP (replace-one)"),
        (Privacy(rho=0.25, delta=1e-6), "rho = 0.25 of zCDP, delta = 1e-06 (replace-one)"),
        (Privacy(1.0, neighbours=CLIENTS), f"epsilon = 1 ({CLIENTS})"),
    ],
)
def test_a_guarantee_is_written_so_that_it_can_be_read(privacy, text):
    from dpcore.command_line.cdf import summary

    assert eval(repr(privacy)) == privacy
    assert str(privacy) == text
    seeded = replace(privacy, simulated=True)
    assert eval(repr(seeded)) == seeded
    assert "SIMULATED" in str(seeded)
    grid = dp.Grid.uniform(0, 1, 4)
    curve = dp.CDF(grid, np.array([1, 2, 3, 9]), 9, privacy, {"name": "none"}, np.zeros(4))
    assert dp.CDF.from_json(curve.to_json()).privacy == privacy
    assert str(privacy) in summary(curve, "column")


ABOVE = [Fraction(1, 3), Fraction(2, 3), Fraction(1, 10), 2**60 + 1, Fraction(1, 10**400)]


@pytest.mark.parametrize("exact", [*ABOVE, np.longdouble(1) / 3, np.longdouble(2) / 3])
def test_what_is_no_double_is_rounded_up(exact):
    stated = [Privacy(exact).epsilon, Privacy(rho=exact).rho]
    if exact < 1:
        stated.append(Privacy(1.0, exact).delta)
    for double in stated:
        assert type(double) is float
        assert double >= exact
        assert math.nextafter(double, 0.0) < exact


@pytest.mark.parametrize("exact", ABOVE[:4])
def test_mechanisms_hold_what_is_stated_of_their_budget(exact):
    assert dp.mechanisms.Hierarchy(exact).privacy == Privacy(exact)
    assert dp.mechanisms.Hierarchy(rho=exact).privacy == Privacy(rho=exact)


def test_epsilon_at():
    assert Privacy(0.5, 1e-6).epsilon_at(1e-6) == 0.5
    assert Privacy(0.5).epsilon_at(0) == 0.5
    assert Privacy(rho=0.0).epsilon_at(0.0) == 0.0
    assert Privacy(rho=0.5).epsilon_at(1e-6) == zcdp_epsilon(0.5, 1e-6)
    left = math.nextafter(2e-6, 0) - 1e-6
    assert Privacy(rho=0.375, delta=1e-6).epsilon_at(2e-6) == pytest.approx(
        zcdp_epsilon(0.375, left)
    )
    for privacy, delta in (
        (Privacy(0.5, 1e-6), 0.0),
        (Privacy(0.5), 1.0),
        (Privacy(rho=0.5), 0.0),
        (Privacy(rho=0.5), 1.0),
        (Privacy(rho=0.5, delta=1e-6), 1e-6),
    ):
        with pytest.raises(dp.ParameterError, match=rf"^delta .*{privacy.delta}.*got {delta}"):
            privacy.epsilon_at(delta)


@pytest.mark.parametrize("delta", [Fraction(1, 3), Fraction(2, 3)])
def test_the_delta_that_is_asked_for_is_rounded_down(delta):
    below = float(delta) if float(delta) <= delta else math.nextafter(float(delta), 0.0)
    assert Privacy(rho=0.5).epsilon_at(delta) == zcdp_epsilon(0.5, below)
    with pytest.raises(dp.ParameterError, match="delta"):
        Privacy(0.5, delta).epsilon_at(delta)  # it has a little more


# --- sums, and the larger of two for disjoint records


@pytest.mark.parametrize(
    ("first", "second", "total", "larger"),
    [
        (Privacy(0.5), Privacy(0.25), Privacy(0.75), within(0.5)),
        (Privacy(0.5, 1e-9), Privacy(0.25), Privacy(0.75, 1e-9), within(0.5, 1e-9)),
        (Privacy(rho=0.5), Privacy(rho=0.25), Privacy(rho=0.75), within(rho=0.5)),
        (Privacy(1.0), Privacy(rho=0.25), Privacy(rho=0.75), within(rho=0.5)),
        (Privacy(0.5), Privacy(rho=0.25), Privacy(rho=0.375), within(rho=0.25)),
        (
            Privacy(1.0, 1e-6),
            Privacy(rho=0.25),
            Privacy(rho=0.75, delta=1e-6),
            within(rho=0.5, delta=1e-6),
        ),
        (Privacy(0.0), Privacy(1.0), Privacy(1.0), within(1.0)),
        (Privacy(1.0), Privacy(math.inf), Privacy(math.inf), within(math.inf)),
        (Privacy(1.0), within(0.5), within(1.5), within(1.0)),
        (removed(1.0), removed(1.0), removed(2.0), removed(1.0)),
        (
            Privacy(1.0, neighbours="replace-client"),
            Privacy(1.0, neighbours=CLIENTS),
            Privacy(2.0, neighbours=CLIENTS),
            Privacy(1.0, neighbours=CLIENTS),
        ),
    ],
)
def test_sums_and_the_larger_of_two(first, second, total, larger):
    assert first + second == second + first == total
    assert first | second == second | first == larger
    for seeded in (replace(first, simulated=True), replace(second, simulated=True)):
        other = second if seeded.epsilon == first.epsilon else first
        assert (seeded + other).simulated
        assert (other | seeded).simulated
    with pytest.raises(TypeError):
        first + 1.0
    with pytest.raises(TypeError):
        first | 1.0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Privacy(1.0), removed(1.0)),
        (removed(1.0), within(1.0)),
        (Privacy(1.0, neighbours="replace-client"), within(1.0)),
    ],
)
def test_different_relations_do_not_add_up(first, second):
    for joined in (lambda: first + second, lambda: second | first):
        with pytest.raises(dp.ParameterError, match="neighbours"):
            joined()


def test_multiples_are_of_whole_numbers_and_sums_are_rounded_up():
    assert 3 * within(0.5) == sum([within(0.5)] * 3) == within(1.5)
    assert 0 * Privacy(1.0, 1e-6) == Privacy(0.0)
    assert 2 * Privacy(math.inf) == Privacy(math.inf)
    for much in (Privacy(1e308), Privacy(1.0, 0.5), Privacy(rho=1e308)):
        assert 2 * much == Privacy(math.inf)  # too many releases have no guarantee
        assert 1 * much == much
    for wrong in (0.5, True, "2"):
        with pytest.raises(TypeError):
            _ = wrong * Privacy(1.0)
    with pytest.raises(dp.ParameterError, match="times"):
        _ = -1 * Privacy(1.0)


PURE = st.floats(1e-6, 3).map(Privacy)
APPROXIMATE = st.tuples(st.floats(1e-6, 3), st.floats(1e-12, 1e-3)).map(lambda p: Privacy(*p))
CONCENTRATED = st.floats(1e-9, 3).map(lambda rho: Privacy(rho=rho))
ANY = st.one_of(PURE, APPROXIMATE, CONCENTRATED)


@given(st.lists(ANY, min_size=1, max_size=5), st.integers(0, 5))
def test_sums_and_multiples_are_never_below_the_truth(guarantees, times):
    total = sum(guarantees)
    assert all(guarantee <= total for guarantee in guarantees)
    first = guarantees[0]
    repeated = sum(times * [first], start=0 * first)
    assert times * first == first * times
    assert times * first <= repeated
    for name in ("epsilon", "delta", "rho"):
        exact = getattr(first, name)
        if exact is not None:
            multiple = Fraction(getattr(times * first, name))
            assert times * Fraction(exact) <= multiple <= Fraction(getattr(repeated, name))


@given(st.floats(1e-12, 1e12), st.floats(1e-12, 1e12))
def test_sums_are_the_least_doubles_above_the_truth(first, second):
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
    if len({guarantee.rho is None for guarantee in three}) == 1:  # otherwise it is rounded twice
        assert (a | b) + c == (a + c) | (b + c)


# --- which guarantee implies which


@pytest.mark.parametrize(
    ("less", "more"),
    [
        (Privacy(0.5), Privacy(1.0)),
        (Privacy(0.5), Privacy(0.5, 1e-6)),
        (Privacy(1.0), Privacy(rho=0.5)),
        (Privacy(1.0, 1e-6), Privacy(rho=0.5, delta=1e-6)),
        (Privacy(rho=0.25), Privacy(rho=0.5)),
        (Privacy(rho=0.5), Privacy(zcdp_epsilon(0.5, 1e-6), 1e-6)),
        (Privacy(5.0, 0.5), Privacy(math.inf, 0.5)),
        (Privacy(1.0), within(1.0)),
        (Privacy(rho=0.5), within(rho=0.5)),
        (removed(1.0), within(2.0)),
        (Privacy(1.0, neighbours="replace-client"), Privacy(1.0, neighbours=CLIENTS)),
        (Privacy(0.5), Privacy(1.0, simulated=True)),
        (Privacy(0.5, simulated=True), Privacy(1.0, simulated=True)),
    ],
)
def test_a_guarantee_implies_another(less, more):
    assert less <= more
    assert more >= less
    assert not more <= less


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Privacy(0.5, 1e-6), Privacy(1.0)),
        (Privacy(0.5), removed(1.0)),
        (Privacy(rho=0.001), Privacy(0.1)),
        (Privacy(0.1, 1e-6), Privacy(rho=0.5)),
        (within(1e-9), removed(1e9)),
        (within(2.0), removed(1.1)),
        (Privacy(0.5, simulated=True), Privacy(1.0)),
        (Privacy(0.9, simulated=True), within(1.0)),
    ],
)
def test_neither_implies_the_other(first, second):
    assert not first <= second
    assert not second <= first
    with pytest.raises(TypeError):
        _ = first <= 1.0


@given(ANY, ANY)
def test_order_agrees_with_epsilon_at(first, second):
    if first <= second and not (first.rho is None and second.rho is not None):
        for delta in (1e-9, 1e-5, 1e-2):
            if second.delta < delta:
                assert first.epsilon_at(delta) <= second.epsilon_at(delta) * (1 + 1e-9)


@pytest.mark.parametrize("target", ["replace-one", WITHIN])
def test_what_is_implied_for_a_record_that_is_replaced(target):
    def replaced(*parameters, **how):
        return Privacy(*parameters, **how, neighbours=target)

    assert removed(0.3).implied(target) == replaced(0.6)
    assert removed(0.3, simulated=True).implied(target) == replaced(0.6, simulated=True)
    seeded = removed(rho=0.3, simulated=True)
    assert seeded.implied(target) == replaced(rho=1.2, simulated=True)
    assert removed(math.inf).implied(target) == replaced(math.inf)
    assert removed(710.0).implied(target) == replaced(1420.0)
    assert Privacy(0.3).implied(target) == replaced(0.3)
    for epsilon, delta in [(0.1, 1e-6), (1.0, 1e-6), (20.0, 1e-12), (699.0, 5e-324)]:
        both = removed(epsilon, delta, simulated=True).implied(target)
        exact = (1 + Fraction(math.exp(epsilon))) * Fraction(delta)
        assert both == replaced(2 * epsilon, both.delta, simulated=True)
        assert exact <= Fraction(both.delta) <= exact * (1 + Fraction(1, 2**50)) + Fraction(5e-324)


@pytest.mark.parametrize(
    ("privacy", "target", "argument"),
    [
        (Privacy(1.0), "add-or-remove-one", "neighbours"),
        (within(1.0), "replace-one", "neighbours"),
        (within(1.0), "add-or-remove-one", "neighbours"),
        (within(1.0), "replace-client", "neighbours"),
        (within(1.0), CLIENTS, "neighbours"),
        (Privacy(1.0, neighbours=CLIENTS), "replace-client", "neighbours"),
        (removed(rho=0.1, delta=1e-6), "replace-one", "delta"),
        (removed(1.0, 0.9), "replace-one", "delta"),
        (removed(710.0, 1e-320), "replace-one", "epsilon"),
    ],
)
def test_what_is_not_implied(privacy, target, argument):
    with pytest.raises(dp.ParameterError, match=f"^{argument}"):
        privacy.implied(target)
    assert not privacy <= replace(privacy, epsilon=1e9, rho=None, delta=0.99, neighbours=target)


def test_the_implied_delta_is_what_two_steps_of_randomised_response_reach():
    """A tight case: (epsilon, delta) twice, each leaking outright with probability delta."""
    epsilon, delta = 0.7, 0.05
    leaked, odds = delta, math.exp(epsilon)
    # (leak of the first, RR, leak of the last) for three inputs in a row, the middle one between
    first = [leaked, (1 - leaked) * odds / (1 + odds), (1 - leaked) / (1 + odds), 0.0]
    last = [0.0, (1 - leaked) / (1 + odds), (1 - leaked) * odds / (1 + odds), leaked]
    implied = removed(epsilon, delta).implied("replace-one")
    loss = sum(
        max(0.0, p - math.exp(implied.epsilon) * q) for p, q in zip(first, last, strict=True)
    )
    assert loss <= implied.delta
