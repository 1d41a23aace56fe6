"""Local privacy: every client perturbs its own report, and nobody has to be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...errors import ParameterError
from ...kernels.smoothing.isotonic import isotonic
from ...kernels.trees import hierarchy as kernels
from ...kernels.trees import record_variances, worst_records
from ...mechanisms.base import Work
from ...mechanisms.branching import Branching
from ...mechanisms.hierarchy import Hierarchy
from ...noise.sources import Source, below
from ...privacy.allowance import Allowance
from ...privacy.guarantees import Privacy, double_above
from ...summaries.grid import MOST_CELLS
from ..protocol import wire
from ..protocol.rounds import MOST_CLIENTS, Round, Sums
from ..protocol.trust_models import Bounded
from ..protocol.wire import ReportError, RoundError
from .advised import Advised, Errors, Sizes
from .contribution import for_client, most_records
from .dealing import dealt
from .levels import Level, best_branching, levels_of, shares_of
from .subset import SubsetSelection
from .unary import UnaryEncoding

__all__ = ["Local"]

_MOST_DEALT = 10**9  # up to so many clients, NumPy draws without replacement
_ONE = np.ones(1, np.uint64)
_ROUNDING = Fraction(1, 2**48)  # more than the rounding error of a few operations


@dataclass(frozen=True, slots=True)
class Local(Bounded, Advised):
    """Differential privacy for every single report: perturbed bits of the nodes of a tree.

    Each client is asked for one level of a tree, which is chosen at random and without its data. It
    reports which node of that level contains its record, one bit for each node, and perturbs the
    bits: by subset selection if that has the lower variance, otherwise by optimised unary encoding.
    A client with several records reports one of them, chosen at random. Neighbours: any two
    data sets of one client. So nobody has to trust the server.

    Parameters
    ----------
    epsilon
        The guarantee of every report, from 2^-20 to 40. A Fraction is used exactly.
    clients
        M, the number of clients that report.
    branching
        The branching of the tree, as in ``mechanisms.Hierarchy``. "auto" takes a tree with nearly
        the least error, for records that are spread, among that of a Gaussian hierarchy, those with
        one branching below the first level, and those of one or two levels.
    records
        The contribution bound: the most records of a client that count (docs/guides/clients.md). It
        is 1 to 64, or more if there are fewer than 2^40 clients. Values above 1 are only for
        ``client_cdf``, ``client_score_curves`` and rounds.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or there are fewer clients than levels.

    Notes
    -----
    docs/proofs/local.md; Wang, Blocki, Li & Jha 2017; Ye & Barg 2018; federated paper, sections 2.2
    and 2.3.
    Estimates are unbiased, and are not clipped before they are summed. With a generator, a release
    draws from the joint distribution of all reports, in O(N) and in floating point. Without one, it
    assigns clients to levels exactly and makes all M reports, in O(M N).

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
    advised: ClassVar[str] = "local"
    trusted: ClassVar[str] = "nobody"
    noisy_reports: ClassVar[bool] = True

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
        epsilon = math.log1p(math.expm1(whole.epsilon) / self.records)
        return Privacy(double_above(Fraction(epsilon) * (1 + _ROUNDING)))

    @property
    def reported(self) -> int:
        """1: a client reports one of its records that count, or an empty one."""
        return 1

    @property
    def reporters(self) -> int:
        """How many clients report."""
        return self.clients

    def round(self, size: int, servers: int | None = None) -> Round:
        """Return a round whose clients send perturbed bits of one level to one server.

        Examples
        --------
        >>> from dpcore.trust import Local
        >>> Local(epsilon=1.0, clients=10_000, branching=16).round(256).asked
        (4705, 5295)
        """
        return _BitRound(self, size)

    def encodings(self, size: int) -> tuple[UnaryEncoding | SubsetSelection, ...]:
        """Return how clients encode their node, for each level below the root.

        Examples
        --------
        >>> from dpcore.trust import Local
        >>> subsets, bits = Local(3.0, 1000, (8, 32)).encodings(256)
        >>> subsets.chosen, round(float(subsets.missing), 3), round(float(bits.q), 3)
        (1, 0.258, 0.047)
        """
        return tuple(level.encoding for level in self._levels(size, self.levels(size)[0]))

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
        ((16, 16), array([4705, 5295]))
        """
        size = _check.integer("size", size, 1, MOST_CELLS)
        if self.branching == "auto":
            branching = best_branching(Fraction(self.epsilon), self.clients, size)
        else:
            branching = _hierarchy(self.branching).branching_for(size)
        shares = np.ones(1)
        if branching:
            shares = np.array(shares_of(Fraction(self.epsilon), size, branching)[1])
        asked = np.maximum(1, np.floor(shares * self.clients)).astype(np.int64)
        asked[np.argmax(asked)] += self.clients - asked.sum()
        if asked.min() < 1:
            raise ParameterError(
                "clients", self.clients, f"must be at least the number of levels, {asked.size}"
            )
        return branching, asked

    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return a bound on the standard deviation of the error in each cumulative count, (N,).

        The error has three sources: the bits of nodes without the client's record (in closed form),
        the bit of the node with it, and asking each client for one level only. The last two depend
        on the records, and the bound takes their largest values for any records. For epsilon up to
        1 that hardly matters. For large epsilon, the error is lower for records that are spread
        (docs/proofs/local.md, section 3).

        O(N) for each level of the tree.

        Examples
        --------
        >>> from dpcore.trust import Local
        >>> Local(epsilon=1.0, clients=10_000).noise_deviation(4).round()
        array([168., 143., 168.,   0.])
        """
        size = _check.integer("size", size, 1, 2**24)
        branching, asked = self.levels(size)
        if not branching:
            return np.zeros(size)
        errors = np.empty(size)
        worst_records.worst_variances(*self._weighed(size, branching, asked), errors)
        return self._deviations(errors)

    def estimated_deviation(self, released: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the standard deviation of the error in each count of a release, (N,).

        It is an estimate, for many clients: the terms that depend on the records are computed from
        the release, made monotone. ``noise_deviation`` takes their largest values instead
        (docs/proofs/local.md, section 3).

        Parameters
        ----------
        released
            (N,) cumulative counts, from ``release``.

        Raises
        ------
        DtypeError, ParameterError
            ``released`` is not as above.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import Local
        >>> trust, rng = Local(epsilon=5.0, clients=10_000), np.random.default_rng(1)
        >>> released = trust.release(np.array([9000, 600, 300, 100]), rng=rng)
        >>> trust.estimated_deviation(released).round()
        array([14., 12.,  8.,  0.])
        >>> trust.noise_deviation(4).round()  # for any records
        array([14., 12., 14.,  0.])
        """
        released = _check.cumulative_counts("released", released)
        if released.ndim != 1:
            raise ParameterError("released", released.shape, "must have one dimension")
        below = np.append(0.0, released)
        below[-1] = self.clients
        isotonic(below[np.newaxis, 1:-1], 0.0, float(self.clients))
        return self._deviations(self._errors(below / self.clients))

    def mean_squared_error(self, size: int) -> float:
        """Return the mean squared error of a cumulative count over the N thresholds, in counts^2.

        It is in closed form, for records that are spread over the cells. It is not a bound.

        Examples
        --------
        >>> from dpcore.trust import Local
        >>> for clients in (10_000, 1_000_000):
        ...     error = Local(epsilon=1.0, clients=clients).mean_squared_error(256) ** 0.5
        ...     print(clients, round(error / clients, 3))
        10000 0.047
        1000000 0.005
        """
        size = _check.integer("size", size, 1, 2**24)
        return self.clients * float(np.mean(self._errors(np.linspace(0.0, 1.0, size + 1))))

    def describe(self) -> dict[str, str | int | float]:
        """Return the name and the parameters, as a release records them.

        Examples
        --------
        >>> from dpcore.trust import Local
        >>> Local(epsilon=1.0, clients=1000).describe()
        {'name': 'local', 'epsilon': 1.0, 'clients': 1000, 'records': 1, 'branching': 'auto'}
        """
        return {
            "name": self.advised,
            "epsilon": float(self.epsilon),
            "clients": self.clients,
            "records": 1 if self.records == 1 else f"1 of {self.records}",
            "branching": _hierarchy(self.branching).describe()["branching"],
        }

    @classmethod
    def theorem_errors(
        cls, epsilon: float, clients: float, heights: Sizes, buckets: Sizes
    ) -> Errors:
        """Return the errors, which fall with the root of the number of clients, or more slowly.

        Examples
        --------
        >>> from dpcore.trust import Local
        >>> sizes = {"auc": 8, "metrics": 8, "calibration": 8}
        >>> errors = Local.theorem_errors(1.0, 10_000, sizes, sizes)
        >>> {purpose: round(error, 4) for purpose, error in errors.items()}
        {'auc': 0.08, 'metrics': 0.0464, 'calibration': 0.1}
        """
        return {
            "auc": heights["auc"] / (epsilon * math.sqrt(clients)),
            "metrics": epsilon ** (-2 / 3) * clients ** (-1 / 3),
            "calibration": epsilon**-0.5 * clients**-0.25,
        }

    def _budget(self) -> Allowance:
        return Allowance.checked(self.epsilon, None, "replace-one")

    def _levels(self, size: int, branching: Branching) -> list[Level]:
        return levels_of(Fraction(self.epsilon), size, branching)

    def _errors(self, below: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of each count over M, (N,), for shares of the records below cells."""
        size = below.size - 1
        branching, asked = self.levels(size)
        errors = np.zeros(size)
        if branching:
            weighed = self._weighed(size, branching, asked)
            record_variances.record_variances(*weighed, below, errors)
        return errors

    def _deviations(self, errors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the deviations of counts, from variances over M, (N,)."""
        deviations = np.sqrt(self.clients * np.maximum(errors, 0.0))
        deviations[-1] = 0.0
        return np.asarray(deviations)

    def _weighed(self, size: int, branching: Branching, asked: NDArray[np.int64]) -> _Weighed:
        """Return the numbers from which the errors are computed."""
        children = np.array(branching, np.int64)
        starts = kernels.level_starts(size, children)
        levels, shares = self._levels(size, branching), asked / self.clients
        rows = [
            (share, level.noise, level.own, float(level.fixed))
            for share, level in zip(shares, levels, strict=True)
        ]
        reports = np.array([(1.0, 0.0, 0.0, 0.0), *rows])
        factor = self.clients / (self.clients - 1) if self.clients > 1 else 0.0
        variances = _variances(levels, self.clients, asked.tolist())
        return _Weighed(children, starts, variances, reports, factor)

    def _check_total(self, total: int, size: int) -> None:
        if total != self.clients:
            raise ParameterError("counts", total, f"must sum to the {self.clients} clients")

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        branching, asked = self.levels(exact.size)
        if self.clients >= _MOST_DEALT and asked.size > 1:
            raise ParameterError("clients", self.clients, "must be below 10^9 on several levels")
        work = partial(self._draw_into, exact, np.array(branching, np.int64), asked)
        return Work(work, exact.size, np.float64)

    def _draw_into(
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
        levels = self._levels(exact.size, tuple(branching.tolist()))
        variances = _variances(levels, self.clients, asked.tolist())
        estimates = np.empty((1, int(starts[-1])))
        for row in out:
            estimates[0, 0] = self.clients
            parts = dealt(exact, asked, stream)
            for at, (level, counts, reports) in enumerate(
                zip(levels, parts, asked, strict=True), 1
            ):
                part = slice(starts[at], starts[at + 1])
                nodes = kernels.node_sums(counts, branching, starts)[part]
                totals = level.totals(nodes, int(reports), stream)
                estimates[0, part] = level.estimates(totals, int(reports)) * (
                    self.clients / reports
                )
            kernels.cumulative_estimates(estimates, branching, starts, variances, row[np.newaxis])
            row[-1] = self.clients


class _BitRound(Round):
    """A level, which is not secret, and the perturbed bits of its nodes, for one server."""

    kinds = (wire.BITS,)

    def __init__(self, trust: Local, cells: int) -> None:
        super().__init__(trust, cells)
        self.exact = str(Fraction(trust.epsilon))
        self.most_records = trust.records
        self.branching, asked = trust.levels(cells)
        self.reported = levels_of(Fraction(trust.epsilon), cells, self.branching)
        self.starts = kernels.level_starts(cells, np.array(self.branching, np.int64))
        self.asked = tuple(asked.tolist())
        self.ones = tuple(level.ones for level in self.reported)
        self.least_reports = len(self.asked)  # there is no tree for fewer clients

    def report(
        self, cells: NDArray[np.int64], numbers: NDArray[np.int64], stream: Source
    ) -> list[bytes]:
        shares = np.cumsum(self.asked)
        drawn = below(int(shares[-1]), stream)
        level = 1 + int(np.searchsorted(shares, drawn, side="right"))
        words = self.reported[level - 1].report(self.node(int(cells[0]), level), stream)
        packed: bytes = words.astype("<u8").tobytes()
        return [bytes([level]) + packed[: self.payload_bytes(wire.BITS, level) - 1]]

    def payload_bytes(self, kind: int, level: int = 0) -> int:
        return 1 + -(-self.level_size(level) // 8)

    def check(self, kind: int, payload: bytes) -> None:
        if not payload:
            raise ReportError("length", "has no payload")
        level = payload[0]
        if not 1 <= level <= len(self.branching):
            raise ReportError("payload", "is about a level that does not exist")
        self._check_length(payload, self.payload_bytes(kind, level))
        used = self.level_size(level) % 8
        if used and payload[-1] >> used:
            raise ReportError("payload", "has bits behind the last node")
        ones = self.ones[level - 1]
        if ones is not None and int.from_bytes(payload[1:], "little").bit_count() != ones:
            raise ReportError("payload", "has another number of ones than every report")

    def counted(self, kind: int, payload: bytes) -> list[tuple[int, NDArray[Any]]]:
        level, packed = payload[0], np.frombuffer(payload, np.uint8, offset=1)
        bits = np.unpackbits(packed, count=self.level_size(level), bitorder="little")
        return [(level - 1, _ONE), (len(self.asked) + self.levels[level].start, bits)]

    def check_answers(self, answers: Sequence[int]) -> None:
        if not answers[-1]:
            raise RoundError("no report is about the cells, the last level of the tree")

    def check_sums(self, sums: Sums) -> None:
        self._check_answers(sums)
        levels = enumerate(zip((0, *sums.answers), self.levels, strict=True))
        for level, (count, part) in levels:  # nobody reports the root
            if int(sums.totals[part].max()) > count:
                raise RoundError(f"a node of level {level} has more ones than the {count} reports")
            ones = self.ones[level - 1] if level else None
            if ones is not None and int(sums.totals[part].sum()) != ones * count:
                raise RoundError(f"the nodes of level {level} have not {ones} ones for each report")

    def mechanism(self, reports: int) -> Local:
        return replace(self.trust, clients=reports, branching=self.branching)  # type: ignore[no-any-return]

    def estimates(self, sums: Sums) -> NDArray[np.float64]:
        """Each level is scaled to all clients."""
        self.check_answers(sums.answers)
        nodes = np.zeros(self.words)
        nodes[0] = sums.reports
        for level, part, reports in zip(self.reported, self.levels[1:], sums.answers, strict=True):
            if reports:
                totals = sums.totals[part].view(np.int64)
                nodes[part] = sums.reports / reports * level.estimates(totals, reports)
        variances = _variances(self.reported, sums.reports, sums.answers)
        return self._least_squares(nodes, variances, sums.reports)


class _Weighed(NamedTuple):
    """A tree, the variances that weigh its levels, numbers of their reports, and M / (M - 1).

    See ``worst_records.worst_variances``.
    """

    branching: NDArray[np.int64]
    starts: NDArray[np.int64]
    variances: NDArray[np.float64]
    reports: NDArray[np.float64]
    factor: float


def _variances(levels: Sequence[Level], clients: int, asked: Sequence[int]) -> NDArray[np.float64]:
    """Return the variances by which least squares weigh the levels, root first.

    They are those of a node's count for clients that are spread over the nodes. A level without
    reports has an infinite one.
    """
    each = zip(levels, asked, strict=True)
    below = (clients**2 / reports * level.spread if reports else np.inf for level, reports in each)
    return np.array([0.0, *below])


def _hierarchy(branching: Literal["auto", "hb"] | int | Sequence[int]) -> Hierarchy:
    """Return a tree with this branching, checked."""
    return Hierarchy(rho=1, branching=branching)
