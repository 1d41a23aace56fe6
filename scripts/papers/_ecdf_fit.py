"""Figures 6 and 10 of the ECDF paper: errors of private Hosmer-Lemeshow statistics."""

import functools
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcore.mechanisms import NoNoise
from dpcore.papers.hosmer_lemeshow_by_groups import hosmer_lemeshow_by_groups
from dpcore.releases.hosmer_lemeshow import arcsine_grid, hosmer_lemeshow
from dpcore.studies import Results

from ._data import Scored, bank, diabetes
from ._ecdf import banded, legend
from ._figure import Made, panels

__all__ = [
    "EPSILONS",
    "GROUPS",
    "TRAINED",
    "draw_errors",
    "fit_errors",
    "grid_in_words",
    "in_words",
    "of",
    "records",
    "spread",
    "textbook",
]

EPSILONS: Final = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
CELLS, FINE = 2**7, 2**12  # of the published method, which the paper leaves open; and of ours
GROUPS, TRAINED = 10, 0.2  # the model is fitted to a fifth of the records, the others are tested
LINES: Final = {
    "published": ("norm 2", "published, Algorithm 2"),
    "ours": ("ours", "dp.hosmer_lemeshow"),
}


class Textbook(NamedTuple):
    """The statistic of the records themselves, and its terms, (groups, 2): negatives, positives."""

    statistic: float
    terms: NDArray[np.float64]


def records(name: str) -> Scored:
    """Return the tested records."""
    return {"Bank": bank, "Diabetes": diabetes}[name](TRAINED)


@functools.cache
def textbook(name: str) -> Textbook:
    """Return the statistic of the records with their own probabilities and deciles."""
    labels, p, _ = records(name)
    cuts = np.quantile(p, np.arange(1, GROUPS) / GROUPS, method="inverted_cdf")
    group = np.searchsorted(cuts, p, side="left")
    columns = ((~labels, 1 - p), (labels, p))
    sums = [[np.bincount(group, each, GROUPS) for each in column] for column in columns]
    terms = np.stack([(o - e) ** 2 / e for o, e in sums], axis=1)
    return Textbook(float(terms.sum()), terms)


def fit_errors(name: str, epsilon: float, rng: np.random.Generator) -> Mapping[str, Any]:
    """Return squared relative errors of the statistic, and which term of Eq. 5 is most off.

    "lowest" says that it is the term of the positives in the group with the lowest probabilities.
    "positives" says that it is the term of the positives in another group of the lower half.
    """
    labels, p, _ = records(name)
    truth = textbook(name)
    noisy = hosmer_lemeshow_by_groups(
        labels,
        p,
        epsilon=epsilon,
        grid=arcsine_grid(CELLS),
        sensitivity="paper",
        fitted=False,
        groups=GROUPS,
        rng=rng,
    )
    terms = (noisy.observed - noisy.expected) ** 2 / noisy.expected
    group, label = divmod(int(np.argmax(np.abs(terms - truth.terms))), 2)
    ours = hosmer_lemeshow(labels, p, epsilon=epsilon, fitted=False, groups=GROUPS, rng=rng)
    return {
        "published": (noisy.statistic / truth.statistic - 1) ** 2,
        "ours": (ours.statistic / truth.statistic - 1) ** 2,
        "lowest": group == 0 and label == 1,
        "positives": 0 < group < GROUPS // 2 and label == 1,
    }


@functools.cache
def error_of_grid(name: str, cells: int) -> float:
    """Return the squared relative error of our statistic on a grid, without noise."""
    labels, p, _ = records(name)
    grid = arcsine_grid(cells)
    exact = hosmer_lemeshow(labels, p, mechanism=NoNoise(), grid=grid, fitted=False, groups=GROUPS)
    return float((exact.statistic / textbook(name).statistic - 1) ** 2)


def grid_in_words(name: str) -> str:
    """Return a sentence on the grids, and on what they do to our statistic without noise."""
    coarse, fine = (error_of_grid(name, cells) for cells in (CELLS, FINE))
    return (
        f"The published method has {CELLS} cells, which are fine near 0 and 1; the paper does not"
        " describe its own. Ours has its default grid. A statistic from counts of cells takes every"
        " probability as that of its cell, and groups end where cells do. Without noise, the"
        f" squared relative error of ours from this is {coarse:.2g} with {CELLS} cells, and"
        f" {fine:.2g} with {FINE:,}."
    )


def draw_errors(made: Made, name: str) -> None:
    """Draw mean squared errors."""
    made.uses(records(name).name)
    results = made.results["fit_errors"]
    picture, axes = panels(width=6.0, height=4.2)
    for quantity, (style, label) in LINES.items():
        banded(axes[0, 0], EPSILONS, of(results, quantity, name), style, label)
    axes[0, 0].set(xscale="log", yscale="log", xlabel="epsilon")
    axes[0, 0].set_ylabel("squared relative error of H")
    legend(axes[0, 0])
    made.save(picture)


def of(results: Results, quantity: str, name: str) -> NDArray[np.float64]:
    """Return a quantity of the named data, (epsilons, replicates)."""
    return results.array(quantity, name=name)


def spread(results: Results, name: str) -> NDArray[np.float64]:
    """Return the mean divided by the median, at each epsilon. It is large if runs vary much."""
    values = of(results, "published", name)
    return np.asarray(values.mean(axis=1) / np.median(values, axis=1))


def in_words(values: NDArray[np.float64]) -> str:
    """Return errors, (epsilons, replicates), at three epsilons."""
    mean, median = values.mean(axis=1), np.median(values, axis=1)
    at = [EPSILONS.index(epsilon) for epsilon in (0.1, 1.0, 5.0)]
    listed = ", ".join(f"{mean[i]:.2g} ({median[i]:.2g})" for i in at)
    return f"mean (median) of the squared relative error at epsilon = 0.1, 1, 5: {listed}"
