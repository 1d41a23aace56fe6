"""The output for a released residual plot: a summary to print, and a picture."""

from __future__ import annotations

import argparse
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..curves.cdf import CDF
from ..curves.residual_plot import ResidualPlot
from .reports import about, drawn, figure_of, lines, shown

__all__ = ["residual_picture", "residual_summary"]

_MOST: Final = 10  # ranges of predicted values
_FEW: Final = 0.02  # a share of the records
_SURE: Final = 3.0  # deviations of the noise
_HALF: Final = 9  # characters on either side of 0


class _PredictedRange(NamedTuple):
    """Predicted values above lower and at most upper, and the distribution of their residuals."""

    lower: float
    upper: float
    curve: CDF


def residual_summary(plot: ResidualPlot, options: argparse.Namespace) -> str:
    """Return a few lines about a release, and how residuals vary with predicted values."""
    predicted = shown(options.predicted)
    residual = f"{shown(options.actual or '')} less {predicted}"
    if options.residual is not None:
        residual = shown(options.residual)
    rows = {
        "predicted": f"{predicted}, {_range(plot.predicted_range, options.predicted_range)}",
        "residual": f"{residual}, {_range(plot.residual_range, options.residual_range)}",
        **about(plot.table.row),
        "privacy": plot.privacy,
        "outside": f"{plot.outside:.0f} records (released)",
        "cells": " x ".join(map(str, plot.cells.shape)),
    }
    del rows["curve"]
    if plot.table.counts.sum() < 1.0:
        return "\n".join([*lines(rows), "", "No quartiles: no record is within the bounds."])
    ranges = _ranges(plot)
    error = max(float(span.curve.standard_error().max()) for span in ranges)
    known = f"up to {error:.2g} (privacy noise in the shares of a range)"
    rows["std. error"] = known if np.isfinite(error) else "not known with this mechanism"
    return "\n".join([*lines(rows), "", *_table(ranges)])


def residual_picture(plot: ResidualPlot, options: argparse.Namespace, form: str) -> bytes:
    """Return the points, and the density beside them, as a file of Matplotlib's format ``form``."""
    figure = figure_of(11, 4.5)
    points, density = figure.subplots(1, 2)
    plot.plot(points).set_title("points drawn from it")
    plot.plot(density, kind="density").set_title("released counts")
    for ax in (points, density):
        ax.set_xlabel(f"predicted value: {options.predicted}", parse_math=False)
    figure.suptitle(f"residual plot, {plot.privacy}")
    return drawn(figure, form)


def _range(ends: tuple[float, float], given: list[float] | None) -> str:
    return f"{ends[0]:.6g} to {ends[1]:.6g} ({'released' if given is None else 'given'})"


def _table(ranges: list[_PredictedRange]) -> list[str]:
    """Return a heading and a line for each range: quartiles as numbers, and drawn."""
    quartiles = [span.curve.isotonic().quantile([0.25, 0.5, 0.75]) for span in ranges]
    reach = float(np.abs(quartiles).max()) or 1.0
    axis = f"{_short(-reach):<{_HALF}}0{_short(reach):>{_HALF}}"
    heading = (
        f"{'from':>10} {'to':>10} {'records':>7} {'25 %':>9} {'median':>9} {'75 %':>9}  {axis}"
    )
    table = [
        f"{span.lower:>10.6g} {span.upper:>10.6g} {span.curve.n:>7}"
        f"{''.join(f'{_short(value):>10}' for value in values.tolist())}  {_bar(values / reach)}"
        for span, values in zip(ranges, quartiles, strict=True)
    ]
    return [heading, *table]


def _ranges(plot: ResidualPlot) -> list[_PredictedRange]:
    """Return ranges of whole columns of cells, with about as many records each."""
    grid = plot.table.grid.x
    edges = np.append(grid.start, grid.positions)
    ends = edges[_ends(plot.table.marginal("x").isotonic())]
    return [
        _PredictedRange(lower, upper, plot.table.conditional("y", lower, upper))
        for lower, upper in pairwise(ends.tolist())
    ]


def _ends(predicted: CDF) -> NDArray[np.int64]:
    """Return after how many cells the ranges end, rising: two numbers at least.

    Cells at either end are left out where they have few records together, or may well have none:
    noise in many empty cells would make a range of them.
    """
    below = np.append(0.0, predicted.counts / predicted.n)
    noise = predicted.standard_error()
    least = np.maximum(_FEW, np.where(np.isfinite(noise), _SURE * noise, 0.0))
    first = int(np.argmax(below[1:] > least))
    last = predicted.grid.size - int(np.argmax(1.0 - below[-2::-1] > least))
    if first >= last:
        first, last = 0, predicted.grid.size
    nearest = np.searchsorted((below[1:] + below[:-1]) / 2, np.arange(1, _MOST) / _MOST)
    return np.unique(np.clip([first, *nearest, last], first, last))


def _bar(quartiles: NDArray[np.float64]) -> str:
    """Draw quartiles within [-1, 1] in a line, with a mark at 0."""
    low, median, high = np.rint((quartiles + 1.0) * _HALF).astype(int)
    line = [" "] * (2 * _HALF + 1)
    line[_HALF] = ":"
    line[low : high + 1] = "=" * (high + 1 - low)
    line[median] = "|"
    return "".join(line).rstrip()


def _short(value: float) -> str:
    """Return three digits of a number, and not as 1.23e+04."""
    return f"{float(f'{value:.3g}'):.6g}"
