"""The registry of benchmarks: all answers agree, and tables say what was measured."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from functools import cache

import pytest

from benchmarks import report, timing
from benchmarks.jobs import JOBS
from benchmarks.registry import Contender, Job, size_text
from benchmarks.timing import Row

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
        wrong = tuple(3 * part for part in ours) if isinstance(ours, tuple) else 3 * ours
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
    assert job.memory in job.sizes
    assert job.small < min(job.quick)
    assert (job.contenders[0].largest or max(job.quick)) >= max(job.quick)


def test_names_are_unique():
    assert len({job.name for job in JOBS}) == len(JOBS)


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


def test_a_failure_in_the_warm_up_is_left_to_the_run():
    assert set(timing.warm_up(TOY)) == {"dpcore", "wrong", "floor"}


def test_peak_memory_of_a_process_of_its_own():
    job = next(job for job in JOBS if job.name == "isotonic")
    if importlib.util.find_spec("resource") is None:
        pytest.skip("peak memory is not measured here")
    peak = timing.peak_memory(job, 2**16, job["SciPy"])
    assert peak is not None
    assert peak >= 8 * 2**16


# --- tables


def row(contender, kind, median=None, state="timed", size=3):
    spread = (None, None, None) if median is None else (median * 0.9, median, median * 1.1)
    low, median, high = spread
    rounds = 0 if median is None else 5
    return Row("toy", size, contender, kind, state, 0.4, 0.01, low, median, high, rounds, 2**20)


CANNED = report.Results(
    machine={"processor": "Abacus", "system": "Wood", "Python": "3.11", "date": "2026-01-01"},
    command="python scripts/bench.py",
    seconds=60.0,
    rows=[
        row("dpcore", "ours", 0.002),
        row("wrong", "peer", 0.001),
        row("broken", "peer", 0.008),
        row("absent", "peer", state="not installed"),
        row("floor", "floor", 1e-6),
        row("dpcore", "ours", 0.01, size=1024),
        row("absent", "peer", state="too slow at this size", size=1024),
    ],
)


def test_results_survive_json():
    assert report.Results.load(CANNED.dump()) == CANNED


def test_jobs_may_be_measured_again():
    later = CANNED._replace(
        rows=[row("dpcore", "ours", 0.003), row("new", "peer", 0.004)],
        machine=CANNED.machine | {"date": "2026-02-02", "packages": "numpy 2.0, new 1.0"},
    )
    before = CANNED._replace(machine=CANNED.machine | {"packages": "numpy 2.0"})
    updated = before.updated(later)
    assert [each.median for each in updated.rows] == [0.003, 0.004]
    assert updated.machine["date"] == "2026-01-01"
    assert updated.machine["packages"] == "numpy 2.0, new 1.0"
    assert updated.machine["measured again"] == "toy on 2026-02-02"
    fresh = [replace(each, job="other") for each in later.rows]
    both = updated.updated(later._replace(rows=fresh))
    assert both.rows == updated.rows + fresh
    assert both.machine["measured again"] == "toy on 2026-02-02; other on 2026-02-02"


@pytest.mark.parametrize(
    ("changed", "message"),
    [({"processor": "Pencil"}, "processor is Pencil"), ({"packages": "numpy 2.1"}, "numpy 2.0")],
)
def test_other_machines_and_versions_do_not_go_together(changed, message):
    before = CANNED._replace(machine=CANNED.machine | {"packages": "numpy 2.0"})
    later = before._replace(machine=before.machine | changed)
    with pytest.raises(SystemExit, match=message):
        before.updated(later)


def test_readme_table_names_the_fastest_and_the_losses():
    text = report.summary(CANNED, [TOY])
    floor = "floor: 1.00 us, 0.0005x"
    assert (
        f"| Count to three: 3 steps | dpcore: 2.00 ms | wrong: 1.00 ms, 0.50x |  | {floor} |"
        in text
    )
    assert "- Count to three: wrong (0.50x at 3)" in text
    assert "2^10" not in text  # nobody to compare with at that size
    assert "2026-01-01: Abacus; Wood; Python 3.11" in text


def test_page_has_every_row():
    text = report.page(CANNED, [TOY])
    assert (
        "| broken | peer | 8.00 ms | 375 | 7.20 ms - 8.80 ms | 4.00x | 5 | 10.0 ms | 1.0 MiB |"
        in text
    )
    assert "| absent | peer | not installed |  |  |  |  | 10.0 ms | 1.0 MiB |" in text
    assert "**2^10 steps**" in text
    assert "they say three" in text


def test_plain_table_is_aligned():
    lines = report.plain(CANNED.rows[:5]).splitlines()
    assert len(lines) == 6
    assert {
        line.index(kind) for line, kind in zip(lines[1:4], ["ours", "peer", "peer"], strict=True)
    }


@pytest.mark.parametrize("between", ["", "\n", "\nold\n\nlines | of it\n"])
def test_readme_markers_are_replaced_once_and_for_all(between):
    text = f"before\n\n{report.START}{between}{report.END}\n\nafter\n"
    once = report.replaced(text, "fresh\n")
    assert once == f"before\n\n{report.START}\nfresh\n{report.END}\n\nafter\n"
    assert report.replaced(once, "fresh") == once


@pytest.mark.parametrize(
    "text", ["", report.START, report.END + report.START, 2 * (report.START + report.END)]
)
def test_readme_without_markers_is_left_alone(text):
    with pytest.raises(ValueError, match="benchmarks: start"):
        report.replaced(text, "fresh")


def test_writes_everything(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "README.md").write_text(report.START + report.END)
    paths = report.write(CANNED, [TOY], tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == [
        "README.md",
        "docs/benchmarks.md",
        "docs/benchmarks.png",
        "benchmarks/results.json",
    ]
    assert all(path.stat().st_size > 100 for path in paths)


def test_numbers():
    sizes = [size_text(size) for size in (3, 1024, 65_535, 10**6, 2**20)]
    assert sizes == ["3", "2^10", "65,535", "1,000,000", "2^20"]
    times = [report.seconds_text(seconds) for seconds in (12.34, 0.5, 0.009999, 3.2e-6, None)]
    assert times == ["12.3 s", "500 ms", "10.0 ms", "3.20 us", ""]
