"""The flow of least energy in a network of one-way edges, first near it, then exactly."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._compile import inner
from .central import follow, start
from .network import Network
from .path import Point, advance, prepare
from .settle import settle

_ROUNDING = 2.0**-38  # the share of the largest increment that counts as zero
_LIMIT = 2.0**-33  # the same after long steps, because these may leave large potentials behind

_LONG = 14  # the number of long steps
_FIRST = 0.05  # the first target of the product, over the mean square of the increments
_SHRINK = 0.05  # the ratio of each target to the one before it
_KEPT = 0.01  # the least share of a flow or a slack that a step keeps
# Exact attempts wait until at most this share of the edges turns in a step. Each attempt divides
# the share by 4.
_FEW = 0.0005

_MOST = 100  # the largest number of careful steps
_NEAR = 2.0**-15  # the first exact attempt is at this mean product, over the mean square
_LEAST = 2.0**-90  # the method gives up at this mean product, over the mean square

_TRIES, _MOST_TRIES = 6, 48  # eliminations in the first exact attempt; later ones may use more


class Memory(NamedTuple):
    """Working memory besides that of a point.

    Parameters
    ----------
    attempt, changes
        (B + 2,) the potentials of an exact attempt, and the changes of potentials.
    flow_steps, slack_steps
        (T,) the changes of flows and slacks.
    carries, full
        (T,) and (B + 1,) see ``settle``.
    """

    attempt: NDArray[np.float64]
    changes: NDArray[np.float64]
    flow_steps: NDArray[np.float64]
    slack_steps: NDArray[np.float64]
    carries: NDArray[np.bool_]
    full: NDArray[np.bool_]


@inner
def least_energy(
    network: Network,
    levels: NDArray[np.int32],
    point: Point,
    memory: Memory,
    best: NDArray[np.float64],
) -> tuple[int, float]:
    """Set ``best`` to the potentials of the flow of least energy. Return steps and the error.

    Long steps come first. If a dozen of them do not lead to the end, the careful steps of textbooks
    start anew.

    Invariant: ``best``, (B + 2,), belongs to the exact attempt with the least error.
    """
    attempt, changes, flow_steps, slack_steps, carries, full = memory
    size, square = 0.0, 0.0
    for v in range(network.row.size):
        size = max(size, abs(network.row[v]))
        square += network.row[v] * network.row[v]
        full[v] = False
    square /= network.row.size
    tolerance, limit = _ROUNDING * size, _LIMIT * size
    count, error, done = 0, np.inf, False

    # ``int``: Numba would compile the callees once more for literals.
    target, few, tries = _FIRST * square, _FEW, int(_TRIES)
    for e in range(network.tail.size):
        point.flows[e] = point.slacks[e] = math.sqrt(target)
    prepare(network, point, target)
    following = _SHRINK * target
    for _ in range(_LONG):
        if done or not target < np.inf:
            break
        product, turned = advance(network, point, target, following, _KEPT)
        target, following = following, _SHRINK * max(following, _SHRINK * product)
        count += 1
        if turned > few * network.edges:
            continue
        few /= 4.0
        tried, reached, done = settle(
            network, levels, point, tries, tolerance, limit, attempt, changes, carries, full
        )
        count += tried
        tries = min(2 * tries, _MOST_TRIES)
        if done or reached < error:
            error = reached
            for v in range(network.row.size):
                best[v] = attempt[v]
        if not done:
            prepare(network, point, target)
    if done:
        return count, error

    product = start(network, point)
    near, error, limit, tries, bold = _NEAR * square, np.inf, np.inf, int(_TRIES), product < np.inf
    for _ in range(_MOST):
        if done or not _LEAST * square < product < np.inf:
            break
        before = product
        product = follow(network, point, flow_steps, slack_steps, changes, product, bold)
        bold &= product < 0.7 * before  # if the steps cycle, the product does not fall
        count += 1
        if product > near:
            continue
        near = product / 32.0
        tried, reached, done = settle(
            network, levels, point, tries, tolerance, limit, attempt, changes, carries, full
        )
        count += tried
        tries = min(2 * tries, _MOST_TRIES)
        if done or reached < error:
            error = reached
            for v in range(network.row.size):
                best[v] = attempt[v]
    return count, error
