"""Tables of public labels, from which arrays of one dtype read the places of their equals.

The arrays are read in blocks, which are copied, so that kernels see one type, and memory is small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..kernels.counting import labels as kernels

__all__ = ["nearest_double", "number_places", "text_places"]

Labels = NDArray[Any]
Places = Callable[[Labels], NDArray[np.int32]]

_BLOCK_BYTES: Final = 2**19
_WIDEST: Final = 2**16  # a range of so many integers is always worth a table
_SPREAD: Final = 16  # and so is one of so many integers for each label


def number_places(wanted: Sequence[Any], dtype: np.dtype[Any]) -> Places:
    """Return what finds the places of numbers of a dtype among public labels.

    Parameters
    ----------
    wanted
        (G,) numbers, all different. Those that the dtype does not have are no record's.
    dtype
        Of booleans, integers, or floats of at most 64 bits.

    Returns
    -------
    function
        From (n,) labels to (n,) places: G where none is equal.

    Examples
    --------
    >>> import numpy as np
    >>> find = number_places([7, 2**40], np.dtype(np.int64))
    >>> find(np.array([2**40, 8, 7])).tolist()
    [1, 2, 0]
    """
    none = len(wanted)
    if dtype.kind == "f":
        doubles = [(nearest_double(label), at) for at, label in enumerate(wanted)]
        known = [(value, at) for value, at in doubles if value == wanted[at]]
        keys = np.array([value for value, _ in known], np.float64) + 0.0  # -0.0 equals 0.0
        return _by_keys(keys, [at for _, at in known], none)
    kind = np.uint64 if dtype == np.uint64 else np.int64
    least, most = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    whole = [
        (int(label), at)
        for at, label in enumerate(wanted)
        if least <= label <= most and label == int(label)  # in this order: infinity has no int
    ]
    numbers, places = [value for value, _ in whole], [at for _, at in whole]
    span = max(numbers, default=0) - min(numbers, default=0) + 1
    if kind is np.uint64 or span > max(_WIDEST, _SPREAD * none):
        return _by_keys(np.array(numbers, kind), places, none)
    first, table = min(numbers, default=0), np.full(span, none, np.int32)
    table[np.array(numbers, np.int64) - first] = places

    def find(labels: Labels) -> NDArray[np.int32]:
        out = np.empty(labels.size, np.int32)
        for block, part in _blocks(labels, np.dtype(np.int64)):
            kernels.place_in_range(block, first, table, none, out[part])
        return out

    return find


def text_places(wanted: Sequence[Any], dtype: np.dtype[Any]) -> Places:
    r"""Return what finds the places of text or bytes of a dtype of NumPy's among public labels.

    Parameters
    ----------
    wanted
        (G,) strings or bytes, all different. Those that end with a null character, or are wider
        than the dtype, are no record's, because NumPy has no such labels.
    dtype
        Of strings or bytes.

    Returns
    -------
    function
        As from ``number_places``.

    Examples
    --------
    >>> import numpy as np
    >>> find = text_places(["a", "a\0", "bc"], np.dtype("U2"))
    >>> find(np.array(["bc", "b", "a"])).tolist()
    [2, 3, 0]
    """
    none, letter = len(wanted), (np.uint32 if dtype.kind == "U" else np.uint8)
    width = dtype.itemsize // np.dtype(letter).itemsize
    plain = np.dtype((np.str_ if dtype.kind == "U" else np.bytes_, max(1, width)))
    known = [
        (label, at)
        for at, label in enumerate(wanted)
        if len(label) <= width and label[-1:] not in ("\0", b"\0")
    ]
    places = np.array([at for _, at in known], np.int32)
    words = _letters(np.array([label for label, _ in known], plain), letter)
    hashes = np.empty(len(known), np.uint64)
    kernels.hash_rows(words, hashes)
    shift, slots = _slots(hashes)

    def find(labels: Labels) -> NDArray[np.int32]:
        out = np.empty(labels.size, np.int32)
        for block, part in _blocks(labels, plain):
            rows = _letters(block, letter)
            kernels.place_rows(rows, words, places, shift, slots, none, out[part])
        return out

    return find


def nearest_double(number: float) -> float:
    """Return the nearest double, and NaN for numbers beyond all doubles."""
    try:
        return float(number)
    except OverflowError:
        return math.nan


def _by_keys(keys: NDArray[Any], at: list[int], none: int) -> Places:
    """Return what finds places by all 64 bits of numbers, and NaN nowhere."""
    bits, places = keys.view(np.uint64), np.array(at, np.int32)
    shift, slots = _slots(bits)

    def find(labels: Labels) -> NDArray[np.int32]:
        out = np.empty(labels.size, np.int32)
        for block, part in _blocks(labels, keys.dtype):
            if keys.dtype.kind == "f":
                block += 0.0
            own = block.view(np.uint64)
            kernels.place_keys(own, bits, places, shift, slots, none, out[part])
        return out

    return find


def _slots(keys: NDArray[np.uint64]) -> tuple[int, NDArray[np.int32]]:
    """Return a hash table of keys, a quarter full at most."""
    digits = max(3, (4 * keys.size).bit_length())
    slots = np.full(2**digits, -1, np.int32)
    kernels.fill_slots(keys, 64 - digits, slots)
    return 64 - digits, slots


def _blocks(labels: Labels, dtype: np.dtype[Any]) -> Iterator[tuple[Labels, slice]]:
    """Yield copies of parts of the labels, of a dtype, and which parts they are."""
    if labels.dtype.kind == "b":
        labels = labels.view(np.uint8) != 0  # any byte but 0 is true
    size = max(1, _BLOCK_BYTES // dtype.itemsize)
    scratch = np.empty(min(size, labels.size), dtype)
    for start in range(0, labels.size, size):
        part = slice(start, min(start + size, labels.size))
        block = scratch[: part.stop - start]
        block[:] = labels[part]
        yield block, part


def _letters(text: Labels, letter: type[np.uint8] | type[np.uint32]) -> NDArray[Any]:
    return text.view(letter).reshape(text.size, text.dtype.itemsize // np.dtype(letter).itemsize)
