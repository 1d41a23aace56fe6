"""``dpcore calibration``: how far scores are from probabilities."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any, Final

import numpy as np

import dpcore

from ..curves.confidence import Interval, deviations, in_percent
from ..curves.own_mechanism import Releases
from ..curves.scores import ScoreCurves
from ..curves.stored import Stored
from ..planning.score_grid import score_grid
from ..statistics.binning import equi_depth_bins, uniform_bins
from ..statistics.calibration import (
    Reliability,
    expected_calibration_error,
    maximum_calibration_error,
)
from ..statistics.calibration_intervals import (
    expected_calibration_error_interval,
    population_expected_calibration_error_interval,
)
from .arguments import UsageError
from .by_groups import BY, groups_of
from .options import given, option
from .reports import between, lines, picture
from .running import written
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
from .shared_options import LEVEL, SMOOTH, size
from .sizes import with_size

__all__ = ["COMMAND"]


def _run(options: argparse.Namespace) -> str:
    deviations(options.level)  # refuses another level
    if groups := groups_of(options):
        return _run_by_groups(options, groups)
    is_free = chooses_grid(options)
    finest = score_grid() if is_free else dpcore.Grid.uniform(0, 1, options.size)
    _check_bins(options, finest)  # before the records are read
    if is_free:
        grid, mechanism, counts = counted_by_default(options)
        _check_bins(options, grid)
    else:
        grid = finest
        mechanism, counts = counted(options, grid)
    curves = released(options, grid, mechanism, counts)
    table = _table(curves, options)
    simulated = None if options.smooth else mechanism  # smoothed releases are not simulated
    text = _summary(curves, table, simulated, options)
    text = with_size(options, text, grid)
    _write(options, curves, table)
    return text


def _run_by_groups(options: argparse.Namespace, groups: list[str]) -> str:
    """Release the curves of groups, and show the calibration error of each."""
    grid = None if chooses_grid(options) else dpcore.Grid.uniform(0, 1, options.size)
    _check_bins(options, score_grid() if grid is None else grid)  # before the records are read
    curves, mechanisms = by_groups(options, groups, grid)
    tables = {group: _table(own, options) for group, own in curves.items()}
    errors = [
        _error(own, tables[group], mechanism, options.level)
        for (group, own), mechanism in zip(curves.items(), mechanisms, strict=True)
    ]
    text = table_of_groups(curves, "ECE", errors, options)
    text = with_size(options, text, curves.curves[0].grid)
    _write(options, curves, tables)
    return text


def _write(options: argparse.Namespace, curves: Stored, drawn: Any) -> None:
    draw = partial(picture, drawn, size=(5.5, 6.5), legend="upper left", title=options.y_score)
    written(options, curves.to_json, draw)


def _table(curves: ScoreCurves, options: argparse.Namespace) -> Reliability:
    make = equi_depth_bins if options.equi_depth else uniform_bins
    return Reliability(make(curves, **given(options, make)), curves.privacy)


def _error(
    curves: ScoreCurves,
    table: Reliability,
    mechanism: Releases | None,
    level: float,
) -> tuple[float, Interval[float], Interval[float]]:
    """Return the calibration error, and its intervals for the records and for the population."""
    return (
        expected_calibration_error(curves, table.bins, mechanism=mechanism),
        expected_calibration_error_interval(curves, table.bins, level, mechanism),
        population_expected_calibration_error_interval(curves, table.bins, level, mechanism),
    )


def _check_bins(options: argparse.Namespace, grid: dpcore.Grid) -> None:
    if not 1 <= options.bins <= grid.size:
        what = f"must be between 1 and the number of cells, {grid.size}"
        raise UsageError(f"--bins {what}; got {options.bins}")


def _summary(
    curves: ScoreCurves,
    table: Reliability,
    mechanism: dpcore.mechanisms.Mechanism | None,
    options: argparse.Namespace,
) -> str:
    """Return a few lines about a release and its calibration."""
    error, own, population = _error(curves, table, mechanism, options.level)
    most = maximum_calibration_error(curves, table.bins)
    level = in_percent(options.level)
    rows = about_scores(curves, options) | {
        "ECE": f"{error:.4g}",
        f"{level} ECE": f"{between(own)} (records), {between(population)} (population)",
        "MCE": f"{most:.4g}",
    }
    heading = (
        f"{'score from':>10}  {'to':>9}  {'records':>10}  {'mean score':>10}  {'positives':>9}"
        f"  {f'{level} (noise)':>17}"
    )
    reach = deviations(options.level) * table.noise_deviation
    low, high = np.clip([table.positive_rate - reach, table.positive_rate + reach], 0.0, 1.0)
    edges = table.bins.edges
    printed = [
        f"{edges[b]:>10.4g}  {edges[b + 1]:>9.4g}  {table.counts[b]:>10.0f}"
        f"  {table.mean_score[b]:>10.2%}  {table.positive_rate[b]:>9.2%}"
        f"  {low[b]:>7.2%} -{high[b]:>8.2%}"
        for b in np.flatnonzero(table.counts > 0.0)
    ]
    return "\n".join([*lines(rows), "", heading, *printed])


COMMAND: Final = scored(
    _run,
    "how far the scores are from the shares of positives. Scores below 0 count as 0, and scores "
    "above 1 as 1",
    uniform_bins,
    options={
        "size": size("of [0, 1] (by the number of records and the budget)"),
        "bins": {},
        "equi_depth": option(
            "bins with about the same number of records each", action="store_true"
        ),
        **BY,
        "smooth": SMOOTH,
        "level": LEVEL,
    },
)
