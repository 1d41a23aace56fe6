"""Budgets where something is unusual: tasks that outlive them, forks, numbers that look alike."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dpcore as dp
from dpcore.privacy import spending
from dpcore.privacy.composition import Sums

GRID = dp.Grid.uniform(0, 1, 4)


def test_a_task_is_watched_by_the_budget_that_it_was_made_in_to_its_end():
    async def later(step):
        await step.wait()
        dp.cdf([0.5], GRID, epsilon=1.0)

    async def both():
        step = asyncio.Event()
        with dp.Budget(epsilon=2.0) as budget:
            task = asyncio.create_task(later(step))
            await asyncio.sleep(0)
        step.set()
        await task
        return budget

    assert len(asyncio.run(both()).log) == 1


def test_work_that_is_sent_to_a_thread_by_asyncio_is_charged():
    async def work():
        with dp.Budget(epsilon=2.0) as budget:
            await asyncio.to_thread(dp.cdf, [0.5], GRID, epsilon=1.0)
        return budget

    assert len(asyncio.run(work()).log) == 1


def test_budgets_may_be_left_in_any_order():
    first, second = dp.Budget(epsilon=4.0), dp.Budget(epsilon=4.0)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    dp.cdf([0.5], GRID, epsilon=1.0)
    second.__exit__(None, None, None)
    dp.cdf([0.5], GRID, epsilon=1.0)
    assert (len(first.log), len(second.log)) == (0, 1)


def test_started_and_entered_is_charged_once():
    with dp.Budget(epsilon=4.0).start() as budget:
        dp.cdf([0.5], GRID, epsilon=1.0)
    dp.cdf([0.5], GRID, epsilon=1.0)
    budget.stop()
    dp.cdf([0.5], GRID, epsilon=1.0)
    assert len(budget.log) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_after_a_fork_a_budget_in_memory_refuses():
    """What the child spends the parent would not know."""
    budget, (reader, writer) = dp.Budget(epsilon=1.0), os.pipe()
    with budget:
        child = os.fork()
        if child == 0:
            try:
                dp.cdf([0.5], GRID, epsilon=0.5)
                os.write(writer, b"released")
            except BaseException as error:
                os.write(writer, f"{type(error).__name__}: {error}".encode())
            os._exit(0)
        os.waitpid(child, 0)
        told = os.read(reader, 1000).decode()
        dp.cdf([0.5], GRID, epsilon=0.5)
    os.close(reader)
    os.close(writer)
    assert told.startswith("BudgetError: cdf costs epsilon = 0.5")
    assert "see Budget.open" in told
    assert len(budget.log) == 1


def test_numbers_that_look_alike_are_told_apart():
    with pytest.raises(dp.BudgetError, match=r"epsilon=1\.00000001,.* what remains .*epsilon=1\.0"):
        dp.Budget(epsilon=1.0).charge(dp.Privacy(1.00000001))
    budget = dp.Budget(rho=0.5)
    with pytest.raises(dp.BudgetError, match=r"costs rho = 0\.75 of zCDP .*remains is rho = 0\.5"):
        budget.charge(dp.Privacy(rho=0.75))


@pytest.mark.parametrize("what", ["\ud800", "two\nlines", "null\0"])
def test_what_no_line_of_a_log_can_be(what):
    budget = dp.Budget(epsilon=1.0)
    with pytest.raises(dp.ParameterError, match=r"^what must be printable"):
        budget.charge(dp.Privacy(0.5), what)
    assert budget.log == ()


@pytest.mark.needs_jit
def test_a_charge_is_of_the_release_that_was_called_in_another_thread_too():
    """Threads that a release itself starts are covered by its charge."""
    with dp.Budget(epsilon=200.0) as budget:
        dp.mechanisms.Hierarchy(1.0).release(np.ones(2**16, int), replicates=64, workers=4)
    assert [charge.privacy.epsilon for charge in budget.log] == [64.0]


def test_a_cap_is_met_up_to_one_part_in_a_million_millions():
    """As docs/guides/budget.md says."""
    for cap, cost in [({"epsilon": 1.0}, dp.Privacy), ({"rho": 1.0}, lambda x: dp.Privacy(rho=x))]:
        budget = dp.Budget(**cap)
        budget.charge(cost(1.0))
        budget.charge(cost(0.9e-12))
        with pytest.raises(dp.BudgetError):
            budget.charge(cost(0.2e-12))
        assert len(budget.log) == 2
    budget = dp.Budget(epsilon=1.0)
    with pytest.raises(dp.BudgetError, match="needs a budget with at least that delta"):
        budget.charge(dp.Privacy(0.5, 5e-324))  # nothing of no delta


def test_budgets_are_asked_in_one_order_whoever_entered_first():
    """Else two threads could wait for each other."""
    first, second = dp.Budget(epsilon=1.0), dp.Budget(epsilon=1.0)
    with first, second:
        one_way = spending._watching()
    with second, first:
        assert [each._key for each in spending._watching()] == [each._key for each in one_way]


def test_nobody_charges_between_the_question_and_the_charge(monkeypatch):
    def slowly(sums, cap, tolerance, before=Sums.fit):
        time.sleep(0.01)
        return before(sums, cap, tolerance)

    monkeypatch.setattr(Sums, "fit", slowly)
    budget, start = dp.Budget(epsilon=1.0), threading.Barrier(4)

    def charge(_):
        start.wait()
        try:
            budget.charge(dp.Privacy(0.75))
        except dp.BudgetError:
            return 0
        return 1

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(charge, range(4))) == 1
    assert budget.spent.epsilon == 0.75


@pytest.mark.parametrize("kind", ["epsilon", "rho"])
def test_what_is_spent_and_what_remains_are_rounded_against_the_spender(kind):
    budget = dp.Budget(**{kind: 1.0}, delta=0.5)
    budget.charge(dp.Privacy(**{kind: 1e-17}, delta=1e-18))
    budget.charge(dp.Privacy(**{kind: 0.125}, delta=0.125))
    spent, remaining = budget.spent, budget.remaining
    assert getattr(spent, kind) == np.nextafter(0.125, 1)
    assert spent.delta == np.nextafter(0.125, 1)
    assert getattr(remaining, kind) == np.nextafter(0.875, 0)
    assert remaining.delta == np.nextafter(0.375, 0)
