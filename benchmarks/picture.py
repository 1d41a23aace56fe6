"""Time against the number of cells, for smoothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt

from dpcore.curves.colours import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION

if TYPE_CHECKING:
    from .results import Results

JOBS = {"smooth-2": "norm 2", "smooth-1": "norm 1"}
PEERS = (VERMILION, GREEN, PURPLE, ORANGE, BLACK)  # solid, and then dashed
MARKERS = "svD^<>Phd"
OURS = (BLUE, SKY)


def draw(results: Results, path: Path) -> None:
    """Draw a log-log panel for each norm, with a legend from the slowest to the fastest."""
    plt.switch_backend("Agg")
    figure, panels = plt.subplots(1, 2, figsize=(11, 7), sharey=True, layout="constrained")
    others: dict[str, int] = {}  # a solver looks the same in both
    for axes, (name, title) in zip(panels, JOBS.items(), strict=True):
        rows = [row for row in results.rows if row.job == name and row.median is not None]
        ours = 0
        for contender in dict.fromkeys(row.contender for row in rows):
            own = [row for row in rows if row.contender == contender]
            if own[0].kind == "ours":
                style = {"color": OURS[ours % 2], "marker": "o", "linewidth": 2.6, "zorder": 3}
                ours += 1
            elif own[0].kind == "floor":
                style = {"color": GREY, "linestyle": ":", "marker": ".", "linewidth": 1.4}
            else:
                at = others.setdefault(contender.removesuffix(", 1e-6"), len(others)) % len(MARKERS)
                colour, line = PEERS[at % len(PEERS)], "-" if at < len(PEERS) else "--"
                look = {"color": colour, "linestyle": line}
                style = {**look, "marker": MARKERS[at], "linewidth": 1.3}
            at, medians = [row.size for row in own], [row.median for row in own]
            axes.plot(at, medians, label=contender, markersize=5, **style)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_title(f"Smoothing, {title}", loc="left", weight="bold")
        axes.set_xlabel("cells")
        axes.grid(color="0.92")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        if axes.lines:
            order = sorted(axes.lines, key=_slowness, reverse=True)
            below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.11), "ncols": 2}
            axes.legend(handles=order, frameon=False, **below)
    panels[0].set_ylabel("seconds (median)")
    panels[0].tick_params(labelleft=True)
    figure.supxlabel(
        f"{results.machine['processor']}, {results.machine['date']}", fontsize=8, color="0.4"
    )
    figure.savefig(path, dpi=130, metadata={"Software": None})
    plt.close(figure)


def _slowness(line) -> float:
    """Return the last time of a line divided by its last size."""
    return line.get_ydata()[-1] / line.get_xdata()[-1]
