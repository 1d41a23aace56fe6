"""Rungs: intervals around zero, each twice as wide as the one before, and counts in them."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import ParameterError
from ..kernels.counting import rungs as kernels
from ..records.column import Chunk, Column
from .totals import NanPolicy, count_in_table, sum_of_parts, totals

__all__ = ["Rungs"]

# The least normal double; the bits of smaller ones do not double in this way.
_LEAST_UNIT: Final = 2.0**-1022
_MOST_DOUBLINGS: Final = 2045  # doublings from _LEAST_UNIT to the largest double
_PART: Final = 2**19  # so many values are worth a thread of their own


class Rungs:
    """The intervals [-b, b] for b = unit 2^i, i = 0, ..., doublings. They are public.

    Parameters
    ----------
    unit
        The least b, a positive number, at least 2^-1022.
    doublings
        The number of further intervals, 0 or more. The largest b must be a double.

    Attributes
    ----------
    ends
        (doublings + 1,) all b.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.
    """

    __slots__ = ("_unit", "ends")

    ends: NDArray[np.float64]

    def __init__(self, unit: float, doublings: int) -> None:
        self._unit = _check.positive("unit", unit)
        if self._unit < _LEAST_UNIT:
            raise ParameterError("unit", unit, "must be at least 2^-1022")
        most = _check.integer("doublings", doublings, 0, _MOST_DOUBLINGS)
        with np.errstate(over="ignore"):
            self.ends = np.ldexp(self._unit, np.arange(most + 1))  # exact
        if not np.isfinite(self.ends[-1]):
            requirement = f"must leave unit 2^doublings a double; unit is {self._unit:g}"
            raise ParameterError("doublings", doublings, requirement)

    def count(self, values: Any, nan_policy: NanPolicy) -> NDArray[np.int64]:
        """Return the number of records in each interval that are not in the one before it.

        Returns
        -------
        numpy.ndarray
            (doublings + 1,) int64. Records beyond the last interval count in it.

        Raises
        ------
        MissingValueError, DtypeError, ParameterError
            As in ``Grid.count``.

        Notes
        -----
        O(n), one pass. Both ends belong to an interval. Values that are not doubles count as the
        next larger doubles.
        """
        column = Column.of(values)
        if column.is_partitioned:
            return sum_of_parts(partial(self.count, nan_policy=nan_policy), column)
        return totals(column.chunks(), self._add, self.ends.size, _PART, nan_policy)

    def _add(self, chunk: Chunk, counts: NDArray[np.int64]) -> int:
        """Add a chunk to the counts, and return how many of its values were NaN."""

        def count(table: NDArray[np.uint16], out: NDArray[np.int64]) -> int:
            return kernels.count_rungs(chunk, self._unit, table, out)

        return count_in_table(count, chunk.size, counts)
