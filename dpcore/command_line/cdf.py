"""``dpcore cdf``: the distribution of a column."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import dpcore

from ..curves.cdf import CDF
from ..records.column import Column
from ..records.files import Column as FileColumn
from ..records.times import scalar
from .arguments import UsageError
from .options import Command, given, option
from .reports import about, lines, picture, shown
from .running import batches, check_outputs, mechanism_of, missing_values, spent_by, written
from .shared_options import BOUNDS, BUDGET, FILE, FILES, ONE_BUDGET, SMOOTH, size
from .sizes import coarser, grid_of, with_size

__all__ = ["COMMAND", "summary"]

_PERCENT: Final = (1, 5, 10, 25, 50, 75, 90, 95, 99)


def _run(options: argparse.Namespace) -> str:
    grid = grid_of(options)
    chosen = mechanism_of(options, grid.size)
    check_outputs(options)
    counts, integers = _counts(options, grid)
    if options.size is None and not grid.of_integers:
        grid, counts = coarser(options, grid, counts)
        chosen = mechanism_of(options, grid.size)
    own = given(options, dpcore.cdf_from_counts) | spent_by(chosen(int(counts.sum())))
    own |= {"isotonic": options.isotonic and options.smooth is None, "integers": integers}
    curve = dpcore.cdf_from_counts(counts, grid, **own)
    if options.smooth is not None:
        curve = curve.smooth(options.smooth)
    text = with_size(options, summary(curve, options.column), grid)
    # The legend is below the curve.
    draw = partial(picture, curve, size=(7, 4.5), legend="lower right", xlabel=options.column)
    written(options, curve.to_json, draw)
    return text


def _counts(
    options: argparse.Namespace, grid: dpcore.Grid
) -> tuple[NDArray[np.int64], bool | None]:
    """Return the number of values in each cell, (N,), and whether the column holds integers.

    None: neither the options nor the schema of a Parquet file say so. CSV has no types.
    """
    column = FileColumn(options.column, grid.unit or "numbers")
    counts, integers = np.zeros(grid.size, np.int64), options.integers
    try:
        with batches(options, column) as read:
            for batch in read:
                values = Column.of(batch.column(0))
                counts += grid.count(values, **given(options, dpcore.Grid.count))
                integers = values.stated(integers, by_grid=grid.of_integers)
    except dpcore.MissingValueError:
        raise missing_values(f"--column {options.column!r}") from None
    if not counts.any():
        raise UsageError(f"--column {options.column!r} holds no values in FILE {options.file!r}")
    return counts, integers


def summary(curve: CDF, column: str) -> str:
    """Return a few lines about a release and its quantiles."""
    error = float(curve.standard_error().max())
    error_text = f"{error:.2g} (privacy noise in the share at a value)"
    rows = {
        "column": shown(column),
        **about(curve),
        "std. error": error_text if np.isfinite(error) else "not known: it depends on the data",
    }
    quantiles = curve.quantile(np.array(_PERCENT) / 100)
    table = [f"{p:>7} %  {_text(q):>16}" for p, q in zip(_PERCENT, quantiles, strict=True)]
    return "\n".join([*lines(rows), "", f"{'share':>9}  {'quantile':>16}", *table])


def _text(value: Any) -> str:
    """Return a number, a time to the second, or a date, as printed text."""
    if isinstance(value, np.datetime64):
        return str(value if np.datetime_data(value.dtype)[0] == "D" else value.astype("M8[s]"))
    return f"{value:.10g}"


def _date_or_float(text: str) -> float | str:
    """Return a number; return a date or time in ISO 8601 unchanged."""
    if scalar("bound", text, exactly=False) is not None:
        return text
    try:
        return float(text)
    except ValueError:
        what = "a number, or a date or a time in ISO 8601, such as 2024-01-31"
        raise argparse.ArgumentTypeError(f"must be {what}; got {text!r}") from None


COMMAND: Final = Command(
    _run,
    "Release the distribution of a column of a CSV or Parquet file of any size, with differential "
    "privacy. Every run spends epsilon again. The bounds are public: choose them from knowledge "
    "about the column, never from its values.",
    functions=(dpcore.Grid.count, dpcore.cdf_from_counts),
    options={
        "file": FILE,
        "column": option(
            "name of the column. It holds numbers, or dates or times if the bounds are such",
            "C",
            required=True,
        ),
        **{name: {**bound, "type": _date_or_float} for name, bound in BOUNDS.items()},
        "size": size(
            "between the bounds (by the number of records and the budget; with --integers, one "
            "for each whole number or day)"
        ),
        **BUDGET,
        "smooth": SMOOTH,
        "isotonic": option("do not make the curve monotone", flag="--raw", action="store_false"),
        "integers": option(
            "whether the records are whole numbers or whole days, so that quantiles are, too "
            "(yes if a Parquet file has integers or dates)"
        ),
        "nan_policy": {},
        **FILES,
    },
    alternatives={**ONE_BUDGET, ("smooth", "isotonic"): False},
)
