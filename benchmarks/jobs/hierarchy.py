"""Hierarchies and DAWA, from cell counts. The floor is the random bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import dpcore as dp
from dpcore.mechanisms import Dawa, Hierarchy
from dpcore.noise.sources import CryptographicSource

from ..registry import Contender, Job
from .noise import difference, words
from .release import Inputs, opendp_tree

BRANCHING = 8  # 2^15 = 8^5, and OpenDP wants full trees
STANDARD_ERRORS = 8
EPSILON = 1.0


class Cells(NamedTuple):
    counts: np.ndarray
    mechanism: dp.mechanisms.Mechanism


def flat(cells: int) -> Cells:
    counts = np.random.default_rng(1).poisson(3, cells)
    return Cells(counts, Hierarchy(EPSILON, BRANCHING, "equal"))


def stretches(cells: int) -> Cells:
    """Cells that are alike for a while: what DAWA is for."""
    rng = np.random.default_rng(1)
    rates = np.repeat(rng.exponential(3, max(1, cells // 64)), 64)[:cells]
    return Cells(rng.poisson(rates), Dawa(EPSILON))


def ours(inputs: Cells):
    return lambda: inputs.mechanism.release(inputs.counts)


def best(inputs: Cells):
    mechanism = Hierarchy(EPSILON)
    return lambda: mechanism.release(inputs.counts)


def opendp_hierarchy(inputs: Cells):
    grid = dp.Grid.uniform(0, 1, inputs.counts.size)
    n = inputs.counts.sum()
    release = opendp_tree(BRANCHING, False)(Inputs(inputs.counts, grid, inputs.counts))
    return lambda: n * np.asarray(release())


def numpy_hierarchy(inputs: Cells):
    """Hay et al.'s two passes on full trees, a level at a time."""
    rng, size = np.random.default_rng(1), inputs.counts.size
    levels = round(np.log(size) / np.log(BRANCHING))
    scale = 2 * levels / EPSILON

    def release():
        exact = [inputs.counts]
        for _ in range(levels):
            exact.append(exact[-1].reshape(-1, BRANCHING).sum(axis=1))
        below, estimates = 1.0, [exact[0] + difference(rng, scale, size)]
        for counts in exact[1:-1]:
            below *= BRANCHING
            own = below / (below + 1.0)
            children = estimates[-1].reshape(-1, BRANCHING).sum(axis=1)
            noisy = counts + difference(rng, scale, counts.size)
            estimates.append(own * noisy + (1.0 - own) * children)
            below = own
        parents = exact[-1].astype(float)
        for children in reversed(estimates):
            grouped = children.reshape(-1, BRANCHING)
            rest = parents - grouped.sum(axis=1)
            parents = (grouped + rest[:, None] / BRANCHING).reshape(-1)
        return np.cumsum(parents)

    return release


def numpy_dawa(inputs: Cells):
    """The same two stages with NumPy, for sizes that are powers of 16 (times 2, 4 or 8)."""
    rng, counts = np.random.default_rng(1), inputs.counts
    levels = 0
    while 2 * 16 ** (levels + 1) <= counts.size:
        levels += 1
    scale = 2 * levels / (0.25 * EPSILON)
    per_bucket = 2 / (0.75 * EPSILON)

    def release():
        charge = np.full(counts.size, per_bucket)
        whole = []
        for level in range(1, levels + 1):
            ordered = np.sort(counts.reshape(-1, 16**level), axis=1)
            half = ordered.shape[1] // 2
            cost = ordered[:, half:].sum(axis=1) - ordered[:, :half].sum(axis=1)
            cost = cost + difference(rng, scale, cost.size)
            own = np.maximum(cost - scale, 0.0) + per_bucket
            parts = charge.reshape(-1, 16).sum(axis=1)
            whole.append(own <= parts)
            charge = np.minimum(own, parts)
        starts = np.ones(counts.size, bool)
        for level, found in enumerate(whole, 1):  # the widest last, over all below them
            inner = starts.reshape(-1, 16**level)
            inner[found, 1:] = False
            inner[found, 0] = True
        edges = np.append(np.flatnonzero(starts), counts.size)
        cumulative = np.append(0, np.cumsum(counts))[edges]
        tree = Hierarchy(0.75 * EPSILON)
        ends = tree.release(np.diff(cumulative), rng=rng)
        return np.interp(np.arange(1, counts.size + 1), edges, np.append(0.0, ends))

    return release


def random_bits(inputs: Cells):
    memory = words(inputs.counts.size)
    return lambda: CryptographicSource().fill(memory)


def disagreements(inputs: Cells, outcomes):
    true = np.cumsum(inputs.counts)
    bound = STANDARD_ERRORS * Hierarchy(EPSILON, 2, "equal").noise_deviation(true.size).max()
    off = {name: np.abs(np.asarray(curve) - true).max() for name, curve in outcomes.items()}
    return {name: f"off by {o:g} counts" for name, o in off.items() if not o <= bound}


def job(name, title, make, sizes, small, *contenders):
    return Job(
        name=name,
        title=title,
        unit="cells",
        sizes=sizes,
        quick=sizes[:1],
        small=small,
        memory=sizes[-1],
        make=make,
        outcome=lambda inputs, answer: answer,
        disagreements=disagreements,
        agreement=(
            f"counts off by no more than {STANDARD_ERRORS} standard errors of a binary hierarchy's"
        ),
        contenders=(*contenders, Contender("random bits", "floor", random_bits)),
    )


JOBS = (
    job(
        "hierarchy",
        f"Noise on a hierarchy of base {BRANCHING}, and least squares",
        flat,
        (2**15,),
        2**9,
        Contender("dpcore", "ours", ours, noise="exact"),
        Contender("dpcore, the best tree instead", "ours", best, noise="exact"),
        Contender("OpenDP", "peer", opendp_hierarchy, "opendp.prelude", noise="exact"),
        Contender("NumPy, level by level", "numpy", numpy_hierarchy, noise="inexact"),
    ),
    job(
        "dawa",
        "DAWA: private buckets, and a hierarchy over them",
        stretches,
        (2**12, 2**15),
        2**9,
        Contender("dpcore", "ours", ours, noise="exact"),
        Contender("NumPy and our hierarchy", "numpy", numpy_dawa, noise="inexact"),
    ),
)
