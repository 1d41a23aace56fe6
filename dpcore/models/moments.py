"""Least squares from noisy sums of products, which are whole numbers with exact noise.

Neighbours: one record replaced, and n is public. docs/proofs/models.md, section 5, has the proof.
The idea is that of Wang, *Revisiting differentially private linear regression* (UAI 2018, AdaSSP),
which has Gaussian noise.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..noise.sources import Source
from ..privacy.allowance import Allowance, Law

__all__ = [
    "by_moments",
    "checked_law",
    "largest_change",
    "least_squares",
    "sums_of_products",
    "value_bits",
]

Floats = NDArray[np.float64]

_MOST_BITS: Final = 12  # bits of a value within [-1, 1], without its sign
# The largest change of all sums, in their units: its noise fits 64 bits.
_MOST_CHANGE: Final = 2**30
_CHUNK: Final = 2**20  # the sums of products of so many records are below 2^53


def largest_change(features: int, fit_intercept: bool) -> Fraction:
    """Return the largest sum of changes of all released sums if a record is replaced."""
    d = features
    if fit_intercept:
        return Fraction((d + 1) * (d + 4), 2)
    return Fraction(d * (d + 2) ** 2, 2 * (d + 1))


def value_bits(change: Fraction) -> int:
    """Return the number of bits of rounded values: twelve, or fewer for many features."""
    return min(_MOST_BITS, (int(_MOST_CHANGE / change).bit_length() - 1) // 2)


def checked_law(features: int, fit_intercept: bool, budget: Allowance) -> tuple[Law, int]:
    """Return the noise of the sums, and the bits of values, or refuse a budget that is too small.

    Raises
    ------
    ParameterError
        epsilon is so small that the noise would exceed 2^40 units.
    """
    change = largest_change(features, fit_intercept)
    bits = value_bits(change)
    return budget.law(4**bits * change), bits  # 4^bits units are a product of two values


def sums_of_products(rows: Floats, bits: int) -> NDArray[np.int64]:
    """Return the sums over records of all products of two rows, in units of 2^(-2 bits).

    Parameters
    ----------
    rows
        (K, n) numbers within [-1, 1]. Each is rounded to a multiple of 2^-bits.
    bits
        At most 12.

    Returns
    -------
    numpy.ndarray
        (K, K). In doubles, the products and sums of a chunk are exact in any order. Chunks add up
        as integers.
    """
    total = np.zeros((len(rows), len(rows)), np.int64)
    for start in range(0, rows.shape[1], _CHUNK):
        part = np.rint(rows[:, start : start + _CHUNK] * 2.0**bits)
        total += (part @ part.T).astype(np.int64)
    return total


def by_moments(
    scaled: Floats,
    responses: Floats,
    fit_intercept: bool,
    penalty: float,
    budget: Allowance,
    stream: Source,
) -> Floats:
    """Return the least squares of noisy sums of products.

    Parameters
    ----------
    scaled, responses
        (d, n) and (n,) numbers within [-1, 1].
    fit_intercept
        Whether there is one more feature, which is 1 for all records.
    penalty
        As in ``least_squares``.
    budget
        The budget, for epsilon.
    stream
        The source of the noise.

    Returns
    -------
    numpy.ndarray
        (D,) private coefficients; the last one is for the constant.

    Raises
    ------
    ParameterError
        As from ``checked_law``, which ``fit`` calls before it spends epsilon.
    """
    law, bits = checked_law(len(scaled), fit_intercept, budget)
    units = 4**bits
    constant = np.ones((int(fit_intercept), responses.size))
    sums = sums_of_products(np.concatenate([responses[None], scaled, constant]), bits)
    upper = np.triu_indices(len(sums))
    noise = np.empty(upper[0].size, np.int64)
    law.fill(noise, stream)
    noise[0] = -sums[0, 0]  # the square of the responses is not used
    if fit_intercept:
        noise[-1] = 0  # the product of the constant with itself is n, which is public
    noisy = np.zeros(sums.shape)
    noisy[upper] = (sums[upper] + noise) / units
    return least_squares(noisy, responses.size, penalty, math.sqrt(law.variance) / units)


def least_squares(noisy: Floats, n: int, penalty: float, deviation: float) -> Floats:
    """Return the coefficients of least squares, (D,).

    Parameters
    ----------
    noisy
        (D + 1, D + 1) sums of products; only those above the diagonal, and on it, are read. The
        first row is of the responses.
    n
        The number of records.
    penalty
        A number that is added to the diagonal, for all features. If the noise could make the matrix
        indefinite, more is added, until the least eigenvalue is at least n 2^-40 and at least twice
        the deviation of the noise times the root of D, which is about the norm of that noise.
    deviation
        The standard deviation of the noise in each sum.
    """
    products = np.triu(noisy, 1)[1:, 1:]
    products += products.T + np.diag(np.diag(noisy)[1:])
    spread = 2.0 * deviation * math.sqrt(len(products))
    spread = max(spread, n * 2.0**-40)  # without noise, the matrix might be singular
    added = penalty + max(0.0, spread - float(np.linalg.eigvalsh(products)[0]))
    return np.linalg.solve(products + added * np.eye(len(products)), noisy[0, 1:]).astype(
        np.float64
    )
