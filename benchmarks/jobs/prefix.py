"""The square-root factorisation. The floor is the random bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpcore.mechanisms import ToeplitzGaussian
from dpcore.noise.sources import CryptographicSource

from ..registry import Contender, Job
from .noise import LARGE, WORDS, words

RHO = 0.5
STANDARD_ERRORS = 8


class Steps(NamedTuple):
    counts: np.ndarray
    error: float  # the largest standard error of ours


def cells(size: int) -> Steps:
    counts = np.random.default_rng(1).poisson(3, size)
    return Steps(counts, float(ToeplitzGaussian(rho=RHO).noise_deviation(size).max()))


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


def random_bits(inputs: Steps):
    memory = words(inputs.counts.size, WORDS[LARGE])  # because its sigma is large
    return lambda: CryptographicSource().fill(memory)


def disagreements(inputs: Steps, outcomes):
    true = np.cumsum(inputs.counts)
    off = {name: np.abs(curve - true).max() for name, curve in outcomes.items()}
    bound = STANDARD_ERRORS * inputs.error
    return {name: f"off by {o:g} counts" for name, o in off.items() if not o <= bound}


JOBS = (
    Job(
        name="toeplitz",
        title=f"Square-root factorisation, rho = {RHO:g}",
        unit="cells",
        sizes=(2**15,),
        quick=(2**15,),
        small=2**8,
        memory=2**15,
        make=cells,
        outcome=lambda inputs, answer: np.asarray(answer),
        disagreements=disagreements,
        agreement=f"counts are off by at most {STANDARD_ERRORS} standard errors of dpcore's",
        contenders=(
            Contender("dpcore", "ours", ours_root, noise="exact"),
            Contender("SciPy fftconvolve", "numpy", numpy_root, noise="inexact"),
            Contender("random bits", "floor", random_bits),
        ),
    ),
)
