"""Reports of subset selection: some of the values, with the client's own more likely among them.

What noise/samplers.py says about windows and about words past the end holds here, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel
from ..noise.samplers import WORD_BITS, uniform, word_at

_ONE = np.uint64(1)
_PLACE = np.uint64(63)


@kernel
def perturb(
    words: NDArray[np.uint32],
    values: NDArray[np.int64],
    size: int,
    chosen: int,
    missing: np.uint64,
    reports: NDArray[np.uint64],
) -> tuple[int, int]:
    """Fill rows of ``reports`` with ``chosen`` ones each.

    Parameters
    ----------
    words
        Uniform 32-bit words.
    values
        (R,) each client's value, from 0 to ``size - 1``.
    size, chosen
        The number of values, and of those in a report: fewer.
    missing
        2^64 times the probability that the client's value is not in its report.
    reports
        (R, W) with W = ceil(size / 64). Bit i % 64 of word i // 64 is for value i.

    Returns
    -------
    done, used
        How many leading rows are final, and how many words made them.

    Notes
    -----
    The other values are chosen by Floyd's algorithm (Bentley & Floyd 1987): after the step for
    ``highest``, every set of as many of the first ``highest + 1`` other values is equally likely.
    Invariant: ``reports[:r]`` is a function of ``words[:at]`` and of nothing after it. O(chosen) a
    client.
    """
    at = 0
    for r in range(values.size):
        start, value = at, values[r]
        drawn = (word_at(words, at) << WORD_BITS) | word_at(words, at + 1)
        at += 2
        for w in range(reports.shape[1]):
            reports[r, w] = np.uint64(0)
        others = chosen
        if drawn >= missing:
            others -= 1
            reports[r, value >> 6] |= _ONE << (np.uint64(value) & _PLACE)
        for highest in range(size - 1 - others, size - 1):
            drawn, at = uniform(words, at, np.uint64(highest + 1))
            place = np.int64(drawn)
            place += place >= value
            bit = _ONE << (np.uint64(place) & _PLACE)
            if reports[r, place >> 6] & bit:
                place = highest + (highest >= value)
                bit = _ONE << (np.uint64(place) & _PLACE)
            reports[r, place >> 6] |= bit
        if at > words.size:
            return r, start
    return values.size, at
