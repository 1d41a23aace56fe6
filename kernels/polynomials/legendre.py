"""Legendre polynomials on [-1, 1]: sums over records, in whole multiples of 2^-28, and series.

P_k = x P_(k-1) + c (x P_(k-1) - P_(k-2)), c = (k - 1) / k, is computed forwards, in doubles, and
never contracted into fused operations, so the results are the same on every machine.

The error is bounded as follows, with u = 2^-53. A step adds at most 9.001 u: 2 u from the product
x P_(k-1), which counts 1 + c times, 2 u each from the difference, from c, and from the product with
it, and u from the last sum. (By induction with the result below, computed values exceed 1 by at
most 10^-10.) An error of 1 at step j, e_j = 1 after e_(j-1) = 0, continues by the recurrence. Let
q_k = e_k^2 - 2 x e_k e_(k-1) + e_(k-1)^2 = (e_k - x e_(k-1))^2 + (1 - x^2) e_(k-1)^2, and
d = k (e_k - x e_(k-1)), which the recurrence makes (k - 1) (x e_(k-1) - e_(k-2)). Then
q_k = d^2 / k^2 + (1 - x^2) e_(k-1)^2 <= d^2 / (k - 1)^2 + (1 - x^2) e_(k-1)^2 = q_(k-1), so
q_k <= q_j = 1, |e_k| <= |e_(k-1)| + 1, and |e_k| <= k - j + 1. Over steps j = 2, ..., k:
**|computed - P_k(x)| <= 4.501 k (k - 1) u**, below 8.3e-12 for k <= 129, 3.3e-11 for k <= 256.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel
from .moments import BLOCK, MAGIC_BITS, UNIT, bits_of_nearest, middles, nearest, positions

_POINTS: Final = 256  # points in a table; at degree 256 it takes half a megabyte


@inner
def _two_degrees(
    x: NDArray[np.float64],
    before: NDArray[np.float64],
    last: NDArray[np.float64],
    size: int,
    k: int,
) -> tuple[np.int64, np.int64]:
    """Turn P_(k-2) and P_(k-1) into P_k and P_(k+1), in place. Return the sums of both."""
    c, d = (k - 1.0) / k, k / (k + 1.0)
    first, second = np.int64(0), np.int64(0)
    for j in range(size):
        product = x[j] * last[j]
        lower = product + c * (product - before[j])
        product = x[j] * lower
        upper = product + d * (product - last[j])
        before[j] = lower
        last[j] = upper
        first += bits_of_nearest(lower)
        second += bits_of_nearest(upper)
    extra = np.int64(size) * MAGIC_BITS  # modulo 2^64, as the sums are
    return first - extra, second - extra


@kernel
def legendre_sums(
    values: NDArray[np.floating], lower: float, upper: float, sums: NDArray[np.int64]
) -> int:
    """Add to sums[k] the integers nearest to 2^28 P_k(x), for all records x and k < sums.size.

    Parameters
    ----------
    values
        (n,) float32 or float64. Their places x on [-1, 1] are those of ``moments.positions``.
    lower, upper
        Finite, lower < upper.
    sums
        (K + 2,), 2 <= K + 2 <= 130, added to in place; exact up to 2^33 records.

    Returns
    -------
    int
        The number of NaN values. They are in no sum, so n is the increase of sums[0] / 2^28.

    Notes
    -----
    O(n K), memory of one block. Invariant: after each block, sums are exact for all records so far.

    A term f_k(x) is within [-2^28, 2^28], and within 0.5 + 2^28 8.3e-12 < 0.503 of 2^28 P_k(x). Its
    bits do not depend on neighbours: every operation is an IEEE operation on one record, and gives
    the same result with and without vector instructions.
    """
    x, before, last = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    missing = 0
    for start in range(0, values.size, BLOCK):
        size = min(BLOCK, values.size - start)
        kept = positions(values, start, size, lower, upper, x)
        missing += size - kept
        total = np.int64(0)
        for j in range(kept):
            before[j] = 1.0
            last[j] = x[j]
            total += nearest(x[j])
        sums[0] += kept * UNIT
        sums[1] += total
        for k in range(2, sums.size, 2):
            first, second = _two_degrees(x, before, last, kept, k)
            sums[k] += first
            if k + 1 < sums.size:
                sums[k + 1] += second
    return missing


@inner
def _tabulate(table: NDArray[np.float64], size: int) -> None:
    """Fill row k of the table with P_k of the ``size`` numbers in row 1."""
    for j in range(size):
        table[0, j] = 1.0
    for k in range(2, table.shape[0]):
        c = (k - 1.0) / k
        for j in range(size):
            product = table[1, j] * table[k - 1, j]
            table[k, j] = product + c * (product - table[k - 2, j])


@kernel
def legendre_counts(counts: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
    """Add the sums that ``legendre_sums`` would add for counts[i] records in the middle of cell i.

    The (N,) cells divide [-1, 1] into equal parts, N <= 2^24. x_i = (2 i + 1 - N) / N, rounded
    once. O(N K).
    """
    x, table = np.empty(_POINTS), np.empty((sums.size, _POINTS))
    for start in range(0, counts.size, _POINTS):
        size = min(_POINTS, counts.size - start)
        first = np.uint64(start)  # unsigned: no test for negative indices
        middles(counts.size, start, size, x)
        for j in range(size):
            table[1, j] = x[j]
        _tabulate(table, size)
        for k in range(sums.size):
            total = np.int64(0)
            for j in range(size):
                total += nearest(table[k, j]) * counts[first + np.uint64(j)]
            sums[k] += total


@inner
def _add_terms(
    coefficients: NDArray[np.float64],
    r: int,
    table: NDArray[np.float64],
    size: int,
    out: NDArray[np.float64],
    start: int,
) -> None:
    """Write row r of the series at ``size`` points from ``start`` on, four terms in each pass."""
    first = np.uint64(start)
    terms = coefficients.shape[1]
    for j in range(size):
        out[r, first + np.uint64(j)] = coefficients[r, 0]
    k = 1
    while k + 3 < terms:
        a, b = coefficients[r, k], coefficients[r, k + 1]
        c, d = coefficients[r, k + 2], coefficients[r, k + 3]
        for j in range(size):
            out[r, first + np.uint64(j)] += (
                a * table[k, j] + b * table[k + 1, j] + c * table[k + 2, j] + d * table[k + 3, j]
            )
        k += 4
    while k < terms:
        a = coefficients[r, k]
        for j in range(size):
            out[r, first + np.uint64(j)] += a * table[k, j]
        k += 1


@kernel
def series(
    coefficients: NDArray[np.float64], points: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Write sum over k of coefficients[r, k] P_k(points[j]) to out[r, j].

    Parameters
    ----------
    coefficients
        (R, K + 1), K <= 256.
    points
        (N,) within [-1, 1].
    out
        (R, N).

    Notes
    -----
    O(R N K). The rows share a table of the polynomials at one block of points. Nothing else takes
    memory. Clenshaw's backward recurrence would start anew in each row, and is about as accurate.
    Errors relative to the sum of |coefficients[r, :]| are those of the polynomials, at the top of
    this file, and (K + 2) u from the sum.
    """
    table = np.empty((max(2, coefficients.shape[1]), _POINTS))
    for start in range(0, points.size, _POINTS):
        size = min(_POINTS, points.size - start)
        for j in range(size):
            table[1, j] = points[start + j]
        _tabulate(table, size)
        for r in range(coefficients.shape[0]):
            _add_terms(coefficients, r, table, size, out, start)
