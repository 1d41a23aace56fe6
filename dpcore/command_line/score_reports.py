"""The output for released scores: summaries to print, and pictures."""

from __future__ import annotations

import argparse
from statistics import NormalDist
from typing import Final

import numpy as np

from ..curves.scores import ScoreCurves
from ..statistics.calibration import (
    Reliability,
    expected_calibration_error,
    maximum_calibration_error,
)
from ..statistics.hosmer_lemeshow import HosmerLemeshow, HosmerLemeshowUnderNoise
from ..statistics.roc import ROC
from .labels import POSITIVE
from .reports import about, drawn, figure_of, lines, shown

__all__ = [
    "calibration_picture",
    "calibration_summary",
    "hosmer_lemeshow_picture",
    "hosmer_lemeshow_summary",
    "roc_picture",
    "roc_summary",
]

_FALSE_PERCENT: Final = (1, 2, 5, 10, 20, 50)


def roc_summary(roc: ROC, options: argparse.Namespace) -> str:
    """Return a few lines about a release and its ROC curve."""
    rows = _about(roc.curves, options) | {"AUC": f"{roc.auc:.4g}"}
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


def roc_picture(roc: ROC, score: str, form: str) -> bytes:
    """Return the ROC curve drawn, as a file of Matplotlib's format ``form``."""
    figure = figure_of(5.5, 5.5)
    ax = roc.plot(figure.subplots())
    ax.set_title(f"{score}: AUC {roc.auc:.4g}", parse_math=False)
    ax.legend(loc="lower right")
    return drawn(figure, form)


def calibration_summary(
    curves: ScoreCurves, table: Reliability, options: argparse.Namespace
) -> str:
    """Return a few lines about a release and its calibration."""
    error = expected_calibration_error(curves, table.bins)
    most = maximum_calibration_error(curves, table.bins)
    rows = _about(curves, options) | {"ECE": f"{error:.4g}", "MCE": f"{most:.4g}"}
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


def calibration_picture(table: Reliability, score: str, form: str) -> bytes:
    """Return the reliability diagram, as a file of Matplotlib's format ``form``."""
    figure = figure_of(5.5, 6.5)
    ax = table.plot(figure.subplots())
    ax.set_title(score, parse_math=False)
    ax.legend(loc="upper left")
    return drawn(figure, form)


def hosmer_lemeshow_summary(
    curves: ScoreCurves,
    noisy: HosmerLemeshowUnderNoise,
    options: argparse.Namespace,
) -> str:
    """Return a few lines about a release and its Hosmer-Lemeshow test."""
    test = noisy.test
    rows = _about(curves, options) | {
        "statistic": f"{test.statistic:.4g}, {noisy.statistic:.4g} without the mean of the noise",
        "freedom": f"{test.degrees_of_freedom} degrees, "
        f"as for a model {'' if test.fitted else 'not '}fitted to these records",
        "p-value": f"{noisy.pvalue:.3g}, by {noisy.null.size} simulated releases",
    }
    heading = (
        f"{'from':>10}  {'to':>10}  {'positives':>10}  {'expected':>10}"
        f"  {'negatives':>10}  {'expected':>10}"
    )
    printed = [
        f"{test.edges[g]:>10.4g}  {test.edges[g + 1]:>10.4g}"
        f"  {test.observed[g, 1]:>10.1f}  {test.expected[g, 1]:>10.1f}"
        f"  {test.observed[g, 0]:>10.1f}  {test.expected[g, 0]:>10.1f}"
        f"{f'  {merged} groups in one' if (merged := int(test.merged[g])) > 1 else ''}"
        for g in range(test.merged.size)
    ]
    return "\n".join([*lines(rows), "", heading, *printed])


def hosmer_lemeshow_picture(test: HosmerLemeshow, score: str, form: str) -> bytes:
    """Return observed and expected positives, as a file of Matplotlib's format ``form``."""
    figure = figure_of(8, 4.5)
    ax = test.plot(figure.subplots())
    ax.set_title(score, parse_math=False)
    ax.legend(loc="upper left")
    return drawn(figure, form)


def _about(curves: ScoreCurves, options: argparse.Namespace) -> dict[str, object]:
    """Return the lines that all released scores get."""
    positive = POSITIVE if options.positive is None else options.positive
    return {
        "label": f"{shown(options.label)}, positive if {shown(positive)}",
        "score": shown(options.score),
        **about(curves.joint),
        "positives": f"{curves.positives[-1]:.0f} (released)",
    }
