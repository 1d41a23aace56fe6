"""The flow of least energy in a network of one-way edges, exactly, from a good guess."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner
from .network import Network, solve
from .path import Point

_ROUNDING = 2.0**-46  # the share of the largest potential that counts as zero
_EARTHED = 2.0**500  # conductance to the ground of a vertex that keeps an increment


@inner
def settle(
    network: Network,
    levels: NDArray[np.int32],
    point: Point,
    most: int,
    tolerance: float,
    limit: float,
    potentials: NDArray[np.float64],
    changes: NDArray[np.float64],
    carries: NDArray[np.bool_],
    full: NDArray[np.bool_],
) -> tuple[int, float, bool]:
    """Fix the edges that carry flow, solve, find the edges that should carry flow, and repeat.

    Parameters
    ----------
    network, levels
        The network of the integral potentials ``levels``.
    point
        A point near the optimum, from which the edges that carry flow are guessed. Its equations
        are overwritten.
    most, tolerance, limit
        The kernel ends after ``most`` eliminations, or when the error is at most ``tolerance``. The
        rounding of the potentials is allowed in addition, up to ``limit`` in all.
    potentials
        (B + 2,) the result.
    changes, carries, full
        (B + 2,), (T,) and (B + 1,) working memory: the changes of potentials, the edges that carry
        flow, and the vertices that keep an increment and so have potential 0. All False at first.

    Returns
    -------
    eliminations
    error
        The distance of the flows from the optimum. Flows and potentials belong together (flow =
        copies x the rise of the potential, if positive; potentials >= 0 at u = 0). So the error is
        the largest increment where it must be 0, at u > 0 and at positive potential, and the
        largest negative increment elsewhere.
    whether that is within the tolerance

    Notes
    -----
    The method is active sets without a safeguard. Its end is exact, but it arrives there only from
    a guess that is nearly right. After a third of ``most``, it gives up when two eliminations in a
    row do not lower the error by a tenth. An edge whose flow becomes 0 stays in: ties hold parts of
    the network at the same potential, and are found one after the other. The equations are for the
    change of the potentials. A part without a way to the ground keeps its potential at one vertex,
    on which its flows do not depend.
    """
    row, tail, head, edges = network.row, network.tail, network.head, network.edges
    sources, system = point.sources, point.system
    ground = 2 * row.size
    for s in range(system.size):
        system[s] = 0.0
    for v in range(row.size):
        sources[v] = -row[v]
        potentials[v] = point.potentials[v]
    for e in range(tail.size):
        carries[e] = point.flows[e] > point.slacks[e]
        if e >= edges:
            full[tail[e]] = carries[e]
            potentials[tail[e]] = 0.0 if carries[e] else potentials[tail[e]]
    step, error, before, span, rounding, tie = 0, np.inf, np.inf, 0.0, tolerance, np.inf
    while True:
        for e in range(edges):  # no branch: edges with flow are random
            a, b, slot = tail[e], head[e], network.slot[e]
            rise = potentials[b] - potentials[a]
            carries[e] = ((rise > 0.0) & (step > 0)) | (carries[e] & (rise >= -tie))
            system[slot] = network.conductances[slot] if carries[e] else 0.0
            flow = system[slot] * rise
            sources[a] += flow
            sources[b] -= flow
        two_ago, before, error = before, error, 0.0
        for v in range(row.size):
            after = -sources[v]
            loose = (levels[v] == 0) & (potentials[v] <= 0.0)
            error = max(error, -after if loose else abs(after))
            full[v] = (loose & (after >= -tie)) if step > 0 else full[v]
            system[ground + v] = _EARTHED if full[v] else 0.0
        if step == 0 or not span < np.inf:  # the second test finds NaN, which max overlooks
            error = np.inf
        elif error <= rounding:
            return step, error, True
        if step >= most or (3 * step > most and not error <= 0.9 * two_ago):
            return step, error, False
        solve(network, system, sources, changes)
        step += 1
        largest, span = 0.0, 0.0
        for v in range(row.size):
            p = potentials[v] + changes[v]
            largest, span = max(largest, abs(p)), span + abs(p)
            potentials[v] = max(p, 0.0) if levels[v] == 0 else p
        rounding = min(tolerance + _ROUNDING * largest, limit)
        tie = rounding / 32.0
