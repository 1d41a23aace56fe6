"""The summary of a study's replicates: means, their intervals, and quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from .. import _check
from .header import Header
from .tables import by_cell, labels_column

if TYPE_CHECKING:
    import pyarrow

__all__ = ["QUANTILES", "summary"]

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)


def summary(
    table: pyarrow.Table,
    header: Header,
    quantities: Sequence[str],
    level: float,
    quantiles: Sequence[float],
) -> pyarrow.Table:
    """Return the table that ``Results.summary`` describes."""
    import pyarrow as pa

    level = _check.proportion("level", level)
    points = np.atleast_1d(_check.probabilities("quantiles", quantiles)).ravel()
    labels: list[Any] = []
    names: list[str] = []
    positions: list[int | None] = []
    numbers: list[NDArray[np.float64]] = []
    for quantity in quantities:
        for key, values in by_cell(table, quantity):
            rows = _numbers(values.reshape(len(values), -1), level, points)
            size = rows.shape[1]
            labels += size * [header.cells[key]]
            names += size * [quantity]
            positions += [None] if values.ndim == 1 else range(size)
            numbers.append(rows)
    columns: dict[str, Any] = {
        name: labels_column([cell.get(name) for cell in labels]) for name in header.parameters
    }
    columns["quantity"] = pa.array(names, pa.string())
    if any(position is not None for position in positions):
        columns["position"] = pa.array(positions, pa.int64())
    statistics = np.concatenate([np.empty((6 + len(points), 0)), *numbers], axis=1)
    columns["replicates"], columns["undefined"] = statistics[:2].astype(np.int64)
    columns |= dict(
        zip(("mean", "mean_low", "mean_high", "deviation"), statistics[2:6], strict=True)
    )
    columns |= dict(zip(map(_name, points), statistics[6:], strict=True))
    return header.on(pa.table(columns))


def _numbers(
    values: NDArray[np.float64], level: float, points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a row for each statistic, from a column of replicates for each position."""
    if values.shape[1] > 1 and np.isnan(values).any():  # each position has its own replicates
        return np.concatenate(
            [_numbers(column[:, None], level, points) for column in values.T], axis=1
        )
    size = len(values)
    known = values[~np.isnan(values[:, 0])] if values.shape[1] else values
    n = len(known)
    rows = np.full((6 + len(points), values.shape[1]), np.nan)
    rows[:2] = [[size], [size - n]]
    with np.errstate(invalid="ignore"):  # infinite values have no deviation
        if n > 0:
            rows[2:5] = known.mean(axis=0)
            rows[6:] = _quantiles(known, points)
        if n > 1:
            rows[5] = known.std(axis=0, ddof=1)
            half = stdtrit(n - 1, (1 + level) / 2) * rows[5] / n**0.5
            rows[3:5] = rows[2] - half, rows[2] + half
        else:
            rows[3:5] = np.nan
    return rows


def _quantiles(known: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return quantiles as NumPy does, and also between two equal infinities."""
    quantiles = np.quantile(known, points, axis=0)
    if np.isnan(quantiles).any():
        lower = np.quantile(known, points, axis=0, method="lower")
        same = lower == np.quantile(known, points, axis=0, method="higher")
        quantiles[same] = lower[same]
    return np.asarray(quantiles)


def _name(point: float) -> str:
    return "q" + np.format_float_positional(point, trim="-")
