"""Where budgets watch: with, start and stop, nested, in threads and tasks, and not in studies."""

from __future__ import annotations

import asyncio
import multiprocessing
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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
    assert len(watching.log) == 1


# --- work that is handed over inside of a budget, and begins after it


def released():
    return dp.cdf(X, GRID, epsilon=1.0)


def in_a_pool(gate, work):
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(lambda: gate.wait() and work())
        yield
        yield future.result()


def in_a_thread(gate, work):
    results = []

    def caught():
        gate.wait()
        try:
            results.append(work())
        except dp.DpcoreError as error:
            results.append(error)

    thread = threading.Thread(target=caught)
    thread.start()
    yield
    thread.join()
    if isinstance(results[0], dp.DpcoreError):
        raise results[0]
    yield results[0]


def in_a_thread_of_a_thread(gate, work):
    """The thread that releases is started after the budget has ended."""

    def nested():
        with ThreadPoolExecutor(1) as inner:
            return inner.submit(work).result()

    yield from in_a_pool(gate, nested)


def after_another_budget_has_begun(gate, work):
    def charged_to_another():
        with dp.Budget(epsilon=10.0), ThreadPoolExecutor(1) as inner:
            return inner.submit(work).result()

    yield from in_a_pool(gate, charged_to_another)


def in_a_fork_of_a_thread(gate, work):
    """The process that releases is forked after the budget has ended; its only thread is new."""

    def said(results):
        try:
            work()
        except dp.DpcoreError as error:
            results.put(error)
        else:
            results.put(None)

    def forked():
        context = multiprocessing.get_context("fork")
        results = context.SimpleQueue()
        process = context.Process(target=said, args=(results,))
        process.start()
        error = results.get()
        process.join()
        if error is not None:
            raise error

    yield from in_a_pool(gate, forked)


HANDED_OVER = [in_a_pool, in_a_thread, in_a_thread_of_a_thread, after_another_budget_has_begun]


@pytest.mark.parametrize(
    "how",
    [
        *HANDED_OVER,
        pytest.param(
            in_a_fork_of_a_thread,
            marks=[
                pytest.mark.skipif(sys.platform != "linux", reason="other systems do not fork"),
                pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of forks with threads
            ],
        ),
    ],
)
@pytest.mark.parametrize("watch", ["with", "start"])
def test_work_that_begins_after_its_budget_has_ended_is_refused(how, watch):
    gate, budget = threading.Event(), dp.Budget(epsilon=1.0)
    steps = how(gate, released)
    if watch == "with":
        with budget:
            next(steps)
    else:
        budget.start()
        next(steps)
        budget.stop()
    gate.set()
    with pytest.raises(dp.BudgetError, match="this thread has entered no budget") as caught:
        next(steps)
    assert caught.value.remaining is None
    assert budget.log == ()


@pytest.mark.parametrize("how", HANDED_OVER[:3])
def test_work_that_enters_its_budget_is_charged_whenever_it_begins(how):
    gate, budget = threading.Event(), dp.Budget(epsilon=1.0)

    def work():
        with budget:
            return released()

    steps = how(gate, work)
    with budget:
        next(steps)
    gate.set()
    assert next(steps).n == X.size
    assert len(budget.log) == 1


def test_late_work_is_charged_while_its_own_budget_watches_again():
    with ThreadPoolExecutor(1) as pool, dp.Budget(epsilon=2.0) as budget:
        pool.submit(released).result()
    with budget, ThreadPoolExecutor(1) as pool:
        pool.submit(released).result()
    assert len(budget.log) == 2


def test_a_thread_may_release_without_a_budget_after_its_own_have_ended():
    def work():
        with dp.Budget(epsilon=1.0):
            released()
        return released().n

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() == X.size
    assert released().n == X.size  # and so may the main thread


def test_threads_of_dpcore_are_not_refused_where_their_caller_is_not():
    with dp.Budget(epsilon=1.0):
        pass
    counts = GRID.count(X)
    released = dp.mechanisms.Dyadic(1.0).release(counts, replicates=2**14, workers=2)
    assert released.shape == (2**14, GRID.size)


def test_a_task_that_sends_work_to_a_thread_after_its_budget_has_ended():
    async def later(step, run):
        await step.wait()
        return await run()

    async def both(run):
        step = asyncio.Event()
        with dp.Budget(epsilon=2.0) as budget:
            task = asyncio.create_task(later(step, run))
            await asyncio.sleep(0)
        step.set()
        return budget, await asyncio.gather(task, return_exceptions=True)

    budget, _ = asyncio.run(both(lambda: asyncio.to_thread(released)))
    assert len(budget.log) == 1  # it takes the task's context along

    def in_executor():
        return asyncio.get_running_loop().run_in_executor(None, released)

    budget, (error,) = asyncio.run(both(in_executor))
    assert isinstance(error, dp.BudgetError)
    assert budget.log == ()


def test_the_examples_of_the_page_on_budgets_run_and_print_what_they_say(capsys):
    page = (Path(__file__).parents[2] / "docs" / "guides" / "budget.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2
    names = {}
    for block in blocks:
        exec(block, names)
        (said,) = re.findall(r"^print\(.*?\)  # (.*)$", block, re.MULTILINE)
        assert capsys.readouterr().out == f"{said}\n"


# --- releases that go on: made where no budget watches, and used where one does


def counter():
    made = dp.streams.RunningCount(10, epsilon=1.0)
    return lambda: made.add(5)


def extended():
    made = dp.streams.RunningCount(10, epsilon=1.0)
    return lambda: made.extend([5, 6])


def summed():
    made = dp.trust.SimulatedSum(GRID.count(X), dp.trust.DistributedNoise(1.0, clients=X.size))
    return lambda: made.sum([3, 4])


def asked():
    made = dp.trust.SimulatedSum(GRID.count(X), dp.trust.FunctionSharing(1.0))
    curve, points = dp.trust.PointwiseCDF(made, GRID), iter([0.25, 0.5, 0.75])
    return lambda: curve(next(points))


LONG = [counter, extended, summed, asked]


@pytest.mark.parametrize("made", LONG)
def test_a_long_release_is_charged_to_each_budget_that_it_is_used_in_once(made):
    use = made()
    for _ in range(2):
        with dp.Budget(epsilon=1.5) as budget:
            use()
            if made is not asked:
                use()
        assert [charge.privacy.epsilon for charge in budget.log] == [1.0]


@pytest.mark.parametrize("made", LONG)
def test_a_long_release_is_refused_by_a_budget_that_has_not_enough_for_all_of_it(made):
    use = made()
    with dp.Budget(epsilon=0.5) as budget:
        with pytest.raises(dp.BudgetError):
            use()
        assert budget.log == ()
    use()  # where nothing watches, it goes on: the refused step was not taken


@pytest.mark.parametrize("made", LONG)
def test_a_long_release_is_used_for_free_after_the_budget_that_paid_for_it(made):
    with dp.Budget(epsilon=1.0) as budget:
        use = made()
    use()
    with budget:
        use()
    assert len(budget.log) == 1


@pytest.mark.parametrize("how", HANDED_OVER)
@pytest.mark.parametrize("made", LONG)
def test_a_step_of_a_long_release_that_begins_after_its_budget_has_ended_is_refused(made, how):
    gate, budget = threading.Event(), dp.Budget(epsilon=1.0)
    steps = how(gate, made())
    with budget:
        next(steps)
    gate.set()
    with pytest.raises(dp.BudgetError, match="this thread has entered no budget"):
        next(steps)
    assert budget.log == ()


@pytest.mark.parametrize("made", LONG)
def test_a_long_release_is_used_in_a_thread_after_the_budget_that_paid_for_it(made):
    with ThreadPoolExecutor(1) as pool:
        with dp.Budget(epsilon=1.0) as budget:
            use = made()
            use()
        pool.submit(use).result()
    assert len(budget.log) == 1


def test_a_budget_in_a_new_file_has_not_paid_even_if_its_number_on_the_disk_is_that_of_an_old_one(
    tmp_path,
):
    made = None
    for name in ("first", "second", "third"):
        with dp.Budget.open(tmp_path / name, epsilon=1.0) as budget:
            made = made or dp.streams.RunningCount(10, epsilon=1.0)
            made.add(5)
            with dp.Budget.open(tmp_path / name):  # the same budget
                made.add(5)
        assert len(budget.log) == 1
        (tmp_path / name).unlink()


def test_a_refused_step_is_not_taken():
    made = dp.streams.RunningCount(10, epsilon=1.0)
    with dp.Budget(epsilon=0.5), pytest.raises(dp.BudgetError):
        made.add(5)
    assert made.step == 0


def test_a_resumed_count_is_charged_at_its_next_step_and_not_for_a_damaged_file(tmp_path):
    path = tmp_path / "count"
    dp.streams.RunningCount(10, epsilon=1.0).save(path)
    content = path.read_text()
    with dp.Budget(epsilon=1.0) as budget:
        path.write_text(content.replace('"step":0', '"step":1'))
        with pytest.raises(dp.DpcoreError):
            dp.streams.RunningCount.resume(path)
        path.write_text(content)
        resumed = dp.streams.RunningCount.resume(path)
        assert budget.log == ()
        resumed.extend([1, 2])
        resumed.add(3)
    assert [charge.what for charge in budget.log] == ["RunningCount"]


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
