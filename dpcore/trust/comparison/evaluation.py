"""Servers: shares of comparisons with thresholds, for each client, or summed over all clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _threads
from ...errors import DtypeError, ParameterError
from .arguments import integers
from .keys import Keys
from .plan import Plan, plan
from .walk import Walk, clients_at_a_time

__all__ = ["evaluate", "evaluate_sum"]

_MOST_FULL_BITS: Final = 24
# The number of thresholds at a time. They have few nodes, so vectors over clients are long.
_PIECE: Final = 2**12


def evaluate(
    keys: Keys, thresholds: ArrayLike | None = None, workers: int | None = None
) -> NDArray[np.uint64]:
    """Return a party's shares of each client's comparison with each threshold.

    Parameters
    ----------
    keys
        The party's keys of n clients.
    thresholds
        (T,) integers, 0 to 2^bits - 1, in any order, or one integer. None: all thresholds, for up
        to 24 bits.
    workers
        The number of threads; None: one for each processor. Results do not depend on it.

    Returns
    -------
    shares
        (n, T), or (n,) for one integer. The shares of both parties add up, modulo 2^64, to 1 where
        the threshold is at least the client's value, and else to 0.

    Raises
    ------
    DtypeError
        An argument has another type.
    ParameterError
        The thresholds have more than one axis, or are not below 2^bits; or they are None and there
        are more than 24 bits; or ``workers`` is below 1.

    Notes
    -----
    O(n T) memory; O(n T bits) time, and less if thresholds share their first bits.

    Examples
    --------
    >>> from dpcore.trust import comparison
    >>> first, second = comparison.gen([3, 200], bits=8)
    >>> comparison.evaluate(first, [2, 77, 255]) + comparison.evaluate(second, [2, 77, 255])
    array([[0, 1, 1],
           [0, 0, 1]], dtype=uint64)
    """
    points, workers = _points(keys, thresholds), _threads.checked_workers(workers)
    shares = np.empty((len(keys), points.size), np.uint64)
    for piece in _pieces(points):
        _fill(shares, piece, keys, plan(points.reshape(-1)[piece], keys.bits), workers)
    return _signed(shares, keys).reshape(len(keys), *points.shape)


def evaluate_sum(
    keys: Keys, thresholds: ArrayLike | None = None, workers: int | None = None
) -> NDArray[np.uint64]:
    """Return a party's shares of the number of clients whose value is at most each threshold.

    Parameters
    ----------
    keys
        The party's keys of n clients.
    thresholds
        (T,) integers, 0 to 2^bits - 1, in any order, or one integer. None: all thresholds, for up
        to 24 bits.
    workers
        The number of threads; None: one for each processor. Results do not depend on it.

    Returns
    -------
    sums
        (T,) uint64, or a number for one integer. The sums of both parties add up to the counts,
        modulo 2^64.

    Raises
    ------
    DtypeError, ParameterError
        As in ``evaluate``.

    Notes
    -----
    Memory does not grow with n: it is O(T) for each thread. O(n T bits) time, and less if
    thresholds share their first bits. All thresholds take 7 2^bits / 8 blocks of AES for each
    client.

    Examples
    --------
    >>> from dpcore.trust import comparison
    >>> first, second = comparison.gen([3, 200, 77], bits=8)
    >>> comparison.evaluate_sum(first, [2, 77, 255]) + comparison.evaluate_sum(second, [2, 77, 255])
    array([0, 2, 3], dtype=uint64)
    """
    points, workers = _points(keys, thresholds), _threads.checked_workers(workers)
    sums = np.empty(points.size, np.uint64)
    for piece in _pieces(points):
        walk_plan = plan(points.reshape(-1)[piece], keys.bits)
        total = np.zeros(2 * walk_plan.entries, np.uint64)
        for walk in _walk(keys, walk_plan, True, Walk.add, workers):
            total += walk.outputs.reshape(-1)
        sums[piece] = total[walk_plan.found]
    signed: NDArray[np.uint64] = _signed(sums, keys).reshape(points.shape)[()]
    return signed


def _pieces(points: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return groups of thresholds to evaluate together: neighbours share most of their way."""
    in_order = np.argsort(points, axis=None, kind="stable")
    return [in_order[start : start + _PIECE] for start in range(0, points.size, _PIECE)]


def _points(keys: Keys, thresholds: ArrayLike | None) -> NDArray[np.int64]:
    """Return the thresholds in the shape that was given, after all checks."""
    if not isinstance(keys, Keys):
        raise DtypeError("keys", type(keys).__name__, "must be comparison.Keys")
    if thresholds is None:
        if keys.bits > _MOST_FULL_BITS:
            wanted = f"must be given for keys of more than {_MOST_FULL_BITS} bits"
            raise ParameterError("thresholds", None, wanted)
        return np.arange(2**keys.bits)
    points = integers("thresholds", thresholds)
    beyond = (points < 0) | (points > 2**keys.bits - 1)
    if beyond.any():
        wanted = f"must be 0 to 2^{keys.bits} - 1"
        raise ParameterError("thresholds", points[beyond][0], wanted)
    return points.astype(np.int64)


def _fill(
    shares: NDArray[np.uint64],
    piece: NDArray[np.int64],
    keys: Keys,
    walk_plan: Plan,
    workers: int,
) -> None:
    """Fill some columns of the clients' shares."""

    def work(walk: Walk, start: int, stop: int) -> None:
        walk.outputs[:] = 0
        walk.add(start, stop)
        outputs = walk.outputs.transpose(0, 2, 1).reshape(-1, walk.outputs.shape[1])
        shares[start:stop, piece] = outputs[walk_plan.found, : stop - start].T

    _walk(keys, walk_plan, False, work, workers)


def _walk(
    keys: Keys, walk_plan: Plan, sums: bool, work: Callable[[Walk, int, int], None], workers: int
) -> list[Walk]:
    """Walk down all clients' trees, some clients at a time, and return the walks."""
    clients = max(1, min(clients_at_a_time(walk_plan), -(-len(keys) // workers)))
    groups = 1 if sums else clients
    idle: list[Walk] = []

    def walk_down(start: int) -> None:
        try:
            walk = idle.pop()
        except IndexError:
            walk = Walk(keys, walk_plan, clients, groups)
        work(walk, start, min(start + clients, len(keys)))
        idle.append(walk)

    _threads.on_threads(walk_down, range(0, len(keys), clients), workers)
    return idle


def _signed(shares: NDArray[np.uint64], keys: Keys) -> NDArray[np.uint64]:
    """Return the shares, negated for party 1."""
    return np.negative(shares, out=shares) if keys.party else shares
