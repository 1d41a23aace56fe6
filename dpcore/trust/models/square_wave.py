"""Local privacy for smooth columns: square waves, and a reconstruction that smooths."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...errors import ParameterError
from ...mechanisms.base import Work
from ...noise.sources import Source
from ...privacy.allowance import Allowance
from ...summaries.grid import MOST_CELLS
from ..protocol.rounds import MOST_CLIENTS, Round, Sums
from ..protocol.wire import ReportError, RoundError
from .advised import Advised, Errors, Purpose, Sizes
from .dealing import generator
from .square_wave_reports import SquareWaveEncoding
from .unary_law import checked_epsilon

__all__ = ["SquareWave"]

_MOST_RESOLUTION: Final = 2**16
# Measured: the error of a cumulative count, in units of the error of a mean on [0, 1].
_SHAPE: Final = 2.5


@dataclass(frozen=True, slots=True)
class SquareWave(Advised):
    """Differential privacy for every single report: a cell near the client's own, and smoothing.

    Each client reports one cell, most likely one near its own (``SquareWaveEncoding``). The server
    finds the distribution that explains all reports best, as smooth as they allow. If the density
    changes little from cell to cell, or clients are few, this is more accurate than ``Local``. If
    many clients share few values, it is less accurate (docs/proofs/local.md, section 6). The
    result is biased and has no bands, so no function chooses this model by itself.

    Parameters
    ----------
    epsilon
        The guarantee of every report, from 2^-20 to 40. A Fraction is used exactly.
    clients
        M, the number of clients that report, with one record each.
    resolution
        R, the most cells that reports are about, 2 to 65,536. On a finer grid, runs of cells are
        merged into at most R, and the curve is linear within each run.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    Li, Wang, Lopuhaa-Zwakenberg, Li & Skoric 2020; docs/proofs/local.md. The release is
    monotone, and ends at M. Neighbours: any two data sets of one client. With a generator, a
    release draws from the joint distribution of all reports, in O(R log R) and in floating point.
    Without one, it makes all M reports, in O(M). Neighbouring cells are assumed to be equally far
    from each other, so thresholds should be evenly spaced in a unit in which the density is smooth.
    Score curves are refused: the two classes would be one row of cells, in which the highest scores
    of both are neighbours, and an output near both says too little about the class. Use ``Local``
    for them.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> trust = dp.trust.SquareWave(epsilon=2.0, clients=100_000)
    >>> curve = dp.cdf(rng.beta(2, 5, 100_000), dp.Grid.uniform(0, 1, 64), trust, rng=rng)
    >>> round(curve.quantile(0.5), 2)
    0.26
    """

    epsilon: float | Fraction
    clients: int
    resolution: int = 2**10
    one_row_only: ClassVar[bool] = True
    """Cells that are not on one line, such as those of two classes, are refused."""
    advised: ClassVar[str] = "square-wave"
    trusted: ClassVar[str] = "nobody"
    purposes: ClassVar[tuple[Purpose, ...]] = ("cdf",)
    noisy_reports: ClassVar[bool] = True

    def __post_init__(self) -> None:
        clients = _check.integer("clients", self.clients, 1, MOST_CLIENTS)
        object.__setattr__(self, "clients", clients)
        object.__setattr__(self, "epsilon", _check.plain("epsilon", self.epsilon))
        resolution = _check.integer("resolution", self.resolution, 2, _MOST_RESOLUTION)
        object.__setattr__(self, "resolution", resolution)
        checked_epsilon(self.epsilon)

    def encoding(self, size: int) -> SquareWaveEncoding:
        """Return the encoding of the clients' reports, for a grid with 2 or more cells.

        Examples
        --------
        >>> from dpcore.trust import SquareWave
        >>> encoding = SquareWave(epsilon=2.0, clients=1000).encoding(64)
        >>> encoding.outputs, encoding.near  # the number of possible reports, and of the near ones
        (80, 17)
        """
        return SquareWaveEncoding(self.epsilon, self.edges(size).size - 1)

    def edges(self, size: int) -> NDArray[np.int64]:
        """Return the first cell of each run of cells that reports are about, and N at the end.

        Examples
        --------
        >>> from dpcore.trust import SquareWave
        >>> SquareWave(epsilon=2.0, clients=1000, resolution=4).edges(10)
        array([ 0,  3,  6,  9, 10])
        """
        size = _check.integer("size", size, 1, MOST_CELLS)
        return np.append(np.arange(0, size, -(-size // self.resolution)), size)

    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return infinities, (N,), because the effect of smoothing depends on the records.

        The last entry is 0, because the last count is known.

        Examples
        --------
        >>> from dpcore.trust import SquareWave
        >>> SquareWave(epsilon=2.0, clients=1000).noise_deviation(4)
        array([inf, inf, inf,  0.])
        """
        deviations = np.full(_check.integer("size", size, 1, MOST_CELLS), np.inf)
        deviations[-1] = 0.0
        return deviations

    def mean_squared_error(self, size: int) -> float:
        """Return the mean squared error of a count that is usual for smooth densities.

        It is neither exact nor a bound: 2.5 times the deviation of the mean of evenly spread
        records, if it is estimated from the mean output. Measured root mean square errors are 0.6
        to 1.2 times as large (uniform and beta densities, epsilon 0.5 to 5, M from 1,000 to 10^6).

        Examples
        --------
        >>> from dpcore.trust import SquareWave
        >>> round(SquareWave(epsilon=1.0, clients=10_000).mean_squared_error(256) ** 0.5)
        260
        """
        runs = self.edges(size).size - 1
        if runs == 1:
            return 0.0
        encoding = self.encoding(size)
        near, far = map(float, encoding.probabilities)
        gain = (near - far) * encoding.near  # of the mean output with the record
        outputs = np.arange(encoding.outputs) - (encoding.outputs - 1) / 2
        over = np.convolve(np.full(runs, 1.0 / runs), np.ones(encoding.near))
        variance = float((far + (near - far) * over) @ outputs**2)
        noise = variance - gain**2 * (runs**2 - 1) / 12
        return self.clients * noise * (_SHAPE / (gain * runs)) ** 2

    def round(self, size: int, servers: int | None = None) -> Round:
        """Return a round whose clients send one output each to one server.

        Examples
        --------
        >>> from dpcore.trust import SquareWave
        >>> SquareWave(epsilon=2.0, clients=1000).round(64).words  # possible outputs
        80
        """
        return _WaveRound(self, size)

    def describe(self) -> dict[str, str | int | float]:
        """Return the name and the parameters, as a release records them.

        Examples
        --------
        >>> from dpcore.trust import SquareWave
        >>> SquareWave(epsilon=2.0, clients=1000).describe()
        {'name': 'square-wave', 'epsilon': 2.0, 'clients': 1000, 'resolution': 1024}
        """
        return {
            "name": self.advised,
            "epsilon": float(self.epsilon),
            "clients": self.clients,
            "resolution": self.resolution,
        }

    @classmethod
    def theorem_errors(
        cls, epsilon: float, clients: float, heights: Sizes, buckets: Sizes
    ) -> Errors:
        """Return nothing: the theorems are about scored labels.

        Examples
        --------
        >>> from dpcore.trust import SquareWave
        >>> len(SquareWave.theorem_errors(1.0, 10_000, {}, {})), SquareWave.purposes
        (0, ('cdf',))
        """
        return {}

    def _budget(self) -> Allowance:
        return Allowance.checked(self.epsilon, None, "replace-one")

    def _check_total(self, total: int, size: int) -> None:
        if total != self.clients:
            raise ParameterError("counts", total, f"must sum to the {self.clients} clients")

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        edges = self.edges(exact.size)
        runs = np.add.reduceat(exact, edges[:-1])
        return Work(partial(self._draw_into, runs, edges), exact.size, np.float64)

    def _draw_into(
        self,
        runs: NDArray[np.int64],
        edges: NDArray[np.int64],
        out: NDArray[Any],
        stream: Source,
    ) -> None:
        if runs.size == 1:
            out[:] = self.clients
            return
        encoding = SquareWaveEncoding(self.epsilon, runs.size)
        for row in out:
            if stream.simulated:
                totals = encoding.simulated_totals(runs, generator(stream))
            else:
                totals = encoding.perturbed_totals(runs, workers=1)
            row[:] = _counts(encoding, totals, edges)


class _WaveRound(Round):
    """The output of each client, for one server that counts the outputs."""

    def __init__(self, trust: SquareWave, cells: int) -> None:
        super().__init__(trust, cells)
        self.exact = str(Fraction(trust.epsilon))
        self._edges, self._encoding = trust.edges(cells), trust.encoding(cells)

    @property
    def words(self) -> int:
        """How many outputs there are."""
        return self._encoding.outputs

    def report(
        self, cells: NDArray[np.int64], numbers: NDArray[np.int64], stream: Source
    ) -> list[bytes]:
        run = np.searchsorted(self._edges, cells, side="right") - 1
        output = np.empty_like(run)
        self._encoding._fill(output, run, stream)
        return [output.astype("<u8").tobytes()]

    def payload_bytes(self, kind: int, level: int = 0) -> int:
        return 8

    def check(self, kind: int, payload: bytes) -> None:
        super().check(kind, payload)
        if int.from_bytes(payload, "little") >= self.words:
            raise ReportError("payload", "is an output that does not exist")

    def counted(self, kind: int, payload: bytes) -> list[tuple[int, NDArray[np.uint64]]]:
        return [(int.from_bytes(payload, "little"), np.ones(1, np.uint64))]

    def check_sums(self, sums: Sums) -> None:
        super().check_sums(sums)
        if int(sums.totals.sum()) != sums.reports:
            raise RoundError("the total is not the number of reports")

    def mechanism(self, reports: int) -> SquareWave:
        return replace(self.trust, clients=reports)  # type: ignore[no-any-return]

    def estimates(self, sums: Sums) -> NDArray[np.float64]:
        return _counts(self._encoding, sums.totals.view(np.int64), self._edges)


def _counts(
    encoding: SquareWaveEncoding, totals: NDArray[np.int64], edges: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return cumulative counts, (N,), from how many reports there are of each output."""
    clients = int(totals.sum())
    below = clients * np.cumsum(encoding.reconstruct(totals))
    at = np.append(0.0, np.minimum(below, clients))
    counts = np.maximum.accumulate(np.interp(np.arange(1, edges[-1] + 1), edges, at))
    counts[-1] = clients  # rounding might make it less, and counts decrease
    return np.asarray(counts, np.float64)
