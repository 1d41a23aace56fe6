"""A private median by the exponential mechanism. The floor is one pass over the counts."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

import dpcore as dp
from dpcore.releases.quantiles import quantiles_from_counts

from ..registry import Contender, Job

RECORDS = 10**6
EPSILON = 1.0
FAILURE = 1e-9  # how likely it is that a right answer is taken for a wrong one


class Cells(NamedTuple):
    counts: np.ndarray
    grid: dp.Grid


def cells(size: int) -> Cells:
    grid = dp.Grid.uniform(0, 1, size)
    return Cells(grid.count(np.random.default_rng(1).beta(2, 5, RECORDS)), grid)


def ours(inputs: Cells):
    return lambda: quantiles_from_counts(inputs.counts, [0.5], inputs.grid, epsilon=EPSILON).values[
        0
    ]


def scores(counts: np.ndarray) -> np.ndarray:
    return -abs(np.cumsum(counts) - RECORDS // 2)


def numpy_gumbel(inputs: Cells):
    rng = np.random.default_rng(1)

    def draw():
        noise = rng.gumbel(0.0, 2 / EPSILON, inputs.counts.size)
        return inputs.grid.thresholds[np.argmax(scores(inputs.counts) + noise)]

    return draw


def opendp_noisy_max(measure: str):
    def start(inputs: Cells):
        import opendp.prelude as odp

        odp.enable_features("contrib")
        select = odp.m.make_noisy_max(
            odp.vector_domain(odp.atom_domain(T="i64")),
            odp.linf_distance(T="i64"),
            getattr(odp, measure)(),
            scale=2 / EPSILON,
        )
        return lambda: inputs.grid.thresholds[select(scores(inputs.counts).tolist())]

    return start


def one_pass(inputs: Cells):
    return lambda: inputs.counts.sum()


def rank(inputs: Cells, threshold: float) -> int:
    """Return how many records are up to a threshold, beyond all of them for one above the last."""
    cumulative = np.append(np.cumsum(inputs.counts), 2 * RECORDS)
    return int(cumulative[np.searchsorted(inputs.grid.thresholds, threshold)])


def disagreements(inputs: Cells, outcomes):
    # McSherry & Talwar 2007, Theorem 7; the nearest rank is within half of the largest cell.
    size = inputs.counts.size
    bound = inputs.counts.max() / 2 + 2 / EPSILON * math.log(size / FAILURE)
    off = {name: abs(found - RECORDS / 2) for name, found in outcomes.items()}
    return {name: f"{o:g} ranks off the median" for name, o in off.items() if o > bound}


JOBS = (
    Job(
        name="selection",
        title="A private median by the exponential mechanism, of 10^6 records in cells",
        unit="cells",
        sizes=(2**15,),
        quick=(2**15,),
        small=2**9,
        memory=2**15,
        make=cells,
        outcome=rank,
        disagreements=disagreements,
        agreement=f"no more ranks off than is likely with probability {FAILURE:g}",
        contenders=(
            Contender("dpcore", "ours", ours, noise="exact"),
            Contender(
                "OpenDP, Gumbel noise",
                "peer",
                opendp_noisy_max("zero_concentrated_divergence"),
                "opendp.prelude",
                noise="exact",
            ),
            Contender(
                "OpenDP, permute and flip: another law",
                "peer",
                opendp_noisy_max("max_divergence"),
                "opendp.prelude",
                noise="exact",
            ),
            Contender("NumPy, Gumbel noise", "numpy", numpy_gumbel, noise="inexact"),
            Contender("one pass over the counts", "floor", one_pass),
        ),
    ),
)
