"""Predicted values and residuals from a file, kept in memory, because bounds come before counts."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpcore

from ..records import column
from ..records.column import Chunk
from ..records.files import Column, record_batches
from ..summaries.table_grid import complete_pairs
from .arguments import UsageError
from .running import input_of, missing_values, progress_bar

__all__ = ["residual_columns"]


def residual_columns(
    options: argparse.Namespace,
) -> tuple[tuple[NDArray[Any], ...], tuple[bool | None, ...]]:
    """Return predicted values and residuals of the complete records, (n,) each; if they are whole.

    None: the schema of the file does not say so. CSV has none.
    """
    source, form = input_of(options)
    predicted = Column(options.predicted, argument="--predicted")
    other = (
        Column(options.residual, argument="--residual")
        if options.actual is None
        else Column(options.actual, argument="--actual")
    )
    kept: tuple[list[Chunk], list[Chunk]] = [], []
    integers: tuple[bool | None, bool | None] = None, None
    with progress_bar(options.quiet) as advance:
        for batch in record_batches(
            source,
            [predicted, other],
            format=form,
            delimiter=options.delimiter,
            on_progress=advance,
        ):
            both = [column.Column.of(values, "a column") for values in batch.columns]
            first, second = (values.joined() for values in both)
            of_first, of_second = (values.stated(None, by_grid=False) for values in both)
            if options.actual is not None:
                second, of_second = _less(second, first), of_second and of_first
            integers = of_first, of_second
            try:
                pair = complete_pairs(
                    column.Column.of(first, str(predicted)),
                    column.Column.of(second, str(other)),
                    options.nan_policy,
                )
            except dpcore.MissingValueError as error:
                raise missing_values(error.argument) from None
            for parts, values in zip(kept, pair, strict=True):
                parts.append(values)
    if not any(part.size for part in kept[0]):
        raise UsageError(f"{predicted} and {other} hold no records in FILE {options.file!r}")
    return tuple(_joined(parts) for parts in kept), integers


def _less(actual: Chunk, predicted: Chunk) -> NDArray[np.float64]:
    """Return residuals, which are NaN only where a value is missing.

    An infinite value minus itself becomes infinite, which is beyond all bounds, like the record.
    If it counted as missing, the number of records, which is public, would depend on their values.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        residuals = np.subtract(actual, predicted, dtype=np.float64)
    residuals[np.isinf(actual) & (actual == predicted)] = np.inf
    return residuals


def _joined(parts: list[Chunk]) -> NDArray[Any]:
    """Return the parts as one array, and release the memory of the parts."""
    joined = np.concatenate(parts)
    parts.clear()
    return joined
