"""What private models lose against others: ``python scripts/study.py models [--runs N]``.

Writes docs/models-accuracy.md: logistic and linear regression by all methods, and the share of the
noise that is there for floating point alone. Takes three minutes. The first start makes ``.venv``
in the clone.
"""

import argparse

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="The accuracy of private models.")
parser.add_argument("--runs", type=int, default=15, metavar="N", help="of every fit")
ARGUMENTS = parser.parse_args()
ensure("studies", "models")

# What follows needs the environment.
import zlib  # noqa: E402
from typing import Literal  # noqa: E402

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
TESTED = 20_000
Floats = NDArray[np.float64]


def main() -> None:
    """Measure, write, and say where."""
    page = ROOT / "docs" / "models-accuracy.md"
    page.write_text(
        "\n".join([*introduction(), *logistic(), *linear(), *covering()]) + "\n", "utf-8"
    )
    print(f"written: {page.relative_to(ROOT)}")


def generator(*names: object) -> np.random.Generator:
    """Return the generator of one run, whatever else is run."""
    return np.random.default_rng(zlib.crc32(repr(names).encode()))


def introduction() -> list[str]:
    """Return what the page is about."""
    return [
        "# Private models, measured",
        "",
        "Written by `python scripts/study.py models`. Features are uniform within their bounds,",
        f"[0, 10]; medians over {ARGUMENTS.runs} runs, each with new records and new noise, tested",
        f"on {TESTED:,} others. [models.md](models.md) has the methods.",
    ]


def features(n: int, d: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return records (n, d), and what a linear model says of them: of spread 1, around 0."""
    X = rng.uniform(0, 10, (n, d))
    slopes = np.where(np.arange(d) % 2, -1.0, 1.0) / np.sqrt(d * 100 / 12)
    return X, (X - 5) @ slopes


def table(rows: dict[str, list[str]]) -> list[str]:
    """Return a table of all numbers of features, epsilons and records."""
    sizes = " | ".join(f"n = {n:,}" for n in RECORDS)
    found = [f"| d | epsilon | method | {sizes} |", "|---" * (len(RECORDS) + 3) + "|"]
    return [*found, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items())]


def logistic() -> list[str]:
    """Return the share of labels that are right, against scikit-learn's."""
    methods: list[tuple[Literal["objective", "output"], float]]
    methods = [("objective", 0.1), ("objective", 1.0), ("objective", 10.0)]
    methods += [("output", 0.003), ("output", 0.03), ("output", 0.3)]
    rows = {}
    for d in FEATURES:
        for epsilon in EPSILONS:
            for method, inverse in methods:
                cells = []
                for n in RECORDS:
                    lost = []
                    for run in range(ARGUMENTS.runs):
                        rng = generator("logistic", d, n, run)
                        X, odds = features(n + TESTED, d, rng)
                        y = rng.random(n + TESTED) < expit(3.0 * odds)
                        ours = LogisticRegression(
                            epsilon, x_bounds=(0, 10), method=method, C=inverse, rng=rng
                        )
                        ours.fit(X[:n], y[:n])
                        best = np.mean((odds[n:] > 0) == y[n:])
                        lost.append(best - ours.score(X[n:], y[n:]))
                    cells.append(f"{np.median(lost):.1%}")
                rows[f"{d} | {epsilon:g} | `{method}`, C = {inverse:g}"] = cells
    return [
        "",
        "## Logistic regression",
        "",
        "How much less of the labels are predicted right than by the true odds, of which the",
        "logarithm has a standard deviation of 3.",
        "",
        *table(rows),
    ]


def linear() -> list[str]:
    """Return the share of the variance that is lost."""
    methods: list[tuple[Literal["moments", "output"], float]]
    methods = [("moments", 0.0), ("output", 0.01), ("output", 0.1)]
    rows = {}
    for d in FEATURES:
        for epsilon in EPSILONS:
            for method, share in methods:
                cells = []
                for n in RECORDS:
                    lost = []
                    for run in range(ARGUMENTS.runs):
                        rng = generator("linear", d, n, run)
                        X, mean = features(n + TESTED, d, rng)
                        y = mean + rng.normal(0, 0.5, n + TESTED)
                        ours = LinearRegression(
                            epsilon,
                            x_bounds=(0, 10),
                            y_bounds=(-4, 4),
                            method=method,
                            alpha=share * n or 1.0,
                            rng=rng,
                        )
                        ours.fit(X[:n], y[:n])
                        exact = linear_model.LinearRegression().fit(X[:n], y[:n])
                        lost.append(exact.score(X[n:], y[n:]) - ours.score(X[n:], y[n:]))
                    cells.append(f"{np.median(lost):.3f}")
                penalty = "alpha = 1" if share == 0.0 else f"alpha = {share:g} n"
                rows[f"{d} | {epsilon:g} | `{method}`, {penalty}"] = cells
    return [
        "",
        "## Linear regression",
        "",
        "How much smaller R^2 is than scikit-learn's, which is 0.8. More than 0.8 is worse than",
        "no model at all.",
        "",
        *table(rows),
    ]


def covering() -> list[str]:
    """Return what floating point costs: the noise for it, against the noise of all."""
    rows, size = [], FEATURES[-1] + 1
    for epsilon in EPSILONS:
        cells = []
        for n in (*RECORDS, 1_000_000):
            rng = generator("covering", n)
            X, odds = features(n, FEATURES[-1], rng)
            y = rng.random(n) < expit(3.0 * odds)
            fits = [
                LogisticRegression(epsilon, x_bounds=(0, 10), rng=rng).fit(X, y).coef_[0]
                for _ in range(10)
            ]
            deviation = 5.0 * np.sqrt(size) * np.std(fits, axis=0).mean()  # of scaled records
            penalty, scale = objective_noise(
                n, 1.0 / n, Budget.checked(epsilon, None, "replace-one")
            )
            most = scale * longest(size) / n
            distance = Objective(np.empty((size, 1)), Logistic(), penalty, None, most).distance
            alone = np.sqrt(8.0 * size) * distance / (epsilon * float(SHARE))
            cells.append(f"{alone / deviation:.1g}")
        rows.append(f"| {epsilon:g} | {' | '.join(cells)} |")
    sizes = " | ".join(f"n = {n:,}" for n in (*RECORDS, 1_000_000))
    return [
        "",
        "## What floating point costs",
        "",
        "The deviation of the noise that covers rounding errors and the solver's, as a share of",
        f"the deviation of released coefficients: `objective`, C = 1, d = {FEATURES[-1]}.",
        "",
        f"| epsilon | {sizes} |",
        "|---" * (len(RECORDS) + 2) + "|",
        *rows,
    ]


main()
