"""What compares equal, and that comparing never raises."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import numpy as np

import dpcore as dp


def dataclasses_of_dpcore():
    for module in pkgutil.walk_packages(dp.__path__, "dpcore."):
        if not module.name.startswith("dpcore.kernels") and not module.name.endswith("__main__"):
            for each in vars(importlib.import_module(module.name)).values():
                if isinstance(each, type) and dataclasses.is_dataclass(each):
                    yield each


def test_no_arrays_are_compared_where_the_result_must_be_true_or_false():
    assert dp.Smoothing in set(dataclasses_of_dpcore())
    for each in set(dataclasses_of_dpcore()):
        if each.__dataclass_params__.eq:
            arrays = {
                field.name
                for field in dataclasses.fields(each)
                if field.compare and ("NDArray" in str(field.type) or field.type == "Float")
            }
            assert not arrays, each


def test_smoothings_are_equal_to_themselves_alone():
    first, second = (dp.smooth([[1.0, 4.0, 3.0], [2.0, 2.0, 2.0]], 5) for _ in range(2))
    assert first == first
    assert first != second
    assert len({first, second}) == 2


def test_equal_grids_have_equal_hashes():
    positive, negative = dp.Grid([0.0, 1.0]), dp.Grid([-0.0, 1.0])
    assert positive == negative
    assert len({positive, negative}) == 1
    assert len({dp.Grid.uniform(0, 1, 4), dp.Grid(np.arange(1, 5) / 4)}) == 1
    assert dp.Grid([0.0, 1.0]) != dp.Grid([0.0, 2.0])
