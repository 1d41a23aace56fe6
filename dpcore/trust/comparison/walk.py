"""One thread's way down the trees of some clients at a time, and the memory that it takes."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...kernels.sharing import walk as kernels
from . import layout
from .keys import Keys
from .plan import Leaves, Level, Plan
from .prg import BLOCK, LEFT, NUMBERS, RIGHT, Ciphers

__all__ = ["Walk", "clients_at_a_time"]

_WIDEST: Final = 2**15  # blocks of a level
_AT_ONCE: Final = 2**12  # blocks that are encrypted at once, for a kernel to find them in the cache


def clients_at_a_time(found: Plan) -> int:
    """Return for how many clients at a time the plan is followed."""
    return max(1, _WIDEST // found.widest)


class Walk:
    """What goes down the trees.

    Parameters
    ----------
    keys
        A party's.
    found
        Which nodes are needed.
    clients
        For how many clients at a time, at most.
    groups
        1 to sum over clients, or ``clients`` not to.
    """

    def __init__(self, keys: Keys, found: Plan, clients: int, groups: int) -> None:
        self._keys, self._plan, self._ciphers = keys, found, Ciphers()
        self._nodes = max(1, _AT_ONCE // clients)
        self._room = np.empty((3 * self._nodes * clients + 1, 2), np.uint64)
        self._states = np.empty((2, found.widest * clients, 2), np.uint64)
        self._sums = np.empty((2, found.widest * groups), np.uint64)
        self.outputs = np.zeros((found.entries, groups, 2), np.uint64)
        """What has been added up, (E, G, 2), where the plan says."""

    def add(self, start: int, stop: int) -> None:
        """Add the outputs of the clients ``start``, ..., ``stop`` - 1."""
        clients, bits = stop - start, self._keys.bits
        levels, blocks = layout.levels(bits), layout.outputs(bits) // 2
        corrections = np.empty((levels, 2, clients, 2), np.uint64)
        numbers = np.empty((levels, clients), np.uint64)
        leaves = np.empty((blocks, clients, 2), np.uint64)
        groups = min(clients, self.outputs.shape[1])
        states, sums = self._at(0, 1, clients, groups)
        kernels.unpack(self._keys.words, start, states, corrections, numbers, leaves)
        sums[:] = 0
        for i, level in enumerate(self._plan.levels):
            below = self._at((i + 1) % 2, level.places.size, clients, groups)
            self._go_down(level, (states, sums), (corrections[i], numbers[i]), below)
            states, sums = below
        for run in self._plan.leaves:
            self._add_outputs(run, states, sums, leaves)

    def _at(
        self, which: int, nodes: int, clients: int, groups: int
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return the blocks and the sums of a level, in one of two places that take turns."""
        sums = self._sums[which, : nodes * groups].reshape(nodes, groups)
        return self._states[which, : nodes * clients], sums

    def _go_down(
        self,
        level: Level,
        above: tuple[NDArray[np.uint64], NDArray[np.uint64]],
        corrections: tuple[NDArray[np.uint64], NDArray[np.uint64]],
        below: tuple[NDArray[np.uint64], NDArray[np.uint64]],
    ) -> None:
        clients = corrections[1].size
        rows = self._nodes * clients
        encrypted, to = self._room[: 3 * rows].reshape(3, rows, 2), self._room.data.cast("B")
        for first in range(0, level.nodes, self._nodes):
            last = min(first + self._nodes, level.nodes)
            needed = {
                LEFT: (first, level.lefts),
                RIGHT: (level.rights, last),
                NUMBERS: (first, last),
            }
            for which, (start, stop) in needed.items():
                start, stop = max(first, start), min(stop, last)
                at = BLOCK * (which * rows + (start - first) * clients)
                self._ciphers.encrypt(which, above[0], start * clients, stop * clients, to[at:])
            kernels.go_down(
                first,
                last,
                *above,
                encrypted,
                *corrections,
                level.lefts,
                level.rights,
                level.places,
                *below,
            )

    def _add_outputs(
        self,
        run: Leaves,
        states: NDArray[np.uint64],
        sums: NDArray[np.uint64],
        leaves: NDArray[np.uint64],
    ) -> None:
        clients, step, to = leaves.shape[1], len(run.blocks), self._room.data.cast("B")
        for first in range(run.first, run.last, self._nodes):
            last = min(first + self._nodes, run.last)
            for rank, block in enumerate(run.blocks):
                self._ciphers.encrypt(block, states, first * clients, last * clients, to)
                at = run.entry + rank + step * (first - run.first)
                kernels.add_outputs(
                    first, last, states, sums, self._room, leaves[block], at, step, self.outputs
                )
