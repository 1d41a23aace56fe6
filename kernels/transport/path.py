"""An interior-point method that follows the central path towards the flow of least energy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._compile import inner
from .network import Network, solve


class Point(NamedTuple):
    """An interior point, and the linear equations of the step from it.

    Parameters
    ----------
    flows, slacks
        (T,) h and s, both positive: h is flow / copies, and s = h - rise of the potential. At the
        optimum h s = 0. For edges to the ground, h is the remaining increment, and s the potential.
    inverses
        (T,) 1 / (h + s), and 1 / s for edges to the ground.
    potentials
        (B + 2,) the potentials of the last step.
    sources, system
        (B + 2,) and (3 B + 3,) the equations: see ``solve``.
    """

    flows: NDArray[np.float64]
    slacks: NDArray[np.float64]
    inverses: NDArray[np.float64]
    potentials: NDArray[np.float64]
    sources: NDArray[np.float64]
    system: NDArray[np.float64]


@inner
def prepare(network: Network, point: Point, target: float) -> None:
    """Set the equations of a point for the step to where all products h s are ``target``."""
    tail, head, slot, edges = network.tail, network.head, network.slot, network.edges
    flows, slacks, inverses, _, sources, system = point
    for s in range(system.size):
        system[s] = 0.0
    for v in range(network.row.size):
        sources[v] = -network.row[v]
    for e in range(tail.size):
        weight = network.conductances[slot[e]] if e < edges else 1.0
        inverses[e] = 1.0 / ((flows[e] if e < edges else 0.0) + slacks[e])
        system[slot[e]] = weight * flows[e] * inverses[e]
        constant = weight * (flows[e] * slacks[e] + target) * inverses[e]
        sources[tail[e]] += constant
        sources[head[e]] -= constant


@inner
def advance(
    network: Network, point: Point, target: float, following: float, kept: float
) -> tuple[float, int]:
    """Make one step to where all products h s are ``target``, and set the next step's equations.

    Parameters
    ----------
    network
        A network in which every part has a way to the ground.
    point
        Replaced by the next point.
    target, following
        The product for which the equations were set, and the product for which to set them next.
    kept
        The least share that a flow or a slack keeps of its value.

    Returns
    -------
    the mean of all products h s after the step
    the number of edges where the larger one of h and s has changed

    Notes
    -----
    This is a Newton step for h s = target, where h - s is the rise of the potential, and the flows
    leave the required increments at all vertices. Given the potentials,
    h = (h (s + rise) + target) / (h + s), with the values before the step on the right. The step
    has full length. Values that would not stay positive are limited, edge by edge. Textbook methods
    shorten the step of all edges to what the worst edge allows. After limits, flows do not leave
    the required increments. The next step corrects this, because it requires them again.
    """
    tail, head, slot, edges = network.tail, network.head, network.slot, network.edges
    flows, slacks, inverses, p, sources, system = point
    solve(network, system, sources, p)
    total, turned = 0.0, 0
    for e in range(edges):
        a, b = tail[e], head[e]
        rise = p[b] - p[a]
        flow, slack = flows[e], slacks[e]
        proposed = (flow * (slack + rise) + target) * inverses[e]
        was = flow > slack
        flow, slack = max(proposed, kept * flow), max(proposed - rise, kept * slack)
        turned += was ^ (flow > slack)
        flows[e], slacks[e] = flow, slack
        product = flow * slack
        total += product
        inverse = 1.0 / (flow + slack)
        inverses[e] = inverse
        weight = network.conductances[slot[e]] * inverse
        system[slot[e]] = weight * flow
        constant = weight * (product + following)
        sources[a] += constant
        sources[b] -= constant
    for e in range(edges, tail.size):
        v = tail[e]
        flow, slack = flows[e], slacks[e]
        proposed = (flow * (slack - p[v]) + target) * inverses[e]
        flow, slack = max(proposed, kept * flow), max(p[v], kept * slack)
        flows[e], slacks[e] = flow, slack
        product = flow * slack
        total += product
        inverse = 1.0 / slack
        inverses[e] = inverse
        system[slot[e]] = flow * inverse
        sources[v] += (product + following) * inverse
    return total / tail.size, turned
