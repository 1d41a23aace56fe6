"""Medians of intervals, and their smooth sensitivities.

Records lie in cells. ``cumulative`` is (N + 1,), the number of records before each cell. A *node*
is an interval of cells, [start, stop), stop - start >= 2. c(v) is the number of its records in or
before its cell v. A node may be split after its cells start, ..., stop - 2, the *candidates*. The
record of rank i, from 1, is at x_i, the least candidate v with c(v) >= i, or the last candidate.
x_i = start for i < 1, and x_i = stop - 2 beyond the last record. docs/proofs/selection.md says how
the sensitivities are used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel

UNIT = 2**38  # weight 1: the product with a gap, which is below 2^24, stays within 63 bits
RATIO_UNIT = 2**24
_RATIO_BITS = 24
_FLOOR = 2.0**-50  # a share of the range; smaller values are replaced by it
_STACK = 128


@kernel
def position(cumulative: NDArray[np.int64], start: int, stop: int, rank: int) -> int:
    """Return x_rank. Invariant: it is within [low, high]."""
    low, high = start, stop - 2
    least = cumulative[start] + rank
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle + 1] >= least:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def median_and_sensitivity(
    cumulative: NDArray[np.int64], start: int, stop: int, ratio: int
) -> tuple[int, int]:
    """Return the median of a node and its smooth sensitivity under add-or-remove-one.

    Parameters
    ----------
    cumulative, start, stop
        The node.
    ratio
        exp(-beta) times 2^24, an integer up to 2^24.

    Returns
    -------
    median, sensitivity
        The median is x_m, m = ceil(n / 2) for n records. The sensitivity, times 2^38, is the
        largest of w_k (x_{i + k + 1} - x_i), i = floor((n - k) / 2), over k = 0, 1, ..., n. The
        integers w_k start from 2^38 and fall by ``ratio``, rounded up.

    Notes
    -----
    Invariant: left and right are x_i and x_{i + k + 1}. Gaps grow with k, up to the range for
    k = n. So the search may stop where even the range would not exceed the best gap, or once the
    weights no longer fall.
    """
    n = cumulative[stop] - cumulative[start]
    median = position(cumulative, start, stop, (n + 1) // 2)
    reach = stop - 2 - start
    left = position(cumulative, start, stop, n // 2)
    right = position(cumulative, start, stop, n // 2 + 1)
    weight = np.int64(UNIT)
    best = weight * (right - left)
    k = 0
    while weight * reach > best:
        k += 1
        lighter = (weight * ratio + RATIO_UNIT - 1) >> _RATIO_BITS
        if k >= n or lighter == weight:
            return median, int(max(best, lighter * reach))
        weight = lighter
        i = (n - k) // 2
        least = cumulative[start] + i
        while left > start and cumulative[left] >= least:
            left -= 1
        least += k + 1
        while right < stop - 2 and cumulative[right + 1] < least:
            right += 1
        best = max(best, weight * (right - left))
    return median, int(best)


@kernel
def discounted_gap(left: NDArray[np.float64], right: NDArray[np.float64], beta: float) -> float:
    """Return the largest (right[q] - left[p]) exp(-beta (p + q - 1)).

    Parameters
    ----------
    left
        (P,) falling: x_m, x_{m-1}, ...
    right
        (Q,) rising, from the same x_m.
    beta
        Above 0.

    Notes
    -----
    The quotient of two columns q < q' is (right[q'] - left[p]) / (right[q] - left[p]) times a
    constant. It falls as left[p] does, so the best column does not rise with p. By divide and
    conquer the best column of the middle row bounds those of the rows on either side. It takes
    O(P + Q log P). Invariant: every entry above ``best`` is in the rows and columns on the stack.
    """
    stack = np.empty((_STACK, 4), np.int64)
    stack[0, 0], stack[0, 1] = 0, left.size
    stack[0, 2], stack[0, 3] = 0, right.size
    height = 1
    best = 0.0
    while height > 0:
        height -= 1
        first, last = stack[height, 0], stack[height, 1]
        low, high = stack[height, 2], stack[height, 3]
        row = (first + last) // 2
        column, most = low, -1.0
        for q in range(low, high):
            value = (right[q] - left[row]) * np.exp(-beta * max(row + q - 1, 0))
            if value > most:
                column, most = q, value
        best = max(best, most)
        if first < row:
            stack[height, 0], stack[height, 1] = first, row
            stack[height, 2], stack[height, 3] = column, high
            height += 1
        if row + 1 < last:
            stack[height, 0], stack[height, 1] = row + 1, last
            stack[height, 2], stack[height, 3] = low, column + 1
            height += 1
    return best


@inner
def _window(cumulative: NDArray[np.int64], start: int, stop: int, reach: float, beta: float) -> int:
    """Return a k from which on exp(-beta k) times the range is no more than some other gap."""
    n = cumulative[stop] - cumulative[start]
    best = _FLOOR * reach
    k = 0
    while k < n and np.exp(-beta * k) * reach > best:
        i = (n - k) // 2
        gap = position(cumulative, start, stop, i + k + 1) - position(cumulative, start, stop, i)
        best = max(best, np.exp(-beta * k) * gap)
        k = 2 * k + 1
    return int(min(float(n), np.ceil(np.log(reach / best) / beta)))


@kernel
def replace_one_sensitivity(
    cumulative: NDArray[np.int64], start: int, stop: int, beta: float
) -> float:
    """Return the smooth sensitivity of a node's median under replace-one.

    It is the largest exp(-beta k) (x_{m + t} - x_{m + t - k - 1}) over k >= 0 and 0 <= t <= k + 1
    (Nissim, Raskhodnikova & Smith 2007, Proposition 3.4), or 2^-50 times the range if that is
    larger. It takes O(K log K), where no k beyond K can give a larger value.
    """
    reach = float(stop - 2 - start)
    if reach == 0.0:
        return 0.0
    n = cumulative[stop] - cumulative[start]
    m = (n + 1) // 2
    size = _window(cumulative, start, stop, reach, beta) + 2
    left, right = np.empty(min(size, m + 1)), np.empty(min(size, n - m + 2))
    at = position(cumulative, start, stop, m)
    left[0] = right[0] = at
    for q in range(1, right.size):
        while at < stop - 2 and cumulative[at + 1] - cumulative[start] < m + q:
            at += 1
        right[q] = at
    at = position(cumulative, start, stop, m)
    for p in range(1, left.size):
        while at > start and cumulative[at] - cumulative[start] >= m - p:
            at -= 1
        left[p] = at
    return max(discounted_gap(left, right, beta), _FLOOR * reach)
