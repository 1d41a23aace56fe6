"""Smoothing with norm 1: the cheapest transport of least energy on the dyadic graph."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel
from .cuts import lift
from .energy import Memory, least_energy
from .increments import read, round_off
from .network import Network, connect
from .path import Point


@kernel
def repair(
    order: NDArray[np.int64],
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    fill: NDArray[np.uint32],
    conductances: NDArray[np.float64],
    costs: NDArray[np.float64],
    space: NDArray[np.float64],
    increments: NDArray[np.float64],
    figures: NDArray[np.float64],
    steps: NDArray[np.int64],
) -> None:
    """Make increments non-negative with the cheapest transport of least energy, row by row.

    Let c be a row of increments whose sum is positive. Among all flows f on the graph with
    c + G f >= 0 and the least sum |f|, the kernel finds the one with the least sum f^2 / copies.

    Parameters
    ----------
    order, left, right, fill, conductances
        From ``elimination.plan``.
    costs, space
        (2 B + 2, 4) and (11, 3 B + 3 or more): working memory.
    increments
        (R, B + 1) the c, which are replaced by c + G f.
    figures
        (R, 6) the result: the sum |f|; the largest negative increment, and the largest of those
        that must be 0; the infeasibility of the integral potentials; the lower bound that they
        prove for the sum; the energy; and the distance of the flow from least energy. The distance
        is the largest violation of its optimality conditions, in counts: the error of ``settle``.
    steps
        (R,) the result: the numbers of minimum cuts and eliminations.

    Notes
    -----
    The kernel has three parts. Minimum cuts give integral dual potentials u, exactly. They say
    which edges may carry flow, in which direction, and which increments are 0 in every cheapest
    transport. This defines a network, whose flow of least energy is the solution of a strictly
    convex quadratic program. An interior-point method comes near it, and active sets find it
    exactly.
    """
    vertices = left.size
    places = np.empty((3, 3 * vertices + 1), np.uint32)
    levels, marked = np.empty(vertices, np.int32), np.empty(vertices, np.bool_)
    row, best = space[0, :vertices], space[1, : vertices + 1]
    point = Point(
        space[3],
        space[4],
        space[5],
        space[6, : vertices + 1],
        space[7, : vertices + 1],
        space[8, : 3 * vertices],
    )
    memory = Memory(
        space[2, : vertices + 1],
        space[2, vertices + 1 : 2 * vertices + 2],
        space[9],
        space[10],
        np.empty(3 * vertices, np.bool_),
        marked,
    )
    for slot in range(costs.shape[0]):
        for i in range(4):
            costs[slot, i] = 0.0
    for r in range(increments.shape[0]):
        for i in range(6):
            figures[r, i] = 0.0
        steps[r] = 0
        least = 0.0
        for v in range(vertices):
            least = min(least, increments[r, v])
        if least >= 0.0:
            continue
        exponent = round_off(increments[r], order, row)
        count = lift(left, right, fill, conductances, row, levels, costs)
        edges, flows = connect(left, right, conductances, levels, places, marked)
        network = Network(
            left,
            right,
            fill,
            conductances,
            places[0, :flows],
            places[1, :flows],
            places[2, :flows],
            row,
            edges,
        )
        if edges > 0:
            tried, error = least_energy(network, levels, point, memory, best)
            count += tried
            figures[r, 5] = math.ldexp(error, exponent)
        steps[r] = count
        after = point.sources[:vertices]
        read(network, order, levels, best, exponent, after, increments[r], figures[r])
