"""The interface of a secure sum over clients."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ...errors import DtypeError, ParameterError
from ..protocol.trust_models import Pointwise, TrustModel, names_of

__all__ = ["Aggregator", "check_trust", "of_clients"]


@runtime_checkable
class Aggregator(Protocol):
    """The interface of a secure sum over clients, as ``PointwiseCDF`` needs it.

    To use your own secure sum, write a class with these four attributes and the method ``sum``. It
    need not inherit from this class.

    Attributes
    ----------
    clients
        The number of clients in a sum. Every sum is over the same clients, each with one record.
    trust
        Who makes the noise: DistributedNoise if clients do, by the vectors of ``PointwiseClient``;
        FunctionSharing if servers do; SecureAggregation if nobody does.
    size
        N, the number of cells.
    simulated
        Whether a seeded generator has made any noise.

    Notes
    -----
    The guarantee needs three things. First, nobody sees more than the sums. Second, **all sums are
    over the same clients**: the difference of two sums over two sets of clients is what the clients
    in only one of them have sent, which hides next to nothing. So a sum that lacks a client must
    not be opened. Third, the noise of a cumulative count is the same whenever it is asked for. It
    is a signed sum of the noise on nodes, as in ``PointwiseClient`` and in servers
    (docs/proofs/function-sharing.md).

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
    def trust(self) -> Pointwise: ...  # noqa: D102

    @property
    def size(self) -> int: ...  # noqa: D102

    @property
    def simulated(self) -> bool: ...  # noqa: D102

    def sum(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return, for each given cell, the noisy number of records in it and all cells before it.

        Parameters
        ----------
        cells
            (k,) int64, 0 to N - 1, ascending, and including the last cell, N - 1.

        Returns
        -------
        numpy.ndarray
            (k,) int64: the sum over all clients of their vectors for these cells.

        Raises
        ------
        RoundError
            A client is missing. Nothing is opened then.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import DistributedNoise, SimulatedSum
        >>> trust, rng = DistributedNoise(epsilon=1.0, clients=1000), np.random.default_rng(1)
        >>> SimulatedSum([300, 400, 200, 100], trust, rng).sum([0, 1, 3])
        array([ 300,  702, 1000])
        """
        ...


def of_clients(trust: object, clients: int) -> Pointwise:
    """Return a trust model for so many clients in the sums, or raise."""
    check_trust(trust, Pointwise)
    assert isinstance(trust, Pointwise)
    return trust.over(clients)


def check_trust(trust: object, kind: type) -> None:
    """Check that a trust model is of a kind, and for clients with one record each."""
    if not isinstance(trust, kind) or not isinstance(trust, TrustModel):
        raise DtypeError("trust", type(trust).__name__, f"must be a {names_of(kind)}")
    if (records := trust.round(2).most_records) != 1:
        raise ParameterError("trust", records, "must have one record for each client")
