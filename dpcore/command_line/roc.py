"""``dpcore roc``: the ROC curve of scored labels."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Final

import numpy as np

from ..statistics.roc import ROC
from .reports import lines, picture
from .running import mechanism_of, written
from .scored import (
    about_scores,
    counted,
    counted_by_default,
    has_default,
    released,
    scored,
)
from .shared_options import BOUNDS, SMOOTH, size
from .sizes import coarser, grid_of, with_size

__all__ = ["COMMAND"]

_FALSE_PERCENT: Final = (1, 2, 5, 10, 20, 50)


def _run(options: argparse.Namespace) -> str:
    if has_default(options):
        grid, mechanism, counts = counted_by_default(options)
    else:
        grid = grid_of(options)
        mechanism, counts = counted(options, grid)
        if options.size is None:
            grid, counts = coarser(options, grid, counts)
            mechanism = mechanism_of(options, 2 * grid.size)(int(counts.sum()))
    curves = released(options, grid, mechanism, counts)
    curve = ROC.from_curves(curves)
    text = with_size(options, _summary(curve, options), grid)
    title = f"{options.y_score}: AUC {curve.auc:.4g}"
    draw = partial(picture, curve, size=(5.5, 5.5), legend="lower right", title=title)
    written(options, curves.to_json, draw)
    return text


def _summary(roc: ROC, options: argparse.Namespace) -> str:
    """Return a few lines about a release and its ROC curve."""
    rows = about_scores(roc.curves, options) | {"AUC": f"{roc.auc:.4g}"}
    if np.isnan(roc.auc):
        return "\n".join([*lines(rows), "", "No ROC curve: a released class has no records."])
    low, high = roc.band()[2:]
    table = []
    for percent in _FALSE_PERCENT:
        at = int(np.searchsorted(roc.fpr, percent / 100, side="right")) - 1
        table.append(
            f"{percent:>7} %  {roc.tpr[at]:>10.2%}  {low[at]:>7.2%} -{high[at]:>8.2%}"
            f"  {roc.thresholds[at]:>16.10g}"
        )
    heading = f"{'FPR up to':>9}  {'TPR':>10}  {'95% (noise)':>17}  {'scores above':>16}"
    return "\n".join([*lines(rows), "", heading, *table])


COMMAND: Final = scored(
    _run,
    "the ROC curve",
    options={
        **BOUNDS,
        "size": size("between the bounds (by the number of records and the budget)"),
        "smooth": SMOOTH,
    },
)
