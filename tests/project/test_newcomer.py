"""What a newcomer writes first, which is the README's first example: it runs, and is right."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dpcore as dp

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture(scope="module")
def script():
    found = re.search(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    return found[1]


@pytest.mark.needs_jit
def test_the_script_of_a_newcomer(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    names: dict = {}
    exec(script, names)
    plt.close("all")
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


def test_it_has_no_more_than_two_dozen_lines(script):
    assert len([line for line in script.splitlines() if line.strip()]) <= 24
