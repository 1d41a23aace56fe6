"""Discrete square waves: reports that perturb a client's cell, and shares made from them."""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from threading import Lock
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _check, _instead
from ..._threads import checked_workers
from ...errors import DtypeError, ParameterError
from ...kernels.clients import square_wave
from ...noise import windows
from ...noise.sources import Source, source
from ...privacy.guarantees import Privacy, double_above
from ...privacy.spending import spending
from .blocks import on_blocks, values_in_order
from .reconstruction import Wave
from .unary_law import checked_epsilon, least_q

__all__ = ["SquareWaveEncoding"]

_MOST_SIZE: Final = 2**16
_MOST_REPORTS: Final = 2**40
# 32-bit words; a client needs more with a probability below near / 2^32.
_WORDS_PER_CLIENT: Final = 3


@dataclass(frozen=True, slots=True)
class SquareWaveEncoding:
    """One of a public number of outputs, most likely one near the client's own cell.

    There are D = N + L - 1 outputs. A client in cell i of N reports each of the L outputs i, ...,
    i + L - 1 with probability p, and each other output with probability q, where p <= exp(epsilon)
    q. Each report is epsilon-differentially private for any two cells of its client. So nobody has
    to be trusted.

    Parameters
    ----------
    epsilon
        The guarantee of every report, from 2^-20 to 40. It is kept as an exact fraction.
    size
        N, the number of cells, from 2 to 2^16.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    Li, Wang, Lopuhaa-Zwakenberg, Li & Skoric, *Estimating numerical distributions under local
    differential privacy* (SIGMOD 2020); docs/proofs/local.md, Theorem 5.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.trust import SquareWaveEncoding
    >>> encoding = SquareWaveEncoding(epsilon=2.0, size=8)
    >>> rng = np.random.default_rng(1)
    >>> cells = np.clip(rng.normal(4, 1, 10_000), 0, 7).astype(int)
    >>> totals = encoding.totals(encoding.perturb(cells, rng))
    >>> encoding.reconstruct(totals).round(2)
    array([0.  , 0.03, 0.13, 0.36, 0.35, 0.11, 0.02, 0.  ])
    >>> np.bincount(cells, minlength=8) / 10_000
    array([0.0013, 0.0209, 0.1376, 0.3447, 0.3421, 0.1318, 0.0197, 0.0019])
    """

    epsilon: float | Fraction
    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        object.__setattr__(self, "size", _check.integer("size", self.size, 2, _MOST_SIZE))

    @property
    def near(self) -> int:
        """L, the number of outputs near a cell, 1 + 2 floor(b N).

        As in the paper, b = (epsilon - 1 + exp(-epsilon)) / (2 (exp(epsilon) - 1 - epsilon)). It
        maximises the mutual information of a uniform value and its report.
        """
        return 1 + 2 * _reach(Fraction(self.epsilon), self.size)

    @property
    def outputs(self) -> int:
        """D = N + L - 1, the number of outputs."""
        return self.size + self.near - 1

    @property
    def far_share(self) -> Fraction:
        """The probability that the output is not near.

        It is the least multiple of 2^-64 that is not below (N - 1) / (N - 1 + L exp(epsilon)).
        """
        return least_q(Fraction(self.epsilon), self.near, self.size - 1)

    @property
    def probabilities(self) -> tuple[Fraction, Fraction]:
        """The probability p of each near output, and q of each other one."""
        far = self.far_share
        return (1 - far) / self.near, far / (self.size - 1)

    def perturb(
        self,
        cells: ArrayLike,
        rng: np.random.Generator | None = None,
        workers: int | None = None,
    ) -> NDArray[np.int64]:
        """Return the reports of clients with given cells.

        Parameters
        ----------
        cells
            (R,) integers: each client's cell, from 0 to ``size - 1``. Cells beyond are taken as the
            first or the last one. They are not an error, because an error would reveal something
            about the cell.
        rng
            None draws from a cryptographic source. A generator is for studies.
        workers
            The number of threads; None: one for each processor. Reports do not depend on it.

        Returns
        -------
        numpy.ndarray
            (R,) int64, from 0 to ``outputs - 1``.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        O(R). The distribution is exact: it is made by integer arithmetic on uniform bits
        (docs/proofs/local.md, section 4).

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import SquareWaveEncoding
        >>> encoding = SquareWaveEncoding(epsilon=2.0, size=8)
        >>> encoding.perturb([0, 4, 4, 7], np.random.default_rng(1))
        array([8, 7, 5, 5])
        """
        given = _check.array("cells", cells, "iu", "must hold integers")
        if given.ndim != 1:
            raise ParameterError("cells", given.shape, "must have one dimension")
        wide = given if given.dtype == np.uint64 else given.astype(np.int64)
        inside: NDArray[np.int64] = np.clip(wide, 0, self.size - 1).astype(np.int64)
        reports = np.empty_like(inside)

        def work(start: int, stop: int, own: Source) -> None:
            self._fill(reports[start:stop], inside[start:stop], own)

        on_blocks(work, inside.size, source(rng), workers)
        return reports

    def totals(self, reports: ArrayLike) -> NDArray[np.int64]:
        """Return how many reports there are of each output, (D,).

        Totals of several parts of the reports may be added up.

        Raises
        ------
        DtypeError, ParameterError
            The reports are not integers from 0 to ``outputs - 1`` in one dimension.

        Examples
        --------
        >>> from dpcore.trust import SquareWaveEncoding
        >>> SquareWaveEncoding(epsilon=2.0, size=8).totals([0, 5, 5, 9])
        array([1, 0, 0, 0, 0, 2, 0, 0, 0, 1])
        """
        given = _check.array("reports", reports, "iu", "must hold integers")
        if given.ndim != 1:
            raise ParameterError("reports", given.shape, "must have one dimension")
        if given.size and not 0 <= int(given.min()) <= int(given.max()) < self.outputs:
            wrong = given[(given < 0) | (given >= self.outputs)][0]
            raise ParameterError("reports", int(wrong), f"must be from 0 to {self.outputs - 1}")
        return np.asarray(np.bincount(given.astype(np.int64), minlength=self.outputs), np.int64)

    def reconstruct(
        self,
        totals: ArrayLike,
        smoothing: Literal["auto"] | float = "auto",
        tolerance: float = 1e-5,
    ) -> NDArray[np.float64]:
        """Return the share of clients in each cell, by maximum likelihood with smoothing.

        Parameters
        ----------
        totals
            (D,) integers: how many reports there are of each output, with a sum of at least 1.
        smoothing
            How much of the paper's smoothing follows each step: 1 is EMS for 1,024 cells, and 0 is
            EM. "auto" takes 1, 1/16, 1/256 or 0, by Akaike's criterion.
        tolerance
            The steps end when one changes the shares by at most this much, in sum. Above 0.

        Returns
        -------
        numpy.ndarray
            (N,) float64, not negative, with the sum 1. The result depends only on the totals, so it
            costs no privacy.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        It takes at most 10,000 steps of O(N) for each smoothing that is tried: some milliseconds
        for N = 1,024. With fewer cells, the smoothing of a step is multiplied by (N / 1024)^2, so
        over the whole width of the grid it is the same (docs/proofs/local.md, section 5).

        Examples
        --------
        >>> from dpcore.trust import SquareWaveEncoding
        >>> encoding = SquareWaveEncoding(epsilon=2.0, size=4)
        >>> encoding.reconstruct([40, 150, 60, 50]).round(2)
        array([0.06, 0.66, 0.17, 0.11])
        """
        by_output = _check.counts("totals", totals)
        if by_output.shape != (self.outputs,):
            raise ParameterError(
                "totals", by_output.shape, f"must have the shape ({self.outputs},)"
            )
        if not by_output.any():
            raise ParameterError("totals", 0, "must be of at least one report")
        tolerance = _check.positive("tolerance", tolerance)
        p, q = self.probabilities
        wave = Wave(self.size, self.near, float(p), float(q))
        if isinstance(smoothing, str):
            _check.choice("smoothing", smoothing, Literal["auto"])
            return wave.best_fit(by_output, tolerance)
        if not 0.0 <= _check.finite("smoothing", smoothing) <= 1.0:
            raise ParameterError("smoothing", smoothing, "must be between 0 and 1")
        return wave.fit(by_output, float(smoothing), tolerance)

    def simulated_totals(self, counts: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw totals from their distribution, without making reports. This is for studies.

        Parameters
        ----------
        counts
            (N,) integers: how many clients are in each cell.
        rng
            A generator, which is advanced. None, which stands for a release, is refused.

        Returns
        -------
        numpy.ndarray
            (D,) int64.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        O(N log N), whatever the number of clients. Probabilities are rounded to doubles.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import SquareWaveEncoding
        >>> encoding = SquareWaveEncoding(epsilon=2.0, size=4)
        >>> encoding.simulated_totals([0, 100, 0, 0], np.random.default_rng(1))
        array([ 7, 74, 12,  7])
        """
        exact = self._counts(counts)
        if not isinstance(rng, np.random.Generator):
            raise DtypeError("rng", type(rng).__name__, _instead.generator(rng))
        # With probability q D, a report is uniform over all outputs. Otherwise, it is uniform over
        # the near ones.
        anywhere = float(self.probabilities[1] * self.outputs)
        everywhere = np.full(self.outputs, 1.0 / self.outputs)
        totals = np.zeros(self.outputs, np.int64)
        cost = Privacy(double_above(Fraction(self.epsilon)), simulated=True)
        with spending(cost, "SquareWaveEncoding.simulated_totals"):
            blind = rng.binomial(exact, anywhere)
            totals[: self.size] = exact - blind
            totals = _spread(totals, self.near, rng)
            return np.asarray(totals + rng.multinomial(blind.sum(), everywhere), np.int64)

    def perturbed_totals(
        self,
        counts: ArrayLike,
        rng: np.random.Generator | None = None,
        workers: int | None = None,
    ) -> NDArray[np.int64]:
        """Make every client's report, and return their totals without keeping the reports.

        Parameters
        ----------
        counts
            As in ``simulated_totals``.
        rng, workers
            As in ``perturb``.

        Returns
        -------
        numpy.ndarray
            (D,) int64.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        O(M) for M clients.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import SquareWaveEncoding
        >>> encoding = SquareWaveEncoding(epsilon=2.0, size=4)
        >>> encoding.perturbed_totals([0, 100, 0, 0], np.random.default_rng(1))
        array([ 9, 64, 15, 12])
        """
        exact = self._counts(counts)
        ends, totals, lock = np.cumsum(exact), np.zeros(self.outputs, np.int64), Lock()

        def work(start: int, stop: int, own: Source) -> None:
            reports = np.empty(stop - start, np.int64)
            self._fill(reports, values_in_order(ends, start, stop), own)
            block_totals = np.bincount(reports, minlength=self.outputs)
            with lock:
                np.add(totals, block_totals, out=totals)

        workers, stream = checked_workers(workers), source(rng)
        cost = Privacy(double_above(Fraction(self.epsilon)), simulated=stream.simulated)
        with spending(cost, "SquareWaveEncoding.perturbed_totals"):
            on_blocks(work, int(ends[-1]), stream, workers)
        return totals

    def _counts(self, counts: ArrayLike) -> NDArray[np.int64]:
        exact = _check.counts("counts", counts)
        if exact.shape != (self.size,):
            raise ParameterError("counts", exact.shape, f"must have the shape ({self.size},)")
        if int(exact.sum()) > _MOST_REPORTS:
            raise ParameterError("counts", int(exact.sum()), "must sum to at most 2^40")
        return exact

    def _fill(self, reports: NDArray[np.int64], cells: NDArray[np.int64], stream: Source) -> None:
        """Fill the reports of clients with given cells, (R,)."""
        near, far, far_share = self.near, self.size - 1, np.uint64(int(self.far_share * 2**64))
        # Words of an incomplete client at the end of the last window.
        cut_short = np.empty(0, np.uint32)
        done = 0
        while done < cells.size:
            fresh = min(_WORDS_PER_CLIENT * (cells.size - done) // 2 + 16, windows.WINDOW)
            window = windows.next_window(cut_short, fresh, stream)
            finished, used = square_wave.perturb(
                window, cells[done:], near, far, far_share, reports[done:]
            )
            done += finished
            cut_short = window[used:]


@lru_cache(maxsize=64)
def _reach(epsilon: Fraction, size: int) -> int:
    """Return floor(b N), the same on every machine. 60 digits are enough even for b near 1/2."""
    with decimal.localcontext(decimal.Context(prec=60)):
        exponent = decimal.Decimal(epsilon.numerator) / decimal.Decimal(epsilon.denominator)
        grown = exponent.exp()
        b = (exponent - 1 + 1 / grown) / (2 * (grown - 1 - exponent))
        return int(b * size)


def _spread(counts: NDArray[np.int64], length: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Move each of many reports by 0 to ``length - 1`` places, each with the same probability.

    The last ``length - 1`` places are empty at first. All reports in one place have the same
    distribution, wherever they came from. So one binomial draw divides them, O(places) for each
    halving of ``length``.
    """
    moving, arrived = counts.copy(), np.zeros_like(counts)
    while length > 1:
        if length % 2:
            farthest = rng.binomial(moving, 1.0 / length)
            moving -= farthest
            length -= 1
            arrived[length:] += farthest[:-length]
        length //= 2
        farther = rng.binomial(moving, 0.5)
        moving -= farther
        moving[length:] += farther[:-length]
    return arrived + moving
