"""``dpcore residuals``: quartiles from files, what shows in them, and a release that is stored."""

from __future__ import annotations

import io
import re
import sys
from functools import partial, wraps
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from dpcore.command_line import main as cli

COLUMNS = ["--predicted", "p", "--residual", "r"]
RANGES = ["--predicted-range", "-8", "56", "--residual-range", "-16", "16"]
SURE = ["--epsilon", "1e6", "--mechanism", "histogram"]  # integer noise that is zero
EXACT = [*COLUMNS, *RANGES, *SURE, "--cells", "32"]
ONE_CELL = [*RANGES, *SURE, "--cells", "1"]
RNG = np.random.default_rng(1)
SIZE = 4000
PREDICTED = np.round(RNG.uniform(0, 48, SIZE) * 64) / 64  # differences are exact
RESIDUALS = {
    "ideal": RNG.normal(0, 3, SIZE),
    "fan": RNG.normal(0, PREDICTED / 8),
    "bend": RNG.normal(0, 1, SIZE) + (PREDICTED - 24) ** 2 / 80 - 3,
}


pytestmark = pytest.mark.usefixtures("residual_tables")


@pytest.fixture
def residual_tables(folder):
    for name, noise in RESIDUALS.items():
        residual = np.round(noise * 64) / 64
        table = pa.table({"p": PREDICTED, "r": residual, "y": PREDICTED + residual})
        pq.write_table(table, f"{name}.parquet")
        pc.write_csv(table, f"{name}.csv")


def table(out: str) -> np.ndarray:
    """Return the numbers of the table: from, to, records, and three quartiles."""
    rows = out.rpartition("\n\n")[2].splitlines()[1:]
    return np.array([[float(word) for word in row.split()[:6]] for row in rows])


def drawings(out: str) -> list[str]:
    lines = out.rpartition("\n\n")[2].splitlines()
    start = lines[0].index("75 %") + len("75 %  ")
    return [line[start:] for line in lines[1:]]


@pytest.mark.parametrize("file", ["ideal.csv", "ideal.parquet"])
@pytest.mark.parametrize(
    ("column", "residual"), [(["--residual", "r"], "r"), (["--actual", "y"], "y less p")]
)
def test_quartiles_of_exact_counts(ran, file, column, residual):
    argv = ["--predicted", "p", *column, *RANGES, *SURE, "--cells", "32"]
    out = ran("residuals", file, *argv)
    assert "predicted   p, -8 to 56 (given)\n" in out
    assert f"residual    {residual}, -16 to 16 (given)\n" in out
    assert "records     4000\n" in out
    assert "outside     0 records (released)\n" in out
    assert "cells       32 x 32\n" in out
    rows = table(out)
    assert 7 <= len(rows) <= 10
    assert np.array_equal(rows[1:, 0], rows[:-1, 1])
    residuals = pq.read_table("ideal.parquet")["r"].to_numpy()
    for lower, upper, records, *quartiles in rows:
        own = residuals[(lower < PREDICTED) & (upper >= PREDICTED)]
        assert records == own.size
        assert np.all(np.abs(quartiles - np.quantile(own, [0.25, 0.5, 0.75])) < 1.0)  # a cell
    assert np.mean(rows[:, 3:] != np.rint(rows[:, 3:])) > 0.9  # ends of cells are whole


@pytest.mark.needs_jit
def test_what_is_printed_is_what_is_stored_and_drawn(ran):
    argv = ["fan.csv", *COLUMNS, "--epsilon", "2", "--json", "o.json", "--plot", "o.svg"]
    out = ran("residuals", *argv)
    plot = dp.ResidualPlot.from_json(Path("o.json").read_text())
    assert plot.privacy == dp.Privacy(2.0)
    assert f"privacy     {plot.privacy}\n" in out
    assert f"outside     {plot.outside:.0f} records (released)\n" in out
    assert f"cells       {plot.cells.shape[0]} x {plot.cells.shape[1]}\n" in out
    for name, (low, high) in {"p": plot.predicted_range, "r": plot.residual_range}.items():
        assert f"{name}, {low:.6g} to {high:.6g} (released)\n" in out
    edges = np.append(plot.table.grid.x.lower, plot.table.grid.x.thresholds)
    for lower, upper, records, *quartiles in table(out):
        ends = [edges[np.abs(edges - end).argmin()] for end in (lower, upper)]
        assert records == plot.table.conditional("y", *ends).n
        assert np.all(np.diff(quartiles) >= 0.0)
    assert Path("o.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.needs_jit
@pytest.mark.parametrize(("epsilon", "growth"), [("1", 4), ("0.25", 1.5)])
def test_a_fan_and_a_bend_show(ran, monkeypatch, epsilon, growth):
    """Down to n epsilon = 1000, at which residual plots are to be told apart."""
    seeded = partial(dp.residual_plot, rng=np.random.default_rng(1))
    monkeypatch.setattr(dp, "residual_plot", seeded)
    argv = [*COLUMNS, "--epsilon", epsilon, "--unit", "2"]
    quartiles = {name: table(ran("residuals", f"{name}.csv", *argv))[:, 3:] for name in RESIDUALS}
    fan, ideal = (np.diff(quartiles[name][:, [0, 2]]).ravel() for name in ("fan", "ideal"))
    assert fan[-2:].mean() > growth * fan[0]
    assert 0.5 < ideal[-2:].mean() / ideal[:2].mean() < 1.5
    bend = quartiles["bend"][:, 1]
    assert min(bend[0], bend[-1]) > 0.5
    assert bend[bend.size // 2] < -1.5
    assert np.abs(quartiles["fan"][:3, 1]).max() < 1.0


def test_quartiles_are_drawn(ran):
    out = ran("residuals", "bend.csv", *EXACT)
    quartiles = table(out)[:, 3:]
    places = np.rint(9 + 9 * quartiles / np.abs(quartiles).max()).astype(int)
    for (low, median, high), drawing in zip(places, drawings(out), strict=True):
        assert abs(drawing.index("|") - median) <= 1  # three digits are printed
        assert abs(len(drawing) - len(drawing.lstrip(" :")) - low) <= 1
        assert abs(len(drawing.rstrip(" :")) - 1 - high) <= 1
        assert len(drawing) <= 19
        if low > 10 or high < 8:
            assert drawing[9] == ":"


def test_one_cell_and_wrong_ranges(ran, capsys):
    rows = table(ran("residuals", "ideal.csv", *COLUMNS, *ONE_CELL))
    assert rows[0, :3].tolist() == [-8, 56, 4000]
    assert cli.main(["residuals", "ideal.csv", *EXACT, "--residual-range", "50", "60"]) == 0
    out, err = capsys.readouterr()
    assert out.endswith("No quartiles: no record is within the bounds.\n")
    assert "outside     4000 records (released)\n" in out
    assert err.startswith("dpcore: warning: 100 % of the records are outside")
    assert err.endswith("are --unit and the ranges right?\n")
    assert cli.main(["residuals", "ideal.csv", *EXACT, "--residual-range", "-1e3", "1e3"]) == 0
    assert "a smaller --unit, or --residual-range if it is public" in capsys.readouterr().err


@pytest.mark.parametrize("column", [["--residual", "r"], ["--actual", "r"]])
def test_no_number_is_an_error(capsys, column):
    values = [1e308, -1e308, np.inf, -np.inf, 5e-324, 0.0, 66321.75, 2.0**63]
    for predicted, residual in [(values, values[::-1]), (values, [1] * 8), ([2**62] * 8, values)]:
        pq.write_table(pa.table({"p": predicted, "r": residual}), "v.parquet")
        argv = ["v.parquet", "--predicted", "p", *column, "--epsilon", "1", "--json", "o.json"]
        assert cli.main(["residuals", *argv]) == 0
        assert "records     8\n" in capsys.readouterr().out


def test_options_are_those_of_python(ran, monkeypatch):
    calls = []

    @wraps(dp.residual_plot)
    def spy(predicted, residuals, *, rng=None, **options):
        calls.append(options)
        return dp.releases.residual_plot.residual_plot(predicted, residuals, rng=rng, **options)

    monkeypatch.setattr(dp, "residual_plot", spy)
    argv = ["ideal.csv", *COLUMNS, "--epsilon", "1"]
    ran("residuals", *argv)
    given = ["--unit", "2", "--unit", "0.5", "--cells", "8", "--cells", "4", "--search"]
    ranges = ["--mechanism", "dawa", "--predicted-range", "-1e2", "1e2"]
    ran("residuals", *argv, *given, "sparse-vector", *ranges)
    assert calls[1] == {
        **{"epsilon": 1.0, "unit": 1.0, "cells": None, "search": "compact", "mechanism": None},
        **{"predicted_range": None, "residual_range": None, "integers": (None, None)},
        "nan_policy": "raise",
    }
    assert calls[3] == {
        **{"epsilon": 1.0, "unit": (2.0, 0.5), "cells": (8, 4), "search": "sparse-vector"},
        **{"mechanism": dp.mechanisms.Dawa, "predicted_range": (-100.0, 100.0)},
        **{"residual_range": None, "integers": (None, None), "nan_policy": "raise"},
    }


@pytest.mark.parametrize("kinds", ["int64 int16", "int64 float64", "float64 uint8"])
@pytest.mark.parametrize("other", ["--residual", "--actual"])
def test_a_schema_states_whole_numbers_and_text_does_not(kinds, other):
    first, second = kinds.split()
    values = np.arange(1, 101)
    table = pa.table({"p": values.astype(first), "r": values.astype(second)})
    pq.write_table(table, "w.parquet")
    Path("w.csv").write_text("p,r\n" + "".join(f"{value},{value}\n" for value in values))
    whole = [kind.startswith(("int", "uint")) or None for kind in (first, second)]
    if other == "--actual":  # residuals are differences of both
        whole[1] = True if all(whole) else None
    for file, known in (("w.parquet", tuple(whole)), ("w.csv", (None, None))):
        columns = ["--predicted", "p", other, "r", "--epsilon", "9", "--json", "o.json"]
        assert cli.main(["residuals", file, *columns]) == 0
        plot = dp.ResidualPlot.from_json(Path("o.json").read_text())
        assert plot.table.integers == known


def test_standard_input_and_all_batches(ran, monkeypatch):
    once = table(ran("residuals", "ideal.csv", *EXACT))
    text = Path("ideal.csv").read_bytes()
    rows = text.partition(b"\n")[2]
    stream = io.BytesIO(text + 60 * rows)  # some blocks of the reader
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
    out = ran("residuals", "-", *EXACT)
    assert f"records     {61 * SIZE}\n" in out
    assert np.array_equal(table(out) * [1, 1, 1 / 61, 1, 1, 1], once)


def test_missing_values_and_infinite_ones(ran):
    Path("m.csv").write_text("p,r,y\n1,2,inf\n,3,1\n4,,1\nNaN,1,2\ninf,1,inf\n5,1,\n6,1,7\n")
    omitted = ["--nan-policy", "omit"]
    out = ran("residuals", "m.csv", *COLUMNS, *ONE_CELL, *omitted)
    assert "records     4\n" in out
    assert "outside     1 records (released)\n" in out  # the infinite one
    out = ran("residuals", "m.csv", "--predicted", "p", "--actual", "y", *ONE_CELL, *omitted)
    assert "records     4\n" in out


@pytest.mark.parametrize("policy", ["raise", "omit"])
@pytest.mark.parametrize("last", ["inf,inf", "-inf,-inf", "inf,-inf", "inf,3", "3,inf", "3,3"])
def test_how_many_records_there_are_does_not_depend_on_what_they_are(ran, capsys, last, policy):
    Path("i.csv").write_text(f"p,y\n1,2\n2,1\n{last}\n")
    argv = ["i.csv", "--predicted", "p", "--actual", "y", *ONE_CELL, "--nan-policy", policy]
    with np.errstate(invalid="raise", over="raise"):
        assert cli.main(["residuals", *argv]) == 0
    out = capsys.readouterr().out
    assert "records     3\n" in out
    assert f"outside     {int('inf' in last)} records (released)\n" in out


def test_the_share_of_a_mechanism_has_six_digits(ran):
    Path("s.csv").write_text("p,r\n" + "1.5,0.5\n" * 2100)
    out = ran("residuals", "s.csv", *COLUMNS, "--epsilon", "0.9", "--cells", "2")
    assert re.search(r"^mechanism +\w+, epsilon 0\.67619$", out, re.MULTILINE)  # 0.9 - 470 / 2100
