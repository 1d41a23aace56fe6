"""Buckets of like cells, found privately, and a hierarchy over the buckets."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..errors import ParameterError
from ..noise.sources import Source, source
from ..privacy.allowance import Allowance
from ..privacy.guarantees import Neighbours
from ..privacy.spending import releasing
from ..summaries.grid import MOST_CELLS
from .base import Mechanism, Released, Work
from .bucket_counts import Records, Stages, deviation, line, weighted_tree
from .buckets import CLEAR, Scales, scales
from .hierarchy import Hierarchy
from .tree import release_nodes

__all__ = ["Dawa", "counting_error", "signal_of"]

_SCARCE: Final = 2.0**16  # below this n epsilon, a larger share of the budget finds the buckets
_LOUD: Final = 16.0  # from this n epsilon on, the choice of a partition is cautious
_MOST_SIGNAL: Final = 2.0**100  # all larger signals have the same result
_SHARES: Final = Fraction(1, 6), Fraction(1, 8)
_LIMITS: Final = 2.5, 2.0, 1.5, 1.2, 1.0, 0.8  # on a bucket's cost, in deviations of all its noise
_LEAST_LIMIT: Final = 2.0  # the same, in deviations of counts


@documented
@dataclass(frozen=True, slots=True)
class Dawa(Mechanism):
    """Data-aware cumulative counts: cells are put in buckets and taken as equal inside a bucket.

    The mechanism follows Li, Hay, Miklau & Wang, *A data- and workload-aware algorithm for range
    queries under differential privacy* (PVLDB 2014), with another first stage. That stage releases
    noisy costs of aligned buckets of two lengths. A cost is the deviation from the median, for
    which the proof is short. The stage takes the partition with the least estimated error of
    cumulative counts (docs/proofs/dawa.md). The mechanism is worthwhile where n epsilon is small
    for the number of cells. It is biased.

    Parameters
    ----------
    epsilon
        {epsilon}
    split
        The share of the budget that finds the buckets, above 0 and below 1. "auto": a sixth, or an
        eighth where n epsilon, rounded to a power of two, is 65,536 or more.
    rho
        {rho}
    neighbours
        "replace-one" or "add-or-remove-one". The lengths of the buckets depend on n epsilon. Where
        n is not public, the number of cells takes the place of n epsilon.
    delta
        Beside epsilon: for (epsilon, delta)-differential privacy, by the rho that implies it.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> mechanism, grid = dp.mechanisms.Dawa(epsilon=0.1), dp.Grid.uniform(140, 200, 256)
    >>> curve = dp.cdf(rng.normal(170, 8, 10_000), grid, mechanism, rng=rng)
    >>> round(curve.quantile(0.5), 1)
    170.0
    """

    name: ClassVar[str] = "dawa"
    loses_records: ClassVar[bool] = True

    epsilon: float | Fraction | None = None
    split: Literal["auto"] | float | Fraction = "auto"
    _: KW_ONLY
    rho: float | Fraction | None = None
    neighbours: Neighbours = "replace-one"
    delta: float | None = None

    def __post_init__(self) -> None:
        self._budget()
        if isinstance(self.split, str):
            _check.choice("split", self.split, Literal["auto"])
        elif not 0 < _check.fraction("split", self.split) < 1:
            raise ParameterError("split", self.split, "must be above 0 and below 1")

    def _stages(self, size: int, n: int) -> Stages:
        """Return the two stages for N cells and n records; cached.

        If n is not public, the stages do not depend on it. If there is no choice of buckets, the
        first stage spends nothing, and the counts get the whole budget.
        """
        budget = self._budget()
        signal = float(size)
        if budget.total_is_public:
            signal = signal_of(self, n)
        # There are only a few different rungs, and their stages are kept.
        rung = 2.0 ** round(math.log2(min(max(signal, 1.0), _MOST_SIGNAL)))
        return _kept_stages(self, _check.integer("size", size, 1, MOST_CELLS), rung)

    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return infinities, (N,), because the differences of cells in a bucket are not known.

        Examples
        --------
        >>> from dpcore.mechanisms import Dawa, Histogram
        >>> Dawa(epsilon=1.0).noise_deviation(4)
        array([inf, inf, inf, inf])
        >>> Histogram(epsilon=1.0).noise_deviation(4).round(2)  # here it is known
        array([2.42, 2.8 , 2.42, 0.  ])
        """
        size = _check.integer("size", size, 1, MOST_CELLS)
        for signal in (1.0, CLEAR, _SCARCE):  # one length, two of them, and the lesser share
            stages = _kept_stages(self, size, signal)
            stages.hierarchy.tree(size)  # with the largest possible number of buckets
        return np.full(size, np.inf)

    def _rho(self, size: int) -> Fraction:
        """Return a bound for all buckets and any public n (docs/proofs/dawa.md, section 3)."""
        budget = self._budget()
        if budget.epsilon is None:
            assert budget.rho is not None
            return budget.rho
        given = _SHARES if isinstance(self.split, str) else (Fraction(self.split),)
        shares = [share**2 / 2 + (1 - share) ** 2 / (2 * budget.moved) for share in given]
        return budget.epsilon**2 * max(*shares, Fraction(1, 2 * budget.moved))

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        records = Records.of(exact, self._stages(exact.size, int(exact.sum())))

        def fill(out: NDArray[np.float64], stream: Source) -> None:
            for row in out:
                edges = records.find_buckets(stream).edges
                row[:] = line(edges, records.count_buckets(edges, stream)[0])

        return Work(fill, 2 * exact.size, np.float64)

    def release_with_deviation(
        self, counts: NDArray[np.integer[Any]], *, rng: np.random.Generator | None = None
    ) -> Released:
        """Return a release and an estimate of its own error, both (N,), and the ends of buckets.

        Parameters
        ----------
        counts, rng
            As in ``release``.

        Returns
        -------
        counts
            As from ``release``.
        deviation
            The estimated deviation of each cumulative count. It has two parts: the noise, from a
            closed form at the ends of buckets, and the uneven spread of records inside a bucket,
            from the noisy costs. It is computed from released numbers (docs/proofs/dawa.md, section
            3).
        knots
            The last cell of each bucket.

        Raises
        ------
        DtypeError, ParameterError
            As in ``release``.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.mechanisms import Dawa
        >>> counts, rng = np.array([0, 0, 0, 500, 480, 20, 0, 0]), np.random.default_rng(1)
        >>> released, deviation, _ = Dawa(0.1).release_with_deviation(counts, rng=rng)
        >>> released.round(1)
        array([ -71.8,  -53.5,  -19.2,  503. ,  996.2, 1000.5, 1018.8, 1000. ])
        >>> deviation.round(1)
        array([26.5, 34.6, 38.7, 40. , 38.7, 34.6, 26.5,  0. ])
        """
        exact, stream = self._checked(counts), source(rng).spawn(1)[0]  # as in ``release``
        records = Records.of(exact, self._stages(exact.size, int(exact.sum())))
        with releasing(self.privacy_for(exact.size), "Dawa.release", rng):
            buckets = records.find_buckets(stream)
            ends, tree = records.count_buckets(buckets.edges, stream)
        errors = deviation(buckets, tree, ends)
        return Released(line(buckets.edges, ends), errors, buckets.edges[1:] - 1)

    def _noise(
        self,
        size: int,
        replicates: int,
        rng: np.random.Generator,
        knots: NDArray[np.int64] | None,
        n: int | None,
    ) -> NDArray[np.float64]:
        """Return the noise of counting the buckets that end at the knots, (R, K)."""
        if knots is None or n is None:
            what = "must be those of a curve, and n, too: the noise depends on the buckets"
            raise ParameterError("knots", None, what)
        stages = self._stages(size, n)
        tree = weighted_tree(stages.hierarchy, np.diff(knots, prepend=-1))
        noise = np.zeros((replicates, knots.size))
        nothing = tree.node_sums(np.zeros(knots.size, np.int64))
        release_nodes(tree, nothing, noise, source(rng))
        return noise


def signal_of(dawa: Dawa, n: int) -> float:
    """Return n epsilon; for rho, take the epsilon whose noise has the same variance."""
    return dawa._budget().signal(n)


def counting_error(dawa: Dawa, size: int, n: int) -> float:
    """Return the mean squared error of counting the longer buckets, if all are taken.

    This serves to compare kinds of noise. The actual number of buckets depends on the records.
    """
    stages = dawa._stages(size, n)
    lengths = stages.scales.lengths
    if not lengths.size:
        return stages.hierarchy.mean_squared_error(size)
    return float(stages.errors[max(1, round(math.log2(stages.scales.places / lengths[-1])))])


@lru_cache(maxsize=64)
def _kept_stages(mechanism: Dawa, size: int, signal: float) -> Stages:
    budget, looked_at = mechanism._budget(), scales(size, signal)
    levels = looked_at.lengths.size
    if levels == 0:
        return Stages(
            looked_at, None, _counting(budget, Fraction(1)), np.empty(0), 0.0, np.empty(0)
        )
    split = _SHARES[signal >= _SCARCE]
    if not isinstance(mechanism.split, str):
        split = _check.fraction("split", mechanism.split)
    # A moved record may change one cost by two, or two costs by one (docs/proofs/dawa.md, section
    # 1).
    changes = budget.moved * levels if budget.epsilon is not None else budget.moved**2 * levels
    law, hierarchy = budget.law(changes, split), _counting(budget, 1 - split)
    steps = math.ceil(math.log2(looked_at.places)) + 1
    errors = np.array(
        [hierarchy.mean_squared_error(min(2**step, MOST_CELLS)) for step in range(steps)]
    )
    caution = float(signal >= _LOUD)
    errors = np.maximum.accumulate(errors)
    limits = _limits(float(errors[min(steps - 1, _shortest(looked_at).bit_length())]), law.variance)
    return Stages(looked_at, law, hierarchy, errors, caution, limits)


def _shortest(looked_at: Scales) -> int:
    """Return how many of the shortest buckets make up the row."""
    return looked_at.places // int(looked_at.lengths[0])


def _limits(counting: float, costing: float) -> NDArray[np.float64]:
    """Return limits on a bucket's cost, falling, from the variances of counts and of costs."""
    deviation, least = math.sqrt(counting + costing), _LEAST_LIMIT * math.sqrt(counting)
    return np.array(sorted({max(limit * deviation, least) for limit in _LIMITS}, reverse=True))


def _counting(budget: Allowance, share: Fraction) -> Hierarchy:
    if budget.epsilon is not None:
        return Hierarchy(budget.epsilon * share, neighbours=budget.neighbours)
    assert budget.rho is not None
    return Hierarchy(rho=budget.rho * share, neighbours=budget.neighbours)
