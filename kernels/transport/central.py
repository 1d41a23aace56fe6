"""A careful, textbook interior-point method towards the flow of least energy.

It is for networks with many ties, on which the long steps of ``path`` do not lead to the end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner
from .network import Network, solve
from .path import Point

_SPREAD = 20.0  # products of the first point over the mean square of the rises


@inner
def start(network: Network, point: Point) -> float:
    """Set a central point near the flow of least energy on two-way edges. Return its product."""
    tail, head, slot, edges = network.tail, network.head, network.slot, network.edges
    flows, slacks, _, p, sources, system = point
    _empty(network, point)
    for e in range(tail.size):
        system[slot[e]] = network.conductances[slot[e]] if e < edges else 1.0
    solve(network, system, sources, p)
    square = 0.0
    for e in range(edges):
        rise = p[head[e]] - p[tail[e]]
        square += rise * rise
    product = _SPREAD * square / edges + 2.0**-100
    for e in range(edges, tail.size):
        v = tail[e]
        x = p[v] - network.row[v]
        root = np.sqrt(x * x + 4.0 * product)
        flows[e], slacks[e] = 0.5 * (root - x), 0.5 * (root + x)
        p[v] = slacks[e]
    for e in range(edges):
        rise = p[head[e]] - p[tail[e]]
        root = np.sqrt(rise * rise + 4.0 * product)
        flows[e], slacks[e] = 0.5 * (root + rise), 0.5 * (root - rise)
    mean = 0.0
    for e in range(tail.size):
        mean += flows[e] * slacks[e]
    return mean / tail.size


@inner
def _empty(network: Network, point: Point) -> None:
    """Set the equations to 0 and minus the increments."""
    for s in range(point.system.size):
        point.system[s] = 0.0
    for v in range(network.row.size):
        point.sources[v] = -network.row[v]


@inner
def follow(
    network: Network,
    point: Point,
    flow_steps: NDArray[np.float64],
    slack_steps: NDArray[np.float64],
    steps: NDArray[np.float64],
    product: float,
    bold: bool,
) -> float:
    """Make one predictor-corrector step (Mehrotra 1992). Return the mean product after it.

    Parameters
    ----------
    network
        A network in which every part has a way to the ground.
    point
        Replaced by the next point.
    flow_steps, slack_steps, steps
        (T,), (T,) and (B + 2,) working memory: the changes of flows, slacks and potentials.
    product
        The mean of all products h s before the step.
    bold
        Whether to go nearly all the way to the border. That takes fewer steps, but may end in a
        cycle.
    """
    tail, head, slot, edges = network.tail, network.head, network.slot, network.edges
    flows, slacks, inverses, p, sources, system = point
    for e in range(tail.size):
        inverses[e] = 1.0 / ((flows[e] if e < edges else 0.0) + slacks[e])
        flow_steps[e] = slack_steps[e] = 0.0
    target, length = 0.0, 0.0
    for corrector in range(2):
        _empty(network, point)
        for e in range(tail.size):
            missing = target - flows[e] * slacks[e] - corrector * flow_steps[e] * slack_steps[e]
            flow_steps[e] = missing * inverses[e]
            weight = network.conductances[slot[e]] if e < edges else 1.0
            system[slot[e]] = weight * flows[e] * inverses[e]
            sources[tail[e]] += weight * (flows[e] + flow_steps[e])
            sources[head[e]] -= weight * (flows[e] + flow_steps[e])
        solve(network, system, sources, steps)
        shrink = 0.0  # the largest relative decrease of a positive variable
        for e in range(tail.size):
            rise = steps[head[e]] - steps[tail[e]]
            flow_steps[e] += flows[e] * inverses[e] * rise
            slack_steps[e] = (flow_steps[e] if e < edges else 0.0) - rise
            fall = max(-flow_steps[e] * slacks[e], -slack_steps[e] * flows[e])
            shrink = max(shrink, fall / (flows[e] * slacks[e]))
        if corrector == 0:
            reach = 1.0 / max(1.0, shrink)
            target = product * (1.0 - reach) ** 3 * (1.0 - reach if bold else 1.0)
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
