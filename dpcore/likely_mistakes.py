"""Likely mistakes, told from what was released: wrong labels, swapped arguments, a wrong grid.

An error would depend on records. What is released is free to look at, so here are warnings, at most
one for a release, with the rules and their reasons in docs/scores.md, section 4. Where the
deviation of the noise is not known, released numbers are taken as they are.
"""

from __future__ import annotations

import math
import sys
import warnings
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .curve import CDF
from .errors import DpcoreWarning
from .scores import ScoreCurves

__all__ = ["warn_of_curve", "warn_of_scores"]

_SURE: Final = 3.0  # deviations of the noise: what is not a matter of luck
_LARGE_ERROR: Final = 0.1  # of a share of the records
_FEW_CELLS: Final = 16  # with fewer, cells are kinds of records, and one kind may be common
_MOST_AT_TOP: Final = 1 / 2
_MOST_AT_ENDS: Final = 0.95
_MOST_TIED: Final = 0.1  # pairs of a negative and a positive, in the end cells
_PACKAGE: Final = str(Path(__file__).parent)

_REMEDY: Final = "fewer cells, a larger budget or more records lower it"
_GRID: Final = "is it the grid for these {}? Those beyond it count in its end cells"


def warn_of_curve(curve: CDF) -> None:
    """Warn of what a released curve, raw, shows: far too much noise, or records at its ends."""
    if text := _mistake_in_curve(curve):
        _warn(text)


def warn_of_scores(curves: ScoreCurves, label: str = "pos_label") -> None:
    """Warn of what released scores, raw, show: as above, or labels that are not as they seem.

    Parameters
    ----------
    curves
        As released.
    label
        How to call what makes a record positive.
    """
    if text := _mistake_in_scores(curves, label):
        _warn(text)


def _mistake_in_curve(curve: CDF) -> str | None:
    error = float(curve.noise_deviation.max()) / curve.n
    if _LARGE_ERROR < error < math.inf:
        return f"the standard error of F is up to {error:.2g}: {_REMEDY}"
    if curve.grid.size < _FEW_CELLS:
        return None
    before, last = curve.noise_deviation[-2:].tolist()
    low = float(curve.counts[0])
    high = curve.n - float(curve.counts[-2])
    sure_low = low - _SURE * _known(float(curve.noise_deviation[0]))
    sure_high = high - _SURE * _known(before + last)
    if sure_high > _MOST_AT_TOP * curve.n or sure_low + sure_high > _MOST_AT_ENDS * curve.n:
        return (
            f"{_percent(low / curve.n)} of the records are in the first cell of {curve.grid!r}, and"
            f" {_percent(high / curve.n)} in its last: {_GRID.format('values')}"
        )
    return None


def _mistake_in_scores(curves: ScoreCurves, label: str) -> str | None:
    error = float(curves.joint.noise_deviation.max()) / curves.n
    if _LARGE_ERROR < error < math.inf:
        return f"the standard error of the curves is up to {error:.2g} of all records: {_REMEDY}"
    of_negatives, of_positives = curves.deviations
    negatives = _Class("negatives", curves.negatives, of_negatives)
    positives = _Class("positives", curves.positives, of_positives)
    for each in (negatives, positives):
        if each.total <= _SURE * _known(float(each.deviations[-1])):
            # a text of its own for each of a million simulated releases would be printed each time
            number = "" if curves.privacy.simulated else f", {round(each.total)},"
            return (
                f"the released number of {each.name}{number} is within its noise of 0:"
                f" is {label} right, and are y_true and y_score in order?"
            )
    return (
        _tied_at_ends(curves, negatives, positives)
        or _below_guessing(curves, negatives, positives, label)
        or _noisy_class(negatives, positives)
    )


class _Class(NamedTuple):
    """Of a class: how many records there are up to each threshold, with their noise, each (N,)."""

    name: str
    counts: NDArray[np.float64]
    deviations: NDArray[np.float64]

    @property
    def total(self) -> float:
        return float(self.counts[-1])

    def ends(self) -> tuple[list[float], list[float]]:
        """Return the shares of the first and the last cell, as released, and the least of them."""
        found = float(self.counts[0]), self.total - float(self.counts[-2])
        noise = float(self.deviations[0]), float(self.deviations[-1] + self.deviations[-2])
        least = [max(0.0, a - _SURE * _known(b)) for a, b in zip(found, noise, strict=True)]
        return [each / self.total for each in found], [each / self.total for each in least]


def _tied_at_ends(curves: ScoreCurves, negatives: _Class, positives: _Class) -> str | None:
    """Say whether many pairs of a negative and a positive are in one end cell, as one score."""
    if curves.grid.size < _FEW_CELLS:
        return None
    shares, least = zip(negatives.ends(), positives.ends(), strict=True)
    if sum(a * b for a, b in zip(*least, strict=True)) <= _MOST_TIED:
        return None
    first, last = (
        f"{_percent(a)} of the negatives and {_percent(b)} of the positives"
        for a, b in zip(*shares, strict=True)
    )
    return (
        f"{first} are in the first cell of {curves.grid!r}, and {last} in its last:"
        f" {_GRID.format('scores')}"
    )


def _below_guessing(
    curves: ScoreCurves, negatives: _Class, positives: _Class, label: str
) -> str | None:
    """Say whether the area under the ROC curve is below 1/2, by more than noise and luck."""
    pairs = negatives.total * positives.total
    # the area is a mean of rates of either class, each with noise in its count and in its total
    noise = 2 * float(curves.joint.noise_deviation.max()) * (negatives.total + positives.total)
    luck = math.sqrt((negatives.total + positives.total + 1) / (12 * pairs))  # of equal scores
    most = 0.5 - _SURE * (noise / pairs + luck)
    if not most > 0.0:
        return None
    lower = positives.counts.copy()  # twice the positives below a negative, ties counting half
    lower[1:] += positives.counts[:-1]
    area = 1.0 - float(lower @ np.diff(negatives.counts, prepend=0.0)) / (2 * pairs)
    if area < most:
        return (
            f"the released area under the ROC curve is {area:.2f}, worse than guessing:"
            f" is {label} right, and do higher scores stand for positives?"
        )
    return None


def _noisy_class(*classes: _Class) -> str | None:
    """Say whether the curve of one class has a large standard error, as a share of that class."""
    error, name = max((float(each.deviations.max()) / each.total, each.name) for each in classes)
    if _LARGE_ERROR < error < math.inf:
        return f"the standard error of the curve of {name} is up to {error:.1g}: {_REMEDY}"
    return None


def _known(deviation: float) -> float:
    return deviation if math.isfinite(deviation) else 0.0


def _percent(share: float) -> str:
    return f"{round(100 * min(max(share, 0.0), 1.0))} %"


def _warn(text: str) -> None:
    """Warn at the line that called into dpcore, however deep."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, DpcoreWarning, stacklevel=level)
