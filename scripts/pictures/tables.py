"""A table of real records, exact and released: ``python scripts/draw.py tables``.

Draws docs/guides/table.png: how often people of the RAND health insurance experiment saw a doctor
in a year, by an index of their chronic diseases, as statsmodels ships it. It takes seconds; the
first start makes ``.venv`` in the clone.
"""

from pathlib import Path

from _environment import ROOT, ensure

ensure("studies")

# What follows needs the environment.
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from _pictures import stands_alone  # noqa: E402
from matplotlib.colors import SymLogNorm  # noqa: E402
from statsmodels.datasets import randhie  # noqa: E402

import dpcore as dp  # noqa: E402
from dpcore.curves.colours import VERMILION  # noqa: E402

# A cell for each number of visits, of which the last is 20 and more.
GRID = dp.TableGrid(dp.Grid([4, 8, 12, 16, 20, 30, 60], lower=0), dp.Grid.integers(0, 20))
SHARES = (0.5, 0.9)


def main() -> None:
    """Draw."""
    plt.switch_backend("Agg")
    records = randhie.load_pandas().data
    columns = records["disea"], records["mdvis"]
    rng = np.random.default_rng(1)
    exact = dp.table(*columns, GRID, dp.mechanisms.NoNoise())
    tables = {"exact, not private": exact} | {
        f"released, epsilon = {epsilon:g}": dp.table(*columns, GRID, epsilon=epsilon, rng=rng)
        for epsilon in (1.0, 0.1)
    }
    figure, axes = plt.subplots(1, len(tables), figsize=(14, 4.4), layout="constrained")
    edges = np.append(GRID.x.lower, GRID.x.thresholds)
    for ax, (title, table) in zip(axes, tables.items(), strict=True):
        table.plot(ax, norm=SymLogNorm(1.0, vmin=0.0, vmax=float(exact.counts.max())))
        lines = table.conditional_quantiles("y", SHARES).T
        for share, line, style in zip(SHARES, lines, ("-", "--"), strict=True):
            ax.stairs(line, edges, baseline=None, linestyle=style, color=VERMILION, linewidth=1.5)
            label = f"at most so many: {share:.0%} of the people"
            ax.plot([], [], style, color=VERMILION, label=label)
        ax.set_title("")
        ax.set_title(f"{title}, n = {table.n:,}", loc="left", fontsize=10)
        ax.set(xlabel="index of chronic diseases", ylabel="visits to a doctor in a year")
    axes[0].legend(framealpha=0.9, edgecolor="none", fontsize=9, loc="upper right")
    stands_alone(figure)
    path: Path = ROOT / "docs" / "guides" / "table.png"
    figure.savefig(path, dpi=110, metadata={"Software": None})
    print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
