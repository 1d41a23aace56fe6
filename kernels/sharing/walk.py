"""One party's way down the trees of many clients' comparison functions, one level at a time.

Blocks are those of ``generation``. A row has the 2 C words of C clients' blocks at one node. Loops
are over words, so that they become vector instructions: what is meant for one of a block's words is
picked by a mask of it. Sums over clients are modulo 2^64, the same in any order.
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
        (D, 2, 2 C) set to what left and right children's blocks are corrected by.
    numbers
        (D, 2 C) set to what numbers are corrected by, twice.
    leaves
        (w / 2, 2 C) set to what the w outputs of a leaf are corrected by.
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
    """Set all bits of both words of the blocks that are corrected: whose control bit is set."""
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
    """Set the numbers in blocks, corrected, two for each client; or, if there is room for two only,
    the sums of the first and of the second ones.
    """
    if added.size == masks.size:
        for i in range(masks.size):
            added[i] = (encrypted[i] ^ state[i]) + (corrections[i] & masks[i])
        return
    both = first = _ZERO
    for i in range(masks.size):
        number = (encrypted[i] ^ state[i]) + (corrections[i] & masks[i])
        both += number
        first += number & (np.uint64(i & 1) - _ONE)  # all bits are set if i is even
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
        Which of P nodes.
    states
        (P, 2 C) the nodes' blocks.
    sums
        (P, G) what has been added up on the way to a node: by each client, G = C, or by all, G = 1.
    encrypted
        (., R, 2 C) ``states[first:last]`` under the keys of left children, right children and
        numbers, as far as there are such children.
    corrections, numbers
        (2, 2 C) and (2 C,): the level's, of ``unpack``.
    lefts, rights
        Nodes below ``lefts`` have a left child, those from ``rights`` on a right one.
    places
        (K,) of each child, left ones first, where it goes.
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
    """Add outputs of the leaves ``first``, ..., ``last`` - 1.

    Parameters
    ----------
    first, last, states, sums
        As in ``go_down``.
    encrypted
        (., R, 2 C) ``states[first:last]`` under the key of each block of outputs.
    corrections
        (w / 2, 2 C) of all blocks.
    blocks
        Which blocks are encrypted.
    entry
        Where the first leaf's first block goes; a leaf's blocks come one after the other.
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
