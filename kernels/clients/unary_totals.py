"""The number of packed reports with a one, for each position."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel

_ONE = np.uint64(1)
_BYTE = np.uint64(0xFF)
_BYTES = np.uint64(0x0101010101010101)
_PLANES = 13
_MOST_PAIRS = 2 ** (_PLANES - 1) - 1  # after so many pairs, the planes have to be emptied
_STRIP = 128  # words; with shorter strips, starting the loops takes most of the time


@kernel
def add_reports(words: NDArray[np.uint64], width: int, totals: NDArray[np.int64]) -> None:
    """Add the number of reports with a one at each position.

    Parameters
    ----------
    words
        (R W,) one packed report after the other: bit i % 64 of its word i // 64 is position i.
    width
        W, the number of words of a report.
    totals
        (d,) added to in place, 64 (W - 1) < d <= 64 W. Positions beyond d are left out.

    Notes
    -----
    Some whole reports make a *strip*. Each word of a strip has counters of its own: 64 counters are
    in the bits of its *planes*, where bit i of plane k is bit k of the counter of bit i. A full
    adder takes three words of weight 2^k, and makes one of weight 2^k and a carry of weight
    2^(k + 1), for 64 bits at once. A carry waits for a second one, and both are added to the next
    plane together. So a word of a strip takes one full adder on average, with all planes counted.

    Invariant: totals, and the sums over k of planes[k] 2^k and of those waiting[k] 2^k for which
    bit k - 1 of ``pairs`` is set, add up to the ones of all strips so far.
    """
    strip = width * max(1, _STRIP // width)
    planes = np.zeros((_PLANES, strip), np.uint64)
    waiting = np.zeros((_PLANES + 1, strip), np.uint64)
    passing = np.empty((2, strip), np.uint64)  # carries that need not wait
    pairs = 0
    end = words.size - words.size % (2 * strip)
    for start in range(0, end, 2 * strip):
        if pairs == _MOST_PAIRS:
            _empty(planes, waiting, pairs, width, totals)
            pairs = 0
        carries = passing if pairs & 1 else waiting
        to = 0 if pairs & 1 else 1
        one, other = np.uint64(start), np.uint64(start + strip)  # unsigned: no tests of the sign
        for w in range(strip):
            a, b, c = planes[0, w], words[one + np.uint64(w)], words[other + np.uint64(w)]
            planes[0, w] = a ^ b ^ c
            carries[to, w] = (a & b) | ((a ^ b) & c)
        k = 0
        while pairs >> k & 1:
            k += 1
            more = pairs >> k & 1
            carries = passing if more else waiting
            to = k & 1 if more else k + 1
            come = (k - 1) & 1
            for w in range(strip):
                a, b, c = planes[k, w], waiting[k, w], passing[come, w]
                planes[k, w] = a ^ b ^ c
                carries[to, w] = (a & b) | ((a ^ b) & c)
        pairs += 1
    _empty(planes, waiting, pairs, width, totals)
    for at in range(end, words.size, width):
        for i in range(totals.size):
            totals[i] += np.int64((words[at + (i >> 6)] >> np.uint64(i & 63)) & _ONE)


@inner
def _empty(
    planes: NDArray[np.uint64],
    waiting: NDArray[np.uint64],
    pairs: int,
    width: int,
    totals: NDArray[np.int64],
) -> None:
    """Move the counts of the planes, and the waiting carries, to the totals.

    Eight bits that lie eight apart are taken together, so that a byte of ``part`` has the bits of
    eight planes, from ``low`` on, for one position.
    """
    for w in range(planes.shape[1] if pairs else 0):
        first = 64 * (w % width)
        for j in range(8):
            for low in range(0, _PLANES, 8):
                part, carried = np.uint64(0), np.uint64(0)
                for k in range(low, min(low + 8, _PLANES)):
                    place = np.uint64(k - low)
                    part |= ((planes[k, w] >> np.uint64(j)) & _BYTES) << place
                    if k > 0 and pairs >> (k - 1) & 1:
                        carried |= ((waiting[k, w] >> np.uint64(j)) & _BYTES) << place
                for i in range(8):
                    if first + j + 8 * i < totals.size:
                        byte = np.uint64(8 * i)
                        count = np.int64((part >> byte) & _BYTE) + np.int64(
                            (carried >> byte) & _BYTE
                        )
                        totals[first + j + 8 * i] += count << low
    planes[:] = np.uint64(0)
