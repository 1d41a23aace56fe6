"""The examples of the README and of docs/tutorials/tour.md run as they stand."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.needs_jit
def test_the_tour(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    page = (ROOT / "docs" / "tutorials" / "tour.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 6
    names: dict = {}
    for block in blocks:
        exec(block, names)
    plt.close("all")
    assert names["again"].is_monotone
    assert len(names["results"]) == 400
    assert names["plot"].cells.sum() > 19_000
    assert names["table"].n == 20_000
    assert names["noisy"].shape == (200, 4096)
    assert names["smoothed"].cumulative.shape == (200, 4095)


def test_the_output_in_the_readme():
    readme = ROOT / "README.md"
    found = doctest.testfile(str(readme), module_relative=False)
    assert found.attempted == 10
    assert found.failed == 0
