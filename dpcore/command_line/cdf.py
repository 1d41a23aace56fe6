"""``dpcore cdf``: the distribution of a column."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import dpcore

from ..curves.cdf import CDF
from ..curves.confidence import deviations, in_percent
from ..curves.groups import GroupedCDF
from ..records.column import Column
from ..records.files import Column as FileColumn
from ..records.times import scalar
from .arguments import UsageError
from .by_groups import BY, column_of, groups_of, is_missing, places
from .options import Command, given, option
from .reports import about, lines, picture, shown
from .running import batches, check_outputs, mechanism_of, missing_values, spent_by, written
from .shared_options import BOUNDS, BUDGET, FILE, FILES, LEVEL, ONE_BUDGET, SMOOTH, size
from .sizes import coarser, grid_of, with_size

__all__ = ["COMMAND", "summary"]

_PERCENT: Final = (1, 5, 10, 25, 50, 75, 90, 95, 99)


def _run(options: argparse.Namespace) -> str:
    level = options.level
    deviations(level)  # refuses another one
    groups = groups_of(options)
    grid = grid_of(options)
    chosen = mechanism_of(options, grid.size)
    check_outputs(options)
    counts, integers = _counts(options, grid, groups)
    if options.size is None and not grid.of_integers and not groups:
        grid, counts = coarser(options, grid, counts)
        chosen = mechanism_of(options, grid.size)
    own = given(options, dpcore.cdf_from_counts)
    own |= {"isotonic": options.isotonic and options.smooth is None, "integers": integers}
    if groups:
        # The best mechanism is chosen for each group.
        own |= {"mechanism": None} if options.mechanism == "best" else spent_by(chosen(None))
        own["groups"] = groups
        counts = counts.reshape(len(groups), -1)
    else:
        own |= spent_by(chosen(int(counts.sum())))
    curve = dpcore.cdf_from_counts(counts, grid, **own)
    if options.smooth is not None:
        curve = curve.smooth(options.smooth)
    told = _summary_by_groups(curve, options) if groups else summary(curve, options.column, level)
    text = with_size(options, told, grid)
    # The legend is below the curve.
    how = {"size": (7, 4.5), "legend": "lower right", "xlabel": options.column}
    written(options, curve.to_json, partial(picture, curve, **how))
    return text


def _counts(
    options: argparse.Namespace, grid: dpcore.Grid, groups: list[str]
) -> tuple[NDArray[np.int64], bool | None]:
    """Return the number of values in each cell, (N,), and whether the column holds integers.

    With groups (G N,), one group after the other. None: neither the options nor the schema of a
    Parquet file say so. CSV has no types.
    """
    columns = [FileColumn(options.column, grid.unit or "numbers")]
    columns += [column_of(options)] if groups else []
    counts = np.zeros(max(1, len(groups)) * grid.size, np.int64)
    integers, own = options.integers, given(options, dpcore.Grid.count)
    try:
        with batches(options, *columns) as read:
            for batch in read:
                values = Column.of(batch.column(0))
                if not groups:
                    counts += grid.count(values, **own)
                elif options.nan_policy == "raise" and is_missing(batch.column(1)):
                    raise missing_values(str(columns[1]))
                else:
                    place = places(batch.column(1), groups)
                    each = dpcore.group_counts(values, place, grid, range(len(groups)), **own)
                    counts += each.ravel()
                integers = values.stated(integers, by_grid=grid.of_integers)
    except dpcore.MissingValueError:
        raise missing_values(f"--column {options.column!r}") from None
    if not counts.any() and not groups:  # the sizes of groups may be private
        raise UsageError(f"--column {options.column!r} holds no values in FILE {options.file!r}")
    return counts, integers


def summary(curve: CDF, column: str, level: float = 0.95) -> str:
    """Return a few lines about a release and its quantiles."""
    rows = {"column": shown(column), **about(curve), "std. error": _error_text(curve)}
    return "\n".join([*lines(rows), "", *_table(curve, level)])


def _summary_by_groups(curves: GroupedCDF, options: argparse.Namespace) -> str:
    """Return a few lines about the release, and about each group."""
    rows = {"column": shown(options.column), "by": shown(options.by), "privacy": curves.privacy}
    text = lines(rows)
    for group, curve in curves.items():
        own = about(curve) | {"std. error": _error_text(curve)}
        del own["privacy"]
        text += ["", *lines({"group": shown(group)} | own), *_table(curve, options.level)]
    return "\n".join(text)


def _error_text(curve: CDF) -> str:
    error = float(curve.standard_error().max())
    known = f"{error:.2g} (privacy noise in the share at a value)"
    return known if np.isfinite(error) else "not known: it depends on the data"


def _table(curve: CDF, level: float) -> list[str]:
    """Return a heading, and a line for each quantile, with the interval for the noise."""
    shares = np.array(_PERCENT) / 100
    ends = curve.quantile_interval(shares, level)
    heading = f"{in_percent(level)} (noise)"
    return [
        f"{'share':>9}  {'quantile':>16}  {heading:>35}",
        *(
            f"{p:>7} %  {_text(q):>16}  {_text(low):>16} - {_text(high):>16}"
            for p, q, low, high in zip(_PERCENT, curve.quantile(shares), *ends, strict=True)
        ),
    ]


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
        **BY,
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
        "level": LEVEL,
        **FILES,
    },
    alternatives={**ONE_BUDGET, ("smooth", "isotonic"): False},
)
