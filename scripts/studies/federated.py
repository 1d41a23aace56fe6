"""Classifiers under trust models: ``python scripts/study.py federated [--clients M] [--runs N]``.

Runs Figures 2 to 5 of the federated paper again, on synthetic scores with the areas of its three
models, and fits the slopes of its Table 1; writes docs/federated-accuracy.md and
docs/federated-accuracy.png. A million clients with one record each are simulated in aggregate, so
that it takes minutes. The first start makes ``.venv`` in the clone.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="Errors of classifier metrics under trust models.")
parser.add_argument("--clients", type=int, default=10**6, metavar="M", help="of every experiment")
parser.add_argument("--runs", type=int, default=10, metavar="N", help="of every experiment")
ARGUMENTS = parser.parse_args()
ensure("figures")

# What follows needs the environment.
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from ._federated_experiments import (  # noqa: E402
    AREA_ERRORS,
    AREA_HEIGHT,
    AREAS,
    CALIBRATORS,
    ECE_BINS,
    MANY,
    METRICS,
    MODELS,
    RELEASES,
    Clients,
    advised_areas,
    advised_calibration,
    advised_metrics,
    area_errors,
    calibration_errors,
    metric_errors,
    slope,
    uncalibrated,
)

Values = NDArray[np.float64]
Errors = dict[str, Values]  # by trust model, each (settings, runs, errors)
ADVISED_AREAS = ("as advised", f"{MANY} buckets, h = {AREA_HEIGHT}", "raw curves")
CALIBRATED = ("distance to the probability", "expected calibration error")
HEIGHTS = tuple(range(4, 15))
POPULATIONS = (10**3, 10**4, 10**5, 10**6)
BUCKETS = (5, 10, 20, 40, 70, 100, 200)
BINS = (10, 20, 50, 100)
HEIGHT = 10
ORDERS = {  # Table 1; without noise metrics and area are in B
    ("metrics", MODELS[0]): ("1 / B", -1.0, METRICS),
    ("metrics", MODELS[1]): ("1 / (epsilon M)^(2/3)", -2 / 3, METRICS),
    ("metrics", MODELS[2]): ("1 / (epsilon^(2/3) M^(1/3))", -1 / 3, METRICS),
    ("area", MODELS[0]): ("1 / B^2", -2.0, AREA_ERRORS[:2]),
    ("area", MODELS[1]): ("(1 / epsilon + 1 / B) / M", -1.0, ADVISED_AREAS),
    ("area", MODELS[2]): ("h / (epsilon M^(1/2))", -1 / 2, ADVISED_AREAS),
    ("calibration", MODELS[0]): ("1 / M^(1/3)", -1 / 3, CALIBRATED),
    ("calibration", MODELS[1]): ("1 / M^(1/3)", -1 / 3, CALIBRATED),
    ("calibration", MODELS[2]): ("1 / (epsilon^(1/2) M^(1/4))", -1 / 4, CALIBRATED),
}
FITTED = {"metrics": advised_metrics, "area": advised_areas, "calibration": advised_calibration}
TREE = (
    "The paper gives each of B buckets noise of its own, which adds up to sqrt(B) in a cumulative "
    "count, and balances that with 1 / B. Counts read off a tree have noise that grows with log B "
    "alone, so B may be larger ([advice.md](advice.md), section 2)."
)
WHY = {
    **{(name, "faster"): TREE for name in METRICS},
    (AREA_ERRORS[1], "slower"): (
        "The correction takes the order 1 / B^2 away; what is left is smaller, and falls with the "
        "luck of the labels within buckets, 1 / (B sqrt(M))."
    ),
    (ADVISED_AREAS[0], "slower"): (
        "The advice is for scores that spread over [0, 1]. These crowd near 0, where cells of the "
        "advised width have more records than a bucket should: much of the error is that of the "
        "cells. And h grows with M, and noise with a power of h, which is not in the exponent."
    ),
    (ADVISED_AREAS[1], "slower"): (
        "Where cells have few records, monotone curves are nearer to the truth than raw ones: few "
        "clients are off by less than the order says. Raw curves show the noise alone."
    ),
    (CALIBRATED[1], "faster"): (
        f"It does not see what differs within the calibrator's bins; and in its own {ECE_BINS}, "
        "which are wider if there are many of the former, noise of both signs cancels."
    ),
}
COLOURS = dict(zip(MODELS, ("#222222", "#1f5fa8", "#d1602b"), strict=True))
STYLES: tuple[Any, ...] = ("-", "--", ":")


def main() -> None:
    """Run, write, and say where."""
    seeds = np.random.SeedSequence(1).spawn(ARGUMENTS.runs)
    whole = [Clients.drawn(ARGUMENTS.clients, seed) for seed in seeds]
    sizes = [size for size in POPULATIONS if size <= ARGUMENTS.clients]
    some = [[Clients.drawn(size, seed) for seed in seeds] for size in sizes]
    metrics = (
        sweep(lambda model, h: [metric_errors(each, model, h) for each in whole], HEIGHTS),
        sweep(lambda model, part: [metric_errors(each, model, HEIGHT) for each in part], some),
    )
    areas = (
        sweep(
            lambda model, b: [area_errors(each, model, AREA_HEIGHT, b) for each in whole], BUCKETS
        ),
        sweep(
            lambda model, part: [area_errors(each, model, AREA_HEIGHT, 100) for each in part], some
        ),
    )
    calibrated = (
        sweep(
            lambda model, b: [calibration_errors(each, model, HEIGHT, b) for each in whole], BINS
        ),
        sweep(
            lambda model, part: [calibration_errors(each, model, HEIGHT, 20) for each in part], some
        ),
    )
    page = ROOT / "docs" / "federated-accuracy.md"
    lines = [
        *heading(),
        *of_metrics(*metrics, sizes),
        *of_areas(*areas, sizes),
        *of_calibration(*calibrated, sizes),
        *of_exponents(metrics[0], areas[0], some, sizes),
    ]
    page.write_text("\n".join(lines) + "\n", "utf-8")
    picture = draw(metrics, areas, calibrated, sizes)
    for path in (page, picture):
        print(f"written: {path.relative_to(ROOT)}")


def sweep(errors: Callable[[str, Any], list[Values]], over: Iterable[Any]) -> Errors:
    """Return the errors of each trust model, in each of several settings and each run."""
    settings = list(over)
    return {model: np.array([errors(model, setting) for setting in settings]) for model in MODELS}


def heading() -> list[str]:
    """Return how it was measured."""
    areas = ", ".join(f"{area:g}" for area in AREAS)
    return [
        "# Classifiers under all trust models, measured",
        "",
        f"Written by `python scripts/study.py federated`. {ARGUMENTS.clients:,} clients with one",
        "record each; binormal scores with the areas of the federated paper's three models,",
        f"{areas}, half of the records positive; means over the three models and {ARGUMENTS.runs}",
        "repetitions with new records each. Secure aggregation has no noise; distributed noise has",
        "epsilon = 1 and local privacy epsilon = 5, as in the paper. The trees are those of",
        "[trust.md](trust.md), not the paper's binary ones; h is the binary logarithm of the",
        "number of cells of [0, 1]. Both classes are reported together. Slopes are fitted to the",
        "logarithms of mean errors by least squares; their standard deviations are from resampling",
        "the repetitions, and do not say whether the law is a power.",
        "",
        "![Errors of metrics, areas and calibration errors](federated-accuracy.png)",
    ]


def of_metrics(by_height: Errors, by_size: Errors, sizes: list[int]) -> list[str]:
    """Return Figures 2 and 3: precision, recall and accuracy at ten thresholds."""
    return [
        "",
        "## Precision, recall and accuracy",
        "",
        "Figure 2 of the federated paper: the mean absolute error at the thresholds 1/11, ...,",
        "10/11, by the height h.",
        "",
        *table([f"h = {h}" for h in HEIGHTS], by_height, METRICS),
        "",
        f"Figure 3: by the number of clients M, h = {HEIGHT}; and the slope of the logarithms from",
        "10^4 clients on.",
        "",
        *table([f"{size:,}" for size in sizes], by_size, METRICS, sizes),
    ]


def of_areas(by_buckets: Errors, by_size: Errors, sizes: list[int]) -> list[str]:
    """Return Figure 4: areas under ROC curves from B buckets."""
    return [
        "",
        "## Areas under ROC curves",
        "",
        f"Figure 4: the mean absolute error by Eq. 5 from B buckets, h = {AREA_HEIGHT}; corrected,",
        "by `ScoreHistogram.auc_corrected`, which takes the rate of positives in a bucket as",
        "linear ([score-histograms.md](score-histograms.md), section 3). Worst case: what the",
        "pairs within quantile buckets could make of it.",
        "",
        *table([f"B = {b}" for b in BUCKETS], by_buckets, AREA_ERRORS),
        "",
        "100 buckets, by the number of clients:",
        "",
        *table([f"{size:,}" for size in sizes], by_size, AREA_ERRORS, sizes),
    ]


def of_calibration(by_bins: Errors, by_size: Errors, sizes: list[int]) -> list[str]:
    """Return Figure 5: the calibration error that is left after calibration."""
    distance, error = (f"{value:.2g}" for value in uncalibrated())
    bins, clients = [f"{b} bins" for b in BINS], [f"{size:,}" for size in sizes]
    return [
        "",
        "## Calibration",
        "",
        "Figure 5: scores are calibrated by maps that are fitted to the release. Errors are those",
        "of the population the records come from, whose probabilities are known. Bayesian binning",
        "chooses its own numbers of bins.",
        "",
        f"The expected calibration error of the calibrated scores, in {ECE_BINS} bins of one width",
        f"(h = {HEIGHT}); before calibration it is {error}.",
        "",
        *table(bins, part(by_bins, 1), CALIBRATORS),
        "",
        "20 bins, by the number of clients:",
        "",
        *table(clients, part(by_size, 1), CALIBRATORS, sizes),
        "",
        "The mean distance of the calibrated score and the true probability, which also counts",
        f"what differs within a bin; before calibration it is {distance}.",
        "",
        *table(bins, part(by_bins, 0), CALIBRATORS),
        "",
        "20 bins, by the number of clients:",
        "",
        *table(clients, part(by_size, 0), CALIBRATORS, sizes),
    ]


def part(errors: Errors, at: int) -> Errors:
    """Return one of the two errors of calibrated scores."""
    return {model: found[:, :, at] for model, found in errors.items()}


def of_exponents(
    metrics: Errors, areas: Errors, some: list[list[Clients]], sizes: list[int]
) -> list[str]:
    """Return Table 1: the exponents of M, or of B without noise, beside fitted slopes."""
    fits: dict[tuple[str, str], tuple[Sequence[float], Values]] = {
        ("metrics", MODELS[0]): ([2**h for h in HEIGHTS], metrics[MODELS[0]]),
        ("area", MODELS[0]): (BUCKETS, areas[MODELS[0]][:, :, :2]),
    }
    large = list(zip(sizes, some, strict=True))[1:]
    for kind, errors_of in FITTED.items():
        for model in MODELS:
            if (kind, model) not in fits:
                runs = [[errors_of(each, size, model) for each in same] for size, same in large]
                fits[kind, model] = sizes[1:], np.array(runs)
    lines = [
        "",
        "## Table 1 of the paper",
        "",
        "Its orders of the errors, their exponents, and the slopes that were fitted; and whether",
        "they are off the exponent by more than two standard deviations, and more than 0.05.",
        "",
        "Without noise, slopes of metrics and area are in B: metrics are read off all B = 2^h",
        f"cells, h from {HEIGHTS[0]} to {HEIGHTS[-1]}, and areas off B buckets of",
        f"2^{AREA_HEIGHT} cells, as above. The others are in M, from 10^4 clients on, with",
        "settings that grow with M as in the theorems: those of `trust.advise`, chosen before",
        "there are data. For metrics that is h, for the area h and the number of quantile",
        "buckets, for calibration h and the number of bins of histogram binning. Areas are also",
        f"from {MANY} buckets of 2^{AREA_HEIGHT} cells for all M, and from all these cells before",
        f"curves are made monotone; these are means of {RELEASES} releases for each repetition.",
        "",
        "| | | error of | order | exponent | fitted | falls |",
        "|---|---|---|---|---|---|---|",
    ]
    why: dict[tuple[str, str], list[str]] = {}
    for (kind, model), (order, exponent, names) in ORDERS.items():
        at, errors = fits[kind, model]
        for name, each in zip(names, np.moveaxis(errors, 2, 0), strict=True):
            fitted = slope(at, each)
            falls = fitted.beside(exponent)
            lines.append(
                f"| {kind} | {model} | {name} | {order} | {exponent:.2f} | {fitted} | {falls} |"
            )
            if (name, falls) in WHY:
                why.setdefault((falls, WHY[name, falls]), []).append(f"{name} ({model})")
    for (falls, reason), those in why.items():
        lines += ["", f"*{falls.capitalize()}*: {', '.join(those)}. {reason}"]
    return lines


def table(
    columns: list[str], rows: Errors, names: tuple[str, ...], sizes: list[int] | None = None
) -> list[str]:
    """Return a table with a line for each trust model and each of several errors."""
    last = [] if sizes is None else ["slope"]
    lines = [
        f"| | | {' | '.join([*columns, *last])} |",
        "|---" * (len(columns) + 2 + len(last)) + "|",
    ]
    for model, found in rows.items():
        for at, name in enumerate(names):
            errors = found[:, :, at]
            cells = [f"{error:.2g}" for error in errors.mean(axis=1)]
            if sizes is not None:
                cells.append(str(slope(sizes[1:], errors[1:])))
            lines.append(f"| {model} | {name} | {' | '.join(cells)} |")
    return lines


def draw(
    metrics: tuple[Errors, Errors],
    areas: tuple[Errors, Errors],
    calibrated: tuple[Errors, Errors],
    sizes: list[int],
) -> Path:
    """Draw all figures into one picture, and return where it is."""
    figure, axes = plt.subplots(2, 3, figsize=(15, 9), layout="constrained")
    panels = (
        (HEIGHTS, metrics[0], METRICS, "precision, recall, accuracy", "height h"),
        (BUCKETS, areas[0], AREA_ERRORS[:3], f"area, h = {AREA_HEIGHT}", "buckets"),
        (BINS, part(calibrated[0], 1), CALIBRATORS, "expected calibration error", "bins"),
        (sizes, metrics[1], METRICS, f"the same, h = {HEIGHT}", "clients"),
        (sizes, areas[1], AREA_ERRORS[:3], "the same, 100 buckets", "clients"),
        (sizes, part(calibrated[1], 1), CALIBRATORS, "the same, 20 bins", "clients"),
    )
    for ax, (at, errors, names, title, x) in zip(axes.flat, panels, strict=True):
        for model, colour in COLOURS.items():
            for column, style in enumerate(STYLES):
                ax.plot(at, errors[model][:, :, column].mean(axis=1), color=colour, linestyle=style)
        ax.set_title(title, loc="left")
        ax.set_xlabel(x)
        ax.set_yscale("log")
        if at is not HEIGHTS:
            ax.set_xscale("log")
        ax.grid(color="0.92")
        if ax in axes[0]:  # below it are the same lines
            shown = [
                Line2D([], [], color="0.4", linestyle=style, label=name)
                for name, style in zip(names, STYLES, strict=True)
            ]
            if ax is axes[0, 0]:
                shown += [
                    Line2D([], [], color=colour, label=model) for model, colour in COLOURS.items()
                ]
            if ax is axes[0, 1]:
                guide = np.array(BUCKETS, float)
                shown += ax.plot(
                    guide,
                    1 / (3 * guide**2),
                    color="0.7",
                    linewidth=4,
                    zorder=0,
                    label="1 / (3 B^2)",
                )
            ax.legend(handles=shown, fontsize=8, frameon=False)
    for row in axes:
        row[0].set_ylabel("mean absolute error")
    path = ROOT / "docs" / "federated-accuracy.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


if __name__ == "__main__":
    main()
