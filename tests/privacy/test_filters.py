"""Zero-concentrated composition under a cap on epsilon and delta, and what remains of it."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcore as dp
from dpcore import Privacy
from dpcore.privacy import zcdp_rho
from dpcore.privacy.guarantees import concentrated

RHO = "zero-concentrated"
RELEASES = st.one_of(
    st.builds(Privacy, st.floats(0.01, 1.0)),
    st.builds(lambda rho: Privacy(rho=rho), st.floats(0.001, 0.05)),
    st.builds(
        lambda epsilon, share: Privacy(epsilon, rho=epsilon**2 / 2 * share),
        st.floats(0.01, 1.0),
        st.floats(0.05, 0.9),
    ),
    st.builds(lambda rho: Privacy(1.0, 1e-7, rho=rho), st.floats(0.001, 0.05)),
    st.just(Privacy(0.1, 1e-7)),
    st.just(Privacy(rho=0.01, delta=1e-7)),
)


def both(**cap):
    return dp.Budget(**{"epsilon": 2.0, "delta": 1e-6, "composition": RHO, **cap})


@given(st.lists(RELEASES, max_size=30))
def test_either_sum_admits_a_release_if_it_costs_no_delta(releases):
    budget, taken, most = both(), [], Fraction(zcdp_rho(2.0, 1e-6))
    for release in releases:
        after = [*taken, release]
        by_epsilon = all(one.epsilon is not None and not one.delta for one in after)
        by_epsilon = by_epsilon and sum(Fraction(one.epsilon) for one in after) <= 2
        by_rho = not any(concentrated(one)[1] for one in after)
        by_rho = by_rho and sum(concentrated(one)[0] for one in after) <= most
        try:
            budget.charge(release)
        except dp.BudgetError:
            assert not by_epsilon
            assert not by_rho
        else:
            assert by_epsilon or by_rho
            taken.append(release)
    assert [charge.privacy for charge in budget.log] == taken
    assert concentrated(budget.spent)[0] >= sum(concentrated(one)[0] for one in taken)
    left = budget.remaining
    for one in (Privacy(left.epsilon), Privacy(rho=left.rho or 0.0)):
        if one.epsilon:
            again = both()
            for release in taken:
                again.charge(release)
            again.charge(one)
            with pytest.raises(dp.BudgetError):
                again.charge(Privacy(1e-3))
    budget.charge(left)


@pytest.mark.parametrize(
    "cap",
    [
        {"epsilon": 2.0},
        {"epsilon": 2.0, "delta": 1e-6},
        {"epsilon": 2.0, "delta": 1e-6, "composition": RHO},
        {"rho": 0.3},
        {"rho": 0.3, "delta": 1e-6},
    ],
)
@pytest.mark.parametrize("count", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("before", [None, 0.015625])
def test_what_is_affordable_fits_and_no_more(cap, count, before):
    def opened():
        budget = dp.Budget(**cap)
        if before is not None:
            budget.charge(Privacy(before))
        return budget

    each = opened().affordable(count)
    # Of a budget with both units, all keep to the epsilon, or all to the rho.
    kinds = [each]
    if each.epsilon is not None and each.rho is not None:
        kinds = [Privacy(each.epsilon), Privacy(rho=each.rho)]
    for kind in kinds:
        budget = opened()
        for _ in range(count):
            budget.charge(kind)
        with pytest.raises(dp.BudgetError):
            budget.charge(Privacy(1e-4))


def test_what_rounding_leaves_is_nothing():
    budget = dp.Budget(epsilon=1.0)
    for _ in range(9):
        budget.charge(Privacy(0.1))
    budget.charge(Privacy(1.0 - 0.9 - 5e-17))
    assert budget.remaining.epsilon == 0.0
    assert repr(budget).endswith("remaining 0")


def test_both_units_are_told():
    budget = both()
    budget.charge(Privacy(1.5, rho=0.01))
    assert budget.composition == RHO
    assert budget.cap == Privacy(2.0, 1e-6)
    assert budget.spent.epsilon == 1.5
    assert budget.spent.rho == 0.01
    assert budget.remaining.epsilon == 0.5
    assert budget.remaining.rho == pytest.approx(zcdp_rho(2.0, 1e-6) - 0.01)
    assert repr(budget) == (
        "Budget(epsilon=2.0, delta=1e-06, composition='zero-concentrated'): "
        "spent 1.5 or rho 0.01 in 1 release, remaining 0.5 or rho 0.0781527"
    )
    budget.charge(Privacy(rho=0.01))
    assert "spent rho 0.02 in 2" in repr(budget)
    with pytest.raises(dp.BudgetError, match=r"epsilon = 1 and rho = 0.4 of zCDP .* or rho = 0.06"):
        budget.charge(Privacy(1.0, rho=0.4))


@pytest.mark.parametrize(
    ("cap", "release", "words"),
    [
        ({"epsilon": 1.0, "delta": 1e-6}, Privacy(1.1, rho=0.01), "composition='zero-conc.*admit"),
        ({"epsilon": 1.0, "delta": 1e-6}, Privacy(rho=0.01), "with rho or with composition="),
        ({"epsilon": 1.0, "delta": 1e-6}, Privacy(1.1), r"\(replace-one\)$"),
        ({"epsilon": 1.0}, Privacy(1.1, rho=0.01), r"\(replace-one\)$"),
        ({"epsilon": 1.0, "delta": 1e-6, "composition": RHO}, Privacy(0.1, 1e-9), "of its own"),
        ({"rho": 0.1}, Privacy(0.1, 1e-9), "at least that delta"),
    ],
)
def test_a_refusal_says_what_would_do(cap, release, words):
    with pytest.raises(dp.BudgetError, match=words):
        dp.Budget(**cap).charge(release)


@pytest.mark.parametrize(
    "cap",
    [{"epsilon": 1.0}, {"rho": 1.0}, {"rho": 1.0, "delta": 1e-6}],
)
def test_it_needs_an_epsilon_and_a_delta(cap):
    with pytest.raises(dp.ParameterError, match=r"^composition"):
        dp.Budget(**cap, composition=RHO)
    with pytest.raises(dp.ParameterError, match=r"^composition"):
        dp.Budget(**cap, composition="rho")


def test_a_file_keeps_its_composition_and_both_units(tmp_path):
    path, cap = tmp_path / "budget", {"epsilon": 2.0, "delta": 1e-6}
    budget = dp.Budget.open(path, **cap, composition=RHO)
    for cost in (Privacy(1.5, rho=0.01), Privacy(1.0, rho=0.01), Privacy(1.0, 1e-9, rho=0.01)):
        budget.charge(cost)
    again = dp.Budget.open(path)
    assert repr(again) == repr(budget)
    assert again.composition == RHO
    assert [charge.privacy.rho for charge in again.log] == [0.01, 0.01, 0.01]
    dp.Budget.open(path, **cap, composition=RHO)
    for other in ({}, {"composition": "basic"}):
        with pytest.raises(dp.ParameterError, match=r"has .*zero-concentrated"):
            dp.Budget.open(path, **cap, **other)


def test_an_approximate_release_with_its_own_rho_costs_a_rho_budget_no_delta():
    budget = dp.Budget(rho=0.1)
    budget.charge(Privacy(1.0, 1e-6, rho=0.05))
    assert (budget.spent.rho, budget.spent.delta) == (0.05, 0.0)
    assert math.isclose(budget.remaining.rho, 0.05)


def test_deltas_that_cost_nothing_may_add_up_to_one_or_more():
    budget = dp.Budget(epsilon=1.0, delta=0.01, composition="zero-concentrated")
    for _ in range(3):
        budget.charge(Privacy(0.1, 0.5, rho=1e-6))
    spent = budget.spent
    assert (spent.epsilon, spent.delta) == (None, 0.0)
    assert 3e-6 <= spent.rho < 3.1e-6
    assert "in 3 releases" in repr(budget)
