"""The distance between two residual plots."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from ..curves.residual_plot import ResidualPlot
from ..errors import MissingValueError, ParameterError

__all__ = ["residual_plot_distance"]

_MOST_CELLS: Final = 2**11  # cells along an axis


def residual_plot_distance(
    first: ResidualPlot | ArrayLike,
    second: ResidualPlot | ArrayLike,
    *,
    cells: int = 10,
    margin: float = 0.1,
) -> float:
    """Return the total variation distance of two residual plots, over cells around the first one.

    Parameters
    ----------
    first, second
        Released plots, whose ``points`` are compared; or (k, 2) and (m, 2) points. The points of
        the first must be finite. With the points of records themselves, the distance is not
        private.
    cells
        The number of cells of equal width along each axis, from 1 to 2048.
    margin
        How far the cells reach beyond the points of the first plot, on all four sides, in the unit
        of the points; 0 or more.

    Returns
    -------
    float
        A number within [0, 1]. It is half the sum of |P(c) - Q(c)| over the cells, plus half of the
        share of the second plot's points that are in no cell. P and Q are the shares of the points
        of the first and of the second plot. It is 0 if neither plot has points, and 1 if exactly
        one of them has none.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is not as above.

    Notes
    -----
    Chen, Machanavajjhala, Reiter & Barrientos, *Differentially private regression diagnostics*
    (2016), section III.C, call this distance similarity, although 0 means alike. It is not
    symmetric, because the first plot determines the cells. It depends on the units of both axes
    only through the margin. Points on a border count in the cell above. The cost is
    O(k + m + cells^2).

    Examples
    --------
    >>> residual_plot_distance([[0, 0], [1, 1]], [[0, 0], [1, 1]])
    0.0
    >>> residual_plot_distance([[0, 0], [1, 1]], [[0, 0], [9, 9]])
    0.5
    """
    points = [_points(name, plot) for name, plot in (("first", first), ("second", second))]
    side = _check.integer("cells", cells, 1, _MOST_CELLS)
    beyond = _check.finite("margin", margin)
    if beyond < 0.0:
        raise ParameterError("margin", margin, "must not be negative")
    if not np.isfinite(points[0]).all():
        raise ParameterError("first", "an infinite point", "must have finite points")
    if not all(map(len, points)):
        return float(len(points[0]) != len(points[1]))
    with np.errstate(over="ignore"):
        low, high = points[0].min(axis=0) - beyond, points[0].max(axis=0) + beyond
    if not np.isfinite([low, high]).all():
        raise ParameterError("margin", margin, "must leave cells that end within doubles")
    p, q = (_counts(plot_points, low, high, side) for plot_points in points)
    k, m = map(len, points)
    # Multiplied by k m, so these are whole numbers.
    apart = np.sum(np.abs(m * p - k * q)) + k * (m - q.sum())
    return int(apart) / (2 * k * m)


def _points(argument: str, plot: Any) -> NDArray[np.float64]:
    """Return (k, 2) points, without NaN."""
    given = plot.points if isinstance(plot, ResidualPlot) else plot
    points = _check.doubles(_check.array(argument, given, "biuf"))
    if points.ndim != 2 or points.shape[1] != 2:
        raise ParameterError(argument, points.shape, "must have two columns")
    if np.isnan(points).any():
        raise MissingValueError(argument)
    return points


def _counts(
    points: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    side: int,
) -> NDArray[np.int64]:
    """Return the number of points in each cell, (side^2,)."""
    within = points[((points >= low) & (points <= high)).all(axis=1)]
    # Differences of halves do not overflow.
    width = np.maximum(high / 2 - low / 2, np.finfo(np.float64).tiny)
    places = ((within / 2 - low / 2) / width * side).astype(np.int64)
    x, y = np.minimum(places, side - 1).T
    return np.bincount(x * side + y, minlength=side**2)
