"""One party's walk down the trees of many clients' comparison functions, one level at a time.

Blocks are those of ``generation``. A row has the 2 C words of C clients' blocks at one node. Loops
are over words, so that they become vector instructions. A mask picks one of the two words of a
block. Sums over clients are modulo 2^64, and the same in any order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_UPPER = np.uint64(2**64 - 2)


@kernel
def unpack(
    keys: NDArray[np.uint64],
    start: int,
    states: NDArray[np.uint64],
    corrections: NDArray[np.uint64],
    numbers: NDArray[np.uint64],
    leaves: NDArray[np.uint64],
) -> None:
    """Lay out some clients' keys by level.

    Parameters
    ----------
    keys
        (n, W) packed keys.
    start
        The first of C clients.
    states
        (1, 2 C) set to the seeds.
    corrections
        (D, 2, 2 C) set to the corrections of left and right children's blocks.
    numbers
        (D, 2 C) set to the corrections of numbers, each twice.
    leaves
        (w / 2, 2 C) set to the corrections of the w outputs of a leaf.
    """
    levels, clients = corrections.shape[0], states.shape[1] // 2
    control = 2 + 3 * levels
    some = keys[start : start + clients]
    _take(some, 0, states[0])
    for level in range(levels):
        at = 2 + 3 * level
        left, right, number = corrections[level, 0], corrections[level, 1], numbers[level]
        _take(some, at, left)
        for c in range(clients):
            right_control = (some[c, control] >> np.uint64(level)) & _ONE
            right[2 * c] = (left[2 * c] & _UPPER) | right_control
            right[2 * c + 1] = left[2 * c + 1]
            number[2 * c] = number[2 * c + 1] = some[c, at + 2]
    for block in range(leaves.shape[0]):
        _take(some, control + 1 + 2 * block, leaves[block])


@inner
def _take(keys: NDArray[np.uint64], at: int, row: NDArray[np.uint64]) -> None:
    """Set a row to two words of each key."""
    for c in range(keys.shape[0]):
        row[2 * c], row[2 * c + 1] = keys[c, at], keys[c, at + 1]


@inner
def _mask(state: NDArray[np.uint64], masks: NDArray[np.uint64]) -> None:
    """Set all bits of both words for the blocks that are corrected: their control bit is set."""
    for c in range(masks.size // 2):
        masks[2 * c] = masks[2 * c + 1] = _ZERO - (state[2 * c] & _ONE)


@inner
def _correct(
    encrypted: NDArray[np.uint64],
    state: NDArray[np.uint64],
    corrections: NDArray[np.uint64],
    masks: NDArray[np.uint64],
    made: NDArray[np.uint64],
) -> None:
    """Set children's blocks."""
    for i in range(masks.size):
        made[i] = encrypted[i] ^ state[i] ^ (corrections[i] & masks[i])


@inner
def _add_up(
    encrypted: NDArray[np.uint64],
    state: NDArray[np.uint64],
    corrections: NDArray[np.uint64],
    masks: NDArray[np.uint64],
    added: NDArray[np.uint64],
) -> None:
    """Set the corrected numbers in blocks, two for each client.

    If there is room for only two, set the sum of the first numbers and the sum of the second ones.
    """
    if added.size == masks.size:
        for i in range(masks.size):
            added[i] = (encrypted[i] ^ state[i]) + (corrections[i] & masks[i])
        return
    both = first = _ZERO
    for i in range(masks.size):
        number = (encrypted[i] ^ state[i]) + (corrections[i] & masks[i])
        both += number
        first += number & (np.uint64(i & 1) - _ONE)  # if i is even, all bits of the mask are 1
    added[0], added[1] = first, both - first


@kernel
def go_down(
    first: int,
    last: int,
    states: NDArray[np.uint64],
    sums: NDArray[np.uint64],
    encrypted: NDArray[np.uint64],
    corrections: NDArray[np.uint64],
    numbers: NDArray[np.uint64],
    lefts: int,
    rights: int,
    places: NDArray[np.int64],
    children: NDArray[np.uint64],
    child_sums: NDArray[np.uint64],
) -> None:
    """Make the children of the nodes ``first``, ..., ``last`` - 1 of a level.

    Parameters
    ----------
    first, last
        The range of nodes, out of P.
    states
        (P, 2 C) the nodes' blocks.
    sums
        (P, G) the sums on the way to each node: of each client if G = C, or of all if G = 1.
    encrypted
        (., R, 2 C) ``states[first:last]`` under the keys of left children, right children and
        numbers, as far as there are such children.
    corrections, numbers
        (2, 2 C) and (2 C,): those of the level, from ``unpack``.
    lefts, rights
        Nodes below ``lefts`` have a left child, and nodes from ``rights`` on have a right child.
    places
        (K,) the place of each child, left children first.
    children, child_sums
        (K, 2 C) and (K, G), set at the places of the children that are made.

    Notes
    -----
    O((last - first) C).
    """
    masks = np.empty(numbers.size, np.uint64)
    added = np.empty(2 * sums.shape[1], np.uint64)
    for node in range(first, last):
        at = node - first
        state = states[node]
        left = places[node] if node < lefts else -1
        right = places[lefts + node - rights] if node >= rights else -1
        _mask(state, masks)
        if left >= 0:
            _correct(encrypted[0, at], state, corrections[0], masks, children[left])
        if right >= 0:
            _correct(encrypted[1, at], state, corrections[1], masks, children[right])
        _add_up(encrypted[2, at], state, numbers, masks, added)
        for group in range(sums.shape[1]):
            if left >= 0:
                child_sums[left, group] = sums[node, group] + added[2 * group]
            if right >= 0:
                child_sums[right, group] = sums[node, group] + added[2 * group + 1]


@kernel
def add_outputs(
    first: int,
    last: int,
    states: NDArray[np.uint64],
    sums: NDArray[np.uint64],
    encrypted: NDArray[np.uint64],
    corrections: NDArray[np.uint64],
    blocks: NDArray[np.int64],
    entry: int,
    outputs: NDArray[np.uint64],
) -> None:
    """Add the outputs of the leaves ``first``, ..., ``last`` - 1.

    Parameters
    ----------
    first, last, states, sums
        As in ``go_down``.
    encrypted
        (., R, 2 C) ``states[first:last]`` under the key of each block of outputs.
    corrections
        (w / 2, 2 C) the corrections of all blocks.
    blocks
        The blocks that are encrypted.
    entry
        The place of the first leaf's first block. A leaf's blocks follow each other.
    outputs
        (E, G, 2) added to.

    Notes
    -----
    O((last - first) C) for each block.
    """
    masks = np.empty(corrections.shape[1], np.uint64)
    added = np.empty(2 * sums.shape[1], np.uint64)
    for leaf in range(first, last):
        state = states[leaf]
        _mask(state, masks)
        for rank in range(blocks.size):
            block, correction = encrypted[rank, leaf - first], corrections[blocks[rank]]
            _add_up(block, state, correction, masks, added)
            for group in range(sums.shape[1]):
                outputs[entry, group, 0] += sums[leaf, group] + added[2 * group]
                outputs[entry, group, 1] += sums[leaf, group] + added[2 * group + 1]
            entry += 1
