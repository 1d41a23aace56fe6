"""Running counts and curves. The floor is the random bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import dpcore as dp
from dpcore.noise.sources import CryptographicSource

from ..registry import Contender, Job
from .noise import LARGE, STANDARD_ERRORS, WORDS, difference, words

EPSILON, RHO = 1.0, 0.5
BATCH = 1000  # steps of a call
CELLS = 1024  # of a running curve
STEP_BY_STEP = 2**15  # the most steps of a contender that takes seconds for them


class Steps(NamedTuple):
    counts: np.ndarray  # (T,), or (T, CELLS)
    error: float  # the largest standard error of the contenders


def levels(steps: int) -> int:
    """Return the levels of a binary tree in time, with its root."""
    return (steps - 1).bit_length() + 1


def with_epsilon(size: int) -> Steps:
    counts = np.random.default_rng(1).poisson(3, size)
    return Steps(counts, (levels(size) * 2.0) ** 0.5 * 2 * levels(size) / EPSILON)


def with_rho(size: int) -> Steps:
    counts = np.random.default_rng(1).poisson(3, size)
    return Steps(counts, levels(size) * (1.0 / RHO) ** 0.5)


def of_cells(size: int) -> Steps:
    counts = np.random.default_rng(1).poisson(3, (size, CELLS))
    return Steps(counts, levels(size) * levels(CELLS) / RHO**0.5)


def ours_at_once(inputs: Steps):
    size = inputs.counts.size
    return lambda: dp.streams.RunningCount(size, epsilon=EPSILON).extend(inputs.counts)


def ours_in_batches(inputs: Steps):
    size = inputs.counts.size

    def release():
        counter = dp.streams.RunningCount(size, rho=RHO)
        parts = [inputs.counts[at : at + BATCH] for at in range(0, size, BATCH)]
        return np.concatenate([counter.extend(part) for part in parts])

    return release


def ours_step_by_step(inputs: Steps):
    size, counts = inputs.counts.size, inputs.counts.tolist()

    def release():
        counter = dp.streams.RunningCount(size, rho=RHO)
        return [counter.add(count) for count in counts]

    return release


def ours_curves(inputs: Steps):
    grid = dp.Grid.uniform(0, 1, CELLS)

    def release():
        stream = dp.streams.RunningCDF(grid, len(inputs.counts), rho=RHO, isotonic=False)
        for day in inputs.counts:
            curve = stream.add_counts(day)
        return curve.counts

    return release


def numpy_ahead(draw):
    """Return a binary tree in time, with the noise of all nodes drawn ahead."""

    def start(inputs: Steps):
        rng, size = np.random.default_rng(1), inputs.counts.size

        def release():
            noisy = np.cumsum(inputs.counts).astype(float)
            for level in range(levels(size)):
                nodes = -(-size >> level)
                noisy += np.repeat(draw(rng, levels(size), nodes), 1 << level)[:size]
            return noisy

        return release

    return start


def numpy_step_by_step(inputs: Steps):
    """Return a binary tree in time, with a draw for each node when it is finished."""
    counts, height = inputs.counts.tolist(), levels(inputs.counts.size)
    sigma = (2 * height / (2 * RHO)) ** 0.5

    def release():
        rng, total, found = np.random.default_rng(1), 0, []
        nodes = [0.0] * height
        for step, count in enumerate(counts, 1):
            total += count
            closed = (step & -step).bit_length() - 1
            nodes[:closed] = [0.0] * closed
            nodes[closed] = rng.normal(0.0, sigma)
            found.append(total + sum(nodes))
        return found

    return release


def laplace_nodes(rng: np.random.Generator, height: int, nodes: int):
    return difference(rng, 2 * height / EPSILON, nodes)


def normal_nodes(rng: np.random.Generator, height: int, nodes: int):
    return rng.normal(0.0, (2 * height / (2 * RHO)) ** 0.5, nodes)


def numpy_curves(inputs: Steps):
    """Return a curve a day: a binary tree in time of the answers of a square root over cells."""
    from scipy.signal import fftconvolve

    k = np.arange(1, CELLS)
    root = np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))])
    height = levels(len(inputs.counts))
    sigma = (2 * height * np.sum(root**2) / (2 * RHO)) ** 0.5

    def release():
        rng = np.random.default_rng(1)
        total, nodes = np.zeros(CELLS), np.zeros((height, CELLS))
        for day, counts in enumerate(inputs.counts, 1):
            total += counts
            closed = (day & -day).bit_length() - 1
            nodes[:closed] = 0.0
            nodes[closed] = rng.normal(0.0, sigma, CELLS)
            curve = np.cumsum(total) + fftconvolve(nodes.sum(axis=0), root)[:CELLS]
        return curve

    return release


def dpcrpy(noise: str, **scale: float):
    """Return a binary-indexed tree with the least mean error, step by step."""

    def start(inputs: Steps):
        from dpcrpy.bitMethods.aubcr import AuBCR
        from dpcrpy.framework import noiMech

        order = (inputs.counts.size - 1).bit_length()

        def release():
            tree = AuBCR(kOrder=order, noiMech=getattr(noiMech, noise)(**scale))
            return np.array([tree.dpRelease(float(count))[0] for count in inputs.counts])

        return release

    return start


def random_bits(inputs: Steps):
    """A draw a step and counter, of Gaussian noise on a lattice."""
    memory = words(inputs.counts.size, WORDS[LARGE])
    return lambda: CryptographicSource().fill(memory)


def bits_of_nodes(inputs: Steps):
    """A draw a step, and some for inner nodes, of which there are few."""
    memory = words(inputs.counts.size)
    return lambda: CryptographicSource().fill(memory)


def disagreements(inputs: Steps, outcomes):
    true = np.cumsum(inputs.counts, axis=0)
    true = true if true.ndim == 1 else np.cumsum(true[-1])
    off = {name: np.abs(outcome - true).max() for name, outcome in outcomes.items()}
    bound = STANDARD_ERRORS * inputs.error
    return {name: f"off by {o:g} counts" for name, o in off.items() if not o <= bound}


def job(name, title, unit, make, sizes, quick, small, *contenders):
    return Job(
        name=name,
        title=title,
        unit=unit,
        sizes=sizes,
        quick=quick,
        small=small,
        memory=sizes[-1],
        make=make,
        outcome=lambda inputs, answer: np.asarray(answer),
        disagreements=disagreements,
        agreement=f"counts are off by at most {STANDARD_ERRORS} standard errors of a binary tree's",
        contenders=contenders,
    )


JOBS = (
    job(
        "stream",
        f"A running count, epsilon = {EPSILON:g}, all steps at once",
        "steps",
        with_epsilon,
        (2**15, 2**20),
        (2**15,),
        2**8,
        Contender("dpcore", "ours", ours_at_once, noise="exact"),
        Contender("NumPy, all noise ahead", "numpy", numpy_ahead(laplace_nodes), noise="inexact"),
        Contender(
            "dpcrpy, step by step",
            "peer",
            dpcrpy("LapNoiMech", b0=1 / EPSILON),
            "dpcrpy",
            STEP_BY_STEP,
            noise="inexact",
        ),
        Contender("random bits", "floor", bits_of_nodes),
    ),
    job(
        "stream-rho",
        f"A running count, rho = {RHO:g}, in batches of {BATCH:,} steps",
        "steps",
        with_rho,
        (2**15, 10**6),
        (2**15,),
        2**8,
        Contender("dpcore", "ours", ours_in_batches, noise="exact"),
        Contender("NumPy, all noise ahead", "numpy", numpy_ahead(normal_nodes), noise="inexact"),
        Contender(
            "dpcrpy, step by step",
            "peer",
            dpcrpy("GaussNoiMech", sigma0=(1 / (2 * RHO)) ** 0.5),
            "dpcrpy",
            STEP_BY_STEP,
            noise="inexact",
        ),
        Contender("random bits", "floor", random_bits),
    ),
    job(
        "stream-steps",
        f"A running count, rho = {RHO:g}, one call for each step",
        "steps",
        with_rho,
        (2**15,),
        (2**12,),
        2**8,
        Contender("dpcore", "ours", ours_step_by_step, noise="exact"),
        Contender("NumPy, a tree in time", "numpy", numpy_step_by_step, noise="inexact"),
        Contender(
            "dpcrpy, step by step",
            "peer",
            dpcrpy("GaussNoiMech", sigma0=(1 / (2 * RHO)) ** 0.5),
            "dpcrpy",
            STEP_BY_STEP,
            noise="inexact",
        ),
        Contender("random bits", "floor", random_bits),
    ),
    job(
        "running-curve",
        f"A running curve of {CELLS:,} cells, rho = {RHO:g}, day by day",
        "days",
        of_cells,
        (1000,),
        (100,),
        8,
        Contender("dpcore", "ours", ours_curves, noise="exact"),
        Contender("NumPy, a binary tree in time", "numpy", numpy_curves, noise="inexact"),
        Contender("random bits", "floor", random_bits),
    ),
)
