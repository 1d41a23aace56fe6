"""The commands: check, count, release once, write the files, and return what to print."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import dpcore

from ..curves.scores import MOST_SCORE_CELLS, ScoreCurves
from ..privacy.spending import unwatched
from ..releases.hosmer_lemeshow import FINEST, arcsine_grid, suited
from ..releases.score_curves import labelled_score_curves, named
from ..statistics.binning import equi_depth_bins, uniform_bins
from ..statistics.calibration import Reliability
from ..statistics.hosmer_lemeshow import HosmerLemeshow
from ..statistics.risk_groups import check_groups
from ..statistics.roc import ROC
from ..summaries.grid import MOST_CELLS
from .arguments import UsageError
from .budget import show
from .counting import counts_of, score_counts_of
from .reports import picture, summary
from .residual_columns import residual_columns
from .residual_reports import residual_picture, residual_summary
from .running import check_outputs, class_of, mechanism_of, written
from .score_reports import (
    calibration_picture,
    calibration_summary,
    hosmer_lemeshow_picture,
    hosmer_lemeshow_summary,
    roc_picture,
    roc_summary,
)
from .sizes import coarser, grid_of, with_size
from .warm import warm

__all__ = ["COMMANDS"]


def cdf(options: argparse.Namespace) -> str:
    """Release the distribution of a column."""
    grid = grid_of(options)
    chosen = mechanism_of(options, grid.size)
    check_outputs(options)
    counts, integers = counts_of(options, grid)
    if options.size is None and not grid.of_integers:
        grid, counts = coarser(options, grid, counts)
        chosen = mechanism_of(options, grid.size)
    mechanism = chosen(int(counts.sum()))
    isotonic = not options.raw and options.smooth is None
    curve = dpcore.cdf_from_counts(counts, grid, mechanism, isotonic=isotonic, integers=integers)
    if options.smooth is not None:
        curve = curve.smooth(options.smooth)
    text = with_size(options, summary(curve, options.column), grid)
    written(options, curve.to_json, partial(picture, curve, options.column))
    return text


def roc(options: argparse.Namespace) -> str:
    """Release the scores of both classes, and show the ROC curve."""
    grid = grid_of(options)
    mechanism, counts = _counted(options, grid)
    if options.size is None:
        grid, counts = coarser(options, grid, counts)
        mechanism = mechanism_of(options, 2 * grid.size)(int(counts.sum()))
    curves = _released(options, grid, mechanism, counts)
    curve = ROC.from_curves(curves)
    text = with_size(options, roc_summary(curve, options), grid)
    written(options, curves.to_json, partial(roc_picture, curve, options.score))
    return text


def calibration(options: argparse.Namespace) -> str:
    """Release the scores of both classes, and show their distance from the shares of positives."""
    grid = dpcore.Grid.uniform(0, 1, options.size)
    if not 1 <= options.bins <= grid.size:
        raise UsageError(f"--bins must be between 1 and --size {grid.size}; got {options.bins}")
    mechanism, counts = _counted(options, grid)
    curves = _released(options, grid, mechanism, counts)
    bins = (equi_depth_bins if options.equi_depth else uniform_bins)(curves, options.bins)
    table = Reliability(bins, curves.privacy)
    text = calibration_summary(curves, table, options)
    written(options, curves.to_json, partial(calibration_picture, table, options.score))
    return text


def hosmer_lemeshow(options: argparse.Namespace) -> str:
    """Release the scores of both classes, and show the Hosmer-Lemeshow test."""
    grid = arcsine_grid(FINEST if options.size is None else options.size)
    fitted = not options.not_fitted
    check_groups(options.groups, MOST_CELLS, fitted)  # before the file is read
    mechanism, counts = _counted(options, grid, knows_n=False)  # as dpcore.hosmer_lemeshow does
    check_groups(options.groups, int(counts.sum()), fitted)  # before anything is released
    if options.size is None:
        grid, counts = suited(counts, options.groups, partial(_noise, options))
        mechanism = mechanism_of(options, 2 * grid.size)(None)
    curves = _released(options, grid, mechanism, counts)
    test = HosmerLemeshow.from_curves(curves, options.groups, mechanism=mechanism, fitted=fitted)
    text = with_size(options, hosmer_lemeshow_summary(curves, test.under_noise(), options), grid)
    drawn = partial(hosmer_lemeshow_picture, test, options.score)
    written(options, curves.to_json, drawn)
    return text


def residuals(options: argparse.Namespace) -> str:
    """Release residuals against predicted values, and show how the residuals vary."""
    release = _residual_plot(options)
    check_outputs(options)
    columns, integers = residual_columns(options)
    plot = release(*columns, integers=integers)
    text = residual_summary(plot, options)
    written(options, plot.to_json, partial(residual_picture, plot, options))
    return text


def study(options: argparse.Namespace) -> str:
    """Run a study, or list them."""
    from .study import run_study  # other commands do not need its imports

    return run_study(options)


COMMANDS: Final[Mapping[str, Callable[[argparse.Namespace], str]]] = {
    "cdf": cdf,
    "roc": roc,
    "calibration": calibration,
    "hosmer-lemeshow": hosmer_lemeshow,
    "residuals": residuals,
    "budget": show,
    "study": study,
    "warm": warm,
}


def _counted(
    options: argparse.Namespace, grid: dpcore.Grid, knows_n: bool = True
) -> tuple[dpcore.mechanisms.Mechanism, NDArray[np.int64]]:
    """Return the mechanism for the scores, and their exact counts by class."""
    if grid.size > MOST_SCORE_CELLS:
        raise UsageError(f"--size must be between 1 and {MOST_SCORE_CELLS}; got {options.size}")
    chosen = mechanism_of(options, 2 * grid.size)
    check_outputs(options)
    counts = score_counts_of(options, grid)
    return chosen(int(counts.sum()) if knows_n else None), counts


def _noise(options: argparse.Namespace, cells: int) -> float:
    """Return the mean variance of the noise in counts of both classes, 0 if it is not known."""
    mechanism = mechanism_of(options, 2 * cells)(None)
    mean = float(np.mean(np.square(mechanism.noise_deviation(2 * cells))))
    return mean if np.isfinite(mean) else 0.0


def _released(
    options: argparse.Namespace,
    grid: dpcore.Grid,
    mechanism: dpcore.mechanisms.Mechanism,
    counts: NDArray[np.int64],
) -> ScoreCurves:
    isotonic = options.smooth is None
    label = named(options.positive)
    curves = labelled_score_curves(counts, grid, mechanism, label, isotonic=isotonic)
    return curves if isotonic else curves.smooth(options.smooth)


def _residual_plot(options: argparse.Namespace) -> Callable[..., dpcore.ResidualPlot]:
    """Return a function that releases a plot of two columns, with checked arguments."""
    own = None if options.mechanism == "best" else class_of(options.mechanism)
    release = partial(
        dpcore.residual_plot,
        epsilon=options.epsilon,
        unit=_one_or_two(options.unit or [1.0]),
        predicted_range=options.predicted_range,
        residual_range=options.residual_range,
        search=options.search,
        cells=options.cells and _one_or_two(options.cells),
        mechanism=own,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with unwatched():
            release([0.0], [0.0], rng=np.random.default_rng(1))  # an invented record
    return release


def _one_or_two(values: list[Any]) -> Any:
    """Return the values of an option that was given once for both columns, or once for each."""
    return values[0] if len(values) == 1 else tuple(values)
