"""Hierarchies and DAWA, from cell counts. The floor is the random bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import dpcore as dp
from dpcore.mechanisms import Dawa, Hierarchy
from dpcore.mechanisms.bucket_counts import Records
from dpcore.noise.sources import CryptographicSource, source

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
    """Cells with stretches of similar counts, for which DAWA is made."""
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
    """The two passes of Hay et al. on full trees, one level at a time."""
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
    """The same two stages (docs/proofs/dawa.md), with buckets of two lengths that divide evenly."""
    rng, counts = np.random.default_rng(1), inputs.counts
    stages = inputs.mechanism._stages(counts.size, int(counts.sum()))
    law, errors, lengths = stages.law, stages.errors, stages.scales.lengths
    short, long = lengths.tolist()
    assert counts.size % long == 0
    rungs = np.arange(errors.size)
    low, high = np.maximum(rungs - 1, 0), np.minimum(rungs + 1, rungs[-1])
    prices = counts.size * (errors[high] - errors[low]) / (2.0**high - 2.0**low)
    prices = prices[:, None]
    cells = 0.1 * lengths

    def release():
        noisy = []
        for length in (short, long):
            parted = np.partition(counts.reshape(-1, length), length // 2, axis=1)
            half = length // 2
            exact = parted[:, half:].sum(axis=1) - parted[:, :half].sum(axis=1)
            noisy.append(exact + difference(rng, float(law.scale), exact.size))
        squares = [np.maximum(costs, 0.0) ** 2 for costs in noisy]
        most = np.inf
        for limit in stages.limits:
            allowed = [costs <= limit for costs in noisy]
            whole = []  # short and long buckets of each plan, (plans, nodes)
            for allowance in (1.0, 2.0, 4.5):
                narrow, wide = (
                    np.where(may, each * np.maximum(square - allowance * law.variance, 0.0), np.inf)
                    + prices
                    for each, square, may in zip(cells, squares, allowed, strict=True)
                )
                parts = np.minimum(narrow, prices * short).reshape(rungs.size, -1, long // short)
                whole.append((narrow <= prices * short, wide <= parts.sum(axis=2)))
            for level in (0, 1):
                if allowed[level].all():
                    plan = [np.full((1, each.size), level == i) for i, each in enumerate(noisy)]
                    whole.append(plan)
            narrow, wide = (np.concatenate(each) for each in zip(*whole, strict=True))
            narrow &= ~np.repeat(wide, long // short, axis=1)
            taken = narrow.sum(axis=1), wide.sum(axis=1)
            buckets = taken[0] + taken[1] + counts.size - short * taken[0] - long * taken[1]
            risk = doubt = 0.0
            for each, found, costs, square in zip(
                cells, (narrow, wide), noisy, squares, strict=True
            ):
                risk = risk + found @ (each * (costs**2.0 - law.variance))
                doubt = doubt + found @ (each**2 * law.variance * (5 * law.variance + 4 * square))
            risk = np.maximum(risk + stages.caution * np.sqrt(doubt), 0.0)
            total = risk + counts.size * np.interp(np.log2(buckets), rungs, errors)
            best = np.argmin(total)
            if total[best] > most:
                break
            most = min(most, 1.1 * total[best])
            chosen = narrow[best], wide[best]
        starts = np.ones(counts.size, bool)
        starts.reshape(-1, short)[chosen[0], 1:] = False
        starts.reshape(-1, long)[chosen[1], 1:] = False
        edges = np.append(np.flatnonzero(starts), counts.size)
        cumulative = np.append(0, np.cumsum(counts))
        ends, _ = Records(stages, counts[:0], cumulative).count_buckets(edges, source(rng))
        return np.interp(np.arange(1, counts.size + 1), edges, ends[0])

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
            f"counts differ by at most {STANDARD_ERRORS} standard errors of a binary hierarchy"
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
