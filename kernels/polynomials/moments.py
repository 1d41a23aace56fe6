"""Power sums of records on [-1, 1], in whole multiples of 2^-28, which add up exactly.

A record adds an integer, which is a function of the record alone. So sums have the same bits for
any chunks, threads and order.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel

UNIT: Final = 2**28
BLOCK: Final = 512  # records in a block; their buffers fit the first-level cache

_MAGIC: Final = 1.5 * 2.0**24  # doubles near this number are 2^-28 apart
MAGIC_BITS: Final = np.float64(_MAGIC).view(np.int64)
_WIDE: Final = 2.0**1022
_NEAR_ZERO: Final = 2.0**-30


@inner
def nearest(number: float) -> np.int64:
    """Return the integer nearest to 2^28 times a number within [-2, 2], ties to even.

    The sum with the magic number is rounded to a multiple of 2^-28. The difference between its bits
    and those of the magic number is that multiple. Integers may be summed in any order, so loops
    over these numbers vectorise.
    """
    return bits_of_nearest(number) - MAGIC_BITS


@inner
def bits_of_nearest(number: float) -> np.int64:
    """Return ``nearest`` plus ``MAGIC_BITS``.

    A sum of these numbers wraps around. It is right after ``MAGIC_BITS`` is subtracted once for
    each. This saves an operation for each number.
    """
    return np.float64(number + _MAGIC).view(np.int64)


@inner
def positions(
    values: NDArray[np.floating],
    start: int,
    size: int,
    lower: float,
    upper: float,
    out: NDArray[np.float64],
) -> int:
    """Write the places on [-1, 1] of ``size`` values from ``start`` on. Return their number.

    x = 2 (v - lower) / (upper - lower) - 1 for the value v clipped to [lower, upper], so x = -1 and
    x = 1 exactly at the bounds. NaN is left out. If upper - lower would overflow, all numbers are
    halved. Apart from 0, |x| >= 2^-53.
    """
    shrink = 0.5 if 0.5 * upper - 0.5 * lower >= _WIDE else 1.0
    least = shrink * lower
    width = shrink * upper - least
    first = np.uint64(start)  # unsigned: no test for negative indices
    missing = 0
    for j in range(size):
        value = np.float64(values[first + np.uint64(j)])
        missing += value != value  # NaN
        clipped = min(upper, max(lower, value))  # in this order NaN gives lower
        out[j] = (shrink * clipped - least) / width * 2.0 - 1.0
    kept = size
    if missing > 0:
        kept = 0
        for j in range(size):
            out[kept] = out[j]
            kept += not np.isnan(values[first + np.uint64(j)])
    return kept


@inner
def middles(cells: int, start: int, size: int, out: NDArray[np.float64]) -> None:
    """Write the middles of ``size`` cells from ``start`` on, where cells divide [-1, 1] equally."""
    for j in range(size):
        out[j] = np.float64(2 * (start + j) + 1 - cells) / cells


@inner
def _raise_powers(
    x: NDArray[np.float64], power: NDArray[np.float64], size: int
) -> tuple[np.int64, np.int64]:
    """Multiply x^i by x twice, in place. Return the sums of both results."""
    odd, even = np.int64(0), np.int64(0)
    for j in range(size):
        once = power[j] * x[j]
        twice = once * x[j]
        power[j] = twice
        odd += nearest(once)
        even += nearest(twice)
    return odd, even


@inner
def _raise_counted_powers(
    x: NDArray[np.float64],
    power: NDArray[np.float64],
    size: int,
    counts: NDArray[np.int64],
    at: int,
) -> np.int64:
    """Multiply x^i by x, in place. Return the sum, where cell ``at + j`` has a count as weight."""
    first = np.uint64(at)
    total = np.int64(0)
    for j in range(size):
        power[j] *= x[j]
        total += nearest(power[j]) * counts[first + np.uint64(j)]
    return total


@kernel
def moment_sums(
    values: NDArray[np.floating], lower: float, upper: float, sums: NDArray[np.int64]
) -> int:
    """Add to sums[i] the integers nearest to 2^28 x^i, for all records x and i < sums.size.

    Parameters
    ----------
    values
        (n,) float32 or float64. Their places x on [-1, 1] are those of ``positions``.
    lower, upper
        Finite, lower < upper.
    sums
        (K + 2,), K + 2 <= 34, added to in place; exact up to 2^33 records.

    Returns
    -------
    int
        The number of NaN values. They are in no sum, so n is the increase of sums[0] / 2^28.

    Notes
    -----
    O(n K), memory of one block. Invariant: after each block, sums are exact for all records so far.

    A term f_i(x) is within [-2^28, 2^28], and within 0.5 + 2^28 (i - 1) 2^-53 < 0.501 of 2^28 x^i:
    it is made by i - 1 products of numbers up to 1. Positions below 2^-30 are taken for 0, as all
    their powers round to 0 anyway. The powers of other positions stay far from the subnormal
    numbers, which are slow.
    """
    x, power = np.empty(BLOCK), np.empty(BLOCK)
    missing = 0
    for start in range(0, values.size, BLOCK):
        size = min(BLOCK, values.size - start)
        kept = positions(values, start, size, lower, upper, x)
        missing += size - kept
        for j in range(kept):
            x[j] = x[j] if abs(x[j]) >= _NEAR_ZERO else 0.0
            power[j] = 1.0
        sums[0] += kept * UNIT
        for i in range(1, sums.size, 2):
            odd, even = _raise_powers(x, power, kept)
            sums[i] += odd
            if i + 1 < sums.size:
                sums[i + 1] += even
    return missing


@kernel
def moment_counts(counts: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
    """Add the sums that ``moment_sums`` would add for counts[i] records in the middle of cell i.

    The (N,) cells divide [-1, 1] into equal parts, N <= 2^24. x_i = (2 i + 1 - N) / N, rounded
    once. O(N K).
    """
    x, power = np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, counts.size, BLOCK):
        size = min(BLOCK, counts.size - start)
        middles(counts.size, start, size, x)
        for j in range(size):
            power[j] = 1.0
            sums[0] += counts[start + j] * UNIT
        for i in range(1, sums.size):
            sums[i] += _raise_counted_powers(x, power, size, counts, start)
