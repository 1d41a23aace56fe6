"""Pictures, with Matplotlib (the extra ``plot``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _check

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .curve import CDF

__all__ = ["plot_cdf"]


def plot_cdf(curve: CDF, ax: Axes | None, level: float, line: dict[str, Any]) -> Axes:
    """Draw a curve and its band; see ``CDF.plot``."""
    pyplot = _check.extra("matplotlib.pyplot", "plotting", "plot")
    low, high = curve.band(level)
    if ax is None:
        _, ax = pyplot.subplots()
    if "label" not in line:
        line["label"] = f"private, {curve.privacy}"
    (drawn,) = ax.step(curve.thresholds, curve.counts / curve.n, where="post", **line)
    ax.fill_between(
        curve.thresholds,
        low,
        high,
        step="post",
        color=drawn.get_color(),
        alpha=0.2,
        linewidth=0,
        label=f"{level:.0%} band for the noise",
    )
    ax.set_xlabel("value")
    ax.set_ylabel("share of records at most this")
    ax.set_ylim(-0.02, 1.02)
    return ax
