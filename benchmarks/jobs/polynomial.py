"""Polynomial projection, from cell counts. The floor is the memory of the curve."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import legendre

from dpcore.mechanisms import PolynomialProjection

from ..registry import Contender, Job

RHO, DEGREE = 0.5, 32
STANDARD_ERRORS = 8
MECHANISM = PolynomialProjection(rho=RHO, degree=DEGREE)


def cells(size: int) -> np.ndarray:
    """Counts that follow a smooth density."""
    x = np.linspace(-1, 1, size)
    return np.random.default_rng(1).poisson(6 * np.exp(-4 * x**2))


def numpy_projection(counts: np.ndarray):
    """The same with NumPy: sums of P_(k-1) - P_(k+1), normal noise, and the public ends."""
    rng, size, k = np.random.default_rng(1), counts.size, np.arange(DEGREE + 1)
    sigma = MECHANISM.scheme.change / (2 * RHO) ** 0.5
    norms = np.sqrt(k + 0.5)
    ends = np.stack([norms * (-1.0) ** k, norms])
    inverse = np.linalg.pinv(ends)

    def release():
        n = counts.sum()
        middles = (2 * np.arange(size) + 1 - size) / size
        p = counts @ legendre.legvander(middles, DEGREE + 1)
        a = (np.append(p[0], p[:-2]) - p[1:] + rng.normal(0, sigma, DEGREE + 1)) / (2 * norms)
        a -= inverse @ (ends @ a - [0, n])
        return legendre.legval((2 * np.arange(1, size + 1) - size) / size, a * norms)

    return release


def disagreements(counts: np.ndarray, outcomes):
    true = np.cumsum(counts)
    bound = STANDARD_ERRORS * MECHANISM.polynomial_deviation(counts.size).max() + 0.01 * true[-1]
    off = {name: np.abs(np.asarray(curve) - true).max() for name, curve in outcomes.items()}
    return {name: f"off by {o:g} counts" for name, o in off.items() if not o <= bound}


JOBS = (
    Job(
        name="polynomial",
        title=f"Polynomial projection of cell counts, degree {DEGREE}",
        unit="cells",
        sizes=(2**12, 2**15, 2**18),
        quick=(2**15,),
        small=2**10,
        memory=2**18,
        make=cells,
        outcome=lambda counts, answer: answer,
        disagreements=disagreements,
        agreement=(
            f"counts differ by at most {STANDARD_ERRORS} times the largest standard error plus "
            "one percent of n, for the error of a polynomial without noise"
        ),
        contenders=(
            Contender("dpcore", "ours", lambda c: lambda: MECHANISM.release(c), noise="exact"),
            Contender("NumPy by hand", "numpy", numpy_projection, noise="inexact"),
            Contender("memory for the curve", "floor", lambda c: lambda: np.ones(c.size)),
        ),
    ),
)
