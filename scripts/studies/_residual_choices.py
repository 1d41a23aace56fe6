"""Alternatives to the choices of ``dp.residual_plot``, and the errors of their plots."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from papers._regression import CHECKED, LESS, Records, prirp

import dpcore as dp
from dpcore.mechanisms import Dawa, Histogram, Mechanism
from dpcore.releases.residual_bounds import residual_bounds
from dpcore.releases.table import raw_table

Values = NDArray[np.float64]
Rng = np.random.Generator
COVERAGE, MOST_SHARE, ENOUGH = 0.95, 0.3, 470  # of bounds, in the paper
Range = tuple[float, float]
Bounds = Callable[[Records, Fraction, Rng], tuple[Range, Range]]  # for so much epsilon in all


def on_each_axis(find: Callable[..., dp.Bounds], **how: float) -> Bounds:
    """Find bounds around zero, with half of the budget for each axis."""

    def of(values: Values, epsilon: Fraction, rng: Rng) -> Range:
        found = find(values, epsilon=epsilon, rng=rng, **how)
        return found.lower, found.upper

    return lambda records, epsilon, rng: (
        of(records.predicted, epsilon / 2, rng),
        of(records.residuals, epsilon / 2, rng),
    )


def one_side_or_both(records: Records, epsilon: Fraction, rng: Rng) -> tuple[Range, Range]:
    """Find bounds of predicted values around zero, or on one side of it."""
    x, y = (np.ascontiguousarray(each) for each in records)
    return residual_bounds(x, y, (1.0, 1.0), (None, None), epsilon, rng)


def where_records_end(records: Records, epsilon: Fraction, rng: Rng) -> tuple[Range, Range]:
    """Return the smallest and the largest values of the records, which are not private."""
    x, y = ((float(np.nextafter(each.min(), -np.inf)), float(each.max())) for each in records)
    return x, y


SEARCHED = on_each_axis(dp.symmetric_bounds, coverage=COVERAGE)


@dataclass(frozen=True, slots=True)
class Way:
    """A way to release a residual plot. The defaults give the same bits as ``dp.residual_plot``.

    Parameters
    ----------
    bounds
        The function that finds the bounds.
    most, enough
        Both bounds have the share min(most, enough / (n epsilon)) of the budget.
    finer
        The number of cells along an axis, divided by the number of the paper's rule.
    mechanism
        The mechanism that releases the table.
    is_clipped
        Whether cells below 0 are set to 0, as in the paper. False: isotonic regression.
    """

    bounds: Bounds = one_side_or_both
    most: float = MOST_SHARE
    enough: float = ENOUGH
    finer: float = 2.0
    mechanism: Callable[..., Mechanism] = Histogram
    is_clipped: bool = False

    def __call__(self, records: Records, epsilon: float, rng: Rng) -> Values:
        """Return the points of a release, (k, 2)."""
        n, spent = records.predicted.size, Fraction(self.most) * Fraction(epsilon)
        spent = min(spent, Fraction(self.enough) / n)
        ends, rest = self.bounds(records, spent, rng), Fraction(epsilon) - spent
        side = 2 * max(1, round(self.finer / 2 * np.sqrt(0.9 * n * float(rest) / 10)))
        if self.is_clipped:
            return clipped(records, ends, side, self.mechanism(epsilon=rest), rng)
        return dp.residual_plot(
            *records,
            epsilon=rest,
            predicted_range=ends[0],
            residual_range=ends[1],
            cells=side,
            mechanism=self.mechanism,
            rng=rng,
        ).points


def clipped(
    records: Records, ends: tuple[Range, Range], side: int, mechanism: Mechanism, rng: Rng
) -> Values:
    """Release a table, set cells below 0 to 0, round, and draw points."""
    x, y = records
    (left, right), (bottom, top) = ends
    inside = (x > left) & (x <= right) & (y > bottom) & (y <= top)
    grid = dp.TableGrid.uniform(ends[0], ends[1], (side, side))
    counts = grid.count(x[inside], y[inside])
    table = raw_table(counts, int(np.sum(~inside)), grid, lambda n: mechanism, rng)
    whole = np.maximum(np.rint(table.counts), 0).astype(np.int64)
    at = np.repeat(np.indices(whole.shape).reshape(2, -1), whole.ravel(), axis=1)
    low = np.array([left, bottom])[:, None]
    wide = np.array([right - left, top - bottom])[:, None]
    return np.asarray((low + wide * (at + rng.random(at.shape)) / side).T)


WAYS: dict[str, Callable[[Records, float, Rng], Values]] = {
    "the default": Way(),
    "cells: the paper's rule": Way(finer=1.0),
    "cells: 3 times as many along an axis": Way(finer=3.0),
    "table: DAWA": Way(mechanism=Dawa),
    "table: DAWA, below 0 set to 0": Way(mechanism=Dawa, is_clipped=True),
    "table: noise on each cell, below 0 set to 0": Way(is_clipped=True),
    "bounds: sparse vector": Way(SEARCHED),
    "bounds: around 0, gain 0.02": Way(on_each_axis(dp.compact_bounds, gain=0.02)),
    "bounds: around 0, gain 0.04": Way(on_each_axis(dp.compact_bounds, gain=0.04)),
    "bounds: around 0, gain 0.1": Way(on_each_axis(dp.compact_bounds, gain=0.1)),
    "bounds: at most 0.1 of epsilon": Way(most=0.1),
    "bounds: at most 0.5 of epsilon": Way(most=0.5),
    "bounds: n epsilon = 235 is enough": Way(enough=235),
    "bounds: where the records end, free": Way(where_records_end, most=0.0),
    LESS: CHECKED[LESS],
    "PriRP, as published": prirp,
}
