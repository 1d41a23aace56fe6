"""Secure aggregation: nobody sees more than the exact sum of all reports."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...mechanisms.base import Work
from ...mechanisms.no_noise import NoNoise
from ...privacy.allowance import Allowance
from ...privacy.guarantees import Neighbours, Privacy
from ..functions.function import Function, check_function
from ..functions.sum_noise import MOST_RECORDS, SumNoise, sum_noise
from ..protocol.rounds import MOST_SERVERS
from ..protocol.trust_models import Bounded, Summing, WithVectors
from .advised import Advised, Errors, Sizes
from .contribution import check_one_record, for_client, most_records
from .share_rounds import VectorRound
from .sum_rounds import SharedSumRound

__all__ = ["SecureAggregation"]


@dataclass(frozen=True, slots=True)
class SecureAggregation(Bounded, WithVectors, Summing, Advised):
    """The exact sum of all reports, and nothing else about them: **no differential privacy**.

    Each client splits its report into shares for servers that do not collude. Each server alone
    sees uniform random numbers. The sum of all shares is exact, and so is the curve. Somebody who
    knows all records but one learns that record from the sum.

    Parameters
    ----------
    servers
        The number of servers, 2 to 256.
    records
        The contribution bound: the most records of a client that count, 1 to 64.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    Federated paper, section 2.2. ``privacy.epsilon`` is infinite.

    Examples
    --------
    >>> import dpcore as dp
    >>> trust = dp.trust.SecureAggregation(servers=3)
    >>> curve = dp.cdf([0.1, 0.3, 0.35, 0.9], dp.Grid.uniform(0, 1, 4), trust)
    >>> curve.counts, curve.privacy.epsilon
    (array([1., 3., 3., 4.]), inf)
    """

    servers: int = 2
    records: int = 1
    advised: ClassVar[str] = "secure-aggregation"
    trusted: ClassVar[str] = "a server, readers"

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", most_records(self.records))
        servers = _check.integer("servers", self.servers, 2, MOST_SERVERS)
        object.__setattr__(self, "servers", servers)

    @property
    def privacy(self) -> Privacy:
        """No guarantee: epsilon is infinite."""
        return for_client(Privacy(math.inf), self.records)

    @property
    def record_privacy(self) -> Privacy:
        """No guarantee, either."""
        return Privacy(math.inf)

    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return zeros, (N,).

        Examples
        --------
        >>> from dpcore.trust import SecureAggregation
        >>> SecureAggregation().noise_deviation(4)
        array([0., 0., 0., 0.])
        """
        return NoNoise().noise_deviation(size)

    def describe(self) -> dict[str, str | int | float]:
        """Return the name and the parameters, as a release records them.

        Examples
        --------
        >>> from dpcore.trust import SecureAggregation
        >>> SecureAggregation(servers=3).describe()
        {'name': 'secure-aggregation', 'servers': 3, 'records': 1}
        """
        return {
            "name": self.advised,
            "servers": self.servers,
            "records": self.records,
        }

    def round(self, size: int, servers: int | None = None) -> VectorRound:
        """Return a round whose clients share the exact counts of the cells.

        Examples
        --------
        >>> from dpcore.trust import SecureAggregation
        >>> SecureAggregation(servers=3).round(4).receivers
        3
        """
        return VectorRound(self, size, self.servers)

    def sum_noise(self, function: Function, neighbours: Neighbours = "replace-one") -> SumNoise:
        """Return the integers that stand for values; there is no noise.

        Examples
        --------
        >>> from dpcore.trust import SecureAggregation
        >>> from dpcore.trust.functions import Identity
        >>> SecureAggregation().sum_noise(Identity(0, 10)).bits
        21
        """
        check_function("function", function)
        _check.choice("neighbours", neighbours, Neighbours)
        check_one_record(self.records)
        return sum_noise(function.bound, None, 1, 0, MOST_RECORDS, function.most_bits)

    def sum_round(self, function: Function, servers: int | None = None) -> SharedSumRound:
        """Return a round whose clients share the rounded values of their records.

        Examples
        --------
        >>> from dpcore.trust import SecureAggregation
        >>> from dpcore.trust.functions import Identity
        >>> SecureAggregation(servers=3).sum_round(Identity(0, 10)).receivers
        3
        """
        return SharedSumRound(self, function, self.servers)

    @classmethod
    def for_advice(cls, epsilon: float | Fraction | None, clients: int) -> Self:
        """Return the default; epsilon has no meaning here.

        Examples
        --------
        >>> from dpcore.trust import SecureAggregation
        >>> SecureAggregation.for_advice(None, 1000).mean_squared_error(16)
        0.0
        """
        return cls()

    @classmethod
    def theorem_errors(
        cls, epsilon: float, clients: float, heights: Sizes, buckets: Sizes
    ) -> Errors:
        """Return the errors of buckets and of the sample.

        Examples
        --------
        >>> from dpcore.trust import SecureAggregation
        >>> sizes = {"auc": 8, "metrics": 8, "calibration": 8}
        >>> errors = SecureAggregation.theorem_errors(1.0, 10_000, sizes, sizes)
        >>> {purpose: round(error, 4) for purpose, error in errors.items()}
        {'auc': 0.0156, 'metrics': 0.125, 'calibration': 0.0464}
        """
        return {
            "auc": buckets["auc"] ** -2.0,
            "metrics": 1.0 / buckets["metrics"],
            "calibration": clients ** (-1 / 3),
        }

    def remembered(self, size: int) -> None:
        """Return None: there is no noise.

        Examples
        --------
        >>> from dpcore.trust import SecureAggregation
        >>> SecureAggregation().remembered(4) is None, SecureAggregation().noise_deviation(1)
        (True, array([0.]))
        """

    def _budget(self) -> Allowance:
        return NoNoise()._budget()

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        return NoNoise()._prepared(exact)
