"""``dpcore survival``: the survival curve of durations and events."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import dpcore

from ..curves.confidence import deviations
from ..curves.scores import MOST_SCORE_CELLS
from ..curves.survival import Survival
from ..planning.survival_grid import coarser, fine_grid, joined, suited_to_survival
from ..privacy.allowance import Allowance
from ..records.files import Column as FileColumn
from .arguments import UsageError
from .labels import POSITIVE, scored_labels
from .options import Command, given, option
from .reports import about, between, lines, percent, picture, shown
from .running import batches, check_outputs, mechanism_of, missing_values, spent_by, written
from .shared_options import BOUNDS, BUDGET, FILE, FILES, LEVEL, ONE_BUDGET, size
from .sizes import with_size

__all__ = ["COMMAND"]

_ROWS: Final = 6
_FEWEST: Final = 4  # cells, for which a budget is checked before the file is read


def _run(options: argparse.Namespace) -> str:
    deviations(options.level)  # refuses another level
    if options.size is not None and not 1 <= options.size <= MOST_SCORE_CELLS:
        raise UsageError(f"--size must be between 1 and {MOST_SCORE_CELLS}; got {options.size}")
    bounds = options.lower, options.upper
    grid = fine_grid(*bounds)
    if options.size is not None:
        grid = dpcore.Grid.uniform(*bounds, options.size)
    chosen = mechanism_of(options, 2 * (options.size or _FEWEST))
    check_outputs(options)
    counts = _counts(options, grid)
    n = int(counts.sum())
    mechanism = chosen(n)
    if options.size is None:
        spender: Any = mechanism
        if options.mechanism == "best":
            how = options.epsilon, options.rho
            spender = Allowance.checked(*how, "replace-one", options.delta)
        cells, mechanism = suited_to_survival(n, spender)
        grid, counts = coarser(grid, cells), joined(counts, cells)
    own = given(options, dpcore.survival_from_counts) | spent_by(mechanism)
    curve = dpcore.survival_from_counts(**own | {"counts": counts, "grid": grid})
    text = with_size(options, _summary(curve, options), grid)
    draw = partial(
        picture,
        curve,
        size=(6.4, 4.8),
        legend="upper right",
        title=options.durations,
        xlabel=options.durations,
    )
    written(options, curve.to_json, draw)
    return text


def _counts(options: argparse.Namespace, grid: dpcore.Grid) -> NDArray[np.int64]:
    """Return the number of events and of censorings in each cell, as ``survival_counts`` does."""
    columns = (
        FileColumn(options.event, "labels", "--event"),
        FileColumn(options.durations, "numbers", "--duration"),
    )
    counts = np.zeros(2 * grid.size, np.int64)
    with batches(options, *columns) as read:
        for batch in read:
            flags = "--event", "--event-label"
            is_event, complete, missing = scored_labels(batch, options.event_label, flags)
            if missing is not None and options.nan_policy == "raise":
                raise missing_values(str(columns[missing]))
            counts += dpcore.survival_counts(complete.column(1), is_event, grid)
    if not counts.any():
        what = " and ".join(map(str, columns))
        raise UsageError(f"{what} hold no records in FILE {options.file!r}")
    return counts


def _summary(curve: Survival, options: argparse.Namespace) -> str:
    """Return a few lines about a release."""
    event = POSITIVE if options.event_label is None else options.event_label
    level = percent(options.level)
    rows: dict[str, object] = {
        "duration": shown(options.durations),
        "event": f"{shown(options.event)}, if {shown(event)}",
        **about(curve.row),
        "events": f"{curve.events[-1]:.0f} (released)",
        "median": f"{curve.median:.4g}",
        f"{level}": f"{between(curve.quantile_interval(0.5, options.level, of='population'))}"
        " (population)",
        "ends at": f"{curve.end:.4g}",
    }
    at = np.unique(np.linspace(0, curve.grid.size, _ROWS + 1).round().astype(int))[1:] - 1
    low, high = curve.band(options.level, of="population")
    table = [
        f"{curve.times[i]:>12.6g}  {curve.at_risk[i]:>10.0f}  {curve.survival[i]:>10.2%}"
        f"  {low[i]:>7.2%} -{high[i]:>8.2%}"
        for i in at
        if np.isfinite(curve.survival[i])
    ]
    told = f"{level} (population)"
    heading = f"{'up to':>12}  {'at risk':>10}  {'survival':>10}  {told:>17}"
    return "\n".join([*lines(rows), "", heading, *table])


COMMAND: Final = Command(
    _run,
    "Release the survival curve of durations, some of them censored, with differential privacy, "
    "from two columns of a CSV or Parquet file of any size. Every run spends epsilon again.",
    functions=(dpcore.survival_counts, dpcore.survival_from_counts),
    options={
        "file": FILE,
        "durations": option(
            "name of the column of durations", "C", flag="--duration", required=True
        ),
        "event": option("name of the column of events", "C", flag="--event", required=True),
        "event_label": option(
            "the label of the event (1 or true, if labels are numbers or booleans; required if they"
            " are text). All others are censored",
            "L",
            flag="--event-label",
        ),
        **BOUNDS,
        "lower": option("least duration, known beforehand (0)", "A", float, default=0.0),
        "upper": option(
            "greatest duration, known beforehand. Longer ones count as censored there",
            "B",
            float,
            required=True,
        ),
        "size": size("between the bounds (by the number of records and the budget)"),
        "level": LEVEL,
        **BUDGET,
        "nan_policy": {},
        **FILES,
    },
    alternatives=ONE_BUDGET,
)
