"""Where n is public, the default follows a rule in n epsilon and the size of the grid."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Dawa
from dpcore.releases.most_accurate import most_accurate
from dpcore.releases.plan_shapes import REFERENCE_SHAPES

BUDGETS = [
    {"epsilon": 0.5},
    {"epsilon": 4.0},
    {"rho": 0.02},
    {"epsilon": 0.5, "delta": 1e-6},
    {"epsilon": 1.0, "delta": 0.01},
]


def signal(dawa, n):
    """n epsilon, or n sqrt(8 rho) where noise is Gaussian."""
    if dawa.delta is not None:
        return n * np.sqrt(8 * dp.privacy.zcdp_rho(dawa.epsilon, dawa.delta))
    return n * (dawa.epsilon if dawa.epsilon is not None else np.sqrt(8 * dawa.rho))


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("size", [16, 17, 100, 1000])
def test_dawa_is_taken_up_to_a_power_of_the_cells(size, budget):
    given = {"epsilon": None, "rho": None, "delta": None, **budget}
    kinds = [Dawa(**budget)]
    if "delta" in budget:  # what spends none of it keeps within it
        kinds.insert(0, Dawa(budget["epsilon"]))
    for kind in kinds:
        most = size / 4 if "rho" in budget else size**1.5
        edge = int(most / signal(kind, 1))
        for n in (1, max(1, edge - 1), edge + 2, 100 * edge + 100):
            chosen = most_accurate(size, neighbours="replace-one", **given, n=n)
            dawa = min(kinds, key=lambda each: each._counting_error(size, n))
            scarce = size > 16 and signal(dawa, n) <= most
            best = dp.plan(size, **budget).best
            assert chosen == (dawa if scarce else best)
            assert chosen.privacy == (dawa if scarce else best).privacy


@pytest.mark.needs_jit
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_what_the_plan_says_is_what_is_taken(budget):
    grid, rng = dp.Grid.uniform(0, 1, 128), np.random.default_rng(1)
    names = set()
    for n in (10, 1000, 10**6):
        plan = dp.plan(grid.size, **budget, n=n)
        curve = dp.cdf_from_counts(rng.multinomial(n, np.full(128, 1 / 128)), grid, **budget)
        assert curve.mechanism == plan.best.describe()
        assert curve.privacy == plan.best.privacy
        told = [option for option in plan if option.on_shapes]
        assert len(told) == 2
        assert plan.options[0] in told
        for option in told:
            assert tuple(option.on_shapes) == REFERENCE_SHAPES
            assert all(0 <= error < n for error in option.on_shapes.values())
        assert ("size / 4" if "rho" in budget else "size^1.5") in plan.why
        assert str(plan).splitlines()[-1] == f"first: {plan.why}"
        names.add(curve.mechanism["name"] == "dawa")
    assert names == {True, False}


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_number_of_records_that_is_private_makes_no_difference(budget):
    given = {"epsilon": None, "rho": None, "delta": None, **budget}
    for size in (17, 1000):
        relation = "add-or-remove-one"
        plans = [dp.plan(size, **budget, neighbours=relation, n=n) for n in (1, 10**4, 10**9)]
        assert all(each == dp.plan(size, **budget, neighbours=relation) for each in plans)
        taken = {
            str(most_accurate(size, neighbours=relation, **given, n=n)) for n in (1, 10**4, 10**9)
        }
        assert len(taken) == 1


def test_classes_and_their_curves_follow_the_same_rule():
    labels, scores = np.arange(400) % 2, np.linspace(0, 1, 400)
    grid = dp.Grid.uniform(0, 1, 64)
    best = dp.plan(128, epsilon=1.0, n=400).best
    assert isinstance(best, Dawa)
    for curves in (
        dp.score_curves(labels, scores, grid, epsilon=1.0),
        dp.roc_curve(labels, scores, grid=grid, epsilon=1.0).curves,
    ):
        assert curves.joint.mechanism == best.describe()
        assert np.all(np.isfinite(curves.joint.noise_deviation))


def test_a_bad_number_of_records_is_refused():
    with pytest.raises(dp.ParameterError, match="n must be between 1"):
        dp.plan(64, epsilon=1.0, n=0)
    with pytest.raises(dp.DtypeError, match="n must be an integer"):
        dp.plan(64, epsilon=1.0, n=10.5)
