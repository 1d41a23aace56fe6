"""The sum of clients' vectors, which a secure aggregation elsewhere has made."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ..._sealed import sealed
from ...errors import DtypeError, ParameterError
from .parameters import Protocol
from .possible import check_reports, with_vectors
from .rounds import MOST_CLIENTS, Sums

__all__ = ["VectorSum"]


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class VectorSum:
    """The sum of what ``Client.vector`` returned to the clients of a round.

    ``release``, ``release_scores`` and ``combine`` take it in the place of the servers' sums.
    Somebody else has made it, by a secure aggregation that shows the sum and nothing else
    (docs/guides/flower.md).

    With DistributedNoise, the sum has its guarantee if at least ``trust.required`` clients are in
    it that drew their shares as they should and tell nobody, and if nobody sees a sum of fewer. So
    the secure aggregation must not open a sum of fewer, and ``dropout`` has to count clients that
    drop out and clients that might collude. With SecureAggregation, there is no guarantee for
    the sum.

    Without a contribution bound, the sum does not show how many clients are in it. Then ``reports``
    is all that is known about the condition of the guarantee. Take it from an aggregation that
    knows its clients and counts each of them once.

    Parameters
    ----------
    protocol
        The public parameters of the round, without ``enrolled``: vectors have no tickets.
    total
        (nodes,) integers, ``Protocol.words`` of them. If the aggregation adds up modulo M, numbers
        from M / 2 on stand for negative ones: subtract M from them. M must be more than twice as
        large as any total.
    reports
        How many clients are in the sum.
    simulated
        Whether a client had a seeded generator.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or clients have no vectors under this trust model.
    RoundError
        There are fewer clients than DistributedNoise requires, or more than were asked; or so many
        clients cannot make this total (docs/guides/wire.md, section 5).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> from dpcore.trust import Client, DistributedNoise, Protocol, VectorSum, cell_of
    >>> grid, rng = dp.Grid.uniform(0, 1, 64), np.random.default_rng(1)
    >>> trust = DistributedNoise(epsilon=1.0, clients=10, dropout=0.2, records=None)
    >>> protocol = Protocol(trust, grid.size, bytes(16))
    >>> total = np.zeros(protocol.words, np.int64)
    >>> for site in rng.spawn(9):  # one has dropped out
    ...     values = site.beta(2, 5, site.integers(1000))
    ...     total += Client(protocol, site).vector(cell_of(values, grid))
    >>> curve = dp.trust.release(VectorSum(protocol, total, reports=9, simulated=True), grid)
    >>> curve.n, curve.privacy.epsilon, round(curve.quantile(0.5), 2)
    (4425, 1.0, 0.26)
    """

    protocol: Protocol
    total: NDArray[np.int64] = field(repr=False)
    reports: int
    simulated: bool = False

    def __post_init__(self) -> None:
        protocol = self.protocol
        if not isinstance(protocol, Protocol):
            raise DtypeError("protocol", type(protocol).__name__, "must be a Protocol")
        own = with_vectors("protocol", protocol)
        vector = _check.array("total", self.total, "iu", "must be integers: round averages first")
        if vector.shape != (protocol.words,):
            raise ParameterError("total", vector.shape, f"must be one vector, ({protocol.words},)")
        if vector.dtype.kind == "u" and vector.max() > np.iinfo(np.int64).max:
            raise ParameterError("total", "another", "must be below 2^63")
        total = vector.astype(np.int64)
        reports = _check.integer("reports", self.reports, 0, MOST_CLIENTS)
        if not isinstance(self.simulated, bool):
            raise DtypeError("simulated", type(self.simulated).__name__, "must be a bool")
        check_reports(protocol, reports)
        own.check_sums(Sums(total.view(np.uint64), reports))
        object.__setattr__(self, "total", total)
        object.__setattr__(self, "reports", reports)
