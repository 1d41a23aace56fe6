"""Pictures, with Matplotlib (the extra ``plot``)."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..releases.box_plot import BoxPlot
    from ..statistics.calibration import Reliability
    from ..statistics.hosmer_lemeshow import HosmerLemeshow
    from ..statistics.roc import ROC
    from .cdf import CDF

__all__ = ["plot_box", "plot_cdf", "plot_hosmer_lemeshow", "plot_reliability", "plot_roc"]

_DRAWN: Final = 2**13  # thresholds, several to a pixel; Matplotlib gives up on very long paths


def plot_cdf(curve: CDF, ax: Axes | None, level: float, line: dict[str, Any]) -> Axes:
    """Draw a curve and its band; see ``CDF.plot``."""
    low, high = curve.band(level)
    if ax is None:
        _, ax = _check.extra("matplotlib.pyplot", "plotting", "plot").subplots()
    drawn = min(curve.grid.size, _DRAWN)
    at = np.arange(1, drawn + 1) * curve.grid.size // drawn - 1  # the last one among them
    thresholds = curve.thresholds[at]
    if "label" not in line:
        line["label"] = f"private, {curve.privacy}"
    (steps,) = ax.step(thresholds, curve.counts[at] / curve.n, where="post", **line)
    if np.all(np.isfinite(curve.noise_deviation)):  # or nothing is known
        ax.fill_between(
            thresholds,
            low[at],
            high[at],
            step="post",
            color=steps.get_color(),
            alpha=0.2,
            linewidth=0,
            label=f"{level:.0%} band for the noise",
        )
    ax.set_xlabel("value")
    ax.set_ylabel("share of records at most this")
    ax.set_ylim(-0.02, 1.02)
    return ax


def plot_box(box: BoxPlot, ax: Axes | None, position: float, style: dict[str, Any]) -> Axes:
    """Draw a box plot; see ``BoxPlot.plot``."""
    if ax is None:
        _, ax = _check.extra("matplotlib.pyplot", "plotting", "plot").subplots()
    name = ""
    if box.privacy is not None:  # in two short lines, since boxes stand side by side
        kind = "SIMULATED" if box.privacy.simulated else "private"
        budget, _, _ = str(box.privacy).partition(" (")
        name = f"{kind},\n{budget}"
    shown = {
        "label": style.pop("label", name),
        "whislo": box.lower_whisker,
        "q1": box.first_quartile,
        "med": box.median,
        "q3": box.third_quartile,
        "whishi": box.upper_whisker,
        "fliers": box.outliers,
    }
    ax.bxp([shown], positions=[position], **{"widths": 0.5, **style})
    return ax


def plot_reliability(
    table: Reliability, ax: Axes | None, level: float, style: dict[str, Any]
) -> Axes:
    """Draw a reliability diagram above its counts; see ``Reliability.plot``."""
    if not 0.0 < _check.finite("level", level) < 1.0:
        raise ParameterError("level", level, "must be between 0 and 1")
    if ax is None:
        pyplot = _check.extra("matplotlib.pyplot", "plotting", "plot")
        _, ax = pyplot.subplots(figsize=(5, 6), layout="constrained")
    some = table.counts > 0.0  # NaN would be gaps in the line
    score, rate = table.mean_score[some], table.positive_rate[some]
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--", label="calibrated")
    shown = {"marker": "o", "markersize": 4, "linewidth": 1, "label": f"private, {table.privacy}"}
    (line,) = ax.plot(score, rate, **{**shown, **style})
    color, width = line.get_color(), -NormalDist().inv_cdf((1.0 - level) / 2)
    for deviation, thickness, opacity, label in (
        (table.noise_deviation, 4.0, 0.35, f"{level:.0%}, noise alone"),
        (table.standard_error, 1.0, 1.0, f"{level:.0%}, noise and sampling"),
    ):
        reach = width * deviation[some]
        low, high = np.maximum(rate - reach, 0.0), np.minimum(rate + reach, 1.0)
        bars = ax.vlines(score, low, high, [color], label=label)
        bars.set(linewidth=thickness, alpha=opacity)
    below = ax.inset_axes((0.0, -0.28, 1.0, 0.22), sharex=ax)
    edges = table.bins.edges
    look: dict[str, Any] = {"alpha": 0.5, "edgecolor": "white", "linewidth": 0.5}
    below.bar(edges[:-1], table.counts, np.diff(edges), align="edge", color=color, **look)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_ylabel("share of positives")
    ax.tick_params(labelbottom=False)
    below.set_ylabel("records")
    below.set_xlabel("score")
    return ax


def plot_roc(roc: ROC, ax: Axes | None, level: float, line: dict[str, Any]) -> Axes:
    """Draw a ROC curve, its band and the diagonal; see ``ROC.plot``."""
    band = roc.band(level)
    if ax is None:
        pyplot = _check.extra("matplotlib.pyplot", "plotting", "plot")
        _, ax = pyplot.subplots(figsize=(5, 5), layout="constrained")
    fpr, tpr = roc.fpr, roc.tpr
    at = _along(fpr, tpr)
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--", label="guessing")
    (drawn,) = ax.plot(fpr[at], tpr[at], **{"label": f"private, {roc.privacy}", **line})
    if all(np.all(np.isfinite(each)) for each in roc.curves.deviations):  # or nothing is known
        above, below = _along(band.fpr_low, band.tpr_high), _along(band.fpr_high, band.tpr_low)
        ax.fill(
            np.append(band.fpr_low[above], band.fpr_high[below][::-1]),
            np.append(band.tpr_high[above], band.tpr_low[below][::-1]),
            color=drawn.get_color(),
            alpha=0.2,
            linewidth=0,
            label=f"{level:.0%} band for the noise",
        )
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal")
    ax.set_xlabel("false positive rate")
    ax.set_ylabel("true positive rate")
    return ax


def plot_hosmer_lemeshow(test: HosmerLemeshow, ax: Axes | None, bars: dict[str, Any]) -> Axes:
    """Draw what was observed in each group, and what was expected; see ``HosmerLemeshow.plot``."""
    if ax is None:
        pyplot = _check.extra("matplotlib.pyplot", "plotting", "plot")
        _, ax = pyplot.subplots(figsize=(7, 4), layout="constrained")
    places, observed = np.arange(test.merged.size), test.observed[:, 1]
    look = {"width": 0.7, "color": "#9dbbdc", "label": f"observed, private, {test.privacy}"}
    ax.bar(places, observed, **{**look, **bars})
    deviations = test.deviations[:, 1]
    if deviations.any() and np.all(np.isfinite(deviations)):  # or there is none, or nothing known
        reach = NormalDist().inv_cdf(0.975) * deviations
        ax.vlines(places, observed - reach, observed + reach, color="0.25", label="95 %, noise")
    shown: dict[str, Any] = {"linestyle": "", "marker": "D", "markersize": 5, "color": "#d1602b"}
    ax.plot(places, test.expected[:, 1], label="expected", **shown)
    edges = zip(test.edges[:-1], test.edges[1:], strict=True)
    ax.set_xticks(places, [f"{low:.2g}\n{high:.2g}" for low, high in edges])
    ax.set_xlabel("predicted probability, from and to")
    ax.set_ylabel("positives in the group")
    return ax


def _along(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return which points of a path to draw: evenly along it, where there are too many."""
    if x.size <= _DRAWN:
        return np.arange(x.size)
    steps = np.abs(np.diff(x)) + np.abs(np.diff(y))
    path = np.append(0.0, np.cumsum(steps))
    return np.unique(np.searchsorted(path, np.linspace(0.0, path[-1], _DRAWN)))
