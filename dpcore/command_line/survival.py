"""``dpcore survival``: the survival curve of durations and events."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import dpcore

from ..curves.confidence import deviations
from ..curves.scores import MOST_SCORE_CELLS, numbered
from ..curves.survival import Survival
from ..curves.survival_groups import GroupedSurvival
from ..planning.survival_grid import coarser, fine_grid, joined, suited_to_survival
from ..privacy.allowance import Allowance
from ..records.files import Column as FileColumn
from ..releases.cdf import checked, of_each
from ..releases.survival_by_groups import released_by_groups
from ..summaries.incidence_counts import incidence_counts_of_groups
from .arguments import UsageError
from .by_groups import BY, column_of, groups_of, places
from .labels import POSITIVE, scored_labels
from .options import Command, given, option
from .reports import about, lines, percent, picture, shown
from .running import batches, check_outputs, mechanism_of, missing_values, spent_by, written
from .shared_options import BOUNDS, BUDGET, FILE, FILES, LEVEL, ONE_BUDGET, size
from .sizes import with_size

__all__ = ["COMMAND"]

_ROWS: Final = 6
_NEVER: Final = "not reached"
_FEWEST: Final = 4  # cells, for which a budget is checked before the file is read


def _run(options: argparse.Namespace) -> str:
    deviations(options.level)  # refuses another level
    if options.size is not None and not 1 <= options.size <= MOST_SCORE_CELLS:
        raise UsageError(f"--size must be between 1 and {MOST_SCORE_CELLS}; got {options.size}")
    groups = groups_of(options)
    bounds = options.lower, options.upper
    grid = fine_grid(*bounds)
    if options.size is not None:
        grid = dpcore.Grid.uniform(*bounds, options.size)
    if groups:
        return _run_by_groups(options, groups, grid)
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
    _write(options, curve)
    return text


def _run_by_groups(options: argparse.Namespace, groups: list[str], grid: dpcore.Grid) -> str:
    """Release the curves of groups, and test whether their hazards differ."""
    relation = of_each(None, by_groups=True)
    assert relation is not None
    cells = 2 * (options.size or _FEWEST)
    spender: Any = Allowance.checked(options.epsilon, options.rho, relation, options.delta)
    own = mechanism_of(options, cells)
    if options.mechanism != "best":
        spender = own(None)
    checked(numbered(cells), spender, True, None)  # refuses a budget too small
    check_outputs(options)
    counts = _counts(options, grid, groups).reshape(len(groups), -1)
    found = released_by_groups(counts, groups, grid, spender, coarsens=options.size is None)
    text = with_size(options, _summary_of_groups(found, options), found.curves[0].grid)
    _write(options, found)
    return text


def _write(options: argparse.Namespace, found: Survival | GroupedSurvival) -> None:
    name = options.durations
    how: Any = {"size": (6.4, 4.8), "legend": "upper right", "title": name, "xlabel": name}
    written(options, found.to_json, partial(picture, found, **how))


def _counts(
    options: argparse.Namespace, grid: dpcore.Grid, groups: Sequence[str] = ()
) -> NDArray[np.int64]:
    """Return the number of events and of censorings in each cell, as ``survival_counts`` does.

    With groups (2 G N,), one group after the other.
    """
    columns = [
        FileColumn(options.event, "labels", "--event"),
        FileColumn(options.durations, "numbers", "--duration"),
        *([column_of(options)] if groups else []),
    ]
    counts = np.zeros(max(1, len(groups)) * 2 * grid.size, np.int64)
    with batches(options, *columns) as read:
        for batch in read:
            flags = "--event", "--event-label"
            is_event, complete, missing = scored_labels(batch, options.event_label, flags)
            if missing is not None and options.nan_policy == "raise":
                raise missing_values(str(columns[missing]))
            records = complete.column(1), is_event
            if groups:
                given = *records, places(complete.column(2), groups), grid, range(len(groups))
                counts += incidence_counts_of_groups(*given, [None], "event_label").ravel()
            else:
                counts += dpcore.survival_counts(*records, grid)
    if not counts.any() and not groups:  # the sizes of groups may be private
        what = " and ".join(map(str, columns))
        raise UsageError(f"{what} hold no records in FILE {options.file!r}")
    return counts


def _summary(curve: Survival, options: argparse.Namespace) -> str:
    """Return a few lines about a release."""
    level = percent(options.level)
    rows: dict[str, object] = {
        **_about_columns(options),
        **about(curve.row),
        "events": f"{curve.events[-1]:.0f} (released)",
        "median": _time(curve.median),
        f"{level}": f"{_median_between(curve, options.level)} (population)",
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


def _summary_of_groups(found: GroupedSurvival, options: argparse.Namespace) -> str:
    """Return a few lines about the curves of groups, with the median of each and its interval."""
    level = percent(options.level)
    rows = _about_columns(options) | {"by": shown(options.by), "privacy": found.privacy}
    if len(found) > 1:
        rows["log-rank"] = f"p = {dpcore.log_rank_test(found).pvalue:.3g}"
    heading = (
        f"{'median':>11}  {f'{level} (population)':>22}  {'records':>10}  {'events':>10}  group"
    )
    table = [
        f"{_time(each.median):>11}"
        f"  {_median_between(each, options.level):>22}"
        f"  {each.n:>10}  {each.events[-1]:>10.0f}  {shown(group)}"
        for group, each in found.items()
    ]
    return "\n".join([*lines(rows), "", heading, *table])


def _about_columns(options: argparse.Namespace) -> dict[str, object]:
    event = POSITIVE if options.event_label is None else options.event_label
    return {
        "duration": shown(options.durations),
        "event": f"{shown(options.event)}, if {shown(event)}",
    }


def _median_between(curve: Survival, level: float) -> str:
    """Return the interval of a median as a text; its ends may not be reached."""
    low, high = map(_time, curve.quantile_interval(0.5, level, of="population"))
    return low if low == high == _NEVER else f"{low} to {high}"


def _time(time: float) -> str:
    """Return a time as a text, or that it is not reached."""
    return f"{time:.4g}" if time == time else _NEVER


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
        **BY,
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
