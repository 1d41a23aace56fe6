"""Secure sums over clients: what a curve asks, whoever runs them."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ...errors import DtypeError, ParameterError
from ..models.central import SecureAggregation
from ..models.distributed import DistributedNoise
from ..models.function_sharing import FunctionSharing
from ..protocol.wire import RoundError

__all__ = ["Aggregator", "Trust", "of_clients"]

Trust = SecureAggregation | DistributedNoise | FunctionSharing


@runtime_checkable
class Aggregator(Protocol):
    """A secure sum over clients, whoever runs it: what ``PointwiseCDF`` asks.

    Write a class with these five, and bring your own: it need not inherit from this one.

    Attributes
    ----------
    clients
        How many clients are in a sum: in every sum the same ones, each with one record.
    trust
        Who makes the noise: DistributedNoise where the clients do, and add ``PointwiseClient``'s
        vectors; FunctionSharing where servers do; SecureAggregation where nobody does.
    size
        N, the number of cells.
    simulated
        Whether a seeded generator has made any noise.

    Notes
    -----
    The guarantee takes three things for granted. Nobody sees more than the sums. **All sums are
    over the same clients**: the difference of two sums over two sets is what the clients in one of
    them alone have sent, which hides next to nothing; so a sum that lacks a client must not be
    opened. And the noise of a cumulative count is the same whenever it is asked for, a signed sum
    of noise on nodes, as ``PointwiseClient`` and servers have it (docs/pointwise.md).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> class Counted:
    ...     trust, simulated = dp.trust.SecureAggregation(), False
    ...
    ...     def __init__(self, counts):
    ...         self.cumulative, self.size = np.cumsum(counts), len(counts)
    ...         self.clients = int(self.cumulative[-1])
    ...
    ...     def sum(self, cells):
    ...         return self.cumulative[cells]
    >>> dp.trust.PointwiseCDF(Counted([2, 5, 3]))(2)
    0.7
    """

    @property
    def clients(self) -> int: ...  # noqa: D102

    @property
    def trust(self) -> Trust: ...  # noqa: D102

    @property
    def size(self) -> int: ...  # noqa: D102

    @property
    def simulated(self) -> bool: ...  # noqa: D102

    def sum(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many records are in all cells up to each of some, with noise.

        Parameters
        ----------
        cells
            (k,) int64, 0 to N - 1, ascending; the last one of all is among them.

        Returns
        -------
        numpy.ndarray
            (k,) int64: the sum over all clients of their vectors for these cells.

        Raises
        ------
        RoundError
            A client is missing. Nothing is opened.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import DistributedNoise, SimulatedSum
        >>> trust, rng = DistributedNoise(epsilon=1.0, clients=1000), np.random.default_rng(1)
        >>> SimulatedSum([300, 400, 200, 100], trust, rng).sum([0, 1, 3])
        array([ 300,  702, 1000])
        """
        ...


def of_clients(trust: object, clients: int) -> Trust:
    """Return a trust model with so many clients in the sums, or raise."""
    if not isinstance(trust, Trust):
        what = "must be a SecureAggregation, DistributedNoise or FunctionSharing"
        raise DtypeError("trust", type(trust).__name__, what)
    if trust.records != 1:
        raise ParameterError("trust", trust.records, "must have one record to a client")
    if not isinstance(trust, DistributedNoise):
        return trust
    if not trust.required <= clients <= trust.clients:
        wanted = f"{trust.required} to {trust.clients}"
        raise RoundError(f"{clients} clients, and the trust model takes {wanted}")
    return replace(trust, reporting=clients)
