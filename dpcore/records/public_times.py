"""Times that users give as public thresholds and points, not as records."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DpcoreError, DtypeError, ParameterError
from .column import Column, Part
from .times import ISO, Unit, array_in, described, parsed, unit_of_array

__all__ = ["positions", "unit_of"]


def unit_of(values: Any) -> Unit | None:
    """Return the unit of thresholds; None if they are numbers, or not a column."""
    try:
        parts = Column.of(_of_strings(values, "values")).parts()
        units = {unit_of_array(part.present, part.in_utc) for part in parts}
    except DpcoreError:
        return None
    unit = units.pop() if len(units) == 1 else None
    return unit if unit in get_args(Unit) else None  # type: ignore[return-value]


def positions(
    argument: str, values: Any, *, exactly: bool = False
) -> tuple[NDArray[np.float64], str | None]:
    """Return the microseconds of a column of times, and its unit, for thresholds and points.

    Parameters
    ----------
    argument, exactly
        As in ``scalar``.
    values
        A column, also of ISO strings, or an array of any shape of NumPy's types of times.

    Raises
    ------
    DtypeError, ParameterError
        The values are not such a column; or as in ``scalar``.
    """
    _check.unmasked(argument, values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        pieces = [Part(np.asarray(values), None)]
    else:
        pieces = list(Column.of(_of_strings(values, argument), argument).parts())
    units = {unit_of_array(part.present, part.in_utc) for part in pieces}
    if len(units) != 1 or not units <= set(get_args(Unit)):
        are_text = any(part.present.dtype.kind == "U" for part in pieces)
        named = "text" if are_text else ", ".join(sorted(map(described, units)))
        raise DtypeError(argument, named, f"must be dates, times or durations of one unit ({ISO})")
    down = [array_in(part.present, up=False) for part in pieces]
    joined = down[0] if len(down) == 1 else np.concatenate(down)
    if any(part.absent is not None for part in pieces) or np.isnan(joined).any():
        raise ParameterError(argument, "a missing value", "must not be missing")
    if exactly and any(
        (array_in(part.present) != array_in(part.present, up=False)).any() for part in pieces
    ):
        raise ParameterError(argument, "others", "must be whole numbers of microseconds")
    return joined, units.pop()


def _of_strings(values: Any, argument: str) -> Any:
    """Return a column of ISO strings as times, and any other value unchanged."""
    if isinstance(values, str):  # one time; here it is not the name of a column
        return np.asarray(values)
    words = values
    if not isinstance(values, list | tuple):
        parts = list(Column.of(values, argument).parts())
        pieces = [part.present for part in parts if part.absent is None]
        may_be = all(piece.ndim == 1 and piece.dtype.kind in "OUT" for piece in pieces)
        if not may_be or len(pieces) < len(parts):
            return values
        words = [word for piece in pieces for word in piece.tolist()]
    if not all(isinstance(word, str) for word in words):
        return values
    times = [parsed(word) for word in words]
    return values if None in times else times
