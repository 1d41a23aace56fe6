"""What was released stays what it was: nobody can write to its arrays, however it was made."""

from __future__ import annotations

import copy
import pickle
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

import dpcore as dp
from dpcore import mechanisms, statistics, trust
from tests.project.test_copies_hold_no_records import (
    GRID,
    LABELS,
    REFUSED,
    STATES,
    VALUES,
    curves,
    protocol,
    settled,
)

pytestmark = pytest.mark.needs_jit

MORE = {
    "CDF, integers": lambda: dp.cdf(VALUES, GRID, mechanisms.Dyadic(1e-4), isotonic=False),
    "CDF, smooth": lambda: dp.cdf(VALUES, GRID, mechanisms.Dyadic(1e-4), isotonic=False).smooth(),
    "Smoothing": lambda: dp.smooth(np.array([3.0, 1.0, 4.0]), 9),
    "PolynomialSums": lambda: dp.polynomial_sums(VALUES[::1000], 0, 1, 3),
    "Quantiles, several": lambda: dp.quantiles(VALUES, [0.2, 0.5], GRID, epsilon=1.0),
    "Reliability": lambda: statistics.reliability(curves(), 4),
    "HistogramBinning": lambda: statistics.HistogramBinning.fit(curves(), 4),
    "IsotonicCalibration": lambda: statistics.IsotonicCalibration.fit(curves()),
    "BayesianBinning": lambda: statistics.BayesianBinning.fit(curves()),
    "HosmerLemeshowUnderNoise": lambda: dp.hosmer_lemeshow(
        LABELS[::100], VALUES[::100], epsilon=1.0
    ).under_noise(99),
    "PartialSum": lambda: settled(trust.SecureAggregation())[0].close(),
    "Answer": lambda: settled(trust.FunctionSharing(40.0))[0].answer([3, 5]),
    "VectorSum": lambda: trust.VectorSum(
        (of := protocol(trust.DistributedNoise(1.0, clients=3))),
        sum(trust.Client(of).vector(cell) for cell in (3, 9, 9)),
        reports=3,
    ),
    "Keys": lambda: trust.comparison.gen([1, 2], 3)[0],
    "BinormalROC": lambda: statistics.BinormalROC(0.8, 9, dp.Privacy(1.0), {"name": "smooth-auc"}),
    "Protocol": lambda: protocol(trust.DistributedNoise(1.0, clients=3)),
    "Grid": lambda: dp.Grid([1.0, 2.0, 4.0]),
}
MADE = {name: make for name, make in STATES.items() if not name.startswith(REFUSED)} | MORE
MADE = {name: make for name, make in MADE.items() if "Regression" not in name}  # as scikit-learn's


def attributes(found):
    """Names and values of public fields and properties, as far as there are any."""
    for name in dir(type(found)):
        if name.startswith("_"):
            continue
        try:
            value = getattr(found, name)
        except (dp.DpcoreError, AttributeError, NotImplementedError):
            continue
        if not callable(value):
            yield name, value


def arrays(found, depth=0):
    """Arrays inside of a value that its owner can reach through public names."""
    if isinstance(found, np.ndarray):
        yield found
    elif isinstance(found, list | tuple):
        for item in found:
            yield from arrays(item, depth + 1)
    elif isinstance(found, dict):
        for item in found.values():
            yield from arrays(item, depth + 1)
    elif type(found).__module__.startswith("dpcore") and depth < 6:
        for _, value in attributes(found):
            yield from arrays(value, depth + 1)


def again(found):
    """The object, and what other ways of making it give."""
    yield found
    yield copy.deepcopy(found)
    for level in (2, pickle.HIGHEST_PROTOCOL):
        yield pickle.loads(pickle.dumps(found, level))
    if hasattr(found, "to_json"):
        yield type(found).from_json(found.to_json())
    if is_dataclass(found):
        yield replace(found)


def contents(found):
    """All arrays of its fields, in bytes."""
    return [array.tobytes() for array in arrays(found)]


@pytest.mark.sample(9)
@pytest.mark.parametrize("name", MADE)
@pytest.mark.filterwarnings("ignore")
def test_nobody_writes_to_a_release(name):
    for found in again(MADE[name]()):
        before = contents(found)
        for array in arrays(found):
            if array.size and array.flags.writeable:  # it was made for the caller alone
                array.reshape(-1)[0] = array.dtype.type(0) if array.reshape(-1)[0] else 1
        assert contents(found) == before


def test_there_are_arrays_to_write_to():
    assert len(list(arrays(MADE["CDF"]()))) >= 4
    assert len(list(arrays(MADE["ROC"]()))) >= 8


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "name",
    [
        "CDF",
        "Bins",
        "HosmerLemeshow",
        "BoxPlot",
        "Quantiles, several",
        "PolynomialSums",
    ],
)
def test_an_array_of_the_caller_is_neither_frozen_nor_shared(name):
    found = MADE[name]()
    own = {
        field.name: np.array(getattr(found, field.name))
        for field in fields(found)
        if isinstance(getattr(found, field.name), np.ndarray)
    }
    made = replace(found, **own)
    before = contents(made)
    for array in own.values():
        assert array.flags.writeable
        array[:] = 0
    assert contents(made) == before


def test_a_read_only_view_of_an_array_of_the_caller_is_not_shared():
    found = MADE["CDF"]()
    own = np.array(found.counts)
    view = own.view()
    view.flags.writeable = False
    made = replace(found, counts=view)
    own[:] = 0
    assert made.counts.tolist() == found.counts.tolist()


@pytest.mark.parametrize("frozen_by", ["the caller", "nobody"])
def test_a_frozen_array_of_the_caller_is_not_shared(frozen_by):
    found = MADE["CDF"]()
    own = np.array(found.counts)
    earlier = own.view()
    own.flags.writeable = frozen_by == "nobody"
    made = replace(found, counts=own)
    earlier[:] = 0
    assert made.counts.tolist() == found.counts.tolist()
    own.flags.writeable = True
    own[:] = 0
    assert made.counts.tolist() == found.counts.tolist()


def test_the_thresholds_of_a_grid_are_not_shared():
    own = np.array([1.0, 2.0, 4.0])
    earlier = own.view()
    own.flags.writeable = False
    grid = dp.Grid(own)
    earlier[0] = 1.5
    assert grid == dp.Grid([1.0, 2.0, 4.0])


def test_no_flag_of_an_array_can_be_set_back():
    for made in again(MADE["CDF"]()):
        with pytest.raises(ValueError, match="WRITEABLE"):
            made.counts.flags.writeable = True


def test_what_is_read_only_is_copied_once():
    found = MADE["CDF"]()
    assert np.shares_memory(replace(found, name="other").counts, found.counts)


DESCRIBED = ["CDF", "CDF, raw", "Projection", "BinormalROC", "CDF, pointwise"]


@pytest.mark.parametrize("name", DESCRIBED)
def test_nobody_changes_the_description_of_a_mechanism(name):
    for found in again(MADE[name]()):
        told = dict(found.mechanism)
        for change in (
            lambda of: of.__setitem__("epsilon", 9.0),
            lambda of: of.__delitem__("name"),
            lambda of: of.update(epsilon=9.0),
            lambda of: of.setdefault("other", 9.0),
            lambda of: of.__ior__({"epsilon": 9.0}),
            lambda of: of.pop("name"),
            lambda of: of.popitem(),
            lambda of: of.clear(),
        ):
            with pytest.raises(TypeError, match="does not change"):
                change(found.mechanism)
        assert found.mechanism == told
        assert repr(found.mechanism) == repr(told)


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_description_of_the_caller_is_not_shared(name):
    found = MADE[name]()
    own = dict(found.mechanism)
    made = replace(found, mechanism=own)
    own["name"] = "another"
    assert made == found
