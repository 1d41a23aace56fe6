"""The area between two ROC curves, released or not."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import DtypeError, ParameterError

__all__ = ["Rates", "symmetric_difference"]


class Rates(Protocol):
    """Points of a monotone curve from (0, 0) to (1, 1), with lines between them."""

    @property
    def fpr(self) -> NDArray[np.float64]:
        """Abscissae."""
        ...

    @property
    def tpr(self) -> NDArray[np.float64]:
        """Ordinates."""
        ...


def symmetric_difference(first: Rates, second: Rates) -> float:
    """Return the area between two ROC curves, which is within [0, 1]; NaN if a class is empty.

    Parameters
    ----------
    first, second
        ROC curves, monotone, of any number of points.

    Returns
    -------
    float
        The integral of the distance of the true positive rates over the false positive rates. It
        is exact, but for rounding: curves are straight between their points, and may be vertical.

    Raises
    ------
    DtypeError, ParameterError
        An argument is no curve, or one is not monotone: ``ROC.from_curves`` makes it so.

    Notes
    -----
    The error of Figure 5 of the ECDF paper. Curves with the same area may differ. O(K log K).

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.statistics import ROC, symmetric_difference
    >>> exact, grid = dp.mechanisms.NoNoise(), dp.Grid.uniform(0, 1, 4)
    >>> good = ROC.from_curves(dp.score_curves([0, 1], [0.1, 0.9], grid, exact))
    >>> bad = ROC.from_curves(dp.score_curves([0, 1], [0.9, 0.1], grid, exact))
    >>> symmetric_difference(good, bad)
    1.0
    """
    for name, curve in (("first", first), ("second", second)):
        if not (hasattr(curve, "fpr") and hasattr(curve, "tpr")):
            raise DtypeError(name, type(curve).__name__, "must be a ROC curve")
    curves = [(first.fpr, first.tpr), (second.fpr, second.tpr)]
    for name, rates in zip(("first", "second"), curves, strict=True):
        for each in rates:
            if np.isnan(each).any():
                return float("nan")
            if np.any(np.diff(each) < 0.0):
                raise ParameterError(name, "rates that fall", "must be monotone")
    at = np.unique(np.concatenate([fpr for fpr, _ in curves]))
    (first_low, first_high), (second_low, second_high) = (_ends(*rates, at) for rates in curves)
    start, end = first_low - second_low, first_high - second_high
    total = np.abs(start) + np.abs(end)
    # Where a difference changes its sign, it has two triangles: start^2 and end^2 over the total.
    crossing = np.divide(start**2 + end**2, total, out=np.zeros_like(total), where=total > 0.0)
    heights = np.where(start * end < 0.0, crossing, total) / 2
    return float(np.sum(heights * np.diff(at)))


def _ends(
    fpr: NDArray[np.float64], tpr: NDArray[np.float64], at: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a curve's values at both ends of the intervals between some abscissae.

    Every abscissa of the curve is among them, and the curve may jump there: at the lower end of an
    interval the value after the jump counts, and at the upper end the one before it.
    """
    low, high = at[:-1], at[1:]
    before = np.searchsorted(fpr, low, side="right") - 1  # the last point at or before
    after = np.searchsorted(fpr, high, side="left")  # the first one at or behind: before + 1
    run, rise = fpr[after] - fpr[before], tpr[after] - tpr[before]
    return (
        tpr[before] + rise * ((low - fpr[before]) / run),
        tpr[after] - rise * ((fpr[after] - high) / run),
    )
