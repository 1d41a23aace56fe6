"""The registry of benchmarks: all answers agree, and only right answers have times."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from functools import cache

import pytest

from benchmarks import timing
from benchmarks.jobs import JOBS, README
from benchmarks.reasons import explained
from benchmarks.registry import Contender, Job

ANSWERS = [
    pytest.param(job, each, id=f"{job.name}-{each.name}")
    for job in JOBS
    for each in job.contenders
    if each.kind != "floor"
]


@cache
def inputs(job: Job):
    return job.make(job.small)


@cache
def outcome(job: Job, contender: Contender):
    return job.outcome(inputs(job), contender.start(inputs(job))())


@pytest.mark.sample(48)
@pytest.mark.parametrize(("job", "contender"), ANSWERS)
def test_answers_agree(job, contender):
    """With each other's: ours and NumPy's, and one peer at a time."""
    if not contender.is_installed():
        pytest.skip(f"{contender.needs} is not installed")
    compared = {
        each.name: outcome(job, each)
        for each in job.contenders
        if each.kind in ("ours", "numpy") or each is contender
    }
    assert job.disagreements(inputs(job), compared) == {}


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_wrong_answers_are_noticed(job):
    ours = outcome(job, job.contenders[0])
    if hasattr(ours, "_replace"):
        wrong = ours._replace(cost=1.001 * ours.cost)
    else:  # counts, a curve, or a mean and a variance
        wrong = tuple(5 * part for part in ours) if isinstance(ours, tuple) else 5 * ours
    compared = {job.contenders[0].name: ours, "wrong": wrong}
    assert set(job.disagreements(inputs(job), compared)) == {"wrong"}


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_registry(job):
    names = [contender.name for contender in job.contenders]
    assert len(set(names)) == len(names)
    kinds = [contender.kind for contender in job.contenders]
    assert kinds[0] == "ours"
    assert "floor" in kinds
    # What has to run in the tests needs nothing but our own dependencies.
    assert all(c.needs is None for c in job.contenders if c.kind != "peer")
    assert all(list(sizes) == sorted(sizes) for sizes in (job.sizes, job.quick))
    assert job.memory is None or job.memory in job.sizes
    assert job.small < min(job.quick)
    assert (job.contenders[0].largest or max(job.quick)) >= max(job.quick)


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_all_say_whether_their_noise_is_exact(job):
    """Or nobody does, in a job without noise. Names say nothing of it: tables do, in words."""
    noises = [each.noise for each in job.contenders if each.kind != "floor"]
    assert (None in noises) == (set(noises) == {None})
    assert job.contenders[0].noise in ("exact", None)
    assert all(each.noise is None for each in job.contenders if each.kind == "floor")
    assert not any("exact" in each.name for each in job.contenders)


def test_names_are_unique_and_the_readme_has_ten_of_them_at_most():
    names = {job.name for job in JOBS}
    assert len(names) == len(JOBS)
    assert len(set(README)) == len(README) <= 10
    assert set(README) <= names


# --- reasons


def test_reasons_are_beside_jobs_and_contenders():
    text = """
        [toy]
        floor = '''
        Counting
        is work.'''
        faster.wrong = "It guesses."
    """
    (job,) = explained([TOY], text)
    assert job.why == "Counting is work."
    assert job["wrong"].why == "It guesses."
    assert job["broken"].why == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[toys]\nfloor = ''", "toys"),
        ("[toy]\nceiling = ''", "ceiling"),
        ("[toy]\nfaster.nobody = ''", "nobody"),
    ],
)
def test_reasons_for_nothing_are_noticed(text, message):
    with pytest.raises(ValueError, match=message):
        explained([TOY], text)


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_floors_run(job):
    for contender in job.contenders:
        if contender.kind == "floor":
            contender.start(inputs(job))()


# --- timing, with contenders that do nothing


def toy(*contenders: Contender) -> Job:
    def disagreements(given, outcomes):
        return {name: f"{found}, not 3" for name, found in outcomes.items() if found != 3}

    return Job(
        name="toy",
        title="Count to three",
        unit="steps",
        sizes=(3,),
        quick=(3,),
        small=1,
        memory=3,
        make=lambda size: size,
        outcome=lambda given, answer: answer,
        disagreements=disagreements,
        agreement="they say three",
        contenders=contenders,
    )


def fails(size):
    raise RuntimeError("no")


TOY = toy(
    Contender("dpcore", "ours", lambda size: lambda: size),
    Contender("wrong", "peer", lambda size: lambda: 7),
    Contender("broken", "peer", lambda size: lambda: fails(size)),
    Contender("slow", "peer", lambda size: fails, largest=2),
    Contender("absent", "peer", fails, needs="no_such_module_as_this"),
    Contender("floor", "floor", lambda size: lambda: None),
)


def test_only_right_answers_have_times():
    rows = timing.measure(TOY, 3, budget=0.01, start_up={"dpcore": 0.5})
    states = {row.contender: row.state for row in rows}
    assert states == {
        "dpcore": "timed",
        "wrong": "disagrees: 7, not 3",
        "broken": "failed: RuntimeError: no",
        "slow": "too slow at this size",
        "absent": "not installed",
        "floor": "timed",
    }
    assert all((row.median is not None) == (row.state == "timed") for row in rows)
    assert rows[0].rounds >= timing.LEAST_ROUNDS
    assert 0 < rows[0].low <= rows[0].median <= rows[0].high
    assert rows[0].start_up == 0.5


def test_they_take_turns():
    order: list[str] = []
    calls = {name: (lambda name=name: order.append(name), 1.0) for name in "abc"}
    times = timing.interleaved(calls, budget=1e-9)
    assert {name: len(found) for name, found in times.items()} == {"a": 1, "b": 1, "c": 1}
    assert order == ["a", "b", "c"]


@pytest.mark.parametrize(("first", "rounds"), [(0.5, 100), (1.5, 3), (2.5, 1)])
def test_who_takes_long_has_few_rounds(first, rounds, monkeypatch):
    monkeypatch.setattr(timing, "timed", lambda call, number: (1e-6 * number, call()))
    calls = {"long": (lambda: None, first)}  # it is quick from the second call on
    assert len(timing.interleaved(calls, budget=1.0)["long"]) == rounds


def test_a_very_long_first_call_is_the_time_of_others_than_ours(monkeypatch):
    """Of ours the first call may be slow for what it keeps, so that it is made again."""
    monkeypatch.setattr(timing, "timed", lambda call, number=1: (7.0, call()))
    quick = Contender("dpcore", "ours", lambda size: lambda: 3)
    job = toy(quick, replace(quick, name="peer", kind="peer"))
    ours, peer = timing.measure(job, 3, budget=1.0, start_up={})
    assert (ours.rounds, peer.rounds) == (1, 1)
    assert peer.median == peer.first == 7.0
    counted = []
    again = replace(quick, start=lambda size: lambda: counted.append(1) or 3)
    timing.measure(toy(again, replace(again, name="peer", kind="peer")), 3, 1.0, {})
    assert len(counted) == 3


def test_a_failure_in_the_warm_up_is_left_to_the_run():
    assert set(timing.warm_up(TOY)) == {"dpcore", "wrong", "floor"}


def test_peak_memory_of_a_process_of_its_own():
    job = next(job for job in JOBS if job.name == "isotonic")
    if importlib.util.find_spec("resource") is None:
        pytest.skip("peak memory is not measured here")
    peak = timing.peak_memory(job, 2**16, job["SciPy"])
    assert peak is not None
    assert peak >= 8 * 2**16
