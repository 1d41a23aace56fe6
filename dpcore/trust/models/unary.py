"""Optimised unary encoding: perturbed bits for a client's value, and estimates from them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _check, _instead
from ..._threads import checked_workers
from ...errors import DtypeError
from ...noise.sources import Source, source
from ...privacy.guarantees import Privacy, double_above
from ...privacy.shuffling import Blanket, of_two_values
from ...privacy.spending import spending
from . import bit_reports, unary_law
from .dealing import generator
from .unary_law import checked_epsilon, least_q

__all__ = ["UnaryEncoding"]


@dataclass(frozen=True, slots=True)
class UnaryEncoding:
    """One bit for each possible value, each perturbed on its own.

    The bit at the client's value is one with probability p = 1/2, and every other bit is one with
    probability q. Each report is epsilon-differentially private for any two inputs of its client,
    where "no value" is an input, too. So nobody has to be trusted.

    Parameters
    ----------
    epsilon
        The guarantee of every report, from 2^-20 to 40. It is kept as an exact fraction.

    Raises
    ------
    DtypeError, ParameterError
        ``epsilon`` is not as above.

    Notes
    -----
    Wang, Blocki, Li & Jha, *Locally differentially private protocols for frequency estimation*
    (USENIX Security 2017), section 4.3; docs/proofs/local.md, Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.trust import UnaryEncoding
    >>> encoding = UnaryEncoding(epsilon=2.0)
    >>> values = np.repeat([0, 1, 2, -1], [500, 300, 200, 200])
    >>> reports = encoding.perturb(values, 3, np.random.default_rng(1))
    >>> reports.shape
    (1200, 1)
    >>> encoding.estimates(encoding.totals(reports, 3), 1200).round()
    array([554., 281., 181.])
    """

    epsilon: float | Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))

    @property
    def q(self) -> Fraction:
        """The probability of a one at any position but the client's value.

        It is the least multiple of 2^-64 that is not below 1 / (exp(epsilon) + 1).
        """
        return least_q(Fraction(self.epsilon))

    def perturb(
        self,
        values: ArrayLike,
        size: int,
        rng: np.random.Generator | None = None,
        workers: int | None = None,
    ) -> NDArray[np.uint64]:
        """Return the packed reports of clients with given values.

        Parameters
        ----------
        values
            (R,) integers: each client's value, from 0 to ``size - 1``. Any other integer, such as
            -1, and a missing entry are no value. They are not an error, because an error would
            reveal something about the value.
        size
            d, the number of values, at most 2^24.
        rng
            None draws from a cryptographic source. A generator is for studies.
        workers
            The number of threads; None: one for each processor. Reports do not depend on it.

        Returns
        -------
        numpy.ndarray
            (R, W) uint64, W = ceil(d / 64). Bit i % 64 of word i // 64 is for value i. The bits
            behind the last value are zero.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        O(R d) bits. The distribution is exact: it is made by integer arithmetic on uniform bits
        (docs/proofs/local.md, section 2).

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import UnaryEncoding
        >>> reports = UnaryEncoding(2.0).perturb([0, 2, -1], 3, np.random.default_rng(1))
        >>> [f"{int(bits):03b}" for bits in reports[:, 0]]  # the first value is the last bit
        ['001', '010', '000']
        """
        size = _check.integer("size", size, 1, bit_reports.MOST_SIZE)
        checked = bit_reports.checked_values(values)
        return bit_reports.perturbed(checked, size, self._fill(size), source(rng), workers)

    def totals(self, reports: NDArray[np.uint64], size: int) -> NDArray[np.int64]:
        """Return how many reports have a one at each value.

        Parameters
        ----------
        reports
            (R, W) uint64, packed as by ``perturb``. Bits behind the last value are not counted.
        size
            d, with W = ceil(d / 64).

        Returns
        -------
        numpy.ndarray
            (d,) int64. Totals of several parts of the reports may be added up.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        O(R W), about as fast as reading the memory.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import UnaryEncoding
        >>> UnaryEncoding(2.0).totals(np.array([[0b001], [0b101]], np.uint64), 3)
        array([2, 0, 1])
        """
        size = _check.integer("size", size, 1, bit_reports.MOST_SIZE)
        return bit_reports.totals_of(reports, size)

    def estimates(self, totals: ArrayLike, reports: int) -> NDArray[np.float64]:
        """Return unbiased estimates of how many clients have each value.

        Parameters
        ----------
        totals
            (..., d) integers, C: how many of the reports have a one at each value.
        reports
            M, the number of reports, from clients with a value or without.

        Returns
        -------
        numpy.ndarray
            (..., d) float64, (C - M q) / (p - q). Estimates may be negative or above M. Clipping
            them before adding them up would bias the sum.

        Raises
        ------
        DtypeError, ParameterError
            The totals are not counts, or the number of reports is out of range.

        Examples
        --------
        >>> from dpcore.trust import UnaryEncoding
        >>> UnaryEncoding(2.0).estimates([300, 200, 150], 1000).round(1)
        array([474.8, 212.2,  80.9])
        """
        reports = _check.integer("reports", reports, 0, bit_reports.MOST_REPORTS)
        ones = _check.counts("totals", totals)
        q = self.q
        return np.asarray((ones - float(reports * q)) / float(Fraction(1, 2) - q), np.float64)

    def variance(self, reports: int, count: int = 0) -> float:
        """Return the variance of the estimate of a count.

        Parameters
        ----------
        reports
            M, the number of clients that report.
        count
            n, the number of clients that have the value.

        Returns
        -------
        float
            M q (1 - q) / (p - q)^2 + n, with p = 1/2: each client that has the value adds 1.

        Raises
        ------
        DtypeError, ParameterError
            0 <= n <= M <= 2^40 does not hold.

        Examples
        --------
        >>> from dpcore.trust import UnaryEncoding
        >>> round(UnaryEncoding(2.0).variance(1000), 1)
        724.1
        """
        reports = _check.integer("reports", reports, 0, bit_reports.MOST_REPORTS)
        count = _check.integer("count", count, 0, reports)
        q = self.q
        return float(reports * q * (1 - q) / (Fraction(1, 2) - q) ** 2 + count)

    def simulated_totals(
        self,
        counts: ArrayLike,
        reports: int,
        rng: np.random.Generator,
        replicates: int | None = None,
    ) -> NDArray[np.int64]:
        """Draw totals from their distribution, without making reports. This is for studies.

        Parameters
        ----------
        counts
            (d,) integers, n: how many clients have each value.
        reports
            M, the number of clients that report, at least the sum of ``counts``. The other clients
            have no value.
        rng
            A generator, which is advanced. None, which stands for a release, is refused.
        replicates
            S, the number of draws. None draws once.

        Returns
        -------
        numpy.ndarray
            (d,), or (S, d), int64: C_i = Bin(n_i, 1/2) + Bin(M - n_i, q), independent.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        O(S d), whatever M is. Here q is rounded to a double.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import UnaryEncoding
        >>> UnaryEncoding(2.0).simulated_totals([500, 300], 1000, np.random.default_rng(1))
        array([308, 232])
        """
        exact, reports = bit_reports.checked_counts(counts, reports)
        if not isinstance(rng, np.random.Generator):
            raise DtypeError("rng", type(rng).__name__, _instead.generator(rng))
        shape: tuple[int, ...] = exact.shape
        if replicates is not None:
            shape = (_check.integer("replicates", replicates, 0, bit_reports.MOST_REPORTS), *shape)
        draws = 1 if replicates is None else shape[0]
        with spending(draws * self._privacy(simulated=True), "UnaryEncoding.simulated_totals"):
            own = rng.binomial(exact, 0.5, shape)
            others = rng.binomial(reports - exact, float(self.q), shape)
        return np.asarray(own + others, np.int64)

    def perturbed_totals(
        self,
        counts: ArrayLike,
        reports: int,
        rng: np.random.Generator | None = None,
        workers: int | None = None,
    ) -> NDArray[np.int64]:
        """Make every client's report, and return their totals without keeping the reports.

        Parameters
        ----------
        counts, reports
            As in ``simulated_totals``.
        rng, workers
            As in ``perturb``.

        Returns
        -------
        numpy.ndarray
            (d,) int64.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        O(M d) bits. A thread holds about 2 MiB of them at a time, and 16 bytes for each value.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import UnaryEncoding
        >>> UnaryEncoding(2.0).perturbed_totals([500, 300], 1000, np.random.default_rng(1))
        array([324, 225])
        """
        exact, reports = bit_reports.checked_counts(counts, reports)
        workers, stream = checked_workers(workers), source(rng)
        with spending(self._privacy(stream.simulated), "UnaryEncoding.perturbed_totals"):
            return bit_reports.perturbed_totals(
                exact, reports, self._fill(exact.size), stream, workers
            )

    @property
    def _ones(self) -> int | None:
        """How many ones each report has: any number."""
        return None

    @property
    def _blanket(self) -> Blanket:
        """What reports have in common (docs/proofs/privacy.md, section 10)."""
        return of_two_values(double_above(Fraction(self.epsilon)), self.q / (2 * (1 - self.q)))

    def _estimates_of(self, totals: ArrayLike, reports: int) -> NDArray[np.float64]:
        """Return the estimates of a level of ``Local``."""
        return self.estimates(totals, reports)

    def _totals_of(
        self, counts: NDArray[np.int64], reports: int, stream: Source
    ) -> NDArray[np.int64]:
        """Return the totals of a level of ``Local``: real reports, or their law in a study."""
        if stream.simulated:
            return self.simulated_totals(counts, reports, generator(stream))
        return self.perturbed_totals(counts, reports, workers=1)

    def _fill(self, size: int) -> bit_reports.Fill:
        """Return what makes reports about ``size`` values."""
        return partial(unary_law.fill, size=size, q=self.q)

    def _privacy(self, simulated: bool) -> Privacy:
        """Return the guarantee of totals for replacing the value of one client."""
        return Privacy(double_above(Fraction(self.epsilon)), simulated=simulated)
