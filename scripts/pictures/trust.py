"""One classifier under four trust models: ``python scripts/draw.py trust``.

Draws docs/proofs/trust.png: ROC curves with their bands beside the true one, and how far the score
curves of the positives are off. It takes seconds; the first start makes ``.venv`` in the clone.
"""

from pathlib import Path
from typing import Any

from _environment import ROOT, ensure

ensure("studies")

# What follows needs the environment.
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from _pictures import stands_alone  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from scipy.special import ndtr  # noqa: E402

import dpcore as dp  # noqa: E402
from dpcore.curves.colours import BLACK, BLUE  # noqa: E402
from dpcore.mechanisms import Mechanism  # noqa: E402
from dpcore.statistics import ROC  # noqa: E402
from dpcore.trust import Central, DistributedNoise, Local, SecureAggregation  # noqa: E402

CLIENTS, CELLS = 20_000, 256
MODELS: dict[str, Mechanism] = {
    "secure aggregation: exact, not private": SecureAggregation(),
    "a curator, epsilon = 1": Central(1.0),
    "distributed noise, epsilon = 1,\nhalf of the clients may drop out": DistributedNoise(
        1.0, CLIENTS, dropout=0.5
    ),
    "local privacy, epsilon = 5": Local(5.0, CLIENTS),
}


def main() -> None:
    """Draw."""
    plt.switch_backend("Agg")
    rng = np.random.default_rng(1)
    labels = rng.random(CLIENTS) < 0.4
    scores = ndtr(rng.normal(np.where(labels, 0.6, -0.6)) - 0.3)
    grid = dp.Grid.uniform(0, 1, CELLS)
    exact = dp.score_curves(labels, scores, grid, SecureAggregation(), rng=rng)
    figure, axes = plt.subplots(2, len(MODELS), figsize=(14, 6.4), layout="constrained")
    for (above, below), (title, model) in zip(axes.T, MODELS.items(), strict=True):
        curves = dp.score_curves(labels, scores, grid, model, rng=rng, isotonic=False)
        draw_roc(above, ROC.from_curves(curves), ROC.from_curves(exact))
        draw_errors(below, curves, exact)
        above.set_title(title, loc="left", fontsize=10)
    axes[0, 0].set_ylabel("true positive rate")
    axes[1, 0].set_ylabel("positives up to the score: released less true")
    reach = max(np.abs(ax.get_ylim()).max() for ax in axes[1])
    for ax in axes[1]:
        ax.set_ylim(-reach, reach)
    stands_alone(figure)
    path: Path = ROOT / "docs" / "proofs" / "trust.png"
    figure.savefig(path, dpi=110, metadata={"Software": None})
    print(f"written: {path.relative_to(ROOT)}")


def draw_roc(ax: Axes, found: ROC, true: ROC) -> None:
    """Draw a released ROC curve and the true one."""
    found.plot(ax, color=BLUE, label=f"released, AUC = {found.auc:.4f}")
    ax.plot(
        true.fpr,
        true.tpr,
        color=BLACK,
        linewidth=1,
        linestyle="--",
        label=f"true, AUC = {true.auc:.4f}",
    )
    ax.legend(fontsize=8, frameon=False, loc="lower right")
    ax.set_xlabel("false positive rate")
    ax.set_ylabel("")  # once, on the left


def draw_errors(ax: Axes, found: dp.ScoreCurves, true: dp.ScoreCurves) -> None:
    """Draw what noise makes of the positives' raw cumulative counts, and its stated deviation."""
    deviation = 2 * found.deviations[1]
    shade: dict[str, Any] = {"color": BLUE, "alpha": 0.15, "linewidth": 0}
    ax.fill_between(true.thresholds, -deviation, deviation, label="two stated deviations", **shade)
    ax.plot(true.thresholds, found.positives - true.positives, color=BLUE, linewidth=1)
    ax.axhline(0, color=BLACK, linewidth=0.8)
    ax.set_xlabel("score")
    ax.legend(fontsize=8, frameon=False, loc="lower right")


if __name__ == "__main__":
    main()
