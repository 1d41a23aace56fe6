"""The flow of least energy in a network of one-way edges, exactly, from a good guess."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._compile import kernel
from .transport_network import Network, factorise, substitute

_ROUNDING = 2.0**-46  # what of the largest potential counts as zero


@kernel
def balance(
    network: Network,
    levels: NDArray[np.int64],
    potentials: NDArray[np.float64],
    flows: NDArray[np.float64],
    after: NDArray[np.float64],
) -> float:
    """Set the flows that ``potentials`` drive and the increments after them.

    Return by how much these fall short of the optimum: flows and potentials belong together
    (flow = weight times the rise of the potential, if positive; potentials >= 0 at sources), so
    what is left is the largest increment where it must be 0, at u > 0 and at sources with
    positive potential, and the largest negative one elsewhere.
    """
    for v in range(levels.size):
        after[v] = network.row[v]
    for e in range(flows.size):
        a, b = network.tail[e], network.head[e]
        flow = network.weight[e] * max(potentials[b] - potentials[a], 0.0)
        flows[e] = flow
        after[a] -= flow
        after[b] += flow
    worst = 0.0
    for v in range(levels.size):
        loose = levels[v] == 0 and potentials[v] <= 0.0
        worst = max(worst, -after[v] if loose else abs(after[v]))
    return worst


@kernel
def settle(
    network: Network,
    levels: NDArray[np.int64],
    most: int,
    tolerance: float,
    potentials: NDArray[np.float64],
    carries: NDArray[np.bool_],
    full: NDArray[np.bool_],
    flows: NDArray[np.float64],
    after: NDArray[np.float64],
) -> tuple[int, float, bool]:
    """Solve with the edges that carry flow fixed, see which should, and repeat.

    Parameters
    ----------
    network, levels
        The network of the integral potentials ``levels``.
    most, tolerance
        End after so many eliminations, or when ``balance`` is at most so much, give or take the
        rounding of the potentials.
    potentials
        (B + 1,) a guess, replaced by the solution. Parts that have no way to potential 0 keep
        their potential at one vertex: their flows do not depend on it.
    carries
        (T,) which edges carry flow: a guess, replaced.
    full
        (B + 1,) sources that keep an increment, and so have potential 0: a guess, replaced.
    flows, after
        (T,) and (B + 1,) the result: the flow and the increments after it.

    Returns
    -------
    eliminations, balance, whether that is within the tolerance

    Notes
    -----
    Active sets without a safeguard: the end is exact, but they get there only from a guess that
    is nearly right. After a third of ``most`` it gives up when two eliminations in a row do not
    lower the error by a tenth. An edge whose flow comes out as 0 stays in: ties hold parts of the
    network at each other's potential, and are found one after the other.
    """
    vertices = levels.size
    conductances, totals = np.empty(2 * vertices), np.empty(vertices)
    values = np.empty(vertices)
    error, before = np.inf, np.inf
    for step in range(most):
        for v in range(vertices):
            conductances[2 * v] = conductances[2 * v + 1] = totals[v] = 0.0
        for e in range(flows.size):
            if carries[e]:
                if full[network.tail[e]]:
                    totals[network.head[e]] += network.weight[e]
                else:
                    conductances[network.slot[e]] = network.weight[e]
        for v in range(vertices):
            values[v] = 0.0 if full[v] else -network.row[v]
            if full[v]:
                potentials[v] = 0.0
        factorise(network, conductances, totals)
        substitute(network, conductances, totals, potentials, values)
        largest = 0.0
        for v in range(vertices):
            potentials[v] = max(values[v], 0.0) if levels[v] == 0 else values[v]
            largest = max(largest, abs(values[v]))
        two_ago, before = before, error
        error = balance(network, levels, potentials, flows, after)
        if error <= tolerance + _ROUNDING * largest:
            return step + 1, error, True
        if step >= most // 3 and not error <= 0.9 * two_ago:
            return step + 1, error, False
        tie = (tolerance + _ROUNDING * largest) / 32.0
        for e in range(flows.size):
            rise = potentials[network.head[e]] - potentials[network.tail[e]]
            carries[e] = rise > 0.0 or (carries[e] and rise >= -tie)
        for v in network.sources:
            full[v] = potentials[v] <= 0.0 and after[v] >= -tie
    return most, error, False
