"""A curator who sees the records, and secure aggregation, where nobody sees more than their sum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...mechanisms.base import Mechanism, Work
from ...mechanisms.hierarchy import Hierarchy
from ...mechanisms.no_noise import NoNoise
from ...privacy.allowance import Allowance
from ...privacy.guarantees import Privacy
from .contribution import for_client, most_records

__all__ = ["Central", "SecureAggregation"]

_MOST_SERVERS = 2**8


@dataclass(frozen=True, slots=True)
class Central(Mechanism):
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
            "name": "central",
            **self._whole().describe(),
            "records": self.records,
            "branching": of_tree["branching"],
            "budgets": of_tree["budgets"],
        }

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

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        return self._hierarchy()._prepared(exact)


@dataclass(frozen=True, slots=True)
class SecureAggregation(Mechanism):
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", most_records(self.records))
        servers = _check.integer("servers", self.servers, 2, _MOST_SERVERS)
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
            "name": "secure-aggregation",
            "servers": self.servers,
            "records": self.records,
        }

    def _budget(self) -> Allowance:
        return NoNoise()._budget()

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        return NoNoise()._prepared(exact)
