"""Classifiers under trust models: ``python scripts/federated_study.py [--clients M] [--runs N]``.

Runs Figures 2 to 5 of the federated paper again, on synthetic scores with the areas of its three
models, and fits the slopes of its Table 1; writes docs/federated-accuracy.md and
docs/federated-accuracy.png. A million clients with one record each are simulated in aggregate, so
that it takes minutes. The first start makes ``.venv`` in the clone.
"""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="Errors of classifier metrics under trust models.")
parser.add_argument("--clients", type=int, default=10**6, metavar="M", help="of every experiment")
parser.add_argument("--runs", type=int, default=10, metavar="N", help="of every experiment")
ARGUMENTS = parser.parse_args()
ensure("studies")

# What follows needs the environment.
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from _federated_experiments import (  # noqa: E402
    AREAS,
    METRICS,
    MODELS,
    Clients,
    area_errors,
    calibration_errors,
    metric_errors,
    slope,
    uncalibrated,
)
from numpy.typing import NDArray  # noqa: E402

Values = NDArray[np.float64]
HEIGHTS = tuple(range(4, 15))
POPULATIONS = (10**3, 10**4, 10**5, 10**6)
BUCKETS = (5, 10, 20, 40, 70, 100, 200)
BINS = (10, 20, 50, 100)
HEIGHT = 10
AREA_HEIGHT = 14  # quantile buckets need cells that are narrower than they are
COLOURS = dict(zip(MODELS, ("#222222", "#1f5fa8", "#d1602b"), strict=True))
STYLES = dict(zip(METRICS, ("-", "--", ":"), strict=True))


def main() -> None:
    """Run, write, and say where."""
    seeds = np.random.SeedSequence(1).spawn(ARGUMENTS.runs)
    whole = [Clients.drawn(ARGUMENTS.clients, seed) for seed in seeds]
    sizes = [size for size in POPULATIONS if size <= ARGUMENTS.clients]
    some = [[Clients.drawn(size, seed) for seed in seeds] for size in sizes]
    by_height = sweep(lambda model, h: [metric_errors(each, model, h) for each in whole], HEIGHTS)
    by_size = sweep(lambda model, part: [metric_errors(each, model, HEIGHT) for each in part], some)
    buckets = sweep(
        lambda model, b: [area_errors(each, model, AREA_HEIGHT, b) for each in whole], BUCKETS
    )
    area_by_size = sweep(
        lambda model, part: [area_errors(each, model, AREA_HEIGHT, 100) for each in part], some
    )
    bins = sweep(
        lambda model, b: [calibration_errors(each, model, HEIGHT, b) for each in whole], BINS
    )
    bins_by_size = sweep(
        lambda model, part: [calibration_errors(each, model, HEIGHT, 20) for each in part], some
    )
    page = ROOT / "docs" / "federated-accuracy.md"
    lines = [
        *heading(),
        *of_metrics(by_height, by_size, sizes),
        *of_areas(buckets, area_by_size, sizes),
        *of_calibration(bins, bins_by_size, sizes),
    ]
    page.write_text("\n".join(lines) + "\n", "utf-8")
    picture = draw(by_height, by_size, sizes, buckets, bins)
    for path in (page, picture):
        print(f"written: {path.relative_to(ROOT)}")


def sweep(
    errors: Callable[[str, Any], list[Values]], over: Iterable[Any]
) -> dict[str, list[Values]]:
    """Return the mean errors of each trust model, for each of several settings."""
    settings = list(over)
    return {
        model: [np.mean(errors(model, setting), axis=0) for setting in settings] for model in MODELS
    }


def heading() -> list[str]:
    """Return how it was measured."""
    areas = ", ".join(f"{area:g}" for area in AREAS)
    return [
        "# Classifiers under all trust models, measured",
        "",
        f"Written by `python scripts/federated_study.py`. {ARGUMENTS.clients:,} clients with one",
        "record each; binormal scores with the areas of the federated paper's three models,",
        f"{areas}, half of the records positive; means over the three models and {ARGUMENTS.runs}",
        "repetitions with new records each. Secure aggregation has no noise; distributed noise has",
        "epsilon = 1 and local privacy epsilon = 5, as in the paper. The trees are those of",
        "[trust.md](trust.md), not the paper's binary ones; h is the binary logarithm of the",
        "number of cells of [0, 1]. Both classes are reported together.",
    ]


def of_metrics(
    by_height: dict[str, list[Values]], by_size: dict[str, list[Values]], sizes: list[int]
) -> list[str]:
    """Return Figures 2 and 3: precision, recall and accuracy at ten thresholds."""
    lines = [
        "",
        "## Precision, recall and accuracy",
        "",
        "Figure 2 of the federated paper: the mean absolute error at the thresholds 1/11, ...,",
        "10/11, by the height h.",
        "",
        *table([f"h = {h}" for h in HEIGHTS], by_height),
        "",
        f"Figure 3: by the number of clients M, h = {HEIGHT}; and the slope of the logarithms from",
        "10^4 clients on.",
        "",
    ]
    return [*lines, *table([f"{size:,}" for size in sizes], by_size, sizes)]


def of_areas(
    by_buckets: dict[str, list[Values]], by_size: dict[str, list[Values]], sizes: list[int]
) -> list[str]:
    """Return Figure 4: areas under ROC curves from B buckets."""
    names = ("quantile buckets", "uniform buckets", "worst case")
    return [
        "",
        "## Areas under ROC curves",
        "",
        f"Figure 4: the mean absolute error by Eq. 5 from B buckets, h = {AREA_HEIGHT}; beside",
        "what the pairs within quantile buckets could make of it at worst.",
        "",
        *table([f"B = {b}" for b in BUCKETS], by_buckets, names=names),
        "",
        "100 buckets, by the number of clients:",
        "",
        *table([f"{size:,}" for size in sizes], by_size, sizes, names=names),
    ]


def of_calibration(
    by_bins: dict[str, list[Values]], by_size: dict[str, list[Values]], sizes: list[int]
) -> list[str]:
    """Return Figure 5: the calibration error that is left after calibration."""
    names = ("histogram binning", "isotonic", "Bayesian binning")
    return [
        "",
        "## Calibration",
        "",
        "Figure 5: the mean distance of the calibrated score and the true probability, by the",
        "number of bins (Bayesian binning chooses its own). Before calibration it is",
        f"{np.mean([uncalibrated(area) for area in AREAS]):.2g}.",
        "",
        *table([f"{b} bins" for b in BINS], by_bins, names=names),
        "",
        "20 bins, by the number of clients:",
        "",
        *table([f"{size:,}" for size in sizes], by_size, sizes, names=names),
    ]


def table(
    columns: list[str],
    rows: dict[str, list[Values]],
    sizes: list[int] | None = None,
    names: tuple[str, ...] = METRICS,
) -> list[str]:
    """Return a table with a line for each trust model and each of several errors."""
    last = [] if sizes is None else ["slope"]
    lines = [
        f"| | | {' | '.join([*columns, *last])} |",
        "|---" * (len(columns) + 2 + len(last)) + "|",
    ]
    for model, found in rows.items():
        for at, name in enumerate(names):
            errors = [float(each[at]) for each in found]
            cells = [f"{error:.2g}" for error in errors]
            if sizes is not None:
                cells.append(f"{slope(sizes[1:], errors[1:]):.2f}")
            lines.append(f"| {model} | {name} | {' | '.join(cells)} |")
    return lines


def draw(
    by_height: dict[str, list[Values]],
    by_size: dict[str, list[Values]],
    sizes: list[int],
    by_buckets: dict[str, list[Values]],
    by_bins: dict[str, list[Values]],
) -> Path:
    """Draw all four figures into one picture, and return where it is."""
    figure, axes = plt.subplots(1, 4, figsize=(18, 4.5), layout="constrained")
    for model, colour in COLOURS.items():
        for at, (name, style) in enumerate(STYLES.items()):
            label = f"{model}, {name}"
            look = {"color": colour, "linestyle": style, "label": label}
            axes[0].plot(HEIGHTS, [each[at] for each in by_height[model]], **look)
            axes[1].plot(sizes, [each[at] for each in by_size[model]], **look)
        areas = by_buckets[model]
        axes[2].plot(BUCKETS, [each[0] for each in areas], color=colour, label=model)
        axes[2].plot(BUCKETS, [each[1] for each in areas], color=colour, linestyle="--")
        axes[3].plot(BINS, [each[0] for each in by_bins[model]], color=colour, label=model)
        axes[3].plot(BINS, [each[1] for each in by_bins[model]], color=colour, linestyle="--")
    guide = np.array(BUCKETS, float)
    axes[2].plot(guide, 1 / (2 * guide), color="0.7", linewidth=1, label="1 / (2 B)")
    axes[2].plot(
        guide, 1 / (3 * guide**2), color="0.7", linewidth=1, linestyle=":", label="1 / (3 B^2)"
    )
    for ax, title, x in (
        (axes[0], "precision, recall, accuracy", "height h"),
        (axes[1], f"the same, h = {HEIGHT}", "clients"),
        (axes[2], "area; dashed: uniform buckets", "buckets"),
        (axes[3], "after calibration; dashed: isotonic", "bins"),
    ):
        ax.set_title(title, loc="left")
        ax.set_xlabel(x)
        ax.set_yscale("log")
        ax.grid(color="0.92")
    for ax in axes[1:]:
        ax.set_xscale("log")
    axes[0].set_ylabel("mean absolute error")
    axes[0].legend(fontsize=7, frameon=False)
    axes[2].legend(fontsize=7, frameon=False)
    path = ROOT / "docs" / "federated-accuracy.png"
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


if __name__ == "__main__":
    main()
