"""Many noisy curves from a dyadic tree. The floor is the random bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import dpcore as dp

from ..registry import Contender, Job
from .noise import AGREEMENT, STANDARD_ERRORS, aes_words, difference

REPLICATES = 1000


class Tree(NamedTuple):
    mechanism: dp.mechanisms.Dyadic
    counts: np.ndarray
    scale: int
    nodes: int


def tree(cells: int) -> Tree:
    mechanism = dp.mechanisms.Dyadic(1.0)
    return Tree(mechanism, np.ones(cells, int), mechanism.noise_scale(cells), 2 * cells - 1)


def ours_on_threads(workers: int):
    def start(inputs: Tree):
        release, counts = inputs.mechanism.release, inputs.counts
        return lambda: release(counts, replicates=REPLICATES, workers=workers)

    return start


def variates_alone(inputs: Tree):
    def draw():
        for _ in range(REPLICATES):
            dp.noise.discrete_laplace(inputs.scale, inputs.nodes)

    return draw


def numpy_trees(inputs: Tree):
    rng = np.random.default_rng(1)
    cells, levels = inputs.counts.size, inputs.mechanism.levels(inputs.counts.size)
    scale = float(inputs.scale)

    def release():
        noisy = np.empty((REPLICATES, cells), np.int64)
        noisy[:] = np.cumsum(inputs.counts)
        for row in noisy:
            for level in range(levels):
                row += np.repeat(difference(rng, scale, cells >> level), 1 << level)
            row[-1] = cells
        return noisy

    return release


def tree_aes_words(inputs: Tree):
    fill = aes_words(1)(inputs.nodes)

    def fill_all():
        for _ in range(REPLICATES):
            fill()

    return fill_all


def outcome(inputs: Tree, answer):
    noise = (answer - np.cumsum(inputs.counts))[:, :-1]
    return float(noise.mean()), float(noise.var())


def disagreements(inputs: Tree, outcomes):
    true = inputs.mechanism.variance(inputs.counts.size)
    found = {}
    for name, (mean, spread) in outcomes.items():
        # Neighbouring thresholds share most of their noise: replicates alone count as samples.
        if abs(mean) > STANDARD_ERRORS * (true / REPLICATES) ** 0.5:
            found[name] = f"mean {mean:g}, not 0"
        elif abs(spread / true - 1) > STANDARD_ERRORS * (5 / REPLICATES) ** 0.5:
            found[name] = f"variance {spread:g}, not {true:g}"
    return found


JOBS = (
    Job(
        name="dyadic",
        title="Release 1,000 noisy curves on a dyadic tree",
        unit="cells",
        sizes=(2**15,),
        quick=(2**12,),
        small=2**4,
        memory=2**15,
        make=tree,
        outcome=outcome,
        disagreements=disagreements,
        agreement=AGREEMENT,
        contenders=(
            Contender("dpcore, one thread", "ours", ours_on_threads(1), noise="exact"),
            Contender("dpcore, two threads", "ours", ours_on_threads(2), noise="exact"),
            Contender("NumPy geometric difference", "numpy", numpy_trees, noise="inexact"),
            Contender("random bits alone: AES in counter mode", "floor", tree_aes_words),
            Contender("our draws alone, one thread", "floor", variates_alone),
        ),
    ),
)
