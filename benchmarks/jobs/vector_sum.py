"""Many clients' shares of the noise of a sum of vectors, for a budget in rho, and their sum.

The floors are the random bits that the shares take, and adding up zeros.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpcore._threads import on_threads
from dpcore.noise.sources import CryptographicSource, source
from dpcore.trust import DistributedNoise
from dpcore.trust.functions import Ball, Vector
from dpcore.trust.functions.sum_noise import SumNoise

from ..registry import Contender, Job

NUMBERS, RHO = 64, 0.5
AT_ONCE = 256  # clients whose vectors are in memory
WORDS = 3  # of 32 bits: a bin, a place in the bin and a comparison (docs/proofs/noise.md)
STANDARD_ERRORS = 8  # how far moments may be off


class Inputs(NamedTuple):
    clients: int
    noise: SumNoise

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise in each sum, in steps."""
        return self.noise.variance**0.5


def numbers_of(size: int) -> Inputs:
    clients = size // NUMBERS
    vector = Vector(Ball(NUMBERS, radius=1.0))
    return Inputs(clients, DistributedNoise(rho=RHO, clients=clients).sum_noise(vector))


def summed(clients: int, fill):
    """Return the sum of all clients' vectors, which are made in parts."""
    block, total = np.empty((AT_ONCE, NUMBERS), np.int64), np.zeros(NUMBERS, np.int64)
    for start in range(0, clients, AT_ONCE):
        part = block[: min(AT_ONCE, clients - start)]
        fill(part)
        total += part.sum(axis=0)
    return total


def ours(threads: int):
    def start(inputs: Inputs):
        law = inputs.noise.share
        own = -(-inputs.clients // threads)  # clients for each thread
        parts = [min(own, inputs.clients - own * k) for k in range(threads)]

        def run():
            streams = source(None).spawn(threads)
            totals = np.empty((threads, NUMBERS), np.int64)

            def add(k: int) -> None:
                totals[k] = summed(parts[k], lambda part: law.fill(part, streams[k]))

            on_threads(add, range(threads), threads)
            return totals.sum(axis=0) / inputs.deviation

        return run

    return start


def sum_alone(inputs: Inputs):
    stream = source(None)
    return lambda: inputs.noise.drawn(stream) / inputs.deviation


def poisson_differences(inputs: Inputs):
    rng, mean = np.random.default_rng(1), inputs.noise.share.variance / 2

    def fill(part):
        part[:] = rng.poisson(mean, part.shape)
        part -= rng.poisson(mean, part.shape)

    return lambda: summed(inputs.clients, fill) / inputs.deviation


def aes_words(inputs: Inputs):
    words = np.empty(AT_ONCE * NUMBERS * WORDS // 2, np.uint64)
    stream = CryptographicSource()

    def fill():
        for _ in range(0, inputs.clients, AT_ONCE):
            stream.fill(words)

    return fill


def zeros(inputs: Inputs):
    return lambda: summed(inputs.clients, lambda part: part.fill(0))


def disagreements(inputs: Inputs, outcomes):
    found = {}
    for name, (mean, spread) in outcomes.items():  # of numbers that are nearly standard normal
        if abs(mean) > STANDARD_ERRORS * (1 / NUMBERS) ** 0.5:
            found[name] = f"mean {mean:g}, not 0"
        elif abs(spread - 1) > STANDARD_ERRORS * (2 / NUMBERS) ** 0.5:
            found[name] = f"variance {spread:g}, not 1"
    return found


JOBS = (
    Job(
        name="vector-sum",
        title=f"Make all clients' Gaussian shares for {NUMBERS} numbers each, and sum them",
        unit="shares",
        sizes=(10**4 * NUMBERS, 10**5 * NUMBERS),
        quick=(10**4 * NUMBERS,),
        small=100 * NUMBERS,
        memory=10**5 * NUMBERS,
        make=numbers_of,
        outcome=lambda inputs, answer: (float(np.mean(answer)), float(np.var(answer))),
        disagreements=disagreements,
        agreement=(
            "mean and variance, in units of the noise that the guarantee takes, within "
            f"{STANDARD_ERRORS} standard errors"
        ),
        contenders=(
            Contender("dpcore, one thread", "ours", ours(1), noise="exact"),
            Contender("dpcore, two threads", "ours", ours(2), noise="exact"),
            Contender("dpcore, the law of the sum alone", "ours", sum_alone, noise="exact"),
            Contender("NumPy Poisson differences", "numpy", poisson_differences, noise="inexact"),
            Contender("random bits alone: AES in counter mode", "floor", aes_words),
            Contender("writing zeros for all clients, and adding them up", "floor", zeros),
        ),
    ),
)
