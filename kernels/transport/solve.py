"""Smoothing with norm 1: the cheapest transport on the dyadic graph, the one of least energy."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel
from .cuts import lift
from .increments import read, round_off
from .network import Network, connect
from .path import Point, advance, start
from .settle import settle

_ROUNDING = 2.0**-38  # what of the largest increment counts as zero
_MOST = 100  # interior-point steps
_NEAR = 2.0**-15  # mean product, over mean square of increments, for the first exact attempt
_LEAST = 2.0**-90  # the same, where it gives up
_TRIES, _MOST_TRIES = 6, 48  # eliminations in the first exact attempt; doubled for the others


@kernel
def repair(
    order: NDArray[np.int64],
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    fill: NDArray[np.uint32],
    conductances: NDArray[np.float64],
    increments: NDArray[np.float64],
    figures: NDArray[np.float64],
    steps: NDArray[np.int64],
) -> None:
    """Make increments non-negative with the cheapest transport of least energy, row by row.

    That is, among all flows f on the graph with c + G f >= 0 that have the least sum |f|, where c
    is a row of increments whose sum is positive, find the one with the least sum f^2 / copies.

    Parameters
    ----------
    order, left, right, fill, conductances
        From ``elimination.plan``.
    increments
        (R, B + 1) the c; replaced by c + G f.
    figures
        (R, 6) the result: the sum |f|; the largest negative increment, and the largest of those
        that must be 0; the infeasibility of the integral potentials; the lower bound that
        they prove for the sum; the energy; and how far the flow is from least energy, the largest
        violation of its optimality conditions, in counts: the error of ``settle``.
    steps
        (R,) the result: minimum cuts and eliminations.

    Notes
    -----
    Three parts. Minimum cuts give integral dual potentials u, exactly. They say which edges may
    carry flow, in which direction, and which increments are 0 in every cheapest transport: a
    network whose flow of least energy is wanted, a strictly convex quadratic program. An
    interior-point method comes near it, and active sets end it exactly.

    Invariant of the innermost loop: ``best`` are the flows of the attempt with the least error.
    """
    vertices = left.size
    # One piece, which allocators keep for the next call where they would return many small ones;
    # and rows out of step, or they compete for the same lines of the cache.
    space = np.empty((12, 3 * vertices + 24))
    places = np.empty((3, 3 * vertices + 24), np.uint32)
    carries, source = np.empty(3 * vertices, np.bool_), np.empty(vertices, np.bool_)
    levels, costs = np.empty(vertices, np.int64), np.zeros((2 * vertices, 4))
    row, best, guess = space[0, :vertices], space[1], space[2, : vertices + 1]
    system, resistance = space[3, : 3 * vertices], space[4]
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
        edges, flows = connect(left, right, conductances, levels, places, resistance, source)
        network = Network(
            left,
            right,
            fill,
            places[0, :flows],
            places[1, :flows],
            places[2, :flows],
            resistance,
            row,
            edges,
        )
        point = Point(
            space[5],
            space[6],
            space[7],
            space[8],
            space[9],
            space[10],
            space[11],
            system,
        )
        if edges > 0:
            size, square = 0.0, 0.0
            for v in range(vertices):
                size = max(size, abs(row[v]))
                square += row[v] * row[v]
                source[v] = False
            square /= vertices
            product = start(network, point)
            count += 1
            near, error, done, bold = _NEAR * square, np.inf, False, product < np.inf
            tries = int(_TRIES)  # for literals, callees would be compiled once more
            for _ in range(_MOST):
                if done or not _LEAST * square < product < np.inf:
                    break
                before, product = product, advance(network, point, product, bold)
                bold &= product < 0.7 * before  # where it cycles, it does not fall
                count += 1
                if product > near:
                    continue
                near = product / 32.0
                tried, found, done = settle(
                    network, levels, point, tries, _ROUNDING * size, guess, carries, source
                )
                count += tried
                tries = min(2 * tries, _MOST_TRIES)
                if found < error:
                    error = found
                    for e in range(edges):
                        best[e] = point.flow_steps[e]
            figures[r, 5] = math.ldexp(error, exponent)
        steps[r] = count
        read(
            network,
            order,
            conductances,
            levels,
            best,
            exponent,
            point.steps,
            increments[r],
            figures[r],
        )
