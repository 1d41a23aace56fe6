"""The square-root factorisation, and running counts. The floor is the random bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import dpcore as dp
from dpcore.mechanisms import ToeplitzGaussian
from dpcore.noise.sources import CryptographicSource

from ..registry import Contender, Job
from .noise import LARGE, WORDS, difference, words

RHO, EPSILON = 0.5, 1.0
STANDARD_ERRORS = 8


class Steps(NamedTuple):
    counts: np.ndarray
    error: float  # the largest standard error of ours


def cells(size: int) -> Steps:
    counts = np.random.default_rng(1).poisson(3, size)
    return Steps(counts, float(ToeplitzGaussian(rho=RHO).noise_deviation(size).max()))


def stream(size: int) -> Steps:
    counts = np.random.default_rng(1).poisson(3, size)
    return Steps(counts, dp.streams.RunningCount(size, epsilon=EPSILON).noise_deviation(size))


def ours_root(inputs: Steps):
    mechanism = ToeplitzGaussian(rho=RHO)
    return lambda: mechanism.release(inputs.counts)


def numpy_root(inputs: Steps):
    from scipy.signal import fftconvolve

    rng, size = np.random.default_rng(1), inputs.counts.size
    k = np.arange(1, size)
    root = np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))])
    sigma = (2 * np.sum(root**2) / (2 * RHO)) ** 0.5  # the worst case: two orthogonal columns

    def release():
        noise = fftconvolve(rng.normal(0.0, sigma, size), root)[:size]
        return np.cumsum(inputs.counts) + noise

    return release


def ours_stream(inputs: Steps):
    def release():
        return dp.streams.RunningCount(inputs.counts.size, epsilon=EPSILON).extend(inputs.counts)

    return release


def numpy_stream(inputs: Steps):
    rng, size = np.random.default_rng(1), inputs.counts.size
    scale = float(dp.mechanisms.Dyadic(epsilon=EPSILON).noise_scale(size + 1))

    def release():
        noisy = np.cumsum(inputs.counts)
        for level in range((size - 1).bit_length() + 1):
            nodes = -(-size >> level)
            noisy += np.repeat(difference(rng, scale, nodes), 1 << level)[:size]
        return noisy

    return release


def random_bits(draws: int, each: int = 1):
    """Of so many draws a step, of so many 32-bit words each."""

    def start(inputs: Steps):
        memory = words(draws * inputs.counts.size, each)
        return lambda: CryptographicSource().fill(memory)

    return start


def disagreements(inputs: Steps, outcomes):
    true = np.cumsum(inputs.counts)
    off = {name: np.abs(curve - true).max() for name, curve in outcomes.items()}
    bound = STANDARD_ERRORS * inputs.error
    return {name: f"off by {o:g} counts" for name, o in off.items() if not o <= bound}


def job(name, title, unit, make, sizes, *contenders):
    return Job(
        name=name,
        title=title,
        unit=unit,
        sizes=sizes,
        quick=sizes[:1],
        small=2**8,
        memory=sizes[-1],
        make=make,
        outcome=lambda inputs, answer: np.asarray(answer),
        disagreements=disagreements,
        agreement=f"counts are off by at most {STANDARD_ERRORS} standard errors of dpcore's",
        contenders=contenders,
    )


JOBS = (
    job(
        "toeplitz",
        f"Square-root factorisation, rho = {RHO:g}",
        "cells",
        cells,
        (2**15,),
        Contender("dpcore", "ours", ours_root, noise="exact"),
        Contender("SciPy fftconvolve", "numpy", numpy_root, noise="inexact"),
        Contender(
            "random bits", "floor", random_bits(1, WORDS[LARGE])
        ),  # because its sigma is large
    ),
    job(
        "stream",
        f"A running count, epsilon = {EPSILON:g}, all steps at once",
        "steps",
        stream,
        (2**15, 2**20),
        Contender("dpcore", "ours", ours_stream, noise="exact"),
        Contender("NumPy, all noise ahead", "numpy", numpy_stream, noise="inexact"),
        Contender("random bits", "floor", random_bits(2)),
    ),
)
