"""Warnings of likely mistakes, from a release: wrong labels, swapped arguments, a wrong grid.

An error would depend on records. A release costs nothing to look at, so these are warnings, at most
one for each release. docs/guides/roc.md, section 4, has the rules and their reasons. If the
deviation of the noise is not known, released numbers are taken as they are. The warnings for tables
are in ``table_mistakes``.
"""

from __future__ import annotations

import math
import os
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import DpcoreWarning, shown
from ..privacy.guarantees import Privacy, of_public_size
from ..records import times
from ..summaries.grid import MOST_CELLS, Grid, edges_of
from ..summaries.score_counts import Label
from .cdf import CDF
from .hazards import classes_of_row
from .inversion import are_whole
from .rows import CurveRows
from .scores import ScoreCurves

__all__ = [
    "FEW_CELLS",
    "LARGE_ERROR",
    "REMEDY",
    "SURE",
    "at_ends",
    "in_first_cell",
    "known",
    "largest",
    "mistake_in_running_curve",
    "mistake_in_running_scores",
    "mistake_in_scores",
    "named",
    "percent",
    "warn",
    "warn_of_categories",
    "warn_of_classes",
    "warn_of_curve",
    "warn_of_durations",
    "warn_of_group",
    "warn_of_groups",
    "warn_of_quantiles",
    "warn_of_score_groups",
    "warn_of_scores",
]

SURE: Final = 3.0  # an effect of more than so many deviations of the noise is not chance
LARGE_ERROR: Final = 0.1  # a share of the records
_SMALL_ERROR: Final = 0.01  # a class within its noise of 0 has then few of the records
FEW_CELLS: Final = 16  # a smaller grid has cells for kinds of records, and one kind may be common
_MOST_WARNINGS: Final = 8  # of groups by name
_MOST_AT_TOP: Final = 1 / 2
_MOST_AT_ENDS: Final = 0.95
_MOST_IN_FIRST: Final = 0.1
_MOST_IN_LAST: Final = 0.2
_MOST_DURATIONS: Final = 0.9  # in one end cell of a grid of durations
_MOST_ABOVE_LAST: Final = 3  # times the records of the cell before
_LEAST_BEYOND: Final = 0.25  # a share of the records in the last cell
_MOST_ABOVE_NEXT: Final = 1.5  # 1 for exponential and for uniform values, whatever their scale
_NARROW: Final = 1 / 256  # a first cell of this share of the grid tells values well enough
_MOST_OF_TWO: Final = 1 / 20  # a first cell of two whole numbers, where all other cells have one
_MOST_TIED: Final = 0.1  # the largest share of pairs of a negative and a positive in the end cells
# The separator excludes a file such as dpcore_study.py beside it.
_PACKAGE: Final = str(Path(__file__).parents[1]) + os.sep

REMEDY: Final = "fewer cells, a larger budget or more records lower it"
_GRID: Final = "is it the grid for these {}? Those beyond it count in its end cells"


def warn_of_curve(curve: CDF) -> None:
    """Warn if a released raw curve shows far too much noise, or too many records at an end."""
    if text := _mistake_in_curve(curve):
        warn(text)


def warn_of_group(group: object, curve: CDF) -> None:
    """Warn of the released raw curve of a public group, by name; also if it may have no records."""
    if text := _without_records(curve) or _mistake_in_curve(curve):
        warn(f"group {shown(group)}: {text}")


def warn_of_groups(groups: Sequence[object], curves: CurveRows) -> None:
    """Warn as ``warn_of_group`` of each of many groups, of the first few by name.

    Most curves are found to be right by arrays, and are not made.
    """
    doubtful = np.flatnonzero(_may_be_mistaken(curves)).tolist()
    for at in doubtful[:_MOST_WARNINGS]:
        warn_of_group(groups[at], curves[at])
    if len(doubtful) > _MOST_WARNINGS:
        rest = f"{len(doubtful) - _MOST_WARNINGS} more groups of {len(curves)}"
        warn(f"{rest} may be too small for their noise, or for their grid")


def _may_be_mistaken(curves: CurveRows) -> NDArray[np.bool_]:
    """Return which curves, (B,), may have a mistake; all others have none."""
    counts, n, own = curves.counts, curves.n, curves.deviation_of
    noise = np.where(np.isfinite(curves.deviations), curves.deviations, 0.0)
    errors = np.array([largest(row) for row in curves.deviations])[own] / n
    may = (errors > LARGE_ERROR) & (errors < np.inf)
    are_noisy = np.array([not of_public_size(kind.privacy.neighbours) for kind in curves.kinds])
    may |= are_noisy[curves.kind_of] & (n <= np.maximum(1.0, SURE * noise[own, -1]))
    if curves.grid.size >= FEW_CELLS:
        first = counts[:, 0] - SURE * noise[own, 0]
        at_last = curves.deviations[own, -1] + curves.deviations[own, -2]
        last = n - counts[:, -2] - SURE * np.where(np.isfinite(at_last), at_last, 0.0)
        may |= (last > _MOST_IN_LAST * n) | (first + last > _MOST_AT_ENDS * n)
        may |= first > min(_MOST_OF_TWO, _MOST_IN_FIRST) * n
    return np.asarray(may)


def warn_of_quantiles(
    grid: Grid, probabilities: NDArray[np.float64], cells: NDArray[np.int64]
) -> None:
    """Warn if released quantiles show many records at an end of the grid, and maybe beyond it.

    Parameters
    ----------
    grid
        The grid.
    probabilities, cells
        (m,) the probabilities, and the cells in which their quantiles are.
    """
    p = float(probabilities[cells == 0].max(initial=0.0))
    if p > _MOST_IN_FIRST and _is_wide(grid, None):
        warn(
            f"the quantile at {p:g} is in the first cell of {_shown(grid)}, which also holds values"
            f" at its lower end and below: {_telling(grid)}"
        )
        return
    lowest = float(probabilities[cells == grid.size - 1].min(initial=1.0))
    at_last, at_first = lowest <= _MOST_AT_TOP, p >= _MOST_AT_ENDS
    if grid.size >= FEW_CELLS and (at_last or at_first):
        p, cell = (lowest, "last") if at_last else (p, "first")
        is_in = f"is in the {cell} cell of {_shown(grid)}"
        warn(f"the quantile at {p:g} {is_in}: {_GRID.format('values')}")


def warn_of_classes(
    curve: CDF, totals: tuple[float, float], deviation: float, label: str, privacy: Privacy
) -> None:
    """Warn if the released number of negatives or of positives may be 0.

    Parameters
    ----------
    curve
        The raw curve of the same release. If it shows a mistake, the user knows of that one.
    totals
        The released numbers.
    deviation
        The deviation of the noise in each.
    label
        As in ``warn_of_scores``.
    privacy
        The guarantee of the release.
    """
    if _mistake_in_curve(curve):
        return
    for name, total in zip(("negatives", "positives"), totals, strict=True):
        if total <= SURE * known(deviation):
            warn(_empty_class(name, total, label, privacy))
            return


def warn_of_categories(
    categories: Sequence[Label], total: int, n: int | None, deviation: float, privacy: Privacy
) -> None:
    """Warn if there may be no record in any category, though there are records.

    Parameters
    ----------
    categories
        The public labels.
    total, deviation
        The sum of all released counts, and the deviation of its noise.
    n
        The public number of records; None if it is private.
    privacy
        The guarantee of the release.
    """
    if n is not None and total <= SURE * deviation < n - total:
        what = _within("records in all categories", total, privacy)
        warn(f"{what}: do records have labels such as {shown(categories[0])}?")


def named(label: Label | None, argument: str = "pos_label") -> str:
    """Return the name and the value of a label of positives or events, for warnings."""
    return f"{argument} ({shown(1 if label is None else label)})"


def warn_of_scores(curves: ScoreCurves, label: str = "pos_label") -> None:
    """Warn if released raw scores show a mistake, as ``warn_of_curve``, or wrong labels.

    Parameters
    ----------
    curves
        The curves as released.
    label
        The name of the argument that makes a record positive, for the text.
    """
    if text := mistake_in_scores(curves, label):
        warn(text)


def warn_of_score_groups(groups: Mapping[Any, ScoreCurves], label: str) -> None:
    """Warn as ``warn_of_scores`` of each group by name; also if it may have no records."""
    texts = [
        f"group {shown(group)}: {text}"
        for group, curves in groups.items()
        if (text := _without_records(curves.joint) or mistake_in_scores(curves, label))
    ]
    _warn_of_first(texts, len(groups))


def warn_of_durations(rows: Mapping[Any, CDF], grid: Grid, events: Sequence[str]) -> None:
    """Warn of durations with another unit, or at the lower end; of no events; of empty groups.

    Parameters
    ----------
    rows
        The raw row of events and censorings of each group; of the group None, if there are none.
    grid
        The grid of durations.
    events
        (K,) the name of the label of each kind of events, for the text.
    """
    texts = [
        text if group is None else f"group {shown(group)}: {text}"
        for group, row in rows.items()
        if (text := _without_records(row) or _mistake_in_durations(row, grid))
    ]
    if not texts and (text := _without_events([*rows.values()], grid, events)):
        texts = [text]
    _warn_of_first(texts, len(rows))


def _without_events(rows: Sequence[CDF], grid: Grid, events: Sequence[str]) -> str | None:
    """Return a text if there may be no event of a kind, in all groups together."""
    totals, variances = np.zeros((2, len(events)))
    for row in rows:
        totals += classes_of_row(row.counts, grid.size)[0][:, -1]
        ends = np.append(0.0, row.noise_deviation[grid.size - 1 :: grid.size][: len(events)])
        squares = np.where(np.isfinite(ends), ends, 0.0) ** 2
        variances += squares[1:] + squares[:-1]  # as if the noise were independent
    for event, total, variance in zip(events, totals, variances, strict=True):
        if variance and total <= SURE * math.sqrt(variance):  # an exact number speaks for itself
            error = math.sqrt(variance) / sum(row.n for row in rows)
            if error > LARGE_ERROR:
                return f"the standard error of the number of events is {error:.2g} of n: {REMEDY}"
            what = _within("events", total, rows[0].privacy)
            return f"{what}: is {event} right, and are durations and event in order?"
    return None


def _mistake_in_durations(row: CDF, grid: Grid) -> str | None:
    """Return a text if nearly all durations are in one end cell, or many at the lower end.

    Many are at the end of a study, so the last cell alone may hold more of them than that of a
    distribution.
    """
    if grid.size < FEW_CELLS:
        return None
    kinds, censored = classes_of_row(row.counts, grid.size)
    ended = kinds.sum(axis=0) + censored
    first, last = ended[0], ended[-1] - ended[-2]
    # The two counts of each class are taken as independent.
    noise = math.sqrt(2.0 * (len(kinds) + 1)) * known(largest(row.noise_deviation))
    for share, cell in ((first / row.n, "first"), (last / row.n, "last")):
        if share - SURE * noise / row.n > _MOST_DURATIONS:
            return (
                f"{percent(share)} of the durations are in the {cell} cell of {_shown(grid)}: is"
                " their unit that of the grid? Those beyond it count in its end cells"
            )
    ended[-1] = row.counts[-1]  # but for rounding, it is that already
    deviation = np.full(grid.size, noise)
    own: Any = {"grid": grid, "counts": ended, "noise_deviation": deviation, "knots": None}
    return in_first_cell(replace(row, **own), deviation)


def _warn_of_first(texts: Sequence[str], groups: int) -> None:
    """Warn with the first few texts about single groups, and of how many more there are."""
    for text in texts[:_MOST_WARNINGS]:
        warn(text)
    if len(texts) > _MOST_WARNINGS:
        rest = f"{len(texts) - _MOST_WARNINGS} more groups of {groups}"
        warn(f"{rest} may be too small for their noise, or for their grid")


def mistake_in_running_curve(curve: CDF) -> str | None:
    """Return a text if the raw curve of a step shows the wrong grid, as soon as noise is small."""
    if largest(curve.noise_deviation) > _SMALL_ERROR * curve.n:
        return None
    return _wrong_grid(curve)


def mistake_in_running_scores(curves: ScoreCurves, label: str) -> str | None:
    """Return a text if raw scores of a step show wrong labels, or the wrong grid.

    A stream begins with few records: there is no mistake in that, and nothing is seen until the
    noise is small beside the number of records.
    """
    noise = largest(curves.joint.noise_deviation)
    return _wrong_in_scores(curves, label) if noise <= _SMALL_ERROR * curves.n else None


def _without_records(curve: CDF) -> str | None:
    """Return a text if a group may have no records: where sizes are public, it is refused."""
    noise = known(float(curve.noise_deviation[-1]))
    # A released number is at least 1.
    if of_public_size(curve.privacy.neighbours) or curve.n > max(1.0, SURE * noise):
        return None
    return f"{_within('records', curve.n, curve.privacy)}: is it a label that records have?"


def _mistake_in_curve(curve: CDF) -> str | None:
    error = largest(curve.noise_deviation) / curve.n
    if LARGE_ERROR < error < math.inf:
        return f"the standard error of F is up to {error:.2g}: {REMEDY}"
    return _wrong_grid(curve)


def _wrong_grid(curve: CDF) -> str | None:
    deviation = curve.noise_deviation
    return (
        at_ends(curve, deviation, "values")
        or in_first_cell(curve, deviation)
        or _beyond_last_cell(curve, deviation)
    )


def at_ends(curve: CDF, deviation: NDArray[np.float64], what: str) -> str | None:
    """Return a text if nearly all records are in the first and the last cell.

    Parameters
    ----------
    curve
        The curve as released.
    deviation
        (N,) the deviation of the noise in its counts.
    what
        The name of the values of the grid, for the text.
    """
    if curve.grid.size < FEW_CELLS:
        return None
    before, last = deviation[-2:].tolist()
    low = float(curve.counts[0])
    high = curve.n - float(curve.counts[-2])
    sure_low = low - SURE * known(float(deviation[0]))
    sure_high = high - SURE * known(before + last)
    if sure_high > _MOST_AT_TOP * curve.n or sure_low + sure_high > _MOST_AT_ENDS * curve.n:
        grid = _shown(curve.grid)
        return (
            f"{percent(low / curve.n)} of the records are in the first cell of {grid}, and"
            f" {percent(high / curve.n)} in its last: {_GRID.format(what)}"
        )
    return None


def in_first_cell(curve: CDF, deviation: NDArray[np.float64]) -> str | None:
    """Return a text if the first cell holds so many records that many may equal its lower end.

    The parameters are those of ``at_ends``.

    If values are exponential, the first cell has the share f of the records and the second one
    f (1 - f), whatever the scale. Less than that in the second cell speaks for many records at one
    value of the first cell, or below it. If records are whole numbers, and every other cell has one
    of them, a first cell with two of them is a mistake even if it holds fewer records.
    """
    grid = curve.grid
    if not _is_wide(grid, curve.integers):
        return None
    before, first, second = (float(edge) for edge in edges_of(grid)[:3])
    count, both = curve.counts[:2].tolist()
    of_first, of_both = (SURE * known(each) for each in deviation[:2].tolist())
    most_in_second = max(0.0, both - count) + of_first + of_both
    most_in_second *= max(1.0, (first - before) / (second - first))
    surely, others = count - of_first, curve.n - count
    has_two = _has_two_values(curve)
    if surely <= (_MOST_OF_TWO if has_two else _MOST_IN_FIRST) * curve.n:
        return None
    if not has_two and surely * others <= _MOST_ABOVE_NEXT * most_in_second * curve.n:
        return None
    in_second = percent((both - count) / curve.n)
    return (
        f"{percent(count / curve.n)} of the records are in the first cell of {_shown(grid)}, which"
        f" also holds those at its lower end and below, and {in_second} in the second:"
        f" {_telling(grid)}"
    )


def _beyond_last_cell(curve: CDF, deviation: NDArray[np.float64]) -> str | None:
    """Return a text if the last cell holds many records that lie beyond it, as in another unit.

    The parameters are those of ``at_ends``.

    Many records may also equal the upper end. But then those before it thin out, or do not lead to
    so many. If values are exponential, the last two quarters of the cells before the last one tell
    how many are beyond: m for a quarter, and r m for the next one, leave r m r / (1 - r).
    """
    grid, size = curve.grid, curve.grid.size
    if size < FEW_CELLS:
        return None
    with np.errstate(over="ignore"):  # of ends as far as doubles go
        widths = np.diff(edges_of(grid)[-3:])
    if not widths[1] <= 2 * widths[0]:
        return None
    ends = [size - 2, size - 2 - size // 4, size - 2 - 2 * (size // 4)]
    (third, second, first), noise = curve.counts[ends], [known(float(deviation[i])) for i in ends]
    last, next_to_it = curve.n - float(third), float(third - curve.counts[-3])
    if last < _MOST_ABOVE_LAST * next_to_it:
        return None  # records rise up to the end of the grid
    if last - SURE * (noise[0] + known(float(deviation[-1]))) <= _MOST_IN_LAST * curve.n:
        return None
    after = float(third - second) - SURE * (noise[0] + noise[1])
    before = float(second - first) + SURE * (noise[1] + noise[2])
    if after <= 0.0 or after * after < _LEAST_BEYOND * last * (before - after):
        return None
    return (
        f"{percent(last / curve.n)} of the records are in the last cell of {_shown(grid)}, and many"
        " are near it: is their unit that of the grid? Those beyond the grid count in its end cells"
    )


def _is_wide(grid: Grid, integers: bool | None) -> bool:
    """Return whether the first cell has several values, and is too wide to tell them apart."""
    if grid.size < FEW_CELLS or not math.isfinite(grid.start):
        return False
    before, first, last = (float(edge) for edge in edges_of(grid)[[0, 1, -1]])
    return first - before > _NARROW * (last - before) and not _has_one_value(grid, integers)


def _telling(grid: Grid) -> str:
    """Return what tells records at the lower end from others in the first cell, as words."""
    return f"{_whole_grid(grid)}a threshold at {times.text(grid.start, grid.unit)} tells them apart"


def _shown(grid: Grid) -> str:
    """Return a grid as a text, whose ends have six digits at most."""
    return re.sub(r"\d+\.\d{7,}", lambda number: f"{float(number[0]):.6g}", repr(grid))


def _whole_grid(grid: Grid) -> str:
    """Return the grid of whole numbers or days between these ends, as words; "" if of few."""
    if grid.unit == "instant":
        return ""
    first = math.ceil(grid.start / grid.step) * grid.step
    last = math.floor(grid.positions[-1] / grid.step) * grid.step
    if not FEW_CELLS <= (last - first) / grid.step < MOST_CELLS:
        return ""
    if grid.unit is None:
        return f"Grid.integers({first:.0f}, {last:.0f}) for whole numbers, or "
    ends = ", ".join(times.literal(end, grid.unit) for end in (first, last))
    return f"Grid.days({ends}) for whole days, or "


def _has_one_value(grid: Grid, integers: bool | None) -> bool:
    """Return whether the first cell has one value: its width is 0, or whole numbers leave one."""
    if not are_whole(grid, integers):
        return bool(grid.start == grid.positions[0])
    least, most = math.ceil(grid.start / grid.step), math.floor(grid.positions[0] / grid.step)
    return bool(most - least < 1)


def _has_two_values(curve: CDF) -> bool:
    """Return whether records are whole numbers, two in the first cell and one in each other."""
    grid = curve.grid
    if not are_whole(grid, curve.integers) or grid.start % grid.step:
        return False
    with np.errstate(over="ignore"):  # bounds may be far apart
        in_each = np.diff(np.floor(np.append(grid.start, grid.positions) / grid.step))
    return bool((in_each == 1.0).all())


def mistake_in_scores(curves: ScoreCurves, label: str = "pos_label") -> str | None:
    """Return the text of ``warn_of_scores``, or None."""
    noise = largest(curves.joint.noise_deviation)
    if LARGE_ERROR < (error := noise / curves.n) < math.inf:
        return f"the standard error of the curves is up to {error:.2g} of all records: {REMEDY}"
    if text := _wrong_in_scores(curves, label):
        return text
    rare = min(_classes(curves), key=lambda one_class: one_class.total)
    if LARGE_ERROR < (error := noise / rare.total) < math.inf:
        return f"the standard error of the curve of {rare.name} is up to {error:.1g}: {REMEDY}"
    return None


def _wrong_in_scores(curves: ScoreCurves, label: str) -> str | None:
    """Return a text if labels or scores are not what the arguments say, by more than noise."""
    negatives, positives = _classes(curves)
    for one_class in (negatives, positives):
        if one_class.total <= SURE * known(float(one_class.deviations[-1])):
            return _empty_class(one_class.name, one_class.total, label, curves.privacy)
    noise = largest(curves.joint.noise_deviation)
    return _tied_at_ends(curves, negatives, positives) or _below_guessing(
        negatives, positives, noise, label
    )


def _classes(curves: ScoreCurves) -> tuple[_Class, _Class]:
    of_negatives, of_positives = curves.deviations
    return (
        _Class("negatives", curves.negatives, of_negatives),
        _Class("positives", curves.positives, of_positives),
    )


def _empty_class(name: str, total: float, label: str, privacy: Privacy) -> str:
    return f"{_within(name, total, privacy)}: is {label} right, and are labels and scores in order?"


def _within(name: str, total: float, privacy: Privacy) -> str:
    # Python prints each new text: a million simulated releases would print a million texts.
    number = "" if privacy.simulated else f", {round(total)},"
    return f"the released number of {name}{number} is within its noise of 0"


class _Class:
    """A class: its cumulative counts and their noise, each (N,)."""

    def __init__(
        self, name: str, counts: NDArray[np.float64], deviations: NDArray[np.float64]
    ) -> None:
        self.name, self.counts, self.deviations = name, counts, deviations
        self.total = float(counts[-1])

    def ends(self) -> tuple[float, float]:
        """Return the shares of the first and the last cell."""
        first, before_last = float(self.counts[0]), float(self.counts[-2])
        return first / self.total, 1.0 - before_last / self.total

    def noise_of_ends(self) -> tuple[float, float]:
        """Return the errors of the shares, for the last cell at the worst."""
        first, before_last, last = (float(self.deviations[i]) for i in (0, -2, -1))
        factor = SURE / self.total
        return factor * known(first), factor * known(before_last + last)


def _tied_at_ends(curves: ScoreCurves, negatives: _Class, positives: _Class) -> str | None:
    """Return a text if many pairs of a negative and a positive tie in one end cell."""
    if curves.grid.size < FEW_CELLS:
        return None
    shares = list(zip(negatives.ends(), positives.ends(), strict=True))
    noise = zip(negatives.noise_of_ends(), positives.noise_of_ends(), strict=True)
    tied = (max(0.0, a - c) * max(0.0, b - d) for (a, b), (c, d) in zip(shares, noise, strict=True))
    if sum(tied) <= _MOST_TIED:
        return None
    first, last = (
        f"{percent(a)} of the negatives and {percent(b)} of the positives" for a, b in shares
    )
    return (
        f"{first} are in the first cell of {curves.grid!r}, and {last} in its last:"
        f" {_GRID.format('scores')}"
    )


def _below_guessing(negatives: _Class, positives: _Class, noise: float, label: str) -> str | None:
    """Return a text if the area under the ROC curve is below 1/2 by more than noise and luck."""
    pairs, both = negatives.total * positives.total, negatives.total + positives.total
    luck = math.sqrt((both + 1) / (12 * pairs))  # the deviation for scores without information
    # The area is a mean of rates of either class. Each rate has noise in its count and its total.
    most = 0.5 - SURE * (2 * noise * both / pairs + luck)
    if not most > 0.0:
        return None
    # Twice the pairs in the wrong order minus those in the right order. (Products of vectors would
    # start threads of BLAS and wait for them.)
    wrong = negatives.counts[1:] * positives.counts[:-1]
    right = negatives.counts[:-1] * positives.counts[1:]
    area = 0.5 - float(np.sum(wrong - right)) / (2 * pairs)
    if area < most:
        return (
            f"the released area under the ROC curve is {max(area, 0.0):.2f}, worse than guessing:"
            f" is {label} right, and do higher scores stand for positives?"
        )
    return None


def largest(deviations: NDArray[np.float64]) -> float:
    """Return the largest known deviation but the last, as n may be public; or infinity."""
    finite = deviations[:-1][np.isfinite(deviations[:-1])]
    return float(finite.max()) if finite.size else float(deviations.max())


def known(deviation: float) -> float:
    """Return a deviation, or 0 where it is not known."""
    return deviation if math.isfinite(deviation) else 0.0


def percent(share: float) -> str:
    """Return a share as a text."""
    return f"{round(100 * min(max(share, 0.0), 1.0))} %"


def warn(text: str) -> None:
    """Warn at the line that called into dpcore, however deep."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, DpcoreWarning, stacklevel=level)
