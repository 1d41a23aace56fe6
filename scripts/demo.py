"""A demonstration: ``python scripts/demo.py [--output DIR]``.

Releases private distribution curves of two variables of the RAND Health Insurance Experiment
(Cameron & Trivedi 2005; public domain, shipped with statsmodels). Each variable is released by the
default of dpcore and by the method of the ECDF paper. The demonstration compares these curves with
the true ones and draws them. Then it checks a classifier in the same way, with a ROC curve, a
reliability diagram and a Hosmer-Lemeshow table. The first start makes ``.venv`` in the clone.
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="Private curves of real data, beside the true ones.")
parser.add_argument(
    "--output",
    type=Path,
    default=ROOT / "demo-output",
    metavar="DIR",
    help="the folder for pictures and curves; default: demo-output in the clone",
)
OUTPUT: Path = parser.parse_args().output
ensure("figures")

# What follows needs the environment.
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from _demo_classifier import demonstrate  # noqa: E402
from _pictures import stands_alone  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from statsmodels.datasets import randhie  # noqa: E402

import dpcore as dp  # noqa: E402
from dpcore.curves.colours import BLACK, BLUE, LIGHT, VERMILION  # noqa: E402

EPSILON = 0.5
HALF_WIDTH = 1.96  # of a band that holds 95 %, in standard errors
PROBABILITIES = np.array([0.1, 0.25, 0.5, 0.75, 0.9, 0.99])
PAPER = "ECDF paper"  # Barczewski, Mawass & Ramon: Differentially Private ECDFs


class Study(NamedTuple):
    """A variable and its grid, which uses public knowledge of the variable, never the data."""

    column: str
    title: str
    unit: str
    grid: dp.Grid
    shown: float  # where the picture ends: the rest is flat


class Curves(NamedTuple):
    """The ECDF paper's release, the same release smoothed as in the paper, and dpcore's default."""

    paper: dp.CDF
    smoothed: dp.CDF
    dpcore: dp.CDF


STUDIES = [
    # A count: one cell each for 0, 1, ..., 100.
    Study(
        "mdvis", "Visits to a doctor in a year", "visits in a year", dp.Grid.integers(0, 100), 30
    ),
    Study(
        "disea",
        "Index of chronic diseases",
        "points of the index",
        dp.Grid.uniform(0, 60, 2**12),
        50,
    ),
]


def main() -> None:
    """Release, compare, draw."""
    data = randhie.load_pandas().data
    print(f"RAND Health Insurance Experiment: {len(data):,} records, one per person and year.")
    print("The privacy guarantee is for one record, not for all years of a person.")
    print("The data are public. Only for this reason can the truth be shown beside the releases.")
    print("\nEpsilon is the privacy budget: the smaller it is, the less a release tells about any")
    print("one record, and the more noise it has. Replace-one: the guarantee compares data sets")
    print("that differ in one replaced record. The columns below are")
    print("  true      the records themselves")
    print("  paper     a release by the method of Barczewski, Mawass & Ramon, Differentially")
    print("            Private Empirical Cumulative Distribution Functions (the ECDF paper)")
    print("  smoothed  the same release, smoothed as in that paper")
    print("  dpcore    a release by the default of dp.cdf")
    plt.switch_backend("Agg")
    OUTPUT.mkdir(parents=True, exist_ok=True)
    releases, written = [], []
    for study in STUDIES:
        values = data[study.column].to_numpy()
        best = dp.cdf(values, study.grid, epsilon=EPSILON)
        mechanism = dp.mechanisms.Dyadic(EPSILON, sensitivity="paper")
        paper = dp.cdf(values, study.grid, mechanism, isotonic=False)
        curves = Curves(paper, paper.smooth(norm=2), best)
        releases += [best, paper]
        report(study, values, curves)
        written += [draw(study, values, curves), keep(study, best)]
    spent = [release.privacy for release in releases]
    print(f"\nPrivacy spent on four releases: {spent[0] + spent[1] + spent[2] + spent[3]}.")
    print("Smoothing, quantiles and pictures use only the releases, so they cost no more privacy.")
    of_classifier, files = demonstrate(data, OUTPUT)
    written += files
    print(f"\nPrivacy spent on two releases: {of_classifier[0] + of_classifier[1]}.")
    print("Both releases are of one half of the records. For these records, all six releases")
    print(f"together cost {sum(of_classifier, sum(spent[1:], spent[0]))}.")
    print("\nFiles written (pictures, and releases as JSON):")
    for path in written:
        print(f"  {path}")


def report(study: Study, values: NDArray[Any], curves: Curves) -> None:
    """Print the quantiles and the errors."""
    print(f"\n{study.title} ({study.column})")
    ends = study.grid.thresholds[[0, -1]]
    print(f"{study.grid.thresholds.size:,} thresholds from {ends[0]:g} to {ends[1]:g};", end=" ")
    print(f"{curves.dpcore.privacy} for each of two releases\n")
    _row("quantile", ["true", *Curves._fields])
    true = np.quantile(values, PROBABILITIES, method="inverted_cdf")
    found = [curve.quantile(PROBABILITIES) for curve in curves]
    for p, *row in zip(PROBABILITIES, true, *found, strict=True):
        _row(f"{p:.0%}", [f"{value:.2f}" for value in row])
    errors = [100 * np.abs(error(curve, values)) for curve in curves]
    predicted = [
        100 * np.sqrt(np.mean(curve.standard_error() ** 2))
        for curve in (curves.paper, curves.dpcore)
    ]
    print("  error of the distribution function F, in percentage points")
    _row("mean", ["", *(f"{e.mean():.3f}" for e in errors)])
    _row("largest", ["", *(f"{e.max():.3f}" for e in errors)])
    _row("root mean square (RMS)", ["", *(f"{np.sqrt(np.mean(e**2)):.3f}" for e in errors)])
    _row("RMS, predicted", ["", f"{predicted[0]:.3f}", "", f"{predicted[1]:.3f}"])


def _row(name: str, entries: list[str]) -> None:
    print(f"  {name:<22}" + "".join(f"{entry:>10}" for entry in entries))


def true_curve(grid: dp.Grid, values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the records' own F at the thresholds."""
    return np.searchsorted(np.sort(values), grid.thresholds, side="right") / values.size


def error(curve: dp.CDF, values: NDArray[Any]) -> NDArray[np.float64]:
    """Return how far a curve is from the records' own F, at each threshold."""
    return curve(curve.thresholds) - true_curve(curve.grid, values)


def draw(study: Study, values: NDArray[Any], curves: Curves) -> Path:
    """Draw the curves and, below them, their errors; return the path of the picture."""
    best, at = curves.dpcore, curves.dpcore.thresholds
    # A wide line under the others; on a fine grid a thin one, as its noise would fill the picture.
    light: dict[str, Any] = {"color": LIGHT, "linewidth": 3.5 if at.size < 500 else 0.5}
    lines: list[tuple[str, dp.CDF, dict[str, Any]]] = [
        (f"{PAPER}, raw", curves.paper, light),
        (f"{PAPER}, smoothed", curves.smoothed, {"color": VERMILION, "linewidth": 1.1}),
        ("dp.cdf", best, {"color": BLUE, "linewidth": 1.6}),
    ]
    dashed: dict[str, Any] = {"color": BLACK, "linewidth": 1.1, "linestyle": (0, (4, 2))}
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(8, 7.5), sharex=True, height_ratios=[5, 4], layout="constrained"
    )

    for name, curve, line in lines:
        above.step(at, curve(at), where="post", label=name, **line)
        below.step(at, 100 * error(curve, values), where="post", **line)
    above.step(
        at, true_curve(study.grid, values), where="post", label="true, not private", **dashed
    )
    above.set_title(study.title, loc="left", weight="bold", pad=24)
    about = f"{best.n:,} records, {at.size:,} thresholds, {best.privacy} for each release"
    above.annotate(about, (0, 1), (0, 9), "axes fraction", textcoords="offset points")
    above.set_ylabel("records at most this, %")
    above.set_yticks(np.arange(6) / 5, [f"{20 * i}" for i in range(6)])
    above.set_xlabel("")
    above.legend(loc="lower right", frameon=False)

    band = 100 * HALF_WIDTH * best.standard_error()
    shade: dict[str, Any] = {"color": BLUE, "alpha": 0.15, "linewidth": 0}
    of_band = "dp.cdf: where 95% of its errors are expected"
    below.fill_between(at, -band, band, step="post", label=of_band, **shade)
    below.legend(loc="lower right", framealpha=0.9, edgecolor="none")
    below.axhline(0, **dashed)
    below.set_ylabel("private minus true,\npercentage points")
    below.set_xlabel(study.unit)

    below.set_xlim(0, study.shown)
    widest = 400 * curves.paper.standard_error().max()
    below.set_ylim(-widest, widest)
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.92")
        axes.set_axisbelow(True)
    figure.align_ylabels()
    path = OUTPUT / f"{study.column}.png"
    stands_alone(figure)
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return path


def keep(study: Study, curve: dp.CDF) -> Path:
    """Write a release as JSON, for dpcore.CDF.from_json, and return the path."""
    path = OUTPUT / f"{study.column}.json"
    path.write_text(curve.to_json() + "\n", "utf-8")
    return path


if __name__ == "__main__":
    main()
