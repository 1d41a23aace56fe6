"""Records by group: sorted, and some of each group chosen at random.

Random numbers below k are words modulo k. A word among the last 2^64 mod k ones would favour small
numbers; it makes a choice fail, and the caller begins anew with other words. So what is returned
is uniform, exactly, and a choice of a million fails with probability below 2^-24.
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
    """Sort by eleven bits of the keys, from bit ``shift`` on; equal ones keep their order.

    Parameters
    ----------
    keys, records
        (n,) keys, and what goes with them.
    sorted_keys, sorted_records
        (n,) overwritten.

    Notes
    -----
    A step of a radix sort, from the lowest digit to the highest. Invariant: starts[d] is where the
    next key with the digit d goes. O(n + 2^11), 2^11 places written to by turns.
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
    """Choose so many records of each group, each set of them with the same probability.

    Parameters
    ----------
    order
        (n,) the records by group; moved around within groups that have more than ``most``.
    ends
        (G,) where each group ends in ``order``.
    most
        How many of a group are chosen, 1 or more; of smaller groups all are.
    words
        ``most`` random words for each group that is larger.
    chosen
        (n,) False; overwritten. Without meaning if the choice failed.

    Returns
    -------
    bool
        Whether the choice was made.

    Notes
    -----
    Fisher & Yates, cut short. Invariant: the records before ``place`` are chosen, and any set of so
    many was as likely. O(n).
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
    """Choose a slot of each group: a record, or none of them.

    Parameters
    ----------
    order, ends, chosen
        As in ``choose``; ``order`` stays as it is.
    slots
        A group has so many, or as many as it has records, if they are more; the first ones hold
        its records.
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
