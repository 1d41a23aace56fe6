"""Records by group: sorted by counting, and some of each group chosen at random.

Random numbers below k are words modulo k. A word among the last 2^64 mod k ones would favour small
numbers; it makes a choice fail, and the caller begins anew with other words. So what is returned
is uniform, exactly, and a choice of a million fails with probability below 2^-24.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._compile import inner, kernel

_LAST = np.uint64(2**64 - 1)
_ONE = np.uint64(1)


@kernel
def by_group(
    groups: NDArray[np.int64], starts: NDArray[np.int64], order: NDArray[np.int64]
) -> None:
    """Overwrite ``order``, (n,), with the records by group, and in their order within each.

    Parameters
    ----------
    groups
        (n,) the group of each record, 0 to G - 1.
    starts
        (G,) where each group starts in ``order``; overwritten with where it ends.

    Notes
    -----
    Invariant: starts[g] is where the next record of group g goes. O(n).
    """
    for i in range(groups.size):
        group = groups[i]
        order[starts[group]] = i
        starts[group] += 1


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
