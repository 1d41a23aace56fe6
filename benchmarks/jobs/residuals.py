"""From predicted values and residuals to the points of a private residual plot.

One floor is a pass over both columns. The other is NumPy's table alone, with known bounds.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

import dpcore as dp

from ..registry import Contender, Job

EPSILON = 1.0
COARSE = 10  # cells along an axis, in which answers are compared
FAR = 0.2  # total variation distance of an answer that is wrong
WIDTHS = 2.0 ** np.arange(25)
GAIN = 0.04


class Records(NamedTuple):
    predicted: np.ndarray
    residuals: np.ndarray


def records(size: int) -> Records:
    rng = np.random.default_rng(1)
    predicted = rng.uniform(1, 50, size)
    return Records(predicted, rng.normal(0, 1 + predicted / 25))


def ours(inputs: Records):
    return lambda: dp.residual_plot(*inputs, epsilon=EPSILON).points


def shares(size: int) -> tuple[float, float]:
    """Return epsilon_1 / 2 and epsilon_2 of the paper."""
    bounds = min(0.3 * EPSILON, 470 / size)
    return bounds / 2, EPSILON - bounds


def side(size: int) -> int:
    return max(1, round(math.sqrt(0.9 * size * shares(size)[1] / 10)))


def numpy_bounds(values: np.ndarray, rng: np.random.Generator) -> float:
    counted = np.bincount(np.searchsorted(WIDTHS[:-1], np.abs(values)), minlength=WIDTHS.size)
    scores = np.cumsum(counted) - GAIN * values.size * np.arange(WIDTHS.size)
    noise = rng.gumbel(size=WIDTHS.size)
    return WIDTHS[np.argmax(shares(values.size)[0] * scores + noise)]


def numpy_clipped(inputs: Records):
    """The paper's number of cells with noise on each, cells below 0 set to 0, and points."""
    rng = np.random.default_rng(1)

    def release():
        size = inputs.predicted.size
        ends = [(-b, b) for b in (numpy_bounds(values, rng) for values in inputs)]
        counts, *edges = np.histogram2d(*inputs, bins=side(size), range=ends)
        noisy = counts + rng.laplace(0, 2 / shares(size)[1], counts.shape)
        whole = np.maximum(np.rint(noisy), 0).astype(int)
        places = np.unravel_index(np.repeat(np.arange(whole.size), whole.ravel()), whole.shape)
        points = [
            rng.uniform(edge[at], edge[at + 1]) for edge, at in zip(edges, places, strict=True)
        ]
        return np.column_stack(points)

    return release


def numpy_table(inputs: Records):
    ends = [(-64.0, 64.0), (-16.0, 16.0)]
    return lambda: np.histogram2d(*inputs, bins=2 * side(inputs.predicted.size), range=ends)


def one_pass(inputs: Records):
    return lambda: (inputs.predicted.max(), inputs.residuals.max())


def shown(inputs: Records, points: np.ndarray) -> np.ndarray:
    """The share of the points in each of some coarse cells, over a box of the records."""
    ends = [(values.min(), values.max()) for values in inputs]
    return np.histogram2d(*points.T, bins=COARSE, range=ends)[0] / inputs.predicted.size


def disagreements(inputs: Records, outcomes):
    true = shown(inputs, np.column_stack(inputs))
    off = {name: np.abs(found - true).sum() / 2 for name, found in outcomes.items()}
    return {name: f"a distance of {far:.2f}" for name, far in off.items() if far > FAR}


JOBS = (
    Job(
        name="residual-plot",
        title="A private residual plot: bounds, a table and points",
        unit="records",
        sizes=(5_000, 10**6),
        quick=(5_000,),
        small=2_000,
        memory=10**6,
        make=records,
        outcome=shown,
        disagreements=disagreements,
        agreement=f"total variation distance to the records in 10 x 10 cells of at most {FAR}",
        contenders=(
            Contender("dpcore", "ours", ours, noise="exact"),
            Contender(
                "NumPy, a quarter of the cells, below 0 set to 0",
                "numpy",
                numpy_clipped,
                noise="inexact",
            ),
            Contender("NumPy, histogram2d alone, without bounds or noise", "floor", numpy_table),
            Contender("one pass over both columns", "floor", one_pass),
        ),
    ),
)
