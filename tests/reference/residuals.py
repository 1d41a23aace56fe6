"""Residual plots: the records in each cell, and how far two plots are apart."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np


def cells_within(x, y, x_edges, y_edges):
    """How many records each cell has, and how many none: both ends of an axis are within."""
    counts, outside = np.zeros((len(x_edges) - 1, len(y_edges) - 1), int), 0
    for record in zip(x, y, strict=True):
        place = [_cell(v, edges) for v, edges in zip(record, (x_edges, y_edges), strict=True)]
        if None in place:
            outside += 1
        else:
            counts[tuple(place)] += 1
    return counts, outside


def _cell(value, edges):
    """The first cell whose upper end is not below the value; None for one beyond the ends."""
    if not edges[0] <= value <= edges[-1]:
        return None
    return next(i for i, edge in enumerate(edges[1:]) if value <= edge)


def residual_plot_distance(first, second, cells=10, margin=0.1):
    """Chen et al. 2016, section III.C, in fractions."""
    if not len(first) or not len(second):
        return float(len(first) != len(second))
    ends = [
        (min(column) - Fraction(margin), max(column) + Fraction(margin))
        for column in zip(*([Fraction(v) for v in point] for point in first), strict=True)
    ]

    def shares(points):
        found = {}
        for point in points:
            place = tuple(_even_cell(v, *e, cells) for v, e in zip(point, ends, strict=True))
            if None not in place:
                found[place] = found.get(place, 0) + Fraction(1, len(points))
        return found

    p, q = shares(first), shares(second)
    apart = sum(abs(p.get(cell, 0) - q.get(cell, 0)) for cell in {*p, *q})
    return float((apart + 1 - sum(q.values())) / 2)


def _even_cell(value, low, high, cells):
    """Of cells of one width, closed below; the last one is closed above, too."""
    if not math.isfinite(value) or not low <= value <= high:
        return None
    if low == high:
        return cells - 1
    return min(int((Fraction(value) - low) / (high - low) * cells), cells - 1)
