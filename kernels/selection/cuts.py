"""Cuts of a row of cells: the exponential mechanism over places within cells.

Each cell has S places. Place x = S k + s, 1 <= s <= S, is in cell k, and lies above the share s / S
of that cell's records. So with c_k records in cell k, and B_k in the cells before it, place x has
the rank F(x) = S B_k + s c_k, in units of 1 / S records.

A node (l, r] is cut at one of its places. With q = Q / A, the loss of place x in cell k is

    |A (F(x) - F(l)) - Q (F(r) - F(l))| = |A F(x) - target|.

Within a cell that is linear on either side of the target. So classes of losses are counted, and
their members are found, in steps of a cell. The draw is that of ``selection.exponential`` over the
negative losses of all places, which need not be listed. All losses are below 2^61.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel
from .selection import MOST, acceptance, all_slots, proposal

_MOST_BOUND = 2**62


@inner
def _line(
    counts: NDArray[np.int64],
    before: NDArray[np.int64],
    places: int,
    unit: int,
    target: int,
    node: tuple[int, int],
    k: int,
) -> tuple[int, int, int, int]:
    """Return base, step, first, last: A F - target = base + s step at place s of cell k."""
    base = unit * places * before[k] - target
    start = k * places
    return base, unit * counts[k], max(node[0] - start, 0) + 1, min(node[1] - start, places)


@inner
def _least(base: int, step: int, first: int, last: int) -> int:
    """Return the least |base + s step| for first <= s <= last."""
    low = base + first * step
    high = base + last * step
    if low >= 0 or high <= 0:
        return min(abs(low), abs(high))
    s = first + (-low) // step
    return min(-(base + s * step), base + (s + 1) * step)


@inner
def _near(base: int, step: int, first: int, last: int, bound: int) -> tuple[int, int]:
    """Return the first s, and one more than the last s, with |base + s step| < bound."""
    if bound <= 0 or _least(base, step, first, last) >= bound:
        return first, first
    if step == 0:
        return first, last + 1
    return max(first, (-bound - base) // step + 1), min(last, -((base - bound) // step) - 1) + 1


@kernel
def classes(
    counts: NDArray[np.int64],
    before: NDArray[np.int64],
    places: int,
    unit: int,
    target: int,
    node: tuple[int, int],
    firsts: NDArray[np.uint64],
    members: NDArray[np.int64],
) -> int:
    """Count the places of a node in each class, and return the least loss.

    Parameters
    ----------
    counts, before
        (N,) c_k and B_k.
    places, unit, target
        S, A and the target.
    node
        l and r.
    firsts, members
        As in ``selection.classes``, for distances from the least loss.

    Notes
    -----
    It takes O(N T) at worst for the N cells of the node, and O(N) if most are in the last class.
    """
    cells = node[0] // places, (node[1] - 1) // places + 1
    best = _MOST_BOUND
    for k in range(cells[0], cells[1]):
        base, step, first, last = _line(counts, before, places, unit, target, node, k)
        best = min(best, _least(base, step, first, last))
    final = firsts.size - 1
    for c in range(firsts.size):
        members[c] = 0
    for k in range(cells[0], cells[1]):
        base, step, first, last = _line(counts, before, places, unit, target, node, k)
        left = last - first + 1
        nearest = _least(base, step, first, last) - best
        if np.uint64(nearest) < firsts[final]:
            counted = 0
            for c in range(final):
                low, high = _near(base, step, first, last, int(firsts[c + 1]) + best)
                members[c] += high - low - counted
                counted = high - low
                if counted == left:
                    break
            left -= counted
        members[final] += left
    return int(best)


@inner
def _member(
    counts: NDArray[np.int64],
    before: NDArray[np.int64],
    places: int,
    unit: int,
    target: int,
    node: tuple[int, int],
    nearest: int,
    farthest: int,
    rank: np.int64,
) -> tuple[int, int]:
    """Return the place, and its loss, before which ``rank`` others are within a class.

    The losses of the class are at least ``nearest`` and less than ``farthest``.
    """
    k = node[0] // places
    while True:
        base, step, first, last = _line(counts, before, places, unit, target, node, k)
        low, high = _near(base, step, first, last, farthest)
        inner_low, inner_high = low, low
        if high > low:
            inner_low, inner_high = _near(base, step, first, last, nearest)
        inside = high - low - (inner_high - inner_low)
        if rank < inside:
            break
        rank -= inside
        k += 1
    s = low + rank
    if inner_high > inner_low and s >= inner_low:
        s += inner_high - inner_low
    return int(k * places + s), int(abs(base + s * step))


@kernel
def cut(
    words: NDArray[np.uint32],
    out: NDArray[np.int64],
    counts: NDArray[np.int64],
    before: NDArray[np.int64],
    places: int,
    unit: int,
    target: int,
    node: tuple[int, int],
    best: int,
    firsts: NDArray[np.uint64],
    members: NDArray[np.int64],
    numerator: np.uint64,
    denominator: np.uint64,
) -> tuple[int, int]:
    """Fill ``out`` with places of a node, each drawn with weight exp(-loss num / den).

    Parameters
    ----------
    words, out
        As in ``selection.exponential``.
    counts, before, places, unit, target, node, best, firsts, members
        As in ``classes``, and what it returned and wrote. T is at most 30.
    numerator, denominator
        The rate, num / den: both at most 2^53.

    Returns
    -------
    drawn, used
        As in ``selection.exponential``.
    """
    slots = all_slots(members)
    final = members.size - 1
    most = MOST // numerator
    at = 0
    for i in range(out.size):
        start = at
        place = 0
        drawn = False
        while not drawn and at <= words.size:
            c, rank, proposed, at = proposal(words, at, members, slots)
            if not proposed:
                continue
            farthest = int(firsts[c + 1]) + best if c < final else _MOST_BOUND
            nearest = int(firsts[c]) + best
            place, loss = _member(
                counts,
                before,
                places,
                unit,
                target,
                node,
                nearest,
                farthest,
                rank,
            )
            distance = min(np.uint64(loss - best), most)
            drawn, at = acceptance(words, at, distance, c, numerator, denominator)
        if at > words.size:
            return i, start
        out[i] = place
    return out.size, at
