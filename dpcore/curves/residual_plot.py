"""Released residual plots: points drawn from a released table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from .._sealed import sealed
from ..errors import ParameterError
from ..privacy.guarantees import Privacy
from . import forms
from .drawing import drawing
from .shown import cost, line
from .stored import Stored, one_of, read
from .table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ResidualPlot"]

Kind = Literal["scatter", "density"]


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class ResidualPlot(Stored):
    """A released plot of residuals against predicted values. ``dpcore.residual_plot`` makes it.

    Parameters
    ----------
    table
        The released table: x is the predicted value, y the residual.
    points
        (k, 2) predicted values and residuals, drawn evenly within the cells of the table. Each cell
        has as many points as ``cells`` says. They stand for the records, but no point is a record.
    privacy
        The cost of bounds and table together, at least that of the table.

    Raises
    ------
    DtypeError, ParameterError
        A parameter is not as above.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> x, errors = rng.uniform(0, 8, 5000), rng.normal(0, 1, 5000)
    >>> plot = dp.residual_plot(x, errors, epsilon=1.0, cells=8, rng=rng)
    >>> plot
    <ResidualPlot: 8 x 8 cells, n = 5000, epsilon = 1, SIMULATED>
    >>> plot.predicted_range, plot.residual_range
    ((0.0, 8.0), (-4.0, 4.0))
    """

    _kind = "dpcore.residual-plot"
    _first = ("privacy",)

    table: Table = field(metadata=one_of(Table))
    points: NDArray[np.float64] = field(metadata=forms.NOT_STORED)
    privacy: Privacy = field(metadata=forms.PRIVACY)

    def __post_init__(self) -> None:
        _check.instance("table", self.table, Table, "must be a Table")
        _check.instance("privacy", self.privacy, Privacy, "must be a Privacy")
        if not self.table.privacy <= self.privacy:
            raise ParameterError("privacy", self.privacy, "must be at least that of the table")
        points = _check.array("points", self.points, "f")
        if points.ndim != 2 or points.shape[1] != 2:
            raise ParameterError("points", points.shape, "must have two columns")

    def __repr__(self) -> str:
        width, height = self.table.grid.shape
        return line("ResidualPlot", f"{width} x {height} cells, n = {self.n}, {cost(self.privacy)}")

    @property
    def n(self) -> int:
        """The public number of records."""
        return self.table.n

    @property
    def cells(self) -> NDArray[np.int64]:
        """(N_x, N_y) the number of points in each cell of the table: whole numbers, 0 or more."""
        return self.table.whole_counts

    @property
    def outside(self) -> float:
        """The released number of records beyond the bounds. These records have no points."""
        return self.table.outside

    @property
    def predicted_range(self) -> tuple[float, float]:
        """The bounds of the predicted values."""
        grid = self.table.grid.x
        return grid.start, float(grid.positions[-1])

    @property
    def residual_range(self) -> tuple[float, float]:
        """The bounds of the residuals."""
        grid = self.table.grid.y
        return grid.start, float(grid.positions[-1])

    def _columns(self) -> Mapping[str, Any]:
        return {"predicted": self.points[:, 0], "residual": self.points[:, 1]}

    def _choices(self) -> Mapping[str, Any]:
        return self.table._choices()

    def quantiles(self, p: ArrayLike) -> NDArray[np.float64]:
        """Return quantiles of the residuals for each column of cells: (N_x,), then the shape of p.

        See ``Table.conditional_quantiles``.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> x, ends = rng.uniform(0, 50, 5000), {"predicted_range": (0, 50)}
        >>> errors, cells = rng.normal(0, 1 + x / 10), (5, 40)
        >>> plot = dp.residual_plot(x, errors, epsilon=2.0, **ends, cells=cells, rng=rng)
        >>> plot.quantiles(0.75).round(1)
        array([1. , 1.6, 2.3, 2.9, 4.1])
        """
        return self.table.conditional_quantiles("y", p)

    @drawing
    def plot(self, ax: Axes | None = None, *, kind: Kind = "scatter", **style: Any) -> Axes:
        """Draw residuals against predicted values. Needs the extra ``plot``.

        Parameters
        ----------
        ax
            Matplotlib axes, or None for new ones.
        kind
            "scatter" draws the points. "density" draws the counts of the cells as colours.
        **style
            Passed on to ``Axes.scatter`` or ``Axes.pcolormesh``.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> x, errors = np.random.default_rng(1).uniform(-2, 2, (2, 1000))
        >>> ends = {"predicted_range": (-2, 2), "residual_range": (-2, 2)}
        >>> ax = dp.residual_plot(x, errors, epsilon=8.0, **ends, cells=8).plot(kind="density")
        >>> ax.get_xlabel(), ax.get_ylabel(), ax.get_title()
        ('predicted value', 'residual', 'private, epsilon = 8')
        """
        from .plots import plot_residuals, shortly

        _check.choice("kind", kind, Kind)
        if kind == "density":
            ax = self.table.plot(ax, **style)
            style = {}
        points = self.points if kind == "scatter" else None
        ends = self.predicted_range, self.residual_range
        return plot_residuals(points, *ends, shortly(self.privacy), ax=ax, style=style)

    @classmethod
    def from_json(cls, text: str, rng: np.random.Generator | None = None) -> ResidualPlot:
        """Read a release from JSON, and draw points.

        Parameters
        ----------
        text
            The JSON that ``to_json`` returned.
        rng
            As in ``Table.sample``.

        Raises
        ------
        FormatError
            The text is not a release that this version can read.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> x, errors = rng.uniform(0, 8, 5000), rng.normal(0, 1, 5000)
        >>> plot = dp.residual_plot(x, errors, epsilon=1.0, cells=8, rng=rng)
        >>> again = dp.ResidualPlot.from_json(plot.to_json(), rng)
        >>> again.n, again.predicted_range, again.privacy.epsilon
        (5000, (0.0, 8.0), 1.0)
        """
        plot = read(cls, text)
        return plot if rng is None else replace(plot, points=plot.table.sample(rng=rng))

    @classmethod
    def _of_stored(cls, table: Table, privacy: Privacy) -> ResidualPlot:
        return cls(table, table.sample(), privacy)
