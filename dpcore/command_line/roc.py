"""``dpcore roc``: the ROC curve of scored labels."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any, Final

import numpy as np

from ..curves.confidence import deviations, in_percent
from ..curves.stored import Stored
from ..statistics.roc import ROC
from ..statistics.roc_groups import GroupedROC
from .by_groups import BY, groups_of
from .reports import between, lines, picture
from .running import mechanism_of, written
from .scored import (
    about_scores,
    by_groups,
    chooses_grid,
    counted,
    counted_by_default,
    released,
    scored,
    table_of_groups,
)
from .shared_options import BOUNDS, LEVEL, SMOOTH, size
from .sizes import coarser, grid_of, with_size

__all__ = ["COMMAND"]

_FALSE_PERCENT: Final = (1, 2, 5, 10, 20, 50)


def _run(options: argparse.Namespace) -> str:
    deviations(options.level)  # refuses another level
    if groups := groups_of(options):
        return _run_by_groups(options, groups)
    if chooses_grid(options):
        grid, mechanism, counts = counted_by_default(options)
    else:
        grid = grid_of(options)
        mechanism, counts = counted(options, grid)
        if options.size is None:
            grid, counts = coarser(options, grid, counts)
            mechanism = mechanism_of(options, 2 * grid.size)(int(counts.sum()))
    curves = released(options, grid, mechanism, counts)
    curve = ROC.from_curves(curves, None if options.smooth else mechanism)
    text = with_size(options, _summary(curve, options), grid)
    title = f"{options.y_score}: AUC {curve.auc:.4g}"
    _write(options, curves, curve, title)
    return text


def _run_by_groups(options: argparse.Namespace, groups: list[str]) -> str:
    """Release the curves of groups, and show the area under each."""
    grid = None if chooses_grid(options) else grid_of(options)
    curves, mechanisms = by_groups(options, groups, grid)
    pairs = zip(curves.values(), mechanisms, strict=True)
    found = GroupedROC(curves.groups, tuple(ROC.from_curves(*pair) for pair in pairs))
    level = options.level
    areas = [
        (each.auc, each.auc_interval(level), each.population_auc_interval(level))
        for each in found.values()
    ]
    grid = curves.curves[0].grid
    text = with_size(options, table_of_groups(curves, "AUC", areas, options), grid)
    _write(options, curves, found, options.y_score)
    return text


def _write(options: argparse.Namespace, curves: Stored, drawn: Any, title: str) -> None:
    draw = partial(picture, drawn, size=(5.5, 5.5), legend="lower right", title=title)
    written(options, curves.to_json, draw)


def _summary(roc: ROC, options: argparse.Namespace) -> str:
    """Return a few lines about a release and its ROC curve."""
    rows = about_scores(roc.curves, options) | {"AUC": f"{roc.auc:.4g}"}
    if np.isnan(roc.auc):
        return "\n".join([*lines(rows), "", "No ROC curve: a released class has no records."])
    own, population = (f(options.level) for f in (roc.auc_interval, roc.population_auc_interval))
    level = in_percent(options.level)
    rows[f"{level} AUC"] = f"{between(own)} (records), {between(population)} (population)"
    low, high = roc.band(options.level)[2:]
    table = []
    for share in _FALSE_PERCENT:
        at = int(np.searchsorted(roc.fpr, share / 100, side="right")) - 1
        table.append(
            f"{share:>7} %  {roc.tpr[at]:>10.2%}  {low[at]:>7.2%} -{high[at]:>8.2%}"
            f"  {roc.thresholds[at]:>16.10g}"
        )
    heading = f"{'FPR up to':>9}  {'TPR':>10}  {f'{level} (noise)':>17}  {'scores above':>16}"
    return "\n".join([*lines(rows), "", heading, *table])


COMMAND: Final = scored(
    _run,
    "the ROC curve",
    options={
        **BOUNDS,
        **BY,
        "size": size("between the bounds (by the number of records and the budget)"),
        "smooth": SMOOTH,
        "level": LEVEL,
    },
)
