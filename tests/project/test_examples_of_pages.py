"""The examples of the README and of the guides run as they stand, and their tables are true."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dpcore as dp

ROOT = Path(__file__).parents[2]
BACKEND = (ROOT / "docs" / "guides" / "backend.md").read_text("utf-8")
TOUR, CALLERS = (
    re.findall(r"```python\n(.*?)```", part, re.DOTALL)
    for part in BACKEND.split("\n## Counts that you have\n")
)


def run(*examples):
    """Run examples one after the other, and return their names."""
    names: dict = {}
    for example in examples:
        exec(example, names)
    plt.close("all")
    return names


def last_line(example):
    """Run an example, and return its names and the value of its last line."""
    names = run(example)
    return names, eval(example.strip().splitlines()[-1], names)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")


def test_the_output_in_the_readme():
    results = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert results.attempted == 10
    assert results.failed == 0


@pytest.mark.needs_jit
def test_the_script_of_a_newcomer(tmp_path, capsys):
    readme = (ROOT / "README.md").read_text("utf-8")
    names = run(re.search(r"```python\n(.*?)```", readme, re.DOTALL)[1])
    said = capsys.readouterr().out
    assert "Budget(epsilon=2.0): spent 2 in 2 releases, remaining 0" in said
    days, day, airline = names["days"], names["day"], names["airline"]
    for name, curve in days.items():
        true = np.quantile(day[airline == name].astype("datetime64[D]").astype(int), 0.5)
        low, high = curve.quantile(0.5, level=0.95)
        assert low <= curve.quantile(0.5) <= high
        assert abs(curve.quantile(0.5).astype("datetime64[D]").astype(int) - true) <= 3
        assert f"{name} {curve.quantile(0.5)}" in said
    assert names["again"] == days
    assert (tmp_path / "roc.png").stat().st_size > 10_000
    low, high = names["roc"].auc_interval()
    assert low < names["roc"].auc < high
    assert dp.compare(days["A"], days["B"], rng=np.random.default_rng(1)).p_value < 0.01


def test_the_guide_to_tables():
    page = (ROOT / "docs" / "guides" / "table.md").read_text("utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = run(block)
    lines = [line for line in block.splitlines() if line.startswith("released.")]
    shapes = [np.shape(eval(line, names)) for line in lines]
    assert shapes == [(25, 40), (), (), (2,), (25, 2), (50_000, 2)]
    assert abs(names["released"].conditional("y", 40, 50).quantile(0.5) - 40) < 1


# --- the guide to backends


@pytest.mark.needs_jit
def test_the_main_functions():
    assert len(TOUR) == 2
    names = run(*TOUR)
    assert names["again"].is_monotone
    assert names["roc"].auc == pytest.approx(0.720, abs=0.015)  # of the whole population
    assert 0 < names["test"].pvalue <= 1


def test_a_library_that_has_counts_already():
    assert len(CALLERS) == 3
    names, ranks = last_line(CALLERS[0])
    incomes, thresholds = names["incomes"], names["ranks"].thresholds
    counts = np.bincount(
        np.digitize(incomes, thresholds[:-1], right=True), minlength=thresholds.size
    )
    np.testing.assert_array_equal(counts, dp.Grid(thresholds).count(incomes))
    exact = [(incomes <= each).mean() for each in (10, 30, 100)]  # 33 is between 30 and 35
    np.testing.assert_allclose(ranks, exact, atol=0.03)
    assert not names["ranks"].curve_.privacy.simulated


def test_what_the_page_says_of_histogram():
    grid, values = dp.Grid([1.0, 2.0, 3.0]), [1.0, 2.0, 9.0]
    assert grid.count(values).tolist() == [1, 1, 1]
    assert np.histogram(values, [0.0, 1.0, 2.0, 3.0])[0].tolist() == [0, 1, 1]


@pytest.mark.needs_jit
def test_a_server_that_adds_the_counts_of_shards():
    names, (median, high) = last_line(CALLERS[1])
    curve = names["curve"]
    assert curve.n == 400_000
    assert curve.privacy == dp.Privacy(0.5)
    assert len(names["messages"][0]) == 8 * names["GRID"].size
    assert median == pytest.approx(np.exp(4), rel=0.1)
    assert high == pytest.approx(np.exp(4 + 1.645), rel=0.1)


@pytest.mark.needs_jit
def test_a_simulation_with_thousands_of_replicates():
    names, deviations = last_line(CALLERS[2])
    assert names["noisy"].shape == (5_000, 256)
    stated = names["mechanism"].noise_deviation(256)
    np.testing.assert_allclose(deviations[:-1], stated[:-1], rtol=0.06)  # four standard errors
    assert deviations[-1] == stated[-1] == 0
    again = names["mechanism"].release(
        names["counts"],
        rng=np.random.default_rng(1).spawn(1)[0],
        replicates=5_000,
        workers=1,
    )
    np.testing.assert_array_equal(again, names["noisy"])


def test_all_functions_that_the_tables_name_are_there():
    rows = re.findall(r"^\| (`.*?) \|", BACKEND, re.MULTILINE)
    names = [name for row in rows for name in re.findall(r"`([A-Za-z_.]+)`", row)]
    assert len(rows) >= 13
    for name in names:
        found = [
            part
            for home in (dp, dp.mechanisms, dp.statistics.classifier)
            if (part := _looked_up(home, name)) is not None
        ]
        assert found, name


def _looked_up(home, name):
    for part in name.split("."):
        home = getattr(home, part, None)
    return home


GRID = dp.Grid.uniform(0, 1, 8)
TABLE = dp.TableGrid.uniform((0, 1), (0, 1), (4, 2))
VALUES = np.linspace(0, 1, 50)
COUNTS = GRID.count(VALUES)
KEYS = dp.trust.comparison.gen([1, 2, 3], bits=4)[0]
ARRAYS = {
    "Grid.count": (lambda: COUNTS, (8,), np.int64),
    "TableGrid.count": (lambda: TABLE.count(VALUES, VALUES), (4, 2), np.int64),
    "group_counts": (
        lambda: dp.group_counts(VALUES, VALUES > 0.5, GRID, [0, 1]),
        (2, 8),
        np.int64,
    ),
    "score_counts": (lambda: dp.score_counts(VALUES > 0.5, VALUES, GRID), (16,), np.int64),
    "polynomial_sums": (lambda: dp.polynomial_sums(VALUES, 0, 1, 5).sums, (7,), np.int64),
    "release": (lambda: dp.mechanisms.Hierarchy(1.0).release(COUNTS), (8,), np.float64),
    "replicates": (
        lambda: dp.mechanisms.Dyadic(1.0).release(COUNTS, replicates=3),
        (3, 8),
        np.int64,
    ),
    "NoNoise": (lambda: dp.mechanisms.NoNoise().release(COUNTS), (8,), np.int64),
    "laplace": (lambda: dp.noise.discrete_laplace(2, (3, 4)), (3, 4), np.int64),
    "gaussian": (lambda: dp.noise.discrete_gaussian(4, 5), (5,), np.int64),
    "smooth": (lambda: dp.smooth([[1, 3, 2], [2, 1, 4]], 5).cumulative, (2, 3), np.float64),
    "at": (lambda: dp.smooth([[1, 3, 2], [2, 1, 4]], 5, at=[1]).cumulative, (2, 1), np.float64),
    "evaluate": (lambda: dp.trust.comparison.evaluate(KEYS, [4, 5]), (3, 2), np.uint64),
    "evaluate_sum": (lambda: dp.trust.comparison.evaluate_sum(KEYS, [4, 5]), (2,), np.uint64),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_shapes_and_types_are_those_of_the_tables(name):
    make, shape, dtype = ARRAYS[name]
    found = make()
    assert found.shape == shape
    assert found.dtype == dtype


@pytest.mark.parametrize("counts", [COUNTS.astype(float), COUNTS > 0])
def test_counts_are_integers(counts):
    with pytest.raises(dp.DtypeError, match="counts must hold integers"):
        dp.cdf_from_counts(counts, GRID, epsilon=1.0)


def test_counts_stay_as_they_are():
    counts = COUNTS.astype(np.uint16)
    counts.flags.writeable = False
    assert dp.cdf_from_counts(counts, GRID, epsilon=1.0).n == 50
    np.testing.assert_array_equal(counts, COUNTS)


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_tables_in_a_database(capsys):
    """Half a page runs, and prints a median and a query that fetches counts."""
    page = (ROOT / "docs" / "guides" / "large-data.md").read_text("utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = run(example)
    median, query = capsys.readouterr().out.split("\n", 1)
    assert abs(float(median) - 45) <= 2
    assert 'COUNT(*) AS "records"' in query
    assert list(names["curves"]) == ["north", "south"]


def test_the_page_of_sums(capsys):
    page = (ROOT / "docs" / "guides" / "sums.md").read_text("utf-8")
    [example] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    run(example)
    shown = re.findall(r"print\(.*\)  # (.*)", example)
    assert (
        capsys.readouterr().out.splitlines()
        == shown
        == ["45 12", "45", "True", "[0.1 0.4 0.6 0.9]", "[1. 2.]", "[1. 1. 1.]"]
    )


@pytest.mark.needs_jit
def test_local_curves_in_two_rounds():
    page = (ROOT / "docs" / "guides" / "clients.md").read_text("utf-8")
    [example] = (
        each for each in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if ">" not in each
    )
    names = run(example)
    curve, values = names["curve"], names["values"]
    assert curve.n == 100_000
    assert curve.privacy.epsilon == 1.0
    assert curve.quantile(0.5) == pytest.approx(np.median(values), abs=0.03)
    assert curve.knots.size < 200


@pytest.mark.needs_jit
def test_how_sure_one_can_be():
    page = (ROOT / "docs" / "guides" / "how-sure.md").read_text("utf-8")
    names = run(*re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    for (low, high), ends, true in (
        (names["records"], (32, 33), np.median(names["incomes"])),
        (names["population"], (32, 33.5), np.exp(3.5)),
    ):
        assert abs(low - ends[0]) <= 1.5
        assert abs(high - ends[1]) <= 1.5
        assert low - 1 < true < high + 1
    assert names["records"].low >= names["population"].low
    assert names["are_close"]  # the medians of one population


def test_the_guide_names_every_interval():
    page = (ROOT / "docs" / "guides" / "how-sure.md").read_text("utf-8")
    homes = (dp, dp.CDF, dp.statistics, dp.statistics.ROC, dp.statistics.classifier)
    of_homes = [name for home in homes for name in dir(home) if not name.startswith("_")]
    names = {name for name in of_homes if name.endswith(("interval", "band"))}
    assert {"band", "interval", "simultaneous_band", "recall_interval"} < names
    assert {name for name in names if not re.search(rf"[`.]{name}`", page)} == set()


@pytest.mark.needs_jit
def test_the_guide_to_several_curves(capsys):
    page = (ROOT / "docs" / "guides" / "several-curves.md").read_text("utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = run("\n".join(examples))
    *tested, last, of_hazards, of_means, of_kinds = capsys.readouterr().out.splitlines()
    assert last == "(10000,) 27"
    assert of_hazards.startswith("<DistributionTest: log-rank 30.3, p = 0.001")
    assert of_means.startswith("<RestrictedMeanDifference: 0.56")
    assert of_kinds == "[0.27 0.26] [0.27 0.25]"
    assert tested[0].startswith("<DistributionTest: cramer-von-mises 0.")
    assert "p = 0.001 of a distance of 0.1 or more" in tested[1]
    assert [line.split()[-1] for line in tested[-2:]] == ["0.003", "0.003"]
    of_parts = names["counts"].sum(axis=1)
    np.testing.assert_array_equal(of_parts, np.bincount(names["shops"], minlength=10_000))


def test_the_page_for_those_who_come_from_other_libraries(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a report is written
    page = (ROOT / "docs" / "guides" / "coming-from.md").read_text("utf-8")
    rng = np.random.default_rng(1)
    names = {"ages": rng.integers(0, 90, 5000), "dp": dp, "y_score": rng.random(5000)}
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], names)
    names |= {"p": 25, "codes": rng.integers(0, 4, 5000), "first": names["curve"], "rng": rng}
    names["y_true"] = rng.random(5000) < names["y_score"]
    names |= {"durations": rng.exponential(40, 5000), "event": rng.random(5000) < 0.7}
    by, ages = np.repeat(["f", "m"], 2500), names["ages"]
    names["grouped"] = dp.cdf(ages, GRID, by=by, groups=["f", "m"], epsilon=1.0)
    names["table"] = dp.table(ages / 90, names["y_score"], TABLE, epsilon=1.0)
    names |= {"answers": np.repeat(["yes", "no"], 2500), "ax": plt.figure().add_subplot()}
    parts = page.partition("## Questions")[2].splitlines()
    calls = [call for line in parts for call in re.findall(r"`([^`]+\(.*?\))`", line)]
    assert len(calls) >= 6
    for call in calls:
        eval(call, names)
    assert 0.4 < names["curve"].share(lower=18, upper=65) < 0.65
    fpr, tpr, thresholds = dp.roc_curve(names["y_true"], names["y_score"], epsilon=1.0)
    assert fpr.shape == tpr.shape == thresholds.shape
    plt.close("all")
