"""``dpcore residuals``: residuals against predicted values."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

import dpcore

from ..curves.cdf import CDF
from ..curves.residual_plot import ResidualPlot
from ..privacy.spending import unwatched
from ..records.column import Chunk, Column
from ..records.files import Column as FileColumn
from ..summaries.table_grid import complete_pairs
from .arguments import UsageError
from .options import Command, given, option
from .reports import about, drawn, figure_of, lines, shown
from .running import batches, check_outputs, class_of, missing_values, written
from .shared_options import FILE, FILES, mechanism_option

__all__ = ["COMMAND"]

_MOST: Final = 10  # ranges of predicted values
_FEW: Final = 0.02  # a share of the records
_SURE: Final = 3.0  # deviations of the noise
_HALF: Final = 9  # characters on either side of 0


class _PredictedRange(NamedTuple):
    """Predicted values above lower and at most upper, and the distribution of their residuals."""

    lower: float
    upper: float
    curve: CDF


def _run(options: argparse.Namespace) -> str:
    release = _checked(options)
    check_outputs(options)
    columns, integers = _columns(options)
    plot = release(*columns, integers=integers)
    text = _summary(plot, options)
    written(options, plot.to_json, partial(_picture, plot, options))
    return text


def _checked(options: argparse.Namespace) -> Callable[..., ResidualPlot]:
    """Return a function that releases a plot of two columns, with checked arguments."""
    mechanism = None if options.mechanism == "best" else class_of(options.mechanism)
    own = given(options, dpcore.residual_plot) | {"mechanism": mechanism}
    del own["predicted"]  # the name of a column
    release: Callable[..., ResidualPlot] = partial(dpcore.residual_plot, **own)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with unwatched():
            release([0.0], [0.0], rng=np.random.default_rng(1))  # an invented record
    return release


def _columns(
    options: argparse.Namespace,
) -> tuple[tuple[NDArray[Any], ...], tuple[bool | None, ...]]:
    """Return predicted values and residuals of the complete records, (n,) each; if they are whole.

    They stay in memory, because bounds come before counts. None: neither the options nor the schema
    of the file say so. CSV has none.
    """
    predicted = FileColumn(options.predicted, argument="--predicted")
    other = (
        FileColumn(options.residual, argument="--residual")
        if options.actual is None
        else FileColumn(options.actual, argument="--actual")
    )
    kept: tuple[list[Chunk], list[Chunk]] = [], []
    integers: tuple[bool | None, bool | None] = None, None
    with batches(options, predicted, other) as read:
        for batch in read:
            both = [Column.of(values, "a column") for values in batch.columns]
            first, second = (values.joined() for values in both)
            of_first, of_second = (
                values.stated(options.integers, by_grid=False) for values in both
            )
            if options.actual is not None:
                second, of_second = _less(second, first), of_second and of_first
            integers = of_first, of_second
            try:
                pair = complete_pairs(
                    Column.of(first, str(predicted)),
                    Column.of(second, str(other)),
                    options.nan_policy,
                )
            except dpcore.MissingValueError as error:
                raise missing_values(error.argument) from None
            for parts, values in zip(kept, pair, strict=True):
                parts.append(values)
    if not any(part.size for part in kept[0]):
        raise UsageError(f"{predicted} and {other} hold no records in FILE {options.file!r}")
    return tuple(_joined(parts) for parts in kept), integers


def _less(actual: Chunk, predicted: Chunk) -> NDArray[np.float64]:
    """Return residuals, which are NaN only where a value is missing.

    An infinite value minus itself becomes infinite, which is beyond all bounds, like the record.
    If it counted as missing, the number of records, which is public, would depend on their values.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        residuals = np.subtract(actual, predicted, dtype=np.float64)
    residuals[np.isinf(actual) & (actual == predicted)] = np.inf
    return residuals


def _joined(parts: list[Chunk]) -> NDArray[Any]:
    """Return the parts as one array, and release the memory of the parts."""
    joined = np.concatenate(parts)
    parts.clear()
    return joined


def _summary(plot: ResidualPlot, options: argparse.Namespace) -> str:
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


def _picture(plot: ResidualPlot, options: argparse.Namespace, form: str) -> bytes:
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


COMMAND: Final = Command(
    _run,
    "Release a residual plot of a regression with differential privacy, from two columns of a CSV "
    "or Parquet file, and show quartiles of the residuals for ranges of predicted values. Every "
    "run spends epsilon again. The model must not depend on the records, or must have been "
    "released itself. The command keeps both columns in memory, because it finds bounds before it "
    "counts records. This takes 16 bytes for each record, and for a moment about twice that.",
    functions=(dpcore.residual_plot,),
    options={
        "file": FILE,
        "predicted": option("name of the column of predicted values", "P", required=True),
        "residual": option("name of the column of residuals, or", "R"),
        "actual": option(
            "name of the column of observed values: residuals are observed minus predicted values",
            "Y",
        ),
        "epsilon": option("epsilon to spend"),
        "unit": option(
            "a unit of both columns, known beforehand (1). Bounds are the unit times a power of "
            "two. Give it twice if residuals have another unit"
        ),
        "predicted_range": {},
        "residual_range": {},
        "search": option(
            "how bounds are found: widths that trade records for precision (compact), or "
            "bounds of 95%% of the records (sparse-vector)"
        ),
        "cells": option(
            "number of cells along both axes; give it twice for one number for each axis "
            "(by the number of records)"
        ),
        "mechanism": mechanism_option(),
        "integers": option(
            "whether both columns hold whole numbers (yes for integers of a Parquet file)"
        ),
        "nan_policy": {},
        **FILES,
    },
    alternatives={("residual", "actual"): True},
)
