"""What bands promise: ``python scripts/draw.py bands``.

Draws docs/guides/how-sure.png: a released curve with both its bands beside the truth, and where the
bands of many releases of the same records miss. Records and noise are simulated, from a seed. It
takes seconds; the first start makes ``.venv`` in the clone.
"""

from pathlib import Path
from typing import Any

from _environment import ROOT, ensure

ensure("plot")

# What follows needs the environment.
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from _pictures import stands_alone  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.ticker import PercentFormatter  # noqa: E402

import dpcore as dp  # noqa: E402
from dpcore.curves.colours import BLACK, BLUE, ORANGE, VERMILION  # noqa: E402

GRID = dp.Grid.uniform(0, 100, 50)
RECORDS, RELEASES = 1_000, 100
TRUE: dict[str, Any] = {"color": BLACK, "linewidth": 1.1, "linestyle": (0, (4, 2))}


def main() -> None:
    """Draw."""
    plt.switch_backend("Agg")
    rng = np.random.default_rng(1)
    incomes = rng.lognormal(3.5, 0.5, RECORDS)
    truth = np.cumsum(GRID.count(incomes)) / RECORDS
    mechanism = dp.mechanisms.Hierarchy(epsilon=1.0)
    curves = [dp.cdf(incomes, GRID, mechanism, rng=rng) for _ in range(RELEASES)]
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5.2), layout="constrained")
    alone = np.array([_misses(curve.band(), truth) for curve in curves])
    at_once = np.array([_misses(dp.simultaneous_band(curve), truth) for curve in curves])
    misses(right, alone, at_once)
    shown = int(np.where(at_once.any(axis=1), 0, alone.sum(axis=1)).argmax())
    both_bands(left, curves[shown], truth)
    left.set_title(f"Release {shown + 1} of {RECORDS:,} incomes, and its 95 % bands", fontsize=11)
    for ax in (left, right):
        ax.set(xlim=(5, 100), xlabel="income, in thousands of dollars")
    stands_alone(figure)
    path: Path = ROOT / "docs" / "guides" / "how-sure.png"
    figure.savefig(path, dpi=110, metadata={"Software": None})
    print(f"written: {path.relative_to(ROOT)}")


def both_bands(ax: Axes, curve: dp.CDF, truth: Any) -> None:
    """Draw a curve with both bands, and the truth."""
    at = GRID.thresholds
    for band, colour, name in (
        (dp.simultaneous_band(curve), ORANGE, "simultaneous_band: of the whole curve"),
        (dp.Interval(*curve.band()), BLUE, "band: of each threshold alone"),
    ):
        low, high = band
        ax.fill_between(at, low, high, step="post", color=colour, alpha=0.45, lw=0, label=name)
    ax.step(at, curve.counts / curve.n, where="post", color=BLUE, label="released, epsilon = 1")
    ax.step(at, truth, where="post", label="true, not private", **TRUE)
    ax.set_ylabel("share of incomes at most this")
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.legend(loc="lower right", frameon=False)


def misses(ax: Axes, alone: Any, at_once: Any) -> None:
    """Mark where the bands of each release do not contain the truth."""
    for missed, name, marker, colour in (
        (alone, "band", ".", BLUE),
        (at_once, "simultaneous_band", "x", VERMILION),
    ):
        row, cell = np.nonzero(missed)
        releases, size = np.count_nonzero(missed.any(axis=1)), len(missed)
        label = f"{name}: misses somewhere in {releases} of {size} releases"
        ax.plot(GRID.thresholds[cell], row + 1, marker, color=colour, label=label)
    ax.set_ylabel("release")
    ax.set_ylim(len(alone) + 1, -14)
    ax.set_yticks(np.append(1, np.arange(20, len(alone) + 1, 20)))
    ax.legend(loc="upper center", frameon=False)
    ax.set_title("Where the 95 % bands of each release miss the truth", fontsize=11)


def _misses(band: Any, truth: Any) -> Any:
    low, high = band
    return (truth < low) | (truth > high)


if __name__ == "__main__":
    main()
