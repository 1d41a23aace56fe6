"""``dpcore incidence``: the cumulative incidence of several kinds of events."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import dpcore

from ..curves.confidence import deviations
from ..curves.cumulative_incidence import CumulativeIncidence
from ..curves.cumulative_incidence_groups import GroupedCumulativeIncidence
from ..curves.scores import MOST_SCORE_CELLS
from ..privacy.allowance import Allowance
from ..records.files import Column as FileColumn
from ..releases.cdf import of_each
from ..releases.cumulative_incidence import released_incidence, released_incidences
from ..releases.event_row import checked_spender, grid_of
from ..summaries.incidence_counts import incidence_counts, incidence_counts_of_groups
from .arguments import UsageError
from .by_groups import BY, column_of, groups_of, labels_of, places
from .options import Command, option
from .reports import lines, percent, picture, shown
from .running import batches, check_outputs, mechanism_of, missing_values, written
from .shared_options import BOUNDS, BUDGET, FILE, FILES, LEVEL, ONE_BUDGET, size
from .sizes import with_size

__all__ = ["COMMAND"]

_FEWEST: Final = 4  # cells, for which a budget is checked before the file is read


def _run(options: argparse.Namespace) -> str:
    deviations(options.level)  # refuses another level
    if options.size is not None and not 1 <= options.size <= MOST_SCORE_CELLS:
        raise UsageError(f"--size must be between 1 and {MOST_SCORE_CELLS}; got {options.size}")
    groups, kinds = groups_of(options), labels_of(options.kinds, "--kinds")
    bounds = options.lower, options.upper
    coarsens = options.size is None
    grid = grid_of(bounds)[0] if coarsens else dpcore.Grid.uniform(*bounds, options.size)
    spender: Any = mechanism_of(options, (len(kinds) + 1) * (options.size or _FEWEST))(None)
    if options.mechanism == "best":
        relation = of_each(None, by_groups=True) if groups else "replace-one"
        how = options.epsilon, options.rho
        spender = Allowance.checked(*how, relation, options.delta)  # type: ignore[arg-type]
    release: Any = {"coarsens": coarsens}
    checked_spender(spender, grid, len(kinds), None, by_groups=bool(groups), **release)
    check_outputs(options)
    counts = _counts(options, grid, kinds, groups)
    found: CumulativeIncidence | GroupedCumulativeIncidence
    if groups:
        found = released_incidences(counts, tuple(kinds), groups, grid, spender, **release)
        own = found.curves[0].grid
    else:
        found = released_incidence(counts, tuple(kinds), grid, spender, **release)
        own = found.grid
    text = with_size(options, _summary(found, options), own)
    name = options.durations
    drawn: Any = {"size": (6.4, 4.8), "legend": "upper left", "title": name, "xlabel": name}
    written(options, found.to_json, partial(picture, found, **drawn))
    return text


def _counts(
    options: argparse.Namespace, grid: dpcore.Grid, kinds: Sequence[str], groups: Sequence[str]
) -> NDArray[np.int64]:
    """Return the exact counts of all classes, ((K + 1) N,), or those of groups, (G, (K + 1) N)."""
    import pyarrow.compute as pc

    columns = [
        FileColumn(options.event, "labels", "--event"),
        FileColumn(options.durations, "numbers", "--duration"),
        *([column_of(options)] if groups else []),
    ]
    classes = (len(kinds) + 1) * grid.size
    counts = np.zeros((len(groups), classes) if groups else classes, np.int64)
    with batches(options, *columns) as read:
        for batch in read:
            masks = [pc.is_null(column, nan_is_null=True) for column in batch.columns]
            missing = next((at for at, mask in enumerate(masks) if pc.any(mask).as_py()), None)
            if missing is not None:
                if options.nan_policy == "raise":
                    raise missing_values(str(columns[missing]))
                batch = batch.filter(pc.invert(reduce(pc.or_, masks)))
            records = batch.column(1), places(batch.column(0), kinds)
            known = range(len(kinds))
            if groups:
                given = *records, places(batch.column(2), groups), grid, range(len(groups))
                counts += incidence_counts_of_groups(*given, known, "kinds")
            else:
                counts += incidence_counts(*records, grid, known)
    if not counts.any() and not groups:  # the sizes of groups may be private
        what = " and ".join(map(str, columns))
        raise UsageError(f"{what} hold no records in FILE {options.file!r}")
    return counts


def _summary(
    found: CumulativeIncidence | GroupedCumulativeIncidence, options: argparse.Namespace
) -> str:
    """Return a few lines about a release: each incidence at the end, with its interval."""
    level = percent(options.level)
    rows: dict[str, object] = {"duration": shown(options.durations), "event": shown(options.event)}
    if isinstance(found, GroupedCumulativeIncidence):
        rows, curves = rows | {"by": shown(options.by)}, list(found.items())
    else:
        rows, curves = rows | {"records": found.n}, [("", found)]
    rows["privacy"] = found.privacy
    table = []
    for group, one in curves:
        low, high = one.band(options.level, of="population")
        last = max(int(np.isfinite(one.survival).sum()) - 1, 0)
        table += [
            f"{one.end:>12.6g}  {one.incidence[at, last]:>9.2%}"
            f"  {low[at, last]:>7.2%} -{high[at, last]:>8.2%}"
            f"  {'  '.join(filter(None, [shown(kind), shown(group)]))}"
            for at, kind in enumerate(one.kinds)
        ]
    told = f"{level} (population)"
    heading = f"{'up to':>12}  {'incidence':>9}  {told:>17}  kind{'  group' if options.by else ''}"
    return "\n".join([*lines(rows), "", heading, *table])


COMMAND: Final = Command(
    _run,
    "Release the cumulative incidence of several kinds of events that compete, with differential "
    "privacy, from two columns of a CSV or Parquet file of any size. Every run spends epsilon "
    "again.",
    functions=(dpcore.cumulative_incidence,),
    options={
        "file": FILE,
        "durations": option(
            "name of the column of durations", "C", flag="--duration", required=True
        ),
        "event": option("name of the column of events", "C", flag="--event", required=True),
        "kinds": option(
            "the public labels of the kinds of events, between commas. All others are censored",
            "LABELS",
            required=True,
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
