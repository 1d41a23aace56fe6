"""Towards the flow of least energy along the central path: a primal-dual interior-point method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._compile import inner
from .network import Network, factorise, substitute

_SPREAD = 20.0  # of the first point: its products over the mean square of the rises


class Point(NamedTuple):
    """An interior point, and the working memory of a step.

    Parameters
    ----------
    flows, slacks
        (T,) g and s = resistance g - rise of the potential, positive; at the optimum g s = 0. To
        the ground, g is the increment that is left, and s the potential.
    potentials
        (B + 2,) p.
    flow_steps, slack_steps, steps
        What a step changes them by.
    inverses
        (T,) 1 / (resistance g + s): an edge's part of the Newton system.
    system
        (3 B + 3,) the Newton system.
    """

    flows: NDArray[np.float64]
    slacks: NDArray[np.float64]
    potentials: NDArray[np.float64]
    flow_steps: NDArray[np.float64]
    slack_steps: NDArray[np.float64]
    steps: NDArray[np.float64]
    inverses: NDArray[np.float64]
    system: NDArray[np.float64]


@inner
def start(network: Network, point: Point) -> float:
    """Set a central point near the flow of least energy on two-way edges; return its product."""
    tail, head, slot, resistance = network.tail, network.head, network.slot, network.resistance
    flows, slacks, p, flow_steps, slack_steps, _, _, system = point
    for v in range(network.row.size):
        p[v] = -network.row[v]
    for s in range(system.size):
        system[s] = 0.0
    for e in range(tail.size):
        system[slot[e]] = 1.0 / resistance[e] if resistance[e] > 0.0 else 1.0
        flow_steps[e] = slack_steps[e] = 0.0
    factorise(network, system)
    substitute(network, system, p)
    square = 0.0
    for e in range(network.edges):
        rise = p[head[e]] - p[tail[e]]
        square += rise * rise
    product = _SPREAD * square / network.edges + 2.0**-100
    for e in range(network.edges, tail.size):
        v = tail[e]
        x = p[v] - network.row[v]
        root = np.sqrt(x * x + 4.0 * product)
        flows[e], slacks[e] = 0.5 * (root - x), 0.5 * (root + x)
        p[v] = slacks[e]
    for e in range(network.edges):
        rise = p[head[e]] - p[tail[e]]
        root = np.sqrt(rise * rise + 4.0 * product)
        flows[e], slacks[e] = 0.5 * (root + rise) / resistance[e], 0.5 * (root - rise)
    mean = 0.0
    for e in range(tail.size):
        mean += flows[e] * slacks[e]
    return mean / tail.size


@inner
def advance(network: Network, point: Point, product: float, bold: bool) -> float:
    """Make one predictor-corrector step (Mehrotra 1992); return the mean product after it.

    Parameters
    ----------
    network
        Every part of which has a way to the ground.
    point
        Replaced by the next point.
    product
        The mean of all g s before.
    bold
        Go nearly all the way to the border, which takes fewer steps but may end in a cycle.
    """
    tail, head, slot, resistance = network.tail, network.head, network.slot, network.resistance
    flows, slacks, p, flow_steps, slack_steps, steps, inverses, system = point
    for s in range(system.size):
        system[s] = 0.0
    for e in range(tail.size):
        inverses[e] = 1.0 / (resistance[e] * flows[e] + slacks[e])
        system[slot[e]] = flows[e] * inverses[e]
    factorise(network, system)
    target, reach, length = 0.0, 0.0, 0.0
    for corrector in range(2):
        for v in range(network.row.size):
            steps[v] = -network.row[v]
        for e in range(tail.size):
            missing = target - flows[e] * slacks[e] - corrector * flow_steps[e] * slack_steps[e]
            flow_steps[e] = missing * inverses[e]
            steps[tail[e]] += flows[e] + flow_steps[e]
            steps[head[e]] -= flows[e] + flow_steps[e]
        substitute(network, system, steps)
        shrink = 0.0  # the largest relative decrease of anything that must stay positive
        for e in range(tail.size):
            rise = steps[head[e]] - steps[tail[e]]
            flow_steps[e] += flows[e] * inverses[e] * rise
            slack_steps[e] = resistance[e] * flow_steps[e] - rise
            fall = max(-flow_steps[e] * slacks[e], -slack_steps[e] * flows[e])
            shrink = max(shrink, fall / (flows[e] * slacks[e]))
        if corrector == 0:
            reach = 1.0 / max(1.0, shrink)
            target = product * (1.0 - reach) ** 3 * (1.0 - reach if bold else 1.0)
        else:
            length = min(max(0.99 if bold else 0.9, reach), 1.0 - 2.0**-20)
            length = min(1.0, length / shrink) if shrink > length else 1.0
    mean = 0.0
    for e in range(tail.size):
        flows[e] += length * flow_steps[e]
        slacks[e] += length * slack_steps[e]
        mean += flows[e] * slacks[e]
    for v in range(network.row.size):
        p[v] += length * steps[v]
    return mean / tail.size
