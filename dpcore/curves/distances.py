"""Exact distances between two distribution functions, for curves and for samples.

They are for studies and tests. A distance to private records is a function of the records without
noise. It is not private, even if the other side is a released curve.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DtypeError, ParameterError
from ..records.column import Chunk, Column
from ..records.times import REQUIREMENTS, Unit
from ..summaries.grid import check_grid_of_numbers
from .cdf import CDF
from .inversion import are_whole, rises
from .rows import CurveRows

__all__ = ["earth_mover", "energy", "kolmogorov_smirnov"]

Distance = Literal["earth mover", "energy", "Kolmogorov-Smirnov"]


def kolmogorov_smirnov(first: Any, second: Any) -> float:
    """Return the largest distance between two distribution functions at any point.

    Parameters
    ----------
    first, second
        Each is a ``CDF``, raw or not, or a sample, which stands for its empirical distribution
        function. A sample is (n,) real numbers, n >= 1, in any container that ``dpcore.cdf``
        accepts. Infinities are allowed, NaN is not. If the other argument is a curve over a grid of
        times, a sample consists of times of the same unit.

    Returns
    -------
    float
        sup |F - G|, without a unit. It is within [0, 1], unless a curve is raw.

    Raises
    ------
    DtypeError, ParameterError
        A sample is not as above.

    Notes
    -----
    A curve is compared as it is evaluated: constant between thresholds, and 0 before its first
    threshold, or before the least whole number in its first cell. For two samples, the result is
    the statistic of ``scipy.stats.ks_2samp``. O(n log n) for a sample and O(N) memory for a curve.

    If one side holds private records, the result is not private. Use it in studies and tests only.

    Examples
    --------
    >>> from dpcore.curves.distances import kolmogorov_smirnov
    >>> kolmogorov_smirnov([1, 2, 3, 4], [2, 3, 4, 5])
    0.25
    """
    return float(_largest(_between(first, second)))


def earth_mover(first: Any, second: Any) -> float:
    """Return the area between two distribution functions: the least work to make one the other.

    Parameters
    ----------
    first, second
        As in ``kolmogorov_smirnov``, of numbers.

    Returns
    -------
    float
        The integral of |F - G|, in units of the values. It is infinite if the samples have
        different shares of infinite values, or if the area is beyond doubles.

    Raises
    ------
    DtypeError, ParameterError
        As in ``kolmogorov_smirnov``.

    Notes
    -----
    For two samples, the result is ``scipy.stats.wasserstein_distance``. Cost and privacy are as in
    ``kolmogorov_smirnov``.

    Examples
    --------
    >>> from dpcore.curves.distances import earth_mover
    >>> earth_mover([1, 2, 3, 4], [2, 3, 4, 5])
    1.0
    """
    return float(_area(_between(_of_numbers(first, "first"), _of_numbers(second, "second"))))


def energy(first: Any, second: Any) -> float:
    """Return the energy distance of two distribution functions, which gives large gaps more weight.

    Parameters
    ----------
    first, second
        As in ``kolmogorov_smirnov``, of numbers.

    Returns
    -------
    float
        The square root of twice the integral of (F - G)^2, in square roots of the values' unit.
        Infinite as in ``earth_mover``.

    Raises
    ------
    DtypeError, ParameterError
        As in ``kolmogorov_smirnov``.

    Notes
    -----
    For two samples, the result is ``scipy.stats.energy_distance`` (Szekely & Rizzo 2013, *Energy
    statistics*). In terms of distribution functions, it is Cramer's distance times the square root
    of 2. Cost and privacy are as in ``kolmogorov_smirnov``.

    Examples
    --------
    >>> from dpcore.curves.distances import energy
    >>> energy([1, 2, 3, 4], [2, 3, 4, 5])
    0.7071067811865476
    """
    return float(_root(_between(_of_numbers(first, "first"), _of_numbers(second, "second"))))


def rows_from(curves: CurveRows, reference: CDF, distance: Distance) -> NDArray[np.float64]:
    """Return the distance of each of B curves from a reference on their grid, (B,)."""
    if distance != "Kolmogorov-Smirnov":
        check_grid_of_numbers("reference", reference.grid)
    measure = {"earth mover": _area, "energy": _root, "Kolmogorov-Smirnov": _largest}[distance]
    return np.concatenate([measure(_between(part, reference)) for part in curves.parts()])


def _largest(steps: _Between) -> NDArray[np.float64]:
    return np.asarray(np.abs(steps.differences).max(axis=-1))


def _area(steps: _Between) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):  # raw counts may have any size, so an area may be too large
        areas = np.sum(np.abs(steps.differences[..., 1:-1]) * steps.widths, axis=-1)
    return np.where(steps.differ_at_infinity, math.inf, areas)


def _root(steps: _Between) -> NDArray[np.float64]:
    lengths = np.abs(steps.differences[..., 1:-1]) * np.sqrt(steps.widths)
    largest = lengths.max(axis=-1, initial=0.0)
    # Divided by the largest value, squares neither overflow nor vanish.
    lengths /= np.where(largest == 0.0, 1.0, largest)[..., np.newaxis]
    roots = largest * np.sqrt(2.0 * np.sum(lengths**2, axis=-1))
    return np.where(steps.differ_at_infinity, math.inf, roots)


class _Between(NamedTuple):
    """The difference of two step functions, or of each row of several from one.

    Parameters
    ----------
    differences
        (..., m + 1) F - G on the m + 1 intervals into which m points divide the line.
    widths
        (m - 1,) the widths of all intervals but the first and the last, which are infinite.
    """

    differences: NDArray[np.float64]
    widths: NDArray[np.float64]

    @property
    def differ_at_infinity(self) -> NDArray[np.bool_]:
        """Whether an area between the functions is infinite, (...)."""
        return np.asarray((self.differences[..., [0, -1]] != 0.0).any(axis=-1))


class _Steps(NamedTuple):
    """Step functions: their values are ``levels[..., i]``, (..., m + 1), after i of m points."""

    points: NDArray[np.float64]
    levels: NDArray[np.float64]

    def at(self, sorted_points: NDArray[np.float64]) -> NDArray[np.float64]:
        places = np.searchsorted(self.points, sorted_points, side="right")
        # In rows of memory, so that sums of several curves have the bits of sums of one.
        return np.take(self.levels, places, axis=-1)


def _between(first: Any, second: Any) -> _Between:
    """Return the difference of two step functions on the intervals between all their jumps."""
    units = [curve.grid.unit for curve in (first, second) if isinstance(curve, CDF | CurveRows)]
    if len(set(units)) > 1:
        raise DtypeError(
            "second", f"one of unit {units[1]!r}", f"must be of unit {units[0]!r}, too"
        )
    unit = units[0] if units else None
    ours, theirs = _steps(first, "first", unit), _steps(second, "second", unit)
    # With a cut at 0, the ends of an interval never have different signs. So every width is a
    # double.
    cuts = np.concatenate([[-np.inf, 0.0], _finite(ours.points), _finite(theirs.points)])
    cuts.sort()
    return _Between(ours.at(cuts) - theirs.at(cuts), np.diff(cuts[1:]))


def _of_numbers(curve: Any, argument: str) -> Any:
    """Return a curve or a sample, if its distances are numbers."""
    if isinstance(curve, CDF):
        check_grid_of_numbers(argument, curve.grid)
    return curve


def _steps(curve: Any, argument: str, unit: Unit | None) -> _Steps:
    """Return a curve, or the empirical distribution function of a sample, as steps."""
    if isinstance(curve, CDF | CurveRows):
        at, counts = rises(curve.grid, curve.counts, are_whole(curve.grid, curve.integers))
        shares = counts / np.asarray(curve.n)[..., np.newaxis]
        return _Steps(at, np.concatenate([np.zeros((*shares.shape[:-1], 1)), shares], axis=-1))
    parts: list[Chunk] = []
    for chunk in Column.of(curve, argument).chunks(unit, REQUIREMENTS[unit]):
        if chunk is None or np.isnan(chunk).any():
            raise ParameterError(argument, "a missing value", "must not hold NaN or nulls")
        parts.append(chunk)
    values = np.concatenate(parts or [np.empty(0)]).astype(np.float64)
    if values.size == 0:
        raise ParameterError(argument, values.shape, "must hold at least one value")
    values.sort()
    return _Steps(values, np.arange(values.size + 1) / values.size)


def _finite(points: NDArray[np.float64]) -> NDArray[np.float64]:
    return points[np.isfinite(points)]
