"""The part on ROC curves of scripts/study.py rivals: curves through quantiles of each class."""

import functools
from typing import Any

import numpy as np
from _pages import parts, table
from _studies import replicates
from numpy.typing import NDArray
from papers._data import bank, diabetes, heart
from papers._ecdf_roc import DIAGONAL, Points
from scipy.stats import sem

import dpcore as dp
from dpcore import studies
from dpcore.papers.quantile_roc import QuantileROC, quantile_roc
from dpcore.planning.score_grid import suited_to_scores
from dpcore.privacy.allowance import Allowance
from dpcore.statistics.between_curves import symmetric_difference
from dpcore.statistics.roc import ROC
from dpcore.trust import DistributedNoise, SecureAggregation

from ._score_grids import own

Records = tuple[NDArray[np.bool_], NDArray[np.float64]]
Rng = np.random.Generator
REAL = ("Bank", "Diabetes", "Heart disease", "tumours")
MADE = ("two normals", "rare class", "20 values", "near 0 and 1")
SIZES, EPSILONS = (1_000, 10_000, 100_000), (0.1, 0.3, 1.0, 3.0)
QUANTILES = (8, 32, 128)
OURS, SHARES, SUITED = "one curator", "noise of clients", "noise of clients, that grid"
WAYS = (OURS, SHARES, SUITED, *QUANTILES)
MEASURES = ("area between the curves", "K-S distance", "error of the AUC")
RUNS, CELLS = 20, 1000
BETWEEN = (np.arange(CELLS) + 0.5) / CELLS  # false positive rates where the curves are compared


@functools.cache
def scored(name: str) -> Records:
    """Return labels and scores of a data set by a logistic regression."""
    if name != "tumours":
        labels, scores, _ = {"Bank": bank, "Diabetes": diabetes, "Heart disease": heart}[name]()
        return labels, scores
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y)
    return y == 1, np.asarray(model.predict_proba(x)[:, 1], np.float64)


def drawn(name: str, n: int, rng: Rng) -> Records:
    """Return n records: of a data set with replacement, or of a shape."""
    if name in REAL:
        labels, scores = scored(name)
        some = rng.integers(labels.size, size=n)
        return labels[some], scores[some]
    labels = rng.random(n) < (0.02 if name == "rare class" else 0.4)
    if name == "near 0 and 1":
        return labels, rng.beta(np.where(labels, 1.0, 0.1), np.where(labels, 0.1, 1.0))
    scores = np.clip(rng.normal(np.where(labels, 0.6, 0.4), 0.15), 0.0, 1.0)
    if name == "rare class":
        scores = rng.beta(np.where(labels, 2.0, 1.0), 20.0)
    return labels, np.ceil(scores * 20) / 20 if name == "20 values" else scores


def released(records: Records, way: str | int, epsilon: float, rng: Rng) -> ROC | QuantileROC:
    """Return a release; without noise if epsilon is infinite."""
    exact = SecureAggregation() if np.isinf(epsilon) else None
    budget = None if exact else epsilon
    if isinstance(way, int):
        return quantile_roc(*records, exact, epsilon=budget, quantiles=way, rng=rng)
    if way in (SHARES, SUITED) and exact is None:
        n, grid = records[0].size, None
        how: dict[str, Any] = {}
        if way == SUITED:  # the grid of the default, which only public numbers choose
            grid, chosen = suited_to_scores(n, Allowance.checked(epsilon, None, "replace-one"))
            how = {} if chosen.name == "hierarchy" else {"branching": (2 * grid.size,)}
        trust = DistributedNoise(epsilon, clients=n, **how)
        return dp.roc_curve(*records, grid, trust, rng=rng)
    return dp.roc_curve(*records, mechanism=exact, epsilon=budget, rng=rng)


def off(true: Points, roc: ROC | QuantileROC) -> tuple[float, ...]:
    """Return the errors of a curve; that of the diagonal if a class came out empty."""
    fpr, tpr = roc.fpr, roc.tpr
    curve = DIAGONAL if np.isnan(fpr[0] + tpr[0]) else Points(fpr, tpr)
    first, second = (np.interp(BETWEEN, each.fpr, each.tpr) for each in (true, curve))
    area, own = (np.trapezoid(each.tpr, each.fpr) for each in (true, curve))
    apart = symmetric_difference(true, curve)
    return apart, float(np.max(np.abs(first - second))), float(abs(area - own))


@studies.study({"scores": (*REAL, *MADE), "n": SIZES})
def errors_of_rocs(scores: str, n: int, rng: Rng) -> dict[str, Any]:
    """Return the errors of releases of n records: by ways, then by epsilons, infinity the last."""
    records = drawn(scores, n, rng)
    exact = own(*records)[0]
    true = Points(exact.fpr, exact.tpr)
    found = [
        [off(true, released(records, way, epsilon, rng)) for epsilon in (*EPSILONS, np.inf)]
        for way in WAYS
    ]
    return dict(zip(MEASURES, np.array(found).reshape(-1, len(MEASURES)).T, strict=True))


def means(results: Any, measure: str, **at: Any) -> NDArray[np.float64]:
    """Return mean errors, (ways, epsilons and infinity)."""
    found = results.array(measure, **at).mean(axis=0)
    return np.asarray(found.reshape(len(WAYS), len(EPSILONS) + 1))


def spread(results: Any) -> float:
    """Return the median standard error of the means of the first measure, as a part of them."""
    found = results.array(results.quantities[0])
    errors, mean = sem(found, axis=-2), found.mean(axis=-2)
    return float(np.median(errors[mean > 0.0] / mean[mean > 0.0]))


def of_rocs(results: Any) -> list[str]:
    """Return this part of the page."""
    epsilons = tuple(f"{epsilon:g}" for epsilon in EPSILONS)
    return parts(
        ROCS.format(runs=replicates(results), spread=spread(results)),
        table(("scores", "n", *epsilons, "exact sums"), by_scores(results)),
        "Geometric means of the rival's error over ours, with 8 quantiles and with the best number;"
        " last, over `trust.DistributedNoise` on its default grid and on the curator's.",
        table(("", "n", *epsilons), summary(results)),
    )


def by_scores(results: Any) -> list[tuple[str, ...]]:
    """Return the areas between the curves, of ours and of all rivals."""
    rows = []
    for name in (*REAL, *MADE):
        for n in SIZES:
            ours, _, _, *rivals = means(results, MEASURES[0], scores=name, n=n)
            entries = [
                f"{own:.4f} (" + ", ".join(f"{each:.4f}" for each in others) + ")"
                for own, *others in zip(ours, *rivals, strict=True)
            ]
            rows.append((name, f"{n:,}", *entries))
    return rows


def summary(results: Any) -> list[tuple[str, ...]]:
    """Return geometric means of the ratios, by measure and n."""
    rows = []
    pairs = [(each, OURS) for each in MEASURES] + [(MEASURES[0], each) for each in (SHARES, SUITED)]
    for measure, way in pairs:
        for n in SIZES:
            ratios = []
            for name in (*REAL, *MADE):
                found = means(results, measure, scores=name, n=n)[:, :-1]
                rivals = found[len(WAYS) - len(QUANTILES) :]
                best = np.stack([rivals[0], rivals.min(axis=0)]) / found[WAYS.index(way)]
                ratios.append(np.log(best))
            eight, least = np.exp(np.mean(ratios, axis=0))
            entries = [f"{a:.2f}, {b:.2f}" for a, b in zip(eight, least, strict=True)]
            shown = measure if way == OURS else f"{measure}: {way}"
            rows.append((shown, f"{n:,}", *entries))
    return rows


ROCS = """\
## ROC curves through quantiles

Xu & Cormode 2025 (`dpcore.papers.quantile_roc`). Area between the released curve and the records'
own, by epsilon: `dp.roc_curve`, and in brackets the rival with 8, 32, 128 quantiles. {runs} runs,
median standard error {spread:.0%}. Shares of clients have one curator's noise, exact sums none."""
