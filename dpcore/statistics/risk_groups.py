"""Groups of records by predicted probability, for the Hosmer-Lemeshow test."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves.scores import ScoreCurves
from ..errors import DtypeError, ParameterError
from ..summaries.grid import MOST_CELLS
from .binning import Bins, Cells

__all__ = ["check_groups", "check_minimum", "expected_counts", "least_expected", "risk_groups"]

_LEAST_GROUPS: Final = 3  # with two, a fit leaves no degree of freedom
_FEW: Final = 5.0  # expected records; with fewer, the chi-squared law is a poor guide


def risk_groups(
    curves: ScoreCurves, groups: int, minimum: float | None
) -> tuple[Bins, NDArray[np.int64]]:
    """Return groups with enough expected records, and how many requested groups are in each.

    Invariant: the groups of ``kept`` are large enough. ``rest`` is the expected number in the bins
    after the last of them, and ``start`` is the noise at its end.
    """
    cells = Cells.of(curves)
    asked = cells.equi_depth_bins(groups)
    ends = np.searchsorted(cells.edges[1:], asked.edges[1:], side="right")
    noise = np.stack(cells.deviations, axis=1)[ends]
    kept, start, rest = [0], np.zeros(2), np.zeros(2)
    for i, expected in enumerate(expected_counts(asked)):
        rest = rest + expected
        if rest.min() > 0.0 and (rest >= least_expected(start + noise[i], minimum)).all():
            kept.append(i + 1)
            start, rest = noise[i], np.zeros(2)
    kept[max(1, len(kept) - 1) :] = [groups]  # the remaining bins belong to the last group
    return cells.nearest_bins(asked.edges[kept]), np.diff(kept)


def expected_counts(bins: Bins) -> NDArray[np.float64]:
    """Return the expected negatives and positives, (B, 2); 0 in empty bins."""
    mean = np.where(bins.counts > 0.0, bins.mean_score, 0.0)
    return np.stack([(1.0 - mean) * bins.counts, mean * bins.counts], axis=1)


def least_expected(deviations: NDArray[np.float64], minimum: float | None) -> NDArray[np.float64]:
    """Return how many records must be expected; unknown noise sets no limit."""
    if minimum is not None:
        return np.full(deviations.shape, minimum)
    return np.maximum(_FEW, np.where(np.isfinite(deviations), deviations, 0.0))


def check_groups(groups: object, n: int, fitted: object) -> int:
    """Return the number of groups, if it is valid for n records, and check ``fitted``."""
    if not isinstance(fitted, bool):
        raise DtypeError("fitted", type(fitted).__name__, "must be a bool")
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
