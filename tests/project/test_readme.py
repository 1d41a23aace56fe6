"""The README's examples run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.needs_jit
def test_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    blocks = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 7
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
