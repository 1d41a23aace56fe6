"""Integral potentials of the cheapest transport, by minimum cuts on the dyadic graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._compile import kernel


@kernel
def _forbid(
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    conductances: NDArray[np.float64],
    potentials: NDArray[np.int64],
    costs: NDArray[np.float64],
) -> None:
    """Start the tables of all edges: 0, or infinite where a potential would differ by 2."""
    for slot in range(2 * left.size):
        for state in range(4):
            costs[slot, state] = 0.0
    for v in range(left.size - 1):
        for slot, end in ((2 * v, left[v]), (2 * v + 1, right[v])):
            if conductances[slot] > 0.0:
                drop = potentials[v] - potentials[end]
                if drop > 0:
                    costs[slot, 2] = np.inf
                elif drop < 0:
                    costs[slot, 1] = np.inf


@kernel
def _lift(
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    fill: NDArray[np.uint32],
    row: NDArray[np.float64],
    potentials: NDArray[np.int64],
    costs: NDArray[np.float64],
    choices: NDArray[np.uint8],
    lifted: NDArray[np.uint8],
) -> bool:
    """Raise by 1 the smallest set of vertices that lowers row'potentials most; whether any.

    ``costs[slot, 2 i + j]`` is the least cost of all that was eliminated between the ends of the
    slot's edge, where the end that goes first is raised (i = 1) or not, and the other end (j).
    ``choices[v]``, bit 2 i + j: is v raised, given its left (i) and right neighbour (j)?
    """
    last = left.size - 1
    for v in range(last):
        a, b = 2 * v, 2 * v + 1
        into = fill[v]
        swapped = into != 2 * left[v] + 1
        bits = 0
        for i in range(2):
            for j in range(2):
                stay = costs[a, i] + costs[b, j]
                rise = costs[a, 2 + i] + costs[b, 2 + j] + row[v]
                if rise < stay:
                    bits |= 1 << (2 * i + j)
                best = min(rise, stay)
                if v < last - 1:
                    costs[into, 2 * j + i if swapped else 2 * i + j] += best
                elif i == j:
                    costs[2 * last, i] = best
        choices[v] = bits
    lifted[last] = costs[2 * last, 1] + row[last] < costs[2 * last, 0]
    rose = bool(lifted[last] > 0)
    potentials[last] += lifted[last]
    for v in range(last - 1, -1, -1):
        lifted[v] = (choices[v] >> (2 * lifted[left[v]] + lifted[right[v]])) & 1
        potentials[v] += lifted[v]
        rose = rose or bool(lifted[v] > 0)
    return rose


@kernel
def lift(
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    fill: NDArray[np.uint32],
    conductances: NDArray[np.float64],
    row: NDArray[np.float64],
    potentials: NDArray[np.int64],
) -> int:
    """Find the smallest u >= 0 that minimises row'u with |u_a - u_b| <= 1 on every edge.

    Parameters
    ----------
    left, right, fill, conductances
        From ``elimination.plan``.
    row
        (B + 1,) increments with a positive sum, all of them multiples of one number and their
        absolute sum at most 2^52 times it: so all sums here are exact.
    potentials
        (B + 1,) the result.

    Returns
    -------
    int
        The number of minimum cuts: max u + 1.

    Notes
    -----
    Invariant: u <= the smallest minimiser u*. The objective is L-natural-convex on the integers:
    while u is not a minimiser, there is a set X that lowers it, and the smallest best X is within
    {u < u*} and holds all vertices where u* - u is largest (Murota 2003, chapter 10). So the loop
    takes max u* steps, at most the longest distance in the graph.
    """
    for v in range(left.size):
        potentials[v] = 0
    costs = np.empty((2 * left.size, 4))
    choices, lifted = np.empty(left.size, np.uint8), np.empty(left.size, np.uint8)
    for cut in range(left.size + 1):
        _forbid(left, right, conductances, potentials, costs)
        if not _lift(left, right, fill, row, potentials, costs, choices, lifted):
            return cut + 1
    return left.size + 1
