"""The noise of the dyadic tree, threshold by threshold, in O(log M) numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import ParameterError
from ..kernels.trees import dyadic
from ..kernels.trees import streams as kernels
from ..noise.sources import CryptographicSource, GeneratorSource, source
from ..privacy.allowance import Law

__all__ = ["Held", "OpenNodes", "level_count"]

_BLOCK: Final = 1024  # draws made at a time; more than the levels of any tree
_MOST_DRAWS: Final = 2**16  # the draws that a release makes at a time, for calls that take many
_MOST_NOISE: Final = 2**62
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


class _Block(NamedTuple):
    """Draws number ``first``, ``first + 1``, ... of a tree's noise, made at once."""

    first: int
    size: int
    before: Any  # a study's generator's state before and after; None: no generator
    after: Any


class Held(NamedTuple):
    """The state of the noise at a threshold. All of it is secret."""

    nodes: NDArray[np.int64]  # (L + 1,): the noise of the open nodes, lowest level first
    block: _Block
    ahead: NDArray[np.int64]  # the rest of the block, for nodes that have not opened


@dataclass(frozen=True, slots=True, eq=False)
class OpenNodes:
    """A tree over ``thresholds`` thresholds, and the source of its nodes' noise.

    Draws are made in blocks, and used in order. In a study, the sizes of blocks depend on the tree
    alone. So its noise depends on the generator alone, and not on how calls divide the thresholds.
    The noise of a release cannot be repeated, so a release draws at once what a call takes.

    Parameters
    ----------
    thresholds, base
        The tree.
    law
        The law of each node's noise.
    rng
        None: each block has a cryptographic source of its own. A generator is for studies. Nothing
        else uses it.
    """

    thresholds: int
    base: int
    law: Law
    rng: np.random.Generator | None

    @classmethod
    def checked(cls, thresholds: int, base: int, law: Law, rng: object) -> Self:
        """Return a tree with a child of a generator, or raise what ``source`` raises."""
        source(rng)  # type: ignore[arg-type]  # refuses other types
        child = rng.spawn(1)[0] if isinstance(rng, np.random.Generator) else None
        return cls(thresholds, base, law, child)

    def start(self) -> Held:
        """Return the state before the first threshold, without noise."""
        return Held(
            np.zeros(level_count(self.thresholds, self.base), np.int64),
            _Block(0, 0, None, self._generator_state()),
            np.empty(0, np.int64),
        )

    def add_noise(self, out: NDArray[np.int64], at: int, held: Held) -> Held:
        """Add to thresholds at + 1, at + 2, ... the noise of the nodes that cover each.

        Parameters
        ----------
        out
            (K,), added to in place.
        at
            The number of thresholds before these.
        held
            The state after those. It is not changed, so that an interrupted call can go back.

        Returns
        -------
        Held
            The state after these thresholds.
        """
        nodes, block, ahead = held.nodes.copy(), held.block, held.ahead
        done = 0
        while True:
            more, used = kernels.add_open_nodes(out[done:], ahead, nodes, at + done, self.base)
            done += more
            ahead = ahead[used:]
            if done == out.size:
                return Held(nodes, block, ahead)
            # The next threshold takes all remaining draws and some of the new block.
            first = block.first + block.size
            wanted = _opened(self.thresholds, self.base, at + out.size) - first
            block, draws = self._drawn(first, block.after, wanted)
            ahead = np.concatenate([ahead, draws])

    def describe(self, held: Held) -> dict[str, Any]:
        """Return the input of ``held_again``, in integers, strings, lists and objects.

        Draws ahead have not been used. A release drops them, and a study makes them again.

        Raises
        ------
        ParameterError
            The study's generator is not one of NumPy's own.
        """
        generator = None
        if self.rng is not None:
            name = type(self.rng.bit_generator).__name__
            if _GENERATORS.get(name) is not type(self.rng.bit_generator):
                known = ", ".join(_GENERATORS)
                raise ParameterError("rng", name, f"must be one of {known} to be saved")
            used = held.block.size - held.ahead.size
            generator = {"used": used, "state": held.block.before if used else held.block.after}
        return {"nodes": held.nodes.tolist(), "generator": generator}

    @classmethod
    def held_again(
        cls, thresholds: int, base: int, law: Law, at: int, stored: dict[str, Any]
    ) -> tuple[Self, Held]:
        """Return the tree and the noise after ``at`` thresholds that were described.

        Raises
        ------
        DpcoreError, KeyError, TypeError, ValueError, OverflowError
            The description is not one of this tree at this threshold.
        """
        nodes = np.array(
            [_check.integer("nodes", v, -_MOST_NOISE, _MOST_NOISE) for v in stored["nodes"]]
        )
        if nodes.size != level_count(thresholds, base):
            raise ParameterError("nodes", nodes.size, "must be one for each level")
        opened = _opened(thresholds, base, at)
        nothing = np.empty(0, np.int64)
        if stored["generator"] is None:
            return cls(thresholds, base, law, None), Held(
                nodes, _Block(opened, 0, None, None), nothing
            )
        used = _check.integer("used", stored["generator"]["used"], 0, min(_BLOCK, opened))
        state = stored["generator"]["state"]
        bit_generator = _GENERATORS[state["bit_generator"]](0)
        bit_generator.state = state
        tree = cls(thresholds, base, law, np.random.Generator(bit_generator))
        if used == 0:
            return tree, Held(nodes, _Block(opened, 0, None, state), nothing)
        block, draws = tree._drawn(opened - used, state)
        return tree, Held(nodes, block, draws[used:])

    def _drawn(self, first: int, before: Any, wanted: int = 0) -> tuple[_Block, NDArray[np.int64]]:
        """Draw a block from number ``first`` on. A release draws as many as wanted, within bounds.

        The generator is set back to its state ``before``: an interrupted call may have moved it.
        """
        nodes = int(dyadic.node_count(self.thresholds, self.base))
        size = _BLOCK if self.rng else min(max(_BLOCK, wanted), _MOST_DRAWS)
        draws = np.empty(min(size, nodes - first), np.int64)
        if self.rng is None:
            self.law.fill(draws, CryptographicSource())
        else:
            self.rng.bit_generator.state = before
            self.law.fill(draws, GeneratorSource(self.rng))
        return _Block(first, draws.size, before, self._generator_state()), draws

    def _generator_state(self) -> Any:
        return None if self.rng is None else _plain(self.rng.bit_generator.state)


def level_count(thresholds: int, base: int) -> int:
    """Return L + 1 with L = ceil(log_base thresholds), the number of nodes over a threshold."""
    count = 1
    while thresholds > 1:
        thresholds = -(-thresholds // base)
        count += 1
    return count


def _opened(thresholds: int, base: int, at: int) -> int:
    """Return the number of nodes that have opened by threshold ``at``."""
    return sum(-(-at // base**level) for level in range(level_count(thresholds, base)))


def _plain(value: Any) -> Any:
    """Return a generator's state without arrays, which both NumPy and JSON accept."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value
