"""Release the scores of several public groups, for the price of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..curves.likely_mistakes import named, warn_of_score_groups
from ..curves.score_groups import GroupedScores
from ..curves.scores import ScoreCurves, check_score_grid, numbered
from ..errors import ParameterError
from ..mechanisms import Mechanism
from ..planning.most_accurate import most_accurate
from ..planning.score_grid import Spender, grid_of_groups, of_scores
from ..records.column import Column
from ..summaries.grid import Grid
from ..summaries.group_counts import public_groups
from ..summaries.score_counts import Label, score_counts_of_groups
from ..summaries.totals import NanPolicy
from .cdf import checked, raw_rows, refuse_one_row_only

__all__ = ["released_by_groups", "score_curves_by_groups"]


def score_curves_by_groups(
    y_true: Any,
    y_score: Any,
    by: Any,
    groups: Sequence[Label] | None,
    grid: Grid | None,
    spender: Spender,
    *,
    pos_label: Label | None,
    isotonic: bool,
    rng: np.random.Generator | None,
    nan_policy: NanPolicy,
) -> GroupedScores:
    """Do as ``score_curves`` does with groups. ``spender`` is from ``asked_of_scores``."""
    if by is None:
        raise ParameterError("by", None, "must be the labels of the records if groups are given")
    if isinstance(spender, tuple):
        what = "must be one mechanism: with groups, both classes are released together"
        raise ParameterError("mechanism", len(spender), what)
    refuse_one_row_only(spender, "scores have two classes")
    default = of_scores if grid is None else most_accurate
    if grid is None:
        grid = grid_of_groups(spender)
    check_score_grid(grid)
    cells = numbered(2 * grid.size)
    chosen = checked(cells, spender, isotonic, rng, default)
    labels = public_groups(Column.of(by, "by"), groups)
    counts = score_counts_of_groups(
        y_true, y_score, by, grid, labels, pos_label=pos_label, nan_policy=nan_policy
    )
    found = released_by_groups(counts, labels, grid, chosen, named(pos_label), rng)
    return found.isotonic() if isotonic else found


def released_by_groups(
    counts: NDArray[np.int64],
    groups: Sequence[Label],
    grid: Grid,
    chosen: Callable[[int], Mechanism],
    label: str,
    rng: np.random.Generator | None = None,
) -> GroupedScores:
    """Release the raw curves of groups from their counts, (G, 2 N), that were checked.

    ``chosen`` takes the number of records of a group. ``label`` names the positive one in warnings.
    """
    cells = numbered(2 * grid.size)
    joint = raw_rows(counts, groups, cells, chosen, rng, what="score_curves")
    found = GroupedScores(tuple(groups), tuple(ScoreCurves(grid, curve) for curve in joint))
    warn_of_score_groups(found, label)
    return found
