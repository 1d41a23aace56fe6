"""Smoothing with norm 2: the obstacle problem on the dyadic graph, by active sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._compile import kernel
from .elimination import add_laplacian, eliminate

_ROUNDING = 2.0**-40  # what of the largest increment counts as zero


@kernel
def _raise(
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    conductances: NDArray[np.float64],
    totals: NDArray[np.float64],
    sources: NDArray[np.float64],
    active: NDArray[np.bool_],
    slack: float,
    potentials: NDArray[np.float64],
) -> bool:
    """Substitute back, and let vertices in whose increment would be negative at potential 0.

    Such a vertex gets at once the potential that makes its increment 0, which those below it in
    the elimination then see. Return whether any came in. One vertex is always left out.
    """
    last = left.size - 1
    outside = 0
    for v in range(last + 1):
        outside += not active[v]
    grew = False
    for v in range(last, -1, -1):
        pull = sources[v]
        if v < last:
            pull += conductances[2 * v] * potentials[left[v]]
            pull += conductances[2 * v + 1] * potentials[right[v]]
        if not active[v] and pull > slack and outside > 1:
            active[v] = True
            outside -= 1
            grew = True
        potentials[v] = pull / totals[v] if active[v] else 0.0
    return grew


@kernel
def _read(
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    conductances: NDArray[np.float64],
    row: NDArray[np.float64],
    potentials: NDArray[np.float64],
    smoothed: NDArray[np.float64],
    figures: NDArray[np.float64],
) -> None:
    """Set the smoothed increments, and what they cost and prove.

    ``figures`` becomes: the flow's energy, the largest negative increment, the largest negative
    potential, and the lower bound that the potentials prove for the energy.
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
    order: NDArray[np.int64],
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    fill: NDArray[np.uint32],
    conductances: NDArray[np.float64],
    increments: NDArray[np.float64],
    figures: NDArray[np.float64],
    steps: NDArray[np.int64],
) -> None:
    """Make increments non-negative with the flow of least energy, row by row.

    That is, solve z = c + M u >= 0, u >= 0, u'z = 0, where M is the graph's Laplacian and c a row
    of increments whose sum is positive. A primal-dual active set method (Hintermueller, Ito &
    Kunisch 2002), started from the negative increments, that lets vertices in while it
    substitutes back.

    Parameters
    ----------
    order, left, right, fill, conductances
        From ``elimination.plan``.
    increments
        (R, B + 1) the c; replaced by the z.
    figures
        (R, 4) the result: see ``_read``.
    steps
        (R,) the result: eliminations.

    Notes
    -----
    Invariant: 0 <= u <= the solution, and the active set is a part of the solution's. M is an
    M-matrix, so u grows with the active set and with the potentials that it is given at its
    border; a vertex comes in when its increment is negative at potential 0 even though all others
    are at or below the solution. So the set only grows, and at most B times; and it never
    holds all vertices, since the increments outside of it have a positive sum.
    """
    vertices = left.size
    row, u = np.empty(vertices), np.empty(vertices)
    sources, totals, smoothed = np.empty(vertices), np.empty(vertices), np.empty(vertices)
    active = np.empty(vertices, np.bool_)
    current = np.empty(conductances.size)
    for r in range(increments.shape[0]):
        slack = 0.0
        grew = False
        for v in range(vertices):
            row[v] = increments[r, order[v]]
            active[v] = row[v] < 0.0
            grew |= row[v] < 0.0
            slack = max(slack, _ROUNDING * abs(row[v]))
            u[v] = 0.0
        steps[r] = 0
        while grew:
            steps[r] += 1
            for v in range(vertices):
                sources[v] = -row[v]
                current[2 * v] = conductances[2 * v]
                current[2 * v + 1] = conductances[2 * v + 1]
            eliminate(left, right, fill, current, active, sources, totals)
            grew = _raise(left, right, current, totals, sources, active, slack, u)
        _read(left, right, conductances, row, u, smoothed, figures[r])
        for v in range(vertices):
            increments[r, order[v]] = smoothed[v]
