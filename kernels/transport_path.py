"""Towards the flow of least energy along the central path: a primal-dual interior-point method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._compile import kernel
from .transport_network import Network, factorise, substitute


class Point(NamedTuple):
    """An interior point: everything but potentials at u > 0 is positive.

    Parameters
    ----------
    flows, slacks
        (T,) g and s = g / weight - rise of the potential; at the optimum g s = 0.
    potentials
        (B + 1,) p.
    spares
        (S,) the increments z that sources keep; at the optimum z p = 0.
    """

    flows: NDArray[np.float64]
    slacks: NDArray[np.float64]
    potentials: NDArray[np.float64]
    spares: NDArray[np.float64]


_SPREAD = 5.0  # of the first point: its products over the mean square of the rises


@kernel
def start(network: Network) -> Point:
    """Return a central point near the flow of least energy on two-way edges."""
    vertices, edges = network.row.size, network.tail.size
    conductances, totals = np.zeros(2 * vertices), np.zeros(vertices)
    for e in range(edges):
        conductances[network.slot[e]] = network.weight[e]
    totals[network.sources] = 1.0
    p = -network.row
    factorise(network, conductances, totals)
    substitute(network, conductances, totals, np.zeros(vertices), p)
    mean = 0.0
    for e in range(edges):
        mean += (p[network.head[e]] - p[network.tail[e]]) ** 2 / edges
    product = _SPREAD * mean + 2.0**-100
    spares = np.empty(network.sources.size)
    for i in range(spares.size):
        v = network.sources[i]
        x = p[v] - network.row[v]
        root = np.sqrt(x * x + 4.0 * product)
        p[v], spares[i] = 0.5 * (root + x), 0.5 * (root - x)
    flows, slacks = np.empty(edges), np.empty(edges)
    for e in range(edges):
        rise = p[network.head[e]] - p[network.tail[e]]
        root = np.sqrt(rise * rise + 4.0 * product)
        flows[e], slacks[e] = 0.5 * network.weight[e] * (root + rise), 0.5 * (root - rise)
    return Point(flows, slacks, p, spares)


class Scratch(NamedTuple):
    """Working memory of ``advance``: by vertex, slot, edge, source."""

    pull: NDArray[np.float64]
    step: NDArray[np.float64]
    totals: NDArray[np.float64]
    rest: NDArray[np.float64]
    conductances: NDArray[np.float64]
    inverses: NDArray[np.float64]
    products: NDArray[np.float64]
    source_products: NDArray[np.float64]


@kernel
def scratch(network: Network) -> Scratch:
    """Return working memory for ``advance``."""
    v, e, s = network.row.size, network.tail.size, network.sources.size
    return Scratch(
        np.empty(v),
        np.empty(v),
        np.empty(v),
        np.zeros(v),
        np.empty(2 * v),
        np.empty(e),
        np.empty(e),
        np.empty(s),
    )


@kernel
def _predict(network: Network, point: Point, work: Scratch) -> float:
    """Set up the Newton system and solve it for all products 0; return the longest step, <= 1."""
    g, s, p, z = point
    pull, d, totals, rest, conductances, inverses, products, source_products = work
    for v in range(p.size):
        pull[v] = d[v] = -network.row[v]
        totals[v] = conductances[2 * v] = conductances[2 * v + 1] = 0.0
    for e in range(g.size):
        a, b = network.tail[e], network.head[e]
        ratio = g[e] / network.weight[e]
        inverses[e] = 1.0 / (ratio + s[e])
        conductance = g[e] * inverses[e]
        conductances[network.slot[e]] = conductance
        pull[a] += g[e]
        pull[b] -= g[e]
        d[a] += conductance * ratio
        d[b] -= conductance * ratio
    for i in range(z.size):
        v = network.sources[i]
        totals[v] = z[i] / p[v]
        pull[v] += z[i]
    factorise(network, conductances, totals)
    substitute(network, conductances, totals, rest, d)
    shrink = 1.0  # the largest relative decrease of anything that must stay positive
    for e in range(g.size):
        change = inverses[e] * (d[network.head[e]] - d[network.tail[e]] - s[e])  # of g, relative
        shrink = max(shrink, max(-change, 1.0 + change))  # s changes by -1 - change
        products[e] = -g[e] * s[e] * change * (1.0 + change)
    for i in range(z.size):
        v = network.sources[i]
        change = d[v] / p[v]
        shrink = max(shrink, max(-change, 1.0 + change))
        source_products[i] = -z[i] * p[v] * change * (1.0 + change)
    return 1.0 / shrink


@kernel
def advance(network: Network, point: Point, work: Scratch, product: float) -> float:
    """Make one predictor-corrector step (Mehrotra 1992); return the mean product after it.

    Parameters
    ----------
    network
        Every part of which has a source.
    point
        Replaced by the next point.
    work
        From ``scratch``.
    product
        The mean of all g s and z p before.
    """
    g, s, p, z = point
    pull, d, totals, rest, conductances, inverses, products, source_products = work
    reach = _predict(network, point, work)
    target = product * (1.0 - reach) ** 3
    for v in range(p.size):
        d[v] = pull[v]
    for e in range(g.size):
        products[e] = target - g[e] * s[e] - products[e]
        push = products[e] * inverses[e]
        d[network.tail[e]] += push
        d[network.head[e]] -= push
    for i in range(z.size):
        v = network.sources[i]
        source_products[i] = target - z[i] * p[v] - source_products[i]
        d[v] += source_products[i] / p[v]
    substitute(network, conductances, totals, rest, d)
    shrink = 0.0
    for e in range(g.size):
        rise = d[network.head[e]] - d[network.tail[e]]
        flow = inverses[e] * (g[e] * rise + products[e])
        slack = flow / network.weight[e] - rise
        shrink = max(shrink, max(-flow / g[e], -slack / s[e]))
        products[e], inverses[e] = flow, slack
    for i in range(z.size):
        v = network.sources[i]
        source_products[i] = (source_products[i] - z[i] * d[v]) / p[v]
        shrink = max(shrink, max(-source_products[i] / z[i], -d[v] / p[v]))
    length = min(max(0.9, reach), 1.0 - 2.0**-20)
    length = min(1.0, length / shrink) if shrink > length else 1.0
    mean = 0.0
    for e in range(g.size):
        g[e] += length * products[e]
        s[e] += length * inverses[e]
        mean += g[e] * s[e]
    for v in range(p.size):
        p[v] += length * d[v]
    for i in range(z.size):
        z[i] += length * source_products[i]
        mean += z[i] * p[network.sources[i]]
    return mean / (g.size + z.size)
