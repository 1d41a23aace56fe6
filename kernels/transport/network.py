"""The network of one-way edges that may carry flow in a cheapest transport."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._compile import inner


class Network(NamedTuple):
    """The edges on which integral optimal potentials u differ, each open towards the higher one.

    A flow is a cheapest transport if and only if it uses only these edges in this direction, leaves
    increments 0 where u > 0, and increments >= 0 where u = 0 (complementary slackness). The
    increment that remains where u = 0 is a flow, too: to a vertex B + 1, the *ground*, at no cost.

    Parameters
    ----------
    left, right, fill, conductances
        From ``elimination.plan``.
    tail, head
        (T,) the start and the end of each edge. First come the edges of the graph, from u = k to
        k + 1. Then come the edges to the ground, from vertices with u = 0 where an edge of the
        graph starts.
    slot
        (T,) the place of the edge in a system (see ``solve``); for edges of the graph also their
        place in ``conductances``.
    row
        (B + 1,) the increments before the flow.
    edges
        The number of edges that are not to the ground.
    """

    left: NDArray[np.uint32]
    right: NDArray[np.uint32]
    fill: NDArray[np.uint32]
    conductances: NDArray[np.float64]
    tail: NDArray[np.uint32]
    head: NDArray[np.uint32]
    slot: NDArray[np.uint32]
    row: NDArray[np.float64]
    edges: int


@inner
def connect(
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    conductances: NDArray[np.float64],
    levels: NDArray[np.int32],
    places: NDArray[np.uint32],
    source: NDArray[np.bool_],
) -> tuple[int, int]:
    """Set the edges of the network of the potentials ``levels``.

    Parameters
    ----------
    left, right, conductances
        From ``elimination.plan``.
    levels
        (B + 1,) integral optimal potentials.
    places
        (3, 3 B + 3) the result: tail, head and slot.
    source
        (B + 1,) the result: whether each vertex has an edge to the ground.

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
            # Edges are random, so a branch would be slow. Each slot is written, and ``count`` rises
            # only if the slot has an edge.
            places[0, count], places[1, count] = (end, v) if up else (v, end)
            places[2, count] = slot
            open_ = (conductances[slot] > 0.0) & (levels[v] != levels[end])
            source[places[0, count]] |= open_
            count += open_
    edges = count
    for v in range(vertices):
        source[v] &= levels[v] == 0
        places[0, count], places[1, count] = v, vertices
        places[2, count] = 2 * vertices + v
        count += source[v]
    return edges, count


@inner
def solve(
    network: Network,
    system: NDArray[np.float64],
    sources: NDArray[np.float64],
    potentials: NDArray[np.float64],
) -> None:
    """Solve a Laplacian plus a diagonal for potentials, with the ground at 0.

    Parameters
    ----------
    network
        The network, of which ``left``, ``right``, ``fill`` and ``row`` are used.
    system
        (3 B + 3,) conductances by slot, then those of the vertices to the ground. Consumed: it is 0
        afterwards.
    sources
        (B + 2,) the sources that the potentials have to produce. Consumed: afterwards it is minus
        the increments, as the next system needs.
    potentials
        (B + 2,) the result. If a part of the network has no way to the ground, its sources have to
        add up to 0, and one of its vertices gets 0.

    Notes
    -----
    Invariant: before vertex v, ``system`` holds, for the vertices before v, the shares that their
    later neighbours take, and for the others, the conductances after those are eliminated. As in
    ``smoothing.obstacle.eliminate``, nothing is subtracted. So a part without a way to the ground
    ends in a vertex whose conductance is exactly 0.
    """
    left, right, fill, row = network.left, network.right, network.fill, network.row
    last = left.size - 1
    ground = 2 * left.size
    for v in range(last):
        a, b = left[v], right[v]
        to_a, to_b, to_ground = system[2 * v], system[2 * v + 1], system[ground + v]
        system[ground + v] = 0.0
        total = to_a + to_b + to_ground
        inverse = 1.0 / total if total > 0.0 else 0.0
        share_a, share_b = to_a * inverse, to_b * inverse
        system[fill[v]] += to_a * share_b
        system[ground + a] += share_a * to_ground
        system[ground + b] += share_b * to_ground
        system[2 * v], system[2 * v + 1] = share_a, share_b
        sources[a] += share_a * sources[v]
        sources[b] += share_b * sources[v]
        potentials[v] = sources[v] * inverse
        sources[v] = -row[v]
    total = system[ground + last]
    potentials[last] = sources[last] / total if total > 0.0 else 0.0
    sources[last] = -row[last]
    system[2 * last] = system[2 * last + 1] = system[ground + last] = 0.0
    for v in range(last - 1, -1, -1):
        from_ends = system[2 * v] * potentials[left[v]] + system[2 * v + 1] * potentials[right[v]]
        potentials[v] += from_ends
        system[2 * v] = system[2 * v + 1] = 0.0
    potentials[last + 1] = 0.0
