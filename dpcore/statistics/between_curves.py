"""The area between two ROC curves, released or not."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import DtypeError, ParameterError

__all__ = ["Rates", "symmetric_difference"]


class Rates(Protocol):
    """Points of a monotone curve from (0, 0) to (1, 1), joined by straight lines."""

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
        The integral, over the false positive rates, of the distance between the true positive
        rates. It is exact apart from rounding: curves are straight between their points, and may
        be vertical.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not a curve, or is not monotone. ``ROC.from_curves`` makes monotone curves.

    Notes
    -----
    This is the error in Figure 5 of the ECDF paper. Curves with the same area may differ. The cost
    is O(K log K) for K points.

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
        for rate in rates:
            if np.isnan(rate).any():
                return float("nan")
            if np.any(np.diff(rate) < 0.0):
                raise ParameterError(name, "rates that fall", "must be monotone")
    at = np.unique(np.concatenate([fpr for fpr, _ in curves]))
    (first_low, first_high), (second_low, second_high) = (_ends(*rates, at) for rates in curves)
    start, end = first_low - second_low, first_high - second_high
    total = np.abs(start) + np.abs(end)
    # Where the difference changes its sign, the area is two triangles: start^2 and end^2, each
    # divided by the total.
    crossing = np.divide(start**2 + end**2, total, out=np.zeros_like(total), where=total > 0.0)
    heights = np.where(start * end < 0.0, crossing, total) / 2
    return float(np.sum(heights * np.diff(at)))


def _ends(
    fpr: NDArray[np.float64], tpr: NDArray[np.float64], at: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a curve's values at both ends of the intervals between some abscissae.

    All abscissae of the curve are among them. The curve may jump there. The lower end of an
    interval then has the value after the jump, and the upper end the value before the jump.
    """
    low, high = at[:-1], at[1:]
    before = np.searchsorted(fpr, low, side="right") - 1  # the last point at or before
    after = np.searchsorted(fpr, high, side="left")  # the first one at or after: before + 1
    run, rise = fpr[after] - fpr[before], tpr[after] - tpr[before]
    return (
        tpr[before] + rise * ((low - fpr[before]) / run),
        tpr[after] - rise * ((fpr[after] - high) / run),
    )
