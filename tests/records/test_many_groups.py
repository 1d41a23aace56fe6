"""Thousands of public labels: places and counts are those of a dictionary and a loop."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.records.column import Column
from dpcore.records.labels import places
from dpcore.summaries.group_counts import group_counts

RNG = np.random.default_rng(11)
GRIDS = dp.Grid.uniform(0, 1, 8), dp.Grid([0.1, 0.15, 0.4, 0.9])


def expected(labels, groups):
    """Return places by Python's own equality; NaN and None have none."""
    place_of = {group: at for at, group in enumerate(groups)}
    return [place_of.get(label, len(groups)) for label in labels]


WORDS = [f"w{number}" for number in range(300)] + ["", "é" * 9, "a\0b", "w1\0", "\U0001f600"]
NUMBERS = {
    "near": [*range(-40, 900), True + 2000],
    "far": [-(2**63), 2**63 - 1, *(int(key) for key in RNG.integers(-(2**62), 2**62, 400))],
}


@pytest.mark.parametrize(
    "dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64, bool]
)
@pytest.mark.parametrize("kind", NUMBERS)
def test_integers_have_the_places_of_python(dtype, kind):
    limits = (0, 1) if dtype is bool else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    groups = [label for label in NUMBERS[kind] if limits[0] <= label <= limits[1]] or [1, 0]
    pool = np.array(groups, dtype)
    labels = np.concatenate([RNG.choice(pool, 500), pool + pool.dtype.type(1), pool])[::-1]
    place, missing = places(Column.of(labels, "by"), groups, "groups")
    assert place.tolist() == expected(labels.tolist(), groups)
    assert missing is None


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f8"])
def test_floats_have_the_places_of_python(dtype):
    groups = [0, 0.5, -7, float("inf"), 1.0, 2]
    labels = np.array([-0.0, 0.0, 0.5, np.nan, -7, np.inf, -np.inf, 1, 2.5, 2], dtype)
    place, missing = places(Column.of(labels, "by"), groups, "groups")
    assert place.tolist() == expected(labels.tolist(), groups)
    assert missing.tolist() == np.isnan(labels).tolist()


@pytest.mark.parametrize(
    "column",
    [
        list,
        lambda words: np.array(words),
        lambda words: np.array(words)[::-1][::-1],
        lambda words: np.array(words).astype(np.array(words).dtype.newbyteorder()),
        lambda words: np.array(words, object),
        lambda words: pd.Series(words, dtype=object),
        lambda words: pd.Series(words, dtype="str"),
        lambda words: pd.Series(words, dtype="category"),
        lambda words: pd.Categorical(words),
        lambda words: pd.Series(words, dtype=pd.ArrowDtype(pa.string())),
        pl.Series,
        lambda words: pl.Series(words, dtype=pl.Categorical),
        pa.array,
        lambda words: pa.array(words, pa.large_string()),
        lambda words: pa.array(words).dictionary_encode(),
        lambda words: pa.chunked_array([pa.array(words).dictionary_encode()[3:50], words]),
    ],
)
def test_text_has_the_places_of_python(column):
    words = [*RNG.choice(np.array(WORDS, object), 2000).tolist(), "other", "w", "w30000"]
    if isinstance(made := column(words), pa.ChunkedArray):
        words = words[3:50] + words
    elif isinstance(made, np.ndarray) and made.dtype.kind == "U":
        words = made.tolist()  # NumPy's text has no null character at its end
    elif isinstance(made, pd.Series | pd.Categorical):
        words = list(made)  # nor have categories of pandas before 3
    for groups in (WORDS, WORDS[::-1], WORDS[:2]):
        place, missing = places(Column.of(made, "by"), groups, "groups")
        assert place.tolist() == expected(words, groups)
        assert missing is None


def test_bytes_have_the_places_of_python():
    groups = [b"a", b"ab", b"a\0", b"", b"abcdefgh"]
    labels = np.array([b"ab", b"a", b"", b"abc", b"b"] * 40, "S3")
    place, _ = places(Column.of(labels, "by"), groups, "groups")
    assert place.tolist() == expected(labels.tolist(), groups)


@pytest.mark.parametrize(
    "column",
    [
        lambda words: pd.Series(words, dtype="category"),
        lambda words: pd.Series(words, dtype="str"),
        lambda words: pl.Series(words, dtype=pl.Categorical),
        lambda words: pl.Series(words, dtype=pl.Enum(["z", "b", "a"])),
        lambda words: pa.array(words).dictionary_encode(),
        lambda words: pa.DictionaryArray.from_arrays(
            pa.array([{"a": 0, "b": 1, None: 2}[word] for word in words]), ["a", "b", None]
        ),
        pa.array,
    ],
)
def test_words_and_their_codes_may_be_missing(column):
    words = ["b", None, "a", "b", None] * 20
    place, missing = places(Column.of(column(words), "by"), ["a", "b"], "groups")
    assert place.tolist() == [{"a": 0, "b": 1, None: 2}[word] for word in words]
    assert missing.tolist() == [word is None for word in words]


def test_codes_are_used_where_they_are_kept():
    for made in (
        pd.Series(["b", "a"] * 9, dtype="category"),
        pl.Series(["b", "a"] * 9, dtype=pl.Enum(["a", "b", "c"])),
        pa.array(["b", "a"] * 9).dictionary_encode(),
    ):
        ((part, codes),) = Column.of(made, "by").coded_parts()
        assert part.present.size <= 3
        assert codes.size == 18


@pytest.mark.parametrize("grid", GRIDS)
def test_counts_are_those_of_a_loop_on_any_number_of_threads(grid, monkeypatch):
    groups, size = list(range(0, 600, 2)), 40_000
    values, by = RNG.uniform(-0.1, 1.1, size), RNG.integers(-5, 605, size)
    values[::97] = np.nan
    loop = [grid.count(values[by == group], nan_policy="omit") for group in groups]
    for part in (2**19, 5000):
        monkeypatch.setattr("dpcore.summaries.grid._PART", part)
        counted = group_counts(values, by, grid, groups, nan_policy="omit")
        assert np.array_equal(counted, loop)


def test_workers_count_parts_and_one_release_reads_the_sum():
    joblib = pytest.importorskip("joblib")
    grid, groups, size = GRIDS[0], ["a", "b", "c"], 9_000
    rng = np.random.default_rng(1)
    values, by = rng.uniform(0, 1, size), rng.choice(["a", "b", "z"], size)
    whole = dp.group_counts(values, by, grid, groups)
    assert whole.sum(axis=1).tolist() == [np.count_nonzero(by == group) for group in groups]
    count = joblib.delayed(dp.group_counts)
    starts = (0, 0, 4, 4_000, size)  # some parts have no record, or few
    parts = joblib.Parallel(2, prefer="threads")(
        count(values[start:end], by[start:end], grid, groups) for start, end in pairwise(starts)
    )
    assert np.array_equal(sum(parts), whole)
    how = {"groups": groups, "epsilon": 1.0}
    released = dp.cdf_from_counts(sum(parts), grid, **how, rng=np.random.default_rng(2))
    same = dp.cdf(values, grid, by=by, **how, rng=np.random.default_rng(2))
    assert np.array_equal(released.counts, same.counts)


def test_groups_in_a_set_are_refused_because_workers_would_add_rows_in_different_orders():
    grid, groups = GRIDS[0], {"a", "b", "c"}
    rows = np.ones((3, grid.size), np.int64)
    with pytest.raises(DtypeError, match="groups must be a list of labels; got set"):
        dp.group_counts([0.5], ["a"], grid, groups)
    with pytest.raises(DtypeError, match="groups must be a list of labels; got frozenset"):
        dp.cdf_from_counts(rows, grid, groups=frozenset(groups), epsilon=1.0)
    curves = [dp.cdf([0.5], grid, epsilon=1.0) for _ in range(2)]
    with pytest.raises(DtypeError, match="weights must hold numbers; got set"):
        dp.combine(curves, {0.25, 0.75})


def test_more_groups_than_cells_have_numbers_are_refused_before_records_are_read():
    grid = dp.Grid.integers(1, 2**20)
    with pytest.raises(ParameterError, match=r"groups: 2048 must be at most 2047|at most 2047"):
        dp.cdf(object(), grid, by=[], groups=range(2048), epsilon=1.0)
    with pytest.raises(ParameterError, match="all different"):
        dp.cdf([1.0], grid, by=[1], groups=[1, 1.0], epsilon=1.0)
