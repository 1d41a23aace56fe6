"""What the commands for labels and scores share: their options, exact counts, and the release."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import dpcore

from ..curves.likely_mistakes import named
from ..curves.scores import MOST_SCORE_CELLS, ScoreCurves
from ..planning.score_grid import on_grid, score_grid, suited_to_scores
from ..privacy.allowance import Allowance
from ..records.files import Column as FileColumn
from ..releases.score_curves import labelled_score_curves
from .arguments import UsageError
from .labels import POSITIVE, scored_labels
from .options import Command, Option, given, option
from .reports import about, shown
from .running import batches, check_outputs, mechanism_of, missing_values
from .shared_options import BUDGET, FILE, FILES, ONE_BUDGET

__all__ = ["about_scores", "counted", "counted_by_default", "has_default", "released", "scored"]

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
    if grid.size > MOST_SCORE_CELLS:
        raise UsageError(f"--size must be between 1 and {MOST_SCORE_CELLS}; got {options.size}")
    chosen = mechanism_of(options, 2 * grid.size)
    check_outputs(options)
    counts = _counts(options, grid)
    return chosen(int(counts.sum()) if knows_n else None), counts


def has_default(options: argparse.Namespace) -> bool:
    """Return whether grid and mechanism are those of ``dpcore.score_curves`` without them."""
    bounds = getattr(options, "lower", 0.0), getattr(options, "upper", 1.0)
    return options.size is None and options.mechanism == "best" and bounds == (0.0, 1.0)


def counted_by_default(
    options: argparse.Namespace,
) -> tuple[dpcore.Grid, dpcore.mechanisms.Mechanism, NDArray[np.int64]]:
    """Return the default grid and mechanism for so many records, and their counts on the grid."""
    budget = Allowance.checked(options.epsilon, options.rho, "replace-one", options.delta)
    mechanism_of(options, 2)  # refuses options of other mechanisms
    check_outputs(options)
    counts = _counts(options, score_grid())
    grid, mechanism = suited_to_scores(int(counts.sum()), budget)
    return grid, mechanism, on_grid(counts, grid)


def _counts(options: argparse.Namespace, grid: dpcore.Grid) -> NDArray[np.int64]:
    """Return the number of records of each class in each cell, (2 N,), as ``score_counts`` does."""
    label = FileColumn(options.y_true, "labels", "--label")
    score = FileColumn(options.y_score, "numbers", "--score")
    counts = np.zeros(2 * grid.size, np.int64)
    with batches(options, label, score) as read:
        for batch in read:
            is_positive, scores, missing = scored_labels(batch, options.pos_label)
            if missing is not None and options.nan_policy == "raise":
                raise missing_values(str((label, score)[missing]))
            own = given(options, dpcore.score_counts)
            own |= {"y_true": is_positive, "y_score": scores, "pos_label": None}
            counts += dpcore.score_counts(**own, grid=grid)
    if not counts.any():
        raise UsageError(f"{label} and {score} hold no records in FILE {options.file!r}")
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
    positive = POSITIVE if options.pos_label is None else options.pos_label
    return {
        "label": f"{shown(options.y_true)}, positive if {shown(positive)}",
        "score": shown(options.y_score),
        **about(curves.joint),
        "positives": f"{curves.positives[-1]:.0f} (released)",
    }
