"""Sums of Legendre polynomials over records. The floor is one pass over them."""

from __future__ import annotations

import numpy as np
from numpy.polynomial.legendre import legvander
from scipy.special import eval_legendre

from dpcore.kernels.polynomials import legendre
from dpcore.summaries.totals import totals

from ..registry import Contender, Job

DEGREE = 16
SUMS = DEGREE + 2  # degree 17 is in the integral of degree 16
PART = 2**16  # records worth a thread
CHUNK = 2**14  # at which NumPy is fastest
TOLERANCE = 3e-9  # half of 2^-28, and another half for the roundings of others


def values(size: int) -> np.ndarray:
    return np.random.default_rng(1).beta(2, 5, size)


def add(chunk: np.ndarray, sums: np.ndarray) -> int:
    return legendre.legendre_sums(chunk, 0.0, 1.0, sums)


def ours(values: np.ndarray):
    return lambda: totals([values], add, SUMS, PART, "omit") / 2**28


def ours_on_one_thread(values: np.ndarray):
    return lambda: totals([values], add, SUMS, values.size + 1, "omit") / 2**28


def numpy_sums(values: np.ndarray) -> np.ndarray:
    return legvander(2.0 * values - 1.0, SUMS - 1).sum(0)


def numpy_sums_in_chunks(values: np.ndarray) -> np.ndarray:
    return sum(numpy_sums(values[i : i + CHUNK]) for i in range(0, values.size, CHUNK))


def scipy_sums(values: np.ndarray) -> np.ndarray:
    return eval_legendre(np.arange(SUMS)[:, None], 2.0 * values - 1.0).sum(1)


def disagreements(values: np.ndarray, outcomes):
    expected = numpy_sums_in_chunks(values)
    off = {name: np.abs(sums - expected).max() / values.size for name, sums in outcomes.items()}
    return {name: f"off by {o:g} n" for name, o in off.items() if o > TOLERANCE}


JOBS = (
    Job(
        name="legendre",
        title=f"Legendre sums of doubles, degree {DEGREE}",
        unit="values",
        sizes=(10**5, 10**6, 10**7),
        quick=(10**6,),
        small=10**4,
        memory=10**7,
        make=values,
        outcome=lambda values, answer: answer,
        disagreements=disagreements,
        agreement=(
            f"sums differ from NumPy's by at most {TOLERANCE:g} n (dpcore sums polynomials rounded "
            "to multiples of 2^-28, and gets the same bits in any order)"
        ),
        contenders=(
            Contender("dpcore, all threads", "ours", ours),
            Contender("dpcore, one thread", "ours", ours_on_one_thread),
            Contender("np legvander", "numpy", lambda v: lambda: numpy_sums(v)),
            Contender("np legvander, chunks", "numpy", lambda v: lambda: numpy_sums_in_chunks(v)),
            Contender(
                "scipy eval_legendre", "numpy", lambda v: lambda: scipy_sums(v), largest=10**6
            ),
            Contender("memory pass", "floor", lambda values: values.max),
        ),
    ),
)
