"""Released tables: counts of two columns over a public grid. All methods are post-processing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from ..errors import DtypeError, ParameterError
from ..noise.sources import public_generator
from ..privacy.guarantees import Privacy
from ..summaries.grid import Grid, edges_of
from ..summaries.table_grid import TableGrid, check_table_grid, in_a_row
from . import forms
from .cdf import CDF
from .drawing import drawing
from .field_tables import Rows
from .frames import thresholds_in_frame
from .inversion import between, shares_within
from .provenance import of_lines
from .shown import cost, line
from .stored import Stored, within
from .table_noise import block_of, deviations_in_blocks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Axis", "Integers", "Table", "of_both_columns"]

Axis = Literal["x", "y"]
Integers = tuple[bool | None, bool | None]
Names = tuple[str | None, str | None]

_INDEPENDENT: Final = "histogram"  # the mechanism that has the same noise in every cell
_BOTH: Final = forms.optional(forms.tuple_of(forms.PLAIN))  # of x and of y
_LEAST: Final = 0.5  # records; with fewer, quantiles do not exist


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Table(Stored):
    """Released counts of records by the cells of two columns. ``dpcore.table`` makes it.

    All cells form a row, along Hilbert's curve, which is released as one curve. Neighbours in the
    row are neighbours in the table. A replaced record moves from one cell of the row to another, so
    all statements about a curve hold for the table.

    Parameters
    ----------
    grid
        The public cells, N_x times N_y.
    row
        The released curve over the N_x N_y cells in a row. It may have one more cell, the last one,
        for records outside the grid.
    integers
        Whether x and y are whole numbers, as in ``CDF``. Each of the two is True, False or None.
    names
        The names of the columns x and y, as in ``CDF``. Each of the two is a string or None.

    Raises
    ------
    DtypeError, ParameterError
        A parameter is not as above.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.TableGrid.uniform((0, 2), (0, 2), 2)
    >>> found = dp.table([1, 1, 2] * 30, [1, 2, 2] * 30, grid, epsilon=1.0, rng=rng)
    >>> found
    <Table: 2 x 2 cells, n = 90, epsilon = 1, SIMULATED>
    >>> found.counts
    array([[24.5, 29.5],
           [ 2.5, 33.5]])
    """

    _kind = "dpcore.table"

    grid: TableGrid = field(metadata=forms.TABLE_CELLS)
    row: CDF = field(metadata=within(CDF))
    integers: Integers = field(default=(None, None), metadata=_BOTH)
    names: Names = field(default=(None, None), metadata=_BOTH)

    def __post_init__(self) -> None:
        check_table_grid(self.grid)
        _check.instance("row", self.row, CDF, "must be a CDF")
        cells, size = self.grid.size, self.row.grid.size
        if size not in (cells, cells + 1):
            raise ParameterError("row", size, f"must have {cells} cells, or {cells + 1}")
        object.__setattr__(self, "integers", of_both_columns(self.integers))
        names = self.names
        are_two = isinstance(names, tuple) and len(names) == 2
        if not are_two or not all(name is None or isinstance(name, str) for name in names):
            raise DtypeError(
                "names", type(names).__name__, "must be a tuple of two strings or None"
            )

    def __repr__(self) -> str:
        width, height = self.grid.shape
        return line("Table", f"{width} x {height} cells, n = {self.n}, {cost(self.privacy)}")

    @property
    def n(self) -> int:
        """The number of records: public, or released (under add-or-remove-one)."""
        return self.row.n

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the release."""
        return self.row.privacy

    @property
    def counts(self) -> NDArray[np.float64]:
        """(N_x, N_y) released counts of the cells. Raw counts may be below 0."""
        return self._in_place(np.diff(self.row.counts, prepend=0).astype(np.float64))

    @property
    def outside(self) -> float:
        """The released number of records in no cell. It is 0 if the nearest cell counts them."""
        if self.row.grid.size == self.grid.size:
            return 0.0
        return float(self.n - self.row.counts[-2])

    @property
    def whole_counts(self) -> NDArray[np.int64]:
        """(N_x, N_y) whole numbers, 0 or more, near the counts.

        The row is made monotone, and its cumulative counts are rounded. So the count of any piece
        of the row is off by less than 1, and all cells and ``outside`` sum to n.
        """
        row = self.row if self.row.is_monotone else self.row.isotonic()
        return self._in_place(np.diff(np.rint(row.counts), prepend=0).astype(np.int64))

    def _columns(self) -> Mapping[str, Any]:
        x, y = self.grid.x, self.grid.y
        return {
            "x": thresholds_in_frame(x, np.repeat(x.thresholds, y.size)),
            "y": thresholds_in_frame(y, np.tile(y.thresholds, x.size)),
            "count": self.counts.ravel(),
        }

    def _choices(self) -> Mapping[str, Any]:
        return {"grid": self.grid, "n": self.n, "mechanism": self.row.mechanism}

    def _readings(self, level: float) -> list[Rows]:
        return [Rows("Fields", ("", "value"), [("cells", " x ".join(map(str, self.grid.shape)))])]

    def isotonic(self) -> Table:
        """Return the table with the nearest cumulative counts of the row that never decrease.

        Its cells are 0 or more and sum to n. The step never increases the total squared error of
        the cumulative counts (``CDF.isotonic``). Where the row holds little but noise, cells below
        and above 0 cancel each other. O(N_x N_y).

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.TableGrid.uniform((0, 2), (0, 2), 2)
        >>> raw = dp.table([1, 2] * 50, [1, 2] * 50, grid, epsilon=1.0, isotonic=False, rng=rng)
        >>> raw.counts.tolist(), raw.isotonic().counts.tolist()
        ([[44.5, -0.5], [2.5, 53.5]], [[44.5, 0.0], [2.5, 53.0]])
        """
        return replace(self, row=self.row.isotonic())

    def marginal(self, axis: Axis) -> CDF:
        """Return the distribution of one column alone.

        Parameters
        ----------
        axis
            "x" or "y": the column.

        Returns
        -------
        CDF
            A curve over ``grid.x`` or ``grid.y``. If the table is raw, so is the curve:
            ``isotonic`` makes it monotone. Its n is the number of records in the table, at least 1.
            Its ``noise_deviation`` is known, as released, for ``mechanisms.Histogram`` and for a
            ``Hierarchy`` with two given branchings. Otherwise it is infinite.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.TableGrid.uniform((0, 2), (0, 2), 2)
        >>> x, y = [1, 1, 2] * 30, [1, 2, 2] * 30
        >>> found = dp.table(x, y, grid, epsilon=1.0, rng=rng)
        >>> found.marginal("x").counts, found.marginal("y").counts
        (array([54., 90.]), array([27., 90.]))
        """
        return self.conditional(axis)

    def conditional(
        self, axis: Axis, lower: float | None = None, upper: float | None = None
    ) -> CDF:
        """Return the distribution of one column among records whose other column is in a range.

        Parameters
        ----------
        axis
            "x" or "y": the column whose distribution is returned.
        lower, upper
            The range of the other column: above lower, and at most upper. None: no bound. A range
            that begins where the grid does includes the grid's lower end, if the first cell has a
            width. If a part of a cell is in the range, this part counts, as if the records of the
            cell lay evenly in it, or on its whole numbers if they are ``integers``. If the lower
            end of a grid is not known, records of its first cell are taken to lie at the cell's
            upper end.

        Returns
        -------
        CDF
            As from ``marginal``. Its n is the released number of records in the range, rounded, and
            at least 1. If there is less than half a record, the error of the curve is infinite.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above, or lower is not below upper.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> age = rng.uniform(20, 70, 5000)
        >>> hours = rng.normal(40 - (age - 45) ** 2 / 100, 5)
        >>> grid = dp.TableGrid.uniform((20, 70), (0, 80), (5, 16))
        >>> found = dp.table(age, hours, grid, epsilon=1.0, rng=rng)
        >>> round(found.conditional("y", 40, 50).quantile(0.5))
        40
        """
        _check.choice("axis", axis, Axis)
        own, other, counts = self._along(axis)
        shares = shares_within(other, lower, upper, integers=self._are_whole(axis == "y"))
        deviation = self._deviation_of(axis, own.size, shares)
        cumulative = np.sum(np.cumsum(counts, axis=0) * shares, axis=1)
        curve = self._curve(axis, cumulative, deviation)
        return replace(curve, releases=self._noise_in(axis, np.flatnonzero(shares)))

    def conditional_quantiles(self, axis: Axis, p: ArrayLike) -> NDArray[np.float64]:
        """Return quantiles of one column for each cell of the other.

        Parameters
        ----------
        axis
            "x" or "y": the column whose quantiles are returned.
        p
            Probabilities within [0, 1], any shape.

        Returns
        -------
        numpy.ndarray
            Of the shape (N,) of the other column's cells, followed by that of p: quantiles of
            ``conditional`` curves, made monotone. NaN where the released count is below 1/2.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> age = rng.uniform(20, 70, 5000)
        >>> hours = rng.normal(40 - (age - 45) ** 2 / 100, 5)
        >>> grid = dp.TableGrid.uniform((20, 70), (0, 80), (5, 16))
        >>> found = dp.table(age, hours, grid, epsilon=1.0, rng=rng)
        >>> found.conditional_quantiles("y", 0.5).round()
        array([36., 39., 40., 39., 36.])
        """
        _check.choice("axis", axis, Axis)
        shares = _check.probabilities("p", p)
        own, other, counts = self._along(axis)
        quantiles = np.full((other.size, *shares.shape), np.nan)
        unknown = np.full(own.size, np.inf)
        cumulative = np.cumsum(counts, axis=0)
        for cell in np.flatnonzero(cumulative[-1] >= _LEAST):
            curve = self._curve(axis, cumulative[:, cell], unknown)
            quantiles[cell] = curve.isotonic().quantile(shares)
        return quantiles

    def sample(
        self, size: int | None = None, rng: np.random.Generator | None = None
    ) -> NDArray[np.float64]:
        """Draw synthetic records with this distribution, evenly within each cell.

        Whole numbers are drawn evenly, too: a cell may contain none, and records stay in their
        cells. Only on ``Grid.integers``, whose cells have one value each, whole numbers are drawn,
        unless ``integers`` is False for the column.

        Parameters
        ----------
        size
            The number of records. None: ``whole_counts`` records in each cell, cell by cell.
        rng
            A generator, or None for fresh entropy. The table is public already, so draws need not
            be secret.

        Returns
        -------
        numpy.ndarray
            (size, 2): x and y, each in its cell. If the lower end of a grid is not known, records
            of its first cell are at the first threshold.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above, or the table has no record to draw from.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.TableGrid.uniform((0, 2), (0, 2), 2)
        >>> x, y = [1, 1, 2] * 30, [1, 2, 2] * 30
        >>> found = dp.table(x, y, grid, epsilon=1.0, rng=rng)
        >>> found.sample(3, rng).round(1).tolist()
        [[0.9, 1.6], [0.1, 1.2], [1.7, 1.6]]
        """
        rng = public_generator(rng)
        whole = self.whole_counts.reshape(-1)
        if size is None:
            cells = np.repeat(np.arange(whole.size), whole)
        else:
            size = _check.integer("size", size, 0, 2**40)
            if not whole.any():
                raise ParameterError("size", size, "must be None if the table has no records")
            ends = np.cumsum(whole)
            cells = np.searchsorted(ends, rng.integers(ends[-1], size=size), side="right")
        places = np.unravel_index(cells, self.grid.shape)
        sample = np.empty((cells.size, 2))
        for column, (grid, at) in enumerate(zip((self.grid.x, self.grid.y), places, strict=True)):
            if grid.of_integers and self.integers[column] is not False:
                sample[:, column] = grid.positions[at]
                continue
            edges = np.append(_start(grid), grid.positions)
            lower, upper = edges[at], edges[at + 1]
            inside = between(lower, upper, 1.0 - rng.random(at.size))
            with np.errstate(under="ignore"):  # for example, beside 0
                least = np.nextafter(lower, np.inf)  # a lower end may belong to another cell
            sample[:, column] = np.clip(inside, least, upper)
        return sample

    @drawing
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the counts as colours, after ``isotonic``. Needs the extra ``plot``.

        Parameters
        ----------
        ax
            Matplotlib axes, or None for new ones.
        **style
            Passed on to ``Axes.pcolormesh``.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid = dp.TableGrid.uniform((0, 2), (0, 2), 2)
        >>> found = dp.table([1, 1, 2], [1, 2, 2], grid, epsilon=50.0)
        >>> found.plot().get_title()
        'private, epsilon = 50'
        """
        from .plots import check_reach, plot_table, shortly

        for grid in (self.grid.x, self.grid.y):
            check_reach(edges_of(grid))
        table = self if self.row.is_monotone else self.isotonic()
        edges = _drawn_edges(self.grid.x), _drawn_edges(self.grid.y)
        names = self.names[0] or "x", self.names[1] or "y"
        return plot_table(table.counts, *edges, shortly(self.privacy), names, ax=ax, style=style)

    def _in_place(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers of the row's cells, in their places in the table."""
        placed = np.empty(self.grid.size, cells.dtype)
        placed[in_a_row(self.grid.shape)] = cells[: self.grid.size]
        return placed.reshape(self.grid.shape)

    def _along(self, axis: Axis) -> tuple[Grid, Grid, NDArray[np.float64]]:
        """Return the grid of a column, the grid of the other column, and the counts by both."""
        counts = self.counts
        if axis == "x":
            return self.grid.x, self.grid.y, counts
        return self.grid.y, self.grid.x, counts.T

    def _are_whole(self, of_x: bool) -> bool:
        """Return whether the records of x, or those of y, are read as whole numbers."""
        said, grid = (self.integers[0], self.grid.x) if of_x else (self.integers[1], self.grid.y)
        return grid.of_integers if said is None else said

    def _curve(
        self, axis: Axis, cumulative: NDArray[np.float64], deviation: NDArray[np.float64]
    ) -> CDF:
        """Return the curve of a column from its cumulative counts, with the noise in them.

        A curve ends with a whole n. The counts are scaled to it, by a factor near 1 if there are
        some records. The difference must not be put in the last cell.
        """
        total = float(cumulative[-1])
        n = max(1, round(total))
        if total >= _LEAST:
            cumulative = cumulative * (n / total)
            deviation = deviation * (n / total)
        else:  # no record tells where the one of n is
            deviation = np.full(cumulative.size, np.inf)
        cumulative[-1] = n
        return CDF(
            grid=self.grid.x if axis == "x" else self.grid.y,
            counts=cumulative,
            n=n,
            privacy=self.privacy,
            mechanism={"name": f"{axis} of a table", "table": str(self.row.mechanism["name"])},
            noise_deviation=deviation,
            processing=self.row.processing,
            integers=self.integers[0 if axis == "x" else 1],
            name=self.names[0 if axis == "x" else 1],
        )

    def _noise_in(self, axis: Axis, lines: NDArray[np.int64]) -> tuple[str, ...]:
        """Return the identifiers of the noise in a column's curve from these cells of the other."""
        whole = self.row.releases
        exact = not self.row.noise_deviation.any()
        apart = exact or self.row.mechanism["name"] == _INDEPENDENT
        if lines.size == 0 or not apart or self.row.processing:
            return whole
        return tuple(of_lines(one, axis, int(lines[0]), int(lines[-1])) for one in whole)

    def _deviation_of(
        self, axis: Axis, size: int, shares: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the deviation of the noise up to each threshold of a column.

        ``shares`` are the parts of the other column's cells that count. If the noise has one law in
        all cells, the deviation depends only on their number, so it is that of a count of the row.
        For cells that count in part it is smaller.
        """
        of_row, mechanism = self.row.noise_deviation, self.row.mechanism
        if not of_row.any():
            return np.zeros(size)
        if mechanism["name"] == _INDEPENDENT:
            known, cells = np.append(0.0, of_row**2), np.arange(1.0, size + 1.0) * shares.sum()
            return np.asarray(np.sqrt(np.interp(cells, np.arange(known.size), known)))
        block = block_of(mechanism)
        if block is None:
            return np.full(size, np.inf)
        outside = of_row.size - self.grid.size
        of_x, of_y = np.unravel_index(in_a_row(self.grid.shape), self.grid.shape)
        own, other = (of_x, of_y) if axis == "x" else (of_y, of_x)
        places, parts = np.pad(own, (0, outside)), np.pad(shares[other], (0, outside))
        return deviations_in_blocks(of_row, block, places, parts, size)


def of_both_columns(integers: Any) -> Integers:
    """Return the statements for x and for y. A single statement is for both.

    Raises
    ------
    DtypeError
        It is not None, a bool, or a tuple of two of them.
    """
    both = integers if isinstance(integers, tuple) else (integers, integers)
    if len(both) != 2 or not all(flag is None or isinstance(flag, bool) for flag in both):
        what = "must be None, a bool, or a tuple of two of them"
        raise DtypeError("integers", type(integers).__name__, what)
    return both


def _start(grid: Grid) -> float:
    """Return the lower end of the first cell, or its upper end if the lower is not known."""
    return grid.start if math.isfinite(grid.start) else float(grid.positions[0])


def _drawn_edges(grid: Grid) -> NDArray[np.float64]:
    """Return the N + 1 ends of cells. A first cell without a width is as wide as the next."""
    ends = grid.positions
    if -math.inf < (first := float(edges_of(grid)[0])) < ends[0]:
        return np.append(first, ends)
    return np.append(2 * ends[0] - ends[1] if grid.size > 1 else ends[0] - 1.0, ends)
