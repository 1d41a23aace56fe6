"""The network of one-way edges that may carry flow in a cheapest transport."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._compile import kernel


class Network(NamedTuple):
    """Edges on which integral optimal potentials u differ, each open towards the higher one.

    A flow is a cheapest transport if and only if it is on these edges in this direction, leaves
    increment 0 where u > 0, and increments >= 0 where u = 0 (complementary slackness).

    Parameters
    ----------
    left, right, fill
        From ``elimination.plan``.
    tail, head
        (T,) where an edge starts, u = k, and ends, u = k + 1.
    slot
        (T,) the edge's place in the plan.
    weight
        (T,) its copies.
    sources
        (S,) the vertices with u = 0 at these edges.
    row
        (B + 1,) the increments before the flow.
    """

    left: NDArray[np.uint32]
    right: NDArray[np.uint32]
    fill: NDArray[np.uint32]
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    slot: NDArray[np.int64]
    weight: NDArray[np.float64]
    sources: NDArray[np.int64]
    row: NDArray[np.float64]


@kernel
def tight(
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    fill: NDArray[np.uint32],
    conductances: NDArray[np.float64],
    row: NDArray[np.float64],
    potentials: NDArray[np.int64],
) -> Network:
    """Return the network of ``potentials``, (B + 1,)."""
    last = left.size - 1
    tail, head, slot = (
        np.empty(2 * last, np.int64),
        np.empty(2 * last, np.int64),
        np.empty(2 * last, np.int64),
    )
    touched = np.zeros(last + 1, np.bool_)
    count = 0
    for v in range(last):
        for s, end in ((2 * v, np.int64(left[v])), (2 * v + 1, np.int64(right[v]))):
            if conductances[s] > 0.0 and potentials[v] != potentials[end]:
                up = potentials[v] > potentials[end]
                tail[count], head[count] = (end, v) if up else (v, end)
                touched[tail[count]] = True
                slot[count] = s
                count += 1
    sources = np.flatnonzero(touched & (potentials == 0))
    slot = slot[:count].copy()
    tail, head = tail[:count].copy(), head[:count].copy()
    return Network(left, right, fill, tail, head, slot, conductances[slot], sources, row)


@kernel
def factorise(
    network: Network, conductances: NDArray[np.float64], totals: NDArray[np.float64]
) -> None:
    """Factorise a Laplacian plus a diagonal in place.

    Parameters
    ----------
    network
        For its ``left``, ``right`` and ``fill``.
    conductances
        (2 B + 2,) by slot; overwritten by the shares of a vertex that its later neighbours take.
    totals
        (B + 1,) conductances to potential 0; overwritten by 1 / all conductances at a vertex when
        it is its turn, or by 0 where there are none.

    Notes
    -----
    As in ``elimination.eliminate``, nothing is subtracted: a part of the network with no way to
    potential 0 ends in a vertex with exactly no conductance.
    """
    left, right, fill = network.left, network.right, network.fill
    last = left.size - 1
    for v in range(last):
        a, b = left[v], right[v]
        to_a, to_b, ground = conductances[2 * v], conductances[2 * v + 1], totals[v]
        total = to_a + to_b + ground
        inverse = 1.0 / total if total > 0.0 else 0.0
        share_a, share_b = to_a * inverse, to_b * inverse
        conductances[fill[v]] += to_a * share_b
        totals[a] += share_a * ground
        totals[b] += share_b * ground
        totals[v] = inverse
        conductances[2 * v], conductances[2 * v + 1] = share_a, share_b
    totals[last] = 1.0 / totals[last] if totals[last] > 0.0 else 0.0


@kernel
def substitute(
    network: Network,
    shares: NDArray[np.float64],
    inverses: NDArray[np.float64],
    rest: NDArray[np.float64],
    values: NDArray[np.float64],
) -> None:
    """Solve for potentials in place of sources; where there is no conductance, take ``rest``."""
    left, right = network.left, network.right
    last = left.size - 1
    for v in range(last):
        values[left[v]] += shares[2 * v] * values[v]
        values[right[v]] += shares[2 * v + 1] * values[v]
    values[last] = values[last] * inverses[last] if inverses[last] > 0.0 else rest[last]
    for v in range(last - 1, -1, -1):
        from_ends = shares[2 * v] * values[left[v]] + shares[2 * v + 1] * values[right[v]]
        values[v] = values[v] * inverses[v] + from_ends if inverses[v] > 0.0 else rest[v]
