"""Distributed noise: every client adds a share, and nobody sees more than the sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Final, Literal, Self

from ... import _check
from ...errors import ParameterError
from ...privacy.allowance import Allowance
from ...privacy.guarantees import Neighbours, Privacy
from ..functions.function import Function, check_function
from ..functions.sum_noise import MOST_RECORDS, SumNoise, sum_noise
from ..protocol.rounds import MOST_CLIENTS, MOST_SERVERS
from ..protocol.trust_models import Bounded, Summing, WithVectors
from ..protocol.wire import RoundError
from .advised import Advised
from .contribution import check_one_record, for_client, most_records
from .share_rounds import VectorRound
from .sum_rounds import SharedSumRound
from .tree_of_shares import TreeOfShares

__all__ = ["DistributedNoise"]

_DEFAULT_SERVERS: Final = 2  # this is also the least number that hides anything


@dataclass(frozen=True, slots=True)
class DistributedNoise(TreeOfShares, WithVectors, Summing, Bounded, Advised):
    """Differential privacy for a sum of reports, each of which contains a share of the noise.

    A client reports the counts of its own record on all levels of a tree, with a Polya share of
    discrete Laplace noise on each node. Secure aggregation shows the server the sum of all reports
    and nothing else. The noise in the sum is that of ``mechanisms.Hierarchy``. Neighbours: one
    client's record is replaced, or all of its records; without a contribution bound, one record of
    any client. There is no guarantee against somebody who sees a single report.

    Parameters
    ----------
    epsilon
        The guarantee of the sum, for a client: a positive number. A Fraction is used exactly. For
        one record, if there is no contribution bound. None: rho is given.
    clients
        M, the number of clients that are asked.
    dropout
        The part of the clients that may drop out, 0 or more and below 1. The guarantee holds if at
        least (1 - dropout) M clients report. A float is taken as the decimal number that it prints.
    reporting
        How many clients do report, which the server knows; None: all. If more report than are
        required, there is more noise than the guarantee needs.
    branching, budgets
        As in ``mechanisms.Hierarchy``.
    records
        The contribution bound: the most records of a client that count (docs/guides/clients.md). It
        is 1 to 64, or more if there are fewer than 2^40 clients. Values above 1 are only for
        ``client_cdf``, ``client_score_curves`` and rounds. None: there is no bound. All records of
        a client count, as at a site with the records of many people, and epsilon is the guarantee
        for one of these records. Their total number, over all clients, is public.
    rho, delta
        In the place of epsilon, or beside it: zero-concentrated differential privacy, or (epsilon,
        delta). Clients then add discrete Gaussian noise.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    docs/proofs/trust.md; federated paper, section 2.2. As a mechanism it releases what the protocol
    would release: it draws the noise of the sum exactly, and makes no reports. O(N) draws.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> trust = dp.trust.DistributedNoise(epsilon=1.0, clients=10_000)
    >>> curve = dp.cdf(rng.beta(2, 5, 10_000), dp.Grid.uniform(0, 1, 256), trust, rng=rng)
    >>> round(curve.quantile(0.5), 2)
    0.26
    >>> dp.trust.DistributedNoise(epsilon=1.0, clients=10_000, dropout=0.1).required
    9000
    >>> sites = dp.trust.DistributedNoise(epsilon=1.0, clients=20, dropout=0.1, records=None)
    >>> round(dp.cdf(rng.beta(2, 5, 10_000), curve.grid, sites, rng=rng).quantile(0.5), 2)
    0.26
    """

    epsilon: float | Fraction | None = None
    clients: int | None = None  # required: None is refused
    dropout: float | Fraction = 0.0
    reporting: int | None = None
    branching: Literal["auto", "hb"] | int | Sequence[int] = "auto"
    budgets: Literal["auto", "equal"] | Sequence[float] = "auto"
    records: int | None = 1
    rho: float | Fraction | None = None
    delta: float | None = None
    advised: ClassVar[str] = "distributed-noise"
    trusted: ClassVar[str] = "a server, clients"

    def __post_init__(self) -> None:
        clients = _check.integer("clients", self.clients, 1, MOST_CLIENTS)
        object.__setattr__(self, "clients", clients)
        if self.records is not None:
            object.__setattr__(self, "records", most_records(self.records, clients))
        if not 0 <= (dropout := _check.plain("dropout", self.dropout)) < 1:
            raise ParameterError("dropout", self.dropout, "must be 0 or more, and below 1")
        object.__setattr__(self, "dropout", dropout)
        self._keep_tree()
        if self.reporting is not None:
            reporting = _check.integer("reporting", self.reporting, self.required, clients)
            object.__setattr__(self, "reporting", reporting)

    @property
    def privacy(self) -> Privacy:
        """The guarantee for a client, or for one record if there is no contribution bound."""
        return for_client(self._whole().privacy, self.records or 1)

    @property
    def record_privacy(self) -> Privacy:
        """The guarantee for one record of a client: epsilon / records; without a bound, epsilon."""
        return self._budget().privacy

    @property
    def required(self) -> int:
        """How many reports the noise of the guarantee takes: (1 - dropout) M, rounded up."""
        return math.ceil((1 - Fraction(str(self.dropout))) * self._asked)

    @property
    def reports(self) -> int:
        """How many reports there are."""
        return self._asked if self.reporting is None else self.reporting

    @property
    def _most_records(self) -> int | None:
        return None if self.records is None else self._asked * self.records

    @property
    def _asked(self) -> int:
        assert self.clients is not None
        return self.clients

    @property
    def reporters(self) -> int:
        """How many clients report."""
        return self.reports

    def over(self, clients: int) -> Self:
        """Return the trust model for so many clients in the sums.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise
        >>> DistributedNoise(1.0, clients=1000, dropout=0.1).over(950).reporting
        950
        """
        if not self.required <= clients <= self._asked:
            wanted = f"{self.required} to {self.clients}"
            raise RoundError(f"the sums are over {clients} clients; the trust model needs {wanted}")
        return replace(self, reporting=clients)

    def round(self, size: int, servers: int | None = None) -> VectorRound:
        """Return a round whose clients share counts with their shares of the noise.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise
        >>> own = DistributedNoise(1.0, clients=1000, dropout=0.1).round(4)
        >>> own.receivers, own.least_reports, own.most_reports
        (2, 900, 1000)
        """
        return _NoisyRound(replace(self, reporting=None), size, _receivers(servers))

    def describe(self) -> dict[str, str | int | float]:
        """Return the name and the parameters, as a release records them.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise
        >>> trust = DistributedNoise(epsilon=1.0, clients=1000, dropout=0.1)
        >>> {name: trust.describe()[name] for name in ("clients", "required", "reporting")}
        {'clients': 1000, 'required': 900, 'reporting': 1000}
        """
        of_tree = self._hierarchy().describe()
        return {
            "name": self.advised,
            **self._whole().describe(),
            "clients": self._asked,
            "records": "any number" if self.records is None else self.records,
            "required": self.required,
            "reporting": self.reports,
            "branching": of_tree["branching"],
            "budgets": of_tree["budgets"],
        }

    def sum_noise(self, function: Function, neighbours: Neighbours = "replace-one") -> SumNoise:
        """Return the integers that stand for values, and the noise of all clients in their sum.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise
        >>> from dpcore.trust.functions import Identity
        >>> noise = DistributedNoise(rho=0.5, clients=1000).sum_noise(Identity(0, 10))
        >>> noise.bits, noise.deviation(1000, is_whole=False).round(2)
        (25, array([10.]))
        """
        check_function("function", function)
        _check.choice("neighbours", neighbours, Neighbours)
        check_one_record(self.records)
        if neighbours != "replace-one":
            what = "must be replace-one: how many clients report is public"
            raise ParameterError("neighbours", neighbours, what)
        records = MOST_RECORDS if self.records is None else self._asked
        bits, own = function.most_bits, self._budget()
        noise = sum_noise(function.bound, own, self.required, self._asked, records, bits)
        return noise._replace(parties=self.reports)

    def sum_round(self, function: Function, servers: int | None = None) -> SharedSumRound:
        """Return a round whose clients share values with their shares of the noise.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise
        >>> from dpcore.trust.functions import Identity
        >>> own = DistributedNoise(1.0, clients=1000, dropout=0.1).sum_round(Identity(0, 10))
        >>> own.receivers, own.least_reports, own.most_reports
        (2, 900, 1000)
        """
        return _NoisySumRound(replace(self, reporting=None), function, _receivers(servers))

    def _keep_budget(self) -> None:
        if self.rho is None and self.delta is None:
            TreeOfShares._keep_budget(self)
        for name in ("epsilon", "rho", "delta"):
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, _check.plain(name, given))
        self._whole()

    def _whole(self) -> Allowance:
        """Return what all records of a client that count may spend."""
        return Allowance.checked(self.epsilon, self.rho, "replace-one", self.delta)

    def _budget(self) -> Allowance:
        """Return what one record may spend: epsilon / records, or rho / records^2."""
        whole = self._whole()
        if self.records in (None, 1):
            return whole
        if whole.epsilon is not None:
            return Allowance.checked(whole.epsilon / self.records, None, "replace-one")
        assert whole.rho is not None
        return Allowance.checked(None, whole.rho / self.records**2, "replace-one")

    def _check_total(self, total: int, size: int) -> None:
        if self.records is not None and total != self.reports * self.records:
            detail = f", {self.records} records each" if self.records > 1 else ""
            what = f"must sum to the {self.reports} clients that report{detail}"
            if self.records == 1:
                what += "; records=None is for clients with any number of records"
            raise ParameterError("counts", total, what)


class _NoisyRound(VectorRound):
    """A sum of vectors that has its guarantee if enough clients are in it."""

    def __init__(self, trust: DistributedNoise, cells: int, receivers: int) -> None:
        super().__init__(trust, cells, receivers)
        self.exact = _exactly(trust)
        self.least_reports, self.most_reports = trust.required, trust.clients

    def mechanism(self, reports: int) -> DistributedNoise:
        return replace(self.trust, reporting=reports)  # type: ignore[no-any-return]


class _NoisySumRound(SharedSumRound):
    """The same for a declared function."""

    def __init__(self, trust: DistributedNoise, function: Function, receivers: int) -> None:
        super().__init__(trust, function, receivers)
        self.exact = f"{_exactly(trust)} {self.exact}"
        self.least_reports, self.most_reports = trust.required, trust.clients

    def mechanism(self, reports: int) -> DistributedNoise:
        return replace(self.trust, reporting=reports)  # type: ignore[no-any-return]


def _receivers(servers: int | None) -> int:
    if servers is None:
        return _DEFAULT_SERVERS
    return _check.integer("servers", servers, _DEFAULT_SERVERS, MOST_SERVERS)


def _exactly(trust: DistributedNoise) -> str:
    """Return the budget as text, exactly."""
    if trust.rho is None and trust.delta is None:
        return str(Fraction(trust.epsilon))  # type: ignore[arg-type]  # it has been checked
    parts = {name: getattr(trust, name) for name in ("epsilon", "rho", "delta")}
    return " ".join("-" if p is None else str(_check.fraction(n, p)) for n, p in parts.items())
