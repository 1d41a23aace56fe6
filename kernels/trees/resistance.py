"""The largest effective resistance in the dyadic graph, where every node is a resistor of 1.

Seen from its two ends and one boundary v inside, a node with all nodes below it is a star. It has
the resistances x to its left end, R - x to its right end, and y to v, where R does not depend on v.
The parent closes the chain of its children with its own edge and with everything outside. A
triangle becomes a star again. So two arrays, x and y, describe a node's boundaries, in order and
without its right end. x increases.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel


def _chain(
    whole_x: NDArray[np.float64],
    whole_y: NDArray[np.float64],
    whole: float,
    copies: int,
    last_x: NDArray[np.float64],
    last_y: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Put equal children in a row, and the last one after them, without closing the chain."""
    starts = np.arange(copies)[:, np.newaxis] * whole
    x = np.concatenate([(starts + whole_x).reshape(-1), copies * whole + last_x])
    return x, np.concatenate([np.tile(whole_y, copies), last_y])


@inner
def _between(
    x: NDArray[np.float64], y: NDArray[np.float64], first: int, middle: int, end: int, around: float
) -> float:
    """Return the largest resistance from a boundary in [first, middle) to one in [middle, end).

    On a cycle of resistance ``around`` it is y_a + y_b + d (1 - d / around) with d = x_b - x_a.
    This is concave in d, so the best b does not decrease with a. Invariant: the best columns of the
    rows between two searched rows lie between the best columns of these two.
    """
    largest = 0.0
    tasks = np.empty((2 * 64, 4), np.int64)  # each task: rows [0, 1), columns [2, 3]
    tasks[0, 0], tasks[0, 1], tasks[0, 2], tasks[0, 3] = first, middle, middle, end - 1
    waiting = 1
    while waiting > 0:
        waiting -= 1
        low, high = tasks[waiting, 0], tasks[waiting, 1]
        left, right = tasks[waiting, 2], tasks[waiting, 3]
        if low >= high:
            continue
        a = (low + high) // 2
        best, at = -1.0, left
        for b in range(left, right + 1):
            d = x[b] - x[a]
            value = y[b] + d * (1.0 - d / around)
            if value > best:
                best, at = value, b
        largest = max(largest, best + y[a])
        tasks[waiting, 1], tasks[waiting, 3] = a, at  # the rows before row a
        waiting += 1
        tasks[waiting, 0], tasks[waiting, 1] = a + 1, high
        tasks[waiting, 2], tasks[waiting, 3] = at, right
        waiting += 1
    return largest


@kernel
def _across(x: NDArray[np.float64], y: NDArray[np.float64], inner: int, around: float) -> float:
    """Return the largest resistance between boundaries of different children, ``inner`` each."""
    largest = 0.0
    ranges = np.empty((2 * 64, 2), np.int64)  # ranges of children
    ranges[0, 0], ranges[0, 1] = 0, (x.size - 1) // inner + 1
    waiting = 1
    while waiting > 0:
        waiting -= 1
        low, high = ranges[waiting, 0], ranges[waiting, 1]
        if high - low < 2:
            continue
        middle = (low + high) // 2
        end = min(high * inner, x.size)
        largest = max(largest, _between(x, y, low * inner, middle * inner, end, around))
        ranges[waiting, 1] = middle
        ranges[waiting + 1, 0], ranges[waiting + 1, 1] = middle, high
        waiting += 2
    return largest


def largest_resistance(size: int, base: int) -> float:
    """Return the largest effective resistance between two boundaries, for ``size`` thresholds.

    The result is exact up to rounding. It takes O(N log N log base) time and O(N) memory. It is
    plain Python except for the searches. Of equal nodes of a level, the one with the largest
    resistance outside counts, because resistance grows with any resistor (Rayleigh).

    Invariant, on the way up: ``whole`` and ``last`` describe a full node of a level and its last
    node, by the resistance between their ends and their boundaries. On the way down: ``out_whole``
    and ``out_last`` are the largest resistances around them, from one end to the other.
    """
    if size < 1:
        return 0.0
    levels, span = 0, 1
    while span < size:
        levels, span = levels + 1, span * base
    one, none = np.zeros(1), np.zeros(0)
    whole_x, whole_y, last_x, last_y = [one], [one], [one], [one]
    whole, last = [1.0], [1.0]
    span = 1
    for level in range(levels):  # computes the nodes of level + 1 from their children
        children = (size - 1) // span + 1  # the number of children on this level
        copies = (children - 1) % base
        full, ragged = whole[level], last[level]
        x, y = _chain(whole_x[level], whole_y[level], full, copies, last_x[level], last_y[level])
        length = copies * full + ragged
        last_x.append(x / (length + 1.0))
        last_y.append(y + x * (length - x) / (length + 1.0))
        last.append(length / (length + 1.0))
        x, y = none, none
        length = base * full
        if children > base:
            x, y = _chain(whole_x[level], whole_y[level], full, base, none, none)
        whole_x.append(x / (length + 1.0))
        whole_y.append(y + x * (length - x) / (length + 1.0))
        whole.append(length / (length + 1.0))
        span *= base
    # The root already contains its own edge, so this compares its last boundary with all others.
    largest = max(0.0, float((last_y[levels] + last[levels] - last_x[levels]).max()))
    out_last, out_whole = np.inf, 0.0
    for level in range(levels - 1, -1, -1):  # pairs that meet in a node of level + 1
        span //= base
        copies = ((size - 1) // span) % base
        full, ragged = whole[level], last[level]
        x, y = _chain(whole_x[level], whole_y[level], full, copies, last_x[level], last_y[level])
        closing = 1.0 if out_last == np.inf else out_last / (1.0 + out_last)
        around = copies * full + ragged + closing
        largest = max(largest, _across(x, y, whole_x[level].size, around))
        beside_last, beside_whole = around - ragged, around - full if copies else 0.0
        if whole_x[level + 1].size > 0 and out_whole > 0.0:
            x, y = _chain(whole_x[level], whole_y[level], full, base, none, none)
            around = base * full + out_whole / (1.0 + out_whole)
            largest = max(largest, _across(x, y, whole_x[level].size, around))
            beside_whole = max(beside_whole, around - full)
        out_last, out_whole = beside_last, beside_whole
    return largest
