"""Shared by figures of the federated paper: records like the paper's, its method, and ours.

The paper's data sets and classifiers are not available here. Binormal scores with the areas of its
Table 2 replace them. They are mapped so that most are small, and buckets of one width are no
quantiles.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp
from statistics import NormalDist
from typing import Final, NamedTuple, Self

import numpy as np
from _studies import quietly
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

import dpcore as dp
from dpcore.mechanisms import Mechanism
from dpcore.statistics import classifier
from dpcore.statistics.areas import area_of
from dpcore.trust import DistributedNoise, Local, SecureAggregation, UnaryEncoding

from ._data import diabetes
from ._figure import BLUE, GREY, VERMILION

Reals = NDArray[np.float64]
AREAS: Final = {"Sep": 0.79, "Oct": 0.85, "Nov": 0.73}  # Table 2
ROWS: Final = {"Sep": 958_000, "Oct": 1_000_000, "Nov": 600_000}
STAND_IN: Final = "binormal scores with the areas of Sep, Oct and Nov, in place of these"
DATA: Final = (*AREAS, "Diabetes")
CLIENTS: Final = 10**6  # at most: as many as there are records in Table 2
PART: Final = 60_000  # of the Diabetes data, drawn anew each time
MODELS: Final = ("Federated", "DistDP", "LocalDP")
COLOURS: Final = dict(zip(MODELS, (GREY, BLUE, VERMILION), strict=True))
DISTRIBUTED, LOCAL = 1.0, 5.0  # epsilon, section 7
METRICS: Final = ("precision", "recall", "accuracy")
THRESHOLDS: Final = np.arange(1, 11) / 11
FINE: Final = 14  # of our grids: 2^14 cells, where the figure does not say otherwise
FINEST: Final = 17  # areas of records are exact but for pairs within 2^-17: some 1e-8
SHIFT: Final = 1.0


@dataclass(frozen=True, eq=False)
class Records:
    """Scored labels, one record a client."""

    labels: NDArray[np.bool_]
    scores: Reals

    @classmethod
    def drawn(
        cls, area: float, clients: int, rng: np.random.Generator, shift: float = SHIFT
    ) -> Self:
        """Return normal scores with variance 1, mapped to [0, 1]; half of them are positive."""
        labels = rng.random(clients) < 0.5
        normal = rng.normal(size=clients) + (labels - 0.5) * distance(area)
        return cls(labels, ndtr(normal - shift))

    def counts(self, height: int) -> NDArray[np.int64]:
        """Return the negatives and the positives in 2^height cells, (2, 2^height)."""
        return np.asarray(self._finest.reshape(2, 2**height, -1).sum(axis=2))

    @cached_property
    def _finest(self) -> NDArray[np.int64]:
        grid = dp.Grid.uniform(0, 1, 2**FINEST)
        negatives, positives = dp.score_counts(self.labels, self.scores, grid).reshape(2, -1)
        return np.stack([negatives, positives[::-1]])

    @cached_property
    def area(self) -> float:
        """The area under the ROC curve."""
        negatives, positives = self._finest.astype(np.float64)
        return float(area_of(negatives, positives, 0.5))

    @cached_property
    def metrics(self) -> Reals:
        """Precision, recall and accuracy at the thresholds, (3, 10)."""
        where = np.searchsorted(THRESHOLDS, self.scores)  # a positive has a score above
        each = [np.bincount(where[self.labels == label], minlength=11) for label in (False, True)]
        return metrics(np.cumsum(each, axis=1, dtype=np.float64)[:, :-1], np.sum(each, axis=1))


def up_to(clients: int, data: str) -> int:
    """Return how many of so many clients there are in Table 2."""
    return min(clients, ROWS.get(data, clients))


def sample(data: str, clients: int, rng: np.random.Generator) -> Records:
    """Return new records of one of DATA; of real ones a part, without replacement."""
    if data in AREAS:
        return Records.drawn(AREAS[data], clients, rng)
    labels, scores, _ = diabetes()
    some = rng.choice(labels.size, min(clients, PART), replace=False)
    return Records(labels[some], scores[some])


def score_law(area: float, scores: Reals) -> Reals:
    """Return which part of negatives and of positives is up to scores, (2, ...), when drawn."""
    apart = distance(area) / 2
    normal = ndtri(scores) + SHIFT
    return np.stack([ndtr(normal + apart), ndtr(normal - apart)])


def distance(area: float) -> float:
    """Return the distance of two normal distributions of variance 1 with an area."""
    return float(2**0.5 * NormalDist().inv_cdf(area))


def metrics(below: Reals, totals: Reals) -> Reals:
    """Return precision, recall and accuracy, within [0, 1]; 0 of those that are undefined.

    ``below`` has the negatives and the positives up to each threshold, (2, T), and ``totals`` all.
    """
    false, true = np.expand_dims(totals, 1) - below
    right, n = true + below[0], totals.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.stack([true / (true + false), true / totals[1], right / n])
    return np.asarray(np.clip(np.nan_to_num(found, nan=0.0), 0.0, 1.0))


class Published(NamedTuple):
    """A release by the paper's method, section 2.3: a binary tree for each class.

    Parameters
    ----------
    leaves
        (2, 2^h) estimates of the counts of its cells, with the noise of one level each.
    prefixes
        (2, 2^h + 1) numbers of records before each edge of a cell, from at most h nodes.
    """

    leaves: Reals
    prefixes: Reals

    @classmethod
    def of(cls, counts: NDArray[np.int64], model: str, rng: np.random.Generator) -> Self:
        """Draw from the law of the sum of all reports, levels 1 to h with the same noise."""
        height = int(counts.shape[1]).bit_length() - 1
        levels = _levels(counts, height, model, rng)
        prefixes = np.zeros((2, 2))
        prefixes[:, 1] = levels[0].sum(axis=1)
        for nodes in levels:
            finer = np.repeat(prefixes, 2, axis=1)[:, :-1]
            finer[:, 1::2] += nodes[:, ::2]
            prefixes = finer
        return cls(levels[-1], prefixes)

    @property
    def sums(self) -> Reals:
        """(2, 2^h + 1) the same as ``prefixes``, as sums of leaves: noise adds up."""
        return _before(self.leaves)

    def quantiles(self, buckets: int) -> NDArray[np.int64]:
        """Return the edges of buckets of about as many records each, (B + 1,), by prefixes."""
        totals = np.maximum.accumulate(self.prefixes.sum(axis=0))
        wished = np.arange(1, buckets) * totals[-1] / buckets
        above = np.clip(np.searchsorted(totals, wished), 1, totals.size - 1)
        nearer = wished - totals[above - 1] < totals[above] - wished
        return np.concatenate([[0], above - nearer, [totals.size - 1]])

    def uniform(self, buckets: int) -> NDArray[np.int64]:
        """Return the edges of buckets of one width, (B + 1,)."""
        return np.asarray(np.arange(buckets + 1) * self.leaves.shape[1] // buckets)


def at_thresholds(below: Reals) -> Reals:
    """Return the metrics at the edges that are nearest to the thresholds, (3, 10)."""
    at = np.rint(THRESHOLDS * (below.shape[1] - 1)).astype(np.int64)
    return metrics(below[:, at], below[:, -1])


def area_in(below: Reals, edges: NDArray[np.int64]) -> float:
    """Return the area by Eq. 5, and 1/2 if a class is empty."""
    negatives, positives = np.diff(below[:, edges], axis=1)
    return float(np.nan_to_num(area_of(negatives, positives, 0.5), nan=0.5))


def worst_case(below: Reals, edges: NDArray[np.int64]) -> float:
    """Return the error of Eq. 5 if all pairs within buckets are in order, or if none is."""
    negatives, positives = np.diff(below[:, edges], axis=1)
    return float(np.sum(negatives * positives) / (2 * negatives.sum() * positives.sum()))


def alone(
    counts: NDArray[np.int64], edges: NDArray[np.int64], model: str, rng: np.random.Generator
) -> Reals:
    """Return the noisy numbers of records before each edge, (2, B + 1), without a tree.

    As in the paper's proofs, each bucket has noise of its own, with all of epsilon, and all clients
    report it.
    """
    exact = np.diff(_before(counts)[:, edges], axis=1)
    return _before(_noisy(exact.astype(np.int64), 1, model, rng))


def _before(counts: NDArray[np.int64] | Reals) -> Reals:
    """Return the numbers of records before each edge, 0 first, (2, cells + 1)."""
    return np.append(np.zeros((2, 1)), np.cumsum(counts, axis=1), axis=1)


def _levels(
    counts: NDArray[np.int64], height: int, model: str, rng: np.random.Generator
) -> list[Reals]:
    """Return the released counts of the nodes of levels 1 to h."""
    clients, left, released = int(counts.sum()), counts.ravel(), []
    for level in range(1, height + 1):
        asked = left  # all clients; under local privacy an h-th of them
        if model == "LocalDP":
            reports = clients * level // height - clients * (level - 1) // height
            asked = rng.multivariate_hypergeometric(left, reports, method="marginals")
            left = left - asked
        nodes = _noisy(asked.reshape(2, 2**level, -1).sum(axis=2), height, model, rng)
        released.append(nodes * (clients / int(asked.sum())))
    return released


def _noisy(nodes: NDArray[np.int64], levels: int, model: str, rng: np.random.Generator) -> Reals:
    """Return estimates of the counts of one level, which has epsilon / levels under DistDP."""
    if model == "DistDP":
        p = 1 - exp(-DISTRIBUTED / levels)
        nodes = nodes + rng.geometric(p, nodes.shape) - rng.geometric(p, nodes.shape)
    elif model == "LocalDP":
        reports = int(nodes.sum())
        encoding = UnaryEncoding(LOCAL)
        ones = encoding.simulated_totals(nodes.ravel(), reports, rng)
        return encoding.estimates(ones, reports).reshape(nodes.shape)
    return nodes.astype(np.float64)


def curves(
    counts: NDArray[np.int64],
    model: str,
    rng: np.random.Generator,
    *,
    isotonic: bool = True,
    distributed: float = DISTRIBUTED,
) -> dp.ScoreCurves:
    """Return the curves that dpcore releases by default under a model.

    Neighbours differ by one replaced record. The paper's neighbours differ by one record more or
    less. For as much noise as in the paper, pass twice its epsilon as ``distributed``.
    """
    clients = int(counts.sum())
    mechanism: Mechanism = SecureAggregation()
    if model == "DistDP":
        mechanism = DistributedNoise(distributed, clients=clients)
    elif model == "LocalDP":
        mechanism = Local(LOCAL, clients=clients)
    grid = dp.Grid.uniform(0, 1, counts.shape[1])
    joint = np.append(counts[0], counts[1, ::-1])
    with quietly():
        return dp.score_curves_from_counts(joint, grid, mechanism, isotonic=isotonic, rng=rng)


def slope(at: Sequence[float], errors: Reals) -> float:
    """Return the exponent of the power of ``at`` that mean errors follow, by least squares."""
    return float(np.polyfit(np.log(at), np.log(errors), 1)[0])


def our_metrics(found: dp.ScoreCurves) -> Reals:
    """Return dpcore's metrics of curves, (3, 10), at the nearest thresholds.

    Undefined metrics are 0.
    """
    at = np.rint(THRESHOLDS * found.grid.size) / found.grid.size
    return np.asarray(np.nan_to_num([getattr(classifier, name)(found, at) for name in METRICS]))
