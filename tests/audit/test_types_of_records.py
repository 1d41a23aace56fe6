"""The type of a single record never shows in a release, except through its place among cells."""

from __future__ import annotations

import datetime as dt
import json
import warnings
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpcore as dp
from dpcore import trust
from dpcore.records.column import Column

RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 100, 20)
TIMES = dp.Grid.uniform("2024-01-01", "2024-03-01", 6)
TENS = [10] * 60 + [30] * 39

DAY = dt.date(2024, 1, 12)
OF_TIMES = {
    "a date": DAY,
    "a datetime": dt.datetime(2024, 1, 12, 12, 30),
    "a time of NumPy": np.datetime64("2024-01-12T12:30:00.5"),
    "a day of NumPy": np.datetime64("2024-01-12"),
    "a time of pandas": pd.Timestamp("2024-01-12T12:30"),
}


def as_objects(values):
    found = np.empty(len(values), object)
    found[:] = values
    return found


def as_rows_of_objects(rows):
    found = np.empty((len(rows), len(rows[0])), object)
    for at in np.ndindex(found.shape):
        found[at] = rows[at[0]][at[1]]
    return found


CONTAINERS = {
    "a list": list,
    "a tuple": tuple,
    "objects": as_objects,
    "pandas": pd.Series,
    "pandas objects": lambda v: pd.Series(v, dtype=object),
}


def records(container, one, others=tuple(TENS)):
    return CONTAINERS[container]([*others, one])


def shown(call, *columns):
    """All that a release says, with the same noise each time: also warnings, and errors."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            found = call(*columns, rng=RNG(1))
        except dp.DpcoreError as error:
            found = f"{type(error).__name__}: {error}"
    return [repr(found), *_readings(found), *(str(each.message) for each in warned)]


def _readings(found):
    if isinstance(found, dp.GroupedCDF):
        return [text for curve in found.values() for text in _readings(curve)]
    shown = [found.to_json()] if hasattr(found, "to_json") else []
    if isinstance(found, dp.CDF):
        numbers = (
            found.quantile([0.1, 0.5, 0.97]),
            found.quantile_interval([0.1, 0.5, 0.97]),
            found.sample(5, RNG(1)),
            found.mean(),
            found.mean_interval(),
            found.histogram(7)[0],
        )
        shown += [f"{each!r} {getattr(each, 'dtype', None)}" for each in numbers]
        shown += [repr(found.integers), repr(found.name), repr(found.counts.dtype)]
    return shown


CALLS = {
    "cdf": partial(dp.cdf, grid=GRID, epsilon=1.0),
    "cdf, omitting": partial(dp.cdf, grid=GRID, epsilon=1.0, nan_policy="omit"),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("grid", [TIMES, dp.Grid.uniform("2024-01-01", "2024-03-01", 60)], ids=repr)
def test_one_datetime_among_dates_gives_the_same_release(container, grid):
    def call(values, rng):
        return dp.cdf(values, grid, epsilon=1.0, rng=rng)

    others = [dt.date(2024, 1, 2)] * 60 + [dt.date(2024, 2, 2)] * 39
    if grid is TIMES:
        expected = shown(call, records("a list", DAY, others))
        for name, one in OF_TIMES.items():
            assert shown(call, records(container, one, others)) == expected, name
    assert call(records(container, DAY, others), RNG(1)).integers is None


LABELLED = {
    "an int": 1,
    "a bool": True,
    "a bool of NumPy": np.True_,
    "a float": 1.0,
    "a short float": np.float32(1),
    "a fraction": Fraction(1),
    "a decimal": Decimal(1),
    "an array without axes": np.array(1),
}
SCORES = RNG(3).random(100)
UNIT = dp.Grid.uniform(0, 1, 8)
BY_LABELS = {
    "scores": partial(dp.score_curves, y_score=SCORES, grid=UNIT, epsilon=9.0),
    "scores of ones": partial(dp.score_curves, y_score=SCORES, grid=UNIT, pos_label=1, epsilon=9.0),
    "groups": lambda y, rng: dp.cdf(SCORES, UNIT, by=y, groups=[0, 1], epsilon=9.0, rng=rng),
    "a test": partial(dp.hosmer_lemeshow, y_prob=SCORES, epsilon=9.0),
}


@pytest.mark.parametrize("call", BY_LABELS)
@pytest.mark.parametrize("others", [[0, 1], [False, True], [0.0, 1.0]], ids=str)
def test_equal_labels_of_any_type_give_one_release(call, others):
    expected = shown(BY_LABELS[call], [*others * 49, others[0], 1])
    for make in (list, tuple, as_objects):
        for name, one in LABELLED.items():
            assert shown(BY_LABELS[call], make([*others * 49, others[0], one])) == expected, name


@pytest.mark.parametrize("others", ["ints", "floats"])
@pytest.mark.parametrize("make", [list, as_rows_of_objects, pd.DataFrame])
def test_equal_features_of_any_type_give_one_model(make, others):
    pytest.importorskip("sklearn")
    from dpcore.models import LinearRegression

    rows = RNG(1).random((100, 2)) if others == "floats" else RNG(1).integers(2, size=(100, 2))
    found = set()
    for one in LABELLED.values():
        if make is pd.DataFrame and isinstance(one, np.ndarray):
            continue
        features = rows.tolist()
        features[7][1] = one
        model = LinearRegression(1.0, x_bounds=([0, 0], [1, 1]), y_bounds=(0, 1), rng=RNG(2))
        model.fit(make(features), SCORES)
        kept = (getattr(model, name) for name in ("coef_", "intercept_"))
        found.add(repr([(each, np.asarray(each).dtype) for each in kept]))
    assert len(found) == 1


def test_json_has_no_schema():
    for one in ("22", "22.5"):
        values = json.loads(f"[{', '.join(map(str, TENS))}, {one}]")
        found = dp.cdf(values, GRID, epsilon=0.01, rng=RNG(1))
        assert found.integers is None
        if one == "22":
            first = shown(CALLS["cdf"], values)
    assert shown(CALLS["cdf"], values) == first


def test_a_missing_value_of_pandas_changes_the_dtype_and_nothing_else():
    """A missing value makes int64 float64, and only its count may show."""
    for values in ([1, 2, 3], [1, 2, None], [None, None, None], [], [None], [3]):
        column = pd.Series(values)
        found = dp.cdf(
            column, GRID, epsilon=1.0, neighbours="add-or-remove-one", nan_policy="omit", rng=RNG(1)
        )
        assert found.integers is None
    first, second = (
        shown(CALLS["cdf, omitting"], pd.Series([*TENS, *rest])) for rest in ([22], [22, None])
    )
    assert first == second


OF_ANY_TYPE = [1, 1.0, Fraction(1), np.longdouble(1), 2**70]
FAR = 2**53 + 1  # no double


@pytest.mark.parametrize("make", [list, as_objects, pd.DataFrame])
def test_one_record_rounds_no_other_in_sums_of_vectors(make):
    within, large = trust.functions.Identity(2**53, 2**53 + 4), trust.Central(1e6, records=1)
    found = set()
    for one in OF_ANY_TYPE:
        rows = [[FAR, 0]] * 20 + [[2**53, one]]
        given = as_rows_of_objects(rows) if make is as_objects else make(rows)
        found.add(float(trust.vector_sum(given, within, large, rng=RNG(1)).total[0]) - 21 * 2.0**53)
    assert len(found) == 1


def test_one_record_rounds_no_other_at_a_step():
    above = np.nextafter(np.longdouble(0.25), np.longdouble(1))
    at_most, large = trust.functions.Step(0.25), trust.Central(1e6, records=1)
    found = {
        trust.vector_sum([above] * 20 + [one], at_most, large, rng=RNG(1)).total.tolist()[0]
        for one in OF_ANY_TYPE
    }
    assert len(found) == 1


@pytest.mark.parametrize("make", [list, as_rows_of_objects, pd.DataFrame])
def test_one_record_rounds_no_confidence_of_another(make):
    found = {
        tuple(dp.top_label([1] * 5, make([[FAR - 1, FAR]] * 4 + [[one, 2]]), [0, 1]).is_right[:4])
        for one in OF_ANY_TYPE
    }
    assert len(found) == 1


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
def test_rows_of_floats_of_one_kind_are_as_they_are(kind):
    rows = [[kind(0.5), kind(np.inf)], [kind(np.nan), kind(0.25)]]
    assert np.array_equal(Column.of(rows).numbers(), np.array(rows, float), equal_nan=True)


def test_text_among_rows_is_refused_in_the_same_words_whatever_else_is_there():
    told = set()
    for other in (1, 10**30, 0.5):
        with pytest.raises(dp.DtypeError) as caught:
            Column.of([["a", other], [1, 2]], "rows").numbers()
        told.add(str(caught.value))
    for other in (b"b", b"\xff"):
        with pytest.raises(dp.DtypeError, match="must hold real numbers; got objects"):
            Column.of([["a", other], [1, 2]], "rows").numbers()
    assert told == {"rows must hold real numbers; got objects of type str"}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_of_several_types_are_read_one_by_one(make):
    table = make({"a": [FAR, 1], "b": [0.5, 2.0**60], "c": [True, False]})
    assert Column.of(table).numbers().tolist() == [[FAR + 1, 0.5, 1.0], [1.0, 2.0**60, 0.0]]


@pytest.mark.parametrize(
    "make",
    [
        pl.DataFrame,
        pa.table,
        lambda columns: pd.DataFrame(columns, dtype="Int64"),
        lambda columns: pl.Series(columns["a"]),
        lambda columns: pa.array(columns["a"]),
        lambda columns: pd.Series(columns["a"], dtype="Int64"),
    ],
)
def test_a_missing_value_rounds_no_other(make):
    found = Column.of(make({"a": [FAR, None], "get_columns": [1, None]})).numbers()
    assert found.reshape(2, -1)[0, 0] == FAR + 1
    assert np.isnan(found[1]).all()


def test_series_of_rows_are_arrays():
    rows = pl.Series([[0.5, 1.0], [0.25, 2.0]], dtype=pl.Array(pl.Float64, 2))
    assert Column.of(rows).numbers().tolist() == rows.to_list()


class Floats(pd.DataFrame):
    def astype(self, *_, **__):
        raise AssertionError("as objects they take a hundred times as long, and tell of a record")

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.to_numpy()) if dtype is None else self.astype(dtype)


def test_large_floats_of_a_table_are_not_read_as_objects():
    assert Column.of(Floats({"a": [0.5], "b": [2.0**60]})).numbers().tolist() == [[0.5, 2.0**60]]
