"""Correction words of comparison functions, which make two parties' states equal or not.

A *block* is two 64-bit words; the lowest bit of its first word is the control bit. Arithmetic is
modulo 2^64. There are no branches on values: 0 - bit is a mask of 64 bits. The names are those of
docs/proofs/function-sharing.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_UPPER = np.uint64(2**64 - 2)


@inner
def _signed(bit: np.uint64, number: np.uint64) -> np.uint64:
    """Return (-1)^bit number."""
    mask = _ZERO - bit
    return (number ^ mask) - mask


@kernel
def correct_level(
    values: NDArray[np.uint64],
    shift: int,
    states: NDArray[np.uint64],
    encrypted: NDArray[np.uint64],
    gaps: NDArray[np.uint64],
    level: int,
    levels: int,
    keys: NDArray[np.uint64],
) -> None:
    """Write the correction words of a level, and go down to the next nodes on the values' paths.

    Parameters
    ----------
    values
        (C,) one value of each client.
    shift
        The place of the bit that tells whether a value's next node is a right child.
    states
        (2, C, 2) both parties' blocks; overwritten by those of the next nodes.
    encrypted
        (3, 2, C, 2) ``states`` under the keys of left children, right children and numbers.
    gaps
        (C,) the sum of party 0 minus the sum of party 1; updated.
    level, levels
        The level, 0 at the root, and the number of levels.
    keys
        (C, W) keys; the words of this level, and its bit of the control word, are written.

    Notes
    -----
    Invariant: on a value's path the parties' control bits differ. Off the path their blocks are
    equal, and their sums differ by the result of the comparison. O(C).
    """
    at, control = 2 + 3 * level, 2 + 3 * levels
    left, right, numbers = encrypted[0], encrypted[1], encrypted[2]
    for c in range(values.size):
        bit = (values[c] >> np.uint64(shift)) & _ONE  # 1: the right child stays on the path
        goes_right = _ZERO - bit
        s00, s01, s10, s11 = states[0, c, 0], states[0, c, 1], states[1, c, 0], states[1, c, 1]
        l00, l01, l10, l11 = (
            left[0, c, 0] ^ s00,
            left[0, c, 1] ^ s01,
            left[1, c, 0] ^ s10,
            left[1, c, 1] ^ s11,
        )
        r00, r01, r10, r11 = (
            right[0, c, 0] ^ s00,
            right[0, c, 1] ^ s01,
            right[1, c, 0] ^ s10,
            right[1, c, 1] ^ s11,
        )
        left_control = (l00 ^ l10 ^ bit ^ _ONE) & _ONE
        right_control = (r00 ^ r10 ^ bit) & _ONE
        # The lost children must become equal, so the correction is their difference.
        word0 = (l00 ^ l10) & goes_right | (r00 ^ r10) & ~goes_right
        word1 = (l01 ^ l11) & goes_right | (r01 ^ r11) & ~goes_right
        lost = (numbers[1, c, 0] ^ s10) - (numbers[0, c, 0] ^ s00)
        kept = (numbers[1, c, 1] ^ s11) - (numbers[0, c, 1] ^ s01)
        swap = (lost ^ kept) & ~goes_right
        lost, kept = lost ^ swap, kept ^ swap
        one = s10 & _ONE  # party 1's control bit
        # Thresholds that leave the path to the right are above the value.
        number = _signed(one, lost - gaps[c] + (bit ^ _ONE))
        gaps[c] += _signed(one, number) - kept
        word0 &= _UPPER
        keys[c, at] = word0 | left_control
        keys[c, at + 1] = word1
        keys[c, at + 2] = number
        keys[c, control] |= right_control << np.uint64(level)
        kept_control = left_control ^ ((left_control ^ right_control) & goes_right)
        word0 |= kept_control
        zero_corrects, one_corrects = _ZERO - (s00 & _ONE), _ZERO - one
        states[0, c, 0] = l00 ^ ((l00 ^ r00) & goes_right) ^ (word0 & zero_corrects)
        states[0, c, 1] = l01 ^ ((l01 ^ r01) & goes_right) ^ (word1 & zero_corrects)
        states[1, c, 0] = l10 ^ ((l10 ^ r10) & goes_right) ^ (word0 & one_corrects)
        states[1, c, 1] = l11 ^ ((l11 ^ r11) & goes_right) ^ (word1 & one_corrects)


@kernel
def correct_leaves(
    values: NDArray[np.uint64],
    states: NDArray[np.uint64],
    encrypted: NDArray[np.uint64],
    gaps: NDArray[np.uint64],
    block: int,
    width: int,
    keys: NDArray[np.uint64],
) -> None:
    """Write two of the correction words of the leaves on the values' paths.

    Parameters
    ----------
    values, states, gaps, keys
        As in ``correct_level``.
    encrypted
        (2, C, 2) ``states`` under the key of this block.
    block
        The block of the leaf, which has its outputs 2 block and 2 block + 1.
    width
        The number of outputs of a leaf, a power of 2. Their words are the last ones of a key.

    Notes
    -----
    Afterwards both parties' outputs at j differ by 1 if j >= value, and are equal if not. O(C).
    """
    at = keys.shape[1] - width + 2 * block
    last = np.uint64(width - 1)
    for c in range(values.size):
        one = states[1, c, 0] & _ONE
        for word in range(2):
            zeros = encrypted[0, c, word] ^ states[0, c, word]
            ones = encrypted[1, c, word] ^ states[1, c, word]
            above = np.uint64(np.uint64(2 * block + word) >= (values[c] & last))
            keys[c, at + word] = _signed(one, ones - zeros - gaps[c] + above)
