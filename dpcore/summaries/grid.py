"""Grids: public, ordered thresholds, chosen without looking at the data."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from .._documentation import documented
from ..errors import ParameterError, shown
from ..kernels.counting import counts as kernels
from ..records import columns
from .guides import Guide, best_guide, no_guide
from .partitions import are_partitioned, sum_of_parts
from .totals import NanPolicy, count_in_table, totals

__all__ = ["Grid"]

MOST_CELLS: Final = 2**24
_PART: Final = 2**19  # values worth a thread of their own


class Grid:
    """Thresholds tau_1 < ... < tau_N at which a distribution curve is known.

    Cell i holds tau_{i-1} < x <= tau_i. Values below go to the first cell and values above to the
    last: they are clamped, and nobody learns that they were out of bounds. Thresholds are
    **public**: choose them from knowledge of the domain, never from the data.

    Parameters
    ----------
    thresholds
        (N,) strictly increasing and finite, 1 <= N <= 2^24.
    lower
        The least value, where the first cell begins; None: not known. It does not matter for
        counts, only for what is read off a curve within the first cell.

    Raises
    ------
    DtypeError, ParameterError
        The thresholds are not such an array, or lower is not below them.

    See Also
    --------
    Grid.uniform, Grid.log : the usual ones.
    """

    __slots__ = ("_guide", "_line", "_lower", "_thresholds")

    def __init__(self, thresholds: ArrayLike, *, lower: float | None = None) -> None:
        array = _check.array("thresholds", thresholds, "iuf")
        if array.ndim != 1 or not 1 <= array.size <= MOST_CELLS:
            raise ParameterError(
                "thresholds",
                array.shape,
                f"must be one-dimensional, with 1 to {MOST_CELLS} entries",
            )
        array = _check.doubles(array)
        if not np.all(np.isfinite(array)):
            raise ParameterError("thresholds", array[~np.isfinite(array)][0], "must be finite")
        rises = array[1:] > array[:-1]  # differences may be beyond doubles
        if not np.all(rises):
            at = int(np.argmin(rises))
            raise ParameterError(
                "thresholds",
                (float(array[at]), float(array[at + 1])),
                f"must be strictly increasing (entries {at} and {at + 1})",
            )
        low = -math.inf if lower is None else _check.finite("lower", lower)
        if not low < array[0]:
            raise ParameterError("lower", lower, f"must be below the first threshold, {array[0]:g}")
        array.flags.writeable = False
        self._thresholds = array
        self._lower = low
        self._line: tuple[float, float] | None = None
        self._guide: Guide | None = None

    @classmethod
    def uniform(cls, lower: float, upper: float, size: int) -> Grid:
        """Return ``size`` cells of one width: tau_i = lower + (upper - lower) i / size.

        Raises
        ------
        DtypeError, ParameterError
            A bound is not finite, upper <= lower, size is not within [1, 2^24], or the cells are
            too narrow for doubles at this distance from zero.
        """
        low, high = _check.bounds(lower, upper)
        size = _check.integer("size", size, 1, MOST_CELLS)
        if not math.isfinite((high - low) * size):
            raise ParameterError(
                "upper", upper, f"is too far from lower, {shown(lower)}, for doubles"
            )
        thresholds = low + (high - low) * np.arange(1, size + 1) / size
        thresholds[-1] = high
        grid = cls._checked(thresholds, size, low)
        grid._line = (low, high)
        return grid

    @classmethod
    def log(cls, lower: float, upper: float, size: int) -> Grid:
        """Return thresholds in geometric progression: tau_i = lower (upper / lower)^(i / size).

        Relative, not absolute, precision is the same everywhere; 0 < lower < upper.

        Raises
        ------
        DtypeError, ParameterError
            As in ``uniform``, or lower <= 0.
        """
        low, high = _check.bounds(lower, upper)
        size = _check.integer("size", size, 1, MOST_CELLS)
        if low <= 0:
            raise ParameterError("lower", lower, "must be positive on a logarithmic grid")
        thresholds = np.exp(np.linspace(math.log(low), math.log(high), size + 1)[1:])
        thresholds[-1] = high
        return cls._checked(thresholds, size, low)

    @classmethod
    def _checked(cls, thresholds: NDArray[np.float64], size: int, lower: float) -> Grid:
        try:
            return cls(thresholds, lower=lower)
        except ParameterError:
            raise ParameterError(
                "size", size, "is more than doubles can tell apart between these bounds"
            ) from None

    @property
    def thresholds(self) -> NDArray[np.float64]:
        """(N,) the thresholds, read-only."""
        return self._thresholds

    @property
    def positions(self) -> NDArray[np.float64]:
        """(N,) the thresholds as the doubles that are compared with, read-only."""
        return self._thresholds

    @property
    def size(self) -> int:
        """Number of cells, which is the number of thresholds, N."""
        return self._thresholds.size

    @property
    def lower(self) -> float:
        """Where the first cell begins; -inf where that is not known."""
        return self._lower

    def is_of_integers(self) -> bool:
        """Return whether the thresholds are consecutive whole numbers, so that cells hold one each.

        O(N) if they may be, and O(1) mostly.
        """
        first, last = float(self._thresholds[0]), float(self._thresholds[-1])
        if not first.is_integer() or last - first != self.size - 1:
            return False
        return bool(np.all(self._thresholds[1:] - self._thresholds[:-1] == 1.0))

    @documented
    def count(
        self, values: Any, *, nan_policy: NanPolicy = "raise", weights: None = None
    ) -> NDArray[np.int64]:
        """Count the values in each cell.

        Parameters
        ----------
        values
            (n,) real numbers: a NumPy array of any real dtype, a sequence, a pandas or polars
            series, an Arrow array; or a Dask array, or one column of a Dask dataframe, which is
            counted where it lies. Objects may be integers of any size, fractions and decimals.
            Infinities are out of bounds and are clamped like any other.
        nan_policy
            {nan_policy}
        weights
            {weights}

        Returns
        -------
        numpy.ndarray
            (N,) int64. Counts of chunks add up to the counts of the whole, exactly.

        Raises
        ------
        MissingValueError
            There are missing values and nan_policy is "raise".
        DtypeError, ParameterError
            The values are not a one-dimensional array of real numbers.

        Notes
        -----
        O(n) for uniform grids; O(n log N) for others at worst, and O(n) for linear, logarithmic
        and other even ones. On all processors from 2^20 values on; memory N for each.
        Exact: x <= tau_i is decided by comparing with the stored threshold, for every dtype.
        """
        _check.unweighted("weights", weights)
        if are_partitioned(values):
            return sum_of_parts(partial(self.count, nan_policy=nan_policy), values=values)
        least_part = max(_PART, 4 * self.size)
        return totals(values, self._add, self.size, least_part, nan_policy)

    def _add(self, chunk: columns.Chunk, counts: NDArray[np.int64]) -> int:
        """Add a chunk to the counts, and return how many of its values were NaN."""
        line, thresholds = self.line(), self._thresholds

        def count(table: NDArray[np.uint16], out: NDArray[np.int64]) -> int:
            if line is None:
                guide = self.guide(chunk.size)
                return kernels.count_search(chunk, thresholds, *guide, table, out)
            return kernels.count_uniform(chunk, thresholds, *line, table, out)

        return count_in_table(count, chunk.size, counts)

    def line(self) -> tuple[float, float, float] | None:
        """Return what sends values to cells without a search; None if the cells are not uniform.

        Returns
        -------
        tuple or None
            The lower bound, cells per unit, and a bound on the rounding error of (x - lower) times
            cells per unit against the stored thresholds, in cells: for
            ``kernels.counting``.
        """
        if self._line is None:
            return None
        lower, upper = self._line
        cells_per_unit = self.size / (upper - lower)
        # Where |x - lower| <= upper - lower: five roundings of the position, counted from the
        # middle of a cell, and three of the threshold, relative to N, and one of the threshold,
        # relative to the bounds, by 2^-53 at most. Eight of 2^-52 for each is twice as much as it
        # takes, and leaves room for values on a threshold to be taken for smaller ones.
        unit = float(np.finfo(np.float64).eps)
        margin = 8 * unit * (self.size + max(abs(lower), abs(upper)) * cells_per_unit)
        return lower, cells_per_unit, margin

    def guide(self, values: int) -> Guide:
        """Return where searches for the cells of so many values start, for ``kernels.counting``.

        It is made, once, when there are values enough for that to be a small part of the work.
        Threads that ask at the same time may make it twice.
        """
        if self._guide is None and values < self.size:
            return no_guide(self._thresholds)
        if self._guide is None:
            self._guide = best_guide(self._thresholds)
        return self._guide

    def __getstate__(self) -> object:
        """Return what is copied and pickled: the guide can be made again."""
        kept = {name: getattr(self, name) for name in ("_line", "_lower", "_thresholds")}
        return None, {**kept, "_guide": None}

    def describe(self) -> dict[str, Any]:
        """Return what makes the grid again, in JSON's types."""
        if self._line is not None:
            lower, upper = self._line
            return {"kind": "uniform", "lower": lower, "upper": upper, "size": self.size}
        known = {"lower": self._lower} if math.isfinite(self._lower) else {}
        return {"kind": "thresholds", "thresholds": self._thresholds.tolist(), **known}

    @classmethod
    def from_description(cls, description: dict[str, Any]) -> Grid:
        """Return the grid that was described."""
        if description["kind"] == "uniform":
            return cls.uniform(description["lower"], description["upper"], description["size"])
        return cls(description["thresholds"], lower=description.get("lower"))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grid):
            return NotImplemented
        return np.array_equal(self._thresholds, other._thresholds)

    def __hash__(self) -> int:
        return hash((self._thresholds + 0.0).tobytes())  # -0.0 becomes 0.0, which it equals

    def __repr__(self) -> str:
        first, last = self._thresholds[0], self._thresholds[-1]
        if self._line is not None:
            return f"Grid.uniform({self._line[0]!r}, {self._line[1]!r}, {self.size})"
        return f"<Grid of {self.size} thresholds from {first:g} to {last:g}>"
