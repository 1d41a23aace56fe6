"""The network of one-way edges that may carry flow in a cheapest transport."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._compile import inner


class Network(NamedTuple):
    """Edges on which integral optimal potentials u differ, each open towards the higher one.

    A flow is a cheapest transport if and only if it is on these edges in this direction, leaves
    increment 0 where u > 0, and increments >= 0 where u = 0 (complementary slackness). What
    increment is left at u = 0 is a flow, too: to a vertex B + 1, the *ground*, for nothing.

    Parameters
    ----------
    left, right, fill
        From ``elimination.plan``.
    tail, head
        (T,) where an edge starts and ends: first the edges of the graph, from u = k to k + 1, then
        those to the ground, from vertices with u = 0 where one of the others starts.
    slot
        (T,) the edge's place in a system, see ``factorise``.
    resistance
        (T,) 1 / copies; to the ground 0.
    row
        (B + 1,) the increments before the flow.
    edges
        How many are not to the ground.
    """

    left: NDArray[np.uint32]
    right: NDArray[np.uint32]
    fill: NDArray[np.uint32]
    tail: NDArray[np.uint32]
    head: NDArray[np.uint32]
    slot: NDArray[np.uint32]
    resistance: NDArray[np.float64]
    row: NDArray[np.float64]
    edges: int


@inner
def connect(
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    conductances: NDArray[np.float64],
    levels: NDArray[np.int64],
    places: NDArray[np.uint32],
    resistance: NDArray[np.float64],
    source: NDArray[np.bool_],
) -> tuple[int, int]:
    """Set the edges of the network of the potentials ``levels``.

    Parameters
    ----------
    left, right, conductances
        From ``elimination.plan``.
    levels
        (B + 1,) integral optimal potentials.
    places, resistance
        (3, 3 B + 3) tail, head and slot, and (3 B + 3,): the result.
    source
        (B + 1,) the result: which vertices have an edge to the ground.

    Returns
    -------
    edges of the graph, edges in all
    """
    vertices = left.size
    for v in range(vertices):
        source[v] = False
    count = 0
    for side in range(2):
        ends = right if side else left
        for v in range(vertices - 1):
            slot, end = 2 * v + side, ends[v]
            up = levels[v] > levels[end]
            # written in any case, and kept if it is one: which are is random
            places[0, count], places[1, count] = (end, v) if up else (v, end)
            places[2, count] = slot
            resistance[count] = 1.0 / conductances[slot] if conductances[slot] > 0.0 else 0.0
            if conductances[slot] > 0.0 and levels[v] != levels[end]:
                source[places[0, count]] = True
                count += 1
    edges = count
    for v in range(vertices):
        source[v] &= levels[v] == 0
        if source[v]:
            places[0, count], places[1, count] = v, vertices
            places[2, count] = 2 * vertices + v
            resistance[count] = 0.0
            count += 1
    return edges, count


@inner
def factorise(network: Network, system: NDArray[np.float64]) -> None:
    """Factorise a Laplacian plus a diagonal in place.

    Parameters
    ----------
    network
        For its ``left``, ``right`` and ``fill``.
    system
        (3 B + 3,) conductances by slot, then of the vertices to the ground. Overwritten by the
        shares of a vertex that its later neighbours take, then by 1 / all conductances at a
        vertex when it is its turn, or by 0 where there are none.

    Notes
    -----
    As in ``smoothing.elimination.eliminate``, nothing is subtracted: a part of the network with no
    way to the ground ends in a vertex with exactly no conductance.
    """
    left, right, fill = network.left, network.right, network.fill
    last = left.size - 1
    ground = 2 * left.size
    for v in range(last):
        a, b = left[v], right[v]
        to_a, to_b, to_ground = system[2 * v], system[2 * v + 1], system[ground + v]
        total = to_a + to_b + to_ground
        inverse = 1.0 / total if total > 0.0 else 0.0
        share_a, share_b = to_a * inverse, to_b * inverse
        system[fill[v]] += to_a * share_b
        system[ground + a] += share_a * to_ground
        system[ground + b] += share_b * to_ground
        system[2 * v], system[2 * v + 1], system[ground + v] = share_a, share_b, inverse
    total = system[ground + last]
    system[ground + last] = 1.0 / total if total > 0.0 else 0.0


@inner
def substitute(network: Network, system: NDArray[np.float64], values: NDArray[np.float64]) -> None:
    """Solve for potentials in place of sources, (B + 2,), with the ground at 0.

    Of a part with no way to the ground, whose sources have to add up to 0, one vertex gets 0.
    """
    left, right = network.left, network.right
    last = left.size - 1
    ground = 2 * left.size
    for v in range(last):
        values[left[v]] += system[2 * v] * values[v]
        values[right[v]] += system[2 * v + 1] * values[v]
    values[last] *= system[ground + last]
    for v in range(last - 1, -1, -1):
        from_ends = system[2 * v] * values[left[v]] + system[2 * v + 1] * values[right[v]]
        values[v] = values[v] * system[ground + v] + from_ends
    values[last + 1] = 0.0
