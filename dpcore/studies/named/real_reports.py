"""Errors of curves from the reports of single clients, beside draws from the law of their sum.

Other studies draw the sum of all reports at once, from its exact law. This one makes the report of
every client: the perturbed bits of optimised unary encoding, the perturbed cell of a square wave,
or the client's share of the noise on every node of a tree. The reports are made in blocks and added
up, so they never exist at once, and a million clients take a few megabytes of memory. The two ways
have the same law, and the study shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...kernels.trees import hierarchy
from ...noise.sources import source
from ...trust import DistributedNoise, SquareWaveEncoding, UnaryEncoding
from .. import study
from ._shapes import MOST_CELLS, MOST_RECORDS, SHAPES, Shape

__all__ = ["real_reports"]

Counts = NDArray[np.int64]
Way = Callable[[Counts, float, bool, np.random.Generator], NDArray[np.float64]]

AT_ONCE: Final = 2**19  # shares in memory


def unary(
    counts: Counts, epsilon: float, real: bool, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the estimated counts by optimised unary encoding: a bit for each cell."""
    encoding, clients = UnaryEncoding(epsilon), int(counts.sum())
    if real:
        totals = encoding.perturbed_totals(counts, clients, rng, workers=1)
    else:
        totals = encoding.simulated_totals(counts, clients, rng)
    return encoding.estimates(totals, clients)


def square_wave(
    counts: Counts, epsilon: float, real: bool, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the estimated counts by square waves: a cell near the client's own."""
    encoding = SquareWaveEncoding(epsilon, counts.size)
    if real:
        totals = encoding.perturbed_totals(counts, rng, workers=1)
    else:
        totals = encoding.simulated_totals(counts, rng)
    return encoding.reconstruct(totals) * float(counts.sum())


def distributed(
    counts: Counts, epsilon: float, real: bool, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the counts under distributed noise: a share of the noise on every node."""
    clients = int(counts.sum())
    trust = DistributedNoise(epsilon, clients)
    if not real:
        return np.diff(trust.release(counts, rng=rng), prepend=0.0)
    tree = trust.tree(counts.size)
    nodes = tree.node_sums(counts)
    for level, share in enumerate(trust.shares(counts.size)):
        if share is not None:
            part, stream = nodes[tree.starts[level] : tree.starts[level + 1]], source(rng)
            rows = min(clients, max(1, AT_ONCE // part.size))
            shares = np.empty((rows, part.size), np.int64)
            for start in range(0, clients, rows):
                some = shares[: clients - start]
                share.fill(some, stream)
                part += some.sum(axis=0)
    released = np.empty((1, counts.size))
    hierarchy.cumulative_estimates(
        nodes[np.newaxis], tree.branching, tree.starts, tree.variances, released
    )
    released[0, -1] = clients
    return np.diff(released[0], prepend=0.0)


WAYS: Final[Mapping[str, Way]] = {
    "unary-encoding": unary,
    "square-wave": square_wave,
    "distributed-noise": distributed,
}


@study(
    {
        "clients": [10_000, 1_000_000],
        "epsilon": [1.0],
        "cells": [64],
        "shape": SHAPES,
        "model": WAYS,
        "made": {"reports": True, "law-of-sum": False},
    }
)
def real_reports(
    clients: int,
    epsilon: float,
    cells: int,
    shape: Shape,
    model: Way,
    made: bool,
    rng: np.random.Generator,
) -> Mapping[str, float]:
    """Errors of curves from real reports, beside the law of their sum.

    ``distance`` is the largest distance between the estimated distribution function and the
    clients' own, and ``root_mean_square`` is that of the distances at the thresholds.
    """
    clients = _check.integer("clients", clients, 1, MOST_RECORDS)
    counts = rng.multinomial(clients, shape(_check.integer("cells", cells, 2, MOST_CELLS)))
    off = np.cumsum(model(counts, epsilon, made, rng) - counts)[:-1] / clients
    return {
        "distance": float(np.abs(off).max()),
        "root_mean_square": float(np.sqrt(np.mean(off**2))),
    }
