"""One party's walk down the trees of many clients' comparison functions, one level at a time.

Blocks are those of ``generation``. Nodes come first and clients second: block n C + c is node n of
client c. Sums over clients are modulo 2^64, the same in any order.
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
        (C, 2) set to the seeds.
    corrections
        (D, 2, C, 2) set to what is added to left and right children's blocks.
    numbers
        (D, C) set to what is added to numbers.
    leaves
        (w / 2, C, 2) set to what is added to the w outputs of a leaf.
    """
    levels, clients = numbers.shape
    control = 2 + 3 * levels
    for c in range(clients):
        key = keys[start + c]
        states[c, 0], states[c, 1] = key[0], key[1]
        for level in range(levels):
            word = key[2 + 3 * level]
            right_control = (key[control] >> np.uint64(level)) & _ONE
            corrections[level, 0, c, 0] = word
            corrections[level, 1, c, 0] = (word & _UPPER) | right_control
            corrections[level, 0, c, 1] = corrections[level, 1, c, 1] = key[3 + 3 * level]
            numbers[level, c] = key[4 + 3 * level]
        for block in range(leaves.shape[0]):
            leaves[block, c, 0] = key[control + 1 + 2 * block]
            leaves[block, c, 1] = key[control + 2 + 2 * block]


@inner
def _child(
    node: int,
    at: int,
    side: int,
    child: int,
    states: NDArray[np.uint64],
    sums: NDArray[np.uint64],
    encrypted: NDArray[np.uint64],
    corrections: NDArray[np.uint64],
    numbers: NDArray[np.uint64],
    children: NDArray[np.uint64],
    child_sums: NDArray[np.uint64],
) -> None:
    """Make a node's child, which goes to ``child``; what is encrypted of the node is at ``at``."""
    clients, groups = numbers.size, sums.shape[1]
    width = clients // groups
    state = states[node * clients : (node + 1) * clients]
    block = encrypted[side, at * clients : (at + 1) * clients]
    number = encrypted[2, at * clients : (at + 1) * clients]
    made = children[child * clients : (child + 1) * clients]
    correction = corrections[side]
    for group in range(groups):
        total = sums[node, group]
        for c in range(group * width, (group + 1) * width):
            corrects = _ZERO - (state[c, 0] & _ONE)  # a mask
            made[c, 0] = block[c, 0] ^ state[c, 0] ^ (correction[c, 0] & corrects)
            made[c, 1] = block[c, 1] ^ state[c, 1] ^ (correction[c, 1] & corrects)
            total += (number[c, side] ^ state[c, side]) + (numbers[c] & corrects)
        child_sums[child, group] = total


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
        (P C, 2) the nodes' blocks.
    sums
        (P, G) what each of G groups of C / G clients has added up on its way to a node.
    encrypted
        (3, R, 2) ``states[first C : last C]`` under the keys of left children, right children and
        numbers, as far as there are such children.
    corrections, numbers
        (2, C, 2) and (C,), of the level, of ``unpack``.
    lefts, rights
        Nodes below ``lefts`` have a left child, those from ``rights`` on a right one.
    places
        (K,) of each child, left ones first, where it goes.
    children, child_sums
        (K C, 2) and (K, G), set at the places of the children that are made.

    Notes
    -----
    O((last - first) C).
    """
    for node in range(first, last):
        at = node - first
        if node < lefts:
            _child(
                node,
                at,
                0,
                places[node],
                states,
                sums,
                encrypted,
                corrections,
                numbers,
                children,
                child_sums,
            )
        if node >= rights:
            _child(
                node,
                at,
                1,
                places[lefts + node - rights],
                states,
                sums,
                encrypted,
                corrections,
                numbers,
                children,
                child_sums,
            )


@kernel
def add_outputs(
    first: int,
    last: int,
    states: NDArray[np.uint64],
    sums: NDArray[np.uint64],
    encrypted: NDArray[np.uint64],
    corrections: NDArray[np.uint64],
    at: int,
    step: int,
    outputs: NDArray[np.uint64],
) -> None:
    """Add two outputs of each of the leaves ``first``, ..., ``last`` - 1.

    Parameters
    ----------
    first, last, states, sums
        As in ``go_down``.
    encrypted
        (R, 2) ``states[first C : last C]`` under the key of a block of outputs.
    corrections
        (C, 2) of that block.
    at, step
        Where the first leaf's outputs go, and how far apart those of neighbours are.
    outputs
        (E, G, 2) added to.

    Notes
    -----
    O((last - first) C).
    """
    clients, groups = corrections.shape[0], sums.shape[1]
    width = clients // groups
    for leaf in range(first, last):
        entry = at + step * (leaf - first)
        state = states[leaf * clients : (leaf + 1) * clients]
        block = encrypted[(leaf - first) * clients : (leaf - first + 1) * clients]
        for group in range(groups):
            zero = one = sums[leaf, group]
            for c in range(group * width, (group + 1) * width):
                corrects = _ZERO - (state[c, 0] & _ONE)  # a mask
                zero += (block[c, 0] ^ state[c, 0]) + (corrections[c, 0] & corrects)
                one += (block[c, 1] ^ state[c, 1]) + (corrections[c, 1] & corrects)
            outputs[entry, group, 0] += zero
            outputs[entry, group, 1] += one
