"""Hosmer-Lemeshow tests of fitted models: ``python scripts/study.py fitted_models [--runs N]``.

Asks how often the p-value rejects models that are right, and were fitted to the tested records in
one way or another, and writes docs/hosmer-lemeshow-fits.md. All records are simulated. 200 runs
take a quarter of an hour. The first start makes ``.venv`` in the clone.
"""

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="P-values of models fitted to the same records.")
parser.add_argument("--runs", type=int, default=200, metavar="N", help="of every release")
ARGUMENTS = parser.parse_args()
ensure("figures", "bench")

# What follows needs the environment.
import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from scipy.special import expit  # noqa: E402
from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402

from dpcore.mechanisms import NoNoise  # noqa: E402
from dpcore.releases.hosmer_lemeshow import hosmer_lemeshow  # noqa: E402
from dpcore.releases.hosmer_lemeshow_by_groups import hosmer_lemeshow_by_groups  # noqa: E402

Values = NDArray[np.float64]
Rng = np.random.Generator
RECORDS, BASE, SPREAD, STEEPER = 10_000, -2.0, 1.2, 1.25
EPSILON, LEVEL, REPLICATES = 1.0, 0.05, 99


class Drawn(NamedTuple):
    """Records of a logistic regression: features with a column of ones, labels, true logits."""

    x: Values
    labels: NDArray[np.bool_]
    logits: Values


Model = Callable[[Drawn, Rng], Values]


class Case(NamedTuple):
    """Records, a model's probabilities for them, and what the test is told."""

    name: str
    model: Model
    fitted: bool
    features: int = 15
    lopsided: bool = False
    n: int = RECORDS


def drawn(case: Case, rng: Rng) -> Drawn:
    """Return records whose logits have one mean and one standard deviation in all cases."""
    x = rng.normal(size=(case.n, case.features))
    if case.lopsided:  # rare ones, and long tails
        x[:, 1::3] = x[:, 1::3] > 1.0
        x[:, 2::3] = np.exp(x[:, 2::3])
    logits = x @ np.cos(np.arange(case.features))
    logits = BASE + SPREAD * (logits - logits.mean()) / logits.std()
    return Drawn(np.column_stack([np.ones(case.n), x]), rng.random(case.n) < expit(logits), logits)


def other(slope: float, records: Drawn, rng: Rng) -> Values:
    """Return the true probabilities (slope 1), or ones that are too moderate."""
    return np.asarray(expit(BASE + (records.logits - BASE) / slope))


def likeliest(records: Drawn) -> tuple[Values, Values]:
    """Return the coefficients of largest likelihood, by Newton's method, and their information."""
    found, information = np.zeros(records.x.shape[1]), np.eye(records.x.shape[1])
    for _ in range(15):
        p = expit(records.x @ found)
        information = (records.x.T * (p * (1 - p))) @ records.x
        found = found + np.linalg.solve(information, records.x.T @ (records.labels - p))
    return found, information


def released(noise: float, records: Drawn, rng: Rng) -> Values:
    """Return the fit's probabilities, with noise of so many standard errors in its coefficients."""
    found, information = likeliest(records)
    errors = np.linalg.solve(np.linalg.cholesky(information).T, rng.normal(size=found.size))
    return np.asarray(expit(records.x @ (found + noise * errors)))


def by_scikit_learn(estimator: Any, records: Drawn, rng: Rng) -> Values:
    """Return the probabilities of a model of scikit-learn."""
    features = records.x[:, 1:]
    return np.asarray(estimator.fit(features, records.labels).predict_proba(features)[:, 1])


LIKELIEST = partial(released, 0.0)
CASES = (
    Case("right, not fitted here", partial(other, 1.0), False),
    Case("right, not fitted here, but `fitted=True`", partial(other, 1.0), True),
    Case("logistic, 3 features", LIKELIEST, True, 3),
    Case("logistic, 15 features", LIKELIEST, True),
    Case("logistic, 15 lopsided features", LIKELIEST, True, lopsided=True),
    Case("logistic, 15 features, n = 1,000", LIKELIEST, True, n=1000),
    Case("logistic, 100 features, n = 1,000", LIKELIEST, True, 100, n=1000),
    Case("logistic, 15 features, but `fitted=False`", LIKELIEST, False),
    Case("penalty, C = 1", partial(by_scikit_learn, LogisticRegression(C=1.0)), True),
    Case("penalty, C = 0.01", partial(by_scikit_learn, LogisticRegression(C=0.01)), True),
    Case("released, noise of 0.3 standard errors", partial(released, 0.3), True),
    Case("released, of 1", partial(released, 1.0), True),
    Case("released, of 1, `fitted=False`", partial(released, 1.0), False),
    Case("released, of 3, `fitted=False`", partial(released, 3.0), False),
    Case("boosting", partial(by_scikit_learn, HistGradientBoostingClassifier()), True),
    Case(f"wrong slope ({STEEPER:g}), not fitted here", partial(other, STEEPER), False),
)


def shares(case: Case) -> Values:
    """Return how often p-values are at most 5 %: without noise, ignoring it, ours, published."""
    rng, hits = np.random.default_rng(4), np.zeros(4)
    for _ in range(ARGUMENTS.runs):
        records = drawn(case, rng)
        pair = records.labels, case.model(records, rng)
        common: dict[str, Any] = {"fitted": case.fitted, "rng": rng}
        ours = hosmer_lemeshow(*pair, epsilon=EPSILON, **common)
        published = hosmer_lemeshow_by_groups(*pair, epsilon=EPSILON, **common)
        pvalues = (
            hosmer_lemeshow(*pair, mechanism=NoNoise(), **common).pvalue,
            ours.pvalue_ignoring_noise,
            ours.under_noise(REPLICATES, rng).pvalue,
            published.under_noise(REPLICATES, rng).pvalue,
        )
        hits += np.array(pvalues) <= LEVEL
    return np.asarray(hits / ARGUMENTS.runs)


def main() -> None:
    """Run, write, and say where."""
    error = (LEVEL * (1 - LEVEL) / ARGUMENTS.runs) ** 0.5
    lines = [
        "# The Hosmer-Lemeshow test of models that were fitted to the same records",
        "",
        f"Written by `python scripts/study.py fitted_models`. Shares of {ARGUMENTS.runs} releases",
        f"with a p-value of at most {LEVEL:g}. Labels are drawn from a logistic regression on",
        f"features whose logits have mean {BASE:g} and standard deviation {SPREAD:g}; n = "
        f"{RECORDS:,}",
        "where nothing else is said. Where the model is right, and the p-value holds, the share is",
        f"5 % with a standard error of {error:.1%}. [hosmer-lemeshow.md](hosmer-lemeshow.md),",
        "section 5, says what is promised, and why.",
        "",
        "- exact: without noise, by the chi-squared law;",
        f"- ignoring noise: `hosmer_lemeshow` with epsilon = {EPSILON:g}, `pvalue_ignoring_noise`;",
        f"- with noise: `under_noise({REPLICATES}).pvalue` of the same releases; `pvalue` is this",
        "  with 999 simulated releases;",
        f"- by groups: the same for `hosmer_lemeshow_by_groups`, with epsilon = {EPSILON:g}.",
        "",
        "Released models have normal noise in their coefficients, of the covariance of the",
        "estimates themselves times the square of the factor. Boosting is scikit-learn's",
        "`HistGradientBoostingClassifier`, penalties are those of its `LogisticRegression`.",
        "",
        "| model, tested on its own records | exact | ignoring noise | with noise | by groups |",
        "|---|---|---|---|---|",
    ]
    for case in CASES:
        row = " | ".join(f"{share:.1%}" for share in shares(case))
        lines.append(f"| {case.name} | {row} |")
        print(lines[-1], flush=True)
    page = ROOT / "docs" / "hosmer-lemeshow-fits.md"
    page.write_text("\n".join(lines) + "\n", "utf-8")
    print(f"written: {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
