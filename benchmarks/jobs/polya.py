"""Many clients' shares of discrete Laplace noise, and their sum.

The floors are the random bits that the shares take, and adding up zeros.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpcore.noise import DiscreteLaplace
from dpcore.noise.polya import PolyaShares
from dpcore.noise.sources import CryptographicSource, source

from ..registry import Contender, Job

COUNTS, SCALE = 2**11, Fraction(15)
AT_ONCE = 64  # clients whose vectors are in memory
STANDARD_ERRORS = 8  # how far moments may be off


def summed(clients: int, fill):
    """Make the vectors of all clients, in parts, and add them up."""
    block = np.empty((AT_ONCE, COUNTS), np.int64)

    def run():
        total = np.zeros(COUNTS, np.int64)
        for start in range(0, clients, AT_ONCE):
            part = block[: min(AT_ONCE, clients - start)]
            fill(part)
            total += part.sum(axis=0)
        return total

    return run


def ours(clients: int):
    law = PolyaShares(SCALE, clients)
    stream = source(None)
    return summed(clients, lambda part: law.fill(part, stream))


def sum_alone(clients: int):
    law = PolyaShares(SCALE, clients)
    stream = source(None)
    return lambda: law.sum_of(clients, COUNTS, stream)


def numpy_shares(clients: int):
    rng, shape = np.random.default_rng(1), 1 / clients
    rest = -np.expm1(-1 / float(SCALE))

    def fill(part):
        part[:] = rng.negative_binomial(shape, rest, part.shape)
        part -= rng.negative_binomial(shape, rest, part.shape)

    return summed(clients, fill)


class Counted(CryptographicSource):
    """A source that counts the bytes taken from it."""

    taken = 0

    def fill(self, words: np.ndarray) -> None:
        self.taken += words.nbytes
        super().fill(words)


def aes_words(clients: int):
    """Take as many words, and do nothing with them."""
    block, stream = np.empty((AT_ONCE, COUNTS), np.int64), Counted()
    PolyaShares(SCALE, clients).fill(block, stream)
    words = np.empty(stream.taken // 8, np.uint64)

    def fill():
        for _ in range(0, clients, AT_ONCE):
            stream.fill(words)

    return fill


def zeros(clients: int):
    return summed(clients, lambda part: part.fill(0))


def disagreements(clients: int, outcomes):
    true = DiscreteLaplace(SCALE).variance
    found = {}
    for name, (mean, spread) in outcomes.items():
        # The fourth moment of Laplace noise is six times the squared variance.
        if abs(mean) > STANDARD_ERRORS * (true / COUNTS) ** 0.5:
            found[name] = f"mean {mean:g}, not 0"
        elif abs(spread / true - 1) > STANDARD_ERRORS * (5 / COUNTS) ** 0.5:
            found[name] = f"variance {spread:g}, not {true:g}"
    return found


JOBS = (
    Job(
        name="polya",
        title="Make all clients' shares of noise of scale 15, for 2^11 counts each, and sum them",
        unit="shares",
        sizes=(10**4 * COUNTS, 10**5 * COUNTS),
        quick=(10**4 * COUNTS,),
        small=100 * COUNTS,
        memory=10**5 * COUNTS,
        make=lambda size: size // COUNTS,
        outcome=lambda size, answer: (float(np.mean(answer)), float(np.var(answer))),
        disagreements=disagreements,
        agreement=f"mean and variance within {STANDARD_ERRORS} standard errors of the closed form",
        contenders=(
            Contender("dpcore", "ours", ours, noise="exact"),
            Contender("dpcore, the law of the sum alone", "ours", sum_alone, noise="exact"),
            Contender(
                "NumPy negative binomial differences", "numpy", numpy_shares, noise="inexact"
            ),
            Contender("random bits alone: AES in counter mode", "floor", aes_words),
            Contender("writing zeros for all clients, and adding them up", "floor", zeros),
        ),
    ),
)
