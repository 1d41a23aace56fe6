"""Pictures, with Matplotlib (the extra ``plot``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from . import _check

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .boxplot import BoxPlot
    from .curve import CDF

__all__ = ["plot_box", "plot_cdf"]

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
    guarantee = "" if box.privacy is None else f"private,\n{box.privacy}"
    guarantee = guarantee.replace(" (", "\n(").replace("; ", ";\n")  # boxes stand side by side
    shown = {
        "label": style.pop("label", guarantee),
        "whislo": box.lower_whisker,
        "q1": box.first_quartile,
        "med": box.median,
        "q3": box.third_quartile,
        "whishi": box.upper_whisker,
        "fliers": box.outliers,
    }
    ax.bxp([shown], positions=[position], **{"widths": 0.5, **style})
    return ax
