"""Clients: two keys for each value."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _check
from ...errors import ParameterError
from ...kernels.sharing import generation as kernels
from ...noise.sources import source
from . import layout
from .arguments import integers
from .keys import Keys
from .prg import LEFT, NUMBERS, RIGHT, Ciphers

__all__ = ["gen", "keys_from_seeds"]

_CLIENTS: Final = 2**11  # clients at a time; their blocks fit the second-level cache


def gen(values: ArrayLike, bits: int, rng: np.random.Generator | None = None) -> tuple[Keys, Keys]:
    """Return both parties' keys of the functions that are 1 from a value on, and 0 below it.

    Parameters
    ----------
    values
        (n,) one integer for each client, 0 to 2^bits - 1; or a single integer.
    bits
        L: values and thresholds are below 2^L, 1 <= L <= 32.
    rng
        None: seeds from a cryptographic source. A NumPy generator is for studies, because whoever
        can repeat it knows the values. Integer seeds are refused.

    Returns
    -------
    first, second
        The keys of party 0 and of party 1. One party's keys tell nothing about the values. Both
        together tell all values.

    Raises
    ------
    DtypeError
        The values are not integers, or ``rng`` is not a generator.
    ParameterError
        The values have more than one axis, or are not below 2^bits; or ``bits`` is not between 1
        and 32.

    Notes
    -----
    O(n bits). This is the distributed comparison function of Boyle et al., *Function secret
    sharing for mixed-mode and fixed-point secure computation* (Eurocrypt 2021), Fig. 1, with a tree
    that ends early (docs/proofs/function-sharing.md).

    Examples
    --------
    >>> from dpcore.trust import comparison
    >>> first, second = comparison.gen([3, 200, 77], bits=8)
    >>> first, second
    (Keys(of 3 clients, bits=8, party=0), Keys(of 3 clients, bits=8, party=1))
    """
    bits = _check.integer("bits", bits, 1, layout.MOST_BITS)
    numbers = integers("values", values).reshape(-1)
    if numbers.size and not (numbers.min() >= 0 and int(numbers.max()) < 2**bits):
        # The message must not quote private values.
        raise ParameterError("values", "others", f"must be 0 to 2^{bits} - 1")
    seeds = np.empty((2, numbers.size, 2), np.uint64)
    source(rng).fill(seeds.reshape(-1))
    return keys_from_seeds(numbers.astype(np.uint64), seeds, bits)


def keys_from_seeds(
    values: NDArray[np.uint64], seeds: NDArray[np.uint64], bits: int
) -> tuple[Keys, Keys]:
    """Return the keys that begin with the given random blocks, (2, n, 2); these are overwritten."""
    for party in (0, 1):
        seeds[party, :, 0] &= np.uint64(2**64 - 2)
        seeds[party, :, 0] |= np.uint64(party)
    first = np.zeros((values.size, layout.key_bytes(bits) // 8), np.uint64)
    ciphers = Ciphers()
    for start in range(0, values.size, _CLIENTS):
        part = slice(start, start + _CLIENTS)
        _correct(values[part], seeds[:, part].copy(), bits, ciphers, first[part])
    second = first.copy()
    first[:, :2], second[:, :2] = seeds
    return Keys(first, bits, 0), Keys(second, bits, 1)


def _correct(
    values: NDArray[np.uint64],
    states: NDArray[np.uint64],
    bits: int,
    ciphers: Ciphers,
    keys: NDArray[np.uint64],
) -> None:
    """Write the correction words of C clients, given the blocks at their roots, (2, C, 2)."""
    levels, width, rows = layout.levels(bits), layout.outputs(bits), 2 * values.size
    room = np.empty(6 * rows + 2, np.uint64)
    encrypted = room[: 6 * rows].reshape(3, 2, values.size, 2)
    blocks, to = states.reshape(-1).view(np.uint8).data, room.view(np.uint8).data
    gaps = np.zeros(values.size, np.uint64)
    for level in range(levels):
        for which in (LEFT, RIGHT, NUMBERS):
            ciphers.encrypt(which, blocks, to[which * len(blocks) :])
        shift = bits - 1 - level
        kernels.correct_level(values, shift, states, encrypted, gaps, level, levels, keys)
    for block in range(width // 2):
        ciphers.encrypt(block, blocks, to)
        kernels.correct_leaves(values, states, encrypted[0], gaps, block, width, keys)
