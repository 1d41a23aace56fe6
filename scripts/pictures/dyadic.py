"""The pictures of the documentation: ``python scripts/draw.py dyadic``.

Draws docs/proofs/dyadic.png: the noise tree as a graph, and smoothing as a flow in it. dpcore
computes the numbers. The first start makes ``.venv`` in the clone.
"""

from pathlib import Path
from typing import Any

from _environment import ROOT, ensure

ensure("studies")

# What follows needs the environment.
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.patches import Arc  # noqa: E402

import dpcore as dp  # noqa: E402
from dpcore.curves.colours import BLACK, BLUE, LIGHT, VERMILION  # noqa: E402

THRESHOLDS = 8
PATH = [(0, 1), (0, 8), (7, 8)]  # between two of the boundaries that are farthest apart
NOISY = np.array([5, 4, 9, 13, 11, 12, 20, 19.0])
TOTAL = 24.0

Node = tuple[int, int]


def main() -> None:
    """Draw."""
    plt.switch_backend("Agg")
    figure, (above, below) = plt.subplots(2, 1, figsize=(8, 7.2), layout="constrained")
    draw_distance(above)
    draw_flow(below)
    path: Path = ROOT / "docs" / "proofs" / "dyadic.png"
    figure.savefig(path, dpi=130, metadata={"Software": None})
    print(f"written: {path.relative_to(ROOT)}")


def nodes() -> list[Node]:
    """Return the boundaries that each node of the binary tree joins, leaves first."""
    widths = [1, 2, 4, 8]
    return [(a, a + w) for w in widths for a in range(0, THRESHOLDS, w)]


def draw_distance(ax: Axes) -> None:
    """Draw the graph, and a path as long as the sensitivity."""
    sensitivity = dp.mechanisms.Dyadic(1.0).noise_scale(THRESHOLDS + 1)
    if len(PATH) != sensitivity:
        # the path in the picture must be as long as the sensitivity in the library
        raise SystemExit(f"the path has {len(PATH)} edges, the sensitivity is {sensitivity}")
    for node in nodes():
        on_path = node in PATH
        _arc(ax, node, VERMILION if on_path else BLUE, 2.6 if on_path else 1.2)
    _boundaries(ax, [f"{v}" for v in range(THRESHOLDS + 1)])
    for v in (1, 7):
        ax.plot(v, 0, "o", color=VERMILION, markersize=11, zorder=4)
    ax.set_title(
        "Noise nodes are edges, cells are vertices. A record that moves from the cell at\n"
        f"1 to the one at 7 is a unit of flow; the shortest way has {sensitivity} edges, and no\n"
        "two cells are farther apart.",
        loc="left",
        fontsize=10,
    )
    _frame(ax, -0.9, 4.4)


def draw_flow(ax: Axes) -> None:
    """Draw the increments of a noisy curve, and the flow that repairs the negative ones."""
    smoothing = dp.smooth(NOISY, TOTAL)
    before = np.diff(np.concatenate([[0.0], NOISY, [TOTAL]]))
    after = np.diff(np.concatenate([[0.0], smoothing.cumulative, [TOTAL]]))
    flows = _flows(after - before)
    largest = max(abs(flow) for flow in flows.values())
    for node, flow in flows.items():
        used = abs(flow) > 1e-9
        _arc(ax, node, VERMILION if used else LIGHT, 0.8 + 1.8 * abs(flow) / largest, flow)
    scale = 0.16
    for v, (first, last) in enumerate(zip(before, after, strict=True)):
        ax.bar(v - 0.14, scale * first, 0.24, -1.8, color=LIGHT if first >= 0 else VERMILION)
        ax.bar(v + 0.14, scale * last, 0.24, -1.8, color=BLUE)
        ax.annotate(f"{first:g}", (v - 0.14, -1.8), (0, -20), **_text(7.5, "0.35"))
        ax.annotate(f"{last:.2g}", (v + 0.14, -1.8), (0, -30), **_text(7.5, BLUE))
    ax.axhline(-1.8, color=BLACK, linewidth=0.8)
    _boundaries(ax, [""] * (THRESHOLDS + 1))
    ax.set_title(
        "Smoothing (norm 2): the flow of least energy that fills the negative increments (orange\n"
        "bars) of a noisy curve. Bars: increments before (grey, orange) and after (blue).",
        loc="left",
        fontsize=10,
    )
    _frame(ax, -3.1, 4.4)


def _flows(change: Any) -> dict[Node, float]:
    """Return the flow of least energy that makes these changes of the increments."""
    edges = nodes()
    incidence = np.zeros((THRESHOLDS + 1, len(edges)))
    for column, (a, b) in enumerate(edges):
        incidence[a, column], incidence[b, column] = 1, -1
    flow = np.linalg.lstsq(incidence, change, rcond=None)[0]
    return dict(zip(edges, flow.tolist(), strict=True))


def _arc(ax: Axes, node: Node, color: str, width: float, flow: float | None = None) -> None:
    a, b = node
    middle, height = (a + b) / 2, 0.5 * (b - a) + 0.25
    ax.add_patch(
        Arc((middle, 0), b - a, 2 * height, theta1=0, theta2=180, color=color, linewidth=width)
    )
    if flow is not None and abs(flow) > 0.05:
        head, tail = (a, b) if flow > 0 else (b, a)
        step = 0.03 * (head - tail)
        ax.annotate(
            "",
            (middle + step, height),
            (middle - step, height),
            arrowprops={"arrowstyle": "-|>", "color": color, "mutation_scale": 17},
        )


def _boundaries(ax: Axes, labels: list[str]) -> None:
    for v, label in enumerate(labels):
        ax.plot(v, 0, "o", color=BLACK, markersize=6, zorder=3)
        ax.annotate(label, (v, 0), (0, -18), **_text(9, BLACK))


def _text(size: float, color: str) -> dict[str, Any]:
    return {"textcoords": "offset points", "ha": "center", "fontsize": size, "color": color}


def _frame(ax: Axes, low: float, high: float) -> None:
    ax.set_xlim(-0.5, THRESHOLDS + 0.5)
    ax.set_ylim(low, high)
    ax.axis("off")


if __name__ == "__main__":
    main()
