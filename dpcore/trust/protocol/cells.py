"""The cells in which records are, which clients report."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _check
from ...errors import MissingValueError, ParameterError
from ...records import times
from ...records.column import Column
from ...summaries.grid import Grid, check_grid_of_numbers
from ...summaries.survival_counts import check_grid_of_durations

__all__ = ["cell_of"]


@overload
def cell_of(
    score: float, grid: Grid, label: bool | None = None, *, event: bool | None = None
) -> int: ...
@overload
def cell_of(
    score: ArrayLike,
    grid: Grid,
    label: ArrayLike | None = None,
    *,
    event: ArrayLike | None = None,
) -> NDArray[np.int64]: ...
def cell_of(
    score: Any, grid: Grid, label: Any = None, *, event: Any = None
) -> int | NDArray[np.int64]:
    """Return the cell in which ``Grid.count`` or ``dpcore.score_counts`` counts a record.

    Parameters
    ----------
    score
        One real number, or (n,) of them for the cells of many records; with ``event``, durations on
        a grid of durations.
    grid
        N public thresholds.
    label
        None for values, which are in one of N cells. For scored records, whether each is positive:
        a bool, or (n,) of them. They are in one of 2 N cells.
    event
        For durations, whether each ended with the event: a bool, or (n,) of them. They are in one
        of the 2 N cells of ``dpcore.survival_counts``. None otherwise.

    Returns
    -------
    int or numpy.ndarray
        The cell, or (n,) int64 cells.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is not as above. Or both are columns of pandas with different indices.

    Notes
    -----
    O(n log N).

    Examples
    --------
    >>> import dpcore as dp
    >>> grid = dp.Grid.uniform(0, 1, 4)
    >>> dp.trust.cell_of(0.3, grid), dp.trust.cell_of(0.3, grid, True)
    (1, 6)
    >>> dp.trust.cell_of([0.3, 0.3, 0.9], grid, [False, True, True])
    array([1, 6, 4])
    >>> dp.trust.cell_of([0.3, 0.3, 7.0], grid, event=[True, False, True])
    array([1, 6, 4])
    """
    if label is not None and event is not None:
        raise ParameterError("event", type(event).__name__, "must be None for scored labels")
    if event is None:
        check_grid_of_numbers("grid", grid)
    else:
        check_grid_of_durations("grid", grid)
    is_one = np.isscalar(score) or score is None or getattr(score, "ndim", None) == 0
    is_one |= isinstance(score, timedelta | datetime)  # NaT of pandas is a datetime
    column = Column.of([score] if is_one else score, "score")
    column.check_index(Column.of(label, "label"))
    column.check_index(Column.of(event, "event"))
    values = column.joined(grid.unit, times.REQUIREMENTS[grid.unit])
    if np.isnan(values).any():
        raise MissingValueError("score")
    # x is in the first cell with x <= threshold; beyond the last threshold it is in the last cell.
    cells = np.minimum(np.searchsorted(grid.positions, values), grid.size - 1).astype(np.int64)
    shape = () if is_one else values.shape
    if label is not None:
        cells = np.where(_flags("label", label, shape), 2 * grid.size - 1 - cells, cells)
    elif event is not None:
        # Whoever is observed beyond the grid had no event within it.
        happened = _flags("event", event, shape) & (values <= grid.positions[-1])
        cells = np.where(happened, cells, 2 * grid.size - 1 - cells)
    return int(cells[0]) if is_one else cells


def _flags(argument: str, given: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return booleans, one for each score."""
    flags = _check.array(argument, given, "b", "must be a bool, or one for each score")
    if flags.shape != shape:
        raise ParameterError(argument, flags.shape, f"must have the scores' shape, {shape}")
    return flags
