"""``dpcore incidence``: the cumulative incidence of several kinds of events."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import reduce
from typing import Final

import numpy as np
from numpy.typing import NDArray

import dpcore

from ..curves.confidence import in_percent
from ..curves.cumulative_incidence import CumulativeIncidence
from ..curves.cumulative_incidence_groups import GroupedCumulativeIncidence
from ..releases.cumulative_incidence import released_incidence, released_incidences
from ..summaries.incidence_counts import incidence_counts, incidence_counts_of_groups
from .by_groups import labels_of, places
from .durations import asked_of, columns_of, options_of, refuse_no_records, write
from .labels import check_order
from .options import Command, option
from .reports import lines, shown
from .running import batches, missing_values
from .shared_options import ONE_BUDGET
from .sizes import with_size

__all__ = ["COMMAND"]


def _run(options: argparse.Namespace) -> str:
    kinds = labels_of(options.kinds, "--kinds")
    groups, grid, spender, coarsens = asked_of(options, len(kinds))
    counts = _counts(options, grid, kinds, groups)
    found: CumulativeIncidence | GroupedCumulativeIncidence
    if groups:
        given = counts, tuple(kinds), groups, grid, spender
        found = released_incidences(*given, coarsens=coarsens)
        own = found.curves[0].grid
    else:
        found = released_incidence(counts, tuple(kinds), grid, spender, coarsens=coarsens)
        own = found.grid
    text = with_size(options, _summary(found, options), own)
    write(options, found, "upper left")
    return text


def _counts(
    options: argparse.Namespace, grid: dpcore.Grid, kinds: Sequence[str], groups: Sequence[str]
) -> NDArray[np.int64]:
    """Return the exact counts of all classes, ((K + 1) N,), or those of groups, (G, (K + 1) N)."""
    import pyarrow.compute as pc

    columns = columns_of(options, groups)
    classes = (len(kinds) + 1) * grid.size
    counts = np.zeros((len(groups), classes) if groups else classes, np.int64)
    with batches(options, *columns) as read:
        for batch in read:
            if not any("." in kind for kind in kinds):
                check_order(batch, "--event", "write one of --kinds with a point, as in 1.0")
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
    refuse_no_records(counts, options, groups)
    return counts


def _summary(
    found: CumulativeIncidence | GroupedCumulativeIncidence, options: argparse.Namespace
) -> str:
    """Return a few lines about a release: each incidence at the end, with its interval."""
    level = in_percent(options.level)
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
    options=options_of(
        kinds=option(
            "the public labels of the kinds of events, between commas. All others are censored",
            "LABELS",
            required=True,
        )
    ),
    alternatives=ONE_BUDGET,
)
