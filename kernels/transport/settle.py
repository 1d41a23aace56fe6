"""The flow of least energy in a network of one-way edges, exactly, from a good guess."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner
from .network import Network, factorise, substitute
from .path import Point

_ROUNDING = 2.0**-46  # what of the largest potential counts as zero


@inner
def settle(
    network: Network,
    levels: NDArray[np.int64],
    point: Point,
    most: int,
    tolerance: float,
    potentials: NDArray[np.float64],
    carries: NDArray[np.bool_],
    full: NDArray[np.bool_],
) -> tuple[int, float, bool]:
    """Solve with the edges that carry flow fixed, see which should, and repeat.

    Parameters
    ----------
    network, levels
        The network of the integral potentials ``levels``.
    point
        Near the optimum: which edges carry flow is guessed from it. Its working memory is used,
        and ``flow_steps`` becomes the result: the flows.
    most, tolerance
        End after so many eliminations, or when the error is at most so much, give or take the
        rounding of the potentials.
    potentials, carries, full
        (B + 2,), (T,) and (B + 1,) working memory: the solution's potentials, which edges carry
        flow, and which vertices keep an increment and so have potential 0; all False at first.

    Returns
    -------
    eliminations
    error
        By how much the flows fall short of the optimum. Flows and potentials belong together (flow
        = the rise of the potential / resistance, if positive; potentials >= 0 at u = 0), so what
        is left is the largest increment where it must be 0, at u > 0 and at positive potential,
        and the largest negative one elsewhere.
    whether that is within the tolerance

    Notes
    -----
    Active sets without a safeguard: the end is exact, but they get there only from a guess that
    is nearly right. After a third of ``most`` it gives up when two eliminations in a row do not
    lower the error by a tenth. An edge whose flow comes out as 0 stays in: ties hold parts of the
    network at each other's potential, and are found one after the other. What is solved for is
    the change of the potentials: a part with no way to the ground keeps its own at one vertex, on
    which its flows do not depend.
    """
    row, tail, head, edges = network.row, network.tail, network.head, network.edges
    flows, after, system = point.flow_steps, point.steps, point.system
    ground = 2 * row.size
    for v in range(potentials.size):
        potentials[v] = point.potentials[v]
    for e in range(tail.size):
        carries[e] = network.resistance[e] * point.flows[e] > point.slacks[e]
        if e >= edges:
            full[tail[e]] = point.flows[e] > point.slacks[e]
    step, error, before = 0, np.inf, np.inf
    while step < most:
        step += 1
        for s in range(system.size):
            system[s] = 0.0
        for v in range(row.size):
            after[v] = -row[v]
            if full[v]:
                potentials[v] = 0.0
        for e in range(edges):
            a, b = tail[e], head[e]
            weight = 1.0 / network.resistance[e] if carries[e] else 0.0
            flow = weight * (potentials[b] - potentials[a])
            after[a] += flow
            after[b] -= flow
            system[ground + b if full[a] else network.slot[e]] += weight
        factorise(network, system)
        substitute(network, system, after)
        largest = 0.0
        for v in range(row.size):
            p = potentials[v] + after[v]
            largest = max(largest, abs(p))
            potentials[v] = max(p, 0.0) if levels[v] == 0 else p
            after[v] = row[v]
        for e in range(edges):
            a, b = tail[e], head[e]
            flows[e] = max(potentials[b] - potentials[a], 0.0) / network.resistance[e]
            after[a] -= flows[e]
            after[b] += flows[e]
        two_ago, before = before, error
        error = 0.0
        for v in range(row.size):
            loose = (levels[v] == 0) & (potentials[v] <= 0.0)
            error = max(error, -after[v] if loose else abs(after[v]))
        rounding = tolerance + _ROUNDING * largest
        if error <= rounding:
            return step, error, True
        if 3 * step > most and not error <= 0.9 * two_ago:
            break
        tie = rounding / 32.0
        for e in range(edges):  # no branches: which edges carry flow is random
            rise = potentials[head[e]] - potentials[tail[e]]
            carries[e] = (rise > 0.0) | (carries[e] & (rise >= -tie))
        for e in range(edges, tail.size):
            v = tail[e]
            full[v] = (potentials[v] <= 0.0) & (after[v] >= -tie)
    return step, error, False
