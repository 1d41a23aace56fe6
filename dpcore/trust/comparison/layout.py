"""The length of a key, and the places of its words (docs/proofs/function-sharing.md, section 2)."""

from __future__ import annotations

from typing import Final

from ... import _check

__all__ = ["MOST_BITS", "control_word", "key_bytes", "leaf_bits", "levels", "outputs"]

MOST_BITS: Final = 32
_MOST_LEAF_BITS: Final = 3


def leaf_bits(bits: int) -> int:
    """Return the binary logarithm of a leaf's outputs: one block is enough for 8 of them."""
    return min(_MOST_LEAF_BITS, bits)


def outputs(bits: int) -> int:
    """Return how many outputs a leaf has."""
    return 1 << leaf_bits(bits)


def levels(bits: int) -> int:
    """Return how many levels of the tree have correction words."""
    return bits - leaf_bits(bits)


def control_word(bits: int) -> int:
    """Return which word of a key has a bit for each level; the words of the leaves follow it."""
    return 2 + 3 * levels(bits)


def key_bytes(bits: int) -> int:
    """Return how many bytes a key has: 8 (3 (bits - k) + 3 + 2^k), where k = min(3, bits).

    Parameters
    ----------
    bits
        Values and thresholds are below 2^bits, 1 <= bits <= 32.

    Raises
    ------
    DtypeError
        ``bits`` is not an integer.
    ParameterError
        ``bits`` is not between 1 and 32.

    Examples
    --------
    >>> from dpcore.trust import comparison
    >>> comparison.key_bytes(8), comparison.key_bytes(24)
    (208, 592)
    """
    bits = _check.integer("bits", bits, 1, MOST_BITS)
    return 8 * (control_word(bits) + 1 + outputs(bits))
