"""Draws of one law, made in blocks and used in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import ParameterError
from ..noise.sources import CryptographicSource, GeneratorSource, source
from ..privacy.allowance import Law

__all__ = ["Drawn", "Draws", "child_of"]

BLOCK: Final = 1024  # draws that a study makes at a time, and a release at least
_MOST_DRAWS: Final = 2**16  # draws that a release makes at a time, for calls that take many
_GENERATORS: Final = {
    kind.__name__: kind
    for kind in (
        np.random.MT19937,
        np.random.PCG64,
        np.random.PCG64DXSM,
        np.random.Philox,
        np.random.SFC64,
    )
}


class Drawn(NamedTuple):
    """How far the draws are used. All of it is secret."""

    used: int  # of the present block
    rest: NDArray[np.int64]  # draws of the block that are not used
    before: Any  # a study's generator's state before the block and after it; None: no generator
    after: Any


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """The draws of a law, from a source.

    A study makes blocks of 1024 draws, so its noise depends on the generator alone, and not on how
    calls divide the draws. The noise of a release cannot be repeated, so a release draws at once
    what a call takes.

    Parameters
    ----------
    law
        The law of all draws.
    rng
        None: each block has a cryptographic source of its own. A generator is for studies, and
        nothing else uses it (``child_of``).
    """

    law: Law
    rng: np.random.Generator | None

    def start(self) -> Drawn:
        """Return the state before the first draw."""
        state = None if self.rng is None else _plain(self.rng.bit_generator.state)
        return Drawn(0, np.empty(0, np.int64), state, state)

    def take(self, count: int, drawn: Drawn) -> tuple[NDArray[np.int64], Drawn]:
        """Return the next draws, (count,), and the state after them.

        ``drawn`` is not changed, so that an interrupted call can go back.
        """
        out = np.empty(count, np.int64)
        done = min(count, drawn.rest.size)
        out[:done] = drawn.rest[:done]
        used, rest = drawn.used + done, drawn.rest[done:]
        before, after = drawn.before, drawn.after
        while done < count:
            block, before, after = self._block(after, count - done)
            used = min(count - done, block.size)
            out[done : done + used] = block[:used]
            rest = block[used:]
            done += used
        return out, Drawn(used, rest, before, after)

    def describe(self, drawn: Drawn) -> dict[str, Any] | None:
        """Return the input of ``restored``, in integers, strings, lists and objects.

        Draws that are not used are not in it. A release drops them, and a study makes them again.

        Raises
        ------
        ParameterError
            The study's generator is not one of NumPy's own.
        """
        if self.rng is None:
            return None
        name = type(self.rng.bit_generator).__name__
        if _GENERATORS.get(name) is not type(self.rng.bit_generator):
            known = ", ".join(_GENERATORS)
            raise ParameterError("rng", name, f"must be one of {known} to be saved")
        if drawn.rest.size == 0:
            return {"used": 0, "state": drawn.after}
        return {"used": drawn.used, "state": drawn.before}

    @classmethod
    def restored(cls, law: Law, stored: dict[str, Any] | None) -> tuple[Self, Drawn]:
        """Return the draws and the state that were described.

        Raises
        ------
        DpcoreError, KeyError, TypeError, ValueError, OverflowError
            It is no such description.
        """
        if stored is None:
            draws = cls(law, None)
            return draws, draws.start()
        used = _check.integer("used", stored["used"], 0, BLOCK - 1)
        bit_generator = _GENERATORS[stored["state"]["bit_generator"]](0)
        bit_generator.state = stored["state"]
        draws = cls(law, np.random.Generator(bit_generator))
        return draws, draws.take(used, draws.start())[1]

    def _block(self, before: Any, wanted: int) -> tuple[NDArray[np.int64], Any, Any]:
        """Return a block, and the generator's states before and after it.

        The generator is set back to its state ``before``: an interrupted call may have moved it.
        """
        if self.rng is None:
            draws = np.empty(min(max(BLOCK, wanted), _MOST_DRAWS), np.int64)
            self.law.fill(draws, CryptographicSource())
            return draws, None, None
        draws = np.empty(BLOCK, np.int64)
        self.rng.bit_generator.state = before
        self.law.fill(draws, GeneratorSource(self.rng))
        return draws, before, _plain(self.rng.bit_generator.state)


def child_of(rng: np.random.Generator | None) -> np.random.Generator | None:
    """Return a child of a generator, or None; raise what ``source`` raises for other types."""
    source(rng)
    return None if rng is None else rng.spawn(1)[0]


def _plain(value: Any) -> Any:
    """Return a generator's state without arrays, which both NumPy and JSON accept."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value
