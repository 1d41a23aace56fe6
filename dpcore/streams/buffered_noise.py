"""The noise of running sums from buffers, on a lattice of 2^-bits counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import FormatError
from ..kernels.trees import buffers as kernels
from ..noise.laws import DiscreteGaussian
from .base import AdditiveNoise, StreamNoise
from .buffers import Buffers
from .draws import Drawn, Draws

__all__ = ["BufferedNoise"]

_MOST_HELD: Final = 2**62


class _Held(NamedTuple):
    """The state of the noise after a step. All of it is secret."""

    held: NDArray[np.int64]  # (2 d + 1, W) of ``kernels.buffered``
    drawn: Drawn


@dataclass(frozen=True, slots=True, eq=False)
class BufferedNoise(AdditiveNoise):
    """Noise of ``width`` counters from buffers.

    Parameters
    ----------
    buffers
        The weights of all draws.
    width
        The number of counters.
    bits
        The unit is 2^-bits counts.
    draws
        The source, one draw a step and counter.
    """

    buffers: Buffers
    width: int
    bits: int
    draws: Draws

    @property
    def is_simulated(self) -> bool:
        """Whether a generator makes the draws."""
        return self.draws.rng is not None

    def start(self) -> _Held:
        """Return the state before the first step."""
        return _Held(np.zeros(self._shape, np.int64), self.draws.start())

    def start_after(self, state: _Held) -> _Held:
        """Return a state before the first step, whose draws follow those of ``state``."""
        return _Held(np.zeros(self._shape, np.int64), state.drawn)

    def next(
        self, count: int, at: int, state: _Held
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], _Held]:
        """Return the noise of some steps, in two parts, and the state after them."""
        noise, after = self.on_lattice(count, at, state)
        whole = noise >> self.bits
        rest = (noise - (whole << self.bits)) * 2.0**-self.bits
        return whole, rest, after

    def on_lattice(self, count: int, at: int, state: _Held) -> tuple[NDArray[np.int64], _Held]:
        """Return the noise of some steps in units of the lattice, and the state after them."""
        draws, drawn = self.draws.take(count * self.width, state.drawn)
        held, noise = state.held.copy(), np.empty((count, self.width), np.int64)
        rows = draws.reshape(count, self.width)
        kernels.buffered(noise, rows, held, self.buffers.decays, self.buffers.weights)
        return noise, _Held(held, drawn)

    def deviation(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the standard deviation of the noise at some steps."""
        scale = self.draws.law.variance**0.5 * 2.0**-self.bits
        deviations: NDArray[np.float64] = scale * np.sqrt(self.buffers.squares_of_b(steps))
        return deviations

    def difference_deviation(
        self, first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the standard deviation of the noise at ``last`` minus the noise at ``first``."""
        scale = self.draws.law.variance**0.5 * 2.0**-self.bits
        deviations: NDArray[np.float64] = scale * np.sqrt(
            self.buffers.squares_of_difference(first, last)
        )
        return deviations

    def describe(self, state: _Held) -> dict[str, Any]:
        """Return the state for ``restored``."""
        return {
            "lattice": self._lattice,
            "held": state.held.tolist(),
            "generator": self.draws.describe(state.drawn),
        }

    def restored(self, at: int, stored: dict[str, Any]) -> tuple[StreamNoise, _Held]:
        """Return noise like this one, and the state that was described."""
        return self.again(stored)

    def again(self, stored: dict[str, Any]) -> tuple[BufferedNoise, _Held]:
        """Return noise like this one, and the state that was described; see ``restored``."""
        if stored["lattice"] != self._lattice:
            raise FormatError("a saved stream with noise of another scale")
        rows = [
            [_check.integer("held", value, -_MOST_HELD, _MOST_HELD) for value in row]
            for row in stored["held"]
        ]
        if np.shape(rows) != self._shape:
            raise FormatError("a saved stream with another number of buffers")
        held = np.array(rows, np.int64)
        count = len(self.buffers.decays)
        remainders = held[1 + count :]
        if np.any(remainders < 0) or np.any(remainders >> self.buffers.decays[:, 1:]):
            raise FormatError("a saved stream with remainders out of range")
        draws, drawn = Draws.restored(self.draws.law, stored["generator"])
        again = BufferedNoise(self.buffers, self.width, self.bits, draws)
        return again, _Held(held, drawn)

    @property
    def _shape(self) -> tuple[int, int]:
        return 2 * len(self.buffers.decays) + 1, self.width

    @property
    def _lattice(self) -> list[int]:
        """The law of the draws and the bits, exactly, and what the buffers are multiplied with."""
        law = self.draws.law
        assert isinstance(law, DiscreteGaussian)
        numbers = np.concatenate([self.buffers.decays, self.buffers.weights]).ravel().tolist()
        return [law.sigma_squared.numerator, law.sigma_squared.denominator, self.bits, *numbers]
