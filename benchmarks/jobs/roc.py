"""From scored labels to a ROC curve over 2^15 thresholds. The floor: one pass, and random bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import dpcore as dp
from dpcore.noise.sources import CryptographicSource
from dpcore.releases.roc_curve import roc_curve

from ..registry import Contender, Job
from .noise import words

CELLS = 2**15
SHARE = 0.3  # of positives
STANDARD_ERRORS = 5
MESH = np.linspace(0, 1, 101)


class Inputs(NamedTuple):
    labels: np.ndarray
    scores: np.ndarray
    grid: dp.Grid


class Answer(NamedTuple):
    fpr: np.ndarray
    tpr: np.ndarray
    area: float


def records(size: int) -> Inputs:
    rng = np.random.default_rng(1)
    labels = rng.random(size) < SHARE
    scores = np.where(labels, rng.beta(4, 2, size), rng.beta(2, 4, size))
    return Inputs(labels, scores, dp.Grid.uniform(0, 1, CELLS))


def ours(inputs: Inputs):
    def release():
        roc = roc_curve(inputs.labels, inputs.scores, grid=inputs.grid, epsilon=1.0)
        return Answer(roc.fpr, roc.tpr, roc.auc)

    return release


def scikit_learn(inputs: Inputs):
    from sklearn import metrics

    def exact():
        fpr, tpr, _ = metrics.roc_curve(inputs.labels, inputs.scores)
        return Answer(fpr, tpr, metrics.roc_auc_score(inputs.labels, inputs.scores))

    return exact


def numpy_sorted(inputs: Inputs):
    """A ROC curve with every score as a threshold, right for scores without ties, as here."""

    def exact():
        ordered = inputs.labels[np.argsort(inputs.scores)[::-1]]
        true, false = np.cumsum(ordered), np.cumsum(~ordered)
        return of_counts(np.append(0, false), np.append(0, true))

    return exact


def numpy_binned(inputs: Inputs):
    def binned():
        false, true = (
            np.cumsum(np.histogram(inputs.scores[own], CELLS, (0, 1))[0][::-1])
            for own in (~inputs.labels, inputs.labels)
        )
        return of_counts(np.append(0, false), np.append(0, true))

    return binned


def of_counts(false: np.ndarray, true: np.ndarray) -> Answer:
    fpr, tpr = false / false[-1], true / true[-1]
    return Answer(fpr, tpr, np.trapezoid(tpr, fpr))


def pass_and_bits(inputs: Inputs):
    memory = words(2 * CELLS)
    return lambda: (
        inputs.scores.max(),
        inputs.labels.max(),
        CryptographicSource().fill(memory),
    )


def rates(inputs: Inputs, answer: Answer) -> np.ndarray:
    return np.append(np.interp(MESH, answer.fpr, answer.tpr), answer.area)


def roc_disagreements(inputs: Inputs, outcomes):
    exact = rates(inputs, numpy_sorted(inputs)())
    deviation = dp.mechanisms.Hierarchy(1.0).noise_deviation(2 * CELLS).max()
    bound = STANDARD_ERRORS * deviation / inputs.labels.sum()
    off = {name: np.abs(found - exact).mean() for name, found in outcomes.items()}
    return {name: f"off by {o:g}" for name, o in off.items() if not o <= bound}


def ours_counts(inputs: Inputs):
    return lambda: dp.score_counts(*inputs)


def ours_by_class(inputs: Inputs):
    labels, scores, grid = inputs

    def count():
        negatives, positives = grid.count(scores[~labels]), grid.count(scores[labels])
        return np.concatenate([negatives, positives[::-1]])

    return count


def numpy_counts(inputs: Inputs):
    labels, scores, grid = inputs

    def count():
        cells = np.searchsorted(grid.thresholds, scores)
        return np.bincount(np.where(labels, 2 * CELLS - 1 - cells, cells), minlength=2 * CELLS)

    return count


def memory_pass(inputs: Inputs):
    return lambda: (inputs.scores.max(), inputs.labels.max())


def count_disagreements(inputs: Inputs, outcomes):
    expected = numpy_counts(inputs)()
    off = {name: np.abs(found - expected).sum() for name, found in outcomes.items()}
    return {name: f"{o:g} counts off" for name, o in off.items() if o > 0}


JOBS = (
    Job(
        name="roc",
        title="From scored labels to a ROC curve and its area, 2^15 thresholds; ours: epsilon = 1",
        unit="records",
        sizes=(10**6,),
        quick=(10**6,),
        small=20_000,
        memory=10**6,
        make=records,
        outcome=rates,
        disagreements=roc_disagreements,
        agreement=(
            "true positive rates and the area differ from the exact ones by at most"
            f" {STANDARD_ERRORS} standard errors of the noise on average; only dpcore's are private"
        ),
        contenders=(
            Contender("dpcore", "ours", ours, noise="exact"),
            Contender("scikit-learn", "peer", scikit_learn, "sklearn.metrics", noise="none"),
            Contender("NumPy, sorted", "numpy", numpy_sorted, noise="none"),
            Contender("NumPy, in bins", "numpy", numpy_binned, noise="none"),
            Contender("memory pass and random bits", "floor", pass_and_bits),
        ),
    ),
    Job(
        name="score-counts",
        title="Count doubles of two classes in 2^15 uniform cells",
        unit="records",
        sizes=(10**6, 10**7),
        quick=(10**6,),
        small=20_000,
        memory=10**7,
        make=records,
        outcome=lambda inputs, answer: answer,
        disagreements=count_disagreements,
        agreement="all counts are exact",
        contenders=(
            Contender("dpcore", "ours", ours_counts),
            Contender("dpcore, class by class", "ours", ours_by_class),
            Contender("NumPy, searched", "numpy", numpy_counts),
            Contender("memory pass", "floor", memory_pass),
        ),
    ),
)
