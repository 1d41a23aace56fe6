"""How guarantees add up, compare, and convert together."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import DtypeError, ParameterError, Privacy
from dpcore.privacy import composed, zcdp_epsilon

PURE = st.floats(1e-6, 3).map(Privacy)
APPROXIMATE = st.tuples(st.floats(1e-6, 3), st.floats(1e-12, 1e-3)).map(lambda p: Privacy(*p))
CONCENTRATED = st.floats(1e-9, 3).map(lambda rho: Privacy(rho=rho))
ANY = st.one_of(PURE, APPROXIMATE, CONCENTRATED)


@given(st.lists(ANY, min_size=1, max_size=5), st.integers(0, 5))
def test_sums_and_multiples(guarantees, times):
    total = sum(guarantees)
    assert all(each <= total for each in guarantees)
    first = guarantees[0]
    repeated = sum(times * [first], start=0 * first)
    assert times * first == first * times
    assert times * first <= repeated
    for name in ("epsilon", "delta", "rho"):
        exact = getattr(first, name)
        if exact is not None:
            found = Fraction(getattr(times * first, name))
            assert times * Fraction(exact) <= found <= Fraction(getattr(repeated, name))


def test_a_sum_of_both_kinds_keeps_delta():
    total = Privacy(0.5, 1e-6) + Privacy(rho=0.25)
    assert total == Privacy(rho=0.375, delta=1e-6)
    assert str(total) == "rho = 0.375 of zCDP, delta = 1e-06 (replace-one)"
    assert eval(repr(total)) == total
    left = math.nextafter(2e-6, 0) - 1e-6
    assert total.epsilon_at(2e-6) == pytest.approx(zcdp_epsilon(0.375, left))
    with pytest.raises(ParameterError, match=r"^delta must be above 1e-06"):
        total.epsilon_at(1e-6)


def test_nothing_costs_nothing():
    assert Privacy(0.0) + Privacy(1.0) == Privacy(1.0)
    assert Privacy(rho=0.0).epsilon_at(0.0) == 0.0
    assert 0 * Privacy(1.0, 1e-6) == Privacy(0.0)
    with pytest.raises(ParameterError, match=r"^epsilon must be 0 or more"):
        Privacy(-1.0)


def test_no_multiples_but_whole_ones():
    for wrong in (0.5, True, "2"):
        with pytest.raises(TypeError):
            _ = wrong * Privacy(1.0)
    with pytest.raises(ParameterError, match=r"^times must be between"):
        _ = -1 * Privacy(1.0)
    assert 2 * Privacy(math.inf) == Privacy(math.inf)


def test_what_is_implied_for_replace_one():
    def removed(*parameters, **named):
        return Privacy(*parameters, neighbours="add-or-remove-one", **named)

    assert removed(0.3).implied("replace-one") == Privacy(0.6)
    assert removed(rho=0.3, simulated=True).implied("replace-one") == Privacy(
        rho=1.2, simulated=True
    )
    assert removed(math.inf).implied("replace-one") == Privacy(math.inf)
    assert Privacy(0.3).implied("replace-one") == Privacy(0.3)
    both = removed(1.0, 1e-6).implied("replace-one")
    assert both.epsilon == 2.0
    assert 0 <= both.delta - 1e-6 * (1 + math.e) < 1e-20
    with pytest.raises(ParameterError, match=r"^neighbours must be implied by 'replace-one'"):
        Privacy(1.0).implied("add-or-remove-one")
    with pytest.raises(ParameterError, match=r"^delta must be 0 where rho is given"):
        removed(rho=0.1, delta=1e-6).implied("replace-one")


def test_the_implied_delta_is_what_two_steps_of_randomised_response_reach():
    """A tight case: (epsilon, delta) twice, each leaking outright with probability delta."""
    epsilon, delta = 0.7, 0.05
    leaked, odds = delta, math.exp(epsilon)
    # (leak of the first, RR, leak of the last) for three inputs in a row, the middle one between
    first = [leaked, (1 - leaked) * odds / (1 + odds), (1 - leaked) / (1 + odds), 0.0]
    last = [0.0, (1 - leaked) / (1 + odds), (1 - leaked) * odds / (1 + odds), leaked]
    implied = Privacy(epsilon, delta, "add-or-remove-one").implied("replace-one")
    loss = sum(
        max(0.0, p - math.exp(implied.epsilon) * q) for p, q in zip(first, last, strict=True)
    )
    assert loss <= implied.delta


def test_too_many_releases_have_no_guarantee():
    for much in (Privacy(1e308), Privacy(1.0, 0.5), Privacy(rho=1e308)):
        assert 2 * much == Privacy(math.inf)
        assert 1 * much == much


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
    ],
)
def test_a_guarantee_implies_another(less, more):
    assert less <= more
    assert more >= less
    assert not more <= less


def test_neither_implies_the_other():
    pairs = [
        (Privacy(0.5, 1e-6), Privacy(1.0)),
        (Privacy(0.5), Privacy(1.0, neighbours="add-or-remove-one")),
        (Privacy(rho=0.001), Privacy(0.1)),
        (Privacy(0.1, 1e-6), Privacy(rho=0.5)),
    ]
    for first, second in pairs:
        assert not first <= second
        assert not second <= first
    with pytest.raises(TypeError):
        _ = Privacy(1.0) <= 1.0


def test_seeded_noise_implies_no_guarantee():
    seeded = Privacy(0.5, simulated=True)
    assert not seeded <= Privacy(1.0)
    assert seeded <= Privacy(1.0, simulated=True)
    assert Privacy(0.5) <= Privacy(1.0, simulated=True)


@given(ANY, ANY)
def test_order_agrees_with_epsilon_at(first, second):
    if first <= second and not (first.rho is None and second.rho is not None):
        for delta in (1e-9, 1e-5, 1e-2):
            if second.delta < delta:
                assert first.epsilon_at(delta) <= second.epsilon_at(delta) * (1 + 1e-9)


@settings(deadline=None)
@given(st.lists(ANY, min_size=1, max_size=6))
def test_composed_is_the_least_over_all_subsets(guarantees):
    delta = 0.01
    rest = delta - sum(each.delta for each in guarantees)
    found = composed(guarantees, delta)
    options = []
    if all(each.rho is None for each in guarantees):
        options.append(sum(each.epsilon for each in guarantees))
    pure = [each.epsilon for each in guarantees if each.rho is None]
    known = sum(each.rho for each in guarantees if each.rho is not None)
    for kept in itertools.product([False, True], repeat=len(pure)):
        rho = known + sum(e**2 / 2 for e, keep in zip(pure, kept, strict=True) if not keep)
        basic = sum(e for e, keep in zip(pure, kept, strict=True) if keep)
        if rho > 0:
            options.append(basic + zcdp_epsilon(rho, rest))
    assert found.epsilon == pytest.approx(min(options), rel=1e-9)
    assert found.delta <= delta


def test_many_small_ones_cost_less_than_their_sum():
    many = 400 * [Privacy(0.01)]
    assert sum(many).epsilon == pytest.approx(4.0)
    found = composed(many, 1e-6)
    assert found.epsilon == pytest.approx(zcdp_epsilon(0.02, 1e-6), rel=1e-9)
    assert composed([Privacy(1.0), *many], 1e-6).epsilon == pytest.approx(1 + found.epsilon)
    assert composed([Privacy(1.0)], 1e-6) == Privacy(1.0)


def test_what_cannot_be_composed():
    with pytest.raises(ParameterError, match=r"^guarantees must hold at least one"):
        composed([], 1e-6)
    with pytest.raises(DtypeError, match=r"^guarantees must be Privacy values"):
        composed([1.0], 1e-6)
    with pytest.raises(ParameterError, match=r"^guarantees must all be for 'replace-one'"):
        composed([Privacy(1.0), Privacy(1.0, neighbours="add-or-remove-one")], 1e-6)
    with pytest.raises(ParameterError, match=r"^delta must be at least 2e-06"):
        composed([Privacy(1.0, 2e-6)], 1e-6)
    with pytest.raises(ParameterError, match=r"^privacy must be finite"):
        composed([Privacy(math.inf)], 1e-6)


def test_converting_all_is_tried_however_many_sizes_there_are():
    for sizes in (33, 50, 97):
        releases = [Privacy(0.01 + 1e-5 * i) for i in range(sizes)]
        rho = sum(Fraction(each.epsilon) ** 2 / 2 for each in releases) * 10
        found = composed(10 * releases, 1e-6)
        assert found.epsilon <= zcdp_epsilon(rho, 1e-6) * (1 + 1e-12)


def test_what_is_converted_and_what_is_not_add_up_to_no_less_than_they_are():
    for i in range(1, 30):
        found = composed([Privacy(rho=i / 7000), Privacy(3.0)], 1e-6)
        parts = Fraction(3) + Fraction(zcdp_epsilon(i / 7000, 1e-6))
        assert parts <= found.epsilon <= parts * (1 + Fraction(1, 2**50))


def test_seeded_noise_is_said_of_all_releases_together():
    for others in ([Privacy(0.01)], 400 * [Privacy(0.01)]):  # added up, and converted
        assert composed([*others, Privacy(0.01, simulated=True)], 1e-6).simulated
        assert not composed(others, 1e-6).simulated
