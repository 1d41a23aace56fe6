"""What the commands for labels and scores share: their options, exact counts, and the release."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import dpcore

from ..curves.confidence import Interval, in_percent
from ..curves.likely_mistakes import named
from ..curves.own_mechanism import Releases
from ..curves.score_groups import GroupedScores
from ..curves.scores import MOST_SCORE_CELLS, ScoreCurves, numbered
from ..planning.most_accurate import most_accurate
from ..planning.score_grid import (
    grid_of_groups,
    of_scores,
    on_grid,
    score_grid,
    suited_to_mechanism,
    suited_to_scores,
)
from ..privacy.allowance import Allowance
from ..records.files import Column as FileColumn
from ..releases.cdf import checked, of_each
from ..releases.released_by import released_by
from ..releases.score_curves import labelled_score_curves
from ..releases.score_curves_by_groups import released_by_groups
from ..summaries.score_counts import score_counts_of_groups
from .arguments import UsageError
from .by_groups import column_of, places
from .labels import POSITIVE, scored_labels
from .options import Command, Option, given, option
from .reports import about, between, lines, shown
from .running import batches, check_outputs, mechanism_of, missing_values
from .shared_options import BUDGET, FILE, FILES, ONE_BUDGET

__all__ = [
    "about_groups",
    "about_scores",
    "by_groups",
    "chooses_grid",
    "counted",
    "counted_by_default",
    "released",
    "scored",
    "table_of_groups",
]

_LABELLED: Final[dict[str, Option]] = {
    "file": FILE,
    "y_true": option("name of the column of labels", "C", flag="--label", required=True),
    "pos_label": option(
        "the label of the positives (1 or true, if labels are numbers or booleans; required "
        "if they are text). All other labels are negative. It is allowed that no record has this "
        "label",
        "L",
        flag="--positive",
    ),
    "y_score": option("name of the column of scores", "C", flag="--score", required=True),
}


def scored(
    run: Callable[[argparse.Namespace], str],
    shows: str,
    *functions: Callable[..., Any],
    options: dict[str, Option | None],
) -> Command:
    """Return a command that reads labels and scores, and shows something of their release."""
    return Command(
        run,
        "Release the distributions of the scores of positives and of negatives, with differential "
        "privacy, from two columns of a CSV or Parquet file of any size, and show "
        f"{shows}. Every run spends epsilon again.",
        functions=(*functions, dpcore.score_counts, dpcore.score_curves_from_counts),
        options={
            **_LABELLED,
            **options,
            **BUDGET,
            "isotonic": None,  # what is shown needs monotone curves
            "nan_policy": {},
            **FILES,
        },
        alternatives=ONE_BUDGET,
    )


def counted(
    options: argparse.Namespace, grid: dpcore.Grid, knows_n: bool = True
) -> tuple[dpcore.mechanisms.Mechanism, NDArray[np.int64]]:
    """Return the mechanism for the scores, and their exact counts by class."""
    _check_size(options, grid)
    chosen = mechanism_of(options, 2 * grid.size)
    check_outputs(options)
    counts = _counts(options, grid)
    return chosen(int(counts.sum()) if knows_n else None), counts


def by_groups(
    options: argparse.Namespace, groups: list[str], grid: dpcore.Grid | None
) -> tuple[GroupedScores, list[Releases | None]]:
    """Return the released curves of groups, and what can simulate each, or None.

    Without a grid, it is that of ``dpcore.score_curves``.
    """
    relation = of_each(None, by_groups=True)
    assert relation is not None
    budget = Allowance.checked(options.epsilon, options.rho, relation, options.delta)
    default = of_scores if grid is None else most_accurate
    own = mechanism_of(options, 2 * (score_grid(0) if grid is None else grid).size)
    mechanism = None if options.mechanism == "best" else own(None)
    spender = budget if mechanism is None else mechanism
    grid = grid_of_groups(spender) if grid is None else grid
    _check_size(options, grid)
    chosen = checked(numbered(2 * grid.size), spender, False, None, default)
    check_outputs(options)
    counts = _counts(options, grid, groups).reshape(len(groups), -1)
    smooth, label = getattr(options, "smooth", None), named(options.pos_label)
    raw = released_by_groups(counts, groups, grid, chosen, label)
    if smooth is None:
        curves = raw.isotonic()
        return curves, [released_by(each, mechanism) for each in curves.values()]
    smoothed = tuple(each.smooth(smooth) for each in raw.values())
    return GroupedScores(raw.groups, smoothed), [None] * len(groups)  # these are not simulated


def table_of_groups(
    curves: GroupedScores,
    name: str,
    found: Sequence[tuple[float, Interval[float], Interval[float]]],
    options: argparse.Namespace,
) -> str:
    """Return a few lines about the curves of groups, with a number for each and its intervals."""
    level = in_percent(options.level)
    heading = (
        f"{name:>9}  {f'{level} (records)':>19}  {f'{level} (population)':>19}"
        f"  {'records':>10}  {'positives':>10}  group"
    )
    table = [
        f"{value:>9.4g}  {between(own):>19}  {between(population):>19}"
        f"  {each.n:>10}  {each.positives[-1]:>10.0f}  {shown(group)}"
        for (group, each), (value, own, population) in zip(curves.items(), found, strict=True)
    ]
    return "\n".join([*about_groups(curves, options), "", heading, *table])


def about_groups(curves: GroupedScores, options: argparse.Namespace) -> list[str]:
    """Return the lines that all released scores of groups get."""
    rows = _about_columns(options) | {"by": shown(options.by), "privacy": curves.privacy}
    return lines(rows)


def chooses_grid(options: argparse.Namespace) -> bool:
    """Return whether the grid is that of ``dpcore.score_curves`` without one."""
    bounds = getattr(options, "lower", 0.0), getattr(options, "upper", 1.0)
    return options.size is None and bounds == (0.0, 1.0)


def counted_by_default(
    options: argparse.Namespace,
) -> tuple[dpcore.Grid, dpcore.mechanisms.Mechanism, NDArray[np.int64]]:
    """Return the grid and the mechanism for so many records, and their counts on the grid."""
    given = mechanism_of(options, 2 * score_grid(0).size)  # refuses options of other mechanisms
    check_outputs(options)
    counts = _counts(options, score_grid())
    n = int(counts.sum())
    if options.mechanism == "best":
        budget = Allowance.checked(options.epsilon, options.rho, "replace-one", options.delta)
        grid, mechanism = suited_to_scores(n, budget)
    else:
        mechanism = given(n)
        grid = suited_to_mechanism(n, mechanism)
    return grid, mechanism, on_grid(counts, grid)


def _check_size(options: argparse.Namespace, grid: dpcore.Grid) -> None:
    if grid.size > MOST_SCORE_CELLS:
        raise UsageError(f"--size must be between 1 and {MOST_SCORE_CELLS}; got {options.size}")


def _counts(
    options: argparse.Namespace, grid: dpcore.Grid, groups: Sequence[str] = ()
) -> NDArray[np.int64]:
    """Return the number of records of each class in each cell, (2 N,), as ``score_counts`` does.

    With groups (G, 2 N).
    """
    columns = [
        FileColumn(options.y_true, "labels", "--label"),
        FileColumn(options.y_score, "numbers", "--score"),
        *([column_of(options)] if groups else []),
    ]
    counts = np.zeros(max(1, len(groups)) * 2 * grid.size, np.int64)
    with batches(options, *columns) as read:
        for batch in read:
            is_positive, complete, missing = scored_labels(batch, options.pos_label)
            if missing is not None and options.nan_policy == "raise":
                raise missing_values(str(columns[missing]))
            own = given(options, dpcore.score_counts)
            own |= {"y_true": is_positive, "y_score": complete.column(1), "pos_label": None}
            if groups:
                own["by"] = places(complete.column(2), groups)
                own["groups"] = range(len(groups))
                counts += score_counts_of_groups(**own, grid=grid).ravel()
            else:
                counts += dpcore.score_counts(**own, grid=grid)
    if not counts.any() and not groups:  # the sizes of groups may be private
        what = " and ".join(map(str, columns))
        raise UsageError(f"{what} hold no records in FILE {options.file!r}")
    return counts


def released(
    options: argparse.Namespace,
    grid: dpcore.Grid,
    mechanism: dpcore.mechanisms.Mechanism,
    counts: NDArray[np.int64],
) -> ScoreCurves:
    """Return the released curves of both classes; warnings name the label that was typed."""
    smooth = getattr(options, "smooth", None)
    label = named(options.pos_label)
    curves = labelled_score_curves(counts, grid, mechanism, label, isotonic=smooth is None)
    return curves if smooth is None else curves.smooth(smooth)


def about_scores(curves: ScoreCurves, options: argparse.Namespace) -> dict[str, object]:
    """Return the lines that all released scores get."""
    return {
        **_about_columns(options),
        **about(curves.joint),
        "positives": f"{curves.positives[-1]:.0f} (released)",
    }


def _about_columns(options: argparse.Namespace) -> dict[str, object]:
    positive = POSITIVE if options.pos_label is None else options.pos_label
    return {
        "label": f"{shown(options.y_true)}, positive if {shown(positive)}",
        "score": shown(options.y_score),
    }
