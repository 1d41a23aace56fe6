"""Budgets: what is charged, when, to which of them, and what is refused."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcore as dp
from dpcore.privacy import zcdp_rho
from dpcore.privacy.spending import unwatched
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


def test_outside_of_with_nothing_is_charged():
    watching = budget()
    dp.cdf(X, GRID, epsilon=1.0)
    with watching:
        pass
    dp.cdf(X, GRID, epsilon=1.0)
    assert watching.log == ()


def test_start_and_stop():
    watching = budget().start()
    try:
        dp.cdf(X, GRID, epsilon=1.0)
    finally:
        watching.stop()
    dp.cdf(X, GRID, epsilon=1.0)
    watching.stop()  # again: nothing happens
    assert len(watching.log) == 1


def test_nested_budgets_are_all_charged_or_none():
    with budget(epsilon=1.5) as outer:
        with budget(epsilon=1.0) as inner:
            dp.cdf(X, GRID, epsilon=0.75)
        with budget(epsilon=5.0) as wide, pytest.raises(dp.BudgetError):
            dp.cdf(X, GRID, epsilon=1.0)
    assert (outer.spent.epsilon, inner.spent.epsilon, wide.spent.epsilon) == (0.75, 0.75, 0.0)


def test_the_same_budget_twice_is_charged_once():
    with budget() as watching, watching:
        dp.cdf(X, GRID, epsilon=1.0)
        with watching:
            pass
        dp.cdf(X, GRID, epsilon=1.0)  # still inside of the others
    assert len(watching.log) == 2


def test_another_relation_is_refused_by_name():
    message = r"^neighbours must be the relation of the budget, 'add-or-remove-one' \(in cdf\)"
    watching = budget(neighbours="add-or-remove-one")
    with watching, pytest.raises(dp.ParameterError, match=message):
        dp.cdf(X, GRID, epsilon=1.0)
    assert watching.log == ()


def test_a_record_that_is_replaced_is_removed_and_another_added():
    with budget(epsilon=2.5) as watching:
        dp.cdf(X, GRID, epsilon=1.0, neighbours="add-or-remove-one")
        with pytest.raises(dp.BudgetError, match=r"costs epsilon = 0\.6 \(replace-one\)"):
            dp.cdf(X, GRID, epsilon=0.3, neighbours="add-or-remove-one")
    assert watching.log[0].privacy == dp.Privacy(2.0)


def test_exact_results_are_refused():
    with budget(), pytest.raises(dp.BudgetError, match="without noise there is no guarantee"):
        dp.cdf(X, GRID, dp.mechanisms.NoNoise())


def test_zero_concentrated_releases_need_a_cap_of_rho():
    with budget(), pytest.raises(dp.BudgetError, match="needs a budget with rho"):
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
    """As docs/budget.md says."""
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


def test_threads_of_a_pool_are_watched():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: None).result()  # it was there before
        with budget() as watching:
            pool.submit(dp.cdf, X, GRID, epsilon=1.0).result()
        pool.submit(dp.cdf, X, GRID, epsilon=1.0).result()
    assert len(watching.log) == 1


def test_a_thread_with_a_budget_of_its_own_spends_that():
    def work():
        with budget() as own:
            dp.cdf(X, GRID, epsilon=1.0)
        return own

    with budget() as watching, ThreadPoolExecutor(1) as pool:
        assert len(pool.submit(work).result().log) == 1
    assert watching.log == ()


def test_tasks_have_their_own():
    async def work(own, step):
        with own:
            await step.wait()
            dp.cdf(X, GRID, epsilon=1.0)

    async def both():
        step, first, second = asyncio.Event(), budget(), budget()
        tasks = [asyncio.create_task(work(each, step)) for each in (first, second)]
        await asyncio.sleep(0)
        step.set()
        await asyncio.gather(*tasks)
        return first, second

    assert [len(each.log) for each in asyncio.run(both())] == [1, 1]


def test_simulations_are_not_watched():
    with budget() as watching, unwatched():
        dp.cdf(X, GRID, epsilon=1.0)
    assert watching.log == ()


def test_studies_are_not_watched():
    def released(rng):
        return {"median": dp.cdf(rng.random(100), GRID, epsilon=1.0, rng=rng).quantile(0.5)}

    pytest.importorskip("joblib")
    with budget() as watching:
        dp.studies.run(dp.studies.Study(released, {}), replicates=2, seed=1)
    assert watching.log == ()


def test_what_dpcore_cannot_see_is_charged_by_hand():
    watching = budget()
    watching.charge(dp.Privacy(0.5), "a count by another library")
    assert watching.log[0].what == "a count by another library"
    with pytest.raises(dp.DtypeError, match=r"^privacy must be a Privacy"):
        watching.charge(0.5)
    with pytest.raises(dp.DtypeError, match=r"^what must be a string"):
        watching.charge(dp.Privacy(0.5), 3)


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


def test_a_budget_is_not_copied():
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"Budget\.open\(path\)"):
            copied(budget())


def test_repr():
    watching = dp.Budget(epsilon=1.0)
    watching.charge(dp.Privacy(0.25))
    expected = "Budget(epsilon=1.0): spent 0.25 in 1 release, remaining 0.75"
    assert repr(watching) == expected
