"""Counts of a file's records in cells."""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

import dpcore

from ..records import column
from ..records.files import Column, column_batches, record_batches
from .arguments import UsageError
from .labels import scored_labels
from .running import input_of, missing_values, progress_bar

__all__ = ["counts_of", "score_counts_of"]


def counts_of(
    options: argparse.Namespace, grid: dpcore.Grid
) -> tuple[NDArray[np.int64], bool | None]:
    """Return the number of values in each cell, (N,), and whether the column holds integers.

    None: neither the options nor the schema of a Parquet file say so. CSV has no types.
    """
    source, form = input_of(options)
    counts, integers = np.zeros(grid.size, np.int64), options.integers
    try:
        with progress_bar(options.quiet) as advance:
            for batch in column_batches(
                source,
                options.column,
                format=form,
                delimiter=options.delimiter,
                on_progress=advance,
                unit=grid.unit,
            ):
                values = column.Column.of(batch)
                counts += grid.count(values, nan_policy=options.nan_policy)
                integers = values.stated(integers, by_grid=grid.of_integers)
    except dpcore.MissingValueError:
        raise missing_values(f"--column {options.column!r}") from None
    if not counts.any():
        raise UsageError(f"--column {options.column!r} holds no values in FILE {options.file!r}")
    return counts, integers


def score_counts_of(options: argparse.Namespace, grid: dpcore.Grid) -> NDArray[np.int64]:
    """Return the number of records of each class in each cell, (2 N,), as ``score_counts`` does."""
    source, form = input_of(options)
    label = Column(options.label, "labels", "label")
    score = Column(options.score, "numbers", "score")
    counts = np.zeros(2 * grid.size, np.int64)
    with progress_bar(options.quiet) as advance:
        for batch in record_batches(
            source,
            [label, score],
            format=form,
            delimiter=options.delimiter,
            on_progress=advance,
        ):
            is_positive, scores, missing = scored_labels(batch, options.positive)
            if missing is not None and options.nan_policy == "raise":
                raise missing_values(f"--{(label, score)[missing]}")
            counts += dpcore.score_counts(is_positive, scores, grid)
    if not counts.any():
        raise UsageError(f"--{label} and --{score} hold no records in FILE {options.file!r}")
    return counts
