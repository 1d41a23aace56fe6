"""``dpcore cdf``: right quantiles, as stored and drawn, from files and standard input."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from dpcore import _progress
from dpcore.command_line import main as cli
from tests.command_line.tables import EXACT, FLAGS, VALUES, names, run

pytestmark = pytest.mark.usefixtures("tables")


def quantiles(out: str) -> dict[int, float]:
    table = out.partition(" (noise)\n")[2].splitlines()
    return {int(line.split()[0]): float(line.split()[2]) for line in table}


@pytest.mark.parametrize("file", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("extra", [[], ["--raw"], ["--smooth", "2"], ["--smooth", "1"]])
def test_quantiles(ran, file, extra):
    out = ran("cdf", file, *EXACT, *extra)
    assert quantiles(out) == {p: p for p in (1, 5, 10, 25, 50, 75, 90, 95, 99)}
    assert "records     1000\n" in out
    assert f"privacy     {dp.Privacy(1e6)}\n" in out
    assert "mechanism   dyadic, " in out


@pytest.mark.parametrize(("extra", "processing"), [(["--raw"], ()), ([], ("isotonic()",))])
def test_what_is_printed_is_what_is_stored(capsys, extra, processing):
    argv = ["cdf", "t.csv", *FLAGS, "--epsilon", "0.01", "--json", "o.json", *extra]
    assert cli.main(argv) == 0
    curve = dp.CDF.from_json(Path("o.json").read_text())
    out = capsys.readouterr().out
    assert curve.processing == processing
    assert f"curve       {processing[0] if processing else 'raw'}\n" in out
    assert f"std. error  {curve.standard_error().max():.2g} " in out
    for percent, value in quantiles(out).items():
        assert value == pytest.approx(float(curve.quantile(percent / 100)))


def test_all_batches_count(ran):
    pq.write_table(pa.table({"x": np.tile(VALUES, 200)}), "big.parquet")
    out = ran("cdf", "big.parquet", *EXACT)
    assert "records     200000\n" in out
    assert quantiles(out)[75] == 75


def test_mechanisms():
    argv = ["cdf", "t.csv", *FLAGS, "--epsilon", "0.5", "--json", "o.json"]
    for extra, mechanism in {
        (): dp.plan(1000, epsilon=0.5, n=1000).best,
        ("--mechanism", "hierarchy"): dp.mechanisms.Hierarchy(0.5),
        ("--mechanism", "histogram"): dp.mechanisms.Histogram(0.5),
        ("--mechanism", "dawa"): dp.mechanisms.Dawa(0.5),
        ("--mechanism", "dyadic", "--base", "3"): dp.mechanisms.Dyadic(0.5, base=3),
        ("--mechanism", "dyadic-paper"): dp.mechanisms.Dyadic(0.5, sensitivity="paper"),
    }.items():
        assert cli.main([*argv, *extra]) == 0
        curve = dp.CDF.from_json(Path("o.json").read_text())
        assert curve.mechanism == mechanism.describe()
        assert not curve.privacy.simulated


def test_stored_curve_and_pictures(tables, ran):
    import matplotlib.pyplot as plt

    plt.close("all")  # those of other tests
    ran("cdf", "t.csv", *EXACT, "--json", "o.json", "--plot", "o.png")
    curve = dp.CDF.from_json(Path("o.json").read_text())
    assert np.array_equal(curve.counts, np.arange(1, 1001))
    assert Path("o.png").read_bytes().startswith(b"\x89PNG")
    assert names(tables) == ["o.json", "o.png", "t.csv", "t.parquet"]
    Path("d.csv").write_text("$x^{$\n1\n2\n", encoding="utf-8")
    for picture, magic in {"o.SVG": b"<?xml", "o.pdf": b"%PDF"}.items():
        ran("cdf", "d.csv", *EXACT, "--column", "$x^{$", "--plot", picture)
        assert Path(picture).read_bytes().startswith(magic)
    assert plt.get_fignums() == []


def test_negative_bounds_in_any_notation(ran):
    for lower in (["--lower", "-1e1"], ["--lower=-10"], ["--lower", "-10"]):
        assert quantiles(ran("cdf", "t.csv", *EXACT, *lower, "--size", "1100"))[50] == 50


def test_tabs_and_byte_order_marks(ran):
    Path("d.txt").write_bytes(b"\xef\xbb\xbfx\ty\n3\ta\n")
    argv = ["cdf", "d.txt", *EXACT, "--format", "csv", "--delimiter", r"\t"]
    assert quantiles(ran(*argv))[50] == 2.95  # the middle of a cell
    assert quantiles(ran(*argv, "--integers"))[50] == 3


def test_whole_numbers_are_known_by_a_schema_or_by_name_and_not_by_cells(ran):
    values = np.random.default_rng(1).integers(1, 90, 501)
    pq.write_table(pa.table({"x": values}), "w.parquet")
    pq.write_table(pa.table({"x": values / 1.0}), "f.parquet")
    Path("w.csv").write_text("x\n" + "\n".join(map(str, values)) + "\n")
    exact = np.quantile(values, 0.5, method="inverted_cdf")
    between, units = ["--size", "300"], ["--size", "100"]
    for file, flags, is_exact in (
        ("w.parquet", between, True),
        ("w.parquet", [*between, "--no-integers"], False),
        ("f.parquet", between, False),
        ("f.parquet", [*between, "--integers"], True),
        ("w.csv", between, False),
        ("w.csv", [*between, "--integers"], True),
        ("w.csv", units, False),
        ("w.csv", [*units, "--integers"], True),
        ("f.parquet", units, False),
        ("w.parquet", units, True),
        ("w.csv", [*units, "--no-integers"], False),
    ):
        median = quantiles(ran("cdf", file, *EXACT, *flags))[50]
        assert bool(median == exact) is is_exact, (file, flags)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("file", ["t.csv", "t.parquet"])
def test_progress_bar_on_terminals_only(monkeypatch, file):
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert cli.main(["cdf", file, *EXACT, "--quiet"]) == 0
    assert sys.stderr.getvalue() == ""
    monkeypatch.setattr(_progress, "_SECONDS_TO_A_BAR", 0)
    assert cli.main(["cdf", file, *EXACT]) == 0
    assert f"reading {file}: 100%" in sys.stderr.getvalue()


def test_letters_that_the_output_does_not_know(monkeypatch):
    Path("d.csv").write_text("漢\n1\n", encoding="utf-8")
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert cli.main(["cdf", "d.csv", *EXACT, "--column", "漢"]) == 0
    assert raw.getvalue().startswith(rb"column      \u6f22")


def test_version_and_help(ran):
    assert ran("--version") == f"dpcore {dp.__version__}\n"
    for command, option in (
        ("cdf", "--nan-policy"),
        ("cdf", "a folder of Parquet files"),
        ("roc", "--positive"),
        ("calibration", "--positive"),
        ("hosmer-lemeshow", "--positive"),
        ("residuals", "--residual-range A B"),
    ):
        assert option in " ".join(ran(command, "--help").split())


def test_as_a_process_with_standard_input(tables):
    done = run("cdf", "-", *EXACT, input=(tables / "t.csv").read_bytes())
    assert (done.returncode, done.stderr) == (0, b"")
    assert quantiles(done.stdout.decode())[90] == 90
