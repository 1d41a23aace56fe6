"""Buffered Toeplitz noise: correlated Gaussian noise that nearly cancels in running sums."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np

from ..errors import ParameterError
from ..noise.laws import DiscreteGaussian
from ..privacy.guarantees import Neighbours
from .base import Change, StreamMechanism, StreamNoise, check_counters, known_horizon
from .buffered_noise import BufferedNoise
from .buffers import Buffers, buffers_for
from .draws import Draws, child_of
from .rescaled import MOST_RESCALED, RescaledNoise

__all__ = ["BufferedToeplitz"]

_MOST_BITS: Final = 24  # of the lattice
_MOST_SIGMA_SQUARED: Final = 2**52 - 2**21  # in units of the lattice; the sampler's rounds it up
_MOST_SLACK: Final = 1.1**2  # of the variance, for rounding
_UPWARD: Final = 1.0 + 2.0**-40
_ONE: Final = Change()


@dataclass(frozen=True, slots=True)
class BufferedToeplitz(StreamMechanism):
    """Every running count gets a weighted sum of all draws so far, held in eight buffers.

    The weights fall with the age of a draw, so that the noise of the running counts is close to the
    least that any stream can have. Dvijotham, McMahan, Pillutla, Steinke & Thakurta 2024,
    *Efficient and near-optimal noise generation for streaming differential privacy*, with discrete
    noise.

    Parameters
    ----------
    epsilon, rho, delta
        The budget of all steps together: rho, or epsilon with delta.
    neighbours
        "replace-one": one record comes at another step, or never, or in addition.
        "add-or-remove-one": one record comes in addition, or never.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above. Epsilon alone needs ``ConsistentTree``.

    Notes
    -----
    docs/proofs/buffers.md has the proof. All increments may depend on earlier outputs. If a horizon
    of up to 2^20 is known, and a record cannot move within one counter, later steps are scaled up,
    as Henzinger, Kalinin & Upadhyay 2025, *Normalized square root*, do with a matrix: this takes
    about 6 % from the noise, and 18 % at the last step. A horizon of None stands for 2^32 steps.
    Then the deviation at step t is about 1.5 times the largest one with a horizon of t, and up to
    twice before step 16. A budget is refused if rounding would add more than a tenth to the noise.
    It keeps 17 numbers, and takes one draw a step.

    Examples
    --------
    >>> from dpcore.streams import BufferedToeplitz
    >>> counted = BufferedToeplitz(rho=0.5, neighbours="add-or-remove-one")
    >>> counted.noise_deviation(1024, [1, 32, 1024]).round(2)
    array([1.79, 2.62, 2.7 ])
    """

    name: ClassVar[str] = "buffered-toeplitz"

    epsilon: float | Fraction | None = None
    _: KW_ONLY
    rho: float | Fraction | None = None
    neighbours: Neighbours = "replace-one"
    delta: float | None = None

    def __post_init__(self) -> None:
        if self.budget.epsilon is not None:
            needed = "must come with delta, because the noise is Gaussian"
            raise ParameterError("epsilon", self.epsilon, f"{needed}: use ConsistentTree")

    def noise(
        self,
        horizon: int | None,
        rng: np.random.Generator | None = None,
        *,
        width: int = 1,
        change: Change = _ONE,
    ) -> StreamNoise:
        """Return the noise of ``width`` counters; see ``StreamMechanism``.

        A record changes counters by whole numbers, all of them upwards.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.streams import BufferedToeplitz
        >>> BufferedToeplitz(rho=0.5).noise(365).deviation(np.array([1, 365])).round(2)
        array([2.21, 3.87])
        """
        check_counters(width, change)
        buffers = buffers_for(known_horizon(horizon))
        bits, law = self._lattice(buffers, width, change)
        noise = BufferedNoise(buffers, width, bits, Draws(law, child_of(rng)))
        return RescaledNoise(noise) if self._is_rescaled(buffers, change) else noise

    def _is_rescaled(self, buffers: Buffers, change: Change) -> bool:
        """Whether steps are scaled. A record that moves in one counter then gains nothing."""
        moves = self.neighbours == "replace-one" and not change.apart
        return buffers.horizon <= MOST_RESCALED and not moves

    def _lattice(
        self, buffers: Buffers, width: int, change: Change
    ) -> tuple[int, DiscreteGaussian]:
        """Return the finest lattice that the noise fits, and the law of the draws on it."""
        budget = self.budget
        rho = budget.rho
        assert rho is not None
        for bits in range(_MOST_BITS, -1, -1):
            exact, whole = self._squares(buffers, width, change, bits)
            if whole / (2 * rho) <= _MOST_SIGMA_SQUARED:
                break
        law = budget.gaussian(whole / (2 * rho))
        if whole > Fraction(_MOST_SLACK) * exact:
            name, value = next(iter(budget.describe().items()))
            why = "rounding would add more than a tenth to the noise of so many steps"
            raise ParameterError(name, value, f"is too small: {why}")
        return bits, law

    def _squares(
        self, buffers: Buffers, width: int, change: Change, bits: int
    ) -> tuple[Fraction, Fraction]:
        """Return the largest squared shift of the draws, without and with rounding.

        The shift of a counter is 2^bits g C d + B^-1 e, where g is the record's change, d is the
        change of its steps, and |e| <= ``rounding`` at each step.
        """
        column = buffers.sum_of_column
        if self._is_rescaled(buffers, change):
            # No scaled column is longer than the first, so its sum has this bound.
            column = (buffers.one * buffers.horizon) ** 0.5 * _UPWARD
        if self.neighbours == "add-or-remove-one":
            square, crossed, times = buffers.one, column, 1
        else:
            square = 2.0 * buffers.one if change.apart else buffers.moved
            crossed, times = 2.0 * column + buffers.one, 1 + change.apart
        # each stretch of time has draws of its own for each counter
        touched = min(width * change.epochs, times * max(1, int(change.amount)))
        off = buffers.rounding
        # a record's changes are whole numbers in so many counters (Cauchy-Schwarz)
        of_one = min(width, max(1, int(change.amount)))
        absolutes = min(change.amount, Fraction(math.sqrt(of_one * change.amount) * _UPWARD))
        exact = Fraction(square) * change.amount * 4**bits
        cross = Fraction(2.0 * off * crossed * _UPWARD) * absolutes * 2**bits
        own = Fraction((buffers.inverse_norm * off) ** 2 * _UPWARD) * buffers.horizon * touched
        return exact, exact + cross + own
