"""``dpcore survival``: the survival curve of durations and events."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

import dpcore

from ..curves.confidence import in_percent
from ..curves.survival import Survival
from ..curves.survival_groups import GroupedSurvival
from ..releases.survival import released_survival
from ..releases.survival_by_groups import released_by_groups
from ..summaries.incidence_counts import incidence_counts_of_groups
from .by_groups import places
from .durations import asked_of, columns_of, options_of, refuse_no_records, write
from .labels import POSITIVE, scored_labels
from .options import Command, option
from .reports import about, lines, shown
from .running import batches, missing_values
from .shared_options import ONE_BUDGET
from .sizes import with_size

__all__ = ["COMMAND"]

_ROWS: Final = 6
_NEVER: Final = "not reached"


def _run(options: argparse.Namespace) -> str:
    groups, grid, spender, coarsens = asked_of(options, 1)
    counts, label = _counts(options, grid, groups), options.event_label
    if groups:
        rows = counts.reshape(len(groups), -1)
        every = released_by_groups(rows, label, groups, grid, spender, coarsens=coarsens)
        text = with_size(options, _summary_of_groups(every, options), every.curves[0].grid)
        write(options, every, "upper right")
        return text
    curve = released_survival(counts, label, grid, spender, coarsens=coarsens)
    text = with_size(options, _summary(curve, options), curve.grid)
    write(options, curve, "upper right")
    return text


def _counts(
    options: argparse.Namespace, grid: dpcore.Grid, groups: Sequence[str]
) -> NDArray[np.int64]:
    """Return the number of events and of censorings in each cell, as ``survival_counts`` does.

    With groups (2 G N,), one group after the other.
    """
    columns = columns_of(options, groups)
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
    refuse_no_records(counts, options, groups)
    return counts


def _summary(curve: Survival, options: argparse.Namespace) -> str:
    """Return a few lines about a release."""
    level = in_percent(options.level)
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
    level = in_percent(options.level)
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
    options=options_of(
        event_label=option(
            "the label of the event (1 or true, if labels are numbers or booleans; required if they"
            " are text). All others are censored",
            "L",
            flag="--event-label",
        )
    ),
    alternatives=ONE_BUDGET,
)
