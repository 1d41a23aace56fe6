"""Counts of both classes: exact for every dtype and container, and on threads."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from tests import reference

RNG = np.random.default_rng


@settings(max_examples=80)
@given(
    st.lists(
        st.tuples(st.booleans(), st.sampled_from([-np.inf, -1, 0, 0.2, 0.25, 1 / 3, 0.8, 1, 7])),
        max_size=40,
    ),
    st.integers(1, 12),
    st.sampled_from([np.float64, np.float32, np.float16]),
    st.booleans(),
)
def test_counts_of_both_classes_are_exact(records, cells, dtype, uniform):
    labels = np.array([label for label, _ in records], bool)
    scores = np.array([score for _, score in records], dtype)
    grid = dp.Grid.uniform(0, 1, cells)
    grid = grid if uniform else dp.Grid(grid.thresholds)
    found = dp.score_counts(labels, scores, grid)
    assert found.tolist() == reference.count_by_class(labels, scores, grid.thresholds)


@pytest.mark.needs_jit
@pytest.mark.parametrize("uniform", [True, False])
def test_counts_on_threads_and_at_thresholds(monkeypatch, uniform):
    rng = RNG(6)
    grid = dp.Grid.uniform(0.1, 0.9, 1000)
    grid = grid if uniform else dp.Grid(grid.thresholds)
    near = rng.choice(grid.thresholds, 50_000)
    scores = np.concatenate(
        [near, np.nextafter(near, 1), np.nextafter(near, 0), rng.random(90_000)]
    )
    labels = rng.random(scores.size) < 0.4
    expected = np.concatenate(
        [
            reference.count(scores[~labels], grid.thresholds),
            reference.count(scores[labels], grid.thresholds)[::-1],
        ]
    )
    assert np.array_equal(dp.score_counts(labels, scores, grid), expected)
    monkeypatch.setattr("dpcore.summaries.score_counts._PART", 1000)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    assert np.array_equal(dp.score_counts(labels, scores, grid), expected)
    scores[7] = scores[-7] = np.nan
    with pytest.raises(dp.MissingValueError, match="y_score"):
        dp.score_counts(labels, scores, grid)
    left = dp.score_counts(labels, scores, grid, nan_policy="omit")
    assert left.sum() == scores.size - 2


MISSING = [0.1, None, 0.6, 0.9], [0, 1, 1, None]
CONTAINERS = {
    "pandas, nullable": lambda values: pd.Series(values, dtype="Float64"),
    "polars": pl.Series,
    "arrow, in chunks": lambda values: pa.chunked_array([values[:2], values[2:]]),
    "masked": lambda values: np.ma.masked_invalid(np.array(values, float)),
    "NaN": lambda values: np.array(values, float),
}


@pytest.mark.parametrize("of_scores", CONTAINERS)
@pytest.mark.parametrize("of_labels", [*CONTAINERS, "objects"])
def test_records_with_something_missing_are_left_out_whole(of_scores, of_labels):
    scores = CONTAINERS[of_scores](MISSING[0])
    labels = {**CONTAINERS, "objects": np.array}[of_labels](MISSING[1])
    positive = None if np.asarray(labels).dtype.kind in "biuf" else 1
    grid = dp.Grid.uniform(0, 1, 4)
    counts = dp.score_counts(labels, scores, grid, pos_label=positive, nan_policy="omit")
    assert counts.tolist() == [1, 0, 0, 0, 0, 1, 0, 0]
    with pytest.raises(dp.MissingValueError, match="y_score"):
        dp.score_counts([0, 1, 1, 0], scores, grid)
    with pytest.raises(dp.MissingValueError, match="y_true"):
        dp.score_counts(labels, [0, 1, 1, 0], grid, pos_label=positive)
