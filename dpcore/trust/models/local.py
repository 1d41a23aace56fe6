"""Local privacy: every client perturbs its own report, and nobody has to be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...errors import ParameterError
from ...kernels.smoothing.isotonic import isotonic
from ...kernels.trees import hierarchy as kernels
from ...kernels.trees import hierarchy_errors, record_variances, worst_records
from ...mechanisms.branching import Branching, uniform_branching
from ...mechanisms.budgeted import Releases, Work
from ...mechanisms.hierarchy import Hierarchy
from ...noise.sources import Source
from ...privacy.allowance import Allowance
from ...privacy.guarantees import Privacy, double_above
from .contribution import MOST_CLIENTS, for_client, most_records
from .dealing import dealt, generator
from .unary import UnaryEncoding

__all__ = ["Local"]

_MOST_DEALT = 10**9  # whom NumPy draws without replacement
_ROUNDING = Fraction(1, 2**48)  # more than that of a few operations


@dataclass(frozen=True, slots=True)
class Local(Releases):
    """Differential privacy for every single report: optimised unary encoding on a tree.

    Each client is asked for one level of a tree, chosen at random and without its data. It reports
    which node of that level holds its record, one bit for each node, and perturbs the bits. With
    several records it reports one of them, chosen at random. Neighbours: anything that a client
    may have; so the server needs no trust at all.

    Parameters
    ----------
    epsilon
        Of every report, from 2^-20 to 40 (a Fraction is taken exactly).
    clients
        M, how many report.
    branching
        Of the tree, as in ``mechanisms.Hierarchy``; "auto": the least ``mean_squared_error``
        among that of a Gaussian hierarchy, those with one branching, and those of two levels or
        one.
    records
        The most records of a client that count, its contribution bound (docs/clients.md): 1 to 64,
        or more where there are fewer than 2^40 clients. Above 1 for ``client_cdf``,
        ``client_score_curves`` and rounds alone.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or there are fewer clients than levels.

    Notes
    -----
    docs/trust.md; Wang, Blocki, Li & Jha 2017; federated paper, sections 2.2 and 2.3. Estimates
    are unbiased, and never clipped before they are summed. With a generator, the law of all reports
    together is drawn, in O(N) and floating point; without one clients are dealt out to levels
    exactly, and all M reports are made, in O(M N).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> trust = dp.trust.Local(epsilon=5.0, clients=100_000)
    >>> curve = dp.cdf(rng.beta(2, 5, 100_000), dp.Grid.uniform(0, 1, 256), trust, rng=rng)
    >>> round(curve.quantile(0.5), 2)
    0.26
    """

    epsilon: float | Fraction
    clients: int
    branching: Literal["auto", "hb"] | int | Sequence[int] = "auto"
    records: int = 1

    def __post_init__(self) -> None:
        clients = _check.integer("clients", self.clients, 1, MOST_CLIENTS)
        object.__setattr__(self, "clients", clients)
        object.__setattr__(self, "records", most_records(self.records, clients))
        object.__setattr__(self, "epsilon", _check.plain("epsilon", self.epsilon))
        object.__setattr__(self, "branching", _hierarchy(self.branching).branching)
        UnaryEncoding(self.epsilon)

    @property
    def privacy(self) -> Privacy:
        """The guarantee for a client."""
        return for_client(self._budget().privacy, self.records)

    @property
    def record_privacy(self) -> Privacy:
        """The guarantee for one record of a client: log(1 + (exp(epsilon) - 1) / records)."""
        whole = self._budget().privacy
        if self.records == 1:
            return whole
        assert whole.epsilon is not None
        found = math.log1p(math.expm1(whole.epsilon) / self.records)
        return Privacy(double_above(Fraction(found) * (1 + _ROUNDING)))

    @property
    def encoding(self) -> UnaryEncoding:
        """What a client does with its bits."""
        return UnaryEncoding(self.epsilon)

    def levels(self, size: int) -> tuple[Branching, NDArray[np.int64]]:
        """Return the branchings, and how many clients are asked for each level below the root.

        Raises
        ------
        ParameterError
            There are fewer clients than levels.

        Examples
        --------
        >>> from dpcore.trust import Local
        >>> Local(epsilon=1.0, clients=10_000, branching=16).levels(256)
        ((16, 16), array([4672, 5328]))
        """
        branching = _best(self, size) if self.branching == "auto" else self._given(size)
        shares = np.array(_hierarchy(branching).shares_for(size)[1:] if branching else (1.0,))
        asked = np.maximum(1, np.floor(shares * self.clients)).astype(np.int64)
        asked[np.argmax(asked)] += self.clients - asked.sum()
        if asked.min() < 1:
            raise ParameterError(
                "clients", self.clients, f"must be at least the number of levels, {asked.size}"
            )
        return branching, asked

    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return a bound on the standard deviation of the error in each cumulative count, (N,).

        Of the bits of nodes that a client's record is not in (closed form), of the one that it is
        in, and of asking each client for one level alone. The last two depend on the records: they
        are taken as large as they can be for any. For epsilon up to 1 that hardly matters; for
        large epsilon the error of records that are spread is lower (docs/trust.md, section 3).

        O(N) for each level of the tree.

        Examples
        --------
        >>> from dpcore.trust import Local
        >>> Local(epsilon=1.0, clients=10_000).noise_deviation(4).round()
        array([182., 198., 182.,   0.])
        """
        size = _check.integer("size", size, 1, 2**24)
        branching, asked = self.levels(size)
        if not branching:
            return np.zeros(size)
        errors = self._of_other_bits(size, branching, asked) / self.clients
        worst_records.worst_variances(*self._weighed(size, branching, asked), errors)
        return self._deviations(errors)

    def estimated_deviation(self, released: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the standard deviation of the error in each count of a release, (N,).

        The terms that depend on the records are those of the release, made monotone, instead
        of the largest ones: an estimate, for many clients (docs/trust.md, section 3).

        Parameters
        ----------
        released
            (N,) cumulative counts, from ``release``.

        Raises
        ------
        DtypeError, ParameterError
            They are no such numbers.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import Local
        >>> trust, rng = Local(epsilon=5.0, clients=10_000), np.random.default_rng(1)
        >>> released = trust.release(np.array([9000, 600, 300, 100]), rng=rng)
        >>> trust.estimated_deviation(released).round()
        array([73., 53., 30.,  0.])
        >>> trust.noise_deviation(4).round()  # for any records
        array([76., 53., 76.,  0.])
        """
        released = _check.cumulative_counts("released", released)
        if released.ndim != 1:
            raise ParameterError("released", released.shape, "must have one dimension")
        branching, asked = self.levels(released.size)
        if not branching:
            return np.zeros(released.size)
        below = np.append(0.0, released)
        below[-1] = self.clients
        isotonic(below[np.newaxis, 1:-1], 0.0, float(self.clients))
        below /= self.clients
        errors = self._of_other_bits(released.size, branching, asked) / self.clients
        weighed = self._weighed(released.size, branching, asked)
        record_variances.record_variances(*weighed, below, errors)
        return self._deviations(errors)

    def mean_squared_error(self, size: int) -> float:
        """Return the mean squared error of a cumulative count over the N thresholds, in counts^2.

        Of records that are spread over the cells: in closed form, and no bound.

        Examples
        --------
        >>> from dpcore.trust import Local
        >>> for clients in (10_000, 1_000_000):
        ...     error = Local(epsilon=1.0, clients=clients).mean_squared_error(256) ** 0.5
        ...     print(clients, round(error / clients, 3))
        10000 0.05
        1000000 0.005
        """
        size = _check.integer("size", size, 1, 2**24)
        branching, asked = self.levels(size)
        if not branching:
            return 0.0
        errors = self._of_other_bits(size, branching, asked)
        errors = np.maximum(errors, 0.0) + self._of_own_bits(branching, asked)
        errors[-1] = 0.0
        return float(np.mean(errors))

    def describe(self) -> dict[str, str | int | float]:
        """Return the name and the parameters, as a release records them.

        Examples
        --------
        >>> from dpcore.trust import Local
        >>> Local(epsilon=1.0, clients=1000).describe()
        {'name': 'local', 'epsilon': 1.0, 'clients': 1000, 'records': 1, 'branching': 'auto'}
        """
        return {
            "name": "local",
            "epsilon": float(self.epsilon),
            "clients": self.clients,
            "records": 1 if self.records == 1 else f"1 of {self.records}",
            "branching": _hierarchy(self.branching).describe()["branching"],
        }

    def _given(self, size: int) -> Branching:
        return _hierarchy(self.branching).branching_for(size)

    def _budget(self) -> Allowance:
        return Allowance.checked(self.epsilon, None, "replace-one")

    def _variances(self, asked: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the variance of the perturbed estimate of a node's count, by level, root first."""
        scaled = (self.clients / asked) ** 2
        each = [self.encoding.variance(int(reports)) for reports in asked]
        return np.concatenate([[0.0], scaled * np.array(each)])

    def _deviations(self, errors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the deviations of counts, from variances over M, (N,)."""
        found = np.sqrt(self.clients * np.maximum(errors, 0.0))
        found[-1] = 0.0
        return np.asarray(found)

    def _weighed(self, size: int, branching: Branching, asked: NDArray[np.int64]) -> _Weighed:
        """Return what the terms that depend on the records are worked out from."""
        children = np.array(branching, np.int64)
        starts = kernels.level_starts(size, children)
        shares = np.append(1.0, asked / self.clients)
        factor = self.clients / (self.clients - 1) if self.clients > 1 else 0.0
        return _Weighed(children, starts, self._variances(asked), shares, factor)

    def _of_other_bits(
        self, size: int, branching: Branching, asked: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the variance of each cumulative count if all bits had the probability q, (N,)."""
        children = np.array(branching, np.int64)
        starts = kernels.level_starts(size, children)
        return hierarchy_errors.prefix_variances(children, starts, self._variances(asked))

    def _of_own_bits(self, branching: Branching, asked: NDArray[np.int64]) -> float:
        """Return the variance of who is asked for which level, and of the bits of their own nodes.

        A cumulative count M F at a boundary of the first level is estimated from level l with the
        weight w_l: M F (1 - F) (sum of w_l^2 (1 + v) M / M_l, less 1), with v for what a bit with
        p has more variance than one with q. F (1 - F) <= 1/4 (docs/trust.md). Records that are
        spread have about as much at all thresholds.
        """
        variances = self._variances(asked)[1:]
        below, weights = variances[-1], np.ones(asked.size)
        for level in range(asked.size - 2, -1, -1):
            children = branching[level + 1] * below
            own = children / (children + variances[level])
            weights[level + 1 :] *= 1.0 - own
            weights[level] = own
            below = own * variances[level]
        own = self.encoding.variance(1, 1) - self.encoding.variance(1)
        excess = (1.0 + own) * float(np.sum(weights**2 * (self.clients / asked))) - 1.0
        return max(excess, 0.0) * self.clients / 4

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        if int(exact.sum()) != self.clients:
            raise ParameterError(
                "counts", int(exact.sum()), f"must sum to the {self.clients} clients"
            )
        branching, asked = self.levels(exact.size)
        if self.clients >= _MOST_DEALT and asked.size > 1:
            raise ParameterError("clients", self.clients, "must be below 10^9 on several levels")
        work = partial(self._fill, exact, np.array(branching, np.int64), asked)
        return Work(work, exact.size, np.float64)

    def _fill(
        self,
        exact: NDArray[np.int64],
        branching: NDArray[np.int64],
        asked: NDArray[np.int64],
        out: NDArray[Any],
        stream: Source,
    ) -> None:
        if not branching.size:
            out[:] = self.clients
            return
        starts = kernels.level_starts(exact.size, branching)
        variances = self._variances(asked)
        estimates = np.empty((1, int(starts[-1])))
        for row in out:
            estimates[0, 0] = self.clients
            for level, counts in enumerate(dealt(exact, asked, stream), 1):
                part = slice(starts[level], starts[level + 1])
                nodes = kernels.node_sums(counts, branching, starts)[part]
                found = self._estimates(nodes, int(asked[level - 1]), stream)
                estimates[0, part] = found * (self.clients / asked[level - 1])
            kernels.cumulative_estimates(estimates, branching, starts, variances, row[np.newaxis])
            row[-1] = self.clients

    def _estimates(
        self, nodes: NDArray[np.int64], reports: int, stream: Source
    ) -> NDArray[np.float64]:
        """Return unbiased estimates of the counts of nodes from as many reports."""
        encoding = self.encoding
        if stream.simulated:
            totals = encoding.simulated_totals(nodes, reports, generator(stream))
        else:
            totals = encoding.perturbed_totals(nodes, reports, workers=1)
        return encoding.estimates(totals, reports)


class _Weighed(NamedTuple):
    """A tree, the variances that levels are weighed by, their shares of M clients, and M/(M-1)."""

    branching: NDArray[np.int64]
    starts: NDArray[np.int64]
    variances: NDArray[np.float64]
    shares: NDArray[np.float64]
    factor: float


def _hierarchy(branching: Literal["auto", "hb"] | int | Sequence[int]) -> Hierarchy:
    """Return a tree whose noise has, as here, a variance inversely proportional to a share."""
    return Hierarchy(rho=1, branching=branching)


@lru_cache(maxsize=64)
def _best(trust: Local, size: int) -> Branching:
    """Return the branchings with the least mean squared error, for records that are spread."""
    if size == 1:
        return ()
    powers = [2**k for k in range(1, 25) if 2**k < size]
    trees = {
        _hierarchy("auto").branching_for(size),
        *(uniform_branching(size, base) for base in powers),
        *((-(-size // base), base) for base in powers if -(-size // base) > 1),
        (size,),
    }
    known = sorted(tree for tree in trees if len(tree) <= trust.clients)
    return min(known, key=lambda tree: replace(trust, branching=tree).mean_squared_error(size))
