"""Draws by tables: each digit takes one word and hardly more than one comparison.

A word u stands for a uniform real U in [u, u + 1) / 2^b, and ``boundaries`` are
c_j = floor(2^b F_j), where F_0 < F_1 < ... are the values of a distribution function. The place of
U is the number of F_j below U. It is the number of c_j below u, unless u is one of the c_j. Then U
and F_j agree in b digits, and the word does not decide. The caller has more digits.

A ``guide`` has the number of boundaries below each multiple of 2^shift. The largest word stands
behind all boundaries of a table. (Places are unsigned, so indices need no test for the end.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel

_ONE = np.uint64(1)


@kernel
def invert(
    words: NDArray[np.uint32],
    out: NDArray[np.int64],
    boundaries: NDArray[np.uint32],
    guides: NDArray[np.uint16],
    shift: np.uint32,
    least: int,
    radix: int,
) -> int:
    """Fill ``out`` with numbers of D digits, each drawn from its own table.

    Parameters
    ----------
    words
        (M, D): a word for each digit.
    out
        (M,) at most.
    boundaries, guides
        (D, K) and (D, G): the tables of all digits.
    shift
        Words have log2(G) more bits.
    least
        The first digit is its place plus this number.
    radix
        The radix of all digits except the first. If the first digit is negative, the others count
        downwards: they are radix - 1 minus their places.

    Returns
    -------
    int
        The number of leading entries of ``out`` that are final. If there is a next entry, its words
        do not decide.

    Notes
    -----
    Invariants: k is at most the place of u. For all digits so far, the words of the entries before
    ``limit`` have decided.
    """
    limit = out.size
    for i in range(limit):
        u = words[i, 0]
        k = np.uint64(guides[0, u >> shift])
        while boundaries[0, k] < u:
            k += _ONE
        if boundaries[0, k] == u:
            limit = i
            break
        out[i] = np.int64(k) + least
    for digit in range(1, words.shape[1]):
        for i in range(limit):
            u = words[i, digit]
            k = np.uint64(guides[digit, u >> shift])
            while boundaries[digit, k] < u:
                k += _ONE
            if boundaries[digit, k] == u:
                limit = i
                break
            before, place = out[i], np.int64(k)
            out[i] = before * radix + (place if before >= 0 else radix - 1 - place)
    return limit
