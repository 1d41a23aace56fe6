"""Find the ends of the axes of a residual plot, by one of two private searches."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np

from ..records.column import Chunk
from ..summaries.rungs import Rungs
from .compact_bounds import compact_rungs, rungs_of
from .residual_bounds import PARTS, Ends, gain_of, parts_of, residual_bounds
from .symmetric_bounds import symmetric_end

__all__ = ["Ends", "Search", "found", "rungs_for", "share_of"]

Known = tuple[Ends | None, Ends | None]
Search = Literal["compact", "sparse-vector"]

_COVERAGE: Final = 0.95  # theta in the paper, for each column
_DOUBLINGS: Final = 62  # how often the paper's search doubles the unit


def share_of(search: Search, known: Known) -> Fraction:
    """Return the part of the budget for both axes that goes to ends that are not known."""
    if search == "compact":
        return Fraction(parts_of(known), PARTS)
    return Fraction(known.count(None), 2)


def rungs_for(
    search: Search, units: tuple[Any, Any], known: Known, n: int, epsilon: Fraction
) -> tuple[Rungs, Rungs]:
    """Return the ends from which a search chooses, for each axis.

    Parameters
    ----------
    search, units, known
        As in ``found``.
    n
        The public number of records.
    epsilon
        The budget for the ends that are not known.

    Raises
    ------
    DtypeError, ParameterError
        A unit is not a positive number, or is too large.
    """
    if None not in known:  # both are known, so no unit is doubled
        return rungs_of(units[0], 0), rungs_of(units[1], 0)
    if search == "compact":
        gain = gain_of(n, epsilon / parts_of(known))
        return compact_rungs(units[0], gain), compact_rungs(units[1], gain)
    return rungs_of(units[0], _DOUBLINGS), rungs_of(units[1], _DOUBLINGS)


def found(
    search: Search,
    columns: tuple[Chunk, Chunk],
    units: tuple[Any, Any],
    known: Known,
    epsilon: Fraction,
    rng: np.random.Generator | None,
) -> tuple[Ends, Ends]:
    """Return the ends of both axes, those of predicted values first.

    Parameters
    ----------
    search
        "compact": ``residual_bounds``. "sparse-vector": ``symmetric_bounds`` on either axis.
    columns
        Predicted values and residuals, without missing values.
    units, known, rng
        As in ``residual_bounds``.
    epsilon
        The budget for the ends that are not known, for "replace-one".
    """
    if search == "compact":
        return residual_bounds(*columns, units, known, epsilon, rng)
    across, upright = (
        _searched(column, unit, epsilon / known.count(None), rng) if ends is None else ends
        for column, unit, ends in zip(columns, units, known, strict=True)
    )
    return across, upright


def _searched(
    column: Chunk, unit: float, epsilon: Fraction, rng: np.random.Generator | None
) -> Ends:
    rungs = rungs_of(unit, _DOUBLINGS)
    counts = rungs.count(column, "raise")
    outside = round((1 - _COVERAGE) * int(counts.sum()))
    end = float(rungs.ends[symmetric_end(counts, outside, epsilon, rng)])
    return -end, end
