"""``dpcore calibration``: how far scores are from probabilities."""

from __future__ import annotations

import argparse
from functools import partial
from statistics import NormalDist
from typing import Final

import numpy as np

import dpcore

from ..curves.scores import ScoreCurves
from ..statistics.binning import equi_depth_bins, uniform_bins
from ..statistics.calibration import (
    Reliability,
    expected_calibration_error,
    maximum_calibration_error,
)
from .arguments import UsageError
from .options import given, option
from .reports import lines, picture
from .running import written
from .scored import (
    about_scores,
    counted,
    counted_by_default,
    has_default,
    released,
    scored,
)
from .shared_options import SMOOTH, size
from .sizes import with_size

__all__ = ["COMMAND"]

_SIZE: Final = 1000


def _run(options: argparse.Namespace) -> str:
    if has_default(options):
        grid, mechanism, counts = counted_by_default(options)
        _check_bins(options, grid)
    else:
        grid = dpcore.Grid.uniform(0, 1, _SIZE if options.size is None else options.size)
        _check_bins(options, grid)
        mechanism, counts = counted(options, grid)
    curves = released(options, grid, mechanism, counts)
    make = equi_depth_bins if options.equi_depth else uniform_bins
    table = Reliability(make(curves, **given(options, make)), curves.privacy)
    simulated = None if options.smooth else mechanism  # smoothed releases are not simulated
    text = _summary(curves, table, simulated, options)
    if has_default(options):
        text = with_size(options, text, grid)
    draw = partial(picture, table, size=(5.5, 6.5), legend="upper left", title=options.y_score)
    written(options, curves.to_json, draw)
    return text


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
    error = expected_calibration_error(curves, table.bins, mechanism=mechanism)
    most = maximum_calibration_error(curves, table.bins)
    rows = about_scores(curves, options) | {"ECE": f"{error:.4g}", "MCE": f"{most:.4g}"}
    heading = (
        f"{'score from':>10}  {'to':>9}  {'records':>10}  {'mean score':>10}  {'positives':>9}"
        f"  {'95% (noise)':>17}"
    )
    reach = NormalDist().inv_cdf(0.975) * table.noise_deviation
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
        "size": size(
            f"of [0, 1] (by the number of records and the budget; with --mechanism: {_SIZE})"
        ),
        "bins": {},
        "equi_depth": option(
            "bins with about the same number of records each", action="store_true"
        ),
        "smooth": SMOOTH,
    },
)
