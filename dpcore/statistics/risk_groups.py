"""Groups of records by predicted probability, for the Hosmer-Lemeshow test."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves.scores import ScoreCurves
from ..errors import ParameterError
from ..kernels.counting.depths import join_small, sums_of_runs
from ..summaries.grid import MOST_CELLS
from .binning import Cells, equi_depth_ends

__all__ = [
    "Grouped",
    "RiskGroups",
    "are_few",
    "check_groups",
    "check_minimum",
    "check_testable",
    "grouped_rows",
    "of_public_groups",
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


class Grouped(NamedTuple):
    """Records of R releases by groups. A release with G < Q groups has Q - G empty ones at the end.

    Parameters
    ----------
    ends
        (R, Q + 1) after how many cells the groups end, from 0 to N.
    merged
        (R, Q) how many of the requested groups are in each group; 0 for the empty ones.
    observed, expected
        (R, Q, 2) as in ``HosmerLemeshow``.
    """

    ends: NDArray[np.int64]
    merged: NDArray[np.int64]
    observed: NDArray[np.float64]
    expected: NDArray[np.float64]


def risk_groups(curves: ScoreCurves, groups: int, minimum: float | None) -> RiskGroups:
    """Return groups with enough expected records."""
    cells = Cells.of(curves)
    rows = cells.negatives[np.newaxis, 1:], cells.positives[np.newaxis, 1:]
    grouped = Grouped(*(each[0] for each in grouped_rows(cells, *rows, groups, minimum)))
    size = np.count_nonzero(grouped.merged)
    at = grouped.ends[: size + 1]
    noise = np.stack([of_class[at] for of_class in cells.deviations], axis=1)
    halves = (cells.edges[1:] - cells.starts) / 2
    return RiskGroups(
        cells.edges[at],
        grouped.observed[:size],
        grouped.expected[:size],
        noise[:-1] + noise[1:],
        grouped.merged[:size],
        _sums(cells.totals[np.newaxis, 1:], halves, at[np.newaxis])[0],
    )


def of_public_groups(
    edges: NDArray[np.float64],
    observed: NDArray[np.float64],
    expected: NDArray[np.float64],
    deviations: NDArray[np.float64],
) -> RiskGroups:
    """Return groups with enough expected records, of public ones with sums of their own.

    Enough are 5, and the largest deviation of the noise in one of the given groups.
    """
    size = len(expected)
    ends, merged = np.arange(size + 1)[np.newaxis], np.empty((1, size), np.int64)
    least = max(_FEW, float(deviations.max()))
    join_small(expected[np.newaxis].copy(), np.zeros((size + 1, 2)), least, ends, merged)
    kept = merged[0, : np.count_nonzero(merged)]
    at = np.append(0, np.cumsum(kept))
    observed, expected, variances = (
        np.add.reduceat(each, at[:-1], axis=0) for each in (observed, expected, deviations**2)
    )
    without = np.zeros(kept.size)  # the expected numbers are sums of the probabilities themselves
    return RiskGroups(edges[at], observed, expected, np.sqrt(variances), kept, without)


def grouped_rows(
    cells: Cells,
    negatives: NDArray[np.float64],
    positives: NDArray[np.float64],
    groups: int,
    minimum: float | None,
) -> Grouped:
    """Return the groups of R releases over these cells, with other counts.

    Parameters
    ----------
    cells
        Cells of [0, 1], with the deviations of the noise. Their own counts are not used.
    negatives, positives
        (R, N) the monotone cumulative counts of each release.
    groups, minimum
        As in ``HosmerLemeshow.from_curves``.
    """
    totals = negatives + positives
    ends = equi_depth_ends(totals, groups)
    of_positives = _sums(totals, cells.middles, ends)
    expected = np.stack([_between(totals, ends) - of_positives, of_positives], axis=2)
    merged = np.empty(of_positives.shape, np.int64)
    deviations = np.stack(cells.deviations, axis=1)
    if minimum is None:
        join_small(expected, deviations, _FEW, ends, merged)
    else:
        join_small(expected, np.zeros_like(deviations), minimum, ends, merged)
    observed = np.stack([_between(each, ends) for each in (negatives, positives)], axis=2)
    return Grouped(ends, merged, observed, expected)


def _between(counts: NDArray[np.float64], ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how many records are between these ends, of cumulative counts; (R, N) to (R, Q)."""
    up_to = np.take_along_axis(counts, np.maximum(ends - 1, 0), axis=1)
    return np.diff(np.where(ends > 0, up_to, 0.0), axis=1)


def _sums(
    totals: NDArray[np.float64], values: NDArray[np.float64], ends: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the sums of the values of all records between these ends, (R, Q)."""
    sums = np.empty((len(ends), ends.shape[1] - 1))
    sums_of_runs(totals, values, ends, sums)
    return sums


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
