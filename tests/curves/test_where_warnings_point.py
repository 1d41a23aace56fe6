"""Warnings point to the line that called into the package."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

import dpcore as dp


def test_warnings_point_to_files_whose_path_begins_as_that_of_the_package() -> None:
    beside = f"{Path(dp.__file__).parent}_study.py"
    code = compile("dp.cdf(values, grid, epsilon=0.01)", beside, "exec")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(code, {"dp": dp, "values": np.ones(10), "grid": dp.Grid.uniform(0, 1, 64)})
    assert [each.filename for each in caught] == [beside]
