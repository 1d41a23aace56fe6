"""The picture of a run: CDF, ROC curve and calibration; or the one statistic it was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.figure import Figure

import dpcore as dp
from dpcore.curves.colours import BLACK, BLUE
from dpcore.curves.plots import shortly
from dpcore.statistics import ROC, equi_depth_bins, reliability
from dpcore.trust import Protocol

from . import data
from .rounds import PROJECTION, SCORES, TEST, Settings, planned, projected, tested

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw"]

_BINS: Final = 10
_FINE: Final = 2**16  # thresholds of the scores' true curves
_TRUE: Final = "true, all sites, not private"
_LINE: Final[dict[str, Any]] = {"color": BLACK, "linewidth": 1.1, "linestyle": (0, (4, 2))}
_CROSSES: Final[dict[str, Any]] = {"color": BLACK, "marker": "x", "linestyle": "", "zorder": 5}
_LEGEND: Final[dict[str, Any]] = {"frameon": False, "fontsize": 8.5}
_BELOW: Final[dict[str, Any]] = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.12), **_LEGEND}


def draw(released: Sequence[Any], settings: Settings, clients: int, folder: Path) -> Path:
    """Draw what the rounds released beside the truth, and return the picture's path.

    The true curves need the records of all sites. Only this example has them. In a real federation
    there is nothing to compare with, and the picture has the private curves alone.

    Parameters
    ----------
    released
        What ``rounds.released`` returned for each round, in the order of ``rounds.STATISTICS``.
    settings, clients
        The run config, and how many sites were asked.
    folder
        Where the picture is written. It is made if it is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figure = _DRAWN[settings["statistic"]](released, settings, clients)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    path = (folder / f"private-curves-{settings['trust-model']}.png").absolute()
    figure.savefig(path, dpi=130, bbox_inches="tight")
    return path


def _curves(released: Sequence[Any], settings: Settings, clients: int) -> Figure:
    curve, scores = released
    truth, exact = data.everybody(), dp.mechanisms.NoNoise()
    fine = dp.Grid.uniform(0, 1, _FINE)
    true_scores = dp.score_curves(truth.labels, truth.scores, fine, exact)
    figure = Figure(figsize=(15, 6.6), layout="constrained")  # without a screen, unlike pyplot's
    left, middle, right = figure.subplots(1, 3)
    _draw_curve(left, curve, dp.cdf(truth.values, curve.grid, exact))
    # Intervals are shorter with the mechanism, which depends on how many have reported.
    protocol = planned(settings, clients, SCORES, bytes(16)).protocol
    mechanism = protocol.mechanism(scores.joint.mechanism.get("reporting", scores.n))
    _draw_roc(middle, ROC.from_curves(scores, mechanism), ROC.from_curves(true_scores))
    _draw_calibration(right, scores, true_scores)
    _write_title(figure, released, protocol, clients)
    return figure


def _projection(released: Sequence[Any], settings: Settings, clients: int) -> Figure:
    this = planned(settings, clients, PROJECTION, bytes(16))
    curve = projected(this, released[0])
    figure = Figure(figsize=(13, 6.6), layout="constrained")
    _draw_curve(
        figure.subplots(),
        curve,
        dp.cdf(data.everybody().values, this.grid, dp.mechanisms.NoNoise()),
    )
    _write_title(figure, released, this.protocol, clients)
    return figure


def _test(released: Sequence[Any], settings: Settings, clients: int) -> Figure:
    this = planned(settings, clients, TEST, bytes(16))
    axes = (figure := Figure(figsize=(13, 6.6), layout="constrained")).subplots()
    tested(this, released[0]).plot(axes, color=BLUE)
    axes.set_title(f"Hosmer-Lemeshow test of a model for {data.OUTCOME}", fontsize=10)
    _write_title(figure, released, this.protocol, clients)
    return figure


_DRAWN: Final = {"curves": _curves, PROJECTION: _projection, TEST: _test}


def _draw_curve(axes: Axes, private: dp.CDF, true: dp.CDF) -> None:
    at = true.thresholds
    distance = np.max(np.abs(private(at) - true(at)))
    private.plot(axes, color=BLUE)
    label = f"{_TRUE}; largest difference {distance:.4f}"
    axes.step(at, true(at), where="post", label=label, **_LINE)
    axes.set_title("CDF of the payment for taking part", fontsize=10)
    axes.set_xlabel(data.VALUE)
    axes.legend(**_BELOW)


def _draw_roc(axes: Axes, private: ROC, true: ROC) -> None:
    low, high = private.auc_interval()
    interval = f"AUC = {private.auc:.3f} (95%: {low:.3f} to {high:.3f})"
    private.plot(axes, color=BLUE, label=f"{shortly(private.privacy)}, {interval}")
    axes.plot(true.fpr, true.tpr, label=f"{_TRUE}, AUC = {true.auc:.3f}", **_LINE)
    axes.set_aspect("auto")  # as high as its neighbours
    axes.set_title(f"ROC curve of a model for {data.OUTCOME}", fontsize=10)
    axes.legend(**_BELOW)


def _draw_calibration(axes: Axes, private: dp.ScoreCurves, true: dp.ScoreCurves) -> None:
    reliability(private, equi_depth_bins(private, _BINS)).plot(axes, color=BLUE)
    exact = reliability(true, equi_depth_bins(true, _BINS))
    axes.plot(exact.mean_score, exact.positive_rate, label=_TRUE, **_CROSSES)
    axes.set_title("Calibration of the model, in bins of about equal size", fontsize=10)
    axes.legend(loc="upper left", **_LEGEND)


def _write_title(figure: Figure, released: Sequence[Any], protocol: Protocol, clients: int) -> None:
    """Write who makes the noise, how many took part, and what is guaranteed to whom."""
    title = _title(released, protocol, clients)
    figure.suptitle(title, x=0.01, horizontalalignment="left", fontsize=11, linespacing=1.4)


def _title(released: Sequence[Any], protocol: Protocol, clients: int) -> str:
    counts = " and ".join(f"{n:,}" for n in dict.fromkeys(each.n for each in released))
    costs = [each.privacy for each in released]
    both = f" for each release, {costs[0] + costs[1]} for both" if len(costs) > 1 else ""
    if protocol.is_additive:
        model = "Distributed noise: each site adds a share of it, and the server sees only the sum"
        holds = (
            "The guarantee holds if secure aggregation shows nothing but one sum, and if at least "
            f"{protocol.least_reports} sites in it add their shares and tell nobody."
        )
    else:
        model = "Local: each record becomes a report that has enough noise of its own"
        holds = "The guarantee holds whatever the server and the other sites do."
    return (
        f"{model}.\n"
        f"{clients} sites were asked; {counts} of their {data.RECORDS:,} records (RAND Health "
        "Insurance Experiment) have been counted.\n"
        f"For one record, which is one year of a person: {costs[0]}{both}.\n"
        f"{holds}"
    )
