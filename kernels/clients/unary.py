"""Unary encodings, 64 bits to a word: independent bits, ones with a small probability.

Bit i % 64 of word i // 64 is position i. The bits are drawn by inversion, several at a time. A
*symbol*, one of 256, stands for 8 bits (``perturb_dense``), or for the number of zeros before the
next one (``perturb_sparse``). A uniform 16-bit word is a cell of a table. Cells below ``certain``
belong to one symbol each. For the other cells, the digits of a uniform real are compared with exact
thresholds, so the distribution is exact, too.

As in ``samplers``, the draws are a function of the stream of words alone. If the window ends within
the draws of a client, the client is rolled back, and the caller shows its words again with more
words behind them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_PLACE = np.uint64(63)
_LAST = 255  # this symbol stands for 255 zeros without a one after them


@inner
def _digit(words: NDArray[np.uint16], at: int) -> np.uint64:
    """Return four words as one number, or 0 past the end (which rolls the client back)."""
    digit = _ZERO
    if at + 4 <= words.size:
        for i in range(4):
            digit = (digit << np.uint64(16)) | np.uint64(words[at + i])
    return digit


@inner
def _uncertain(
    words: NDArray[np.uint16], at: int, cell: int, thresholds: NDArray[np.uint64]
) -> tuple[int, int]:
    """Return the first symbol k with V < thresholds[k], and the next position.

    V = cell + U, where U is a uniform real in [0, 1). Its digits in base 2^64 begin at ``at``, and
    only the digits that a comparison needs are read. Thresholds do not fall. They have finitely
    many digits, the whole part first, so an equal prefix means V >= threshold. Invariant: the
    symbol is within [low, high].
    """
    low, high, read = 0, thresholds.shape[0] - 1, at
    while low < high:
        middle = (low + high) >> 1
        ours, column = np.uint64(cell), 0
        while ours == thresholds[middle, column] and column + 1 < thresholds.shape[1]:
            ours = _digit(words, at + 4 * column)
            column += 1
            read = max(read, at + 4 * column)
        if ours < thresholds[middle, column]:
            high = middle
        else:
            low = middle + 1
    return low, read


@kernel
def perturb_dense(
    words: NDArray[np.uint16],
    ones: NDArray[np.int64],
    size: int,
    table: NDArray[np.uint8],
    certain: int,
    thresholds: NDArray[np.uint64],
    reports: NDArray[np.uint64],
) -> tuple[int, int]:
    """Fill rows of ``reports`` with independent bits, eight to a word of randomness.

    Parameters
    ----------
    words
        Uniform 16-bit words.
    ones
        (R,) the position whose bit is one with probability 1/2. A position beyond the size is none.
    size
        The number of positions. The bits after them are zero.
    table, certain, thresholds
        (2^16,) the symbol of each cell, 0 from ``certain`` on; and the thresholds that decide
        there, (256, n).
    reports
        (R, W) with W = ceil(size / 64).

    Returns
    -------
    done, used
        How many leading rows are final, and how many words made them.

    Notes
    -----
    Invariant: ``reports[:r]`` is a function of ``words[:at]`` and of nothing after it. A client
    takes 8 W words for its bits, one for the bit at its value, and four or more for each uncertain
    cell. A client without a value takes the one word, too, so that the number of words does not
    depend on the value.
    """
    width = reports.shape[1]
    padding = np.uint64(64 * width - size)
    at = 0
    for r in range(ones.size):
        coin = at + 8 * width
        if coin >= words.size:
            return r, at
        behind = coin + 1
        for w in range(width):
            bits, first, highest = _ZERO, np.uint64(at + 8 * w), np.uint16(0)
            for i in range(8):
                cell = words[first + np.uint64(i)]
                bits |= np.uint64(table[cell]) << np.uint64(8 * i)
                highest = max(highest, cell)
            if highest >= certain:
                for i in range(8):
                    cell = words[first + np.uint64(i)]
                    if cell >= certain:
                        symbol, behind = _uncertain(words, behind, cell - certain, thresholds)
                        bits |= np.uint64(symbol) << np.uint64(8 * i)
            reports[r, w] = bits
        if behind > words.size:
            return r, at
        reports[r, width - 1] &= ~_ZERO >> padding
        _set(reports, r, ones[r], size, words[coin])
        at = behind
    return ones.size, at


@kernel
def perturb_sparse(
    words: NDArray[np.uint16],
    ones: NDArray[np.int64],
    size: int,
    table: NDArray[np.uint8],
    certain: int,
    thresholds: NDArray[np.uint64],
    reports: NDArray[np.uint64],
) -> tuple[int, int]:
    """Do as ``perturb_dense``, from each one to the next, with a word of randomness for each one.

    Symbol k < 255 is k zeros and a one; symbol 255 is 255 zeros. Invariant: all bits before
    ``position`` are final, and all others are zero.
    """
    at, end = 0, words.size
    for r in range(ones.size):
        start, position = at, 0
        at += 1
        for w in range(reports.shape[1]):
            reports[r, w] = _ZERO
        while position < size and at < end:
            cell = words[at]
            at += 1
            symbol = int(np.int64(table[cell]))
            if cell >= certain:
                symbol, at = _uncertain(words, at, cell - certain, thresholds)
            position += symbol
            if position < size:
                is_one = symbol != _LAST
                reports[r, position >> 6] |= np.uint64(is_one) << (np.uint64(position) & _PLACE)
                position += is_one
        if position < size or at > end:
            return r, start
        _set(reports, r, ones[r], size, words[start])
    return ones.size, at


@inner
def _set(reports: NDArray[np.uint64], r: int, one: int, size: int, coin: int) -> None:
    """Set the bit at a client's value to the last bit of ``coin``."""
    if 0 <= one < size:
        place = np.uint64(one) & _PLACE
        reports[r, one >> 6] &= ~(_ONE << place)
        reports[r, one >> 6] |= (np.uint64(coin) & _ONE) << place
