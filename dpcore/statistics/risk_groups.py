"""Groups of records by predicted probability, for the Hosmer-Lemeshow test."""

from __future__ import annotations

from math import isfinite
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves.scores import ScoreCurves
from ..errors import ParameterError
from ..summaries.grid import MOST_CELLS
from .binning import Cells

__all__ = [
    "RiskGroups",
    "are_few",
    "check_groups",
    "check_minimum",
    "check_testable",
    "risk_groups",
]

_LEAST_GROUPS: Final = 3  # with two, a fit leaves no degree of freedom
_FEW: Final = 5.0  # expected records; with fewer, the chi-squared law is a poor guide


class RiskGroups(NamedTuple):
    """Groups of records by predicted probability, with parameters as in ``HosmerLemeshow``."""

    edges: NDArray[np.float64]
    observed: NDArray[np.float64]
    expected: NDArray[np.float64]
    deviations: NDArray[np.float64]
    merged: NDArray[np.int64]
    cell_errors: NDArray[np.float64]


def risk_groups(curves: ScoreCurves, groups: int, minimum: float | None) -> RiskGroups:
    """Return groups with enough expected records. It is called once for each simulated release."""
    cells = Cells.of(curves)
    ends, totals = cells.equi_depth_ends(groups), cells.totals
    records = np.diff(totals)
    halves = (cells.edges[1:] - cells.starts) / 2
    positives = _sums(records * cells.middles, ends)
    expected = np.stack([np.diff(totals[ends]) - positives, positives], axis=1)
    noise = np.stack([of_class[ends] for of_class in cells.deviations], axis=1)
    kept = _large_enough(expected.tolist(), noise.tolist(), minimum)
    at, noise = ends[kept], noise[kept]
    return RiskGroups(
        cells.edges[at],
        np.diff(np.stack([cells.negatives[at], cells.positives[at]], axis=1), axis=0),
        np.add.reduceat(expected, kept[:-1], axis=0),
        noise[:-1] + noise[1:],
        np.diff(kept),
        _sums(records * halves, at),
    )


def _sums(values: NDArray[np.float64], ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sums between these ends, which never decrease."""
    return np.diff(np.append(0.0, np.cumsum(values))[ends])


def _large_enough(
    expected: list[list[float]], noise: list[list[float]], minimum: float | None
) -> list[int]:
    """Return after how many bins the groups end, from 0 on.

    Invariant: the groups of ``kept`` are large enough. ``rest`` has the expected negatives and
    positives of the bins after the last of them, and ``start`` is the noise at its end.
    """
    kept, start, rest = [0], noise[0], [0.0, 0.0]
    for i, end in enumerate(noise[1:]):
        rest = [more + before for more, before in zip(expected[i], rest, strict=True)]
        least = [_least(end[s] + start[s]) if minimum is None else minimum for s in (0, 1)]
        if min(rest) > 0.0 and rest[0] >= least[0] and rest[1] >= least[1]:
            kept.append(i + 1)
            start, rest = end, [0.0, 0.0]
    kept[max(1, len(kept) - 1) :] = [len(expected)]  # the other bins belong to the last group
    return kept


def _least(deviation: float) -> float:
    """Return how many records of a class must be expected; unknown noise sets no limit."""
    return max(_FEW, deviation) if isfinite(deviation) else _FEW


def are_few(expected: NDArray[np.float64], deviations: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether fewer records of a class are expected than a group needs by default, (G,)."""
    least = np.maximum(_FEW, np.where(np.isfinite(deviations), deviations, 0.0))
    return np.asarray((expected < least).any(axis=1))


def check_groups(groups: object, n: int, fitted: object) -> int:
    """Return the number of groups, if it is valid for n records, and check ``fitted``."""
    _check.flag("fitted", fitted)
    checked = _check.integer("groups", groups, _LEAST_GROUPS, MOST_CELLS)
    if checked > n:
        raise ParameterError("groups", groups, f"must be at most the number of records, {n}")
    return checked


def check_minimum(minimum_expected: object) -> float | None:
    """Return the least expected number, if it is valid."""
    if minimum_expected is None:
        return None
    checked = _check.finite("minimum_expected", minimum_expected)
    if checked < 0.0:
        raise ParameterError("minimum_expected", minimum_expected, "must be 0 or more")
    return checked


def check_testable(
    cells: int, minimum: float | None, n: int, fitted: bool, argument: str = "grid"
) -> None:
    """Refuse what leaves no degree of freedom, whatever will be released. All of it is public."""
    if not fitted:  # one group is enough, and is of any size
        return
    if cells < _LEAST_GROUPS:
        what = f"must have at least {_LEAST_GROUPS} cells: the test needs as many groups"
        raise ParameterError(argument, cells, what)
    most = n / (2 * _LEAST_GROUPS)  # of each class
    if minimum is not None and minimum > most:
        what = f"must be at most {most:g} for {n} records: the test needs {_LEAST_GROUPS} groups"
        raise ParameterError("minimum_expected", minimum, what)
