"""Where budgets watch: with, start and stop, nested, in threads and tasks, and not in studies."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dpcore as dp
from dpcore.privacy.spending import unwatched

GRID = dp.Grid.uniform(0, 1, 16)
X = np.random.default_rng(1).random(2000)


def test_outside_of_with_nothing_is_charged():
    watching = dp.Budget(epsilon=10.0)
    dp.cdf(X, GRID, epsilon=1.0)
    with watching:
        pass
    dp.cdf(X, GRID, epsilon=1.0)
    assert watching.log == ()


def test_start_and_stop():
    watching = dp.Budget(epsilon=10.0).start()
    try:
        dp.cdf(X, GRID, epsilon=1.0)
    finally:
        watching.stop()
    dp.cdf(X, GRID, epsilon=1.0)
    watching.stop()  # again: nothing happens
    assert len(watching.log) == 1


def test_nested_budgets_are_all_charged_or_none():
    with dp.Budget(epsilon=1.5) as outer:
        with dp.Budget(epsilon=1.0) as inner:
            dp.cdf(X, GRID, epsilon=0.75)
        with dp.Budget(epsilon=5.0) as wide, pytest.raises(dp.BudgetError):
            dp.cdf(X, GRID, epsilon=1.0)
    assert (outer.spent.epsilon, inner.spent.epsilon, wide.spent.epsilon) == (0.75, 0.75, 0.0)


def test_the_same_budget_twice_is_charged_once():
    with dp.Budget(epsilon=10.0) as watching, watching:
        dp.cdf(X, GRID, epsilon=1.0)
        with watching:
            pass
        dp.cdf(X, GRID, epsilon=1.0)  # still inside of the others
    assert len(watching.log) == 2


def test_threads_of_a_pool_are_watched():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: None).result()  # it was there before
        with dp.Budget(epsilon=10.0) as watching:
            pool.submit(dp.cdf, X, GRID, epsilon=1.0).result()
        pool.submit(dp.cdf, X, GRID, epsilon=1.0).result()
    assert len(watching.log) == 1


def test_a_thread_with_a_budget_of_its_own_spends_that():
    def work():
        with dp.Budget(epsilon=10.0) as own:
            dp.cdf(X, GRID, epsilon=1.0)
        return own

    with dp.Budget(epsilon=10.0) as watching, ThreadPoolExecutor(1) as pool:
        assert len(pool.submit(work).result().log) == 1
    assert watching.log == ()


def test_tasks_have_their_own():
    async def work(own, step):
        with own:
            await step.wait()
            dp.cdf(X, GRID, epsilon=1.0)

    async def both():
        step, first, second = asyncio.Event(), dp.Budget(epsilon=10.0), dp.Budget(epsilon=10.0)
        tasks = [asyncio.create_task(work(each, step)) for each in (first, second)]
        await asyncio.sleep(0)
        step.set()
        await asyncio.gather(*tasks)
        return first, second

    assert [len(each.log) for each in asyncio.run(both())] == [1, 1]


def test_simulations_are_not_watched():
    with dp.Budget(epsilon=10.0) as watching, unwatched():
        dp.cdf(X, GRID, epsilon=1.0)
    assert watching.log == ()


def test_studies_are_not_watched():
    def released(rng):
        return {"median": dp.cdf(rng.random(100), GRID, epsilon=1.0, rng=rng).quantile(0.5)}

    pytest.importorskip("joblib")
    with dp.Budget(epsilon=10.0) as watching:
        dp.studies.run(dp.studies.Study(released, {}), replicates=2, seed=1)
    assert watching.log == ()
