"""Adaptive quantiles: cumulative counts at thresholds where the curve rises most."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..errors import ParameterError
from ..kernels.selection import adaptive as kernels
from ..noise.sources import Source
from ..privacy.allowance import Allowance, Law
from ..privacy.guarantees import Privacy, within_group
from ..privacy.losses import ShiftedNoise
from ..privacy.spending import called
from ..summaries.grid import MOST_CELLS
from .base import Mechanism, Work
from .queries import (
    CELLS_PER_DRAW,
    THROUGH,
    Between,
    in_units,
    noise_of,
    rho_of_counts,
    shifts_of,
    variance_of,
)

__all__ = ["AdaptiveQuantiles"]

# The time to choose a question is proportional to the number of earlier questions.
_MOST_STEPS: Final = 2**12


@documented
@dataclass(frozen=True, slots=True)
class AdaptiveQuantiles(Mechanism):
    """Step by step, the threshold in the middle of the largest gap gets a noisy cumulative count.

    This is the strongest rival of polynomial projection in Tao & Sarwate, *Differentially Private
    Distribution Estimation Using Functional Approximation* (the projection paper). A gap is the
    difference of the answers at two neighbouring known thresholds, including the two ends of the
    grid. The answers are clipped to [0, n] and sorted at the end, so the curve is monotone.
    Neighbours: one record is replaced. n is public, so one noisy count is enough for a quantile.

    Parameters
    ----------
    epsilon
        For pure differential privacy, by discrete Laplace noise, epsilon / steps for each answer:
        a positive number (a Fraction is taken exactly).
    steps
        The number of thresholds that get a noisy count, 1 to 4096. On a grid with fewer thresholds
        each one gets a count once, and these share the budget.
    rho
        {rho}
    delta
        Beside epsilon: for (epsilon, delta)-differential privacy, by the analytic Gaussian
        mechanism (Balle & Wang 2018) on a fine lattice, composed adaptively (Dong, Roth & Su 2022).
    between
        The curve between known thresholds. "step": it is constant. "linear": it is a straight line.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    docs/proofs/projection.md, section 8, has the proofs. A release takes O(steps) draws and
    O(steps^2 + N) time.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.mechanisms.adaptive import AdaptiveQuantiles
    >>> AdaptiveQuantiles(epsilon=1e6, steps=3).release(np.array([0, 9, 1, 0, 0, 0, 0, 0]))
    array([ 0.,  9.,  9., 10., 10., 10., 10., 10.])
    """

    name: ClassVar[str] = "adaptive-quantiles"

    epsilon: float | Fraction | None = None
    steps: int = 50
    _: KW_ONLY
    rho: float | Fraction | None = None
    delta: float | None = None
    between: Between = "step"

    def __post_init__(self) -> None:
        self._budget()
        object.__setattr__(self, "steps", _check.integer("steps", self.steps, 1, _MOST_STEPS))
        _check.choice("between", self.between, Between)

    def questions(self, size: int) -> int:
        """Return the number of thresholds of ``size`` cells that get a noisy count.

        Examples
        --------
        >>> from dpcore.mechanisms import AdaptiveQuantiles
        >>> mechanism = AdaptiveQuantiles(epsilon=1.0, steps=50)
        >>> mechanism.questions(1024), mechanism.questions(8)
        (50, 7)
        """
        return min(self.steps, _check.integer("size", size, 1, MOST_CELLS) - 1)

    def noise(self, size: int) -> tuple[Law | None, int]:
        """Return the noise of each answer, and bits: its unit is 2^-bits counts. Cached.

        A grid of one cell needs no question and has no noise.

        Raises
        ------
        DtypeError, ParameterError
            size is not within [1, 2^24], or the budget is too small.

        Examples
        --------
        >>> from dpcore.mechanisms import AdaptiveQuantiles
        >>> AdaptiveQuantiles(epsilon=1.0, steps=50).noise(1024)
        (DiscreteLaplace(scale=Fraction(50, 1)), 0)
        """
        return _noise(self, self.questions(size))

    def answer_deviation(self, size: int) -> float:
        """Return the standard deviation of the noise in an answer, before clipping and sorting.

        Examples
        --------
        >>> from dpcore.mechanisms import AdaptiveQuantiles
        >>> round(AdaptiveQuantiles(epsilon=1.0, steps=50).answer_deviation(1024), 1)
        70.7
        >>> round(AdaptiveQuantiles(epsilon=1.0, steps=10).answer_deviation(1024), 1)
        14.1
        """
        return float(np.sqrt(variance_of(*self.noise(size))))

    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return infinities, (N,), and 0 for the last: the error depends on the questions asked.

        ``answer_deviation`` returns the known part, which is the noise of one answer.

        Examples
        --------
        >>> from dpcore.mechanisms import AdaptiveQuantiles
        >>> AdaptiveQuantiles(epsilon=1.0, steps=2).noise_deviation(4)
        array([inf, inf, inf,  0.])
        """
        self.noise(size)  # raises an error if the budget is too small for this grid
        errors = np.full(size, np.inf)
        errors[-1] = 0.0
        return errors

    def release_from_sites(
        self,
        counts: NDArray[np.integer[Any]],
        *,
        rng: np.random.Generator | None = None,
        replicates: int | None = None,
        workers: int | None = None,
    ) -> NDArray[np.float64]:
        """Return the curve of all records that an untrusted server gets by asking several sites.

        Each site answers each question with its own noise, which is enough for the whole budget.
        The server adds up the answers. Records stay at their sites, and the size of every site is
        public: a budget is charged for "replace-one-within-group". This method simulates all of it
        in one place.

        Parameters
        ----------
        counts
            (S, N) integers, the exact counts of the cells at each site.
        rng, replicates, workers
            As in ``release``.

        Returns
        -------
        numpy.ndarray
            As from ``release``, for the sum of all sites. The noise of an answer has S times the
            variance.

        Raises
        ------
        DtypeError, ParameterError
            As in ``release``; or counts does not have two dimensions and at least one site.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.mechanisms import AdaptiveQuantiles
        >>> sites = np.array([[0, 900, 100, 0], [50, 700, 250, 0]])  # two sites with four cells
        >>> mechanism = AdaptiveQuantiles(epsilon=1.0, steps=3)
        >>> mechanism.release_from_sites(sites, rng=np.random.default_rng(1))
        array([  49., 1647., 2000., 2000.])
        """
        sites = _check.counts("counts", counts)
        if sites.ndim != 2 or sites.shape[0] < 1 or not 1 <= sites.shape[1] <= MOST_CELLS:
            what = f"must have a row for each site, at least one, with 1 to {MOST_CELLS} cells"
            raise ParameterError("counts", sites.shape, what)
        server = _Server(self, sites)
        with called("AdaptiveQuantiles.release"):
            released = server.release(
                sites.sum(axis=0), rng=rng, replicates=replicates, workers=workers
            )
        return np.asarray(released, np.float64)

    def _answers(
        self, totals: NDArray[np.int64], n: int, sites: int, rows: int, stream: Source
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return rows of known thresholds and the noisy answers there, from 0 to N and 0 to n.

        The totals, (N,), are the sites' cumulative counts in the noise's unit.
        """
        asked = self.questions(totals.size)
        law, bits = self.noise(totals.size)
        noise = np.zeros((rows, sites, asked), np.int64)
        if law:
            law.fill(noise.reshape(-1), stream)
        thresholds = np.empty((rows, asked + 2), np.int64)
        answers = np.empty((rows, asked + 2))
        kernels.adaptive_quantiles(
            totals, noise.sum(axis=1), 2.0**-bits, float(n), thresholds, answers
        )
        return thresholds, answers

    def _rho(self, size: int) -> Fraction:
        asked = self.questions(size)
        return rho_of_counts(self._budget(), asked, asked) if asked else Fraction(0)

    def _noise_shifts(self, size: int) -> tuple[ShiftedNoise, ...]:
        return shifts_of(*self.noise(size), self.questions(size))

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        return self._asking(exact[np.newaxis])

    def _asking(self, sites: NDArray[np.int64]) -> Work:
        """Return the work of releasing the sum of the counts of some sites, (S, N)."""
        count, size = sites.shape
        exact, bits = np.cumsum(sites, axis=1), self.noise(size)[1]
        n, units = int(exact[:, -1].sum()), in_units(exact, bits)  # each site rounds its own counts
        totals = units.sum(axis=0) if count > 1 else units[0]

        def fill(out: NDArray[np.float64], stream: Source) -> None:
            thresholds, answers = self._answers(totals, n, count, out.shape[0], stream)
            THROUGH[self.between](thresholds, np.sort(answers, axis=1), out)

        draws = count * self.questions(size)
        return Work(fill, draws + size // CELLS_PER_DRAW, np.float64)


@lru_cache(maxsize=64)
def _noise(mechanism: AdaptiveQuantiles, asked: int) -> tuple[Law | None, int]:
    return noise_of(mechanism._budget(), asked, asked) if asked else (None, 0)


@dataclass(frozen=True, eq=False, slots=True)
class _Server(Mechanism):
    """The same questions to several sites."""

    mechanism: AdaptiveQuantiles
    sites: NDArray[np.int64]

    @property
    def privacy(self) -> Privacy:
        """The guarantee for one record of one site: it stays there, and sizes are public."""
        return within_group(self.mechanism.privacy)

    def _budget(self) -> Allowance:
        return self.mechanism._budget()

    def _rho(self, size: int) -> Fraction:
        return self.mechanism._rho(size)

    def _noise_shifts(self, size: int) -> tuple[ShiftedNoise, ...]:
        return self.mechanism._noise_shifts(size)

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        return self.mechanism._asking(self.sites)

    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        return self.mechanism.noise_deviation(size)
