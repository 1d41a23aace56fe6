"""Conversions of increments into the form of the kernels of norm 1, and back."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._compile import inner
from .network import Network


@inner
def _factors(exponent: int) -> tuple[float, float]:
    """Return two powers of 2 whose product has this exponent, which alone may be out of range."""
    half = exponent // 2
    return math.ldexp(1.0, half), math.ldexp(1.0, exponent - half)


@inner
def round_off(
    increments: NDArray[np.float64], order: NDArray[np.int64], row: NDArray[np.float64]
) -> int:
    """Set increments in their order, rounded to integers. Return the exponent of their unit.

    Their absolute sum is at most 2^51, so sums of them are exact. Integers with an absolute sum
    below 2^50 are only multiplied by a power of 2. If rounding makes the sum 0 or less, the largest
    increment takes the difference. An increment above twice the sum of all deficits counts as that
    double, because no cheapest transport takes more than the sum of all deficits from any place. If
    no increment is negative, all are set to 0.
    """
    missing, size = 0.0, 0.0
    for v in range(row.size):
        missing += max(-increments[v], 0.0)
    for v in range(row.size):
        row[v] = min(increments[order[v]], 2.0 * missing)
        size += abs(row[v])
    exponent = math.frexp(size)[1] - 51
    half, rest = _factors(-exponent)
    total, top = 0.0, 0
    for v in range(row.size):
        row[v] = np.rint(row[v] * half * rest)
        total += row[v]
        if row[v] > row[top]:
            top = v
    if total <= 0.0:
        row[top] += 1.0 - total
    return exponent


@inner
def read(
    network: Network,
    order: NDArray[np.int64],
    levels: NDArray[np.int32],
    potentials: NDArray[np.float64],
    exponent: int,
    after: NDArray[np.float64],
    increments: NDArray[np.float64],
    figures: NDArray[np.float64],
) -> None:
    """Set the increments after the flows, and the figures of ``repair`` but the last."""
    left, right, conductances = network.left, network.right, network.conductances
    half, rest = _factors(exponent)
    cost, energy, proved, low, steep = 0.0, 0.0, 0.0, 0.0, 0
    for v in range(left.size):
        after[v] = increments[order[v]]
        proved -= levels[v] * after[v]
        steep = max(steep, -levels[v])
        if conductances[2 * v] > 0.0:
            steep = max(steep, abs(levels[v] - levels[left[v]]) - 1)
        if conductances[2 * v + 1] > 0.0:
            steep = max(steep, abs(levels[v] - levels[right[v]]) - 1)
    for e in range(network.edges):
        a, b = network.tail[e], network.head[e]
        rise = max(potentials[b] - potentials[a], 0.0) * half * rest
        flow = rise * conductances[network.slot[e]]
        after[a] -= flow
        after[b] += flow
        cost += flow
        energy += flow * rise
    for v in range(left.size):
        low = max(low, abs(after[v]) if levels[v] > 0 else -after[v])
        increments[order[v]] = 0.0 if levels[v] > 0 else max(after[v], 0.0)
    figures[0], figures[1], figures[2] = cost, low, float(steep)
    figures[3], figures[4] = proved, energy
