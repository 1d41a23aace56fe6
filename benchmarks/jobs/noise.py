"""Exact noise: single draws, and whole trees. The floor is the random bits, some words a draw."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

import dpcore as dp
from dpcore.noise.sources import CryptographicSource

from ..registry import Contender, Job

WORDS = 4  # 64-bit words a draw
GAUSSIAN_WORDS = 6
SCALE = 15
SIGMA = 15
REPLICATES = 1000
STANDARD_ERRORS = 8  # how far moments may be off


def variance(scale: float) -> float:
    """Return the variance of discrete Laplace noise."""
    q = np.exp(-1 / scale)
    return 2 * q / (1 - q) ** 2


def difference(rng: np.random.Generator, scale: float, shape):
    """Return geometric differences: discrete Laplace up to the rounding of logarithms."""
    p = -np.expm1(-1 / scale)
    return rng.geometric(p, shape) - rng.geometric(p, shape)


# --- draws: the inputs are how many


def opendp_draws(size: int):
    import opendp.prelude as odp

    odp.enable_features("contrib")
    space = odp.vector_domain(odp.atom_domain(T="i64"), size=size), odp.l1_distance(T="i64")
    measurement = space >> odp.m.then_laplace(float(SCALE))
    zeros = [0] * size
    return lambda: measurement(zeros)


def seeded_draws(size: int):
    rng = np.random.default_rng(1)
    return lambda: dp.noise.discrete_laplace(SCALE, size, rng)


def numpy_draws(size: int):
    rng = np.random.default_rng(1)
    return lambda: difference(rng, SCALE, size)


def opendp_gaussian_draws(size: int):
    import opendp.prelude as odp

    odp.enable_features("contrib")
    space = odp.vector_domain(odp.atom_domain(T="i64"), size=size), odp.l2_distance(T="i64")
    measurement = space >> odp.m.then_gaussian(float(SIGMA))
    zeros = [0] * size
    return lambda: measurement(zeros)


def seeded_gaussian_draws(size: int):
    rng = np.random.default_rng(1)
    return lambda: dp.noise.discrete_gaussian(SIGMA**2, size, rng)


def numpy_gaussian_draws(size: int):
    rng = np.random.default_rng(1)
    return lambda: rng.normal(0.0, SIGMA, size).round()


def aes_words(size: int, words_per_draw: int = WORDS):
    words = np.empty(words_per_draw * size, np.uint64)
    source = CryptographicSource()
    return lambda: source.fill(words)


def chacha_words(size: int):
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

    zeros = bytes(8 * WORDS * size)
    stream = Cipher(ChaCha20(os.urandom(32), os.urandom(16)), mode=None).encryptor()
    return lambda: stream.update(zeros)


def pcg_words(size: int):
    rng = np.random.default_rng(1)
    return lambda: rng.integers(0, 2**64, WORDS * size, dtype=np.uint64)


def urandom_words(size: int):
    return lambda: os.urandom(8 * WORDS * size)


def draws_disagreements(size: int, outcomes):
    true = variance(SCALE)
    found = {}
    for name, (mean, spread) in outcomes.items():
        # The fourth moment of Laplace noise is six times the squared variance.
        if abs(mean) > STANDARD_ERRORS * (true / size) ** 0.5:
            found[name] = f"mean {mean:g}, not 0"
        elif abs(spread / true - 1) > STANDARD_ERRORS * (5 / size) ** 0.5:
            found[name] = f"variance {spread:g}, not {true:g}"
    return found


def gaussian_disagreements(size: int, outcomes):
    # Of continuous noise, by less than 1e-100 off; rounding it to integers adds a twelfth.
    true = SIGMA**2
    found = {}
    for name, (mean, spread) in outcomes.items():
        rounding = 1 / 12 if "rounded" in name else 0.0
        if abs(mean) > STANDARD_ERRORS * (true / size) ** 0.5:
            found[name] = f"mean {mean:g}, not 0"
        elif abs((spread - rounding) / true - 1) > STANDARD_ERRORS * (2 / size) ** 0.5:
            found[name] = f"variance {spread:g}, not {true:g}"
    return found


# --- trees: REPLICATES noisy curves


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
    fill = aes_words(inputs.nodes)

    def fill_all():
        for _ in range(REPLICATES):
            fill()

    return fill_all


def tree_outcome(inputs: Tree, answer):
    noise = (answer - np.cumsum(inputs.counts))[:, :-1]
    return float(noise.mean()), float(noise.var())


def tree_disagreements(inputs: Tree, outcomes):
    true = inputs.mechanism.variance(inputs.counts.size)
    found = {}
    for name, (mean, spread) in outcomes.items():
        # Neighbouring thresholds share most of their noise: replicates alone count as samples.
        if abs(mean) > STANDARD_ERRORS * (true / REPLICATES) ** 0.5:
            found[name] = f"mean {mean:g}, not 0"
        elif abs(spread / true - 1) > STANDARD_ERRORS * (5 / REPLICATES) ** 0.5:
            found[name] = f"variance {spread:g}, not {true:g}"
    return found


AGREEMENT = f"mean and variance within {STANDARD_ERRORS} standard errors of the closed form"

JOBS = (
    Job(
        name="laplace",
        title="Draw discrete Laplace noise of scale 15",
        unit="draws",
        sizes=(65_535,),
        quick=(65_535,),
        small=2000,
        memory=65_535,
        make=lambda size: size,
        outcome=lambda size, answer: (float(np.mean(answer)), float(np.var(answer))),
        disagreements=draws_disagreements,
        agreement=AGREEMENT,
        contenders=(
            Contender("dpcore", "ours", lambda n: lambda: dp.noise.discrete_laplace(SCALE, n)),
            Contender("dpcore, seeded", "ours", seeded_draws),
            Contender("OpenDP", "peer", opendp_draws, "opendp.prelude"),
            Contender("NumPy geometric difference, not exact", "numpy", numpy_draws),
            Contender("random bits alone: AES in counter mode", "floor", aes_words),
            Contender("random bits alone: ChaCha20", "floor", chacha_words),
            Contender("random bits alone: PCG64, not secret", "floor", pcg_words),
            Contender("random bits alone: os.urandom", "floor", urandom_words),
        ),
    ),
    Job(
        name="gaussian",
        title="Draw discrete Gaussian noise of sigma 15",
        unit="draws",
        sizes=(65_535,),
        quick=(65_535,),
        small=2000,
        memory=65_535,
        make=lambda size: size,
        outcome=lambda size, answer: (float(np.mean(answer)), float(np.var(answer))),
        disagreements=gaussian_disagreements,
        agreement=AGREEMENT,
        contenders=(
            Contender("dpcore", "ours", lambda n: lambda: dp.noise.discrete_gaussian(SIGMA**2, n)),
            Contender("dpcore, seeded", "ours", seeded_gaussian_draws),
            Contender("OpenDP", "peer", opendp_gaussian_draws, "opendp.prelude"),
            Contender("NumPy normal, rounded: not exact", "numpy", numpy_gaussian_draws),
            Contender(
                "random bits alone: AES in counter mode",
                "floor",
                lambda n: aes_words(n, GAUSSIAN_WORDS),
            ),
        ),
    ),
    Job(
        name="dyadic",
        title="Release 1,000 noisy curves on a dyadic tree",
        unit="cells",
        sizes=(2**15,),
        quick=(2**12,),
        small=2**4,
        memory=2**15,
        make=tree,
        outcome=tree_outcome,
        disagreements=tree_disagreements,
        agreement=AGREEMENT,
        contenders=(
            Contender("dpcore, one thread", "ours", ours_on_threads(1)),
            Contender("dpcore, two threads", "ours", ours_on_threads(2)),
            Contender("NumPy geometric difference, not exact", "numpy", numpy_trees),
            Contender("random bits alone: AES in counter mode", "floor", tree_aes_words),
            Contender("our draws alone, one thread", "floor", variates_alone),
        ),
    ),
)
