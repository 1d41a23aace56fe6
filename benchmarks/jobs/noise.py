"""Single draws of exact noise. The floor is the random bits: a few 32-bit words for a draw."""

from __future__ import annotations

import os

import numpy as np

import dpcore as dp
from dpcore.noise.sources import CryptographicSource

from ..registry import Contender, Job

DRAWS = 65_535
SCALE, LARGE = 15, 10**6
# The 32-bit words that a draw takes: one with a table. At large scales they are three digits, or a
# bin, a place in the bin and a comparison (docs/proofs/noise.md).
WORDS = {SCALE: 1, LARGE: 3}
STANDARD_ERRORS = 8  # how far moments may be off
AGREEMENT = f"mean and variance within {STANDARD_ERRORS} standard errors of the closed form"


def words(draws: int, each: int = 1) -> np.ndarray:
    """Return memory for the random bits of so many draws, each of so many 32-bit words."""
    return np.empty(-(-draws * each // 2), np.uint64)


def variance(scale: float) -> float:
    """Return the variance of discrete Laplace noise."""
    q = np.exp(-1 / scale)
    return 2 * q / (1 - q) ** 2


def difference(rng: np.random.Generator, scale: float, shape):
    """Return differences of geometric draws: discrete Laplace, but for rounded logarithms."""
    p = -np.expm1(-1 / scale)
    return rng.geometric(p, shape) - rng.geometric(p, shape)


# --- contenders, whose input is the number of draws


def opendp(measurement: str, metric: str, scale: int):
    def start(size: int):
        import opendp.prelude as odp

        odp.enable_features("contrib")
        space = odp.vector_domain(odp.atom_domain(T="i64"), size=size), getattr(odp, metric)("i64")
        draw = space >> getattr(odp.m, measurement)(float(scale))
        zeros = [0] * size
        return lambda: draw(zeros)

    return start


def seeded(draw, parameter: int):
    def start(size: int):
        rng = np.random.default_rng(1)
        return lambda: draw(parameter, size, rng)

    return start


def numpy_laplace(scale: int):
    def start(size: int):
        rng = np.random.default_rng(1)
        return lambda: difference(rng, scale, size)

    return start


def numpy_gaussian(sigma: int):
    def start(size: int):
        rng = np.random.default_rng(1)
        return lambda: rng.normal(0.0, sigma, size).round()

    return start


def aes_words(each: int):
    def start(size: int):
        memory, source = words(size, each), CryptographicSource()
        return lambda: source.fill(memory)

    return start


def chacha_words(size: int):
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

    zeros = bytes(words(size).nbytes)
    stream = Cipher(ChaCha20(os.urandom(32), os.urandom(16)), mode=None).encryptor()
    return lambda: stream.update(zeros)


def pcg_words(size: int):
    rng, number = np.random.default_rng(1), words(size).size
    return lambda: rng.integers(0, 2**64, number, dtype=np.uint64)


def urandom_words(size: int):
    number = words(size).nbytes
    return lambda: os.urandom(number)


def moments(size: int, draws) -> tuple[float, float]:
    return float(np.mean(draws)), float(np.var(draws))


def off_moments(true: float, kurtosis: float, rounding: float = 0.0):
    """Compare with a mean of 0 and a variance to which rounding may have added."""

    def disagreements(size: int, outcomes):
        found = {}
        for name, (mean, spread) in outcomes.items():
            allowed = STANDARD_ERRORS * ((kurtosis - 1) / size) ** 0.5
            if abs(mean) > STANDARD_ERRORS * (true / size) ** 0.5:
                found[name] = f"mean {mean:g}, not 0"
            elif not -allowed <= spread / true - 1 <= allowed + rounding / true:
                found[name] = f"variance {spread:g}, not {true:g}"
        return found

    return disagreements


def job(name: str, title: str, disagreements, *contenders: Contender) -> Job:
    return Job(
        name=name,
        title=title,
        unit="draws",
        sizes=(DRAWS,),
        quick=(DRAWS,),
        small=2000,
        memory=DRAWS,
        make=lambda size: size,
        outcome=moments,
        disagreements=disagreements,
        agreement=AGREEMENT,
        contenders=contenders,
    )


def laplace(name: str, scale: int, at: str) -> Job:
    law = dp.noise.discrete_laplace
    others = (
        Contender("random bits alone: ChaCha20", "floor", chacha_words),
        Contender("random bits alone: PCG64, not secret", "floor", pcg_words),
        Contender("random bits alone: os.urandom", "floor", urandom_words),
    )
    theirs = opendp("then_laplace", "l1_distance", scale)
    return job(
        name,
        f"Draw discrete Laplace noise of scale {at}",
        off_moments(variance(scale), kurtosis=6),
        Contender("dpcore", "ours", lambda size: lambda: law(scale, size), noise="exact"),
        Contender("dpcore, seeded", "ours", seeded(law, scale), noise="exact"),
        Contender("OpenDP", "peer", theirs, "opendp.prelude", noise="exact"),
        Contender("NumPy geometric difference", "numpy", numpy_laplace(scale), noise="inexact"),
        Contender("random bits alone: AES in counter mode", "floor", aes_words(WORDS[scale])),
        *(others if scale == SCALE else ()),
    )


def gaussian(name: str, sigma: int, at: str) -> Job:
    law = dp.noise.discrete_gaussian
    theirs = opendp("then_gaussian", "l2_distance", sigma)
    return job(
        name,
        f"Draw discrete Gaussian noise of sigma {at}",
        # The variance of continuous noise, off by less than 1e-100. Rounding to integers adds 1/12.
        off_moments(sigma**2, kurtosis=3, rounding=1 / 12),
        Contender("dpcore", "ours", lambda size: lambda: law(sigma**2, size), noise="exact"),
        Contender("dpcore, seeded", "ours", seeded(law, sigma**2), noise="exact"),
        Contender("OpenDP", "peer", theirs, "opendp.prelude", noise="exact"),
        Contender("NumPy normal, rounded", "numpy", numpy_gaussian(sigma), noise="inexact"),
        Contender("random bits alone: AES in counter mode", "floor", aes_words(WORDS[sigma])),
    )


JOBS = (
    laplace("laplace", SCALE, "15"),
    laplace("laplace-large", LARGE, "10^6"),
    gaussian("gaussian", SCALE, "15"),
    gaussian("gaussian-large", LARGE, "10^6"),
)
