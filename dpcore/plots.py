"""Pictures, with Matplotlib (the extra ``plot``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from . import _check

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .curve import CDF

__all__ = ["plot_cdf"]

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
