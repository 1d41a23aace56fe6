"""``dpcore roc``: right rates from files, discreet errors, and a release that is stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from dpcore.command_line import main as cli
from dpcore.command_line.labels import is_label
from dpcore.statistics.roc import ROC

FLAGS = ["--label", "y", "--score", "s", "--lower", "0", "--upper", "1", "--size", "100"]
EXACT = [*FLAGS, "--epsilon", "1e6", "--mechanism", "dyadic"]  # integer noise that is zero
RNG = np.random.default_rng(1)
LABELS = RNG.random(2000) < 0.25
SCORES = np.round(np.clip(RNG.normal(0.35 + 0.3 * LABELS, 0.15), 0.005, 0.995), 2) - 0.005


pytestmark = pytest.mark.usefixtures("scores")


@pytest.fixture
def scores(folder):
    rows = "".join(
        f"{'yes' if y else 'no'},{s!r}\n" for y, s in zip(LABELS, SCORES.tolist(), strict=True)
    )
    Path("t.csv").write_text(f"y,s\n{rows}")
    pq.write_table(pa.table({"s": SCORES, "y": LABELS}), "t.parquet")


def table(out: str) -> list[list[str]]:
    rows = out.partition("scores above\n")[2].splitlines()
    return [row.replace("%", "").replace(" -", " ").split() for row in rows]


@pytest.mark.parametrize("argv", [["t.csv", "--positive", "yes"], ["t.parquet"]])
@pytest.mark.parametrize("extra", [[], ["--smooth", "2"]])
def test_rates_and_area(ran, argv, extra):
    out = ran("roc", *argv, *EXACT, *extra)
    exact = ROC.from_curves(
        dp.score_curves(LABELS, SCORES, dp.Grid.uniform(0, 1, 100), dp.mechanisms.NoNoise())
    )
    assert f"AUC         {exact.auc:.4g}\n" in out
    assert f"positives   {LABELS.sum()} (released)\n" in out
    assert "records     2000\n" in out
    rows = table(out)
    assert len(rows) == 6
    for percent, tpr, low, high, threshold in rows:
        above = [np.mean(SCORES[own] > float(threshold)) for own in (~LABELS, LABELS)]
        assert above[0] <= float(percent) / 100
        assert np.mean(SCORES[~LABELS] > float(threshold) - 0.01) > float(percent) / 100
        assert float(tpr) / 100 == pytest.approx(above[1], abs=1e-4)
        assert float(low) <= float(tpr) <= float(high)


def test_what_is_printed_is_what_is_stored_and_drawn(ran):
    argv = ["t.csv", "--positive", "yes", *FLAGS, "--epsilon", "4"]
    out = ran("roc", *argv, "--json", "o.json", "--plot", "o.svg")
    curves = dp.ScoreCurves.from_json(Path("o.json").read_text())
    assert f"AUC         {ROC.from_curves(curves).auc:.4g}\n" in out
    assert f"positives   {curves.positives[-1]:.0f} (released)\n" in out
    assert curves.privacy == dp.Privacy(4.0)
    assert "label       y, positive if yes\nscore       s\n" in out
    assert "curve       isotonic()\n" in out
    assert Path("o.svg").read_bytes().startswith(b"<?xml")


def test_all_batches_count(ran):
    pq.write_table(pa.table({"s": np.tile(SCORES, 100), "y": np.tile(LABELS, 100)}), "big.parquet")
    assert f"positives   {100 * LABELS.sum()} (released)\n" in ran("roc", "big.parquet", *EXACT)


def test_nan_is_missing_in_both_columns(refused, capsys):
    table = pa.table({"y": [1.0, np.nan, 0.0], "s": [0.1, 0.2, np.nan]})
    pq.write_table(table, "f.parquet")
    assert "--label 'y' has missing" in refused("roc", "f.parquet", *EXACT)
    assert cli.main(["roc", "f.parquet", *EXACT, "--nan-policy", "omit"]) == 0
    assert "records     1\n" in capsys.readouterr().out


def test_a_label_that_nobody_has_is_no_error(capsys):
    argv = ["roc", "t.csv", "--positive", "maybe", *EXACT]
    for picture in ([], ["--plot", "o.png"]):
        assert cli.main([*argv, *picture]) == 0
        out = capsys.readouterr().out
        assert "positives   0 (released)\n" in out
        assert out.endswith("No ROC curve: a released class has no records.\n")


@pytest.mark.parametrize(
    ("label", "typed", "same"),
    [
        (b"yes", "yes", True),
        (b" yes ", "yes", True),
        (b"Yes", "yes", False),
        ("yes", "yes", True),
        (1, "1", True),
        (1.0, "1", True),
        (b"1.0", "1", True),
        (True, "1", True),
        (True, "true", True),
        (b"True", "1", True),
        (False, "0", True),
        (b"FALSE", "0", True),
        (False, "1", False),
        (b"nan", "1", False),
        (b"nan", "nan", True),
        (b"\xff", "1", False),
        (2**53 + 1, str(2**53), False),
        (2**53 + 1, str(2**53 + 1), True),
        (b"1_0", "10", False),
        (b"1e400", "1e401", False),
        (b"snan", "1", False),
        (10**30, "1e30", True),
        ("\u0661", "1", True),  # an Arabic digit one is a one
    ],
)
def test_labels_are_compared_as_text_and_as_numbers(label, typed, same):
    assert is_label(label, typed) == same
