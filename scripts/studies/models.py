"""What private models lose against others: ``python scripts/study.py models [--runs N]``.

Writes docs/models-accuracy.md and docs/models.png: logistic and linear regression by all methods,
and the share of the noise that is there for floating point alone. Takes three minutes. The first
start makes ``.venv`` in the clone.
"""

import argparse

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="The accuracy of private models.")
parser.add_argument("--runs", type=int, default=15, metavar="N", help="of every fit")
ARGUMENTS = parser.parse_args()
ensure("figures", "models")

# What follows needs the environment.
import zlib  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from scipy.special import expit  # noqa: E402
from sklearn import linear_model  # noqa: E402

from dpcore.models import LinearRegression, LogisticRegression  # noqa: E402
from dpcore.models.lattice import SHARE  # noqa: E402
from dpcore.models.losses import Logistic  # noqa: E402
from dpcore.models.minimum import Objective  # noqa: E402
from dpcore.models.perturbation import objective_noise  # noqa: E402
from dpcore.models.spherical import longest  # noqa: E402
from dpcore.privacy.budget import Budget  # noqa: E402

RECORDS, EPSILONS, FEATURES = (1_000, 5_000, 20_000, 100_000), (0.1, 1.0), (2, 8)
MOST_RECORDS = (*RECORDS, 1_000_000)
TESTED = 20_000
LOGISTIC: dict[str, dict[str, Any]] = {
    "`objective`, C = 0.1": {"method": "objective", "C": 0.1},
    "`objective`, C = 1": {"method": "objective", "C": 1.0},
    "`objective`, C = 10": {"method": "objective", "C": 10.0},
    "`output`, C = 0.003": {"method": "output", "C": 0.003},
    "`output`, C = 0.03": {"method": "output", "C": 0.03},
    "`output`, C = 0.3": {"method": "output", "C": 0.3},
}
LINEAR: dict[str, Callable[[int], dict[str, Any]]] = {
    "`moments`, alpha = 1": lambda n: {"method": "moments", "alpha": 1.0},
    "`output`, alpha = 0.01 n": lambda n: {"method": "output", "alpha": 0.01 * n},
    "`output`, alpha = 0.1 n": lambda n: {"method": "output", "alpha": 0.1 * n},
}
Floats = NDArray[np.float64]
Lost = dict[tuple[int, float, str], list[float]]  # by n, for d, epsilon and the method


def main() -> None:
    """Measure, write, draw, and say where."""
    logistic, linear = measured(list(LOGISTIC), logistic_lost), measured(list(LINEAR), linear_lost)
    page = ROOT / "docs" / "models-accuracy.md"
    lines = [*introduction(), *of_logistic(logistic), *of_linear(linear), *covering()]
    page.write_text("\n".join(lines) + "\n", "utf-8")
    draw(logistic, linear)
    print(f"written: {page.relative_to(ROOT)}, docs/models.png")


def generator(*names: object) -> np.random.Generator:
    """Return the generator of one run, whatever else is run."""
    return np.random.default_rng(zlib.crc32(repr(names).encode()))


def features(n: int, d: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return records (n, d), and what a linear model says of them: of spread 1, around 0."""
    X = rng.uniform(0, 10, (n, d))
    slopes = np.where(np.arange(d) % 2, -1.0, 1.0) / np.sqrt(d * 100 / 12)
    return X, (X - 5) @ slopes


def logistic_lost(d: int, epsilon: float, method: str, n: int, run: int) -> float:
    """Return how much less of the labels are right than by the true odds."""
    rng = generator("logistic", d, n, run)
    X, mean = features(n + TESTED, d, rng)
    y = rng.random(n + TESTED) < expit(3.0 * mean)
    ours = LogisticRegression(epsilon, x_bounds=(0, 10), rng=rng, **LOGISTIC[method])
    right = float(np.mean((mean[n:] > 0) == y[n:]))
    return right - float(ours.fit(X[:n], y[:n]).score(X[n:], y[n:]))


def linear_lost(d: int, epsilon: float, method: str, n: int, run: int) -> float:
    """Return how much smaller R^2 is than without privacy."""
    rng = generator("linear", d, n, run)
    X, mean = features(n + TESTED, d, rng)
    y = mean + rng.normal(0, 0.5, n + TESTED)
    ours = LinearRegression(
        epsilon, x_bounds=(0, 10), y_bounds=(-4, 4), rng=rng, **LINEAR[method](n)
    )
    scores = [
        float(each.fit(X[:n], y[:n]).score(X[n:], y[n:]))
        for each in (linear_model.LinearRegression(), ours)
    ]
    return scores[0] - scores[1]


def measured(methods: list[str], lost: Callable[[int, float, str, int, int], float]) -> Lost:
    """Return medians."""
    return {
        (d, epsilon, method): [
            float(np.median([lost(d, epsilon, method, n, run) for run in range(ARGUMENTS.runs)]))
            for n in RECORDS
        ]
        for d in FEATURES
        for epsilon in EPSILONS
        for method in methods
    }


def introduction() -> list[str]:
    """Return what the page is about."""
    return [
        "# Private models, measured",
        "",
        "Written by `python scripts/study.py models`. Features are uniform within their bounds,",
        f"[0, 10]; medians over {ARGUMENTS.runs} runs, each with new records and new noise, tested",
        f"on {TESTED:,} others. [models.md](models.md) has the methods.",
        "",
        "![What is lost, by the number of records](models.png)",
    ]


def table(lost: Lost, form: str) -> list[str]:
    """Return a table of all numbers of features, epsilons and records."""
    sizes = " | ".join(f"n = {n:,}" for n in RECORDS)
    rows = [
        f"| {d} | {epsilon:g} | {method} | {' | '.join(format(x, form) for x in found)} |"
        for (d, epsilon, method), found in lost.items()
    ]
    return [f"| d | epsilon | method | {sizes} |", "|---" * (len(RECORDS) + 3) + "|", *rows]


def of_logistic(lost: Lost) -> list[str]:
    """Return the section on logistic regression."""
    return [
        "",
        "## Logistic regression",
        "",
        "How much less of the labels are predicted right than by the true odds, of which the",
        "logarithm has a standard deviation of 3.",
        "",
        *table(lost, ".1%"),
    ]


def of_linear(lost: Lost) -> list[str]:
    """Return the section on linear regression."""
    return [
        "",
        "## Linear regression",
        "",
        "How much smaller R^2 is than scikit-learn's, which is 0.8. More than 0.8 is worse than",
        "no model at all.",
        "",
        *table(lost, ".3f"),
    ]


def covering() -> list[str]:
    """Return what floating point costs: the noise for it, against the noise of all."""
    rows, size = [], FEATURES[-1] + 1
    for epsilon in EPSILONS:
        cells = []
        for n in MOST_RECORDS:
            rng = generator("covering", n)
            X, mean = features(n, FEATURES[-1], rng)
            y = rng.random(n) < expit(3.0 * mean)
            model = LogisticRegression(epsilon, x_bounds=(0, 10), rng=rng)
            fits = [model.fit(X, y).coef_[0] for _ in range(10)]
            deviation = 5.0 * np.sqrt(size) * np.std(fits, axis=0).mean()  # for scaled records
            budget = Budget.checked(epsilon, None, "replace-one")
            penalty, scale = objective_noise(n, 1.0 / n, budget)
            most = scale * longest(size) / n
            distance = Objective(np.empty((size, 1)), Logistic(), penalty, None, most).distance
            alone = np.sqrt(8.0 * size) * distance / (epsilon * float(SHARE))
            cells.append(f"{alone / deviation:.1g}")
        rows.append(f"| {epsilon:g} | {' | '.join(cells)} |")
    sizes = " | ".join(f"n = {n:,}" for n in MOST_RECORDS)
    return [
        "",
        "## What floating point costs",
        "",
        "The deviation of the noise that covers rounding errors and the solver's, as a share of",
        f"the deviation of released coefficients: `objective`, C = 1, d = {FEATURES[-1]}.",
        "",
        f"| epsilon | {sizes} |",
        "|---" * (len(MOST_RECORDS) + 1) + "|",
        *rows,
    ]


def draw(logistic: Lost, linear: Lost) -> None:
    """Draw what is lost with the most features: solid lines for the larger epsilon."""
    plt.switch_backend("Agg")
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained")
    for ax, lost, least, most, title in (
        (panels[0], logistic, 3e-4, 0.5, "logistic regression: labels predicted right"),
        (panels[1], linear, 3e-4, 3.0, "linear regression: $R^2$"),
    ):
        names = list(dict.fromkeys(method for _, _, method in lost))
        for (d, epsilon, method), found in lost.items():
            if d == FEATURES[-1]:
                larger = epsilon == EPSILONS[-1]
                ax.plot(
                    RECORDS,
                    np.maximum(found, least),  # next to nothing, or less: by chance
                    color=f"C{names.index(method)}",
                    linestyle="-" if larger else "--",
                    label=method.replace("`", "") if larger else None,
                )
        ax.set(xscale="log", yscale="log", ylim=(least, most), title=title)
        ax.set(xlabel="records", ylabel=f"lost (d = {FEATURES[-1]})")
        ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    figure.suptitle(f"solid: epsilon = {EPSILONS[-1]:g}; dashed: epsilon = {EPSILONS[0]:g}")
    figure.savefig(ROOT / "docs" / "models.png", dpi=110, metadata={"Software": None})


main()
