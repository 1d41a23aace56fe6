"""Calibration from released curves: ``python scripts/study.py calibration``.

Compares it with the truth, for a classifier whose true calibration map is known. Writes the tables
of docs/guides/calibration.md and its picture, docs/guides/calibration.png. Takes some minutes.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from _pages import fill, parts, pivot, save
from _studies import quietly, replicates, run
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import beta

import dpcore as dp
from dpcore import studies
from dpcore.curves.colours import BLUE, GREEN, GREY, VERMILION
from dpcore.mechanisms import NoNoise
from dpcore.statistics import BayesianBinning, HistogramBinning, IsotonicCalibration
from dpcore.statistics.binning import equi_depth_bins
from dpcore.statistics.calibration import expected_calibration_error, reliability

Rng = np.random.Generator
Values = NDArray[np.float64]
SIZES, BINS, RUNS = (10**4, 10**5, 10**6), 10, 20
BUDGETS = {"epsilon = 0.1": 0.1, "epsilon = 1": 1.0, "exact": None}
SHAPE, SLOPE, SHIFT = (1.2, 3.0), 2.0, 0.5
# the middles of so many equally likely parts of the population
TRUTH = np.asarray(beta(*SHAPE).ppf((np.arange(2 * 10**5) + 0.5) / (2 * 10**5)))
ERRORS = ("uniform", "equi-depth")
CALIBRATORS: dict[str, Any] = {
    "HistogramBinning, 10 bins": HistogramBinning.fit,
    "HistogramBinning, 50 bins": lambda curves: HistogramBinning.fit(curves, 50),
    "IsotonicCalibration": IsotonicCalibration.fit,
    "IsotonicCalibration, 50 bins": lambda curves: IsotonicCalibration.fit(curves, 50),
    "BayesianBinning": BayesianBinning.fit,
    "BayesianBinning, sizes as published": lambda curves: BayesianBinning.fit(
        curves, published_sizes(curves.n)
    ),
}


def scores_of(truth: Values) -> Values:
    """Return the score of the classifier for a probability of being positive."""
    return np.asarray(expit(SLOPE * logit(truth) + SHIFT))


def true_map(scores: Values) -> Values:
    """Return the probability of being positive for a score of the classifier."""
    return np.asarray(expit((logit(scores) - SHIFT) / SLOPE))


def records(n: int, rng: Rng) -> tuple[NDArray[np.bool_], Values]:
    """Draw n records: their labels and their scores."""
    truth = rng.beta(*SHAPE, n)
    return rng.random(n) < truth, scores_of(truth)


def released(
    labels: NDArray[np.bool_], scores: Values, epsilon: float | None, rng: Rng
) -> dp.ScoreCurves:
    """Return released curves of records, or exact curves if there is no epsilon."""
    if epsilon is None:
        return dp.score_curves(labels, scores, mechanism=NoNoise())
    with quietly():
        return dp.score_curves(labels, scores, epsilon=epsilon, rng=rng)


def published_sizes(n: int) -> range:
    """Return the numbers of bins of the BBQ paper's own code."""
    root = np.cbrt(n)
    return range(max(1, int(root / 10)), int(min(np.ceil(n / 5), np.ceil(10 * root))) + 1)


@studies.study({"n": SIZES})
def calibration(n: int, rng: Rng) -> dict[str, Values]:
    """Return both calibration errors, and those of all calibrators, for each of BUDGETS."""
    labels, scores = records(n, rng)
    found: dict[str, list[float]] = {}
    for epsilon in BUDGETS.values():
        curves = released(labels, scores, epsilon, rng)
        now = {
            "uniform": expected_calibration_error(curves, BINS),
            "equi-depth": expected_calibration_error(curves, equi_depth_bins(curves, BINS)),
        }
        for name, fit in CALIBRATORS.items():
            now[name] = np.mean(np.abs(fit(curves).predict(scores_of(TRUTH)) - TRUTH))
        for name, error in now.items():
            found.setdefault(name, []).append(float(error))
    return {name: np.array(errors) for name, errors in found.items()}


def main() -> None:
    """Run, and write the tables and the picture."""
    results, scores = run(calibration, RUNS), scores_of(TRUTH)
    true, inner = np.mean(np.abs(scores - TRUTH)), np.arange(1, BINS) / BINS
    uniform, equal = binned(inner), binned(np.quantile(scores, inner))

    def error(n: int, of: str, budget: str) -> str:
        each = results.array(of, n=n)[:, list(BUDGETS).index(budget)]
        return f"{each.mean():.4f} ± {each.std(ddof=1):.4f}"

    def table(of: Any) -> list[str]:
        rows, columns = {"n": "{:,}", "of": "{}"}, {"budget": "{}"}
        return pivot(results, rows, columns, error, of=tuple(of), budget=tuple(BUDGETS))

    page = parts(
        f"Each number is the mean of {replicates(results)} runs, with new records in each run, ±"
        " the standard deviation of one run. Before calibration, the mean distance between score"
        f" and probability is {true:.4f}, which is the expected calibration error of bins without"
        f" width. The error of the population is {uniform:.4f} for {BINS} bins of one width, and"
        f" {equal:.4f} for {BINS} equi-depth bins.",
        f"The expected calibration error of the released curves, with {BINS} bins:",
        table(ERRORS),
        "Calibrators: the mean distance between their map and the true one.",
        table(CALIBRATORS),
    )
    fill("guides/calibration.md", page, of="calibration")
    draw()


def binned(inner: Values) -> float:
    """Return the population's expected calibration error, given the inner edges of bins."""
    scores = scores_of(TRUTH)
    gaps = np.bincount(np.searchsorted(inner, scores), scores - TRUTH)
    return float(np.abs(gaps).sum() / TRUTH.size)


def draw() -> None:
    """Draw a reliability diagram, and the calibrators' maps beside the true one."""
    plt.switch_backend("Agg")
    plt.rcParams["axes.spines.top"] = plt.rcParams["axes.spines.right"] = False
    picture, (left, right) = plt.subplots(1, 2, figsize=(10, 5.6), layout="constrained")
    scores = np.linspace(0.001, 0.999, 999)
    true: dict[str, Any] = {"color": VERMILION, "linewidth": 1.4, "label": "true map"}
    rng = np.random.default_rng(1)
    drawn = records(10**5, rng)
    reliability(released(*drawn, 1.0, rng)).plot(left, color=BLUE, label="released, epsilon = 1")
    left.plot(scores, true_map(scores), **true)
    left.set_title("100,000 records, epsilon = 1")
    curves = released(*drawn, 0.1, rng)
    right.plot(scores, true_map(scores), **true)
    right.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--", label="calibrated")
    looks = ((GREY, "--"), (BLUE, "-"), (GREEN, "-."))
    fitted: tuple[Any, ...] = (HistogramBinning, IsotonicCalibration, BayesianBinning)
    for kind, (colour, line) in zip(fitted, looks, strict=True):
        values = kind.fit(curves).predict(scores)
        right.plot(scores, values, line, color=colour, linewidth=1.6, label=kind.__name__)
    right.set_title("100,000 records, epsilon = 0.1")
    right.set(xlabel="score", ylabel="calibrated probability")
    right.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    for ax in (left, right):
        ax.legend(frameon=False, fontsize=8, loc="upper left")
    save(picture, "guides/calibration.png")
