"""Sums of the last steps of a stream: two releases of prefix sums, less what is too old.

Time is cut into epochs of as many steps as the window has. Each epoch has fresh noise of prefix
sums. The window at step j of an epoch has the last steps of the epoch before it, whose sum is a
difference of two released sums, and the first j steps of the present one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import FormatError
from .base import ONE, Change, StreamMechanism, StreamNoise, known_horizon

__all__ = ["bits_of", "checked_window", "doubles_of", "noise_of"]

_MOST_WINDOW: Final = 2**20  # the outputs of so many steps are held


def checked_window(window: object) -> int | None:
    """Return a number of steps as a Python integer, or None, or refuse it."""
    return None if window is None else _check.integer("window", window, 1, _MOST_WINDOW)


def noise_of(
    mechanism: StreamMechanism,
    horizon: int | None,
    window: int | None,
    rng: np.random.Generator | None,
    *,
    width: int = 1,
    change: Change = ONE,
) -> StreamNoise:
    """Return the noise of the sums of the last ``window`` steps; None: of all steps so far.

    If no step of the horizon ever gets too old, it is that of all steps so far.
    """
    steps, last = known_horizon(horizon), checked_window(window)
    if last is None or (steps is not None and steps <= last):
        return mechanism.noise(steps, rng, width=width, change=change)
    # A record that moves to another epoch shifts the noise of both.
    change = change._replace(apart=True, epochs=2)
    return _WindowNoise(last, mechanism.noise(last, rng, width=width, change=change))


class _Held(NamedTuple):
    """The state after a step. All of it but ``left`` and ``outputs`` is secret."""

    inner: Any
    start: NDArray[np.int64]  # (W,) the exact sums before the epoch, modulo 2^64
    left: NDArray[np.float64]  # (w - j, W) the prefix sums of the epoch before, from step j + 1 on
    outputs: NDArray[np.float64]  # (j, W) the prefix sums of this epoch


@dataclass(frozen=True, slots=True, eq=False)
class _WindowNoise(StreamNoise):
    """The sums of the last ``window`` steps, from noise of prefix sums of so many steps.

    Before the first epoch, all prefix sums are 0.
    """

    window: int
    inner: StreamNoise

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.inner.width

    @property
    def is_simulated(self) -> bool:
        return self.inner.is_simulated

    @property
    def most_increment(self) -> int:
        return self.inner.most_increment

    def start(self) -> _Held:
        return self._first(self.inner.start())

    def start_after(self, state: _Held) -> _Held:
        return self._first(self.inner.start_after(state.inner))

    def outputs(
        self,
        increments: NDArray[np.int64],
        before: NDArray[np.int64],
        at: int,
        state: _Held,
    ) -> tuple[NDArray[np.float64], _Held]:
        out = np.empty(increments.shape)
        done = 0
        while done < len(out):
            if state.left.shape[0] == 0:
                inner = self.inner.start_after(state.inner)
                state = _Held(inner, before, state.outputs, state.outputs[:0])
            part = slice(done, done + state.left.shape[0])
            came = increments[part]
            out[part], state = self._within(came, before, state)
            before = before + came.sum(axis=0)
            done += came.shape[0]
        return out, state

    def deviation(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        epochs, within = np.divmod(steps - 1, self.window)
        old = self._from_end(within + 1) ** 2 * (epochs > 0)
        return np.sqrt(old + self.inner.deviation(within + 1) ** 2)

    def difference_deviation(
        self, first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        epochs, within = np.divmod(np.stack([first, last]) - 1, self.window)
        (early, late), (i, j) = epochs, within + 1
        low, high = np.minimum(i, j), np.maximum(i, j)
        apart = self.inner.difference_deviation(low, high) ** 2
        of_last = self.inner.deviation(j) ** 2
        # In one epoch: both move by as much, in this epoch and in the one before it.
        same = apart * (1 + (early > 0))
        # In the next one: the noise of the first epoch is that at its end, less that at i and j.
        shared = self._from_end(i) ** 2 + self._from_end(j) ** 2 - apart
        shared += self.inner.deviation(i) ** 2 + of_last
        shared -= self.inner.deviation(np.full_like(i, self.window)) ** 2
        following = self._from_end(i) ** 2 * (early > 0) + np.maximum(shared, 0.0) + of_last
        # Later on, nothing is shared.
        later = self.deviation(first) ** 2 + self.deviation(last) ** 2
        gap = late - early
        return np.sqrt(np.where(gap == 0, same, np.where(gap == 1, following, later)))

    def describe(self, state: _Held) -> dict[str, Any]:
        return {
            "inner": self.inner.describe(state.inner),
            "start": state.start.tolist(),
            "left": bits_of(state.left),
            "outputs": bits_of(state.outputs),
        }

    def restored(self, at: int, stored: dict[str, Any]) -> tuple[StreamNoise, _Held]:
        taken = (at - 1) % self.window + 1 if at > 0 else 0  # of an epoch that may be over
        inner, held = self.inner.restored(taken, stored["inner"])
        start = [_check.integer("start", value, -(2**63), 2**63 - 1) for value in stored["start"]]
        if len(start) != self.width:
            raise FormatError("a saved stream with another number of counters")
        left = doubles_of(stored["left"], (self.window - taken, self.width))
        outputs = doubles_of(stored["outputs"], (taken, self.width))
        state = _Held(held, np.array(start, np.int64), left, outputs)
        return replace(self, inner=inner), state

    def _first(self, inner: Any) -> _Held:
        nothing = np.zeros((1, self.width))
        left = np.broadcast_to(nothing, (self.window, self.width))
        return _Held(inner, np.zeros(self.width, np.int64), left, nothing[:0])

    def _within(
        self, increments: NDArray[np.int64], before: NDArray[np.int64], state: _Held
    ) -> tuple[NDArray[np.float64], _Held]:
        """Return the outputs of steps of the present epoch, and the state after them."""
        outputs, inner = self.inner.outputs(
            increments, before - state.start, state.outputs.shape[0], state.inner
        )
        count = outputs.shape[0]
        out = outputs + (state.left[-1] - state.left[:count])
        kept = np.concatenate([state.outputs, outputs])
        return out, _Held(inner, state.start, state.left[count:], kept)

    def _from_end(self, within: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the deviation of the sum of an epoch's steps after some of its steps."""
        return self.inner.difference_deviation(within, np.full_like(within, self.window))


def bits_of(outputs: NDArray[np.float64]) -> list[list[int]]:
    """Return the bits of doubles: saved files have integers only."""
    bits: list[list[int]] = np.ascontiguousarray(outputs).view(np.int64).tolist()
    return bits


def doubles_of(stored: Any, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return the doubles that ``bits_of`` has written, or refuse them."""
    rows = [[_check.integer("outputs", v, -(2**63), 2**63 - 1) for v in row] for row in stored]
    if len(rows) != shape[0] or any(len(row) != shape[1] for row in rows):
        raise FormatError("a saved stream with another number of outputs")
    doubles = np.array(rows, np.int64).reshape(shape).view(np.float64)
    if not np.isfinite(doubles).all():
        raise FormatError("a saved stream with an output that is no number")
    return doubles
