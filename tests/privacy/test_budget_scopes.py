"""Where budgets watch: with, start and stop, nested, in threads, in tasks and in studies."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import dpcore as dp
from dpcore.privacy.spending import unwatched
from tests.privacy.releases import COUNTS, GRID, X, asked, counter, extended, released, summed


def test_outside_of_with_and_inside_of_what_is_unwatched_nothing_is_charged():
    watching = dp.Budget(epsilon=10.0)
    released()
    with watching, unwatched():
        released()
    released()
    assert watching.log == ()


def test_started_and_entered_is_charged_once_until_it_is_stopped():
    with dp.Budget(epsilon=10.0).start() as watching:
        released()
    released()
    watching.stop()
    released()
    watching.stop()  # again: nothing happens
    assert len(watching.log) == 2


def test_nested_budgets_are_all_charged_or_none():
    with dp.Budget(epsilon=1.5) as outer:
        with dp.Budget(epsilon=1.0) as inner:
            released(0.75)
        with dp.Budget(epsilon=5.0) as wide, pytest.raises(dp.BudgetError):
            released(1.0)
    assert (outer.spent.epsilon, inner.spent.epsilon, wide.spent.epsilon) == (0.75, 0.75, 0.0)


def test_the_same_budget_twice_is_charged_once():
    with dp.Budget(epsilon=10.0) as watching, watching:
        released()
        with watching:
            pass
        released()  # still inside of the others
    assert len(watching.log) == 2


def test_budgets_may_be_left_in_any_order():
    first, second = dp.Budget(epsilon=4.0), dp.Budget(epsilon=4.0)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    released()
    second.__exit__(None, None, None)
    released()
    assert (len(first.log), len(second.log)) == (0, 1)


def test_budgets_are_asked_in_one_order_whoever_entered_first(monkeypatch):
    """Else two threads could wait for each other."""
    order = []

    def noted(budget, *arguments, real=dp.Budget._asked):
        order.append(budget)
        return real(budget, *arguments)

    monkeypatch.setattr(dp.Budget, "_asked", noted)
    first, second = dp.Budget(epsilon=4.0), dp.Budget(epsilon=4.0)
    with first, second:
        released()
    with second, first:
        released()
    assert order[:2] == order[2:]
    assert len(order) == 4


# --- threads, tasks and forks


def test_threads_of_a_pool_are_watched():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: None).result()  # it was there before
        with dp.Budget(epsilon=10.0) as watching:
            pool.submit(released).result()
    assert len(watching.log) == 1


def test_a_thread_with_a_budget_of_its_own_spends_that_and_then_none():
    def work():
        with dp.Budget(epsilon=10.0) as own:
            released()
        return own

    with dp.Budget(epsilon=10.0) as watching, ThreadPoolExecutor(1) as pool:
        assert len(pool.submit(work).result().log) == 1
    assert watching.log == ()


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
    draws = dp.mechanisms.Dyadic(1.0).release(COUNTS, replicates=2**13, workers=2)
    assert draws.shape == (2**13, GRID.size)


def test_tasks_have_their_own():
    async def work(own, step):
        with own:
            await step.wait()
            released()

    async def both():
        step, first, second = asyncio.Event(), dp.Budget(epsilon=10.0), dp.Budget(epsilon=10.0)
        tasks = [asyncio.create_task(work(own, step)) for own in (first, second)]
        await asyncio.sleep(0)
        step.set()
        await asyncio.gather(*tasks)
        return first, second

    assert [len(own.log) for own in asyncio.run(both())] == [1, 1]


async def in_the_task():
    return released()


async def in_its_thread():
    return await asyncio.to_thread(released)


async def in_an_executor():
    return await asyncio.get_running_loop().run_in_executor(None, released)


@pytest.mark.parametrize("run", [in_the_task, in_its_thread, in_an_executor])
def test_a_task_is_watched_by_the_budget_that_it_was_made_in_to_its_end(run):
    async def later(step):
        await step.wait()
        return await run()

    async def both():
        step = asyncio.Event()
        with dp.Budget(epsilon=2.0) as budget:
            task = asyncio.create_task(later(step))
            await asyncio.sleep(0)
        step.set()
        return budget, await asyncio.gather(task, return_exceptions=True)

    budget, (result,) = asyncio.run(both())
    takes_the_context_along = run is not in_an_executor
    assert isinstance(result, dp.BudgetError) is not takes_the_context_along
    assert len(budget.log) == takes_the_context_along


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_after_a_fork_a_budget_in_memory_refuses():
    """What the child spends the parent would not know."""
    budget, (reader, writer) = dp.Budget(epsilon=1.0), os.pipe()
    with budget:
        child = os.fork()
        if child == 0:
            try:
                released(0.5)
                os.write(writer, b"released")
            except BaseException as error:
                os.write(writer, f"{type(error).__name__}: {error}".encode())
            os._exit(0)
        os.waitpid(child, 0)
        told = os.read(reader, 1000).decode()
        released(0.5)
    os.close(reader)
    os.close(writer)
    assert told.startswith("BudgetError: cdf costs epsilon = 0.5")
    assert "Budget.open" in told
    assert len(budget.log) == 1


def test_seeded_noise_of_a_study_is_free():
    def median(rng):
        dp.streams.RunningCount(3, epsilon=1.0, rng=rng).add(1)
        dp.mechanisms.exponential_mechanism([1, 2], epsilon=1.0, rng=rng)
        return {"median": dp.cdf(rng.random(100), GRID, epsilon=1.0, rng=rng).quantile(0.5)}

    pytest.importorskip("joblib")
    with dp.Budget(epsilon=10.0) as watching:
        dp.studies.run(dp.studies.Study(median, {}), replicates=2, seed=1)
    assert watching.log == ()


@pytest.mark.parametrize("made", [released, counter, summed])
@pytest.mark.parametrize("workers", [1, 2])
def test_real_noise_in_a_study_is_charged(made, workers):
    joblib = pytest.importorskip("joblib")

    def one(rng):
        result = made()
        if callable(result) and not isinstance(result, dp.CDF):
            result()
        return {"done": 1.0}

    study = dp.studies.Study(one, {})
    with dp.Budget(epsilon=2.0) as watching, joblib.parallel_config("threading"):
        dp.studies.run(study, replicates=2, seed=1, workers=workers)
        assert watching.spent.epsilon == 2.0
        with pytest.raises(dp.studies.StudyError, match="BudgetError"):
            dp.studies.run(study, replicates=1, seed=1)
    assert len(watching.log) == 2


def test_a_stream_of_records_is_charged_where_a_study_takes_its_steps():
    pytest.importorskip("joblib")
    step = counter()

    def one(rng):
        return {"count": step()}

    with dp.Budget(epsilon=1.0) as watching:
        dp.studies.run(dp.studies.Study(one, {}), replicates=2, seed=1)
    assert watching.spent.epsilon == 1.0


# --- work that is handed over inside of a budget, and begins after it


def in_a_pool(gate, work):
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(lambda: gate.wait() and work())
        yield
        yield future.result()


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


HANDED_OVER = [in_a_pool, in_a_thread_of_a_thread, after_another_budget_has_begun]
FORKED = pytest.param(
    in_a_fork_of_a_thread,
    marks=[
        pytest.mark.skipif(sys.platform != "linux", reason="other systems do not fork"),
        pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of forks with threads
    ],
)


@pytest.mark.parametrize("how", [*HANDED_OVER, FORKED])
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
    with pytest.raises(dp.BudgetError) as caught:
        next(steps)
    assert caught.value.remaining is None
    assert budget.log == ()


@pytest.mark.parametrize("how", HANDED_OVER[:2])
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


# --- releases that go on: made where no budget watches, and used where one does


LONG = pytest.mark.parametrize("made", [counter, extended, summed, asked])


@LONG
def test_a_long_release_is_charged_to_each_budget_that_it_is_used_in_once(made):
    use = made()
    for _ in range(2):
        with dp.Budget(epsilon=1.5) as budget:
            use()
            if made is not asked:
                use()
        assert [charge.privacy.epsilon for charge in budget.log] == [1.0]


@LONG
def test_a_long_release_is_refused_by_a_budget_that_has_not_enough_for_all_of_it(made):
    use = made()
    with dp.Budget(epsilon=0.5) as budget:
        with pytest.raises(dp.BudgetError):
            use()
        assert budget.log == ()
    use()  # where nothing watches, it goes on: the refused step was not taken


@LONG
def test_a_long_release_is_used_for_free_after_the_budget_that_paid_for_it(made):
    with ThreadPoolExecutor(1) as pool:
        with dp.Budget(epsilon=1.0) as budget:
            use = made()
            use()
        use()
        pool.submit(use).result()
    with budget:
        if made is not asked:
            use()
    assert len(budget.log) == 1


@LONG
def test_a_thread_says_which_budget_has_paid_once_another_has_ended(made):
    with ThreadPoolExecutor(1) as pool:
        with dp.Budget(epsilon=1.0) as paid:
            use = made()
        with dp.Budget(epsilon=1.0) as other:
            pass
        with pytest.raises(dp.BudgetError):
            pool.submit(use).result()

        def entered():
            with paid:
                use()

        pool.submit(entered).result()
    assert (len(paid.log), len(other.log)) == (1, 0)


@pytest.mark.parametrize("how", HANDED_OVER)
@LONG
def test_a_step_of_a_long_release_that_begins_after_its_budget_has_ended_is_refused(made, how):
    gate, budget = threading.Event(), dp.Budget(epsilon=1.0)
    steps = how(gate, made())
    with budget:
        next(steps)
    gate.set()
    with pytest.raises(dp.BudgetError) as caught:
        next(steps)
    assert caught.value.remaining is None
    assert budget.log == ()


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


def test_an_interrupt_while_a_release_begins_leaves_no_later_one_free():
    code, at = unwatched.__wrapped__.__code__, 0

    def trace(frame, event, _):
        if frame.f_code is not code:
            return None
        if event == "line":
            lines_left.pop()
            if not lines_left:
                raise KeyboardInterrupt
        return trace

    is_interrupted, before = True, sys.gettrace()
    while is_interrupted:  # at the first line, the second, ... until the release is made
        at += 1
        lines_left, is_interrupted = [None] * at, False
        interrupted = unwatched()
        sys.settrace(trace)
        try:
            interrupted.__enter__()
        except KeyboardInterrupt:
            is_interrupted = True
        finally:
            sys.settrace(before)
        if is_interrupted:
            watching = dp.Budget(epsilon=10.0).start()
            released()
            watching.stop()
            assert len(watching.log) == 1
    interrupted.__exit__(None, None, None)
    assert at > 3


def test_a_budget_that_is_entered_is_charged_whatever_an_interrupt_has_left_open():
    left_open = unwatched()
    left_open.__enter__()
    with dp.Budget(epsilon=10.0) as watching:
        released()
    left_open.__exit__(None, None, None)
    assert len(watching.log) == 1
