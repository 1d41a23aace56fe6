"""The accuracy that private models lose: ``python scripts/study.py models``.

Writes docs/measured/models-accuracy.md and docs/measured/models.png, about logistic and linear
regression by all methods, and the share of the noise that covers floating point alone. Takes three
minutes.
"""

from typing import Any

import numpy as np
from _pages import parts, pivot, save, write
from _studies import replicates, run
from numpy.typing import NDArray
from papers._figure import TELLING, panels
from scipy.special import expit
from sklearn import linear_model

from dpcore import studies
from dpcore.models import LinearRegression, LogisticRegression
from dpcore.models.lattice import SHARE
from dpcore.models.losses import Logistic
from dpcore.models.minimum import Objective
from dpcore.models.perturbation import objective_noise
from dpcore.models.spherical import longest
from dpcore.privacy.allowance import Allowance
from dpcore.studies import Results

Floats = NDArray[np.float64]
Rng = np.random.Generator

RUNS, TESTED = 15, 20_000
EPSILONS, FEATURES, RECORDS = (0.1, 1.0), (2, 8), (1_000, 5_000, 20_000, 100_000)
SETTINGS = {"d": FEATURES, "epsilon": EPSILONS, "n": RECORDS}
MOST = FEATURES[-1]


def features(n: int, d: int, rng: Rng) -> tuple[Floats, Floats]:
    """Return records (n, d), and a linear predictor of them with mean 0 and deviation 1."""
    X = rng.uniform(0, 10, (n, d))
    slopes = np.where(np.arange(d) % 2, -1.0, 1.0) / np.sqrt(d * 100 / 12)
    return X, (X - 5) @ slopes


@studies.study(SETTINGS)
def logistic(d: int, epsilon: float, n: int, rng: Rng) -> dict[str, float]:
    """Return how much accuracy each method loses against the true odds."""
    X, mean = features(n + TESTED, d, rng)
    y = rng.random(n + TESTED) < expit(3.0 * mean)
    right = float(np.mean((mean[n:] > 0) == y[n:]))
    found = {}
    for method, penalties in {"objective": (0.1, 1, 10), "output": (0.003, 0.03, 0.3)}.items():
        for C in penalties:
            how: dict[str, Any] = {"method": method, "C": C, "x_bounds": (0, 10), "rng": rng}
            score = LogisticRegression(epsilon, **how).fit(X[:n], y[:n]).score(X[n:], y[n:])
            found[f"`{method}`, C = {C:g}"] = right - score
    return found


@studies.study(SETTINGS)
def linear(d: int, epsilon: float, n: int, rng: Rng) -> dict[str, float]:
    """Return how much smaller R^2 is than without privacy, by the method."""
    X, mean = features(n + TESTED, d, rng)
    y = mean + rng.normal(0, 0.5, n + TESTED)
    public: dict[str, Any] = {"x_bounds": (0, 10), "y_bounds": (-4, 4), "rng": rng}
    models: dict[str, Any] = {
        "": linear_model.LinearRegression(),
        "`moments`, alpha = 1": LinearRegression(epsilon, method="moments", alpha=1.0, **public),
    }
    for share in (0.01, 0.1):
        ours = LinearRegression(epsilon, method="output", alpha=share * n, **public)
        models[f"`output`, alpha = {share:g} n"] = ours
    scores = {name: each.fit(X[:n], y[:n]).score(X[n:], y[n:]) for name, each in models.items()}
    best = scores.pop("")
    return {name: best - score for name, score in scores.items()}


@studies.study({"epsilon": EPSILONS, "n": [*RECORDS, 1_000_000]})
def covering(epsilon: float, n: int, rng: Rng) -> dict[str, float]:
    """Return the noise for floating point alone over that of ten releases: deviations."""
    X, mean = features(n, MOST, rng)
    y, size = rng.random(n) < expit(3.0 * mean), MOST + 1
    model = LogisticRegression(epsilon, x_bounds=(0, 10), rng=rng)
    fits = [model.fit(X, y).coef_[0] for _ in range(10)]
    deviation = 5.0 * np.sqrt(size) * np.std(fits, axis=0).mean()  # for scaled records
    penalty, scale = objective_noise(n, 1.0 / n, Allowance.checked(epsilon, None, "replace-one"))
    most = scale * longest(size) / n
    distance = Objective(np.empty((size, 1)), Logistic(), penalty, None, most).distance
    return {"share": np.sqrt(8.0 * size) * distance / (epsilon * float(SHARE)) / deviation}


def main() -> None:
    """Run, write and draw."""
    by_odds, by_line = run(logistic, RUNS), run(linear, RUNS)
    alone = run(covering, 1, quick=1)
    save(drawn(by_odds, by_line), "measured/models.png")

    def lost(results: Results, form: str) -> list[str]:
        def cell(method: str, **at: Any) -> str:
            return format(np.median(results.array(method, **at)), form)

        rows = {"d": "{}", "epsilon": "{:g}", "method": "{}"}
        return pivot(results, rows, {"n": "n = {:,}"}, cell, method=results.quantities)

    page = parts(
        "# Private models, measured",
        "Written by `python scripts/study.py models`. This page shows how much accuracy private"
        " models lose. Features are uniform within their bounds, [0, 10]. Numbers are medians over"
        f" {replicates(by_odds)} runs, each with new records and new noise, and are tested on"
        f" {TESTED:,} other records. [models.md](../proofs/models.md) describes the methods.",
        "![What is lost, by the number of records](models.png)",
        "## Logistic regression",
        "The share of labels that the true odds predict correctly, minus the share that the model"
        " predicts correctly. The logarithm of the true odds has a standard deviation of 3.",
        lost(by_odds, ".1%"),
        "## Linear regression",
        "scikit-learn's $R^2$, which is 0.8, minus the $R^2$ of the private model. If the"
        " difference is more than 0.8, the model is worse than no model at all.",
        lost(by_line, ".3f"),
        "## What floating point costs",
        "The standard deviation of the noise that covers rounding errors and the errors of the"
        " solver, as a share of the standard deviation of released coefficients, for `objective`,"
        f" C = 1 and d = {MOST}.",
        pivot(
            alone,
            {"epsilon": "{:g}"},
            {"n": "n = {:,}"},
            lambda **at: f"{alone.array('share', **at).mean():.1g}",
        ),
    )
    write("measured/models-accuracy.md", page)


def drawn(by_odds: Results, by_line: Results) -> Any:
    """Draw what is lost with the most features: solid lines for the larger epsilon."""
    picture, axes = panels(2, height=4.8)
    for ax, results, least, most, title in (
        (axes[0, 0], by_odds, 3e-4, 0.5, "logistic regression: labels predicted right"),
        (axes[0, 1], by_line, 3e-4, 3.0, "linear regression: $R^2$"),
    ):
        for method, colour, mark in zip(results.quantities, TELLING, "osD^vPX", strict=False):
            for epsilon, line in zip(EPSILONS, ("--", "-"), strict=True):
                median = np.median(results.array(method, d=MOST, epsilon=epsilon), axis=-1)
                label = method.replace("`", "") if line == "-" else None
                shown = np.maximum(median, least)  # next to nothing, or less: by chance
                ax.plot(RECORDS, shown, f"{mark}{line}", color=colour, markersize=4, label=label)
        ax.set(xscale="log", yscale="log", ylim=(least, most), title=title)
        ax.set(xlabel="records", ylabel=f"lost (d = {MOST})")
        ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    picture.suptitle(f"solid: epsilon = {EPSILONS[-1]:g}; dashed: epsilon = {EPSILONS[0]:g}")
    return picture
