"""Tables: public grids of two columns, and the exact counts of records in their cells."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check, _instead
from .._documentation import documented
from ..errors import DtypeError, MissingValueError, ParameterError
from ..kernels.counting import pairs as kernels
from ..kernels.trees import hilbert
from ..records.column import Chunk, Column
from .grid import MOST_CELLS, Grid, check_grid_of_numbers
from .totals import NanPolicy, add_on_threads, count_in_table, sum_of_parts

__all__ = ["TableGrid", "check_table_grid", "complete_pairs", "in_a_row"]

_PART: Final = 2**19  # so many records are worth a thread of their own
_BLOCK: Final = 2**15  # the cells of so many records fit the second-level cache


class TableGrid:
    """Public cells of two columns: each cell of a grid for x with each cell of a grid for y.

    As in ``Grid``, values beyond the grid count in the nearest cell, and thresholds must not come
    from the data.

    Parameters
    ----------
    x, y
        The grids of both columns, of N_x and N_y cells. N_x N_y is at most 2^24.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not a grid, or the grids have more than 2^24 cells together.

    See Also
    --------
    TableGrid.uniform : a grid from the bounds of both columns.

    Examples
    --------
    >>> from dpcore import TableGrid
    >>> grid = TableGrid.uniform((0, 100), (0, 10), (4, 2))
    >>> grid.count([10, 20, 60], [1, 9, 9])
    array([[1, 1],
           [0, 0],
           [0, 1],
           [0, 0]])
    """

    __slots__ = ("_x", "_y")

    def __init__(self, x: Grid, y: Grid) -> None:
        for name, grid in (("x", x), ("y", y)):
            check_grid_of_numbers(name, grid)
        if x.size * y.size > MOST_CELLS:
            raise ParameterError(
                "y", (x.size, y.size), f"must have at most {MOST_CELLS} cells together with x"
            )
        self._x, self._y = x, y

    @classmethod
    def uniform(
        cls,
        x_bounds: tuple[float, float],
        y_bounds: tuple[float, float],
        shape: int | tuple[int, int],
    ) -> TableGrid:
        """Return cells of equal width and equal height.

        Parameters
        ----------
        x_bounds, y_bounds
            The least and the greatest value of each column.
        shape
            The numbers of cells along x and along y, or one number for both.

        Raises
        ------
        DtypeError, ParameterError
            The bounds are not two finite numbers in ascending order, or they are too far apart or
            too near to each other for doubles; or shape is not as above.

        Examples
        --------
        >>> grid = TableGrid.uniform((0, 100), (0, 10), (4, 2))
        >>> grid.x.thresholds, grid.y.thresholds, grid.shape
        (array([ 25.,  50.,  75., 100.]), array([ 5., 10.]), (4, 2))
        """
        is_array = isinstance(shape, np.ndarray) and shape.ndim > 0
        is_pair = isinstance(shape, tuple | list) or is_array
        sizes = _check.in_order("shape", shape if is_pair else (shape, shape), "must be integers")
        if len(sizes) != 2:
            raise ParameterError("shape", shape, "must be one or two integers")
        width, height = (_check.integer("shape", size, 1, MOST_CELLS) for size in sizes)
        return cls(_uniform("x_bounds", x_bounds, width), _uniform("y_bounds", y_bounds, height))

    @property
    def x(self) -> Grid:
        """The grid of the first column."""
        return self._x

    @property
    def y(self) -> Grid:
        """The grid of the second column."""
        return self._y

    @property
    def shape(self) -> tuple[int, int]:
        """(N_x, N_y), the shape of the counts."""
        return self._x.size, self._y.size

    @property
    def size(self) -> int:
        """Number of cells, N_x N_y."""
        return self._x.size * self._y.size

    @documented
    def count(self, x: Any, y: Any, *, nan_policy: NanPolicy = "raise") -> NDArray[np.int64]:
        """Count the records in each cell.

        Parameters
        ----------
        x, y
            (n,) real numbers each: two columns of the same records, as in ``Grid.count``.
        nan_policy
            {nan_policy}

        Returns
        -------
        numpy.ndarray
            (N_x, N_y) int64. The counts of the whole data are the sums of the counts of chunks,
            exactly.

        Raises
        ------
        MissingValueError
            There are missing values and nan_policy is "raise".
        DtypeError, ParameterError
            The columns are not one-dimensional arrays of real numbers with the same length.

        Notes
        -----
        As exact as ``Grid.count``, and as fast for each column. From 2^20 records on, counting uses
        all processors, and N_x N_y integers of memory on each. A column that is not an array of
        float64 or float32 is converted to one, as a whole. So count large columns in chunks.

        Examples
        --------
        >>> grid = TableGrid.uniform((0, 100), (0, 10), 2)
        >>> grid.count([10, 20, 60], [1, 9, 9])
        array([[1, 1],
               [0, 1]])
        """
        _check.choice("nan_policy", nan_policy, NanPolicy)
        of_x, of_y = Column.of(x, "x"), Column.of(y, "y")
        if of_x.is_partitioned or of_y.is_partitioned:
            return sum_of_parts(partial(self.count, nan_policy=nan_policy), of_x, of_y)
        first, second = _pairs(of_x, of_y)
        place_x, place_y = _placing(self._x, first.size), _placing(self._y, first.size)

        def add(start: int, stop: int, out: NDArray[np.int64]) -> int:
            def count(table: NDArray[np.uint16], out: NDArray[np.int64]) -> int:
                cells = np.empty((2, min(_BLOCK, stop - start)), np.uint32)
                absent = 0
                for at in range(start, stop, _BLOCK):
                    part = slice(at, min(at + _BLOCK, stop))
                    absent += place_x(first[part], cells[0])
                    absent += place_y(second[part], cells[1])
                    size = part.stop - at
                    kernels.count_pairs(cells[0], cells[1], size, *self.shape, table, out)
                return absent

            return count_in_table(count, stop - start, out)

        counts = np.zeros(self.size, np.int64)
        absent = add_on_threads(add, first.size, max(_PART, 4 * self.size), counts)
        if absent and nan_policy == "raise":
            raise MissingValueError("x" if np.isnan(first).any() else "y")
        return counts.reshape(self.shape)

    def describe(self) -> dict[str, Any]:
        """Return a description in JSON's types, from which the grid can be made again.

        Examples
        --------
        >>> TableGrid.uniform((0, 100), (0, 10), (4, 2)).describe()["y"]
        {'kind': 'uniform', 'lower': 0.0, 'upper': 10.0, 'size': 2}
        """
        return {"x": self._x.describe(), "y": self._y.describe()}

    @classmethod
    def from_description(cls, description: dict[str, Any]) -> TableGrid:
        """Return the grid of a description.

        Raises
        ------
        DtypeError, ParameterError
            It is none.

        Examples
        --------
        >>> grid = TableGrid.uniform((0, 100), (0, 10), (4, 2))
        >>> TableGrid.from_description(grid.describe())
        TableGrid(x=Grid.uniform(0.0, 100.0, 4), y=Grid.uniform(0.0, 10.0, 2))
        """
        _check.instance("description", description, dict, "must be a dict, from describe")
        if not {"x", "y"} <= set(description):
            raise ParameterError("description", description, "must have grids x and y")
        return cls(*(Grid.from_description(description[axis]) for axis in ("x", "y")))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TableGrid):
            return NotImplemented
        return self._x == other._x and self._y == other._y

    def __hash__(self) -> int:
        return hash((self._x, self._y))

    def __repr__(self) -> str:
        return f"TableGrid(x={self._x!r}, y={self._y!r})"


@lru_cache(maxsize=4)  # each entry may be as large as a table
def in_a_row(shape: tuple[int, int]) -> NDArray[np.int64]:
    """Return the cells of a table along Hilbert's curve, as places in its flat counts. Cached.

    Neighbours in the row are neighbours in the table, so a run of the row is a patch of the table.
    The order depends on the shape only, which is public.
    """
    order = hilbert.rectangle(*shape)
    order.flags.writeable = False
    return order


def complete_pairs(x: Column, y: Column, nan_policy: NanPolicy) -> tuple[Chunk, Chunk]:
    """Return two columns of the same records, without the records that lack a value.

    Parameters
    ----------
    x, y
        The columns.
    nan_policy
        As in ``TableGrid.count``.

    Raises
    ------
    MissingValueError, DtypeError, ParameterError
        As in ``TableGrid.count``.
    """
    _check.choice("nan_policy", nan_policy, NanPolicy)
    first, second = _pairs(x, y)
    missing = [np.isnan(values) for values in (first, second)]
    for column, absent in zip((x, y), missing, strict=True):
        if nan_policy == "raise" and absent.any():
            raise MissingValueError(column.argument)
    if (either := missing[0] | missing[1]).any():
        first, second = first[~either], second[~either]
    return first, second


def _pairs(x: Column, y: Column) -> tuple[Chunk, Chunk]:
    x.check_index(y)
    first, second = x.joined(), y.joined()
    if first.shape != second.shape:
        what = f"must have the shape of {x.argument}, {first.shape}"
        raise ParameterError(y.argument, second.shape, what)
    return first, second


def _placing(grid: Grid, records: int) -> Callable[[Chunk, NDArray[np.uint32]], int]:
    """Return a function that writes the cells of values to an array, and returns how many are NaN.

    Parameters
    ----------
    grid
        The grid of the column.
    records
        The number of all values.
    """
    line, thresholds = grid._uniform_line(), grid.positions
    if line is None:
        guide = grid._search_guide(records)
        return lambda values, out: kernels.place_search(values, thresholds, *guide, out)
    return lambda values, out: kernels.place_uniform(values, thresholds, *line, out)


def _uniform(argument: str, bounds: Any, size: int) -> Grid:
    """Return cells of equal width between two bounds. Errors use the argument's name for both."""
    low, high = _check.ends(argument, bounds)
    try:
        return Grid.uniform(low, high, size)
    except ParameterError as error:  # the bounds are too far apart or too near to each other
        raise ParameterError(argument, bounds, error.requirement) from None


def check_table_grid(value: object) -> None:
    """Raise an error that says what to write instead, unless the value is a grid of a table."""
    if not isinstance(value, TableGrid):
        raise DtypeError("grid", type(value).__name__, _instead.table_grid(value))
