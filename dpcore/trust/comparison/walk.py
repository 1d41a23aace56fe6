"""One thread's walk down the trees of some clients at a time, and the memory for it."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.sharing import walk as kernels
from . import layout
from .keys import Keys
from .plan import Leaves, Level, Plan
from .prg import LEFT, NUMBERS, RIGHT, Ciphers

__all__ = ["Walk", "clients_at_a_time"]

_MOST_CLIENTS: Final = 2**11  # clients at a time; their keys, laid out by level, stay in a cache
_WIDEST: Final = 2**17  # the largest number of blocks in a level
# Blocks that are encrypted at once, so that a kernel finds them in the cache.
_AT_ONCE: Final = 2**13


def clients_at_a_time(plan: Plan) -> int:
    """Return for how many clients at a time a walk follows the plan."""
    return max(1, min(_MOST_CLIENTS, _WIDEST // plan.widest))


class _Nodes(NamedTuple):
    """The blocks of a level's nodes, (P, 2 C), also as bytes, and their sums, (P, G)."""

    states: NDArray[np.uint64]
    plain: memoryview
    sums: NDArray[np.uint64]


class Walk:
    """A walk down the trees of some clients at a time.

    Parameters
    ----------
    keys
        One party's keys.
    plan
        The plan, which says what nodes are needed.
    clients
        The most clients at a time.
    groups
        1 to sum over clients; ``clients`` to keep them apart.
    """

    def __init__(self, keys: Keys, plan: Plan, clients: int, groups: int) -> None:
        self._keys, self._plan, self._ciphers = keys, plan, Ciphers()
        self._nodes = max(1, _AT_ONCE // clients)
        self._words = 2 * clients
        rows = 3 * layout.levels(keys.bits) + layout.outputs(keys.bits) // 2
        self._key_rows = np.empty(rows * self._words, np.uint64)
        self._room = np.empty(8 * self._nodes * clients + 2, np.uint64)
        self._states = np.empty((2, 2 * plan.widest * clients), np.uint64)
        self._sums = np.empty((2, plan.widest * groups), np.uint64)
        self.outputs = np.zeros((plan.entries, groups, 2), np.uint64)
        """The sums of outputs, (E, G, 2), at the places that the plan gives."""

    def add(self, start: int, stop: int) -> None:
        """Add the outputs of the clients ``start``, ..., ``stop`` - 1."""
        words, levels = 2 * (stop - start), layout.levels(self._keys.bits)
        rows = self._key_rows[: self._key_rows.size // self._words * words].reshape(-1, words)
        corrections = rows[: 2 * levels].reshape(levels, 2, words)
        numbers, leaves = rows[2 * levels : 3 * levels], rows[3 * levels :]
        nodes = self._level(0, 1, words)
        kernels.unpack(self._keys.words, start, nodes.states, corrections, numbers, leaves)
        nodes.sums[:] = 0
        for i, level in enumerate(self._plan.levels):
            below = self._level(i + 1, level.places.size, words)
            self._go_down(level, nodes, corrections[i], numbers[i], below)
            nodes = below
        for run in self._plan.leaves:
            self._add_outputs(run, nodes, leaves)

    def _level(self, level: int, nodes: int, words: int) -> _Nodes:
        """Return room for a level, in one of two places that take turns."""
        states = self._states[level % 2, : nodes * words]
        groups = min(words // 2, self.outputs.shape[1])
        sums = self._sums[level % 2, : nodes * groups].reshape(nodes, groups)
        return _Nodes(states.reshape(nodes, words), states.view(np.uint8).data, sums)

    def _encrypt(self, which: int, nodes: _Nodes, start: int, stop: int, to: int) -> None:
        """Encrypt the blocks of some nodes, into a row of the room for encrypted blocks."""
        if start < stop:
            row = 8 * nodes.states.shape[1]
            room = self._room.view(np.uint8).data[row * to :]
            self._ciphers.encrypt(which, nodes.plain[row * start : row * stop], room)

    def _encrypted(self, words: int) -> NDArray[np.uint64]:
        return self._room[: 4 * self._nodes * words].reshape(4, self._nodes, words)

    def _go_down(
        self,
        level: Level,
        nodes: _Nodes,
        corrections: NDArray[np.uint64],
        numbers: NDArray[np.uint64],
        below: _Nodes,
    ) -> None:
        step, encrypted = self._nodes, self._encrypted(numbers.size)
        needed = (
            (LEFT, 0, level.lefts),
            (RIGHT, level.rights, level.nodes),
            (NUMBERS, 0, level.nodes),
        )
        for first in range(0, level.nodes, step):
            last = min(first + step, level.nodes)
            for which, start, stop in needed:
                start, stop = max(first, start), min(stop, last)
                self._encrypt(which, nodes, start, stop, which * step + start - first)
            kernels.go_down(
                first,
                last,
                nodes.states,
                nodes.sums,
                encrypted,
                corrections,
                numbers,
                level.lefts,
                level.rights,
                level.places,
                below.states,
                below.sums,
            )

    def _add_outputs(self, run: Leaves, nodes: _Nodes, corrections: NDArray[np.uint64]) -> None:
        step, encrypted = self._nodes, self._encrypted(corrections.shape[1])
        blocks = np.array(run.blocks)
        for first in range(run.first, run.last, step):
            last = min(first + step, run.last)
            for rank, block in enumerate(run.blocks):
                self._encrypt(block, nodes, first, last, rank * step)
            entry = run.entry + len(blocks) * (first - run.first)
            kernels.add_outputs(
                first,
                last,
                nodes.states,
                nodes.sums,
                encrypted,
                corrections,
                blocks,
                entry,
                self.outputs,
            )
