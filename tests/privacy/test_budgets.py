"""Budgets: what is charged, when, and for how much."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import dpcore as dp
from dpcore.releases.priroc import score_curves_at_medians
from dpcore.trust import Central, DistributedNoise, PointwiseCDF, SimulatedSum, client_cdf

GRID = dp.Grid.uniform(0, 1, 16)
RNG = np.random.default_rng(1)
X = RNG.random(2000)
Y = RNG.random(2000) < X
COUNTS = GRID.count(X)
PAIR = dp.mechanisms.Dyadic(0.25), dp.mechanisms.Dyadic(0.75)
# Each returns something that says what it cost.
VERBS = {
    "cdf": lambda: dp.cdf(X, GRID, epsilon=1.0),
    "cdf_from_counts": lambda: dp.cdf_from_counts(COUNTS, GRID, epsilon=1.0),
    "score_curves": lambda: dp.score_curves(Y, X, GRID, epsilon=1.0),
    "score_curves_from_counts": lambda: dp.score_curves_from_counts(
        dp.score_counts(Y, X, GRID), GRID, PAIR
    ),
    "score_curves_at_medians": lambda: score_curves_at_medians(Y, X, epsilon=1.0),
    "roc_curve": lambda: dp.roc_curve(Y, X, epsilon=1.0),
    "quantiles": lambda: dp.quantiles(X, [0.5], GRID, epsilon=1.0),
    "bounds": lambda: dp.bounds(X, epsilon=1.0),
    "compact_bounds": lambda: dp.compact_bounds(X, unit=1.0, epsilon=1.0),
    "symmetric_bounds": lambda: dp.symmetric_bounds(X, epsilon=1.0),
    "box_plot": lambda: dp.box_plot(X, GRID, epsilon=1.0),
    "hosmer_lemeshow": lambda: dp.hosmer_lemeshow(Y, X, epsilon=1.0),
    "residual_plot": lambda: dp.residual_plot(X, X - 0.5, epsilon=1.0),
    "table": lambda: dp.table(X, X, dp.TableGrid(GRID, GRID), epsilon=1.0),
    "project": lambda: dp.project(X, 0, 1, epsilon=1.0, delta=1e-6),
    "client_cdf": lambda: client_cdf(np.arange(2000), X, GRID, Central(1.0), clients=2000),
    "RunningCount": lambda: dp.streams.RunningCount(10, epsilon=1.0),
}


def budget(**parameters):
    return dp.Budget(**{"epsilon": 10.0, "delta": 1e-5, **parameters})


@pytest.mark.parametrize("name", VERBS)
def test_what_is_charged_is_what_the_release_says(name):
    relation = "replace-client" if name == "client_cdf" else "replace-one"
    with budget(neighbours=relation) as watching:
        found = VERBS[name]()
    (charge,) = watching.log
    assert charge.what == name
    assert charge.privacy == found.privacy
    assert watching.spent <= charge.privacy <= watching.spent


# client_cdf first draws which records of a client count, which it shows nobody
@pytest.mark.parametrize("name", sorted(set(VERBS) - {"client_cdf"}))
def test_beyond_the_cap_nothing_is_drawn(name, monkeypatch):
    def no_bits(*_):
        raise AssertionError("noise was drawn")

    watching = budget(epsilon=0.9)
    monkeypatch.setattr("dpcore.noise.sources.CryptographicSource.fill", no_bits)
    with watching, pytest.raises(dp.BudgetError, match=r"what remains is epsilon = 0\.9") as caught:
        VERBS[name]()
    assert watching.log == ()
    assert caught.value.remaining == watching.remaining
    assert caught.value.privacy.epsilon == 1.0


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
        found = dp.cdf(X, GRID, by=groups, groups=["a", "b"], epsilon=1.0)
        dp.compare(found["a"], found["b"], simulations=19)
    (charge,) = watching.log
    assert charge.privacy == found.privacy
    assert charge.privacy.epsilon == 1.0


def test_mechanisms_and_choices_by_hand_are_charged():
    with budget() as watching:
        dp.mechanisms.Dyadic(0.5).release(COUNTS, replicates=3)
        dp.mechanisms.Dawa(0.5).release_with_deviation(COUNTS)
        dp.mechanisms.AdaptiveQuantiles(0.5).release(COUNTS)
        dp.mechanisms.exponential_mechanism([1, 2], epsilon=0.25)
        dp.mechanisms.above_threshold([1, 2], 2, epsilon=0.25, replicates=2)
    assert [(c.what, c.privacy.epsilon) for c in watching.log] == [
        ("Dyadic.release", 1.5),
        ("Dawa.release", 0.5),
        ("AdaptiveQuantiles.release", 0.5),
        ("exponential_mechanism", 0.25),
        ("above_threshold", 0.5),
    ]


def test_choices_have_the_relation_of_the_budget():
    with dp.Budget(epsilon=1.0, neighbours="add-or-remove-one") as watching:
        dp.mechanisms.exponential_mechanism([1, 2], epsilon=0.25)
    assert watching.spent == dp.Privacy(0.25, neighbours="add-or-remove-one")


def test_an_aggregator_is_charged_once_however_often_it_is_asked():
    with budget() as watching:
        curve = PointwiseCDF(SimulatedSum(COUNTS, DistributedNoise(1.0, 2000)), GRID)
        curve([0.1, 0.5])
        curve(0.7)
    assert [c.what for c in watching.log] == ["SimulatedSum"]


def test_models_are_charged():
    pytest.importorskip("sklearn")
    with budget() as watching:
        model = dp.models.LinearRegression(1.0, x_bounds=(0, 1), y_bounds=(0, 1)).fit(X[:, None], X)
        other = dp.models.LogisticRegression(1.0, x_bounds=(0, 1)).fit(X[:, None], Y)
    assert [c.privacy for c in watching.log] == [model.privacy_, other.privacy_]


def test_seeded_noise_is_charged_and_said():
    with budget() as watching:
        dp.cdf(X, GRID, epsilon=1.0, rng=np.random.default_rng(1))
    assert watching.log[0].privacy.simulated
    assert watching.spent.simulated


def test_a_wrong_argument_costs_nothing():
    with budget() as watching:
        with pytest.raises(dp.ParameterError, match=r"^grid|^epsilon"):
            dp.cdf(X, GRID, epsilon=-1.0)
        with pytest.raises(dp.MissingValueError):
            dp.cdf([np.nan], GRID, epsilon=1.0)
        with pytest.raises(dp.DtypeError):
            dp.quantiles(["a"], [0.5], GRID, epsilon=1.0)
    assert watching.log == ()


def test_what_dpcore_cannot_see_is_charged_by_hand():
    watching = budget()
    watching.charge(dp.Privacy(0.5), "a count by another library")
    assert watching.log[0].what == "a count by another library"
    with pytest.raises(dp.DtypeError, match=r"^privacy must be a Privacy"):
        watching.charge(0.5)
    with pytest.raises(dp.DtypeError, match=r"^what must be a string"):
        watching.charge(dp.Privacy(0.5), 3)


def test_a_budget_is_not_copied():
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"Budget\.open\(path\)"):
            copied(budget())


def test_repr():
    watching = dp.Budget(epsilon=1.0)
    watching.charge(dp.Privacy(0.25))
    expected = "Budget(epsilon=1.0): spent 0.25 in 1 release, remaining 0.75"
    assert repr(watching) == expected
