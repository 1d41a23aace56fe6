"""The tables of the benchmarks: of made-up results, and of the stored ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import losses, report, tables
from benchmarks.jobs import JOBS, README
from benchmarks.reasons import explained
from benchmarks.registry import Contender, Job
from benchmarks.results import Results, Row
from benchmarks.wording import seconds_text, share_text, size_text
from tests.project.test_benchmarks import toy

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results.json"
REASONS = """
[toy]
floor = "Steps are taken one by one."
faster.sloppy = "It rounds."
"""


def job(name: str, *contenders: Contender) -> Job:
    title = f"Count to three, {name}"
    return replace(toy(*contenders), name=name, title=title, sizes=(3, 1024))


def does_nothing(size):
    return lambda: None


TOY = job(
    "toy",
    Contender("dpcore, by hand", "ours", does_nothing, noise="exact"),
    Contender("careful", "peer", does_nothing, noise="exact"),
    Contender("hasty", "peer", does_nothing, noise="inexact"),
    Contender("absent", "peer", does_nothing, noise="exact"),
    Contender("sloppy", "numpy", does_nothing, noise="inexact"),
    Contender("naked", "numpy", does_nothing, noise="none"),
    Contender("pass", "floor", does_nothing),
    Contender("second pass", "floor", does_nothing),
)
PLAIN = job(
    "plain",
    Contender("dpcore", "ours", does_nothing),
    Contender("rival", "peer", does_nothing),
    Contender("pass", "floor", does_nothing),
)
TOYS = explained([TOY, PLAIN], REASONS)


def row(of: Job, contender: str, median=None, size=3, state="timed") -> Row:
    about = of[contender]
    low, high = (None, None) if median is None else (median * 0.9, median * 1.1)
    rounds = 0 if median is None else 5
    timed = (state, 0.4, 0.01, low, median, high, rounds, 2**20)
    return Row(of.name, size, contender, about.kind, about.noise, *timed)


CANNED = Results(
    machine={"processor": "Abacus", "system": "Wood", "Python": "3.11", "date": "2026-01-01"},
    command="python scripts/bench.py",
    seconds=60.0,
    rows=[
        row(TOY, "dpcore, by hand", 0.002),
        row(TOY, "careful", 0.008),
        row(TOY, "hasty", 0.001),
        row(TOY, "absent", state="not installed"),
        row(TOY, "sloppy", 0.0005),
        row(TOY, "naked", 0.0001),
        row(TOY, "pass", 1e-4),
        row(TOY, "second pass", 2e-4),
        row(TOY, "dpcore, by hand", 0.01, size=1024),
        row(TOY, "absent", size=1024, state="too slow at this size"),
        row(PLAIN, "dpcore", 0.002),
        row(PLAIN, "rival", 0.0019),
        row(PLAIN, "pass", 0.003),
    ],
)


def lines_of(text: str, of: str) -> list[list[str]]:
    """Return the cells of a table's lines that have a word in their first cell."""
    lines = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [line for line in lines if of in line[0]]


# --- results


def test_results_survive_json():
    assert Results.load(CANNED.dump()) == CANNED


@pytest.mark.parametrize("change", [lambda row: row.pop("noise"), lambda row: row.update(old=1)])
def test_results_of_an_earlier_version_have_to_be_measured_again(change):
    parts = json.loads(CANNED.dump())
    change(parts["rows"][-1])
    with pytest.raises(SystemExit, match=r"earlier version.*run them all again"):
        Results.load(json.dumps(parts))


def test_jobs_may_be_measured_again():
    later = CANNED._replace(
        rows=[row(TOY, "dpcore, by hand", 0.003), row(TOY, "careful", 0.004)],
        machine=CANNED.machine
        | {"date": "2026-02-02", "packages": "numpy 2.0, new 1.0", "rounds": "few"},
    )
    before = CANNED._replace(
        rows=CANNED.rows[:10],
        machine=CANNED.machine | {"packages": "numpy 2.0", "rounds": "many"},
    )
    updated = before.updated(later)
    assert [each.median for each in updated.rows] == [0.003, 0.004]
    assert updated.machine["date"] == "2026-01-01"
    assert updated.machine["rounds"] == "many"
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


def test_jobs_are_shown_in_the_order_of_the_registry():
    turned = CANNED._replace(rows=CANNED.rows[10:] + CANNED.rows[:10])
    shown = [(each.name, size) for each, size, _ in turned.groups(TOYS)]
    assert shown == [("toy", 3), ("toy", 1024), ("plain", 3)]


# --- the table of jobs


def test_exact_peers_come_first_and_others_are_marked():
    line, alone = lines_of(tables.overview(CANNED.groups(TOYS)), "toy")
    assert line[1] == "2.00 ms for 3 steps (by hand)"
    assert line[2] == "4.00x (careful)"  # and not hasty, which is faster
    assert line[3] == "**0.25x** (sloppy; inexact noise)"  # and not naked
    assert line[4] == "5 % (pass) |"  # the first floor is the job's own
    assert alone[1:] == ["10.0 ms for 2^10 steps (by hand)", "", "", " |"]


def test_inexact_peers_are_compared_with_where_there_is_no_exact_one():
    rows = [each for each in CANNED.rows if each.contender not in ("careful", "sloppy")]
    line = lines_of(tables.overview(CANNED._replace(rows=rows).groups(TOYS)), "toy")[0]
    assert line[2] == "**0.50x** (hasty; inexact noise)"
    assert line[3] == "**0.05x** (naked; no noise: not private)"


def test_jobs_without_noise_have_no_marks():
    (line,) = lines_of(tables.overview(CANNED.groups(TOYS)), "plain")
    assert line[2:] == ["**0.95x** (rival)", "", "150 % (pass) |"]


def test_the_readme_has_the_chosen_jobs_where_somebody_was_compared():
    text = report.summary(CANNED, TOYS, ["plain", "toy"])
    table = text[: text.index("Medians of")]
    assert [line[0].count("plain") for line in lines_of(table, "Count")] == [2, 0]
    assert "2^10" not in table  # nobody to compare with at that size
    assert "](docs/measured/benchmarks.md#count-to-three-toy)" in table
    assert "2026-01-01: Abacus; Wood; Python 3.11" in text
    assert not lines_of(report.summary(CANNED, TOYS, ["toy"]), "plain")


def test_a_size_with_a_peer_is_rather_shown_than_a_larger_one_without():
    large = [row(TOY, "dpcore, by hand", 0.01, 1024), row(TOY, "sloppy", 0.02, 1024)]
    alone = CANNED._replace(rows=large)
    assert "10.0 ms for 2^10 steps" in report.summary(alone, TOYS, ["toy"])
    both = CANNED._replace(rows=CANNED.rows[:8] + large)
    assert "2.00 ms for 3 steps" in report.summary(both, TOYS, ["toy"])
    without = CANNED._replace(rows=[each for each in both.rows if each.kind != "peer"])
    assert "10.0 ms for 2^10 steps" in report.summary(without, TOYS, ["toy"])


def test_the_readme_has_at_most_ten_rows():
    assert 5 < len(lines_of(report.summary(stored(), JOBS, README), "](docs/")) <= 10


# --- who was faster, and why


def test_who_was_faster_is_listed_apart_with_reasons():
    exact, inexact, without = losses.listed(CANNED, TOYS, with_reasons=True).split("\n\nWith")
    assert f"plain: rival (0.95x at 3 steps). {losses.UNCLEAR}" in exact
    assert "toy: sloppy (0.25x at 3 steps). It rounds." in inexact
    assert f"toy: hasty (0.50x at 3 steps). {losses.UNSTATED}" in inexact
    assert "naked" in without
    assert losses.unstated(CANNED, TOYS) == ["toy: hasty", "toy: naked"]
    assert "rounds" not in losses.listed(CANNED, TOYS, with_reasons=False)


def test_reasons_that_are_not_needed_any_more_are_named():
    assert losses.unneeded(CANNED, TOYS) == []
    rows = [each for each in CANNED.rows if each.contender != "sloppy"]
    assert losses.unneeded(CANNED._replace(rows=rows), TOYS) == []  # it was not there
    rows.append(row(TOY, "sloppy", 0.1))
    assert losses.unneeded(CANNED._replace(rows=rows), TOYS) == ["toy: sloppy"]


def test_nobody_was_faster():
    slower = CANNED._replace(rows=[replace(each, kind="ours") for each in CANNED.rows])
    assert losses.listed(slower, TOYS, with_reasons=True).count("nobody.") == 3


def test_every_size_counts():
    late = [row(TOY, "dpcore, by hand", 0.01, 1024), row(TOY, "sloppy", 0.002, 1024)]
    rows = [*CANNED.rows[:8], *late]
    (sloppy,) = (
        each
        for each in losses.losses(CANNED._replace(rows=rows), TOYS)
        if each.row.contender == "sloppy"
    )
    assert sloppy.at == "0.25x at 3, 0.20x at 2^10 steps"


def test_all_who_were_faster_in_the_stored_run_were_so_for_a_stated_reason():
    assert losses.unstated(stored(), JOBS) == []


def stored() -> Results:
    return Results.load(RESULTS.read_text("utf-8"))


# --- the page


def test_the_page_opens_with_all_jobs_and_sizes():
    text = report.page(CANNED, TOYS)
    opening = text[: text.index("## Faster than dpcore")]
    assert len(lines_of(opening, "Count to three")) == 3
    assert "](#count-to-three-plain)" in opening


def test_the_page_has_every_row_and_reason():
    text = report.page(CANNED, TOYS)
    timed = "| careful | peer | exact | 8.00 ms | 375 | 7.20 ms - 8.80 ms | 4.00x | 5 | 10.0 ms |"
    assert timed in text
    assert "| rival | peer | 1.90 ms | 1.58 k |" in text  # there is no noise in that job
    assert "| absent | peer | exact | not installed |  |  |  |  | 10.0 ms | 1.0 MiB |" in text
    assert "**2^10 steps**" in text
    assert "they say three" in text
    assert "*Between us and the floor:* Steps are taken one by one." in text
    assert text.count("*Between us and the floor:*") == 1
    assert text.count(losses.UNSTATED) == 2


def test_links_lead_to_headings():
    text = report.page(stored(), JOBS)
    headings = {tables.anchor(line[4:]) for line in text.splitlines() if line.startswith("### ")}
    links = {part.partition(")")[0] for part in text.split("](#")[1:]}
    assert links == headings
    assert tables.anchor("Smoothing (Eq. 3), 2^10 cells: a-b_c") == "smoothing-eq-3-210-cells-a-b_c"


# --- files


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
    (tmp_path / "docs" / "measured").mkdir(parents=True)
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "README.md").write_text(report.START + report.END)
    paths = report.write(CANNED, TOYS, ["toy"], tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == [
        "README.md",
        "docs/measured/benchmarks.md",
        "docs/measured/benchmarks.png",
        "benchmarks/results.json",
    ]
    assert all(path.stat().st_size > 100 for path in paths)


def test_numbers():
    sizes = [size_text(size) for size in (3, 1024, 65_535, 10**6, 2**20)]
    assert sizes == ["3", "2^10", "65,535", "1,000,000", "2^20"]
    times = [seconds_text(seconds) for seconds in (12.34, 0.5, 0.009999, 3.2e-6, None)]
    assert times == ["12.3 s", "500 ms", "10.0 ms", "3.20 us", ""]
    shares = [share_text(share) for share in (0.00791, 0.055, 0.0996, 0.35, 1.2)]
    assert shares == ["0.79 %", "5.5 %", "10 %", "35 %", "120 %"]
