"""Subset selection: a report has some of the values, and estimates are made from such reports."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _check, _instead
from ..._threads import checked_workers
from ...errors import DtypeError, ParameterError
from ...noise.sources import Source, source
from ...privacy.guarantees import Privacy, double_above
from ...privacy.shuffling import Blanket, blanket_of, of_two_values
from ...privacy.spending import spending
from . import bit_reports, subset_law
from .dealing import generator
from .subset_law import Chances, best_chosen, chances_of
from .unary_law import checked_epsilon

__all__ = ["SubsetSelection"]

_MOST_SIZE = 2**16


@dataclass(frozen=True, slots=True)
class SubsetSelection:
    """A fixed number of the values, with the client's own more likely among them.

    A report is a set of k of the d values. All sets that contain the client's value are equally
    likely, and so are all that do not. Each report is epsilon-differentially private for any two
    values of its client. So nobody has to be trusted.

    Parameters
    ----------
    epsilon
        The guarantee of every report, from 2^-20 to 40. It is kept as an exact fraction.
    size
        d, the number of values, from 2 to 2^16.
    chosen
        k, from 1 to 64 and below d. 1 is generalised randomised response. "auto" takes the number
        with the least variance, for values that are equally frequent.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    Ye & Barg, *Optimal schemes for discrete distribution estimation under locally differential
    privacy* (IEEE Trans. Inf. Theory 2018); Wang et al., *Mutual information optimally local
    private discrete distribution estimation* (2016); docs/proofs/local.md, section 8. Estimates
    have less variance than those of ``UnaryEncoding`` if d is not much larger than exp(epsilon).

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.trust import SubsetSelection
    >>> encoding = SubsetSelection(epsilon=2.0, size=4)
    >>> values = np.repeat([0, 1, 2, 3], [600, 300, 100, 0])
    >>> reports = encoding.perturb(values, np.random.default_rng(1))
    >>> encoding.estimates(encoding.totals(reports)).round()
    array([588., 323.,  97.,  -9.])
    """

    epsilon: float | Fraction
    size: int
    chosen: Literal["auto"] | int = "auto"

    def __post_init__(self) -> None:
        epsilon = checked_epsilon(self.epsilon)
        size = _check.integer("size", self.size, 2, _MOST_SIZE)
        if isinstance(self.chosen, str):
            _check.choice("chosen", self.chosen, Literal["auto"])
            chosen = best_chosen(epsilon, size)
        else:
            most = min(subset_law.MOST_CHOSEN, size - 1)
            chosen = _check.integer("chosen", self.chosen, 1, most)
        for name, value in (("epsilon", epsilon), ("size", size), ("chosen", chosen)):
            object.__setattr__(self, name, value)

    @property
    def missing(self) -> Fraction:
        """The probability that the client's value is not in its report.

        It is the least multiple of 2^-64 that is not below (d - k) / (k exp(epsilon) + d - k).
        """
        return 1 - self._chances.own

    def perturb(
        self,
        values: ArrayLike,
        rng: np.random.Generator | None = None,
        workers: int | None = None,
    ) -> NDArray[np.uint64]:
        """Return the packed reports of clients with given values.

        Parameters
        ----------
        values
            (R,) integers: each client's value, from 0 to ``size - 1``. Values beyond are taken as
            the first or the last one, and missing entries as the first. They are not an error,
            because an error would reveal something about the value.
        rng
            None draws from a cryptographic source. A generator is for studies.
        workers
            The number of threads; None: one for each processor. Reports do not depend on it.

        Returns
        -------
        numpy.ndarray
            (R, W) uint64, W = ceil(d / 64). Bit i % 64 of word i // 64 is one if value i is in the
            report.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        O(R k). The distribution is exact: it is made by integer arithmetic on uniform bits.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import SubsetSelection
        >>> encoding = SubsetSelection(2.0, size=6, chosen=2)
        >>> reports = encoding.perturb([0, 3, 5], np.random.default_rng(1))
        >>> [f"{int(bits):06b}" for bits in reports[:, 0]]  # the first value is the last bit
        ['010010', '001100', '100001']
        """
        inside = np.clip(bit_reports.checked_values(values), 0, self.size - 1)
        return bit_reports.perturbed(inside, self.size, self._fill(self.size), source(rng), workers)

    def totals(self, reports: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return how many reports have each value.

        Parameters
        ----------
        reports
            (R, W) uint64, packed as by ``perturb``. Bits behind the last value are not counted.

        Returns
        -------
        numpy.ndarray
            (d,) int64. Totals of several parts of the reports may be added up.

        Raises
        ------
        DtypeError, ParameterError
            The reports are not as above.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import SubsetSelection
        >>> encoding = SubsetSelection(2.0, size=3, chosen=2)
        >>> encoding.totals(np.array([[0b011], [0b101]], np.uint64))
        array([2, 1, 1])
        """
        return bit_reports.totals_of(reports, self.size)

    def estimates(self, totals: ArrayLike) -> NDArray[np.float64]:
        """Return unbiased estimates of how many clients have each value.

        Parameters
        ----------
        totals
            (..., d) integers, C: how many of the reports have each value.

        Returns
        -------
        numpy.ndarray
            (..., d) float64, (C - M q) / (p - q), with p and q the probabilities that the own value
            and any other one are in a report, and M = sum(C) / k reports. They sum to M.

        Raises
        ------
        DtypeError, ParameterError
            The totals are not counts of d values.

        Examples
        --------
        >>> from dpcore.trust import SubsetSelection
        >>> SubsetSelection(2.0, size=4).estimates([500, 300, 150, 50]).round(1)
        array([656.5, 331.3,  87.4, -75.2])
        """
        ones = _check.counts("totals", totals)
        if ones.shape[-1:] != (self.size,):
            raise ParameterError("totals", ones.shape, f"must have the shape (..., {self.size})")
        reports = ones.sum(axis=-1, keepdims=True) / self._chosen
        chances = self._chances
        blind = reports * float(chances.other)
        return np.asarray((ones - blind) / float(chances.difference), np.float64)

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
            (n p (1 - p) + (M - n) q (1 - q)) / (p - q)^2.

        Raises
        ------
        DtypeError, ParameterError
            0 <= n <= M <= 2^40 does not hold.

        Examples
        --------
        >>> from dpcore.trust import SubsetSelection, UnaryEncoding
        >>> round(SubsetSelection(3.0, size=8).variance(8000, 1000))
        887
        >>> round(UnaryEncoding(3.0).variance(8000, 1000))
        2765
        """
        reports = _check.integer("reports", reports, 0, bit_reports.MOST_REPORTS)
        count = _check.integer("count", count, 0, reports)
        p, q, _ = self._chances
        return float((count * p * (1 - p) + (reports - count) * q * (1 - q)) / (p - q) ** 2)

    def simulated_totals(self, counts: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw totals from their distribution, without making reports. This is for studies.

        Parameters
        ----------
        counts
            (d,) integers: how many clients have each value.
        rng
            A generator, which is advanced. None, which stands for a release, is refused.

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
        O(d k^2 log(d)), whatever the number of clients is. Probabilities are rounded to doubles.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import SubsetSelection
        >>> SubsetSelection(2.0, size=4).simulated_totals([90, 0, 0, 10], np.random.default_rng(1))
        array([66, 11,  8, 15])
        """
        exact = self._counts(counts)
        if not isinstance(rng, np.random.Generator):
            raise DtypeError("rng", type(rng).__name__, _instead.generator(rng))
        with spending(self._privacy(simulated=True), "SubsetSelection.simulated_totals"):
            return subset_law.simulated_totals(exact, self._chosen, self.missing, rng)

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
            (d,) int64.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        O(M k) for M clients, and as much for adding up as for ``UnaryEncoding``.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import SubsetSelection
        >>> SubsetSelection(2.0, size=4).perturbed_totals([90, 0, 0, 10], np.random.default_rng(1))
        array([65, 10, 10, 15])
        """
        exact = self._counts(counts)
        workers, stream = checked_workers(workers), source(rng)
        clients = int(exact.sum())
        with spending(self._privacy(stream.simulated), "SubsetSelection.perturbed_totals"):
            return bit_reports.perturbed_totals(
                exact, clients, self._fill(self.size), stream, workers
            )

    @property
    def _chosen(self) -> int:
        assert not isinstance(self.chosen, str)  # __post_init__ has replaced it
        return self.chosen

    @property
    def _chances(self) -> Chances:
        return chances_of(Fraction(self.epsilon), self.size, self._chosen)

    @property
    def _ones(self) -> int | None:
        """How many ones each report has."""
        return self._chosen

    @property
    def _blanket(self) -> Blanket:
        """What reports have in common (docs/proofs/privacy.md, section 10)."""
        above, others = double_above(Fraction(self.epsilon)), self.size - self._chosen
        if self._chosen > others:
            return blanket_of(above)
        return of_two_values(above, self.missing * Fraction(self._chosen, others))

    def _estimates_of(self, totals: ArrayLike, reports: int) -> NDArray[np.float64]:
        """Return the estimates of a level of ``Local``; the totals tell the number of reports."""
        return self.estimates(totals)

    def _totals_of(
        self, counts: NDArray[np.int64], reports: int, stream: Source
    ) -> NDArray[np.int64]:
        """Return the totals of a level of ``Local``: real reports, or their law in a study."""
        if stream.simulated:
            return self.simulated_totals(counts, generator(stream))
        return self.perturbed_totals(counts, workers=1)

    def _fill(self, size: int) -> bit_reports.Fill:
        """Return what makes reports about ``size`` values, which are those of the encoding."""
        return partial(subset_law.fill, size=size, chosen=self._chosen, missing=self.missing)

    def _counts(self, counts: ArrayLike) -> NDArray[np.int64]:
        exact, _ = bit_reports.checked_counts(counts, bit_reports.MOST_REPORTS)
        if exact.size != self.size:
            raise ParameterError("counts", exact.shape, f"must have the shape ({self.size},)")
        return exact

    def _privacy(self, simulated: bool) -> Privacy:
        """Return the guarantee of totals for replacing the value of one client."""
        return Privacy(double_above(Fraction(self.epsilon)), simulated=simulated)
