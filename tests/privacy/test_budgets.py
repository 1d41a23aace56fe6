"""Budgets: what is charged, for how much, how much fits under a cap, and what is refused."""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcore as dp
from dpcore.privacy import zcdp_rho
from dpcore.privacy.filters import Cap
from tests.privacy.releases import COUNTS, GRID, X, Y, released


def budget(**parameters):
    return dp.Budget(**{"epsilon": 10.0, "delta": 1e-5, **parameters})


# --- what is charged


@pytest.mark.needs_jit
def test_what_is_read_off_a_release_is_free():
    with budget() as watching:
        roc, test = dp.roc_curve(Y, X, epsilon=1.0), dp.hosmer_lemeshow(Y, X, epsilon=1.0)
        curve = dp.cdf(X, GRID, dp.mechanisms.Hierarchy(1.0))
        assert len(watching.log) == 3
        assert 0 <= test.pvalue <= 1
        assert roc.auc > 0.5
        dp.mechanisms.with_simulated_deviation(curve, replicates=2)
        dp.plan(1000, n=2000, epsilon=0.5)
    assert len(watching.log) == 3


def test_groups_cost_what_one_of_them_does():
    groups = np.where(Y, "a", "b")
    with budget(neighbours="add-or-remove-one") as watching:
        curves = dp.cdf(X, GRID, by=groups, groups=["a", "b"], epsilon=1.0)
        dp.compare(curves["a"], curves["b"], simulations=19)
    assert [charge.privacy for charge in watching.log] == [curves.privacy]
    assert curves.privacy.epsilon == 1.0


def test_mechanisms_and_choices_by_hand_are_charged():
    with budget(neighbours="replace-one") as watching:
        dp.mechanisms.Dyadic(0.5).release(COUNTS, replicates=3)
        dp.mechanisms.Dawa(0.5).release_with_deviation(COUNTS)
        dp.mechanisms.AdaptiveQuantiles(0.5).release(COUNTS)
        dp.mechanisms.exponential_mechanism([1, 2], epsilon=0.25)
        dp.mechanisms.above_threshold([1, 2], 2, epsilon=0.25, replicates=2)
    assert [(charge.what, charge.privacy.epsilon) for charge in watching.log] == [
        ("Dyadic.release", 1.5),
        ("Dawa.release", 0.5),
        ("AdaptiveQuantiles.release", 0.5),
        ("exponential_mechanism", 0.25),
        ("above_threshold", 0.5),
    ]
    with budget() as seeded:
        dp.mechanisms.exponential_mechanism([1, 2], epsilon=0.25, rng=np.random.default_rng(1))
        dp.mechanisms.above_threshold([1, 2], 2, epsilon=0.25, rng=np.random.default_rng(1))
    assert all(charge.privacy.simulated for charge in seeded.log)
    assert not any(charge.privacy.simulated for charge in watching.log)


def test_choices_have_the_relation_of_the_budget():
    with dp.Budget(epsilon=1.0, neighbours="add-or-remove-one") as watching:
        dp.mechanisms.exponential_mechanism([1, 2], epsilon=0.25)
    assert watching.spent == dp.Privacy(0.25, neighbours="add-or-remove-one")


def test_models_are_charged():
    pytest.importorskip("sklearn")
    with budget() as watching:
        model = dp.models.LinearRegression(1.0, x_bounds=(0, 1), y_bounds=(0, 1)).fit(X[:, None], X)
        other = dp.models.LogisticRegression(1.0, x_bounds=(0, 1)).fit(X[:, None], Y)
    assert [charge.privacy for charge in watching.log] == [model.privacy_, other.privacy_]


@pytest.mark.needs_jit
def test_a_charge_is_of_the_release_that_was_called_in_another_thread_too():
    """Threads that a release itself starts are covered by its charge."""
    with dp.Budget(epsilon=200.0) as watching:
        dp.mechanisms.Hierarchy(1.0).release(np.ones(2**16, int), replicates=16, workers=4)
    assert [charge.privacy.epsilon for charge in watching.log] == [16.0]


# --- what is refused


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: dp.cdf(X, GRID, epsilon=-1.0), dp.ParameterError, "epsilon"),
        (lambda: dp.cdf([np.nan], GRID, epsilon=1.0), dp.MissingValueError, "values"),
        (lambda: dp.quantiles(["a"], [0.5], GRID, epsilon=1.0), dp.DtypeError, "values"),
        (lambda: dp.cdf(X, GRID, dp.mechanisms.NoNoise()), dp.BudgetError, "without noise"),
        (lambda: dp.cdf(X, GRID, rho=0.1), dp.BudgetError, "a budget with rho"),
        (
            lambda: dp.project(X, 0, 1, epsilon=0.5, delta=1e-4),
            dp.BudgetError,
            "a budget with at least that delta",
        ),
    ],
)
def test_wrong_arguments_and_what_this_budget_cannot_pay_cost_nothing(call, kind, words):
    with budget() as watching, pytest.raises(kind, match=words):
        call()
    assert watching.log == ()


def test_what_dpcore_cannot_see_is_charged_by_hand():
    watching = budget()
    watching.charge(dp.Privacy(0.5), "a count by another library")
    with pytest.raises(dp.DtypeError, match="privacy"):
        watching.charge(0.5)
    with pytest.raises(dp.DtypeError, match="what"):
        watching.charge(dp.Privacy(0.5), 3)
    for no_line_of_a_log in ("\ud800", "two\nlines", "null\0"):
        with pytest.raises(dp.ParameterError, match="what"):
            watching.charge(dp.Privacy(0.5), no_line_of_a_log)
    assert [charge.what for charge in watching.log] == ["a count by another library"]
    assert repr(watching) == (
        "Budget(epsilon=10.0, delta=1e-05): spent 0.5 in 1 release, remaining 9.5 and delta 1e-05"
    )


def test_another_relation_is_refused_by_name():
    watching = dp.Budget(epsilon=10.0, neighbours="add-or-remove-one")
    with watching, pytest.raises(dp.ParameterError, match=r"neighbours .*'add-or-remove-one'.*cdf"):
        released()
    assert watching.log == ()


def test_a_record_that_is_replaced_is_removed_and_another_added():
    with dp.Budget(epsilon=2.5) as watching:
        dp.cdf(X, GRID, epsilon=1.0, neighbours="add-or-remove-one")
        with pytest.raises(dp.BudgetError, match=r"epsilon = 0\.6"):
            dp.cdf(X, GRID, epsilon=0.3, neighbours="add-or-remove-one")
    assert watching.log[0].privacy == dp.Privacy(2.0)


def test_numbers_that_look_alike_are_told_apart():
    with pytest.raises(dp.BudgetError, match=r"epsilon=1\.00000001,.*epsilon=1\.0"):
        dp.Budget(epsilon=1.0).charge(dp.Privacy(1.00000001))
    with pytest.raises(dp.BudgetError, match=r"rho = 0\.75 .*rho = 0\.5") as caught:
        dp.Budget(rho=0.5).charge(dp.Privacy(rho=0.75))
    assert caught.value.privacy == dp.Privacy(rho=0.75)
    assert caught.value.remaining == dp.Privacy(rho=0.5)


@pytest.mark.parametrize(
    ("cap", "argument"),
    [
        ({}, "epsilon"),
        ({"epsilon": 1.0, "rho": 1.0}, "epsilon"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"rho": -1.0}, "rho"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta"),
        ({"epsilon": 1.0, "neighbours": "all"}, "neighbours"),
    ],
)
def test_caps_that_are_none(cap, argument):
    with pytest.raises(dp.ParameterError) as caught:
        dp.Budget(**cap)
    assert caught.value.argument == argument


# --- how much fits


def test_a_cap_of_rho_admits_all_kinds():
    with dp.Budget(rho=0.5, delta=1e-6) as watching:
        dp.cdf(X, GRID, rho=0.125)
        watching.charge(dp.Privacy(0.5))  # 0.125
        watching.charge(dp.Privacy(0.5, 1e-6))  # the same, with its delta
        with pytest.raises(dp.BudgetError):
            dp.cdf(X, GRID, rho=0.126)
        dp.cdf(X, GRID, rho=0.125)
    assert watching.spent == dp.Privacy(rho=0.5, delta=1e-6)
    assert watching.remaining == dp.Privacy(rho=0.0)


def test_ten_tenths_fit():
    with dp.Budget(epsilon=1.0) as watching:
        for _ in range(10):
            released(0.1)
        with pytest.raises(dp.BudgetError):
            released(1e-9)
    assert watching.spent.epsilon == np.nextafter(1.0, 2)  # ten doubles that are above 1/10
    assert watching.remaining == dp.Privacy(0.0)


@pytest.mark.parametrize(
    ("cap", "most"), [({"epsilon": 1.0}, 100), ({"rho": zcdp_rho(1.0, 1e-6)}, 487)]
)
def test_how_many_small_releases_fit(cap, most):
    """As docs/guides/budget.md says."""
    watching = dp.Budget(**cap)
    for _ in range(most):
        watching.charge(dp.Privacy(0.01))
    with pytest.raises(dp.BudgetError):
        watching.charge(dp.Privacy(0.01))


@pytest.mark.parametrize("kind", ["epsilon", "rho"])
def test_a_cap_is_met_up_to_one_part_in_a_million_millions(kind):
    """As docs/guides/budget.md says."""
    watching = dp.Budget(**{kind: 1.0})
    watching.charge(dp.Privacy(**{kind: 1.0}))
    watching.charge(dp.Privacy(**{kind: 0.9e-12}))
    with pytest.raises(dp.BudgetError):
        watching.charge(dp.Privacy(**{kind: 0.2e-12}))
    assert len(watching.log) == 2
    with pytest.raises(dp.BudgetError):
        dp.Budget(**{kind: 1.0}).charge(dp.Privacy(0.5, 5e-324))  # nothing of no delta


@pytest.mark.parametrize("kind", ["epsilon", "rho"])
def test_what_is_spent_and_what_remains_are_rounded_against_the_spender(kind):
    watching = dp.Budget(**{kind: 1.0}, delta=0.5)
    watching.charge(dp.Privacy(**{kind: 1e-17}, delta=1e-18))
    watching.charge(dp.Privacy(**{kind: 0.125}, delta=0.125))
    spent, remaining = watching.spent, watching.remaining
    assert getattr(spent, kind) == np.nextafter(0.125, 1)
    assert spent.delta == np.nextafter(0.125, 1)
    assert getattr(remaining, kind) == np.nextafter(0.875, 0)
    assert remaining.delta == np.nextafter(0.375, 0)


GUARANTEES = st.one_of(
    st.floats(1e-6, 3).map(dp.Privacy),
    st.tuples(st.floats(1e-6, 3), st.floats(1e-12, 1e-3)).map(lambda both: dp.Privacy(*both)),
    st.floats(1e-9, 3).map(lambda rho: dp.Privacy(rho=rho)),
)
CAPS = st.sampled_from(
    [{"epsilon": 2.0}, {"epsilon": 2.0, "delta": 1e-4}, {"rho": 1.0}, {"rho": 1.0, "delta": 1e-4}]
)


@given(CAPS, st.lists(GUARANTEES, max_size=8))
def test_spent_stays_within_the_cap_and_what_remains_is_admitted(cap, asked):
    watching, accepted = dp.Budget(**cap), []
    for privacy in asked:
        alike = privacy.rho is None or watching.cap.rho is not None
        fits = alike and privacy <= watching.remaining
        try:
            watching.charge(privacy)
            accepted.append(privacy)
        except dp.BudgetError:
            assert not fits
    most = watching.cap.rho or watching.cap.epsilon
    spent = watching.spent
    assert (spent.epsilon if spent.rho is None else spent.rho) <= most * (1 + 2e-12)
    assert spent.delta <= watching.cap.delta * (1 + 2e-12)
    if watching.cap.rho is None:  # never less than what was charged
        assert sum(Fraction(cost.epsilon) for cost in accepted) <= spent.epsilon
    else:
        rhos = (cost.rho or Fraction(cost.epsilon or 0) ** 2 / 2 for cost in accepted)
        assert sum(map(Fraction, rhos)) <= spent.rho
    assert sum(Fraction(cost.delta) for cost in accepted) <= spent.delta
    watching.charge(watching.remaining)
    assert len(watching.log) == len(accepted) + 1


def test_threads_cannot_overspend_between_the_question_and_the_charge(monkeypatch):
    def slowly(cap, sums, before=Cap.admits):
        time.sleep(0.001)
        return before(cap, sums)

    monkeypatch.setattr(Cap, "admits", slowly)
    watching, start = dp.Budget(epsilon=1.0), threading.Barrier(8)

    def spend(_):
        start.wait()
        charged = 0
        for _ in range(10):
            try:
                watching.charge(dp.Privacy(1 / 32))
                charged += 1
            except dp.BudgetError:
                pass
        return charged

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(8))) == 32
    assert watching.spent.epsilon == 1.0


def test_a_budget_for_replace_one_says_why_a_count_costs_twice():
    with dp.Budget(epsilon=2.0) as budget:
        dp.count([1] * 50, epsilon=0.5)
        with pytest.raises(dp.BudgetError, match="neighbours='add-or-remove-one' pays it once"):
            dp.count([1] * 50, epsilon=0.75)
    assert [(charge.what, charge.privacy.epsilon) for charge in budget.log] == [
        ("count (0.5 by add-or-remove-one)", 1.0)
    ]
    with dp.Budget(epsilon=0.5, neighbours="add-or-remove-one") as budget:
        dp.count([1] * 50, epsilon=0.5)
    assert [(charge.what, charge.privacy.epsilon) for charge in budget.log] == [("count", 0.5)]
