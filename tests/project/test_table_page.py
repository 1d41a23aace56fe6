"""The examples of docs/guides/table.md run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "table.md"


def test_examples():
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names: dict = {}
    exec(block, names)
    lines = [line for line in block.splitlines() if line.startswith("released.")]
    shapes = [np.shape(eval(line, names)) for line in lines]
    assert shapes == [(25, 40), (), (), (25, 2), (50_000, 2)]
    assert abs(names["released"].conditional("y", 40, 50).quantile(0.5) - 40) < 1
