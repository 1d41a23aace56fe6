"""Places of labels among public ones, by a table of their range or by a hash of their bits.

A place is the index of the equal public label. Labels that equal none get the place ``none``. Hash
tables have empty slots, so that a search ends. An empty slot holds -1.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel

_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio


@kernel
def place_in_range(
    labels: NDArray[np.int64],
    least: int,
    table: NDArray[np.int32],
    none: int,
    out: NDArray[np.int32],
) -> None:
    """Overwrite ``out``, (n,), with the places of integers.

    Parameters
    ----------
    labels
        (n,) integers.
    least, table
        ``table[k]`` is the place of the label least + k, or ``none``.

    Notes
    -----
    The difference to ``least`` is taken without a sign, so integers below it are too large.
    """
    first, size = np.uint64(np.int64(least)), np.uint64(table.size)
    for i in range(labels.size):
        at = np.uint64(labels[i]) - first
        out[i] = table[at] if at < size else none


@inner
def _start(key: np.uint64, shift: int) -> np.int64:
    """Return the slot where the search for a key starts: the first bits of a product."""
    return np.int64((key * _MULTIPLIER) >> np.uint64(shift))


@kernel
def fill_slots(keys: NDArray[np.uint64], shift: int, slots: NDArray[np.int32]) -> None:
    """Enter keys, (G,), all different, into empty slots, (2^(64 - shift),), more than G of them.

    Notes
    -----
    Invariant: from the start of each entered key to its slot, no slot is empty.
    """
    last = slots.size - 1
    for i in range(keys.size):
        at = _start(keys[i], shift)
        while slots[at] >= 0:
            at = (at + 1) & last
        slots[at] = i


@kernel
def place_keys(
    labels: NDArray[np.uint64],
    keys: NDArray[np.uint64],
    places: NDArray[np.int32],
    shift: int,
    slots: NDArray[np.int32],
    none: int,
    out: NDArray[np.int32],
) -> None:
    """Overwrite ``out``, (n,), with the places of labels that all of their 64 bits decide.

    Parameters
    ----------
    labels
        (n,) the bits of the labels.
    keys, places
        (G,) the bits of the public labels, and their places.
    shift, slots
        From ``fill_slots``.
    """
    last = slots.size - 1
    for i in range(labels.size):
        label = labels[i]
        at = _start(label, shift)
        place = none
        while slots[at] >= 0:
            if keys[slots[at]] == label:
                place = places[slots[at]]
                break
            at = (at + 1) & last
        out[i] = place


@inner
def _hash(letters: NDArray[np.uint8] | NDArray[np.uint32], row: int) -> np.uint64:
    """Return a number of 64 bits that is the same for equal rows."""
    mixed = np.uint64(0)
    for j in range(letters.shape[1]):
        mixed = (mixed ^ np.uint64(letters[row, j])) * _MULTIPLIER
        mixed ^= mixed >> np.uint64(29)
    return mixed


@kernel
def hash_rows(letters: NDArray[np.uint8] | NDArray[np.uint32], out: NDArray[np.uint64]) -> None:
    """Overwrite ``out``, (n,), with the hashes of the rows of (n, W) letters."""
    for i in range(letters.shape[0]):
        out[i] = _hash(letters, i)


@kernel
def place_rows(
    letters: NDArray[np.uint8] | NDArray[np.uint32],
    wanted: NDArray[np.uint8] | NDArray[np.uint32],
    places: NDArray[np.int32],
    shift: int,
    slots: NDArray[np.int32],
    none: int,
    out: NDArray[np.int32],
) -> None:
    """Overwrite ``out``, (n,), with the places of text of equal width, which all letters decide.

    Parameters
    ----------
    letters
        (n, W) the letters of the labels, with zeros behind the last.
    wanted, places
        (G, W) and (G,): the public labels, and their places.
    shift, slots
        From ``fill_slots`` for the hashes of the public labels.
    """
    last, width = slots.size - 1, letters.shape[1]
    for i in range(letters.shape[0]):
        at = _start(_hash(letters, i), shift)
        place = none
        while slots[at] >= 0:
            row = slots[at]
            j = 0
            while j < width and letters[i, j] == wanted[row, j]:
                j += 1
            if j == width:
                place = places[row]
                break
            at = (at + 1) & last
        out[i] = place
