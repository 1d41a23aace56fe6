"""How often intervals cover: ``python scripts/study.py intervals --data DIR [--runs N]``.

Writes docs/intervals.md: intervals of areas under ROC curves, and bands of distribution functions,
by closed forms and by simulation. It needs a folder with bank-full.csv (UCI Bank Marketing; not
part of this project). Takes three minutes. The first start makes ``.venv`` in the clone.
"""

import argparse
import os
from pathlib import Path
from typing import NamedTuple

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="The coverage of intervals and bands.")
parser.add_argument(
    "--data",
    type=Path,
    default=os.environ.get("DPCORE_DATA"),
    metavar="DIR",
    help="a folder with bank-full.csv; default: DPCORE_DATA",
)
parser.add_argument("--runs", type=int, default=100, metavar="N", help="of every release")
ARGUMENTS = parser.parse_args()
if ARGUMENTS.data is None:
    raise SystemExit("skipped: intervals.md needs --data DIR with bank-full.csv")
ensure("figures", "bench")

# What follows needs the environment.
import warnings  # noqa: E402

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from scipy.special import expit  # noqa: E402
from scipy.stats import binom  # noqa: E402

import dpcore as dp  # noqa: E402
from dpcore.mechanisms import Hierarchy, NoNoise, with_simulated_deviation  # noqa: E402
from dpcore.statistics import ROC  # noqa: E402

from ._regret_shapes import SYNTHETIC, generator  # noqa: E402
from ._roc_experiments import Scored, bank  # noqa: E402

CELLS, LEVEL = 2**10, 0.95
EPSILONS, RECORDS = (0.05, 0.1, 0.5, 1.0), (1000, 26_000, 200_000)
EPSILON, TOTALS, BAND_RUNS = 0.1, (1000, 10_000, 100_000), 40


class Intervals(NamedTuple):
    """Of the intervals of an area: shares of the releases."""

    covered: float
    nothing: float
    covered_by_bound: float
    ratio: float


def main() -> None:
    """Measure, write, and say where."""
    warnings.simplefilter("ignore", dp.DpcoreWarning)
    page = ROOT / "docs" / "intervals.md"
    page.write_text("\n".join([*of_areas(), *of_bands()]) + "\n", "utf-8")
    print(f"written: {page.relative_to(ROOT)}")


def scored(kind: str, n: int, real: Scored, rng: np.random.Generator) -> Scored:
    """Return n scored records."""
    if kind == "Bank":
        drawn = rng.choice(real.labels.size, n, replace=n > real.labels.size)
        return Scored(real.labels[drawn], real.scores[drawn])
    rate, distance, middle = {
        "binormal": (0.4, 1.2, -0.6),
        "1 % positive": (0.01, 1.5, -4.0),
        "clumped": (0.3, 1.0, -0.5),
    }[kind]
    labels = rng.random(n) < rate
    scores = expit(rng.normal(np.where(labels, distance, 0.0) + middle, 1.0))
    if kind == "clumped":  # half of the records at one score, the others at a few
        scores = np.where(rng.random(n) < 0.5, 0.25, np.round(scores * 12) / 12)
    return Scored(labels, np.asarray(scores))


def of_areas() -> list[str]:
    """Return the coverage of intervals of areas, as a table."""
    grid, real, rows, found = dp.Grid.uniform(0, 1, CELLS), bank(ARGUMENTS.data), [], []
    for kind in ("Bank", "binormal", "1 % positive", "clumped"):
        for n in RECORDS:
            records = scored(kind, n, real, generator(kind, n))
            each = [intervals(records, grid, e, generator(kind, n, e)) for e in EPSILONS]
            found += each
            cells = [
                f"{x.covered:.0%}" + (f" ({x.nothing:.0%})" if x.nothing >= 0.005 else "")
                for x in each
            ]
            mean = np.mean([x.covered for x in each])
            bound = np.mean([x.covered_by_bound for x in each])
            ratio = max(x.ratio for x in each)
            rows.append(
                f"| {kind} | {n:,} | {' | '.join(cells)} | {mean:.1%} | {bound:.1%} | {ratio:.1f} |"
            )
    total = np.mean([x.covered for x in found])
    error = np.sqrt(LEVEL * (1 - LEVEL) / ARGUMENTS.runs)
    return [
        "# How often intervals cover",
        "",
        "Written by `python scripts/study.py intervals --data DIR`. The level is 95 %, and what is",
        "to be covered is what the records themselves have: the noise is all that is random.",
        "",
        "## The area under a ROC curve",
        "",
        f"`dp.roc_curve(...).auc_interval()` over {CELLS:,} cells, {ARGUMENTS.runs} releases of",
        "each: how many of the intervals have the area of the records in these cells within. In",
        "brackets, how many of them are [0, 1], because noise may be all that there is of a class.",
        "The mean over epsilon; the same for the bound that is used where the mechanism is not",
        "known; and how many times wider that is, at the most.",
        "",
        f"| scores | n | {' | '.join(f'epsilon {e:g}' for e in EPSILONS)} | mean | bound | wider |",
        "|---" * (len(EPSILONS) + 5) + "|",
        *rows,
        "",
        f"In all, {total:.1%} of the intervals cover. A single number is known to {error:.1%} (one",
        "standard error).",
        "",
        "Bank: records of the Bank data, drawn at random, scored by a logistic regression. The",
        "others: scores of two normals; the same with 1 % of the records positive; with half of",
        "the records at one score, and the rest rounded to multiples of 1/12.",
    ]


def intervals(
    records: Scored, grid: dp.Grid, epsilon: float, rng: np.random.Generator
) -> Intervals:
    """Return how often intervals of the area cover."""
    counts = dp.score_counts(*records, grid)
    true = ROC.from_curves(dp.score_curves_from_counts(counts, grid, NoNoise())).auc
    covered, widths = np.zeros((ARGUMENTS.runs, 2)), np.zeros((ARGUMENTS.runs, 2))
    for run in range(ARGUMENTS.runs):
        curves = dp.score_curves_from_counts(counts, grid, epsilon=epsilon, rng=rng)
        mechanism = dp.mechanisms.from_curve(curves.joint)
        for i, roc in enumerate((ROC(curves, mechanism), ROC(curves))):
            low, high = roc.auc_interval(LEVEL)
            covered[run, i], widths[run, i] = low <= true <= high, high - low
    share, bound = covered.mean(axis=0).tolist()
    nothing = float((widths[:, 0] == 1.0).mean())
    return Intervals(share, nothing, bound, float(np.median(widths[:, 1] / widths[:, 0])))


def of_bands() -> list[str]:
    """Return the coverage of bands, as a table."""
    rows, least = [], binom.ppf(0.05, BAND_RUNS, LEVEL) / BAND_RUNS
    for shape in SYNTHETIC:
        weights = shape.weights(CELLS)
        assert weights is not None
        cells = []
        for n in TOTALS:
            rng = generator(shape.name, n)
            counts = rng.multinomial(n, weights / weights.sum())
            default, closed, simulated, ratio = bands(counts, rng)
            cells.append(
                f"{default.mean():.0%} ({np.quantile(default, 0.05):.0%}); {closed.mean():.0%},"
                f" {simulated.mean():.0%} ({np.quantile(simulated, 0.05):.0%}), {ratio:.2f}"
            )
        rows.append(f"| {shape.name} | {' | '.join(cells)} |")
    return [
        "",
        "## Bands of a distribution function",
        "",
        f"`dp.cdf(...).band()` over {CELLS:,} cells, {BAND_RUNS} releases of each, epsilon =",
        f"{EPSILON:g}: the share of thresholds and releases that the default's band covers, and in",
        "brackets what it is at a twentieth of the thresholds or less (the nominal level would",
        f"have {least:.0%}, with so few releases). The default takes DAWA at n = 1,000, 10,000 and",
        "100,000 here, whose error is estimated: it covers on average, and may fail beside values",
        "that many records have. Behind the semicolon the same of the isotonic hierarchy: of its",
        "closed form, of `dp.mechanisms.with_simulated_deviation`, in brackets as before, and the",
        "width of the simulated band as a part of the other's (medians). The shapes are those of",
        "`scripts/study.py regret`.",
        "",
        f"| shape | {' | '.join(f'n = {n:,}' for n in TOTALS)} |",
        "|---" * (len(TOTALS) + 1) + "|",
        *rows,
    ]


def bands(
    counts: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]:
    """Return how often three bands cover at each threshold but the last, and a ratio of widths.

    Those of the default, and of the hierarchy in closed form and by simulation.
    """
    grid, true = dp.Grid.uniform(0, 1, CELLS), np.cumsum(counts) / counts.sum()
    covered, ratios = np.zeros((3, CELLS - 1)), []
    for _ in range(BAND_RUNS):
        default = dp.cdf_from_counts(counts, grid, epsilon=EPSILON, rng=rng)
        curve = dp.cdf_from_counts(counts, grid, Hierarchy(EPSILON), rng=rng)
        simulated = with_simulated_deviation(curve)
        for i, each in enumerate((default, curve, simulated)):
            low, high = each.band(LEVEL)
            covered[i] += ((low <= true + 1e-12) & (true - 1e-12 <= high))[:-1]
        widths = simulated.noise_deviation[:-1] / curve.noise_deviation[:-1]
        ratios.append(float(np.median(widths)))
    of_default, closed, found = covered / BAND_RUNS
    return of_default, closed, found, float(np.median(ratios))


if __name__ == "__main__":
    main()
