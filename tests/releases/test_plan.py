"""``plan``: the least predicted error first, and what dp.cdf takes."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Hierarchy, ToeplitzGaussian

BUDGETS = [{"epsilon": 1.0}, {"rho": 0.5}]


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize("size", [1, 2, 7, 100, 2**12])
def test_options_are_by_increasing_error(size, budget, neighbours):
    plan = dp.plan(size, **budget, neighbours=neighbours)
    errors = [option.error for option in plan]
    assert errors == pytest.approx(sorted(errors))
    assert plan.best is plan.options[0].mechanism
    for option in plan:
        each = option.mechanism.noise_deviation(size)
        assert option.error == pytest.approx(np.sqrt(np.mean(each**2)))
        assert option.largest_error == each.max()
        assert option.mechanism.privacy.neighbours == neighbours
    lines = str(plan).splitlines()
    assert len(lines) == len(plan.options) + 2
    assert lines[-1] == "first: the least error"


def test_the_winners():
    assert dp.plan(2**15, epsilon=1.0).best == Hierarchy(1.0)
    assert dp.plan(2**15, rho=0.5).best == ToeplitzGaussian(0.5)


@pytest.mark.parametrize(("size", "delta"), [(5, 0.2), (300, 1e-2)])
def test_epsilon_with_delta_compares_noise_of_both_kinds(size, delta):
    budget = {"epsilon": 0.7, "delta": delta}
    grid = dp.Grid.uniform(0, 1, size)
    curve = dp.cdf([0.5], grid, **budget)
    assert curve.privacy == dp.Privacy(0.7, delta)
    assert curve.mechanism["delta"] == delta
    errors = {option.name: option.error for option in dp.plan(size, **budget)}
    pure = {f"{option.name}, delta = 0": option.error for option in dp.plan(size, epsilon=0.7)}
    assert pure.items() <= errors.items()
    by_rho = dp.plan(size, rho=dp.privacy.zcdp_rho(0.7, delta))
    gaussian = {option.name: option.error for option in by_rho}
    assert pure.keys() | gaussian.keys() == errors.keys()
    less = 0.95 if delta < 0.1 else 1.0
    assert all(errors[name] <= less * gaussian[name] + 1e-9 for name in gaussian)
    assert dp.CDF.from_json(curve.to_json()).privacy == curve.privacy
    with pytest.raises(dp.ParameterError, match="sensitivity"):
        dp.mechanisms.Dyadic(1.0, sensitivity="paper", delta=1e-6)
    with pytest.raises(dp.ParameterError, match="delta"):
        ToeplitzGaussian(epsilon=1.0)
    with pytest.raises(dp.ParameterError, match="delta"):
        dp.cdf([0.5], grid, dp.mechanisms.Histogram(1.0), delta=1e-6)


@pytest.mark.needs_jit
def test_a_budget_that_only_some_mechanisms_can_meet():
    plan = dp.plan(2**20, rho=1e-8)
    assert plan.options
    assert dp.cdf([0.5], dp.Grid.uniform(0, 1, 2**12), epsilon=0.03, delta=1e-9).n == 1
    with pytest.raises(dp.ParameterError, match=r"rho is too small: sigma\^2 exceeds"):
        dp.plan(2**12, rho=1e-16)
    assert {
        option.mechanism.privacy.delta for option in dp.plan(9, epsilon=1e-9, delta=1e-300)
    } == {0}
    with pytest.raises(dp.ParameterError, match="epsilon"):
        dp.plan(2**12, epsilon=1e-13, delta=1e-300)


def test_a_simulated_mechanism_stays_simulated():
    class Seeded(Hierarchy):
        @property
        def privacy(self):
            return dp.Privacy(1.0, simulated=True)

    assert dp.cdf([0.5], dp.Grid.uniform(0, 1, 20), Seeded(1.0)).privacy.simulated


def test_the_number_of_records_is_released_where_it_is_private():
    grid = dp.Grid.uniform(0, 1, 30)
    found = {
        dp.cdf(np.full(40, 0.5), grid, epsilon=0.2, neighbours="add-or-remove-one").n
        for _ in range(20)
    }
    assert len(found) > 1
    empty = dp.cdf_from_counts(np.zeros(30, int), grid, epsilon=0.2, neighbours="add-or-remove-one")
    assert empty.n >= 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"size": 0, "epsilon": 1}, "size"),
        ({"size": 5}, "epsilon or rho must be given"),
        ({"size": 5, "epsilon": 1, "rho": 1}, "rho"),
        ({"size": 5, "epsilon": 1, "neighbours": "x"}, "neighbours"),
    ],
)
def test_bad_parameters(arguments, words):
    with pytest.raises(dp.ParameterError, match=words):
        dp.plan(**arguments)
