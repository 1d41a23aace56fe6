"""The command that writes a page about stored releases."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.command_line.main import main


@pytest.fixture
def stored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    with dp.Budget.open("spent", epsilon=3.0):
        mean = dp.mean(rng.random(100), (0, 1), epsilon=1.0)
    (tmp_path / "Mean & more.json").write_text(mean.to_json())
    (tmp_path / "count.json").write_text(dp.count(rng.random(100), epsilon=1.0).to_json())
    return ["Mean & more.json", "count.json"]


def test_a_page_has_all_files_and_the_budget(stored, tmp_path, capsys):
    words = ["--html", "page.html", "--title", "T", "--budget", "spent", "--level", "0.9"]
    assert main(["report", *stored, *words]) == 0
    assert capsys.readouterr().out == "wrote page.html: 2 results\n"
    page = (tmp_path / "page.html").read_text()
    for wanted in ("<h2>Mean &amp; more</h2>", "<h2>count</h2>", "<td>mean</td>", "90% intervals"):
        assert wanted in page
    assert len(dp.Budget.open("spent").log) == 1  # a page costs nothing


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["count.json", "--html", "count.json"], "--html 'count.json' is read"),
        (["count.json", "--html", "spent", "--budget", "spent"], "--html 'spent' is read"),
        (["none.json", "--html", "page.html"], "cannot be read"),
        (["count.json", "--html", "none/page.html"], "--html"),
        (["spent", "--html", "page.html"], "not JSON"),
        (["count.json", "--html", "page.html", "--level", "2"], "--level must be between 0 and 1"),
        (["count.json"], "--html"),
        (["--html", "page.html"], "FILE.json"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(stored, tmp_path, words, said, capsys):
    before = sorted(tmp_path.iterdir())
    assert main(["report", *words]) == 2
    assert said in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before
