"""2^10 private thresholds with equally many records between them. The floor: counting records."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import dpcore as dp
from dpcore.papers.medians import recursive_medians

from ..registry import Contender, Job

CELLS, DEPTH, EPSILON = 2**15, 10, 10.0
MOST = 2.0  # times the even share; noise alone is a few records


class Inputs(NamedTuple):
    values: np.ndarray
    grid: dp.Grid


def scores(size: int) -> Inputs:
    return Inputs(np.random.default_rng(1).beta(2, 5, size), dp.Grid.uniform(0, 1, CELLS))


def ours(method: str):
    def start(inputs: Inputs):
        def choose():
            return recursive_medians(*inputs, epsilon=EPSILON, depth=DEPTH, method=method)[
                0
            ].thresholds

        return choose

    return start


def numpy_gumbel(inputs: Inputs):
    """The exponential mechanism as the largest noisy score, node by node."""
    rng, (values, grid) = np.random.default_rng(1), inputs
    edges = np.append(-np.inf, grid.thresholds)
    edges[-1] = np.inf

    def choose():
        below = np.append(0, np.cumsum(np.histogram(values, edges)[0]))
        nodes, chosen = [(0, CELLS)], [CELLS - 1]
        for _ in range(DEPTH):
            halves = []
            for start, stop in nodes:
                if stop - start < 2:
                    continue
                off = 2 * below[start + 1 : stop] - below[start] - below[stop]
                noise = rng.gumbel(0.0, 4 * DEPTH / EPSILON, off.size)
                at = start + int(np.argmax(noise - np.abs(off)))
                chosen.append(at)
                halves += [(start, at + 1), (at + 1, stop)]
            nodes = halves
        return grid.thresholds[np.sort(chosen)]

    return choose


def counting(inputs: Inputs):
    return lambda: inputs.grid.count(inputs.values)


def largest_share(inputs: Inputs, thresholds: np.ndarray) -> float:
    counts = dp.Grid(thresholds).count(inputs.values)
    return float(counts.max() / counts.sum())


def disagreements(inputs: Inputs, outcomes):
    most = MOST / 2**DEPTH
    return {name: f"{o:.3g} in an interval" for name, o in outcomes.items() if not o <= most}


JOBS = (
    Job(
        name="medians",
        title=f"2^{DEPTH} private thresholds, by recursive medians among 2^15",
        unit="records",
        sizes=(10**6,),
        quick=(10**6,),
        small=10**5,
        memory=10**6,
        make=scores,
        outcome=largest_share,
        disagreements=disagreements,
        agreement=f"no interval has more than {MOST:g} times its share of the records",
        contenders=(
            Contender("dpcore", "ours", ours("exponential"), noise="exact"),
            Contender("dpcore, off one curve", "ours", ours("curve"), noise="exact"),
            Contender("NumPy, Gumbel noise", "numpy", numpy_gumbel, noise="inexact"),
            Contender("counting the records", "floor", counting),
        ),
    ),
)
