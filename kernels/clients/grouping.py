"""Records by group: sorting, and choosing some of each group at random.

Random numbers below k are words modulo k. A word among the last 2^64 mod k ones would favour small
numbers. Such a word makes a choice fail, and the caller begins again with other words. So a choice
is exactly uniform. A choice of a million fails with probability below 2^-24.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel

_LAST = np.uint64(2**64 - 1)
_ONE = np.uint64(1)
DIGIT_BITS = 11
_DIGITS = 2**DIGIT_BITS
_MASK = np.uint64(_DIGITS - 1)


@kernel
def by_digit(
    keys: NDArray[np.uint64],
    records: NDArray[np.int64],
    shift: int,
    sorted_keys: NDArray[np.uint64],
    sorted_records: NDArray[np.int64],
) -> None:
    """Sort by eleven bits of the keys, from bit ``shift`` on. Equal keys keep their order.

    Parameters
    ----------
    keys, records
        (n,) the keys, and a record for each.
    sorted_keys, sorted_records
        (n,) overwritten.

    Notes
    -----
    This is a step of a radix sort, from the lowest digit to the highest. Invariant: starts[d] is
    the place of the next key with the digit d. O(n + 2^11); it writes to 2^11 places by turns.
    """
    starts = np.zeros(_DIGITS + 1, np.int64)
    for i in range(keys.size):
        starts[np.int64((keys[i] >> np.uint64(shift)) & _MASK) + 1] += 1
    for i in range(_DIGITS):
        starts[i + 1] += starts[i]
    for i in range(keys.size):
        digit = np.int64((keys[i] >> np.uint64(shift)) & _MASK)
        place = starts[digit]
        sorted_keys[place] = keys[i]
        sorted_records[place] = records[i]
        starts[digit] += 1


@kernel
def choose(
    order: NDArray[np.int64],
    ends: NDArray[np.int64],
    most: int,
    words: NDArray[np.uint64],
    chosen: NDArray[np.bool_],
) -> bool:
    """Choose ``most`` records of each group, each set of them with the same probability.

    Parameters
    ----------
    order
        (n,) the records by group. They are moved around within groups that have more than ``most``.
    ends
        (G,) the end of each group in ``order``.
    most
        How many records of a group are chosen, 1 or more. Of smaller groups all are chosen.
    words
        ``most`` random words for each larger group.
    chosen
        (n,) False; overwritten. It has no meaning if the choice failed.

    Returns
    -------
    bool
        Whether the choice was made.

    Notes
    -----
    This is the shuffle of Fisher & Yates, cut short. Invariant: the records before ``place`` are
    chosen, and every set of that many records was equally likely. O(n).
    """
    start = used = 0
    for group in range(ends.size):
        size = ends[group] - start
        if size <= most:
            for i in range(start, ends[group]):
                chosen[order[i]] = True
        else:
            for place in range(most):
                left = np.uint64(size - place)
                word = words[used]
                used += 1
                if is_refused(word, left):
                    return False
                drawn = start + place + np.int64(word % left)
                record = order[drawn]
                order[drawn] = order[start + place]
                order[start + place] = record
                chosen[record] = True
        start = ends[group]
    return True


@kernel
def choose_slots(
    order: NDArray[np.int64],
    ends: NDArray[np.int64],
    slots: int,
    words: NDArray[np.uint64],
    chosen: NDArray[np.bool_],
) -> bool:
    """Choose one slot of each group, which holds a record or is empty.

    Parameters
    ----------
    order, ends, chosen
        As in ``choose``; ``order`` does not change.
    slots
        The number of slots of a group; a group with more records has as many slots as records. The
        first slots hold its records.
    words
        (G,) random words.

    Returns
    -------
    bool
        Whether the choice was made.

    Notes
    -----
    O(G).
    """
    start = 0
    for group in range(ends.size):
        size = ends[group] - start
        number = np.uint64(max(size, slots))
        if is_refused(words[group], number):
            return False
        slot = np.int64(words[group] % number)
        if slot < size:
            chosen[order[start + slot]] = True
        start = ends[group]
    return True


@inner
def is_refused(word: np.uint64, number: np.uint64) -> bool:
    """Whether a word is among the last 2^64 mod number ones."""
    rest = (_LAST % number + _ONE) % number
    return bool(word > _LAST - rest)
