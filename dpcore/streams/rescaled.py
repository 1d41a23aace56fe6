"""Streams whose later steps weigh more: less noise where the horizon leaves less to come.

A record of a late step shifts few draws, so its column of C is short. The steps are scaled such
that all columns are nearly as long as the first. The released sums of scaled steps are public; so
their increments, scaled back and summed up, are running counts at no price.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import FormatError
from ..kernels.trees.buffers import rescaled_differences, rescaled_variances
from .base import StreamNoise
from .buffered_noise import BufferedNoise
from .buffers import Buffers

__all__ = ["MOST_RESCALED", "RescaledNoise"]

MOST_RESCALED: Final = 2**20  # steps; the deviation of each is computed
_EACH: Final = 64  # so many last steps have a scale of their own
_GRID: Final = 1.0 + 2.0**-8  # from scale to scale, before them
_MOST: Final = 2**62


class _Held(NamedTuple):
    """The state after a step. All of it but ``sums`` is secret."""

    sums: NDArray[np.float64]  # (W,) the last outputs, which are released
    noise: NDArray[np.int64]  # (W,) the noise of the scaled sums
    inner: Any


@dataclass(frozen=True, slots=True, eq=False)
class RescaledNoise(StreamNoise):
    """Running sums from the noisy running sums of scaled steps.

    Parameters
    ----------
    inner
        The noise of the running sums of scaled steps, on a lattice of 2^-bits counts.
    """

    inner: BufferedNoise

    @property
    def width(self) -> int:  # type: ignore[override]
        """The number of counters."""
        return self.inner.width

    @property
    def is_simulated(self) -> bool:
        """Whether a generator makes the draws."""
        return self.inner.is_simulated

    @property
    def most_increment(self) -> int:
        """The largest increment of one counter at one step: scaled, it fits 64 bits."""
        last = self._scales(self.inner.buffers.horizon - 1, 1)  # no scale is larger
        return int(_MOST // int(last[0]))

    def start(self) -> _Held:
        """Return the state before the first step."""
        return _Held(np.zeros(self.width), np.zeros(self.width, np.int64), self.inner.start())

    def start_after(self, state: _Held) -> _Held:
        """Return a state before the first step, whose draws follow those of ``state``."""
        inner = self.inner.start_after(state.inner)
        return _Held(np.zeros(self.width), np.zeros(self.width, np.int64), inner)

    def outputs(
        self,
        increments: NDArray[np.int64],
        before: NDArray[np.int64],
        at: int,
        state: _Held,
    ) -> tuple[NDArray[np.float64], _Held]:
        """Return the noisy running sums after some steps, (K, W), and the state after them."""
        noise, inner = self.inner.on_lattice(increments.shape[0], at, state.inner)
        scales = self._scales(at, increments.shape[0])[:, None]
        # These increments are all that the mechanism releases, in integers.
        released = np.diff(noise, axis=0, prepend=state.noise[None]) + scales * increments
        sums = np.cumsum(np.vstack([state.sums, released / scales]), axis=0)[1:]
        return sums, _Held(sums[-1].copy(), noise[-1].copy(), inner)

    def deviation(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the standard deviation of the noise at some steps."""
        variance = self.inner.draws.law.variance * 4.0**-self.inner.bits
        return np.sqrt(variance * _variances(self.inner.buffers)[steps - 1])

    def difference_deviation(
        self, first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the standard deviation of the noise at ``last`` minus the noise at ``first``.

        O(last) for each last step, once.
        """
        variance = self.inner.draws.law.variance * 4.0**-self.inner.bits
        out = np.empty(last.shape)
        for end in np.unique(last):
            here = last == end
            out[here] = _variances_until(self.inner.buffers, int(end))[first[here] - 1]
        return np.sqrt(variance * out)

    def describe(self, state: _Held) -> dict[str, Any]:
        """Return the state for ``restored``."""
        return {
            "sums": state.sums.view(np.int64).tolist(),  # the bits: all numbers are integers
            "noise": state.noise.tolist(),
            "inner": self.inner.describe(state.inner),
        }

    def restored(self, at: int, stored: dict[str, Any]) -> tuple[StreamNoise, _Held]:
        """Return noise like this one, and the state that was described."""
        rows = [
            [_check.integer(name, value, -(2**63), 2**63 - 1) for value in stored[name]]
            for name in ("sums", "noise")
        ]
        if [len(row) for row in rows] != [self.width, self.width]:
            raise FormatError("a saved stream with another number of counters")
        sums = np.array(rows[0], np.int64).view(np.float64)
        if not np.isfinite(sums).all():
            raise FormatError("a saved stream with an output that is no number")
        inner, held = self.inner.again(stored["inner"])
        return RescaledNoise(inner), _Held(sums, np.array(rows[1], np.int64), held)

    def _scales(self, at: int = 0, count: int | None = None) -> NDArray[np.int64]:
        return _scales(self.inner.buffers, self.inner.bits, at, count)


class _Grid(NamedTuple):
    """The factor of a step, by the least of these counts that is not below those left with it."""

    counts: NDArray[np.int64]
    factors: NDArray[np.float64]


@lru_cache(maxsize=16)
def _grid(buffers: Buffers) -> _Grid:
    """Return by how much steps may be scaled up: at least 1, and rounded down.

    A column of step s has the squares of T - s terms. Between two counts of a grid, the larger
    count's norm stands for all.
    """
    last = buffers.horizon
    counts = np.arange(1, min(last, _EACH) + 1)
    if last > _EACH:
        count = int(np.ceil(np.log(last / _EACH) / np.log(_GRID))) + 1
        coarse = np.unique(np.ceil(np.geomspace(_EACH, last, count)).astype(np.int64))
        counts = np.unique(np.append(counts, np.minimum(coarse, last)))
    norms = np.sqrt(buffers.squares(counts))
    return _Grid(counts, np.maximum(norms[-1] / norms * (1.0 - 2.0**-20), 1.0))


def _factors(buffers: Buffers, at: int = 0, count: int | None = None) -> NDArray[np.float64]:
    """Return those of steps at + 1, ..., at + count; of all later steps without a count."""
    grid = _grid(buffers)
    first = buffers.horizon - at
    left = np.arange(first, 0 if count is None else first - count, -1)
    return grid.factors[np.searchsorted(grid.counts, left)]


def _scales(
    buffers: Buffers, bits: int, at: int = 0, count: int | None = None
) -> NDArray[np.int64]:
    """Return the scaled units of these steps in units of the lattice, (count,)."""
    return np.floor(_factors(buffers, at, count) * 2.0**bits).astype(np.int64)


@lru_cache(maxsize=16)
def _variances_until(buffers: Buffers, end: int) -> NDArray[np.float64]:
    """Return the variance of the output at ``end`` minus that of each step up to it, (end,)."""
    out = np.empty(end)
    factors = 1.0 / _factors(buffers)[:end]
    rescaled_differences(factors, buffers.zeros, buffers.shares, buffers.level, out)
    return out


@lru_cache(maxsize=16)
def _variances(buffers: Buffers) -> NDArray[np.float64]:
    """Return the variance of each output, (T,), for draws of variance 1 in counts."""
    out = np.empty(buffers.horizon)
    rescaled_variances(1.0 / _factors(buffers), buffers.zeros, buffers.shares, out)
    return out
