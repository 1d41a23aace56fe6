"""Caps of budgets: how much fits, with which relation, and what is no cap."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcore as dp
from dpcore.privacy import zcdp_rho

GRID = dp.Grid.uniform(0, 1, 16)
X = np.random.default_rng(1).random(2000)


def test_another_relation_is_refused_by_name():
    message = r"^neighbours must be the relation of the budget, 'add-or-remove-one' \(in cdf\)"
    watching = dp.Budget(epsilon=10.0, neighbours="add-or-remove-one")
    with watching, pytest.raises(dp.ParameterError, match=message):
        dp.cdf(X, GRID, epsilon=1.0)
    assert watching.log == ()


def test_a_record_that_is_replaced_is_removed_and_another_added():
    with dp.Budget(epsilon=2.5) as watching:
        dp.cdf(X, GRID, epsilon=1.0, neighbours="add-or-remove-one")
        with pytest.raises(dp.BudgetError, match=r"costs epsilon = 0\.6 \(replace-one\)"):
            dp.cdf(X, GRID, epsilon=0.3, neighbours="add-or-remove-one")
    assert watching.log[0].privacy == dp.Privacy(2.0)


def test_exact_results_are_refused():
    with (
        dp.Budget(epsilon=10.0),
        pytest.raises(dp.BudgetError, match="without noise there is no guarantee"),
    ):
        dp.cdf(X, GRID, dp.mechanisms.NoNoise())


def test_zero_concentrated_releases_need_a_cap_of_rho():
    with dp.Budget(epsilon=10.0), pytest.raises(dp.BudgetError, match="needs a budget with rho"):
        dp.cdf(X, GRID, rho=0.1)
    with dp.Budget(rho=0.5, delta=1e-6) as watching:
        dp.cdf(X, GRID, rho=0.125)
        dp.cdf(X, GRID, epsilon=0.5)  # 0.125
        dp.project(X, 0, 1, epsilon=0.5, delta=1e-6)
        with pytest.raises(dp.BudgetError):
            dp.cdf(X, GRID, rho=0.126)
        dp.cdf(X, GRID, rho=0.125)
    assert watching.spent == dp.Privacy(rho=0.5, delta=1e-6)
    assert watching.remaining == dp.Privacy(rho=0.0)


def test_ten_tenths_fit():
    with dp.Budget(epsilon=1.0) as watching:
        for _ in range(10):
            dp.quantiles(X, [0.5], GRID, epsilon=0.1)
        with pytest.raises(dp.BudgetError):
            dp.quantiles(X, [0.5], GRID, epsilon=1e-9)
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


GUARANTEES = st.one_of(
    st.floats(1e-6, 3).map(dp.Privacy),
    st.tuples(st.floats(1e-6, 3), st.floats(1e-12, 1e-3)).map(lambda each: dp.Privacy(*each)),
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
        assert sum(Fraction(each.epsilon) for each in accepted) <= spent.epsilon
    else:
        rhos = (each.rho or Fraction(each.epsilon or 0) ** 2 / 2 for each in accepted)
        assert sum(map(Fraction, rhos)) <= spent.rho
    assert sum(Fraction(each.delta) for each in accepted) <= spent.delta
    watching.charge(watching.remaining)
    assert len(watching.log) == len(accepted) + 1


def test_threads_cannot_overspend():
    watching = dp.Budget(epsilon=1.0)
    start = threading.Barrier(8)

    def spend(_):
        start.wait()
        charged = 0
        for _ in range(50):
            try:
                watching.charge(dp.Privacy(1 / 128))
                charged += 1
            except dp.BudgetError:
                pass
        return charged

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(8))) == 128
    assert watching.spent.epsilon == 1.0


@pytest.mark.parametrize(
    ("cap", "message"),
    [
        ({}, "^epsilon or rho must be given"),
        ({"epsilon": 1.0, "rho": 1.0}, "^epsilon or rho must be given, and not both"),
        ({"epsilon": 0.0}, "^epsilon must be positive"),
        ({"epsilon": float("inf")}, "^epsilon must be finite"),
        ({"rho": -1.0}, "^rho must be positive"),
        ({"epsilon": 1.0, "delta": 1.0}, "^delta must be at least 0 and below 1"),
        ({"epsilon": 1.0, "neighbours": "all"}, "^neighbours must be one of"),
    ],
)
def test_caps_that_are_none(cap, message):
    with pytest.raises(dp.ParameterError, match=message):
        dp.Budget(**cap)
