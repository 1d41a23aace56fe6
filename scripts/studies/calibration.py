"""Calibration from released curves, beside the truth: ``python scripts/study.py calibration``.

A classifier whose true calibration map is known; see docs/calibration.md, whose tables this writes,
and its picture docs/calibration.png. 20 runs take some minutes. The first start makes ``.venv`` in
the clone.
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="Calibration errors and calibrators, with the truth.")
parser.add_argument("--runs", type=int, default=20, metavar="N", help="of every experiment")
ARGUMENTS = parser.parse_args()
ensure("figures")

# What follows needs the environment.
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from scipy.special import expit, logit  # noqa: E402
from scipy.stats import beta  # noqa: E402

import dpcore as dp  # noqa: E402
from dpcore.mechanisms import NoNoise  # noqa: E402
from dpcore.statistics.bayesian_binning import BayesianBinning  # noqa: E402
from dpcore.statistics.binning import equi_depth_bins  # noqa: E402
from dpcore.statistics.calibration import expected_calibration_error, reliability  # noqa: E402
from dpcore.statistics.calibrators import HistogramBinning, IsotonicCalibration  # noqa: E402

Values = NDArray[np.float64]
SIZES, EPSILONS, BINS = (10**4, 10**5, 10**6), (0.1, 1.0, np.inf), 10
SHAPE, SLOPE, SHIFT = (1.2, 3.0), 2.0, 0.5
START, END = "<!-- study: start -->", "<!-- study: end -->"
# the middles of so many parts of the population, each as likely as the others
TRUTH = np.asarray(beta(*SHAPE).ppf((np.arange(2 * 10**5) + 0.5) / (2 * 10**5)))
COLOURS = {"histogram": "#9a9a9a", "isotonic": "#1f5fa8", "bayesian": "#2f6b3c"}


class Calibrator(NamedTuple):
    """A name, and how its map is fitted."""

    name: str
    fit: Any


CALIBRATORS = (
    Calibrator("HistogramBinning, 10 bins", HistogramBinning.fit),
    Calibrator("HistogramBinning, 50 bins", lambda curves: HistogramBinning.fit(curves, 50)),
    Calibrator("IsotonicCalibration", IsotonicCalibration.fit),
    Calibrator("IsotonicCalibration, 50 bins", lambda c: IsotonicCalibration.fit(c, 50)),
    Calibrator("BayesianBinning", BayesianBinning.fit),
    Calibrator(
        "BayesianBinning, sizes as published",
        lambda curves: BayesianBinning.fit(curves, published_sizes(curves.n)),
    ),
)


def main() -> None:
    """Run, write, and say where."""
    page, picture = ROOT / "docs" / "calibration.md", ROOT / "docs" / "calibration.png"
    before, _, rest = page.read_text("utf-8").partition(START)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{page} has no place for the tables: {START} ... {END}")
    text = "\n".join([START, *tables(ARGUMENTS.runs), END])
    page.write_text(before + text + after, "utf-8")
    draw(picture)
    for path in (page, picture):
        print(f"written: {path.relative_to(ROOT)}")


def scores_of(truth: Values) -> Values:
    """Return what the classifier says where this is the probability of being positive."""
    return np.asarray(expit(SLOPE * logit(truth) + SHIFT))


def true_map(scores: Values) -> Values:
    """Return the probability of being positive where the classifier says this."""
    return np.asarray(expit((logit(scores) - SHIFT) / SLOPE))


def released(n: int, epsilon: float, rng: np.random.Generator) -> dp.ScoreCurves:
    """Draw n records, and return their curves."""
    truth = rng.beta(*SHAPE, n)
    labels, scores = rng.random(n) < truth, scores_of(truth)
    if epsilon == np.inf:
        return dp.score_curves(labels, scores, mechanism=NoNoise())
    return dp.score_curves(labels, scores, epsilon=epsilon, rng=rng)


def published_sizes(n: int) -> range:
    """Return the numbers of bins of the BBQ paper's own code."""
    root = np.cbrt(n)
    return range(max(1, int(root / 10)), int(min(np.ceil(n / 5), np.ceil(10 * root))) + 1)


def tables(runs: int) -> list[str]:
    """Return both tables, and what they are of."""
    errors: dict[tuple[str, int, float], list[float]] = {}
    scores = scores_of(TRUTH)
    for n in SIZES:
        for epsilon in EPSILONS:
            rng = np.random.default_rng(1)  # the same records for every epsilon
            for _ in range(runs):
                curves = released(n, epsilon, rng.spawn(1)[0])
                bins = equi_depth_bins(curves, BINS)
                now = {
                    "uniform": expected_calibration_error(curves, BINS),
                    "equi-depth": expected_calibration_error(curves, bins),
                }
                for name, fit in CALIBRATORS:
                    found = fit(curves).predict(scores)
                    now[name] = float(np.mean(np.abs(found - TRUTH)))
                for name, value in now.items():
                    errors.setdefault((name, n, epsilon), []).append(value)
    true, inner = float(np.mean(np.abs(scores - TRUTH))), np.arange(1, BINS) / BINS
    uniform, equal = binned(inner), binned(np.quantile(scores, inner))
    return [
        f"Means of {runs} runs with new records each, and the standard deviation of one run.",
        f"Before calibration the mean distance of score and probability is {true:.4f}, and this is",
        "the expected calibration error of bins without width. The population's own is",
        f"{uniform:.4f} for {BINS} bins of one width, and {equal:.4f} for {BINS} equi-depth ones.",
        "",
        f"The expected calibration error, read off the curves, {BINS} bins:",
        *table(("uniform", "equi-depth"), errors),
        "",
        "Calibrators: the mean distance of their map and the true one.",
        *table(tuple(name for name, _ in CALIBRATORS), errors),
    ]


def binned(inner: Values) -> float:
    """Return the population's expected calibration error, given the inner edges of bins."""
    scores = scores_of(TRUTH)
    gaps = np.bincount(np.searchsorted(inner, scores), scores - TRUTH)
    return float(np.abs(gaps).sum() / TRUTH.size)


def table(names: tuple[str, ...], errors: dict[tuple[str, int, float], list[float]]) -> list[str]:
    """Return a table of means and standard deviations."""
    heads = ["exact" if epsilon == np.inf else f"epsilon = {epsilon:g}" for epsilon in EPSILONS]
    lines = ["", f"| n | | {' | '.join(heads)} |", "|---" * (len(heads) + 2) + "|"]
    for n in SIZES:
        for name in names:
            found = [np.array(errors[name, n, epsilon]) for epsilon in EPSILONS]
            cells = [f"{each.mean():.4f} ± {each.std(ddof=1):.4f}" for each in found]
            lines.append(f"| {n:,} | {name} | {' | '.join(cells)} |")
    return lines


def draw(path: Path) -> None:
    """Draw a reliability diagram, and the calibrators' maps beside the true one."""
    plt.switch_backend("Agg")
    plt.rcParams["axes.spines.top"] = plt.rcParams["axes.spines.right"] = False
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 5.6), layout="constrained")
    scores = np.linspace(0.001, 0.999, 999)
    true: dict[str, Any] = {"color": "#d1602b", "linewidth": 1.4, "label": "true map"}
    curves = released(10**5, 1.0, np.random.default_rng(1))
    reliability(curves).plot(left, color=COLOURS["isotonic"], label="released, epsilon = 1")
    left.plot(scores, true_map(scores), **true)
    left.set_title("100,000 records, epsilon = 1")
    curves = released(10**5, 0.1, np.random.default_rng(1))
    right.plot(scores, true_map(scores), **true)
    right.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--", label="calibrated")
    for kind, found in (
        ("histogram", HistogramBinning.fit(curves)),
        ("isotonic", IsotonicCalibration.fit(curves)),
        ("bayesian", BayesianBinning.fit(curves)),
    ):
        values = found.predict(scores)
        name = type(found).__name__
        right.plot(scores, values, color=COLOURS[kind], linewidth=1.6, label=name)
    right.set_title("100,000 records, epsilon = 0.1")
    right.set_xlabel("score")
    right.set_ylabel("calibrated probability")
    right.set_xlim(-0.02, 1.02)
    right.set_ylim(-0.02, 1.02)
    for ax in (left, right):
        ax.legend(frameon=False, fontsize=8, loc="upper left")
    figure.savefig(path, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
