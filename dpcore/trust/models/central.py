"""A curator, who sees the records and adds the noise."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...mechanisms.base import Work
from ...mechanisms.hierarchy import Hierarchy
from ...noise.sources import KeyedSource, Source
from ...privacy.allowance import Allowance
from ...privacy.guarantees import Neighbours, Privacy
from ..functions.function import Function, check_function
from ..functions.sum_noise import MOST_RECORDS, SumNoise, sum_noise
from ..protocol.rounds import Counts, Memory, Round, Sums, Words
from ..protocol.trust_models import Bounded, Summing
from ..protocol.wire import ReportError, RoundError
from .advised import Advised
from .contribution import check_one_record, for_client, most_records
from .server_secret import ServerSecret
from .sum_rounds import CuratedSumRound

__all__ = ["Central"]


@dataclass(frozen=True, slots=True)
class Central(Bounded, Summing, Advised):
    """A curator sees the records, and adds the noise: ``mechanisms.Hierarchy``.

    All mechanisms of ``dpcore.mechanisms`` stand for this trust model. This class serves to compare
    it with the other trust models: it has the same tree and the same noise as ``DistributedNoise``
    without dropouts.

    Parameters
    ----------
    epsilon, rho, delta
        As in ``mechanisms.Hierarchy``, for all records of a client that count.
    records
        The contribution bound: the most records of a client that count, 1 to 64
        (docs/guides/clients.md). Values above 1 are for ``client_cdf`` and ``client_score_curves``,
        which keep the bound.

    Raises
    ------
    DtypeError, ParameterError
        As in ``mechanisms.Hierarchy``; or records is not such a number.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> trust = dp.trust.Central(epsilon=1.0)
    >>> curve = dp.cdf(rng.beta(2, 5, 10_000), dp.Grid.uniform(0, 1, 256), trust, rng=rng)
    >>> round(curve.quantile(0.5), 2)
    0.26
    """

    epsilon: float | Fraction | None = None
    rho: float | Fraction | None = None
    delta: float | None = None
    records: int = 1
    advised: ClassVar[str] = "central"
    trusted: ClassVar[str] = "the curator"

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", most_records(self.records))
        self._hierarchy()

    @property
    def privacy(self) -> Privacy:
        """The guarantee for a client."""
        return for_client(self._whole().privacy, self.records)

    @property
    def record_privacy(self) -> Privacy:
        """The guarantee for one record of a client: epsilon / records, or rho / records^2."""
        return self._budget().privacy

    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return the standard deviation of the noise in each cumulative count, (N,). O(N).

        Examples
        --------
        >>> from dpcore.trust import Central
        >>> Central(epsilon=1.0).noise_deviation(4).round(2)
        array([2.42, 2.8 , 2.42, 0.  ])
        >>> Central(epsilon=1.0, records=2).noise_deviation(4).round(2)
        array([4.89, 5.64, 4.89, 0.  ])
        """
        return self._hierarchy().noise_deviation(size)

    def describe(self) -> dict[str, str | int | float]:
        """Return the name and the parameters, as a release records them.

        Examples
        --------
        >>> from dpcore.trust import Central
        >>> Central(epsilon=1.0, records=2).describe()
        {'name': 'central', 'epsilon': 1.0, 'records': 2, 'branching': 'auto', 'budgets': 'auto'}
        """
        of_tree = self._hierarchy().describe()
        return {
            "name": self.advised,
            **self._whole().describe(),
            "records": self.records,
            "branching": of_tree["branching"],
            "budgets": of_tree["budgets"],
        }

    def round(self, size: int, servers: int | None = None) -> Round:
        """Return a round whose clients send their cells to the curator.

        Examples
        --------
        >>> from dpcore.trust import Central
        >>> own = Central(epsilon=1.0, records=2).round(4)
        >>> own.receivers, own.payload_bytes(5)
        (1, 16)
        """
        return _Curated(self, size)

    def sum_noise(self, function: Function, neighbours: Neighbours = "replace-one") -> SumNoise:
        """Return the integers that stand for values, and the curator's noise in their sum.

        Examples
        --------
        >>> from dpcore.trust import Central
        >>> from dpcore.trust.functions import Identity
        >>> for neighbours in ("replace-one", "add-or-remove-one"):
        ...     noise = Central(epsilon=1.0).sum_noise(Identity(-5, 5), neighbours)
        ...     print(noise.deviation(1000, is_whole=False).round(2))
        [14.14]
        [7.07]
        """
        check_function("function", function)
        _check.choice("neighbours", neighbours, Neighbours)
        check_one_record(self.records)
        budget = Allowance.checked(self.epsilon, self.rho, neighbours, self.delta)
        return sum_noise(function.bound, budget, 1, 1, MOST_RECORDS, function.most_bits)

    def sum_round(self, function: Function, servers: int | None = None) -> Round:
        """Return a round whose clients send their values to the curator.

        Examples
        --------
        >>> from dpcore.trust import Central
        >>> from dpcore.trust.functions import Identity
        >>> own = Central(epsilon=1.0).sum_round(Identity(0, 10))
        >>> own.receivers, own.payload_bytes(5)
        (1, 16)
        """
        return CuratedSumRound(self, function)

    def _whole(self) -> Allowance:
        """Return the allowance for all records of a client together."""
        return Allowance.checked(self.epsilon, self.rho, "replace-one", self.delta)

    def _hierarchy(self) -> Hierarchy:
        """Return the tree with the noise for one record's part of the allowance."""
        if self.records == 1:
            return Hierarchy(self.epsilon, rho=self.rho, delta=self.delta)
        whole = self._whole()
        if whole.epsilon is not None:
            return Hierarchy(whole.epsilon / self.records)
        assert whole.rho is not None
        return Hierarchy(rho=whole.rho / self.records**2)

    def _budget(self) -> Allowance:
        return self._hierarchy()._budget()

    def _prepared(self, exact: Counts) -> Work:
        return self._hierarchy()._prepared(exact)


class _Curated(Round):
    """Cells in plain, for a server that counts them, and gives away counts with noise.

    The noise is a function of the server's secret, of the settled reports and of the tree. So a
    server that goes on from a file gives away the same.
    """

    servers_draw = True

    def __init__(self, trust: Central, cells: int) -> None:
        super().__init__(trust, cells)
        self.records = self.most_records = self._cells_in_report = trust.records
        budget = {name: getattr(trust, name) for name in ("epsilon", "rho", "delta")}
        self.exact = " ".join(
            "-" if part is None else str(_check.fraction(name, part))
            for name, part in budget.items()
        )

    def report(self, cells: Counts, numbers: Counts, stream: Source) -> list[bytes]:
        return [np.repeat(cells, numbers).astype("<u8").tobytes()]

    def payload_bytes(self, kind: int, level: int = 0) -> int:
        return 8 * self._cells_in_report

    def check(self, kind: int, payload: bytes) -> None:
        super().check(kind, payload)
        if np.any(np.frombuffer(payload, "<u8") >= self.cells):
            raise ReportError("payload", "is about a cell that does not exist")

    def counted(self, kind: int, payload: bytes) -> list[tuple[int, Words]]:
        one = np.ones(1, np.uint64)
        return [(cell, one) for cell in np.frombuffer(payload, "<u8").tolist()]

    def memory(self, place: int | None, stream: Source) -> ServerSecret:
        return ServerSecret.drawn(stream)

    def memory_from(self, read: Callable[[int], bytes]) -> ServerSecret:
        return ServerSecret.read(read)

    def given(self, totals: Words, memory: Memory | None, context: bytes, simulated: bool) -> Words:
        assert isinstance(memory, ServerSecret)
        released = np.empty((1, self.cells))
        key = memory.key(context + self._of_tree())
        stream = KeyedSource(key, simulated=simulated)
        self.trust._prepared(totals.astype(np.int64)).fill(released, stream)
        return np.asarray(released[0]).view(np.uint64)

    def _of_tree(self) -> bytes:
        """Return a hash of the tree and its laws. In a later version "auto" may stand for others.

        With the same random words, releases by two trees would show the records without noise.
        """
        tree = self.trust._hierarchy().tree(self.cells)
        laws = [law and str(getattr(law, "scale", 0) or law.sigma_squared) for law in tree.laws]
        content = [tree.starts.tolist(), tree.bits, laws]
        return hashlib.sha256(json.dumps(content).encode("ascii")).digest()

    def check_sums(self, sums: Sums) -> None:
        released = self.numbers(sums.totals)
        if not np.isfinite(released).all() or released[-1] != self.records_in(sums):
            raise RoundError("the last count is not the number of records in the reports")

    def numbers(self, totals: Words) -> NDArray[np.float64]:
        return totals.view(np.float64)

    def estimates(self, sums: Sums) -> NDArray[np.float64]:
        return self.numbers(sums.totals)
