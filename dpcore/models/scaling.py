"""Public bounds: they clip and scale columns to [-1, 1], and scale models back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from ..errors import ParameterError

__all__ = ["RECORD_BITS", "Bounds", "side_of_cube", "unit_records"]

Floats = NDArray[np.float64]

_MOST: Final = 2.0**500  # the largest bound, so that differences and products of bounds are finite
RECORD_BITS: Final = 20  # bits of the entries of records; short entries have exact products


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """The least and the largest value of each column, and how they are scaled.

    Parameters
    ----------
    lower, upper
        (d,) finite doubles.
    middle
        (d,) the values that become 0.
    """

    lower: Floats
    upper: Floats
    middle: Floats

    @classmethod
    def checked(cls, argument: str, given: object, columns: int, centred: bool) -> Bounds:
        """Return the bounds from a pair of numbers or of (columns,) arrays, or raise.

        Without a constant in the model, 0 has to stay 0. Otherwise the middle becomes 0.
        """
        if given is None:
            what = "must be public (lower, upper): bounds taken from the data are not private"
            raise ParameterError(argument, None, what)
        pair = _check.in_order(argument, given, "must be a pair: (lower, upper)")
        if len(pair) != 2:
            raise ParameterError(argument, given, "must be a pair: (lower, upper)")
        lower, upper = (_side(argument, side, columns) for side in pair)
        if not np.all(upper - lower >= 1.0 / _MOST):  # coefficients grow with 1 / (upper - lower)
            what = f"must have lower below upper, by at least {1.0 / _MOST:.0e}"
            raise ParameterError(argument, given, what)
        return cls(lower, upper, (lower + upper) / 2.0 if centred else np.zeros(columns))

    @property
    def reach(self) -> Floats:
        """The distance of the farther bound from the middle, (d,)."""
        reach: Floats = np.maximum(self.upper - self.middle, self.middle - self.lower)
        return reach

    def scaled(self, values: Floats) -> Floats:
        """Return values (n, d), clipped and scaled to numbers (d, n) within [-1, 1]."""
        scaled = np.empty(values.shape[::-1])
        columns = zip(values.T, self.lower, self.upper, self.middle, self.reach, strict=True)
        for out, (column, lower, upper, middle, reach) in zip(scaled, columns, strict=True):
            np.clip(column, lower, upper, out=out)
            out -= middle
            out /= reach
            np.clip(out, -1.0, 1.0, out=out)  # rounding may lead to values outside [-1, 1]
        return scaled

    def unscaled(self, inner: Floats) -> tuple[Floats, float]:
        """Return coefficients (d,) and intercept for raw values, from those for scaled values.

        If ``inner`` has one more entry than there are columns, this entry is the constant.
        """
        slopes = inner[: self.reach.size] / self.reach
        return slopes, float(inner[self.reach.size :].sum() - np.sum(slopes * self.middle))


def _side(argument: str, side: ArrayLike, columns: int) -> Floats:
    bounds = _check.doubles(_check.array(argument, side, "iuf"))
    if bounds.ndim > 1 or bounds.size not in (1, columns):
        what = f"must hold numbers, or arrays with one number for each of {columns} features"
        raise ParameterError(argument, bounds.shape, what)
    if not np.all(np.abs(bounds) <= _MOST):  # this refuses NaN, too
        raise ParameterError(argument, side, f"must be finite, within {_MOST:g}")
    return np.broadcast_to(bounds, (columns,)).copy()


def side_of_cube(size: int) -> float:
    """Return the largest entries for which no record is longer than 1, rounded down."""
    return (1.0 - 2.0**-50) / math.sqrt(size)


def unit_records(scaled: Floats, fit_intercept: bool) -> Floats:
    """Return records (D, n) in the unit ball: features, then a constant for the intercept.

    Parameters
    ----------
    scaled
        (d, n) numbers within [-1, 1].
    fit_intercept
        Whether there is a constant. Then D is d + 1, otherwise d.

    Returns
    -------
    numpy.ndarray
        Multiples of 2^-20 of at most 1 / sqrt(D), rounded towards 0.
    """
    size = len(scaled) + int(fit_intercept)
    records = np.ones((size, scaled.shape[1]))
    records[: len(scaled)] = scaled
    records *= side_of_cube(size) * 2.0**RECORD_BITS
    np.trunc(records, out=records)
    records *= 2.0**-RECORD_BITS
    return records
