"""Grids: public thresholds in ascending order, chosen without looking at the data."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check, _instead
from .._documentation import documented
from .._sealed import read_only
from ..errors import DtypeError, ParameterError, amount, shown
from ..kernels.counting import counts as kernels
from ..kernels.counting import groups as of_groups
from ..records import public_times, queries, times
from ..records.column import Chunk, Column
from ..records.times import Unit
from .bounds_of_grids import (
    MOST_CELLS,
    bound,
    day,
    thresholds_of,
    times_between,
    unit_of_bounds,
    whole_cells,
)
from .guides import Guide, best_guide, no_guide
from .totals import NanPolicy, add_on_threads, count_in_table, sum_of_parts, totals

__all__ = ["MOST_CELLS", "Grid", "check_grid", "check_grid_of_numbers", "edges_of"]

_PARTS: Final = {  # of the description of each kind
    "uniform": {"lower", "upper", "size"},
    "integers": {"first", "last"},
    "thresholds": {"thresholds"},
}
_PART: Final = 2**19  # so many values are worth a thread of their own


class Grid:
    """Thresholds tau_1 < ... < tau_N at which a distribution curve is known.

    Cell i holds the values with tau_{i-1} < x <= tau_i. The first cell holds those with
    lower <= x <= tau_1, so it includes its lower end. Values below the grid count in the first
    cell, and values above it in the last. So nobody learns that they were out of bounds.
    Thresholds are **public**: choose them from knowledge of the domain, never from the data.

    Parameters
    ----------
    thresholds
        (N,) strictly increasing and finite, 1 <= N <= 2^24. They are numbers; or dates, times or
        durations, in whole microseconds and less than 285 years from 1970. The grid then has the
        ``unit`` of its thresholds.
    lower
        The least value, where the first cell begins; None: not known. Counts do not depend on it.
        Statistics that lie within the first cell do. If it is the first threshold itself, this
        value has the first cell alone.
    unit
        The unit of the grid, if the types of the thresholds do not determine it. With "instant",
        NumPy's times are times with a time zone, in UTC. If the thresholds are numbers, "time",
        "instant" or "duration" means that they are microseconds (since 1970).

    Raises
    ------
    DtypeError, ParameterError
        The thresholds are not such an array, or lower is above them.

    See Also
    --------
    Grid.integers, Grid.days : grids of whole numbers or days, one cell for each.
    Grid.uniform, Grid.log : grids from two bounds.

    Notes
    -----
    Grids are equal if they count alike, which is if their thresholds and units are equal. Then
    their curves can be combined, even if ``lower`` or ``of_integers`` differ.

    Examples
    --------
    >>> import numpy as np
    >>> grid = Grid(np.array(["2024-04-01", "2024-07-01"], "datetime64"), lower="2024-01-01")
    >>> grid
    <Grid of 2 thresholds from 2024-04-01 to 2024-07-01>
    >>> grid.count(np.array(["2024-02-29", "2024-04-01T00:01", "2024-06-30"], "datetime64"))
    array([1, 2])
    """

    __slots__ = ("_guide", "_line", "_lower", "_of_integers", "_positions", "_unit")

    def __init__(self, thresholds: Any, *, lower: Any = None, unit: Unit | None = None) -> None:
        array, given_unit, unit = thresholds_of(thresholds, times.checked_unit(unit))
        if array.ndim != 1 or not 1 <= array.size <= MOST_CELLS:
            raise ParameterError(
                "thresholds",
                array.shape,
                f"must be one-dimensional, with 1 to {MOST_CELLS} entries",
            )
        array = _check.doubles(array)
        if not np.all(np.isfinite(array)):
            raise ParameterError("thresholds", array[~np.isfinite(array)][0], "must be finite")
        if unit is not None:
            times.check_thresholds("thresholds", array)
        rises = array[1:] > array[:-1]  # differences may overflow doubles
        if not np.all(rises):
            at = int(np.argmin(rises))
            raise ParameterError(
                "thresholds",
                tuple(times.shown(array[at : at + 2], unit).tolist()),
                f"must be strictly increasing (entries {at} and {at + 1})",
            )
        low = -math.inf if lower is None else bound("lower", lower, given_unit, unit)
        if not low <= array[0]:
            first = times.text(float(array[0]), unit)
            raise ParameterError("lower", lower, f"must not be above the first threshold, {first}")
        array.flags.writeable = False
        self._positions = array
        self._lower = low
        self._unit = unit
        self._of_integers = False
        self._line: tuple[float, float] | None = None
        self._guide: Guide | None = None

    @classmethod
    def uniform(cls, lower: Any, upper: Any, size: int, *, unit: Unit | None = None) -> Grid:
        """Return ``size`` cells of equal width: tau_i = lower + (upper - lower) i / size.

        Parameters
        ----------
        lower, upper
            Two numbers, two dates or times, or two durations. Dates and times are strings in ISO
            8601 or objects of Python, NumPy or pandas, both with a time zone or both without one.
        size
            The number of cells.
        unit
            As in ``Grid``.

        Raises
        ------
        DtypeError, ParameterError
            A bound is not finite, upper <= lower, size is not within [1, 2^24], or the cells are
            too narrow for doubles at this distance from zero (for times: narrower than a
            microsecond).

        Notes
        -----
        Thresholds of times are rounded down to microseconds. A date as a threshold means the
        midnight at which that day begins. So the cells of the days of 2024 have ``lower``
        "2024-01-01" and ``upper`` "2025-01-01". Dates without times are midnights themselves: a
        column of such dates has its own cell for each day on ``Grid.days``, and whole numbers have
        their own cells on ``Grid.integers``. Here the first cell also holds values equal to
        ``lower``.

        Examples
        --------
        >>> Grid.uniform(0, 100, 4).thresholds
        array([ 25.,  50.,  75., 100.])
        >>> grid = Grid.uniform("2024-01-01", "2025-01-01", 366)
        >>> grid.thresholds[58:60].astype("datetime64[D]")
        array(['2024-02-29', '2024-03-01'], dtype='datetime64[D]')
        """
        given_unit = unit_of_bounds(lower, upper)
        if (unit := times.checked_unit(unit) or given_unit) is not None:
            low, high = (
                bound("lower", lower, given_unit, unit),
                bound("upper", upper, given_unit, unit),
            )
            grid = cls(times_between(low, high, size, unit), lower=low, unit=unit)
            grid._line = (low, high)
            return grid
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
    def integers(cls, first: float, last: float) -> Grid:
        """Return one cell for each whole number: the thresholds first, first + 1, ..., last.

        The grid states that records are whole numbers. So quantiles and samples of curves over it
        are whole numbers, unless ``integers=False`` says otherwise.

        Parameters
        ----------
        first, last
            Two whole numbers within 2^53 of 0, both included. Values below ``first`` count as
            ``first``, and values above ``last`` as ``last``.

        Returns
        -------
        Grid
            With last - first + 1 cells, at most 2^24. ``lower`` is ``first``. Values that are not
            whole would count as the next whole number above: they need ``uniform``.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not such a number, last < first, or there are too many cells.

        Examples
        --------
        >>> grid = Grid.integers(0, 4)
        >>> grid.thresholds, grid.lower
        (array([0., 1., 2., 3., 4.]), 0.0)
        >>> grid.count([0, 0, 0, 1, 4, 7])
        array([3, 1, 0, 0, 2])
        """
        ends = _check.finite("first", first), _check.finite("last", last)
        return cls._of_whole(*ends, None, (first, last))

    @classmethod
    def days(cls, first: Any, last: Any) -> Grid:
        """Return one cell for each day: the thresholds are the midnights of first, ..., last.

        The grid states that records are whole days. So quantiles and samples of curves over it are
        dates.

        Parameters
        ----------
        first, last
            Two dates, both included: strings in ISO 8601 or objects of Python, NumPy or pandas; or
            two durations of whole days. Days before ``first`` count as ``first``, and days after
            ``last`` as ``last``.

        Returns
        -------
        Grid
            With one cell for each day, at most 2^24, and the ``unit`` "time" or "duration".
            ``lower`` is ``first``. Records are dates, which are midnights. A record with a time of
            day would count as the next day: such columns need ``uniform``.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not such a day, or has a time zone; last < first; or there are too many
            cells.

        Examples
        --------
        >>> import numpy as np
        >>> grid = Grid.days("2024-01-01", "2024-12-31")
        >>> grid.size, grid.lower
        (366, np.datetime64('2024-01-01T00:00:00.000000'))
        >>> grid.count(np.array(["2024-01-01", "2024-01-02"], "datetime64[D]"))[:3]
        array([1, 1, 0])
        """
        (low, unit), (high, other) = day("first", first), day("last", last)
        if unit != other:
            named = f"{shown(last)} of type {type(last).__name__}"
            raise DtypeError("last", named, f"must be {times.described(unit)}, as first is")
        return cls._of_whole(low, high, unit, (first, last))

    @classmethod
    def _of_whole(
        cls, first: float, last: float, unit: Unit | None, given: tuple[object, object]
    ) -> Grid:
        """Return one cell for each whole number, or for each day in microseconds."""
        step = 1.0 if unit is None else times.DAY
        cells = whole_cells(first, last, step, given)
        grid = cls(first + step * np.arange(cells), lower=first, unit=unit)
        if first - step < first:  # not so at -2^53, where a search finds the cells
            grid._line = (first - step, last)
        grid._of_integers = True
        return grid

    @classmethod
    def log(cls, lower: float, upper: float, size: int) -> Grid:
        """Return thresholds in geometric progression: tau_i = lower (upper / lower)^(i / size).

        The relative precision is the same everywhere. Needs 0 < lower < upper.

        Raises
        ------
        DtypeError, ParameterError
            As in ``uniform``, or lower <= 0.

        Examples
        --------
        >>> Grid.log(1, 1000, 3).thresholds.round(6)
        array([  10.,  100., 1000.])
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
    def thresholds(self) -> NDArray[Any]:
        """(N,) the thresholds, read-only: floats, datetime64 (in UTC) or timedelta64."""
        if self._unit is None:
            return self._positions
        thresholds = self.shown(self._positions)
        thresholds.flags.writeable = False
        return thresholds

    @property
    def positions(self) -> NDArray[np.float64]:
        """(N,) the thresholds as doubles, with which values are compared, read-only."""
        return self._positions

    @property
    def size(self) -> int:
        """Number of cells, which is the number of thresholds, N."""
        return self._positions.size

    @property
    def unit(self) -> Unit | None:
        """The kind of values: None, "time", "instant" or "duration".

        None means numbers. "time" means dates and times without a time zone. "instant" means times
        with a time zone, which are kept and shown in UTC. "duration" means durations.
        """
        return self._unit

    @property
    def lower(self) -> Any:
        """Where the first cell begins, in the grid's unit; -inf or NaT if it is not known."""
        return self._lower if self._unit is None else self.shown(np.array(self._lower))[()]

    @property
    def start(self) -> float:
        """Where the first cell begins, as a double; -inf if it is not known."""
        return self._lower

    @property
    def of_integers(self) -> bool:
        """Whether the grid states that records are whole numbers, or whole days.

        ``Grid.integers`` and ``Grid.days`` state it. Other grids state nothing, whatever their
        thresholds are.

        Examples
        --------
        >>> from dpcore import Grid
        >>> Grid.integers(1, 10).of_integers, Grid.uniform(0, 10, 10).of_integers
        (True, False)
        """
        return self._of_integers

    @property
    def step(self) -> float:
        """The step between whole records: 1, or the microseconds of a day."""
        return 1.0 if self._unit is None else times.DAY

    def shown(self, positions: NDArray[np.float64], *, whole: bool = False) -> NDArray[Any]:
        """Return doubles on the line of the thresholds, of any shape, as users see them.

        On a grid of numbers, these are the doubles themselves. Otherwise they are times or
        durations, rounded to microseconds, or in days if they are ``whole``.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore import Grid
        >>> grid = Grid.uniform("2024-01-01", "2024-01-03", 2)
        >>> grid.shown(grid.positions, whole=True)
        array(['2024-01-02', '2024-01-03'], dtype='datetime64[D]')
        """
        _check.flag("whole", whole)
        values = times.shown(_check.array("positions", positions, "biuf"), self._unit)
        if whole and self._unit is not None:
            return values.astype("m8[D]" if self._unit == "duration" else "M8[D]")
        return values

    def shown_differences(self, differences: NDArray[np.float64]) -> NDArray[Any]:
        """Return differences of such doubles as users see them: doubles, or timedelta64.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore import Grid
        >>> grid = Grid.uniform("2024-01-01", "2024-01-03", 2)
        >>> grid.shown_differences(np.diff(grid.positions))
        array([86400000000], dtype='timedelta64[us]')
        """
        given = _check.array("differences", differences, "biuf")
        return times.shown(given, None if self._unit is None else "duration")

    def points(self, argument: str, values: Any) -> NDArray[np.float64]:
        """Return points from users as doubles, of any shape, to compare them with ``positions``.

        Parameters
        ----------
        argument
            The name of the points in errors.
        values
            The points, in the grid's unit. On a grid of times with a time zone, NumPy's times are
            in UTC, as in ``thresholds``. Times between two microseconds are rounded down.

        Raises
        ------
        DtypeError, ParameterError
            The points have another unit, or are NaN or missing.

        Examples
        --------
        >>> from dpcore import Grid
        >>> grid = Grid.uniform("2024-01-01", "2024-01-03", 2)
        >>> int(grid.points("x", "2024-01-02") - grid.start)
        86400000000
        """
        if self._unit is None:
            return np.asarray(_check.points(argument, values))
        kind: str | None
        if (one := times.scalar(argument, values, exactly=False)) is not None:
            points, kind = np.asarray(one[0]), one[1]
        else:
            points, kind = public_times.positions(argument, values)
        in_utc = self._unit == "instant" and kind == "time" and times.is_of_numpy(values)
        if kind != self._unit and not in_utc:
            requirement = times.REQUIREMENTS[self._unit]
            raise DtypeError(argument, times.described(kind), requirement)
        return points

    @documented
    def count(
        self, values: Any, *, nan_policy: NanPolicy = "raise", weights: None = None
    ) -> NDArray[np.int64]:
        """Count the values in each cell.

        Parameters
        ----------
        values
            (n,) real numbers: a NumPy array of any real dtype, a sequence, a pandas or polars
            series, or an Arrow array. A Dask array, one column of a Dask dataframe, or one of an
            engine (an expression of ibis) is counted where it lies. Objects may be integers of any
            size, fractions and decimals. Infinities are out of bounds and are clamped like other
            values. On a grid of times or durations, the column holds times or durations, in the
            same containers or as Python objects.
        nan_policy
            {nan_policy}
        weights
            {weights}

        Returns
        -------
        numpy.ndarray
            (N,) int64. The counts of the whole data are the sums of the counts of chunks, exactly.

        Raises
        ------
        MissingValueError
            There are missing values and nan_policy is "raise".
        DtypeError, ParameterError
            The values are not a one-dimensional array of the grid's unit.

        Notes
        -----
        O(n) for uniform grids. For others O(n log N) at worst, and O(n) for linear, logarithmic
        and other even grids. From 2^20 values on, counting uses all processors, and N integers of
        memory on each. Counts are exact: for every dtype, x <= tau_i is decided by comparing x
        with the stored threshold.

        Examples
        --------
        >>> import numpy as np
        >>> grid = Grid.uniform(0, 100, 4)
        >>> grid.count([-3, 25, 25.1, 99, 1e9])
        array([2, 1, 0, 2])
        >>> grid.count([20.0, np.nan], nan_policy="omit")
        array([1, 0, 0, 0])
        """
        _check.unweighted("weights", weights)
        column = Column.of(values)
        if column.is_partitioned:
            return sum_of_parts(partial(self.count, nan_policy=nan_policy), column)
        if column.is_lazy:
            _check.choice("nan_policy", nan_policy, NanPolicy)
            (own,) = queries.counts(column, self._cells(), omit=nan_policy == "omit")
            return np.asarray(own)
        least_part = max(_PART, 4 * self.size)
        chunks = column.chunks(self._unit, times.REQUIREMENTS[self._unit])
        return totals(chunks, self._add, self.size, least_part, nan_policy)

    def _add_groups(
        self, values: Chunk, groups: NDArray[np.int32], counts: NDArray[np.int64]
    ) -> None:
        """Add doubles of several groups to their counts, on all processors. NaN is in no cell.

        Nothing is checked: ``values``, (n,), are as ``Column.joined`` returns them for this grid;
        ``groups``, (n,), are from 0 on, with G for none; ``counts``, (G, N), are contiguous, with
        G N below 2^31, and added to in place.
        """
        line, thresholds, out = self._uniform_line(), self._positions, counts.reshape(-1)

        def add(start: int, stop: int, part: NDArray[np.int64]) -> int:
            own, place = values[start:stop], groups[start:stop]

            def count(table: NDArray[np.uint16], out: NDArray[np.int64]) -> int:
                if line is None:
                    guide = self._search_guide(stop - start)
                    return of_groups.count_search(own, place, thresholds, *guide, table, out)
                return of_groups.count_uniform(own, place, thresholds, *line, table, out)

            return count_in_table(count, stop - start, part)

        add_on_threads(add, values.size, max(_PART, 4 * out.size), out)

    def _cells(self) -> queries.Cells:
        """Return the cells for a query. Those of whole numbers are uniform, too."""
        line = self._line
        if self._of_integers:
            line = (self._positions[0].item() - 1.0, self._positions[-1].item())
        return queries.Cells(self._positions, line if self._unit is None else None, self._unit)

    def _count_positions(self, positions: Chunk) -> NDArray[np.int64]:
        """Count doubles that are compared with ``positions``, without missing values."""
        least_part = max(_PART, 4 * self.size)
        return totals([positions], self._add, self.size, least_part, "raise")

    def _add(self, chunk: Chunk, counts: NDArray[np.int64]) -> int:
        """Add a chunk to the counts, and return how many of its values were NaN."""
        line, thresholds = self._uniform_line(), self._positions

        def count(table: NDArray[np.uint16], out: NDArray[np.int64]) -> int:
            if line is None:
                guide = self._search_guide(chunk.size)
                return kernels.count_search(chunk, thresholds, *guide, table, out)
            return kernels.count_uniform(chunk, thresholds, *line, table, out)

        return count_in_table(count, chunk.size, counts)

    def _uniform_line(self) -> tuple[float, float, float] | None:
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
        # Rounding to microseconds makes cells unequal.
        if self._unit is not None and (upper - lower) % self.size:
            return None
        cells_per_unit = self.size / (upper - lower)
        # Let |x - lower| <= upper - lower. Relative to N, the position, counted from the middle of
        # a cell, has five rounding errors, and the threshold has three. Relative to the bounds, the
        # threshold has one. Each is at most 2^-53. Eight times 2^-52 for both is twice as much as
        # necessary. This leaves room for taking values on a threshold for smaller ones.
        unit = float(np.finfo(np.float64).eps)
        margin = 8 * unit * (self.size + max(abs(lower), abs(upper)) * cells_per_unit)
        return lower, cells_per_unit, margin

    def _search_guide(self, values: int) -> Guide:
        """Return where searches for the cells of so many values start, for ``kernels.counting``.

        It is made, once, when there are values enough for that to be a small part of the work.
        Threads that ask at the same time may make it twice.
        """
        if self._guide is None and values < self.size:
            return no_guide(self._positions)
        if self._guide is None:
            self._guide = best_guide(self._positions)
        return self._guide

    def __getstate__(self) -> object:
        """Return the state to copy and pickle, without the guide, which can be made again."""
        names = ("_line", "_lower", "_of_integers", "_positions", "_unit")
        kept = {name: getattr(self, name) for name in names}
        return None, {**kept, "_guide": None}

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        """Take over the state; arrays that were copied or pickled can be written to until here."""
        for name, value in state[1].items():
            setattr(self, name, value)
        self._positions = read_only(self._positions)

    def describe(self) -> dict[str, Any]:
        """Return a description in JSON's types, from which the grid can be made again.

        Examples
        --------
        >>> Grid([1.0, 10.0, 100.0], lower=0).describe()
        {'kind': 'thresholds', 'thresholds': [1.0, 10.0, 100.0], 'lower': 0.0}
        """
        unit = {} if self._unit is None else {"unit": self._unit}
        if self._of_integers:
            first, last = map(int, self._positions[[0, -1]].tolist())
            return {"kind": "integers", "first": first, "last": last, **unit}
        if self._line is not None:
            lower, upper = self._line
            return {"kind": "uniform", "lower": lower, "upper": upper, "size": self.size, **unit}
        known = {"lower": self._lower} if math.isfinite(self._lower) else {}
        return {"kind": "thresholds", "thresholds": self._positions.tolist(), **known, **unit}

    @classmethod
    def from_description(cls, description: dict[str, Any]) -> Grid:
        """Return the grid of a description.

        Raises
        ------
        DtypeError, ParameterError
            It is none.

        Examples
        --------
        >>> Grid.from_description({"kind": "uniform", "lower": 0.0, "upper": 100.0, "size": 4})
        Grid.uniform(0.0, 100.0, 4)
        """
        _check.instance("description", description, dict, "must be a dict, from describe")
        kind = description.get("kind")
        needed = _PARTS.get(kind) if isinstance(kind, str) else None
        if needed is None or not needed <= set(description):
            what = f"must be of a kind, and have its parts: {_PARTS}"
            raise ParameterError("description", description, what)
        unit = description.get("unit")
        if description["kind"] == "uniform":
            bounds = description["lower"], description["upper"]
            return cls.uniform(*bounds, description["size"], unit=unit)
        if description["kind"] == "integers":
            ends = description["first"], description["last"]
            if unit == "instant":
                raise ParameterError("unit", unit, 'must be "time" or "duration" for whole days')
            first, last = bound("first", ends[0], None, unit), bound("last", ends[1], None, unit)
            return cls._of_whole(first, last, times.checked_unit(unit), ends)
        return cls(description["thresholds"], lower=description.get("lower"), unit=unit)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grid):
            return NotImplemented
        return self._unit == other._unit and np.array_equal(self._positions, other._positions)

    def __hash__(self) -> int:
        return hash((self._positions + 0.0).tobytes())  # -0.0 equals 0.0, so both get the same hash

    def __repr__(self) -> str:
        if self._of_integers:
            ends = self._positions[[0, -1]].tolist()
            if self._unit is None:
                return "Grid.integers({:.0f}, {:.0f})".format(*ends)
            return "Grid.days({}, {})".format(*(times.literal(end, self._unit) for end in ends))
        if self._line is not None:
            lower, upper = (times.literal(end, self._unit) for end in self._line)
            return f"Grid.uniform({lower}, {upper}, {self.size})"
        first, last = (times.text(float(self._positions[at]), self._unit) for at in (0, -1))
        return f"<Grid of {amount(self.size, 'threshold')} from {first} to {last}>"


def check_grid(argument: str, value: object) -> None:
    """Raise an error that says what to write instead, unless the value is a grid."""
    if not isinstance(value, Grid):
        raise DtypeError(argument, type(value).__name__, _instead.grid(value))


def check_grid_of_numbers(argument: str, value: object) -> None:
    """Raise an error that says what to write instead, unless the value is a grid of numbers."""
    check_grid(argument, value)
    assert isinstance(value, Grid)
    if value.unit is not None:
        raise DtypeError(argument, f'a grid of unit "{value.unit}"', "must be of numbers")


def edges_of(grid: Grid) -> NDArray[np.float64]:
    """Return the (N + 1,) ends of cells. Cells of whole numbers are a step wide, each."""
    first = grid.positions[0] - grid.step if grid.of_integers else grid.start
    return np.append(first, grid.positions)
