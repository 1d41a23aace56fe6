"""``dpcore residuals``: quartiles from files, what shows in them, and a release that is stored."""

from __future__ import annotations

import io
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from dpcore.command_line import main as cli
from dpcore.command_line import residual_columns

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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, noise in RESIDUALS.items():
        residual = np.round(noise * 64) / 64
        table = {"p": PREDICTED, "r": residual, "y": PREDICTED + residual}
        pq.write_table(pa.table(table), f"{name}.parquet")
        rows = zip(*(column.tolist() for column in table.values()), strict=True)
        lines = [",".join(map(repr, row)) for row in rows]
        Path(f"{name}.csv").write_text("\n".join(["p,r,y", *lines, ""]))
    return tmp_path


def run(capsys, *argv: str) -> str:
    assert cli.main(["residuals", *argv]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def refused(capsys, *argv: str) -> str:
    """Return the error line of a run that has to fail, and has to have printed nothing else."""
    assert cli.main(["residuals", *argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("dpcore: error: ")
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("dpcore: error: ").rstrip()


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
def test_quartiles_of_exact_counts(folder, capsys, file, column, residual):
    argv = ["--predicted", "p", *column, *RANGES, *SURE, "--cells", "32"]
    out = run(capsys, file, *argv)
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


def test_cells_that_end_at_whole_numbers_hold_others(folder, capsys):
    quartiles = table(run(capsys, "ideal.csv", *EXACT))[:, 3:]
    assert np.mean(quartiles != np.rint(quartiles)) > 0.9


@pytest.mark.needs_jit
def test_what_is_printed_is_what_is_stored_and_drawn(folder, capsys):
    argv = ["fan.csv", *COLUMNS, "--epsilon", "2", "--json", "o.json", "--plot", "o.svg"]
    out = run(capsys, *argv)
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
        curve = plot.table.conditional("y", *ends)
        assert records == curve.n
        assert np.all(np.diff(quartiles) >= 0.0)
    assert Path("o.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.needs_jit
@pytest.mark.parametrize(("epsilon", "growth"), [("1", 4), ("0.25", 1.5)])
def test_a_fan_and_a_bend_show(folder, capsys, monkeypatch, epsilon, growth):
    """Down to n epsilon = 1000, at which residual plots are to be told apart."""
    seeded = partial(dp.residual_plot, rng=np.random.default_rng(1))
    monkeypatch.setattr(dp, "residual_plot", seeded)
    quartiles = {
        name: table(run(capsys, f"{name}.csv", *COLUMNS, "--epsilon", epsilon, "--unit", "2"))[
            :, 3:
        ]
        for name in RESIDUALS
    }
    fan, ideal = (np.diff(quartiles[name][:, [0, 2]]).ravel() for name in ("fan", "ideal"))
    assert fan[-2:].mean() > growth * fan[0]
    assert 0.5 < ideal[-2:].mean() / ideal[:2].mean() < 1.5
    bend = quartiles["bend"][:, 1]
    assert min(bend[0], bend[-1]) > 0.5
    assert bend[bend.size // 2] < -1.5
    assert np.abs(quartiles["fan"][:3, 1]).max() < 1.0


def test_quartiles_are_drawn(folder, capsys):
    out = run(capsys, "bend.csv", *EXACT)
    quartiles = table(out)[:, 3:]
    places = np.rint(9 + 9 * quartiles / np.abs(quartiles).max()).astype(int)
    for (low, median, high), drawing in zip(places, drawings(out), strict=True):
        assert abs(drawing.index("|") - median) <= 1  # three digits are printed
        assert abs(len(drawing) - len(drawing.lstrip(" :")) - low) <= 1
        assert abs(len(drawing.rstrip(" :")) - 1 - high) <= 1
        assert len(drawing) <= 19
        if low > 10 or high < 8:
            assert drawing[9] == ":"


def test_one_cell_and_no_record_within(folder, capsys):
    rows = table(run(capsys, "ideal.csv", *COLUMNS, *ONE_CELL))
    assert rows[0, :3].tolist() == [-8, 56, 4000]
    assert cli.main(["residuals", "ideal.csv", *EXACT, "--residual-range", "50", "60"]) == 0
    out, err = capsys.readouterr()
    assert out.endswith("No quartiles: no record is within the bounds.\n")
    assert "outside     4000 records (released)\n" in out
    assert err.startswith("dpcore: warning: 100 % of the records are outside")
    assert err.endswith("are --unit and the ranges right?\n")


@pytest.mark.parametrize("column", [["--residual", "r"], ["--actual", "r"]])
def test_no_number_is_an_error(folder, capsys, column):
    values = [1e308, -1e308, np.inf, -np.inf, 5e-324, 0.0, 66321.75, 2.0**63]
    for predicted, residual in [(values, values[::-1]), (values, [1] * 8), ([2**62] * 8, values)]:
        pq.write_table(pa.table({"p": predicted, "r": residual}), "v.parquet")
        argv = ["v.parquet", "--predicted", "p", *column, "--epsilon", "1", "--json", "o.json"]
        assert cli.main(["residuals", *argv]) == 0
        assert "records     8\n" in capsys.readouterr().out


def test_options_are_those_of_python(folder, monkeypatch, capsys):
    found = []

    def spy(predicted, residuals, *, rng=None, **options):
        found.append(options)
        return dp.releases.residual_plot.residual_plot(predicted, residuals, rng=rng, **options)

    monkeypatch.setattr(dp, "residual_plot", spy)
    argv = ["ideal.csv", *COLUMNS, "--epsilon", "1"]
    run(capsys, *argv)
    given = ["--unit", "2", "--unit", "0.5", "--cells", "8", "--cells", "4", "--search"]
    run(
        capsys,
        *argv,
        *given,
        "sparse-vector",
        "--mechanism",
        "dawa",
        "--predicted-range",
        "-1e2",
        "1e2",
    )
    assert found[1] == {
        **{"epsilon": 1.0, "unit": 1.0, "cells": None, "search": "compact", "mechanism": None},
        **{"predicted_range": None, "residual_range": None, "integers": (None, None)},
    }
    assert found[3] == {
        **{"epsilon": 1.0, "unit": (2.0, 0.5), "cells": (8, 4), "search": "sparse-vector"},
        **{"mechanism": dp.mechanisms.Dawa, "predicted_range": [-100.0, 100.0]},
        **{"residual_range": None, "integers": (None, None)},
    }


@pytest.mark.parametrize("kinds", ["int64 int16", "int64 float64", "float64 uint8"])
@pytest.mark.parametrize("other", ["--residual", "--actual"])
def test_a_schema_states_whole_numbers_and_text_does_not(folder, kinds, other):
    first, second = kinds.split()
    values = np.arange(1, 101)
    table = pa.table({"p": values.astype(first), "r": values.astype(second)})
    pq.write_table(table, "w.parquet")
    Path("w.csv").write_text("p,r\n" + "".join(f"{each},{each}\n" for each in values))
    whole = [kind.startswith(("int", "uint")) or None for kind in (first, second)]
    if other == "--actual":  # residuals are differences of both
        whole[1] = True if all(whole) else None
    for file, known in (("w.parquet", tuple(whole)), ("w.csv", (None, None))):
        columns = ["--predicted", "p", other, "r", "--epsilon", "9", "--json", "o.json"]
        assert cli.main(["residuals", file, *columns]) == 0
        plot = dp.ResidualPlot.from_json(Path("o.json").read_text())
        assert plot.table.integers == known


def test_bounds_that_are_too_wide_are_warned_of(folder, capsys):
    assert cli.main(["residuals", "ideal.csv", *EXACT, "--residual-range", "-1e3", "1e3"]) == 0
    err = capsys.readouterr().err
    assert "a smaller --unit, or --residual-range if it is public, shows more\n" in err


def test_standard_input_and_all_batches(folder, capsys, monkeypatch):
    once = table(run(capsys, "ideal.csv", *EXACT))
    text = Path("ideal.csv").read_bytes()
    rows = text.partition(b"\n")[2]
    stream = io.BytesIO(text + 60 * rows)  # some blocks of the reader
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
    out = run(capsys, "-", *EXACT)
    assert f"records     {61 * SIZE}\n" in out
    assert np.array_equal(table(out) * [1, 1, 1 / 61, 1, 1, 1], once)


def test_missing_values(folder, capsys):
    Path("m.csv").write_text("p,r,y\n1,2,inf\n,3,1\n4,,1\nNaN,1,2\ninf,1,inf\n5,1,\n6,1,7\n")
    policy = "has missing values (NaN, null or empty); clean them, or leave them out with"
    for number, line in enumerate(["1,\n", ",1\n", ",\n", "1,NaN\n"]):
        Path("n.csv").write_text(f"p,r\n1,2\n{line}")
        column = "--predicted 'p'" if number in (1, 2) else "--residual 'r'"
        assert refused(capsys, "n.csv", *EXACT) == f"{column} {policy} --nan-policy omit"
    out = run(capsys, "m.csv", *COLUMNS, *ONE_CELL, "--nan-policy", "omit")
    assert "records     4\n" in out
    assert "outside     1 records (released)\n" in out  # the infinite one
    actual = ["--predicted", "p", "--actual", "y", *ONE_CELL]
    assert f"--predicted 'p' {policy}" in refused(capsys, "m.csv", *actual)
    out = run(capsys, "m.csv", *actual, "--nan-policy", "omit")
    assert "records     4\n" in out
    Path("e.csv").write_text("p,r\n,\n")
    assert refused(capsys, "e.csv", *EXACT, "--nan-policy", "omit") == (
        "--predicted 'p' and --residual 'r' hold no records in FILE 'e.csv'"
    )


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--epsilon", "0"], "--epsilon must be positive and finite; got 0.0"),
        (["--epsilon", "1e-300"], "--epsilon "),
        (["--epsilon", "inf"], "--epsilon must be finite; got inf"),
        (["--unit", "0"], "--unit must be"),
        (["--unit", "-1e0"], "--unit must be"),
        (["--unit", "1", "--unit", "inf"], "--unit must be"),
        (["--unit", "1", "--unit", "1", "--unit", "1"], "--unit must be one number, or two"),
        (["--predicted-range", "2", "1"], "--predicted-range must rise"),
        (["--residual-range", "-inf", "1"], "--residual-range must be finite; got -inf"),
        (["--residual-range", "-1e3", "-1e4"], "--residual-range must rise"),
        (["--residual-range", "1"], "argument --residual-range: expected 2 arguments"),
        (["--cells", "0"], "--cells must be between 1 and"),
        (["--cells", "8", "--cells", "-1"], "--cells must be between 1 and"),
        (["--cells", "5000", "--cells", "5000"], "--cells must "),
        (["--cells", "many"], "argument --cells: invalid int value: 'many'"),
        (["--cells", "1"] * 2 + ["--cells", "1"], "--cells must be one number, or two"),
        (["--search", "x"], "argument --search: invalid choice: 'x'"),
        (["--mechanism", "dyadic"], "argument --mechanism: invalid choice: 'dyadic'"),
        (["--actual", "y"], "argument --actual: not allowed with argument --residual"),
        (["--rho", "1"], "unrecognized arguments: --rho 1"),
        (["--json", "none/o.json"], "--json 'none/o.json' cannot be written"),
        (["--json", "ideal.csv"], "--json 'ideal.csv' is FILE"),
        (["--plot", "o.xyz"], "--plot must end in one of"),
        (["--residual", "p"], "--residual must differ from --predicted 'p'; got 'p'"),
    ],
)
def test_what_is_refused_before_the_data_are_read(folder, capsys, monkeypatch, argv, words):
    reader = residual_columns.record_batches

    def read(*arguments, **options):
        batches = reader(*arguments, **options)  # which checks its arguments at once
        raise AssertionError(batches)

    monkeypatch.setattr(residual_columns, "record_batches", read)
    found = refused(capsys, "ideal.csv", *COLUMNS, "--epsilon", "1", *argv)
    assert found.startswith(words)


@pytest.mark.parametrize(
    ("content", "argv", "words"),
    [
        ("p,r\n1,66321.75?\n", [], "--predicted 'p' or --residual 'r' must hold numbers; got text"),
        ("p,x\n1,66321.75\n", [], "--residual must be a name in the first line of 'd.csv'"),
        ("66321.75,r\n1,2\n", [], "--predicted must be a name in the first line of 'd.csv'"),
        ("p,r\n1\n", [], "FILE 'd.csv' is not a well-formed CSV file"),
        ("", [], "FILE 'd.csv' is empty"),
    ],
)
def test_files_that_are_refused(folder, capsys, content, argv, words):
    Path("d.csv").write_text(content)
    found = refused(capsys, "d.csv", *EXACT, *argv, "--json", "o.json")
    assert found.startswith(words)
    assert "66321" not in found
    assert not Path("o.json").exists()


def test_nothing_is_written_in_part(folder, capsys, monkeypatch):
    Path("o.json").write_text("old")
    Path("o.png").mkdir()
    refused(capsys, "ideal.csv", *EXACT, "--json", "o.json", "--plot", "o.png")
    assert Path("o.json").read_text() == "old"


def test_json_is_made_only_if_it_is_asked_for(folder, capsys, monkeypatch):
    monkeypatch.setattr(dp.ResidualPlot, "to_json", None)
    run(capsys, "ideal.csv", *EXACT)


@pytest.mark.filterwarnings("always::dpcore.DpcoreWarning")
def test_what_is_checked_before_is_not_warned_of(folder, capsys):
    run(capsys, "ideal.csv", *EXACT)  # of a single record, with which arguments are checked


def test_columns_are_required(capsys):
    assert "required: FILE, --predicted, --epsilon" in refused(capsys)
    found = refused(capsys, "t.csv", "--predicted", "p", "--epsilon", "1")
    assert "one of the arguments --residual --actual is required" in found


def test_help(capsys):
    assert "--residual-range A B" in run(capsys, "--help")
