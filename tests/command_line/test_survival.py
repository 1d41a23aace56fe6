"""``dpcore survival``: right numbers from files, discreet errors, and a release that is stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from dpcore.command_line.main import main

FLAGS = ["--duration", "t", "--event", "e", "--upper", "12"]
EXACT = [*FLAGS, "--epsilon", "1e6", "--mechanism", "dyadic"]  # integer noise that is zero
RNG = np.random.default_rng(1)
UNTIL = RNG.exponential(10, 2000), RNG.uniform(0, 30, 2000)
DURATIONS, EVENT = np.minimum(*UNTIL), UNTIL[0] <= UNTIL[1]
ARM = np.repeat(["new", "old"], 1000)

pytestmark = pytest.mark.usefixtures("durations")


@pytest.fixture
def durations(folder):
    rows = "".join(
        f"{'died' if e else 'left'},{t!r},{g}\n"
        for e, t, g in zip(EVENT, DURATIONS.tolist(), ARM, strict=True)
    )
    Path("t.csv").write_text(f"e,t,arm\n{rows}")
    pq.write_table(pa.table({"t": DURATIONS, "e": EVENT, "arm": ARM}), "t.parquet")


@pytest.mark.parametrize("argv", [["t.csv", "--event-label", "died"], ["t.parquet"]])
def test_numbers_of_a_file(ran, argv):
    out = ran("survival", *argv, *EXACT, "--size", "24", "--json", "o.json")
    exact = dp.survival(DURATIONS, EVENT, dp.Grid.uniform(0, 12, 24), dp.mechanisms.NoNoise())
    assert f"median      {exact.median:.4g}\n" in out
    assert f"events      {exact.events[-1]:.0f} (released)\n" in out
    rows = out.partition("(population)\n\n")[2] or out.rpartition("(population)\n")[2]
    last = rows.splitlines()[-1].split()
    assert last[0] == "12"
    assert float(last[2].rstrip("%")) == pytest.approx(100 * exact.survival[-1], abs=0.01)
    stored = dp.load("o.json")
    assert np.allclose(stored.survival, exact.survival, 0, 1e-9)
    assert stored.band(of="population").low.shape == (24,)


def test_the_number_of_cells_is_that_of_the_function(ran):
    out = ran("survival", "t.parquet", *FLAGS, "--epsilon", "1", "--plot", "o.png")
    cells = dp.survival(DURATIONS, EVENT, (0, 12), epsilon=1.0).grid.size
    assert f"cells       {cells} (by the records and the budget; --size sets it)\n" in out
    assert Path("o.png").read_bytes()[1:4] == b"PNG"


def test_a_median_that_is_not_reached_is_told_in_words(ran):
    early = [*FLAGS[:4], "--upper", "2", "--epsilon", "1e6", "--mechanism", "dyadic"]
    out = ran("survival", "t.parquet", *early, "--size", "24")
    assert "median      not reached\n95%         not reached (population)\n" in out
    out = ran("survival", "t.parquet", *early, "--size", "24", "--by", "arm", "--groups", "new,old")
    assert out.splitlines()[-1].startswith("not reached             not reached  ")
    assert "nan" not in out


@pytest.mark.parametrize("argv", [["t.csv", "--event-label", "died"], ["t.parquet"]])
def test_groups_are_shown_with_a_test(ran, argv):
    by = ["--by", "arm", "--groups", "old, new"]
    out = ran("survival", *argv, *EXACT, *by, "--size", "24", "--json", "o.json")
    grid, how = dp.Grid.uniform(0, 12, 24), {"by": ARM, "groups": ["old", "new"]}
    exact = dp.survival(DURATIONS, EVENT, grid, dp.mechanisms.NoNoise(), **how)
    stored = dp.load("o.json")
    for group, curve in exact.items():
        assert np.allclose(stored[group].survival, curve.survival, 0, 1e-9)
    assert f"log-rank    p = {dp.log_rank_test(stored).pvalue:.3g}\n" in out
    assert out.splitlines()[-1].split()[-3:] == ["1000", f"{exact['new'].events[-1]:.0f}", "new"]
    assert "\nprivacy     epsilon = 1e+06 (replace-one-within-group)\n" in out


def test_groups_are_private_by_default_and_may_be_drawn(ran):
    by = ["--by", "arm", "--groups", "new,old"]
    out = ran("survival", "t.parquet", *FLAGS, *by, "--epsilon", "1", "--plot", "o.png")
    assert "epsilon = 1 (add-or-remove-one)" in out
    how = {"by": ARM, "groups": ["new", "old"], "epsilon": 1.0}
    cells = dp.survival(DURATIONS, EVENT, (0, 12), **how)["new"].grid.size
    assert f"cells       {cells} (by the budget; --size sets it)\n" in out
    assert Path("o.png").read_bytes()[1:4] == b"PNG"


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["t.csv", *FLAGS, "--epsilon", "1"], "--event 'e' holds text"),
        (["t.parquet", *FLAGS, "--epsilon", "1", "--size", "0"], "--size must be between"),
        (["t.parquet", *FLAGS, "--epsilon", "-1"], "epsilon"),
        (["t.parquet", *FLAGS, "--epsilon", "1", "--level", "2"], "--level"),
        (["t.parquet", *FLAGS, "--epsilon", "1", "--by", "arm"], "--by needs --groups"),
        (["t.parquet", *FLAGS, "--epsilon", "1", "--lower", "20"], "--upper"),
    ],
)
def test_bad_options_are_refused(refused, argv, text):
    assert text in refused("survival", *argv)


@pytest.mark.parametrize("by", [[], ["--by", "arm", "--groups", "new,old"]])
def test_exchanged_columns_of_parquet_files_are_refused(refused, by):
    pq.write_table(pa.table({"e": DURATIONS, "t": EVENT.astype(int), "arm": ARM}), "t.parquet")
    told = refused("survival", "t.parquet", *FLAGS, *by, "--epsilon", "1")
    assert "--event 'e' holds floats, and 't' integers: are they exchanged?" in told
    kinds = ["--kinds", "1,2", *by, "--epsilon", "1"]
    told = refused("incidence", "t.parquet", *FLAGS, *kinds)
    assert told.endswith("exchanged? If not, write one of --kinds with a point, as in 1.0")
    roc = ["--label", "e", "--score", "t", "--lower", "0", "--upper", "1"]
    assert "--label 'e' holds floats" in refused("roc", "t.parquet", *roc, *by, "--epsilon", "1")


@pytest.mark.filterwarnings("always::dpcore.DpcoreWarning")
def test_a_label_that_no_event_has_is_named_as_it_is_typed(capsys):
    pq.write_table(pa.table({"t": DURATIONS, "e": EVENT.astype(int)}), "t.parquet")
    main(["survival", "t.parquet", *FLAGS, "--epsilon", "50", "--event-label", "7"])
    told = capsys.readouterr().err
    assert "is --event-label ('7') right, and are durations and event in order?" in told


@pytest.mark.parametrize("by", [[], ["--by", "arm", "--groups", "new,old"]])
def test_incidences_are_those_of_the_function(ran, by):
    argv = [*EXACT, "--kinds", "died, left", "--size", "24", *by]
    out = ran("incidence", "t.csv", *argv, "--json", "o.json", "--plot", "o.png")
    kinds = np.where(EVENT, "died", "left")
    grid = dp.Grid.uniform(0, 12, 24)
    how = {"by": ARM, "groups": ["new", "old"]} if by else {}
    given = DURATIONS, kinds, grid, ["died", "left"], dp.mechanisms.NoNoise()
    exact, stored = dp.cumulative_incidence(*given, **how), dp.load("o.json")
    pairs = [(stored[group], exact[group]) for group in exact] if by else [(stored, exact)]
    for own, wanted in pairs:
        assert np.allclose(own.incidence, wanted.incidence, 0, 1e-9)
        assert f"{wanted.incidence[0, -1]:.2%}" in out
    assert Path("o.png").read_bytes()[1:4] == b"PNG"


def test_kinds_must_be_labels_between_commas(refused):
    argv = ["t.csv", *FLAGS, "--epsilon", "1", "--kinds"]
    assert "--kinds must hold labels between commas" in refused("incidence", *argv, "a,,b")
    assert "--kinds must all be different" in refused("incidence", *argv, "a,a")
