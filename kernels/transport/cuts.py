"""Integral potentials of the cheapest transport, by minimum cuts on the dyadic graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner


@inner
def _decide(
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    fill: NDArray[np.uint32],
    conductances: NDArray[np.float64],
    row: NDArray[np.float64],
    potentials: NDArray[np.int32],
    costs: NDArray[np.float64],
    choices: NDArray[np.uint8],
    stale: NDArray[np.bool_],
) -> None:
    """Update the tables of a minimum cut, which say which set to raise by 1 to lower row'u most.

    ``costs[slot, 2 i + j]`` is the least cost of all vertices that were eliminated between the ends
    of the slot's edge. Here i says whether the end that is eliminated first is raised (i = 1), and
    j the same of the other end. The cost has one source, the last vertex eliminated between them,
    or none, and then it stays 0. Bit 2 i + j of ``choices[v]`` says whether v is raised, given its
    left (i) and right neighbour (j).

    Invariant: before vertex v, the tables that it reads are right, and so are its own tables unless
    it is ``stale``. They depend on its increment, on the tables of its two edges, and on the
    differences of potential along these.
    """
    for v in range(left.size - 1):
        if not stale[v]:
            continue
        a, b, into = 2 * v, 2 * v + 1, fill[v]
        above_a = potentials[v] - potentials[left[v]]
        above_b = potentials[v] - potentials[right[v]]
        above_a = above_a if conductances[a] > 0.0 else 0
        above_b = above_b if conductances[b] > 0.0 else 0
        # Everything is read before the choice, because branches on random differences would cost
        # more than the rest of the loop. If a difference is not 0, one of two costs is infinite.
        stay_0, stay_1, rise_0, rise_1 = costs[a, 0], costs[a, 1], costs[a, 2], costs[a, 3]
        stay_1, rise_0 = np.inf if above_a < 0 else stay_1, np.inf if above_a > 0 else rise_0
        b_00, b_01, b_10, b_11 = costs[b, 0], costs[b, 1], costs[b, 2], costs[b, 3]
        b_01, b_10 = np.inf if above_b < 0 else b_01, np.inf if above_b > 0 else b_10
        b_10, b_11 = row[v] + b_10, row[v] + b_11
        stay_00, rise_00 = stay_0 + b_00, rise_0 + b_10
        stay_01, rise_01 = stay_0 + b_01, rise_0 + b_11
        stay_10, rise_10 = stay_1 + b_00, rise_1 + b_10
        stay_11, rise_11 = stay_1 + b_01, rise_1 + b_11
        choices[v] = (
            int(rise_00 < stay_00)
            | int(rise_01 < stay_01) << 1
            | int(rise_10 < stay_10) << 2
            | int(rise_11 < stay_11) << 3
        )
        best_00 = rise_00 if rise_00 < stay_00 else stay_00
        best_01 = rise_01 if rise_01 < stay_01 else stay_01
        best_10 = rise_10 if rise_10 < stay_10 else stay_10
        best_11 = rise_11 if rise_11 < stay_11 else stay_11
        swapped = into != 2 * left[v] + 1
        best_01, best_10 = best_10 if swapped else best_01, best_01 if swapped else best_10
        stale[into >> 1] |= (
            (best_00 != costs[into, 0])
            | (best_01 != costs[into, 1])
            | (best_10 != costs[into, 2])
            | (best_11 != costs[into, 3])
        )
        costs[into, 0], costs[into, 1] = best_00, best_01
        costs[into, 2], costs[into, 3] = best_10, best_11


@inner
def lift(
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    fill: NDArray[np.uint32],
    conductances: NDArray[np.float64],
    row: NDArray[np.float64],
    potentials: NDArray[np.int32],
    costs: NDArray[np.float64],
) -> int:
    """Find the smallest u >= 0 that minimises row'u with |u_a - u_b| <= 1 on every edge.

    Parameters
    ----------
    left, right, fill, conductances
        From ``elimination.plan``.
    row
        (B + 1,) increments with a positive sum. All are multiples of one number, and their absolute
        sum is at most 2^52 times this number. So all sums here are exact.
    potentials
        (B + 1,) the result.
    costs
        (2 B + 2, 4) working memory: zeros, or the result of an earlier call with this plan.

    Returns
    -------
    int
        The number of minimum cuts: max u + 1.

    Notes
    -----
    Invariant: u <= the smallest minimiser u*. The objective is L-natural-convex on the integers.
    While u is not a minimiser, some set X lowers the objective, and the smallest best X is within
    {u < u*} and holds all vertices where u* - u is largest (Murota 2003, *Discrete Convex
    Analysis*, chapter 10). So the loop takes max u* steps, at most the longest distance in the
    graph. From one step to the next, only the tables next to the border of X change, and the tables
    that are made of them.
    """
    last = left.size - 1
    choices, lifted = np.empty(left.size, np.uint8), np.empty(left.size, np.uint8)
    stale = np.ones(left.size, np.bool_)
    for v in range(left.size):
        potentials[v] = 0
    for cut in range(left.size + 1):
        _decide(left, right, fill, conductances, row, potentials, costs, choices, stale)
        rose = costs[2 * last, 3] + row[last] < costs[2 * last, 0]
        lifted[last] = rose
        potentials[last] += lifted[last]
        for v in range(last - 1, -1, -1):
            a, b = lifted[left[v]], lifted[right[v]]
            up = (choices[v] >> (2 * a + b)) & 1
            lifted[v] = up
            potentials[v] += up
            rose |= up > 0
            stale[v] = up != a or up != b
        if not rose:
            return cut + 1
    return left.size + 1
