"""Smoothing with norm 2: the obstacle problem on the dyadic graph, by active sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel
from .elimination import add_laplacian

_ROUNDING = 2.0**-40  # the share of the largest increment that counts as zero
_FEW = 16  # with at most one newcomer in so many vertices, only the changed part is eliminated


@kernel
def eliminate(
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    first: NDArray[np.uint32],
    second: NDArray[np.uint32],
    direct: NDArray[np.float32],
    active: NDArray[np.bool_],
    row: NDArray[np.float64],
    stale: NDArray[np.bool_],
    joined: NDArray[np.float64],
    ends: NDArray[np.float64],
    turns: NDArray[np.float64],
) -> None:
    """Eliminate all boundaries but 0 and B. Boundaries that are not active have potential 0.

    Parameters
    ----------
    left, right
        From ``elimination.plan``.
    first, second, direct
        From ``elimination.segments``.
    active
        (B + 1,) the vertices whose increment is brought to 0.
    row
        (B + 1,) the increments.
    stale
        (B + 1,) the vertices whose elimination is out of date. Those that are made of them become
        stale, too.
    joined
        (2 B - 1,) the result: the conductance between the two ends of a segment, through the rest
        of the segment. For segments between neighbouring boundaries it must be ``direct``.
    ends
        (B, 4) the result: for the two ends of a segment, the conductances of its rest to potential
        0, and the pulls. The last row stands for segments between neighbouring boundaries, and must
        be 0.
    turns
        (B - 1, 2) the result: the pull on a vertex at its turn, and 1 / the sum of its
        conductances.

    Notes
    -----
    Invariant: entries that are not stale are as if all were eliminated anew. A segment is made of
    its two parts alone, so neighbouring segments do not wait for each other. Conductances only add
    up, so nothing cancels.
    """
    plain = np.uint32(first.size)
    for v in range(first.size):
        if not stale[v]:
            continue
        stale[min(left[v], right[v])] = True  # the next vertex that joins this segment
        a, b = first[v], second[v]
        to_a, to_b = joined[a], joined[b]
        a, b = a if a < plain else plain, b if b < plain else plain
        ground = ends[a, 1] + ends[b, 0]
        pull = ends[a, 3] + ends[b, 2] - row[v]
        inverse = 1.0 / (to_a + to_b + ground)
        share = inverse if active[v] else 0.0  # no branch: active vertices are random
        share_a, share_b = to_a * share, to_b * share
        joined[v] = direct[v] + to_a * share_b
        ends[v, 0] = ends[a, 0] + (share_a * ground if active[v] else to_a)
        ends[v, 1] = ends[b, 1] + (share_b * ground if active[v] else to_b)
        ends[v, 2] = ends[a, 2] + share_a * pull
        ends[v, 3] = ends[b, 3] + share_b * pull
        turns[v, 0], turns[v, 1] = pull, inverse


@kernel
def substitute(
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    first: NDArray[np.uint32],
    second: NDArray[np.uint32],
    joined: NDArray[np.float64],
    ends: NDArray[np.float64],
    turns: NDArray[np.float64],
    row: NDArray[np.float64],
    slack: float,
    active: NDArray[np.bool_],
    stale: NDArray[np.bool_],
    potentials: NDArray[np.float64],
) -> int:
    """Substitute back, and add vertices to the active set. Return the number of new vertices.

    New vertices are those whose increment would be negative at potential 0. Such a vertex gets at
    once the potential that makes its increment 0. The vertices below it in the elimination then see
    this potential. One vertex is always left out.

    Parameters
    ----------
    left, right
        From ``elimination.plan``.
    first, second
        From ``elimination.segments``.
    joined, ends, turns, row, active
        As in ``eliminate``.
    slack
        Pulls up to this size count as zero.
    stale
        (B + 1,) the result: the new vertices.
    potentials
        (B + 1,) the result.
    """
    last = left.size - 1
    outside = 0
    for v in range(last + 1):
        outside += not active[v]
    before = outside
    top = max(last - 2, 0)  # the vertices between boundaries 0 and B come last
    total, pull = joined[top] + ends[top, 0], ends[top, 2] - row[last - 1]
    share = joined[top] / total if active[last - 1] else 0.0
    end_total = ends[top, 1] + (share * ends[top, 0] if active[last - 1] else joined[top])
    end_pull = ends[top, 3] - row[last] + share * pull
    came = (end_pull > slack) & (outside > 1) & (not active[last])
    outside -= came
    active[last] |= came
    potentials[last] = end_pull / end_total if active[last] else 0.0
    pull += joined[top] * potentials[last]
    came = (pull > slack) & (outside > 1) & (not active[last - 1])
    outside -= came
    active[last - 1] |= came
    potentials[last - 1] = pull / total if active[last - 1] else 0.0
    for v in range(last - 2, -1, -1):
        from_left = joined[first[v]] * potentials[left[v]]
        pull = turns[v, 0] + from_left + joined[second[v]] * potentials[right[v]]
        was = active[v]
        now = was | ((pull > slack) & (outside > 1))
        outside -= now ^ was
        active[v], stale[v] = now, now ^ was
        potentials[v] = pull * turns[v, 1] if now else 0.0
    return int(before - outside)


@inner
def _read(
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    conductances: NDArray[np.float32],
    row: NDArray[np.float64],
    potentials: NDArray[np.float64],
    smoothed: NDArray[np.float64],
    figures: NDArray[np.float64],
) -> None:
    """Set the smoothed increments, and the figures that say how good they are.

    ``figures`` becomes: the energy of the flow, the largest negative increment, the largest
    negative potential, and the lower bound that the potentials prove for the energy.
    """
    for v in range(row.size):
        smoothed[v] = row[v]
    add_laplacian(left, right, conductances, potentials, smoothed)
    energy, proved, low, under = 0.0, 0.0, 0.0, 0.0
    for v in range(row.size):
        u = max(potentials[v], 0.0)
        energy += u * (smoothed[v] - row[v])
        proved -= 2.0 * u * row[v]
        low, under = max(low, -smoothed[v]), max(under, -potentials[v])
        smoothed[v] = 0.0 if u > 0.0 else max(smoothed[v], 0.0)
    figures[0], figures[1], figures[2], figures[3] = energy, low, under, proved - energy


@kernel
def repair(
    order: NDArray[np.uint32],
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    conductances: NDArray[np.float32],
    first: NDArray[np.uint32],
    second: NDArray[np.uint32],
    direct: NDArray[np.float32],
    joined: NDArray[np.float64],
    ends: NDArray[np.float64],
    turns: NDArray[np.float64],
    vectors: NDArray[np.float64],
    increments: NDArray[np.float64],
    figures: NDArray[np.float64],
    steps: NDArray[np.int64],
) -> None:
    """Make increments non-negative with the flow of least energy, row by row.

    That is, solve z = c + M u >= 0, u >= 0, u'z = 0, where M is the Laplacian of the graph and c a
    row of increments whose sum is positive. The method is a primal-dual active set method
    (Hintermueller, Ito & Kunisch 2002). It starts from the negative increments, and adds vertices
    while it substitutes back.

    Parameters
    ----------
    order, left, right, conductances
        From ``elimination.plan``, in four bytes each, because memory limits the speed of a pass.
    first, second, direct
        From ``elimination.segments``.
    joined, ends, turns, vectors
        (2 B - 1,), (B, 4), (B - 1, 2) and (3, B + 1): working memory.
    increments
        (R, B + 1) the c, which are replaced by the z.
    figures
        (R, 4) the result: see ``_read``.
    steps
        (R,) the result: the numbers of eliminations.

    Notes
    -----
    Invariant: 0 <= u <= the solution, and the active set is a part of the solution's active set. M
    is an M-matrix, so u grows with the active set and with the potentials at its border. A vertex
    is added if its increment is negative at potential 0 although all others are at or below the
    solution. So the set only grows, at most B times. It never holds all vertices, since the
    increments outside of it have a positive sum.
    """
    vertices = left.size
    row, potentials, smoothed = vectors[0], vectors[1], vectors[2]
    active, stale = np.empty(vertices, np.bool_), np.empty(vertices, np.bool_)
    for i in range(direct.size):
        joined[i] = direct[i]
    for i in range(4):
        ends[first.size, i] = 0.0
    for r in range(increments.shape[0]):
        largest, came = 0.0, 0
        for v in range(vertices):
            c = increments[r, order[v]]
            row[v], active[v], potentials[v] = c, c < 0.0, 0.0
            largest, came = max(largest, abs(c)), came + (c < 0.0)
        steps[r] = 0
        while came > 0:
            if steps[r] == 0 or _FEW * came > vertices:
                for v in range(vertices):
                    stale[v] = True
            steps[r] += 1
            eliminate(left, right, first, second, direct, active, row, stale, joined, ends, turns)
            slack = _ROUNDING * largest
            tree = left, right, first, second, joined, ends, turns
            came = substitute(*tree, row, slack, active, stale, potentials)
        _read(left, right, conductances, row, potentials, smoothed, figures[r])
        for v in range(vertices):
            increments[r, order[v]] = smoothed[v]
