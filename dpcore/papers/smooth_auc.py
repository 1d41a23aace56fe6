"""The area under the ROC curve by smooth sensitivity: a baseline for released curves."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import ParameterError
from ..noise.laws import DiscreteLaplace
from ..noise.sources import Source, source
from ..privacy.allowance import Allowance
from ..privacy.guarantees import Privacy, double_above
from ..privacy.spending import spending
from .cauchy import CauchyNoise, rounded_cauchy
from .ranked_pairs import RankedPairs

__all__ = ["SmoothS", "area_units"]

_BITS: Final = 40  # areas are released in units of 2^-40
_RATIO_UNIT: Final = 2**24  # exp(-beta) is a multiple of 1 / _RATIO_UNIT, as in CauchyNoise
# so beta is at least 2^-18, and the lattice is fine enough
_MOST_RATIO: Final = _RATIO_UNIT - 2**6
_MOST_RECORDS: Final = 2**31  # twice the number of pairs fits 64 bits
_LEAST_EPSILON, _MOST_EPSILON = Fraction(1, 2**16), Fraction(2**16)
_LEAST_WITH_DELTA: Final = Fraction(1, 2**11)  # so that the sampler accepts the scale for every T
_MOST_DELTA: Final = 0.5
_FACTOR_BITS: Final = 12  # bits of 2 / epsilon, so that the sampler accepts the scales of the noise


@dataclass(frozen=True, slots=True)
class SmoothS:
    """The area under the ROC curve, with noise for its smooth sensitivity.

    The mechanism follows Boyd, Lantz & Page, *Differential privacy for classifier evaluation*
    (2015). With P positives and N negatives a replaced record changes the area by at most
    1 / min(P, N). P and N are not public. So the noise is for an upper bound of 1 / min(P, N) that
    changes little between neighbours. Neighbours: the label and the score of one record are
    replaced.

    Parameters
    ----------
    epsilon
        A number of at least 2^-16, or at least 2^-11 with delta (a Fraction is taken exactly).
    delta
        None: pure differential privacy, by Cauchy noise. Up to 1/2: Laplace noise.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or epsilon is too small for delta.

    Notes
    -----
    docs/proofs/selection.md, section 13, has the sensitivity, the proofs, and advice on when to use
    it. It releases one number. For the same budget ``dpcore.score_curves`` releases whole curves.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.papers.smooth_auc import SmoothS
    >>> counts = np.array([300, 200, 100, 600, 500, 100])  # negatives rise, positives fall
    >>> round(SmoothS(5.0).release(counts, rng=np.random.default_rng(1)), 2)
    0.76
    """

    epsilon: float | Fraction
    delta: float | None = None

    def __post_init__(self) -> None:
        if self._exact() < _LEAST_EPSILON:
            raise ParameterError("epsilon", self.epsilon, "must be at least 2^-16")
        if self.delta is None:
            return
        delta = _check.finite("delta", self.delta)
        if not 0.0 < delta <= _MOST_DELTA:
            raise ParameterError("delta", self.delta, "must be above 0 and at most 1/2")
        if self._exact() < _LEAST_WITH_DELTA:
            raise ParameterError("epsilon", self.epsilon, "must be at least 2^-11 with delta")
        if self.ratio > _MOST_RATIO:
            raise ParameterError("epsilon", self.epsilon, f"is too small for delta = {delta!r}")

    def _exact(self) -> Fraction:
        epsilon = Allowance.checked(self.epsilon, None, "replace-one").epsilon
        assert epsilon is not None
        return min(epsilon, _MOST_EPSILON)

    @property
    def privacy(self) -> Privacy:
        """The guarantee of one release, with random bits from a secure source."""
        epsilon = double_above(_check.fraction("epsilon", self.epsilon))
        return Privacy(epsilon, 0.0 if self.delta is None else float(self.delta))

    @property
    def ratio(self) -> int:
        """The factor exp(-beta) by which the sensitivity may fall for a neighbour, times 2^24."""
        if self.delta is None:
            return CauchyNoise.least(self._exact()).ratio
        growth = float(self._exact()) / (2.0 * math.log(2.0 / self.delta))
        return math.floor(_RATIO_UNIT / (1.0 + growth)) + 1

    def describe(self) -> dict[str, str | int | float]:
        """Return the name and the parameters, as a release records them."""
        delta = {} if self.delta is None else {"delta": float(self.delta)}
        return {"name": "smooth-s", "epsilon": float(self.epsilon), **delta}

    def sensitivity(self, rarer: int) -> Fraction:
        """Return the smooth sensitivity, in units of 2^-40, given the size of the rarer class.

        It is private, because that size is private.
        """
        ratio, whole = self.ratio, 1 << _BITS
        rarer, power = max(1, rarer), whole
        for k in range(2, rarer + 1):
            power = -(-power * ratio // _RATIO_UNIT)  # exp(-beta (k - 1)), rounded up
            if power * k <= whole:
                return Fraction(whole, rarer) + 1
        return Fraction(power) + 1

    def release(
        self,
        counts: NDArray[np.integer[Any]],
        *,
        rng: np.random.Generator | None = None,
        replicates: int | None = None,
    ) -> float | NDArray[np.float64]:
        """Return the area with noise, clipped to [0, 1].

        Parameters
        ----------
        counts
            (2 N,) integers, the exact counts from ``dpcore.score_counts``.
        rng
            None for a release: random bits from a cryptographic source. A generator is for studies.
        replicates
            None for one release, or the number of independent releases. Each spends the budget.

        Returns
        -------
        float or numpy.ndarray
            The area, or (replicates,) areas. They are multiples of 2^-40.

        Raises
        ------
        DtypeError, ParameterError
            counts is not an array of an even number of integers that are 0 or more and sum to at
            least 1 and at most 2^31, or another argument is not as above.
        """
        exact = _check.counts("counts", counts)
        if exact.ndim != 1 or exact.size < 2 or exact.size % 2:
            raise ParameterError("counts", exact.shape, "must have two entries for each cell")
        if not 1 <= (total := int(exact.sum())) <= _MOST_RECORDS:
            raise ParameterError("counts", total, f"must sum to between 1 and {_MOST_RECORDS}")
        return self.release_pairs(_counted(exact), rng=rng, replicates=replicates)

    def release_pairs(
        self,
        pairs: RankedPairs,
        *,
        rng: np.random.Generator | None = None,
        replicates: int | None = None,
    ) -> float | NDArray[np.float64]:
        """Return the area with noise, as ``release`` does, from ranked records instead of counts.

        Parameters
        ----------
        pairs
            The result of ``papers.ranked_pairs``, of 1 to 2^31 records.
        rng, replicates
            As in ``release``.

        Raises
        ------
        DtypeError, ParameterError
            There are fewer or more records, or another argument is not as above.
        """
        if not 1 <= (total := pairs.negatives + pairs.positives) <= _MOST_RECORDS:
            raise ParameterError("pairs", total, f"must be of 1 to {_MOST_RECORDS} records")
        repeat = 1 if replicates is None else _check.integer("replicates", replicates, 1, 2**40)
        stream = source(rng)
        area, rarer = _units(pairs)
        cost = repeat * replace(self.privacy, simulated=rng is not None)
        with spending(cost, "SmoothS.release"):
            noise = self._noise(self.sensitivity(rarer), repeat, stream)
        areas = np.clip((area + noise) / 2.0**_BITS, 0.0, 1.0)
        return float(areas[0]) if replicates is None else areas

    def _noise(self, sensitivity: Fraction, repeat: int, stream: Source) -> NDArray[np.float64]:
        """Return noise in units of 2^-40: exact integers, unless it is so large that it clips."""
        if self.delta is None:
            scale = sensitivity / CauchyNoise.least(self._exact()).shift
            return np.array([float(rounded_cauchy(scale, stream)) for _ in range(repeat)])
        drawn = np.empty(repeat, np.int64)
        DiscreteLaplace(sensitivity * _rounded_up(2 / self._exact())).fill_once(drawn, stream)
        return drawn.astype(np.float64)


def area_units(counts: NDArray[np.int64]) -> tuple[int, int]:
    """Return the area under the ROC curve in units of 2^-40, rounded, and the rarer class's size.

    1/2 if a class is empty.
    """
    return _units(_counted(counts))


def _counted(counts: NDArray[np.int64]) -> RankedPairs:
    """Return the pairs of records from their counts by class and score; pairs in a cell tie."""
    size = counts.size // 2
    negatives, positives = counts[:size], counts[size:][::-1]
    below = np.cumsum(negatives)
    ordered = int(np.dot(positives, 2 * below - negatives))
    return RankedPairs(ordered, int(below[-1]), int(positives.sum()))


def _units(pairs: RankedPairs) -> tuple[int, int]:
    both = 2 * pairs.negatives * pairs.positives
    if both == 0:
        return 1 << (_BITS - 1), 0
    area = (2 * pairs.ordered << _BITS) + both
    return area // (2 * both), min(pairs.negatives, pairs.positives)


def _rounded_up(factor: Fraction) -> Fraction:
    """Return a fraction of 12 bits over a power of two: not less, and not much more."""
    shift = _FACTOR_BITS - 1 - math.floor(math.log2(factor))
    unit = Fraction(1, 2) ** shift
    return math.ceil(factor / unit) * unit
