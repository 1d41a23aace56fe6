"""A curve that opens only the points that somebody asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, NoReturn
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _check
from ...curves.cdf import CDF
from ...curves.inversion import Method, is_below, least_whole, within
from ...curves.likely_mistakes import warn_of_quantiles
from ...curves.provenance import fresh_identifier
from ...curves.scores import numbered
from ...curves.shapes import float_or_array
from ...errors import DtypeError, ParameterError
from ...privacy.guarantees import Privacy
from ...summaries.grid import Grid, check_grid_of_numbers
from ..models.remembered_noise import prefix_deviation
from ..protocol.wire import RoundError
from .aggregators import Aggregator, of_clients

__all__ = ["PointwiseCDF"]

_identifiers: Final[WeakKeyDictionary[Any, str]] = WeakKeyDictionary()


class _Open(NamedTuple):
    """The open cells, in ascending order and including the last one, and their counts."""

    cells: NDArray[np.int64]
    counts: NDArray[np.int64]

    def at(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the counts at open cells. For other cells the result means nothing."""
        places = np.searchsorted(self.cells, cells)
        return np.asarray(self.counts[np.minimum(places, self.cells.size - 1)])


class PointwiseCDF:
    """A private distribution function that opens only the points that are asked for.

    The budget is spent once, however many points are asked for, and even if they depend on earlier
    answers. Each point is asked for once, because answers are remembered.

    Parameters
    ----------
    aggregator
        The secure sum over n clients: ``FunctionServers``, ``SharedVectors``, ``SimulatedSum``, or
        your own.
    grid
        The N public thresholds. None: numbered cells, 1 to N.
    integers
        As in ``CDF``.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.
    RoundError
        There are fewer clients than DistributedNoise requires, or more than it asks.

    Notes
    -----
    ECDF paper, section 4; docs/proofs/function-sharing.md has the guarantee. Every sum also has the
    last cell's count, which is n without noise. If it is another number, a client has dropped out
    or did not keep to the protocol, and nothing of that sum is kept. Threads may ask at the same
    time if they may do so with the aggregator. The curve cannot be copied or pickled, because the
    aggregator may hold records. ``to_cdf`` returns a curve that can.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1, 1024)
    >>> trust = dp.trust.DistributedNoise(epsilon=1.0, clients=10_000)
    >>> counts = grid.count(rng.beta(2, 5, 10_000))
    >>> curve = dp.trust.PointwiseCDF(dp.trust.SimulatedSum(counts, trust, rng), grid)
    >>> round(curve.quantile(0.5), 2)
    0.26
    >>> curve.asked.size  # log2 N questions and one for n
    11
    """

    __slots__ = (
        "_aggregator",
        "_identifier",
        "_open",
        "_simulated",
        "_trust",
        "grid",
        "integers",
        "n",
    )

    def __init__(
        self, aggregator: Aggregator, grid: Grid | None = None, *, integers: bool | None = None
    ) -> None:
        if not isinstance(aggregator, Aggregator) or isinstance(aggregator, type):
            what = "must be an Aggregator, with clients, trust, size, simulated and sum"
            raise DtypeError("aggregator", type(aggregator).__name__, what)
        if grid is None:
            grid = numbered(aggregator.size)
        check_grid_of_numbers("grid", grid)
        if grid.size != aggregator.size:
            raise ParameterError("grid", grid.size, f"must have {aggregator.size} cells")
        if integers is not None and not isinstance(integers, bool):
            raise DtypeError("integers", type(integers).__name__, "must be None or a bool")
        self.grid, self.integers = grid, integers
        self.n = _check.integer("clients", aggregator.clients, 1, 2**62)
        self._trust = of_clients(aggregator.trust, self.n)
        self._aggregator, self._simulated = aggregator, False
        self._identifier = _identifier_of(aggregator)
        self._open = _Open(np.array([grid.size - 1]), np.array([self.n]))

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        what = "must not be copied or pickled: to_cdf() returns what is open"
        raise DtypeError("curve", type(self).__name__, what)

    def __repr__(self) -> str:
        of = f"{self.asked.size} of {self.grid.size} thresholds"
        return f"<PointwiseCDF, {of} asked, n = {self.n}, {self.privacy}>"

    @property
    def privacy(self) -> Privacy:
        """The guarantee of all answers together, however many there will be."""
        simulated = self._simulated or bool(self._aggregator.simulated)
        return replace(self._trust.privacy, simulated=simulated)

    @property
    def mechanism(self) -> Mapping[str, str | int | float]:
        """Name and parameters of the trust model."""
        return self._trust.describe()

    @property
    def asked(self) -> NDArray[np.float64]:
        """(k,) the thresholds whose counts are open, ascending; the last one always is."""
        return np.asarray(self.grid.positions[self._open.cells])

    @property
    def noise_deviation(self) -> NDArray[np.float64]:
        """(k,) standard deviation of the noise in the counts at ``asked``."""
        return self._deviation(self._open.cells)

    def __call__(self, t: ArrayLike) -> float | NDArray[np.float64]:
        """Evaluate the curve: the share of records with a value of at most ``t``.

        Parameters
        ----------
        t
            Real numbers, any shape; infinities are allowed, NaN is not.

        Returns
        -------
        float or numpy.ndarray
            In the shape of ``t``: the noisy count at the last threshold <= t, divided by n. It is 0
            before the first threshold, and 1 from the last one on. In between it may decrease, and
            leave [0, 1]. Whole numbers before the first threshold count as in ``CDF``.

        Raises
        ------
        DtypeError, ParameterError
            ``t`` is not as above.
        RoundError
            As in ``counts_at``.

        Notes
        -----
        It takes one sum, for all thresholds that were not asked for before.
        """
        shares = np.asarray(self.counts_at(t) / self.n)
        points = _check.points("t", t)
        place, share = least_whole(self.grid) if self._of_integers() else (np.inf, 0.0)
        before = (place <= points) & (points < self.grid.positions[0])
        if before.any():
            first = np.zeros(1, np.int64)
            count = int(self._asked(first).at(first)[0])
            shares = np.where(before, share * count / self.n, shares)
        result: float | NDArray[np.float64] = float_or_array(shares)
        return result

    def counts_at(self, t: ArrayLike) -> int | NDArray[np.int64]:
        """Return how many records have a value of at most ``t``, with noise, in the shape of ``t``.

        Raises
        ------
        DtypeError, ParameterError
            t is not real, or NaN.
        RoundError
            The sum is not over n clients. Nothing of it is kept.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> trust = dp.trust.DistributedNoise(epsilon=1.0, clients=1000)
        >>> counts = dp.trust.SimulatedSum(np.full(8, 125), trust, np.random.default_rng(1))
        >>> curve = dp.trust.PointwiseCDF(counts, dp.Grid.uniform(0, 1, 8))
        >>> curve.counts_at(0.5), curve.counts_at([-1, 1])
        (495, array([   0, 1000]))
        """
        cells = np.searchsorted(self.grid.positions, _check.points("t", t), side="right") - 1
        counts: NDArray[np.int64] = np.where(cells < 0, 0, self._asked(cells).at(cells))
        return counts if counts.ndim else int(counts)

    def noise_at(self, t: ArrayLike) -> float | NDArray[np.float64]:
        """Return the standard deviation of the noise in the counts at ``t``, in the shape of ``t``.

        It is known beforehand, so no sum is needed.

        Raises
        ------
        DtypeError, ParameterError
            t is not real, or NaN.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> trust = dp.trust.DistributedNoise(epsilon=1.0, clients=1000)
        >>> counts = dp.trust.SimulatedSum(np.full(8, 125), trust, np.random.default_rng(1))
        >>> curve = dp.trust.PointwiseCDF(counts, dp.Grid.uniform(0, 1, 8))
        >>> round(curve.noise_at(0.5), 1), curve.noise_at([-1, 1])
        (5.6, array([0., 0.]))
        """
        cells = np.searchsorted(self.grid.positions, _check.points("t", t), side="right") - 1
        known = cells.ravel() >= 0
        deviations = np.zeros(cells.size)
        deviations[known] = self._deviation(cells.ravel()[known])
        result: float | NDArray[np.float64] = float_or_array(deviations.reshape(cells.shape))
        return result

    def quantile(self, p: ArrayLike, *, method: Method = "linear") -> float | NDArray[np.float64]:
        """Return where the curve reaches ``p``, by binary search over the cells.

        Parameters
        ----------
        p
            Probabilities within [0, 1], any shape.
        method
            As in ``CDF.quantile``.

        Returns
        -------
        float or numpy.ndarray
            In the shape of ``p``: what ``CDF.quantile`` would return for all N counts. The search
            ends in a cell where F at the end is at least p, while F at the end of the cell before
            is below p. Noise can make F decrease. Then there may be several such cells, and the
            search ends in one of them.

        Warns
        -----
        DpcoreWarning
            As from ``dp.quantiles``.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.
        RoundError
            As in ``counts_at``.

        Notes
        -----
        This is Algorithm 1 of the ECDF paper on the indices of the grid. It takes log2 N sums,
        rounded up, each with at most as many points as there are probabilities.
        Invariant: F(low) < p <= F(high), with F(-1) < p and p <= F(N - 1) = 1; both are open.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> trust = dp.trust.DistributedNoise(epsilon=1.0, clients=1000)
        >>> counts = dp.trust.SimulatedSum(np.full(8, 125), trust, np.random.default_rng(1))
        >>> curve = dp.trust.PointwiseCDF(counts, dp.Grid.uniform(0, 1, 8))
        >>> curve.quantile([0.25, 0.9]).round(3), curve.asked
        (array([0.255, 0.897]), array([0.25 , 0.375, 0.5  , 0.75 , 0.875, 1.   ]))
        """
        _check.choice("method", method, Method)
        shares = _check.probabilities("p", p)
        low, high = np.full(shares.shape, -1), np.full(shares.shape, self.grid.size - 1)
        while (inside := high - low > 1).any():
            middle = (low + high) // 2
            known = self._asked(middle[inside])
            below = inside & is_below(known.at(middle) / self.n, shares)
            low, high = np.where(below, middle, low), np.where(inside & ~below, middle, high)
        result: float | NDArray[np.float64] = float_or_array(self._places(high, shares, method))
        warn_of_quantiles(self.grid, shares, high)
        return result

    def to_cdf(self) -> CDF:
        """Return the raw curve over the thresholds that were asked for, including the last one.

        It offers bands, pictures, JSON, and isotonic regression, at no cost.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> trust = dp.trust.DistributedNoise(epsilon=1.0, clients=1000)
        >>> counts = dp.trust.SimulatedSum(np.full(8, 125), trust, np.random.default_rng(1))
        >>> curve = dp.trust.PointwiseCDF(counts, dp.Grid.uniform(0, 1, 8))
        >>> middle = curve(0.5)
        >>> known = curve.to_cdf()
        >>> known.thresholds, known.counts
        (array([0.5, 1. ]), array([ 495, 1000]))
        """
        known = self._open
        return CDF(
            grid=Grid(self.grid.positions[known.cells], lower=self._lower()),
            counts=known.counts,
            n=self.n,
            privacy=self.privacy,
            mechanism=self.mechanism,
            noise_deviation=self._deviation(known.cells),
            integers=self._of_integers() or self.integers,  # these thresholds do not say it
            releases=() if self.privacy.simulated else (self._identifier,),
        )

    def _asked(self, cells: NDArray[np.int64]) -> _Open:
        """Return the open cells, including the given ones, after one sum if needed; -1 is no cell.

        If two threads ask at once, one may forget what the other has opened, and ask again.
        """
        known = self._open
        fresh = np.setdiff1d(cells[cells >= 0], known.cells)
        if fresh.size == 0:
            return known
        sums = self._aggregator.sum(np.append(fresh, self.grid.size - 1))
        if not isinstance(sums, np.ndarray) or sums.dtype != np.int64:
            raise DtypeError("aggregator", type(sums).__name__, "must return int64 arrays as sums")
        if sums.shape != (fresh.size + 1,):
            what = f"must return sums of shape ({fresh.size + 1},)"
            raise ParameterError("aggregator", sums.shape, what)
        if self._aggregator.clients != self.n or sums[-1] != self.n:
            raise RoundError(
                f"the sum is not over {self.n} clients with one record each: some have dropped "
                "out, or did not keep to the protocol"
            )
        self._simulated |= bool(self._aggregator.simulated)
        places = np.searchsorted(known.cells, fresh)
        self._open = known = _Open(
            np.insert(known.cells, places, fresh), np.insert(known.counts, places, sums[:-1])
        )
        return known

    def _places(
        self, cells: NDArray[np.int64], p: NDArray[np.float64], method: Method
    ) -> NDArray[np.float64]:
        """Return where in its cell F reaches each p, from the counts at both ends of the cell."""
        if method == "inverted_cdf":
            return np.asarray(self.grid.positions[cells])
        ends = 0, self.grid.size - 1  # whole numbers end at the ends of the grid
        kept = np.unique(np.concatenate([cells.ravel(), np.maximum(cells.ravel() - 1, 0), ends]))
        part = Grid(self.grid.positions[kept], lower=self._lower())
        at = np.searchsorted(kept, cells)
        known = self._asked(np.concatenate([cells.ravel(), cells.ravel() - 1]))
        return within(at, p, known.at(kept), self.n, part, self._of_integers())

    def _deviation(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        remembered = self._trust.remembered(self.grid.size)
        return np.zeros(cells.size) if remembered is None else prefix_deviation(*remembered, cells)

    def _lower(self) -> float | None:
        return self.grid.start if np.isfinite(self.grid.start) else None

    def _of_integers(self) -> bool:
        return self.grid.of_integers if self.integers is None else self.integers


def _identifier_of(aggregator: Aggregator) -> str:
    """Return the identifier of the noise, which all curves of one secure sum have in common."""
    try:
        return _identifiers.setdefault(aggregator, fresh_identifier())
    except TypeError:  # a class of one's own without hashes or weak references
        return fresh_identifier()
