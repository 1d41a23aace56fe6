"""Checks of a classifier in one number: the Hosmer-Lemeshow test, and the area by SmoothS.

The floor is one pass over the records, or sorting them.
"""

from __future__ import annotations

import numpy as np

import dpcore as dp
from dpcore.papers.hosmer_lemeshow_by_groups import hosmer_lemeshow_by_groups
from dpcore.papers.smooth_roc_curve import smooth_roc_curve
from dpcore.releases.hosmer_lemeshow import hosmer_lemeshow

from ..registry import Contender, Job
from .roc import Inputs, memory_pass, records

GROUPS = 10
TOLERANCE = 1e-3  # of n: the middles of cells replace probabilities, and noise is about ten records
EPSILON = 10.0  # of the area: Cauchy noise is sometimes very large
AREA_TOLERANCE = 0.05


# --- the Hosmer-Lemeshow test


def predictions(size: int) -> Inputs:
    rng = np.random.default_rng(1)
    probabilities = rng.beta(2, 5, size)
    return Inputs(rng.random(size) < probabilities, probabilities, dp.Grid.uniform(0, 1, 1))


def ours(inputs: Inputs):
    return lambda: sums(hosmer_lemeshow(*inputs[:2], epsilon=1.0, fitted=False))


def published(inputs: Inputs):
    return lambda: sums(hosmer_lemeshow_by_groups(*inputs[:2], epsilon=1.0, fitted=False))


def sums(test) -> np.ndarray:
    assert np.isfinite(test.statistic)
    return np.array([test.observed[:, 1].sum(), test.expected[:, 1].sum()])


def numpy_exact(inputs: Inputs):
    labels, probabilities, _ = inputs

    def exact():
        ends = np.quantile(probabilities, np.arange(1, GROUPS) / GROUPS)
        group = np.searchsorted(ends, probabilities)
        observed = np.bincount(group, labels, GROUPS)
        expected, sizes = np.bincount(group, probabilities, GROUPS), np.bincount(group)
        assert ((observed - expected) ** 2 / expected / (1 - expected / sizes)).sum() > 0.0
        return np.array([observed.sum(), expected.sum()])

    return exact


def positives_disagreements(inputs: Inputs, outcomes):
    exact, n = numpy_exact(inputs)(), inputs.labels.size
    off = {name: np.abs(found - exact).max() / n for name, found in outcomes.items()}
    return {name: f"off by {o:g} n" for name, o in off.items() if not o <= TOLERANCE + 400 / n}


# --- the area under the ROC curve


def ours_area(inputs: Inputs):
    return lambda: smooth_roc_curve(*inputs[:2], epsilon=EPSILON).auc


def scikit_learn_area(inputs: Inputs):
    from sklearn import metrics

    return lambda: metrics.roc_auc_score(*inputs[:2])


def numpy_area(inputs: Inputs):
    labels, scores, _ = inputs

    def exact():
        ranks = np.empty(scores.size)
        ranks[np.argsort(scores)] = np.arange(1, scores.size + 1)
        positives = int(labels.sum())
        above = ranks[labels].sum() - positives * (positives + 1) / 2
        return above / positives / (labels.size - positives)

    return exact


def sorting(inputs: Inputs):
    return lambda: np.sort(inputs.scores)


def area_disagreements(inputs: Inputs, outcomes):
    exact = numpy_area(inputs)()
    off = {name: abs(found - exact) for name, found in outcomes.items()}
    return {name: f"off by {o:g}" for name, o in off.items() if not o <= AREA_TOLERANCE}


JOBS = (
    Job(
        name="hosmer-lemeshow",
        title="The Hosmer-Lemeshow test of 10 groups; dpcore's: epsilon = 1",
        unit="records",
        sizes=(10**6,),
        quick=(10**6,),
        small=20_000,
        memory=10**6,
        make=predictions,
        outcome=lambda inputs, answer: answer,
        disagreements=positives_disagreements,
        agreement=(
            "observed and expected positives differ by at most a thousandth of n plus 400; only"
            " dpcore's are private"
        ),
        contenders=(
            Contender("dpcore", "ours", ours, noise="exact"),
            Contender("dpcore, as published", "ours", published, noise="exact"),
            Contender("NumPy by hand", "numpy", numpy_exact, noise="none"),
            Contender("memory pass", "floor", memory_pass),
        ),
    ),
    Job(
        name="smooth-auc",
        title="The area under the ROC curve alone, by SmoothS, epsilon = 10",
        unit="records",
        sizes=(10**6,),
        quick=(10**6,),
        small=20_000,
        memory=10**6,
        make=records,
        outcome=lambda inputs, answer: answer,
        disagreements=area_disagreements,
        agreement=f"areas differ by at most {AREA_TOLERANCE}; only dpcore's is private",
        contenders=(
            Contender("dpcore", "ours", ours_area, noise="exact"),
            Contender("scikit-learn", "peer", scikit_learn_area, "sklearn.metrics", noise="none"),
            Contender("NumPy, by ranks", "numpy", numpy_area, noise="none"),
            Contender("sorting the scores", "floor", sorting),
        ),
    ),
)
