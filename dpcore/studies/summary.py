"""What the replicates of a study come to: means, their intervals, and quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from .. import _check
from .tables import Header, by_cell, labels_column

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
    points = [_check.proportion("quantiles", point) for point in quantiles]
    rows: list[dict[str, Any]] = []
    for quantity in quantities:
        for key, values in by_cell(table, quantity):
            for at, column in _columns(values):
                rows.append(
                    {
                        **header.cells[key],
                        "quantity": quantity,
                        "position": at,
                        **_numbers(column, level, points),
                    }
                )
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: labels_column([row.get(name) for row in rows]) for name in names}
    if not any(row["position"] is not None for row in rows):
        columns.pop("position", None)
    return pa.table(columns)


def _columns(values: NDArray[np.float64]) -> list[tuple[int | None, NDArray[np.float64]]]:
    """Return the positions of arrays, each with all its replicates."""
    if values.ndim == 1:
        return [(None, values)]
    return list(enumerate(values.T))


def _numbers(
    values: NDArray[np.float64], level: float, points: Sequence[float]
) -> dict[str, float | int]:
    known = values[~np.isnan(values)]
    n, nan = known.size, float("nan")
    mean = float(known.mean()) if n else nan
    deviation = float(known.std(ddof=1)) if n > 1 else nan
    half = float(stdtrit(n - 1, (1 + level) / 2)) * deviation / n**0.5 if n > 1 else nan
    found = np.quantile(known, points).tolist() if n else [nan] * len(points)
    return {
        "replicates": values.size,
        "undefined": values.size - n,
        "mean": mean,
        "mean_low": mean - half,
        "mean_high": mean + half,
        "deviation": deviation,
        **{f"q{point:g}": value for point, value in zip(points, found, strict=True)},
    }
