"""Hosmer-Lemeshow tests of fitted models: ``python scripts/study.py fitted_models``.

Measures how often the p-value rejects right models that were fitted to the tested records in
different ways. Writes docs/measured/hosmer-lemeshow-fits.md. All records are simulated. Takes a
quarter of an hour.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from _pages import parts, table, write
from _studies import replicates, run
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from dpcore import studies
from dpcore.mechanisms import NoNoise
from dpcore.papers.hosmer_lemeshow_by_groups import hosmer_lemeshow_by_groups
from dpcore.releases.hosmer_lemeshow import FINEST, hosmer_lemeshow

Values = NDArray[np.float64]
Rng = np.random.Generator
RECORDS, BASE, SPREAD, STEEPER = 10_000, -2.0, 1.2, 1.25
EPSILON, LEVEL, REPLICATES, RUNS = 1.0, 0.05, 99, 200


class Drawn(NamedTuple):
    """Records of a logistic regression: features with a column of ones, labels, and true logits."""

    x: Values
    labels: NDArray[np.bool_]
    logits: Values


def drawn(features: int, n: int, lopsided: bool, rng: Rng) -> Drawn:
    """Return records whose logits have the same mean and standard deviation in all cases."""
    x = rng.normal(size=(n, features))
    if lopsided:  # rare ones, and long tails
        x[:, 1::3] = x[:, 1::3] > 1.0
        x[:, 2::3] = np.exp(x[:, 2::3])
    logits = x @ np.cos(np.arange(features))
    logits = BASE + SPREAD * (logits - logits.mean()) / logits.std()
    return Drawn(np.column_stack([np.ones(n), x]), rng.random(n) < expit(logits), logits)


def other(slope: float, records: Drawn, rng: Rng) -> Values:
    """Return the true probabilities (slope 1), or probabilities that are too moderate."""
    return np.asarray(expit(BASE + (records.logits - BASE) / slope))


def likeliest(records: Drawn) -> tuple[Values, Values]:
    """Return the maximum-likelihood coefficients, by Newton's method, and their information."""
    found, information = np.zeros(records.x.shape[1]), np.eye(records.x.shape[1])
    for _ in range(15):
        p = expit(records.x @ found)
        information = (records.x.T * (p * (1 - p))) @ records.x
        found = found + np.linalg.solve(information, records.x.T @ (records.labels - p))
    return found, information


def released(noise: float, records: Drawn, rng: Rng) -> Values:
    """Return probabilities of the fit, with noise in its coefficients, in standard errors."""
    found, information = likeliest(records)
    errors = np.linalg.solve(np.linalg.cholesky(information).T, rng.normal(size=found.size))
    return np.asarray(expit(records.x @ (found + noise * errors)))


def penalised(C: float, records: Drawn, rng: Rng) -> Values:
    """Return the probabilities of scikit-learn's logistic regression."""
    return by_scikit_learn(LogisticRegression(C=C), records)


def boosted(rate: float, records: Drawn, rng: Rng) -> Values:
    """Return the probabilities of scikit-learn's boosted trees."""
    estimator = HistGradientBoostingClassifier(learning_rate=rate, random_state=0)
    return by_scikit_learn(estimator, records)  # nothing is random for so few records


def by_scikit_learn(estimator: Any, records: Drawn) -> Values:
    """Return the probabilities of a model of scikit-learn."""
    features = records.x[:, 1:]
    return np.asarray(estimator.fit(features, records.labels).predict_proba(features)[:, 1])


MODELS: dict[str, Callable[[float, Drawn, Rng], Values]] = {
    each.__name__: each for each in (other, released, penalised, boosted)
}
# The model and its parameter, whether the test is told that it was fitted; features, n, lopsided.
CASES: dict[str, tuple[str, float, bool, int, int, bool]] = {
    "right, not fitted here": ("other", 1.0, False, 15, RECORDS, False),
    "right, not fitted here, but `fitted=True`": ("other", 1.0, True, 15, RECORDS, False),
    "logistic, 3 features": ("released", 0.0, True, 3, RECORDS, False),
    "logistic, 15 features": ("released", 0.0, True, 15, RECORDS, False),
    "logistic, 15 lopsided features": ("released", 0.0, True, 15, RECORDS, True),
    "logistic, 15 features, n = 1,000": ("released", 0.0, True, 15, 1000, False),
    "logistic, 100 features, n = 1,000": ("released", 0.0, True, 100, 1000, False),
    "logistic, 15 features, but `fitted=False`": ("released", 0.0, False, 15, RECORDS, False),
    "penalty, C = 1": ("penalised", 1.0, True, 15, RECORDS, False),
    "penalty, C = 0.01": ("penalised", 0.01, True, 15, RECORDS, False),
    "released, noise of 0.3 standard errors": ("released", 0.3, True, 15, RECORDS, False),
    "released, of 1": ("released", 1.0, True, 15, RECORDS, False),
    "released, of 1, `fitted=False`": ("released", 1.0, False, 15, RECORDS, False),
    "released, of 3, `fitted=False`": ("released", 3.0, False, 15, RECORDS, False),
    "boosting": ("boosted", 0.1, True, 15, RECORDS, False),
    f"wrong slope ({STEEPER:g}), not fitted here": ("other", STEEPER, False, 15, RECORDS, False),
}
WAYS = ("exact", "ignoring noise", "with noise", "by groups")


@studies.study({"case": list(CASES)})
def rejected(case: str, rng: Rng) -> dict[str, bool]:
    """Return whether p-values are at most 5 %: without noise, ignoring noise, ours, published."""
    name, number, fitted, features, n, lopsided = CASES[case]
    records = drawn(features, n, lopsided, rng)
    pair = records.labels, MODELS[name](number, records, rng)
    common: dict[str, Any] = {"fitted": fitted, "rng": rng}
    ours = hosmer_lemeshow(*pair, epsilon=EPSILON, **common)
    published = hosmer_lemeshow_by_groups(*pair, epsilon=EPSILON, **common)
    pvalues = (
        hosmer_lemeshow(*pair, mechanism=NoNoise(), **common).pvalue,
        ours.pvalue_ignoring_noise,
        ours.under_noise(REPLICATES, rng).pvalue,
        published.under_noise(REPLICATES, rng).pvalue,
    )
    return {way: bool(p <= LEVEL) for way, p in zip(WAYS, pvalues, strict=True)}


BULLETS = f"""\
- exact: without noise, on {FINEST:,} cells, which are then the default. So many cells hardly change
  the chi-squared law.
- ignoring noise: `pvalue_ignoring_noise` of `hosmer_lemeshow` with epsilon = {EPSILON:g}, on its
  default grid.
- with noise: `under_noise({REPLICATES}).pvalue` of the same releases; `pvalue` does the same with
  999 simulated releases.
- by groups: the same for `hosmer_lemeshow_by_groups`, with epsilon = {EPSILON:g}."""


def main() -> None:
    """Run, and write."""
    results = run(rejected, RUNS)
    count = replicates(results)
    rows = (
        (case, *(f"{results.array(way, case=case).mean():.1%}" for way in WAYS)) for case in CASES
    )
    page = parts(
        "# The Hosmer-Lemeshow test of models that were fitted to the same records",
        "This page shows how often the Hosmer-Lemeshow test rejects models that were fitted to the"
        " tested records. It is written by `python scripts/study.py fitted_models`. The table shows"
        f" which share of {count} releases has a p-value of at most {LEVEL:g}. Labels are drawn"
        f" from a logistic regression on features whose logits have mean {BASE:g} and standard"
        f" deviation {SPREAD:g}. Unless a row says otherwise, n = {RECORDS:,}. If the model is"
        " right and the p-value is valid, the share is about 5 %, or less, because `pvalue` allows"
        " for the width of cells. The standard error of such a share is"
        f" {(LEVEL * (1 - LEVEL) / count) ** 0.5:.1%}."
        " [hosmer-lemeshow.md](../proofs/hosmer-lemeshow.md), section 5, says what is promised,"
        " and why.",
        BULLETS,
        "Released models have normal noise in their coefficients. Its covariance is that of the"
        " estimates themselves times the square of the factor. Boosting is scikit-learn's"
        " `HistGradientBoostingClassifier`, and penalties are those of its `LogisticRegression`.",
        table(["model, tested on its own records", *WAYS], rows),
    )
    write("measured/hosmer-lemeshow-fits.md", page)
