"""Smoothing with norm 1: the cheapest transport on the dyadic graph, the one of least energy."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ._compile import kernel
from .transport_cuts import lift
from .transport_network import Network, tight
from .transport_path import advance, scratch, start
from .transport_settle import settle

_ROUNDING = 2.0**-38  # what of the largest increment counts as zero
_MOST = 100  # interior-point steps
_NEAR = 2.0**-21  # mean product, over mean square of increments, for the first exact attempt
_LEAST = 2.0**-90  # the same, where it gives up
_TRIES, _MOST_TRIES = 6, 48  # eliminations in the first exact attempt; doubled for the others


@kernel
def _exact(row: NDArray[np.float64]) -> int:
    """Round to integers with an absolute sum up to 2^51, in place; return their unit's exponent.

    Sums of them are exact. Integers with an absolute sum below 2^50 are only multiplied by a
    power of 2. If the sum is not positive any more, the largest takes what is missing. An
    increment above twice all that is missing is as good as that: no cheapest transport takes more
    than once what is missing from anywhere.
    """
    missing, size = 0.0, 0.0
    for v in range(row.size):
        missing += max(-row[v], 0.0)
    for v in range(row.size):
        row[v] = min(row[v], 2.0 * missing)
        size += abs(row[v])
    exponent = math.frexp(size)[1] - 51
    total, top = 0.0, 0
    for v in range(row.size):
        row[v] = np.rint(math.ldexp(row[v], -exponent))
        total += row[v]
        if row[v] > row[top]:
            top = v
    if total <= 0.0:
        row[top] += 1.0 - total
    return exponent


@kernel
def _least_energy(
    network: Network,
    levels: NDArray[np.int64],
    flows: NDArray[np.float64],
) -> tuple[int, float]:
    """Find the flow of least energy in a network; return eliminations and the final balance.

    Invariant: ``flows`` are those of the attempt with the least error.
    """
    size, square = 0.0, 0.0
    for v in range(levels.size):
        size = max(size, abs(network.row[v]))
        square += network.row[v] ** 2 / levels.size
    point, work = start(network), scratch(network)
    product = 0.0
    for e in range(flows.size):
        product += point.flows[e] * point.slacks[e]
    for i in range(point.spares.size):
        product += point.spares[i] * point.potentials[network.sources[i]]
    product /= flows.size + point.spares.size
    near, tries, best, steps, done = _NEAR * square, _TRIES, np.inf, 1, False
    potentials, after = np.empty(levels.size), np.empty(levels.size)
    trial, carries = np.empty(flows.size), np.empty(flows.size, np.bool_)
    full = np.zeros(levels.size, np.bool_)
    for _ in range(_MOST):
        if done or not _LEAST * square < product < np.inf:
            break
        product = advance(network, point, work, product)
        steps += 1
        if product > near:
            continue
        near = 0.1 * product
        for v in range(levels.size):
            potentials[v] = point.potentials[v]
        for e in range(flows.size):
            carries[e] = point.flows[e] > network.weight[e] * point.slacks[e]
        for i in range(point.spares.size):
            v = network.sources[i]
            full[v] = point.spares[i] > potentials[v]
        tried, error, done = settle(
            network,
            levels,
            tries,
            _ROUNDING * size,
            potentials,
            carries,
            full,
            trial,
            after,
        )
        steps += tried
        tries = min(2 * tries, _MOST_TRIES)
        if error < best:
            best = error
            for e in range(flows.size):
                flows[e] = trial[e]
    return steps, best


@kernel
def _read(
    network: Network,
    conductances: NDArray[np.float64],
    row: NDArray[np.float64],
    levels: NDArray[np.int64],
    flows: NDArray[np.float64],
    smoothed: NDArray[np.float64],
    figures: NDArray[np.float64],
) -> None:
    """Set the smoothed increments and the figures of ``repair`` but the last."""
    for v in range(row.size):
        smoothed[v] = row[v]
    cost, energy, proved, low, steep = 0.0, 0.0, 0.0, 0.0, 0
    for e in range(flows.size):
        smoothed[network.tail[e]] -= flows[e]
        smoothed[network.head[e]] += flows[e]
        cost += flows[e]
        energy += flows[e] ** 2 / network.weight[e]
    for v in range(row.size):
        proved -= levels[v] * row[v]
        low = max(low, abs(smoothed[v]) if levels[v] > 0 else -smoothed[v])
        smoothed[v] = 0.0 if levels[v] > 0 else max(smoothed[v], 0.0)
        steep = max(steep, -levels[v])
        if conductances[2 * v] > 0.0:
            steep = max(steep, abs(levels[v] - levels[network.left[v]]) - 1)
        if conductances[2 * v + 1] > 0.0:
            steep = max(steep, abs(levels[v] - levels[network.right[v]]) - 1)
    figures[0], figures[1], figures[2] = cost, low, float(steep)
    figures[3], figures[4] = proved, energy


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
        violation of its optimality conditions, in counts, as ``transport_settle.balance`` has it.
    steps
        (R,) the result: minimum cuts and eliminations.

    Notes
    -----
    Three parts. Minimum cuts give integral dual potentials u, exactly. They say which edges may
    carry flow, in which direction, and which increments are 0 in every cheapest transport: a
    network whose flow of least energy is wanted, a strictly convex quadratic program. An
    interior-point method comes near it, and active sets end it exactly.
    """
    vertices = left.size
    row, whole, smoothed = np.empty(vertices), np.empty(vertices), np.empty(vertices)
    levels = np.zeros(vertices, np.int64)
    for r in range(increments.shape[0]):
        least = 0.0
        for v in range(vertices):
            row[v] = increments[r, order[v]]
            whole[v] = row[v]
            least = min(least, row[v])
        for i in range(6):
            figures[r, i] = 0.0
        steps[r] = 0
        if least >= 0.0:
            continue
        exponent = _exact(whole)
        cuts = lift(left, right, fill, conductances, whole, levels)
        network = tight(left, right, fill, conductances, whole, levels)
        flows = np.zeros(network.tail.size)
        steps[r] = cuts
        if flows.size > 0:
            eliminations, error = _least_energy(network, levels, flows)
            steps[r] += eliminations
            for e in range(flows.size):
                flows[e] = math.ldexp(flows[e], exponent)
            figures[r, 5] = math.ldexp(error, exponent)
        _read(network, conductances, row, levels, flows, smoothed, figures[r])
        for v in range(vertices):
            increments[r, order[v]] = smoothed[v]
